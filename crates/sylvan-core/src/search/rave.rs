//! RAVE: the AMAF statistics of `widening.rs`.

use std::collections::HashMap;

use crate::contracts::game::{Action, Game};
use crate::contracts::values::Values;
use crate::memory::node::NodeKind;
use crate::search::tree::Search;
use crate::search::visit::Step;

/// All moves as first: per action, how often a node's seat took it here or below, and its value
/// sum.
pub type Amaf = HashMap<Action, (u32, f64)>;

/// Bytes of one entry in the map.
pub const AMAF_BYTES: u64 = 40;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Adds a value to the AMAF statistics of every node of a path.
    #[cold]
    pub(crate) fn update_amaf(&mut self, path: &[Step], mut value: V) {
        let discount = self.settings.config.discount;
        for at in (0..path.len() - 1).rev() {
            value = value.step_value(&self.pool[path[at + 1].node].extra, discount);
            let node = &self.pool[path[at].node];
            if node.kind() != NodeKind::Decision {
                continue;
            }
            let seat = node.seat();
            let mut taken: Vec<Action> = Vec::new();
            for step in path[at..].windows(2) {
                let (chooser, action) = (&self.pool[step[0].node], self.pool[step[1].node].action);
                let own = chooser.kind() == NodeKind::Decision && chooser.seat() == seat;
                if own && !taken.contains(&action) {
                    taken.push(action);
                }
            }
            let amaf = self.tree.amaf.entry(path[at].node).or_default();
            for action in taken {
                let entry = amaf.entry(action).or_insert_with(|| {
                    self.tree.bytes += AMAF_BYTES;
                    (0, 0.0)
                });
                entry.0 += 1;
                entry.1 += value.seat(seat);
            }
        }
    }
}
