//! One batch: its counters and its memory. `batches.rs` has the protocol.
//!
//! A thread that finds the batch open may reserve rows at any time, so one word holds the whole state
//! of the filling: a compare-and-swap succeeds only if nothing has changed.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::selfplay::batch_memory::BatchMemory;

/// The rows and legal actions reserved in a batch, and whether it is closed, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filling(u64);

impl Filling {
    pub const CLOSED: u64 = 1 << 63;

    pub fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    pub fn rows(self) -> usize {
        (self.0 >> 32) as usize & 0x7fff_ffff
    }

    pub fn legal(self) -> usize {
        self.0 as u32 as usize
    }

    pub fn plus(self, rows: usize, legal: usize) -> Self {
        Self(self.0 + ((rows as u64) << 32) + legal as u64)
    }
}

/// One batch. Atomics that different threads write often have cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Slot<C> {
    /// A `Filling`.
    pub filling: AtomicU64,
    /// Rows written.
    pub written: AtomicUsize,
    /// Whether it went to the evaluator, so that only one thread hands it over.
    pub completed: AtomicBool,
    pub answered: AtomicBool,
    /// Rows whose answers are not read yet.
    pub unread: AtomicUsize,
    pub memory: BatchMemory<C>,
}

impl<C> Slot<C> {
    pub fn new(memory: BatchMemory<C>) -> Self {
        Self {
            filling: AtomicU64::new(Filling::CLOSED),
            written: AtomicUsize::new(0),
            completed: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            unread: AtomicUsize::new(0),
            memory,
        }
    }

    /// Makes it a free batch.
    pub fn close(&self) {
        self.filling.store(Filling::CLOSED, Ordering::SeqCst);
        self.answered.store(false, Ordering::SeqCst);
    }

    /// Empties a free batch for reservations.
    pub fn open(&self) {
        self.written.store(0, Ordering::SeqCst);
        self.completed.store(false, Ordering::SeqCst);
        self.filling.store(0, Ordering::SeqCst);
    }

    pub fn filling(&self) -> Filling {
        Filling(self.filling.load(Ordering::SeqCst))
    }

    pub fn swap(&self, old: Filling, new: Filling) -> bool {
        let order = Ordering::SeqCst;
        self.filling
            .compare_exchange(old.0, new.0, order, order)
            .is_ok()
    }
}
