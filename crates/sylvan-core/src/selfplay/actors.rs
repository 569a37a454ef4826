//! All actors of a machine: leases in, columns out.
//!
//! `begin` starts a thread per actor. The caller takes batches and answers them (`Batches`) until the
//! lease is over. `finish` waits for the threads and sorts the games. Actors keep the memory of their
//! trees from lease to lease.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::selfplay::actor::Actor;
use crate::selfplay::batch_memory::{BatchMemory, Shape};
use crate::selfplay::batches::Batches;
use crate::selfplay::bell::Bell;
use crate::selfplay::columns::Columns;
use crate::selfplay::job::{Counters, Evaluate, Failure, Job};
use crate::selfplay::openings::first_illegal;
use crate::selfplay::play_config::Lease;
use crate::selfplay::rows::BadAnswer;
use crate::selfplay::setup::Setup;

/// Legal actions per row that a batch has room for, at most; games with fewer actions need less.
const LEGAL_PER_ROW: usize = 256;

/// All actors of a machine.
pub struct Actors<G: Game, V: Values> {
    setup: Arc<Setup<G>>,
    batches: Arc<Batches<G::Cell>>,
    /// Actors between leases; one that panicked is missing.
    resting: Vec<Actor<G, V>>,
    threads: Vec<JoinHandle<Actor<G, V>>>,
    job: Option<Arc<Job<G>>>,
}

/// A lease that was played.
#[derive(Debug)]
pub struct Played<G: Game> {
    /// Its games, in order of their numbers.
    pub columns: Columns<G::Cell>,
    /// Games that were dropped.
    pub failures: Vec<Failure<G::Error>>,
    /// Batches evaluated, and rows in them.
    pub batches: u64,
    pub rows: u64,
}

/// The progress of the current lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Games started, and games over.
    pub started: u64,
    pub games: u64,
    pub positions: u64,
    pub simulations: u64,
}

/// An error of a lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError<E> {
    #[error("a lease is being played")]
    Busy,
    #[error("no lease is being played")]
    Idle,
    #[error("action {ply} of position {position} of the lease is not legal")]
    IllegalPosition { position: usize, ply: usize },
    #[error("the game failed")]
    Game(E),
    #[error(transparent)]
    BadAnswer(#[from] BadAnswer),
    #[error("the lease was stopped")]
    Stopped,
    #[error("the system refused a thread: {0}")]
    NoThread(std::io::Error),
}

/// The shape of batches of `rows` rows.
pub fn shape_of<G: Game>(setup: &Setup<G>, rows: usize) -> Shape {
    let rules = setup.rules();
    let leaves = setup.leaves_in_flight();
    let rows = rows.max(leaves);
    Shape {
        rows,
        legal: (rows * rules.num_actions.min(LEGAL_PER_ROW)).max(leaves * rules.num_actions),
        cells: rules.observation_len(),
        seats: rules.num_players,
    }
}

impl<G: Game + 'static, V: Values + 'static> Actors<G, V> {
    /// `count` actors and `memory` for at least two batches: one is open, the others are under way.
    /// The bell rings when a batch is full and when all actors have ended.
    pub fn new(
        setup: Setup<G>,
        count: usize,
        shape: Shape,
        memory: Vec<BatchMemory<G::Cell>>,
        bell: Arc<Bell>,
    ) -> Self {
        let mut actors = Self {
            setup: Arc::new(setup),
            batches: Arc::new(Batches::new(shape, memory, bell)),
            resting: Vec::new(),
            threads: Vec::new(),
            job: None,
        };
        actors.fill_up(count.max(1));
        actors
    }

    /// Adds actors until there are `count`, with equal numbers of games.
    fn fill_up(&mut self, count: usize) {
        let games = self.setup.config.games.max(1);
        for number in self.resting.len()..count {
            let share = (games + number) / count; // they add up to `games`
            self.resting
                .push(Actor::new(number, share.max(1), &self.setup));
        }
    }

    pub fn setup(&self) -> &Setup<G> {
        &self.setup
    }

    pub fn batches(&self) -> &Arc<Batches<G::Cell>> {
        &self.batches
    }

