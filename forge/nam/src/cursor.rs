//! Weights taken from a file's row, in order.

use crate::profile::{JsonPath, ProfileError};

/// What is left of a row of weights.
pub(crate) struct Cursor<'a> {
    all: &'a [f32],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(all: &'a [f32]) -> Self {
        Self { all, at: 0 }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [f32], ProfileError> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.all.len());
        let end = end.ok_or_else(|| self.wrong(self.at.saturating_add(count)))?;
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// Checks that nothing is left.
    pub(crate) fn done(self) -> Result<(), ProfileError> {
        if self.at == self.all.len() { Ok(()) } else { Err(self.wrong(self.at)) }
    }

    fn wrong(&self, expected: usize) -> ProfileError {
        ProfileError::WeightCount { at: JsonPath::default(), expected, got: self.all.len() }
    }
}
