//! A lease being played: what all its actors share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::contracts::evaluator::Evaluator;
use crate::contracts::game::Game;
use crate::search::descend::SearchError;
use crate::selfplay::batch_evaluator::BatchEvaluator;
use crate::selfplay::play_config::Lease;
use crate::selfplay::rows::BadAnswer;

/// The evaluator of the leaves.
pub enum Evaluate<G: Game> {
    /// The caller takes batches and answers them.
    Batches,
    /// The actors evaluate batches.
    Natively(Box<dyn BatchEvaluator<G::Cell>>),
    /// Each actor evaluates its leaves one by one.
    Leaves(Box<dyn Evaluator<G>>),
}

/// A game that was dropped because of an error.
#[derive(Debug)]
pub struct Failure<E> {
    pub number: u64,
    pub error: SearchError<E>,
}

/// The counters of one actor, for progress reports, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub games: AtomicU64,
    pub positions: AtomicU64,
    pub simulations: AtomicU64,
}

/// A lease being played.
pub(crate) struct Job<G: Game> {
    pub lease: Lease,
    pub evaluate: Evaluate<G>,
    /// Games of the lease that have started.
    pub started: AtomicU64,
    /// The counters of each actor.
    pub counters: Vec<Counters>,
    /// The first bad answer; it stops all actors.
    pub bad_answer: Mutex<Option<BadAnswer>>,
    /// Requests to end a search; there are none.
    pub asked: AtomicBool,
}
