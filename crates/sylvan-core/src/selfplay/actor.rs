//! An actor: one thread that plays many games.
//!
//! An actor owns its games, their trees and the memory of the trees. Its loop:
//!
//! 1. Read the answers that have arrived, and expand their leaves.
//! 2. Resume each of these games: start simulations until leaves wait for evaluation. If the search
//!    has ended, play a move and begin the next search or the next game.
//! 3. Reserve rows of the open batch for the leaves of several games together, and write them.
//!
//! The loop takes no lock that other actors use: reserving and writing rows is one atomic operation
//! each (`batches.rs`), and so is drawing the number of the next game.
//!
//! *Determinism.* A game depends on the run's seed, its number and the evaluations of its leaves,
//! nothing else:
//!
//! 1. Its random numbers come from streams that belong to its number and ply (`seeds.rs`).
//! 2. Its tree changes only by its own leaves. A tree gets all its answers at once, in the order in
//!    which its leaves were selected (leaves of one tree are rows of one batch), so it does not depend
//!    on the order of batches or on their other rows. Trees share only the memory of a pool, and a
//!    tree's byte budget counts its own bytes.
//! 3. It does not depend on other games: positions to start from belong to the lease, and finished
//!    games are sorted by their numbers at the end.
//! 4. So if the evaluator gives a position the same answer in any row of any batch, the games are the
//!    same for any number of actors, batches and rows. (Networks do so within one evaluation profile.)
//!
//! *Native evaluators.* With an evaluator of single leaves there are no batches: the actor plays one
//! game after another, which keeps the tree in the caches. With an evaluator of batches, the first
//! actor that finds a full batch evaluates it.

use std::collections::VecDeque;
use std::slice::from_ref;
use std::sync::atomic::Ordering;

use crate::contracts::evaluator::Evaluator;
use crate::contracts::game::Game;
use crate::contracts::prefetch::prefetch;
use crate::contracts::values::Values;
use crate::search::clock::Clock;
use crate::search::descend::SearchError;
use crate::search::forest::Shard;
use crate::search::tree::Tree;
use crate::selfplay::batches::{Batches, OwnRows, Reservation};
use crate::selfplay::columns::Columns;
use crate::selfplay::game_slot::{GameSlot, Next};
use crate::selfplay::job::{Evaluate, Failure, Job};
use crate::selfplay::rows::{BadAnswer, check, evaluate_batch, write};
use crate::selfplay::setup::Setup;

/// Games whose leaves get their rows together: few, so that the leaves stay in the L1 cache until
/// they are written; many, so that actors rarely change the batch's counter at the same time.
const CHUNK: usize = 64;

/// The games of one thread.
pub(crate) struct Actor<G: Game, V: Values> {
    number: usize,
    shard: Shard<G, V>,
    games: Vec<GameSlot<G>>,
    pub finished: Columns<G::Cell>,
    pub failures: Vec<Failure<G::Error>>,
    /// Games whose leaves need rows, and the leaves and legal actions of each.
    filled: Vec<usize>,
    sizes: Vec<(usize, usize)>,
    /// Rows that wait for answers, in order, and the games that they belong to.
    waiting: VecDeque<Reservation>,
    waiting_games: VecDeque<usize>,
    /// Rows in the open batch.
    own: OwnRows,
    logits: Vec<f32>,
}

impl<G: Game, V: Values> Actor<G, V> {
    /// An actor with room for `games` games.
    pub fn new(number: usize, games: usize, setup: &Setup<G>) -> Self {
        let settings = setup.settings(true);
        let mut shard = Shard::new(settings, setup.budget.saturating_mul(games as u64));
        for index in 0..games {
            let mut tree = Tree::new(setup.first.clone(), &mut shard.pool, 0, 0);
            tree.index_in_shard = index;
            shard.trees.push(tree);
        }
        Self {
            number,
            shard,
            games: (0..games).map(GameSlot::new).collect(),
            finished: Columns::default(),
            failures: Vec::new(),
            filled: Vec::new(),
            sizes: Vec::new(),
            waiting: VecDeque::new(),
            waiting_games: VecDeque::new(),
            own: OwnRows::default(),
            logits: Vec::new(),
        }
    }

