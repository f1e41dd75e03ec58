//! Every arm of this CPU, every path, against a naive twin in f64.

use super::arm::{Kernel, Kernels};
use super::micro::KC;
use super::routed::Rows;
use super::{BatchDim, GemmFloat, MatMut, MatRef, Options, batch, routed};
use crate::isa::{Isa, best};
use crate::team::Team;
use std::cell::Cell;
use std::fmt::Debug;

/// A small generator, so that a failing case can be run again.
struct Rng(Cell<u64>);

impl Rng {
    fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        self.0.get() >> 33
    }
    fn below(&self, n: usize) -> usize {
        self.next() as usize % n
    }
    fn unit(&self) -> f64 {
        self.next() as f64 / f64::from(1u32 << 30) - 1.0
    }
}

/// A float of the tests.
trait Real: GemmFloat + Debug {
    const EPS: f64;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn bits(self) -> u64;
}
impl Real for f32 {
    const EPS: f64 = f32::EPSILON as f64;
    fn of(x: f64) -> Self {
        x as Self
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}
impl Real for f64 {
    const EPS: f64 = Self::EPSILON;
    fn of(x: f64) -> Self {
        x
    }
    fn wide(self) -> f64 {
        self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

fn arms<T: Kernels>() -> Vec<(Isa, &'static Kernel<T>)> {
    [Isa::Baseline, Isa::Avx2, Isa::Avx512].into_iter().filter(|&i| i <= best()).map(|i| (i, T::kernel(i))).collect()
}

/// An owned matrix in some layout.
#[derive(Clone, Debug)]
struct Mat<T> {
    data: Vec<T>,
    offset: usize,
    rows: usize,
    cols: usize,
    rs: isize,
    cs: isize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rows,
    Cols,
    /// Row-major with room between the rows.
    Padded,
    /// Column-major with room between the columns.
    PaddedCols,
    /// Neither stride is one.
    Spread,
    NegativeRows,
    NegativeCols,
    /// One row, seen `rows` times.
    SameRow,
    /// One column, seen `cols` times.
    SameCol,
}

const FORMS: [Form; 9] = [
    Form::Rows,
    Form::Cols,
    Form::Padded,
    Form::PaddedCols,
    Form::Spread,
    Form::NegativeRows,
    Form::NegativeCols,
    Form::SameRow,
    Form::SameCol,
];
/// The forms that C can have.
const OUTPUTS: [Form; 7] =
    [Form::Rows, Form::Cols, Form::Padded, Form::PaddedCols, Form::Spread, Form::NegativeRows, Form::NegativeCols];

fn mat<T: Real>(rng: &Rng, form: Form, rows: usize, cols: usize) -> Mat<T> {
    let (r, c) = (rows as isize, cols as isize);
    let (rs, cs) = match form {
        Form::Rows => (c, 1),
        Form::Cols => (1, r),
        Form::Padded => (c + 3, 1),
        Form::PaddedCols => (1, r + 5),
        Form::Spread => (2 * c + 1, 2),
        Form::NegativeRows => (-c, 1),
        Form::NegativeCols => (c, -1),
        Form::SameRow => (0, 1),
        Form::SameCol => (1, 0),
    };
    let back = |n: usize, s: isize| if s < 0 { n.saturating_sub(1) * s.unsigned_abs() } else { 0 };
    let reach = |n: usize, s: isize| n.saturating_sub(1) * s.unsigned_abs();
    // A canary in front and behind.
    let offset = 2 + back(rows, rs) + back(cols, cs);
    let len = 5 + reach(rows, rs) + reach(cols, cs);
    Mat { data: (0..len).map(|_| T::of(rng.unit())).collect(), offset, rows, cols, rs, cs }
}

impl<T: Real> Mat<T> {
    fn view(&self) -> MatRef<'_, T> {
        let Self { data, offset, rows, cols, rs, cs } = self;
        MatRef { data, offset: *offset, rows: *rows, cols: *cols, row_stride: *rs, col_stride: *cs }
    }
    fn view_mut(&mut self) -> MatMut<'_, T> {
        let Self { data, offset, rows, cols, rs, cs } = self;
        MatMut { data, offset: *offset, rows: *rows, cols: *cols, row_stride: *rs, col_stride: *cs }
    }
    fn at(&self, i: usize, j: usize) -> usize {
        (self.offset as isize + i as isize * self.rs + j as isize * self.cs) as usize
    }
    fn get(&self, i: usize, j: usize) -> T {
        self.data[self.at(i, j)]
    }
    /// The bits of the elements, row by row, whatever the layout.
    fn bits(&self) -> Vec<u64> {
        (0..self.rows).flat_map(|i| (0..self.cols).map(move |j| (i, j))).map(|(i, j)| self.get(i, j).bits()).collect()
    }
}

/// Runs `C (+)= A B` and compares it with the twin: each of the k + 2 roundings of a sum is at most eps/2 of a partial
/// sum, which is at most (1 + k eps) of the sum of magnitudes; twice that covers two roundings for each step.
fn compare<T: Real>(isa: Isa, kernel: &Kernel<T>, a: &Mat<T>, b: &Mat<T>, c: &Mat<T>, options: &Options<T>) -> Mat<T> {
    let mut out = c.clone();
    batch::run(kernel, &[], a.view(), b.view(), out.view_mut(), options);
    let mut expected = c.clone();
    for i in 0..c.rows {
        for j in 0..c.cols {
            let (mut sum, mut size) =
                if options.accumulate { (c.get(i, j).wide(), c.get(i, j).wide().abs()) } else { (0.0, 0.0) };
            for p in 0..a.cols {
                let x = a.get(i, p).wide() * b.get(p, j).wide();
                sum += x;
                size += x.abs();
            }
            if let Some(bias) = options.bias {
                sum += bias[j].wide();
                size += bias[j].wide().abs();
            }
            let got = out.get(i, j).wide();
            let bound = 2.0 * (a.cols + 4) as f64 * T::EPS * size;
            assert!(
                (got - sum).abs() <= bound,
                "{isa:?} {} x {} x {}, C[{i}, {j}] = {got}, expected {sum} +- {bound}",
                c.rows,
                a.cols,
                c.cols
            );
            let at = expected.at(i, j);
            expected.data[at] = out.get(i, j);
        }
    }
    // What is no element of C has kept its bits.
    assert!(expected.data.iter().zip(&out.data).all(|(x, y)| x.bits() == y.bits()), "wrote outside of C");
    out
}

macro_rules! for_f32_and_f64 {
    ($($name:ident => $test:ident;)*) => {
        mod f32_arms { $(#[test] fn $name() { super::$test::<f32>() })* }
        mod f64_arms { $(#[test] fn $name() { super::$test::<f64>() })* }
    };
}
for_f32_and_f64! {
    random_sizes_and_layouts => random_sizes_and_layouts;
    edges_of_tiles_and_blocks => edges_of_tiles_and_blocks;
    skinny_products => skinny_products;
    large_products => large_products;
    bits_depend_on_row_and_column_alone => bits_depend_on_row_and_column_alone;
    nan_stays_in_its_row_and_column => nan_stays_in_its_row_and_column;
    empty_sizes => empty_sizes;
    epilogue => epilogue;
    batches => batches;
    groups_and_routes => groups_and_routes;
    same_bits_for_any_number_of_threads => same_bits_for_any_number_of_threads;
}

/// One thread or eight, free or busy: the same bits, and nothing but the team decides who computes what.
fn same_bits_for_any_number_of_threads<T: Real>() {
    let rng = Rng(Cell::new(10));
    let kernel = T::kernel(best());
    let (m, k, n) = (300, 270, 260);
    let (a, b) = (mat::<T>(&rng, Form::Rows, m, k), mat::<T>(&rng, Form::Cols, k, n));
    let picked: Vec<usize> = (0..m).map(|_| rng.below(m)).collect();
    let batch_dims = [BatchDim { size: 50, a_stride: 90, b_stride: 0, c_stride: 8 * n as isize }];
    let all = |threads: usize| {
        Team::new(threads).enter(|| {
            let mut whole = mat::<T>(&Rng(Cell::new(11)), Form::Rows, m, n);
            batch::run(kernel, &[], a.view(), b.view(), whole.view_mut(), &Options::default());
            let mut routed = whole.clone();
            let rows = Rows::Picked(&picked);
            routed::run(kernel, &[0, m], a.view(), rows, |_| b.view(), routed.view_mut(), &Options::default());
            // Many small products: several to a task.
            let mut many = mat::<T>(&Rng(Cell::new(12)), Form::Rows, 400, n);
            let few = MatRef { rows: 8, ..a.view() };
            let c = MatMut { rows: 8, ..many.view_mut() };
            batch::run(kernel, &batch_dims, few, b.view(), c, &Options::default());
            (whole.bits(), routed.bits(), many.bits())
        })
    };
    let one = all(1);
    for threads in 2..=8 {
        assert!(all(threads) == one, "{threads} threads");
    }
}

fn random_sizes_and_layouts<T: Real>() {
    let rng = Rng(Cell::new(1));
    for (isa, kernel) in arms::<T>() {
        for _ in 0..600 {
            let (m, k, n) = (1 + rng.below(70), 1 + rng.below(70), 1 + rng.below(70));
            let a = mat(&rng, FORMS[rng.below(9)], m, k);
            let b = mat(&rng, FORMS[rng.below(9)], k, n);
            let c = mat(&rng, OUTPUTS[rng.below(7)], m, n);
            let options = Options { accumulate: rng.below(2) == 1, ..Options::default() };
            compare(isa, kernel, &a, &b, &c, &options);
        }
    }
}

fn edges_of_tiles_and_blocks<T: Real>() {
    let rng = Rng(Cell::new(2));
    for (isa, kernel) in arms::<T>() {
        let l = kernel.lanes;
        for &m in &[1, 2, 4, 5, 6, 7, 12, 13, 17] {
            for &n in &[1, l - 1, l, l + 1, 2 * l - 1, 2 * l, 2 * l + 1, 5 * l + 1, 8 * l, 15 * l + 3] {
                for &k in &[1, 3, KC - 1, KC, KC + 1, 2 * KC + 5] {
                    let forms = [Form::Rows, Form::Cols];
                    let a = mat(&rng, forms[rng.below(2)], m, k);
                    let b = mat(&rng, forms[rng.below(2)], k, n);
                    let c = mat(&rng, Form::Padded, m, n);
                    compare(isa, kernel, &a, &b, &c, &Options { accumulate: k == KC, ..Options::default() });
                }
            }
        }
    }
}

fn skinny_products<T: Real>() {
    let rng = Rng(Cell::new(3));
    for (isa, kernel) in arms::<T>() {
        for m in 1..=5 {
            for &(k, n) in &[(300, 1100), (1030, 130), (9, 2100), (513, 70), (2500, 1), (2100, 3), (7, 9)] {
                for fa in [Form::Rows, Form::Cols, Form::Spread] {
                    for fb in [Form::Rows, Form::Cols, Form::PaddedCols, Form::Spread] {
                        let (a, b) = (mat(&rng, fa, m, k), mat(&rng, fb, k, n));
                        let accumulate = rng.below(2) == 1;
                        let options = Options { accumulate, ..Options::default() };
                        let c = mat(&rng, Form::Padded, m, n);
                        let out = compare(isa, kernel, &a, &b, &c, &options);
                        // The transposed product has the same bits.
                        let c_t = Mat { rows: c.cols, cols: c.rows, rs: c.cs, cs: c.rs, ..c.clone() };
                        let mut out_t = c_t.clone();
                        batch::run(kernel, &[], b.view().t(), a.view().t(), out_t.view_mut(), &options);
                        assert!(out.data.iter().zip(&out_t.data).all(|(x, y)| x.bits() == y.bits()));
                    }
                }
            }
        }
    }
}

fn large_products<T: Real>() {
    let rng = Rng(Cell::new(4));
    for (isa, kernel) in arms::<T>() {
        for &(m, k, n) in &[(400, 64, 64), (64, 400, 64), (205, 300, 150), (400, 2, 64), (400, 64, 2), (30, 40, 1100)] {
            for fa in [Form::Rows, Form::Cols, Form::Spread] {
                for fb in [Form::Rows, Form::Cols, Form::Spread] {
                    let (a, b) = (mat(&rng, fa, m, k), mat(&rng, fb, k, n));
                    let fc = OUTPUTS[rng.below(7)];
                    let c = mat(&rng, fc, m, n);
                    compare(isa, kernel, &a, &b, &c, &Options::default());
                }
            }
        }
    }
}

/// Bits of one element do not depend on the sizes and layouts around it: any part of a product, computed alone from
/// operands laid out anew, is the same part of the whole; and all arms with a fused multiply-add agree.
fn bits_depend_on_row_and_column_alone<T: Real>() {
    let rng = Rng(Cell::new(5));
    let (m, n) = (230, 210);
    for k in [5, KC + 40, 3 * KC + 1] {
        let (a, b) = (mat::<T>(&rng, Form::Rows, m, k), mat::<T>(&rng, Form::Rows, k, n));
        let mut fused: Option<Vec<u64>> = None;
        for (isa, kernel) in arms::<T>() {
            let mut whole = mat::<T>(&rng, Form::Rows, m, n);
            batch::run(kernel, &[], a.view(), b.view(), whole.view_mut(), &Options::default());
            if isa > Isa::Baseline {
                let bits = whole.bits();
                assert!(fused.get_or_insert_with(|| bits.clone()) == &bits, "arms differ");
            }
            for _ in 0..60 {
                let (pm, pn) = ([1, 2, 3, 5, 8, 60][rng.below(6)], [1, 2, 3, 7, 9, 33, 100][rng.below(7)]);
                let (i, j) = (rng.below(m - pm), rng.below(n - pn));
                let (fa, fb) = (FORMS[rng.below(7)], FORMS[rng.below(7)]);
                let (mut pa, mut pb) = (mat::<T>(&rng, fa, pm, k), mat::<T>(&rng, fb, k, pn));
                for p in 0..k {
                    for r in 0..pm {
                        let at = pa.at(r, p);
                        pa.data[at] = a.get(i + r, p);
                    }
                    for c in 0..pn {
                        let at = pb.at(p, c);
                        pb.data[at] = b.get(p, j + c);
                    }
                }
                let fc = OUTPUTS[rng.below(7)];
                let mut part = mat::<T>(&rng, fc, pm, pn);
                batch::run(kernel, &[], pa.view(), pb.view(), part.view_mut(), &Options::default());
                for r in 0..pm {
                    for c in 0..pn {
                        assert!(
                            part.get(r, c).bits() == whole.get(i + r, j + c).bits(),
                            "{isa:?} part {pm} x {k} x {pn}, {fa:?} {fb:?} {fc:?}, element [{r}, {c}]"
                        );
                    }
                }
            }
        }
    }
}

fn nan_stays_in_its_row_and_column<T: Real>() {
    let rng = Rng(Cell::new(6));
    for (_, kernel) in arms::<T>() {
        for &(m, k, n) in &[(1, 30, 40), (3, 300, 21), (13, 20, 19), (60, 70, 50), (9, 5, 2)] {
            for form in [Form::Rows, Form::Cols] {
                let (mut a, mut b) = (mat::<T>(&rng, form, m, k), mat::<T>(&rng, form, k, n));
                let (row, col) = (rng.below(m), rng.below(n));
                let (x, y) = (a.at(row, rng.below(k)), b.at(rng.below(k), col));
                a.data[x] = T::of(f64::NAN);
                b.data[y] = T::of(f64::INFINITY);
                // What lies around the matrices is poison too.
                for m in [&mut a, &mut b] {
                    let last = m.data.len() - 1;
                    m.data[1] = T::of(f64::NAN);
                    m.data[last] = T::of(f64::NAN);
                }
                let mut c = mat::<T>(&rng, Form::Rows, m, n);
                batch::run(kernel, &[], a.view(), b.view(), c.view_mut(), &Options::default());
                for i in 0..m {
                    for j in 0..n {
                        let x = c.get(i, j).wide();
                        assert_eq!(x.is_nan(), i == row, "[{i}, {j}]");
                        assert_eq!(x.is_finite(), i != row && j != col, "[{i}, {j}]");
                    }
                }
            }
        }
    }
}

fn empty_sizes<T: Real>() {
    let one = T::of(1.0);
    let bias = [one; 3];
    for (_, kernel) in arms::<T>() {
        for (m, k, n) in [(0, 3, 3), (3, 3, 0), (0, 0, 0)] {
            let (a, b) = (vec![one; m * k], vec![one; k * n]);
            let mut c = vec![one; m * n];
            let c = MatMut::row_major(&mut c, m, n);
            batch::run(kernel, &[], MatRef::row_major(&a, m, k), MatRef::row_major(&b, k, n), c, &Options::default());
        }
        let (a, b) = (MatRef::row_major(&[], 2, 0), MatRef::row_major(&[], 0, 3));
        for (options, expected) in [
            (Options::default(), 0.0),
            (Options { accumulate: true, ..Options::default() }, 5.0),
            (Options { bias: Some(&bias), ..Options::default() }, 1.0),
        ] {
            let mut c = [T::of(5.0); 6];
            batch::run(kernel, &[], a, b, MatMut::row_major(&mut c, 2, 3), &options);
            assert_eq!(c, [T::of(expected); 6]);
        }
    }
}

/// Twice each element: what an activation may do.
fn double<T: Real>(x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = *x + *x);
}

fn epilogue<T: Real>() {
    let rng = Rng(Cell::new(7));
    for (isa, kernel) in arms::<T>() {
        for &(m, k, n) in &[(1, 5, 40), (7, 20, 3), (130, 300, 70), (200, 90, 1), (1, 1, 1)] {
            for fc in OUTPUTS {
                let (a, b) = (mat(&rng, Form::Rows, m, k), mat(&rng, Form::Cols, k, n));
                let c = mat(&rng, fc, m, n);
                let bias: Vec<T> = (0..n).map(|_| T::of(rng.unit())).collect();
                let options = Options { bias: Some(&bias), accumulate: rng.below(2) == 1, activation: None };
                let plain = compare(isa, kernel, &a, &b, &c, &options);
                let mut doubled = c.clone();
                let options = Options { activation: Some(double), ..options };
                batch::run(kernel, &[], a.view(), b.view(), doubled.view_mut(), &options);
                for i in 0..m {
                    for j in 0..n {
                        assert_eq!(doubled.get(i, j), plain.get(i, j) + plain.get(i, j));
                    }
                }
            }
        }
    }
}

fn batches<T: Real>() {
    let rng = Rng(Cell::new(8));
    for (isa, kernel) in arms::<T>() {
        for _ in 0..200 {
            let (m, k, n) = (1 + rng.below(20), 1 + rng.below(40), 1 + rng.below(20));
            let (outer, inner) = (1 + rng.below(4), 1 + rng.below(5));
            let shared = rng.below(4);
            let (a_one, b_one, c_one) = ((m * k) as isize, (k * n) as isize, (m * n) as isize);
            let inner_dim = BatchDim {
                size: inner,
                a_stride: if shared & 1 == 1 { 0 } else { a_one },
                b_stride: if shared & 2 == 2 { 0 } else { b_one },
                c_stride: c_one,
            };
            let reach = |d: isize, one: isize| if d == 0 { one } else { inner as isize * one };
            let dims = [
                BatchDim {
                    size: outer,
                    a_stride: reach(inner_dim.a_stride, a_one),
                    b_stride: if rng.below(2) == 1 { 0 } else { reach(inner_dim.b_stride, b_one) },
                    c_stride: inner as isize * c_one,
                },
                inner_dim,
            ];
            let fill = |n: usize| (0..n).map(|_| T::of(rng.unit())).collect::<Vec<T>>();
            let (a, b) = (fill(outer * inner * m * k), fill(outer * inner * k * n));
            let mut c = fill(outer * inner * m * n);
            let old = c.clone();
            let options = Options { accumulate: shared == 2, ..Options::default() };
            let (va, vb) = (MatRef::row_major(&a, m, k), MatRef::row_major(&b, k, n));
            batch::run(kernel, &dims, va, vb, MatMut::row_major(&mut c, m, n), &options);
            for o in 0..outer {
                for i in 0..inner {
                    let offset = |s: [isize; 2]| (o as isize * s[0] + i as isize * s[1]) as usize;
                    let own = |data: &[T], rows: usize, cols: usize, at: usize| Mat {
                        data: data[at..at + rows * cols].to_vec(),
                        offset: 0,
                        rows,
                        cols,
                        rs: cols as isize,
                        cs: 1,
                    };
                    let a = own(&a, m, k, offset([dims[0].a_stride, dims[1].a_stride]));
                    let b = own(&b, k, n, offset([dims[0].b_stride, dims[1].b_stride]));
                    let at = (o * inner + i) * m * n;
                    let one = compare(isa, kernel, &a, &b, &own(&old, m, n, at), &options);
                    assert!(one.data.iter().zip(&c[at..]).all(|(x, y)| x.bits() == y.bits()));
                }
            }
        }
    }
}

fn groups_and_routes<T: Real>() {
    let rng = Rng(Cell::new(9));
    for (_, kernel) in arms::<T>() {
        for &(k, n) in &[(20, 30), (64, 5), (300, 140)] {
            let offsets = [0, 3, 3, 4, 150, 151];
            let experts: Vec<Mat<T>> =
                [Form::Rows, Form::Cols, Form::Rows, Form::Cols, Form::Spread].map(|f| mat(&rng, f, k, n)).into();
            let a = mat::<T>(&rng, Form::Padded, 151, k);
            let c = mat::<T>(&rng, Form::Padded, 151, n);
            let picked: Vec<usize> = (0..151).map(|_| rng.below(151)).collect();
            let bias: Vec<T> = (0..n).map(|_| T::of(rng.unit())).collect();
            let options = Options { bias: Some(&bias), accumulate: true, ..Options::default() };
            for rows in [Rows::All(151), Rows::Picked(&picked)] {
                let mut out = c.clone();
                routed::run(kernel, &offsets, a.view(), rows, |g| experts[g].view(), out.view_mut(), &options);
                for r in 0..151 {
                    let g = (0..5).find(|&g| r < offsets[g + 1]).unwrap();
                    let from = if let Rows::Picked(p) = rows { p[r] } else { r };
                    let row = |m: &Mat<T>, r: usize| Mat { offset: m.at(r, 0), rows: 1, ..m.clone() };
                    let mut one = row(&c, r);
                    batch::run(kernel, &[], row(&a, from).view(), experts[g].view(), one.view_mut(), &options);
                    assert!((0..n).all(|j| one.get(0, j).bits() == out.get(r, j).bits()), "row {r} of group {g}");
                }
            }
        }
    }
}
