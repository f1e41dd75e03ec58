//! Reading profiles: the sound ones as what they are, the others refused in one sentence.

use crate::oracle;
use forge_nam::profile::{Activation, FilmSlot, Gating, Limits, Model, Profile, ProfileError, Version, Warning};
use std::{fmt::Write, fs};

#[test]
fn sound_profiles_are_read() {
    let (folder, _) = oracle::folder();
    for (name, entry) in oracle::table(folder.join("synthetic.json")) {
        let profile =
            Profile::open(folder.join(entry["file"].as_str().unwrap())).unwrap_or_else(|e| panic!("{name}: {e}"));
        let count = |key: &str| usize::try_from(entry[key].as_i64().unwrap()).unwrap();
        assert_eq!(profile.channels(), (count("in_channels"), count("out_channels")), "{name}");
        // The reference has another submodel's of a container, and none of a network that can be cut.
        let cut = matches!(&profile.model, Model::WaveNet(m) if m.config.arrays.iter().any(|a| a.slimming.is_some()));
        if !cut && !matches!(profile.model, Model::Container(_)) {
            assert_eq!(profile.prewarm_samples(), count("prewarm_samples"), "{name}");
        }
        assert_eq!(profile.sample_rate.unwrap_or(-1.0), entry["sample_rate"].as_f64().unwrap(), "{name}");
        assert_eq!(profile.name().as_deref(), Some(&*name), "{name}");
    }
}

