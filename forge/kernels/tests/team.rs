//! The worker team under nesting, concurrent callers, panics and more threads than cores, each under a watchdog.

use forge_kernels::team::{self, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `f` and fails, instead of hanging, when it takes too long.
fn watched(f: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let t = thread::spawn(move || {
        f();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(()) => t.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(t.join().unwrap_err()),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the team hangs"),
    }
}

const SIZES: [usize; 6] = [1, 2, 3, 4, 8, 17];

#[test]
fn each_task_runs_once() {
    watched(|| {
        for threads in SIZES {
            let team = Team::new(threads);
            assert_eq!(team.threads(), threads);
            for tasks in [0, 1, 2, 3, 7, 64, 1000] {
                let counts: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                team.enter(|| {
                    team::run(tasks, |i| {
                        counts[i].fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} threads, {tasks} tasks");
            }
        }
    });
}

#[test]
fn many_small_calls_in_a_row() {
    watched(|| {
        for threads in SIZES {
            let team = Team::new(threads);
            let total = AtomicUsize::new(0);
            team.enter(|| {
                for call in 0..3000 {
                    team::run(1 + call % 5, |_| {
                        total.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(total.into_inner(), 9000);
        }
    });
}

#[test]
fn workers_take_part() {
    watched(|| {
        // Task 0 waits for task 1, so they can only end on two threads. The caller takes from the front.
        let team = Team::new(2);
        for _ in 0..50 {
            let there = AtomicUsize::new(0);
            team.enter(|| {
                team::run(2, |_| {
                    there.fetch_add(1, Ordering::SeqCst);
                    while there.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                });
            });
            assert_eq!(there.into_inner(), 2);
        }
    });
}

#[test]
fn nested_calls_run_inline() {
    watched(|| {
        for threads in [3, 4, 8] {
            let team = Team::new(threads);
            let total = AtomicUsize::new(0);
            team.enter(|| {
                for _ in 0..50 {
                    team::run(9, |_| {
                        let outer = thread::current().id();
                        team::run(5, |_| {
                            team::run(3, |_| {
                                assert_eq!(thread::current().id(), outer);
                                total.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                }
            });
            assert_eq!(total.into_inner(), 50 * 9 * 5 * 3);
        }
    });
}

#[test]
fn concurrent_callers() {
    watched(|| {
        for threads in [2, 3, 4, 8] {
            let team = Team::new(threads);
            thread::scope(|s| {
                for caller in 0..5u64 {
                    let team = &team;
                    s.spawn(move || {
                        team.enter(|| {
                            for round in 0..200u64 {
                                let mut out = vec![0u64; 1000];
                                team::for_each_chunk(&mut out, 64, |i, part| {
                                    for (j, x) in part.iter_mut().enumerate() {
                                        *x = caller * round + (64 * i + j) as u64;
                                    }
                                });
                                assert!(out.iter().enumerate().all(|(i, &x)| x == caller * round + i as u64));
                            }
                        });
                    });
                }
            });
        }
    });
}

#[test]
fn callers_on_the_global_team() {
    watched(|| {
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let total = AtomicUsize::new(0);
                    (0..500).for_each(|_| {
                        team::run(4, |i| {
                            total.fetch_add(i, Ordering::Relaxed);
                        });
                    });
                    assert_eq!(total.into_inner(), 3000);
                });
            }
        });
    });
    assert!(Team::global().threads() >= 1);
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_lives_on() {
    watched(|| {
        for threads in SIZES {
            let team = Team::new(threads);
            for round in 0..30 {
                let ran = AtomicUsize::new(0);
                let result = catch_unwind(AssertUnwindSafe(|| {
                    team.enter(|| {
                        team::run(40, |i| {
                            ran.fetch_add(1, Ordering::Relaxed);
                            if i == round {
                                std::panic::panic_any(i);
                            }
                        });
                    });
                }));
                let payload = result.expect_err("the panic is lost");
                assert_eq!(*payload.downcast::<usize>().unwrap(), round);
                assert!(ran.into_inner() <= 40);

                let after = AtomicUsize::new(0);
                team.enter(|| {
                    team::run(40, |_| {
                        after.fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert_eq!(after.into_inner(), 40);
            }
        }
    });
}

#[test]
fn every_task_may_panic() {
    watched(|| {
        for threads in [3, 4, 8] {
            let team = Team::new(threads);
            for _ in 0..30 {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    team.enter(|| team::run(64, |i| std::panic::panic_any(i)));
                }));
                assert!(*result.unwrap_err().downcast::<usize>().unwrap() < 64);
            }
        }
    });
}

#[test]
fn panics_from_concurrent_nested_callers() {
    watched(|| {
        for threads in [3, 4, 8] {
            let team = Team::new(threads);
            thread::scope(|s| {
                for caller in 0..4 {
                    let team = &team;
                    s.spawn(move || {
                        for _ in 0..50 {
                            let result = catch_unwind(AssertUnwindSafe(|| {
                                team.enter(|| {
                                    team::run(8, |i| {
                                        team::run(4, |j| {
                                            if caller % 2 == 0 && i * 4 + j == 21 {
                                                std::panic::panic_any(caller);
                                            }
                                        });
                                    });
                                });
                            }));
                            assert_eq!(result.is_err(), caller % 2 == 0);
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn enter_nests_and_is_undone() {
    watched(|| {
        let one = Team::single();
        let caller = thread::current().id();
        let on_caller = || {
            team::run(64, |_| assert_eq!(thread::current().id(), caller));
        };
        one.enter(|| {
            on_caller();
            let two = Team::new(2);
            two.enter(|| {
                let there = AtomicUsize::new(0);
                team::run(2, |_| {
                    there.fetch_add(1, Ordering::SeqCst);
                    while there.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                });
            });
            // Back on one thread, also after a panic inside the inner team.
            on_caller();
            let result = catch_unwind(AssertUnwindSafe(|| two.enter(|| panic!("inside"))));
            assert!(result.is_err());
            drop(two);
            on_caller();
        });
    });
}

#[test]
fn dropping_joins() {
    watched(|| {
        for _ in 0..20 {
            for threads in [2, 4, 8] {
                let team = Team::new(threads);
                team.enter(|| team::run(threads, |_| {}));
                drop(team);
            }
        }
    });
}

#[test]
fn chunks_are_disjoint_and_complete() {
    watched(|| {
        for threads in [1, 2, 4, 8] {
            let team = Team::new(threads);
            team.enter(|| {
                for (len, chunk) in [(0, 3), (1, 3), (9, 3), (10, 3), (1000, 7), (5, 0), (4, 100)] {
                    let mut a = vec![0usize; len];
                    team::for_each_chunk(&mut a, chunk, |i, part| {
                        assert!(!part.is_empty());
                        part.iter_mut().enumerate().for_each(|(j, x)| *x += i * chunk.max(1) + j + 1);
                    });
                    assert!(a.iter().enumerate().all(|(i, &x)| x == i + 1), "{len} {chunk}");
                }
                // Rows of 5 beside one value for each row, and three at once.
                let (mut rows, mut sums, mut marks) = (vec![1u32; 500], vec![0u32; 100], vec![false; 200]);
                team::for_each_chunk2(&mut rows, 50, &mut sums, 10, |i, r, s| {
                    for (row, sum) in r.chunks_mut(5).zip(s) {
                        row.fill(i as u32);
                        *sum = row.iter().sum();
                    }
                });
                assert!(sums.iter().enumerate().all(|(i, &s)| s == 5 * (i as u32 / 10)));
                team::for_each_chunk3(&mut rows, 5, &mut sums, 1, &mut marks, 2, |i, r, s, m| {
                    r.fill(0);
                    s[0] = i as u32;
                    m[1] = true;
                });
                assert!(rows.iter().all(|&r| r == 0) && sums[99] == 99 && !marks[0] && marks[199]);
            });
        }
    });
}

#[test]
#[should_panic(expected = "same number of chunks")]
fn chunk_counts_must_agree() {
    team::for_each_chunk2(&mut [0u8; 10], 2, &mut [0u8; 10], 3, |_, _, _| {});
}
