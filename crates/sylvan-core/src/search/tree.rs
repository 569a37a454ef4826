//! A tree and the search that grows it.
//!
//! `Tree` holds the data of one root: its state, its random stream, the progress of the search.
//! `Search` borrows a tree together with the pool of its nodes and the settings. The steps of the
//! algorithm are methods of `Search`, one file each: `descend.rs` goes down to a leaf
//! (`information_set.rs` with hidden information), `selection.rs` (`uct.rs`, `gumbel.rs`,
//! `forced_playouts.rs`) selects edges, `expand.rs` applies an evaluation, `backup.rs` adds it to
//! the path (`graph.rs` where positions are shared), `proofs.rs` updates proven bounds, `root.rs` prepares the root, `budget.rs` drops the
//! least visited subtrees.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::contracts::config::Stop;
use crate::contracts::game::{Action, Game};
use crate::contracts::rng::{Rng, finish, half_mix, mix};
use crate::contracts::values::Values;
use crate::memory::budget::{Owner, Sweep};
use crate::memory::node::{Node, NodeId};
use crate::memory::pool::Pool;
use crate::memory::positions::Positions;
use crate::search::backup::Level;
use crate::search::deviation::{SQUARE_BYTES, Squares};
use crate::search::gumbel::Tried;
use crate::search::rave::{AMAF_BYTES, Amaf};
use crate::search::root_edges::RootEdges;
use crate::search::scale::MinMaxStats;
use crate::search::sequential_halving::GumbelRoot;
use crate::search::settings::Settings;
use crate::search::top_actions::TopActions;
use crate::search::visit::Visit;
use crate::sources::deals::ViewPriors;
use crate::sources::rules::KeptStates;

/// The progress of the current search of a tree.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Simulations started and finished by this search.
    pub started: u64,
    pub finished: u64,
    /// Leaves waiting for an evaluation.
    pub waiting: usize,
    /// The greatest depth reached by a simulation.
    pub depth: u32,
    /// When the search began, to know its speed; with `stop_early` only.
    pub began: Option<Instant>,
    /// Number of started simulations at which the lead of the first action is compared again.
    pub next_look: u64,
    /// The reason why no further simulation will start.
    pub stop: Option<Stop>,
    /// Noise given by the caller, one number per legal action of the root.
    pub noise: Option<Vec<f64>>,
    pub gumbel: Option<GumbelRoot>,
    /// The number of finished simulations at the last pick, and the picked action.
    pub picked: Option<(u64, usize)>,
}

#[derive(Debug)]
pub struct Tree<G> {
    /// The root's state; all others are derived from it.
    pub state: G,
    pub root: NodeId,
    pub edges: RootEdges,
    /// States of expanded nodes, with `KEEP_STATES`.
    pub kept: KeptStates<G>,
    /// AMAF statistics, with RAVE (`widening.rs`).
    pub amaf: HashMap<NodeId, Amaf>,
    /// Mean squares of values, with `c_deviation`.
    pub squares: Squares,
    /// Priors per view, in an information-set tree.
    pub views: ViewPriors,
    /// Descents that can continue now that they have their priors.
    pub suspended: VecDeque<Box<Visit<G>>>,
    pub rng: Rng,
    pub q_range: MinMaxStats,
    pub progress: Progress,
    /// Evaluations requested since the tree was created.
    pub evaluations: u64,
    /// Evaluations requested since its last reset: the next free slot.
    pub slots: u64,
    pub nodes: u64,
    pub bytes: u64,
    pub sweep: Sweep,
    /// All positions but the root's, with transpositions.
    pub positions: Positions,
    /// Plies from the first root to this one.
    pub plies: u64,
    /// Its index in its shard.
    pub index_in_shard: usize,
    /// `half_mix` of the number of its random stream.
    stream: u64,
}

impl<G: Game> Tree<G> {
    pub fn new<V: Values>(state: G, pool: &mut Pool<V>, seed: u64, stream: u64) -> Self {
        let mut bytes = 0;
        let root = pool.add(Node::new(0, 0, 1.0), &mut bytes);
        let mut tree = Self {
            state,
            root,
            edges: RootEdges::default(),
            kept: KeptStates::default(),
            amaf: HashMap::new(),
            squares: Squares::new(),
            views: ViewPriors::default(),
            suspended: VecDeque::new(),
            rng: Rng::new(seed, stream),
            q_range: MinMaxStats::default(),
            progress: Progress::default(),
            evaluations: 0,
            slots: 0,
            nodes: 1,
            bytes,
            sweep: Sweep::default(),
            positions: Positions::default(),
            plies: 0,
            index_in_shard: 0,
            stream: half_mix(mix(seed, stream)),
        };
        tree.state.set_root();
        tree
    }

