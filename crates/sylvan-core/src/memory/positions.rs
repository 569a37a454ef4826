//! Positions that several edges reach (transpositions), and the table that finds them by their keys.
//!
//! A node is the edge that leads to it, as in a tree, until a second edge reaches its position. Then
//! the position becomes *shared*: every edge to it gets a node of its own, with the edge's N, W, P
//! and visits in flight, and the position keeps the sums over all its edges.
//!
//! With transpositions every node has one more unit behind it, its record:
//!
//! ```text
//!     of a position   [0] [1] key
//!                     [2] its parent; once shared, the number of edges to it (16 bits) and the
//!                         last round of the byte budget's sweep that saw it (16 bits)
//!     of an edge      [0] the position; [1] visits that ended here in a draw by repetition
//! ```
//!
//! Edges are counted, so a position is freed with the last edge to it: there are no cycles
//! (`graph.rs`).

use crate::contracts::prefetch::prefetch_line;
use crate::contracts::values::Values;
use crate::memory::node::{NONE, Node, NodeId};
use crate::memory::pool::Pool;

/// The most edges to a position; further lines get a node of their own.
const MOST_EDGES: u32 = u16::MAX as u32;

/// The positions of one tree by their keys: open addressing with linear probing. A slot also holds
/// half of the key, so that only the last step of a search reads a record, and growing reads none.
#[derive(Debug, Default)]
pub struct Positions {
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    id: NodeId,
    /// The upper half of the key.
    tag: u32,
}

impl Slot {
    const EMPTY: Self = Self { id: NONE, tag: 0 };
}

fn tag(key: u64) -> u32 {
    (key >> 32) as u32
}

impl Positions {
    /// The position with this key, if one more edge may lead to it.
    #[inline]
    pub fn find<V: Values>(&self, pool: &Pool<V>, key: u64) -> Option<NodeId> {
        let fits = |id| pool.key(id) == key && pool.edges_to(id) < MOST_EDGES;
        let at = self.search(tag(key), fits)?;
        Some(self.slots[at].id)
    }

    /// Adds a position with its first parent. `bytes` counts the bytes of the tree.
    pub fn insert<V: Values>(
        &mut self,
        pool: &mut Pool<V>,
        (id, key): (NodeId, u64),
        parent: NodeId,
        bytes: &mut u64,
    ) {
        *pool.record_mut(id) = [key as u32, tag(key), parent, NONE];
        if 4 * self.len >= 3 * self.slots.len() {
            self.grow(bytes);
        }
        self.len += 1;
        self.put(Slot { id, tag: tag(key) });
    }

    /// Removes a position, if it is in the table.
    pub fn remove<V: Values>(&mut self, pool: &Pool<V>, id: NodeId) {
        let Some(mut hole) = self.search(tag(pool.key(id)), |other| other == id) else {
            return;
        };
        self.len -= 1;
        // Move later slots of the run up, but none to before its home.
        let n = self.slots.len();
        let distance = |from: usize, to: usize| (to + n - from) % n;
        let mut at = self.after(hole);
        while self.slots[at].id != NONE {
            if distance(self.home(self.slots[at].tag), at) >= distance(hole, at) {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.slots[hole] = Slot::EMPTY;
    }

    /// Prefetches the slots where a key is or would be.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        prefetch_line(self.slots.as_ptr().wrapping_add(self.home(tag(key))));
    }

    /// The slot of a position with this tag that fits.
    #[inline]
    fn search(&self, tag: u32, fits: impl Fn(NodeId) -> bool) -> Option<usize> {
        let mut at = self.home(tag);
        while let Some(slot) = self.slots.get(at).filter(|slot| slot.id != NONE) {
            if slot.tag == tag && fits(slot.id) {
                return Some(at);
            }
            at = self.after(at);
        }
        None
    }

    /// The first slot for a tag; keys are hashes.
    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.slots.len() { at + 1 } else { 0 }
    }

    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.tag);
        while self.slots[at].id != NONE {
            at = self.after(at);
        }
        self.slots[at] = slot;
    }

    #[cold]
    fn grow(&mut self, bytes: &mut u64) {
        let len = (self.slots.len() / 2 * 3).max(16);
        *bytes += ((len - self.slots.len()) * size_of::<Slot>()) as u64;
        for slot in std::mem::replace(&mut self.slots, vec![Slot::EMPTY; len]) {
            if slot.id != NONE {
                self.put(slot);
            }
        }
    }
}

impl<V: Values> Pool<V> {
    /// Allocates a node with an empty record.
    pub(crate) fn allocate_with_record(&mut self, bytes: &mut u64) -> NodeId {
        let id = self.allocate(Self::NODE_UNITS as u32 + 1, bytes);
        *self.record_mut(id) = [0, 0, NONE, NONE];
        id
    }

    fn record(&self, id: NodeId) -> &[u32; 4] {
        self.arena.words(id + Self::NODE_UNITS as u32)
    }

    fn record_mut(&mut self, id: NodeId) -> &mut [u32; 4] {
        self.arena.words_mut(id + Self::NODE_UNITS as u32)
    }

    pub(crate) fn key(&self, id: NodeId) -> u64 {
        let [low, high, ..] = *self.record(id);
        u64::from(high) << 32 | u64::from(low)
    }

