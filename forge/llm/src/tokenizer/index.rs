//! Byte strings by number, and numbers by byte string.

use std::hash::{BuildHasher, RandomState};

const EMPTY: u32 = u32::MAX;

/// Byte strings in one block of memory, each with a number, and the way back from bytes to the number.
///
/// The hash is keyed at random, so that no file can make look-ups slow.
pub(crate) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    table: Vec<u32>,
    hasher: RandomState,
}

impl Strings {
    /// Room for `count` strings of `bytes` bytes together.
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        let slots = (count * 2).next_power_of_two().max(16);
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(count),
            table: vec![EMPTY; slots],
            hasher: RandomState::new(),
        }
    }

    /// The string of a number.
    pub fn of(&self, id: u32) -> &[u8] {
        let i = id as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[start..self.ends[i] as usize]
    }

    /// The slot of `s`: where its number is, or where it would be.
    fn slot(&self, s: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut at = self.hasher.hash_one(s) as usize & mask;
        while self.table[at] != EMPTY && self.of(self.table[at]) != s {
            at = (at + 1) & mask;
        }
        at
    }

    /// The number of `s`.
    pub fn find(&self, s: &[u8]) -> Option<u32> {
        Some(self.table[self.slot(s)]).filter(|&id| id != EMPTY)
    }

    /// Adds `s` under the next number; where `found`, [`Strings::find`] finds it from now on, and an older one of the
    /// same bytes no more.
    pub fn push(&mut self, s: &[u8], found: bool) -> u32 {
        let id = self.ends.len() as u32;
        self.bytes.extend_from_slice(s);
        self.ends.push(self.bytes.len() as u32);
        if found {
            let slot = self.slot(s);
            let new = self.table[slot] == EMPTY;
            self.table[slot] = id;
            // Half full at most, counting strings that are not found too.
            if new && self.ends.len() * 2 > self.table.len() {
                self.grow();
            }
        }
        id
    }

    fn grow(&mut self) {
        let new = vec![EMPTY; self.table.len() * 2];
        for id in std::mem::replace(&mut self.table, new) {
            if id != EMPTY {
                let slot = self.slot(self.of(id));
                self.table[slot] = id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_again() {
        let mut s = Strings::with_capacity(0, 0);
        for i in 0..1000u32 {
            assert_eq!(s.push(format!("s{i}").as_bytes(), i % 3 > 0), i);
        }
        for i in 0..1000u32 {
            let text = format!("s{i}");
            assert_eq!(s.of(i), text.as_bytes());
            assert_eq!(s.find(text.as_bytes()), (i % 3 > 0).then_some(i));
        }
        assert_eq!(s.push(b"s1", true), 1000);
        assert_eq!(s.find(b"s1"), Some(1000), "the last one counts");
        assert_eq!(s.push(b"", true), 1001);
        assert_eq!(s.find(b""), Some(1001));
    }
}
