//! Norms, gates, rotary embedding: options, goldens, errors.

use forge::prelude::*;
use forge::{Normalize, Rope};

axes! { Batch, Seq, Model, Half, Dim, Fixed = 3, Key }

fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "element {i}: {a}, not {b}");
    }
}

#[test]
fn norms_by_hand() {
    let x = Tensor::<(Batch, Model)>::from_vec((1, 2), vec![3.0, 4.0]);
    let w = Tensor::<Model>::from_vec(2, vec![2.0, 1.0]);
    let b = Tensor::<Model>::from_vec(2, vec![0.0, 1.0]);
    let r = 12.5f32.sqrt();
    close(&x.rms_norm(Model, Normalize::eps(0.0)).to_vec(), &[3.0 / r, 4.0 / r]);
    close(&x.rms_norm(Model, Normalize::eps(0.0).weight(&w).bias(&b)).to_vec(), &[6.0 / r, 4.0 / r + 1.0]);
    close(&x.layer_norm(Model, Normalize::eps(0.0)).to_vec(), &[-1.0, 1.0]);
    close(&x.layer_norm(Model, Normalize::eps(0.75)).to_vec(), &[-0.5, 0.5]);
    close(&x.l2_normalize(Model, 0.0).to_vec(), &[0.6, 0.8]);
    // Under the root, unlike torch's `normalize`, whose eps bounds the norm itself.
    close(&x.l2_normalize(Model, 11.0).to_vec(), &[0.5, 4.0 / 6.0]);
}

#[test]
fn large_values_keep_their_variance() {
    // A one-pass variance would lose everything here.
    let x = Tensor::<Model>::from_vec(4, vec![10_000.0, 10_001.0, 10_002.0, 10_003.0]);
    let y = x.layer_norm(Model, Normalize::eps(0.0)).to_vec();
    close(&y, &[-1.341_640_8, -0.447_213_6, 0.447_213_6, 1.341_640_8]);
}

#[test]
fn a_zero_vector_has_no_direction() {
    let z = Tensor::<Model>::zeros(3).requires_grad();
    let x = Tensor::<Model>::ones(3);
    let s = z.cosine_similarity(&x, Model, 1e-8);
    assert_eq!(s.item(), 0.0);
    assert!(s.backward().unwrap().get(&z).unwrap().to_vec().iter().all(|v| v.is_finite()));
}

#[test]
fn weight_of_another_size() {
    let x = Tensor::<(Batch, Model)>::zeros((1, 2));
    let w = Tensor::<Model>::zeros(3);
    let e = x.try_rms_norm(Model, Normalize::eps(0.1).weight(&w)).unwrap_err().to_string();
    assert_eq!(e, "rms_norm: the weight has sizes [3], but axis `Model` has size 2");
    let e = x.try_group_norm(Model, 3, Batch, Normalize::eps(0.1)).unwrap_err().to_string();
    assert_eq!(e, "group_norm: axis `Model` of size 2 has no 3 equal groups");
    assert!(x.erase().group_norm("Model", 2, &["Model"], 0.1, None, None).is_err());
    assert!(x.erase().rms_norm("Model", 0.1, Some(&x.erase()), None).is_err());
}

#[test]
fn which_half_is_the_gate() {
    let x = Tensor::<(Batch, Model)>::from_vec((1, 4), vec![1.0, 2.0, 100.0, -100.0]);
    // glu: the second half opens or shuts the first.
    close(&x.split_glu(Model, Half).to_vec(), &[1.0, 0.0]);
    // swiglu: the first half is the gate, silu(1) * 100 and silu(2) * -100.
    close(&x.split_swiglu(Model, Half).to_vec(), &[73.105_86, -176.159_42]);
    let odd = Tensor::<(Batch, Model)>::zeros((1, 3));
    let e = odd.try_split_glu(Model, Half).unwrap_err().to_string();
    assert_eq!(e, "split_glu: axis `Model` has the odd size 3, which has no two halves");
    let e = x.try_split_glu(Model, Fixed).unwrap_err().to_string();
    assert_eq!(e, "split_glu: axis `Fixed` has the fixed size 3, but half of the input is 2");
}

#[test]
fn snake_of_huge_arguments() {
    let x = Tensor::<Model>::from_vec(2, vec![3e7, 1.0]);
    let (a, b) = (Tensor::<()>::scalar(1.0), Tensor::<()>::scalar(0.5));
    let want = |x: f32| x + 0.5 * (f64::from(x).sin() as f32).powi(2);
    close(&x.snake(&a, &b).to_vec(), &[want(3e7), want(1.0)]);
}

