use crate::golden::Golden;
use forge_kernels::isa::{self, Isa};
use forge_kernels::quant::{Format, QuantError, decode, encode};
use forge_kernels::team::Team;

fn encoded(format: Format, x: &[f32], importance: Option<&[f32]>) -> Vec<u8> {
    let mut out = vec![0xa5; format.row_bytes(x.len()).unwrap()];
    encode(format, x, &mut out, importance).unwrap_or_else(|e| panic!("{format}: {e}"));
    out
}

fn decoded(format: Format, bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![f32::NAN; bytes.len() / format.block_bytes() * format.block_len()];
    decode(format, bytes, &mut out).unwrap();
    out
}

/// Even numbers from -1 to 1.
fn uniform(n: usize, seed: u32) -> Vec<f32> {
    let mut s = seed;
    let mut next = || {
        s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (s >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Formats that can be written without importances.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|&f| encode(f, &[], &mut [], None).is_ok())
}

#[test]
fn every_format_encodes_to_the_byte() {
    for golden in Golden::all() {
        let imatrix = golden.floats(golden.top("imatrix"));
        for (name, about) in golden.types() {
            let format = Format::from_name(name).unwrap();
            if matches!(encode(format, &[], &mut [], None), Err(QuantError::NoEncoder { .. })) {
                continue;
            }
            let importance = about["requires_imatrix"].as_bool().unwrap().then_some(&imatrix[..]);
            for (row, spans) in about["rows"].as_object().unwrap() {
                let x = golden.floats(&golden.top("rows")[row]);
                let expected = golden.at(&spans["enc"]);
                for arm in Isa::ALL {
                    let _held = isa::force(arm);
                    let found = encoded(format, &x, importance);
                    if (format, row.as_str()) == (Format::MXFP4, "denormal") {
                        // Below the least exponent ggml's byte is what a conversion without a meaning gives; the
                        // elements are zeros.
                        assert_eq!(decoded(format, &found), decoded(format, expected));
                        continue;
                    }
                    let differ: Vec<usize> = (0..found.len()).filter(|&i| found[i] != expected[i]).collect();
                    assert!(differ.is_empty(), "{format} {row} on {arm:?}: bytes {differ:?} differ");
                }
            }
        }
    }
}

#[test]
fn halves_round_to_even_and_keep_what_is_not_finite() {
    let golden = &Golden::all()[0];
    let edges = golden.top("half_edges");
    let x: Vec<f32> = edges["f32"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().map_or_else(|| v.as_str().unwrap().parse().unwrap(), |v| v as f32))
        .collect();
    for (format, key) in [(Format::F16, "f16_bits"), (Format::BF16, "bf16_bits")] {
        let bits = encoded(format, &x, None);
        for (i, (b, e)) in bits.as_chunks::<2>().0.iter().zip(edges[key].as_array().unwrap()).enumerate() {
            assert_eq!(u64::from(u16::from_le_bytes(*b)), e.as_u64().unwrap(), "{format} of {}", x[i]);
        }
        assert!(decoded(format, &encoded(format, &[f32::NAN], None))[0].is_nan());
    }
}

#[test]
fn threads_and_arms_give_the_same_bytes() {
    let x = uniform(256 * 67, 3);
    let w: Vec<f32> = uniform(256, 4).iter().map(|w| 1.0 + w / 2.0).collect();
    for format in formats() {
        for importance in [None, Some(&w[..])] {
            let expected = encoded(format, &x, importance);
            for threads in [1, 3, 8] {
                let found = Team::new(threads).enter(|| encoded(format, &x, importance));
                assert!(found == expected, "{format}: {threads} threads");
            }
            for arm in Isa::ALL {
                let _held = isa::force(arm);
                assert!(encoded(format, &x, importance) == expected, "{format}: {arm:?}");
            }
            let rows: Vec<u8> = x.chunks(256).flat_map(|x| encoded(format, x, importance)).collect();
            assert!(rows == expected, "{format}: rows one by one");
        }
    }
}

#[test]
fn errors_are_within_the_steps_of_the_format() {
    let x: Vec<f32> = uniform(256 * 32, 5).iter().enumerate().map(|(i, v)| v * (1 + i / 256) as f32).collect();
    // Of the largest magnitude of a block: a scale in half precision is off by 2^-11 of itself.
    let half = 2f32.powi(-11);
    let bounds = [
        // Half a step of 1/127.
        (Format::Q8_0, 0.5 / 127.0 + half),
        (Format::Q8_1, 0.5 / 127.0 + half),
        (Format::Q8_K, 0.501 / 127.0),
        // The extreme is -8 or -16 steps; its opposite is clipped by one step.
        (Format::Q4_0, 1.0 / 8.0 + half),
        (Format::Q5_0, 1.0 / 16.0 + half),
        // Half of 2/15 and of 2/31; minimum and scale are both rounded.
        (Format::Q4_1, 1.0 / 15.0 + 3.0 * half),
        (Format::Q5_1, 1.0 / 31.0 + 3.0 * half),
        // The nearest of -1, 0 and 1.
        (Format::TQ1_0, 0.5 + half),
        (Format::TQ2_0, 0.5 + half),
        (Format::Q2_0, 0.5 + half),
        // A sign: the mean magnitude is off by the largest at most.
        (Format::Q1_0, 1.0),
        // The largest is 4 to 8 units of a power of two: clipped at 6, in steps of 2 above 4.
        (Format::MXFP4, 0.25),
        // The scale is off by 1/16: a unit of the largest over 6 is half a step.
        (Format::NVFP4, 17.0 / 96.0),
        // Rounding to 11 and 8 bits.
        (Format::F16, half),
        (Format::BF16, 2f32.powi(-8)),
        (Format::F32, 0.0),
        (Format::F64, 0.0),
    ];
    for (format, bound) in bounds {
        let y = decoded(format, &encoded(format, &x, None));
        for (x, y) in x.chunks(format.block_len()).zip(y.chunks(format.block_len())) {
            let max = x.iter().fold(0.0, |m: f32, v| m.max(v.abs()));
            for (x, y) in x.iter().zip(y) {
                assert!((x - y).abs() <= bound * max * 1.0001, "{format}: {x} became {y}, and the largest is {max}");
            }
        }
    }
    // Searches trade elements against each other, but the root of the mean square stays below half a step between
    // levels that are spread over the range from -1 to 1.
    let x = uniform(256 * 32, 6);
    let levels = [
        (Format::Q2_K, 4.0),
        (Format::Q3_K, 8.0),
        (Format::Q4_K, 16.0),
        (Format::Q5_K, 32.0),
        (Format::Q6_K, 64.0),
        (Format::IQ4_NL, 16.0),
        (Format::IQ4_XS, 16.0),
    ];
    for (format, levels) in levels {
        let y = decoded(format, &encoded(format, &x, None));
        let mean = x.iter().zip(&y).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>() / x.len() as f64;
        assert!(mean.sqrt() < 1.0 / (levels - 1.0), "{format}: {}", mean.sqrt());
    }
}

#[test]
fn what_was_decoded_encodes_to_itself() {
    let x = uniform(256 * 8, 7);
    // The extreme of a block has the code that makes the scale again.
    let formats = [
        Format::Q8_0,
        Format::Q4_0,
        Format::Q5_0,
        Format::Q2_0,
        Format::TQ1_0,
        Format::TQ2_0,
        Format::MXFP4,
        Format::F16,
        Format::BF16,
    ];
    for format in formats {
        let once = decoded(format, &encoded(format, &x, None));
        assert_eq!(decoded(format, &encoded(format, &once, None)), once, "{format}");
    }
}

#[test]
fn importance_moves_errors_to_where_they_count_less() {
    let x = uniform(256 * 32, 8);
    let w: Vec<f32> = (0..256).map(|i| if i % 3 == 0 { 10.0 } else { 0.1 }).collect();
    let searched = [
        Format::Q4_0,
        Format::Q4_1,
        Format::Q5_0,
        Format::Q5_1,
        Format::Q2_K,
        Format::Q3_K,
        Format::Q4_K,
        Format::Q5_K,
        Format::Q6_K,
        Format::IQ4_NL,
        Format::IQ4_XS,
    ];
    for format in searched {
        let error = |bytes: &[u8]| {
            let y = decoded(format, bytes);
            (0..x.len()).map(|i| f64::from(w[i % 256]) * f64::from(x[i] - y[i]).powi(2)).sum::<f64>()
        };
        let (with, without) = (encoded(format, &x, Some(&w)), encoded(format, &x, None));
        assert!(error(&with) < error(&without), "{format}: {} {}", error(&with), error(&without));
    }
    for format in [Format::Q8_0, Format::TQ2_0, Format::MXFP4, Format::F16] {
        assert_eq!(encoded(format, &x, Some(&w)), encoded(format, &x, None));
    }
}

#[test]
fn what_cannot_be_stored_is_an_error() {
    for format in formats().filter(|f| f.is_quantised()) {
        for (bad, at) in [(f32::NAN, 511), (f32::INFINITY, 0), (f32::NEG_INFINITY, 300)] {
            let mut x = vec![0.5; 512];
            x[at] = bad;
            let mut out = vec![0; format.row_bytes(512).unwrap()];
            let e = encode(format, &x, &mut out, None).unwrap_err();
            assert_eq!(e, QuantError::NotFinite { index: at }, "{format}");
        }
        for large in [f32::MAX, 1e30, 1e18, 6e8] {
            let mut x = vec![0.5; 512];
            x[400] = -large;
            x[401] = large;
            let mut out = vec![0; format.row_bytes(512).unwrap()];
            let result = encode(format, &x, &mut out, None);
            let single = matches!(format, Format::Q8_K | Format::MXFP4 | Format::NVFP4);
            if single && large < f32::MAX {
                assert_eq!(result, Ok(()));
                assert!(decoded(format, &out).iter().all(|y| y.is_finite()), "{format}");
            } else {
                let index = 400 / format.block_len() * format.block_len();
                assert_eq!(result, Err(QuantError::ScaleOverflow { format, index }), "{format} {large}");
            }
        }
        for tiny in [0.0, f32::from_bits(1), 1e-38, 1e-30, 1e-15, 1e-9] {
            let x: Vec<f32> = uniform(512, 9).iter().map(|v| v * tiny).collect();
            let y = decoded(format, &encoded(format, &x, None));
            assert!(y.iter().all(|y| y.abs() <= tiny * 1.5 + 1e-7), "{format} {tiny}");
        }
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let x = [1.0; 512];
    let mut out = [0; 2048];
    for format in formats().filter(|f| f.is_quantised()) {
        let len = format.block_len() + 1;
        assert_eq!(encode(format, &x[..len], &mut out, None), Err(QuantError::PartialBlock { format, len }));
        let expected = format.row_bytes(256).unwrap();
        let e = encode(format, &x[..256], &mut out, None).unwrap_err();
        assert_eq!(e, QuantError::WrongBytes { format, len: 256, expected, found: 2048 });
    }
    let mut put = |format: Format, n: usize, w: &[f32]| {
        encode(format, &x[..n], &mut out[..format.row_bytes(n).unwrap()], Some(w))
    };
    assert_eq!(put(Format::Q8_0, 64, &x[..48]), Err(QuantError::PartialBlock { format: Format::Q8_0, len: 48 }));
    let e = put(Format::Q4_0, 96, &x[..64]).unwrap_err();
    assert_eq!(e, QuantError::WrongLength { what: "x", expected: 128, found: 96 });
    assert_eq!(put(Format::Q4_0, 32, &[]), Err(QuantError::WrongLength { what: "importance", expected: 32, found: 0 }));
    assert_eq!(put(Format::Q4_0, 0, &[]), Ok(()));
    for bad in [-1.0, f32::NAN, f32::INFINITY, 1e13] {
        let mut w = [1.0; 32];
        w[7] = bad;
        assert_eq!(put(Format::Q4_0, 64, &w), Err(QuantError::BadImportance { index: 7 }));
    }
    assert_eq!(encode(Format::I8, &[0.0], &mut [0], None), Err(QuantError::NotReal { format: Format::I8 }));
}
