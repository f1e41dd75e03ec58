//! JSON as a profile needs it: bounded depth, bounded memory, and long rows of numbers kept as numbers.

use super::Limits;
use super::error::{JsonPath, ProfileError, shown};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::{cell::Cell, fmt};

/// A container in a container with a condition model needs 16 levels.
const MAX_DEPTH: usize = 64;

/// A value of a profile.
#[derive(Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    /// An array of numbers alone (an empty array too).
    Numbers(Vec<f64>),
    /// An array that begins with numbers and goes on with something else: nothing in a profile is like that, so only
    /// what is needed to say so is kept.
    Mixed {
        index: usize,
        kind: String,
    },
    /// Any other array.
    List(Vec<Json>),
    Object(Vec<(Box<str>, Json)>),
    /// The value of a key `metadata`, as it stands.
    Metadata(serde_json::Value),
}

impl Json {
    /// How the kind of this value is called in an error.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(b) => b.to_string(),
            Self::Number(v) => v.to_string(),
            Self::Text(s) => format!("the text \"{}\"", shown(s)),
            Self::Numbers(_) | Self::Mixed { .. } | Self::List(_) => "an array".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::Metadata(_) => "metadata".to_owned(),
        }
    }

    /// Parses the whole of `bytes` (a byte order mark in front is passed over).
    pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, ProfileError> {
        if bytes.len() > limits.file_bytes {
            return Err(too_large("the file's size in bytes", bytes.len(), limits.file_bytes, "file_bytes"));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ProfileError::Empty);
        }
        let refused = Cell::new(None);
        let nodes = Cell::new(0);
        let mut de = serde_json::Deserializer::from_slice(bytes);
        Seed { depth: 0, limits, nodes: &nodes, refused: &refused }
            .deserialize(&mut de)
            .and_then(|json| de.end().map(|()| json))
            .map_err(|error| match refused.take() {
                Some(Refused::Depth) => ProfileError::TooDeep { what: "JSON values", limit: MAX_DEPTH },
                Some(Refused::Nodes) => too_large("the count of values", nodes.get(), limits.values, "values"),
                Some(Refused::Metadata(n)) => {
                    too_large("the size of metadata in bytes", n, limits.metadata_bytes, "metadata_bytes")
                }
                None => syntax(&error, bytes),
            })
    }
}

fn too_large(what: &str, got: usize, limit: usize, limit_name: &'static str) -> ProfileError {
    ProfileError::TooLarge { what: what.to_owned(), got: got.to_string(), limit, limit_name }
}

/// An error of the JSON text, in words that say what to do.
fn syntax(error: &serde_json::Error, bytes: &[u8]) -> ProfileError {
    let (line, column) = (error.line(), error.column());
    let message = if error.is_eof() {
        "the text ends too early, so the file was cut short: copy or download it again".to_owned()
    } else {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        if at_not_a_number(bytes, line, column) {
            "NaN and Infinity are not JSON, and no weight may be one: the training diverged".to_owned()
        } else {
            shown(text)
        }
    };
    ProfileError::Json { line, column, message }
}

/// Whether the token at that place is one of the spellings of NaN and infinity that some exporters write.
fn at_not_a_number(bytes: &[u8], line: usize, column: usize) -> bool {
    let start: usize = bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    // The parser stands on the offending byte or just past it.
    (0..3).any(|back| {
        (start + column)
            .checked_sub(back)
            .and_then(|i| bytes.get(i..))
            .is_some_and(|rest| ["NaN", "nan", "Infinity", "inf"].iter().any(|word| rest.starts_with(word.as_bytes())))
    })
}

#[derive(Clone, Copy)]
enum Refused {
    Depth,
    Nodes,
    Metadata(usize),
}

#[derive(Clone, Copy)]
struct Seed<'c> {
    depth: usize,
    limits: &'c Limits,
    nodes: &'c Cell<usize>,
    refused: &'c Cell<Option<Refused>>,
}

