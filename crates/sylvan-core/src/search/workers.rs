//! A thread pool: idle threads wait for work, so that a batch need not start threads.
//!
//! A forest on 16 threads distributes work several times per batch: select, observe, update.
//! Starting and joining 15 threads takes 170 µs (on a machine with two cores), as long as 16
//! threads need to select 4000 leaves of Connect Four; waking sleeping threads takes 55 µs. So an
//! idle thread spins for about the time it would take to wake it, yielding its core, and then
//! sleeps. The caller works too: it does its own part, then every part that no thread has started,
//! because on a busy machine threads start late. So it is no error if the system refuses to start a
//! thread.
//!
//! Idle threads belong to the process, not to a forest. After a fork the child has none of its
//! parent's threads and starts new ones; a lock held by another thread at the fork stays locked in
//! the child, so the list of idle threads is only locked with `try_lock`, and not used if that
//! fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{hint, process};

type Job = Box<dyn FnOnce() + Send>;

/// The idle threads of one process.
struct IdleThreads {
    process: u32,
    threads: Vec<Sender<Job>>,
}

static IDLE: Mutex<IdleThreads> = Mutex::new(IdleThreads {
    process: 0,
    threads: Vec::new(),
});

/// Attempts to lock the list before giving up.
const LOCK_ATTEMPTS: usize = 100;

impl IdleThreads {
    /// Calls `work` with the list of this process; returns `None` if it stays locked.
    fn with<T>(work: impl FnOnce(&mut Vec<Sender<Job>>) -> T) -> Option<T> {
        let mut idle = (0..LOCK_ATTEMPTS).find_map(|_| {
            let locked = IDLE.try_lock().ok();
            if locked.is_none() {
                thread::yield_now();
            }
            locked
        })?;
        if idle.process != process::id() {
            // After a fork: these threads are the parent's. Leak them: dropping a sender may take a
            // lock.
            std::mem::forget(std::mem::take(&mut idle.threads));
            idle.process = process::id();
        }
        Some(work(&mut idle.threads))
    }
}

/// The time a thread spins before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// Polls for up to `SPIN_TIME`, until there is a result.
fn spin<T>(mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        for _ in 0..20 {
            if let Some(result) = poll() {
                return Some(result);
            }
            hint::spin_loop();
        }
        if began.elapsed() > SPIN_TIME {
            return None;
        }
        thread::yield_now();
    }
}

/// Runs a job on an idle thread or on a new one. Drops the job if the system refuses a thread: the
/// caller does every job that was not started.
fn start(mut job: Job) {
    if let Some(thread) = IdleThreads::with(Vec::pop).flatten() {
        match thread.send(job) {
            Ok(()) => return,
            Err(unsent) => job = unsent.0,
        }
    }
    let _ = thread::Builder::new().spawn(move || {
        let (sender, jobs) = channel::<Job>();
        job();
        while IdleThreads::with(|threads| threads.push(sender.clone())).is_some() {
            let next = spin(|| jobs.try_recv().ok());
            match next.map_or_else(|| jobs.recv(), Ok) {
                Ok(job) => job(),
                Err(_) => return,
            }
        }
    });
}

/// Counts unfinished jobs; one thread waits until there are none.
struct Latch {
    left: AtomicUsize,
    waiter: Thread,
}

impl Latch {
    fn down(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.waiter.unpark();
        }
    }

    fn wait(&self) {
        let zero = || (self.left.load(Ordering::Acquire) == 0).then_some(());
        if spin(zero).is_none() {
            while zero().is_none() {
                thread::park();
            }
        }
    }
}

/// A job that runs once, on the first thread that calls `run`.
#[derive(Clone)]
struct Once(Arc<Mutex<Option<Job>>>);

impl Once {
    fn new(job: Job) -> Self {
        Self(Arc::new(Mutex::new(Some(job))))
    }

    fn run(&self) {
        let job = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            job();
        }
    }
}

/// Jobs that borrow from a caller's stack. Dropping it, also by a panic, runs the jobs that no
/// thread has started and waits for the others, so that no job outlives its borrows.
struct Borrowing {
    jobs: Vec<Once>,
    latch: Arc<Latch>,
}

impl Drop for Borrowing {
    fn drop(&mut self) {
        self.jobs.iter().rev().for_each(Once::run);
        self.latch.wait();
    }
}

/// Calls `work` on every item, each on its own thread; returns the first error in order.
pub(crate) fn each<T: Send, E: Send>(
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    each_on(items, work, start)
}