    /// The position that a child stands for: itself, unless it is an edge to a shared position.
    #[inline]
    pub fn position(&self, child: NodeId) -> NodeId {
        match self[child].is_edge() {
            true => self.record(child)[0],
            false => child,
        }
    }

    /// The edge of a step from `parent` through a slot to a position.
    #[inline]
    pub fn edge(&self, parent: NodeId, slot: u16, position: NodeId) -> NodeId {
        match self[position].is_shared() {
            true => self.child(parent, slot),
            false => position,
        }
    }

    pub(crate) fn edges_to(&self, id: NodeId) -> u32 {
        match self[id].is_shared() {
            true => self.record(id)[2] & MOST_EDGES,
            false => 1,
        }
    }

    /// Adds a second or further edge to a position.
    pub fn add_edge(&mut self, edge: &Node<V>, position: NodeId, bytes: &mut u64) -> NodeId {
        if !self[position].is_shared() {
            self.split(position, bytes);
        }
        self.record_mut(position)[2] += 1;
        let id = self.add(edge.edge(), bytes);
        self.record_mut(id)[..2].copy_from_slice(&[position, 0]);
        id
    }

    /// Gives the only edge to a position a node of its own.
    fn split(&mut self, position: NodeId, bytes: &mut u64) {
        let parent = self.record(position)[2];
        let edge = self.add(self[position].edge(), bytes);
        self.record_mut(edge)[..2].copy_from_slice(&[position, 0]);
        if let Some(slot) = self.slot_of(parent, self[position].index) {
            self.replace_child(parent, slot, edge);
        }
        self[parent].set_links(true);
        self[position].set_shared(true);
        self.record_mut(position)[2] = 1;
    }

    /// Frees an edge; returns the position if it has no other edge.
    pub fn remove_edge(&mut self, edge: NodeId, bytes: &mut u64) -> Option<NodeId> {
        let position = self.position(edge);
        self.remove(edge, bytes);
        self.record_mut(position)[2] -= 1;
        (self.edges_to(position) == 0).then_some(position)
    }

    /// Whether a round of the sweep sees a position for the first time.
    pub fn is_new_in(&mut self, round: u16, position: NodeId) -> bool {
        if !self[position].is_shared() {
            return true;
        }
        let word = &mut self.record_mut(position)[2];
        let seen = *word >> 16 == u32::from(round);
        *word = *word & MOST_EDGES | u32::from(round) << 16;
        !seen
    }

    /// Visits of an edge that ended in a draw by repetition.
    fn repeats(&self, edge: NodeId) -> u32 {
        self.record(edge)[1]
    }

    pub fn add_repeat(&mut self, edge: NodeId) {
        self.record_mut(edge)[1] += 1;
    }

    /// W of a child's edge, with the present value of a shared position.
    pub fn worth(&self, child: NodeId) -> V {
        let edge = &self[child];
        if !edge.is_edge() {
            return edge.w;
        }
        match edge.visits - self.repeats(child) {
            0 => V::default(),
            n => self[self.position(child)].estimate().times(n.into()),
        }
    }

    /// A child's edge with the present W and bounds of its position.
    pub fn present(&self, child: NodeId) -> Node<V> {
        let mut edge = self[child];
        if edge.is_edge() {
            edge.w = self.worth(child);
            edge.copy_proof(&self[self.position(child)]);
        }
        edge
    }

    /// Brings an edge to a shared position up to date; returns the change of its W, and whether its
    /// bounds changed.
    pub fn update_edge(&mut self, edge: NodeId) -> (V, bool) {
        let (now, position) = (self.worth(edge), self[self.position(edge)]);
        let old = std::mem::replace(&mut self[edge].w, now);
        (now.minus(old), self[edge].copy_proof(&position))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::contracts::numbers::PriorBits;
    use crate::contracts::rng::mix;
    use crate::contracts::values::Duel;
    use crate::memory::edges::Edges;

    #[test]
    fn the_table_finds_what_it_holds() {
        let edges = Edges {
            bits: PriorBits::Eight,
            kept_below: 0,
            listed: false,
        };
        let mut pool = Pool::<Duel>::new(edges, 0);
        pool.records = true;
        let (mut table, mut held, mut bytes) = (Positions::default(), HashMap::new(), 0);
        for i in 0..if cfg!(miri) { 200 } else { 5000 } {
            let key = mix(mix(7, i) % 1000, 3) | u64::from(i % 3 > 0) << 63; // crowded at the end
            match held.remove(&key) {
                Some(id) => {
                    assert_eq!(table.find(&pool, key), Some(id));
                    table.remove(&pool, id);
                }
                None => {
                    let id = pool.add(Node::new(0, 0, 1.0), &mut bytes);
                    table.remove(&pool, id); // not in the table
                    table.insert(&mut pool, (id, key), NONE, &mut bytes);
                    held.insert(key, id);
                }
            }
            assert_eq!(table.len, held.len());
            assert!(
                i % 97 > 0
                    || held
                        .iter()
                        .all(|(&k, &id)| table.find(&pool, k) == Some(id))
            );
            assert!(held.contains_key(&key) == table.find(&pool, key).is_some());
        }
    }
}
