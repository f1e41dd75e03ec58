//! `over`: a block written for the axes it names, run over all the others (a typed `vmap`).

use crate::DynTensor;
use crate::axes::Rest;
use crate::dtype::Dtype;
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of, list_text};
use crate::error::{Error, axes_text, raise};
use crate::raw::{RawTensor, shape as raw};
use crate::tensor::{Tensor, wrap};
use forge_axes::plan::{self, NONE};
use forge_axes::{Axes, Concat, Distinct, Key, Lacks, Minus, NoneIn, OverTo, SubsetOf};
use forge_kernels::{Layout, MAX_RANK};
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Runs `f`, written for the axes `Y` alone, over all other axes of `self`: `f` sees them as the one axis
    /// [`Rest`].
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::axes::{Batch, Head, Rest, Seq};
    /// fn centred<X: Axes>(x: &Tensor<X>) -> Tensor<X>
    /// where
    ///     Seq: SubsetOf<X>,
    /// {
    ///     x.over::<Seq>(|x: &Tensor<(Rest, Seq)>| x - &x.mean(Seq))
    /// }
    /// let y = centred(&Tensor::<(Batch, Seq, Head)>::ones((2, 3, 4)));
    /// assert_eq!(y.sum_all().item(), 0.0);
    /// ```
    ///
    /// Several tensors go together as a tuple: see [`Over`]. A block that gives other axes than it takes: see
    /// [`Self::over_to`].
    ///
    /// # Errors
    /// When `f` changes the size of [`Rest`].
    #[must_use]
    #[fallible]
    pub fn over<Y: Axes>(&self, f: impl FnOnce(&Tensor<Concat<Rest, Y>, D>) -> Tensor<Concat<Rest, Y>, D>) -> Self
    where
        Y: SubsetOf<X> + Distinct + Lacks<Rest>,
    {
        let (x, outer) = fold::<X, Y>(self.raw());
        let y = f(&wrap(x));
        Ok(wrap(unfold::<X, Y>("over", y.raw(), &outer)?))
    }

    /// [`Self::over`] for a block that gives the axes `Z` where it takes `Y`: the result has the other axes of `self`,
    /// then `Z`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::axes::{Batch, Class, Head, Rest, Seq};
    /// let w = Tensor::<(Seq, Class)>::ones((3, 5));
    /// let x = Tensor::<(Batch, Seq, Head)>::ones((2, 3, 4));
    /// let y: Tensor<(Batch, Head, Class)> = x.over_to::<Seq, Class>(|x: &Tensor<(Rest, Seq)>| x.dot(&w, Seq));
    /// assert_eq!(y.shape(), [2, 4, 5]);
    /// ```
    ///
    /// # Errors
    /// When `f` changes the size of [`Rest`].
    #[must_use]
    #[fallible]
    pub fn over_to<Y: Axes, Z: Axes>(
        &self,
        f: impl FnOnce(&Tensor<Concat<Rest, Y>, D>) -> Tensor<Concat<Rest, Z>, D>,
    ) -> Tensor<OverTo<X, Y, Z>, D>
    where
        Y: SubsetOf<X> + Distinct + Lacks<Rest>,
        Z: NoneIn<Minus<X, Y>> + Distinct + Lacks<Rest>,
    {
        let (x, outer) = fold::<X, Y>(self.raw());
        let y = f(&wrap(x));
        Ok(wrap(spread("over_to", y.raw(), &outer)?))
    }
}

/// `x` with the axes outside of `Y` joined in front, and their sizes.
fn fold<X: Axes, Y: Axes>(x: &RawTensor) -> (RawTensor, Vec<usize>) {
    let order = const { &plan::front(X::KEYS, Y::KEYS) };
    let k = X::RANK - Y::RANK;
    let x = raw::permute(x, &order[..X::RANK]);
    (raw::fold_front(&x, k), x.shape()[..k].to_vec())
}

/// The first axis of `y` cut into axes of the sizes `outer` again.
fn spread(op: &'static str, y: &RawTensor, outer: &[usize]) -> Result<RawTensor, Error> {
    let n: usize = outer.iter().product();
    if y.shape()[0] != n {
        let what = format!("the block got axis `Rest` of size {n} and gave it back with size {}", y.shape()[0]);
        return Err(Error::argument(op, what));
    }
    Ok(raw::unfold_front(y, outer))
}

