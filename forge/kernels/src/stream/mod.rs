//! Streaming kernels: one-dimensional networks that run block by block, in a callback that may not wait.
//!
//! Everything lives in one preallocated slice, the *arena*: [`Rows`] of a signal (one row a channel, frames next to each
//! other) and [`Ring`]s, whose rows keep the past of a convolution so that every tap reads frames that lie side by side.
//! Time runs along the SIMD lanes, so a network of three channels fills them as well as one of sixteen. No kernel here
//! allocates, locks, or asks the system for anything.
//!
//! A call handles at most [`CHUNK`] frames. It works on whole packs of [`PACK`] lanes, so it may read and write up to
//! `PACK - 1` frames past the last (every row has room for them); a lane never looks at another, and every output is one
//! sum in one order. So the bits of the output do not depend on how a signal is cut into calls.
//!
//! ```
//! use forge_kernels::stream::{CHUNK, Conv, ConvShape, Layout, Rows};
//!
//! // y[t] = x[t] - x[t - 1], from one channel to one.
//! let mut layout = Layout::new();
//! let (past, y) = (layout.ring(1, 1), layout.rows(1));
//! let shape = ConvShape { ins: 1, outs: 1, taps: 2, dilation: 1, groups: 1 };
//! let conv = Conv::new(shape, &[-1.0, 1.0], None, None);
//! let mut arena = layout.arena();
//! let mut at = 0;
//! let mut out = Vec::new();
//! for block in [&[1.0, 3.0][..], &[6.0, 10.0, 15.0]] {
//!     let (write, read) = (past.rows(at), past.window(at));
//!     arena[write.at..][..block.len()].copy_from_slice(block);
//!     past.seal(&mut arena, at, block.len());
//!     conv.run(&mut arena, read, None, None, y, block.len());
//!     at = past.advance(at, block.len());
//!     out.extend_from_slice(&arena[y.at..][..block.len()]);
//! }
//! assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 5.0]);
//! ```

mod activation;
mod conv;
mod film;
mod flush;
mod lstm;
mod memory;
mod pack;

pub use activation::{Activation, Gate, HeadSum, activate};
pub use conv::{Conv, ConvShape};
pub use film::Film;
pub use flush::flushing;
pub use lstm::Lstm;
pub use memory::{Arena, Layout, Ring, Rows, Window};
pub use pack::{fast_tanh, sigmoid, silu, tanh};

/// Frames of one call at most.
pub const CHUNK: usize = 64;
/// Lanes of one pack.
pub const PACK: usize = 8;

/// Compiles a body over [`pack::Pack`] for each instruction set and calls the one in use. The body must be
/// `#[inline(always)]`, and so must all that it calls.
macro_rules! arms {
    ($body:ident $(::<$($g:tt),+>)? ($($arg:ident : $ty:ty),* $(,)?)) => {{
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2($($arg: $ty),*) {
                // SAFETY: the caller of `avx2` has the instruction set and keeps the promises of the body.
                unsafe { $body::<core::arch::x86_64::__m256 $($(, $g)+)?>($($arg),*) }
            }
            if $crate::isa::isa() >= $crate::isa::Isa::Avx2 {
                // SAFETY: `isa()` names an arm only when the CPU has it; the other promises are the caller's.
                return unsafe { avx2($($arg),*) };
            }
        }
        // SAFETY: the plain lanes need no instruction set; the other promises are the caller's.
        unsafe { $body::<[f32; $crate::stream::PACK] $($(, $g)+)?>($($arg),*) }
    }};
}
use arms;
