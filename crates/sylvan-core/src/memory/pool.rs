//! The pool: the nodes, edges and families of all trees of one thread.
//!
//! Trees share a pool so that freed memory is reused while it is still in the CPU's caches. Node
//! numbers never influence a search, so results do not depend on the sharing.
//!
//! The pool stores everything in one arena of 16-byte units (`arena.rs`). A node owns nothing, or
//! its *edges* (`edges.rs`: the codes of its unvisited priors), or a *family* (`family.rs`: its
//! visited children), which points to its edges.

use crate::contracts::game::Action;
use crate::contracts::numbers::PriorBits;
use crate::contracts::values::Values;
use crate::memory::arena::{Arena, UNIT_BYTES, Unit};
use crate::memory::edges::{Edges, NO_EDGE};
use crate::memory::family::Head;
use crate::memory::node::{NONE, Node, NodeId};

/// The most edges of a node: indices have 16 bits, and a few numbers are reserved.
pub const MAX_EDGES: usize = 65_532;

#[derive(Debug)]
pub struct Pool<V: Values> {
    pub(crate) arena: Arena,
    pub edges: Edges,
    /// Every node has one more unit, its record (`positions.rs`).
    pub(crate) records: bool,
    values: std::marker::PhantomData<V>,
}

impl<V: Values> Pool<V> {
    /// A pool for trees of about `bytes` bytes in total.
    pub fn new(edges: Edges, bytes: u64) -> Self {
        const { assert!(align_of::<Node<V>>() <= align_of::<Unit>()) }; // for `Index`
        Self {
            arena: Arena::new(bytes),
            edges,
            records: false,
            values: std::marker::PhantomData,
        }
    }

    pub(crate) const NODE_UNITS: usize = size_of::<Node<V>>().div_ceil(UNIT_BYTES as usize);

    #[inline(always)]
    pub(crate) fn allocate(&mut self, units: u32, bytes: &mut u64) -> u32 {
        *bytes += u64::from(units) * UNIT_BYTES;
        self.arena.allocate(units)
    }

    pub(crate) fn free(&mut self, start: u32, units: u32, bytes: &mut u64) {
        *bytes -= u64::from(units) * UNIT_BYTES;
        self.arena.free(start, units);
    }

    /// Adds a node and counts its bytes.
    #[inline(always)] // builds the node in place: copying it would stall on its stores
    pub fn add(&mut self, node: Node<V>, bytes: &mut u64) -> NodeId {
        let id = if self.records {
            self.allocate_with_record(bytes)
        } else {
            self.allocate(Self::NODE_UNITS as u32, bytes)
        };
        self[id] = node;
        id
    }

    /// Frees a node that owns nothing.
    pub fn remove(&mut self, id: NodeId, bytes: &mut u64) {
        let units = Self::NODE_UNITS as u32 + u32::from(self.records);
        self.free(id, units, bytes);
    }

    /// Stores the priors of a decision node, all unvisited (`Edges::write`).
    #[inline]
    pub fn set_edges(&mut self, id: NodeId, priors: &[f32], actions: &[Action], bytes: &mut u64) {
        let n = actions.len();
        let units = self.edges.units(n);
        let start = self.allocate(units, bytes);
        let chunk = &mut self.arena[start as usize..][..units as usize];
        self.edges.write(chunk, priors, actions);
        self[id].owned = start;
        self[id].num_edges = n as u16;
    }

    /// The same with edges that `Edges::write` has written elsewhere.
    #[inline]
    pub fn copy_edges(&mut self, id: NodeId, written: &[Unit], n: usize, bytes: &mut u64) {
        let start = self.allocate(written.len() as u32, bytes);
        self.arena[start as usize..][..written.len()].copy_from_slice(written);
        self[id].owned = start;
        self[id].num_edges = n as u16;
    }

    /// The edges of a node, or `NONE`.
    #[inline(always)]
    fn edges_of(&self, node: &Node<V>) -> u32 {
        self.head(node).map_or(node.owned, |head| head.edges)
    }

