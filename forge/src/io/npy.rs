//! NumPy's `.npy` files, one array each ([format](https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html)).
//!
//! The file holds shape and dtype, not axis names: those come from the type, or are given. A file is trusted with
//! nothing: whatever its bytes, reading ends in a tensor or an error, and takes memory in proportion to the file alone.
//!
//! ```
//! use forge::prelude::*;
//! use forge::io::npy;
//! axes! { Batch, In }
//! let x = Tensor::<(Batch, In)>::from([[1., 2.], [3., 4.]]);
//! let bytes = npy::encode(&x.erase())?;
//! let y: Tensor<(Batch, In)> = npy::decode(&bytes, &["Batch", "In"])?.typed()?;
//! assert_eq!(y.to_vec(), x.to_vec());
//! # Ok::<(), forge::Error>(())
//! ```

use crate::DynTensor;
use crate::dtype::{DType, Dtype, Element, bf16, f16};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::{Error, Result};
use crate::raw::{RawTensor, by_dtype, shape};
use crate::tensor::Tensor;
use forge_axes::Axes;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a file as a tensor of this type.
///
/// # Errors
/// When the file cannot be read or is not an array, or has another rank, dtype or fixed size than the type.
pub fn read<X: Axes, D: Dtype>(path: impl AsRef<Path>) -> Result<Tensor<X, D>> {
    let axes: Vec<DynAxis> = X::KEYS.iter().map(DynAxis::from_key).collect();
    load(path.as_ref(), axes)?.typed()
}

/// Reads a file as a tensor whose axes are named `axes`.
///
/// # Errors
/// When the file cannot be read or is not an array of this rank.
pub fn read_dyn(path: impl AsRef<Path>, axes: &[&str]) -> Result<DynTensor> {
    load(path.as_ref(), axes.iter().map(|&a| a.into()).collect())
}

/// A tensor from the bytes of a file.
///
/// # Errors
/// When they are not those of an array of this rank.
pub fn decode(bytes: &[u8], axes: &[&str]) -> Result<DynTensor> {
    parse("npy bytes", bytes, axes.iter().map(|&a| a.into()).collect())
}

/// Writes `x` to a file, whole or not at all, replacing what is there.
///
/// # Errors
/// When the file cannot be written, or the dtype is bf16, which NumPy does not have.
pub fn write<X: Axes, D: Dtype>(path: impl AsRef<Path>, x: &Tensor<X, D>) -> Result<()> {
    write_dyn(path, &x.erase())
}

/// Writes `x` to a file, whole or not at all, replacing what is there.
///
/// # Errors
/// As [`write()`].
pub fn write_dyn(path: impl AsRef<Path>, x: &DynTensor) -> Result<()> {
    super::atomic::write(path.as_ref(), &encode(x)?)
}

/// The bytes of a file that holds `x`: version 1.0, little endian, row-major.
///
/// # Errors
/// When the dtype is bf16, which NumPy does not have.
pub fn encode(x: &DynTensor) -> Result<Vec<u8>> {
    let descr = match x.dtype() {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F16 => "<f2",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::Bool => "|b1",
        DType::BF16 => {
            let expected = "a dtype that NumPy has: convert it with `.to::<f32>()`";
            return Err(Error::DType { op: "npy", expected, found: DType::BF16 });
        }
    };
    let dims: String = x.shape().iter().map(|n| format!("{n},")).collect();
    // A tuple of one keeps its comma; others lose the last.
    let dims = if x.shape().len() == 1 { &dims } else { dims.trim_end_matches(',') };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // Magic, version and length take 10 bytes; the data begin at a multiple of 64.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    let mut out = Vec::with_capacity(10 + padded + x.len() * x.dtype().size());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    let len = u16::try_from(padded).expect("the header of at most 8 axes is short");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    by_dtype!(x.dtype(), T => x.raw().to_vec::<T>().iter().for_each(|v| v.put(&mut out)));
    Ok(out)
}

/// An element as little-endian bytes.
trait Bytes: Element {
    fn put(self, out: &mut Vec<u8>);
    /// `bytes` has the element's size.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! bytes {
    ($($t:ty)*) => {$(
        impl Bytes for $t {
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut b = [0; size_of::<$t>()];
                b.copy_from_slice(bytes);
                Self::from_le_bytes(b)
            }
        }
    )*};
}
bytes!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16);
impl Bytes for bool {
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
    fn get(bytes: &[u8]) -> Self {
        bytes != [0]
    }
}

fn load(path: &Path, axes: Vec<DynAxis>) -> Result<DynTensor> {
    let bytes = std::fs::read(path).map_err(super::atomic::io(path))?;
    parse(&path.display().to_string(), &bytes, axes)
}