    /// Plays games of a lease until none is left.
    pub fn play(&mut self, job: &Job<G>, setup: &Setup<G>, batches: &Batches<G::Cell>) {
        let _sign_off = SignOff(batches);
        self.filled.clear();
        self.sizes.clear();
        self.waiting.clear();
        self.waiting_games.clear();
        self.own = OwnRows::default();
        let mut clock = Clock::new(None, None, &job.asked);
        let mut context = Context {
            job,
            setup,
            batches,
            clock: &mut clock,
        };
        if let Evaluate::Leaves(evaluator) = &job.evaluate {
            self.play_alone(evaluator.as_ref(), &mut context);
        } else {
            self.play_in_batches(&mut context);
        }
    }

    fn play_in_batches(&mut self, context: &mut Context<'_, '_, G>) {
        let batches = context.batches;
        G::together(|| {
            for game in 0..self.games.len() {
                if self.start_next(game, context) {
                    self.resume(game, context);
                }
            }
        });
        while !batches.is_stopped() {
            let seen = batches.events();
            let mut worked = G::together(|| self.read_answers(context));
            if self.waiting.is_empty() && self.filled.is_empty() {
                break;
            }
            if let Evaluate::Natively(evaluator) = &context.job.evaluate {
                worked |= evaluate_batch(evaluator.as_ref(), batches);
            }
            if !worked {
                batches.wait(seen);
            }
        }
    }

    /// Reads all answers that have arrived, and reserves rows for leaves; returns whether there was
    /// anything to do.
    fn read_answers(&mut self, context: &mut Context<'_, '_, G>) -> bool {
        let batches = context.batches;
        let mut worked = self.reserve_rows(batches);
        while let Some(&rows) = self.waiting.front()
            && batches.is_answered(rows.batch)
            && !batches.is_stopped()
        {
            self.waiting.pop_front();
            self.read(rows, context);
            worked = true;
        }
        worked | self.reserve_rows(batches)
    }

    /// Plays game after game with an evaluator of single leaves.
    fn play_alone(&mut self, evaluator: &dyn Evaluator<G>, context: &mut Context<'_, '_, G>) {
        let (setup, mut logits) = (context.setup, std::mem::take(&mut self.logits));
        let mut values = vec![0.0; setup.rules().num_players];
        while G::together(|| self.play_one(evaluator, &mut logits, &mut values, context)) {}
        self.logits = logits;
    }

    /// Plays the next game of the lease to its end; false if there is none, or after a stop.
    fn play_one(
        &mut self,
        evaluator: &dyn Evaluator<G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
        context: &mut Context<'_, '_, G>,
    ) -> bool {
        if !self.start_next(0, context) {
            return false;
        }
        loop {
            match self.advance(0, context) {
                Ok(Next::Search) => {}
                Ok(Next::Over) => break,
                Err(error) => {
                    self.fail(0, error);
                    break;
                }
            }
            let game = &mut self.games[0];
            let settings = context.setup.settings(game.full);
            let (mut search, _) = self.shard.parts(0, settings, context.setup.budget);
            if let Err(error) = search.evaluate(&mut game.leaves, evaluator, logits, values) {
                self.fail(0, error);
                break;
            }
            if context.batches.is_stopped() {
                break;
            }
        }
        !context.batches.is_stopped()
    }

