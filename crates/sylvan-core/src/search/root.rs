//! The root: its noise, and advancing to a new root.
//!
//! Noise is drawn once per search, after the root's expansion, and mixed into the evaluator's
//! priors: P = (1 - fraction) * prior + fraction * noise with noise ~ Dirichlet(alpha), so a second
//! search of the same root does not add noise to noise. The root's priors have full precision; a
//! node that becomes root starts with its stored, rounded priors.

use std::time::Instant;

use crate::contracts::config::Selection;
use crate::contracts::game::{Action, Game, MAX_SEATS, Rules, Turn};
use crate::contracts::values::Values;
use crate::memory::node::{Node, NodeId, NodeKind};
use crate::search::root_edges::{EXACT, RootEdges};
use crate::search::scale::MinMaxStats;
use crate::search::sequential_halving::Noise;
use crate::search::tree::{Progress, Search, Tree};

/// The result of a move, by the rules of the game.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    pub turn: Turn,
    /// The return of each seat; zeros while the game continues.
    pub returns: [f64; MAX_SEATS],
    /// The reward of the move for each seat.
    pub rewards: [f64; MAX_SEATS],
}

impl Transition {
    /// To a state of a game with these rules, where it is this turn.
    pub fn of<G: Game>(rules: &Rules, state: &G, turn: Turn) -> Result<Self, G::Error> {
        let mut transition = Self::to(turn);
        if turn == Turn::Over {
            state.returns(&mut transition.returns[..rules.num_players])?;
        }
        if rules.has_rewards {
            state.rewards(&mut transition.rewards[..rules.num_players])?;
        }
        Ok(transition)
    }

