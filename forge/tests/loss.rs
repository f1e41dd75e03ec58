//! Losses: options, goldens, ends of the domain, errors.

use forge::loss::{Each, Mean, Reduction, Sum};
use forge::prelude::*;
use forge::{CrossEntropy, Distill};

axes! { Batch, Class, Model, Pick }

fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "element {i}: {a}, not {b}");
    }
}

#[test]
fn cross_entropy_by_hand() {
    let x = Tensor::<(Batch, Class)>::from_vec((2, 3), vec![0.0, 1.0, 2.0, 0.0, 0.0, 0.0]).requires_grad();
    let y = Tensor::<Batch, i64>::from_vec(2, vec![1, 0]);
    // log(1 + e + e^2) - 1 and log 3.
    let want = [1.407_606, 1.098_612_3];
    let plain = CrossEntropy::new();
    close(&x.cross_entropy(Class, &y, plain, Each).to_vec(), &want);
    close(&[x.cross_entropy(Class, &y, plain, Sum).item()], &[want[0] + want[1]]);
    let mean = x.cross_entropy(Class, &y, plain, Mean);
    close(&[mean.item()], &[(want[0] + want[1]) / 2.0]);
    let g = mean.backward().unwrap().get(&x).unwrap().to_vec();
    let third = 1.0 / 3.0;
    let p = [0.090_030_57, 0.244_728_47, 0.665_240_96];
    close(&g, &[p[0] / 2.0, (p[1] - 1.0) / 2.0, p[2] / 2.0, (third - 1.0) / 2.0, third / 2.0, third / 2.0]);
    // Smoothing 0.3: 0.7 of the label, 0.1 of each class.
    let smooth = x.cross_entropy(Class, &y, plain.label_smoothing(0.3), Each).to_vec();
    close(&smooth, &[2.407_606 - 0.7 - 0.1 * 3.0, want[1]]);
    // Log-probabilities give the same by another way.
    close(&x.log_softmax(Class).nll_loss(Class, &y, None, Each).to_vec(), &want);
}

#[test]
fn nothing_to_learn_is_zero() {
    // torch gives NaN for a mean over no rows.
    let x = Tensor::<(Batch, Class)>::ones((2, 3)).requires_grad();
    let y = Tensor::<Batch, i64>::from_vec(2, vec![-100, -100]);
    let how = CrossEntropy::new().ignore_index(-100);
    let w = Tensor::<(Class, Model)>::ones((4, 3));
    let rows: Tensor<(Batch, Model)> = x.rename(Class, Model);
    for loss in [
        x.cross_entropy(Class, &y, how, Mean),
        x.nll_loss(Class, &y, Some(-100), Mean),
        rows.linear_cross_entropy(Model, &w, Class, &y, how, Mean),
    ] {
        assert_eq!(loss.item(), 0.0);
        assert_eq!(loss.backward().unwrap().get(&x).unwrap().to_vec(), [0.0; 6]);
    }
    let none = Tensor::<(Batch, Class)>::zeros((0, 3));
    let no_labels = Tensor::<Batch, i64>::from_vec(0, vec![]);
    assert_eq!(none.cross_entropy(Class, &no_labels, how, Mean).item(), 0.0);
}

#[test]
fn an_ignored_row_may_hold_anything() {
    let x = Tensor::<(Batch, Class)>::from_vec((2, 2), vec![f32::NAN, f32::INFINITY, 0.0, 0.0]).requires_grad();
    let y = Tensor::<Batch, i64>::from_vec(2, vec![9, 0]);
    let loss = x.cross_entropy(Class, &y, CrossEntropy::new().ignore_index(9), Mean);
    close(&[loss.item()], &[2f32.ln()]);
    close(&loss.backward().unwrap().get(&x).unwrap().to_vec(), &[0.0, 0.0, -0.5, 0.5]);
}

#[test]
fn labels_outside_are_errors() {
    let x = Tensor::<(Batch, Class)>::zeros((2, 3));
    let plain = CrossEntropy::new();
    let text = |labels: Vec<i64>| {
        let y = Tensor::<Batch, i64>::from_vec(2, labels);
        x.try_cross_entropy(Class, &y, plain, Mean).unwrap_err().to_string()
    };
    assert_eq!(text(vec![0, 3]), "cross_entropy: index 3 is outside axis `Class` of size 3");
    // No label is ignored unless it is asked for.
    assert_eq!(text(vec![-100, 0]), "cross_entropy: index -100 is outside axis `Class` of size 3");
    let y = Tensor::<Batch, i64>::from_vec(3, vec![0; 3]);
    let e = x.try_cross_entropy(Class, &y, plain, Mean).unwrap_err().to_string();
    assert_eq!(e, "cross_entropy: axis `Batch` has size 2 in (Batch 2, Class 3) but 3 in (Batch 3)");
    let y = Tensor::<Batch, i64>::from_vec(2, vec![0; 2]);
    assert!(x.try_cross_entropy(Class, &y, plain.label_smoothing(1.5), Mean).is_err());
    let w = Tensor::<(Class, Model)>::zeros((4, 2));
    let rows = x.rename(Class, Model);
    let e = rows.try_linear_cross_entropy(Model, &w, Class, &y, plain, Mean).unwrap_err().to_string();
    assert_eq!(e, "linear_cross_entropy: axis `Model` has size 3 in (Batch 2, Model 3) but 2 in (Class 4, Model 2)");
    let floats = Tensor::<Batch>::zeros(2).erase();
    let e = x.erase().cross_entropy("Class", &floats, plain, Reduction::Mean).unwrap_err().to_string();
    assert!(e.contains("integer labels"), "{e}");
}

