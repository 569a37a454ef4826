//! Expansion: a waiting leaf gets its priors and values, and the simulation ends.
//!
//! Priors are the softmax of the evaluator's logits over the legal actions. A leaf never shows
//! its children before its evaluation came, and gets them all at once, as edges without nodes.
//! Where a model is learned, the evaluation also says what the step to the leaf paid.

use crate::game::Game;
use crate::latent::narrow;
use crate::node::Kind;
use crate::numbers::softmax_padded;
use crate::root::RootEdges;
use crate::tree::{Search, Visit};
use crate::values::Values;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Takes in an evaluation: `logits`, one per legal action, become priors in place; `values`
    /// has one entry per seat. Both were checked to be numbers. `rewards`, one per seat, are there
    /// where the game is learned; `logits` are then one per action that exists, below the root.
    pub fn expand(
        &mut self,
        visit: &Visit<G>,
        logits: &mut Vec<f32>,
        values: &[f32],
        rewards: Option<&[f32]>,
    ) {
        let id = visit.end();
        let is_root = id == self.tree.root;
        let value = V::from_seats(values);
        if let Some(rewards) = rewards.filter(|_| !is_root) {
            V::set_reward(&mut self.pool[id].extra, &V::from_seats(rewards));
        }
        let raw = value.seat(visit.seat) as f32;
        // The softmax takes its time, which what comes behind it can use: so the backup is first.
        self.remove_virtual_visits(&visit.path);
        self.backup(&visit.path, value, false);
        let learned = &mut self.scratch.actions;
        let actions = if G::LEARNED && !is_root {
            narrow(logits, learned, self.settings.config.top_k);
            learned
        } else {
            &visit.actions
        };
        softmax_padded(logits);
        let priors = logits;
        if is_root {
            let n = visit.actions.len();
            self.pool[id].num_edges = n as u16;
            self.tree.edges = RootEdges::new(visit.actions.clone(), priors[..n].to_vec(), raw);
        } else {
            let (pool, bytes) = (&mut self.pool, &mut self.tree.bytes);
            pool.set_edges(id, priors, actions, bytes);
            if !self.settings.first_is_best {
                pool.set_note(id, raw.to_bits());
            }
        }
        self.tree.keep(id, &visit.state);
        let node = &mut self.pool[id];
        node.set_kind(Kind::Decision);
        node.set_seat(visit.seat);
        node.set_pending(false);
        self.tree.progress.waiting -= 1;
        self.tree.progress.finished += u64::from(!is_root);
        if is_root {
            self.prepare_root();
        }
    }
}
