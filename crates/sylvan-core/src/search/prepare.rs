//! Expansion on several threads: the part of it that depends on a leaf alone.
//!
//! A forest with more threads than trees gives the threads that are left over a share of every
//! tree's batch: they observe its leaves, run the built-in evaluators, and turn logits into stored
//! edges. Descents and backups stay on the tree's own thread, in the order of selection. So the
//! tree is the same, bit for bit, for any number of threads.
//!
//! Limits: a batch needs `leaves_in_flight` of 32 or more to be shared out. Trees over deals, learned
//! models and games written in Python use one thread per tree.

use std::convert::Infallible;

use bytemuck::Zeroable;

use crate::contracts::evaluator::Evaluator;
use crate::contracts::game::Game;
use crate::contracts::numbers::{pad, softmax_padded};
use crate::contracts::values::Values;
use crate::memory::arena::Unit;
use crate::memory::edges::Edges;
use crate::search::batch::Batch;
use crate::search::descend::SearchError;
use crate::search::settings::Settings;
use crate::search::tree::Search;
use crate::search::visit::Visit;
use crate::search::workers::each;

/// The least leaves of a part: handing out a job takes a few microseconds, a leaf about one.
const LEAST_LEAVES: usize = 16;

/// Whether a batch of `leaves` leaves has several parts.
#[inline]
pub(super) fn is_shared_out(leaves: usize, threads: usize) -> bool {
    threads > 1 && leaves >= 2 * LEAST_LEAVES
}

/// The size of the parts of `leaves` leaves for `threads` threads; at least 1.
pub(super) fn part_size(leaves: usize, threads: usize) -> usize {
    let parts = threads.min(leaves / LEAST_LEAVES).max(1);
    leaves.div_ceil(parts).max(1)
}

/// Some leaves of a batch with their evaluations, ready to be added to their tree.
pub(super) struct Part<'a, G: Game> {
    visits: &'a [Box<Visit<G>>],
    /// Index of its first leaf in the batch.
    first: usize,
    /// The edges of all leaves but roots, as a pool stores them.
    units: Vec<Unit>,
    /// One value per seat, leaf after leaf.
    values: Vec<f32>,
    /// The error that ended the part early.
    error: Option<G::Error>,
}

/// Prepares the leaves of a batch on `threads` threads; `evaluate(i, leaf, logits, values)` writes
/// the evaluation of leaf `i`.
pub(super) fn prepare<'a, G: Game>(
    (settings, edges, threads): (&Settings, Edges, usize),
    visits: &'a [Box<Visit<G>>],
    evaluate: impl Fn(usize, &Visit<G>, &mut Vec<f32>, &mut [f32]) -> Result<(), G::Error> + Sync,
) -> Vec<Part<'a, G>> {
    let size = part_size(visits.len(), threads);
    let parts = visits.chunks(size).enumerate().map(|(i, visits)| Part {
        visits,
        first: i * size,
        units: Vec::new(),
        values: Vec::with_capacity(visits.len() * settings.rules.num_players),
        error: None,
    });
    let mut parts: Vec<_> = parts.collect();
    let done: Result<(), Infallible> = each(&mut parts, |part| {
        part.prepare(settings, edges, &evaluate);
        Ok(())
    });
    let Ok(()) = done;
    parts
}

impl<G: Game> Part<'_, G> {
    fn prepare(
        &mut self,
        settings: &Settings,
        edges: Edges,
        evaluate: impl Fn(usize, &Visit<G>, &mut Vec<f32>, &mut [f32]) -> Result<(), G::Error>,
    ) {
        let mut logits = Vec::new();
        let mut values = vec![0.0; settings.rules.num_players];
        for (i, visit) in self.visits.iter().enumerate() {
            logits.clear();
            if let Err(error) = evaluate(self.first + i, visit, &mut logits, &mut values) {
                self.error = Some(error);
                return;
            }
            self.values.extend_from_slice(&values);
            if visit.is_root() {
                continue; // its priors stay in full precision
            }
            settings.shape_priors(visit, &mut logits);
            let n = pad(&mut logits);
            softmax_padded(&mut logits, n);
            let start = self.units.len();
            let end = start + edges.units(n) as usize;
            self.units.resize(end, Unit::zeroed());
            edges.write(&mut self.units[start..], &logits, &visit.actions);
        }
    }

    /// Calls `add(i, leaf, units, values)` for each of its leaves, in order; `units` is empty for
    /// roots. Returns the error that ended the part early.
    pub(super) fn apply(
        self,
        edges: Edges,
        mut add: impl FnMut(usize, &Visit<G>, &[Unit], &[f32]),
    ) -> Result<(), G::Error> {
        let mut units = &self.units[..];
        let seats = (self.values.len() / self.visits.len()).max(1);
        for (i, values) in self.values.chunks(seats).enumerate() {
            let visit = &self.visits[i];
            let n = match visit.is_root() {
                true => 0,
                false => edges.units(visit.actions.len()) as usize,
            };
            let (own, rest) = units.split_at(n);
            add(self.first + i, visit, own, values);
            units = rest;
        }
        self.error.map_or(Ok(()), Err)
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Evaluates a batch of this tree on several threads and applies the evaluations.
    pub(super) fn evaluate_together(
        &mut self,
        batch: &mut Batch<G>,
        evaluator: &dyn Evaluator<G>,
    ) -> Result<(), SearchError<G::Error>> {
        let (mut result, mut done, edges) = (Ok(()), 0, self.pool.edges);
        let job = (self.settings, edges, self.settings.threads_per_tree);
        let parts = prepare(job, batch.visits(), |_, visit, logits, values| {
            evaluator.evaluate(&visit.leaf(), logits, values)
        });
        for part in parts {
            result = part.apply(edges, |_, visit, units, values| {
                self.expand_prepared(visit, units, values); // a root is alone in its batch
                done += 1;
            });
            if result.is_err() {
                break;
            }
        }
        batch.forget(done); // the rest is abandoned
        result.map_err(SearchError::Game)
    }

    /// `expand` with edges that are ready.
    pub(super) fn expand_prepared(&mut self, visit: &Visit<G>, units: &[Unit], values: &[f32]) {
        let raw = self.add_value(visit, values);
        if self.at_horizon(visit) {
            return self.close(visit);
        }
        let (id, n) = (visit.end(), visit.actions.len());
        self.pool.copy_edges(id, units, n, &mut self.tree.bytes);
        self.open(visit, raw);
    }
}