impl Seed<'_> {
    fn refuse<E: serde::de::Error>(&self, why: Refused) -> E {
        self.refused.set(Some(why));
        E::custom("refused")
    }

    /// Counts one value against the budget.
    fn node<E: serde::de::Error>(&self) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + 1);
        if self.nodes.get() > self.limits.values { Err(self.refuse(Refused::Nodes)) } else { Ok(()) }
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth + 1 > MAX_DEPTH {
            Err(self.refuse(Refused::Depth))
        } else {
            Ok(Self { depth: self.depth + 1, ..self })
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, de: D) -> Result<Json, D::Error> {
        de.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
        Ok(Json::Bool(v))
    }

    #[allow(clippy::cast_precision_loss, reason = "a size above 2^53 is refused anyway, and weights are 32-bit floats")]
    fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
        Ok(Json::Number(v as f64))
    }

    #[allow(clippy::cast_precision_loss, reason = "as for unsigned integers")]
    fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
        Ok(Json::Number(v as f64))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Json, E> {
        Ok(Json::Number(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Json, E> {
        Ok(Json::Text(v.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut numbers = Vec::new();
        let first = loop {
            match seq.next_element_seed(inner)? {
                None => return Ok(Json::Numbers(numbers)),
                Some(Json::Number(v)) => numbers.push(v),
                Some(other) => break other,
            }
        };
        if !numbers.is_empty() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Json::Mixed { index: numbers.len(), kind: first.kind() });
        }
        self.node()?;
        let mut list = vec![first];
        while let Some(v) = seq.next_element_seed(inner)? {
            self.node()?;
            list.push(v);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            self.node()?;
            let value = if key == "metadata" {
                let raw = map.next_value::<&RawValue>()?.get();
                if raw.len() > self.limits.metadata_bytes {
                    return Err(self.refuse(Refused::Metadata(raw.len())));
                }
                // What the outer parser has read as JSON can only fail here by its depth.
                Json::Metadata(serde_json::from_str(raw).map_err(|e| {
                    self.refused.set(Some(Refused::Depth));
                    A::Error::custom(e)
                })?)
            } else {
                map.next_value_seed(inner)?
            };
            fields.push((key.into_boxed_str(), value));
        }
        Ok(Json::Object(fields))
    }
}

/// A value and where it stands.
pub(super) struct Node<'a> {
    pub(super) json: &'a Json,
    pub(super) at: JsonPath,
}

impl<'a> Node<'a> {
    pub(super) fn wrong(&self, expected: &'static str) -> ProfileError {
        ProfileError::Kind { at: self.at.clone(), expected, got: self.json.kind() }
    }

    pub(super) fn conflict(&self, message: impl Into<String>) -> ProfileError {
        ProfileError::Conflict { at: self.at.clone(), message: message.into() }
    }

    pub(super) fn object(&self) -> Result<&'a [(Box<str>, Json)], ProfileError> {
        match self.json {
            Json::Object(fields) => Ok(fields),
            _ => Err(self.wrong("an object")),
        }
    }

    /// The value of `key`, if it is there and not null.
    pub(super) fn get(&self, key: &str) -> Result<Option<Node<'a>>, ProfileError> {
        let mut found = self.object()?.iter().filter(|(name, _)| &**name == key);
        let Some((_, json)) = found.next() else { return Ok(None) };
        let at = self.at.key(key);
        if found.next().is_some() {
            return Err(ProfileError::Duplicate { at });
        }
        Ok(if matches!(json, Json::Null) { None } else { Some(Node { json, at }) })
    }

    /// The value of `key`, which must be there; `null` is passed on, to fail as what it is.
    pub(super) fn need(&self, key: &str) -> Result<Node<'a>, ProfileError> {
        self.need_hint(key, "")
    }

    /// As [`need`](Self::need), with a remark for the case that it is missing.
    pub(super) fn need_hint(&self, key: &str, hint: &'static str) -> Result<Node<'a>, ProfileError> {
        if let Some(node) = self.get(key)? {
            return Ok(node);
        }
        let at = self.at.key(key);
        match self.object()?.iter().find(|(name, _)| &**name == key) {
            Some((_, json)) => Ok(Node { json, at }),
            None => Err(ProfileError::Missing { at, hint }),
        }
    }

    pub(super) fn number(&self) -> Result<f64, ProfileError> {
        match self.json {
            Json::Number(v) => Ok(*v),
            _ => Err(self.wrong("a number")),
        }
    }

    /// A finite number, rounded to 32 bits.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is what the format says")]
    pub(super) fn float(&self) -> Result<f32, ProfileError> {
        let value = self.number()?;
        let v = value as f32;
        if v.is_finite() { Ok(v) } else { Err(ProfileError::NotFinite { at: self.at.clone(), value }) }
    }

    pub(super) fn bool(&self) -> Result<bool, ProfileError> {
        match self.json {
            Json::Bool(v) => Ok(*v),
            _ => Err(self.wrong("true or false")),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, ProfileError> {
        match self.json {
            Json::Text(v) => Ok(v),
            _ => Err(self.wrong("a text")),
        }
    }

    /// A whole number in `1..=max`.
    pub(super) fn size(&self, max: usize, limit_name: &'static str) -> Result<usize, ProfileError> {
        match self.json {
            Json::Number(v) => whole(*v, max, limit_name, || self.at.clone()),
            _ => Err(self.wrong("a whole number")),
        }
    }

    /// A row of numbers.
    pub(super) fn numbers(&self) -> Result<&'a [f64], ProfileError> {
        match self.json {
            Json::Numbers(v) => Ok(v),
            Json::Mixed { index, kind } => {
                Err(ProfileError::Kind { at: self.at.index(*index), expected: "a number", got: kind.clone() })
            }
            Json::List(items) => {
                Err(ProfileError::Kind { at: self.at.index(0), expected: "a number", got: items[0].kind() })
            }
            _ => Err(self.wrong("an array of numbers")),
        }
    }

    /// A row of whole numbers in `1..=max`.
    pub(super) fn sizes(&self, max: usize, limit_name: &'static str) -> Result<Vec<usize>, ProfileError> {
        let row = self.numbers()?;
        row.iter().enumerate().map(|(i, v)| whole(*v, max, limit_name, || self.at.index(i))).collect()
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.json, Json::Numbers(_) | Json::Mixed { .. } | Json::List(_))
    }

    /// The elements of an array of anything but numbers.
    pub(super) fn items(&self, expected: &'static str) -> Result<Vec<Node<'a>>, ProfileError> {
        match self.json {
            Json::List(items) => {
                Ok(items.iter().enumerate().map(|(i, json)| Node { json, at: self.at.index(i) }).collect())
            }
            Json::Numbers(v) if v.is_empty() => Ok(Vec::new()),
            Json::Numbers(_) | Json::Mixed { .. } => {
                Err(ProfileError::Kind { at: self.at.index(0), expected, got: "a number".to_owned() })
            }
            _ => Err(self.wrong("an array")),
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked above each cast"
)]
fn whole(v: f64, max: usize, limit_name: &'static str, at: impl Fn() -> JsonPath) -> Result<usize, ProfileError> {
    if v.fract() != 0.0 {
        return Err(ProfileError::Range { at: at(), got: v.to_string(), expected: "a whole number".to_owned() });
    }
    if v < 1.0 {
        return Err(ProfileError::Range { at: at(), got: v.to_string(), expected: "at least 1".to_owned() });
    }
    if v > max as f64 {
        return Err(ProfileError::TooLarge { what: at().to_string(), got: format!("{v}"), limit: max, limit_name });
    }
    Ok(v as usize)
}