/// Undoes [`fold`].
fn unfold<X: Axes, Y: Axes>(op: &'static str, y: &RawTensor, outer: &[usize]) -> Result<RawTensor, Error> {
    let order = const { &plan::front(X::KEYS, Y::KEYS) };
    Ok(raw::permute(&spread(op, y, outer)?, &plan::inverse(order)[..X::RANK]))
}

/// `x` for a block over `block`, run over the axes `rest` of sizes `outer`: those that it lacks are repeated (as a view
/// where strides can say it).
fn fold_beside(
    op: &'static str,
    x: &RawTensor,
    keys: &[Key],
    block: &[Key],
    rest: &[Key],
    outer: &[usize],
) -> Result<RawTensor, Error> {
    let rank = rest.len() + block.len();
    let (mut map, mut sizes, mut strides) = ([NONE; MAX_RANK], [1; MAX_RANK], [0; MAX_RANK]);
    for (i, k) in rest.iter().chain(block).enumerate() {
        map[i] = plan::pos(keys, k);
        if map[i] == NONE {
            sizes[i] = outer[i];
            continue;
        }
        let at = map[i] as usize;
        (sizes[i], strides[i]) = (x.shape()[at], x.layout().strides()[at]);
        if i < rest.len() && sizes[i] != outer[i] {
            return Err(Error::SizeMismatch {
                op,
                axis: k.name.to_owned(),
                lhs: outer[i],
                rhs: sizes[i],
                lhs_axes: axes_text(rest, outer),
                rhs_axes: axes_text(keys, x.shape()),
            });
        }
    }
    let seen = raw::broadcast_view(x, Layout::new(&sizes[..rank], &strides[..rank]), &map[..rank]);
    Ok(raw::fold_front(&seen, rest.len()))
}

/// Tensors that a block takes together, folded over the same rest: `Y` is a tuple with the block's axes of each.
///
/// Implemented for tuples of 2 to 4 references to tensors.
#[diagnostic::on_unimplemented(
    message = "a block over `{Y}` does not fit these tensors",
    label = "`over` takes 2 to 4 tensors here, and a tuple with the block's axes of each",
    note = "the axes of each block must be among its tensor's, and the others of each among those of the first tensor"
)]
pub trait OverTensors<Y> {
    /// What the block gets: the tensors with [`Rest`] in front of their axes.
    type Folded;
    /// The axes that [`Rest`] stands for: those of the first tensor that its block does not name.
    type Outer: Axes;
    /// The first tensor's element type.
    type Dtype: Dtype;
    /// The block's axes of the first tensor.
    type First: Axes;
    /// The first tensor's axes.
    type Axes: Axes;
    #[doc(hidden)]
    fn fold(self, op: &'static str) -> Result<(Self::Folded, Vec<usize>), Error>;
}

macro_rules! over_tensors {
    ($($X:ident $D:ident $Y:ident $i:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<'t, X0: Axes, D0: Dtype, Y0: Axes, $($X: Axes, $D: Dtype, $Y: Axes),+> OverTensors<(Y0, $($Y),+)>
            for (&'t Tensor<X0, D0>, $(&'t Tensor<$X, $D>),+)
        where
            Y0: SubsetOf<X0> + Distinct + Lacks<Rest>,
            $($Y: SubsetOf<$X> + Distinct + Lacks<Rest>, Minus<$X, $Y>: SubsetOf<Minus<X0, Y0>>,)+
        {
            type Folded = (Tensor<Concat<Rest, Y0>, D0>, $(Tensor<Concat<Rest, $Y>, $D>),+);
            type Outer = Minus<X0, Y0>;
            type Dtype = D0;
            type First = Y0;
            type Axes = X0;
            fn fold(self, op: &'static str) -> Result<(Self::Folded, Vec<usize>), Error> {
                let (first, outer) = fold::<X0, Y0>(self.0.raw());
                let rest = <Minus<X0, Y0> as Axes>::KEYS;
                let folded = (
                    wrap(first),
                    $(wrap(fold_beside(op, self.$i.raw(), $X::KEYS, $Y::KEYS, rest, &outer)?)),+
                );
                Ok((folded, outer))
            }
        }
    };
}
over_tensors!(X1 D1 Y1 1);
over_tensors!(X1 D1 Y1 1, X2 D2 Y2 2);
over_tensors!(X1 D1 Y1 1, X2 D2 Y2 2, X3 D3 Y3 3);

/// [`Tensor::over`] for several tensors: a mask travels with its activations.
///
/// All are folded over the same rest, which is the first tensor's: an axis of it that another tensor lacks is repeated
/// there (without a copy where strides can say it), so that inside the block everything has the same [`Rest`].
///
/// ```
/// use forge::prelude::*;
/// use forge::Over;
/// use forge::axes::{Batch, Head, Seq};
/// let x = Tensor::<(Batch, Head, Seq)>::ones((2, 3, 4));
/// let weight = Tensor::<(Batch, Seq)>::from([[1., 0., 0., 1.], [1., 1., 1., 1.]]);
/// // Written once for (Rest, Seq); `weight` has no `Head`, and is repeated along it.
/// let y: Tensor<(Batch, Head, Seq)> = (&x, &weight).over::<(Seq, Seq)>(|(x, w)| {
///     let share = &w / &w.sum(Seq);
///     &x * &share
/// });
/// assert_eq!(y.get((0, 2, 0)), 0.5);
/// assert_eq!(y.get((1, 2, 0)), 0.25);
/// ```
pub trait Over: Sized {
    /// Runs `f`, written for the axes `Y` of each tensor, over all other axes of the first one, and gives that one's
    /// axes back.
    ///
    /// # Panics
    /// When a shared axis has two sizes, or `f` changes the size of [`Rest`].
    #[track_caller]
    fn over<Y>(self, f: impl FnOnce(Self::Folded) -> FirstBlock<Self, Y>) -> Tensor<Self::Axes, Self::Dtype>
    where
        Self: OverTensors<Y>,
    {
        match self.try_over(f) {
            Ok(y) => y,
            Err(e) => raise(e),
        }
    }

