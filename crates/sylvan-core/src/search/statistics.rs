//! Statistics of any node, for users.

use std::collections::HashSet;

use crate::contracts::game::{Action, Game, Seat};
use crate::contracts::rng::mix;
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::search::tree::Search;

/// The statistics of one edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeStats {
    pub action: Action,
    /// N
    pub visits: u32,
    /// W of the step for the seat to move: the sum of reward + discount * value over its visits.
    pub w: f64,
    /// P, with noise at the root.
    pub prior: f32,
    /// Proven bounds of its value for the seat to move; infinite if nothing is proven.
    pub bounds: (f64, f64),
    pub kind: NodeKind,
    /// Visits of its node at which it was legal.
    pub available: u32,
}

/// The statistics of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeStats {
    pub kind: NodeKind,
    pub seat: Seat,
    pub visits: u32,
    /// W per seat.
    pub w: Vec<f64>,
    pub proven: Option<Vec<f64>>,
    /// In the game's order.
    pub edges: Vec<EdgeStats>,
    /// Its number in the tree, if several edges lead to it.
    pub shared: Option<NodeId>,
}

impl EdgeStats {
    fn unvisited((action, prior): (Action, f32)) -> Self {
        Self {
            action,
            visits: 0,
            w: 0.0,
            prior,
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            kind: NodeKind::Leaf,
            available: 0,
        }
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The node at the end of a path of actions from the root, if the tree has it.
    pub fn find(&self, path: &[Action]) -> Option<NodeId> {
        path.iter().try_fold(self.tree.root, |id, &action| {
            let mut children = self.pool.ids(id);
            let child = children.find(|&child| self.pool[child].action == action);
            child.map(|child| self.pool.position(child))
        })
    }

    /// A hash of the actions and visit counts of all edges: equal trees have equal signatures.
    pub fn signature(&self) -> u64 {
        let (mut hash, mut seen) = (0, HashSet::new());
        let mut stack = vec![(self.tree.root, 0)];
        while let Some((id, depth)) = stack.pop() {
            let node = &self.pool[id];
            hash = mix(
                mix(hash, depth << 32 | u64::from(node.action)),
                node.visits.into(),
            );
            let position = self.pool.position(id);
            if position != id && !seen.insert(position) {
                continue;
            }
            let mut children: Vec<NodeId> = self.pool.ids(position).collect();
            children.retain(|&child| self.pool[child].visits > 0);
            children.sort_by_key(|&child| self.pool[child].index);
            stack.extend(children.into_iter().map(|child| (child, depth + 1)));
        }
        hash
    }

    /// The statistics of the node at the end of a path of actions.
    pub fn node_stats(&mut self, path: &[Action]) -> Result<Option<NodeStats>, G::Error> {
        let Some(id) = self.find(path) else {
            return Ok(None);
        };
        let seats = self.settings.rules.num_players;
        // Adding zero turns the -0 of a negated draw into 0.
        let per_seat = |values: V| (0..seats).map(|s| values.seat(s as Seat) + 0.0).collect();
        let node = &self.pool[id];
        let proven = self.settings.config.proofs && node.is_proven();
        Ok(Some(NodeStats {
            kind: node.kind(),
            seat: node.seat(),
            visits: node.visits,
            w: per_seat(node.w),
            proven: proven.then(|| per_seat(node.proven())),
            edges: self.edge_stats(id, path)?,
            shared: node.is_shared().then_some(id),
        }))
    }

    fn edge_stats(&self, id: NodeId, path: &[Action]) -> Result<Vec<EdgeStats>, G::Error> {
        if self.deals() {
            return Ok(self.infoset_stats(id));
        }
        let mut state = self.tree.state.clone();
        for &action in path {
            state.apply(action)?;
        }
        let node = &self.pool[id];
        if self.settings.config.transpositions && state.is_repetition() {
            return Ok(Vec::new()); // this line ends here, others go on
        }
        let mut edges: Vec<EdgeStats> = match node.kind() {
            NodeKind::Leaf | NodeKind::Terminal => return Ok(Vec::new()),
            NodeKind::Decision => {
                let mut actions = Vec::new();
                state.turn(&mut actions)?;
                if G::LEARNED && id != self.tree.root {
                    let all = 0..self.settings.rules.num_actions as Action;
                    actions = self
                        .pool
                        .actions(id)
                        .map_or_else(|| all.collect(), Into::into);
                }
                let priors = self.priors(id);
                actions
                    .into_iter()
                    .zip(priors)
                    .map(EdgeStats::unvisited)
                    .collect()
            }
            NodeKind::Chance => {
                let mut outcomes = Vec::new();
                state.chance_outcomes(&mut outcomes)?;
                let outcomes = outcomes.into_iter();
                outcomes
                    .map(|(action, p)| EdgeStats::unvisited((action, p as f32)))
                    .collect()
            }
        };
        for edge in &mut edges {
            edge.available = node.visits;
        }
        self.add_children(id, &mut edges);
        Ok(edges)
    }

    /// The same in an information-set tree.
    fn infoset_stats(&self, id: NodeId) -> Vec<EdgeStats> {
        let mut edges: Vec<EdgeStats> = if id == self.tree.root {
            let actions = self.tree.edges.actions.iter().copied();
            let edges = actions.zip(self.priors(id)).map(EdgeStats::unvisited);
            let available = self.pool[id].visits;
            edges.map(|edge| EdgeStats { available, ..edge }).collect()
        } else {
            let listed = self.pool.infoset_edges(id).iter();
            listed
                .map(|edge| EdgeStats {
                    available: edge.available,
                    ..EdgeStats::unvisited((edge.action, 0.0))
                })
                .collect()
        };
        self.add_children(id, &mut edges);
        for child in self.pool.ids(id) {
            let child = &self.pool[child];
            edges[usize::from(child.index)].prior = child.prior;
        }
        edges.retain(|edge| edge.available > 0); // abandoned descents leave their actions
        edges
    }

    /// Adds the statistics of visited children to the edges of a node.
    fn add_children(&self, id: NodeId, edges: &mut [EdgeStats]) {
        let (node, discount) = (&self.pool[id], self.settings.config.discount);
        for id in self.pool.ids(id) {
            let child = self.pool.present(id);
            let edge = &mut edges[usize::from(child.index)];
            edge.visits = child.visits;
            let visits = f64::from(child.visits);
            edge.w = visits * V::reward(&child.extra, node.seat())
                + discount * child.w.seat(node.seat());
            edge.kind = self.pool[self.pool.position(id)].kind();
            if self.settings.config.proofs && child.is_bounded() {
                let (low, high) = child.step_bounds(node.seat(), discount);
                edge.bounds = (low + 0.0, high + 0.0);
            }
        }
    }
}
