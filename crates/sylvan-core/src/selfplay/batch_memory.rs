//! The memory of a batch: what actors write and an evaluator reads, and its answers.
//!
//! The caller may provide the arrays, for example in page-locked memory. Several threads write to
//! different rows of an array at the same time. Rust's references cannot express this, so a `Region`
//! gives access to parts through a raw pointer; `batches.rs` gives every row to one thread only.

use std::any::Any;
use std::fmt;

/// The sizes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The most leaves.
    pub rows: usize,
    /// The most legal actions of all leaves together.
    pub legal: usize,
    /// Cells of one observation.
    pub cells: usize,
    pub seats: usize,
}

/// An array that several threads write to, each its own part.
pub struct Region<T> {
    first: *mut T,
    len: usize,
    /// Keeps the memory alive.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: a region is a pointer to plain numbers, valid as long as its owner, which it holds.
unsafe impl<T: Send> Send for Region<T> {}
// SAFETY: the callers of `part` and `part_mut` promise that parts do not overlap.
unsafe impl<T: Send + Sync> Sync for Region<T> {}

impl<T> fmt::Debug for Region<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region of {}", self.len)
    }
}

impl<T: Copy + Default + Send + Sync + 'static> Region<T> {
    /// A new array of zeros.
    pub fn new(len: usize) -> Self {
        let mut entries = vec![T::default(); len];
        let first = entries.as_mut_ptr();
        // SAFETY: the pointer stays valid when the vector is moved, and nothing else uses it.
        unsafe { Self::of(first, len, Box::new(entries)) }
    }

    /// The caller's array.
    ///
    /// # Safety
    ///
    /// `first` points to `len` initialised entries, valid as long as `owner`. While a batch is filled
    /// or evaluated, its part of the array is written only through this region or by the evaluator.
    pub unsafe fn of(first: *mut T, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self {
            first,
            len,
            _owner: owner,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn as_ptr(&self) -> *mut T {
        self.first
    }

    /// Entries to read.
    ///
    /// # Safety
    ///
    /// No thread writes to them meanwhile.
    pub(crate) unsafe fn part(&self, first: usize, len: usize) -> &[T] {
        assert!(first + len <= self.len);
        // SAFETY: inside the array; the caller excludes writers.
        unsafe { std::slice::from_raw_parts(self.first.add(first), len) }
    }

    /// Entries to write.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "threads write to different parts")]
    pub(crate) unsafe fn part_mut(&self, first: usize, len: usize) -> &mut [T] {
        assert!(first + len <= self.len);
        // SAFETY: inside the array; the caller excludes other threads.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(first), len) }
    }
}

/// The arrays of one batch. B rows, L legal actions, S seats.
#[derive(Debug)]
pub struct BatchMemory<C> {
    /// `[B, cells]` what the seat to move sees.
    pub observations: Region<C>,
    /// `[B + 1]` row i has the legal actions `offsets[i]..offsets[i + 1]`.
    pub offsets: Region<i64>,
    /// `[L]` the legal actions, row after row.
    pub actions: Region<i32>,
    /// `[L]` the index of each action's logit in a policy network's output.
    pub indices: Region<i32>,
    /// `[B]` the seat to move.
    pub seats: Region<i64>,
    /// `[B]` seeds for evaluators that draw random numbers.
    pub tickets: Region<u64>,
    /// `[L]` the answer: the logits of the legal actions.
    pub logits: Region<f32>,
    /// `[B, S]` the answer: the values per seat.
    pub values: Region<f32>,
}

impl<C: Copy + Default + Send + Sync + 'static> BatchMemory<C> {
    /// Memory of its own.
    pub fn new(shape: Shape) -> Self {
        Self {
            observations: Region::new(shape.rows * shape.cells),
            offsets: Region::new(shape.rows + 1),
            actions: Region::new(shape.legal),
            indices: Region::new(shape.legal),
            seats: Region::new(shape.rows),
            tickets: Region::new(shape.rows),
            logits: Region::new(shape.legal),
            values: Region::new(shape.rows * shape.seats),
        }
    }

    /// Whether every array has room for a batch of this shape.
    pub fn fits(&self, shape: Shape) -> bool {
        self.observations.len() >= shape.rows * shape.cells
            && self.offsets.len() > shape.rows
            && self.actions.len() >= shape.legal
            && self.indices.len() >= shape.legal
            && self.seats.len() >= shape.rows
            && self.tickets.len() >= shape.rows
            && self.logits.len() >= shape.legal
            && self.values.len() >= shape.rows * shape.seats
    }
}
