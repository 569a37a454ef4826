//! The core's thread pool against rayon:
//! `cargo run --release --manifest-path benchmarks/thread_pool/Cargo.toml`.
//!
//! Three questions, for 2 and 16 threads: how long one call takes that shares out nothing (pure
//! overhead), how long one takes whose items work for 50 µs each with 1 ms of other work between
//! calls (the rhythm of a forest: select, then the network), and whether a forked child can use the
//! pool (Python's `multiprocessing` forks).

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;

#[allow(dead_code)]
#[path = "../../../crates/sylvan-core/src/search/workers.rs"]
mod workers;

const REPEATS: usize = 9;
const CALLS: u32 = 400;

/// Keeps a core busy.
fn work(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        black_box(0);
    }
}

fn ours(items: &mut [Duration]) {
    let done = workers::each(items, |time| {
        work(*time);
        Ok::<(), ()>(())
    });
    assert_eq!(done, Ok(()));
}

fn rayon(pool: &rayon::ThreadPool, items: &mut [Duration]) {
    pool.install(|| items.par_iter_mut().for_each(|time| work(*time)));
}

/// Microseconds per call, median, least and most of several repeats.
fn measure(items: usize, each: Duration, pause: Duration, call: &mut dyn FnMut(&mut [Duration])) {
    let mut items = vec![each; items];
    let mut found: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let mut took = Duration::ZERO;
            for _ in 0..CALLS {
                work(pause);
                let began = Instant::now();
                call(&mut items);
                took += began.elapsed();
            }
            took.as_secs_f64() * 1e6 / f64::from(CALLS)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    println!(
        "{:8.1} µs ({:.1} to {:.1})",
        found[REPEATS / 2],
        found[0],
        found[REPEATS - 1]
    );
}

/// Whether a forked child finishes a call within two seconds.
fn survives_fork(call: &mut dyn FnMut(&mut [Duration])) -> bool {
    // SAFETY: the child only makes the call under test and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        call(&mut [Duration::from_micros(50); 4]);
        unsafe { libc::_exit(0) };
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let mut status = 0;
        // SAFETY: `child` is our child and has not been waited for.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return status == 0;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the child still runs.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    false
}

fn main() {
    for threads in [2, 16] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        let mut rayons = |items: &mut [Duration]| rayon(&pool, items);
        for (title, each, pause) in [
            ("empty items, no pause", 0, 0),
            ("50 µs items, 1 ms pause", 50, 1000),
        ] {
            let (each, pause) = (Duration::from_micros(each), Duration::from_micros(pause));
            print!("{threads:2} threads, {title:24} ours  ");
            measure(threads, each, pause, &mut ours);
            print!("{threads:2} threads, {title:24} rayon ");
            measure(threads, each, pause, &mut rayons);
        }
        println!(
            "{threads:2} threads, a forked child: ours {}, rayon {}",
            if survives_fork(&mut ours) {
                "works"
            } else {
                "hangs"
            },
            if survives_fork(&mut rayons) {
                "works"
            } else {
                "hangs"
            }
        );
    }
}
