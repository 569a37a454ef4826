//! Restoring: a tree from the statistics of its nodes, as `statistics.rs` reads them.
//!
//! Statistics determine the tree that a search continues from: nodes have N, W and proven bounds,
//! edges their priors. Everything else is derived: families with Q and `P / (1 + n)`, closed edges,
//! the order of children (falling prior, then rising index, the order for ties). A search of the
//! restored tree makes the same visits as a search of the original, unless it draws random numbers:
//! those come from another stream, so that no outcome is drawn twice.
//!
//! A child without statistics of its own has those of the edge to it and becomes a leaf, as if the
//! byte budget had dropped its subtree. That needs values of which one seat's determines all
//! (`Values::BOUNDS`).
//!
//! Every node is compared with the rules of the game, so statistics from a damaged file cannot make
//! a tree that the game does not have.
//!
//! Limits: no Gumbel (the evaluator's value of each node is not among the statistics), no RAVE, no
//! transpositions, no information sets, no learned models; a learned value range (`ValueRange::Tree`) begins with the
//! values of the saved nodes, not with all that were ever seen.

use std::collections::HashMap;

use crate::contracts::config::{Selection, ValueRange};
use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::numbers::pad;
use crate::contracts::values::Values;
use crate::memory::edges::NO_EDGE;
use crate::memory::node::{Node, NodeId, NodeKind};
use crate::memory::pool::MAX_EDGES;
use crate::search::forest::Forest;
use crate::search::root_edges::RootEdges;
use crate::search::statistics::{EdgeStats, NodeStats};
use crate::search::tree::Search;

/// A node's statistics and its place in the tree.
#[derive(Clone, Debug)]
pub struct SavedNode {
    /// The number of its parent in the list and the action that leads here; `None` at the root.
    pub from: Option<(usize, Action)>,
    pub stats: NodeStats,
}

/// Why statistics do not make a tree.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError<E> {
    #[error("the game failed")]
    Game(E),
    #[error("the statistics of node {0} do not fit: {1}")]
    Node(usize, &'static str),
    #[error("{0}")]
    Settings(&'static str),
}

impl<E> From<E> for RestoreError<E> {
    fn from(error: E) -> Self {
        Self::Game(error)
    }
}

/// The first random stream of restored trees; new trees have their numbers.
const STREAM: u64 = 1 << 63;

/// The nodes, and where a child is in their list.
struct Saved<'a> {
    nodes: &'a [SavedNode],
    numbers: HashMap<(usize, Action), usize>,
}

impl<'a> Saved<'a> {
    /// The list, if every node comes after its parent.
    fn new<E>(nodes: &'a [SavedNode]) -> Result<Self, RestoreError<E>> {
        let mut numbers = HashMap::new();
        for (number, node) in nodes.iter().enumerate() {
            match node.from {
                None if number == 0 => {}
                Some((parent, action)) if parent < number => {
                    numbers.insert((parent, action), number);
                }
                _ => return Err(RestoreError::Node(number, "it comes before its parent")),
            }
        }
        match nodes {
            [] => Err(RestoreError::Node(0, "there is no root")),
            _ => Ok(Self { nodes, numbers }),
        }
    }

    fn child(&self, parent: usize, action: Action) -> Option<usize> {
        self.numbers.get(&(parent, action)).copied()
    }
}

/// A node of the new tree that still needs its edges.
struct Waiting<G> {
    /// Its number in the list.
    number: usize,
    id: NodeId,
    /// Its parent and its slot there.
    above: Option<(NodeId, u16)>,
    state: G,
}

