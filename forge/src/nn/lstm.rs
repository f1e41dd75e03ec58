//! [`Lstm`]: a recurrent layer with a cell that remembers.

use super::Module;
use super::debug::debug_layer;
use super::param::Param;
use super::project::project;
use crate::axes::{Gate, Recurrent};
use crate::dtype::{Differentiable, Dtype, Element};
use crate::error::Result;
use crate::raw::{At, Names, RawTensor, arith, assemble, contract, shape, unary};
use crate::rng::Key;
use crate::tensor::{Tensor, at, names, sizes, wrap};
use forge_axes::plan::ContractPlan;
use forge_axes::{Axes, Axis, Concat, Distinct, Has, Lacks, Minus, NoneIn, OverTo, Replace, SizeArg};
use forge_kernels::arith::BinaryOp;
use forge_kernels::unary::UnaryOp;
use forge_macros::fallible;

/// A long short-term memory ([Hochreiter and Schmidhuber 1997](https://doi.org/10.1162/neco.1997.9.8.1735), with the
/// forget gate of [Gers et al. 2000](https://doi.org/10.1162/089976600300015015)):
///
/// ```text
/// i = sigmoid(Wi x + Ui h + bi)    f = sigmoid(Wf x + Uf h + bf)
/// g = tanh   (Wg x + Ug h + bg)    o = sigmoid(Wo x + Uo h + bo)
/// c' = f c + i g                   h' = o tanh(c')
/// ```
///
/// [`Self::forward`] takes a whole sequence, [`Self::step`] one position; the state goes in and out as a value. Both give
/// the same bits. The four gates lie along the axis [`Gate`] in torch's order i, f, g, o: torch's `weight_ih` and
/// `weight_hh` are these weights with their first two axes joined, and [`Self::bias`] is the sum of its two biases.
///
/// ```
/// use forge::axes::{Batch, Hidden, In, Time};
/// use forge::nn::{Lstm, LstmState};
/// use forge::prelude::*;
/// use forge::rng::Key;
/// let lstm = Lstm::<In, Hidden>::new((3, 5), Key::new(0));
/// let x = Tensor::<(Batch, Time, In)>::from_fn((2, 4, 3), |i| (i as f32).sin());
/// let y: Tensor<(Batch, Time, Hidden)> = lstm.forward(&x, Time);
///
/// // Position by position.
/// let mut state = LstmState::<(Batch, Hidden)>::zeros((2, 5));
/// for t in 0..4 {
///     state = lstm.step(&x.select(Time, t), &state);
/// }
/// assert_eq!(state.h.to_vec(), y.select(Time, 3).to_vec());
/// ```
#[derive(Clone, Module)]
pub struct Lstm<I: Axis, H: Axis, D: Differentiable = f32> {
    /// Multiplies the input.
    pub weight_ih: Param<(Gate, H, I), D>,
    /// Multiplies what the step before gave.
    pub weight_hh: Param<(Gate, H, Recurrent), D>,
    /// Added to each gate.
    pub bias: Param<(Gate, H), D>,
}

debug_layer!(Lstm<I: Axis, H: Axis, D: Differentiable>);

/// What an [`Lstm`] knows of the past. For an input with the axes `X`, its axes are the others of `X`, then `H`.
pub struct LstmState<X: Axes, D: Dtype = f32> {
    /// The output of the last step.
    pub h: Tensor<X, D>,
    /// The cell.
    pub c: Tensor<X, D>,
}

impl<X: Axes, D: Dtype> Clone for LstmState<X, D> {
    fn clone(&self) -> Self {
        Self { h: self.h.clone(), c: self.c.clone() }
    }
}

impl<X: Axes, D: Element> std::fmt::Debug for LstmState<X, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LstmState").field("h", &self.h).field("c", &self.c).finish()
    }
}

impl<X: Axes, D: Element> LstmState<X, D> {
    /// No past: zeros.
    pub fn zeros(dims: X::Dims) -> Self
    where
        X: Distinct,
    {
        Self { h: Tensor::zeros(dims), c: Tensor::zeros(dims) }
    }
}

