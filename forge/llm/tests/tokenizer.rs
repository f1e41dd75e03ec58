//! Token ids against llama.cpp's, text by text.
#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use forge_gguf::Gguf;
use forge_llm::tokenizer::{Decoder, Encode, TokenKind, Tokenizer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the oracles, if `FORGE_ORACLES` says where.
fn oracles() -> Option<PathBuf> {
    let o = env::var_os("FORGE_ORACLES").map(PathBuf::from);
    if o.is_none() {
        let message =
            "skipped: all but the few files in tests/data/llm; set FORGE_ORACLES to the folder of the oracles";
        assert!(env::var_os("FORGE_NO_SKIP").is_none_or(|v| v != "1"), "FORGE_NO_SKIP=1, but {message}");
        eprintln!("{message}");
    }
    o
}

/// A real model, if it was fetched.
fn model(name: &str) -> Option<Gguf> {
    let folder = env::var_os("FORGE_MODELS").map_or_else(|| root().join("models"), PathBuf::from);
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {name}; fetch it with scripts/fetch-models.sh, or set FORGE_MODELS to its folder");
        return None;
    }
    Some(Gguf::open(path).unwrap())
}

fn tokenizer(file: &Gguf) -> Tokenizer {
    Tokenizer::from_metadata(file.metadata()).unwrap()
}

fn ids(v: &Value) -> Vec<u32> {
    v.as_array().unwrap().iter().map(|x| u32::try_from(x.as_u64().unwrap()).unwrap()).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn hex(s: &str) -> Vec<u8> {
    (0..s.len()).step_by(2).map(|i| u8::from_str_radix(&s[i..i + 2], 16).unwrap()).collect()
}

const SPECIAL: Encode = Encode { parse_special: true, add_special: false };

/// A file of `tiny-llm` with its texts; how many were checked.
fn check(path: &Path) -> usize {
    let name = path.display();
    let t = tokenizer(&Gguf::open(path).unwrap());
    let want = json(&path.with_extension("json"));
    let about = &want["tokenizer"];
    let special = |key: &str| about[key].as_i64().and_then(|id| u32::try_from(id).ok());
    assert_eq!(t.len() as u64, about["n_vocab"].as_u64().unwrap(), "{name}");
    assert_eq!(t.special().bos, special("bos"), "{name}");
    assert_eq!(t.special().eos, special("eos"), "{name}");
    assert_eq!(Some(t.adds_bos()), about["add_bos"].as_bool(), "{name}");
    assert_eq!(Some(t.adds_eos()), about["add_eos"].as_bool(), "{name}");
    assert_eq!(t.special().end_of_generation, ids(&about["eog"]).into_iter().collect::<BTreeSet<_>>(), "{name}");
    assert_eq!(t.special().eot.is_some(), special("eot").is_some(), "{name}");
    let texts = want["texts"].as_array().unwrap();
    for case in texts {
        let text = case["text"].as_str().unwrap();
        assert_eq!(t.encode(text, SPECIAL), ids(&case["ids"]), "{name}: {text:?}");
        assert_eq!(t.encode(text, Encode::PROMPT), ids(&case["ids_add_special"]), "{name}: {text:?}");
        assert_eq!(t.encode(text, Encode::TEXT), ids(&case["ids_no_parse"]), "{name}: {text:?}");
        let bytes = t.decode_tidy(&ids(&case["ids"]), true).unwrap();
        let want = hex(case["detok_hex"].as_str().unwrap());
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&want), "{name}: {text:?}");
        assert_eq!(bytes, want, "{name}: {text:?}");
        round_trip(&t, text);
    }
    texts.len()
}

