//! The public gradient check finds what is wrong, and only that.

use forge::autograd::{GradCheck, custom_vjp, gradcheck};
use forge::nn::{Linear, Module};
use forge::prelude::*;
use forge::rng::Key;

axes! { Batch, In, Out }

fn x() -> Tensor<(Batch, In), f64> {
    Tensor::from_fn((3, 2), |i| (i as f64 + 0.5).sin())
}

#[test]
fn right_gradients_pass() {
    let y = Tensor::<In, f64>::from([0.5, -2.0]);
    let c = gradcheck(&(x(), y), |(x, y)| x.tanh().mul(y).exp().sum_all()).unwrap();
    assert_eq!(c.elements, 8);
    assert!(c.worst < 1e-8, "{c:?}");
    // A function of no input has the gradient 0.
    assert_eq!(gradcheck(&x(), |_| Tensor::scalar(1.0)).unwrap().worst, 0.0);
    // A large value with small slopes is no reason to fail.
    gradcheck(&x(), |x| x.scale(1e-6).sum_all().add_scalar(1e6)).unwrap();
}

#[test]
fn wrong_gradients_are_named() {
    let wrong = |x: &Tensor<(Batch, In), f64>| {
        custom_vjp(x.clone(), |x: &Tensor<(Batch, In), f64>| x.square(), |x, _, g| g.mul(x).scale(2.000001))
    };
    let e = gradcheck(&(x(), x()), |(a, b)| a.square().add(&wrong(b)).sum_all()).unwrap_err();
    let text = e.to_string();
    assert!(text.starts_with("gradcheck: no gradient: input 1 at [0, 0]: backward says"), "{text}");
    // A tolerance that allows it.
    GradCheck::new().tolerance(1e-5).inputs(&x(), |x| wrong(x).sum_all()).unwrap();
    // A parameter that backward forgets.
    let mut model = Linear::<In, Out, f64>::new((2, 3), Key::new(0));
    let e = GradCheck::new().model(&mut model, |m| {
        let bias = m.bias.as_ref().unwrap();
        m.forward(&x()).sum_all().add(&bias.detach().square().sum_all())
    });
    assert!(e.unwrap_err().to_string().contains("`bias` at [0]"));
}

#[test]
fn a_model_ends_as_it_was() {
    let mut model = Linear::<In, Out, f64>::new((2, 3), Key::new(1));
    let before = model.state_dict();
    let c = GradCheck::new().at_most(4).model(&mut model, |m| m.forward(&x()).tanh().square().mean_all()).unwrap();
    assert_eq!(c.elements, 4 + 3);
    for ((name, a), b) in before.iter().zip(model.state_dict().values()) {
        assert_eq!(a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap(), "{name}");
    }
    let grads = model.forward(&x()).sum_all().backward().unwrap();
    assert!(grads.get(&model.weight).is_some(), "and is still trained");
    model.set_trainable("*", false);
    assert_eq!(GradCheck::new().model(&mut model, |m| m.forward(&x()).sum_all()).unwrap().elements, 0);
}

#[test]
fn f32_is_refused() {
    let e = gradcheck(&Tensor::<In>::ones(2), |x| x.to::<f64>().sum_all()).unwrap_err();
    assert_eq!(e.to_string(), "gradcheck: not defined for f32; it takes f64");
}
