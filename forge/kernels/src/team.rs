//! The worker team: every op runs on it.
//!
//! A [`Team`] owns plain threads that start at the first call which needs them. A call offers its tasks to the workers
//! and works along; whoever is awake joins and claims task after task, and nobody waits for a worker that is asleep.
//! Tasks follow from sizes alone and write to disjoint places, so who runs which never shows in the result.
//!
//! A call never waits for the team: when another thread is using it, or the call comes from inside a task, the tasks
//! run one after the other on the caller. No lock is held while a task runs, so nesting cannot deadlock.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most threads that a team may have.
pub const MAX_THREADS: usize = 256;
/// How long a thread watches for work, or for the end of it, before it sleeps.
const SPIN: Duration = Duration::from_micros(40);

thread_local! {
    /// The team that [`Team::enter`] put on this thread; null means the global one.
    static CURRENT: Cell<*const Team> = const { Cell::new(ptr::null()) };
    /// Whether this thread is running a task of a team.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f(0), .., f(tasks - 1)`, each once, on the team where that pays.
///
/// `tasks` must follow from sizes alone. A call from inside a task, or while the team is busy, runs inline.
///
/// # Panics
/// When a task panics: the other tasks finish or are dropped, then the panic goes on in the caller.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// forge_kernels::team::run(10, |i| {
///     sum.fetch_add(i, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
#[inline]
pub fn run(tasks: usize, f: impl Fn(usize) + Sync) {
    run_dyn(tasks, &f);
}

/// [`run`] for every closure: what distributes the work is compiled once, not for each kernel.
fn run_dyn(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    if tasks <= 1 || IN_TASK.get() {
        (0..tasks).for_each(f);
    } else {
        let current = CURRENT.get();
        // SAFETY: a pointer that is not null was put there by `enter` on this thread, which borrows the team and
        // takes the pointer away again before the borrow ends.
        let team = if current.is_null() { Team::global() } else { unsafe { &*current } };
        team.dispatch(tasks, &f);
    }
}

/// How many threads a call of [`run`] here may have: 1 inside a task. Only for a division of work on which no bit of the
/// result depends.
#[inline]
pub fn threads() -> usize {
    if IN_TASK.get() {
        return 1;
    }
    let current = CURRENT.get();
    // SAFETY: a pointer that is not null was put there by `enter` on this thread, which borrows the team and takes the
    // pointer away again before the borrow ends.
    if current.is_null() { Team::global().threads() } else { unsafe { &*current }.threads() }
}

/// Cuts `out` into chunks of `chunk` elements (the last may be shorter) and runs `f(index, chunk)` for each.
///
/// ```
/// let mut squares = [0; 10];
/// forge_kernels::team::for_each_chunk(&mut squares, 4, |i, part| {
///     for (j, x) in part.iter_mut().enumerate() {
///         *x = (4 * i + j) * (4 * i + j);
///     }
/// });
/// assert_eq!(squares[9], 81);
/// ```
#[inline]
pub fn for_each_chunk<T: Send>(out: &mut [T], chunk: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    for_each_chunk_dyn(out, chunk, &f);
}

/// [`for_each_chunk`], compiled once for each element type.
fn for_each_chunk_dyn<T: Send>(out: &mut [T], chunk: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let out = Parts::new(out, chunk);
    run_dyn(out.count(), &|i| {
        // SAFETY: `run_dyn` calls each index once, and `out` was borrowed mutably for this whole call.
        f(i, unsafe { out.part(i) });
    });
}

/// [`for_each_chunk`] over two outputs in step: `f(index, chunk of a, chunk of b)`.
///
/// # Panics
/// When `a` and `b` do not have the same number of chunks.
#[inline]
pub fn for_each_chunk2<A: Send, B: Send>(
    a: &mut [A],
    chunk_a: usize,
    b: &mut [B],
    chunk_b: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    for_each_chunk2_dyn(a, chunk_a, b, chunk_b, &f);
}

/// [`for_each_chunk2`], compiled once for each pair of element types.
fn for_each_chunk2_dyn<A: Send, B: Send>(
    a: &mut [A],
    chunk_a: usize,
    b: &mut [B],
    chunk_b: usize,
    f: &(dyn Fn(usize, &mut [A], &mut [B]) + Sync),
) {
    let (a, b) = (Parts::new(a, chunk_a), Parts::new(b, chunk_b));
    assert_eq!(a.count(), b.count(), "both outputs must have the same number of chunks");
    run_dyn(a.count(), &|i| {
        // SAFETY: `run_dyn` calls each index once, and `a` was borrowed mutably for this whole call.
        let pa = unsafe { a.part(i) };
        // SAFETY: the same for `b`.
        let pb = unsafe { b.part(i) };
        f(i, pa, pb);
    });
}

/// [`for_each_chunk`] over three outputs in step (a parameter and the two moments of its optimizer, say).
///
/// # Panics
/// When the outputs do not have the same number of chunks.
#[inline]
pub fn for_each_chunk3<A: Send, B: Send, C: Send>(
    a: &mut [A],
    chunk_a: usize,
    b: &mut [B],
    chunk_b: usize,
    c: &mut [C],
    chunk_c: usize,
    f: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync,
) {
    let (a, b, c) = (Parts::new(a, chunk_a), Parts::new(b, chunk_b), Parts::new(c, chunk_c));
    assert!(a.count() == b.count() && b.count() == c.count(), "all outputs must have the same number of chunks");
    run(a.count(), |i| {
        // SAFETY: `run` calls each index once, and `a` was borrowed mutably for this whole call.
        let pa = unsafe { a.part(i) };
        // SAFETY: the same for `b`.
        let pb = unsafe { b.part(i) };
        // SAFETY: the same for `c`.
        let pc = unsafe { c.part(i) };
        f(i, pa, pb, pc);
    });
}

/// A slice that tasks take apart.
struct Parts<T> {
    base: *mut T,
    len: usize,
    chunk: usize,
}

// SAFETY: sharing a `Parts` lets several threads each take a `&mut` to different elements, which `T: Send` allows.
unsafe impl<T: Send> Sync for Parts<T> {}

impl<T> Parts<T> {
    fn new(out: &mut [T], chunk: usize) -> Self {
        Self { base: out.as_mut_ptr(), len: out.len(), chunk: chunk.max(1) }
    }

    fn count(&self) -> usize {
        self.len.div_ceil(self.chunk)
    }

    /// # Safety
    /// `i < self.count()`, each `i` at most once, while the slice of `new` is borrowed.
    #[allow(clippy::mut_from_ref, reason = "each part is handed out once")]
    unsafe fn part(&self, i: usize) -> &mut [T] {
        let start = i * self.chunk;
        let len = self.chunk.min(self.len - start);
        // SAFETY: `start < self.len` as `i < count()`, so the pointer stays inside the slice.
        let first = unsafe { self.base.add(start) };
        // SAFETY: `start + len <= self.len`; parts of different `i` do not overlap, and the caller asks once for each.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}

/// A handle to a team of worker threads. Dropping it ends and joins them.
///
/// ```
/// use forge_kernels::team::{self, Team};
/// let four = Team::new(4);
/// let mut x = vec![0u8; 1 << 20];
/// four.enter(|| team::for_each_chunk(&mut x, 4096, |_, part| part.fill(1)));
/// assert!(x.iter().all(|&v| v == 1));
/// ```
pub struct Team {
    threads: usize,
    shared: Arc<Shared>,
    /// Started workers; touched only by the thread that holds `Shared::busy`, and by drop.
    workers: Mutex<Vec<JoinHandle<()>>>,
    started: AtomicBool,
}

impl Team {
    /// A team of `threads` (the caller is one of them), at least 1 and at most [`MAX_THREADS`]. No thread starts before
    /// the first call with more than one task.
    pub fn new(threads: usize) -> Self {
        let threads = threads.clamp(1, MAX_THREADS);
        let spin = if threads <= cores() { SPIN } else { Duration::ZERO };
        Self {
            threads,
            shared: Arc::new(Shared::new(spin)),
            workers: Mutex::new(Vec::new()),
            started: AtomicBool::new(false),
        }
    }

    /// The team that never starts a thread.
    pub fn single() -> Self {
        Self::new(1)
    }

    /// The team of the process: one thread for each core that the process may use, or `FORGE_THREADS` of them (a value
    /// that is not a positive number is ignored).
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Team> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let asked = std::env::var("FORGE_THREADS").ok().and_then(|s| s.trim().parse().ok());
            Self::new(asked.filter(|&n: &usize| n > 0).unwrap_or_else(cores))
        })
    }

    /// How many threads work on a call, the caller included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `f` with this team as the current one of this thread. Nests; the former team is back afterwards, also when
    /// `f` panics.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let _back = Restore { cell: &CURRENT, was: CURRENT.replace(self) };
        f()
    }

    /// Offers the tasks to the workers and works along, or does them all when the team is taken.
    fn dispatch<F: Fn(usize) + Sync>(&self, tasks: usize, f: &F) {
        let s = &*self.shared;
        // The two claim counters are 32 bits each.
        let fits = tasks < (u32::MAX / 2) as usize;
        if self.threads == 1
            || !fits
            || s.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            (0..tasks).for_each(f);
            return;
        }
        if !self.started.load(Ordering::Relaxed) {
            self.start();
        }
        let job = Job { data: ptr::from_ref(f).cast(), call: call::<F>, tasks };
        // SAFETY: we hold `busy`, so no other caller writes; no worker reads, as the door is shut and all have left.
        unsafe { *s.job.get() = job };
        let payload = s.work_through(job);
        s.busy.store(false, Ordering::Release);
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }

    #[cold]
    fn start(&self) {
        let mut workers = lock(&self.workers);
        for i in 1..self.threads {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name(format!("forge-{i}")).spawn(move || shared.worker(i));
            match thread {
                Ok(t) => workers.push(t),
                // A system without room for more threads still computes, with those it gave.
                Err(_) => break,
            }
        }
        self.started.store(true, Ordering::Relaxed);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.state.fetch_or(SHUTDOWN, Ordering::SeqCst);
        {
            let _asleep = lock(&self.shared.sleep);
            self.shared.wake.notify_all();
        }
        for t in lock(&self.workers).drain(..) {
            // Workers catch the panics of their tasks.
            let _ = t.join();
        }
    }
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Team({} threads)", self.threads)
    }
}

