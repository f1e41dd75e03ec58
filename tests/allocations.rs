//! What an operation costs beside its arithmetic: allocations and nanoseconds.

mod support;

use forge::prelude::*;
use std::hint::black_box;
use std::time::Instant;
use support::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

axes! { Batch, In, Out }

/// Allocations of one more run of `f`, after a few to fill the pool.
fn steady<R>(mut f: impl FnMut() -> R) -> u64 {
    for _ in 0..10 {
        black_box(f());
    }
    allocations(|| drop(black_box(f())))
}

#[test]
fn an_inference_operation_allocates_nothing() {
    let x = Tensor::<(Batch, In)>::from_fn((8, 16), |i| i as f32 * 0.01);
    let w = Tensor::<(In, Out)>::from_fn((16, 4), |i| i as f32 * 0.02);
    let b = Tensor::<In>::ones(16);
    let counts = [
        ("add", steady(|| &x + &b)),
        ("mul", steady(|| &x * &x)),
        ("scale", steady(|| &x * 2.0)),
        ("exp", steady(|| x.exp())),
        ("tanh", steady(|| x.tanh())),
        ("relu", steady(|| x.relu())),
        ("dot", steady(|| x.dot(&w, In))),
        ("sum", steady(|| x.sum(In))),
        ("sum over the first axis", steady(|| x.sum(Batch))),
        ("mean", steady(|| x.mean(In))),
        ("permute", steady(|| x.permute::<(In, Batch)>())),
        ("narrow", steady(|| x.narrow(Batch, 1..3))),
        ("a view and its use", steady(|| x.permute::<(In, Batch)>().contiguous())),
    ];
    for (op, n) in counts {
        assert_eq!(n, 0, "{op} allocates {n} times in steady state");
    }
}

#[test]
fn a_tracked_operation_allocates_its_node_and_nothing_else() {
    let x = Tensor::<(Batch, In)>::from_fn((8, 16), |i| i as f32 * 0.01).requires_grad();
    let w = Tensor::<(In, Out)>::from_fn((16, 4), |i| i as f32 * 0.02).requires_grad();
    let y = Tensor::<(Batch, In)>::ones((8, 16));
    let counts = [
        ("add", steady(|| &x + &y)),
        ("mul", steady(|| &x * &x)),
        ("scale", steady(|| &x * 2.0)),
        ("exp", steady(|| x.exp())),
        ("tanh", steady(|| x.tanh())),
        ("relu", steady(|| x.relu())),
        ("dot", steady(|| x.dot(&w, In))),
        ("sum", steady(|| x.sum(In))),
        ("permute", steady(|| x.permute::<(In, Batch)>())),
        ("narrow", steady(|| x.narrow(Batch, 1..3))),
    ];
    for (op, n) in counts {
        assert!(n <= 1, "{op} allocates {n} times in steady state");
    }
}

#[test]
fn the_pool_is_bounded_and_reported() {
    use forge::pool;
    for n in 0..200 {
        black_box(Tensor::<In>::zeros(1000 + 4000 * n));
    }
    let s = pool::stats();
    assert!(s.thread_idle_bytes > 0 && s.thread_idle_bytes <= 32 << 20, "{s:?}");
    assert!(s.shared_idle_bytes <= s.limit, "{s:?}");
    pool::trim();
    assert_eq!(pool::stats().thread_idle_bytes, 0);
}

/// Best of several rounds, in nanoseconds a call.
fn best_ns(mut f: impl FnMut()) -> f64 {
    let rounds = 50;
    let calls = 2000;
    (0..rounds)
        .map(|_| {
            let t = Instant::now();
            for _ in 0..calls {
                f();
            }
            t.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

/// `cargo test --release --test allocations -- --ignored --nocapture`
#[test]
#[ignore = "a measurement: run it alone, in release"]
fn tiny_operations_against_malloc() {
    let team = forge::team::Team::single();
    team.enter(|| {
        let source = [1.0f32, 2.0, 3.0, 4.0];
        let malloc = best_ns(|| {
            let v = black_box(&source).to_vec();
            drop(black_box(v));
        });
        let (a, b) = (Tensor::<In>::from(source), Tensor::<In>::from(source));
        let add = best_ns(|| drop(black_box(black_box(&a) + black_box(&b))));
        let (p, q) = (a.requires_grad(), b.requires_grad());
        let seed = Tensor::<In>::ones(4);
        let tracked = best_ns(|| {
            let y = black_box(&p) * black_box(&q);
            drop(black_box(y.backward_from(&seed, Backward::default()).unwrap()));
        });
        let text = format!(
            "malloc + free + copy of 4 floats: {malloc:.1} ns\nadd of 4 elements: {add:.1} ns, ratio {:.2} (at most 3)\n\
             tracked mul, forward and backward: {tracked:.1} ns, ratio {:.2} (at most 25)",
            add / malloc,
            tracked / malloc
        );
        assert!(add / malloc <= 3.0 && tracked / malloc <= 25.0, "{text}");
        std::io::Write::write_all(&mut std::io::stdout(), format!("{text}\n").as_bytes()).unwrap();
    });
}
