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
//!                     [3] the next position of its bucket
//!     of an edge      [0] the position; [1] visits that ended here in a draw by repetition
//! ```
//!
//! Edges are counted, so a position is freed with the last edge to it: there are no cycles
//! (`graph.rs`).

use crate::contracts::values::Values;
use crate::memory::node::{NONE, Node, NodeId};
use crate::memory::pool::Pool;

/// The most edges to a position; further lines get a node of their own.
const MOST_EDGES: u32 = u16::MAX as u32;

/// The positions of one tree by their keys: chains through the records.
#[derive(Debug, Default)]
pub struct Positions {
    /// The first position of each bucket.
    buckets: Vec<u32>,
    len: usize,
}

impl Positions {
    /// The position with this key, if one more edge may lead to it.
    pub fn find<V: Values>(&self, pool: &Pool<V>, key: u64) -> Option<NodeId> {
        let mut id = *self.buckets.get(self.bucket(key))?;
        while id != NONE && pool.key(id) != key {
            id = pool.record(id)[3];
        }
        (id != NONE && pool.edges_to(id) < MOST_EDGES).then_some(id)
    }

    /// Adds a position with its first parent. `bytes` counts the bytes of the tree.
    pub fn insert<V: Values>(
        &mut self,
        pool: &mut Pool<V>,
        (id, key): (NodeId, u64),
        parent: NodeId,
        bytes: &mut u64,
    ) {
        if self.len == self.buckets.len() {
            self.grow(pool, bytes);
        }
        self.len += 1;
        let bucket = self.bucket(key);
        let next = std::mem::replace(&mut self.buckets[bucket], id);
        *pool.record_mut(id) = [key as u32, (key >> 32) as u32, parent, next];
    }

    /// Removes a position, if it is in the table.
    pub fn remove<V: Values>(&mut self, pool: &mut Pool<V>, id: NodeId) {
        let bucket = self.bucket(pool.key(id));
        let Some(&first) = self.buckets.get(bucket) else {
            return;
        };
        let next = pool.record(id)[3];
        let (mut before, mut at) = (NONE, first);
        while at != NONE && at != id {
            (before, at) = (at, pool.record(at)[3]);
        }
        match (at, before) {
            (NONE, _) => return,
            (_, NONE) => self.buckets[bucket] = next,
            _ => pool.record_mut(before)[3] = next,
        }
        self.len -= 1;
    }

    /// The bucket of a key; keys are hashes.
    fn bucket(&self, key: u64) -> usize {
        key as usize & self.buckets.len().wrapping_sub(1)
    }

    #[cold]
    fn grow<V: Values>(&mut self, pool: &mut Pool<V>, bytes: &mut u64) {
        let len = (2 * self.buckets.len()).max(16);
        *bytes += ((len - self.buckets.len()) * size_of::<u32>()) as u64;
        for first in std::mem::replace(&mut self.buckets, vec![NONE; len]) {
            let mut id = first;
            while id != NONE {
                let bucket = self.bucket(pool.key(id));
                let next = std::mem::replace(&mut self.buckets[bucket], id);
                id = std::mem::replace(&mut pool.record_mut(id)[3], next);
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
