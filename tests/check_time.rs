//! What the types cost to check: a file of 1,000 distinct typed operations against the same file without them.
//!
//! `cargo test --release --test check_time -- --ignored --nocapture`

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const AXES: usize = 24;

/// A small generator, so that the file is the same every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    /// `n` different axes.
    fn axes(&mut self, n: usize) -> Vec<usize> {
        let mut v = Vec::new();
        while v.len() < n {
            let a = self.below(AXES);
            if !v.contains(&a) {
                v.push(a);
            }
        }
        v
    }
}

fn list(axes: &[usize]) -> String {
    match axes {
        [one] => format!("A{one}"),
        _ => format!("({})", axes.iter().map(|a| format!("A{a}")).collect::<Vec<_>>().join(", ")),
    }
}

/// One function of one operation on lists of axes that no other function has.
fn operation(i: usize, d: &mut Draw) -> String {
    let n = 2 + d.below(3);
    let x = d.axes(n);
    match i % 5 {
        0 => {
            // A contraction over the first axis, a batch axis if there are enough, and a new axis.
            let mut r = vec![x[0]];
            if x.len() > 2 {
                r.push(x[1]);
            }
            let new = (0..AXES).find(|a| !x.contains(a)).expect("there are more axes than a list has");
            r.push((new + i) % AXES);
            while x.contains(r.last().expect("just pushed")) {
                let last = r.last_mut().expect("just pushed");
                *last = (*last + 1) % AXES;
            }
            format!("fn f{i}(x: &Tensor<{}>, y: &Tensor<{}>) {{ let _ = x.dot(y, A{}); }}\n", list(&x), list(&r), x[0])
        }
        1 => format!("fn f{i}(x: &Tensor<{}>, y: &Tensor<{}>) {{ let _ = x + y; }}\n", list(&x), list(&x[1..])),
        2 => format!("fn f{i}(x: &Tensor<{}>) {{ let _ = x.sum(A{}); }}\n", list(&x), x[1]),
        3 => {
            let y: Vec<usize> = x.iter().rev().copied().collect();
            format!("fn f{i}(x: &Tensor<{}>) -> Tensor<{}> {{ x.permute() }}\n", list(&x), list(&y))
        }
        _ => format!("fn f{i}(x: &Tensor<{}>) {{ let _ = x.tanh().mean(A{}); }}\n", list(&x), x[0]),
    }
}

/// Best of a few checks of a crate whose `lib.rs` is `source`, in seconds.
fn check(dir: &Path, source: &str) -> f64 {
    std::fs::create_dir_all(dir.join("src")).expect("the target folder is writable");
    let forge = Path::new(env!("CARGO_MANIFEST_DIR")).join("forge");
    let manifest = format!(
        "[package]\nname = \"check-time\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nforge = {{ path = {:?} }}\n",
        forge
    );
    std::fs::write(dir.join("Cargo.toml"), manifest).expect("writable");
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    std::fs::copy(lock, dir.join("Cargo.lock")).expect("the lock file is there");
    let run = || {
        let out = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline"])
            .env("CARGO_TARGET_DIR", dir.join("target"))
            .current_dir(dir)
            .output()
            .expect("cargo runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    let mut best = f64::INFINITY;
    for round in 0..6 {
        std::fs::write(dir.join("src/lib.rs"), format!("{source}// {round}\n")).expect("writable");
        let t = Instant::now();
        run();
        // The first round compiles the dependencies.
        if round > 0 {
            best = best.min(t.elapsed().as_secs_f64());
        }
    }
    best
}

#[test]
#[ignore = "a measurement: run it alone"]
fn a_thousand_operations() {
    let axes: Vec<String> = (0..AXES).map(|i| format!("A{i}")).collect();
    let base = format!(
        "#![allow(dead_code)]\nuse forge::prelude::*;\naxes! {{ {} }}\nfn _f(_: &Tensor<A0>) {{}}\n",
        axes.join(", ")
    );
    let mut full = base.clone();
    let mut d = Draw(1);
    for i in 0..1000 {
        full += &operation(i, &mut d);
    }
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/check-time");
    let (a, b) = (check(&dir, &base), check(&dir, &full));
    let mut text = String::new();
    let _ = writeln!(text, "axes alone {a:.3} s, with 1,000 operations {b:.3} s: {:.3} s over it (at most 0.5)", b - a);
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()).expect("stdout is open");
    assert!(b - a < 0.5, "{text}");
}
