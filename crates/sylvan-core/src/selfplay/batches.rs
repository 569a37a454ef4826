//! Batches of fixed size, several under way, filled by whichever actors have leaves.
//!
//! A batch goes round: *open*, actors reserve rows and write their leaves into them; *full*, it waits
//! for the evaluator; *taken*, it is being evaluated; *answered*, actors read the answers to their
//! rows; *free*. One batch is open at a time; when a leaf does not fit any more, the next free one is
//! opened.
//!
//! *Without a lock.* An actor reserves rows for some leaves and room for their legal actions by one
//! compare-and-swap of one word, and says by one addition that they are written. The rows of a batch
//! are in the order of reservation, so their legal actions are one run too. The lock is taken once
//! per batch and state, and by threads that have nothing to do.
//!
//! *Short batches.* A batch that is not full is evaluated when nothing else can happen: every actor
//! waits, and no other batch is under way. So a lease ends, and more rows than games are no
//! deadlock.
//!
//! *No deadlock.* A batch that is taken will be answered; an actor reads answers before it waits for
//! a free batch; so every batch becomes free, and either a batch is under way or the rule for short
//! ones applies.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::selfplay::batch_memory::{BatchMemory, Shape};
use crate::selfplay::batch_slot::{Filling, Slot};
use crate::selfplay::bell::Bell;

/// Rows of one actor, all in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub batch: usize,
    pub row: usize,
    /// The first legal action.
    pub legal: usize,
    /// Games whose leaves got rows.
    pub games: usize,
    pub rows: usize,
}

/// What an evaluator gets when it asks for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Batch(usize),
    /// None is full yet.
    Nothing,
    /// All games are over, or the actors were stopped.
    Over,
}

/// What is decided under the lock.
#[derive(Debug, Default)]
struct Desk {
    free: Vec<usize>,
    /// Waiting for the evaluator, in order.
    full: VecDeque<usize>,
    /// Being evaluated.
    taken: Vec<usize>,
    /// Actors evaluate batches themselves.
    natively: bool,
    /// Actors, and how many of them wait.
    actors: usize,
    waiting: usize,
    /// Batches that were evaluated, and their rows.
    batches: u64,
    rows: u64,
}

impl Desk {
    /// Takes the next full batch.
    fn take(&mut self) -> Option<usize> {
        let batch = self.full.pop_front()?;
        self.taken.push(batch);
        Some(batch)
    }
}

/// The batches between actors and an evaluator.
#[derive(Debug)]
pub struct Batches<C> {
    shape: Shape,
    slots: Vec<Slot<C>>,
    /// The open batch, or the last one that was.
    open: AtomicUsize,
    desk: Mutex<Desk>,
    /// Counts events that an actor may wait for: a batch was answered or became free.
    events: AtomicU64,
    actors_wake: Condvar,
    /// Rings when a batch is full and when the actors have ended.
    bell: Arc<Bell>,
    stopped: AtomicBool,
}

