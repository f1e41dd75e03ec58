//! `assert_close!`.

use forge::assert_close;
use forge::prelude::*;

axes! { Batch, In }

fn message(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    *std::panic::catch_unwind(f).unwrap_err().downcast::<String>().unwrap()
}

fn x() -> Tensor<(Batch, In)> {
    Tensor::from([[1., 2., 3.], [4., f32::NAN, f32::INFINITY]])
}

#[test]
fn close_is_close() {
    assert_close!(x(), x());
    assert_close!(&x(), x().erase());
    assert_close!(x(), x().to::<f64>());
    assert_close!(x().scale(1.0001), x(), 1e-3);
    assert_close!(Tensor::<In>::from([0.5]), Tensor::<In>::from([0.0]), rtol = 0.0, atol = 0.5);
    assert_close!(Tensor::<In>::from([]), Tensor::<In>::from([]));
}

#[test]
fn the_first_difference_is_named() {
    let m = message(|| assert_close!(x(), x().scale(2.0), 1e-3));
    assert!(m.starts_with("assert_close: element (Batch 0, In 0) is 1 on the left and 2 on the right"), "{m}");
    assert!(m.ends_with("4 of 6 elements differ, by at most 4e0"), "{m}");
    let m = message(|| assert_close!(x(), x().abs().clamp_max(1e9)));
    assert!(m.contains("(Batch 1, In 2) is inf"), "{m}");
    let m = message(|| assert_close!(x(), x().narrow(In, 0..2)));
    assert_eq!(m, "assert_close: the left tensor is (Batch 2, In 3), the right one (Batch 2, In 2)");
}

#[test]
fn it_panics_at_the_line_of_the_test() {
    static PLACE: std::sync::Mutex<Option<(String, u32)>> = std::sync::Mutex::new(None);
    let old = std::panic::take_hook();
    std::panic::set_hook(Box::new(|i| {
        let l = i.location().unwrap();
        *PLACE.lock().unwrap() = Some((l.file().to_owned(), l.line()));
    }));
    let line = line!() + 1;
    let caught = std::panic::catch_unwind(|| assert_close!(x(), x().scale(2.0)));
    std::panic::set_hook(old);
    assert!(caught.is_err());
    let place = PLACE.lock().unwrap().take().unwrap();
    assert!(place.0.ends_with("close.rs") && place.1 == line, "{place:?}");
}
