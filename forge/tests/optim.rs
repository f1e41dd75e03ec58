//! Optimizers against torch (`scripts/goldens/optim.py` made the data), and what they promise beside the numbers.

use forge::autograd::Grads;
use forge::nn::{Linear, Module, Param, StateDict};
use forge::optim::{Adam, AdamW, Optimizer, Schedule, Sgd, clip_global_norm, global_norm};
use forge::prelude::*;
use forge::rng::Key;
use forge::team::Team;
use serde_json::Value;

axes! { In, Out, Batch }

fn goldens() -> Value {
    serde_json::from_str(include_str!("data/optim.json")).expect("the goldens are JSON")
}

fn floats(v: &Value) -> Vec<f64> {
    v.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// The optimizer that a golden's options describe.
fn optimizer(kind: &str, o: &Value) -> Optimizer {
    let f = |name: &str| o[name].as_f64();
    let betas = || o["betas"].as_array().map(|b| (b[0].as_f64().unwrap(), b[1].as_f64().unwrap()));
    match kind {
        "SGD" => {
            let mut r = Sgd::new();
            r = f("lr").map_or(r, |v| r.lr(v));
            r = f("momentum").map_or(r, |v| r.momentum(v));
            r = f("dampening").map_or(r, |v| r.dampening(v));
            r = f("weight_decay").map_or(r, |v| r.weight_decay(v));
            if o["nesterov"] == true { r.nesterov() } else { r }.build()
        }
        "Adam" => {
            let mut r = Adam::new();
            r = f("lr").map_or(r, |v| r.lr(v));
            r = betas().map_or(r, |(a, b)| r.betas(a, b));
            r = f("eps").map_or(r, |v| r.eps(v));
            f("weight_decay").map_or(r, |v| r.weight_decay(v)).build()
        }
        "AdamW" => {
            let mut r = AdamW::new();
            r = f("lr").map_or(r, |v| r.lr(v));
            r = betas().map_or(r, |(a, b)| r.betas(a, b));
            r = f("eps").map_or(r, |v| r.eps(v));
            f("weight_decay").map_or(r, |v| r.weight_decay(v)).build()
        }
        other => panic!("unknown optimizer {other}"),
    }
    .expect("torch took these options")
}

/// The gradients `g` of `p`: those of `sum(p g)`.
fn grads_of(p: &DynTensor, g: &DynTensor) -> Grads {
    p.mul(g).unwrap().sum_all().unwrap().backward().unwrap()
}

fn vector<D: forge::dtype::Element>(v: &[f64], to: impl Fn(f64) -> D) -> Tensor<In, D> {
    Tensor::from_vec(v.len(), v.iter().map(|&x| to(x)).collect())
}

#[test]
fn three_steps_as_torch() {
    let all = goldens();
    for (name, golden) in all["f32"].as_object().unwrap() {
        let mut p = Param::new(vector(&floats(&all["p0"]), |x| x as f32));
        let mut o = optimizer(golden["kind"].as_str().unwrap(), &golden["options"]);
        for (s, want) in golden["steps"].as_array().unwrap().iter().enumerate() {
            let g = vector(&floats(&all["grads"][s]), |x| x as f32);
            let grads = grads_of(&p.erase(), &g.erase());
            o.step(&mut p, &grads).unwrap();
            // torch fuses a multiplication and an addition here and there: a rounding or two of a value around 1.
            for (i, (got, want)) in p.to_vec().into_iter().zip(floats(want)).enumerate() {
                let err = (f64::from(got) - want).abs();
                assert!(err <= 2.0 * f64::from(f32::EPSILON), "{name} step {s} element {i}: {got} is not {want}");
            }
        }
    }
    for (name, golden) in all["f64"].as_object().unwrap() {
        let mut p = Param::new(vector(&floats(&all["p0"]), |x| x));
        let mut o = optimizer(golden["kind"].as_str().unwrap(), &golden["options"]);
        for (s, want) in golden["steps"].as_array().unwrap().iter().enumerate() {
            let g = vector(&floats(&all["grads"][s]), |x| x);
            let grads = grads_of(&p.erase(), &g.erase());
            o.step(&mut p, &grads).unwrap();
            for (got, want) in p.to_vec().into_iter().zip(floats(want)) {
                assert!((got - want).abs() <= 8.0 * f64::EPSILON, "{name} step {s}: {got} is not {want}");
            }
        }
    }
}

#[test]
fn clipping_as_torch() {
    let all = goldens();
    for c in all["clip"].as_array().unwrap() {
        let scale = c["scale"].as_f64().unwrap() as f32;
        let g: Vec<Tensor<In>> = (0..2).map(|i| vector(&floats(&all["grads"][i]), |x| x as f32 * scale)).collect();
        let p: Vec<Tensor<In>> = g.iter().map(|g| g.zeros_like().requires_grad()).collect();
        let mut grads = backward_all(&[&p[0].mul(&g[0]).sum_all(), &p[1].mul(&g[1]).sum_all()]).unwrap();
        let (norm, want) =
            (clip_global_norm(&mut grads, c["max"].as_f64().unwrap()).unwrap(), c["norm"].as_f64().unwrap());
        assert!((norm - want).abs() <= 1e-6 * want, "norm {norm} is not {want}");
        for (p, want) in p.iter().zip(c["grads"].as_array().unwrap()) {
            for (got, want) in grads.get(p).unwrap().to_vec().into_iter().zip(floats(want)) {
                assert!((f64::from(got) - want).abs() <= 1e-6 * want.abs(), "{got} is not {want}");
            }
        }
    }
    let w = Tensor::<()>::scalar(1.0).requires_grad();
    assert!(clip_global_norm(&mut w.square().backward().unwrap(), 0.0).is_err());
    assert!(clip_global_norm(&mut w.square().backward().unwrap(), f64::NAN).is_err());
}

#[derive(Module, Clone)]
struct Net {
    first: Linear<In, Out>,
    gain: Param<Out>,
    table: Tensor<Out>,
    extra: Option<Param<()>>,
    #[module(skip)]
    _rate: f32,
}

fn net(seed: u64) -> Net {
    Net {
        first: Linear::new((3, 4), Key::new(seed)),
        gain: Param::new(Tensor::ones(4)),
        table: Tensor::full(4, 0.5),
        extra: None,
        _rate: 0.1,
    }
}

impl Net {
    fn loss(&self, x: &Tensor<(Batch, In)>) -> Tensor<()> {
        self.first.forward(x).tanh().mul(&self.gain).add(&self.table).square().mean_all()
    }
}

fn input() -> Tensor<(Batch, In)> {
    Tensor::from_fn((5, 3), |i| (i as f32 * 0.37).sin())
}

#[test]
fn names_and_kinds() {
    let m = net(0);
    let names: Vec<String> = m.parameters().into_iter().map(|p| p.0).collect();
    assert_eq!(names, ["first.weight", "first.bias", "gain"]);
    assert_eq!(m.state_dict().into_keys().collect::<Vec<_>>(), ["first.bias", "first.weight", "gain", "table"]);
    assert_eq!(m.parameter_count(), 12 + 4 + 4);
    let bound = (1.0f32 / 3.0).sqrt();
    let w = m.first.weight.to_vec();
    assert!(w.iter().all(|x| x.abs() < bound) && w.iter().any(|x| x.abs() > bound / 2.0));
}

#[test]
fn a_step_moves_only_what_is_trained() {
    let mut m = net(1);
    let before = m.clone();
    assert_eq!(m.set_trainable("first", false), 2);
    let grads = m.loss(&input()).backward().unwrap();
    assert_eq!(grads.len(), 1);
    let mut o = Sgd::new().lr(0.1).build().unwrap();
    o.step(&mut m, &grads).unwrap();
    assert_eq!(m.first.weight.to_vec(), before.first.weight.to_vec());
    assert_eq!(m.table.to_vec(), before.table.to_vec());
    assert_ne!(m.gain.to_vec(), before.gain.to_vec());
    // Trained again, it gets gradients under the same handle.
    assert_eq!(m.set_trainable("first.*", true), 2);
    let grads = m.loss(&input()).backward().unwrap();
    assert!(grads.get(&m.first.weight).is_some() && grads.len() == 3);
    // A clone is another parameter.
    assert!(grads.get(&before.gain).is_none());
}

#[test]
fn memory_is_reused_unless_it_is_shared() {
    let mut m = net(2);
    let mut o = AdamW::new().build().unwrap();
    let mut step = |m: &mut Net| {
        let g = m.loss(&input()).backward().unwrap();
        o.step(m, &g).unwrap();
    };
    step(&mut m);
    let at = m.gain.as_slice().unwrap().as_ptr();
    step(&mut m);
    assert_eq!(at, m.gain.as_slice().unwrap().as_ptr(), "a step in place");
    let saved = m.state_dict();
    let old = saved["gain"].to_vec::<f32>().unwrap();
    step(&mut m);
    assert_ne!(at, m.gain.as_slice().unwrap().as_ptr(), "shared memory is not written");
    assert_eq!(saved["gain"].to_vec::<f32>().unwrap(), old);
    assert_ne!(m.gain.to_vec(), old);
}

#[test]
fn groups_by_name() {
    let mut m = net(3);
    let mut o = Sgd::new().lr(0.1).build().unwrap().group("*bias", Sgd::new().lr(0.0)).unwrap();
    let (bias, gain) = (m.first.bias.as_ref().unwrap().to_vec(), m.gain.to_vec());
    let grads = m.loss(&input()).backward().unwrap();
    o.step(&mut m, &grads).unwrap();
    assert_eq!(m.first.bias.as_ref().unwrap().to_vec(), bias);
    assert_ne!(m.gain.to_vec(), gain);
    assert_eq!(o.description()[0], "*bias: Sgd(momentum 0, dampening 0, weight decay 0, nesterov false)");
}

#[test]
fn mistakes_are_refused() {
    let text = |r: forge::Result<Optimizer>| r.unwrap_err().to_string();
    assert_eq!(text(Sgd::new().nesterov().build()), "Sgd: Nesterov's form needs momentum and no dampening");
    assert!(Sgd::new().momentum(0.9).dampening(0.1).nesterov().build().is_err());
    assert_eq!(text(Sgd::new().lr(-1.0).build()), "Sgd: the learning rate is a number from 0 on, not -1");
    assert!(Sgd::new().lr(f64::NAN).build().is_err() && Sgd::new().weight_decay(-0.1).build().is_err());
    assert_eq!(text(Adam::new().betas(0.9, 1.0).build()), "Adam: beta2 is at least 0 and below 1, not 1");
    assert!(AdamW::new().eps(-1.0).build().is_err() && AdamW::new().lr(f64::INFINITY).build().is_err());
    let mut o = Sgd::new().build().unwrap();
    assert!(o.set_lr(-1.0).is_err());

    /// Two parameters under one name, by a hand-written visit.
    struct Twice(Param<()>, Param<()>);
    impl Module for Twice {
        fn visit(&self, path: &mut forge::nn::Path, visitor: &mut dyn forge::nn::Visitor) {
            self.0.visit(&mut path.push("a"), visitor);
            self.1.visit(&mut path.push("a"), visitor);
        }
        fn visit_mut(&mut self, path: &mut forge::nn::Path, visitor: &mut dyn forge::nn::VisitorMut) {
            self.0.visit_mut(&mut path.push("a"), visitor);
            self.1.visit_mut(&mut path.push("a"), visitor);
        }
    }
    let mut t = Twice(Param::new(Tensor::scalar(1.0)), Param::new(Tensor::scalar(2.0)));
    let g = t.0.mul(&t.1).backward().unwrap();
    assert_eq!(o.step(&mut t, &g).unwrap_err().to_string(), "optimizer: two parameters are named `a`");
    assert_eq!((t.0.item(), t.1.item()), (1.0, 2.0), "nothing was changed");
}

#[test]
fn loading_a_state_dict_is_all_or_nothing() {
    let (a, mut b) = (net(4), net(5));
    b.load_state_dict(&a.state_dict()).unwrap();
    assert_eq!(a.first.weight.to_vec(), b.first.weight.to_vec());

    let mut dict = a.state_dict();
    dict.remove("gain");
    dict.insert("tail".into(), Tensor::<()>::scalar(1.0).erase());
    dict.insert("first.bias".into(), Tensor::<Out>::zeros(9).erase());
    let mut c = net(6);
    let before = c.first.weight.to_vec();
    let e = c.load_state_dict(&dict).unwrap_err();
    assert_eq!((e.missing.clone(), e.unexpected.clone()), (vec!["gain".to_owned()], vec!["tail".to_owned()]));
    assert_eq!(e.mismatched[0].name, "first.bias");
    assert_eq!(
        e.to_string(),
        "the state does not fit the module\n  missing: gain\n  unexpected: tail\n  `first.bias`: expected f32 (Out 4), found f32 (Out 9)"
    );
    assert_eq!(c.first.weight.to_vec(), before);
    // Axes in another order are other axes, though the sizes agree; so is another dtype.
    let mut square = Linear::<In, Out>::without_bias((2, 2), Key::new(0));
    let turned = Tensor::<(Out, In)>::zeros((2, 2));
    let e = square.load_state_dict(&StateDict::from([("weight".to_owned(), turned.erase())])).unwrap_err();
    assert!(e.to_string().contains("expected f32 (In 2, Out 2), found f32 (Out 2, In 2)"), "{e}");
    let double = Tensor::<(In, Out), f64>::zeros((2, 2));
    assert!(square.load_state_dict(&StateDict::from([("weight".to_owned(), double.erase())])).is_err());

    dict.remove("first.bias");
    let left = c.load_state_dict_partial(&dict).unwrap();
    assert_eq!(left.missing, ["first.bias", "gain"]);
    assert_eq!(left.unexpected, ["tail"]);
    assert_eq!(c.first.weight.to_vec(), a.first.weight.to_vec());
}

#[test]
fn an_optimizer_resumes_bit_for_bit() {
    for make in [
        || Sgd::new().lr(0.1).build(),
        || Sgd::new().lr(0.1).momentum(0.9).build(),
        || Adam::new().lr(0.01).build(),
        || AdamW::new().lr(0.01).build(),
    ] {
        let (mut m, mut o): (Net, Optimizer) = (net(7), make().unwrap());
        let go = |m: &mut Net, o: &mut Optimizer| {
            let g = m.loss(&input()).backward().unwrap();
            o.step(m, &g).unwrap();
        };
        (0..5).for_each(|_| go(&mut m, &mut o));
        let (saved_m, saved_o) = (m.state_dict(), o.state_dict());
        (0..5).for_each(|_| go(&mut m, &mut o));
        let (mut n, mut p): (Net, Optimizer) = (net(8), make().unwrap());
        n.load_state_dict(&saved_m).unwrap();
        p.load_state_dict(&saved_o).unwrap();
        (0..5).for_each(|_| go(&mut n, &mut p));
        for ((name, a), b) in m.state_dict().iter().zip(n.state_dict().values()) {
            assert_eq!(a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap(), "{name}");
        }
    }
    // A state of another rule is refused, by the load or by the first step.
    let mut m = net(9);
    let mut adam = Adam::new().build().unwrap();
    let grads = m.loss(&input()).backward().unwrap();
    adam.step(&mut m, &grads).unwrap();
    let dict = adam.state_dict();
    assert_eq!(dict["gain/step"].to_vec::<i64>().unwrap(), [1]);
    assert!(Sgd::new().momentum(0.9).build().unwrap().load_state_dict(&dict).is_err());
    let mut broken = dict.clone();
    broken.remove("gain/mean");
    assert!(Adam::new().build().unwrap().load_state_dict(&broken).is_err());
    let mut broken = dict.clone();
    broken.remove("gain/step");
    assert!(Adam::new().build().unwrap().load_state_dict(&broken).is_err());
    let mut other = dict;
    for what in ["gain/mean", "gain/square"] {
        other.insert(what.into(), Tensor::<Out>::zeros(9).erase());
    }
    let mut adam = Adam::new().build().unwrap();
    adam.load_state_dict(&other).unwrap();
    let before = m.state_dict();
    let e = adam.step(&mut m, &grads).unwrap_err();
    assert_eq!(e.to_string(), "optimizer: the state of `gain` is not one of Adam for f32 (Out 4)");
    assert_eq!(m.first.weight.to_vec(), before["first.weight"].to_vec::<f32>().unwrap(), "nothing was changed");
}

#[test]
fn sixteen_bits_train_through_a_master() {
    // The step is far below the spacing of bf16 around 1: without the master the parameter would never move.
    let mut p = Param::new(Tensor::<Out>::ones(3).to::<bf16>());
    let mut o = Sgd::new().lr(1e-4).build().unwrap();
    for _ in 0..100 {
        let g = p.wide().unwrap().sum_all().backward().unwrap();
        o.step(&mut p, &g).unwrap();
    }
    assert_eq!(p.to_vec(), [bf16::from_f32(0.99); 3]);
    let master = o.state_dict()["/master"].to_vec::<f32>().unwrap();
    assert!(master.iter().all(|m| (m - 0.99).abs() < 1e-5));
    // It goes through a state dict too.
    let mut q = Sgd::new().lr(1e-4).build().unwrap();
    q.load_state_dict(&o.state_dict()).unwrap();
    let g = p.wide().unwrap().sum_all().backward().unwrap();
    o.step(&mut p, &g).unwrap();
    let mut r = Param::new(p.value());
    let g = r.wide().unwrap().sum_all().backward().unwrap();
    q.step(&mut r, &g).unwrap();
    assert_eq!(o.state_dict()["/master"].to_vec::<f32>().unwrap(), q.state_dict()["/master"].to_vec::<f32>().unwrap());
}

#[test]
fn accumulated_gradients_are_the_mean() {
    let m = net(10);
    let (x, y) = (input(), input().scale(0.5));
    let mut grads = m.loss(&x).backward().unwrap();
    grads.merge(m.loss(&y).backward().unwrap()).unwrap();
    grads.scale(0.5).unwrap();
    let both = m.loss(&x).add(&m.loss(&y)).scale(0.5).backward().unwrap();
    let (a, b) = (grads.get(&m.gain).unwrap().to_vec(), both.get(&m.gain).unwrap().to_vec());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} {b:?}");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let n = 100_003;
    let run = |threads: usize| {
        Team::new(threads).enter(|| {
            let mut p = Param::new(Tensor::<In>::from_fn(n, |i| (i as f32).sin()));
            let g = Tensor::<In>::from_fn(n, |i| (i as f32).cos());
            let mut out = Vec::new();
            for mut o in [
                Sgd::new().lr(0.1).weight_decay(0.1).build().unwrap(),
                Sgd::new().lr(0.1).momentum(0.9).nesterov().build().unwrap(),
                AdamW::new().lr(0.1).build().unwrap(),
            ] {
                let mut grads = p.mul(&g).sum_all().backward().unwrap();
                out.push(global_norm(&grads).unwrap().to_bits());
                clip_global_norm(&mut grads, 1.0).unwrap();
                o.step(&mut p, &grads).unwrap();
            }
            (out, p.to_vec())
        })
    };
    let one = run(1);
    for threads in [2, 3, 4, 8] {
        assert_eq!(one, run(threads), "{threads} threads");
    }
}