#[test]
fn the_linear_form_is_the_same_loss() {
    let x = Tensor::<(Batch, Model)>::from_vec((3, 2), vec![1.0, -0.5, 0.25, 2.0, -1.0, 0.0]).requires_grad();
    let w =
        Tensor::<(Class, Model)>::from_vec((4, 2), vec![0.5, 1.0, -1.0, 0.25, 2.0, 0.0, 0.75, -0.5]).requires_grad();
    let y = Tensor::<Batch, i64>::from_vec(3, vec![2, 7, 0]);
    let how = CrossEntropy::new().ignore_index(7).label_smoothing(0.2);
    let a = x.linear_cross_entropy(Model, &w, Class, &y, how, Mean);
    let b = x.dot(&w, Model).cross_entropy(Class, &y, how, Mean);
    close(&[a.item()], &[b.item()]);
    let (ga, gb) = (a.backward().unwrap(), b.backward().unwrap());
    close(&ga.get(&x).unwrap().to_vec(), &gb.get(&x).unwrap().to_vec());
    close(&ga.get(&w).unwrap().to_vec(), &gb.get(&w).unwrap().to_vec());
}

#[test]
fn distillation_of_all_classes_is_cross_entropy_with_soft_targets() {
    let x = Tensor::<(Batch, Model)>::from_vec((2, 2), vec![1.0, -0.5, 0.25, 2.0]);
    let w = Tensor::<(Class, Model)>::from_vec((2, 2), vec![0.5, 1.0, -1.0, 0.25]);
    // Row 1 alone, its entries out of order.
    let rows = Tensor::<Pick, i64>::from_vec(2, vec![1, 1]);
    let classes = Tensor::<Pick, i64>::from_vec(2, vec![1, 0]);
    let probs = Tensor::<Pick>::from_vec(2, vec![0.75, 0.25]);
    let entries = Distill::new(&rows, &classes, &probs);
    let log = x.dot(&w, Model).log_softmax(Class);
    let want = -(0.75 * log.get((1, 1)) + 0.25 * log.get((1, 0)));
    close(&[x.linear_distill(Batch, Model, &w, Class, entries.sum()).item()], &[want]);
    close(&[x.linear_distill(Batch, Model, &w, Class, entries.scale(4.0)).item()], &[2.0 * want]);
    let outside = Tensor::<Pick, i64>::from_vec(2, vec![1, 2]);
    let e = x.try_linear_distill(Batch, Model, &w, Class, Distill::new(&outside, &classes, &probs)).unwrap_err();
    assert_eq!(e.to_string(), "linear_distill: index 2 is outside axis `Batch` of size 2");
}

#[test]
fn pairs_by_hand() {
    let x = Tensor::<Batch>::from_vec(2, vec![0.5, 3.0]);
    let y = Tensor::<Batch>::from_vec(2, vec![0.0, 0.0]);
    close(&x.mse_loss(&y, Each).to_vec(), &[0.25, 9.0]);
    close(&[x.mse_loss(&y, Mean).item()], &[4.625]);
    close(&x.huber_loss(&y, 2.0, Each).to_vec(), &[0.125, 4.0]);
    let p = Tensor::<Batch>::from_vec(2, vec![0.8, 0.5]);
    let t = Tensor::<Batch>::from_vec(2, vec![1.0, 0.0]);
    close(&p.bce_loss(&t, Each).to_vec(), &[-(0.8f32.ln()), 2f32.ln()]);
    close(&x.bce_with_logits_loss(&t, Each).to_vec(), &[0.474_077, 3.048_587_4]);
    let log = Tensor::<Batch>::from_vec(2, vec![-1.0, -2.0]);
    close(&log.kl_div_loss(&p, Each).to_vec(), &[0.8 * (0.8f32.ln() + 1.0), 0.5 * (0.5f32.ln() + 2.0)]);
    close(&log.kl_div_log_target_loss(&p.log(), Each).to_vec(), &log.kl_div_loss(&p, Each).to_vec());
    assert!(x.try_huber_loss(&y, 0.0, Mean).is_err());
    // A target with fewer axes is repeated.
    let m = Tensor::<(Batch, Class)>::ones((2, 3));
    close(&[m.mse_loss(&y, Sum).item()], &[6.0]);
}

#[test]
fn certain_and_impossible() {
    let p = Tensor::<Batch>::from_vec(2, vec![0.0, 1.0]).requires_grad();
    let t = Tensor::<Batch>::from_vec(2, vec![1.0, 1.0]);
    let loss = p.bce_loss(&t, Sum);
    assert!((loss.item() - 16.118_095).abs() < 1e-3);
    assert_eq!(loss.backward().unwrap().get(&p).unwrap().to_vec(), [0.0, 0.0]);
    // A target of 0 costs nothing, even where the input says "impossible".
    let x = Tensor::<Batch>::from_vec(2, vec![f32::NEG_INFINITY, -1.0]);
    let t = Tensor::<Batch>::from_vec(2, vec![0.0, 1.0]).requires_grad();
    let loss = x.kl_div_loss(&t, Sum);
    assert_eq!(loss.item(), 1.0);
    assert_eq!(loss.backward().unwrap().get(&t).unwrap().to_vec(), [0.0, 2.0]);
}

#[test]
fn half_is_computed_wide() {
    let x = Tensor::<(Batch, Class)>::from_vec((1, 3), vec![0.5, 1.0, -2.0]);
    let y = Tensor::<Batch, i64>::from_vec(1, vec![1]);
    let want = x.cross_entropy(Class, &y, CrossEntropy::new(), Mean).to::<f16>().item();
    assert_eq!(x.to::<f16>().cross_entropy(Class, &y, CrossEntropy::new(), Mean).item(), want);
}
