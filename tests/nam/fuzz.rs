//! Seeded mutations of sound profiles: whatever the bytes are, the answer is a profile or an error.

use crate::oracle;
use forge_nam::profile::Profile;
use serde_json::{Number, Value};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

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
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }
}

/// The JSON values of a document in the order of a walk; `f` gets each with its number.
fn walk(value: &mut Value, at: &mut usize, f: &mut dyn FnMut(&mut Value, usize)) {
    f(value, *at);
    *at += 1;
    match value {
        Value::Array(items) => {
            // A row of weights is one value and its first few numbers.
            items.iter_mut().take(20).for_each(|v| walk(v, at, f));
        }
        Value::Object(map) => map.values_mut().for_each(|v| walk(v, at, f)),
        _ => {}
    }
}

fn odd_value(r: &mut Random) -> Value {
    let float = |v: f64| Number::from_f64(v).map_or(Value::Null, Value::Number);
    match r.below(16) {
        0 => Value::Null,
        1 => Value::Bool(r.below(2) == 0),
        2 => float(-1.0),
        3 => Value::from(0),
        4 => Value::from(u64::MAX),
        5 => float(1e300),
        6 => float(0.5),
        7 => Value::from(r.below(2000)),
        8 => Value::from(r.below(9)),
        9 => Value::Array(vec![]),
        10 => Value::Object(serde_json::Map::new()),
        11 => Value::String("Tanh".into()),
        12 => Value::String("gated".into()),
        13 => Value::Array((0..r.below(6)).map(|i| Value::from(i + 1)).collect()),
        14 => serde_json::json!({"active": true, "groups": r.below(4), "out_channels": r.below(6), "type": "PReLU"}),
        _ => Value::from(1u64 << r.below(40)),
    }
}

fn mutate_tree(document: &Value, r: &mut Random) -> Vec<u8> {
    let mut doc = document.clone();
    for _ in 0..=r.below(3) {
        let (mut count, mut at) = (0, 0);
        walk(&mut doc, &mut count, &mut |_, _| ());
        let (target, what, odd) = (r.below(count), r.below(5), odd_value(r));
        let pick = r.next();
        walk(&mut doc, &mut at, &mut |value, i| {
            if i != target {
                return;
            }
            match (value, what) {
                (Value::Object(map), 0 | 1) if !map.is_empty() => {
                    let key = map.keys().nth(usize::try_from(pick % map.len() as u64).unwrap()).unwrap().clone();
                    map.remove(&key);
                }
                (Value::Object(map), 2) => {
                    const KEYS: [&str; 8] = [
                        "bottleneck",
                        "gating_mode",
                        "head1x1",
                        "conv_pre_film",
                        "slimmable",
                        "head",
                        "kernel_sizes",
                        "condition_dsp",
                    ];
                    map.insert(KEYS[usize::try_from(pick % 8).unwrap()].into(), odd.clone());
                }
                (Value::Array(items), 0..=2) if !items.is_empty() => {
                    let i = usize::try_from(pick % items.len() as u64).unwrap();
                    if what == 0 { drop(items.remove(i)) } else { items.insert(i, odd.clone()) }
                }
                (value, _) => *value = odd.clone(),
            }
        });
    }
    serde_json::to_vec(&doc).unwrap()
}

fn mutate_bytes(bytes: &[u8], r: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=r.below(4) {
        // Most of a file is weights; the first bytes are where the structure is.
        let reach = if r.below(2) == 0 { out.len().min(400) } else { out.len() };
        let i = r.below(reach);
        match r.below(4) {
            0 => out.truncate(i.max(1)),
            1 => out[i] = u8::try_from(r.below(256)).unwrap(),
            2 => out.insert(i, b"[]{}\",:-.e019\\ntf"[r.below(17)]),
            _ => drop(out.remove(i)),
        }
        if out.is_empty() {
            out.push(b'{');
        }
    }
    out
}

#[test]
fn mutated_profiles_never_panic() {
    let files = oracle::profiles_in(oracle::committed().join("profiles"));
    let originals: Vec<Vec<u8>> = files.iter().map(|p| fs::read(p).unwrap()).filter(|b| b.len() < 30_000).collect();
    let trees: Vec<Value> = originals.iter().map(|b| serde_json::from_slice(b).unwrap()).collect();
    let seconds = std::env::var("FORGE_FUZZ_SECONDS").ok().and_then(|v| v.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut tried, mut sound) = (0u64, 0u64);
    while Instant::now() < end || tried < 200 {
        let mut r = Random(tried);
        let i = r.below(originals.len());
        let bytes = if tried % 3 == 0 { mutate_bytes(&originals[i], &mut r) } else { mutate_tree(&trees[i], &mut r) };
        let outcome = catch_unwind(AssertUnwindSafe(|| Profile::parse(&bytes).is_ok()));
        assert!(outcome.is_ok(), "seed {tried} (a mutation of {}) panicked", files[i].display());
        sound += u64::from(outcome.unwrap());
        tried += 1;
    }
    eprintln!("{tried} mutated files, {sound} of them sound");
    assert!(sound > 0 && sound < tried, "mutations must leave some files sound and break some: {sound} of {tried}");
}
