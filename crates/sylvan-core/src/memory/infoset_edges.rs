//! The actions that a node of an information-set tree has seen, in units of an arena.
//!
//! What is legal at such a node differs from deal to deal, so its list grows: an action is added the
//! first time a walk comes by in a deal where it is legal. Each counts how often that was so, and
//! leads to its child, once there is one. The child's `index` is its place in this list, which never
//! changes; the slot in the node's family may.

use bytemuck::{Pod, Zeroable};

use crate::contracts::game::Action;
use crate::contracts::values::Values;
use crate::memory::node::{NONE, NodeId};
use crate::memory::pool::Pool;

/// An action that was legal here in some deal; one unit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Seen {
    pub action: Action,
    /// Visits at which it was legal, those in flight included.
    pub available: u32,
    /// The child, or `NONE`.
    pub node: NodeId,
    /// The child's slot in the family.
    pub slot: u32,
}

// SAFETY: four times four bytes, any of them.
unsafe impl Zeroable for Seen {}
// SAFETY: as above.
unsafe impl Pod for Seen {}

/// Units of a line of the cache.
const LINE: u32 = 4;
/// Actions for which room is made at once.
pub const ROOM: usize = 4;

impl<V: Values> Pool<V> {
    /// The actions that a node has seen.
    #[inline]
    pub fn seen(&self, id: NodeId) -> &[Seen] {
        let n = usize::from(self[id].num_edges);
        &bytemuck::cast_slice(self.edge_units(id))[..n]
    }

    #[inline]
    pub fn seen_mut(&mut self, id: NodeId) -> &mut [Seen] {
        match usize::from(self[id].num_edges) {
            0 => &mut [],
            n => &mut bytemuck::cast_slice_mut(self.edge_units_mut(id))[..n],
        }
    }

    /// The place of an action in a node's list, tried first at `hint`; it is added if it is new.
    #[inline]
    pub fn place_of(&mut self, id: NodeId, action: Action, hint: usize, bytes: &mut u64) -> usize {
        let seen = self.seen(id);
        if seen.get(hint).is_some_and(|seen| seen.action == action) {
            return hint;
        }
        match seen.iter().position(|seen| seen.action == action) {
            Some(place) => place,
            None => self.add_seen(id, action, bytes),
        }
    }

    /// Has the child at a place of a node's list brought nearer, because its score will soon be asked.
    #[inline]
    pub fn fetch_child(&self, id: NodeId, place: usize) {
        let child = self.seen(id)[place].node;
        if child != NONE {
            self.arena.fetch(child);
            self.arena.fetch(child + LINE);
        }
    }

    fn add_seen(&mut self, id: NodeId, action: Action, bytes: &mut u64) -> usize {
        let n = usize::from(self[id].num_edges);
        if n.is_multiple_of(ROOM) {
            self.grow_edges(id, bytes);
        }
        self[id].num_edges += 1;
        self.seen_mut(id)[n] = Seen {
            action,
            available: 0,
            node: NONE,
            slot: 0,
        };
        n
    }

    /// Brings the slots of a node's list up to date, after a child was taken out of its family.
    pub fn refresh_slots(&mut self, id: NodeId) {
        let places: Vec<u16> = self.ids(id).map(|child| self[child].index).collect();
        for (slot, place) in places.into_iter().enumerate() {
            self.seen_mut(id)[usize::from(place)].slot = slot as u32;
        }
    }
}
