//! Batches of fixed size, several under way, filled by all actors that have leaves.
//!
//! The states of a batch, in a cycle:
//!
//! - *open*: actors reserve rows and write their leaves into them; one batch is open at a time;
//! - *full*: it waits for the evaluator;
//! - *taken*: it is being evaluated;
//! - *answered*: actors read the answers to their rows;
//! - *free*: it is opened when a leaf does not fit into the open batch.
//!
//! *Locks.* One compare-and-swap of one word reserves rows and room for their legal actions; one
//! atomic addition marks them as written. Rows are in the order of reservation, so the legal actions
//! of a reservation are contiguous too. The lock is taken once per change of a batch's state, and by
//! threads that wait.
//!
//! *Shares.* An actor gets at most its share of a batch's rows, a quarter more than an even one. The
//! games of a batch go on together when it is answered, and fill the next free batch. Without shares
//! the games of one actor can drift into the same batch; then the others have no work until theirs is
//! answered.
//!
//! *Short batches.* A batch that is not full is evaluated if every actor waits and no other batch is
//! under way. This happens at the end of a lease, and if a batch has more rows than there are games.
//!
//! *No deadlock.* A taken batch will be answered, and actors read answers before they wait for a free
//! batch, so every batch becomes free again. If no batch is under way, the rule for short ones
//! applies.

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

/// The rows of one actor in the open batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnRows {
    /// The value of `Batches::open`.
    open: usize,
    rows: usize,
}

/// The answer to an evaluator that asks for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Batch(usize),
    /// None is full yet.
    Nothing,
    /// All games are over, or the actors were stopped.
    Over,
}

/// The state that the lock protects.
#[derive(Debug, Default)]
struct Queues {
    free: Vec<usize>,
    /// Waiting for the evaluator, in order.
    full: VecDeque<usize>,
    /// Being evaluated.
    taken: Vec<usize>,
    /// Whether actors evaluate the batches themselves.
    natively: bool,
    /// Actors, and how many of them wait for an event that has not happened yet.
    actors: usize,
    waiting: usize,
    /// Batches that were evaluated, and their rows.
    batches: u64,
    rows: u64,
}

impl Queues {
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
    /// How often a batch was opened, times the number of batches, plus the open batch, or the last
    /// one if none is open.
    open: AtomicUsize,
    /// The most rows of one actor in a batch.
    share: AtomicUsize,
    queues: Mutex<Queues>,
    /// Counts events that an actor may wait for: a batch was full, answered or
    /// free, or an actor left.
    events: AtomicU64,
    actors_wake: Condvar,
    /// Rings when a batch is full and when the actors have ended.
    bell: Arc<Bell>,
    stopped: AtomicBool,
}

