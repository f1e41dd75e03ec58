//! The typed surface of axes: result types, generic code, the macros, and axes of several crates.
#![allow(missing_docs, reason = "a test")]

use forge::prelude::*;
use forge::{PermutationOf, Replace, algebra, axes};

axes! { Batch, In, Out, Hidden, Class, Seq, Key, Head, Dim, Rows, Cols, Model = 6, F2 = 2, F3 = 3 }

/// Values that no symmetry hides.
fn wave<X: Axes + Distinct>(dims: X::Dims) -> Tensor<X> {
    let mut at = 0.0f32;
    Tensor::from_fn(dims, |_| {
        at += 1.0;
        (at * 0.37).sin()
    })
}

fn close<X: Axes, Y: Axes>(a: &Tensor<X>, b: &Tensor<Y>) {
    assert_eq!(a.shape(), b.shape());
    for (x, y) in a.to_vec().iter().zip(b.to_vec()) {
        assert!((x - y).abs() < 1e-5, "{a:?} {b:?}");
    }
}

#[test]
fn dot_wherever_the_axis_stands() {
    let x = Tensor::<(Batch, In)>::from_vec((2, 3), vec![1., 2., 3., 4., 5., 6.]);
    let w = Tensor::<(In, Out)>::from_vec((3, 2), vec![1., 0., 0., 1., 1., 1.]);
    let y: Tensor<(Batch, Out)> = x.dot(&w, In);
    assert_eq!(y.to_vec(), [4., 5., 10., 11.]);
    let wt: Tensor<(Out, In)> = w.permute();
    let xt = x.permute::<(In, Batch)>();
    let y2: Tensor<(Batch, Out)> = xt.dot(&wt, In);
    assert_eq!(y.to_vec(), y2.to_vec());
    let z: Tensor<(Out, Batch)> = w.dot(&x, In);
    assert_eq!(z.permute::<(Batch, Out)>().to_vec(), y.to_vec());
    let s: Tensor<()> = x.sum(Batch).dot(&w.sum(Out), In);
    assert_eq!(s.item(), 5. + 7. + 9. * 2.);
}

#[test]
fn dot_over_several_axes_and_with_batch_axes() {
    let q = wave::<(Batch, Head, Seq, Dim)>((2, 2, 3, 4));
    let k = wave::<(Batch, Head, Key, Dim)>((2, 2, 5, 4));
    let s: Tensor<(Batch, Head, Seq, Key)> = q.dot(&k, Dim);
    let t = einsum!(q[Batch, Head, Seq, Dim], k[Batch, Head, Key, Dim] -> [Batch, Head, Seq, Key]);
    close(&s, &t);
    let u: Tensor<(Key, Seq, Batch, Head)> = q.einsum(&k);
    close(&u.permute::<(Batch, Head, Seq, Key)>(), &t);
    let m: Tensor<(Batch, Seq, Key)> = q.dot(&k, (Head, Dim));
    close(&m, &s.sum(Head));
    let m: Tensor<(Batch, Seq, Key)> = q.dot(&k, (Dim, Head));
    close(&m, &s.sum(Head));
    // a batch axis that stands after a free one: the left operand's order is kept
    let a = wave::<(Seq, Batch, Dim)>((3, 2, 4));
    let b = wave::<(Dim, Batch, Key)>((4, 2, 5));
    let c: Tensor<(Seq, Batch, Key)> = a.dot(&b, Dim);
    close(&c, &einsum!(a[Seq, Batch, Dim], b[Dim, Batch, Key] -> [Seq, Batch, Key]));
}