impl<X: Axes, D: Dtype> LstmState<X, D> {
    /// The same values, cut off from the graph: for training on one piece of a long sequence after the other.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self { h: self.h.detach(), c: self.c.detach() }
    }
}

/// Axes of the four gates of a state with the axes `S`.
type Gates<S> = Concat<Gate, S>;
/// Axes of the gates of a whole sequence along `T`.
type Sequence<S, T> = Concat<(T, Gate), S>;

/// The untyped state.
struct State {
    h: RawTensor,
    c: RawTensor,
}

impl State {
    fn typed<S: Axes, D: Dtype>(self) -> LstmState<S, D> {
        LstmState { h: wrap(self.h), c: wrap(self.c) }
    }
}

impl<I: Axis, H: Axis, D: Differentiable> Lstm<I, H, D>
where
    (Gate, H, I): Distinct,
    (Gate, H, Recurrent): Distinct,
    (Gate, H): Distinct,
{
    /// A layer of the sizes `(of I, of H)`.
    ///
    /// All starts uniform with magnitude below `sqrt(1 / size of H)`, as torch's `LSTM`; the numbers come from
    /// `key.derive("weight_ih")`, `key.derive("weight_hh")` and `key.derive("bias")`.
    pub fn new(dims: (SizeArg<I>, SizeArg<H>), key: Key) -> Self {
        let hidden = sizes::<H>(dims.1).0[0];
        let bound = (hidden.max(1) as f64).sqrt().recip();
        Self {
            weight_ih: Param::new(Tensor::uniform((Gate, dims.1, dims.0), -bound, bound, key.derive("weight_ih"))),
            weight_hh: Param::new(Tensor::uniform((Gate, dims.1, hidden), -bound, bound, key.derive("weight_hh"))),
            bias: Param::new(Tensor::uniform((Gate, dims.1), -bound, bound, key.derive("bias"))),
        }
    }
}

impl<I: Axis, H: Axis, D: Differentiable> Lstm<I, H, D> {
    /// One position: what the layer gives for `x` is the `h` of the new state.
    ///
    /// # Errors
    /// When `x` or the state has another size than the layer or than each other.
    #[fallible]
    pub fn step<X: Axes + Has<I>>(
        &self,
        x: &Tensor<X, D>,
        state: &LstmState<OverTo<X, I, H>, D>,
    ) -> LstmState<OverTo<X, I, H>, D>
    where
        Minus<X, I>: Lacks<H> + Lacks<Gate> + Lacks<Recurrent>,
    {
        let gates: Tensor<Gates<OverTo<X, I, H>>, D> = project(x, &self.weight_ih, Some(&self.bias), "lstm")?;
        let state = State { h: state.h.raw().clone(), c: state.c.raw().clone() };
        Ok(self.cell::<OverTo<X, I, H>>(gates.raw(), &state)?.typed())
    }

    /// The whole sequence along `time`, from no past. The result has the other axes of `x`, then `T` and `H`.
    ///
    /// # Errors
    /// When `x`'s axis `I` has another size than the layer's.
    #[fallible]
    pub fn forward<X: Axes + Has<I> + Has<T>, T: Axis>(
        &self,
        x: &Tensor<X, D>,
        time: T,
    ) -> Tensor<OverTo<X, (T, I), (T, H)>, D>
    where
        (T, H): NoneIn<Minus<X, (T, I)>>,
        Minus<X, (T, I)>: Lacks<Gate> + Lacks<Recurrent>,
    {
        let _ = time;
        let map = const { &forge_axes::plan::map(<Minus<X, (T, I)> as Axes>::KEYS, X::KEYS) };
        let mut dims: Vec<usize> = map[..X::RANK - 2].iter().map(|&p| x.shape()[usize::from(p)]).collect();
        dims.push(self.bias.shape()[1]);
        let zeros = || RawTensor::full(&dims, D::default());
        Ok(wrap(self.sequence::<X, T>(x, State { h: zeros(), c: zeros() })?.0))
    }

