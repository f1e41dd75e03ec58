//! The version of the file format, and which ones are read.

use super::error::{ProfileError, shown};
use super::json::Node;
use std::fmt;

/// A version of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Incompatible changes.
    pub major: u32,
    /// New features.
    pub minor: u32,
    /// Small additions.
    pub patch: u32,
}

impl Version {
    /// The oldest version that is read.
    pub const EARLIEST: Self = Self { major: 0, minor: 5, patch: 0 };
    /// The newest version that is known in full; later patches of its minor version are read with a warning.
    pub const LATEST: Self = Self { major: 0, minor: 7, patch: 0 };

    pub(super) fn read(node: &Node<'_>) -> Result<Self, ProfileError> {
        let text = match node.text() {
            Ok(text) => text,
            Err(_) => return Err(node.wrong("a text such as \"0.5.4\"")),
        };
        let refuse = |message| ProfileError::Version { at: node.at.clone(), got: shown(text), message };
        let version = Self::parse(text).ok_or_else(|| refuse("a version is MAJOR.MINOR.PATCH, such as 0.5.4"))?;
        if version < Self::EARLIEST {
            return Err(refuse(
                "older than 0.5.0, the first that is read: export the profile again with a newer trainer",
            ));
        }
        if version.major > Self::LATEST.major || version.minor > Self::LATEST.minor {
            return Err(refuse("newer than 0.7, the last that is known: update this program"));
        }
        Ok(version)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            // `parse` alone would take a sign.
            part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten()
        });
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
