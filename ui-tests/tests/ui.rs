//! Compiles the cases in one build, and holds them to what they promise.
#![allow(missing_docs, reason = "a test")]

use forge_ui_tests::{Case, PINNED, cases, page, readers_part};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the child process that compiles: the folder of the copies.
const COPIES: &str = "FORGE_UI_COPIES";

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn failing() -> Vec<Case> {
    let mut all = cases("fail").unwrap();
    all.extend(cases("fail-build").unwrap());
    all
}

fn on_the_pinned_toolchain() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").current_dir(package()).output().expect("rustc runs").stdout;
    String::from_utf8_lossy(&version).starts_with(PINNED)
}

/// The errors of all cases, from one build. `trybuild` collects them beside copies of the cases, in a process of its own:
/// there it overwrites what is expected, and prints what is of no interest here.
fn compile_all() -> Vec<(Case, String)> {
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let _ = std::fs::remove_dir_all(&copies);
    for folder in ["pass", "fail", "fail-build"] {
        std::fs::create_dir_all(copies.join(folder)).unwrap();
        for case in cases(folder).unwrap() {
            std::fs::copy(&case.path, copies.join(folder).join(case.path.file_name().unwrap())).unwrap();
        }
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "compile_the_copies"])
        .env("TRYBUILD", "overwrite")
        .env(COPIES, &copies)
        .output()
        .unwrap();
    assert!(
        child.status.success(),
        "a case that must fail compiles, or one that must compile fails:\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
    let read = |case: Case| {
        let folder = case.path.parent().unwrap().file_name().unwrap();
        let stderr = std::fs::read_to_string(copies.join(folder).join(&case.name).with_extension("stderr")).unwrap();
        (case, readers_part(&without_the_copies_place(&stderr)))
    };
    failing().into_iter().map(read).collect()
}

/// `fail/101_....rs` for the path of a copy, however `trybuild` writes where the target directory is.
fn without_the_copies_place(stderr: &str) -> String {
    let line = |l: &str| match (l.find("--> ").or_else(|| l.find("::: ")), l.rfind("/tmp/ui/")) {
        (Some(arrow), Some(copies)) if arrow < copies => {
            l[..arrow + 4].to_owned() + &l[copies + "/tmp/ui/".len()..] + "\n"
        }
        _ => l.to_owned() + "\n",
    };
    stderr.lines().map(line).collect()
}

/// On the pinned toolchain every error is compared word for word; on another one, its key phrases.
#[test]
fn errors_are_as_written() {
    let (pinned, overwrite) = (on_the_pinned_toolchain(), std::env::var("TRYBUILD").is_ok_and(|v| v == "overwrite"));
    let mut stale = Vec::new();
    for (case, stderr) in compile_all() {
        if pinned && case.stderr().ok().as_ref() != Some(&stderr) {
            if overwrite {
                std::fs::write(case.path.with_extension("stderr"), &stderr).unwrap();
            } else {
                stale.push(format!("{} now says:\n{stderr}", case.name));
            }
        }
        stale.extend(unsaid(&case, &stderr));
    }
    assert!(
        stale.is_empty(),
        "{}\nread them, and if they are good: TRYBUILD=overwrite cargo test -p forge-ui-tests",
        stale.join("\n")
    );
}

/// That some cases pass makes `trybuild` build instead of check, which `fail-build` needs.
#[test]
#[ignore = "run by `errors_are_as_written` in a process of its own"]
fn compile_the_copies() {
    let Some(copies) = std::env::var_os(COPIES) else { return };
    let t = trybuild::TestCases::new();
    t.pass(Path::new(&copies).join("pass/*.rs"));
    t.compile_fail(Path::new(&copies).join("fail/*.rs"));
    t.compile_fail(Path::new(&copies).join("fail-build/*.rs"));
}

