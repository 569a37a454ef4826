//! Transpositions: one node for a position that several lines reach.
//!
//! The first edge to a position is its node, as in a tree. When a second edge reaches it
//! (`Game::position_key`), the position is shared, and its edges keep N, W and P for themselves
//! (`positions.rs`):
//!
//! ```text
//!     W(edge) = N(edge) * Q(position)         Q(position) = W / N, within its proven bounds
//!     W(node) = its own evaluation + the sum of W over its edges
//! ```
//!
//! A walk adds one visit to every edge and position of its path, so nothing is counted twice. In
//! the backup, W of an edge and of the nodes above it grow by the change of W(edge), not by the
//! leaf's value. Every node of the path also brings one other edge up to date, the edges in turn, so
//! W, Q and bounds of an edge are at most as many visits old as its node has edges. Selection reads
//! these, which only backups through the node change, so steps are cached as in a tree.
//!
//! No cycles: keys do not recur on a line, so a walk never meets a node of its own path.
//!
//! Repetitions depend on the line, not on the position: a walk that repeats a position of its line
//! ends there in a draw, which counts for the last edge, not for a shared position behind it, and
//! proves nothing.
//!
//! Twin: `sylvan.reference.graph`. Idea: KataGo's notes on graph search.

use std::collections::HashSet;

use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::values::Values;
use crate::memory::family::LinkTarget;
use crate::memory::node::{Node, NodeId, NodeKind};
use crate::memory::pool::Pool;
use crate::search::descend::SearchError;
use crate::search::settings::Settings;
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Adds an edge to the state of `visit`: returns its position, known or new, and the child that
    /// stands for it in the parent's family.
    pub(super) fn add_position(
        &mut self,
        visit: &mut Visit<G>,
        parent: NodeId,
        edge: Node<V>,
    ) -> Result<(NodeId, NodeId), SearchError<G::Error>> {
        let ply = self.tree.plies + visit.path.len() as u64;
        let key = visit.state.position_key(ply)?;
        if let Some(key) = key {
            self.tree.positions.prefetch(key);
        }
        let turn = visit.state.turn(&mut visit.actions)?; // while the table is fetched
        if let Some(known) = key.and_then(|key| self.tree.positions.find(self.pool, key)) {
            self.check_equal(visit, (known, turn), edge.action)?;
            let child = self.pool.add_edge(&edge, known, &mut self.tree.bytes);
            self.pool[parent].set_links(true);
            return Ok((known, child));
        }
        visit.turn = Some(turn);
        let (tree, pool) = (&mut *self.tree, &mut *self.pool);
        let id = pool.add(edge, &mut tree.bytes);
        tree.nodes += 1;
        if let Some(key) = key {
            tree.positions
                .insert(pool, (id, key), parent, &mut tree.bytes);
        }
        Ok((id, id))
    }

    /// Checks that a known position has the turn and the legal actions of a state with the same key.
    fn check_equal(
        &mut self,
        visit: &mut Visit<G>,
        (known, turn): (NodeId, Turn),
        action: Action,
    ) -> Result<(), SearchError<G::Error>> {
        if visit.state.is_repetition() {
            return Ok(()); // this line ends here, others go on
        }
        let (node, actions) = (&self.pool[known], &visit.actions);
        let equal = match node.kind() {
            NodeKind::Leaf => true,
            NodeKind::Chance => turn == Turn::Chance,
            NodeKind::Terminal => turn == Turn::Over,
            NodeKind::Decision => {
                turn == Turn::Seat(node.seat())
                    && actions.len() == usize::from(node.num_edges)
                    && self
                        .pool
                        .actions(known)
                        .is_none_or(|known| known == actions)
            }
        };
        if equal {
            return Ok(());
        }
        let here = self.actions_along(&visit.path).chain([action]).collect();
        let mut there = Vec::new();
        self.find_line(self.tree.root, known, &mut there, &mut HashSet::new());
        Err(SearchError::EqualKeys(there, here))
    }

    /// The actions of a path.
    fn actions_along<'a>(&'a self, path: &'a [Step]) -> impl Iterator<Item = Action> + 'a {
        let steps = path.windows(2);
        let edges = steps.map(|pair| self.pool.edge(pair[0].node, pair[1].slot, pair[1].node));
        edges.map(|edge| self.pool[edge].action)
    }

    /// Searches a line to a position; `line` holds the actions to `from`.
    fn find_line(
        &self,
        from: NodeId,
        position: NodeId,
        line: &mut Vec<Action>,
        seen: &mut HashSet<NodeId>,
    ) -> bool {
        if from == position {
            return true;
        }
        if !seen.insert(from) {
            return false;
        }
        for child in self.pool.ids(from) {
            line.push(self.pool[child].action);
            if self.find_line(self.pool.position(child), position, line, seen) {
                return true;
            }
            line.pop();
        }
        false
    }

    /// Whether the end of a step to a new edge is a new position, and not a repetition.
    #[inline(always)]
    pub(super) fn ends_here(&self, visit: &Visit<G>, id: NodeId) -> bool {
        let node = &self.pool[id];
        let is_new = node.kind() == NodeKind::Leaf && !node.is_pending() && !node.is_proven();
        is_new && !visit.state.is_repetition()
    }

    /// Ends a descent that has just repeated a position of its line; returns whether it has.
    #[inline(always)]
    pub(super) fn end_repetition(&mut self, visit: &mut Visit<G>) -> bool {
        let repeats = self.settings.config.transpositions && visit.state.is_repetition();
        if repeats {
            self.finish_repetition(visit);
        }
        repeats
    }

    #[cold]
    fn finish_repetition(&mut self, visit: &mut Visit<G>) {
        if let [.., above, end] = visit.path[..]
            && self.pool[end.node].is_shared()
        {
            let edge = self.pool.child(above.node, end.slot);
            self.pool.add_repeat(edge);
        }
        self.record_depth(visit);
        self.backup_graph(&visit.path, V::default(), false, true);
        self.forget_next(&visit.path[visit.path.len() - 1..]); // lines that do not repeat go on
        self.tree.progress.started += 1;
        self.tree.progress.finished += 1;
    }

    /// The backup (`backup.rs`) along a path with shared positions. `repeated`: a draw by
    /// repetition, which a shared position at the end does not count.
    pub(super) fn backup_graph(&mut self, path: &[Step], value: V, proven: bool, repeated: bool) {
        let [.., end] = path else { return };
        let leaf = &mut self.pool[end.node];
        let counted = !(repeated && leaf.is_shared());
        if counted {
            leaf.visits += 1;
            leaf.w.add(&value);
        }
        self.propagate::<true>(path, value, proven);
        if self.settings.config.c_deviation > 0.0 {
            self.record_squares(path, value, counted);
        }
    }
}

