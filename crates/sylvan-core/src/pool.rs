//! Where trees live: nodes and their blocks, shared by all trees of one thread.
//!
//! Sharing one pool between the trees of a forest keeps their memory warm: what one game frees the
//! next one uses. Node numbers never influence a search, so results do not depend on the sharing.
//!
//! A node with visited children owns a *block* of words:
//!
//! ```text
//!     [0] len, capacity (16 bits each)
//!     [1] children without a finished visit
//!     [2] best: the highest unvisited prior, negative if none is left   (f32)
//!     [3] mass: the sum of the priors of the children                   (f32)
//!     q[capacity]   Q for the seat that moves here; -inf if closed      (f32)
//!     u[capacity]   P / (1 + n)                                         (f32)
//!     id[capacity]  the children's numbers
//! ```
//!
//! Selection reads nothing but the header, `q` and `u`, four at a time: capacities are multiples of
//! four, and places without a child look like closed edges. Children stand in the order in which they
//! were first tried, which under PUCT and UCT is that of falling priors, then rising index: the
//! order in which ties are resolved.
//!
//! A decision node also owns the codes of its unvisited priors (`PriorBits`), one per legal action
//! in the game's order, 0 once visited; and for games that want it their action list behind it.

use crate::game::Action;
use crate::node::{NONE, Node, NodeId};
use crate::numbers::PriorBits;
use crate::pages::prefer_large;
use crate::values::Values;
use crate::words::Words;

const HEADER: u32 = 4;

/// The most edges of a node: the greatest capacity that 16 bits hold.
pub const MAX_EDGES: usize = 65_532;

/// The Q of a closed edge: no score beats another with it.
pub const CLOSED: f32 = f32::NEG_INFINITY;

#[derive(Debug)]
pub struct Pool<V: Values> {
    nodes: Vec<Node<V>>,
    /// Bytes for which large pages were asked.
    asked: usize,
    /// The head of the chain of free nodes, linked through `children`.
    free: NodeId,
    pub words: Words,
    pub bits: PriorBits,
    keep_actions: bool,
}

/// A node's visited children, side by side; see the head of this file.
pub struct Children<'a> {
    pub q: &'a [f32],
    pub u: &'a [f32],
    pub id: &'a [NodeId],
    /// Children without a finished visit.
    pub unfinished: u32,
    pub best: f32,
    pub mass: f32,
}

/// What selection reads of a block, places without a child included.
pub struct Scan<'a> {
    pub q: &'a [f32],
    pub u: &'a [f32],
    pub id: &'a [NodeId],
    pub unfinished: u32,
    pub best: f32,
    pub mass: f32,
}

/// Where a block lies.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    len: usize,
    capacity: usize,
}

impl<V: Values> Pool<V> {
    pub fn new(bits: PriorBits, keep_actions: bool) -> Self {
        Self {
            nodes: Vec::new(),
            asked: 0,
            free: NONE,
            words: Words::default(),
            bits,
            keep_actions,
        }
    }

    /// Adds a node and the bytes it takes.
    #[inline]
    pub fn add(&mut self, node: Node<V>, bytes: &mut u64) -> NodeId {
        *bytes += Self::NODE_BYTES;
        if self.free == NONE {
            self.nodes.push(node);
            prefer_large(&mut self.nodes, &mut self.asked);
            return self.nodes.len() as NodeId - 1;
        }
        let id = self.free;
        self.free = self[id].children;
        self[id] = node;
        id
    }

    const NODE_BYTES: u64 = size_of::<Node<V>>() as u64;

    /// Frees a node that owns no blocks any more.
    pub fn remove(&mut self, id: NodeId, bytes: &mut u64) {
        *bytes -= Self::NODE_BYTES;
        self[id].children = self.free;
        self.free = id;
    }

    #[inline]
    fn take(&mut self, len: u32, bytes: &mut u64) -> u32 {
        *bytes += 4 * u64::from(self.words.granted(len));
        self.words.take(len)
    }

    fn give(&mut self, start: u32, len: u32, bytes: &mut u64) {
        *bytes -= 4 * u64::from(self.words.granted(len));
        self.words.give(start, len);
    }

    #[inline]
    fn block(&self, id: NodeId) -> Option<Block> {
        let start = self[id].children;
        (start != NONE).then(|| {
            let packed = self.words[start as usize];
            Block {
                start: start as usize,
                len: packed as usize & 0xffff,
                capacity: packed as usize >> 16,
            }
        })
    }

