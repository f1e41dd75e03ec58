//! Sums of products that may be too large to count.

/// A count of numbers, or the knowledge that it is beyond counting.
#[derive(Clone, Copy)]
pub(super) struct Tally(Option<usize>);

impl Tally {
    pub(super) fn zero() -> Self {
        Self(Some(0))
    }

    /// Adds the product of `factors`.
    pub(super) fn add(&mut self, factors: &[usize]) {
        self.0 = self.0.and_then(|sum| {
            let product = factors.iter().try_fold(1usize, |p, &f| p.checked_mul(f))?;
            sum.checked_add(product)
        });
    }

    pub(super) fn get(self) -> Option<usize> {
        self.0
    }

    /// The count of weights, where beyond counting is more than any file has.
    pub(super) fn count(self) -> usize {
        self.0.unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn counts_until_it_cannot() {
        let mut t = Tally::zero();
        t.add(&[3, 4]);
        t.add(&[]);
        assert_eq!(t.get(), Some(13));
        t.add(&[usize::MAX, 2]);
        t.add(&[1]);
        assert_eq!(t.get(), None);
        assert_eq!(t.count(), usize::MAX);
    }
}
