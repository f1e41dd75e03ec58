//! The engine that plays in a callback: equal to the references and to the typed networks, the same bits for every cut,
//! and no allocation.

use crate::oracle;
use crate::support::allocations;
use forge::{axes::Time, prelude::*};
use forge_nam::audio::read_raw;
use forge_nam::engine::{Engine, Options, Plan};
use forge_nam::model::{Input, Network};
use forge_nam::profile::{Profile, ProfileError};
use serde_json::Value;
use std::{path::Path, sync::Arc};

/// The signal in each channel: channels after the first have half of it, inverted.
fn channels(signal: &[f32], count: usize) -> Vec<Vec<f32>> {
    (0..count).map(|c| signal.iter().map(|v| if c == 0 { *v } else { v * -0.5 }).collect()).collect()
}

/// Runs `signal` in blocks of the given lengths (the last length repeats); the channels one after the other.
fn play(engine: &mut Engine, signal: &[f32], mut lengths: impl FnMut() -> usize) -> Vec<f32> {
    let (from, to) = engine.plan().channels();
    let input = channels(signal, from);
    let mut output = vec![vec![0.0f32; signal.len()]; to];
    let mut at = 0;
    while at < signal.len() {
        let part = at..at + lengths().clamp(1, signal.len() - at);
        let x: Vec<&[f32]> = input.iter().map(|c| &c[part.clone()]).collect();
        let mut y: Vec<&mut [f32]> = output.iter_mut().map(|c| &mut c[part.clone()]).collect();
        engine.process_channels(&x, &mut y);
        at = part.end;
    }
    output.concat()
}

fn input(folder: &Path, name: &str) -> Vec<f32> {
    read_raw(folder.join("inputs").join(if name == "a" { "a-sweep.f32" } else { "b-noise-silence.f32" })).unwrap()
}

fn size(output: &Value, key: &str) -> usize {
    usize::try_from(output[key].as_u64().unwrap()).unwrap()
}

