//! Which instruction set the kernels run on, and [`multiversion!`](crate::multiversion), which compiles one loop for each.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction-set arm. Later arms include the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    /// What the target guarantees (SSE2 on x86-64, NEON on aarch64).
    Baseline = 1,
    /// AVX2 and FMA.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The arm in use: the best this CPU has, unless `FORGE_ISA=scalar|avx2|avx512` asks for a lesser one.
#[inline]
pub fn isa() -> Isa {
    match CHOSEN.load(Ordering::Relaxed) {
        1 => Isa::Baseline,
        2 => Isa::Avx2,
        3 => Isa::Avx512,
        _ => choose(),
    }
}

#[cold]
fn choose() -> Isa {
    let best = best();
    let isa = match std::env::var("FORGE_ISA").as_deref() {
        Ok("scalar") => Isa::Baseline,
        Ok("avx2") => Isa::Avx2.min(best),
        _ => best,
    };
    CHOSEN.store(isa as u8, Ordering::Relaxed);
    isa
}

/// The best arm this CPU has.
pub fn best() -> Isa {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            return Isa::Avx512;
        }
        if avx2 {
            return Isa::Avx2;
        }
    }
    Isa::Baseline
}

/// Compiles a function once for each arm of [`Isa`] and calls the one in use.
///
/// The body sees `const FMA: bool`: whether a fused multiply-add is one instruction there. A body that does not ask
/// for it (`mul_add`) gives the same bits on every arm. Everything that the body calls must be `#[inline(always)]`,
/// or it is not compiled for the arm.
///
/// ```
/// forge_kernels::multiversion! {
///     /// `y += a * x`.
///     pub fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
///         for (y, &x) in y.iter_mut().zip(x) {
///             *y += a * x;
///         }
///     }
/// }
/// let mut y = [1.0, 2.0];
/// axpy(2.0, &[1.0, 1.0], &mut y);
/// assert_eq!(y, [3.0, 4.0]);
/// ```
#[macro_export]
macro_rules! multiversion {
    ($(#[$attr:meta])* $vis:vis fn $name:ident $(<$($g:ident : $b:path),+>)? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$attr])*
        #[inline]
        $vis fn $name $(<$($g: $b),+>)? ($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(dead_code, reason = "not every body asks for FMA")]
            fn body<const FMA: bool, $($($g: $b),+)?>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2 $(<$($g: $b),+>)? ($($arg: $ty),*) $(-> $ret)? { body::<true, $($($g),+)?>($($arg),*) }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512 $(<$($g: $b),+>)? ($($arg: $ty),*) $(-> $ret)? { body::<true, $($($g),+)?>($($arg),*) }
                match $crate::isa::isa() {
                    // SAFETY: `isa()` names an arm only when the CPU has all of its features.
                    $crate::isa::Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::isa::Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::isa::Isa::Baseline => {}
                }
            }
            body::<{ cfg!(target_arch = "aarch64") }, $($($g),+)?>($($arg),*)
        }
    };
}
