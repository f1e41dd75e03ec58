//! `.npy` files: NumPy's own bytes, round trips, hostile bytes.

use forge::io::npy;
use forge::prelude::*;
use forge::rng::Key;

axes! { A, B, Two = 2 }

/// A file as NumPy writes it, with this header text (padded) and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut v = b"\x93NUMPY\x01\x00".to_vec();
    let len = (10 + header.len() + 1).next_multiple_of(64) - 10;
    v.extend_from_slice(&(len as u16).to_le_bytes());
    v.extend_from_slice(header.as_bytes());
    v.resize(10 + len - 1, b' ');
    v.push(b'\n');
    v.extend_from_slice(data);
    v
}

#[test]
fn the_bytes_are_numpys() {
    // numpy.save of numpy.array([[1, 2, 3], [4, 5, 6]], dtype=numpy.int16).
    let want =
        file("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let x = Tensor::<(A, B), i16>::from([[1, 2, 3], [4, 5, 6]]);
    let got = npy::encode(&x.erase()).unwrap();
    // NumPy writes "(2, 3)", we "(2,3)": Python reads the same.
    let text = |b: &[u8]| String::from_utf8_lossy(&b[10..128]).replace(' ', "");
    assert_eq!(text(&got), text(&want));
    assert_eq!((got.len(), &got[..10], &got[128..]), (140, &want[..10], &want[128..]));
    assert_eq!(npy::decode(&want, &["a", "b"]).unwrap().to_vec::<i16>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn every_dtype_and_shape_comes_back() {
    for dtype in DType::ALL {
        for shape in [&[][..], &[0], &[5], &[3, 4], &[2, 0, 3], &[1, 2, 3, 4]] {
            let axes = &["a", "b", "c", "d"][..shape.len()];
            let x = DynTensor::uniform(axes, shape, DType::F64, -3.0, 3.0, Key::new(1)).unwrap().to(dtype).unwrap();
            let r = npy::encode(&x);
            if dtype == DType::BF16 {
                assert!(r.unwrap_err().to_string().starts_with("npy: not defined for bf16"));
                continue;
            }
            let bytes = r.unwrap();
            assert_eq!((bytes.len() - x.len() * dtype.size()) % 64, 0);
            let y = npy::decode(&bytes, axes).unwrap();
            assert_eq!(y.dtype(), dtype);
            assert_eq!(y.shape(), shape);
            let wide = |t: &DynTensor| t.to(DType::F64).unwrap().to_vec::<f64>().unwrap();
            assert_eq!(wide(&y), wide(&x));
        }
    }
}

#[test]
fn fortran_order_and_big_endian() {
    let f = file("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 1, 6]);
    assert_eq!(npy::decode(&f, &["a", "b"]).unwrap().to_vec::<u16>().unwrap(), [1, 2, 3, 4, 5, 0x106]);
    // Version 2 has a longer length field; any non-zero byte is true.
    let mut v2 = b"\x93NUMPY\x02\x00".to_vec();
    let header = b"{'shape': (2,), 'fortran_order': False, 'descr': '|b1'}\n";
    v2.extend_from_slice(&(header.len() as u32).to_le_bytes());
    v2.extend_from_slice(header);
    v2.extend_from_slice(&[0, 7]);
    assert_eq!(npy::decode(&v2, &["a"]).unwrap().to_vec::<bool>().unwrap(), [false, true]);
}

#[test]
fn files_go_through_the_type() {
    let path = std::env::temp_dir().join(format!("forge-npy-{}.npy", std::process::id()));
    let x = Tensor::<(A, Two)>::from_fn((3, Two), |i| i as f32);
    npy::write(&path, &x).unwrap();
    let y: Tensor<(A, Two)> = npy::read(&path).unwrap();
    assert_eq!(y.to_vec(), x.to_vec());
    let e = npy::read::<(A, Two), f64>(&path).unwrap_err().to_string();
    assert_eq!(e, "typed: not defined for f32; it takes f64");
    let e = npy::read::<(Two, A), f32>(&path).unwrap_err().to_string();
    assert_eq!(e, "typed: axis `Two` has the fixed size 2, but the tensor has 3");
    let e = npy::read_dyn(&path, &["a"]).unwrap_err().to_string();
    assert!(e.ends_with("the array has 2 axes of sizes [3, 2], but 1 are named"), "{e}");
    std::fs::remove_file(&path).unwrap();
    let e = npy::read_dyn(&path, &["a"]).unwrap_err();
    assert!(matches!(e, Error::Io { .. }));
}

#[test]
fn refusals_say_what_is_wrong() {
    let reason = |header: &str, data: &[u8]| npy::decode(&file(header, data), &["a"]).unwrap_err().to_string();
    let of = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
    for (header, data, want) in [
        (of("'<f4'", "(2,)"), &[0u8; 7][..], "7 bytes follow the header"),
        (of("'<f4'", "(2,)"), &[0; 12], "12 bytes follow the header"),
        (of("'<f8'", "(18446744073709551615,)"), &[0; 8], "8 bytes follow the header"),
        (of("'<f8'", "(99999999999999999999,)"), &[0; 8], "where a size should be"),
        (of("'<c8'", "(1,)"), &[0; 8], "elements of type \"<c8\" are not supported"),
        (of("'|O'", "(1,)"), &[0; 8], "elements of type \"|O\" are not supported"),
        (of("[('x', '<f4')]", "(1,)"), &[0; 4], "where a string should be"),
        (of("'<f4'", "(-1,)"), &[0; 4], "where a size should be"),
        (of("'<f4'", "(1,1,1,1,1,1,1,1,1)"), &[0; 4], "more than 8 axes"),
        ("{'descr': '<f4', 'shape': (1,)}".into(), &[0; 4], "lacks the key \"fortran_order\""),
        ("{'descr': '<f4".into(), &[0; 4], "does not end"),
        ("".into(), &[0; 4], "where '{' should be"),
    ] {
        let got = reason(&header, data);
        assert!(got.contains(want), "{header}: {got}");
    }
    assert!(npy::decode(b"not an npy file", &[]).unwrap_err().to_string().contains("the first bytes differ"));
    assert!(npy::decode(b"\x93NUMPY\x09\x00\x00\x00", &[]).unwrap_err().to_string().contains("version 9 is unknown"));
}

#[test]
fn no_bytes_make_it_panic() {
    let x = Tensor::<(A, B)>::from([[1., 2., 3.], [4., 5., 6.]]);
    let good = npy::encode(&x.erase()).unwrap();
    let key = Key::new(9);
    let mut read = 0;
    for n in 0..20_000u64 {
        let mut b = good.clone();
        for k in 0..1 + n % 4 {
            let r = key.u64_at(n * 8 + k);
            let at = (r >> 32) as usize % b.len();
            match r % 4 {
                0 => b[at] = r as u8,
                1 => b.truncate(at),
                2 => b.insert(at, r as u8),
                _ => b[at] ^= 1 << (r >> 8 & 7),
            }
            if b.is_empty() {
                break;
            }
        }
        read += usize::from(npy::decode(&b, &["a", "b"]).is_ok());
    }
    // Most mutations of the data alone are still arrays.
    assert!(read > 100, "{read}");
    for cut in 0..good.len() {
        assert!(npy::decode(&good[..cut], &["a", "b"]).is_err());
    }
}