    /// Starts the next game of the lease in a slot; false if there is none, or after a stop.
    fn start_next(&mut self, game: usize, context: &Context<'_, '_, G>) -> bool {
        let job = context.job;
        while !context.batches.is_stopped() {
            let started = job.started.fetch_add(1, Ordering::Relaxed);
            if started >= job.lease.count {
                return false;
            }
            let number = job.lease.first + started;
            let slot = &mut self.games[game];
            let (shard, finished) = (&mut self.shard, &mut self.finished);
            match slot.start(number, &job.lease, context.setup, shard, finished) {
                Ok(Next::Search) => return true,
                Ok(Next::Over) => {}
                Err(error) => self.fail(game, SearchError::Game(error)),
            }
        }
        false
    }

    /// Drops a game.
    fn fail(&mut self, game: usize, error: SearchError<G::Error>) {
        let slot = &mut self.games[game];
        slot.leaves.forget(slot.leaves.len());
        let number = slot.number;
        self.failures.push(Failure { number, error });
    }

    /// Resumes a game, then those that follow in its slot, until leaves wait for rows.
    fn resume(&mut self, game: usize, context: &mut Context<'_, '_, G>) {
        loop {
            match self.advance(game, context) {
                Ok(Next::Search) => break,
                Ok(Next::Over) => {}
                Err(error) => self.fail(game, error),
            }
            if !self.start_next(game, context) {
                return;
            }
        }
        let leaves = self.games[game].leaves.visits();
        let legal = leaves.iter().map(|visit| visit.actions.len()).sum();
        self.sizes.push((leaves.len(), legal));
        self.filled.push(game);
        if self.filled.len() >= CHUNK {
            self.reserve_rows(context.batches);
        }
    }

    /// Searches and moves until leaves wait for evaluation, or the game is over.
    fn advance(
        &mut self,
        game: usize,
        context: &mut Context<'_, '_, G>,
    ) -> Result<Next, SearchError<G::Error>> {
        let setup = context.setup;
        let slot = &mut self.games[game];
        loop {
            let settings = setup.settings(slot.full);
            let (mut search, _) = self.shard.parts(game, settings, setup.budget);
            search.fill(&mut slot.leaves, context.clock)?;
            if !slot.leaves.is_empty() {
                return Ok(Next::Search);
            }
            if !search.tree.is_done() {
                if context.batches.is_stopped() {
                    return Ok(Next::Over);
                }
                continue; // many simulations ended without a leaf
            }
            let counters = &context.job.counters[self.number];
            let simulations = search.tree.progress.finished;
            counters.positions.fetch_add(1, Ordering::Relaxed);
            counters
                .simulations
                .fetch_add(simulations, Ordering::Relaxed);
            let next = slot.play(setup, &mut self.shard, &mut self.finished)?;
            if next == Next::Over {
                counters.games.fetch_add(1, Ordering::Relaxed);
                return Ok(Next::Over);
            }
        }
    }

    /// Reserves and writes rows for waiting leaves while batches are free; returns whether any got
    /// theirs.
    fn reserve_rows(&mut self, batches: &Batches<G::Cell>) -> bool {
        let mut done = 0;
        while done < self.filled.len() {
            let Some(rows) = batches.reserve(&self.sizes[done..], &mut self.own) else {
                break;
            };
            let games = &self.filled[done..done + rows.games];
            for (game, error) in write(&self.games, games, &rows, batches) {
                self.failures.push(Failure {
                    number: self.games[game].number,
                    error: SearchError::Game(error),
                });
                self.games[game].failed = true;
            }
            batches.written(&rows);
            self.waiting_games.extend(games);
            self.waiting.push_back(rows);
            done += rows.games;
        }
        self.filled.drain(..done);
        self.sizes.drain(..done);
        done > 0
    }

