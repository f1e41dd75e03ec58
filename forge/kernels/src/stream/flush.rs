//! Subnormal numbers as zeros, for as long as a callback runs.

/// Runs `f` with subnormal results and arguments taken as zero, and restores the mode of the CPU.
///
/// A decaying sound ends in subnormal numbers, on which many CPUs take a hundred times as long. Where the CPU is neither
/// x86-64 nor aarch64 this only calls `f`.
///
/// ```
/// let tiny = std::hint::black_box(f32::MIN_POSITIVE);
/// let quarter = || std::hint::black_box(tiny * 0.25);
/// assert!(quarter() > 0.0);
/// # #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
/// assert_eq!(forge_kernels::stream::flushing(quarter), 0.0);
/// assert!(quarter() > 0.0);
/// ```
pub fn flushing<R>(f: impl FnOnce() -> R) -> R {
    let _guard = Guard::enter();
    f()
}

/// Restores the mode when it goes, by a panic too.
struct Guard(Mode);

#[cfg(all(target_arch = "x86_64", not(miri)))]
type Mode = u32;
#[cfg(all(target_arch = "aarch64", not(miri)))]
type Mode = u64;
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
type Mode = ();

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod mode {
    use core::arch::asm;

    /// Flush to zero, and denormals are zero.
    const FTZ_DAZ: u32 = 0x8040;

    #[inline(never)]
    pub(super) fn get() -> u32 {
        let mut mode = 0u32;
        // SAFETY: it stores four bytes at the pointer given.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack)) }
        mode
    }

    #[inline(never)]
    pub(super) fn set(mode: u32) {
        // SAFETY: only bits that were read from the register, and the two above, are ever set; calls of this function are
        // not moved across the arithmetic between them, as it is not inlined and may touch memory.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack)) }
    }

    pub(super) fn flush(mode: u32) -> u32 {
        mode | FTZ_DAZ
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod mode {
    use core::arch::asm;

    #[inline(never)]
    pub(super) fn get() -> u64 {
        let mode: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode, options(nostack)) }
        mode
    }

    #[inline(never)]
    pub(super) fn set(mode: u64) {
        // SAFETY: only bits that were read from the register, and the one below, are ever set; see x86-64.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack)) }
    }

    pub(super) fn flush(mode: u64) -> u64 {
        mode | 1 << 24
    }
}

#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
mod mode {
    pub(super) fn get() {}
    pub(super) fn set((): ()) {}
    pub(super) fn flush((): ()) {}
}

impl Guard {
    fn enter() -> Self {
        let before = mode::get();
        mode::set(mode::flush(before));
        Self(before)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        mode::set(self.0);
    }
}
