//! Metadata values: thirteen types, read in place.

use crate::error::{GgufError, Result};

/// The type of a metadata value, with its number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ValueType {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl ValueType {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::String,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The type of number `id`.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.get(id as usize).copied()
    }

    /// The number in a file.
    pub fn id(self) -> u32 {
        self as u32
    }

    /// `u32`, `string`, `array`, and so on.
    pub fn name(self) -> &'static str {
        ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"][self as usize]
    }

    /// Bytes of a value whose size does not depend on what it holds.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::String | Self::Array => None,
        }
    }

    /// The fewest bytes that a value takes.
    pub(crate) fn least(self) -> u64 {
        match self {
            Self::String => 8,
            Self::Array => 12,
            other => other.size().unwrap_or(1) as u64,
        }
    }
}

/// A metadata value. Strings and arrays borrow from the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    /// Text, usually UTF-8: the file's bytes.
    String(&'a [u8]),
    Array(Array<'a>),
}

impl<'a> Value<'a> {
    /// Its type.
    pub fn kind(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F32(_) => ValueType::F32,
            Self::F64(_) => ValueType::F64,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
        }
    }

    /// The value as an integer, if it is one.
    pub fn as_int(&self) -> Option<i128> {
        Some(match *self {
            Self::U8(x) => x.into(),
            Self::I8(x) => x.into(),
            Self::U16(x) => x.into(),
            Self::I16(x) => x.into(),
            Self::U32(x) => x.into(),
            Self::I32(x) => x.into(),
            Self::U64(x) => x.into(),
            Self::I64(x) => x.into(),
            _ => return None,
        })
    }

    /// `the u32 300`, `a string`, `an array of 3 f32`.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::String(_) => "a string".to_owned(),
            Self::Array(a) => format!("an array of {} {}", a.len(), a.element().name()),
            Self::Bool(b) => format!("the bool {b}"),
            Self::F32(x) => format!("the f32 {x}"),
            Self::F64(x) => format!("the f64 {x}"),
            other => format!("the {} {}", other.kind().name(), other.as_int().unwrap_or_default()),
        }
    }

    /// Reads the value of type `kind` at the start of `bytes`, which were checked when the file was opened, and what
    /// follows it.
    pub(crate) fn read(kind: ValueType, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        macro_rules! number {
            ($t:ident, $variant:ident) => {{
                let (head, rest) = bytes.split_first_chunk::<{ size_of::<$t>() }>()?;
                (Self::$variant($t::from_le_bytes(*head)), rest)
            }};
        }
        Some(match kind {
            ValueType::U8 => number!(u8, U8),
            ValueType::I8 => number!(i8, I8),
            ValueType::U16 => number!(u16, U16),
            ValueType::I16 => number!(i16, I16),
            ValueType::U32 => number!(u32, U32),
            ValueType::I32 => number!(i32, I32),
            ValueType::U64 => number!(u64, U64),
            ValueType::I64 => number!(i64, I64),
            ValueType::F32 => number!(f32, F32),
            ValueType::F64 => number!(f64, F64),
            ValueType::Bool => {
                let (head, rest) = bytes.split_first()?;
                (Self::Bool(*head != 0), rest)
            }
            ValueType::String => {
                let (text, rest) = string(bytes)?;
                (Self::String(text), rest)
            }
            ValueType::Array => {
                let (array, rest) = Array::read(bytes)?;
                (Self::Array(array), rest)
            }
        })
    }
}

/// The string at the start of `bytes`, and what follows it.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