#[test]
fn schedules() {
    let s = Schedule::constant().build().unwrap();
    assert_eq!([s.factor(0), s.factor(1_000_000)], [1.0, 1.0]);
    let s = Schedule::linear(10).floor(0.2).build().unwrap();
    assert_eq!([s.factor(0), s.factor(10), s.factor(99)], [1.0, 0.2, 0.2]);
    assert!((s.factor(5) - 0.6).abs() < 1e-12);
    let s = Schedule::step(30, 0.1).build().unwrap();
    assert_eq!([s.factor(29), s.factor(30)], [1.0, 0.1]);
    assert!((s.factor(60) - 0.01).abs() < 1e-15);
    let s = Schedule::cosine(20).warmup(4).build().unwrap();
    assert_eq!([s.factor(0), s.factor(3), s.factor(4), s.factor(12)], [0.25, 1.0, 1.0, 0.5]);
    assert_eq!(s.factor(20), 0.0);
    assert!(Schedule::cosine(5).warmup(5).build().is_err() && Schedule::linear(0).build().is_err());
    assert!(Schedule::step(0, 0.5).build().is_err() && Schedule::step(3, 2.0).build().is_err());
    assert!(Schedule::constant().floor(1.5).build().is_err());
    // The factor meets the optimizer's rate.
    let mut p = Param::new(Tensor::scalar(1.0f32));
    let mut o = Sgd::new().lr(0.5).build().unwrap();
    o.set_lr_factor(0.5);
    let grads = p.scale(1.0).backward().unwrap();
    o.step(&mut p, &grads).unwrap();
    assert_eq!(p.item(), 0.75);
}
