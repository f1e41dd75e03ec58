//! Rotary position embedding, and the shift of relative positions.

use super::fused::{self, dense, is_half};
use super::{At, RawTensor, by_dtype, by_float, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::math::Real;
use forge_kernels::rope::{self as kernel, Angles, Pairing};
use forge_kernels::{DType, Layout, elementwise};
use forge_macros::fallible;
use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

/// How rotary position embedding turns: [Su et al. 2021](https://arxiv.org/abs/2104.09864).
///
/// Pair `i` of the `dims` features that turn is turned by the angle `position / theta^(2 i / dims)`, changed by one of
/// the scalings for long contexts. Angles are computed in f64.
///
/// ```
/// use forge::Rope;
/// let rope = Rope::new(64, 10_000.0).yarn(4.0, 4096);
/// let table = rope.table(0..16_384);
/// assert_eq!(table.len(), 16_384);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    dims: usize,
    theta: f64,
    pairing: Pairing,
    factors: Option<Vec<f64>>,
    scaling: Scaling,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scaling {
    None,
    Linear(f64),
    Yarn { factor: f64, original: f64, beta: (f64, f64), magnitude: Option<f64> },
    Llama3 { factor: f64, low: f64, high: f64, original: f64 },
}

impl Rope {
    /// The plain form over `dims` features (an even number; the whole head, or a part of it) with base `theta`, in
    /// halves: feature `i` turns with feature `i + dims / 2`.
    pub fn new(dims: usize, theta: f64) -> Self {
        Self { dims, theta, pairing: Pairing::Half, factors: None, scaling: Scaling::None }
    }

    /// Feature `2 i` turns with feature `2 i + 1`.
    #[must_use]
    pub fn interleaved(self) -> Self {
        Self { pairing: Pairing::Interleaved, ..self }
    }

    /// As [`Self::interleaved`], but it is the last `dims` features that turn.
    #[must_use]
    pub fn interleaved_tail(self) -> Self {
        Self { pairing: Pairing::InterleavedTail, ..self }
    }

    /// Divides the angle of each pair by its own factor (`dims / 2` of them).
    #[must_use]
    pub fn frequency_factors(self, factors: impl IntoIterator<Item = f64>) -> Self {
        Self { factors: Some(factors.into_iter().collect()), ..self }
    }

    /// Divides all positions by `factor`.
    #[must_use]
    pub fn linear(self, factor: f64) -> Self {
        Self { scaling: Scaling::Linear(factor), ..self }
    }

    /// YaRN ([Peng et al. 2023](https://arxiv.org/abs/2309.00071)): pairs that turn fewer than once over the
    /// `original` context are slowed down by `factor`, those that turn more than 32 times are not, with a ramp between;
    /// the turned features grow by `0.1 ln(factor) + 1`. A factor of at most 1 is the plain form.
    #[must_use]
    pub fn yarn(self, factor: f64, original: usize) -> Self {
        let scaling = Scaling::Yarn { factor, original: original as f64, beta: (32.0, 1.0), magnitude: None };
        Self { scaling, ..self }
    }

    /// The bounds of YaRN's ramp, in turns over the original context (32 and 1 by default). Only after [`Self::yarn`].
    #[must_use]
    pub fn yarn_ramp(mut self, fast: f64, slow: f64) -> Self {
        if let Scaling::Yarn { beta, .. } = &mut self.scaling {
            *beta = (fast, slow);
        }
        self
    }

    /// By how much YaRN makes the turned features grow, in place of `0.1 ln(factor) + 1`. Only after [`Self::yarn`].
    #[must_use]
    pub fn yarn_magnitude(mut self, by: f64) -> Self {
        if let Scaling::Yarn { magnitude, .. } = &mut self.scaling {
            *magnitude = Some(by);
        }
        self
    }

    /// The scaling of Llama 3.1: wavelengths above `original / low` are slowed down by `factor`, those below
    /// `original / high` are not, with a ramp between. (Llama 3.1 has 8, 1, 4, 8192.)
    #[must_use]
    pub fn llama3(self, factor: f64, low: f64, high: f64, original: usize) -> Self {
        Self { scaling: Scaling::Llama3 { factor, low, high, original: original as f64 }, ..self }
    }

    /// How many features turn.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The angle of each pair at position 1.
    pub fn frequencies(&self) -> Vec<f64> {
        let d = self.dims as f64;
        (0..self.dims / 2)
            .map(|i| {
                let f = self.theta.powf(-2.0 * i as f64 / d) / self.factors.as_ref().map_or(1.0, |f| f[i]);
                self.scaled(f, i as f64)
            })
            .collect()
    }

    fn scaled(&self, f: f64, i: f64) -> f64 {
        match self.scaling {
            Scaling::None => f,
            Scaling::Linear(factor) => f / factor,
            Scaling::Yarn { factor, original, beta, .. } if factor > 1.0 => {
                // The pair that makes `turns` turns over the original context.
                let d = self.dims as f64;
                let pair = |turns: f64| d * (original / (turns * 2.0 * PI)).ln() / (2.0 * self.theta.ln());
                let (lo, hi) = (pair(beta.0).floor().max(0.0), pair(beta.1).ceil().min(d - 1.0));
                let ramp = ((i - lo) / (hi - lo).max(0.001)).clamp(0.0, 1.0);
                f / factor * ramp + f * (1.0 - ramp)
            }
            Scaling::Yarn { .. } => f,
            Scaling::Llama3 { factor, low, high, original } => {
                let turns = original * f / (2.0 * PI);
                let keep = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                f / factor * (1.0 - keep) + f * keep
            }
        }
    }

    /// By how much the turned features grow.
    pub fn magnitude(&self) -> f64 {
        match self.scaling {
            Scaling::Yarn { factor, magnitude, .. } if factor > 1.0 => magnitude.unwrap_or(0.1 * factor.ln() + 1.0),
            _ => 1.0,
        }
    }

    /// The table for a list of positions, which may be negative.
    ///
    /// # Errors
    /// When `dims` is odd, there are not `dims / 2` frequency factors, or `theta` or a factor is not positive.
    #[fallible]
    pub fn table(&self, positions: impl IntoIterator<Item = i64>) -> RopeTable {
        let bad = |what: String| Err(Error::argument("rope", what));
        if !self.dims.is_multiple_of(2) {
            return bad(format!("features turn in pairs, but there are {}", self.dims));
        }
        if let Some(f) = self.factors.as_ref().filter(|f| f.len() != self.dims / 2) {
            return bad(format!("{} frequency factors for {} pairs", f.len(), self.dims / 2));
        }
        let numbers = self.factors.iter().flatten().chain([&self.theta]);
        let positive = |x: &f64| x.is_finite() && *x > 0.0;
        let scale = match self.scaling {
            Scaling::None => 1.0,
            Scaling::Linear(f) | Scaling::Yarn { factor: f, .. } | Scaling::Llama3 { factor: f, .. } => f,
        };
        if let Some(x) = numbers.chain([&scale]).find(|x| !positive(x)) {
            return bad(format!("theta and all factors must be positive, not {x}"));
        }
        Ok(RopeTable {
            table: Arc::new(Table {
                positions: positions.into_iter().collect(),
                frequencies: self.frequencies(),
                magnitude: self.magnitude(),
                narrow: OnceLock::new(),
                wide: OnceLock::new(),
            }),
            pairing: self.pairing,
            inverse: false,
        })
    }
}

/// The cosines and sines of a [`Rope`] at some positions, computed at their first use. Cheap to clone.
#[derive(Clone)]
pub struct RopeTable {
    table: Arc<Table>,
    pairing: Pairing,
    inverse: bool,
}

struct Table {
    positions: Vec<i64>,
    frequencies: Vec<f64>,
    magnitude: f64,
    narrow: OnceLock<CosSin<f32>>,
    wide: OnceLock<CosSin<f64>>,
}

struct CosSin<T> {
    cos: Vec<T>,
    sin: Vec<T>,
    /// Sines of the angles turned back.
    nis: Vec<T>,
}

impl<T: Real> CosSin<T> {
    fn new(t: &Table) -> Self {
        let n = t.positions.len() * t.frequencies.len();
        let mut s = Self { cos: Vec::with_capacity(n), sin: Vec::with_capacity(n), nis: Vec::with_capacity(n) };
        for &p in &t.positions {
            for f in &t.frequencies {
                let (sin, cos) = (p as f64 * f).sin_cos();
                s.cos.push(T::from_f64(cos * t.magnitude));
                s.sin.push(T::from_f64(sin * t.magnitude));
                s.nis.push(T::from_f64(-sin * t.magnitude));
            }
        }
        s
    }
}

/// Element types that a table comes in.
trait Tabled: Real {
    fn of(t: &Table) -> &CosSin<Self>;
}
impl Tabled for f32 {
    fn of(t: &Table) -> &CosSin<Self> {
        t.narrow.get_or_init(|| CosSin::new(t))
    }
}
impl Tabled for f64 {
    fn of(t: &Table) -> &CosSin<Self> {
        t.wide.get_or_init(|| CosSin::new(t))
    }
}

impl RopeTable {
    /// Number of positions.
    pub fn len(&self) -> usize {
        self.table.positions.len()
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.table.positions.is_empty()
    }

    /// Number of features that turn.
    pub fn dims(&self) -> usize {
        2 * self.table.frequencies.len()
    }

    /// The table that turns the other way.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { inverse: !self.inverse, ..self.clone() }
    }

    fn angles<T: Tabled>(&self) -> Angles<'_, T> {
        let t = T::of(&self.table);
        let sin = if self.inverse { &t.nis } else { &t.sin };
        Angles { cos: &t.cos, sin, pairs: self.table.frequencies.len() }
    }
}

