//! Contractions: `dot`, `einsum`, and their one way down to the matrix-product door.

use super::{Names, RawTensor, arith, by_float, cast, reduce, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use arrayvec::ArrayVec;
use forge_axes::plan::{ContractPlan, GradPlan, NONE};
use forge_kernels::arith::BinaryOp;
use forge_kernels::gemm::{self, BatchDim, MatMut, MatRef, Options};
use forge_kernels::{DType, Layout, MAX_RANK};

/// `out[..] = sum over the axes that are not in out of l * r`.
///
/// f32 and f64; 16-bit operands are widened (each once) and the result rounded back when both are 16-bit.
pub fn contract(
    l: &RawTensor,
    r: &RawTensor,
    plan: &ContractPlan,
    names: Names,
    op: &'static str,
) -> Result<RawTensor> {
    if l.dtype() != r.dtype() || !l.dtype().is_differentiable() {
        return mixed(l, r, plan, names, op);
    }
    check_sizes(l, r, plan, names, op)?;
    let out = by_float!(op, l.dtype(), T => product::<T>(l, r, plan)?);
    if !tracks(&[l, r]) {
        return Ok(out);
    }
    // Each side is kept only if the other wants a gradient.
    let a = r.requires_grad().then(|| l.clone());
    let b = l.requires_grad().then(|| r.clone());
    let (ls, rs) = (l.layout, r.layout);
    let plan = *plan;
    Ok(record(out, [l, r], move |p| {
        let nameless = Names { lhs: &[], rhs: &[] };
        let gl = match &b {
            Some(b) => Some(pull(p.grad, b, &plan.grad_left(), nameless, op, ls.shape())?),
            None => None,
        };
        let gr = match &a {
            Some(a) => Some(pull(p.grad, a, &plan.grad_right(), nameless, op, rs.shape())?),
            None => None,
        };
        Ok([gl, gr])
    }))
}

/// The gradient of one operand: a contraction again, repeated along the axes that were summed away in that operand alone.
fn pull(
    g: &RawTensor,
    other: &RawTensor,
    plan: &GradPlan,
    names: Names,
    op: &'static str,
    full: &[usize],
) -> Result<RawTensor> {
    let kept = contract(g, other, &plan.plan, names, op)?;
    let lost: Vec<usize> = (0..full.len()).filter(|&i| plan.spread & (1 << i) != 0).collect();
    Ok(if lost.is_empty() { kept } else { reduce::repeat_along(&kept, &lost, full) })
}

/// Operands of two dtypes: a 16-bit one is a constant that is widened to meet the other.
fn mixed(l: &RawTensor, r: &RawTensor, plan: &ContractPlan, names: Names, op: &'static str) -> Result<RawTensor> {
    for t in [l, r] {
        if !t.dtype().is_float() {
            return Err(Error::DType { op, expected: "floats", found: t.dtype() });
        }
    }
    let wide = if l.dtype() == DType::F64 || r.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let y = contract(&cast::to(l, wide)?, &cast::to(r, wide)?, plan, names, op)?;
    if l.dtype() == r.dtype() { cast::to(&y, l.dtype()) } else { Ok(y) }
}

fn check_sizes(l: &RawTensor, r: &RawTensor, plan: &ContractPlan, names: Names, op: &'static str) -> Result<()> {
    let pairs = (0..plan.out_rank as usize)
        .map(|i| (plan.out[0][i], plan.out[1][i]))
        .chain((0..plan.sum_rank as usize).map(|i| (plan.sum[0][i], plan.sum[1][i])));
    for (a, b) in pairs {
        if a != NONE && b != NONE && l.shape()[a as usize] != r.shape()[b as usize] {
            return Err(names.mismatch(op, (l, a as usize), (r, b as usize)));
        }
    }
    Ok(())
}

/// What a loop of the contraction does in each operand.
#[derive(Clone, Copy)]
struct Loop {
    size: usize,
    l: isize,
    r: isize,
    out: isize,
}

/// The loops of one kind: batch, free on the left, free on the right, or summed.
type Loops = ArrayVec<Loop, { 2 * MAX_RANK }>;

/// Where each axis of an operand went; `NONE` for those that were summed away.
type Map = [u8; MAX_RANK];

/// Loops that act as one: nested loops whose strides chain in every operand.
fn chain(loops: &[Loop]) -> Option<Loop> {
    if loops.iter().any(|l| l.size == 0) {
        // An empty loop runs over nothing, whatever its strides.
        return Some(Loop { size: 0, l: 1, r: 1, out: 1 });
    }
    let mut it = loops.iter().rev().filter(|l| l.size != 1);
    let Some(&first) = it.next() else { return Some(Loop { size: 1, l: 0, r: 0, out: 0 }) };
    let mut whole = first;
    for l in it {
        let n = whole.size as isize;
        if l.l != first.l * n || l.r != first.r * n || l.out != first.out * n {
            return None;
        }
        whole.size *= l.size;
    }
    Some(Loop { size: whole.size, ..first })
}

fn product<T: gemm::GemmFloat>(l: &RawTensor, r: &RawTensor, plan: &ContractPlan) -> Result<RawTensor> {
    // Axes that one operand alone has and the result has not are summed before the product.
    let (l, lmap) = presum(l, plan, 0)?;
    let (r, rmap) = presum(r, plan, 1)?;
    let out_rank = plan.out_rank as usize;
    let stride_of =
        |t: &RawTensor, map: &[u8], p: u8| if p == NONE { 0 } else { t.layout.strides()[map[p as usize] as usize] };
    let size_of = |t: &RawTensor, map: &[u8], p: u8| t.shape()[map[p as usize] as usize];
    let mut shape = [0usize; 16];
    for (i, s) in shape[..out_rank].iter_mut().enumerate() {
        *s = if plan.out[0][i] != NONE {
            size_of(&l, &lmap, plan.out[0][i])
        } else {
            size_of(&r, &rmap, plan.out[1][i])
        };
    }
    let shape = &shape[..out_rank];
    let out_layout = Layout::contiguous(shape);
    let (mut batch, mut m, mut n, mut k) = (Loops::new(), Loops::new(), Loops::new(), Loops::new());
    for i in 0..out_rank {
        let (a, b) = (plan.out[0][i], plan.out[1][i]);
        let one = Loop {
            size: shape[i],
            l: stride_of(&l, &lmap, a),
            r: stride_of(&r, &rmap, b),
            out: out_layout.strides()[i],
        };
        match (a != NONE, b != NONE) {
            (true, true) => batch.push(one),
            (true, false) => m.push(one),
            _ => n.push(one),
        }
    }
    for i in 0..plan.sum_rank as usize {
        let (a, b) = (plan.sum[0][i], plan.sum[1][i]);
        if a != NONE && b != NONE {
            k.push(Loop {
                size: size_of(&l, &lmap, a),
                l: stride_of(&l, &lmap, a),
                r: stride_of(&r, &rmap, b),
                out: 0,
            });
        }
    }
    // A sum over nothing is 0 (and an empty result is empty).
    if shape.contains(&0) || k.iter().any(|x| x.size == 0) {
        return Ok(RawTensor::full(shape, T::default()));
    }
    // The order of the summed loops is free: let the left operand's memory decide.
    k.sort_unstable_by_key(|x| std::cmp::Reverse(x.l.unsigned_abs()));
    // A group whose strides do not chain keeps its longest chaining tail; the outer loops of `m` and `n` become batch
    // loops, and those of `k` are brought together by copying the operands.
    if chain(&k).is_none() {
        return copied::<T>(&l, &lmap, &r, &rmap, plan, shape);
    }
    let k = chain(&k).expect("checked above");
    let m = split_chain(m, &mut batch);
    let n = split_chain(n, &mut batch);
    let a = MatRef {
        data: l.buf.host::<T>(),
        offset: l.offset,
        rows: m.size,
        cols: k.size,
        row_stride: m.l,
        col_stride: k.l,
    };
    let b = MatRef {
        data: r.buf.host::<T>(),
        offset: r.offset,
        rows: k.size,
        cols: n.size,
        row_stride: k.r,
        col_stride: n.r,
    };
    let dims: ArrayVec<BatchDim, MAX_RANK> =
        batch.iter().map(|d| BatchDim { size: d.size, a_stride: d.l, b_stride: d.r, c_stride: d.out }).collect();
    Ok(RawTensor::build(shape, |data: &mut [T]| {
        let c = MatMut { data, offset: 0, rows: m.size, cols: n.size, row_stride: m.out, col_stride: n.out };
        gemm::gemm_batched(&dims, a, b, c, &Options::default());
    }))
}

/// The longest chaining tail of `loops`; the loops outside it join `batch`.
fn split_chain(loops: Loops, batch: &mut Loops) -> Loop {
    let mut from = loops.len();
    while from > 0 && chain(&loops[from - 1..]).is_some() {
        from -= 1;
    }
    batch.extend(loops[..from].iter().copied());
    chain(&loops[from..]).expect("the tail chains")
}

/// The product by way of dense copies in the order batch, free, summed.
fn copied<T: gemm::GemmFloat>(
    l: &RawTensor,
    lmap: &Map,
    r: &RawTensor,
    rmap: &Map,
    plan: &ContractPlan,
    shape: &[usize],
) -> Result<RawTensor> {
    let gather = |t: &RawTensor, map: &[u8], side: usize| {
        let mut order: Vec<u8> = Vec::new();
        let out = (0..plan.out_rank as usize).map(|i| (plan.out[side][i], plan.out[1 - side][i]));
        let shared = |want: bool| move |p: &(u8, u8)| p.0 != NONE && (p.1 != NONE) == want;
        order.extend(out.clone().filter(shared(true)).map(|p| map[p.0 as usize]));
        order.extend(out.filter(shared(false)).map(|p| map[p.0 as usize]));
        let sums = (0..plan.sum_rank as usize).map(|i| (plan.sum[side][i], plan.sum[1 - side][i]));
        order.extend(sums.filter(shared(true)).map(|p| map[p.0 as usize]));
        let dense = shape::permute(&t.detach(), &order).contiguous();
        // Where each original axis went.
        let mut back = vec![0u8; order.len()];
        for (i, &o) in order.iter().enumerate() {
            back[o as usize] = i as u8;
        }
        (dense, back)
    };
    let (ld, lback) = gather(l, lmap, 0);
    let (rd, rback) = gather(r, rmap, 1);
    let through = |map: &[u8], back: &[u8], p: u8| if p == NONE { NONE } else { back[map[p as usize] as usize] };
    let mut dense_plan = *plan;
    for i in 0..plan.out_rank as usize {
        dense_plan.out[0][i] = through(lmap, &lback, plan.out[0][i]);
        dense_plan.out[1][i] = through(rmap, &rback, plan.out[1][i]);
    }
    let mut n = 0;
    for i in 0..plan.sum_rank as usize {
        if plan.sum[0][i] != NONE && plan.sum[1][i] != NONE {
            dense_plan.sum[0][n] = through(lmap, &lback, plan.sum[0][i]);
            dense_plan.sum[1][n] = through(rmap, &rback, plan.sum[1][i]);
            n += 1;
        }
    }
    dense_plan.sum_rank = n as u8;
    dense_plan.l_rank = ld.rank() as u8;
    dense_plan.r_rank = rd.rank() as u8;
    let out = product::<T>(&ld, &rd, &dense_plan)?;
    debug_assert_eq!(out.shape(), shape);
    Ok(out)
}

/// The operand with its private, dropped axes summed away, and where each of its axes went (`NONE` for those).
fn presum(t: &RawTensor, plan: &ContractPlan, side: usize) -> Result<(RawTensor, Map)> {
    let mut gone: ArrayVec<usize, MAX_RANK> = (0..plan.sum_rank as usize)
        .filter(|&i| plan.sum[side][i] != NONE && plan.sum[1 - side][i] == NONE)
        .map(|i| plan.sum[side][i] as usize)
        .collect();
    let mut next = 0;
    let mut map = [NONE; MAX_RANK];
    for (a, m) in map[..t.rank()].iter_mut().enumerate() {
        if !gone.contains(&a) {
            *m = next;
            next += 1;
        }
    }
    if gone.is_empty() {
        return Ok((t.detach(), map));
    }
    gone.sort_unstable();
    Ok((reduce::sum(&t.detach(), &gone)?, map))
}

/// Sum of products of any number of operands. `labels[i]` names the loops of operand `i`'s axes by small numbers;
/// `out` lists the loops that stay. Operands are joined two at a time, the cheapest pair first.
pub fn einsum(operands: &[&RawTensor], labels: &[&[u8]], out: &[u8], names: &[Names]) -> Result<RawTensor> {
    const OP: &str = "einsum";
    let mut list: Vec<(RawTensor, Vec<u8>)> =
        operands.iter().zip(labels).map(|(t, l)| ((*t).clone(), l.to_vec())).collect();
    let mut size = [None; 256];
    for (i, (t, l)) in list.iter().enumerate() {
        for (a, &label) in l.iter().enumerate() {
            match size[label as usize] {
                None => size[label as usize] = Some((t.shape()[a], i, a)),
                Some((n, j, b)) if n != t.shape()[a] => {
                    let pair = Names { lhs: names[j].lhs, rhs: names[i].lhs };
                    return Err(pair.mismatch(OP, (operands[j], b), (operands[i], a)));
                }
                Some(_) => {}
            }
        }
    }
    let extent = |l: &[u8]| l.iter().map(|&x| size[x as usize].map_or(1, |s| s.0) as f64).product::<f64>();
    while list.len() > 1 {
        // Which pair costs least: multiplications first, then the size of what it leaves.
        let mut best = (f64::INFINITY, f64::INFINITY, 0, 1, Vec::new());
        for i in 0..list.len() {
            for j in i + 1..list.len() {
                let keep = kept_labels(&list, i, j, out);
                let mut all = list[i].1.clone();
                all.extend(list[j].1.iter().filter(|x| !list[i].1.contains(x)));
                let cost = (extent(&all), extent(&keep));
                if cost.0 < best.0 || (cost.0 == best.0 && cost.1 < best.1) {
                    best = (cost.0, cost.1, i, j, keep);
                }
            }
        }
        let (_, _, i, j, keep) = best;
        let keep = if list.len() == 2 { out.to_vec() } else { keep };
        let (b, bl) = list.remove(j);
        let (a, al) = list.remove(i);
        let plan = ContractPlan::from_labels(&al, &bl, &keep);
        let y = contract(&a, &b, &plan, Names { lhs: &[], rhs: &[] }, OP)?;
        list.insert(i, (y, keep));
    }
    let (t, l) = list.pop().ok_or_else(|| Error::argument(OP, "needs at least one operand"))?;
    if l == out {
        return Ok(t);
    }
    // One operand alone: sum what is dropped, then order what stays.
    let gone: Vec<usize> = (0..l.len()).filter(|&a| !out.contains(&l[a])).collect();
    let left: Vec<u8> = l.iter().copied().filter(|x| out.contains(x)).collect();
    let order: Vec<u8> = out
        .iter()
        .map(|o| left.iter().position(|x| x == o).expect("every output axis is in an operand") as u8)
        .collect();
    let summed = cast::to(&reduce::sum(&t, &gone)?, t.dtype())?;
    Ok(shape::permute(&summed, &order))
}

/// Loops of operands `i` and `j` that the result or another operand still needs.
fn kept_labels(list: &[(RawTensor, Vec<u8>)], i: usize, j: usize, out: &[u8]) -> Vec<u8> {
    let needed =
        |x: &u8| out.contains(x) || list.iter().enumerate().any(|(k, (_, l))| k != i && k != j && l.contains(x));
    let mut keep: Vec<u8> = list[i].1.iter().copied().filter(needed).collect();
    keep.extend(list[j].1.iter().copied().filter(|x| !list[i].1.contains(x)).filter(needed));
    keep
}

/// `acc + l · r`.
pub fn add_dot(acc: &RawTensor, l: &RawTensor, r: &RawTensor, plan: &ContractPlan, names: Names) -> Result<RawTensor> {
    arith::same(BinaryOp::Add, acc, &contract(l, r, plan, names, "add_dot")?)
}
