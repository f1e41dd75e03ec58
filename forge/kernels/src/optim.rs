//! Optimizer steps: each one pass over a parameter, its gradient and its state.
//!
//! The coefficients arrive rounded to the element type; element `i` of the results depends on element `i` of the
//! operands alone, and no fused multiply-add is asked for, so the bits are those of any thread count and instruction set.

use crate::math::Real;
use crate::{multiversion, team};

/// Elements of one task of the team.
const TASK: usize = 16 * 1024;

/// Coefficients of a step of stochastic gradient descent with momentum.
#[derive(Clone, Copy, Debug)]
pub struct SgdStep<T> {
    /// Learning rate.
    pub lr: T,
    /// How much of the last step's buffer stays.
    pub momentum: T,
    /// How much of the gradient enters the buffer: `1 - dampening`.
    pub fresh: T,
    /// Weight decay, added to the gradient as `decay * p`; 0 for none.
    pub decay: T,
    /// Look ahead: step along `g + momentum * buffer` instead of the buffer.
    pub nesterov: bool,
    /// The buffer starts as the gradient; what it holds is ignored.
    pub first: bool,
}

/// Coefficients of a step of Adam or AdamW.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep<T> {
    /// Factor of the parameter before anything else: `1 - lr * decay` (AdamW), or 1.
    pub shrink: T,
    /// Weight decay added to the gradient (Adam); 0 for none.
    pub decay: T,
    /// `1 - beta1`.
    pub w1: T,
    /// `beta2`.
    pub beta2: T,
    /// `1 - beta2`.
    pub w2: T,
    /// `lr / (1 - beta1^t)`.
    pub step: T,
    /// `sqrt(1 - beta2^t)`.
    pub root: T,
    /// Added to the denominator.
    pub eps: T,
}

#[inline(always)]
fn sgd_plain<T: Real>(p: &mut [T], g: &[T], lr: T, decay: T) {
    let decays = decay != T::ZERO;
    for (p, &g) in p.iter_mut().zip(g) {
        let g = if decays { g + decay * *p } else { g };
        *p -= lr * g;
    }
}

#[inline(always)]
fn momentum_plain<T: Real>(p: &mut [T], buf: &mut [T], g: &[T], c: SgdStep<T>) {
    let decays = c.decay != T::ZERO;
    for ((p, b), &g) in p.iter_mut().zip(buf).zip(g) {
        let g = if decays { g + c.decay * *p } else { g };
        *b = if c.first { g } else { c.momentum * *b + c.fresh * g };
        let d = if c.nesterov { g + c.momentum * *b } else { *b };
        *p -= c.lr * d;
    }
}

#[inline(always)]
fn adam_plain<T: Real>(p: &mut [T], m: &mut [T], v: &mut [T], g: &[T], c: AdamStep<T>) {
    let decays = c.decay != T::ZERO;
    // The mean moves by `w1 (g - m)`, measured from the nearer end: exact at w1 = 1.
    let near = c.w1 < T::from_f64(0.5);
    let w = if near { c.w1 } else { c.w1 - T::ONE };
    for (((p, m), v), &g) in p.iter_mut().zip(m).zip(v).zip(g) {
        let x = *p * c.shrink;
        let g = if decays { g + c.decay * x } else { g };
        let from = if near { *m } else { g };
        let mean = from + w * (g - *m);
        let square = c.beta2 * *v + c.w2 * g * g;
        *m = mean;
        *v = square;
        *p = x - c.step * mean / (square.sqrt() / c.root + c.eps);
    }
}

multiversion! {
    fn sgd_f32(p: &mut [f32], g: &[f32], lr: f32, decay: f32) {
        sgd_plain(p, g, lr, decay);
    }
}
multiversion! {
    fn momentum_f32(p: &mut [f32], buf: &mut [f32], g: &[f32], c: SgdStep<f32>) {
        momentum_plain(p, buf, g, c);
    }
}
multiversion! {
    fn adam_f32(p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], c: AdamStep<f32>) {
        adam_plain(p, m, v, g, c);
    }
}