    #[inline(always)]
    pub(crate) fn edge_units(&self, id: NodeId) -> &[Unit] {
        let (start, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        match start {
            NONE => &[],
            _ => &self.arena[start as usize..][..self.edges.units(n) as usize],
        }
    }

    #[inline(always)]
    pub(crate) fn edge_units_mut(&mut self, id: NodeId) -> &mut [Unit] {
        let (start, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        let units = self.edges.units(n) as usize;
        &mut self.arena[start as usize..][..units]
    }

    /// Makes room for one more edge in a full list.
    pub(crate) fn grow_edges(&mut self, id: NodeId, bytes: &mut u64) {
        let (old, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        let units = self.edges.units(n);
        let new = self.allocate(self.edges.units(n + 1), bytes);
        if old != NONE {
            let from = old as usize..(old + units) as usize;
            self.arena.copy_within(from, new as usize);
            self.free(old, units, bytes);
        }
        match self.head(&self[id]) {
            Some(head) => self.set_head(id, Head { edges: new, ..head }),
            None => self[id].owned = new,
        }
    }

    /// The note stored with a node's edges (`edges.rs`).
    #[inline(always)]
    pub fn note(&self, id: NodeId) -> u32 {
        let n = usize::from(self[id].num_edges);
        self.edges.note(self.edge_units(id), n)
    }

    pub fn set_note(&mut self, id: NodeId, note: u32) {
        let (edges, n) = (self.edges, usize::from(self[id].num_edges));
        edges.set_note(self.edge_units_mut(id), n, note);
    }

    /// The code of an edge; 0 if it is visited.
    pub fn code(&self, id: NodeId, index: usize) -> u32 {
        self.edges.code(self.edge_units(id), index)
    }

    /// Marks an edge as visited; returns the best unvisited edge, as in `Head`.
    #[inline(always)]
    pub fn visit_edge(&mut self, id: NodeId, index: usize) -> (usize, f32) {
        let (edges, n) = (self.edges, usize::from(self[id].num_edges));
        let units = self.edge_units_mut(id);
        edges.clear_code(units, index);
        edges.decoded(edges.best(units, n))
    }

    /// Marks an edge as unvisited again.
    pub fn restore_code(&mut self, id: NodeId, index: usize, prior: f32) {
        let edges = self.edges;
        edges.set_code(self.edge_units_mut(id), index, edges.bits.encode(prior));
    }

    /// The index and prior of the best unvisited edge, or `NO_EDGE`.
    #[inline(always)]
    pub fn best_edge(&self, id: NodeId) -> (usize, f32) {
        let n = usize::from(self[id].num_edges);
        match self.edge_units(id) {
            [] => NO_EDGE,
            units => self.edges.decoded(self.edges.best(units, n)),
        }
    }

    /// The legal actions of a decision node, if they are stored.
    #[inline]
    pub fn actions(&self, id: NodeId) -> Option<&[Action]> {
        let n = usize::from(self[id].num_edges);
        if n >= self.edges.kept_below {
            return None;
        }
        self.edges.actions(self.edge_units(id), n)
    }

    /// Frees the edges of a node.
    pub fn drop_edges(&mut self, id: NodeId, bytes: &mut u64) {
        let (edges, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        match self.head(&self[id]) {
            Some(head) => {
                let edges = NONE;
                self.set_head(id, Head { edges, ..head });
            }
            None => self[id].owned = NONE,
        }
        if edges != NONE {
            self.free(edges, self.edges.units(n), bytes);
        }
    }

    pub fn bits(&self) -> PriorBits {
        self.edges.bits
    }

    /// The pool's peak size in bytes, including freed memory.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes()
    }
}

impl<V: Values> std::ops::Index<NodeId> for Pool<V> {
    type Output = Node<V>;

    #[inline]
    fn index(&self, id: NodeId) -> &Node<V> {
        let units = &self.arena[id as usize..id as usize + Self::NODE_UNITS];
        // SAFETY: a node is `Pod`, fits into its units and needs no stricter alignment (checked in
        // `new`). `bytemuck` would check the alignment at each call, 2 % of all instructions.
        unsafe { &*units.as_ptr().cast() }
    }
}

impl<V: Values> std::ops::IndexMut<NodeId> for Pool<V> {
    #[inline]
    fn index_mut(&mut self, id: NodeId) -> &mut Node<V> {
        let units = &mut self.arena[id as usize..id as usize + Self::NODE_UNITS];
        // SAFETY: as above, and the units are borrowed as long as the node.
        unsafe { &mut *units.as_mut_ptr().cast() }
    }
}

impl<V: Values> Node<V> {
    /// The exploration term of the edge to this node without its factor: P / (1 + n).
    #[inline]
    pub fn share(&self) -> f32 {
        share(self.prior, self.started())
    }
}

#[inline]
fn share(prior: f32, started: u32) -> f32 {
    prior / (1 + started) as f32
}