#[test]
fn einsum_of_one_and_three() {
    let s = wave::<(Batch, Head, Seq)>((2, 3, 4));
    let v = wave::<(Seq, Hidden)>((4, 5));
    // three operands; Hidden stands in one operand alone and is summed
    let r: Tensor<(Out, Batch)> = {
        let w = wave::<(Out, Head)>((6, 3));
        einsum!(s[Batch, Head, Seq], v[Seq, Hidden], w[Out, Head] -> [Out, Batch])
    };
    let w = wave::<(Out, Head)>((6, 3));
    let by_hand = w.dot(&s.dot(&v.sum(Hidden), Seq), Head);
    close(&r, &by_hand);
    let total: Tensor<()> = einsum!(v[Seq, Hidden] -> []);
    close(&total, &v.sum((Seq, Hidden)));
    let column: Tensor<Seq> = einsum!(v[Seq, Hidden] -> [Seq]);
    close(&column, &v.sum(Hidden));
    let turned = einsum!(v[Seq, Hidden] -> [Hidden, Seq]);
    close(&turned, &v.permute::<(Hidden, Seq)>());
    // an expression, and a call
    let twice = einsum!((&v + &v)[Seq, Hidden] -> [Seq, Hidden]);
    close(&twice, &v.scale(2.0));
    close(&einsum!(v.scale(2.0)[Seq, Hidden] -> [Seq, Hidden]), &twice);
}

#[test]
fn einsum_keeps_the_element_type_and_the_gradient() {
    let x = Tensor::<(Batch, In), f64>::ones((2, 3));
    let y: Tensor<Batch, f64> = einsum!(x[Batch, In] -> [Batch]);
    assert_eq!(y.to_vec(), [3.0, 3.0]);
    let x = wave::<(Batch, In)>((2, 3));
    let w = wave::<(In, Out)>((3, 4)).requires_grad();
    let grads = einsum!(x[Batch, In], w[In, Out] -> []).backward().unwrap();
    let want = einsum!(x[Batch, In], (Tensor::<Out>::ones(4))[Out] -> [In, Out]);
    close(&grads.get(&w).unwrap(), &want);
}

#[test]
fn einsum_says_which_sizes_differ() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((5, 4));
    let e = forge::try_einsum!(x[Batch, In], w[In, Out] -> [Batch, Out]).unwrap_err().to_string();
    assert_eq!(e, "einsum: axis `In` has size 3 in (Batch 2, In 3) but 5 in (In 5, Out 4)");
    let w = Tensor::<(In, Out)>::ones((3, 4));
    assert_eq!(forge::try_einsum!(x[Batch, In], w[In, Out] -> [Batch, Out]).unwrap().shape(), [2, 4]);
}

#[test]
fn broadcast_by_name() {
    let x = Tensor::<(Batch, In)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    let b = Tensor::<In>::from_vec(2, vec![10., 20.]);
    assert_eq!(x.add(&b).to_vec(), [11., 22., 13., 24.]);
    assert_eq!((&x + &b).to_vec(), [11., 22., 13., 24.]);
    assert_eq!((&x + &x.permute::<(In, Batch)>()).to_vec(), [2., 4., 6., 8.]);
    let s = Tensor::<()>::scalar(1.0);
    assert_eq!((&x - &s).to_vec(), [0., 1., 2., 3.]);
    let c = Tensor::<(Out, In)>::from_vec((1, 2), vec![1., 2.]);
    let u: Tensor<(Batch, In, Out)> = x.outer_add(&c);
    assert_eq!(u.to_vec(), [2., 4., 4., 6.]);
    let bx: Tensor<(In, Batch)> = b.outer_add(&x);
    assert_eq!(bx.to_vec(), [11., 13., 22., 24.]);
}

#[test]
fn split_and_merge() {
    let x = wave::<(Batch, Model, Seq)>((2, Model, 3));
    assert_eq!(x.shape(), [2, 6, 3]);
    let h: Tensor<(Batch, F2, F3, Seq)> = x.split(Model, (F2, F3), (F2, F3));
    let m: Tensor<(Batch, Model, Seq)> = h.merge((F2, F3), Model);
    close(&m, &x);
    let g: Tensor<(Batch, Head, Dim, Seq)> = x.split(Model, (Head, Dim), (3, 2));
    let far: Tensor<(Hidden, Dim, Seq)> = g.merge((Batch, Head), Hidden);
    assert_eq!(far.shape(), [6, 2, 3]);
    // merged axes need not stand together
    let apart: Tensor<(Hidden, Head, Dim)> = g.merge((Batch, Seq), Hidden);
    assert_eq!(apart.shape(), [6, 3, 2]);
    assert_eq!(apart.get((1, 2, 1)), g.get((0, 2, 1, 1)));
    // a part may keep the name of the whole, and the whole that of a part
    let kept: Tensor<(Batch, Head, Dim, Seq)> = g.merge((Head, Dim), Dim).split(Dim, (Head, Dim), (3, 2));
    close(&kept, &g);
}

