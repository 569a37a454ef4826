//! A forest: many trees that fill one batch.
//!
//! Ask and tell: `select` collects leaves from all trees (the batch rule is in `descend.rs`), the
//! caller evaluates them, `update` applies the evaluations. `run` does both with a built-in
//! evaluator, tree by tree, because no batch is needed; with a deadline the trees take turns.
//!
//! Trees are divided into shards with one thread and one pool each. A tree's search depends only on
//! the tree, so results are the same for any number of threads. Threads that are left over take a
//! share of the work on leaves (`prepare.rs`).

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::contracts::config::{Config, Stop};
use crate::contracts::evaluator::Evaluator;
use crate::contracts::game::{Action, Game, Rules};
use crate::contracts::values::Values;
use crate::memory::arena::Unit;
use crate::memory::edges::Edges;
use crate::memory::pool::Pool;
use crate::search::batch::Batch;
use crate::search::clock::Clock;
use crate::search::descend::SearchError;
use crate::search::prepare::{is_shared_out, part_size, prepare};
use crate::search::settings::Settings;
use crate::search::tree::{Scratch, Search, Tree};
use crate::search::visit::Visit;
use crate::search::workers::each;

/// The trees of one thread, aligned so that no other thread writes to the same cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard<G: Game, V: Values> {
    pub(crate) pool: Pool<V>,
    pub(crate) trees: Vec<Tree<G>>,
    pub(crate) batch: Batch<G>,
    scratch: Scratch,
    /// A buffer for the logits of one leaf.
    pub(crate) logits: Vec<f32>,
    /// The tree with which `run` continues.
    turn: usize,
}

/// Simulations of one tree before the next one's turn, in a search with a deadline.
const TURN: u64 = 64;
/// The share of the byte budget that trees may use, 5 / 6: the rest is for fragmentation of the
/// arena (`python -m benchmarks.memory` measures it).
pub const TREE_SHARE: (u64, u64) = (5, 6);
/// The most bytes of a pool: its 16-byte units have 31-bit numbers.
const POOL_MOST: u64 = 30_000_000_000;

#[derive(Debug)]
pub struct Forest<G: Game, V: Values> {
    pub settings: Settings,
    pub(crate) shards: Vec<Shard<G, V>>,
    /// Trees in every shard but the last.
    pub(crate) per_shard: usize,
    num_trees: usize,
}

/// When to return to the caller: the deadline and `asked` end the search, the pause interrupts it.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    pub deadline: Option<Instant>,
    pub pause: Option<Instant>,
    pub asked: &'a AtomicBool,
}

impl Timing<'_> {
    fn clock(&self) -> Clock<'_> {
        Clock::new(self.deadline, self.pause, self.asked)
    }
}

impl<G: Game, V: Values> Shard<G, V> {
    /// A shard for trees of about `bytes` bytes in total.
    pub(crate) fn new(settings: &Settings, bytes: u64) -> Self {
        let edges = Edges {
            bits: settings.config.prior_bits,
            kept_below: if G::LEARNED {
                settings.rules.num_actions // all actions in order need no list
            } else if G::KEEP_STATES {
                usize::MAX
            } else {
                0
            },
            listed: settings.deals,
        };
        let mut pool = Pool::new(edges, bytes);
        pool.records = settings.config.transpositions;
        Self {
            pool,
            trees: Vec::new(),
            batch: Batch::default(),
            scratch: Scratch::default(),
            logits: Vec::new(),
            turn: 0,
        }
    }

