//! Files that are wrong, by accident or by intent: an error that says so, in little memory.

#[path = "../../../tests/support/mod.rs"]
mod support;

use forge_gguf::{GgmlType, Gguf, GgufError, Limits, Writer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: support::Counting = support::Counting;

/// A header with these counts, and nothing after it.
fn counts(version: u32, tensors: u64, entries: u64) -> Vec<u8> {
    let mut b = b"GGUF".to_vec();
    b.extend_from_slice(&version.to_le_bytes());
    b.extend_from_slice(&tensors.to_le_bytes());
    b.extend_from_slice(&entries.to_le_bytes());
    b
}

/// The bytes of a string.
fn string(s: &str) -> Vec<u8> {
    [&(s.len() as u64).to_le_bytes()[..], s.as_bytes()].concat()
}

/// A file with one tensor of this description and `data` bytes of data.
fn one(sizes: &[u64], kind: u32, offset: u64, data: usize) -> Vec<u8> {
    let mut b = counts(3, 1, 0);
    b.extend(string("t"));
    b.extend_from_slice(&(sizes.len() as u32).to_le_bytes());
    sizes.iter().for_each(|s| b.extend_from_slice(&s.to_le_bytes()));
    b.extend_from_slice(&kind.to_le_bytes());
    b.extend_from_slice(&offset.to_le_bytes());
    b.resize(b.len().next_multiple_of(32) + data, 0);
    b
}

/// A file with one metadata entry `k` of this type and these bytes.
fn entry(kind: u32, value: &[u8]) -> Vec<u8> {
    let mut b = counts(3, 0, 1);
    b.extend(string("k"));
    b.extend_from_slice(&kind.to_le_bytes());
    b.extend_from_slice(value);
    b
}

fn says(bytes: Vec<u8>, text: &str) {
    match Gguf::from_bytes(bytes) {
        Ok(_) => panic!("accepted; should say: {text}"),
        Err(e) => assert!(e.to_string().contains(text), "`{e}` should contain `{text}`"),
    }
}

#[test]
fn each_mistake_is_named() {
    says(vec![], "too short");
    says(b"GG".to_vec(), "too short");
    says(b"ggml....".to_vec(), "older format");
    says(b"PK\x03\x04....".to_vec(), "zip archive");
    says(b"<!DOCTYPE html>".to_vec(), "web page");
    says(b"version https://git-lfs".to_vec(), "git lfs pull");
    says(counts(1, 0, 0), "version 1 is not supported");
    says(counts(99, 0, 0), "version 99");
    says(counts(3u32.swap_bytes(), 0, 0), "big-endian");
    says(counts(3, u64::MAX, 0), "the count of tensors says 18446744073709551615");
    says(counts(3, 0, u64::MAX), "the count of metadata entries says");
    says(
        counts(3, 0, 0)[..20].to_vec(),
        "the count of metadata entries needs 8 bytes at offset 16, and the file has 4",
    );
    says(entry(13, &[0; 8]), "unknown value type 13");
    says(entry(8, &u64::MAX.to_le_bytes()), "the value of metadata `k` needs 18446744073709551615 bytes");
    says(entry(9, &[&4u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat()), "the length of metadata `k` says");
    says(
        entry(9, &[&8u32.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8]].concat()),
        "the length of metadata `k` says 2",
    );
    let deep: Vec<u8> =
        (0..9).flat_map(|_| [9u32.to_le_bytes().to_vec(), 1u64.to_le_bytes().to_vec()].concat()).collect();
    says(entry(9, &deep), "nests arrays deeper than 8");
    let mut not_utf8 = entry(0, &[0]);
    not_utf8[32] = 0xff;
    says(not_utf8, "the key of metadata entry 0 at offset 32 is not UTF-8");
    let twice = [counts(3, 0, 2), entry(0, &[0])[24..].to_vec(), entry(0, &[0])[24..].to_vec()].concat();
    says(twice, "metadata `k` stands twice");

    let alignment = |kind: u32, value: &[u8]| {
        let mut b = counts(3, 0, 1);
        b.extend(string("general.alignment"));
        b.extend_from_slice(&kind.to_le_bytes());
        b.extend_from_slice(value);
        b
    };
    says(alignment(4, &0u32.to_le_bytes()), "general.alignment is 0");
    says(alignment(4, &48u32.to_le_bytes()), "general.alignment is 48");
    says(alignment(4, &(1u32 << 21).to_le_bytes()), "general.alignment is 2097152");
    says(alignment(6, &0u32.to_le_bytes()), "metadata `general.alignment` is the f32 0");

    says(one(&[1; 5], 0, 0, 4), "has 5 sizes, more than 4");
    says(one(&[4], 4, 0, 64), "has type 4 (Q4_2), which ggml has withdrawn");
    says(one(&[4], 43, 0, 64), "has type 43, which does not exist");
    says(one(&[33], 2, 0, 64), "has rows of 33 elements, which are no whole blocks of 32 Q4_0");
    says(one(&[u64::MAX, 2], 0, 0, 64), "whose product overflows");
    says(one(&[1 << 62], 0, 0, 64), "whose product overflows");
    says(one(&[1 << 40, 1 << 40], 0, 0, 64), "whose product overflows");
    says(one(&[16], 0, 0, 60), "tensor `t` needs 64 bytes at offset 64, and the file has 60 there");
    says(one(&[16], 0, 32, 64), "tensor `t` needs 64 bytes at offset 96, and the file has 32 there");
    says(one(&[1], 0, u64::MAX - 31, 64), "and the file has 0 there");
    says(one(&[0], 0, u64::MAX - 31, 64), "and the file has 0 there");
    says(one(&[1], 0, 8, 64), "begins at 8, no multiple of the alignment of 32");

    let mut w = Writer::new();
    w.tensor("aa", GgmlType::I8, &[40], vec![0; 40]).unwrap();
    w.tensor("bb", GgmlType::I8, &[4], vec![0; 4]).unwrap();
    let mut b = w.to_bytes().unwrap();
    let at = b.windows(2).position(|w| w == b"bb").unwrap() + 2 + 4 + 8 + 4;
    b[at..at + 8].copy_from_slice(&32u64.to_le_bytes());
    says(b.clone(), "tensors `aa` and `bb` overlap");
    b[at..at + 8].copy_from_slice(&64u64.to_le_bytes());
    b[at - 18..at - 16].copy_from_slice(b"aa");
    says(b, "tensor `aa` stands twice");
}

#[test]
fn empty_things_are_legal() {
    assert_eq!(Gguf::from_bytes(counts(2, 0, 0)).unwrap().version(), 2);
    assert_eq!(Gguf::from_bytes(one(&[0, 7], 0, 0, 0)).unwrap().tensor("t").unwrap().bytes(), []);
    assert_eq!(Gguf::from_bytes(one(&[], 0, 0, 4)).unwrap().tensor("t").unwrap().bytes(), [0; 4]);
}

#[test]
fn limits_hold() {
    let mut w = Writer::new();
    w.set("a", &1u8).unwrap().set("b", &2u8).unwrap();
    w.tensor("name", GgmlType::I8, &[1], vec![0]).unwrap();
    let bytes = w.to_bytes().unwrap();
    let with = |limits: Limits| Gguf::from_bytes_with(bytes.clone(), &limits).map(|_| ()).unwrap_err().to_string();
    let entries = with(Limits { entries: 1, ..Limits::default() });
    assert_eq!(
        entries,
        "the count of metadata entries is 2, more than the limit of 1: if it is meant, raise `Limits::entries`"
    );
    assert!(with(Limits { tensors: 0, ..Limits::default() }).contains("raise `Limits::tensors`"));
    assert!(with(Limits { name: 3, ..Limits::default() }).contains("raise `Limits::name`"));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut w = Writer::new();
    assert!(w.set("", &1u8).is_err());
    assert!(w.set(&"k".repeat(70_000), &1u8).is_err());
    assert!(w.set("general.alignment", &48u32).is_err());
    assert!(w.set("general.alignment", &64u64).is_err());
    assert!(matches!(w.tensor("t", GgmlType::Q4_0, &[33], vec![0; 36]), Err(GgufError::Shape { .. })));
    assert!(matches!(w.tensor("t", GgmlType::Q4_0, &[32], vec![0; 17]), Err(GgufError::Unwritable { .. })));
    assert!(matches!(w.declare("t", GgmlType::F32, &[1; 5]), Err(GgufError::Shape { .. })));
    w.declare("t", GgmlType::F32, &[1]).unwrap();
    assert!(w.to_bytes().unwrap_err().to_string().contains("stream them with `create`"));
}

/// The stated budget: a header takes at most 16 bytes of memory for each of its own, and an error almost none.
#[test]
fn headers_take_little_memory() {
    let entries = |n: u64| {
        let mut b = counts(3, 0, n);
        for i in 0..n {
            b.extend(string(&format!("{i:x}")));
            b.extend_from_slice(&[0, 0, 0, 0, 1]);
        }
        b
    };
    let tensors = |n: u64| {
        let mut b = counts(3, n, 0);
        for i in 0..n {
            b.extend(string(&format!("{i:x}")));
            b.extend_from_slice(&[1, 0, 0, 0]);
            b.extend_from_slice(&0u64.to_le_bytes());
            b.extend_from_slice(&0u32.to_le_bytes());
            b.extend_from_slice(&0u64.to_le_bytes());
        }
        b
    };
    for bytes in [entries(50_000), tensors(50_000), entries(1 << 16), tensors((1 << 16) + 1)] {
        let len = bytes.len() as u64;
        let mut file = None;
        let peak = support::peak_bytes(|| file = Some(Gguf::from_bytes(bytes)));
        file.unwrap().unwrap();
        assert!(peak <= 16 * len, "{peak} bytes for a header of {len}");
    }
    // Counts that lie ask for nothing.
    for bytes in
        [counts(3, 1 << 62, 0), counts(3, 0, 1 << 62), entry(9, &[&8u32.to_le_bytes()[..], &[255; 8]].concat())]
    {
        let peak = support::peak_bytes(|| assert!(Gguf::from_bytes(bytes).is_err()));
        assert!(peak < 4096, "{peak} bytes for an error");
    }
}

/// SplitMix64: the sequence is fixed by the seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Changes a few bytes: flips, odd numbers where a count or a size may stand, cuts, doubled and missing pieces.
fn mutate(r: &mut Random, bytes: &mut Vec<u8>, header: usize) {
    const ODD: [u64; 12] =
        [0, 1, 31, 32, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, i64::MAX as u64, u64::MAX];
    for _ in 0..=r.below(3) {
        // Mostly in the header, where a byte means something.
        let at = if r.below(8) == 0 { r.below(bytes.len()) } else { r.below(header.min(bytes.len())) };
        match r.below(7) {
            0 => bytes.get_mut(at).into_iter().for_each(|b| *b ^= 1 << (at % 8)),
            1 => bytes.get_mut(at).into_iter().for_each(|b| *b = 255),
            2 | 3 => {
                let odd = ODD[r.below(ODD.len())].to_le_bytes();
                let width = [4, 8][r.below(2)];
                bytes.iter_mut().skip(at).zip(&odd[..width]).for_each(|(b, o)| *b = *o);
            }
            4 => bytes.truncate(at),
            5 => {
                let end = (at + r.below(40)).min(bytes.len());
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at.min(end)..at.min(end), piece);
            }
            _ => {
                let end = (at + r.below(40)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
        }
    }
}

/// Looks at everything that a file offers.
fn read_all(file: &Gguf) -> usize {
    let values: usize = file
        .metadata()
        .iter()
        .map(|(k, v)| match v {
            forge_gguf::Value::Array(a) => k.len() + a.iter().count(),
            _ => k.len(),
        })
        .sum();
    let bytes: usize =
        file.tensors().map(|t| t.bytes().len() + t.shared().iter().map(|&b| b as usize).sum::<usize>()).sum();
    values + bytes
}

#[test]
fn whatever_the_bytes_are_the_answer_is_a_file_or_an_error() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/llm");
    let mut w = Writer::new();
    w.set("general.alignment", &64u32).unwrap().set("s", "text").unwrap().set("a", &["x", "yy"]).unwrap();
    w.set("split.count", &1u16).unwrap().set("split.no", &0u16).unwrap();
    w.tensor("t", GgmlType::Q8_0, &[32, 2], vec![7; 68]).unwrap();
    w.tensor("u", GgmlType::F16, &[3, 1, 2], vec![8; 12]).unwrap();
    let small = w.to_bytes().unwrap();
    let mut seeds = vec![(small.clone(), small.len(), 20_000)];
    for name in ["tok-gpt2.gguf", "tok-spm-llama.gguf", "llama-tied.Q4_0.gguf"] {
        let bytes = std::fs::read(data.join(name)).unwrap();
        let header = bytes.len().min(12_000);
        seeds.push((bytes, header, 1500));
    }
    let mut r = Random(1);
    let (mut good, mut bad) = (0, 0);
    for (bytes, header, rounds) in seeds {
        for round in 0..rounds {
            let mut b = bytes.clone();
            mutate(&mut r, &mut b, header);
            let len = b.len() as u64;
            let mut answer = Ok(false);
            let peak = support::peak_bytes(|| {
                answer = catch_unwind(AssertUnwindSafe(|| match Gguf::from_bytes(b) {
                    Ok(file) => {
                        read_all(&file);
                        let again = Writer::from(&file).to_bytes().expect("what was read can be written");
                        let again = Gguf::from_bytes(again).expect("what was written can be read");
                        assert_eq!(again.tensors().count(), file.tensors().count());
                        true
                    }
                    Err(e) => {
                        assert!(e.to_string().len() < 70_000);
                        false
                    }
                }));
            });
            match answer {
                Ok(true) => good += 1,
                Ok(false) => bad += 1,
                Err(_) => panic!("round {round} of a file of {} bytes panics", bytes.len()),
            }
            // Twice the header's budget and the file written again, with room for what the test itself holds.
            assert!(peak <= 40 * len + (1 << 22), "{peak} bytes for a file of {len}");
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} accepted, {bad} refused: the mutations miss");
}