#[test]
fn rearrange_is_the_methods_in_one_line() {
    let x = wave::<(Batch, Seq, Model)>((2, 3, Model));
    let heads = rearrange!(x[Batch, Seq, Model => (Head = 3, Dim)] -> [Batch, Head, Seq, Dim]);
    close(&heads, &x.split(Model, (Head, Dim), (3, 2)).permute::<(Batch, Head, Seq, Dim)>());
    close(&rearrange!(heads[Batch, Head, Seq, Dim] -> [Batch, Seq, (Head, Dim) => Model]), &x);
    // fixed parts need no size; neither does the one that is left
    let fixed: Tensor<(Batch, F2, F3, Seq)> = rearrange!(x[Batch, Seq, Model => (F2, F3)] -> [Batch, F2, F3, Seq]);
    close(&fixed, &x.split(Model, (F2, F3), (F2, F3)).permute::<(Batch, F2, F3, Seq)>());
    let half = rearrange!(x[Batch, Seq, Model => (F2, Dim)] -> [F2, Dim, Batch, Seq]);
    assert_eq!(half.shape(), [2, 3, 2, 3]);
    let n = 1 + 2;
    close(&rearrange!(x[Batch, Seq, Model => (Head = n, Dim)] -> [Batch, Head, Seq, Dim]), &heads);
    // nothing to do
    close(&rearrange!(x[Batch, Seq, Model] -> [Batch, Seq, Model]), &x);
    // rename, repeat, reduce
    let renamed: Tensor<(Key, Batch, Model)> = rearrange!(x[Batch, Seq, Model] -> [Seq => Key, Batch, Model]);
    close(&renamed, &x.rename(Seq, Key).permute::<(Key, Batch, Model)>());
    let copies = rearrange!(x[Batch, Seq, Model] -> [Batch, Out = 4, Seq, Model]);
    assert_eq!(copies.shape(), [2, 4, 3, 6]);
    close(&copies.mean(Out), &x);
    close(&rearrange!(mean x[Batch, Seq, Model] -> [Model]), &x.mean((Batch, Seq)));
    close(&rearrange!(sum x[Batch, Seq, Model] -> []), &x.sum_all());
    // pooling in windows of two, and a reduction that also turns
    let y = wave::<(Batch, Seq)>((2, 8));
    let pooled = rearrange!(mean y[Batch, Seq => (Key, F2)] -> [Key, Batch]);
    assert_eq!(pooled.shape(), [4, 2]);
    assert!((pooled.get((1, 0)) - (y.get((0, 2)) + y.get((0, 3))) / 2.0).abs() < 1e-6);
    // repeated and merged: each row twice
    let twice: Tensor<(Rows, Seq)> = rearrange!(y[Batch, Seq] -> [(Batch, Key = 2) => Rows, Seq]);
    assert_eq!(twice.shape(), [4, 8]);
    assert_eq!(twice.get((1, 5)), y.get((0, 5)));
}

#[test]
fn ranks_0_to_8() {
    type Eight = (Batch, In, Out, Hidden, Class, Seq, Key, Head);
    let x = wave::<Eight>((1, 2, 1, 2, 1, 2, 1, 2));
    let y = x.permute::<(Head, Key, Seq, Class, Hidden, Out, In, Batch)>();
    let z: Tensor<Eight> = y.permute();
    close(&x, &z);
    let s: Tensor<()> = x.sum((Batch, In)).sum(Out).sum(Hidden).sum(Class).sum((Seq, Key)).sum(Head);
    let d: Tensor<()> = x.dot(&y, (Batch, In, Out, Hidden, Class, Seq, Key, Head));
    assert!((d.item() - x.square().sum_all().item()).abs() < 1e-5);
    assert!((s.item() - x.sum_all().item()).abs() < 1e-5);
}