#[test]
fn only_the_readers_part_is_kept() {
    let whole = "\
error[E0277]: no axis `In` in `Out`
 --> fail/1.rs:7:23
  |
7 |     let y = x.dot(&w, In);
  |                       ^^ needs axis `In`
  |
  = help: the following other types implement trait `Module`:
            (A, B)
          and $N others
note: required by a bound in `dot`
 --> $WORKSPACE/forge/src/ops/contract.rs
  |
  |     pub fn dot(&self)
...
  | / binary! {
... |
  | |_- in this macro invocation
  = note: this error originates in the macro `binary`
help: consider further restricting
  |
6 | fn total<X: Axes + forge::Has<In>>
";
    let kept = readers_part(whole);
    assert!(kept.starts_with("error[E0277]: no axis `In` in `Out`\n --> fail/1.rs:7:23\n  |\n7 |     let y"), "{kept}");
    assert!(kept.ends_with("  |\nnote: required by a bound in `dot`\nhelp: consider further restricting\n  |\n6 | fn total<X: Axes + forge::Has<In>>\n"), "{kept}");
}

/// A complaint when the error does not hold one of the case's phrases.
fn unsaid(case: &Case, stderr: &str) -> Option<String> {
    let phrase = case.phrases.iter().find(|p| !stderr.contains(*p))?;
    Some(format!("{}: the error does not say `{phrase}`:\n{stderr}", case.name))
}

#[test]
fn cases_say_the_mistake_and_the_cure() {
    for case in failing() {
        assert!(!case.comment.is_empty(), "{}: the first line is a comment", case.name);
        assert!(!case.phrases.is_empty(), "{}: no `//~ ERROR:` line", case.name);
        let stderr = case.stderr().unwrap_or_else(|_| panic!("{} has no .stderr", case.name));
        assert_eq!(unsaid(&case, &stderr), None);
        let lines = stderr.trim_end().lines().count();
        assert!(lines <= 24, "{}: {lines} lines are too many to read", case.name);
        for leak in ["typenum", "UInt<", "UTerm", "X0<", "::Id as", "full name for the type"] {
            assert!(
                !stderr.contains(leak) || case.name.starts_with('8'),
                "{}: `{leak}` is no word of the user",
                case.name
            );
        }
    }
    for case in cases("pass").unwrap() {
        assert!(!case.comment.is_empty() && case.phrases.is_empty(), "{}", case.name);
    }
    assert!(failing().len() >= 60 && cases("pass").unwrap().len() >= 20);
}

#[test]
fn no_expected_error_without_its_case() {
    for folder in ["fail", "fail-build", "pass"] {
        let cases: BTreeSet<PathBuf> = cases(folder).unwrap().into_iter().map(|c| c.path).collect();
        for entry in std::fs::read_dir(package().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            assert!(cases.contains(&path.with_extension("rs")), "{} belongs to no case", path.display());
        }
    }
}

#[test]
fn the_page_is_fresh() {
    let path = package().join("../docs/src/reading-axis-errors.md");
    let fresh = page().unwrap();
    if std::env::var_os("FORGE_WRITE_PAGE").is_some() {
        return std::fs::write(path, fresh).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == fresh, "stale: run `FORGE_WRITE_PAGE=1 cargo test -p forge-ui-tests page`");
}

/// The program that the README begins with is a case, and the README shows the error that the case has.
#[test]
fn the_readme_shows_a_real_error() {
    let readme = std::fs::read_to_string(package().join("../README.md")).unwrap();
    let block = |fence: &str| readme.split_once(fence).unwrap().1.split_once("```").unwrap().0.trim().to_owned();
    let (program, error) = (block("```rust,compile_fail\n"), block("```text\n"));
    assert!(program.lines().count() <= 8);
    let case = failing().into_iter().find(|c| c.code.trim() == program).expect("the README's program is a case");
    let path = format!("fail/{}.rs:", case.name);
    let above = 1 + case.phrases.len(); // lines of the case that the README leaves out
    let in_readme = |line: &str| {
        if let Some((arrow, place)) = line.split_once(&path) {
            let (row, column) = place.split_once(':').unwrap();
            return format!("{arrow}src/main.rs:{}:{column}", row.parse::<usize>().unwrap() - above);
        }
        match line.split_once(" |").map(|(n, rest)| (n.parse::<usize>(), rest)) {
            Some((Ok(row), rest)) => format!("{} |{rest}", row - above),
            _ => line.to_owned(),
        }
    };
    let shown: Vec<String> = case.stderr().unwrap().lines().map(in_readme).collect();
    assert_eq!(error, shown.join("\n"));
}
