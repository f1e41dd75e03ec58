//! Real files: read, written again, changed, split.
#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use forge_gguf::{GgmlType, Gguf, GgufError, Load, Options, Strings, Value, ValueType, Writer};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ggufs(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map(|d| {
            d.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "gguf")).collect()
        })
        .unwrap_or_default();
    files.sort();
    files
}

/// The small files that are always there, then all that `FORGE_ORACLES` and `FORGE_MODELS` have.
fn all() -> Vec<PathBuf> {
    let mut files = ggufs(&root().join("tests/data/llm"));
    assert_eq!(files.len(), 7, "the small files are there");
    match env::var_os("FORGE_ORACLES") {
        Some(o) => files.extend(ggufs(&Path::new(&o).join("tiny-llm"))),
        None => {
            let message =
                "skipped: all but the few files in tests/data/llm; set FORGE_ORACLES to the folder of the oracles";
            assert!(env::var_os("FORGE_NO_SKIP").is_none_or(|v| v != "1"), "FORGE_NO_SKIP=1, but {message}");
            eprintln!("{message}");
        }
    }
    let models = env::var_os("FORGE_MODELS").map_or_else(|| root().join("models"), PathBuf::from);
    let models = ggufs(&models);
    if models.is_empty() {
        eprintln!("skipped: real models; fetch them with scripts/fetch-models.sh, or set FORGE_MODELS to their folder");
    }
    files.extend(models);
    files
}

/// A folder of this test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = env::temp_dir().join(format!("forge-gguf-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_that_is_not_changed_is_written_again_byte_for_byte() {
    let dir = Folder::new("again");
    for path in all() {
        let want = fs::read(&path).unwrap();
        let file = Gguf::open(&path).unwrap();
        assert_eq!(file.file_bytes(), want.len() as u64);
        let read = Gguf::open_with(&path, &Options { load: Load::Read, ..Options::default() }).unwrap();
        for (a, b) in file.tensors().zip(read.tensors()) {
            assert!(a.info() == b.info() && a.bytes() == b.bytes(), "mapped and read agree");
            assert!(a.shared().mapped().is_some() && b.shared().mapped().is_none());
            a.shared().prefetch();
            a.shared().release();
            assert!(a.bytes() == b.bytes(), "what was released is read again");
        }
        let out = dir.file("out.gguf");
        Writer::from(&file).save(&out).unwrap();
        assert!(fs::read(&out).unwrap() == want, "{} through save", path.display());
        if want.len() < 1 << 20 {
            assert!(Writer::from(&file).to_bytes().unwrap() == want, "{} through to_bytes", path.display());
        }
        // Laid out anew by streaming, it is the same too: these files stand in the order that ggml writes.
        let mut stream = Writer::from(&file).create(&out).unwrap();
        while stream.copy().unwrap() {}
        stream.finish().unwrap();
        let again = fs::read(&out).unwrap();
        let same = again == want || (file.tensors().next().is_none() && again.starts_with(&want));
        assert!(same, "{} through create", path.display());
    }
}

