//! The feed-forward block.

use crate::{check_gradients, close, names, noise, shared, weigh};
use forge::axes::{Batch, Ffn, Model, Seq};
use forge::nn::{Activation, Linear, Mlp};
use forge::prelude::*;
use forge::rng::Key;

#[test]
fn mlp() {
    let x = noise::<(Batch, Model, Seq)>((2, 4, 3), 2);
    let lin = |x: &Tensor<(Batch, Model, Seq), f64>, l: &Linear<Model, Ffn, f64>| l.forward(x); // (Batch, Seq, Ffn)
    for activation in [
        Activation::Relu,
        Activation::Gelu,
        Activation::GeluErf,
        Activation::Silu,
        Activation::Swiglu,
        Activation::Geglu,
    ] {
        let mut block = Mlp::<Model, Ffn, f64>::with_bias((4, 6), activation, Key::new(9));
        let y = block.forward(&x);
        let up = lin(&x, &block.up);
        let h = match activation {
            Activation::Relu => up.relu(),
            Activation::Gelu => up.gelu(),
            Activation::GeluErf => up.gelu_erf(),
            Activation::Silu => up.silu(),
            Activation::Swiglu => &up * &lin(&x, block.gate.as_ref().unwrap()).silu(),
            _ => &up * &lin(&x, block.gate.as_ref().unwrap()).gelu(),
        };
        let want: Tensor<(Batch, Model, Seq), f64> = block.down.forward(&h).permute();
        close(&y.to_vec(), &want.to_vec(), 1e-12);
        check_gradients(&mut block, |b| weigh(&b.forward(&x)));
    }
    let block = Mlp::<Model, Ffn>::new((4, 6), Activation::Swiglu, Key::new(9));
    let error = block.try_forward(&Tensor::<Model>::zeros(5)).unwrap_err();
    assert!(error.to_string().contains("axis `Model` has size 5"), "{error}");
}

#[test]
fn names_are_for_ever() {
    shared::<Mlp<Model, Ffn>>();
    let key = Key::new(0);
    assert_eq!(names(&Mlp::<Model, Ffn>::new((3, 2), Activation::Gelu, key)), ["down.weight", "up.weight"]);
    let gated = Mlp::<Model, Ffn>::with_bias((3, 2), Activation::Swiglu, key);
    let want = ["down.bias", "down.weight", "gate.bias", "gate.weight", "up.bias", "up.weight"];
    assert_eq!(names(&gated), want);
}