impl<C: Copy + Default + Send + Sync + 'static> Batches<C> {
    /// Batches of this shape, one for each of `memory`. One is open, the others may be under way.
    pub fn new(shape: Shape, memory: Vec<BatchMemory<C>>, bell: Arc<Bell>) -> Self {
        assert!(memory.len() > 1 && memory.iter().all(|memory| memory.fits(shape)));
        let batches = Self {
            shape,
            slots: memory.into_iter().map(Slot::new).collect(),
            open: AtomicUsize::new(0),
            share: AtomicUsize::new(shape.rows),
            queues: Mutex::default(),
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
        let queues = self.queues();
        (queues.batches, queues.rows)
    }

    // For actors. ---------------------------------------------------------------------------------

    /// Reserves rows for the leaves of as many games as fit, in order; `games` gives the leaves and
    /// legal actions of each, `own` the rows that this actor has. None if no batch is free, or if the
    /// open one has this actor's share.
    pub(crate) fn reserve(
        &self,
        games: &[(usize, usize)],
        own: &mut OwnRows,
    ) -> Option<Reservation> {
        loop {
            let open = self.open.load(Ordering::Acquire);
            if own.open != open {
                *own = OwnRows { open, rows: 0 };
            }
            let batch = open % self.slots.len();
            let slot = &self.slots[batch];
            let filling = slot.filling();
            let share = self.share.load(Ordering::Relaxed);
            let (mut count, mut next, mut fits) = (0, filling, !filling.is_closed());
            for &(rows, legal) in games {
                let more = next.plus(rows, legal);
                fits &= more.rows() <= self.shape.rows && more.legal() <= self.shape.legal;
                let others = own.rows + next.rows() - filling.rows();
                if !fits || others > 0 && others + rows > share {
                    break;
                }
                (count, next) = (count + 1, more);
            }
            if count > 0 {
                if slot.swap(filling, next) {
                    let rows = next.rows() - filling.rows();
                    own.rows += rows;
                    return Some(Reservation {
                        batch,
                        row: filling.rows(),
                        legal: filling.legal(),
                        games: count,
                        rows,
                    });
                }
            } else if fits || !self.open_next(open, filling) {
                return None;
            }
        }
    }

    /// Closes the open batch, which had no room when its filling was `seen`, and opens a free one;
    /// false if none is free.
    fn open_next(&self, open: usize, seen: Filling) -> bool {
        let mut queues = self.queues();
        let (batch, batches) = (open % self.slots.len(), self.slots.len());
        let now = self.slots[batch].filling();
        // Another thread was first.
        if self.open.load(Ordering::Acquire) != open || now != seen && !now.is_closed() {
            return true;
        }
        self.close(batch, &mut queues);
        let Some(next) = queues.free.pop() else {
            return false;
        };
        self.slots[next].open();
        let openings = open / batches + 1;
        self.open
            .store(openings * batches + next, Ordering::Release);
        true
    }

    /// Gives each of the actors an equal share of the rows, and a quarter more, so that no batch waits
    /// for a slow one. Actors that evaluate batches themselves have no others to wait for.
    fn set_share(&self, queues: &Queues) {
        let rows = self.shape.rows;
        let share = match queues.natively {
            true => rows,
            false => (rows + rows / 4).div_ceil(queues.actors.max(1)),
        };
        self.share.store(share, Ordering::Relaxed);
    }

    /// Closes a batch for reservations.
    fn close(&self, batch: usize, queues: &mut Queues) {
        let closed = Filling::CLOSED;
        let before = self.slots[batch].filling.fetch_or(closed, Ordering::SeqCst);
        if before & closed == 0 {
            self.complete_if_written(batch, queues);
        }
    }

    /// Marks the rows of a reservation as written.
    pub(crate) fn written(&self, reservation: &Reservation) {
        let slot = &self.slots[reservation.batch];
        let written = slot.written.fetch_add(reservation.rows, Ordering::SeqCst) + reservation.rows;
        let filling = slot.filling();
        if filling.rows() != written {
            return;
        }
        if filling.is_closed() || written == self.shape.rows {
            let mut queues = self.queues();
            slot.filling.fetch_or(Filling::CLOSED, Ordering::SeqCst);
            self.complete_if_written(reservation.batch, &mut queues);
        }
    }

    /// Hands a closed batch to the evaluator once all its rows are written.
    fn complete_if_written(&self, batch: usize, queues: &mut Queues) {
        let slot = &self.slots[batch];
        let rows = slot.filling().rows();
        if rows == 0 || slot.written.load(Ordering::SeqCst) != rows {
            return;
        }
        if !slot.completed.swap(true, Ordering::SeqCst) {
            slot.unread.store(rows, Ordering::SeqCst);
            queues.full.push_back(batch);
            if queues.natively {
                self.actors_wake.notify_one();
            } else {
                self.bell.ring();
                self.event(queues); // for actors that have their share of this batch
            }
        }
    }

    /// Whether a batch is answered.
    pub(crate) fn is_answered(&self, batch: usize) -> bool {
        self.slots[batch].answered.load(Ordering::Acquire)
    }

    /// Marks the answers to some rows as read.
    pub(crate) fn read(&self, batch: usize, rows: usize) {
        let slot = &self.slots[batch];
        if slot.unread.fetch_sub(rows, Ordering::AcqRel) == rows {
            slot.answered.store(false, Ordering::Release);
            let mut queues = self.queues();
            queues.free.push(batch);
            self.event(&mut queues);
        }
    }

    /// Empties all batches and expects `actors` actors, which evaluate batches themselves if
    /// `natively`. No other thread may use the batches during the call.
    pub(crate) fn begin(&self, actors: usize, natively: bool) {
        let mut queues = self.queues();
        for slot in &self.slots {
            slot.close();
        }
        self.slots[0].open();
        self.open.store(0, Ordering::Release);
        self.stopped.store(false, Ordering::Release);
        *queues = Queues {
            free: (1..self.slots.len()).rev().collect(),
            actors,
            natively,
            ..Queues::default()
        };
        self.set_share(&queues);
    }

    /// Signs an actor off: it has no games left, or gives up.
    pub(crate) fn leave(&self) {
        let mut queues = self.queues();
        queues.actors -= 1;
        self.set_share(&queues);
        self.close_if_stuck(&mut queues);
        self.event(&mut queues);
        if queues.actors == 0 {
            self.bell.ring();
        }
    }

    /// The next full batch, for an actor that evaluates natively.
    pub(crate) fn take_natively(&self) -> Option<usize> {
        self.queues().take()
    }

    /// The number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Acquire)
    }

    /// Waits for an event after the first `seen`, or for a batch that an actor can evaluate.
    pub(crate) fn wait(&self, seen: u64) {
        let mut queues = self.queues();
        if self.events() != seen {
            return;
        }
        queues.waiting += 1;
        loop {
            self.close_if_stuck(&mut queues);
            if self.events() != seen {
                return; // the event has counted it off
            }
            if queues.natively && !queues.full.is_empty() || self.is_stopped() {
                break;
            }
            queues = self
                .actors_wake
                .wait(queues)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queues.waiting -= 1;
    }

    /// Closes the open batch, though it is not full, if all actors wait and all other batches are
    /// free.
    fn close_if_stuck(&self, queues: &mut Queues) {
        let batch = self.open.load(Ordering::Acquire) % self.slots.len();
        let all_wait = queues.waiting == queues.actors;
        if all_wait && queues.free.len() + 1 == self.slots.len() && self.sizes(batch).0 > 0 {
            self.close(batch, queues);
        }
    }

    /// Counts an event and wakes all actors. None of them waits from now on, although they may start to
    /// run much later: or the open batch would seem stuck.
    fn event(&self, queues: &mut Queues) {
        self.events.fetch_add(1, Ordering::AcqRel);
        queues.waiting = 0;
        self.actors_wake.notify_all();
    }

    /// Stops all actors; they drop their games.
    pub fn stop(&self) {
        let _desk = self.queues();
        self.stopped.store(true, Ordering::Release);
        self.actors_wake.notify_all();
        self.bell.ring();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether all actors have ended, or must end.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.queues().actors == 0
    }

    // For the evaluator. --------------------------------------------------------------------------

    /// The next full batch.
    pub fn take(&self) -> Taken {
        let mut queues = self.queues();
        if self.is_stopped() {
            return Taken::Over;
        }
        if !queues.natively
            && let Some(batch) = queues.take()
        {
            return Taken::Batch(batch);
        }
        match queues.actors {
            0 => Taken::Over,
            _ => Taken::Nothing,
        }
    }

    /// Hands back a batch whose answers are written; false if it is not taken.
    pub fn answer(&self, batch: usize) -> bool {
        let mut queues = self.queues();
        let Some(index) = queues.taken.iter().position(|&taken| taken == batch) else {
            return false;
        };
        queues.taken.swap_remove(index);
        queues.batches += 1;
        queues.rows += self.sizes(batch).0 as u64;
        self.slots[batch].answered.store(true, Ordering::Release);
        self.event(&mut queues);
        true
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(rows: usize, actors: usize) -> Batches<u64> {
        let shape = Shape {
            rows,
            legal: 8 * rows,
            cells: 1,
            seats: 2,
        };
        let memory = (0..3).map(|_| BatchMemory::new(shape)).collect();
        let batches = Batches::new(shape, memory, Arc::default());
        batches.begin(actors, false);
        batches
    }

    #[test]
    fn no_actor_gets_more_than_its_share_of_a_batch() {
        let batches = batches(16, 4);
        let (mut first, mut second) = (OwnRows::default(), OwnRows::default());
        let games = [(1, 3); 32];
        let one = batches.reserve(&games, &mut first).unwrap();
        assert_eq!((one.batch, one.rows), (0, 5)); // 16 * 5/4 / 4
        assert_eq!(batches.reserve(&games, &mut first), None);
        // The others can fill it, even if one of them is late.
        for _ in 0..2 {
            let two = batches.reserve(&games, &mut second).unwrap();
            assert_eq!((two.batch, two.rows), (0, 5));
            second = OwnRows::default(); // another actor
        }
        let last = batches.reserve(&games, &mut second).unwrap();
        assert_eq!((last.batch, last.rows), (0, 1));
        let next = batches.reserve(&games, &mut first).unwrap();
        assert_eq!((next.batch != 0, next.rows), (true, 5));
    }

    #[test]
    fn a_game_with_more_leaves_than_a_share_gets_rows() {
        let batches = batches(16, 8);
        let mut own = OwnRows::default();
        assert_eq!(batches.reserve(&[(6, 6)], &mut own).unwrap().rows, 6);
        assert_eq!(batches.reserve(&[(6, 6)], &mut own), None);
    }

    #[test]
    fn an_actor_that_an_event_wakes_does_not_wait() {
        let batches = batches(16, 2);
        batches.queues().waiting = 1; // asleep
        let mut own = OwnRows::default();
        batches.reserve(&[(1, 1); 16], &mut own).unwrap();
        let mut queues = batches.queues();
        batches.event(&mut queues);
        queues.waiting += 1; // the other actor has its share
        batches.close_if_stuck(&mut queues);
        assert!(queues.full.is_empty());
        queues.waiting += 1; // it has looked, and sleeps again
        let filling = batches.slots[0].filling().rows();
        batches.slots[0].written.store(filling, Ordering::SeqCst);
        batches.close_if_stuck(&mut queues);
        assert_eq!(queues.full, [0]);
    }

    #[test]
    fn the_last_actor_may_fill_a_batch() {
        let batches = batches(16, 4);
        (0..3).for_each(|_| batches.leave());
        let mut own = OwnRows::default();
        assert_eq!(batches.reserve(&[(1, 1); 16], &mut own).unwrap().rows, 16);
    }
}
