//! Spaces that whole texts lose before punctuation.

/// Removes the space before `?!.,`, those around a lone apostrophe, and the space before `'s`, `'m`, `'re` and `'ve`.
pub(crate) fn tidy(text: &mut Vec<u8>) {
    each(text, |before, x, _| (before == b' ' && matches!(x, b'?' | b'!' | b'.' | b',')).then_some(0));
    each(text, |before, x, after| (before == b' ' && x == b'\'' && after.first() == Some(&b' ')).then_some(1));
    each(text, |before, x, after| {
        let short = matches!(after, [b's' | b'm', ..]) || matches!(after, [b'r' | b'v', b'e', ..]);
        (before == b' ' && x == b'\'' && short).then_some(0)
    });
}

/// Walks over the bytes after the first; where `f` of the byte before, the byte and those after it says `Some(n)`, the
/// byte before is removed and the `n` bytes after it are zeroed.
///
/// A zero byte in place of a removed space is what llama.cpp leaves there.
fn each(text: &mut Vec<u8>, f: impl Fn(u8, u8, &[u8]) -> Option<usize>) {
    let mut kept = usize::from(!text.is_empty());
    let mut i = 1;
    while i < text.len() {
        let x = text[i];
        let removed = f(text[i - 1], x, &text[i + 1..]);
        if let Some(n) = removed {
            kept -= 1;
            // The rest of the walk sees the removed bytes as nothing.
            for b in text.iter_mut().skip(i + 1).take(n) {
                *b = 0;
            }
            i += n;
        }
        text[kept] = x;
        kept += 1;
        i += 1;
    }
    text.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_before_punctuation_go() {
        let of = |s: &str| {
            let mut b = s.as_bytes().to_vec();
            tidy(&mut b);
            String::from_utf8(b).unwrap()
        };
        assert_eq!(of("Hi , you . What ?!"), "Hi, you. What?!");
        assert_eq!(of("it 's we 've I 'm you 're he 'd we 'll"), "it's we've I'm you're he 'd we 'll");
        assert_eq!(of("a ' b"), "a'b");
        assert_eq!(of(""), "");
        assert_eq!(of(" ,"), ",");
    }
}
