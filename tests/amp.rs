//! The amp program on its command line: what it writes, what it says, and how it ends.
//!
//! `cargo test` builds the examples beside the tests; for this test alone run `cargo build --example amp` first.

use forge_nam::audio::{read_wav, write_wav};
use forge_nam::engine::{Engine, Options};
use forge_nam::profile::Profile;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

fn amp(arguments: &[&str]) -> Output {
    let test = env::current_exe().unwrap();
    let built =
        test.parent().unwrap().parent().unwrap().join("examples").join(format!("amp{}", env::consts::EXE_SUFFIX));
    assert!(built.is_file(), "{} is missing: run `cargo build --example amp` with this profile", built.display());
    Command::new(built).args(arguments).output().unwrap()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn profile() -> PathBuf {
    data("tests/data/nam/profiles/wn-nano-tanh.nam")
}

fn guitar() -> PathBuf {
    data("examples/assets/amp/di-guitar.wav")
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("forge-amp-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    fn names(&self) -> Vec<String> {
        fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn render(profile: &Path, input: &Path, output: &Path, more: &[&str]) -> Output {
    let paths = [profile, input, output].map(|p| p.to_str().unwrap());
    amp(&[&["render"], &paths[..], more].concat())
}

/// Renders and gives back the samples.
fn played(folder: &Folder, more: &[&str]) -> Vec<f32> {
    let out = folder.file("out.wav");
    let done = render(&profile(), &guitar(), &out, more);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    read_wav(&out).unwrap().samples
}

/// Runs what must fail: the code, and one sentence on stderr that says `what`. Nothing is left in the folder.
fn fails(done: &Output, folder: &Folder, code: i32, what: &str) {
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{said}");
    assert!(said.contains(what), "said {said:?}, not {what:?}");
    assert!(done.stdout.is_empty(), "results go to stdout, and there is none");
    let sentences = said.lines().filter(|l| !l.starts_with("amp: note: ")).count();
    assert!(code != 1 || sentences == 1, "{said}");
    assert!(folder.names().is_empty(), "left behind: {:?}", folder.names());
}

#[test]
fn it_plays_what_the_library_plays() {
    let folder = Folder::new();
    let sound = read_wav(guitar()).unwrap();
    let profile = Profile::open(profile()).unwrap();
    let expect = |block: usize, prewarm: bool, options: Options| {
        let mut engine = Engine::new(&profile, block, options).unwrap();
        if prewarm {
            engine.prewarm();
        }
        let mut out = vec![0.0; sound.samples.len()];
        engine.process(&sound.samples, &mut out);
        out
    };
    assert_eq!(played(&folder, &[]), expect(64, true, Options::default()));
    assert_eq!(played(&folder, &["--block", "17"]), expect(17, true, Options::default()));
    let cold = played(&folder, &["--no-prewarm"]);
    assert_eq!(cold, expect(64, false, Options::default()));
    assert_ne!(cold, expect(64, true, Options::default()), "the prewarm is heard");
    assert_eq!(played(&folder, &["--fast-tanh"]), expect(64, true, Options::default().fast_tanh(true)));
    assert_eq!(folder.names(), ["out.wav"], "no temporary file stays");
}

#[test]
fn a_size_is_chosen_by_slim() {
    let folder = Folder::new();
    let container = data("tests/data/nam/profiles/container-3-mixed.nam");
    let mut sounds = Vec::new();
    for slim in ["0", "0.5", "1"] {
        let out = folder.file("out.wav");
        let done = render(&container, &guitar(), &out, &["--slim", slim]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        sounds.push(read_wav(&out).unwrap().samples);
    }
    assert!(sounds[0] != sounds[1] && sounds[1] != sounds[2]);
}

#[test]
fn missing_files_are_named() {
    let folder = Folder::new();
    let (absent, out) = (folder.file("absent"), folder.file("out.wav"));
    fails(&render(&absent, &guitar(), &out, &[]), &folder, 1, "cannot read");
    fails(&render(&profile(), &absent, &out, &[]), &folder, 1, "absent");
    let nowhere = folder.file("no/such/folder/out.wav");
    fails(&render(&profile(), &guitar(), &nowhere, &[]), &folder, 1, "cannot write");
}

#[test]
fn malformed_profiles_get_a_sentence() {
    let folder = Folder::new();
    for (name, what) in [
        ("weights-short-1-wavenet", "weights: expected"),
        ("json-truncated", "not JSON"),
        ("arch-unknown", "architecture"),
        ("version-0.8.0", "version"),
    ] {
        let bad = data(&format!("tests/data/nam/malformed/{name}.nam"));
        fails(&render(&bad, &guitar(), &folder.file("out.wav"), &[]), &folder, 1, what);
    }
}

#[test]
fn wrong_sounds_are_refused() {
    let (folder, sounds) = (Folder::new(), Folder::new());
    let out = folder.file("out.wav");
    let text = sounds.file("text.wav");
    fs::write(&text, "not a sound").unwrap();
    fails(&render(&profile(), &text, &out, &[]), &folder, 1, "text.wav");
    let slow = sounds.file("slow.wav");
    write_wav(&slow, 22050, &[0.0; 100]).unwrap();
    fails(&render(&profile(), &slow, &out, &[]), &folder, 1, "the sound has 22050");
    let two = data("tests/data/nam/profiles/wn-multi-2in-2out.nam");
    fails(&render(&two, &guitar(), &out, &[]), &folder, 1, "channels");
}

#[test]
fn wrong_command_lines_end_with_2() {
    let folder = Folder::new();
    let out = folder.file("out.wav");
    fails(&render(&profile(), &guitar(), &out, &["--block", "0"]), &folder, 2, "--block");
    fails(&render(&profile(), &guitar(), &out, &["--block", "x"]), &folder, 2, "--block");
    fails(&render(&profile(), &guitar(), &out, &["--slim", "1.5"]), &folder, 2, "a number from 0 to 1");
    fails(&render(&profile(), &guitar(), &out, &["--loud"]), &folder, 2, "--loud");
    fails(&amp(&["render"]), &folder, 2, "<PROFILE>");
}

#[test]
fn an_old_output_stays_when_a_run_fails() {
    let (folder, sounds) = (Folder::new(), Folder::new());
    let out = folder.file("out.wav");
    fs::write(&out, "old").unwrap();
    let slow = sounds.file("slow.wav");
    write_wav(&slow, 22050, &[0.0; 100]).unwrap();
    let done = render(&profile(), &slow, &out, &[]);
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(folder.names(), ["out.wav"]);
}

#[test]
fn help_says_what_there_is() {
    let help = amp(&["render", "--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    for word in ["<PROFILE>", "<INPUT>", "<OUTPUT>", "--block", "--no-prewarm", "--fast-tanh", "--slim"] {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
    assert!(String::from_utf8(amp(&["--help"]).stdout).unwrap().contains("Exit codes"));
    assert!(amp(&["--version"]).status.success());
}