/// Puts a thread-local value back when it goes out of scope.
struct Restore<T: Copy + 'static> {
    cell: &'static thread::LocalKey<Cell<T>>,
    was: T,
}

impl<T: Copy + 'static> Drop for Restore<T> {
    fn drop(&mut self) {
        self.cell.set(self.was);
    }
}

/// A call in flight: `call(data, i)` runs task `i`.
#[derive(Clone, Copy)]
struct Job {
    data: *const (),
    call: unsafe fn(*const (), usize),
    tasks: usize,
}

/// # Safety
/// `data` comes from a `&F` that is still alive.
unsafe fn call<F: Fn(usize) + Sync>(data: *const (), i: usize) {
    // SAFETY: as promised by the caller; `F: Sync` lets any thread share it.
    let f = unsafe { &*data.cast::<F>() };
    f(i);
}

// The state word: how many workers are inside the job, flags, and the number of the job in the upper half.
const INSIDE: u64 = (1 << 16) - 1;
/// The job takes participants.
const OPEN: u64 = 1 << 16;
/// The caller sleeps until the last worker leaves.
const WAITING: u64 = 1 << 17;
/// The team is being dropped.
const SHUTDOWN: u64 = 1 << 18;
const JOB: u32 = 32;

/// Keeps counters that different threads write on cache lines of their own.
#[repr(align(128))]
struct Padded<T>(T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

struct Shared {
    state: Padded<AtomicU64>,
    /// Tasks claimed: from the front in the low half, from the back in the high half.
    claimed: Padded<AtomicU64>,
    /// The try-lock of callers.
    busy: Padded<AtomicBool>,
    job: UnsafeCell<Job>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    spin: Duration,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
    end: Mutex<()>,
    ended: Condvar,
}

// SAFETY: `job` is the one field that is not `Sync`. It is written by the holder of `busy` while nobody is inside the
// job, and read by workers that are counted inside it, which the writer waits out. The function behind its pointer is
// `Sync` (see `dispatch`).
unsafe impl Sync for Shared {}
// SAFETY: the pointers in `job` belong to no thread; they are used only as said above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(spin: Duration) -> Self {
        Self {
            state: Padded(AtomicU64::new(0)),
            claimed: Padded(AtomicU64::new(0)),
            busy: Padded(AtomicBool::new(false)),
            job: UnsafeCell::new(Job { data: ptr::null(), call: call::<fn(usize)>, tasks: 0 }),
            panic: Mutex::new(None),
            spin,
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
            end: Mutex::new(()),
            ended: Condvar::new(),
        }
    }

    /// The caller's side of a job: open the door, work, shut the door, wait for those inside.
    fn work_through(&self, job: Job) -> Option<Box<dyn Any + Send>> {
        self.claimed.store(0, Ordering::Relaxed);
        let number = (self.state.load(Ordering::Relaxed) >> JOB).wrapping_add(1);
        // SeqCst pairs with a worker that counts itself asleep and then looks at the state: one of the two sees the
        // other's write.
        self.state.store(number << JOB | OPEN, Ordering::SeqCst);
        let asleep = self.sleepers.load(Ordering::SeqCst);
        if asleep > 0 {
            let _sleep = lock(&self.sleep);
            if job.tasks > asleep {
                self.wake.notify_all();
            } else {
                (1..job.tasks).for_each(|_| self.wake.notify_one());
            }
        }
        {
            let _back = Restore { cell: &IN_TASK, was: IN_TASK.replace(true) };
            self.claim_all(job, 0);
        }
        self.state.fetch_and(!OPEN, Ordering::AcqRel);
        self.wait_out();
        lock(&self.panic).take()
    }

    /// Waits until no worker is inside the job. Its writes are visible afterwards.
    fn wait_out(&self) {
        let empty = || self.state.load(Ordering::Acquire) & INSIDE == 0;
        if watch(self.spin, empty) {
            return;
        }
        let mut end = lock(&self.end);
        // The last worker that sees WAITING takes `end` before it notifies, so it cannot notify before we sleep.
        while self.state.fetch_or(WAITING, Ordering::AcqRel) & INSIDE != 0 {
            end = self.ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
        self.state.fetch_and(!WAITING, Ordering::AcqRel);
    }

    /// Claims and runs tasks until none is left. Even members take from the front and odd ones from the back, so that
    /// two threads work on two halves and find their half in their own cache at the next call.
    fn claim_all(&self, job: Job, member: usize) {
        let step = if member.is_multiple_of(2) { 1 } else { 1 << 32 };
        let done = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let before = self.claimed.fetch_add(step, Ordering::Relaxed);
                let (front, back) = ((before & u64::from(u32::MAX)) as usize, (before >> 32) as usize);
                if front + back >= job.tasks {
                    return;
                }
                let i = if step == 1 { front } else { job.tasks - 1 - back };
                // SAFETY: `data` points to the caller's function, and the caller waits until all have left the job.
                unsafe { (job.call)(job.data, i) };
            }
        }));
        if let Err(payload) = done {
            // Nobody starts another task.
            self.claimed.store(job.tasks as u64, Ordering::Relaxed);
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(payload);
            } else {
                // A payload may panic when it is dropped, and nothing may unwind from here while others are inside.
                std::mem::forget(payload);
            }
        }
    }

    /// The life of worker `member`.
    fn worker(&self, member: usize) {
        IN_TASK.set(true);
        let mut last = 0;
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & SHUTDOWN != 0 {
                return;
            }
            if state & OPEN == 0 || state >> JOB == last {
                self.doze(last);
                continue;
            }
            if self.state.compare_exchange_weak(state, state + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            last = state >> JOB;
            let _leave = Leave(self);
            // SAFETY: we are counted inside the job, so its caller does not write it before we leave.
            let job = unsafe { *self.job.get() };
            self.claim_all(job, member);
        }
    }

    /// Returns when there may be a job other than `last`, or the team ends: first by watching, then by sleeping.
    fn doze(&self, last: u64) {
        let news = |order| {
            let s = self.state.load(order);
            s & SHUTDOWN != 0 || (s & OPEN != 0 && s >> JOB != last)
        };
        if watch(self.spin, || news(Ordering::Acquire)) {
            return;
        }
        let mut sleep = lock(&self.sleep);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !news(Ordering::SeqCst) {
            sleep = self.wake.wait(sleep).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes a worker out of the job, whatever happened inside.
struct Leave<'a>(&'a Shared);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(1, Ordering::AcqRel);
        if before & INSIDE == 1 && before & WAITING != 0 {
            let _end = lock(&self.0.end);
            self.0.ended.notify_all();
        }
    }
}