/// An array of metadata values, read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array<'a> {
    element: ValueType,
    len: usize,
    /// The elements.
    bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// The array whose header stands at the start of `bytes`, and what follows the array.
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (id, rest) = bytes.split_first_chunk::<4>()?;
        let (len, body) = rest.split_first_chunk::<8>()?;
        let element = ValueType::from_id(u32::from_le_bytes(*id))?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let rest = match element.size() {
            Some(n) => body.split_at_checked(len.checked_mul(n)?)?.1,
            None => {
                let mut at = body;
                for _ in 0..len {
                    at = match element {
                        ValueType::String => string(at)?.1,
                        _ => Self::read(at)?.1,
                    };
                }
                at
            }
        };
        let bytes = &body[..body.len() - rest.len()];
        Some((Self { element, len, bytes }, rest))
    }

    /// The type of its elements.
    pub fn element(&self) -> ValueType {
        self.element
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its elements.
    pub fn iter(&self) -> Values<'a> {
        Values { element: self.element, left: self.len, bytes: self.bytes }
    }

    /// Its elements, if they are strings.
    pub fn strings(&self) -> Option<Strings<'a>> {
        (self.element == ValueType::String).then_some(Strings { left: self.len, bytes: self.bytes })
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;
    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

/// The elements of an [`Array`], in order.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    element: ValueType,
    left: usize,
    bytes: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (value, rest) = Value::read(self.element, self.bytes)?;
        self.bytes = rest;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// The strings of an [`Array`], in order, as the file's bytes.
#[derive(Clone, Debug)]
pub struct Strings<'a> {
    left: usize,
    bytes: &'a [u8],
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let (text, rest) = string(self.bytes)?;
        self.bytes = rest;
        Some(text)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strings<'_> {}

/// What [`Metadata::get`](crate::Metadata::get) can return.
///
/// An integer type takes any integer that fits; `f32` and `f64` take either float; `&str` takes UTF-8; `&[u8]` any
/// string; `Vec<T>` an array whose elements `T` takes.
pub trait FromValue<'a>: Sized {
    /// What is asked for, in words.
    const EXPECTED: &'static str;
    /// The value, if it is that.
    fn from_value(value: Value<'a>) -> Option<Self>;
}

macro_rules! from_int {
    ($($t:ident $words:literal $array:literal),*) => {$(
        impl<'a> FromValue<'a> for $t {
            const EXPECTED: &'static str = $words;
            fn from_value(value: Value<'a>) -> Option<Self> {
                value.as_int().and_then(|x| $t::try_from(x).ok())
            }
        }
        impl Element for $t {
            const MANY: &'static str = $array;
        }
    )*};
}
from_int!(
    u8 "an integer that fits u8" "an array of integers that fit u8",
    i8 "an integer that fits i8" "an array of integers that fit i8",
    u16 "an integer that fits u16" "an array of integers that fit u16",
    i16 "an integer that fits i16" "an array of integers that fit i16",
    u32 "an integer that fits u32" "an array of integers that fit u32",
    i32 "an integer that fits i32" "an array of integers that fit i32",
    u64 "an integer that fits u64" "an array of integers that fit u64",
    i64 "an integer that fits i64" "an array of integers that fit i64",
    usize "a size" "an array of sizes"
);