impl std::fmt::Debug for RopeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RopeTable({} positions, {} features, {:?})", self.len(), self.dims(), self.pairing)
    }
}

/// Turns the features along `feature` by the angles of the position along `position`.
pub fn rope(x: &RawTensor, position: At, feature: At, table: &RopeTable) -> Result<RawTensor> {
    const OP: &str = "rope";
    let (n, d) = (x.shape()[position.axis], x.shape()[feature.axis]);
    if position.axis == feature.axis {
        return Err(Error::argument(OP, format!("axis `{}` is both position and feature", feature.name())));
    }
    if table.len() != n {
        let what = format!("the table has {} positions, but axis `{}` has size {n}", table.len(), position.name());
        return Err(Error::argument(OP, what));
    }
    if table.dims() > d {
        let what = format!("{} features are to turn, but axis `{}` has size {d}", table.dims(), feature.name());
        return Err(Error::argument(OP, what));
    }
    turn(x, position.axis, feature.axis, table)
}

/// [`rope`] of checked sizes.
fn turn(x: &RawTensor, position: usize, feature: usize, table: &RopeTable) -> Result<RawTensor> {
    if is_half(x) {
        return cast::to(&turn(&cast::to(x, DType::F32)?, position, feature, table)?, x.dtype());
    }
    let rank = x.rank();
    let (order, back) = fused::last(rank, feature);
    let out = by_float!("rope", x.dtype(), T => {
        let rows = dense(&shape::permute(&x.detach(), &order[..rank]));
        let at = fused::lane_axis(x.shape(), feature, position);
        RawTensor::build(rows.shape(), |out: &mut [T]| {
            let x = rows.as_slice().expect("made dense");
            kernel::rope(out, x, rows.shape()[rank - 1], at, table.pairing, table.angles::<T>());
        })
    });
    let out = shape::permute(&out, &back[..rank]);
    if !tracks(&[x]) {
        return Ok(out);
    }
    // The transpose of a turn is the turn back, with the same growth.
    let undo = table.inverse();
    Ok(record(out, [x], move |p| Ok([Some(turn(p.grad, position, feature, &undo)?)])))
}

