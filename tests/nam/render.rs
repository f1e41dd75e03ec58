//! Playing profiles: equal to the original engine within each output's tolerance, and the same bits for every cut.

use crate::oracle;
use forge::{axes::Time, prelude::*};
use forge_nam::audio::read_raw;
use forge_nam::model::{Input, Network, Options, State};
use forge_nam::profile::{Model, Profile};
use serde_json::Value;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The input signal in each channel: channels after the first have half of it, inverted.
fn channels(signal: &[f32], count: usize) -> Vec<f32> {
    let gain = |c: usize| if c == 0 { 1.0 } else { -0.5 };
    signal.iter().flat_map(|&v| (0..count).map(move |c| v * gain(c))).collect()
}

/// The state after the prewarm of `block`, as the original engine does it.
fn prewarmed(network: &Network, block: usize) -> State {
    let mut state = network.state();
    let silence = Tensor::<(Time, Input)>::zeros((block, network.channels().0));
    for _ in 0..network.prewarm_samples().div_ceil(block) {
        network.run(&silence, &mut state);
    }
    state
}

/// Runs `signal` in blocks of the given lengths (the last length repeats); the channels one after the other.
fn play(network: &Network, state: &State, signal: &[f32], mut lengths: impl FnMut() -> usize) -> Vec<f32> {
    let (from, to) = network.channels();
    let mut state = state.clone();
    let all = channels(signal, from);
    let mut rows = Vec::new();
    let mut at = 0;
    while at < signal.len() {
        let n = lengths().clamp(1, signal.len() - at);
        let x = Tensor::from_vec((n, from), all[at * from..(at + n) * from].to_vec());
        rows.extend(network.run(&x, &mut state).to_vec());
        at += n;
    }
    (0..to).flat_map(|c| rows.iter().skip(c).step_by(to).copied()).collect()
}

struct Case {
    profile: Profile,
    name: String,
    outputs: Vec<Value>,
    folder: PathBuf,
}

/// The profiles that a test wants.
fn cases(wanted: impl Fn(&str, &Profile) -> bool) -> Vec<Case> {
    let (folder, _) = oracle::folder();
    let mut cases = Vec::new();
    for (name, entry) in oracle::table(folder.join("synthetic.json")) {
        let profile = Profile::open(folder.join(entry["file"].as_str().unwrap())).unwrap();
        if wanted(&name, &profile) {
            let outputs = entry["outputs"].as_array().unwrap().clone();
            cases.push(Case { profile, name, outputs, folder: folder.clone() });
        }
    }
    cases
}

fn input(folder: &Path, name: &str) -> Vec<f32> {
    read_raw(folder.join("inputs").join(if name == "a" { "a-sweep.f32" } else { "b-noise-silence.f32" })).unwrap()
}

/// Compares every stored output of the cases; returns how many there were.
fn compare(cases: &[Case]) -> usize {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in cases {
        // Most outputs of a profile share their prewarm.
        let mut states: HashMap<String, (Arc<Network>, State)> = HashMap::new();
        for output in &case.outputs {
            let Some(file) = output["file"].as_str() else { continue };
            let block = usize::try_from(output["block"].as_u64().unwrap()).unwrap();
            let options =
                Options::default().fast_tanh(output["fast_tanh"].as_bool().unwrap()).quality(output["slim"].as_f64());
            let prewarm = output["prewarm"].as_bool().unwrap();
            let (network, state) = states.entry(format!("{block} {prewarm} {options:?}")).or_insert_with(|| {
                let network = Network::new(&case.profile, options).unwrap_or_else(|e| panic!("{file}: {e}"));
                let state = if prewarm { prewarmed(&network, block) } else { network.state() };
                (Arc::new(network), state)
            });
            let reference = read_raw(case.folder.join(file)).unwrap();
            let signal = input(&case.folder, output["input"].as_str().unwrap());
            let got = play(network, state, &signal, || block);
            let offset = usize::try_from(output["offset"].as_u64().unwrap()).unwrap();
            let got: Vec<f32> = got.chunks(signal.len()).flat_map(|c| c[offset..].to_vec()).collect();
            assert_eq!(got.len(), reference.len(), "{file}");
            let worst = got
                .iter()
                .zip(&reference)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0f32, |m, d| if d >= m { d } else { m.max(d) });
            let nan = got.iter().any(|v| !v.is_finite());
            if nan || f64::from(worst) > output["tol"].as_f64().unwrap() {
                wrong.push(format!("{file}: {worst:e} off (finite: {}), allowed {}", !nan, output["tol"]));
            }
            compared += 1;
        }
        eprintln!("{}: compared", case.name);
    }
    assert!(wrong.is_empty(), "{} of {compared} outputs are wrong:\n{}", wrong.len(), wrong.join("\n"));
    compared
}

fn slimmed(profile: &Profile) -> bool {
    matches!(&profile.model, Model::WaveNet(m) if m.config.arrays.iter().any(|a| a.slimming.is_some()))
}

#[test]
fn classic_wavenets_are_equal() {
    let cases = cases(|name, _| name.starts_with("wn-") || name.starts_with("act-"));
    assert!(compare(&cases) >= 10);
}

#[test]
fn lstms_are_equal() {
    let cases = cases(|name, _| name.starts_with("lstm-"));
    assert!(compare(&cases) >= 8);
}

#[test]
fn modern_wavenets_are_equal() {
    let cases = cases(|name, profile| name.starts_with("a2-") && !slimmed(profile));
    assert!(compare(&cases) >= 2);
}

#[test]
fn other_architectures_are_equal() {
    let cases = cases(|name, _| ["convnet-", "linear-", "container-"].iter().any(|p| name.starts_with(p)));
    assert!(compare(&cases) >= 3);
}

/// Cuts of a signal at random places give the bits of the whole.
#[test]
fn every_cut_gives_the_same_bits() {
    let folder = oracle::committed();
    let signal = input(&folder, "b");
    let signal = &signal[900..1900];
    for path in oracle::profiles_in(folder.join("profiles")) {
        let profile = Profile::open(&path).unwrap();
        for fast in [false, true] {
            let network = Network::new(&profile, Options::default().fast_tanh(fast)).unwrap();
            // The trained state of an LSTM serves as well as a settled one, and costs nothing.
            let state = match profile.model {
                Model::Lstm(_) => network.state(),
                _ => prewarmed(&network, 64),
            };
            let whole = play(&network, &state, signal, || signal.len());
            let mut seed = 7u64;
            for most in [1usize, 5, 64, 333] {
                let cut = play(&network, &state, signal, || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    1 + usize::try_from(seed >> 33).unwrap() % most
                });
                let differs = whole.iter().zip(&cut).position(|(a, b)| a.to_bits() != b.to_bits());
                assert!(differs.is_none(), "{}: blocks of up to {most}: sample {differs:?} differs", path.display());
            }
        }
    }
}

/// Threads do not change a bit either.
#[test]
fn every_number_of_threads_gives_the_same_bits() {
    let folder = oracle::committed();
    let signal = input(&folder, "b");
    let profile = Profile::open(folder.join("profiles/wn-feather-gated.nam")).unwrap();
    let network = Network::new(&profile, Options::default()).unwrap();
    let render = || play(&network, &network.state(), &signal, || 512);
    let one = forge::team::Team::single().enter(render);
    for n in [2, 3, 8] {
        let many = forge::team::Team::new(n).enter(render);
        assert!(one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits()), "{n} threads");
    }
}