/// A backup's passage from a position to the node above it.
pub(super) struct Passage<V> {
    /// The edge between them.
    pub edge: NodeId,
    /// By how much W of this edge grows, and by how much that of the node's other edges.
    pub value: V,
    pub growth: V,
    /// Bounds of an edge changed.
    pub bounded: bool,
}

impl<V: Values> Pool<V> {
    /// Passes a value from the end of a step to `above`, a node with edges to shared positions:
    /// updates the edge of the step and one other edge, another one at each visit.
    #[inline]
    pub(super) fn pass_shared(
        &mut self,
        above: NodeId,
        Step { node, slot }: Step,
        value: V,
        settings: &Settings,
    ) -> Passage<V> {
        let mut passage = Passage {
            edge: self.edge(above, slot, node),
            value,
            growth: V::default(),
            bounded: false,
        };
        if passage.edge != node {
            self[passage.edge].visits += 1;
            (passage.value, passage.bounded) = self.update_edge(passage.edge);
        }
        let turn = (self[above].visits % self.num_children(above) as u32) as u16;
        // A link to a family leads to no shared position.
        if let LinkTarget::Node(other) = self.link(self[above].owned, turn).target()
            && self[other].is_edge()
        {
            let (change, bounded) = self.update_edge(other);
            self.show_q(above, turn, other, settings);
            passage.growth = change.times(settings.config.discount);
            passage.bounded |= bounded;
        }
        passage
    }

    /// Updates the Q of an edge for selection.
    fn show_q(&mut self, id: NodeId, slot: u16, child: NodeId, settings: &Settings) {
        let (node, edge) = (&self[id], &self[child]);
        if node.kind() != NodeKind::Decision || edge.visits == 0 {
            return;
        }
        let q = edge.q(edge.mean(), node.seat(), settings.config.discount);
        self.set_q(id, slot, settings.known.map_or(q, |scale| scale.apply(q)));
    }
}