    /// A transition that pays nothing.
    pub(crate) fn to(turn: Turn) -> Self {
        Self {
            turn,
            returns: [0.0; MAX_SEATS],
            rewards: [0.0; MAX_SEATS],
        }
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Restarts the tree, number `stream` of its forest, from another state.
    pub fn plant(&mut self, state: G, stream: u64) {
        self.pool.remove_subtree(self.tree.root, self.tree);
        self.start(state, stream);
    }

    /// The same if the pool holds no nodes of the tree any more.
    pub(crate) fn start(&mut self, state: G, stream: u64) {
        let seed = self.settings.config.seed;
        let old = std::mem::replace(self.tree, Tree::new(state, self.pool, seed, stream));
        self.tree.index_in_shard = old.index_in_shard;
        self.tree.rng = old.rng;
        self.tree.evaluations = old.evaluations;
        self.tree.kept = old.kept; // reuses its memory
        self.tree.kept.clear();
    }

    /// Starts a new search of the current tree.
    pub fn begin(&mut self, noise: Option<Vec<f64>>) {
        self.tree.progress = Progress {
            noise,
            began: self.settings.config.stop_early.then(Instant::now),
            ..Progress::default()
        };
        if self.pool[self.tree.root].kind() == NodeKind::Decision
            && !self.tree.edges.actions.is_empty()
        {
            self.prepare_root();
        }
    }

    /// Applies noise to the root after its expansion.
    pub fn prepare_root(&mut self) {
        let n = self.tree.edges.actions.len();
        let given = self.tree.progress.noise.take();
        if let Selection::Gumbel { scale, .. } = self.settings.config.selection {
            let noise = given.map_or_else(
                || {
                    let rng = self.tree.rng.clone();
                    self.tree.rng.skip(n);
                    Noise::Drawn(rng, if self.settings.quiet { 0.0 } else { scale })
                },
                Noise::Given,
            );
            let priors = std::mem::take(&mut self.tree.edges.priors);
            self.set_priors(&priors);
            self.tree.edges.priors = priors;
            self.tree.progress.gumbel = Some(self.gumbel_root(noise));
            return;
        }
        let mut priors = self.tree.edges.priors.clone();
        if let Some(dirichlet) = self.settings.config.noise.filter(|_| !self.settings.quiet) {
            let noise = given.unwrap_or_else(|| self.tree.rng.dirichlet(dirichlet.alpha, n));
            for (prior, noise) in priors.iter_mut().zip(noise) {
                let mixed = (1.0 - dirichlet.fraction) * f64::from(*prior);
                *prior = (mixed + dirichlet.fraction * noise) as f32;
            }
        }
        self.set_priors(&priors);
    }

    /// Sets the root's current priors, for visited and unvisited edges.
    fn set_priors(&mut self, priors: &[f32]) {
        let root = self.tree.root;
        let mut order = self.pool.ids(root).collect::<Vec<_>>();
        for (index, &prior) in priors.iter().enumerate() {
            self.tree.edges.codes[index] = EXACT.encode(prior);
        }
        for &child in &order {
            let index = usize::from(self.pool[child].index);
            self.pool[child].prior = EXACT.quantise(priors[index]);
            self.tree.edges.mark_visited(index);
        }
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.pool[a], &self.pool[b]);
            b.prior.total_cmp(&a.prior).then(a.index.cmp(&b.index))
        });
        let simulations = self.settings.config.limits.simulations.unwrap_or(u64::MAX);
        let tried = match self.settings.config.selection {
            Selection::Gumbel { max_considered, .. } => max_considered,
            _ => usize::try_from(simulations).unwrap_or(usize::MAX),
        };
        self.tree.edges.rank(tried.saturating_add(1)); // one more: the best edge left
        let best = self.tree.edges.best();
        self.pool.reorder(root, &order, best);
    }

    /// Makes the position after `action` the new root and frees the rest; with `keep`, its subtree
    /// stays. Starts a new tree if the position is not in the tree, or if its legal actions as a
    /// root differ from those inside the tree (a claimable draw ends the game only inside the
    /// tree). Nothing may be in flight.
    pub fn advance(&mut self, action: Action, keep: bool) -> Result<Transition, G::Error> {
        let mut state = self.tree.state.clone();
        state.apply(action)?;
        let (mut inside, mut at_root) = (Vec::new(), Vec::new());
        let turn = state.turn(&mut inside)?;
        let transition = Transition::of(&self.settings.rules, &state, turn)?;
        state.set_root();
        let same = keep && state.turn(&mut at_root)? == turn && at_root == inside;
        self.reroot(action, same);
        self.tree.state = state;
        self.adopt_root()?;
        Ok(transition)
    }

    /// The same along several actions to a given state, because the next view cannot be derived
    /// from a view and an action.
    pub fn advance_to(&mut self, actions: &[Action], mut state: G) -> Result<(), G::Error> {
        state.set_root();
        for &action in actions {
            self.reroot(action, true);
        }
        self.tree.state = state;
        self.adopt_root()
    }

    /// Makes the child of `action` the root and frees the rest; adds a new node unless `same`.
    fn reroot(&mut self, action: Action, same: bool) {
        self.tree.sweep.reset();
        self.tree.q_range = MinMaxStats::default();
        self.tree.plies += 1;
        let old = self.tree.root;
        let others: Vec<NodeId> = self.pool.ids(old).collect();
        let mut kept = others.iter().copied();
        let kept = kept.find(|&child| {
            let node = &self.pool[self.pool.position(child)];
            // A proven node whose edges were dropped has no actions to choose from.
            let bare = node.kind() == NodeKind::Leaf && node.is_proven();
            same && !bare && self.pool[child].action == action
        });
        let root = kept.unwrap_or_else(|| {
            self.tree.nodes += 1;
            self.pool
                .add(Node::new(action, 0, 1.0), &mut self.tree.bytes)
        });
        for child in others.into_iter().filter(|&child| child != root) {
            self.pool.remove_subtree(child, self.tree);
        }
        self.pool.remove_node(old, self.tree);
        self.tree.root = self.as_root(root);
    }

    /// The position of the last edge from an old root, as a node that no edge leads to.
    fn as_root(&mut self, child: NodeId) -> NodeId {
        let root = self.pool.position(child);
        if child != root {
            self.pool.remove_edge(child, &mut self.tree.bytes);
            self.pool[root].set_shared(false);
        }
        if self.settings.config.transpositions {
            self.tree.positions.remove(self.pool, root);
        }
        root
    }

    /// Moves the edges of the new root out of the pool.
    fn adopt_root(&mut self) -> Result<(), G::Error> {
        let root = self.tree.root;
        if self.deals() {
            return self.adopt_view();
        }
        self.tree.forget_state(root);
        self.tree.edges = RootEdges::default();
        if self.pool[root].kind() != NodeKind::Decision {
            return Ok(());
        }
        let mut actions = Vec::new();
        self.tree.state.turn(&mut actions)?;
        let mut priors: Vec<f32> = (0..actions.len())
            .map(|i| self.pool.bits().decode(self.pool.code(root, i)))
            .collect();
        for child in self.pool.ids(root) {
            priors[usize::from(self.pool[child].index)] = self.pool[child].prior;
        }
        let raw = f32::from_bits(self.pool.note(root));
        self.tree.edges = RootEdges::new(actions, priors, raw);
        for child in self.pool.ids(root) {
            self.tree
                .edges
                .mark_visited(usize::from(self.pool[child].index));
        }
        self.pool.drop_edges(root, &mut self.tree.bytes);
        Ok(())
    }

    /// Prepares the new root of an information-set tree, if the seat of its view is to move there;
    /// otherwise another `advance` must follow.
    fn adopt_view(&mut self) -> Result<(), G::Error> {
        self.tree.edges = RootEdges::default();
        let root = self.tree.root;
        let mut actions = Vec::new();
        let turn = self.tree.state.turn(&mut actions)?;
        if self.tree.state.observer().map(Turn::Seat) != Some(turn) {
            return Ok(());
        }
        if self.pool[root].num_edges == 0 {
            self.pool[root].set_kind(NodeKind::Leaf); // it may be terminal in other deals
            return Ok(());
        }
        let n = actions.len();
        let known = self.tree.views.get(root, self.tree.state.own_key()?);
        let priors = match known {
            _ if self.settings.config.flat_priors => Some(vec![1.0 / n as f32; n]),
            Some(priors) if priors.len() == n => Some(priors.to_vec()),
            _ => None,
        };
        let indices: Vec<_> = self.pool.ids(root).map(|id| self.pool[id].action).collect();
        let indices = indices.iter().map(|a| actions.iter().position(|b| a == b));
        let indices: Option<Vec<usize>> = indices.collect();
        let (Some(priors), Some(indices), Turn::Seat(seat)) = (priors, indices, turn) else {
            return self.replant(); // it was never visited with this view
        };
        let children: Vec<NodeId> = self.pool.ids(root).collect();
        for (&child, &index) in children.iter().zip(&indices) {
            self.pool[child].index = index as u16;
            self.pool[child].prior = priors[index];
        }
        self.tree.forget_views(root);
        self.pool.drop_edges(root, &mut self.tree.bytes);
        let raw = self.pool[root].value(seat);
        self.pool[root].num_edges = n as u16;
        self.pool[root].set_seat(seat);
        self.pool[root].set_kind(NodeKind::Decision);
        self.tree.edges = RootEdges::new(actions, priors, raw);
        for index in indices {
            self.tree.edges.mark_visited(index);
        }
        Ok(())
    }

    /// Restarts the tree from the state of its root.
    fn replant(&mut self) -> Result<(), G::Error> {
        let root = self.tree.root;
        self.pool.remove_subtree(root, self.tree);
        self.tree.nodes += 1;
        self.tree.root = self.pool.add(Node::new(0, 0, 1.0), &mut self.tree.bytes);
        Ok(())
    }
}