#[test]
fn profiles_of_others_are_read() {
    let (folder, full) = oracle::folder();
    if !full {
        return;
    }
    for path in oracle::profiles_in(folder.join("real")) {
        Profile::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

#[test]
fn malformed_profiles_are_refused_in_one_sentence() {
    let (folder, _) = oracle::folder();
    let mut shown = String::new();
    for (name, entry) in oracle::table(folder.join("malformed/expect.json")) {
        let bytes = fs::read(folder.join("malformed").join(format!("{name}.nam"))).unwrap();
        let got = Profile::parse(&bytes);
        writeln!(shown, "{name}: {}", got.as_ref().err().map_or("accepted".to_owned(), ToString::to_string)).unwrap();
        match entry["expect"].as_str().unwrap() {
            "reject" => assert!(got.is_err(), "{name} must be refused"),
            "accept" => assert!(got.is_ok(), "{name} must be accepted, but: {}", got.unwrap_err()),
            "either" => {}
            other => panic!("unknown expectation {other}"),
        }
        if let Err(e) = got {
            let text = e.to_string();
            assert!(
                text.len() < 250 && !text.contains('\n') && !text.ends_with('.'),
                "{name}: not one short sentence: {text}"
            );
        }
    }
    eprintln!("{shown}");
}

/// What is wrong is said at its place.
#[test]
fn errors_name_the_place() {
    for (name, part) in [
        ("weights-short-1-wavenet", "weights: expected 98 numbers for this configuration, got 97"),
        ("weights-null-element", "weights[3] must be a number, not null"),
        ("weights-string-element", "weights[3] must be a number, not the text \"0.5\""),
        ("weights-nan-token", "NaN and Infinity are not JSON"),
        ("weights-1e39", "weights[3] is 1e39, not a finite 32-bit float"),
        ("weights-missing", "missing key `weights`"),
        ("channels-1e9", "config.layers[0].channels is 1000000000, more than the limit of 1024"),
        ("channels-fraction", "config.layers[0].channels is 3.7, but must be a whole number"),
        ("channels-negative", "config.layers[0].channels is -3, but must be at least 1"),
        ("dilation-zero", "config.layers[0].dilations[1] is 0"),
        ("dilation-1e9", "config.layers[0].dilations[1] is 1000000000"),
        ("kernel-size-both", "config.layers[0]: give kernel_size or kernel_sizes, not both"),
        ("arch-unknown", "architecture: unknown architecture 'CatNet' (known: WaveNet, LSTM"),
        ("version-0.4.9", "version is 0.4.9: older than 0.5.0"),
        ("version-0.8.0", "version is 0.8.0: newer than 0.7"),
        ("version-number", "version must be a text such as \"0.5.4\", not 0.5"),
        ("json-truncated", "the text ends too early"),
        ("json-empty", "the file is empty"),
        ("json-root-array", "the profile must be an object, not an array"),
        ("json-duplicate-weights", "`weights` is given twice"),
        ("head-scale-missing", "missing key `config.head_scale` (a number is required"),
        ("activation-unknown", "config.layers[0].activation: unknown activation 'Mish'"),
        ("activation-array-short", "config.layers[0].activation: has 1 entries, where dilations has 2"),
        ("groups-not-dividing", "groups_input 2 does not divide channels 3"),
        ("container-nested-200", "nested deeper than"),
        ("container-last-0.9", "config.submodels: the last max_value is 0.9, but must be at least 1"),
        ("film-head1x1-without-head1x1", "head1x1_post_film needs head1x1, which is off"),
        ("sample-rate-zero", "sample_rate is 0, but must be between 1 and 1000000"),
    ] {
        let bytes = fs::read(oracle::committed().join("malformed").join(format!("{name}.nam"))).unwrap();
        let text = Profile::parse(&bytes).unwrap_err().to_string();
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[test]
fn metadata_nested_without_end_is_refused() {
    for n in [65, 127, 200, 100_000] {
        let deep = format!("{}{}", "[".repeat(n), "]".repeat(n));
        let text = LINEAR.replace("\"sample_rate\"", &format!("\"x\": {deep}, \"sample_rate\""));
        assert!(matches!(Profile::parse(text.as_bytes()), Err(ProfileError::TooDeep { .. })), "x {n}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = LINEAR.replace("\"sample_rate\"", &format!("\"metadata\": {deep}, \"sample_rate\""));
    assert!(matches!(Profile::parse(text.as_bytes()), Err(ProfileError::TooDeep { .. })));
}

const LINEAR: &str = r#"{"version": "0.5.4", "architecture": "Linear", "config": {"receptive_field": 2, "bias": false},
  "weights": [0.5, 0.25], "sample_rate": 48000}"#;

fn linear(from: &str, to: &str) -> Result<Profile, ProfileError> {
    assert!(LINEAR.contains(from));
    Profile::parse(LINEAR.replace(from, to).as_bytes())
}

#[test]
fn what_is_odd_but_harmless_is_a_warning() {
    let newer = linear("0.5.4", "0.7.3").unwrap();
    assert_eq!(newer.warnings, [Warning::NewerPatch(Version { major: 0, minor: 7, patch: 3 })]);
    let loud = linear("\"sample_rate\"", r#""metadata": {"loudness": "loud", "gain": null}, "sample_rate""#).unwrap();
    assert_eq!(loud.warnings, [Warning::LevelNotANumber("loudness")]);
    assert_eq!(loud.loudness(), None);
    assert!(linear("48000", "null").unwrap().sample_rate.is_none());
    let with_mark = [b"\xef\xbb\xbf", LINEAR.as_bytes()].concat();
    assert!(Profile::parse(&with_mark).unwrap().warnings.is_empty());
}

#[test]
fn metadata_is_kept_as_it_stands() {
    let meta = r#"{"name": "A\u001b[31mmp", "loudness": -18.5, "delays": [0, -16], "date": {"year": 2024}, "x": null}"#;
    let profile = linear("\"sample_rate\"", &format!("\"metadata\": {meta}, \"sample_rate\"")).unwrap();
    assert_eq!(profile.metadata, Some(serde_json::from_str(meta).unwrap()));
    assert_eq!(profile.loudness(), Some(-18.5));
    // Control characters of a file never reach a terminal.
    assert_eq!(profile.name().as_deref(), Some("A[31mmp"));
}

#[test]
fn versions_are_plain_numbers() {
    for bad in ["0.5", "0.5.4.1", "v0.5.4", "0.5.+4", "0.5.", "0.5.99999999999", "1.0.0", "0.8.0", "0.4.9", ""] {
        assert!(linear("0.5.4", bad).is_err(), "{bad}");
    }
    for good in ["0.5.0", "0.5.99", "0.6.0", "0.7.0", "00.5.4"] {
        assert!(linear("0.5.4", good).is_ok(), "{good}");
    }
}

#[test]
fn limits_are_the_callers() {
    let tight = |change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        Profile::parse_within(LINEAR.as_bytes(), &limits)
    };
    assert!(tight(&|_| ()).is_ok());
    assert!(matches!(tight(&|l| l.file_bytes = 20), Err(ProfileError::TooLarge { limit_name: "file_bytes", .. })));
    assert!(matches!(tight(&|l| l.values = 3), Err(ProfileError::TooLarge { limit_name: "values", .. })));
    assert!(matches!(
        tight(&|l| l.receptive_field = 1),
        Err(ProfileError::TooLarge { limit_name: "receptive_field", .. })
    ));
}

#[test]
fn a_layer_array_is_read_whole() {
    let path = oracle::committed().join("profiles/a2-combo-1.nam");
    let profile = Profile::open(path).unwrap();
    let Model::WaveNet(net) = &profile.model else { panic!("not a WaveNet") };
    assert_eq!(profile.version, Version { major: 0, minor: 6, patch: 0 });
    assert_eq!(net.config.condition.as_ref().unwrap().channels(), (1, 2));
    let [first, second] = &net.config.arrays[..] else { panic!("two arrays") };
    assert_eq!((first.channels, first.bottleneck, first.groups_input), (4, 6, 2));
    assert_eq!(first.layers.iter().map(|l| l.dilation).collect::<Vec<_>>(), [1, 3, 9]);
    assert_eq!(first.layers[0].gating, Gating::Gated(Activation::HardSwish));
    assert!(FilmSlot::ALL.iter().all(|&s| first.film(s).unwrap().shift && !second.film(s).unwrap().shift));
    assert_eq!(second.layers[0].activation, Activation::PRelu { slopes: [0.04, 0.3].into() });
    let Gating::Blended(Activation::LeakyHardTanh { low, high, low_slope, high_slope }) = second.layers[0].gating
    else {
        panic!("blended")
    };
    assert_eq!((low, high, low_slope, high_slope), (0.0, 0.9, 0.0, 0.02));
}

#[test]
fn a_container_chooses_by_quality() {
    let profile = Profile::open(oracle::committed().join("profiles/container-3-mixed.nam")).unwrap();
    let chosen = |q| profile.submodel(q).architecture();
    assert_eq!(chosen(Some(0.0)), "LSTM");
    assert_eq!(chosen(Some(0.329)), "LSTM");
    assert_eq!(chosen(Some(0.33)), "ConvNet");
    assert_eq!(chosen(Some(1.0)), "WaveNet");
    assert_eq!(chosen(Some(f64::NAN)), "WaveNet");
    assert_eq!(chosen(None), "WaveNet");
}
