//! Gated activations: a value times a function of its gate.

use crate::dtype::Element;
use crate::layout::Strided;
use crate::math::Real;
use crate::{elementwise, multiversion, team};

/// A gated activation of a value `u` and its gate `g`.
pub trait Gated<T> {
    /// The output.
    fn f(u: T, g: T) -> T;
    /// The slopes in `u` and in `g`.
    fn slopes(u: T, g: T) -> (T, T);
}

macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident |$u:ident, $g:ident| $f:expr, $slopes:expr;)*) => {
        /// Which gated activation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum GateOp {
            $($(#[$doc])* $name,)*
        }
        $(
            struct $name;
            impl<T: Real> Gated<T> for $name {
                #[inline(always)]
                fn f($u: T, $g: T) -> T { $f }
                #[inline(always)]
                fn slopes($u: T, $g: T) -> (T, T) { $slopes }
            }
        )*

        /// `out[i] = op(u[i], g[i])`.
        pub fn forward<T: Real>(op: GateOp, out: &mut [T], u: &[T], g: &[T]) {
            match op { $(GateOp::$name => map::<T, $name>(out, u, g),)* }
        }

        /// `du[i]` and `dg[i]` from the gradient `dy[i]`.
        fn pull<T: Real>(op: GateOp, du: &mut [T], dg: &mut [T], u: &[T], g: &[T], dy: &[T]) {
            match op { $(GateOp::$name => map_back::<T, $name>(du, dg, u, g, dy),)* }
        }
    };
}

multiversion! {
    fn map<T: Real, O: Gated<T>>(out: &mut [T], u: &[T], g: &[T]) {
        for (o, (&u, &g)) in out.iter_mut().zip(u.iter().zip(g)) {
            *o = O::f(u, g);
        }
    }
}
multiversion! {
    fn map_back<T: Real, O: Gated<T>>(du: &mut [T], dg: &mut [T], u: &[T], g: &[T], dy: &[T]) {
        for ((du, dg), (&u, (&g, &dy))) in du.iter_mut().zip(dg).zip(u.iter().zip(g.iter().zip(dy))) {
            let (a, b) = O::slopes(u, g);
            (*du, *dg) = (dy * a, dy * b);
        }
    }
}

gates! {
    /// `u sigmoid(g)`.
    Glu |u, g| u * g.sigmoid(), {
        let s = g.sigmoid();
        (s, u * (s * (T::ONE - s)))
    };
    /// `u silu(g)`.
    Swiglu |u, g| u * g.silu(), {
        let s = g.sigmoid();
        (g.silu(), u * (s * (T::ONE + g * (T::ONE - s))))
    };
    /// `u gelu(g)`, the tanh form.
    Geglu |u, g| u * g.gelu(), {
        // gelu(g) = g s with s = sigmoid(2 a (g + b g^3)), whose slope is 2 a (1 + 3 b g^2) s (1 - s).
        let (a, b) = (T::from_f64(2.0 * 0.797_884_560_8), T::from_f64(0.044_715));
        let z = g * g;
        let s = (a * (g * (T::ONE + b * z))).sigmoid();
        let inner = a * (T::ONE + T::from_f64(3.0) * b * z);
        // Where s is 0 or 1 its slope is 0, also where `inner` has overflowed.
        let bend = s * (T::ONE - s);
        let bend = if bend == T::ZERO { T::ZERO } else { g * inner * bend };
        (g.gelu(), u * (s + bend))
    };
    /// `25 tanh(u / 25) 4 tanh(g / 4) sigmoid(g)`.
    Situ |u, g| {
        let (k, c) = (T::from_f64(25.0), T::from_f64(4.0));
        (k * (u / k).tanh()) * ((c * (g / c).tanh()) * g.sigmoid())
    }, {
        let (k, c) = (T::from_f64(25.0), T::from_f64(4.0));
        let (t, h, s) = ((u / k).tanh(), (g / c).tanh(), g.sigmoid());
        let gate = c * h * s;
        ((T::ONE - t * t) * gate, k * t * ((T::ONE - h * h) * s + c * h * (s * (T::ONE - s))))
    };
}

/// Elements of one task of the team.
const TASK: usize = 32 * 1024;

/// Both gradients in one pass over operands of one shape and any layout.
pub fn backward<T: Real + Element>(
    op: GateOp,
    du: &mut [T],
    dg: &mut [T],
    u: &Strided<T>,
    g: &Strided<T>,
    dy: &Strided<T>,
) {
    const BLOCK: usize = elementwise::BLOCK;
    assert!(u.len() == du.len() && g.len() == du.len() && dy.len() == du.len() && dg.len() == du.len());
    team::for_each_chunk2(du, TASK, dg, TASK, |t, du, dg| {
        let (mut su, mut sg, mut sy) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        for (i, (du, dg)) in du.chunks_mut(BLOCK).zip(dg.chunks_mut(BLOCK)).enumerate() {
            let (at, n) = (t * TASK + i * BLOCK, du.len());
            pull(op, du, dg, u.block(at, n, &mut su), g.block(at, n, &mut sg), dy.block(at, n, &mut sy));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_agree_with_differences() {
        for op in [GateOp::Glu, GateOp::Swiglu, GateOp::Geglu, GateOp::Situ] {
            for (u, g) in [(0.7f64, -1.3), (-2.0, 0.4), (3.0, 2.5), (0.0, 0.0)] {
                let f = |u: f64, g: f64| {
                    let mut o = [0.0];
                    forward(op, &mut o, &[u], &[g]);
                    o[0]
                };
                let h = 1e-5;
                let want = [(f(u + h, g) - f(u - h, g)) / (2.0 * h), (f(u, g + h) - f(u, g - h)) / (2.0 * h)];
                let (mut du, mut dg) = ([0.0], [0.0]);
                pull(op, &mut du, &mut dg, &[u], &[g], &[1.0]);
                assert!((du[0] - want[0]).abs() < 1e-8 && (dg[0] - want[1]).abs() < 1e-8, "{op:?} at {u}, {g}");
            }
        }
    }

    #[test]
    fn far_gates_give_no_nan() {
        for op in [GateOp::Glu, GateOp::Swiglu, GateOp::Geglu, GateOp::Situ] {
            for g in [-1e30f32, 1e30] {
                let (mut du, mut dg) = ([0.0f32], [0.0f32]);
                pull(op, &mut du, &mut dg, &[1.0], &[g], &[1.0]);
                assert!(!du[0].is_nan() && !dg[0].is_nan(), "{op:?} at {g}: {du:?} {dg:?}");
            }
        }
    }
}
