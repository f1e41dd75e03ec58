//! The type functions and their run-time twins agree, on every pair of lists below.
#![allow(missing_docs, reason = "a test")]

mod common;
use common::*;
use forge_axes::*;

fn agree<X: Axes>(run_time: Result<list_ops::KeyList<'_>, list_ops::TooManyAxes>) {
    assert_eq!(names(&run_time.unwrap()), names(X::KEYS));
}

/// `$f!(A, B)` for every pair.
macro_rules! pairs {
    ([$($l:ty),+] $r:tt) => { $( pairs!(@ $l, $r); )+ };
    (@ $l:ty, [$($r:ty),+]) => { $( pair::<$l, $r>(); )+ };
}

fn pair<L: Axes, R: Axes>() {
    let (l, r) = (L::KEYS, R::KEYS);
    agree::<Union<L, R>>(list_ops::union(l, r));
    agree::<Minus<L, R>>(list_ops::minus(l, r));
    agree::<Intersect<L, R>>(list_ops::intersect(l, r));
    agree::<Concat<L, R>>(list_ops::concat(l, r));
    agree::<Dot<L, R, (Batch, Head)>>(list_ops::dot(l, r, <(Batch, Head)>::KEYS));
    agree::<Dot<L, R, In>>(list_ops::dot(l, r, In::KEYS));
    agree::<Replace<L, In, R>>(list_ops::replace(l, &In::KEY, r));
    agree::<Remove<L, Batch>>(list_ops::remove(l, &Batch::KEY));
    agree::<Merge<L, (Batch, Out), Extra>>(list_ops::merge(l, <(Batch, Out)>::KEYS, &Extra::KEY));
    agree::<Merge<L, In, Extra>>(list_ops::merge(l, In::KEYS, &Extra::KEY));
    agree::<Push<L, Extra>>(list_ops::insert(l, l.len(), &Extra::KEY));
    agree::<InsertFront<L, Extra>>(list_ops::insert(l, 0, &Extra::KEY));
    agree::<DiagonalOf<L, Batch, In, Extra>>(list_ops::diagonal(l, &Batch::KEY, &In::KEY, &Extra::KEY));
    assert_eq!(list_ops::contains(l, &In::KEY), <L::Contains<In> as Bool>::VALUE);
    assert_eq!(list_ops::position(l, &In::KEY).is_some(), <L::Contains<In> as Bool>::VALUE);
    // what the bounds ask
    assert_eq!(list_ops::missing(l, r).is_none(), <Minus<L, R>>::RANK == 0);
    assert_eq!(list_ops::taken(l, r).is_none(), <Intersect<L, R>>::RANK == 0);
    let permutes = <Minus<L, R>>::RANK == 0 && <Minus<R, L>>::RANK == 0;
    assert_eq!(list_ops::is_permutation(l, r), permutes && L::RANK == R::RANK);
}

#[test]
fn on_every_pair_of_lists() {
    pairs! {
        [(), Batch, In, (Batch, In), (In, Batch), (Out, Batch, In), (In, Batch, Out), (Seq, In, Out, Batch)]
        [(), Batch, In, (In, Batch), (Batch, Out), (Batch, In, Out), (Head, Dim, Batch), (Out, Seq, Head, In)]
    }
}

#[test]
fn sixteen_axes_and_no_more() {
    let all: Vec<String> = (0..17).map(|i| format!("a{i}")).collect();
    let keys: Vec<Key<'_>> = all.iter().map(|n| Key::named(n)).collect();
    let full = list_ops::KeyList::from_slice(&keys[..16]).unwrap();
    assert_eq!(full.len(), plan::MAX_RANK);
    assert_eq!(list_ops::union(&full, &keys[16..]).unwrap_err(), list_ops::TooManyAxes);
    assert!(list_ops::union(&full, &keys[..4]).is_ok());
    assert_eq!(names(&list_ops::permuted(&full, &[3, 0])), ["a3", "a0"]);
}

#[test]
fn names_print_as_types_are_written() {
    let print = |k: &[Key<'_>]| list_ops::Names(k).to_string();
    assert_eq!(print(<(Batch, In)>::KEYS), "(Batch, In)");
    assert_eq!(print(Batch::KEYS), "Batch");
    assert_eq!(print(&[]), "()");
    assert_eq!(list_ops::KeyList::from_slice(<(In, Out)>::KEYS).unwrap().to_string(), "(In, Out)");
}

/// `Concat` of two lists that share an axis repeats it: `repeated` sees what the bound `Distinct` refuses.
#[test]
fn repeats_are_seen() {
    type X = Concat<(Batch, In), (Out, Batch)>;
    assert_eq!(names(X::KEYS), ["Batch", "In", "Out", "Batch"]);
    assert_eq!(list_ops::repeated(X::KEYS).unwrap().name, "Batch");
    assert!(list_ops::repeated(<(Batch, In)>::KEYS).is_none());
    assert!(!list_ops::is_permutation(X::KEYS, X::KEYS));
}
