//! Rotary position embedding and relative positions.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::{Error, Result};
use crate::raw::At;
use crate::raw::rope::{self as raw, RopeTable};
use crate::tensor::{Tensor, at, sizes, wrap};
use forge_axes::{Axes, Axis, Has, Lacks, Remove, Replace, SizeArg};
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Turns the features along `feature` in pairs, by the angles of the position along `position`: rotary position
    /// embedding ([Su et al. 2021](https://arxiv.org/abs/2104.09864)). The table says which pairs, how many, and by what
    /// angles; features that do not turn are kept.
    ///
    /// ```
    /// use forge::Rope;
    /// use forge::prelude::*;
    /// axes! { Seq, HeadDim }
    /// let q = Tensor::<(Seq, HeadDim)>::ones((3, 4));
    /// // Positions 5, 6, 7 of a sequence whose first five rows are in a cache.
    /// let table = Rope::new(4, 10_000.0).table(5..8);
    /// let turned = q.rope(Seq, HeadDim, &table);
    /// let back = turned.rope(Seq, HeadDim, &table.inverse());
    /// assert!((&back - &q).abs().sum_all().item() < 1e-5);
    /// ```
    ///
    /// # Errors
    /// When the table has not one row for each position, turns more features than there are, or both axes are one.
    #[fallible]
    pub fn rope<P: Axis, F: Axis>(&self, position: P, feature: F, table: &RopeTable) -> Self
    where
        X: Has<P> + Has<F>,
        D: Float,
    {
        let _ = (position, feature);
        Ok(wrap(raw::rope(self.raw(), at::<X, P>(), at::<X, F>(), table)?))
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Scores by relative position as scores by key: `out[q, j] = x[q, j + (Q - 1) - q]`, where `Q` is the size of
    /// `query` and `j` runs over the `size` positions of `into`, which replaces `relative` (the skew of
    /// [Transformer-XL](https://arxiv.org/abs/1901.02860)). A view.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Seq, Relative, Key }
    /// // Relative position r of query q stands for key q - 2 + r.
    /// let x = Tensor::<(Seq, Relative)>::from_vec((2, 4), vec![0., 1., 2., 3., 4., 5., 6., 7.]);
    /// let y: Tensor<(Seq, Key)> = x.relpos_shift(Seq, Relative, Key, 3);
    /// assert_eq!(y.to_vec(), [1., 2., 3., 4., 5., 6.]);
    /// ```
    ///
    /// # Errors
    /// When `relative` has fewer than `size + Q - 1` positions, or both axes are one.
    #[fallible]
    pub fn relpos_shift<Q: Axis, R: Axis, K: Axis>(
        &self,
        query: Q,
        relative: R,
        into: K,
        size: SizeArg<K>,
    ) -> Tensor<Replace<X, R, K>, D>
    where
        X: Has<Q> + Has<R>,
        Remove<X, R>: Lacks<K>,
    {
        let _ = (query, relative, into);
        let (s, _) = sizes::<K>(size);
        Ok(wrap(raw::relpos_shift(self.raw(), at::<X, Q>(), at::<X, R>(), s[0])?))
    }
}

impl DynTensor {
    /// [`Tensor::rope`].
    ///
    /// # Errors
    /// As [`Tensor::try_rope`], and when an axis is missing or the elements are not floats.
    pub fn rope(
        &self,
        position: impl Into<DynAxis>,
        feature: impl Into<DynAxis>,
        table: &RopeTable,
    ) -> Result<Self, Error> {
        let (p, f) = (self.position("rope", &position.into())?, self.position("rope", &feature.into())?);
        let keys = self.keys();
        let at = |axis| At { axis, keys: &keys };
        Ok(self.with_raw(raw::rope(self.raw(), at(p), at(f), table)?))
    }

    /// [`Tensor::relpos_shift`].
    ///
    /// # Errors
    /// As [`Tensor::try_relpos_shift`], and when an axis is missing or `into` is already there.
    pub fn relpos_shift(
        &self,
        query: impl Into<DynAxis>,
        relative: impl Into<DynAxis>,
        into: impl Into<DynAxis>,
        size: usize,
    ) -> Result<Self, Error> {
        const OP: &str = "relpos_shift";
        let relative = relative.into();
        let (q, r) = (self.position(OP, &query.into())?, self.position(OP, &relative)?);
        let keys = self.keys();
        let at = |axis| At { axis, keys: &keys };
        let y = raw::relpos_shift(self.raw(), at(q), at(r), size)?;
        self.with_raw_of_other_size(y, OP, &relative, into.into())
    }
}
