//! The types of results, and the bounds, as the compiler sees them. Most of it holds when it compiles.
#![allow(missing_docs, reason = "a test")]

mod common;
use common::*;
use forge_axes::*;

/// Compiles when the two types are one.
fn same<X: 'static, Y: 'static>() {
    assert_eq!(core::any::TypeId::of::<X>(), core::any::TypeId::of::<Y>());
}

/// The reference's worked contractions (matrix products of every layout), in the order of this crate: the left
/// operand keeps its axes and its order, batch axes included.
#[test]
fn contractions() {
    // (batch, m, k) . (batch, k, n)
    same::<Dot<(Batch, Rows, In), (Batch, In, Cols), In>, (Batch, Rows, Cols)>();
    // both sides with k last, or first on the left
    same::<Dot<(Rows, In), (Cols, In), In>, (Rows, Cols)>();
    same::<Dot<(In, Rows), (Cols, In), In>, (Rows, Cols)>();
    // three axes against two
    same::<Dot<(Head, Rows, Dim), (Cols, Dim), Dim>, (Head, Rows, Cols)>();
    // a scalar
    same::<Dot<Dim, Dim, Dim>, ()>();
    // a batch axis that stands second on the right
    same::<Dot<(Batch, Dim), (Cols, Batch, Dim), Dim>, (Batch, Cols)>();
    // a batch axis after a free one: left order here, batch first on request
    same::<Dot<(Seq, Batch, Dim), (Dim, Batch, Cols), Dim>, (Seq, Batch, Cols)>();
    same::<DotBatchFirst<(Seq, Batch, Dim), (Dim, Batch, Cols), Dim>, (Batch, Seq, Cols)>();
    // several axes at once, in any order
    same::<Dot<(Batch, Head, Dim), (Out, Dim, Head), (Head, Dim)>, (Batch, Out)>();
    same::<Dot<(Batch, Head, Dim), (Out, Dim, Head), (Dim, Head)>, (Batch, Out)>();
    same::<DotOver<(Batch, Head, Dim), (Head, Dim), (Head, Dim)>, Batch>();
    same::<Dot<(Batch, Head), (Head, Out), ()>, (Batch, Head, Out)>();
    same::<Project<(Batch, In, Seq), In, Out>, (Batch, Seq, Out)>();
    same::<Project<(Batch, In, Out), In, Out>, (Batch, Out)>();
    same::<Dot<(Batch, In, Out), (In, Out), In>, (Batch, Out)>();
}

/// Pointwise ops, sums, shapes of the same table.
#[test]
fn the_other_type_functions() {
    same::<Union<Rows, Cols>, (Rows, Cols)>();
    same::<Union<(Rows, Cols), Cols>, (Rows, Cols)>();
    same::<Union<Cols, (Rows, Cols)>, (Cols, Rows)>();
    same::<Union<(), (Rows, Cols)>, (Rows, Cols)>();
    same::<Remove<(Seq, Dim), Dim>, Seq>();
    same::<Remove<Seq, Seq>, ()>();
    same::<Remove<(Batch, In, Out), In>, (Batch, Out)>();
    same::<Minus<(Batch, In, Out), (Out, Batch, Seq)>, In>();
    same::<RemoveAll<(Batch, In, Out), (Out, Batch)>, In>();
    same::<Intersect<(Batch, In, Out), (Out, Seq, Batch)>, (Batch, Out)>();
    same::<Merge<(Batch, Seq, Head, Dim), (Head, Dim), Extra>, (Batch, Seq, Extra)>();
    // parts that do not touch, and in another order
    same::<Merge<(Batch, Seq, Head, Dim), (Dim, Seq), Extra>, (Batch, Head, Extra)>();
    // merged into the name of one of the parts
    same::<Merge<(Batch, Seq, Head, Dim), (Seq, Dim), Seq>, (Batch, Seq, Head)>();
    same::<Replace<(Batch, Model), Model, (Head, Dim)>, (Batch, Head, Dim)>();
    same::<Replace<(Batch, Model), Batch, ()>, Model>();
    same::<Replace<(Batch, In), In, Out>, (Batch, Out)>();
    same::<Push<(), Batch>, Batch>();
    same::<Push<Batch, In>, (Batch, In)>();
    same::<InsertFront<(Batch, In), Seq>, (Seq, Batch, In)>();
    same::<InsertFront<(), Seq>, Seq>();
    same::<PushNew<(Batch, In), In>, (Batch, In)>();
    same::<DiagonalOf<(Rows, Batch, Cols), Rows, Cols, Dim>, (Batch, Dim)>();
    same::<OverTo<(Batch, Seq, In, Head), (Seq, In), (Seq, Out)>, (Batch, Head, Seq, Out)>();
    same::<Concat<Batch, (In, Out)>, (Batch, In, Out)>();
}

