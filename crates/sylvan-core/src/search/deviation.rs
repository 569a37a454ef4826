//! Exploration by the deviation of values: looks further where results differ, less where they
//! agree.
//!
//! ```text
//!     c(N) is multiplied by  1 + c_deviation * (deviation / usual_deviation - 1)
//!     deviation^2 = (2 * usual_deviation^2 + N * (S - Q^2)) / (N + 1)
//! ```
//!
//! Q is the mean value of the node's N visits for the seat to move, S the mean of their squares. At
//! first the deviation is the usual one, which counts like two visits. `usual_deviation` is on the
//! scale of scores.
//!
//! S has a place apart from the nodes, so a search without this option pays no bytes.
//!
//! Limits: PUCT, without hidden information. S is neither saved with a tree nor kept where the byte
//! budget drops a subtree: such nodes explore less than they should. Twin: `sylvan.reference.deviation`. Idea: KataGo.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::search::tree::Search;
use crate::search::visit::Step;

/// S of decision nodes.
pub type Squares = HashMap<NodeId, f32>;

/// Bytes of one entry in the map.
pub const SQUARE_BYTES: u64 = 16;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// `c(N) * sqrt(N)` at a node with `n` visits started.
    #[inline(always)]
    pub(crate) fn explore(&self, id: NodeId, n: u32) -> f32 {
        let explore = self.settings.explore(n);
        if self.settings.config.c_deviation == 0.0 {
            return explore;
        }
        explore * self.deviation_factor(id)
    }

    #[cold]
    fn deviation_factor(&self, id: NodeId) -> f32 {
        let (config, node) = (&self.settings.config, &self.pool[id]);
        let usual = config.usual_deviation / f64::from(self.scale(id).factor);
        let (n, mean) = (f64::from(node.visits), node.mean().seat(node.seat()));
        let square = self.tree.squares.get(&id).map_or(0.0, |&s| f64::from(s));
        let spread = (square - mean * mean).max(0.0);
        let deviation = ((2.0 * (usual * usual) + n * spread) / (n + 1.0)).sqrt();
        (1.0 + config.c_deviation * (deviation / usual - 1.0)) as f32
    }

    /// Records the value at the end of a path, which has just been backed up, at every node of it;
    /// at the last node only if `whole`.
    #[cold]
    pub(crate) fn record_squares(&mut self, path: &[Step], mut value: V, whole: bool) {
        let discount = self.settings.config.discount;
        for (at, step) in path.iter().enumerate().rev() {
            if let Some(below) = path.get(at + 1) {
                let edge = self.pool.edge(step.node, below.slot, below.node);
                value = value.step_value(&self.pool[edge].extra, discount);
            }
            if whole || at + 1 < path.len() {
                self.record_square(step.node, &value);
            }
        }
    }

    /// Records the value of the latest visit of a node.
    pub(crate) fn record_square(&mut self, id: NodeId, value: &V) {
        let node = &self.pool[id];
        if node.kind() != NodeKind::Decision {
            return;
        }
        let value = value.seat(node.seat());
        let entry = match self.tree.squares.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.tree.bytes += SQUARE_BYTES;
                entry.insert(0.0)
            }
        };
        let old = f64::from(*entry);
        *entry = (old + (value * value - old) / f64::from(node.visits)) as f32;
    }
}
