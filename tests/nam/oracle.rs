//! The reference files: where they are, and what each says.

use serde_json::Value;
use std::{env, fs, path::PathBuf};

/// The folder of the references and whether it is the full set.
pub fn folder() -> (PathBuf, bool) {
    if let Some(root) = env::var_os("FORGE_ORACLES") {
        let folder = PathBuf::from(root).join("nam");
        assert!(folder.is_dir(), "FORGE_ORACLES is set, but {} is not a folder", folder.display());
        return (folder, true);
    }
    let message = "skipped: all profiles but the few in tests/data/nam; set FORGE_ORACLES to the folder of the oracles";
    assert!(env::var_os("FORGE_NO_SKIP").is_none_or(|v| v != "1"), "FORGE_NO_SKIP=1, but {message}");
    eprintln!("{message}");
    (committed(), false)
}

/// The part that is in the repository.
pub fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/nam")
}

/// Reads a JSON object as its entries.
pub fn table(path: PathBuf) -> Vec<(String, Value)> {
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let Value::Object(map) = serde_json::from_str(&text).expect("the references are JSON") else {
        panic!("{} is not an object", path.display())
    };
    map.into_iter().collect()
}

/// Files of a folder with the ending `.nam`, sorted.
pub fn profiles_in(folder: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> =
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "nam")).collect();
    files.sort();
    assert!(!files.is_empty(), "no profile in {}", folder.display());
    files
}
