//! Which instruction set the kernels run on, and [`multiversion!`](crate::multiversion), which compiles one loop for each.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An instruction-set arm. Later arms include the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    /// What the target guarantees (SSE2 on x86-64, NEON on aarch64).
    Baseline = 1,
    /// AVX2, FMA and F16C.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Isa {
    /// Every arm, from the least.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// How `FORGE_ISA` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

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
    let isa = asked(std::env::var("FORGE_ISA").ok().as_deref(), best()).0;
    CHOSEN.store(isa as u8, Ordering::Relaxed);
    isa
}

/// Which arm a value of `FORGE_ISA` gives on a CPU whose best is `best`, and why.
fn asked(value: Option<&str>, best: Isa) -> (Isa, Reason) {
    match value {
        None => (best, Reason::Detected),
        Some(v) => match Isa::ALL.into_iter().find(|i| i.name() == v) {
            Some(i) if i <= best => (i, Reason::Asked),
            Some(i) => (best, Reason::Lacking(i)),
            None => (best, Reason::Unknown(v.to_owned())),
        },
    }
}

/// Why an arm is in use; see [`report`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is the best that the CPU has.
    Detected,
    /// `FORGE_ISA` asks for it.
    Asked,
    /// `FORGE_ISA` asks for this one, which the CPU lacks; the best that it has is used.
    Lacking(Isa),
    /// `FORGE_ISA` has this value, which names no arm and is ignored.
    Unknown(String),
    /// A test holds it down.
    Forced,
}

/// What the CPU has, what is used, and why. `Display` says it in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The best arm of this CPU.
    pub best: Isa,
    /// The arm in use.
    pub used: Isa,
    /// Why that one.
    pub reason: Reason,
}

/// Says which arm runs, and why.
///
/// ```
/// use forge_kernels::isa;
/// let r = isa::report();
/// assert!(r.used <= r.best && r.used == isa::isa());
/// assert!(r.to_string().contains(r.used.name()));
/// ```
pub fn report() -> Report {
    let (best, used) = (best(), isa());
    let (chosen, reason) = asked(std::env::var("FORGE_ISA").ok().as_deref(), best);
    Report { best, used, reason: if chosen == used { reason } else { Reason::Forced } }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arch = std::env::consts::ARCH;
        write!(f, "{} on {arch} (the CPU has {}; ", self.used.name(), self.best.name())?;
        match &self.reason {
            Reason::Detected => f.write_str("detected)"),
            Reason::Asked => write!(f, "FORGE_ISA={})", self.used.name()),
            Reason::Lacking(i) => write!(f, "FORGE_ISA={} asks for more)", i.name()),
            Reason::Unknown(v) => write!(f, "FORGE_ISA={v:?} is none of scalar, avx2, avx512, ignored)"),
            Reason::Forced => f.write_str("held there by a test)"),
        }
    }
}

/// Holds the whole process at `isa`, or at the best of the CPU when that is less, until the guard is dropped: a test runs
/// every arm this way. Guards wait for each other.
#[doc(hidden)]
pub fn force(isa: Isa) -> Forced {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let was = self::isa();
    CHOSEN.store(isa.min(best()) as u8, Ordering::Relaxed);
    Forced { was, _one: one }
}

/// See [`force`].
#[doc(hidden)]
pub struct Forced {
    was: Isa,
    _one: MutexGuard<'static, ()>,
}

impl Drop for Forced {
    fn drop(&mut self) {
        CHOSEN.store(self.was as u8, Ordering::Relaxed);
    }
}

