//! Expansion: a waiting leaf gets its priors and values, and the simulation ends.
//!
//! Priors are the softmax of the evaluator's logits, changed by options (`priors.rs`), over the
//! legal actions. A leaf gets all its edges at once, without nodes, after its evaluation. With a learned model, the evaluation also
//! contains the reward of the step to the leaf and its actions (`top_actions.rs`). A leaf at the
//! horizon gets no edges: it is evaluated again at its next visit.

use crate::contracts::evaluator::Evaluator;
use crate::contracts::game::{Action, Game};
use crate::contracts::numbers::{PADDING, pad, softmax_padded};
use crate::contracts::values::Values;
use crate::memory::node::NodeKind;
use crate::search::batch::Batch;
use crate::search::descend::SearchError;
use crate::search::prepare::is_shared_out;
use crate::search::root_edges::RootEdges;
use crate::search::tree::Search;
use crate::search::visit::Visit;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Evaluates a batch of this tree and applies the evaluations; `logits` and `values` are
    /// buffers for one leaf.
    pub fn evaluate(
        &mut self,
        batch: &mut Batch<G>,
        evaluator: &dyn Evaluator<G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), SearchError<G::Error>> {
        let threads = self.settings.threads_per_tree;
        if is_shared_out(batch.len(), threads) {
            return self.evaluate_together(batch, evaluator);
        }
        let (mut result, mut done) = (Ok(()), 0);
        for visit in batch.visits() {
            result = if G::HIDDEN && visit.resumes {
                evaluator.priors(&visit.leaf(), logits, values)
            } else {
                evaluator.evaluate(&visit.leaf(), logits, values)
            };
            if result.is_err() {
                break;
            }
            self.expand(visit, logits, values);
            done += 1;
        }
        batch.forget(done); // the rest is abandoned
        result.map_err(SearchError::Game)
    }

    /// Applies an evaluation: `logits`, one per legal action, become priors in place; `values` has
    /// one entry per seat. The caller has validated both.
    pub fn expand(&mut self, visit: &Visit<G>, logits: &mut Vec<f32>, values: &[f32]) {
        let id = visit.end();
        if self.deals() && id != self.tree.root {
            return self.expand_view(visit, logits, values);
        }
        self.settings.shape_priors(visit, logits);
        let n = pad(logits);
        // Back up first, to hide the softmax's latency.
        let raw = self.add_value(visit, values);
        if self.at_horizon(visit) {
            return self.close(visit);
        }
        softmax_padded(logits, n);
        let priors = logits;
        if id == self.tree.root {
            self.pool[id].num_edges = n as u16;
            self.tree.edges = RootEdges::new(visit.actions.clone(), priors[..n].to_vec(), raw);
        } else {
            let bytes = &mut self.tree.bytes;
            self.pool.set_edges(id, priors, &visit.actions, bytes);
        }
        self.open(visit, raw);
    }

    /// Applies the output of a learned model: logits of all actions, or of the actions in `names`
    /// (at a root, illegal ones are ignored), and validated values and rewards, one per seat.
    /// Returns false and changes nothing if a logit is NaN or +inf, or if none is finite. `buffer`
    /// is for logits.
    pub fn expand_latent(
        &mut self,
        visit: &Visit<G>,
        (logits, names): (&[f32], Option<&[i64]>),
        values: &[f32],
        rewards: &[f32],
        buffer: &mut Vec<f32>,
    ) -> bool {
        let id = visit.end();
        if id == self.tree.root {
            let legal = visit.actions.iter().map(|&action| logits[action as usize]);
            buffer.clear();
            buffer.extend(legal);
            let sound = logits.iter().all(|&x| x < f32::INFINITY);
            if !sound || buffer.iter().all(|&x| x == f32::NEG_INFINITY) {
                return false;
            }
            self.expand(visit, buffer, values);
            return true;
        }
        let shape = self.settings.prior_shape;
        let shaped = (!shape.is_plain()).then(|| {
            buffer.clear();
            buffer.extend_from_slice(logits);
            shape.apply(buffer);
            &buffer[..]
        });
        let logits = shaped.unwrap_or(logits);
        let config = &self.settings.config;
        let most = match logits.len() {
            ..=PADDING => usize::MAX, // storing all takes less memory than a list of some
            _ => visit.state.edges_kept(self.visits_to_come(visit)).max(1),
        };
        let list = &mut self.scratch.top_actions;
        if !list.fill(logits, config.top_k, most, config.prior_bits) {
            return false;
        }
        if let Some(names) = names {
            for action in &mut list.actions {
                *action = names[*action as usize] as Action;
            }
        }
        V::set_reward(&mut self.pool[id].extra, &V::from_seats(rewards));
        let raw = self.add_value(visit, values);
        if self.at_horizon(visit) {
            self.close(visit);
            return true;
        }
        let list = &mut self.scratch.top_actions;
        list.finish();
        let bytes = &mut self.tree.bytes;
        self.pool.set_edges(id, &list.priors, &list.actions, bytes);
        self.open(visit, raw);
        true
    }

    /// The most simulations of this search that can still visit the leaf after its evaluation: more
    /// edges cannot be tried.
    fn visits_to_come(&self, visit: &Visit<G>) -> usize {
        let simulations = self.settings.config.limits.simulations.unwrap_or(u64::MAX);
        let left = simulations.saturating_sub(self.tree.progress.started);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let (Some(gumbel), [_, first, ..]) = (&self.tree.progress.gumbel, &visit.path[..]) else {
            return left;
        };
        let first = &self.pool[first.node];
        let visits = gumbel.visits_left(first.index.into(), first.visits);
        left.min(visits.saturating_sub(1))
    }

    /// Backs up a leaf's values; returns the value for the seat to move there.
    pub(super) fn add_value(&mut self, visit: &Visit<G>, values: &[f32]) -> f32 {
        let value = V::from_seats(values);
        self.remove_virtual_visits(&visit.path);
        self.backup(&visit.path, value, false);
        value.seat(visit.seat) as f32
    }

    /// Whether a leaf is too deep to be expanded.
    #[inline]
    pub(crate) fn at_horizon(&self, visit: &Visit<G>) -> bool {
        let horizon = self.settings.config.horizon;
        horizon.is_some_and(|plies| visit.path.len() > plies as usize)
    }

    /// Ends a simulation: its leaf waits no longer.
    pub(crate) fn close(&mut self, visit: &Visit<G>) {
        let id = visit.end();
        self.pool[id].set_pending(false);
        self.tree.progress.waiting -= 1;
        self.tree.progress.finished += u64::from(id != self.tree.root);
    }

    /// Turns a leaf with edges into a decision node; `raw` is its value for the seat to move.
    pub(super) fn open(&mut self, visit: &Visit<G>, raw: f32) {
        let id = visit.end();
        let is_root = id == self.tree.root;
        if !self.settings.first_is_best && !is_root {
            self.pool.set_note(id, raw.to_bits());
        }
        self.tree.store_state(id, &visit.state);
        let node = &mut self.pool[id];
        node.set_kind(NodeKind::Decision);
        node.set_seat(visit.seat);
        let value = node.mean();
        if self.settings.config.c_deviation > 0.0 {
            self.record_square(id, &value);
        }
        self.close(visit);
        if is_root {
            self.tree.views.clear_waiting(); // only the root itself was waiting
            self.prepare_root();
        }
    }
}
