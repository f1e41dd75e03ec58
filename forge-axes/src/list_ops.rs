//! The type functions of the crate root on run-time lists, for tensors whose axes are known when the program runs.
//!
//! Each gives the same axes in the same order as its type-level twin; a test holds them together.
//!
//! ```
//! use forge_axes::{Key, list_ops};
//! let x = [Key::named("batch"), Key::named("in")];
//! let w = [Key::named("in"), Key::named("out")];
//! let y = list_ops::dot(&x, &w, &[Key::named("in")])?;
//! assert_eq!(y.as_slice()[1].name, "out");
//! # Ok::<(), list_ops::TooManyAxes>(())
//! ```

use crate::Key;
use crate::plan::{MAX_RANK, NONE, pos};
use core::fmt;
use core::ops::Deref;

/// A list of at most [`MAX_RANK`] axes, on the stack.
#[derive(Clone, Copy)]
pub struct KeyList<'k> {
    len: u8,
    keys: [Key<'k>; MAX_RANK],
}

/// A list would have more than [`MAX_RANK`] axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyAxes;

impl fmt::Display for TooManyAxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor may have at most 16 axes")
    }
}
impl core::error::Error for TooManyAxes {}

impl<'k> KeyList<'k> {
    /// The empty list.
    pub const fn new() -> Self {
        KeyList { len: 0, keys: [Key::named(""); MAX_RANK] }
    }

    /// A copy of `keys`.
    ///
    /// # Errors
    /// [`TooManyAxes`].
    pub fn from_slice(keys: &[Key<'k>]) -> Result<Self, TooManyAxes> {
        let mut l = Self::new();
        for k in keys {
            l.push(*k)?;
        }
        Ok(l)
    }

    /// Appends an axis.
    ///
    /// # Errors
    /// [`TooManyAxes`] when the list is full.
    pub fn push(&mut self, key: Key<'k>) -> Result<(), TooManyAxes> {
        *self.keys.get_mut(self.len as usize).ok_or(TooManyAxes)? = key;
        self.len += 1;
        Ok(())
    }

    /// The axes.
    pub fn as_slice(&self) -> &[Key<'k>] {
        &self.keys[..self.len as usize]
    }

    /// Appends an axis to a list that is known to have room.
    fn keep(&mut self, key: &Key<'k>) {
        self.keys[self.len as usize] = *key;
        self.len += 1;
    }
}

impl Default for KeyList<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'k> Deref for KeyList<'k> {
    type Target = [Key<'k>];
    fn deref(&self) -> &[Key<'k>] {
        self.as_slice()
    }
}

/// Prints the names: `(Batch, In)`, `In`, `()`.
impl fmt::Display for KeyList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Names(self.as_slice()), f)
    }
}
impl fmt::Debug for KeyList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Names(self.as_slice()), f)
    }
}

/// Prints the names of a list as its type is written: `(Batch, In)`, `In`, `()`.
#[derive(Clone, Copy)]
pub struct Names<'a, 'k>(pub &'a [Key<'k>]);

impl fmt::Display for Names<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0 {
            return f.write_str(one.name);
        }
        f.write_str("(")?;
        for (i, k) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            f.write_str(k.name)?;
        }
        f.write_str(")")
    }
}

/// Where `a` stands in `x`.
pub fn position(x: &[Key<'_>], a: &Key<'_>) -> Option<usize> {
    match pos(x, a) {
        NONE => None,
        p => Some(p as usize),
    }
}

/// Does `x` contain `a`? Twin of [`Has`](crate::Has).
pub fn contains(x: &[Key<'_>], a: &Key<'_>) -> bool {
    pos(x, a) != NONE
}

/// The first axis of `x` that is not in `l`. Twin of [`SubsetOf`](crate::SubsetOf), which holds when there is none.
pub fn missing<'a, 'k>(x: &'a [Key<'k>], l: &[Key<'_>]) -> Option<&'a Key<'k>> {
    x.iter().find(|k| !contains(l, k))
}

/// The first axis of `x` that is in `l`. Twin of [`NoneIn`](crate::NoneIn), which holds when there is none.
pub fn taken<'a, 'k>(x: &'a [Key<'k>], l: &[Key<'_>]) -> Option<&'a Key<'k>> {
    x.iter().find(|k| contains(l, k))
}

/// The first axis of `x` that occurs again later in it. Twin of [`Distinct`](crate::Distinct), which holds when
/// there is none.
pub fn repeated<'a, 'k>(x: &'a [Key<'k>]) -> Option<&'a Key<'k>> {
    x.iter().enumerate().find(|(i, k)| contains(&x[i + 1..], k)).map(|(_, k)| k)
}

/// Do the lists have the same axes, each once, in any order? Twin of [`PermutationOf`](crate::PermutationOf).
pub fn is_permutation(x: &[Key<'_>], y: &[Key<'_>]) -> bool {
    x.len() == y.len() && missing(x, y).is_none() && missing(y, x).is_none() && repeated(y).is_none()
}

fn filter<'k>(x: &[Key<'k>], keep: impl Fn(&Key<'k>) -> bool) -> Result<KeyList<'k>, TooManyAxes> {
    let mut l = KeyList::new();
    for k in x.iter().filter(|k| keep(k)) {
        l.push(*k)?;
    }
    Ok(l)
}

/// `x` without `a`. Twin of [`Remove`](crate::Remove).
///
/// # Errors
/// [`TooManyAxes`].
pub fn remove<'k>(x: &[Key<'k>], a: &Key<'_>) -> Result<KeyList<'k>, TooManyAxes> {
    minus(x, core::slice::from_ref(a))
}

