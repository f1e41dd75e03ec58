//! Causal convolutions over a stream.

use crate::cursor::Cursor;
use crate::profile::ProfileError;
use forge::Dyn;
use forge::axes::Time;
use forge::prelude::*;

/// An axis whose size is known when the program runs: all of them here.
pub(super) trait Free: Axis<Size = Dyn> {}
impl<A: Axis<Size = Dyn>> Free for A {}

/// Rows of the channels `A`, one for each sample: what any operation here needs to know of `(Time, A)`.
pub(super) trait Frames<A: Axis>: Distinct + Has<A> + Has<Time> {}
impl<A: Free> Frames<A> for (Time, A) where (Time, A): Distinct + Has<A> + Has<Time> {}

/// The last rows that went into a convolution, as far back as its first tap reaches.
#[derive(Clone)]
pub(super) struct History<I: Free> {
    rows: Tensor<(Time, I)>,
}

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) taps: usize,
    pub(super) dilation: usize,
    pub(super) groups: usize,
}

impl Shape {
    /// One tap: each sample by itself.
    pub(super) fn pointwise(from: usize, to: usize, groups: usize) -> Self {
        Self { from, to, taps: 1, dilation: 1, groups }
    }
}

/// A causal convolution from the channels `I` to the channels `O`: the last tap is the newest sample.
pub(super) struct Conv<I: Free, O: Free> {
    /// The matrix of each tap, oldest first.
    taps: Vec<Tensor<(I, O)>>,
    bias: Option<Tensor<O>>,
    shape: Shape,
}

impl<I: Free, O: Free> Conv<I, O>
where
    (Time, I): Frames<I>,
    (Time, O): Frames<O>,
    (I, O): Distinct,
{
    /// Reads (group, output of the group, input of the group, tap), then the biases if there are some.
    pub(super) fn read(weights: &mut Cursor<'_>, shape: Shape, bias: bool) -> Result<Self, ProfileError> {
        let rows = weights.take(shape.to * (shape.from / shape.groups) * shape.taps)?;
        let bias = if bias { Some(weights.take(shape.to)?) } else { None };
        Ok(Self::new(rows, bias, shape))
    }

    /// From weights in the file's order.
    pub(super) fn new(weights: &[f32], bias: Option<&[f32]>, shape: Shape) -> Self {
        let Shape { from, to, taps, groups, .. } = shape;
        let (per_in, per_out) = (from / groups, to / groups);
        let matrix = |tap: usize| {
            let mut dense = vec![0.0; from * to];
            for o in 0..to {
                for i in 0..per_in {
                    dense[((o / per_out) * per_in + i) * to + o] = weights[(o * per_in + i) * taps + tap];
                }
            }
            Tensor::from_vec((from, to), dense)
        };
        Self { taps: (0..taps).map(matrix).collect(), bias: bias.map(|b| Tensor::from_vec(to, b.to_vec())), shape }
    }

    /// A past of silence.
    pub(super) fn history(&self) -> History<I> {
        History { rows: Tensor::zeros((self.shape.dilation * (self.shape.taps - 1), self.shape.from)) }
    }

    /// The convolution of a block, each output from the samples up to its own. Every output is the sum over the taps,
    /// oldest first, of sums over the channels, whatever the length of the block: cutting a signal does not change a bit.
    pub(super) fn run(&self, x: &Tensor<(Time, I)>, past: &mut History<I>) -> Tensor<(Time, O)> {
        if self.taps.len() == 1 {
            return self.point(x);
        }
        let n = x.size(Time);
        let rows = join(&past.rows, x);
        let step = self.shape.dilation;
        let mut sum: Option<Tensor<(Time, O)>> = None;
        for (tap, w) in self.taps.iter().enumerate() {
            let seen = rows.narrow(Time, tap * step..tap * step + n);
            let part = einsum!(seen[Time, I], w[I, O] -> [Time, O]);
            sum = Some(match sum {
                Some(sum) => sum + part,
                None => part,
            });
        }
        past.rows = rows.narrow(Time, n..rows.size(Time));
        self.with_bias(sum.expect("a convolution has at least one tap"))
    }

    /// A convolution of one tap, which has no past.
    pub(super) fn point(&self, x: &Tensor<(Time, I)>) -> Tensor<(Time, O)> {
        debug_assert_eq!(self.taps.len(), 1, "more taps than one need a past");
        let w = &self.taps[0];
        self.with_bias(einsum!(x[Time, I], w[I, O] -> [Time, O]))
    }

    fn with_bias(&self, y: Tensor<(Time, O)>) -> Tensor<(Time, O)> {
        match &self.bias {
            Some(b) => y + b,
            None => y,
        }
    }
}

/// The rows of `past`, then those of `x`.
fn join<I: Free>(past: &Tensor<(Time, I)>, x: &Tensor<(Time, I)>) -> Tensor<(Time, I)>
where
    (Time, I): Frames<I>,
{
    let mut rows = Vec::with_capacity(past.len() + x.len());
    for part in [past, x] {
        match part.as_slice() {
            Some(part) => rows.extend_from_slice(part),
            None => rows.extend(part.to_vec()),
        }
    }
    Tensor::from_vec((past.size(Time) + x.size(Time), x.shape()[1]), rows)
}
