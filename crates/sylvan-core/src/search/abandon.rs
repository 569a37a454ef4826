//! Abandoning a descent restores the tree.
//!
//! Its virtual visits and the nodes that it added are removed; their edges are unvisited again,
//! with the same priors. Visits finished meanwhile by other descents stay, and so do the draws at
//! chance nodes.

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::edges::NO_EDGE;
use crate::memory::node::{NONE, NodeId, NodeKind};
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Removes the virtual visits of a waiting leaf. Prune the path only after all leaves of the
    /// tree are abandoned, because pruning moves children to other slots.
    pub fn abandon(&mut self, visit: &Visit<G>) {
        let id = visit.end();
        self.pool[id].set_pending(false);
        self.remove_virtual_visits(&visit.path);
        if self.deals() {
            self.tree.views.stop_waiting(id, visit.own_key);
            self.undo_legal_edges(&visit.legal_edges);
        }
        self.tree.progress.waiting -= 1;
        self.tree.progress.started -= u64::from(id != self.tree.root);
        self.tree.progress.stop = None; // it may have counted this leaf
        self.tree.evaluations -= 1;
        self.tree.slots -= 1;
    }

    /// Removes the nodes at the end of a path that have no visits, finished or in flight.
    pub fn prune(&mut self, path: &[Step]) {
        self.forget_next(path);
        for i in (1..path.len()).rev() {
            let (parent, id) = (path[i - 1].node, path[i].node);
            let Some(child) = self.unvisited_child(parent, id) else {
                break;
            };
            // Its slot may have changed since the descent.
            let above = i.checked_sub(2).map(|i| path[i].node);
            let slot = above.and_then(|above| self.pool.slot_of(above, self.pool[parent].index));
            self.restore_edge(parent, child);
            if let (Some(above), Some(slot)) = (above, slot) {
                self.pool.relink(above, slot, parent); // its family may have been dropped
            }
        }
    }

    /// The child that leads to a position without visits, finished or in flight.
    fn unvisited_child(&self, parent: NodeId, position: NodeId) -> Option<NodeId> {
        let is_unvisited = |&child: &NodeId| self.pool[child].started() == 0;
        if self.pool[position].is_shared() {
            let mut edges = self.pool.ids(parent).filter(is_unvisited);
            return edges.find(|&edge| self.pool.position(edge) == position);
        }
        let is_leaf = self.pool.num_children(position) == 0;
        (is_leaf && is_unvisited(&position)).then_some(position)
    }

    /// Makes the edge to a node unvisited again.
    fn restore_edge(&mut self, parent: NodeId, id: NodeId) {
        let (index, prior) = (usize::from(self.pool[id].index), self.pool[id].prior);
        let mut best = NO_EDGE;
        let listed = self.deals() && parent != self.tree.root;
        if self.pool[parent].kind() == NodeKind::Decision && !listed {
            if parent == self.tree.root {
                self.tree.edges.mark_unvisited(index, prior);
            } else {
                self.pool.restore_code(parent, index, prior);
            }
            best = self.best_unvisited(parent);
        }
        self.pool
            .remove_child(parent, id, best, &mut self.tree.bytes);
        if listed {
            self.pool.infoset_edges_mut(parent)[index].node = NONE;
            self.pool.refresh_slots(parent);
        }
        self.tree.sweep.restart();
        self.pool.remove_subtree(id, self.tree);
    }
}
