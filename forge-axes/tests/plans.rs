//! Plans, checked against loops written out by hand.
#![allow(missing_docs, reason = "a test")]

mod common;
use common::*;
use forge_axes::plan::*;
use forge_axes::*;

/// Sizes by name, all different.
fn size(k: &Key<'_>) -> usize {
    ["Batch", "In", "Out", "Seq", "Head", "Dim"].iter().position(|n| *n == k.name).unwrap() + 2
}
fn dims(keys: &[Key<'_>]) -> Vec<usize> {
    keys.iter().map(size).collect()
}
fn each(dims: &[usize], mut f: impl FnMut(&[usize])) {
    let n: usize = dims.iter().product();
    let mut ix = vec![0; dims.len()];
    for flat in 0..n {
        let mut rest = flat;
        for i in (0..dims.len()).rev() {
            ix[i] = rest % dims[i];
            rest /= dims[i];
        }
        f(&ix);
    }
}
fn offset(ix: &[usize], dims: &[usize]) -> usize {
    ix.iter().zip(dims).fold(0, |o, (i, d)| o * d + i)
}
fn values(keys: &[Key<'_>], seed: usize) -> Vec<f64> {
    let n: usize = dims(keys).iter().product();
    (0..n).map(|i| ((i * 7919 + seed) % 13) as f64 - 6.0).collect()
}
/// Runs a contraction by its positions alone.
fn contract(p: &ContractPlan, x: &[f64], xd: &[usize], y: &[f64], yd: &[usize]) -> (Vec<f64>, Vec<usize>) {
    assert_eq!((p.l_rank as usize, p.r_rank as usize), (xd.len(), yd.len()));
    let (on, sn) = (p.out_rank as usize, p.sum_rank as usize);
    let find = |l: u8, r: u8| if l == NONE { yd[r as usize] } else { xd[l as usize] };
    let out: Vec<usize> = (0..on).map(|i| find(p.out[0][i], p.out[1][i])).collect();
    let sum: Vec<usize> = (0..sn).map(|i| find(p.sum[0][i], p.sum[1][i])).collect();
    let mut z = vec![0.0; out.iter().product()];
    each(&out, |o| {
        each(&sum, |s| {
            let at = |side: usize, rank: usize| -> Vec<usize> {
                let mut ix = vec![usize::MAX; rank];
                for (i, v) in o.iter().enumerate() {
                    if p.out[side][i] != NONE {
                        ix[p.out[side][i] as usize] = *v;
                    }
                }
                for (i, v) in s.iter().enumerate() {
                    if p.sum[side][i] != NONE {
                        ix[p.sum[side][i] as usize] = *v;
                    }
                }
                ix
            };
            z[offset(o, &out)] += x[offset(&at(0, xd.len()), xd)] * y[offset(&at(1, yd.len()), yd)];
        });
    });
    (z, out)
}
/// Runs it by the names.
fn by_name(l: &[Key<'_>], x: &[f64], r: &[Key<'_>], y: &[f64], out: &[Key<'_>]) -> Vec<f64> {
    let mut all: Vec<Key<'_>> = out.to_vec();
    for k in l.iter().chain(r) {
        if !all.iter().any(|a| a.name == k.name) {
            all.push(*k);
        }
    }
    let mut z = vec![0.0; dims(out).iter().product()];
    each(&dims(&all), |ix| {
        let at = |keys: &[Key<'_>]| {
            let ix: Vec<usize> = keys.iter().map(|k| ix[all.iter().position(|a| a.name == k.name).unwrap()]).collect();
            offset(&ix, &dims(keys))
        };
        z[at(out)] += x[at(l)] * y[at(r)];
    });
    z
}

fn check<L: Axes, R: Axes, Y: Axes>() {
    let (l, r, out) = (L::KEYS, R::KEYS, Y::KEYS);
    let p = const { &ContractPlan::new(L::KEYS, R::KEYS, Y::KEYS) };
    assert_eq!(*p, ContractPlan::new(l, r, out), "const and run time agree");
    let (x, y, dz) = (values(l, 1), values(r, 2), values(out, 3));
    let (z, zd) = contract(p, &x, &dims(l), &y, &dims(r));
    assert_eq!(zd, dims(out));
    assert_eq!(z, by_name(l, &x, r, &y, out));
    // The gradients: contractions again; what was summed in one operand alone is spread.
    for (g, own, other, other_values) in [(p.grad_left(), l, r, &y), (p.grad_right(), r, l, &x)] {
        let got: Vec<Key<'_>> =
            own.iter().enumerate().filter(|(i, _)| g.spread >> i & 1 == 0).map(|(_, k)| *k).collect();
        let private = own.iter().filter(|k| pos(out, k) == NONE && pos(other, k) == NONE).count();
        assert_eq!(own.len() - got.len(), private);
        let (d, dd) = contract(&g.plan, &dz, &dims(out), other_values, &dims(other));
        assert_eq!(dd, dims(&got));
        assert_eq!(d, by_name(out, &dz, other, other_values, &got));
    }
}

#[test]
fn contractions_and_their_gradients() {
    check::<(Batch, In), (In, Out), Dot<(Batch, In), (In, Out), In>>();
    check::<(In, Batch), (Out, In), (Out, Batch)>();
    check::<(Batch, Seq, In), (In, Batch, Out), (Batch, Seq, Out)>();
    check::<(Seq, Batch, In), (In, Out, Batch), (Out, Batch, Seq)>();
    check::<(Batch, In), (Batch, In), Batch>();
    check::<(Batch, In), (In, Batch), ()>();
    check::<Batch, Out, (Out, Batch)>();
    check::<(), (Batch, In), (In, Batch)>();
    // axes that one operand alone has and the output lacks
    check::<(Seq, In), (In, Out), Out>();
    check::<(Seq, In, Head), (In, Out, Dim), (Out, Head)>();
    check::<(Seq, In), (Out, Dim), ()>();
}

#[test]
fn pointwise() {
    const P: PointwisePlan = PointwisePlan::new(<(Batch, In, Out)>::KEYS, <(Out, Batch)>::KEYS);
    assert_eq!((P.rank, P.r_rank, P.identity), (3, 2, false));
    assert_eq!(P.map[..4], [1, NONE, 0, NONE]);
    let g = P.grad_right();
    // sum over In; what is left is (Batch, Out), and (Out, Batch) takes it as 1, 0
    assert_eq!((g.sum, g.rank, g.identity), (0b010, 2, false));
    assert_eq!(g.order[..2], [1, 0]);
    let p = PointwisePlan::new(<(Batch, In)>::KEYS, <(Batch, In)>::KEYS);
    assert!(p.identity && p.grad_right().identity && p.grad_right().sum == 0);
    let p = PointwisePlan::new(<(Batch, In)>::KEYS, Batch::KEYS);
    assert!(!p.identity);
    assert_eq!((p.grad_right().sum, p.grad_right().identity), (0b10, true));
    let p = PointwisePlan::new(<(Batch, In)>::KEYS, &[]);
    assert_eq!((p.grad_right().sum, p.grad_right().rank), (0b11, 0));
}

#[test]
#[should_panic = "not in the left one"]
fn pointwise_needs_a_subset() {
    let _ = PointwisePlan::new(Batch::KEYS, In::KEYS);
}

#[test]
fn outer() {
    type L = (Batch, In);
    type R = (Out, In);
    let p = OuterPlan::new(L::KEYS, R::KEYS, <Union<L, R>>::KEYS);
    assert_eq!((p.rank, p.l_rank, p.r_rank), (3, 2, 2));
    assert_eq!(p.at[0][..3], [0, 1, NONE]);
    assert_eq!(p.at[1][..3], [NONE, 1, 0]);
    assert_eq!((p.grad_left().sum, p.grad_left().identity), (0b100, true));
    assert_eq!(p.grad_right().sum, 0b001);
    assert_eq!(p.grad_right().order[..2], [1, 0]);
}

#[test]
fn einsum_of_three() {
    const P: EinsumPlan<3> =
        EinsumPlan::new([<(Batch, In)>::KEYS, <(In, Out)>::KEYS, <(Seq, Out)>::KEYS], <(Seq, Batch)>::KEYS);
    assert_eq!((P.out_rank, P.sum_rank, P.loops()), (2, 2, 4));
    // loops: Seq, Batch, then In, Out
    assert_eq!(P.rows(), [&[NONE, 0, 1, NONE][..], &[NONE, NONE, 0, 1], &[0, NONE, NONE, 1]]);
    // the same at run time, for a number of operands not known before
    let ops: Vec<&[Key<'_>]> = vec![<(Batch, In)>::KEYS, <(In, Out)>::KEYS, <(Seq, Out)>::KEYS];
    let mut at = vec![[0; MAX_LOOPS]; 3];
    let ranks = einsum(&ops, <(Seq, Batch)>::KEYS, &mut at).unwrap();
    assert_eq!((ranks.out_rank, ranks.sum_rank), (2, 2));
    assert_eq!(at, P.at);
    let fault = |out: &[Key<'_>]| einsum(&ops, out, &mut [[0; MAX_LOOPS]; 3]).unwrap_err();
    assert_eq!(fault(<(Seq, Dim)>::KEYS), EinsumFault::OutputNowhere(1));
    assert_eq!(fault(<(Seq, Batch, Seq)>::KEYS), EinsumFault::OutputTwice(2));
}

#[test]
fn einsum_has_room_for_32_axes() {
    let all: Vec<String> = (0..33).map(|i| format!("a{i}")).collect();
    let keys: Vec<Key<'_>> = all.iter().map(|n| Key::named(n)).collect();
    let ops = |n: usize| -> Vec<&[Key<'_>]> { keys[..n].chunks(16).collect() };
    assert_eq!(einsum(&ops(32), &[], &mut [[0; MAX_LOOPS]; 2]).unwrap().sum_rank, 32);
    assert_eq!(einsum(&ops(33), &[], &mut [[0; MAX_LOOPS]; 3]), Err(EinsumFault::TooManyAxes));
    assert_eq!(einsum(&ops(32), &keys[..17], &mut [[0; MAX_LOOPS]; 2]), Err(EinsumFault::TooManyAxes));
}

#[test]
fn orders() {
    type X = (Batch, Seq, Head, Dim);
    let m = MergePlan::new(X::KEYS, <(Dim, Seq)>::KEYS);
    assert_eq!((m.at, m.parts, m.identity), (2, 2, false));
    assert_eq!(m.order[..4], [0, 2, 3, 1]);
    let m = MergePlan::new(X::KEYS, <(Head, Dim)>::KEYS);
    assert!(m.identity && m.at == 2);
    let p = permutation(X::KEYS, <(Dim, Batch, Head, Seq)>::KEYS);
    assert_eq!(p[..5], [3, 0, 2, 1, NONE]);
    assert_eq!(inverse(&p)[..4], [1, 3, 2, 0]);
    assert_eq!(inverse(&inverse(&p)), p);
    assert_eq!(front(X::KEYS, <(Seq, Batch)>::KEYS)[..4], [2, 3, 1, 0]);
    assert_eq!(mask(X::KEYS, <(Dim, Seq, Out)>::KEYS), 0b1010);
    assert!(is_identity(&permutation(X::KEYS, X::KEYS), 4));
}

#[test]
#[should_panic = "same axes"]
fn a_permutation_names_each_axis_once() {
    let _ = permutation(<(Batch, In)>::KEYS, <(Batch, Batch)>::KEYS);
}

#[test]
fn names_match_where_an_id_is_missing() {
    let run_time = Key::named("In");
    assert!(same(&run_time, &In::KEY) && same(&In::KEY, &run_time));
    assert!(!same(&run_time, &Out::KEY));
    assert!(!same(&Key { hash: 77, ..In::KEY }, &In::KEY), "two ids that differ are two axes, whatever the names");
    assert_eq!(pos(<(Batch, In)>::KEYS, &run_time), 1);
}

#[test]
#[should_panic = "collision"]
fn a_collision_is_never_taken_for_equality() {
    let _ = same(&Key { path: "elsewhere", ..In::KEY }, &In::KEY);
}