mod vocabulary {
    forge::axes! { Batch }
}

#[test]
fn four_axes_of_one_name() {
    // this crate's two and the shared one; all different
    let x = wave::<(axes::Batch, vocabulary::Batch, Batch)>((2, 3, 4));
    let w = wave::<(vocabulary::Batch, Out)>((3, 7));
    let y: Tensor<(axes::Batch, Batch, Out)> = x.dot(&w, vocabulary::Batch);
    assert_eq!(y.shape(), [2, 4, 7]);
    let z = einsum!(x[axes::Batch, vocabulary::Batch, Batch] -> [Batch]);
    assert_eq!(z.shape(), [4]);
}

// ---- generic code ----------------------------------------------------------------------------------------------

struct Linear<I: Axis, O: Axis> {
    w: Tensor<(I, O)>,
    b: Tensor<O>,
}

impl<I: Axis, O: Axis> Linear<I, O> {
    fn new(i: SizeArg<I>, o: SizeArg<O>) -> Self
    where
        (I, O): Distinct,
        O: Distinct,
    {
        Linear { w: wave((i, o)), b: wave(o) }
    }

    /// Over whatever else `x` has: one bound.
    fn forward<X: Axes + Has<I>>(&self, x: &Tensor<X>) -> Tensor<Project<X, I, O>> {
        x.affine(&self.w, &self.b)
    }
}

/// Two layers: that the middle has `Hidden` must be said, as the compiler cannot derive it.
fn mlp<X: Axes + Has<In>>(
    x: &Tensor<X>,
    l1: &Linear<In, Hidden>,
    l2: &Linear<Hidden, Out>,
) -> Tensor<Project<Project<X, In, Hidden>, Hidden, Out>>
where
    Project<X, In, Hidden>: Has<Hidden>,
{
    l2.forward(&l1.forward(x).relu())
}

/// The same without any such bound: written for the axes that it names.
fn mlp_over<X: Axes + Has<In>>(x: &Tensor<X>, l1: &Linear<In, Hidden>, l2: &Linear<Hidden, In>) -> Tensor<X> {
    x.over::<In>(|x| l2.forward(&l1.forward(x).relu()))
}

struct Block {
    wq: Tensor<(Model, Head, Dim)>,
    wk: Tensor<(Model, Head, Dim)>,
    wv: Tensor<(Model, Head, Dim)>,
    wo: Tensor<(Head, Dim, Model)>,
}

impl Block {
    fn forward<X: Axes + Has<Seq> + Has<Model>>(&self, x: &Tensor<X>) -> Tensor<X> {
        use forge::axes::Rest;
        x.over::<(Seq, Model)>(|x| {
            let q = x.dot(&self.wq, Model);
            let k = x.dot(&self.wk, Model).rename(Seq, Key);
            let v = x.dot(&self.wv, Model).rename(Seq, Key);
            let o = q.dot(&k, Dim).scale(0.5).dot(&v, Key);
            let y = einsum!(o[Rest, Seq, Head, Dim], self.wo[Head, Dim, Model] -> [Rest, Seq, Model]);
            x + &y
        })
    }
}

#[test]
fn generic_layers() {
    let l1 = Linear::<In, Hidden>::new(3, 4);
    let l2 = Linear::<Hidden, Out>::new(4, 2);
    let back = Linear::<Hidden, In>::new(4, 3);
    let x = wave::<(Batch, In, Seq)>((2, 3, 5));
    let y: Tensor<(Batch, Seq, Out)> = mlp(&x, &l1, &l2);
    let y1: Tensor<Out> = mlp(&wave::<In>(3), &l1, &l2);
    assert_eq!((y.shape(), y1.shape()), (&[2, 5, 2][..], &[2][..]));
    let z: Tensor<(Batch, In, Seq)> = mlp_over(&x, &l1, &back);
    let z2 = mlp_over(&x.permute::<(Seq, Batch, In)>(), &l1, &back);
    close(&z.permute::<(Seq, Batch, In)>(), &z2);
    assert_eq!(Linear::<Model, F2>::new(Model, F2).w.shape(), [6, 2]);
}