impl<G: Game, V: Values> Forest<G, V> {
    /// Replaces tree `i` by one with these nodes, parents before children, at the same root state.
    /// After an error the tree is new.
    pub fn restore(&mut self, i: usize, nodes: &[SavedNode]) -> Result<(), RestoreError<G::Error>> {
        let state = self.tree(i).state.clone();
        self.plant(i, state.clone());
        let restored = self.search(i).restore(nodes);
        if restored.is_err() {
            self.plant(i, state);
        }
        restored
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Gives a new tree these nodes.
    fn restore(&mut self, nodes: &[SavedNode]) -> Result<(), RestoreError<G::Error>> {
        self.need_restorable()?;
        let saved = Saved::new(nodes)?;
        let root = self.tree.root;
        if nodes[0].stats.kind != NodeKind::Decision {
            return Err(RestoreError::Node(0, "no seat chooses at the root"));
        }
        self.pool[root].visits = nodes[0].stats.visits;
        self.set_values(root, 0, &nodes[0].stats)?;
        let mut waiting = vec![Waiting {
            number: 0,
            id: root,
            above: None,
            state: self.tree.state.clone(),
        }];
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(node) = waiting.pop() {
            order.push(node.id);
            self.open_saved(&node, &saved)?;
            let children = self.add_children_of(&node, &saved)?;
            if let Some((parent, slot)) = node.above {
                self.pool.relink(parent, slot, node.id);
            }
            for (slot, id) in children.into_iter().enumerate() {
                let action = self.pool[id].action;
                if let Some(number) = saved.child(node.number, action) {
                    let mut state = node.state.clone();
                    state.apply(action)?;
                    let above = Some((node.id, slot as u16));
                    waiting.push(Waiting {
                        number,
                        id,
                        above,
                        state,
                    });
                }
            }
        }
        if order.len() != nodes.len() {
            return Err(RestoreError::Node(
                0,
                "a node has no visited edge that leads to it",
            ));
        }
        if self.settings.config.proofs {
            for &id in order.iter().rev() {
                if self.pool.ids(id).any(|child| self.pool[child].is_bounded()) {
                    self.pool.conclude(id, self.settings);
                }
            }
        }
        let visits = u64::from(self.pool[root].visits);
        self.tree.reseed(self.settings.config.seed, STREAM | visits);
        Ok(())
    }

    fn need_restorable(&self) -> Result<(), RestoreError<G::Error>> {
        let config = &self.settings.config;
        let reason = if matches!(config.selection, Selection::Gumbel { .. }) {
            "a Gumbel search plans all its simulations at its beginning"
        } else if config.rave > 0.0 {
            "RAVE's statistics are not saved"
        } else if config.transpositions {
            "the statistics do not say which lines meet"
        } else if G::LEARNED || self.deals() {
            "trees over hidden cards or learned states are not saved"
        } else {
            return Ok(());
        };
        Err(RestoreError::Settings(reason))
    }

    /// Sets a node's W, and its proven result unless that is stored as bounds.
    fn set_values(
        &mut self,
        id: NodeId,
        number: usize,
        stats: &NodeStats,
    ) -> Result<(), RestoreError<G::Error>> {
        let seats = self.settings.rules.num_players;
        let is_whole =
            |values: &[f64]| values.len() == seats && values.iter().all(|x| x.is_finite());
        let proven = stats.proven.as_deref();
        if !is_whole(&stats.w) || !proven.is_none_or(is_whole) || stats.visits == 0 {
            return Err(RestoreError::Node(
                number,
                "it needs visits and a value per seat",
            ));
        }
        self.pool[id].w = V::from_seats(&stats.w);
        if let (Some(proven), false) = (proven, V::BOUNDS) {
            self.pool[id].set_exact(V::from_seats(proven));
        }
        Ok(())
    }

    /// Gives a node its kind and its edges, all unvisited.
    fn open_saved(
        &mut self,
        node: &Waiting<G>,
        saved: &Saved,
    ) -> Result<(), RestoreError<G::Error>> {
        let Waiting { id, number, .. } = *node;
        let stats = &saved.nodes[number].stats;
        let wrong = |why| Err(RestoreError::Node(number, why));
        let mut actions = Vec::new();
        let turn = node.state.turn(&mut actions)?;
        if turn == Turn::Chance {
            node.state.chance_outcomes(&mut self.scratch.outcomes)?;
            actions.extend(self.scratch.outcomes.iter().map(|outcome| outcome.0));
        }
        let kind = match turn {
            _ if stats.kind == NodeKind::Leaf => {
                actions.clear();
                NodeKind::Leaf
            }
            Turn::Seat(_) => NodeKind::Decision,
            Turn::Chance => NodeKind::Chance,
            Turn::Over => NodeKind::Terminal,
        };
        let known = stats.edges.iter().map(|edge| edge.action);
        if kind != stats.kind || !known.eq(actions.iter().copied()) || actions.len() > MAX_EDGES {
            return wrong("the position has other actions");
        }
        let visits = stats.edges.iter().map(|edge| u64::from(edge.visits));
        if visits.sum::<u64>() > u64::from(stats.visits) {
            return wrong("its edges have more visits than it has");
        }
        if !stats
            .edges
            .iter()
            .all(|edge| (0.0..=1.0).contains(&edge.prior))
        {
            return wrong("a prior is not between 0 and 1");
        }
        self.pool[id].set_kind(kind);
        self.pool[id].num_edges = actions.len() as u16;
        if let Turn::Seat(seat) = turn
            && kind == NodeKind::Decision
        {
            if seat != stats.seat {
                return wrong("another seat is to move");
            }
            self.pool[id].set_seat(seat);
            let mut priors: Vec<f32> = stats.edges.iter().map(|edge| edge.prior).collect();
            if id == self.tree.root {
                self.tree.edges = RootEdges::new(actions, priors, 0.0);
            } else {
                pad(&mut priors);
                self.pool
                    .set_edges(id, &priors, &actions, &mut self.tree.bytes);
            }
        }
        if matches!(kind, NodeKind::Decision | NodeKind::Chance) {
            self.tree.store_state(id, &node.state);
        }
        Ok(())
    }

    /// Adds a node's visited children in the order for ties; returns them by slot.
    fn add_children_of(
        &mut self,
        node: &Waiting<G>,
        saved: &Saved,
    ) -> Result<Vec<NodeId>, RestoreError<G::Error>> {
        let Waiting { id, number, .. } = *node;
        let edges = &saved.nodes[number].stats.edges;
        let mut visited: Vec<usize> = (0..edges.len()).collect();
        visited.retain(|&index| edges[index].visits > 0);
        visited.sort_by(|&a, &b| edges[b].prior.total_cmp(&edges[a].prior).then(a.cmp(&b)));
        let mut children = Vec::with_capacity(visited.len());
        for index in visited {
            let child = self.saved_child(node, (index, &edges[index]), saved)?;
            let best = match self.pool[id].kind() {
                NodeKind::Decision if id == self.tree.root => {
                    self.tree.edges.mark_visited(index);
                    self.tree.edges.best()
                }
                NodeKind::Decision => self.pool.visit_edge(id, index),
                _ => NO_EDGE,
            };
            let slot = self.pool.push_child(id, child, best, &mut self.tree.bytes);
            self.record_saved(id, slot, child);
            children.push(child);
        }
        Ok(children)
    }

    /// A visited child, with the statistics of the edge to it and, if it is saved, its own.
    fn saved_child(
        &mut self,
        node: &Waiting<G>,
        (index, edge): (usize, &EdgeStats),
        saved: &Saved,
    ) -> Result<NodeId, RestoreError<G::Error>> {
        let number = saved.child(node.number, edge.action);
        let wrong = |why| Err(RestoreError::Node(number.unwrap_or(node.number), why));
        let mut child = Node::<V>::new(edge.action, index as u16, edge.prior);
        child.visits = edge.visits;
        if V::BOUNDS {
            let ((low, high), w) = match self.pool[node.id].seat() {
                0 => (edge.bounds, edge.w),
                _ => ((-edge.bounds.1, -edge.bounds.0), -edge.w),
            };
            child.w = V::from_seats(&[w, -w]);
            let (low, high) = (low.max(-1.0), high.min(1.0));
            if low > high || low.fract() != 0.0 || high.fract() != 0.0 || !edge.w.is_finite() {
                return wrong("the values of an edge are out of range");
            }
            child.set_bounds(low as i8, high as i8);
        } else if number.is_none() {
            return wrong("it is left out: save all nodes of a game with rewards or many seats");
        }
        if self.settings.rules.has_rewards {
            let mut state = node.state.clone();
            state.apply(edge.action)?;
            let mut rewards = vec![0.0; self.settings.rules.num_players];
            state.rewards(&mut rewards)?;
            V::set_reward(&mut child.extra, &V::from_seats(&rewards));
        }
        let id = self.pool.add(child, &mut self.tree.bytes);
        self.tree.nodes += 1;
        if let Some(number) = number {
            let stats = &saved.nodes[number].stats;
            if stats.visits != edge.visits {
                return wrong("its visits are not those of the edge to it");
            }
            self.set_values(id, number, stats)?;
        }
        Ok(id)
    }

    /// Writes Q and P / (1 + n) of a child into its parent's family, as a backup does.
    fn record_saved(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let (node, child) = (self.pool[parent], self.pool[child]);
        let discount = self.settings.config.discount;
        let mut q = 0.0;
        if node.kind() == NodeKind::Decision {
            q = child.q(child.mean(), node.seat(), discount);
            if self.settings.config.value_range == ValueRange::Tree {
                self.tree.q_range.include(q);
            }
        }
        let q = self.settings.known.map_or(q, |scale| scale.apply(q));
        self.pool
            .family_mut(node.owned)
            .record(slot, q, child.share(), true);
    }
}