/// Compares every stored output that `table` lists; files stand below `folder`, signals below `inputs`.
fn compare(folder: &Path, table: &str, inputs: &Path) -> usize {
    let (mut compared, mut wrong) = (0, Vec::new());
    for (_, entry) in oracle::table(folder.join(table)) {
        let profile = Profile::open(folder.join(entry["file"].as_str().unwrap())).unwrap();
        for output in entry["outputs"].as_array().unwrap() {
            let Some(file) = output["file"].as_str() else { continue };
            let options =
                Options::default().fast_tanh(output["fast_tanh"].as_bool().unwrap()).quality(output["slim"].as_f64());
            let block = size(output, "block");
            let mut engine = Engine::new(&profile, block, options).unwrap_or_else(|e| panic!("{file}: {e}"));
            if output["prewarm"].as_bool().unwrap() {
                engine.prewarm();
            }
            let signal = input(inputs, output["input"].as_str().unwrap());
            let got = play(&mut engine, &signal, || block);
            let got: Vec<f32> = got.chunks(signal.len()).flat_map(|c| c[size(output, "offset")..].to_vec()).collect();
            let reference = read_raw(folder.join(file)).unwrap();
            assert_eq!(got.len(), reference.len(), "{file}");
            let tolerance = output["tol"].as_f64().unwrap();
            let worst = got.iter().zip(&reference).map(|(a, b)| f64::from((a - b).abs()));
            // Written so that a NaN is too far.
            if let Some(worst) = worst.filter(|d| !(*d <= tolerance)).reduce(f64::max) {
                wrong.push(format!("{file}: {worst:e} off, allowed {tolerance:e}"));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} outputs are wrong:\n{}", wrong.len(), wrong.join("\n"));
    compared
}

#[test]
fn every_synthetic_profile_plays_as_the_reference() {
    let (folder, full) = oracle::folder();
    let compared = compare(&folder, "synthetic.json", &folder);
    assert!(compared >= if full { 200 } else { 25 }, "only {compared} outputs");
}

#[test]
fn real_profiles_play_as_the_reference() {
    let (folder, full) = oracle::folder();
    if full {
        assert!(compare(&folder.join("real"), "real.json", &folder) >= 20);
    }
}

/// The typed network says what the engine plays.
#[test]
fn the_engine_equals_the_typed_network() {
    let folder = oracle::committed();
    let signal = &input(&folder, "b")[1000..1700];
    for path in oracle::profiles_in(folder.join("profiles")) {
        let profile = Profile::open(&path).unwrap();
        for quality in [None, Some(0.0), Some(0.6)] {
            let options = Options::default().quality(quality);
            let network = Network::new(&profile, options).unwrap();
            let mut engine = Engine::new(&profile, 64, options).unwrap();
            let (from, to) = network.channels();
            let got = play(&mut engine, signal, || 64);
            let rows: Vec<f32> = {
                let x = channels(signal, from);
                let x = (0..signal.len()).flat_map(|t| x.iter().map(move |c| c[t])).collect();
                network.run(&Tensor::<(Time, Input)>::from_vec((signal.len(), from), x), &mut network.state()).to_vec()
            };
            let peak = rows.iter().fold(1.0f32, |m, v| m.max(v.abs()));
            for c in 0..to {
                for t in 0..signal.len() {
                    let (got, want) = (got[c * signal.len() + t], rows[t * to + c]);
                    // Sums in another order: the bound of the references.
                    assert!((got - want).abs() <= 1e-5 * peak, "{}: {got} for {want} at {t}", path.display());
                }
            }
        }
    }
}

/// Cuts of a signal at random places give the bits of the whole, in `f32` and in `f64`.
#[test]
fn every_cut_of_the_engine_gives_the_same_bits() {
    let folder = oracle::committed();
    let signal = &input(&folder, "b")[900..2900];
    for path in oracle::profiles_in(folder.join("profiles")) {
        let profile = Profile::open(&path).unwrap();
        for fast in [false, true] {
            let mut engine = Engine::new(&profile, 64, Options::default().fast_tanh(fast)).unwrap();
            engine.prewarm();
            let whole = play(&mut engine.clone(), signal, || signal.len());
            let mut seed = 7u64;
            for most in [1usize, 5, 64, 65, 333] {
                let cut = play(&mut engine.clone(), signal, || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    1 + usize::try_from(seed >> 33).unwrap() % most
                });
                let differs = whole.iter().zip(&cut).position(|(a, b)| a.to_bits() != b.to_bits());
                assert!(differs.is_none(), "{}: blocks of up to {most}: sample {differs:?} differs", path.display());
            }
            if profile.channels() == (1, 1) {
                let wide: Vec<f64> = signal.iter().map(|&v| f64::from(v)).collect();
                let mut out = vec![0.0; wide.len()];
                engine.process(&wide, &mut out);
                assert!(out.iter().zip(&whole).all(|(a, b)| *a == f64::from(*b)), "{}: f64", path.display());
            }
        }
    }
}

#[test]
fn playing_allocates_nothing() {
    let (folder, _) = oracle::folder();
    let signal = input(&oracle::committed(), "b");
    for path in oracle::profiles_in(folder.join("profiles")) {
        let profile = Profile::open(&path).unwrap();
        if profile.channels() != (1, 1) {
            continue;
        }
        let mut engine = Engine::new(&profile, 64, Options::default()).unwrap();
        let mut out = vec![0.0; signal.len()];
        let rate = profile.sample_rate.unwrap_or(48000.0);
        // The first call too: a callback has no first time to spare. (Which instructions the CPU has is asked once.)
        let _ = forge_kernels::isa::isa();
        let count = allocations(|| {
            engine.process(&signal[..700], &mut out[..700]);
            engine.reset(rate, 48).unwrap();
            engine.prewarm();
            for (x, y) in signal.chunks(48).zip(out.chunks_mut(48)) {
                engine.process(x, y);
            }
        });
        assert_eq!(count, 0, "{}", path.display());
    }
}

#[test]
fn a_reset_forgets_everything_and_two_engines_share_a_plan() {
    fn sendable<T: Send + 'static>(t: T) -> T {
        t
    }
    let folder = oracle::committed();
    let signal = input(&folder, "b");
    for path in oracle::profiles_in(folder.join("profiles")) {
        let profile = Profile::open(&path).unwrap();
        let plan = Arc::new(Plan::new(&profile, Options::default()).unwrap());
        let mut left = Engine::of(Arc::clone(&plan), 64);
        let mut right = sendable(Engine::of(plan, 64));
        let first = play(&mut left, &signal, || 64);
        let other = std::thread::spawn({
            let signal = signal.clone();
            move || play(&mut right, &signal, || 17)
        });
        left.reset(profile.sample_rate.unwrap_or(44100.0), 64).unwrap();
        let again = play(&mut left, &signal, || 64);
        let other = other.join().unwrap();
        assert_eq!(first, again, "{}", path.display());
        assert_eq!(first, other, "{}", path.display());
    }
}

#[test]
fn another_sample_rate_is_refused_in_words() {
    let profile = Profile::open(oracle::committed().join("profiles/wn-nano-tanh.nam")).unwrap();
    let mut engine = Engine::new(&profile, 64, Options::default()).unwrap();
    let error = engine.reset(44100.0, 64).unwrap_err();
    assert!(matches!(error, ProfileError::SampleRate { trained: 48000.0, asked: 44100.0 }));
    assert!(error.to_string().contains("trained at 48000"), "{error}");
}

/// A sound that fades into subnormal numbers costs what any other costs, and comes out finite.
#[test]
fn subnormal_numbers_are_zeros_inside() {
    let profile = Profile::open(oracle::committed().join("profiles/lstm-1x8.nam")).unwrap();
    let mut engine = Engine::new(&profile, 64, Options::default()).unwrap();
    let mut silent = engine.clone();
    let (mut a, mut b) = ([0.0f32; 64], [0.0f32; 64]);
    engine.process(&[f32::MIN_POSITIVE / 16.0; 64], &mut a);
    silent.process(&[0.0f32; 64], &mut b);
    assert_eq!(a, b);
    let half = std::hint::black_box(f32::MIN_POSITIVE) / 2.0;
    assert!(half > 0.0, "the mode of the CPU is as it was");
}