fn parse(file: &str, bytes: &[u8], axes: Vec<DynAxis>) -> Result<DynTensor> {
    check_distinct("npy", &keys_of(&axes[..axes.len().min(8)]))?;
    let bad = |what: String| Error::File { path: file.to_owned(), what };
    let short = || bad("the file ends inside its header".into());
    let rest =
        bytes.strip_prefix(MAGIC).ok_or_else(|| bad("this is not an npy file: the first bytes differ".into()))?;
    let &[major, _minor, ref rest @ ..] = rest else { return Err(short()) };
    let (len, rest) = match (major, rest) {
        (1, &[a, b, ref rest @ ..]) => (u32::from(u16::from_le_bytes([a, b])), rest),
        (2 | 3, &[a, b, c, d, ref rest @ ..]) => (u32::from_le_bytes([a, b, c, d]), rest),
        (1..=3, _) => return Err(short()),
        _ => return Err(bad(format!("format version {major} is unknown"))),
    };
    let (header, data) = rest.split_at_checked(len as usize).ok_or_else(short)?;
    let header = Header::parse(header).map_err(bad)?;
    let rank = header.shape.len();
    if rank != axes.len() {
        return Err(bad(format!(
            "the array has {rank} axes of sizes {:?}, but {} are named",
            header.shape,
            axes.len()
        )));
    }
    let want = header.shape.iter().try_fold(header.dtype.size(), |n, &d| n.checked_mul(d));
    if want != Some(data.len()) {
        let found = data.len();
        return Err(bad(format!(
            "{found} bytes follow the header, which do not make {} of {:?}",
            header.dtype, header.shape
        )));
    }
    // Stored first axis fastest: the reverse of the axes, turned back by a view.
    let mut stored = header.shape.clone();
    if header.fortran {
        stored.reverse();
    }
    let size = header.dtype.size();
    let raw = by_dtype!(header.dtype, T => RawTensor::build(&stored, |out: &mut [T]| {
        let mut swapped = [0; 8];
        for (o, b) in out.iter_mut().zip(data.chunks_exact(size)) {
            *o = if header.big_endian {
                let s = &mut swapped[..size];
                s.copy_from_slice(b);
                s.reverse();
                T::get(s)
            } else {
                T::get(b)
            };
        }
    }));
    let raw = if header.fortran {
        let back: Vec<u8> = (0..rank as u8).rev().collect();
        shape::permute(&raw, &back).contiguous()
    } else {
        raw
    };
    Ok(DynTensor::new(raw, axes))
}

struct Header {
    dtype: DType,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads the Python dictionary that describes the array.
    fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the header is not text".to_owned())?;
        let mut s = Scanner { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        s.expect('{')?;
        while !s.eat('}') {
            let key = s.string()?;
            s.expect(':')?;
            match key {
                "descr" => descr = Some(s.string()?),
                "fortran_order" => fortran = Some(s.boolean()?),
                "shape" => shape = Some(s.tuple()?),
                other => return Err(format!("the header has an unknown key {:?}", shown(other))),
            }
            if !s.eat(',') {
                s.expect('}')?;
                break;
            }
        }
        if !s.rest.trim().is_empty() {
            return Err("something follows the dictionary in the header".into());
        }
        let missing = |key| format!("the header lacks the key {key:?}");
        let descr = descr.ok_or_else(|| missing("descr"))?;
        let (dtype, big_endian) = dtype_of(descr)?;
        Ok(Self {
            dtype,
            big_endian,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

/// `"<f4"` and the like: byte order, kind, size.
fn dtype_of(descr: &str) -> Result<(DType, bool), String> {
    let refuse = || format!("elements of type {:?} are not supported", shown(descr));
    let kind = descr.strip_prefix(['<', '>', '|', '=']).ok_or_else(refuse)?;
    let dtype = match kind {
        "f4" => DType::F32,
        "f8" => DType::F64,
        "f2" => DType::F16,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "b1" => DType::Bool,
        _ => return Err(refuse()),
    };
    Ok((dtype, descr.starts_with('>')))
}

/// The beginning of a text from a file, for a message.
fn shown(s: &str) -> String {
    s.chars().take(20).collect()
}

/// Reads Python literals.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(format!("the header has {:?} where {c:?} should be", shown(self.rest))) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat('"') { '"' } else { '\'' };
        if quote == '\'' && !self.eat('\'') {
            return Err(format!("the header has {:?} where a string should be", shown(self.rest)));
        }
        let (s, rest) = self.rest.split_once(quote).ok_or("a string in the header does not end")?;
        self.rest = rest;
        Ok(s)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(format!("the header has {:?} where True or False should be", shown(self.rest)))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut v = Vec::new();
        while !self.eat(')') {
            if v.len() == 8 {
                return Err("the array has more than 8 axes".into());
            }
            self.rest = self.rest.trim_start();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (n, rest) = self.rest.split_at(digits);
            v.push(n.parse().map_err(|_| format!("the header has {:?} where a size should be", shown(self.rest)))?);
            self.rest = rest;
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(v)
    }
}
