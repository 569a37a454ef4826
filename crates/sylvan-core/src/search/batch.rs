//! The descents that wait for evaluations, in order of selection.

use crate::contracts::game::Game;
use crate::search::visit::Visit;

/// Descents in flight, followed by finished ones whose memory is reused.
#[derive(Debug)]
pub struct Batch<G> {
    /// Boxed, because a state may be large.
    visits: Vec<Box<Visit<G>>>,
    len: usize,
}

impl<G> Default for Batch<G> {
    fn default() -> Self {
        Self {
            visits: Vec::new(),
            len: 0,
        }
    }
}

impl<G: Game> Batch<G> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn visits(&self) -> &[Box<Visit<G>>] {
        &self.visits[..self.len]
    }

    /// A free entry after the end of the batch.
    #[inline]
    pub fn next(&mut self, root: &G) -> &mut Visit<G> {
        if self.len == self.visits.len() {
            self.visits.push(Box::new(Visit::new(root)));
        }
        &mut self.visits[self.len]
    }

    /// Adds the entry from `next` to the batch.
    pub fn add(&mut self) {
        self.len += 1;
    }

    /// Removes the first `n` descents.
    #[inline]
    pub fn forget(&mut self, n: usize) {
        if n < self.len {
            self.visits[..self.len].rotate_left(n);
        }
        self.len -= n;
    }
}
