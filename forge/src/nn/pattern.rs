//! [`Pattern`]: which name paths are meant.

use std::fmt;

/// Chooses name paths: `layers.3` means that part and all below it; `*` stands for any text, dots included, and `?` for
/// one character (`*.bias`, `layers.?.attn.*`).
///
/// ```
/// use forge::nn::Pattern;
/// assert!(Pattern::new("layers.3").matches("layers.3.attn.q"));
/// assert!(!Pattern::new("layers.3").matches("layers.31.attn.q"));
/// assert!(Pattern::new("*.bias").matches("layers.3.attn.bias"));
/// assert!(!Pattern::new("*.bias").matches("layers.3.bias.extra"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// The pattern written as `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// Whether `name` is meant.
    pub fn matches(&self, name: &str) -> bool {
        if self.text.contains(['*', '?']) {
            return glob(self.text.as_bytes(), name.as_bytes());
        }
        name.strip_prefix(&*self.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Greedy match with one point to fall back to: linear memory, at most quadratic time.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back = Some((p + 1, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match back {
                Some((bp, bn)) => {
                    back = Some((bp, bn + 1));
                    p = bp;
                    n = bn + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching() {
        let yes = |p: &str, n: &str| assert!(Pattern::new(p).matches(n), "{p} should match {n}");
        let no = |p: &str, n: &str| assert!(!Pattern::new(p).matches(n), "{p} should not match {n}");
        yes("*", "");
        yes("*", "a.b");
        yes("a", "a");
        yes("a", "a.b");
        no("a", "ab");
        no("", "a");
        yes("", "");
        yes("a*c*e", "abcde");
        no("a*c*e", "abcd");
        yes("a*bab", "ababab");
        yes("layers.?.w", "layers.3.w");
        no("layers.?.w", "layers.13.w");
        no("?", "");
        yes("**", "x");
    }
}
