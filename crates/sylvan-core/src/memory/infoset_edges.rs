//! The edges of an information-set node: a growing list of actions.
//!
//! The legal actions at such a node differ between deals. An action is appended when a simulation
//! first visits the node in a deal where it is legal. Each entry counts how often the action was
//! legal and points to its child, if there is one. The child's `index` is its index in this list
//! and never changes; its slot in the node's family may change.

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
    /// Visits at which it was legal, including visits in flight.
    pub available: u32,
    /// The child, or `NONE`.
    pub node: NodeId,
    /// The child's slot in the family.
    pub slot: u32,
}

const _: () = assert!(
    size_of::<InfosetEdge>() == size_of::<Action>() + size_of::<NodeId>() + 2 * size_of::<u32>(),
    "an edge must have no padding"
);

// SAFETY: four numbers of four bytes each: no padding (checked above), and any bits are valid.
unsafe impl Zeroable for InfosetEdge {}
// SAFETY: as above.
unsafe impl Pod for InfosetEdge {}

/// Units of a cache line.
const CACHE_LINE: u32 = 4;
/// The list grows by this many entries.
pub const CHUNK: usize = 4;

impl<V: Values> Pool<V> {
    /// The edges of a node.
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

    /// The index of an action in a node's list; checks `hint` first and appends a new action.
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

    /// Prefetches the child of an edge before its score is computed.
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

    /// Updates the slots in a node's list after a child was removed from its family.
    pub fn refresh_slots(&mut self, id: NodeId) {
        let indices: Vec<u16> = self.ids(id).map(|child| self[child].index).collect();
        for (slot, index) in indices.into_iter().enumerate() {
            self.infoset_edges_mut(id)[usize::from(index)].slot = slot as u32;
        }
    }
}