#[test]
fn one_block_over_any_other_axes() {
    let w = |k: usize| wave::<(Model, Head, Dim)>((Model, 2, 3)).scale(k as f64);
    let b = Block { wq: w(1), wk: w(2), wv: w(3), wo: wave((2, 3, Model)) };
    let x = wave::<(Batch, Seq, Model)>((2, 4, Model));
    let y: Tensor<(Batch, Seq, Model)> = b.forward(&x);
    axes! { Doc, Sent }
    let x4 = x.split(Batch, (Doc, Sent), (1, 2)).permute::<(Model, Sent, Seq, Doc)>();
    let y4 = b.forward(&x4).permute::<(Doc, Sent, Seq, Model)>().merge((Doc, Sent), Batch);
    close(&y, &y4);
    let y2: Tensor<(Seq, Model)> = b.forward(&x.narrow(Batch, 1..2).squeeze(Batch));
    close(&y2, &y.narrow(Batch, 1..2).squeeze(Batch));
}

/// Generic over every axis, without a `where` clause: `einsum!` compares the names as written.
fn linear<B: Axis, I: Axis, O: Axis>(x: &Tensor<(B, I)>, w: &Tensor<(I, O)>) -> Tensor<(B, O)> {
    einsum!(x[B, I], w[I, O] -> [B, O])
}

fn to_heads<B: Axis, M: Axis>(x: &Tensor<(B, M)>, heads: usize) -> Tensor<(Head, B, Dim)>
where
    (B, M): Has<M> + algebra::RoomFor<(Head, Dim), M>,
    (Head, Dim): algebra::FactorsOf<M>,
    Replace<(B, M), M, (Head, Dim)>: PermutationOf<(Head, B, Dim)>,
{
    rearrange!(x[B, M => (Head = heads, Dim)] -> [Head, B, Dim])
}

#[test]
fn generic_over_axes() {
    let x = wave::<(Batch, In)>((2, 3));
    let w = wave::<(In, Out)>((3, 4));
    close(&linear(&x, &w), &x.dot(&w, In));
    assert_eq!(to_heads(&wave::<(Batch, In)>((2, 12)), 3).shape(), [3, 2, 4]);
    assert_eq!(to_heads(&wave::<(Batch, Model)>((5, Model)), 3).shape(), [3, 5, 2]);
}

macro_rules! in_module {
    ($m:ident $name:ident) => {
        mod $m {
            forge::axes! { $name }
        }
    };
}
in_module!(left Shared);
in_module!(right Shared);

#[test]
fn declarations_in_functions_and_macros_differ() {
    fn f() -> u64 {
        axes! { Local }
        Local::KEY.hash
    }
    fn g() -> u64 {
        axes! { Local }
        Local::KEY.hash
    }
    assert_ne!(f(), g());
    assert_ne!(left::Shared::KEY.hash, right::Shared::KEY.hash);
}

#[test]
fn attributes_and_visibility() {
    mod inner {
        forge::axes! {
            /// Documented.
            #[derive(Debug)]
            pub(super) Shown,
            #[cfg(any())]
            Absent,
        }
    }
    assert_eq!(format!("{:?}", inner::Shown), "Shown");
}

/// A crate that re-exports Forge under another name.
mod facade {
    pub use forge as deep;
}
use facade::deep;

#[test]
fn macros_through_a_re_export() {
    deep::axes! { Aa, Bb }
    let x = Tensor::<(Aa, Bb)>::ones((2, 3));
    assert_eq!(deep::einsum!(x[Aa, Bb] -> [Bb]).to_vec(), [2.0; 3]);
    assert_eq!(deep::rearrange!(x[Aa, Bb] -> [Bb, Aa]).shape(), [3, 2]);
}