    /// The visited children of a node.
    #[inline]
    pub fn children(&self, id: NodeId) -> Children<'_> {
        let Some(Block {
            start,
            len,
            capacity,
        }) = self.block(id)
        else {
            return Children {
                q: &[],
                u: &[],
                id: &[],
                unfinished: 0,
                best: -1.0,
                mass: 0.0,
            };
        };
        let words = &self.words[start..start + HEADER as usize + 3 * capacity];
        let (header, arrays) = words.split_at(HEADER as usize);
        let (q, rest) = arrays.split_at(capacity);
        let (u, id) = rest.split_at(capacity);
        Children {
            q: bytemuck::cast_slice(&q[..len]),
            u: bytemuck::cast_slice(&u[..len]),
            id: &id[..len],
            unfinished: header[1],
            best: f32::from_bits(header[2]),
            mass: f32::from_bits(header[3]),
        }
    }

    /// What selection reads of a node's children, `None` if it has none.
    #[inline]
    pub fn scan(&self, node: &Node<V>) -> Option<Scan<'_>> {
        if node.children == NONE {
            return None;
        }
        let (header, arrays) = self.words[node.children as usize..].split_first_chunk::<4>()?;
        let capacity = header[0] as usize >> 16;
        let (q, rest) = arrays[..3 * capacity].split_at(capacity);
        let (u, id) = rest.split_at(capacity);
        Some(Scan {
            q: bytemuck::cast_slice(q),
            u: bytemuck::cast_slice(u),
            id,
            unfinished: header[1],
            best: f32::from_bits(header[2]),
            mass: f32::from_bits(header[3]),
        })
    }

    pub fn has_children(&self, id: NodeId) -> bool {
        self[id].children != NONE
    }

    pub fn child(&self, id: NodeId, slot: u16) -> NodeId {
        let block = self.block(id).expect("the node has children");
        self.words[block.start + HEADER as usize + 2 * block.capacity + usize::from(slot)]
    }

    pub fn num_children(&self, id: NodeId) -> usize {
        self.block(id).map_or(0, |block| block.len)
    }

    /// The slot of the child behind legal action number `index`.
    pub fn slot_of(&self, id: NodeId, index: u16) -> Option<u16> {
        let ids = self.children(id).id;
        ids.iter()
            .position(|&child| self[child].index == index)
            .map(|slot| slot as u16)
    }

    /// Appends a child without a finished visit; `best` is the highest prior then left unvisited.
    pub fn push_child(&mut self, parent: NodeId, child: NodeId, best: f32, bytes: &mut u64) -> u16 {
        let block = self.room(parent, bytes);
        let (prior, started) = (self[child].prior, self[child].started());
        let arrays = block.start + HEADER as usize;
        let mass = f32::from_bits(self.words[block.start + 3]) + prior;
        self.words[block.start] = (block.capacity as u32) << 16 | (block.len as u32 + 1);
        self.words[block.start + 1] += 1;
        self.words[block.start + 2] = best.to_bits();
        self.words[block.start + 3] = mass.to_bits();
        self.words[arrays + block.len] = 0;
        self.words[arrays + block.capacity + block.len] = share(prior, started).to_bits();
        self.words[arrays + 2 * block.capacity + block.len] = child;
        block.len as u16
    }

    /// The node's block with room for one more child.
    fn room(&mut self, id: NodeId, bytes: &mut u64) -> Block {
        let old = self.block(id);
        let (len, capacity) = old.map_or((0, 0), |block| (block.len, block.capacity));
        if let Some(block) = old
            && len < capacity
        {
            return block;
        }
        let new = grown(capacity);
        let start = self.take(HEADER + 3 * new as u32, bytes) as usize;
        let arrays = start + HEADER as usize;
        self.words[start..arrays].copy_from_slice(&[(new as u32) << 16, 0, 0, 0]);
        self.words[arrays..arrays + new].fill(CLOSED.to_bits());
        self.words[arrays + new..arrays + 2 * new].fill(0);
        if let Some(old) = old {
            let from = old.start + HEADER as usize;
            self.words.copy_within(old.start + 1..from, start + 1);
            for array in 0..3 {
                let from = from + array * capacity;
                self.words
                    .copy_within(from..from + len, arrays + array * new);
            }
            self.give(old.start as u32, HEADER + 3 * capacity as u32, bytes);
        }
        self[id].children = start as u32;
        Block {
            start,
            len,
            capacity: new,
        }
    }

    /// Takes in a finished visit of the child in a slot: its Q, unless the edge is closed, and u.
    #[inline]
    pub fn record(&mut self, block: u32, slot: u16, q: f32, u: f32) {
        let (header, arrays) = self.words[block as usize..].split_at_mut(HEADER as usize);
        let capacity = header[0] as usize >> 16;
        let (qs, us) = arrays.split_at_mut(capacity);
        let old = &mut qs[usize::from(slot)];
        if *old != CLOSED.to_bits() {
            *old = q.to_bits();
        }
        us[usize::from(slot)] = u.to_bits();
    }

    /// Sets the Q of a child, unless its edge is closed.
    #[inline]
    pub fn set_q(&mut self, parent: NodeId, slot: u16, q: f32) {
        let place = (self[parent].children + HEADER) as usize + usize::from(slot);
        let old = &mut self.words[place];
        if *old != CLOSED.to_bits() {
            *old = q.to_bits();
        }
    }

    /// Closes the edge to a child for good.
    pub fn close(&mut self, parent: NodeId, slot: u16) {
        self.set_q(parent, slot, CLOSED);
    }

    /// Brings `u` up to date after the child's visits or prior changed.
    #[inline]
    pub fn refresh_u(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let start = self[parent].children as usize;
        let capacity = self.words[start] as usize >> 16;
        let u = share(self[child].prior, self[child].started());
        self.words[start + HEADER as usize + capacity + usize::from(slot)] = u.to_bits();
    }

    /// One child fewer is without a finished visit.
    #[inline]
    pub fn first_visit_finished(&mut self, parent: NodeId) {
        let start = self[parent].children as usize;
        self.words[start + 1] -= 1;
    }

    /// Puts the children into another order and their priors in force; `order` lists their
    /// numbers, `best` is as in `push_child`.
    pub fn reorder(&mut self, id: NodeId, order: &[NodeId], best: f32) {
        let Some(block) = self.block(id) else { return };
        let old: Vec<f32> = order
            .iter()
            .map(|child| {
                let children = self.children(id);
                let slot = children.id.iter().position(|x| x == child);
                children.q[slot.expect("order lists the node's children")]
            })
            .collect();
        let arrays = block.start + HEADER as usize;
        let mut mass = 0.0;
        for (slot, (&child, q)) in order.iter().zip(old).enumerate() {
            mass += self[child].prior;
            let u = share(self[child].prior, self[child].started());
            self.words[arrays + slot] = q.to_bits();
            self.words[arrays + block.capacity + slot] = u.to_bits();
            self.words[arrays + 2 * block.capacity + slot] = child;
        }
        self.words[block.start + 2] = best.to_bits();
        self.words[block.start + 3] = mass.to_bits();
    }

    /// Stores the priors of a decision node, all unvisited, and its actions if they are kept.
    pub fn set_edges(&mut self, id: NodeId, priors: &[f32], actions: &[Action], bytes: &mut u64) {
        let len = self.edge_words(priors.len());
        let start = self.take(len, bytes);
        let block = &mut self.words[start as usize..][..len as usize];
        match self.bits {
            PriorBits::Eight => {
                let codes: &mut [u8] = bytemuck::cast_slice_mut(block);
                for (code, &prior) in codes.iter_mut().zip(priors) {
                    *code = PriorBits::Eight.encode(prior) as u8;
                }
            }
            PriorBits::Sixteen => {
                let codes: &mut [u16] = bytemuck::cast_slice_mut(block);
                for (code, &prior) in codes.iter_mut().zip(priors) {
                    *code = PriorBits::Sixteen.encode(prior) as u16;
                }
            }
            PriorBits::ThirtyTwo => {
                for (code, &prior) in block.iter_mut().zip(priors) {
                    *code = PriorBits::ThirtyTwo.encode(prior);
                }
            }
        }
        if self.keep_actions {
            let (_, kept) = block.split_at_mut(block.len() - actions.len());
            kept.copy_from_slice(actions);
        }
        self[id].edges = start;
        self[id].num_edges = priors.len() as u16;
    }

    /// Words for the codes (and actions) of `n` edges.
    fn edge_words(&self, n: usize) -> u32 {
        let codes = match self.bits {
            PriorBits::Eight => n.div_ceil(4),
            PriorBits::Sixteen => n.div_ceil(2),
            PriorBits::ThirtyTwo => n,
        };
        (codes + if self.keep_actions { n } else { 0 }) as u32
    }

    /// The code of an unvisited edge, 0 if it is visited.
    #[inline]
    pub fn code(&self, id: NodeId, index: usize) -> u32 {
        let words = &self.words[self[id].edges as usize..];
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice::<u32, u8>(words)[index].into(),
            PriorBits::Sixteen => bytemuck::cast_slice::<u32, u16>(words)[index].into(),
            PriorBits::ThirtyTwo => words[index],
        }
    }

    /// Marks an edge as visited.
    pub fn clear_code(&mut self, id: NodeId, index: usize) {
        let start = self[id].edges as usize;
        let words = &mut self.words[start..];
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice_mut::<u32, u8>(words)[index] = 0,
            PriorBits::Sixteen => bytemuck::cast_slice_mut::<u32, u16>(words)[index] = 0,
            PriorBits::ThirtyTwo => words[index] = 0,
        }
    }

    /// The place and code of the largest code, the first of equals; code 0 if all are visited.
    pub fn best_edge(&self, id: NodeId) -> (usize, u32) {
        match self.codes(id) {
            Codes::Eight(codes) => first_max(codes),
            Codes::Sixteen(codes) => first_max(codes),
            Codes::ThirtyTwo(codes) => first_max(codes),
        }
    }

    /// The largest code alone.
    pub fn best_code(&self, id: NodeId) -> u32 {
        match self.codes(id) {
            Codes::Eight(codes) => max(codes).into(),
            Codes::Sixteen(codes) => max(codes).into(),
            Codes::ThirtyTwo(codes) => max(codes),
        }
    }

    fn codes(&self, id: NodeId) -> Codes<'_> {
        let node = &self[id];
        let n = usize::from(node.num_edges);
        if node.edges == NONE {
            return Codes::ThirtyTwo(&[]);
        }
        let words = &self.words[node.edges as usize..][..self.edge_words(n) as usize];
        match self.bits {
            PriorBits::Eight => Codes::Eight(&bytemuck::cast_slice(words)[..n]),
            PriorBits::Sixteen => Codes::Sixteen(&bytemuck::cast_slice(words)[..n]),
            PriorBits::ThirtyTwo => Codes::ThirtyTwo(&words[..n]),
        }
    }

    /// The legal actions of a decision node, where they are kept.
    pub fn actions(&self, id: NodeId) -> Option<&[Action]> {
        let node = &self[id];
        if !self.keep_actions || node.edges == NONE {
            return None;
        }
        let n = usize::from(node.num_edges);
        let end = (node.edges + self.edge_words(n)) as usize;
        Some(&self.words[end - n..end])
    }

    /// Gives back the codes of a node.
    pub fn drop_edges(&mut self, id: NodeId, bytes: &mut u64) {
        let start = std::mem::replace(&mut self[id].edges, NONE);
        if start != NONE {
            let len = self.edge_words(usize::from(self[id].num_edges));
            self.give(start, len, bytes);
        }
    }

    /// Gives back the block of children of a node; the children themselves must be gone.
    pub fn drop_block(&mut self, id: NodeId, bytes: &mut u64) {
        if let Some(block) = self.block(id) {
            self[id].children = NONE;
            self.give(
                block.start as u32,
                HEADER + 3 * block.capacity as u32,
                bytes,
            );
        }
    }

    /// Bytes that the pool ever used, free ones included.
    pub fn bytes(&self) -> u64 {
        self.nodes.len() as u64 * Self::NODE_BYTES + self.words.len() as u64 * 4
    }
}

