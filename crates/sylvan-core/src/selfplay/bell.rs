//! A bell that wakes the evaluator: the batches of several leases may share one.
//!
//! A sleeper reads the number of rings, looks for work, and sleeps only if it has not rung since: so
//! no ring is missed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A bell.
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

    /// How often it has rung.
    pub fn rings(&self) -> u64 {
        *self.lock()
    }

    /// Sleeps until it has rung more often than `seen`, at most for `patience`.
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