/// What a user writes comes back, whole and streamed, and holds no control token.
fn round_trip(t: &Tokenizer, text: &str) {
    let ids = t.encode(text, Encode::TEXT);
    assert!(ids.iter().all(|&id| t.kind(id) != Some(TokenKind::Control)), "{text:?} gives a control token");
    let mut decoder = Decoder::at_start(t);
    let mut streamed: String = ids.iter().map(|&id| decoder.token(t, id, false)).collect();
    streamed += &decoder.finish();
    assert_eq!(t.decode(&ids).unwrap(), streamed, "{text:?}");
    // Unknown characters have no way back in vocabularies without bytes; all of these have bytes or letters.
    let complete = t.encode("\u{1}\u{7f}é", Encode::TEXT).len() >= 4;
    if complete {
        assert_eq!(streamed, text);
    }
}

#[test]
fn small_vocabularies() {
    let folder = root().join("tests/data/llm");
    let names = ["tok-gpt2", "tok-llama3", "tok-qwen", "tok-smol", "tok-spm-gemma", "tok-spm-llama", "llama-tied.Q4_0"];
    let texts: usize = names.iter().map(|n| check(&folder.join(format!("{n}.gguf")))).sum();
    assert_eq!(texts, 6 * 42 + 8);
}

#[test]
fn every_tiny_model() {
    let Some(o) = oracles() else { return };
    let mut files = 0;
    for entry in fs::read_dir(o.join("tiny-llm")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "gguf") {
            check(&path);
            files += 1;
        }
    }
    assert!(files >= 29, "{files} files");
}

#[test]
fn real_models() {
    let Some(o) = oracles() else { return };
    for (name, file) in [("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), ("gemma3", "gemma-3-270m-q4_k_m.gguf")] {
        let Some(file) = model(file) else { continue };
        let t = tokenizer(&file);
        let want = json(&o.join(format!("llm/{name}.tokenize.json")));
        assert_eq!(t.len() as u64, want["n_vocab"].as_u64().unwrap());
        assert_eq!(t.special().bos.map(u64::from), want["bos"].as_u64());
        assert_eq!(t.special().eos.map(u64::from), want["eos"].as_u64());
        assert_eq!(Some(t.adds_bos()), want["add_bos"].as_bool());
        let cases = want["cases"].as_array().unwrap();
        assert!(cases.len() > 20);
        for case in cases {
            let text = case["text"].as_str().unwrap();
            assert_eq!(t.encode(text, SPECIAL), ids(&case["ids"]), "{name}: {text:?}");
            assert_eq!(t.encode(text, Encode::TEXT), ids(&case["ids_no_special_parse"]), "{name}: {text:?}");
            assert_eq!(t.encode(text, Encode::PROMPT), ids(&case["ids_add_special"]), "{name}: {text:?}");
            let back = t.decode_bytes(&ids(&case["ids"]), true).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&back) == text,
                case["roundtrip"].as_bool().unwrap(),
                "{name}: {text:?}"
            );
            round_trip(&t, text);
        }
        // A whole document, of which the oracle has the first tokens.
        let text = fs::read_to_string(o.join("llm/inputs/ppl.txt")).unwrap();
        let want = json(&o.join(format!("llm/{name}.ppl.f32weights.json")));
        let first = want.as_object().unwrap().iter().find(|(k, _)| k.contains("first")).unwrap().1;
        let ours = t.encode(&text, Encode::TEXT);
        assert_eq!(ours[..64], ids(first)[..], "{name}");
        round_trip(&t, &text);
    }
}

#[test]
fn long_texts_take_no_quadratic_time() {
    let folder = root().join("tests/data/llm");
    for name in ["tok-gpt2", "tok-llama3", "tok-qwen", "tok-smol", "tok-spm-gemma", "tok-spm-llama"] {
        let t = tokenizer(&Gguf::open(folder.join(format!("{name}.gguf"))).unwrap());
        for unit in ["the quick ", " ", "\n", "a", "1", "é", "🦀", "<|im_start|>", "<start_of_turn>", "!"] {
            let text = unit.repeat((1 << 18) / unit.len());
            let ids = t.encode(&text, SPECIAL);
            assert_eq!(t.decode_bytes(&ids, true).unwrap().len(), text.len(), "{name}: {unit:?}");
        }
    }
}
