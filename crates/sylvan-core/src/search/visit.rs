//! One walk from the root, and where it led.

use crate::contracts::evaluator::Leaf;
use crate::contracts::game::{Action, Game, Seat};
use crate::memory::node::NodeId;

/// One step of a walk from the root.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub node: NodeId,
    /// The node's slot in its parent's block; 0 at the root.
    pub slot: u16,
}

/// A walk from the root, and where it led.
#[derive(Clone, Debug)]
pub struct Visit<G> {
    /// The state after the first `synced` steps of the path; in games whose states are not kept,
    /// always that at its end.
    pub state: G,
    pub synced: usize,
    pub path: Vec<Step>,
    pub seat: Seat,
    /// The legal actions at the leaf.
    pub actions: Vec<Action>,
    pub ticket: u64,
    /// The tree, counted within its shard.
    pub tree: usize,
    /// Nodes passed in this deal, and the places of what was legal there.
    pub passed: Vec<(NodeId, u32)>,
    /// `Game::own_key` at the leaf.
    pub own_key: u64,
    /// The walk goes on from the leaf once it has priors.
    pub walks_on: bool,
    /// It counts as a simulation that has started.
    pub counted: bool,
}

impl<G: Game> Visit<G> {
    pub fn new(state: &G) -> Self {
        Self {
            state: state.clone(),
            synced: 0,
            path: Vec::new(),
            seat: 0,
            actions: Vec::new(),
            ticket: 0,
            tree: 0,
            passed: Vec::new(),
            own_key: 0,
            walks_on: false,
            counted: false,
        }
    }

    /// The node that the walk has come to.
    pub fn end(&self) -> NodeId {
        self.path[self.path.len() - 1].node
    }

    /// The position as an evaluator sees it.
    pub fn leaf(&self) -> Leaf<'_, G> {
        Leaf {
            state: &self.state,
            seat: self.seat,
            actions: &self.actions,
            ticket: self.ticket,
        }
    }
}
