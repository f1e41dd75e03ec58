//! The LSTM architecture.

use super::conv::{Conv, Shape};
use super::{Input, Mid, Options, Output};
use crate::cursor::Cursor;
use crate::profile::{Lstm as Spec, ProfileError};
use forge::axes::{Hidden, In, Time};
use forge::prelude::*;

axes! {
    /// The four gates, in the order of the file: input, forget, cell, output. (Dynamic, so that they can be taken apart.)
    pub(super) Gate,
}

/// A stack of cells and a linear head.
pub(super) struct Lstm {
    cells: Vec<Cell>,
    head: Conv<Mid, Output>,
    fast: bool,
    start: State,
}

/// One layer.
struct Cell {
    from_input: Tensor<(In, Gate, Hidden)>,
    /// `In` is the hidden state of the sample before.
    from_past: Tensor<(In, Gate, Hidden)>,
    bias: Tensor<(Gate, Hidden)>,
}

/// Hidden state and cell state of each layer.
#[derive(Clone)]
pub(super) struct State(Vec<(Tensor<Hidden>, Tensor<Hidden>)>);

impl Lstm {
    pub(super) fn new(spec: &Spec, options: Options) -> Result<Self, ProfileError> {
        let config = &spec.config;
        let hidden = config.hidden_size;
        let mut weights = Cursor::new(&spec.weights);
        let (mut cells, mut start) = (Vec::new(), Vec::new());
        for layer in 0..config.num_layers {
            let inputs = config.layer_inputs(layer);
            let all = Tensor::<(Gate, Hidden, In)>::from_vec(
                (4, hidden, inputs + hidden),
                weights.take(4 * hidden * (inputs + hidden))?.to_vec(),
            );
            let part = |range| all.narrow(In, range).permute::<(In, Gate, Hidden)>().contiguous();
            cells.push(Cell {
                from_input: part(0..inputs),
                from_past: part(inputs..inputs + hidden),
                bias: Tensor::from_vec((4, hidden), weights.take(4 * hidden)?.to_vec()),
            });
            let mut state = || Ok(Tensor::from_vec(hidden, weights.take(hidden)?.to_vec()));
            start.push((state()?, state()?));
        }
        let head = Conv::read(&mut weights, Shape::pointwise(hidden, config.out_channels, 1), true)?;
        weights.done()?;
        Ok(Self { cells, head, fast: options.fast_tanh, start: State(start) })
    }

    /// The state that was trained.
    pub(super) fn state(&self) -> State {
        self.start.clone()
    }

    pub(super) fn run(&self, x: &Tensor<(Time, Input)>, state: &mut State) -> Tensor<(Time, Output)> {
        let mut y: Tensor<(Time, In)> = x.rename(Input, In);
        for (cell, (h, c)) in self.cells.iter().zip(&mut state.0) {
            // What comes from the input is known for the whole block; only the recurrence goes sample by sample.
            let driven = y.dot(&cell.from_input, In) + &cell.bias;
            let mut rows = Vec::with_capacity(driven.size(Time) * h.size(Hidden));
            for t in 0..driven.size(Time) {
                let drive = driven.select(Time, t as isize);
                let gates = drive + h.rename(Hidden, In).dot(&cell.from_past, In);
                (*h, *c) = self.step(&gates, c);
                rows.extend(h.to_vec());
            }
            y = Tensor::from_vec((driven.size(Time), h.size(Hidden)), rows);
        }
        self.head.point(&y.rename(In, Mid))
    }

    /// The next hidden state and cell state.
    fn step(&self, gates: &Tensor<(Gate, Hidden)>, c: &Tensor<Hidden>) -> (Tensor<Hidden>, Tensor<Hidden>) {
        let input_forget = self.sigmoid(&gates.narrow(Gate, 0..2));
        let candidate = self.tanh(&gates.select(Gate, 2));
        let output = self.sigmoid(&gates.select(Gate, 3));
        let c = input_forget.select(Gate, 1) * c + input_forget.select(Gate, 0) * candidate;
        (output * self.tanh(&c), c)
    }

    fn sigmoid<X: Axes>(&self, x: &Tensor<X>) -> Tensor<X> {
        if self.fast { ((x * 0.5).fast_tanh() + 1.0) * 0.5 } else { x.sigmoid() }
    }

    fn tanh<X: Axes>(&self, x: &Tensor<X>) -> Tensor<X> {
        if self.fast { x.fast_tanh() } else { x.tanh() }
    }
}
