//! Deals of hidden cards: complete a view (the information of one seat) to a full state.
//!
//! Every simulation of an information-set search draws its own deal (`search/information_set.rs`).
//! The evaluator's priors depend on the view of the seat to move in that deal, so a tree stores
//! them per node and view (`Game::own_key`). The tree's byte budget includes them.

use std::collections::{HashMap, HashSet};

use crate::contracts::game::Game;
use crate::contracts::rng::Rng;
use crate::memory::node::NodeId;

/// Draws a deal: copies the view to `state` and completes it by `Game::sample`. One draw from
/// `rng`.
pub fn deal<G: Game>(view: &G, state: &mut G, rng: &mut Rng) -> Result<(), G::Error> {
    if G::KEEP_STATES {
        *state = view.share();
    } else {
        state.clone_from(view);
    }
    state.sample(&mut rng.split())
}

/// The evaluator's priors per view at the nodes of an information-set tree. A view is identified by
/// its node and `Game::own_key`.
#[derive(Debug, Default)]
pub struct ViewPriors {
    priors: HashMap<NodeId, HashMap<u64, Box<[f32]>>>,
    /// Views waiting for their evaluation.
    waiting: HashSet<(NodeId, u64)>,
}

/// The approximate bytes of one view's priors: the array and its entries in the maps.
fn bytes(priors: &[f32]) -> u64 {
    64 + 4 * priors.len() as u64
}

impl ViewPriors {
    /// The priors of the legal actions, in the game's order, if the view was evaluated.
    #[inline]
    pub fn get(&self, id: NodeId, own_key: u64) -> Option<&[f32]> {
        self.priors.get(&id)?.get(&own_key).map(|priors| &**priors)
    }

    /// Stores priors; `used` counts the bytes.
    pub fn insert(&mut self, id: NodeId, own_key: u64, priors: Box<[f32]>, used: &mut u64) {
        *used += bytes(&priors);
        let old = self.priors.entry(id).or_default().insert(own_key, priors);
        *used -= old.map_or(0, |old| bytes(&old));
    }

    /// Drops all priors at a node; returns the freed bytes.
    pub fn remove(&mut self, id: NodeId) -> u64 {
        let removed = self.priors.remove(&id);
        removed.map_or(0, |views| views.values().map(|priors| bytes(priors)).sum())
    }

    #[inline]
    pub fn is_waiting(&self, id: NodeId, own_key: u64) -> bool {
        self.waiting.contains(&(id, own_key))
    }

    pub fn start_waiting(&mut self, id: NodeId, own_key: u64) {
        self.waiting.insert((id, own_key));
    }

    pub fn stop_waiting(&mut self, id: NodeId, own_key: u64) {
        self.waiting.remove(&(id, own_key));
    }

    /// Clears the waiting views.
    pub fn clear_waiting(&mut self) {
        self.waiting.clear();
    }
}
