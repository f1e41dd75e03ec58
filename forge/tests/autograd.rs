//! The promises of reverse mode: sums over shared trunks, freed and retained graphs, long chains, recomputation.

use forge::autograd::{Tensors, checkpoint, custom_vjp, with_grad};
use forge::prelude::*;
use forge::team::Team;

axes! { A, B, C }

fn param(v: f32) -> Tensor<()> {
    Tensor::scalar(v).requires_grad()
}

#[test]
fn a_shared_trunk_adds_up() {
    let x = param(1.0);
    let h = x.scale(3.0);
    // In one call: d(h + 2h)/dx = 9.
    let both = backward_all(&[&h.scale(1.0), &h.scale(2.0)]).unwrap();
    assert_eq!(both.get(&x).unwrap().item(), 9.0);
    // In two calls over a retained graph, merged: the same 9.
    let h = x.scale(3.0);
    let (a, b) = (h.scale(1.0), h.scale(2.0));
    let mut grads = a.backward_with(Backward::retain()).unwrap();
    grads.merge(b.backward().unwrap()).unwrap();
    assert_eq!(grads.get(&x).unwrap().item(), 9.0);
}

#[test]
fn a_freed_trunk_is_an_error_that_says_how_to_keep_it() {
    let x = param(1.0);
    let h = x.exp();
    let (a, b) = (h.scale(1.0), h.scale(2.0));
    a.backward().unwrap();
    let e = b.backward().unwrap_err();
    assert!(matches!(e, Error::GraphConsumed));
    assert!(e.to_string().contains("Backward::retain()") && e.to_string().contains("backward_all"));
}

#[test]
fn a_loss_may_be_a_part_of_another() {
    let x = param(2.0);
    let a = x.square();
    let b = a.square();
    // d(x^2 + x^4)/dx = 4 + 32.
    assert_eq!(backward_all(&[&a, &b]).unwrap().get(&x).unwrap().item(), 36.0);
}

#[test]
fn nothing_to_differentiate_is_said() {
    assert!(matches!(Tensor::<()>::scalar(1.0).exp().backward(), Err(Error::NoGraph)));
    let x = param(1.0);
    assert!(matches!(no_grad(|| x.exp()).backward(), Err(Error::NoGraph)));
    assert!(matches!(x.exp().detach().backward(), Err(Error::NoGraph)));
    assert!(no_grad(|| with_grad(|| x.exp())).is_tracked());
    // A panic inside does not leave recording off.
    let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| no_grad(|| panic!("inside"))));
    assert!(r.is_err() && x.exp().is_tracked());
}

#[test]
fn a_parameter_that_the_loss_ignores_has_no_gradient() {
    let (x, y) = (param(1.0), param(2.0));
    let g = x.exp().backward().unwrap();
    assert!(g.get(&x).is_some() && g.get(&y).is_none());
    assert_eq!(g.len(), 1);
}

#[test]
fn a_chain_of_a_million_operations() {
    let x = param(1.0);
    let mut y = x.scale(1.0);
    for _ in 0..1_000_000 {
        y = y.add_scalar(1e-6);
    }
    let g = y.backward().unwrap();
    assert_eq!(g.get(&x).unwrap().item(), 1.0);
    // And dropping one that never ran backward does not recurse either.
    let mut y = x.scale(1.0);
    for _ in 0..1_000_000 {
        y = y.add_scalar(1e-6);
    }
    drop(y);
}

#[test]
fn a_wide_fan_adds_in_one_order_on_any_number_of_threads() {
    let run = || {
        let x = Tensor::<A>::from_fn(3000, |i| (i as f32 * 0.37).sin()).requires_grad();
        let parts: Vec<Tensor<A>> = (0..40).map(|i| x.scale(0.1 + f64::from(i)).tanh()).collect();
        let sum = parts.iter().skip(1).fold(parts[0].clone(), |s, p| s + p);
        let g = sum.square().sum_all().backward().unwrap();
        g.get(&x).unwrap().to_vec()
    };
    let one = Team::single().enter(run);
    for n in [2, 3, 4, 8] {
        assert_eq!(one, Team::new(n).enter(run), "{n} threads");
    }
}

#[test]
fn saved_values_cannot_change() {
    // An owned operand's memory is reused only while nobody shares it: here the graph does.
    let x = Tensor::<A>::from([1.0, 2.0]).requires_grad();
    let y = x.scale(2.0);
    let z = y.square();
    let w = y + 100.0;
    assert_eq!(w.to_vec(), [102.0, 104.0]);
    // d(2x)^2/dx = 8x, from the saved y, not from what became of it.
    assert_eq!(z.sum_all().backward().unwrap().get(&x).unwrap().to_vec(), [8.0, 16.0]);
    // A constant that an operation saved, then "changed" by its owner.
    let c = Tensor::<A>::from([5.0, 5.0]);
    let p = &x * &c;
    let c = c + 994.0;
    assert_eq!(c.to_vec(), [999.0, 999.0]);
    assert_eq!(p.sum_all().backward().unwrap().get(&x).unwrap().to_vec(), [5.0, 5.0]);
}

#[test]
fn owned_operands_reuse_their_memory() {
    let x = Tensor::<A>::from([1.0, 2.0]);
    let at = x.as_slice().unwrap().as_ptr();
    let y = x + 1.0;
    assert_eq!(y.as_slice().unwrap().as_ptr(), at);
    let shared = y.clone();
    let z = y * 2.0;
    assert_ne!(z.as_slice().unwrap().as_ptr(), at);
    assert_eq!((shared.to_vec(), z.to_vec()), (vec![2.0, 3.0], vec![4.0, 6.0]));
}

