//! What can be wrong with a profile.

use std::{fmt, io, path::PathBuf};

/// Where in a profile something stands, as a JSON path: `config.layers[0].channels`.
///
/// The root of the file is shown as `the profile`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPath(String);

impl JsonPath {
    /// The path of `key` in the object at this path.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self(if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) })
    }

    /// The path of element `index` of the array at this path.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "the profile" } else { &self.0 })
    }
}

/// Why a profile cannot be used: what, where, and what to do, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds nothing.
    #[error("the file is empty: copy or download the profile again")]
    Empty,
    /// The file, or its count of values, passes a limit of [`Limits`](super::Limits).
    #[error("{what} is {got}, more than the limit of {limit}: if it is meant, raise `{limit_name}`")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        got: String,
        /// The largest size allowed.
        limit: usize,
        /// The field of [`Limits`](super::Limits) that allows more.
        limit_name: &'static str,
    },
    /// The sound has another sample rate than the profile.
    #[error(
        "the profile was trained at {trained} samples a second, the sound has {asked}: convert the sound to that rate"
    )]
    SampleRate {
        /// The profile's rate.
        trained: f64,
        /// The sound's rate.
        asked: f64,
    },
    /// The text is not JSON.
    #[error("not JSON at line {line}, column {column}: {message}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// Arrays and objects stand deeper in each other than any profile needs.
    #[error("{what} nested deeper than {limit}: no exporter writes this, so get the profile again from its source")]
    TooDeep {
        /// What is nested.
        what: &'static str,
        /// The deepest level allowed.
        limit: usize,
    },
    /// A key that must be there is not.
    #[error("missing key `{at}`{hint}")]
    Missing {
        /// The key's path.
        at: JsonPath,
        /// What to know about it, or nothing.
        hint: &'static str,
    },
    /// A key is there twice, so its meaning is open.
    #[error("`{at}` is given twice: keep one")]
    Duplicate {
        /// The key's path.
        at: JsonPath,
    },
    /// A value is of another kind than it must be.
    #[error("{at} must be {expected}, not {got}")]
    Kind {
        /// Where.
        at: JsonPath,
        /// What must stand there.
        expected: &'static str,
        /// What stands there.
        got: String,
    },
    /// A number lies outside of what makes sense.
    #[error("{at} is {got}, but must be {expected}")]
    Range {
        /// Where.
        at: JsonPath,
        /// The number found.
        got: String,
        /// What is allowed.
        expected: String,
    },
    /// Two parts of the profile contradict each other.
    #[error("{at}: {message}")]
    Conflict {
        /// Where.
        at: JsonPath,
        /// The contradiction, with both sides.
        message: String,
    },
    /// The format's version is not one this crate reads.
    #[error("{at} is {got}: {message}")]
    Version {
        /// Where.
        at: JsonPath,
        /// The version as written.
        got: String,
        /// Why it is refused.
        message: &'static str,
    },
    /// A name is none of those known.
    #[error("{at}: unknown {what} '{got}' (known: {known})")]
    Unknown {
        /// Where.
        at: JsonPath,
        /// What is named.
        what: &'static str,
        /// The name found, shortened if it is long.
        got: String,
        /// The names there are.
        known: &'static str,
    },
    /// The count of weights is not what the configuration asks for.
    #[error(
        "{at}: expected {expected} numbers for this configuration, got {got}: the file is damaged, export it again"
    )]
    WeightCount {
        /// Where.
        at: JsonPath,
        /// How many the configuration asks for.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A weight is not a finite 32-bit float.
    #[error("{at} is {value:e}, not a finite 32-bit float: the training diverged or the file is damaged")]
    NotFinite {
        /// Where.
        at: JsonPath,
        /// The number as written.
        value: f64,
    },
    /// The profile is sound but asks for something that this crate does not do.
    #[error("{at}: {feature} is not supported")]
    Unsupported {
        /// Where.
        at: JsonPath,
        /// What it asks for.
        feature: String,
    },
}

/// Text from a file as it may be shown: control bytes gone, at most 40 characters.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
    if text.chars().nth(40).is_some() {
        out.push('…');
    }
    out
}
