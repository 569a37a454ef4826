//! Threads that wait for work, so that a batch does not pay for starting them.
//!
//! A forest on 16 threads shares out its work several times a batch: select, observe, update. To
//! start and join 15 threads takes 170 µs (on a machine of two cores), as long as 16 threads need
//! to select 4000 leaves of Connect Four; to wake those that sleep takes 55 µs. A thread that has
//! nothing to do sleeps; it never spins, which would take the core from somebody.
//!
//! Sleeping threads belong to the process, not to a forest. After a fork the child has none of its
//! parent's threads and begins with new ones; a lock that a thread held at that moment stays locked
//! in the child, so the list of sleepers is only ever tried, and done without if it is taken.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

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

/// Does a job on a thread that slept, or on a new one.
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
            match jobs.recv() {
                Ok(job) => job(),
                Err(_) => return,
            }
        }
    });
}

/// Counts down to zero, and lets somebody wait for it.
struct Countdown {
    left: Mutex<usize>,
    zero: Condvar,
}

impl Countdown {
    fn down(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            self.zero.notify_one();
        }
    }

    fn wait(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            left = self.zero.wait(left).unwrap_or_else(PoisonError::into_inner);
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
        left: Mutex::new(others.len()),
        zero: Condvar::new(),
    });
    for (item, result) in others.iter_mut().zip(&mut results) {
        let countdown = Arc::clone(&countdown);
        let tried = &tried;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            *result = Some(tried(item));
            countdown.down(); // after which nothing borrowed is touched any more
        });
        // SAFETY: the job borrows from this call, which does not return, not even by a panic,
        // before the countdown has come to zero; each job counts down once, when it has ended. A
        // job that could not be started would keep this call waiting, not free what it borrows.
        start(unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) });
    }
    let mine = tried(first); // this thread would only wait
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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
