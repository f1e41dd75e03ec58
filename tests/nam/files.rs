//! Files of sound: what is written is read again, what is wrong is refused in one sentence.

use forge_nam::audio::{AudioError, read_raw, read_wav, welch, write_atomic, write_raw, write_wav};
use hound::{SampleFormat, WavSpec, WavWriter};
use std::{fs, path::PathBuf};

/// A folder of its own for a test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("forge-nam-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn floats_come_back_bit_for_bit() {
    let folder = Folder::new("floats");
    let samples = [0.0, -0.0, 1.5, -1.0, 1e-30, f32::MIN_POSITIVE / 8.0, 0.1];
    write_wav(folder.file("a.wav"), 44_100, &samples).unwrap();
    write_raw(folder.file("a.f32"), &samples).unwrap();
    let sound = read_wav(folder.file("a.wav")).unwrap();
    assert_eq!((sound.sample_rate, sound.channels), (44_100, 1));
    let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&sound.samples), bits(&samples));
    assert_eq!(bits(&read_raw(folder.file("a.f32")).unwrap()), bits(&samples));
    // Written over, and nothing else is left in the folder.
    write_wav(folder.file("a.wav"), 48_000, &samples[..2]).unwrap();
    assert_eq!(read_wav(folder.file("a.wav")).unwrap().samples.len(), 2);
    assert_eq!(folder.names(), ["a.f32", "a.wav"]);
}

#[test]
fn integers_are_divided_by_full_scale() {
    let folder = Folder::new("integers");
    for (bits, full) in [(8u16, 128i64), (16, 32_768), (24, 8_388_608), (32, 2_147_483_648)] {
        let path = folder.file("i.wav");
        let spec =
            WavSpec { channels: 2, sample_rate: 48_000, bits_per_sample: bits, sample_format: SampleFormat::Int };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        for v in [-full, 0, full / 2, full - 1] {
            writer.write_sample(i32::try_from(v).unwrap()).unwrap();
            // The second channel must not be heard.
            writer.write_sample(1).unwrap();
        }
        writer.finalize().unwrap();
        let sound = read_wav(&path).unwrap();
        assert_eq!((sound.channels, sound.samples.len()), (2, 4), "{bits} bits");
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
        let top = ((full - 1) as f64 / full as f64) as f32;
        assert_eq!(sound.samples, [-1.0, 0.0, 0.5, top], "{bits} bits");
    }
}

#[test]
fn what_cannot_be_played_is_refused() {
    let folder = Folder::new("refused");
    let path = folder.file("x.wav");
    assert!(matches!(read_wav(&path), Err(AudioError::Read { .. })), "missing");
    fs::write(&path, b"").unwrap();
    assert!(matches!(read_wav(&path), Err(AudioError::Truncated { .. })), "no bytes");
    fs::write(&path, b"ID3 this is not a WAV file, however long it goes on").unwrap();
    assert!(matches!(read_wav(&path), Err(AudioError::Format { .. })), "another format");
    write_wav(&path, 48_000, &[]).unwrap();
    assert!(matches!(read_wav(&path), Err(AudioError::Empty { .. })), "no samples");
    for bad in [f32::NAN, f32::INFINITY] {
        write_wav(&path, 48_000, &[0.0, bad]).unwrap();
        assert!(matches!(read_wav(&path), Err(AudioError::NotFinite { index: 1, .. })), "{bad}");
    }
    write_wav(&path, 48_000, &[0.25; 100]).unwrap();
    let whole = fs::read(&path).unwrap();
    for keep in [10, 30, whole.len() - 200, whole.len() - 3] {
        fs::write(&path, &whole[..keep]).unwrap();
        let error = read_wav(&path).unwrap_err();
        assert!(matches!(error, AudioError::Truncated { .. }), "{keep} bytes: {error}");
    }
    let raw = folder.file("x.f32");
    fs::write(&raw, [0; 7]).unwrap();
    assert!(matches!(read_raw(&raw), Err(AudioError::Truncated { .. })));
    fs::write(&raw, f32::NAN.to_le_bytes()).unwrap();
    assert!(matches!(read_raw(&raw), Err(AudioError::NotFinite { index: 0, .. })));
}

/// Every byte of the header, at every value that is likely to matter: an error or a sound, nothing else.
#[test]
fn damaged_headers_never_panic() {
    let folder = Folder::new("headers");
    let path = folder.file("h.wav");
    write_wav(&path, 48_000, &[0.5; 8]).unwrap();
    let whole = fs::read(&path).unwrap();
    for i in 0..whole.len() - 32 {
        for value in [0, 1, 2, 3, 7, 16, 24, 64, 127, 128, 255] {
            let mut bytes = whole.clone();
            bytes[i] = value;
            fs::write(&path, &bytes).unwrap();
            let _ = read_wav(&path);
        }
    }
}

#[test]
fn a_failed_write_leaves_nothing() {
    let folder = Folder::new("failed");
    assert!(matches!(write_atomic(folder.file("no/such/folder.wav"), b"x"), Err(AudioError::Write { .. })));
    fs::create_dir(folder.file("folder")).unwrap();
    assert!(matches!(write_atomic(folder.file("folder"), b"x"), Err(AudioError::Write { .. })));
    assert_eq!(folder.names(), ["folder"]);
    #[cfg(unix)]
    {
        // A link is followed, a device is written to and stays a device.
        std::os::unix::fs::symlink(folder.file("real"), folder.file("link")).unwrap();
        fs::write(folder.file("real"), b"old").unwrap();
        write_atomic(folder.file("link"), b"new").unwrap();
        assert_eq!(fs::read(folder.file("real")).unwrap(), b"new");
        assert!(fs::symlink_metadata(folder.file("link")).unwrap().is_symlink());
        write_atomic("/dev/null", b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}

#[test]
fn silence_and_short_signals_have_a_spectrum() {
    assert!(welch(&[], 48_000.0, 16).decibels.iter().all(|&d| d == -200.0));
    let click = welch(&[0.0, 0.0, 1.0], 48_000.0, 8);
    assert_eq!(click.frequencies.len(), 5);
    assert_eq!(click.frequencies[4], 24_000.0);
    // The spectrum of one sample is flat.
    assert!(click.decibels.iter().all(|d| (d - click.decibels[0]).abs() < 1e-9));
}