    /// Reads the answers to some rows, and resumes their games.
    fn read(&mut self, rows: Reservation, context: &mut Context<'_, '_, G>) {
        let (mut row, mut legal) = (rows.row, rows.legal);
        for _ in 0..rows.games {
            self.prefetch_next();
            let Some(game) = self.waiting_games.pop_front() else {
                break;
            };
            let counts = self.games[game].leaves.visits().iter();
            let counts: (usize, usize) =
                counts.fold((0, 0), |(n, sum), visit| (n + 1, sum + visit.actions.len()));
            if let Err(bad) = self.expand(game, rows.batch, row, legal, context) {
                let mut first = context.job.bad_answer.lock();
                let first = first.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut());
                first.get_or_insert(bad);
                context.batches.stop();
                return;
            }
            (row, legal) = (row + counts.0, legal + counts.1);
            if std::mem::take(&mut self.games[game].failed) && !self.start_next(game, context) {
                continue;
            }
            self.resume(game, context);
        }
        context.batches.read(rows.batch, rows.rows);
    }

    /// Prefetches the memory of the next games. With a thousand games their trees have left the
    /// caches since their last turn, and loading them would take half of the time. Each step follows
    /// pointers that an earlier step has prefetched.
    fn prefetch_next(&self) {
        let game = |ahead: usize| self.waiting_games.get(ahead).copied();
        let leaves = |game: usize| self.games[game].leaves.visits().iter();
        let (pool, trees) = (&self.shard.pool, &self.shard.trees);
        if let Some(game) = game(5) {
            self.games[game].prefetch();
            prefetch(from_ref(&trees[game]));
        }
        if let Some(game) = game(4) {
            leaves(game).for_each(|visit| prefetch(from_ref(&**visit)));
            pool.prefetch_node(trees[game].root);
        }
        if let Some(game) = game(3) {
            for visit in leaves(game) {
                prefetch(&visit.path);
                prefetch(&visit.actions);
            }
        }
        if let Some(game) = game(2) {
            let steps = leaves(game).flat_map(|visit| &visit.path);
            steps.for_each(|step| pool.prefetch_node(step.node));
        }
        if let Some(game) = game(1) {
            let steps = leaves(game).flat_map(|visit| &visit.path);
            steps.for_each(|step| pool.prefetch_owned(step.node));
        }
    }

    /// Expands the leaves of a game with the answers that begin at `row` and `legal`.
    fn expand(
        &mut self,
        game: usize,
        batch: usize,
        mut row: usize,
        mut legal: usize,
        context: &Context<'_, '_, G>,
    ) -> Result<(), BadAnswer> {
        let (setup, memory) = (context.setup, context.batches.memory(batch));
        let seats = setup.rules().num_players;
        let slot = &mut self.games[game];
        let leaves = std::mem::take(&mut slot.leaves);
        if !slot.failed {
            let settings = setup.settings(slot.full);
            let (mut search, _) = self.shard.parts(game, settings, setup.budget);
            for visit in leaves.visits() {
                let n = visit.actions.len();
                // SAFETY: the batch is answered, so no thread writes to it until all its rows are read.
                let (logits, values) = unsafe {
                    let values = memory.values.part(row * seats, seats);
                    (memory.logits.part(legal, n), values)
                };
                check(slot.number, &visit.actions, logits, values)?;
                self.logits.clear();
                self.logits.extend_from_slice(logits);
                search.expand(visit, &mut self.logits, values);
                (row, legal) = (row + 1, legal + n);
            }
        }
        slot.leaves = leaves;
        slot.leaves.forget(slot.leaves.len());
        Ok(())
    }
}

/// State shared by all actors of a lease, and the clock of this one.
struct Context<'a, 'b, G: Game> {
    job: &'a Job<G>,
    setup: &'a Setup<G>,
    batches: &'a Batches<G::Cell>,
    /// Kept between searches, because it reads the time only every so many calls.
    clock: &'b mut Clock<'a>,
}

/// Signs the actor off at its end. After a panic it also stops the other actors.
struct SignOff<'a, C: Copy + Default + Send + Sync + 'static>(&'a Batches<C>);

impl<C: Copy + Default + Send + Sync + 'static> Drop for SignOff<'_, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
        self.0.leave();
    }
}
