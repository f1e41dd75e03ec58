//! The worker team: every op runs on it.

/// Runs `f(0), .., f(tasks - 1)`, on the team where that pays.
///
/// `tasks` must follow from sizes alone. A call from inside a task runs inline.
pub fn run(tasks: usize, f: impl Fn(usize) + Sync) {
    for i in 0..tasks {
        f(i);
    }
}

/// Cuts `out` into chunks of `chunk` elements (the last may be shorter) and runs `f(index, chunk)` for each.
pub fn for_each_chunk<T: Send>(out: &mut [T], chunk: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    for (i, c) in out.chunks_mut(chunk.max(1)).enumerate() {
        f(i, c);
    }
}
