//! Threads that wait for work, so that a batch does not pay for starting them.
//!
//! A forest on 16 threads shares out its work several times a batch: select, observe, update. To
//! start and join 15 threads takes 170 µs (on a machine of two cores), as long as 16 threads need
//! to select 4000 leaves of Connect Four; to wake those that sleep takes 55 µs. So a thread that has
//! nothing to do looks out for work as long as it would take to wake it, letting others have the
//! core, and then sleeps. Whoever shares out work does what nobody has begun by the time that its
//! own part is done: on a busy machine threads come late.
//!
//! Sleeping threads belong to the process, not to a forest. After a fork the child has none of its
//! parent's threads and begins with new ones; a lock that a thread held at that moment stays locked
//! in the child, so the list of sleepers is only ever tried, and done without if it is taken.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{hint, process};

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one process that have nothing to do.
struct Sleepers {
    process: u32,
    threads: Vec<Sender<Job>>,
}

static SLEEPERS: Mutex<Sleepers> = Mutex::new(Sleepers {
    process: 0,
    threads: Vec::new(),
});

/// Tries for the list before a thread does without.
const TRIES: usize = 100;

impl Sleepers {
    /// Does something with the list of this process; nothing if others keep it locked.
    fn with<T>(work: impl FnOnce(&mut Vec<Sender<Job>>) -> T) -> Option<T> {
        let mut sleepers = (0..TRIES).find_map(|_| {
            let tried = SLEEPERS.try_lock().ok();
            if tried.is_none() {
                thread::yield_now();
            }
            tried
        })?;
        if sleepers.process != process::id() {
            std::mem::forget(std::mem::take(&mut sleepers.threads)); // the parent's: to nobody here
            sleepers.process = process::id();
        }
        Some(work(&mut sleepers.threads))
    }
}

/// How long a thread looks out for what it waits for before it sleeps.
const LOOKOUT: Duration = Duration::from_micros(50);

/// What `look` finds within the time of a lookout.
fn look_out<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        for _ in 0..20 {
            if let Some(found) = look() {
                return Some(found);
            }
            hint::spin_loop();
        }
        if began.elapsed() > LOOKOUT {
            return None;
        }
        thread::yield_now();
    }
}

/// Does a job on a thread that waits for one, or on a new one.
fn start(mut job: Job) {
    if let Some(thread) = Sleepers::with(Vec::pop).flatten() {
        match thread.send(job) {
            Ok(()) => return,
            Err(unsent) => job = unsent.0,
        }
    }
    thread::spawn(move || {
        let (sender, jobs) = channel::<Job>();
        job();
        while Sleepers::with(|threads| threads.push(sender.clone())).is_some() {
            let next = look_out(|| jobs.try_recv().ok());
            match next.map_or_else(|| jobs.recv(), Ok) {
                Ok(job) => job(),
                Err(_) => return,
            }
        }
    });
}

/// Counts down to zero for a thread that waits for it.
struct Countdown {
    left: AtomicUsize,
    waits: Thread,
}

impl Countdown {
    fn down(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.waits.unpark();
        }
    }

    fn wait(&self) {
        let zero = || (self.left.load(Ordering::Acquire) == 0).then_some(());
        if look_out(zero).is_none() {
            while zero().is_none() {
                thread::park();
            }
        }
    }
}

/// Work that whoever comes first does.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Job>>>);

impl Shared {
    fn new(job: Job) -> Self {
        Self(Arc::new(Mutex::new(Some(job))))
    }

    fn work(&self) {
        let job = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            job();
        }
    }
}

/// Works on every item, on a thread each if there are several; the first error in order.
pub(crate) fn each<T: Send, E: Send>(
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let Some((first, others)) = items.split_first_mut() else {
        return Ok(());
    };
    if others.is_empty() {
        return work(first);
    }
    let tried = |item: &mut T| catch_unwind(AssertUnwindSafe(|| work(item)));
    let mut results: Vec<_> = others.iter().map(|_| None).collect();
    let countdown = Arc::new(Countdown {
        left: AtomicUsize::new(others.len()),
        waits: thread::current(),
    });
    let mut shared = Vec::with_capacity(others.len());
    for (item, result) in others.iter_mut().zip(&mut results) {
        let countdown = Arc::clone(&countdown);
        let tried = &tried;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            *result = Some(tried(item));
            countdown.down(); // after which nothing borrowed is touched any more
        });
        // SAFETY: the job borrows from this call, which does not return, not even by a panic,
        // before the countdown has come to zero; each job counts down once, when it has ended. What
        // no thread has begun is done here, and whoever comes later finds nothing.
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
        let job = Shared::new(job);
        shared.push(job.clone());
        start(Box::new(move || job.work()));
    }
    let mine = tried(first); // this thread would only wait
    shared.iter().rev().for_each(Shared::work);
    countdown.wait();
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
    fn every_item_is_worked_on_once_and_the_first_error_counts() {
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
    fn threads_are_used_again() {
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
        // Other tests take and give threads at the same time.
        assert!(seen.len() < 50, "{} threads for 150 jobs", seen.len());
    }

    #[test]
    fn a_panic_waits_for_the_others_and_goes_on() {
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