/// The same with threads from `start`, which may drop a job.
fn each_on<T: Send, E: Send>(
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<(), E> + Sync,
    start: impl Fn(Job),
) -> Result<(), E> {
    let Some((first, others)) = items.split_first_mut() else {
        return Ok(());
    };
    if others.is_empty() {
        return work(first);
    }
    let caught = |item: &mut T| catch_unwind(AssertUnwindSafe(|| work(item)));
    let mut results: Vec<_> = others.iter().map(|_| None).collect();
    // Declared after everything that jobs borrow, so that it is dropped first.
    let mut borrowing = Borrowing {
        jobs: Vec::with_capacity(others.len()),
        latch: Arc::new(Latch {
            left: AtomicUsize::new(0),
            waiter: thread::current(),
        }),
    };
    for (item, result) in others.iter_mut().zip(&mut results) {
        let latch = Arc::clone(&borrowing.latch);
        let caught = &caught;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            *result = Some(caught(item));
            latch.down(); // do not use borrowed data after this
        });
        // SAFETY: the job borrows from this call, which neither returns nor unwinds before
        // `borrowing` is dropped. The drop runs the job or waits for its end: a job is counted
        // before any thread can see it, it catches panics, and it counts down once, at its end.
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
        let job = Once::new(job);
        borrowing.latch.left.fetch_add(1, Ordering::AcqRel);
        borrowing.jobs.push(job.clone());
        start(Box::new(move || job.run()));
    }
    let mine = caught(first); // this thread would otherwise only wait
    drop(borrowing);
    let mut outcome = Ok(());
    for result in std::iter::once(Some(mine)).chain(results).flatten() {
        outcome = outcome.and(result.unwrap_or_else(|panic| resume_unwind(panic)));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_visits_every_item_once_and_returns_the_first_error() {
        for _ in 0..100 {
            let mut items: Vec<usize> = (0..9).collect();
            let worked = each(&mut items, |item| {
                *item += 10;
                if *item % 4 == 3 { Err(*item) } else { Ok(()) }
            });
            assert_eq!(worked, Err(11));
            assert_eq!(items, (10..19).collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_are_reused() {
        let mut seen = HashSet::new();
        for _ in 0..50 {
            let mut ids = [thread::current().id(); 3];
            let Ok::<(), ()>(()) = each(&mut ids, |id| {
                *id = thread::current().id();
                Ok(())
            }) else {
                unreachable!()
            };
            seen.extend(ids);
        }
        // Other tests use the pool at the same time.
        assert!(seen.len() < 50, "{} threads for 150 jobs", seen.len());
    }

    #[test]
    fn a_refused_thread_leaves_the_work_to_the_caller() {
        let mut items = [1, 2, 3, 4];
        let worked = each_on(
            &mut items,
            |item| {
                *item *= 10;
                Ok::<(), ()>(())
            },
            drop,
        );
        assert_eq!((worked, items), (Ok(()), [10, 20, 30, 40]));
    }

    #[test]
    fn no_job_outlives_the_call_that_it_borrows_from() {
        // Starting the second job panics. The first, started before and slow, has ended when the
        // panic arrives here.
        let (started_jobs, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let started = AtomicUsize::new(0);
        let mut items = [0, 1, 2];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            each_on(
                &mut items,
                |_| {
                    started_jobs.fetch_add(1, Ordering::AcqRel);
                    thread::sleep(Duration::from_millis(50));
                    ended.fetch_add(1, Ordering::AcqRel);
                    Ok::<(), ()>(())
                },
                |job| {
                    if started.fetch_add(1, Ordering::AcqRel) == 1 {
                        while started_jobs.load(Ordering::Acquire) == 0 {
                            thread::yield_now();
                        }
                        panic!("no thread");
                    }
                    start(job);
                },
            )
        }));
        assert!(caught.is_err());
        assert_eq!(ended.load(Ordering::Acquire), 2); // the caller did the second
    }

    #[test]
    fn a_panic_propagates_after_the_other_jobs_ended() {
        let done = AtomicUsize::new(0);
        for bad in 0..4 {
            let mut items = [0, 1, 2, 3];
            let caught = catch_unwind(AssertUnwindSafe(|| {
                each(&mut items, |item| {
                    assert!(*item != bad, "as expected");
                    done.fetch_add(1, Ordering::Relaxed);
                    Ok::<(), ()>(())
                })
            }));
            assert!(caught.is_err());
        }
        assert_eq!(done.load(Ordering::Relaxed), 12);
    }
}