#[test]
fn rope_turns_by_position() {
    let x = Tensor::<(Seq, Dim)>::from_vec((2, 4), vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    // Two pairs, with the angles p and p / 10 at position p.
    let rope = Rope::new(4, 100.0);
    let (s, c) = (3f32.sin(), 3f32.cos());
    let (s2, c2) = (0.3f32.sin(), 0.3f32.cos());
    // Halves: (x0, x2) by 3, (x1, x3) by 0.3; position 0 stays.
    let y = x.rope(Seq, Dim, &rope.table([0, 3]));
    close(&y.to_vec(), &[1.0, 0.0, 0.0, 1.0, c, -s2, s, c2]);
    let y = x.rope(Seq, Dim, &rope.clone().interleaved().table([-3, 3]));
    close(&y.to_vec(), &[c, -s, s2, c2, c, s, -s2, c2]);
    // A part of the features: the first two, or the last two.
    let part = Rope::new(2, 100.0);
    let y = x.rope(Seq, Dim, &part.clone().interleaved().table([0, 3]));
    close(&y.to_vec()[4..], &[c, s, 0.0, 1.0]);
    let y = x.rope(Seq, Dim, &part.interleaved_tail().table([0, 3]));
    close(&y.to_vec()[4..], &[1.0, 0.0, -s, c]);
}

#[test]
fn frequencies_of_long_contexts() {
    let d = 8;
    let plain = Rope::new(d, 10_000.0);
    let f = plain.frequencies();
    assert_eq!(f.len(), 4);
    assert!((f[1] - 0.1).abs() < 1e-15 && (f[3] - 1e-3).abs() < 1e-17);
    assert_eq!(plain.clone().linear(4.0).frequencies()[0], 0.25);
    let divided = plain.clone().frequency_factors([1.0, 2.0, 4.0, 8.0]).frequencies();
    assert!((divided[3] - 1e-3 / 8.0).abs() < 1e-18);

    // YaRN: over 4096 positions pair 0 turns 652 times and stays, pair 3 turns 0.65 times and is slowed by 4.
    let yarn = plain.clone().yarn(4.0, 4096);
    let y = yarn.frequencies();
    assert_eq!(y[0], f[0]);
    assert!((y[3] - f[3] / 4.0).abs() < 1e-18);
    // The ramp runs from pair floor(1.30) = 1 to ceil(2.81) = 3: pair 2 is half way.
    assert!((y[2] - 0.5 * (f[2] + f[2] / 4.0)).abs() < 1e-15);
    assert!((yarn.magnitude() - (0.1 * 4f64.ln() + 1.0)).abs() < 1e-15);
    assert_eq!(plain.clone().yarn(1.0, 4096).frequencies(), f);
    assert_eq!(plain.clone().yarn(1.0, 4096).magnitude(), 1.0);

    // Llama 3: wavelengths 6.28 and 62.8 are short, 6283 (pair 3) is between 2048 and 8192, 628 is short.
    let l = plain.clone().llama3(8.0, 1.0, 4.0, 8192).frequencies();
    assert_eq!(l[..3], f[..3]);
    let keep = (8192.0 / (2.0 * std::f64::consts::PI / f[3]) - 1.0) / 3.0;
    assert!((l[3] - (f[3] / 8.0 * (1.0 - keep) + f[3] * keep)).abs() < 1e-18);
}

#[test]
fn rope_refuses() {
    let x = Tensor::<(Seq, Dim)>::zeros((2, 4));
    let e = x.try_rope(Seq, Dim, &Rope::new(4, 100.0).table(0..3)).unwrap_err().to_string();
    assert_eq!(e, "rope: the table has 3 positions, but axis `Seq` has size 2");
    let e = x.try_rope(Seq, Dim, &Rope::new(6, 100.0).table(0..2)).unwrap_err().to_string();
    assert_eq!(e, "rope: 6 features are to turn, but axis `Dim` has size 4");
    assert!(x.try_rope(Seq, Seq, &Rope::new(2, 100.0).table(0..2)).is_err());
    assert!(Rope::new(3, 100.0).try_table(0..1).is_err());
    assert!(Rope::new(4, -1.0).try_table(0..1).is_err());
    assert!(Rope::new(4, 10.0).frequency_factors([1.0]).try_table(0..1).is_err());
    let e = x.try_relpos_shift(Seq, Dim, Key, 4).unwrap_err().to_string();
    assert_eq!(e, "relpos_shift: 2 queries and 4 keys need 5 relative positions, but axis `Dim` has 4");
}