/// Partial sums of a sum of squares.
const LANES: usize = 16;

#[inline(always)]
fn squares_plain<T: Real>(x: &[T]) -> f64 {
    let mut acc = [0.0f64; LANES];
    let mut blocks = x.chunks_exact(LANES);
    for b in &mut blocks {
        for (a, &x) in acc.iter_mut().zip(b) {
            let x = x.to_f64();
            *a += x * x;
        }
    }
    for (a, &x) in acc.iter_mut().zip(blocks.remainder()) {
        let x = x.to_f64();
        *a += x * x;
    }
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            acc[i] += acc[i + n];
        }
    }
    acc[0]
}

multiversion! {
    fn squares_f32(x: &[f32]) -> f64 {
        squares_plain(x)
    }
}

/// The steps over dense slices of equal length, compiled here once for each type.
pub trait OptimKernels: Real {
    /// `p -= lr (g + decay p)`.
    ///
    /// # Panics
    /// When the lengths differ.
    fn sgd(p: &mut [Self], g: &[Self], lr: Self, decay: Self);
    /// [`Self::sgd`] with a momentum buffer.
    ///
    /// # Panics
    /// When the lengths differ.
    fn momentum(p: &mut [Self], buf: &mut [Self], g: &[Self], c: SgdStep<Self>);
    /// A step of Adam ([Kingma and Ba 2014](https://arxiv.org/abs/1412.6980)) or AdamW
    /// ([Loshchilov and Hutter 2017](https://arxiv.org/abs/1711.05101)) in the form of torch:
    /// `p -= step m / (sqrt(v) / root + eps)`.
    ///
    /// # Panics
    /// When the lengths differ.
    fn adam(p: &mut [Self], m: &mut [Self], v: &mut [Self], g: &[Self], c: AdamStep<Self>);
    /// Sum of the squares in f64, in one fixed order.
    fn sum_squares(x: &[Self]) -> f64;
}

macro_rules! kernels {
    ($t:ty: $sgd:ident $momentum:ident $adam:ident $squares:ident) => {
        impl OptimKernels for $t {
            fn sgd(p: &mut [Self], g: &[Self], lr: Self, decay: Self) {
                assert_eq!(p.len(), g.len());
                team::for_each_chunk(p, TASK, |i, p| {
                    let at = i * TASK;
                    $sgd(p, &g[at..at + p.len()], lr, decay);
                });
            }
            fn momentum(p: &mut [Self], buf: &mut [Self], g: &[Self], c: SgdStep<Self>) {
                assert!(p.len() == g.len() && p.len() == buf.len());
                team::for_each_chunk2(p, TASK, buf, TASK, |i, p, b| {
                    let at = i * TASK;
                    $momentum(p, b, &g[at..at + p.len()], c);
                });
            }
            fn adam(p: &mut [Self], m: &mut [Self], v: &mut [Self], g: &[Self], c: AdamStep<Self>) {
                assert!(p.len() == g.len() && p.len() == m.len() && p.len() == v.len());
                team::for_each_chunk3(p, TASK, m, TASK, v, TASK, |i, p, m, v| {
                    let at = i * TASK;
                    $adam(p, m, v, &g[at..at + p.len()], c);
                });
            }
            fn sum_squares(x: &[Self]) -> f64 {
                if x.len() <= TASK {
                    return $squares(x);
                }
                let mut parts = vec![0.0; x.len().div_ceil(TASK)];
                team::for_each_chunk(&mut parts, 1, |i, part| {
                    part[0] = $squares(&x[i * TASK..((i + 1) * TASK).min(x.len())]);
                });
                parts.iter().sum()
            }
        }
    };
}
kernels!(f32: sgd_f32 momentum_f32 adam_f32 squares_f32);
// f64 is for checking gradients: plain loops.
kernels!(f64: sgd_plain momentum_plain adam_plain squares_plain);