/// Watches `ready` for at most `limit`; whether it came.
fn watch(limit: Duration, ready: impl Fn() -> bool) -> bool {
    if ready() {
        return true;
    }
    if limit.is_zero() {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > limit {
            return false;
        }
    }
}

/// These locks guard no invariant that a panic could break.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many cores this process may use: logical processors by affinity mask and control-group quota, and where the
/// system tells (Linux), no more than there are physical cores among them.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        let logical = thread::available_parallelism().map_or(1, usize::from);
        physical().map_or(logical, |p| p.min(logical)).max(1)
    })
}

/// Distinct physical cores in the affinity mask, from procfs and sysfs.
#[cfg(target_os = "linux")]
fn physical() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let allowed = cpu_list(status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?)?;
    let mut cores = std::collections::BTreeSet::new();
    for cpu in allowed {
        // Hyperthreads of one core name the same set of siblings.
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        cores.insert(std::fs::read_to_string(file).ok()?.trim().to_owned());
    }
    Some(cores.len()).filter(|&n| n > 0)
}

#[cfg(not(target_os = "linux"))]
fn physical() -> Option<usize> {
    None
}

/// Reads `0-3,8`: the processors of a kernel list.
#[cfg(any(target_os = "linux", test))]
fn cpu_list(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b): (usize, usize) = (a.parse().ok()?, b.parse().ok()?);
        if b < a || b > 1 << 16 {
            return None;
        }
        cpus.extend(a..=b);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists() {
        assert_eq!(cpu_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list(" 5"), Some(vec![5]));
        assert_eq!(cpu_list(""), None);
        assert_eq!(cpu_list("3-1"), None);
    }

    #[test]
    fn no_thread_starts_before_it_is_needed() {
        let single = Team::single();
        single.enter(|| run(100, |_| {}));
        assert!(lock(&single.workers).is_empty());
        let four = Team::new(4);
        four.enter(|| run(1, |_| {}));
        assert!(lock(&four.workers).is_empty());
        four.enter(|| run(2, |_| {}));
        assert_eq!(lock(&four.workers).len(), 3);
    }
}
