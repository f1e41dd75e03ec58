//! The safetensors format, by way of the crate of that name. Axis names stand in the file's metadata.
//!
//! The metadata has one key, `forge`, holding JSON: `{"axes": {"first.weight": ["In", "Hidden"]}, "text": {..}}`. A
//! tensor of a file from elsewhere gets the axes `dim0`, `dim1` and so on; rename them before you load it into a module.

use super::atomic::{self, bad, io};
use crate::dtype::{bf16, f16};
use crate::dyn_tensor::DynAxis;
use crate::error::Result;
use crate::nn::StateDict;
use crate::raw::{RawTensor, by_dtype};
use crate::{DType, DynTensor};
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

const KEY: &str = "forge";

/// What a file says beside its tensors.
pub type Text = BTreeMap<String, String>;

#[derive(Serialize, Deserialize, Default)]
struct Metadata {
    axes: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    text: Text,
}

/// Writes `tensors` to `path`: whoever reads it sees the old file or the new one, also after a crash.
///
/// Equal tensors give equal bytes.
///
/// ```
/// use forge::io::safetensors;
/// use forge::nn::StateDict;
/// use forge::prelude::*;
/// axes! { In, Out }
/// let path = std::env::temp_dir().join(format!("forge-doc-{}.safetensors", std::process::id()));
/// let w = Tensor::<(In, Out)>::from_vec((2, 2), vec![1.0, 2.0, 3.0, 4.0]);
/// safetensors::save(&path, &StateDict::from([("w".to_owned(), w.erase())]))?;
/// let back: Tensor<(In, Out)> = safetensors::load(&path)?["w"].typed()?;
/// assert_eq!(back.to_vec(), w.to_vec());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), forge::Error>(())
/// ```
///
/// # Errors
/// When the file cannot be written.
pub fn save(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
    save_with(path, tensors, &Text::new())
}

/// [`save`] with lines of text beside the tensors.
///
/// # Errors
/// As [`save`].
pub fn save_with(path: impl AsRef<Path>, tensors: &StateDict, text: &Text) -> Result<()> {
    let path = path.as_ref();
    atomic::write(path, &to_bytes(path, tensors, text)?)
}

/// Every tensor of the file at `path`.
///
/// # Errors
/// When the file cannot be read, is not a whole file of this format, or has a dtype or number of axes that tensors here
/// do not have.
pub fn load(path: impl AsRef<Path>) -> Result<StateDict> {
    Ok(load_with(path)?.0)
}

/// [`load`] with the text that [`save_with`] wrote.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>) -> Result<(StateDict, Text)> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(io(path))?;
    from_bytes(path, &bytes)
}

/// A tensor as the writer wants to see it.
struct Out<'a>(&'a DynTensor);

impl View for Out<'_> {
    fn dtype(&self) -> Dtype {
        match self.0.dtype() {
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
            DType::F16 => Dtype::F16,
            DType::BF16 => Dtype::BF16,
            DType::I8 => Dtype::I8,
            DType::I16 => Dtype::I16,
            DType::I32 => Dtype::I32,
            DType::I64 => Dtype::I64,
            DType::U8 => Dtype::U8,
            DType::U16 => Dtype::U16,
            DType::Bool => Dtype::BOOL,
        }
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(by_dtype!(self.0.dtype(), T => {
            let mut bytes = Vec::with_capacity(self.data_len());
            for v in self.0.raw().to_vec::<T>() {
                v.put(&mut bytes);
            }
            bytes
        }))
    }
    fn data_len(&self) -> usize {
        self.0.len() * self.0.dtype().size()
    }
}

/// Elements as bytes, least significant first.
trait Bytes: Sized {
    fn put(self, out: &mut Vec<u8>);
    /// `None` when the bytes are no such element.
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! bytes {
    ($($t:ty)*) => {$(
        impl Bytes for $t {
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )*};
}
bytes!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16);

impl Bytes for bool {
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

/// The file's bytes; `path` is for messages.
pub(crate) fn to_bytes(path: &Path, tensors: &StateDict, text: &Text) -> Result<Vec<u8>> {
    let axes = tensors
        .iter()
        .map(|(name, t)| (name.clone(), t.axes().iter().map(|a| a.name().to_owned()).collect()))
        .collect();
    let metadata = serde_json::to_string(&Metadata { axes, text: text.clone() })
        .map_err(|e| bad(path, format!("the metadata cannot be written: {e}")))?;
    // One key only: several would be written in the order of a hash map, another one in each run.
    let metadata = HashMap::from([(KEY.to_owned(), metadata)]);
    safetensors::serialize(tensors.iter().map(|(name, t)| (name, Out(t))), Some(metadata))
        .map_err(|e| bad(path, format!("not written: {e}")))
}

/// The tensors in the bytes of a file; `path` is for messages.
pub(crate) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<(StateDict, Text)> {
    let broken = |e: safetensors::SafeTensorError| bad(path, format!("not a safetensors file: {e}"));
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let named: Option<Metadata> = match header.metadata().as_ref().and_then(|m| m.get(KEY)) {
        Some(json) => {
            Some(serde_json::from_str(json).map_err(|e| bad(path, format!("its metadata `{KEY}` is broken: {e}")))?)
        }
        None => None,
    };
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let mut dict = StateDict::new();
    for (name, view) in file.iter() {
        let names = named.as_ref().and_then(|m| m.axes.get(name));
        let t = tensor(view.dtype(), view.shape(), view.data(), names)
            .map_err(|what| bad(path, format!("tensor `{name}`: {what}")))?;
        dict.insert(name.to_owned(), t);
    }
    Ok((dict, named.unwrap_or_default().text))
}

fn tensor(dtype: Dtype, shape: &[usize], data: &[u8], names: Option<&Vec<String>>) -> Result<DynTensor, String> {
    if shape.len() > 8 {
        return Err(format!("{} axes; a tensor may have at most 8", shape.len()));
    }
    let dtype = match dtype {
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I8 => DType::I8,
        Dtype::I16 => DType::I16,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::U8 => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::BOOL => DType::Bool,
        other => return Err(format!("elements of type {other:?} have no place here")),
    };
    let axes: Vec<DynAxis> = match names {
        Some(names) => names.iter().map(DynAxis::from).collect(),
        None => (0..shape.len()).map(|i| DynAxis::from(&format!("dim{i}"))).collect(),
    };
    if axes.len() != shape.len() {
        return Err(format!("{} axis names for {} axes", axes.len(), shape.len()));
    }
    for (i, a) in axes.iter().enumerate() {
        if a.name().is_empty() || axes[..i].iter().any(|b| b.name() == a.name()) {
            return Err(format!("axis name `{}` is empty or stands twice", a.name()));
        }
    }
    let raw = by_dtype!(dtype, T => {
        let values: Option<Vec<T>> = data.chunks(size_of::<T>()).map(<T as Bytes>::get).collect();
        let values = values.ok_or("its bytes are no elements of that type")?;
        RawTensor::from_slice(shape, &values).map_err(|e| e.to_string())?
    });
    Ok(DynTensor::new(raw, axes))
}