    /// Starts to play a lease.
    pub fn begin(
        &mut self,
        lease: Lease,
        evaluate: Evaluate<G>,
    ) -> Result<(), LeaseError<G::Error>> {
        if self.job.is_some() {
            return Err(LeaseError::Busy);
        }
        for (position, actions) in lease.positions.iter().enumerate() {
            let found = first_illegal(&self.setup.first, actions).map_err(LeaseError::Game)?;
            if let Some(ply) = found {
                return Err(LeaseError::IllegalPosition { position, ply });
            }
        }
        let count = self.resting.len();
        let job = Arc::new(Job {
            lease,
            evaluate,
            started: AtomicU64::new(0),
            counters: (0..count).map(|_| Counters::default()).collect(),
            bad_answer: Mutex::new(None),
            asked: AtomicBool::new(false),
        });
        let natively = matches!(job.evaluate, Evaluate::Natively(_));
        self.batches.begin(count, natively);
        self.job = Some(Arc::clone(&job));
        for mut actor in std::mem::take(&mut self.resting) {
            let (job, setup) = (Arc::clone(&job), Arc::clone(&self.setup));
            let batches = Arc::clone(&self.batches);
            let thread = thread::Builder::new().name("sylvan-actor".into());
            let started = thread.spawn(move || {
                actor.play(&job, &setup, &batches);
                actor
            });
            match started {
                Ok(thread) => self.threads.push(thread),
                Err(error) => {
                    // Actors that have started end; the others are made again.
                    self.batches.stop();
                    let _ = self.join(count);
                    return Err(LeaseError::NoThread(error));
                }
            }
        }
        Ok(())
    }

    /// The progress so far.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        if let Some(job) = &self.job {
            progress.started = job.started.load(Ordering::Relaxed).min(job.lease.count);
        }
        for each in self.job.iter().flat_map(|job| &job.counters) {
            progress.games += each.games.load(Ordering::Relaxed);
            progress.positions += each.positions.load(Ordering::Relaxed);
            progress.simulations += each.simulations.load(Ordering::Relaxed);
        }
        progress
    }

    /// Waits until all actors have ended, and returns their games. A panic of an actor panics here.
    pub fn finish(&mut self) -> Result<Played<G>, LeaseError<G::Error>> {
        let Some(job) = self.job.clone() else {
            return Err(LeaseError::Idle);
        };
        let panic = self.join(job.counters.len());
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
        let bad = job.bad_answer.lock();
        if let Some(bad) = *bad.unwrap_or_else(std::sync::PoisonError::into_inner) {
            return Err(bad.into());
        }
        if self.batches.is_stopped() {
            return Err(LeaseError::Stopped);
        }
        let mut failures = Vec::new();
        let mut parts = Vec::new();
        for actor in &mut self.resting {
            failures.append(&mut actor.failures);
            parts.push(std::mem::take(&mut actor.finished));
        }
        failures.sort_by_key(|failure| failure.number);
        let (batches, rows) = self.batches.evaluated();
        Ok(Played {
            columns: Columns::in_order(&parts, self.setup.widths()),
            failures,
            batches,
            rows,
        })
    }

    /// Joins all threads; returns the first panic. After a panic or a stop the games are dropped.
    fn join(&mut self, count: usize) -> Option<Box<dyn std::any::Any + Send>> {
        let mut panic = None;
        for thread in std::mem::take(&mut self.threads) {
            match thread.join() {
                Ok(actor) => self.resting.push(actor),
                Err(error) => panic = panic.or(Some(error)),
            }
        }
        if panic.is_some() || self.batches.is_stopped() {
            self.resting.clear();
        }
        self.fill_up(count);
        self.job = None;
        panic
    }
}

impl<G: Game, V: Values> Drop for Actors<G, V> {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop_and_join();
        }
    }
}

impl<G: Game, V: Values> Actors<G, V> {
    /// Stops the actors, and drops them with their games.
    pub fn stop_and_join(&mut self) {
        self.batches.stop();
        for thread in std::mem::take(&mut self.threads) {
            let _ = thread.join();
        }
    }
}