#[test]
fn metadata_and_tensors_of_a_known_file() {
    let file = Gguf::open(root().join("tests/data/llm/llama-tied.Q4_0.gguf")).unwrap();
    let m = file.metadata();
    assert_eq!(m.get::<&str>("general.architecture").unwrap(), "llama");
    assert_eq!(m.get::<usize>("llama.block_count").unwrap(), 2);
    assert_eq!(m.get::<u8>("llama.block_count").unwrap(), 2);
    assert_eq!(m.value_of("llama.block_count"), Some(Value::U32(2)));
    let tokens: Strings<'_> = m.get("tokenizer.ggml.tokens").unwrap();
    assert_eq!(tokens.len(), 320);
    assert_eq!(tokens.clone().count(), 320);
    let types: Vec<i32> = m.get("tokenizer.ggml.token_type").unwrap();
    assert_eq!((types.len(), types[0], types[50]), (320, 3, 1));
    assert_eq!(m.or("no.such.key", 7u32).unwrap(), 7);

    let t = file.tensor("blk.0.attn_q.weight").unwrap();
    assert_eq!((t.kind(), t.info().sizes.as_slice()), (GgmlType::Q4_0, &[64, 64][..]));
    assert_eq!(t.bytes().len(), 64 * 2 * 18);
    assert_eq!(&*t.shared(), t.bytes());
    let shared = t.shared();
    let want = t.bytes().to_vec();
    drop(file);
    assert_eq!(*shared, *want, "the bytes outlive the file's handle");

    let missing = Gguf::open(root().join("tests/data/llm/llama-tied.Q4_0.gguf")).unwrap();
    let e = missing.tensor("blk.0.attn_q.wight").unwrap_err().to_string();
    assert_eq!(e, "tensor `blk.0.attn_q.wight` is missing; the file has `blk.0.attn_q.weight`");
}

/// One value of each type, of each type of array, and arrays of arrays.
fn every_value(w: &mut Writer) {
    w.set("a.u8", &200u8).unwrap().set("a.i8", &-3i8).unwrap().set("a.u16", &60_000u16).unwrap();
    w.set("a.i16", &-300i16).unwrap().set("a.u32", &4_000_000_000u32).unwrap().set("a.i32", &-70_000i32).unwrap();
    w.set("a.u64", &u64::MAX).unwrap().set("a.i64", &i64::MIN).unwrap().set("a.f32", &0.5f32).unwrap();
    w.set("a.f64", &0.1f64).unwrap().set("a.bool", &true).unwrap().set("a.string", "grüße").unwrap();
    w.set("a.strings", &["", "x", "日本"]).unwrap().set("a.bools", &[true, false]).unwrap();
    w.set("a.f64s", &vec![1.0f64, 2.0]).unwrap().set("a.none", &Vec::<u16>::new()).unwrap();
    w.set("a.odd", &Value::String(b"\xff\x00")).unwrap();
}

#[test]
fn every_type_of_value() {
    let mut w = Writer::new();
    every_value(&mut w);
    let bytes = w.to_bytes().unwrap();
    let file = Gguf::from_bytes(bytes.clone()).unwrap();
    assert_eq!(Writer::from(&file).to_bytes().unwrap(), bytes);
    let m = file.metadata();
    assert_eq!(m.get::<u64>("a.u64").unwrap(), u64::MAX);
    assert_eq!(m.get::<i64>("a.i64").unwrap(), i64::MIN);
    assert_eq!(m.get::<i32>("a.i8").unwrap(), -3);
    assert_eq!(m.get::<f32>("a.f64").unwrap(), 0.1);
    assert_eq!(m.get::<f64>("a.f32").unwrap(), 0.5);
    assert!(m.get::<bool>("a.bool").unwrap());
    assert_eq!(m.get::<&str>("a.string").unwrap(), "grüße");
    assert_eq!(
        m.get::<Strings<'_>>("a.strings").unwrap().collect::<Vec<_>>(),
        ["".as_bytes(), b"x", "日本".as_bytes()]
    );
    assert_eq!(m.get::<Vec<bool>>("a.bools").unwrap(), [true, false]);
    assert_eq!(m.get::<Vec<f32>>("a.f64s").unwrap(), [1.0, 2.0]);
    assert!(m.get::<Vec<u16>>("a.none").unwrap().is_empty());
    assert_eq!(m.get::<&[u8]>("a.odd").unwrap(), b"\xff\x00");
    let kinds: Vec<ValueType> = m.iter().map(|(_, v)| v.kind()).collect();
    assert_eq!(kinds.len(), 17);
    let wrong = |e: GgufError| e.to_string();
    assert_eq!(wrong(m.get::<&str>("a.odd").unwrap_err()), "metadata `a.odd` is a string, expected a UTF-8 string");
    assert_eq!(
        wrong(m.get::<u8>("a.u16").unwrap_err()),
        "metadata `a.u16` is the u16 60000, expected an integer that fits u8"
    );
    assert_eq!(
        wrong(m.get::<Vec<u32>>("a.strings").unwrap_err()),
        "metadata `a.strings` is an array of 3 string, expected an array of integers that fit u32"
    );
    assert!(matches!(m.get::<u8>("b"), Err(GgufError::MissingKey { .. })));
}