/// `x` without the axes of `s`. Twin of [`Minus`](crate::Minus).
///
/// # Errors
/// [`TooManyAxes`].
pub fn minus<'k>(x: &[Key<'k>], s: &[Key<'_>]) -> Result<KeyList<'k>, TooManyAxes> {
    filter(x, |k| !contains(s, k))
}

/// The axes of `l` that `r` has too. Twin of [`Intersect`](crate::Intersect).
///
/// # Errors
/// [`TooManyAxes`].
pub fn intersect<'k>(l: &[Key<'k>], r: &[Key<'_>]) -> Result<KeyList<'k>, TooManyAxes> {
    filter(l, |k| contains(r, k))
}

/// `l`, then what is new in `r`. Twin of [`Union`](crate::Union).
///
/// # Errors
/// [`TooManyAxes`].
pub fn union<'k>(l: &[Key<'k>], r: &[Key<'k>]) -> Result<KeyList<'k>, TooManyAxes> {
    let mut u = KeyList::from_slice(l)?;
    for k in r {
        if !contains(&u, k) {
            u.push(*k)?;
        }
    }
    Ok(u)
}

/// All of `l`, then all of `r`. Twin of [`Concat`](crate::Concat).
///
/// # Errors
/// [`TooManyAxes`].
pub fn concat<'k>(l: &[Key<'k>], r: &[Key<'k>]) -> Result<KeyList<'k>, TooManyAxes> {
    let mut u = KeyList::from_slice(l)?;
    for k in r {
        u.push(*k)?;
    }
    Ok(u)
}

/// `x` with `a` put in at position `at`; the end is `x.len()`. Twin of [`Push`](crate::Push) and
/// [`InsertFront`](crate::InsertFront).
///
/// # Errors
/// [`TooManyAxes`].
///
/// # Panics
/// When `at` is past the end.
pub fn insert<'k>(x: &[Key<'k>], at: usize, a: &Key<'k>) -> Result<KeyList<'k>, TooManyAxes> {
    let mut l = KeyList::from_slice(&x[..at])?;
    l.push(*a)?;
    concat(&l, &x[at..])
}

/// `x` with `a` replaced by the axes `new`. Twin of [`Replace`](crate::Replace).
///
/// # Errors
/// [`TooManyAxes`].
pub fn replace<'k>(x: &[Key<'k>], a: &Key<'_>, new: &[Key<'k>]) -> Result<KeyList<'k>, TooManyAxes> {
    let mut l = KeyList::new();
    for k in x {
        if crate::plan::same(k, a) {
            l = concat(&l, new)?;
        } else {
            l.push(*k)?;
        }
    }
    Ok(l)
}

/// `x` with the axes `parts` merged into `a`, at the place of the first part. Twin of [`Merge`](crate::Merge).
///
/// # Errors
/// [`TooManyAxes`].
pub fn merge<'k>(x: &[Key<'k>], parts: &[Key<'_>], a: &Key<'k>) -> Result<KeyList<'k>, TooManyAxes> {
    let Some((first, rest)) = parts.split_first() else { return KeyList::from_slice(x) };
    replace(&minus(x, rest)?, first, core::slice::from_ref(a))
}

/// What is left of `l` and what is new in the rest of `r` after a contraction over `s`. Twin of
/// [`Dot`](crate::Dot).
///
/// # Errors
/// [`TooManyAxes`].
pub fn dot<'k>(l: &[Key<'k>], r: &[Key<'k>], s: &[Key<'_>]) -> Result<KeyList<'k>, TooManyAxes> {
    union(&minus(l, s)?, &minus(r, s)?)
}

/// `x` without `a` and `b`, with `c` at the end. Twin of [`DiagonalOf`](crate::DiagonalOf).
///
/// # Errors
/// [`TooManyAxes`].
pub fn diagonal<'k>(x: &[Key<'k>], a: &Key<'_>, b: &Key<'_>, c: &Key<'k>) -> Result<KeyList<'k>, TooManyAxes> {
    let mut l = filter(x, |k| !crate::plan::same(k, a) && !crate::plan::same(k, b))?;
    l.push(*c)?;
    Ok(l)
}

/// The axes of `x` in the given order: place `i` gets the axis at `order[i]`.
///
/// # Panics
/// When a position is out of range.
pub fn permuted<'k>(x: &[Key<'k>], order: &[u8]) -> KeyList<'k> {
    let mut l = KeyList::new();
    for &p in order {
        l.keep(&x[p as usize]);
    }
    l
}