    /// The fallible twin of [`Self::over`].
    ///
    /// # Errors
    /// Where that panics.
    fn try_over<Y>(
        self,
        f: impl FnOnce(Self::Folded) -> FirstBlock<Self, Y>,
    ) -> Result<Tensor<Self::Axes, Self::Dtype>, Error>
    where
        Self: OverTensors<Y>,
    {
        let (x, outer) = self.fold("over")?;
        Ok(wrap(unfold::<Self::Axes, Self::First>("over", f(x).raw(), &outer)?))
    }

    /// [`Self::over`] for a block that gives the axes `Z`: the result has the other axes of the first tensor, then `Z`.
    ///
    /// # Panics
    /// When a shared axis has two sizes, or `f` changes the size of [`Rest`].
    #[track_caller]
    fn over_to<Y, Z: Axes>(
        self,
        f: impl FnOnce(Self::Folded) -> Tensor<Concat<Rest, Z>, Self::Dtype>,
    ) -> Tensor<Concat<Self::Outer, Z>, Self::Dtype>
    where
        Self: OverTensors<Y>,
        Z: NoneIn<Self::Outer> + Distinct + Lacks<Rest>,
    {
        match self.try_over_to::<Y, Z>(f) {
            Ok(y) => y,
            Err(e) => raise(e),
        }
    }

