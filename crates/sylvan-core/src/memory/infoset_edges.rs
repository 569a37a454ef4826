//! The actions that a node of an information-set tree has edges, in units of an arena.
//!
//! What is legal at such a node differs from deal to deal, so its list grows: an action is added the
//! first time a walk comes by in a deal where it is legal. Each counts how often that was so, and
//! leads to its child, once there is one. The child's `index` is its index in this list, which never
//! changes; the slot in the node's family may.

use bytemuck::{Pod, Zeroable};

use crate::contracts::game::Action;
use crate::contracts::values::Values;
use crate::memory::node::{NONE, NodeId};
use crate::memory::pool::Pool;

/// An action that was legal here in some deal; one unit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InfosetEdge {
    pub action: Action,
    /// Visits at which it was legal, those in flight included.
    pub available: u32,
    /// The child, or `NONE`.
    pub node: NodeId,
    /// The child's slot in the family.
    pub slot: u32,
}

// SAFETY: four times four bytes, any of them.
unsafe impl Zeroable for InfosetEdge {}
// SAFETY: as above.
unsafe impl Pod for InfosetEdge {}

/// Units of a line of the cache.
const CACHE_LINE: u32 = 4;
/// Actions for which room is made at once.
pub const CHUNK: usize = 4;

impl<V: Values> Pool<V> {
    /// The actions that a node has edges.
    #[inline]
    pub fn infoset_edges(&self, id: NodeId) -> &[InfosetEdge] {
        let n = usize::from(self[id].num_edges);
        &bytemuck::cast_slice(self.edge_units(id))[..n]
    }

    #[inline]
    pub fn infoset_edges_mut(&mut self, id: NodeId) -> &mut [InfosetEdge] {
        match usize::from(self[id].num_edges) {
            0 => &mut [],
            n => &mut bytemuck::cast_slice_mut(self.edge_units_mut(id))[..n],
        }
    }

    /// The index of an action in a node's list, tried first at `hint`; it is added if it is new.
    #[inline]
    pub fn infoset_index(
        &mut self,
        id: NodeId,
        action: Action,
        hint: usize,
        bytes: &mut u64,
    ) -> usize {
        let edges = self.infoset_edges(id);
        if edges.get(hint).is_some_and(|edge| edge.action == action) {
            return hint;
        }
        match edges.iter().position(|edge| edge.action == action) {
            Some(index) => index,
            None => self.add_infoset_edge(id, action, bytes),
        }
    }

    /// Has the child at a index of a node's list brought nearer, because its score will soon be asked.
    #[inline]
    pub fn prefetch_child(&self, id: NodeId, index: usize) {
        let child = self.infoset_edges(id)[index].node;
        if child != NONE {
            self.arena.prefetch(child);
            self.arena.prefetch(child + CACHE_LINE);
        }
    }

    fn add_infoset_edge(&mut self, id: NodeId, action: Action, bytes: &mut u64) -> usize {
        let n = usize::from(self[id].num_edges);
        if n.is_multiple_of(CHUNK) {
            self.grow_edges(id, bytes);
        }
        self[id].num_edges += 1;
        self.infoset_edges_mut(id)[n] = InfosetEdge {
            action,
            available: 0,
            node: NONE,
            slot: 0,
        };
        n
    }

    /// Brings the slots of a node's list up to date, after a child was taken out of its family.
    pub fn refresh_slots(&mut self, id: NodeId) {
        let indices: Vec<u16> = self.ids(id).map(|child| self[child].index).collect();
        for (slot, index) in indices.into_iter().enumerate() {
            self.infoset_edges_mut(id)[usize::from(index)].slot = slot as u32;
        }
    }
}