    /// Draws from another random stream from now on, as a new tree would.
    pub fn reseed(&mut self, seed: u64, stream: u64) {
        self.rng = Rng::new(seed, stream);
        self.stream = half_mix(mix(seed, stream));
        self.evaluations = 0;
    }

    /// The seed of the next evaluation (`Leaf::ticket`).
    pub fn next_ticket(&mut self) -> u64 {
        self.evaluations += 1;
        finish(self.stream.wrapping_add(self.evaluations))
    }

    /// The slot of the next evaluation: the number of evaluations before it.
    pub fn next_slot(&mut self) -> u64 {
        self.slots += 1;
        self.slots - 1
    }

    /// Stores the state of an expanded node, with `KEEP_STATES`.
    pub fn store_state(&mut self, id: NodeId, state: &G) {
        if G::KEEP_STATES && id != self.root {
            self.bytes += self.kept.insert(id, state);
        }
    }

    /// Drops the state of a node.
    pub fn forget_state(&mut self, id: NodeId) {
        if G::KEEP_STATES {
            self.bytes -= self.kept.remove(id);
        }
    }

    /// Drops the priors per view at a node.
    pub fn forget_views(&mut self, id: NodeId) {
        if G::HIDDEN {
            self.bytes -= self.views.remove(id);
        }
    }

    /// No simulation is in flight and none will start.
    pub fn is_done(&self) -> bool {
        self.progress.stop.is_some() && self.progress.waiting == 0
    }
}

impl<G: Game> Owner for Tree<G> {
    fn root(&self) -> NodeId {
        self.root
    }

    fn bytes(&mut self) -> &mut u64 {
        &mut self.bytes
    }

    fn nodes(&mut self) -> &mut u64 {
        &mut self.nodes
    }

    fn positions(&mut self) -> &mut Positions {
        &mut self.positions
    }

    fn forget(&mut self, id: NodeId) {
        self.forget_state(id);
        self.forget_views(id);
        if !self.amaf.is_empty()
            && let Some(amaf) = self.amaf.remove(&id)
        {
            self.bytes -= amaf.len() as u64 * AMAF_BYTES;
        }
        if !self.squares.is_empty() && self.squares.remove(&id).is_some() {
            self.bytes -= SQUARE_BYTES;
        }
    }
}

/// Buffers reused between descents.
#[derive(Debug, Default)]
pub struct Scratch {
    pub actions: Vec<Action>,
    pub top_actions: TopActions,
    pub(crate) tried: Vec<Tried>,
    pub outcomes: Vec<(Action, f64)>,
    pub seats: Vec<f64>,
    pub levels: Vec<Level>,
    /// The edge indices of the legal actions in a deal, and their priors.
    pub edge_indices: Vec<u32>,
    pub priors: Vec<f32>,
}

/// A tree with everything that a search of it needs.
pub struct Search<'a, G: Game, V: Values> {
    pub pool: &'a mut Pool<V>,
    pub tree: &'a mut Tree<G>,
    pub settings: &'a Settings,
    pub scratch: &'a mut Scratch,
    /// The byte budget of this tree.
    pub budget: u64,
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The index and prior of the best unvisited edge, or `NO_EDGE`.
    #[inline]
    pub fn best_unvisited(&self, id: NodeId) -> (usize, f32) {
        if id == self.tree.root {
            return self.tree.edges.best();
        }
        self.pool.best_edge(id)
    }

    /// The prior of every edge of a decision node, in the game's order.
    pub fn priors(&self, id: NodeId) -> Vec<f32> {
        let mut priors: Vec<f32> = if id == self.tree.root {
            self.tree.edges.current_priors()
        } else {
            let n = usize::from(self.pool[id].num_edges);
            (0..n)
                .map(|i| self.pool.bits().decode(self.pool.code(id, i)))
                .collect()
        };
        for child in self.pool.ids(id) {
            let node = &self.pool[child];
            priors[usize::from(node.index)] = node.prior;
        }
        priors
    }
}
