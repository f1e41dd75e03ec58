//! Reference data: an index in JSON beside a file of bytes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{env, fs};

pub struct Golden {
    index: Value,
    bytes: Vec<u8>,
}

impl Golden {
    fn open(folder: &Path) -> Self {
        let index = fs::read(folder.join("index.json")).unwrap();
        Self { index: serde_json::from_slice(&index).unwrap(), bytes: fs::read(folder.join("goldens.bin")).unwrap() }
    }

    /// The part in the repository, and the whole where it is.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/quants"))];
        if let Some(root) = env::var_os("FORGE_ORACLES") {
            all.push(Self::open(&PathBuf::from(root).join("ggml-quants")));
        } else {
            let message =
                "skipped: all goldens but those in tests/data/quants; set FORGE_ORACLES to the oracles' folder";
            assert!(env::var_os("FORGE_NO_SKIP").is_none_or(|v| v != "1"), "FORGE_NO_SKIP=1, but {message}");
            eprintln!("{message}");
        }
        all
    }

    pub fn types(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.index["types"].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v))
    }

    pub fn top(&self, key: &str) -> &Value {
        &self.index[key]
    }

    pub fn at(&self, span: &Value) -> &[u8] {
        let n = |i: usize| span[i].as_u64().unwrap() as usize;
        &self.bytes[n(0)..][..n(1)]
    }

    pub fn floats(&self, span: &Value) -> Vec<f32> {
        self.at(span).as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
}
