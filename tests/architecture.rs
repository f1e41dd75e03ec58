//! The house rules that the compiler does not check: which crate may use which, where `unsafe` may stand, and that no
//! untyped tensor leaves the core.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Each crate and the crates of this workspace it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("forge-axes", &[]),
    ("forge-macros", &[]),
    ("forge-kernels", &[]),
    ("forge-gguf", &["forge-kernels"]),
    ("forge", &["forge-axes", "forge-gguf", "forge-kernels", "forge-macros"]),
    ("forge-llm", &["forge", "forge-gguf", "forge-kernels"]),
    ("forge-nam", &["forge", "forge-kernels"]),
    ("forge-ui-tests", &["forge"]),
    ("forge-book", &["forge", "forge-gguf", "forge-llm", "forge-nam", "forge-kernels"]),
];

/// Folders whose code may be `unsafe`, and why.
const UNSAFE: &[(&str, &str)] = &[
    ("forge/kernels/src", "the kernels"),
    ("forge/kernels/tests", "guard pages around kernels"),
    ("tests/support", "a counting allocator"),
];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).expect("a readable folder") {
        let p = e.expect("a readable entry").path();
        let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if p.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&p, out);
        } else if name.ends_with(".rs") {
            out.push(p);
        }
    }
}

fn relative(p: &Path) -> String {
    p.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/")
}

#[test]
fn arrows_point_down() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let meta: serde_json::Value = serde_json::from_slice(&out.stdout).expect("cargo metadata is JSON");
    let packages = meta["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for p in packages {
        let name = p["name"].as_str().expect("a name");
        let may = allowed.get(name).unwrap_or_else(|| panic!("crate {name} has no entry in ARROWS"));
        for d in p["dependencies"].as_array().expect("dependencies") {
            let dep = d["name"].as_str().expect("a name");
            if ours.contains(dep) {
                assert!(may.contains(&dep), "{name} uses {dep}, and that arrow points up");
            }
        }
    }
}

#[test]
fn unsafe_stays_in_the_kernels() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 50, "the sources were not found");
    for f in files {
        let name = relative(&f);
        if UNSAFE.iter().any(|(dir, _)| name.starts_with(dir)) || name == "tests/architecture.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&f).expect("readable");
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let found = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "allow(unsafe_code"];
            assert!(!found.iter().any(|f| code.contains(f)), "{name}:{}: unsafe outside the kernels", i + 1);
        }
    }
}

#[test]
fn every_unsafe_block_has_its_proof() {
    let mut files = Vec::new();
    sources(&root().join("forge/kernels/src"), &mut files);
    for f in files {
        let text = std::fs::read_to_string(&f).expect("readable");
        let mut proof = false;
        for (i, line) in text.lines().enumerate() {
            let t = line.trim();
            if t.starts_with("//") || t.starts_with("#[") {
                proof |= t.contains("SAFETY") || t.contains("# Safety");
                continue;
            }
            let block = t.contains("unsafe {") || t.contains("unsafe impl");
            assert!(
                !block || proof || t.contains("SAFETY"),
                "{}:{}: unsafe without a SAFETY line above",
                relative(&f),
                i + 1
            );
            // A statement may be several lines long: the proof holds until it ends.
            if t.is_empty() || t.ends_with(';') || t.ends_with('}') || t.ends_with('{') {
                proof = false;
            }
        }
    }
}

#[test]
fn upper_crates_see_no_untyped_tensor() {
    for dir in ["forge/llm/src", "forge/nam/src", "examples"] {
        let mut files = Vec::new();
        sources(&root().join(dir), &mut files);
        for f in files {
            let text = std::fs::read_to_string(&f).expect("readable");
            assert!(!text.contains("RawTensor"), "{}: the untyped tensor is forge's own", relative(&f));
        }
    }
}