impl<'a> FromValue<'a> for f32 {
    const EXPECTED: &'static str = "a float";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::F32(x) => Some(x),
            Value::F64(x) => Some(x as f32),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for f64 {
    const EXPECTED: &'static str = "a float";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::F32(x) => Some(x.into()),
            Value::F64(x) => Some(x),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for bool {
    const EXPECTED: &'static str = "a bool";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Bool(x) => Some(x),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    const EXPECTED: &'static str = "a UTF-8 string";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::String(x) => std::str::from_utf8(x).ok(),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    const EXPECTED: &'static str = "a string";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::String(x) => Some(x),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for Array<'a> {
    const EXPECTED: &'static str = "an array";
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Array(x) => Some(x),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for Strings<'a> {
    const EXPECTED: &'static str = "an array of strings";
    fn from_value(value: Value<'a>) -> Option<Self> {
        Array::from_value(value)?.strings()
    }
}

impl<'a> FromValue<'a> for Value<'a> {
    const EXPECTED: &'static str = "a value";
    fn from_value(value: Value<'a>) -> Option<Self> {
        Some(value)
    }
}

/// What an array that becomes a `Vec` may hold.
pub trait Element: for<'a> FromValue<'a> {
    /// An array of them, in words.
    const MANY: &'static str;
}

impl Element for f32 {
    const MANY: &'static str = "an array of floats";
}
impl Element for f64 {
    const MANY: &'static str = "an array of floats";
}
impl Element for bool {
    const MANY: &'static str = "an array of bools";
}

impl<'a, T: Element> FromValue<'a> for Vec<T> {
    const EXPECTED: &'static str = T::MANY;
    fn from_value(value: Value<'a>) -> Option<Self> {
        Array::from_value(value)?.iter().map(T::from_value).collect()
    }
}

/// What can be written as a metadata value: numbers, bools, text, slices of them, and any [`Value`].
pub trait ToValue {
    /// The type in the file.
    fn kind(&self) -> ValueType;
    /// Appends the value's bytes, without the type.
    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! to_number {
    ($($t:ident $variant:ident),*) => {$(
        impl ToValue for $t {
            fn kind(&self) -> ValueType {
                ValueType::$variant
            }
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
        impl Fixed for $t {
            const KIND: ValueType = ValueType::$variant;
        }
    )*};
}
to_number!(u8 U8, i8 I8, u16 U16, i16 I16, u32 U32, i32 I32, u64 U64, i64 I64, f32 F32, f64 F64);

/// What has one type in a file, whatever it holds.
pub trait Fixed: ToValue {
    /// That type.
    const KIND: ValueType;
}

impl ToValue for bool {
    fn kind(&self) -> ValueType {
        ValueType::Bool
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}
impl Fixed for bool {
    const KIND: ValueType = ValueType::Bool;
}

macro_rules! to_string {
    ($($t:ty),*) => {$(
        impl ToValue for $t {
            fn kind(&self) -> ValueType {
                ValueType::String
            }
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&(self.len() as u64).to_le_bytes());
                out.extend_from_slice(self.as_bytes());
            }
        }
        impl Fixed for $t {
            const KIND: ValueType = ValueType::String;
        }
    )*};
}
to_string!(str, &str, String);

impl<T: Fixed> ToValue for [T] {
    fn kind(&self) -> ValueType {
        ValueType::Array
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&T::KIND.id().to_le_bytes());
        out.extend_from_slice(&(self.len() as u64).to_le_bytes());
        for x in self {
            x.write(out);
        }
    }
}

impl<T: Fixed> ToValue for Vec<T> {
    fn kind(&self) -> ValueType {
        ValueType::Array
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}

impl<T: Fixed, const N: usize> ToValue for [T; N] {
    fn kind(&self) -> ValueType {
        ValueType::Array
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}

impl ToValue for Value<'_> {
    fn kind(&self) -> ValueType {
        Value::kind(self)
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::U8(x) => x.write(out),
            Self::I8(x) => x.write(out),
            Self::U16(x) => x.write(out),
            Self::I16(x) => x.write(out),
            Self::U32(x) => x.write(out),
            Self::I32(x) => x.write(out),
            Self::U64(x) => x.write(out),
            Self::I64(x) => x.write(out),
            Self::F32(x) => x.write(out),
            Self::F64(x) => x.write(out),
            Self::Bool(x) => x.write(out),
            Self::String(x) => {
                out.extend_from_slice(&(x.len() as u64).to_le_bytes());
                out.extend_from_slice(x);
            }
            Self::Array(a) => {
                out.extend_from_slice(&a.element.id().to_le_bytes());
                out.extend_from_slice(&(a.len as u64).to_le_bytes());
                out.extend_from_slice(a.bytes);
            }
        }
    }
}

/// `value` of `key` as a `T`.
pub(crate) fn convert<'a, T: FromValue<'a>>(key: &str, value: Value<'a>) -> Result<T> {
    T::from_value(value).ok_or_else(|| GgufError::wrong(key, T::EXPECTED, value.described()))
}
