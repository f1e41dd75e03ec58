//! What kind of character a character is, as pre-tokenizers see it.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A Unicode general category, with white space apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// `\p{L}`.
    Letter,
    /// `\p{M}`.
    Mark,
    /// `\p{N}`.
    Number,
    /// `\p{P}`.
    Punctuation,
    /// `\p{S}`.
    Symbol,
    /// `\s`: the property White_Space.
    Space,
    /// Controls, unassigned and private characters.
    Other,
}

use Class::*;

/// The classes of ASCII.
const ASCII: [Class; 128] = {
    let mut table = [Other; 128];
    let mut i = 0;
    while i < 128 {
        let c = i as u8;
        table[i] = match c {
            b'a'..=b'z' | b'A'..=b'Z' => Letter,
            b'0'..=b'9' => Number,
            b'\t'..=b'\r' | b' ' => Space,
            b'$' | b'+' | b'<'..=b'>' | b'^' | b'`' | b'|' | b'~' => Symbol,
            b'!'..=b'~' => Punctuation,
            _ => Other,
        };
        i += 1;
    }
    table
};

/// The class of a character.
#[inline]
pub(crate) fn class(c: char) -> Class {
    match ASCII.get(c as usize) {
        Some(&k) => k,
        None => beyond_ascii(c),
    }
}

fn beyond_ascii(c: char) -> Class {
    if c.is_whitespace() {
        return Space;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter => Letter,
        GeneralCategoryGroup::Mark => Mark,
        GeneralCategoryGroup::Number => Number,
        GeneralCategoryGroup::Punctuation => Punctuation,
        GeneralCategoryGroup::Symbol => Symbol,
        GeneralCategoryGroup::Separator | GeneralCategoryGroup::Other => Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_agrees_with_unicode() {
        for c in '\0'..='\x7f' {
            assert_eq!(class(c), beyond_ascii(c), "{c:?}");
        }
    }

    #[test]
    fn each_class_beyond_ascii() {
        let of = |s: &str| s.chars().map(class).collect::<Vec<_>>();
        assert_eq!(of("é日ʼ"), [Letter; 3]);
        assert_eq!(of("٣Ⅷ½"), [Number; 3]);
        assert_eq!(of("\u{301}\u{93e}"), [Mark; 2]);
        assert_eq!(of("«—。"), [Punctuation; 3]);
        assert_eq!(of("€°🦀"), [Symbol; 3]);
        assert_eq!(of("\u{85}\u{a0}\u{3000}\u{2028}"), [Space; 4]);
        assert_eq!(of("\u{200b}\u{e000}\u{378}"), [Other; 3]);
    }
}