#[test]
fn gradients_of_gradients() {
    let x = Tensor::<(), f64>::scalar(1.5).requires_grad();
    let y = x.pow_scalar(4.0);
    let g = y.backward_with(Backward::create_graph()).unwrap().get(&x).unwrap();
    let h = g.backward_with(Backward::create_graph()).unwrap().get(&x).unwrap();
    let t = h.backward().unwrap().get(&x).unwrap();
    assert!((g.item() - 4.0 * 1.5f64.powi(3)).abs() < 1e-12);
    assert!((h.item() - 12.0 * 1.5f64.powi(2)).abs() < 1e-12);
    assert!((t.item() - 24.0 * 1.5).abs() < 1e-12);
}

fn block(x: &Tensor<(A, B)>, w: &Tensor<(B, C)>) -> Tensor<(A, C)> {
    x.dot(w, B).tanh().square()
}

fn bits<T: Tensors>(_: &T, v: Vec<f32>) -> Vec<u32> {
    v.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_checkpoint_has_the_bits_of_the_plain_run() {
    let x = Tensor::<(A, B)>::from_fn((5, 3), |i| (i as f32).sin()).requires_grad();
    let w = Tensor::<(B, C)>::from_fn((3, 4), |i| (i as f32).cos()).requires_grad();
    let plain = block(&x, &w);
    let gp = plain.sum_all().backward().unwrap();
    // Both passed in.
    let y = checkpoint((x.clone(), w.clone()), |(x, w): (Tensor<(A, B)>, Tensor<(B, C)>)| block(&x, &w));
    assert_eq!(bits(&y, y.to_vec()), bits(&plain, plain.to_vec()));
    let g = y.sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), gp.get(&x).unwrap().to_vec());
    assert_eq!(g.get(&w).unwrap().to_vec(), gp.get(&w).unwrap().to_vec());
    // The parameter captured, the input a constant.
    let (wc, xc) = (w.clone(), x.detach());
    let y = checkpoint(xc, move |x: Tensor<(A, B)>| block(&x, &wc));
    let g = y.sum_all().backward().unwrap();
    assert_eq!(g.get(&w).unwrap().to_vec(), gp.get(&w).unwrap().to_vec());
    // Several outputs, one of them unused; nested.
    let wc = w.clone();
    let (y, _) = checkpoint(x.clone(), move |x: Tensor<(A, B)>| {
        let wc = wc.clone();
        let y = checkpoint(x.clone(), move |x: Tensor<(A, B)>| block(&x, &wc));
        (y, x.exp())
    });
    let g = y.sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), gp.get(&x).unwrap().to_vec());
    assert_eq!(g.get(&w).unwrap().to_vec(), gp.get(&w).unwrap().to_vec());
    // Nothing tracked: nothing recorded.
    let y = checkpoint(x.detach(), |x: Tensor<(A, B)>| x.exp());
    assert!(!y.is_tracked());
}

#[test]
fn a_checkpoint_refuses_a_captured_part_of_the_graph() {
    let x = Tensor::<A>::from([1.0, 2.0]).requires_grad();
    let h = x.exp();
    let y = checkpoint(x.clone(), move |x: Tensor<A>| &x * &h);
    let e = y.sum_all().backward().unwrap_err();
    assert!(e.to_string().contains("pass it in as an input"), "{e}");
}

#[test]
fn a_function_with_a_derivative_of_its_own() {
    let x = Tensor::<A>::from([0.3, 0.8]).requires_grad();
    let w = Tensor::<()>::scalar(2.0).requires_grad();
    let y = custom_vjp(
        (x.clone(), w.clone()),
        |(x, w): &(Tensor<A>, Tensor<()>)| x.round() * w,
        |(x, w), _y, g| (g * w, (g * &x.round()).sum_all()),
    );
    let grads = y.sum_all().backward().unwrap();
    assert_eq!(grads.get(&x).unwrap().to_vec(), [2.0, 2.0]);
    assert_eq!(grads.get(&w).unwrap().item(), 1.0);
    let bad = custom_vjp(x.clone(), |x: &Tensor<A>| x.exp(), |_, _, _| Tensor::<A>::from([1.0]));
    let e = bad.sum_all().backward().unwrap_err();
    assert!(e.to_string().starts_with("custom_vjp: no gradient: the gradient of input 0"), "{e}");
}

#[test]
fn a_seed_of_any_shape() {
    let x = Tensor::<A>::from([1.0, 2.0]).requires_grad();
    let y = x.square();
    let g = y.backward_from(&Tensor::<A>::from([1.0, 10.0]), Backward::retain()).unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [2.0, 40.0]);
    let e = y.backward_from(&Tensor::<A>::from([1.0]), Backward::default()).unwrap_err();
    assert_eq!(e.to_string(), "backward_from: axis `A` has size 2 in (A 2) but 1 in (A 1)");
}

#[test]
fn a_mismatch_panics_at_the_callers_line_with_names() {
    let x = Tensor::<(A, B)>::zeros((2, 3));
    let w = Tensor::<(B, C)>::zeros((4, 5));
    let location = std::sync::Arc::new(std::sync::Mutex::new(None));
    let seen = location.clone();
    std::panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap() = info.location().map(|l| (l.file().to_owned(), l.line()));
    }));
    let line = line!() + 1;
    let e = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| x.dot(&w, B))).expect_err("sizes differ");
    let _ = std::panic::take_hook();
    assert_eq!(e.downcast_ref::<String>().unwrap(), "dot: axis `B` has size 3 in (A 2, B 3) but 4 in (B 4, C 5)");
    let (file, at) = location.lock().unwrap().clone().unwrap();
    assert!(file.ends_with("autograd.rs") && at == line, "{file}:{at}");
    assert!(x.try_dot(&w, B).is_err());
}