    /// The search of a tree, and the batch that it fills.
    #[inline]
    pub(crate) fn parts<'a>(
        &'a mut self,
        tree: usize,
        settings: &'a Settings,
        budget: u64,
    ) -> (Search<'a, G, V>, &'a mut Batch<G>) {
        let search = Search {
            pool: &mut self.pool,
            tree: &mut self.trees[tree],
            settings,
            scratch: &mut self.scratch,
            budget,
        };
        (search, &mut self.batch)
    }

    pub(crate) fn select(
        &mut self,
        settings: &Settings,
        budget: u64,
        timing: &Timing,
    ) -> Result<(), SearchError<G::Error>> {
        let mut clock = timing.clock();
        for tree in 0..self.trees.len() {
            let (mut search, batch) = self.parts(tree, settings, budget);
            search.fill(batch, &mut clock)?;
        }
        Ok(())
    }

    /// Searches the trees to the end or to the pause.
    fn run(
        &mut self,
        evaluator: &dyn Evaluator<G>,
        settings: &Settings,
        budget: u64,
        timing: &Timing,
    ) -> Result<(), SearchError<G::Error>> {
        let mut clock = timing.clock();
        let (mut logits, mut values) = (Vec::new(), vec![0.0; settings.rules.num_players]);
        let turn = timing.deadline.map_or(u64::MAX, |_| TURN);
        while let Some(tree) = self.next_tree() {
            let end = self.trees[tree].progress.finished.saturating_add(turn);
            let (mut search, batch) = self.parts(tree, settings, budget);
            while !search.tree.is_done() && search.tree.progress.finished < end {
                search.fill(batch, &mut clock)?;
                if batch.is_empty() && search.tree.progress.stop.is_none() {
                    return Ok(()); // paused
                }
                search.evaluate(batch, evaluator, &mut logits, &mut values)?;
            }
            self.turn = tree + 1;
        }
        Ok(())
    }

    /// Applies the evaluations of a batch: `logits(i, leaf, out)` writes those of leaf `i`.
    fn add_evaluated(
        &mut self,
        visits: &[Box<Visit<G>>],
        settings: &Settings,
        budget: u64,
        logits: &(impl Fn(usize, &Visit<G>, &mut Vec<f32>) + Sync),
        values: &[f32],
    ) {
        let (edges, seats) = (self.pool.edges, settings.rules.num_players);
        let mut buffer = std::mem::take(&mut self.logits);
        let mut add = |i: usize, visit: &Visit<G>, units: &[Unit], values: &[f32]| {
            let (mut search, _) = self.parts(visit.tree, settings, budget);
            if !units.is_empty() {
                return search.expand_prepared(visit, units, values);
            }
            buffer.clear();
            logits(i, visit, &mut buffer);
            search.expand(visit, &mut buffer, values);
        };
        let threads = settings.threads_per_tree;
        if is_shared_out(visits.len(), threads) {
            let parts = prepare((settings, edges, threads), visits, |i, visit, out, own| {
                own.copy_from_slice(&values[i * seats..][..seats]);
                logits(i, visit, out);
                Ok(())
            });
            for part in parts {
                let _ = part.apply(edges, &mut add); // nothing above fails
            }
        } else {
            for ((i, visit), values) in visits.iter().enumerate().zip(values.chunks(seats)) {
                add(i, visit, &[], values);
            }
        }
        self.logits = buffer;
    }

    /// The next tree that is not done.
    fn next_tree(&self) -> Option<usize> {
        let n = self.trees.len();
        let mut trees = (self.turn..self.turn + n).map(|tree| tree % n);
        trees.find(|&tree| !self.trees[tree].is_done())
    }

    fn abandon(&mut self, settings: &Settings) {
        let batch = std::mem::take(&mut self.batch);
        for visit in batch.visits() {
            self.parts(visit.tree, settings, 0).0.abandon(visit);
        }
        let mut pruned = HashSet::new(); // with deals, several views may wait at one node
        for visit in batch.visits().iter().rev() {
            if pruned.insert((visit.tree, visit.end())) {
                self.parts(visit.tree, settings, 0).0.prune(&visit.path);
            }
        }
        for tree in 0..if settings.deals { self.trees.len() } else { 0 } {
            self.parts(tree, settings, 0).0.abandon_suspended();
        }
        self.batch = batch;
        self.batch.forget(self.batch.len());
    }
}

impl<G: Game, V: Values> Forest<G, V> {
    /// A forest with one tree per state; in every state a seat must be to move.
    pub fn new(states: Vec<G>, rules: Rules, config: Config) -> Self {
        let num_trees = states.len();
        let num_shards = config.threads.clamp(1, num_trees.max(1));
        let mut settings = Settings::new(config, rules);
        if G::HIDDEN && states.iter().any(Game::is_view) {
            settings = settings.with_deals();
        } else if !G::LEARNED {
            settings.threads_per_tree = settings.config.threads / num_shards;
        }
        let bytes = settings.config.limits.bytes.unwrap_or(u64::MAX) / num_shards as u64;
        let mut forest = Self {
            shards: (0..num_shards)
                .map(|_| Shard::new(&settings, bytes))
                .collect(),
            per_shard: num_trees.div_ceil(num_shards).max(1),
            settings,
            num_trees,
        };
        let seed = forest.settings.config.seed;
        for (i, state) in states.into_iter().enumerate() {
            let shard = &mut forest.shards[i / forest.per_shard];
            let mut tree = Tree::new(state, &mut shard.pool, seed, i as u64);
            tree.index_in_shard = shard.trees.len();
            shard.trees.push(tree);
        }
        forest
    }

    pub fn num_trees(&self) -> usize {
        self.num_trees
    }