#[test]
fn eight_axes_and_no_more() {
    type Eight = (Batch, In, Out, Seq, Head, Dim, Rows, Cols);
    type Back = (Cols, Rows, Dim, Head, Seq, Out, In, Batch);
    fn permutes<X: PermutationOf<Y>, Y: Axes>() {}
    permutes::<Eight, Back>();
    same::<Remove<Eight, Seq>, (Batch, In, Out, Head, Dim, Rows, Cols)>();
    same::<Dot<Eight, Back, (In, Cols)>, (Batch, Out, Seq, Head, Dim, Rows)>();
    same::<Push<Eight, Extra>, MoreThan8Axes>();
    same::<Union<Eight, Extra>, MoreThan8Axes>();
    assert_eq!(Eight::RANK, MAX_AXES);
    assert_eq!(names(Back::KEYS)[0], "Cols");
}

#[test]
fn bounds() {
    fn has<X: Has<A>, A: Axis>() {}
    fn lacks<X: Lacks<A>, A: Axis>() {}
    fn subset<R: SubsetOf<L>, L: Axes>() {}
    fn none_in<R: NoneIn<L>, L: Axes>() {}
    fn distinct<X: Distinct>() {}
    fn permutes<X: PermutationOf<Y>, Y: Axes>() {}
    fn same_size<A: SameSize<B>, B: Axis>() {}
    fn resizable<A: Resizable>() {}
    has::<In, In>();
    has::<(Batch, In), In>();
    lacks::<(), In>();
    lacks::<(Batch, Out), In>();
    subset::<(), ()>();
    subset::<(), Batch>();
    subset::<In, (Batch, In)>();
    subset::<(In, Batch), (Batch, Out, In)>();
    none_in::<(In, Batch), (Out, Seq)>();
    none_in::<(), (Out, Seq)>();
    distinct::<()>();
    distinct::<Batch>();
    distinct::<(Batch, In, Out)>();
    permutes::<(), ()>();
    permutes::<Batch, Batch>();
    permutes::<(Batch, In, Out), (Out, Batch, In)>();
    same_size::<In, Out>();
    same_size::<Model, Out>();
    same_size::<Out, Model>();
    same_size::<Model, Model>();
    resizable::<In>();
}

/// Bounds of generic code follow from the simplest ones: what a layer states is enough for what it calls.
#[test]
fn bounds_in_generic_code() {
    fn dot<X: Axes, S: Axes + SubsetOf<X>>() -> usize {
        X::RANK - S::RANK
    }
    fn layer<X: Axes + Has<In> + Has<Head>>() -> (usize, usize) {
        (dot::<X, In>(), dot::<X, (Head, In)>())
    }
    fn split<X: Axes, P: Axes + NoneIn<X>>() -> usize {
        X::RANK + P::RANK
    }
    fn cut<X: Axes + Lacks<Rows> + Lacks<Cols>>() -> usize {
        split::<X, (Rows, Cols)>()
    }
    assert_eq!(layer::<(Batch, In, Head)>(), (2, 1));
    assert_eq!(cut::<(Batch, In, Head)>(), 5);
    // A result of an unknown list can be named without any bound.
    fn named<L: Axes, R: Axes, A: Axis>() -> usize {
        <Dot<L, R, A>>::RANK
    }
    assert_eq!(named::<(Batch, In), (In, Out), In>(), 2);
}

#[test]
fn products_and_sums_of_fixed_sizes() {
    fn factors<P: FactorsOf<W>, W: Axis>() {}
    fn terms<P: TermsOf<W>, W: Axis>() {}
    factors::<(F2, F3), Model>();
    factors::<(F3, F2), Model>();
    factors::<Model, Model>();
    terms::<(F2, F3), F5>();
    terms::<F5, F5>();
    // A dynamic size anywhere leaves the question to run time.
    factors::<(F2, Dim), Model>();
    factors::<(Head, F3), Model>();
    factors::<(F2, F2), In>();
    factors::<(F2, Head, F2, F3), Model>();
    terms::<(F2, Dim), Model>();
    assert!(plan::check_split(&Model::KEY, <(F2, F3)>::KEYS));
    assert!(!plan::check_split(&Model::KEY, <(F2, F2)>::KEYS));
    assert!(plan::check_split(&Model::KEY, <(F2, Dim)>::KEYS));
}

#[test]
fn shapes_as_the_caller_writes_them() {
    let mut out = [0; MAX_AXES];
    <(Batch, Model, Seq) as Axes>::dims((2, Model, 3), &mut out);
    assert_eq!(out[..3], [2, 6, 3]);
    <Batch as Axes>::dims(7, &mut out);
    assert_eq!(out[0], 7);
    <Model as Axes>::dims(Model, &mut out);
    assert_eq!(out[0], 6);
    <() as Axes>::dims((), &mut out);
}

#[test]
fn room_for_what_takes_their_place() {
    fn room<X: RoomFor<New, Old>, New: Axes, Old: Axes>() {}
    room::<(Batch, Model), (Head, Dim), Model>();
    // a part, or the merged axis, may keep the name of what it replaces
    room::<(Batch, Model), (Head, Model), Model>();
    room::<(Batch, Head, Dim), Dim, (Head, Dim)>();
}