#[test]
fn arrays_of_arrays_are_read_in_place() {
    let mut w = Writer::new();
    w.set("x", &1u8).unwrap();
    let mut bytes = w.to_bytes().unwrap();
    // Replaces the u8 by [[1, 2], []] by hand: an array of two arrays of u16.
    bytes.truncate(bytes.len() - bytes.len() % 32);
    bytes.truncate(4 + 4 + 8 + 8);
    let mut put = |b: &[u8]| bytes.extend_from_slice(b);
    put(&1u64.to_le_bytes());
    put(b"x");
    put(&9u32.to_le_bytes());
    put(&9u32.to_le_bytes());
    put(&2u64.to_le_bytes());
    put(&2u32.to_le_bytes());
    put(&2u64.to_le_bytes());
    put(&[1, 0, 2, 0]);
    put(&2u32.to_le_bytes());
    put(&0u64.to_le_bytes());
    let file = Gguf::from_bytes(bytes.clone()).unwrap();
    let outer: forge_gguf::Array<'_> = file.metadata().get("x").unwrap();
    let inner: Vec<Vec<Value<'_>>> = outer
        .iter()
        .map(|v| match v {
            Value::Array(a) => a.iter().collect(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(inner, [vec![Value::U16(1), Value::U16(2)], vec![]]);
    assert_eq!(Writer::from(&file).to_bytes().unwrap(), bytes);
}

#[test]
fn every_type_of_tensor() {
    let mut w = Writer::new();
    w.set("general.architecture", "none").unwrap();
    for t in GgmlType::all() {
        let sizes = [2 * t.block() as u64, 3];
        let bytes = (0..6 * t.block_bytes()).map(|i| (i * 7 + t.id() as usize) as u8).collect();
        w.tensor(t.name(), t, &sizes, bytes).unwrap();
    }
    let bytes = w.to_bytes().unwrap();
    let file = Gguf::from_bytes(bytes.clone()).unwrap();
    assert_eq!(file.tensors().count(), 35);
    for t in GgmlType::all() {
        assert_eq!(GgmlType::from_id(t.id()), Some(t));
        assert_eq!(t.name().to_lowercase().parse(), Ok(t));
        let have = file.tensor(t.name()).unwrap();
        assert_eq!(have.kind(), t);
        assert_eq!(have.bytes()[1], (7 + t.id()) as u8);
    }
    assert_eq!(Writer::from(&file).to_bytes().unwrap(), bytes);
}

#[test]
fn goldens_agree_on_numbers_and_sizes() {
    let Some(o) = env::var_os("FORGE_ORACLES") else {
        return eprintln!("skipped: set FORGE_ORACLES to the folder of the oracles");
    };
    let index: serde_json::Value =
        serde_json::from_slice(&fs::read(Path::new(&o).join("ggml-quants/index.json")).unwrap()).unwrap();
    for (name, t) in index["types"].as_object().unwrap() {
        let ours: GgmlType = name.parse().unwrap();
        assert_eq!(u64::from(ours.id()), t["id"].as_u64().unwrap(), "{name}");
        assert_eq!(ours.block() as u64, t["block"].as_u64().unwrap(), "{name}");
        assert_eq!(ours.block_bytes() as u64, t["block_bytes"].as_u64().unwrap(), "{name}");
    }
}

#[test]
fn a_file_is_changed_in_place() {
    let dir = Folder::new("change");
    let path = dir.file("m.gguf");
    fs::copy(root().join("tests/data/llm/llama-tied.Q4_0.gguf"), &path).unwrap();
    let before = Gguf::open(&path).unwrap();
    let mut w = Writer::from(&before);
    w.set("general.name", "another name, which is longer than the one before").unwrap();
    assert!(w.unset("general.file_type"));
    assert!(!w.unset("general.file_type"));
    w.save(&path).unwrap();
    let after = Gguf::open(&path).unwrap();
    assert_eq!(after.metadata().len(), before.metadata().len() - 1);
    let keys = |f: &Gguf| {
        f.metadata().iter().map(|(k, _)| k.to_owned()).filter(|k| k != "general.file_type").collect::<Vec<_>>()
    };
    assert_eq!(keys(&before), keys(&after), "the order stays");
    for (a, b) in before.tensors().zip(after.tensors()) {
        assert_eq!((a.info(), a.bytes()), (b.info(), b.bytes()));
    }

    // One tensor gets another type by streaming; the others are copied.
    let mut w = Writer::from(&after);
    w.declare("blk.0.attn_q.weight", GgmlType::F16, &[64, 64]).unwrap();
    assert!(w.remove("blk.1.attn_k.weight"));
    let mut out = w.create(&path).unwrap();
    while let Some((info, left)) = out.current() {
        if info.name == "blk.0.attn_q.weight" {
            assert_eq!(left, 64 * 64 * 2);
            assert!(out.copy().unwrap_err().to_string().contains("declared and not given"));
            for row in 0..64u8 {
                out.write(&[row; 128]).unwrap();
            }
        } else {
            out.copy().unwrap();
        }
    }
    out.finish().unwrap();
    let last = Gguf::open(&path).unwrap();
    assert_eq!(last.tensors().count(), after.tensors().count() - 1);
    for t in last.tensors() {
        match t.info().name.as_str() {
            "blk.0.attn_q.weight" => assert_eq!((t.kind(), t.bytes()[128 * 5]), (GgmlType::F16, 5)),
            name => assert_eq!(t.bytes(), after.tensor(name).unwrap().bytes()),
        }
    }

    // Another alignment moves everything.
    let mut w = Writer::from(&last);
    w.set("general.alignment", &256u32).unwrap();
    w.save(&path).unwrap();
    let aligned = Gguf::open(&path).unwrap();
    assert_eq!(aligned.alignment(), 256);
    for t in aligned.tensors() {
        assert_eq!(t.info().offset % 256, 0);
        assert_eq!(t.bytes(), last.tensor(&t.info().name).unwrap().bytes());
    }
}

#[test]
fn an_unfinished_file_leaves_nothing() {
    let dir = Folder::new("unfinished");
    let path = dir.file("m.gguf");
    fs::write(&path, b"old").unwrap();
    let mut w = Writer::new();
    w.declare("t", GgmlType::F32, &[4]).unwrap();
    let mut out = w.create(&path).unwrap();
    out.write(&[0; 12]).unwrap();
    assert!(matches!(out.write(&[0; 5]).unwrap_err(), GgufError::Unwritable { .. }));
    let e = out.finish().unwrap_err().to_string();
    assert_eq!(e, "cannot write the file: 4 bytes of tensor `t` are missing");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn odd_layouts_are_kept() {
    // The second tensor stands first, with a gap after it, no padding at the end, and a mark in the gap after the header.
    let mut w = Writer::new();
    w.set("k", &1u8).unwrap();
    w.tensor("a", GgmlType::I8, &[3], vec![1, 2, 3]).unwrap();
    w.tensor("b", GgmlType::I8, &[3], vec![4, 5, 6]).unwrap();
    let mut bytes = w.to_bytes().unwrap();
    let find = |bytes: &[u8], name: u8| {
        let at = bytes.windows(9).position(|w| w == [1, 0, 0, 0, 0, 0, 0, 0, name]).unwrap();
        at + 9 + 4 + 8 + 4
    };
    let (a, b) = (find(&bytes, b'a'), find(&bytes, b'b'));
    bytes[a..a + 8].copy_from_slice(&96u64.to_le_bytes());
    bytes[b..b + 8].copy_from_slice(&0u64.to_le_bytes());
    let data = bytes.len() - 64;
    bytes[data - 1] = 77;
    bytes.truncate(data);
    bytes.extend_from_slice(&[4, 5, 6]);
    bytes.resize(data + 96, 9);
    bytes.extend_from_slice(&[1, 2, 3]);
    let file = Gguf::from_bytes(bytes.clone()).unwrap();
    assert_eq!(file.tensor("a").unwrap().bytes(), [1, 2, 3]);
    assert_eq!(file.tensor("b").unwrap().bytes(), [4, 5, 6]);
    assert!(Writer::from(&file).to_bytes().unwrap() == bytes);
    let mut w = Writer::from(&file);
    w.tensor("b", GgmlType::I8, &[1], vec![8]).unwrap();
    let tidy = Gguf::from_bytes(w.to_bytes().unwrap()).unwrap();
    assert_eq!(tidy.tensor("a").unwrap().bytes(), [1, 2, 3]);
    assert_eq!(tidy.tensor("b").unwrap().bytes(), [8]);
}

/// Writes a model of three parts into `dir`, and returns its files.
fn split(dir: &Folder) -> Vec<PathBuf> {
    (0..3u16)
        .map(|no| {
            let mut w = Writer::new();
            if no == 0 {
                w.set("general.architecture", "tiny").unwrap();
            }
            w.set("split.no", &no)
                .unwrap()
                .set("split.count", &3u16)
                .unwrap()
                .set("split.tensors.count", &4i32)
                .unwrap();
            for t in 0..=u64::from(no == 1) {
                w.tensor(&format!("t{no}.{t}"), GgmlType::I8, &[2], vec![no as u8, t as u8]).unwrap();
            }
            let path = dir.file(&format!("m-{:05}-of-00003.gguf", no + 1));
            w.save(&path).unwrap();
            path
        })
        .collect()
}

#[test]
fn a_split_model_opens_by_any_of_its_parts() {
    let dir = Folder::new("split");
    let paths = split(&dir);
    for path in &paths {
        let m = Gguf::open(path).unwrap();
        assert_eq!(m.paths(), paths);
        assert_eq!(m.metadata().get::<&str>("general.architecture").unwrap(), "tiny");
        let names: Vec<&str> = m.tensors().map(|t| t.info().name.as_str()).collect();
        assert_eq!(names, ["t0.0", "t1.0", "t1.1", "t2.0"]);
        assert_eq!(m.tensor("t1.1").unwrap().bytes(), [1, 1]);
        // Written again, it is one file that says nothing of parts.
        let one = Gguf::from_bytes(Writer::from(&m).to_bytes().unwrap()).unwrap();
        assert_eq!(one.metadata().len(), 1);
        assert_eq!(one.tensor("t2.0").unwrap().bytes(), [2, 0]);
    }
    let alone = Gguf::open_with(&paths[1], &Options { alone: true, load: Load::Read, ..Options::default() }).unwrap();
    assert_eq!(alone.tensors().count(), 2);

    fs::rename(&paths[1], dir.file("other.gguf")).unwrap();
    let e = Gguf::open(&paths[0]).unwrap_err();
    assert!(e.to_string().contains("m-00002-of-00003.gguf: cannot open the file"), "{e}");
    let e = Gguf::open(dir.file("other.gguf")).unwrap_err().to_string();
    assert!(e.contains("its name must end in `-00002-of-00003.gguf`"), "{e}");
    fs::copy(&paths[2], &paths[1]).unwrap();
    let e = Gguf::open(&paths[0]).unwrap_err().to_string();
    assert!(e.contains("it says to be part 3 of 3, and its name says part 2 of 3"), "{e}");
}