    /// The byte budget of each tree: its part of `limits.bytes`, times `TREE_SHARE`.
    pub(crate) fn budget(&self) -> u64 {
        let bytes = self.settings.config.limits.bytes.unwrap_or(u64::MAX);
        let (part, whole) = TREE_SHARE;
        let share = bytes / self.num_trees.max(1) as u64 / whole * part;
        share.min(POOL_MOST / self.per_shard as u64)
    }

    pub fn tree(&self, i: usize) -> &Tree<G> {
        &self.shards[i / self.per_shard].trees[i % self.per_shard]
    }

    pub fn pool_of(&self, i: usize) -> &Pool<V> {
        &self.shards[i / self.per_shard].pool
    }

    /// The search of tree `i`.
    pub fn search(&mut self, i: usize) -> Search<'_, G, V> {
        let budget = self.budget();
        let shard = &mut self.shards[i / self.per_shard];
        shard.parts(i % self.per_shard, &self.settings, budget).0
    }

    /// Starts a new search of every tree; `noise(i)` is the noise of tree `i`, `None` to draw it.
    /// With `quiet`, the search uses no noise and no forced playouts.
    pub fn begin(&mut self, quiet: bool, noise: impl Fn(usize) -> Option<Vec<f64>> + Sync) {
        self.abandon();
        self.settings.quiet = quiet;
        let (budget, settings, per_shard) = (self.budget(), &self.settings, self.per_shard);
        let mut jobs: Vec<_> = self.shards.iter_mut().enumerate().collect();
        let done: Result<(), std::convert::Infallible> = each(&mut jobs, |(number, shard)| {
            for tree in 0..shard.trees.len() {
                let noise = noise(*number * per_shard + tree);
                shard.parts(tree, settings, budget).0.begin(noise);
            }
            Ok(())
        });
        let Ok(()) = done;
    }

    /// Whether every tree has ended its search.
    pub fn is_done(&self) -> bool {
        let mut trees = self.shards.iter().flat_map(|shard| &shard.trees);
        trees.all(Tree::is_done)
    }

    /// Fills the next batch; the batch must be empty. After an error nothing is in flight.
    pub fn select(&mut self, timing: &Timing) -> Result<(), SearchError<G::Error>> {
        let budget = self.budget();
        let settings = &self.settings;
        let result = each(&mut self.shards, |shard| {
            shard.select(settings, budget, timing)
        });
        if result.is_err() {
            self.abandon();
        }
        result
    }

    /// Searches every tree with an evaluator, to the end or to the pause.
    pub fn run(
        &mut self,
        evaluator: &dyn Evaluator<G>,
        timing: &Timing,
    ) -> Result<(), SearchError<G::Error>> {
        let budget = self.budget();
        let settings = &self.settings;
        let result = each(&mut self.shards, |shard| {
            shard.run(evaluator, settings, budget, timing)
        });
        self.abandon();
        result
    }

    /// The leaves of the batch in order, each with the number of its tree.
    pub fn leaves(&self) -> impl Iterator<Item = (usize, &Visit<G>)> {
        let per_shard = self.per_shard;
        self.shards.iter().enumerate().flat_map(move |(s, shard)| {
            let batch = shard.batch.visits().iter();
            batch.map(move |visit| (s * per_shard + visit.tree, visit.as_ref()))
        })
    }

    /// The leaves of the batch in order, a part for every thread.
    fn parts(&self) -> impl Iterator<Item = &[Box<Visit<G>>]> {
        self.shards.iter().flat_map(move |shard| {
            let visits = shard.batch.visits();
            visits.chunks(part_size(visits.len(), self.settings.threads_per_tree))
        })
    }

    pub fn num_leaves(&self) -> usize {
        self.shards.iter().map(|shard| shard.batch.len()).sum()
    }

    /// Writes the observations of the batch one after another.
    pub fn observe(&mut self, out: &mut [G::Cell]) -> Result<(), G::Error> {
        let len = self.settings.rules.observation_len();
        let mut jobs = Vec::with_capacity(self.settings.config.threads);
        let mut rest = out;
        for visits in self.parts() {
            let (part, tail) = rest.split_at_mut(visits.len() * len);
            jobs.push((visits, part));
            rest = tail;
        }
        each(&mut jobs, |(visits, part)| {
            for (visit, cells) in visits.iter().zip(part.chunks_mut(len.max(1))) {
                visit.state.observe(cells)?;
            }
            Ok(())
        })
    }

    /// Concatenates the output of `write` for every leaf of the batch.
    pub fn of_leaves<T: Send, E: Send>(
        &self,
        write: impl Fn(&Visit<G>, &mut Vec<T>) -> Result<(), E> + Sync,
    ) -> Result<Vec<T>, E> {
        let mut jobs: Vec<_> = self.parts().map(|visits| (visits, Vec::new())).collect();
        each(&mut jobs, |(visits, written)| {
            visits.iter().try_for_each(|visit| write(visit, written))
        })?;
        let mut parts = jobs.into_iter().map(|(_, written)| written);
        let first = parts.next().unwrap_or_default();
        Ok(parts.fold(first, |mut all, mut part| {
            all.append(&mut part);
            all
        }))
    }

    /// Applies the evaluations of the batch: `logits(i, leaf, out)` writes one logit per legal
    /// action of leaf `i`, `values` holds one value per seat, leaf after leaf. The caller has
    /// validated all.
    pub fn update(
        &mut self,
        logits: &(impl Fn(usize, &Visit<G>, &mut Vec<f32>) + Sync),
        values: &[f32],
    ) {
        let budget = self.budget();
        let settings = &self.settings;
        let seats = settings.rules.num_players;
        let mut first = 0;
        let mut jobs: Vec<(&mut Shard<G, V>, usize)> = Vec::with_capacity(self.shards.len());
        for shard in &mut self.shards {
            let len = shard.batch.len();
            jobs.push((shard, first));
            first += len;
        }
        let done: Result<(), std::convert::Infallible> = each(&mut jobs, |(shard, first)| {
            let batch = std::mem::take(&mut shard.batch);
            let values = &values[*first * seats..][..batch.len() * seats];
            let logits = |i: usize, visit: &Visit<G>, out: &mut Vec<f32>| {
                logits(*first + i, visit, out);
            };
            shard.add_evaluated(batch.visits(), settings, budget, &logits, values);
            shard.batch = batch;
            shard.batch.forget(shard.batch.len());
            Ok(())
        });
        let Ok(()) = done;
    }

    /// Abandons all leaves in flight.
    pub fn abandon(&mut self) {
        let settings = &self.settings;
        self.shards
            .iter_mut()
            .for_each(|shard| shard.abandon(settings));
    }

    /// Makes the position after `action` the root of tree `i`; nothing may be in flight.
    pub fn advance(&mut self, i: usize, action: Action) -> Result<(), G::Error> {
        self.search(i).advance(action, true).map(|_| ())
    }

    /// Restarts tree `i` from a new state.
    pub fn plant(&mut self, i: usize, state: G) {
        let is_alone = self.shards[i / self.per_shard].trees.len() == 1;
        let mut search = self.search(i);
        if is_alone {
            search.pool.arena.clear(); // takes constant time for any tree size
            search.start(state, i as u64);
        } else {
            search.plant(state, i as u64);
        }
    }

    /// Restarts every tree: `state(i, old)` is the new root of tree `i`, `old` its current root
    /// state. Tree `i` draws from stream 0 of `seeds[i]`, if there is one, else it goes on drawing
    /// from its own stream.
    pub fn replant(&mut self, state: impl Fn(usize, &G) -> G + Sync, seeds: &[u64]) {
        let (budget, settings, per_shard) = (self.budget(), &self.settings, self.per_shard);
        let mut jobs: Vec<_> = self.shards.iter_mut().enumerate().collect();
        let done: Result<(), std::convert::Infallible> = each(&mut jobs, |(number, shard)| {
            shard.pool.arena.clear();
            for tree in 0..shard.trees.len() {
                let i = *number * per_shard + tree;
                let root = state(i, &shard.trees[tree].state);
                let mut search = shard.parts(tree, settings, budget).0;
                search.start(root, i as u64);
                if let Some(&seed) = seeds.get(i) {
                    search.tree.reseed(seed, 0);
                }
            }
            Ok(())
        });
        let Ok(()) = done;
    }

    /// Lets tree `i`, which has not been searched yet, draw from stream 0 of `seeds[i]`, so that
    /// its search is the same in any forest.
    pub fn reseed(&mut self, seeds: &[u64]) {
        for (tree, &seed) in seeds.iter().enumerate().take(self.num_trees) {
            self.search(tree).tree.reseed(seed, 0);
        }
    }

    /// Ends the search of trees `first` and later, so that only those before it are searched.
    pub fn rest(&mut self, first: usize) {
        for tree in first..self.num_trees {
            let search = self.search(tree);
            search.tree.progress.stop.get_or_insert(Stop::External);
        }
    }

    /// Bytes of all pools, including free memory; with a learned model also the roots' edges,
    /// because they are many.
    pub fn bytes(&self) -> u64 {
        let of_root = |tree: &Tree<G>| tree.edges.bytes();
        let bytes = self.shards.iter().map(|shard| match G::LEARNED {
            true => shard.pool.bytes() + shard.trees.iter().map(of_root).sum::<u64>(),
            false => shard.pool.bytes(),
        });
        bytes.sum()
    }
}