    /// [`Self::forward`] from `state`, with the state after the last position: a long sequence may be fed in pieces.
    ///
    /// # Errors
    /// When `x` or the state has another size than the layer or than each other.
    #[fallible]
    pub fn forward_from<X: Axes + Has<I> + Has<T>, T: Axis>(
        &self,
        x: &Tensor<X, D>,
        time: T,
        state: &LstmState<OverTo<X, (T, I), H>, D>,
    ) -> (Tensor<OverTo<X, (T, I), (T, H)>, D>, LstmState<OverTo<X, (T, I), H>, D>)
    where
        (T, H): NoneIn<Minus<X, (T, I)>>,
        Minus<X, (T, I)>: Lacks<Gate> + Lacks<Recurrent>,
    {
        let _ = time;
        let (y, state) = self.sequence::<X, T>(x, State { h: state.h.raw().clone(), c: state.c.raw().clone() })?;
        Ok((wrap(y), state.typed()))
    }

    fn sequence<X: Axes + Has<T>, T: Axis>(&self, x: &Tensor<X, D>, mut state: State) -> Result<(RawTensor, State)> {
        // The part of the gates that does not wait for the past is one product for the whole sequence.
        let gates: Tensor<Sequence<OverTo<X, (T, I), H>, T>, D> =
            project(x, &self.weight_ih, Some(&self.bias), "lstm")?;
        let mut outputs = Vec::with_capacity(gates.shape()[0]);
        for gates in assemble::unbind(gates.raw(), At { axis: 0, keys: &[T::KEY] })? {
            state = self.cell::<OverTo<X, (T, I), H>>(&gates, &state)?;
            outputs.push(state.h.clone());
        }
        let last = state.h.rank() - 1;
        if outputs.is_empty() {
            let mut empty = state.h.shape().to_vec();
            empty.insert(last, 0);
            return Ok((RawTensor::full(&empty, D::default()), state));
        }
        let y = assemble::stack(&outputs.iter().collect::<Vec<_>>(), <OverTo<X, (T, I), H> as Axes>::KEYS)?;
        // Time goes before `H`.
        let order: Vec<u8> = (1..=last).chain([0, last + 1]).map(|a| a as u8).collect();
        Ok((shape::permute(&y, &order), state))
    }

    /// The state after the one in which the input gives `gates`.
    fn cell<S: Axes>(&self, gates: &RawTensor, state: &State) -> Result<State> {
        // `h` under the name `Recurrent`.
        let plan = const {
            &ContractPlan::new(
                <Replace<S, H, Recurrent> as Axes>::KEYS,
                <(Gate, H, Recurrent) as Axes>::KEYS,
                <Gates<S> as Axes>::KEYS,
            )
        };
        let names_h = names::<Replace<S, H, Recurrent>, (Gate, H, Recurrent)>();
        let past = contract::contract(&state.h, self.weight_hh.raw(), plan, names_h, "lstm")?;
        let both = names::<Gates<S>, Gates<S>>();
        equal(both, gates, &past)?;
        equal(names::<S, S>(), &state.h, &state.c)?;
        let gates = arith::same(BinaryOp::Add, gates, &past)?;
        let gate = |i, op| unary::unary_owned(op, shape::select(&gates, at::<Gates<S>, Gate>(), i)?, 0.0, "lstm");
        let (i, f) = (gate(0, UnaryOp::Sigmoid)?, gate(1, UnaryOp::Sigmoid)?);
        let (g, o) = (gate(2, UnaryOp::Tanh)?, gate(3, UnaryOp::Sigmoid)?);
        let kept = arith::same(BinaryOp::Mul, &f, &state.c)?;
        let c = arith::same(BinaryOp::Add, &kept, &arith::same(BinaryOp::Mul, &i, &g)?)?;
        let h = arith::same(BinaryOp::Mul, &o, &unary::unary(UnaryOp::Tanh, &c, 0.0, "lstm")?)?;
        Ok(State { h, c })
    }
}

/// The error when two tensors of the same axes differ in a size.
fn equal(names: Names, l: &RawTensor, r: &RawTensor) -> Result<()> {
    match (0..l.rank()).find(|&a| l.shape()[a] != r.shape()[a]) {
        Some(a) => Err(names.mismatch("lstm", (l, a), (r, a))),
        None => Ok(()),
    }
}
