//! The instruction-set switch: every arm in one process, and every form of generics that the macro takes.

use forge_kernels::isa::{Isa, best, force, isa, report};
use forge_kernels::math::Real;
use forge_kernels::{Element, multiversion};
use std::sync::Mutex;

/// Tests that look at the arm in use take turns.
static TURN: Mutex<()> = Mutex::new(());

multiversion! {
    fn plain(x: &mut [f32]) {
        x.iter_mut().for_each(|x| *x = *x * 0.1 + 1.0);
    }
}

multiversion! {
    /// Paths as bounds.
    fn by_path<T: std::fmt::Debug + std::clone::Clone>(x: &[T]) -> T {
        x[x.len() / 2].clone()
    }
}

multiversion! {
    fn several<T: Real + Send + Sync, U: Element>(x: &[T], _y: &[U]) -> T {
        x.iter().fold(T::ONE, |a, &x| x.mul_add_if::<FMA>(x, a))
    }
}

multiversion! {
    pub(crate) fn with_constant<const N: usize, T: Real + Copy>(x: &[T]) -> [T; N] {
        std::array::from_fn(|i| x[i] + x[i])
    }
}

multiversion! {
    fn with_function<T: Real, F: Fn(T) -> T>(x: &mut [T], f: F) {
        x.iter_mut().for_each(|x| *x = f(*x));
    }
}

#[test]
fn every_arm_agrees() {
    let _turn = TURN.lock().unwrap();
    let x: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) * 0.37).collect();
    let run = || {
        let mut y = x.clone();
        plain(&mut y);
        with_function(&mut y, |v| v * v + 1.0);
        let doubled: [f32; 3] = with_constant(&y);
        (y, doubled, by_path(&x), several(&[1.0f64, 2.0], &[true]))
    };
    let arms: Vec<_> = Isa::ALL
        .into_iter()
        .map(|arm| {
            let _held = force(arm);
            assert_eq!(isa(), arm.min(best()));
            run()
        })
        .collect();
    assert_eq!(arms[0].3, 6.0);
    assert!(arms.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn the_report_tells_of_a_forced_arm_and_the_guard_puts_it_back() {
    let _turn = TURN.lock().unwrap();
    let before = report();
    if before.used > Isa::Baseline {
        let held = force(Isa::Baseline);
        assert_eq!(report().used, Isa::Baseline);
        assert!(report().to_string().contains("by a test"));
        drop(held);
    }
    assert_eq!(report(), before);
    assert_eq!(before.best, best());
}