impl<V: Values> std::ops::Index<NodeId> for Pool<V> {
    type Output = Node<V>;

    fn index(&self, id: NodeId) -> &Node<V> {
        &self.nodes[id as usize]
    }
}

impl<V: Values> std::ops::IndexMut<NodeId> for Pool<V> {
    fn index_mut(&mut self, id: NodeId) -> &mut Node<V> {
        &mut self.nodes[id as usize]
    }
}

/// The exploration share of an edge, P / (1 + n).
#[inline]
pub fn share(prior: f32, started: u32) -> f32 {
    prior / (1 + started) as f32
}

/// The next of the capacities 4, 8, 12, 16, 24, 32, 48, ...
fn grown(capacity: usize) -> usize {
    let next = match capacity {
        0..16 => capacity + 4,
        _ if capacity.is_power_of_two() => capacity + capacity / 2,
        _ => (capacity + 1).next_power_of_two(),
    };
    next.min(MAX_EDGES)
}

/// The codes of a node's edges.
enum Codes<'a> {
    Eight(&'a [u8]),
    Sixteen(&'a [u16]),
    ThirtyTwo(&'a [u32]),
}

/// The largest code; a plain fold, because it is the form that compiles to vector instructions.
fn max<T: Copy + Ord + Default>(codes: &[T]) -> T {
    codes
        .iter()
        .fold(T::default(), |a, &b| if b > a { b } else { a })
}

/// The place and value of the largest code, the first of equals; sixteen at a time, because a
/// search one by one ends at an unforeseeable place.
fn first_max<T: Copy + Ord + Default + Into<u32>>(codes: &[T]) -> (usize, u32) {
    const LANES: usize = 16;
    let max = max(codes);
    let (chunks, rest) = codes.as_chunks::<LANES>();
    for (chunk, codes) in chunks.iter().enumerate() {
        let mut equal = 0u32;
        for i in 0..LANES {
            equal |= u32::from(codes[i] == max) << i;
        }
        if equal != 0 {
            return (LANES * chunk + equal.trailing_zeros() as usize, max.into());
        }
    }
    let last = rest.iter().position(|&code| code == max);
    (LANES * chunks.len() + last.unwrap_or(0), max.into())
}