/// The best arm this CPU has.
pub fn best() -> Isa {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
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
///
/// `if CONDITION;` before the function compiles the arms only where the condition, a constant of the generic parameters,
/// holds: each arm costs compile time, and loops over types that are never hot do well without.
///
/// Generic parameters are types with one or more bounds (`T: Real + Send`); constants come first (`const N: usize, T: Real`).
#[macro_export]
macro_rules! multiversion {
    (@parse [$wide:expr] $(#[$attr:meta])* $vis:vis fn $name:ident $(<$($g:ident : $b:path),+ $(,)?>)? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $crate::multiversion! { @arms [$wide] [$(#[$attr])* #[inline] $vis] $name [$($($g: $b),+)?] [$($($g),+)?] ($($arg: $ty),*) [$(-> $ret)?] $body }
    };
    (@parse [$wide:expr] $(#[$attr:meta])* $vis:vis fn $name:ident <$($g:ident : $($b:ident)::+ $(+ $($c:ident)::+)*),+ $(,)?> ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $crate::multiversion! { @arms [$wide] [$(#[$attr])* #[inline] $vis] $name [$($g: $($b)::+ $(+ $($c)::+)*),+] [$($g),+] ($($arg: $ty),*) [$(-> $ret)?] $body }
    };
    (@parse [$wide:expr] $(#[$attr:meta])* $vis:vis fn $name:ident <$(const $n:ident : $nt:ty),+ $(, $g:ident : $($b:ident)::+ $(+ $($c:ident)::+)*)* $(,)?> ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $crate::multiversion! { @arms [$wide] [$(#[$attr])* #[inline] $vis] $name [$(const $n: $nt),+ $(, $g: $($b)::+ $(+ $($c)::+)*)*] [$($n),+ $(, $g)*] ($($arg: $ty),*) [$(-> $ret)?] $body }
    };
    (@arms [$wide:expr] [$($head:tt)*] $name:ident [$($decl:tt)*] [$($use:tt)*] ($($arg:ident : $ty:ty),*) [$($ret:tt)*] $body:block) => {
        $($head)* fn $name <$($decl)*> ($($arg: $ty),*) $($ret)* {
            #[inline(always)]
            #[allow(dead_code, reason = "not every body asks for FMA")]
            fn body<const FMA: bool, $($decl)*>($($arg: $ty),*) $($ret)* $body
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2 <$($decl)*> ($($arg: $ty),*) $($ret)* { body::<true, $($use)*>($($arg),*) }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512 <$($decl)*> ($($arg: $ty),*) $($ret)* { body::<true, $($use)*>($($arg),*) }
                // Where the condition is a constant that does not hold, the arms are never compiled.
                if $wide { match $crate::isa::isa() {
                    // SAFETY: `isa()` names an arm only when the CPU has all of its features.
                    $crate::isa::Isa::Avx512 => return unsafe { avx512::<$($use)*>($($arg),*) },
                    // SAFETY: as above.
                    $crate::isa::Isa::Avx2 => return unsafe { avx2::<$($use)*>($($arg),*) },
                    $crate::isa::Isa::Baseline => {}
                } }
            }
            body::<{ cfg!(target_arch = "aarch64") }, $($use)*>($($arg),*)
        }
    };
    (if $wide:expr; $($f:tt)*) => { $crate::multiversion! { @parse [$wide] $($f)* } };
    ($($f:tt)*) => { $crate::multiversion! { @parse [true] $($f)* } };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_only_lowers() {
        assert_eq!(asked(None, Isa::Avx2), (Isa::Avx2, Reason::Detected));
        assert_eq!(asked(Some("scalar"), Isa::Avx512), (Isa::Baseline, Reason::Asked));
        assert_eq!(asked(Some("avx2"), Isa::Avx512), (Isa::Avx2, Reason::Asked));
        assert_eq!(asked(Some("avx512"), Isa::Avx2), (Isa::Avx2, Reason::Lacking(Isa::Avx512)));
        assert_eq!(asked(Some("avx2"), Isa::Baseline), (Isa::Baseline, Reason::Lacking(Isa::Avx2)));
        assert_eq!(asked(Some("AVX"), Isa::Avx2), (Isa::Avx2, Reason::Unknown("AVX".to_owned())));
    }

    #[test]
    fn a_report_says_why() {
        let say = |reason| Report { best: Isa::Avx2, used: Isa::Avx2, reason }.to_string();
        assert!(say(Reason::Detected).starts_with("avx2 on "));
        assert!(say(Reason::Unknown("sse9".into())).contains("\"sse9\" is none of scalar, avx2, avx512"));
        assert!(say(Reason::Lacking(Isa::Avx512)).contains("FORGE_ISA=avx512 asks for more"));
    }
}
