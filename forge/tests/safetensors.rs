//! Files of tensors: what is written reads back, and no file does harm.

use forge::io::safetensors;
use forge::nn::StateDict;
use forge::prelude::*;
use std::path::PathBuf;

axes! { In, Out }

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("forge-safetensors-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sample() -> StateDict {
    let w = Tensor::<(In, Out)>::from_vec((2, 3), vec![0.0, -0.0, f32::NAN, f32::INFINITY, 1e-45, 3.5]);
    let wide = Tensor::<In, f64>::from_vec(2, vec![0.1, -2.0]);
    let mut d = StateDict::new();
    // A view that is not dense: rows of the transposed matrix.
    d.insert("turned".into(), w.permute::<(Out, In)>().erase());
    for dtype in DType::ALL {
        d.insert(format!("as.{dtype}"), wide.erase().to(dtype).unwrap());
    }
    d.insert("w".into(), w.erase());
    d.insert("scalar".into(), Tensor::<(), i64>::scalar(i64::MIN).erase());
    d.insert("empty".into(), Tensor::<(In, Out)>::zeros((0, 3)).erase());
    d
}

#[test]
fn round_trip() {
    let f = Folder::new("round");
    let path = f.0.join("a.safetensors");
    let text = safetensors::Text::from([("made by".to_owned(), "a test".to_owned())]);
    safetensors::save_with(&path, &sample(), &text).unwrap();
    let (back, said) = safetensors::load_with(&path).unwrap();
    assert_eq!(said, text);
    assert_eq!(back.keys().collect::<Vec<_>>(), sample().keys().collect::<Vec<_>>());
    for (name, a) in &sample() {
        let b = &back[name];
        assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "{name}");
        assert_eq!(format!("{:?}", a.axes()), format!("{:?}", b.axes()), "{name}");
        if a.dtype() == DType::F32 {
            let bits = |t: &DynTensor| t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(a), bits(b), "{name}");
        } else {
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{name}");
        }
    }
    let w: Tensor<(Out, In)> = back["turned"].typed().unwrap();
    assert_eq!(w.get((2, 1)), 3.5);
    // Equal tensors give equal bytes, and writing again replaces the file.
    let first = std::fs::read(&path).unwrap();
    safetensors::save_with(&path, &sample(), &text).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first);
    assert_eq!(std::fs::read_dir(&f.0).unwrap().count(), 1, "nothing else is left behind");
}

#[test]
fn files_from_elsewhere_have_numbered_axes() {
    let f = Folder::new("elsewhere");
    let path = f.0.join("a.safetensors");
    let header = br#"{"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend([1.0f32, 2.0].iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(&path, bytes).unwrap();
    let d = safetensors::load(&path).unwrap();
    assert_eq!(d["x"].axes_text(), "(dim0 2, dim1 1)");
    let x: Tensor<(In, Out)> = d["x"].rename("dim0", "In").unwrap().rename("dim1", "Out").unwrap().typed().unwrap();
    assert_eq!(x.to_vec(), [1.0, 2.0]);
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut b = (header.len() as u64).to_le_bytes().to_vec();
    b.extend_from_slice(header.as_bytes());
    b.extend_from_slice(data);
    b
}

#[test]
fn hostile_files_are_refused_in_words() {
    let f = Folder::new("hostile");
    let path = f.0.join("bad.safetensors");
    let says = |bytes: &[u8], words: &str| {
        std::fs::write(&path, bytes).unwrap();
        let e = safetensors::load(&path).unwrap_err();
        assert!(matches!(e, Error::File { .. }), "{e:?}");
        let text = e.to_string();
        assert!(text.contains("bad.safetensors") && text.contains(words), "{text:?} lacks {words:?}");
    };
    says(b"", "not a safetensors file");
    says(b"short", "not a safetensors file");
    says(&u64::MAX.to_le_bytes(), "not a safetensors file");
    says(&file("", b""), "not a safetensors file");
    says(&file("[]", b""), "not a safetensors file");
    says(&file(&"[".repeat(100_000), b""), "not a safetensors file");
    says(&file(r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, b"1234"), "not a safetensors file");
    says(&file(r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, b"1234"), "not a safetensors file");
    says(&file(r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#, b"12345678"), "not a safetensors file");
    says(&file(r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}}"#, b"12345678"), "not a safetensors file");
    let huge = r#"{"x":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}"#;
    says(&file(huge, b""), "not a safetensors file");
    says(&file(r#"{"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}"#, b"1"), "tensor `x`: elements of type");
    says(&file(r#"{"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#, &[1, 2]), "tensor `x`: its bytes are no");
    let nine = r#"{"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}"#;
    says(&file(nine, b"1"), "tensor `x`: 9 axes; a tensor may have at most 8");
    let named = |meta: &str| {
        let meta = meta.replace('"', "\\\"");
        let x = r#""x":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]}"#;
        file(&format!(r#"{{"__metadata__":{{"forge":"{meta}"}},{x}}}"#), b"1")
    };
    says(&named("{"), "its metadata `forge` is broken");
    says(&named(r#"{"axes":{"x":["a"]}}"#), "1 axis names for 2 axes");
    says(&named(r#"{"axes":{"x":["a","a"]}}"#), "axis name `a` is empty or stands twice");
    says(&named(r#"{"axes":{"x":["","a"]}}"#), "axis name `` is empty");
    let e = safetensors::load(f.0.join("none")).unwrap_err();
    assert!(matches!(e, Error::Io { .. }) && e.to_string().contains("none"), "{e}");
}

/// Cuts and flips of a good file, drawn from a fixed seed: each loads or is refused, quickly and without a panic.
#[test]
fn mutated_files_do_no_harm() {
    let f = Folder::new("mutated");
    let path = f.0.join("a.safetensors");
    safetensors::save(&path, &sample()).unwrap();
    let good = std::fs::read(&path).unwrap();
    let key = forge::rng::Key::new(11);
    for i in 0..600u64 {
        let k = key.derive(i);
        let mut bytes = good.clone();
        for j in 0..1 + k.u64_at(0) % 4 {
            let at = (k.u64_at(4 * j + 1) % bytes.len() as u64) as usize;
            match k.u64_at(4 * j + 2) % 4 {
                0 => bytes[at] ^= 1 << (k.u64_at(4 * j + 3) % 8),
                1 => bytes[at] = k.u64_at(4 * j + 3) as u8,
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"0123456789[]{},:\"-e"[(k.u64_at(4 * j + 3) % 19) as usize]),
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(d) = safetensors::load(&path) {
            let held: usize = d.values().map(|t| t.len() * t.dtype().size()).sum();
            assert!(held <= bytes.len(), "more elements than bytes");
        }
    }
}