    /// The fallible twin of [`Self::over_to`].
    ///
    /// # Errors
    /// Where that panics.
    fn try_over_to<Y, Z: Axes>(
        self,
        f: impl FnOnce(Self::Folded) -> Tensor<Concat<Rest, Z>, Self::Dtype>,
    ) -> Result<Tensor<Concat<Self::Outer, Z>, Self::Dtype>, Error>
    where
        Self: OverTensors<Y>,
        Z: NoneIn<Self::Outer> + Distinct + Lacks<Rest>,
    {
        let (x, outer) = self.fold("over_to")?;
        Ok(wrap(spread("over_to", f(x).raw(), &outer)?))
    }
}

/// The first tensor as the block sees it.
type FirstBlock<T, Y> = Tensor<Concat<Rest, <T as OverTensors<Y>>::First>, <T as OverTensors<Y>>::Dtype>;

macro_rules! over {
    ($($X:ident $D:ident),+) => {
        impl<$($X: Axes, $D: Dtype),+> Over for ($(&Tensor<$X, $D>),+) {}
    };
}
over!(X0 D0, X1 D1);
over!(X0 D0, X1 D1, X2 D2);
over!(X0 D0, X1 D1, X2 D2, X3 D3);

impl DynTensor {
    /// [`Tensor::over`]: `f` sees the axes `block`, after one axis `Rest` for all others.
    ///
    /// ```
    /// use forge::prelude::*;
    /// let x = DynTensor::from_vec(&["a", "b", "c"], &[2, 3, 4], vec![1.0f32; 24])?;
    /// let y = x.over(&["b"], |x| x.sub(&x.mean("b")?))?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0; 24]);
    /// # Ok::<(), forge::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an axis is missing or named twice, `f` fails, or it gives other axes or another size of `Rest`.
    pub fn over(&self, block: &[&str], f: impl FnOnce(&Self) -> Result<Self, Error>) -> Result<Self, Error> {
        let y = self.over_to(block, block, f)?;
        let order: Vec<&str> = self.axes().iter().map(DynAxis::name).collect();
        y.permute(&order)
    }

    /// [`Tensor::over_to`].
    ///
    /// # Errors
    /// As [`Self::over`], and when an axis of `to` is among those that `f` does not see.
    pub fn over_to(
        &self,
        block: &[&str],
        to: &[&str],
        f: impl FnOnce(&Self) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        Self::over_all(&[(self, block)], to, |x| f(&x[0]))
    }

    /// [`Over::over_to`]: `f` sees each tensor with its block's axes after `Rest`, and gives `Rest` and the axes `to`.
    ///
    /// # Errors
    /// As [`Self::over_to`], and when there is no tensor, another tensor has an axis that the first lacks, or a shared
    /// axis has two sizes.
    pub fn over_all(
        inputs: &[(&Self, &[&str])],
        to: &[&str],
        f: impl FnOnce(&[Self]) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let op = "over";
        let Some((first, block)) = inputs.first() else {
            return Err(Error::argument(op, "there is no tensor to run over"));
        };
        let named = |names: &[&str]| -> Vec<DynAxis> { names.iter().map(|&a| a.into()).collect() };
        let rest_axis = DynAxis::of::<Rest>();
        let block = named(block);
        let block = keys_of(&block);
        let outer_axes: Vec<DynAxis> =
            first.axes().iter().filter(|a| plan::pos(&block, &a.key()) == NONE).cloned().collect();
        let outer: Vec<usize> = outer_axes.iter().map(|a| first.size(a.clone())).collect::<Result<_, _>>()?;
        let rest = keys_of(&outer_axes);
        let mut folded = Vec::with_capacity(inputs.len());
        for (x, block) in inputs {
            let mut axes = vec![rest_axis.clone()];
            let keys = x.keys();
            for name in *block {
                axes.push(x.axes()[x.position(op, &(*name).into())?].clone());
            }
            check_distinct(op, &keys_of(&axes))?;
            let seen = keys_of(&axes[1..]);
            if let Some(k) = keys.iter().find(|k| plan::pos(&seen, k) == NONE && plan::pos(&rest, k) == NONE) {
                let what = format!("axis `{}` is in no block, and not in the rest `{}`", k.name, list_text(&rest));
                return Err(Error::axes(op, what));
            }
            let y = fold_beside(op, x.raw(), &keys, &seen, &rest, &outer)?;
            folded.push(Self::new(y, axes));
        }
        let out = f(&folded)?;
        let mut want = vec![rest_axis];
        want.extend(named(to));
        let names: Vec<&str> = want.iter().map(DynAxis::name).collect();
        let out = out.permute(&names)?;
        let y = spread(op, out.raw(), &outer)?;
        let axes: Vec<DynAxis> = outer_axes.iter().chain(&out.axes()[1..]).cloned().collect();
        check_distinct(op, &keys_of(&axes))?;
        Ok(Self::new(y, axes))
    }
}
