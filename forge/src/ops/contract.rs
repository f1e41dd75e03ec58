//! Contractions by axis name.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of, list_text};
use crate::error::Error;
use crate::raw::{Names, arith, contract as raw};
use crate::tensor::{Tensor, names, wrap};
use forge_axes::plan::{ContractPlan, PointwisePlan};
use forge_axes::{Axes, Axis, Distinct, Dot, Has, Project, SubsetOf, Union, list_ops};
use forge_kernels::arith::BinaryOp;
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Sum of products over the axis (or axes) `over`, which both operands have.
    ///
    /// Every other axis that both have is a batch axis. The result has the left operand's remaining axes in their
    /// order, then the right's new ones.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Head, Seq, Key, Dim }
    /// let q = Tensor::<(Batch, Head, Seq, Dim)>::ones((2, 3, 4, 8));
    /// let k = Tensor::<(Batch, Head, Key, Dim)>::ones((2, 3, 5, 8));
    /// let scores: Tensor<(Batch, Head, Seq, Key)> = q.dot(&k, Dim);
    /// assert_eq!(scores.shape(), [2, 3, 4, 5]);
    /// let total: Tensor<(Batch, Seq, Key)> = q.dot(&k, (Head, Dim));
    /// assert_eq!(total.get((0, 0, 0)), 24.0);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[doc(alias("matmul", "bmm"))]
    #[fallible]
    pub fn dot<R: Axes, S: Axes>(&self, rhs: &Tensor<R, D>, over: S) -> Tensor<Dot<X, R, S>, D>
    where
        S: SubsetOf<X> + SubsetOf<R>,
        D: Float,
    {
        let _ = over;
        let plan = const { &ContractPlan::new(X::KEYS, R::KEYS, <Dot<X, R, S> as Axes>::KEYS) };
        Ok(wrap(raw::contract(self.raw(), rhs.raw(), plan, names::<X, R>(), "dot")?))
    }

    /// Product with a matrix from axis `I` to axis `O`, over whatever else `self` has. The axes are those of
    /// [`Self::dot`]; named by the matrix alone, they need one bound in generic code.
    ///
    /// ```
    /// use forge::prelude::*;
    /// fn layer<X: Axes + Has<I>, I: Axis, O: Axis>(x: &Tensor<X>, w: &Tensor<(I, O)>) -> Tensor<Project<X, I, O>> {
    ///     x.project(w)
    /// }
    /// axes! { Batch, In, Out }
    /// let y: Tensor<(Batch, Out)> = layer(&Tensor::<(In, Batch)>::ones((3, 2)), &Tensor::<(In, Out)>::ones((3, 4)));
    /// assert_eq!(y.to_vec(), [3.0; 8]);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn project<I: Axis, O: Axis>(&self, matrix: &Tensor<(I, O), D>) -> Tensor<Project<X, I, O>, D>
    where
        X: Has<I>,
        D: Float,
    {
        let plan = const { &ContractPlan::new(X::KEYS, <(I, O)>::KEYS, <Project<X, I, O> as Axes>::KEYS) };
        Ok(wrap(raw::contract(self.raw(), matrix.raw(), plan, names::<X, (I, O)>(), "project")?))
    }

    /// [`Self::project`], plus a bias along the matrix's second axis: `x · matrix + bias`.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn affine<I: Axis, O: Axis>(
        &self,
        matrix: &Tensor<(I, O), D>,
        bias: &Tensor<O, D>,
    ) -> Tensor<Project<X, I, O>, D>
    where
        X: Has<I>,
        D: Float,
    {
        let y = self.try_project(matrix)?;
        let plan = const { &PointwisePlan::new(<Project<X, I, O> as Axes>::KEYS, O::KEYS) };
        let names = names::<Project<X, I, O>, O>();
        Ok(wrap(arith::binary(BinaryOp::Add, y.raw(), bias.raw(), plan, names)?))
    }

    /// The contraction whose equation is the annotated result: axes of the operands that it lacks are summed.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn einsum<R: Axes, Y: Axes>(&self, rhs: &Tensor<R, D>) -> Tensor<Y, D>
    where
        Y: SubsetOf<Union<X, R>> + Distinct,
        D: Float,
    {
        let plan = const { &ContractPlan::new(X::KEYS, R::KEYS, Y::KEYS) };
        Ok(wrap(raw::contract(self.raw(), rhs.raw(), plan, names::<X, R>(), "einsum")?))
    }
}

impl DynTensor {
    /// [`Tensor::dot`].
    ///
    /// # Errors
    /// When an operand lacks one of the axes, a shared axis has two sizes, or the result would have more than 8 axes.
    pub fn dot(&self, rhs: &Self, over: &[&str]) -> Result<Self, Error> {
        let over: Vec<DynAxis> = over.iter().map(|&a| a.into()).collect();
        self.dot_over(rhs, &over, "dot")
    }

    fn dot_over(&self, rhs: &Self, over: &[DynAxis], op: &'static str) -> Result<Self, Error> {
        let (lk, rk, ok) = (self.keys(), rhs.keys(), keys_of(over));
        for side in [&lk, &rk] {
            if let Some(k) = list_ops::missing(&ok, side) {
                return Err(Error::axes(op, format!("no axis `{}` in `{}`", k.name, list_text(side))));
            }
        }
        let out = list_ops::dot(&lk, &rk, &ok).map_err(|e| Error::axes(op, e.to_string()))?;
        self.contract_to(rhs, &out, op)
    }

    /// [`Tensor::project`].
    ///
    /// # Errors
    /// When `matrix` does not have two axes, `self` lacks its first, or a shared axis has two sizes.
    pub fn project(&self, matrix: &Self) -> Result<Self, Error> {
        let [from, _] = matrix.axes() else {
            return Err(Error::axes("project", format!("a matrix has two axes, not `{}`", list_text(&matrix.keys()))));
        };
        self.dot_over(matrix, std::slice::from_ref(from), "project")
    }

    /// [`Tensor::affine`].
    ///
    /// # Errors
    /// As [`Self::project`], and when `bias` has other axes than the matrix's second.
    pub fn affine(&self, matrix: &Self, bias: &Self) -> Result<Self, Error> {
        self.project(matrix)?.add(bias)
    }

    /// [`Tensor::einsum`]: the equation is the list of the result's axes.
    ///
    /// # Errors
    /// When no operand has one of them, a shared axis has two sizes, or one is named twice.
    pub fn einsum(&self, rhs: &Self, out: &[&str]) -> Result<Self, Error> {
        let out: Vec<DynAxis> = out.iter().map(|&a| a.into()).collect();
        let out = keys_of(&out);
        let (lk, rk) = (self.keys(), rhs.keys());
        let all = list_ops::union(&lk, &rk).map_err(|e| Error::axes("einsum", e.to_string()))?;
        super::arith::subset("einsum", &out, &all)?;
        self.contract_to(rhs, &out, "einsum")
    }

    fn contract_to(&self, rhs: &Self, out: &[forge_axes::Key], op: &'static str) -> Result<Self, Error> {
        check_distinct(op, out)?;
        let (lk, rk) = (self.keys(), rhs.keys());
        let plan = ContractPlan::new(&lk, &rk, out);
        let raw = raw::contract(self.raw(), rhs.raw(), &plan, Names { lhs: &lk, rhs: &rk }, op)?;
        Ok(self.renamed(raw, out, &[rhs.axes()]))
    }
}
