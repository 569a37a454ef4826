//! A bell that wakes the evaluator: the batches of several leases may share one.
//!
//! A thread reads the number of rings, looks for work, and sleeps only if the bell has not rung since
//! then, so no ring is missed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A counter of rings, and the threads that wait for the next one.
#[derive(Debug, Default)]
pub struct Bell {
    rings: Mutex<u64>,
    woken: Condvar,
}

impl Bell {
    /// Wakes all sleepers.
    pub fn ring(&self) {
        *self.lock() += 1;
        self.woken.notify_all();
    }

    /// The number of rings so far.
    pub fn rings(&self) -> u64 {
        *self.lock()
    }

    /// Sleeps until there were more rings than `seen`, but no longer than `patience`.
    pub fn wait(&self, seen: u64, patience: Duration) {
        let guard = self.lock();
        let _ = self
            .woken
            .wait_timeout_while(guard, patience, |rings| *rings == seen);
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
