//! One descent from the root: its path and its leaf.

use crate::contracts::evaluator::Leaf;
use crate::contracts::game::{Action, Game, Seat, Turn};
use crate::memory::node::NodeId;

/// One step of a descent.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub node: NodeId,
    /// The node's slot in its parent's family; 0 at the root.
    pub slot: u16,
}

/// A descent from the root: its path and its leaf.
#[derive(Clone, Debug)]
pub struct Visit<G> {
    /// The state after the first `synced` steps of the path; without `KEEP_STATES` always the state
    /// at its end.
    pub state: G,
    pub synced: usize,
    pub path: Vec<Step>,
    pub seat: Seat,
    /// The legal actions at the leaf.
    pub actions: Vec<Action>,
    /// With transpositions, the turn at a position that was just added; `actions` belong to it.
    pub turn: Option<Turn>,
    pub ticket: u64,
    /// The index of the tree in its shard.
    pub tree: usize,
    /// Node and edge index of every edge that was legal in this deal along the path.
    pub legal_edges: Vec<(NodeId, u32)>,
    /// `Game::own_key` at the leaf.
    pub own_key: u64,
    /// The descent continues below the leaf after its priors arrive.
    pub resumes: bool,
    /// It was already counted as a started simulation.
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
            turn: None,
            ticket: 0,
            tree: 0,
            legal_edges: Vec::new(),
            own_key: 0,
            resumes: false,
            counted: false,
        }
    }

    /// The last node of the path.
    pub fn end(&self) -> NodeId {
        self.path[self.path.len() - 1].node
    }

    /// Whether it ends at the root.
    pub fn is_root(&self) -> bool {
        self.path.len() == 1
    }

    /// The leaf, for an evaluator.
    pub fn leaf(&self) -> Leaf<'_, G> {
        Leaf {
            state: &self.state,
            seat: self.seat,
            actions: &self.actions,
            ticket: self.ticket,
        }
    }
}