/// `out[.., q, j] = x[.., q, j + (Q - 1) - q]` for `j` below `keys`: scores by relative position become scores by key
/// (the skew of Transformer-XL, [Dai et al. 2019](https://arxiv.org/abs/1901.02860)). A view.
pub fn relpos_shift(x: &RawTensor, query: At, relative: At, keys: usize) -> Result<RawTensor> {
    const OP: &str = "relpos_shift";
    let (q, p) = (x.shape()[query.axis], x.shape()[relative.axis]);
    if query.axis == relative.axis {
        return Err(Error::argument(OP, format!("axis `{}` is both query and relative position", query.name())));
    }
    // Without queries or keys nothing is read.
    if q > 0 && keys > 0 && p < keys.saturating_add(q - 1) {
        let what = format!(
            "{q} queries and {keys} keys need {} relative positions, but axis `{}` has {p}",
            keys.saturating_add(q - 1),
            relative.name()
        );
        return Err(Error::argument(OP, what));
    }
    Ok(skew(x, query.axis, relative.axis, keys))
}

fn skewed(l: &Layout, offset: usize, query: usize, relative: usize, keys: usize) -> (Layout, usize) {
    let (sq, sr) = (l.strides()[query], l.strides()[relative]);
    let q = l.shape()[query];
    let out = l.resized(relative, keys, sr).resized(query, q, sq - sr);
    let first = if out.is_empty() { 0 } else { (q as isize - 1) * sr };
    (out, offset.wrapping_add_signed(first))
}

fn skew(x: &RawTensor, query: usize, relative: usize, keys: usize) -> RawTensor {
    let (l, o) = skewed(&x.layout, x.offset, query, relative, keys);
    let out = x.view(l, o);
    if !tracks(&[x]) {
        return out;
    }
    let places = x.shape()[relative];
    record(out, [x], move |p| Ok([Some(unskew(p.grad, query, relative, places))]))
}

/// The adjoint of [`skew`]: `g` written into zeros with `places` relative positions.
fn unskew(g: &RawTensor, query: usize, relative: usize, places: usize) -> RawTensor {
    let keys = g.shape()[relative];
    let mut full = g.shape().to_vec();
    full[relative] = places;
    let (l, o) = skewed(&Layout::contiguous(&full), 0, query, relative, keys);
    let out = by_dtype!(g.dtype(), T => {
        let v = g.strided::<T>();
        RawTensor::build(&full, |out: &mut [T]| {
            out.fill(T::default());
            elementwise::place(out, o, &l, &v);
        })
    });
    if !tracks(&[g]) {
        return out;
    }
    record(out, [g], move |p| Ok([Some(skew(p.grad, query, relative, keys))]))
}