impl<C: Copy + Default + Send + Sync + 'static> Batches<C> {
    /// Batches of this shape; one more than may be under way, since one is open.
    pub fn new(shape: Shape, memory: Vec<BatchMemory<C>>, bell: Arc<Bell>) -> Self {
        assert!(memory.len() > 1 && memory.iter().all(|memory| memory.fits(shape)));
        let batches = Self {
            shape,
            slots: memory.into_iter().map(Slot::new).collect(),
            open: AtomicUsize::new(0),
            desk: Mutex::default(),
            events: AtomicU64::new(0),
            actors_wake: Condvar::new(),
            bell,
            stopped: AtomicBool::new(false),
        };
        batches.begin(0, false);
        batches
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn memory(&self, batch: usize) -> &BatchMemory<C> {
        &self.slots[batch].memory
    }

    /// The rows and legal actions of a batch that is taken.
    pub fn sizes(&self, batch: usize) -> (usize, usize) {
        let filling = self.slots[batch].filling();
        (filling.rows(), filling.legal())
    }

    /// Batches evaluated so far, and rows in them.
    pub fn evaluated(&self) -> (u64, u64) {
        let desk = self.desk();
        (desk.batches, desk.rows)
    }

    // What actors call. ----------------------------------------------------------------------------

    /// Reserves rows for the leaves of as many games as fit, in order; `games` gives the leaves and
    /// legal actions of each. None if no batch is free.
    pub(crate) fn reserve(&self, games: &[(usize, usize)]) -> Option<Reservation> {
        loop {
            let batch = self.open.load(Ordering::Acquire);
            let slot = &self.slots[batch];
            let filling = slot.filling();
            let (mut count, mut next) = (0, filling);
            if !filling.is_closed() {
                for &(rows, legal) in games {
                    let more = next.plus(rows, legal);
                    if more.rows() > self.shape.rows || more.legal() > self.shape.legal {
                        break;
                    }
                    (count, next) = (count + 1, more);
                }
            }
            if count == 0 {
                if !self.open_next(batch, filling) {
                    return None;
                }
            } else if slot.swap(filling, next) {
                return Some(Reservation {
                    batch,
                    row: filling.rows(),
                    legal: filling.legal(),
                    games: count,
                    rows: next.rows() - filling.rows(),
                });
            }
        }
    }

    /// Closes the open batch, in which a game did not fit when it was filled as in `seen`, and opens
    /// a free one; false if there is none.
    fn open_next(&self, batch: usize, seen: Filling) -> bool {
        let mut desk = self.desk();
        let now = self.slots[batch].filling();
        // Another thread was first. The next batch may be the same one, if it became free meanwhile.
        if self.open.load(Ordering::Acquire) != batch || now != seen && !now.is_closed() {
            return true;
        }
        self.close(batch, &mut desk);
        let Some(next) = desk.free.pop() else {
            return false;
        };
        self.slots[next].open();
        self.open.store(next, Ordering::Release);
        true
    }

    /// Closes a batch for reservations.
    fn close(&self, batch: usize, desk: &mut Desk) {
        let closed = Filling::CLOSED;
        let before = self.slots[batch].filling.fetch_or(closed, Ordering::SeqCst);
        if before & closed == 0 {
            self.complete_if_written(batch, desk);
        }
    }

    /// Says that the rows of a reservation are written.
    pub(crate) fn written(&self, reservation: &Reservation) {
        let slot = &self.slots[reservation.batch];
        let written = slot.written.fetch_add(reservation.rows, Ordering::SeqCst) + reservation.rows;
        let filling = slot.filling();
        if filling.rows() != written {
            return;
        }
        if filling.is_closed() || written == self.shape.rows {
            let mut desk = self.desk();
            slot.filling.fetch_or(Filling::CLOSED, Ordering::SeqCst);
            self.complete_if_written(reservation.batch, &mut desk);
        }
    }

    /// Hands a closed batch to the evaluator once all its rows are written.
    fn complete_if_written(&self, batch: usize, desk: &mut Desk) {
        let slot = &self.slots[batch];
        let rows = slot.filling().rows();
        if rows == 0 || slot.written.load(Ordering::SeqCst) != rows {
            return;
        }
        if !slot.completed.swap(true, Ordering::SeqCst) {
            slot.unread.store(rows, Ordering::SeqCst);
            desk.full.push_back(batch);
            if desk.natively {
                self.actors_wake.notify_one();
            } else {
                self.bell.ring();
            }
        }
    }

    /// Whether the answers of a batch are there.
    pub(crate) fn is_answered(&self, batch: usize) -> bool {
        self.slots[batch].answered.load(Ordering::Acquire)
    }

    /// Says that the answers to some rows are read.
    pub(crate) fn read(&self, batch: usize, rows: usize) {
        let slot = &self.slots[batch];
        if slot.unread.fetch_sub(rows, Ordering::AcqRel) == rows {
            slot.answered.store(false, Ordering::Release);
            let mut desk = self.desk();
            desk.free.push(batch);
            self.event();
        }
    }

    /// Empties all batches for so many actors, which evaluate `natively` or not. Nobody uses them
    /// meanwhile.
    pub(crate) fn begin(&self, actors: usize, natively: bool) {
        let mut desk = self.desk();
        for slot in &self.slots {
            slot.close();
        }
        self.slots[0].open();
        self.open.store(0, Ordering::Release);
        self.stopped.store(false, Ordering::Release);
        *desk = Desk {
            free: (1..self.slots.len()).rev().collect(),
            actors,
            natively,
            ..Desk::default()
        };
    }

    /// An actor has no games any more, or gives up.
    pub(crate) fn leave(&self) {
        let mut desk = self.desk();
        desk.actors -= 1;
        self.close_if_stuck(&mut desk);
        if desk.actors == 0 {
            self.bell.ring();
        }
    }

    /// The next full batch, for an actor that evaluates natively.
    pub(crate) fn take_natively(&self) -> Option<usize> {
        self.desk().take()
    }

    /// A number that grows with every event.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Acquire)
    }

    /// Waits for an event after the first `seen`, or for a batch that an actor can evaluate.
    pub(crate) fn wait(&self, seen: u64) {
        let mut desk = self.desk();
        desk.waiting += 1;
        loop {
            self.close_if_stuck(&mut desk);
            let is_full = desk.natively && !desk.full.is_empty();
            if is_full || self.events() != seen || self.is_stopped() {
                break;
            }
            desk = self
                .actors_wake
                .wait(desk)
                .unwrap_or_else(PoisonError::into_inner);
        }
        desk.waiting -= 1;
    }

    /// Closes a batch that is not full if nothing else can happen: all actors wait, and all other
    /// batches are free.
    fn close_if_stuck(&self, desk: &mut Desk) {
        let batch = self.open.load(Ordering::Acquire);
        let all_wait = desk.waiting == desk.actors;
        if all_wait && desk.free.len() + 1 == self.slots.len() && self.sizes(batch).0 > 0 {
            self.close(batch, desk);
        }
    }

    /// Wakes all actors; the lock is held.
    fn event(&self) {
        self.events.fetch_add(1, Ordering::AcqRel);
        self.actors_wake.notify_all();
    }

    /// Makes all actors give up their games.
    pub fn stop(&self) {
        let _desk = self.desk();
        self.stopped.store(true, Ordering::Release);
        self.actors_wake.notify_all();
        self.bell.ring();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether all actors have left, or give up their games.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.desk().actors == 0
    }

    // What an evaluator calls. ---------------------------------------------------------------------

    /// The next full batch.
    pub fn take(&self) -> Taken {
        let mut desk = self.desk();
        if self.is_stopped() {
            return Taken::Over;
        }
        if !desk.natively
            && let Some(batch) = desk.take()
        {
            return Taken::Batch(batch);
        }
        match desk.actors {
            0 => Taken::Over,
            _ => Taken::Nothing,
        }
    }

    /// Hands back a batch whose answers are written; false if it is not taken.
    pub fn answer(&self, batch: usize) -> bool {
        let mut desk = self.desk();
        let Some(place) = desk.taken.iter().position(|&taken| taken == batch) else {
            return false;
        };
        desk.taken.swap_remove(place);
        desk.batches += 1;
        desk.rows += self.sizes(batch).0 as u64;
        self.slots[batch].answered.store(true, Ordering::Release);
        self.event();
        true
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
