use crate::golden::Golden;
use forge_kernels::isa::{self, Isa};
use forge_kernels::quant::{Format, QuantError, decode};

fn check(format: Format, bytes: &[u8], expected: &[f32], what: &str) {
    for arm in Isa::ALL {
        let _held = isa::force(arm);
        let mut out = vec![f32::NAN; expected.len()];
        decode(format, bytes, &mut out).unwrap();
        for (i, (a, b)) in out.iter().zip(expected).enumerate() {
            assert_eq!(a.to_bits(), b.to_bits(), "{format} {what} element {i} on {arm:?}: {a} is not {b}");
        }
    }
}

#[test]
fn every_format_decodes_to_the_bit() {
    for golden in Golden::all() {
        let mut formats = 0;
        for (name, about) in golden.types() {
            let format = Format::from_name(name).unwrap();
            assert_eq!(u64::from(format.id()), about["id"].as_u64().unwrap());
            assert_eq!(format.block_len() as u64, about["block"].as_u64().unwrap());
            assert_eq!(format.block_bytes() as u64, about["block_bytes"].as_u64().unwrap());
            for (row, spans) in about["rows"].as_object().unwrap() {
                if spans.get("deq").is_some() {
                    check(format, golden.at(&spans["enc"]), &golden.floats(&spans["deq"]), row);
                }
            }
            if let Some(blocks) = about.get("random_blocks") {
                check(format, golden.at(&blocks["enc"]), &golden.floats(&blocks["deq"]), "random blocks");
                formats += 1;
            }
        }
        assert_eq!(formats, 26);
    }
}

#[test]
fn plain_numbers_decode() {
    let x = [1.5f32, -0.0, f32::INFINITY, 1e-40];
    let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    check(Format::F32, &bytes, &x, "plain");
    let bytes: Vec<u8> = x.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect();
    check(Format::F64, &bytes, &x, "plain");
}

#[test]
fn the_scaled_sum_of_q8_1_is_not_read() {
    let mut block = [3u8; 36];
    block[..2].copy_from_slice(&0x3c00u16.to_le_bytes());
    block[4] = 0x80;
    let mut expected = [3.0; 32];
    expected[0] = -128.0;
    check(Format::Q8_1, &block, &expected, "by hand");
}

#[test]
fn ids_and_names() {
    for &f in Format::ALL {
        assert_eq!(Format::from_id(f.id()), Ok(f));
        assert_eq!(Format::from_name(&f.name().to_lowercase()), Some(f));
    }
    assert_eq!(Format::ALL.len(), 35);
    assert_eq!(Format::from_id(4), Err(QuantError::RemovedFormat { id: 4, name: "Q4_2" }));
    assert_eq!(Format::from_id(43), Err(QuantError::UnknownFormat { id: 43 }));
    assert_eq!(Format::from_id(u32::MAX), Err(QuantError::UnknownFormat { id: u32::MAX }));
    assert_eq!(Format::from_name("Q9"), None);
}

#[test]
fn wrong_sizes_are_errors() {
    let mut out = [0.0; 32];
    let e = decode(Format::Q8_0, &[0; 33], &mut out).unwrap_err();
    assert_eq!(e, QuantError::WrongBytes { format: Format::Q8_0, len: 32, expected: 34, found: 33 });
    let e = decode(Format::Q4_K, &[0; 18], &mut out).unwrap_err();
    assert_eq!(e, QuantError::PartialBlock { format: Format::Q4_K, len: 32 });
    assert!(e.to_string().contains("not a whole number of Q4_K blocks of 256"));
    assert_eq!(decode(Format::I8, &[0; 32], &mut out), Err(QuantError::NotReal { format: Format::I8 }));
    let len = usize::MAX / 16 * 16;
    assert_eq!(Format::F64.row_bytes(len), Err(QuantError::TooLarge { format: Format::F64, len }));
    assert_eq!(decode(Format::IQ1_S, &[], &mut []), Ok(()));
}
