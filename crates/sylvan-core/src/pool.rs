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
//!     then per four children:
//!     q[4]   Q for the seat that moves here; -inf if closed             (f32)
//!     u[4]   P / (1 + n)                                                (f32)
//!     id[4]  the children's numbers
//! ```
//!
//! Selection reads nothing but the header, `q` and `u`, four children at a time: capacities are
//! multiples of four, and places without a child look like closed edges. A block for four fills a
//! line of the processor's cache. Children stand in the order in which they were first tried, which
//! under PUCT and UCT is that of falling priors, then rising index: the order in which ties are
//! resolved.
//!
//! A decision node also owns the codes of its unvisited priors (`PriorBits`), one per legal action
//! in the game's order, 0 once visited; and for games that want it their action list behind it.

use crate::game::Action;
use crate::node::{NONE, Node, NodeId};
use crate::numbers::PriorBits;
use crate::pages::prefer_large;
use crate::values::Values;
use crate::words::{LINE, Words};

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
    /// Codes of unvisited priors, and actions.
    codes: Words,
    /// Blocks of children.
    blocks: Words,
    pub bits: PriorBits,
    keep_actions: bool,
}

/// Four children side by side: q, u, id.
type Group = [u32; 3 * LANES];

/// Children in a group.
pub const LANES: usize = 4;

/// What selection reads of a block.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    groups: &'a [Group],
    pub unfinished: u32,
    pub best: f32,
    pub mass: f32,
}

impl Scan<'_> {
    /// Q and u of the children, four at a time, places without a child included.
    #[inline]
    pub fn groups(&self) -> impl Iterator<Item = ([f32; LANES], [f32; LANES])> {
        self.groups.iter().map(|group| {
            let lane = |i: usize| f32::from_bits(group[i]);
            let q = [lane(0), lane(1), lane(2), lane(3)];
            (q, [lane(4), lane(5), lane(6), lane(7)])
        })
    }

    #[inline]
    pub fn id(&self, slot: usize) -> NodeId {
        self.groups[slot / LANES][2 * LANES + slot % LANES]
    }
}

/// A visited child as its parent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub id: NodeId,
    pub q: f32,
    pub u: f32,
}

/// Where a block lies.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    len: usize,
    capacity: usize,
}

impl Block {
    /// The place of a slot's q; u and id follow `LANES` and twice `LANES` behind.
    #[inline]
    fn place(start: usize, slot: usize) -> usize {
        start + HEADER as usize + 3 * LANES * (slot / LANES) + slot % LANES
    }
}

impl<V: Values> Pool<V> {
    pub fn new(bits: PriorBits, keep_actions: bool) -> Self {
        Self {
            nodes: Vec::new(),
            asked: 0,
            free: NONE,
            codes: Words::new(1),
            blocks: Words::new(LINE),
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
    fn block(&self, id: NodeId) -> Option<Block> {
        let start = self[id].children;
        (start != NONE).then(|| {
            let packed = self.blocks[start as usize];
            Block {
                start: start as usize,
                len: packed as usize & 0xffff,
                capacity: packed as usize >> 16,
            }
        })
    }

    /// The visited children of a node, in the order of their slots.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = Child> {
        let block = self.block(id);
        let len = block.map_or(0, |block| block.len);
        (0..len).map(move |slot| {
            let place = Block::place(block.map_or(0, |block| block.start), slot);
            Child {
                id: self.blocks[place + 2 * LANES],
                q: f32::from_bits(self.blocks[place]),
                u: f32::from_bits(self.blocks[place + LANES]),
            }
        })
    }

    /// The numbers of the visited children.
    pub fn ids(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.children(id).map(|child| child.id)
    }

    /// What selection reads of a node's children, `None` if it has none.
    #[inline]
    pub fn scan(&self, node: &Node<V>) -> Option<Scan<'_>> {
        if node.children == NONE {
            return None;
        }
        let words = &self.blocks[node.children as usize..];
        let (header, groups) = words.split_first_chunk::<{ HEADER as usize }>()?;
        let groups = groups.as_chunks().0;
        Some(Scan {
            groups: &groups[..header[0] as usize >> 18],
            unfinished: header[1],
            best: f32::from_bits(header[2]),
            mass: f32::from_bits(header[3]),
        })
    }

    pub fn has_children(&self, id: NodeId) -> bool {
        self[id].children != NONE
    }

    pub fn child(&self, id: NodeId, slot: u16) -> NodeId {
        self.blocks[Block::place(self[id].children as usize, usize::from(slot)) + 2 * LANES]
    }

    pub fn num_children(&self, id: NodeId) -> usize {
        self.block(id).map_or(0, |block| block.len)
    }

    /// The slot of the child behind legal action number `index`.
    pub fn slot_of(&self, id: NodeId, index: u16) -> Option<u16> {
        let place = self.ids(id).position(|child| self[child].index == index);
        place.map(|slot| slot as u16)
    }

    /// Appends a child without a finished visit; `best` is the highest prior then left unvisited.
    pub fn push_child(&mut self, parent: NodeId, child: NodeId, best: f32, bytes: &mut u64) -> u16 {
        let block = self.room(parent, bytes);
        let (prior, started) = (self[child].prior, self[child].started());
        let mass = f32::from_bits(self.blocks[block.start + 3]) + prior;
        self.blocks[block.start] = (block.capacity as u32) << 16 | (block.len as u32 + 1);
        self.blocks[block.start + 1] += 1;
        self.blocks[block.start + 2] = best.to_bits();
        self.blocks[block.start + 3] = mass.to_bits();
        let place = Block::place(block.start, block.len);
        self.blocks[place] = 0;
        self.blocks[place + LANES] = share(prior, started).to_bits();
        self.blocks[place + 2 * LANES] = child;
        block.len as u16
    }

    /// Takes out a child without a finished visit; `best` is as in `push_child`.
    pub fn pull_child(&mut self, parent: NodeId, child: NodeId, best: f32, bytes: &mut u64) {
        let Some(block) = self.block(parent) else {
            return;
        };
        let rest: Vec<Child> = self.children(parent).filter(|c| c.id != child).collect();
        if rest.is_empty() {
            return self.drop_block(parent, bytes);
        }
        let mut mass = 0.0;
        for (slot, Child { id, q, u }) in rest.iter().copied().enumerate() {
            mass += self[id].prior;
            let place = Block::place(block.start, slot);
            self.blocks[place] = q.to_bits();
            self.blocks[place + LANES] = u.to_bits();
            self.blocks[place + 2 * LANES] = id;
        }
        let last = Block::place(block.start, rest.len());
        self.blocks[last] = CLOSED.to_bits();
        self.blocks[last + LANES] = 0;
        self.blocks[last + 2 * LANES] = 0;
        self.blocks[block.start] = (block.capacity as u32) << 16 | rest.len() as u32;
        self.blocks[block.start + 1] -= 1;
        self.blocks[block.start + 2] = best.to_bits();
        self.blocks[block.start + 3] = mass.to_bits();
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
        let start = self.blocks.take(HEADER + 3 * new as u32, bytes) as usize;
        let end = start + HEADER as usize + 3 * new;
        match old {
            Some(old) => {
                let used = HEADER as usize + 3 * capacity;
                self.blocks.copy_within(old.start..old.start + used, start);
                self.blocks.give(old.start as u32, used as u32, bytes);
            }
            None => self.blocks[start..start + HEADER as usize].fill(0),
        }
        let added = &mut self.blocks[start + HEADER as usize + 3 * capacity..end];
        for group in added.as_chunks_mut::<{ 3 * LANES }>().0 {
            group[..LANES].fill(CLOSED.to_bits());
            group[LANES..].fill(0);
        }
        self.blocks[start] = (new as u32) << 16 | len as u32;
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
        let place = Block::place(block as usize, usize::from(slot));
        let lanes = &mut self.blocks[place..=place + LANES];
        if lanes[0] != CLOSED.to_bits() {
            lanes[0] = q.to_bits();
        }
        lanes[LANES] = u.to_bits();
    }

    /// Closes the edge to a child for good.
    pub fn close(&mut self, parent: NodeId, slot: u16) {
        let place = Block::place(self[parent].children as usize, usize::from(slot));
        self.blocks[place] = CLOSED.to_bits();
    }

    /// Brings `u` up to date after the child's visits or prior changed.
    #[inline]
    pub fn refresh_u(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let place = Block::place(self[parent].children as usize, usize::from(slot));
        self.blocks[place + LANES] = share(self[child].prior, self[child].started()).to_bits();
    }

    /// One child fewer is without a finished visit.
    #[inline]
    pub fn first_visit_finished(&mut self, parent: NodeId) {
        let start = self[parent].children as usize;
        self.blocks[start + 1] -= 1;
    }

    /// Puts the children into another order and their priors in force; `order` lists their
    /// numbers, `best` is as in `push_child`.
    pub fn reorder(&mut self, id: NodeId, order: &[NodeId], best: f32) {
        let Some(block) = self.block(id) else { return };
        let old: Vec<Child> = self.children(id).collect();
        let mut mass = 0.0;
        for (slot, &child) in order.iter().enumerate() {
            mass += self[child].prior;
            let u = share(self[child].prior, self[child].started());
            let q = old
                .iter()
                .find(|old| old.id == child)
                .map_or(0.0, |old| old.q);
            let place = Block::place(block.start, slot);
            self.blocks[place] = q.to_bits();
            self.blocks[place + LANES] = u.to_bits();
            self.blocks[place + 2 * LANES] = child;
        }
        self.blocks[block.start + 2] = best.to_bits();
        self.blocks[block.start + 3] = mass.to_bits();
    }

    /// Stores the priors of a decision node, all unvisited, and its actions if they are kept.
    pub fn set_edges(&mut self, id: NodeId, priors: &[f32], actions: &[Action], bytes: &mut u64) {
        let len = self.edge_words(priors.len());
        let start = self.codes.take(len, bytes);
        let block = &mut self.codes[start as usize..][..len as usize];
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
        let words = &self.codes[self[id].edges as usize..];
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice::<u32, u8>(words)[index].into(),
            PriorBits::Sixteen => bytemuck::cast_slice::<u32, u16>(words)[index].into(),
            PriorBits::ThirtyTwo => words[index],
        }
    }

    /// Marks an edge as visited.
    pub fn clear_code(&mut self, id: NodeId, index: usize) {
        self.set_code(id, index, 0);
    }

    /// Marks an edge as unvisited again.
    pub fn restore_code(&mut self, id: NodeId, index: usize, prior: f32) {
        self.set_code(id, index, self.bits.encode(prior));
    }

    #[inline]
    fn set_code(&mut self, id: NodeId, index: usize, code: u32) {
        let start = self[id].edges as usize;
        let words = &mut self.codes[start..];
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice_mut::<u32, u8>(words)[index] = code as u8,
            PriorBits::Sixteen => bytemuck::cast_slice_mut::<u32, u16>(words)[index] = code as u16,
            PriorBits::ThirtyTwo => words[index] = code,
        }
    }

    /// The place and code of the largest code, the first of equals; code 0 if all are visited.
    pub fn best_edge(&self, id: NodeId) -> (usize, u32) {
        match self.codes_of(id) {
            Codes::Eight(codes) => first_max(codes),
            Codes::Sixteen(codes) => first_max(codes),
            Codes::ThirtyTwo(codes) => first_max(codes),
        }
    }

    /// The largest code alone.
    pub fn best_code(&self, id: NodeId) -> u32 {
        match self.codes_of(id) {
            Codes::Eight(codes) => max(codes).into(),
            Codes::Sixteen(codes) => max(codes).into(),
            Codes::ThirtyTwo(codes) => max(codes),
        }
    }

    fn codes_of(&self, id: NodeId) -> Codes<'_> {
        let node = &self[id];
        let n = usize::from(node.num_edges);
        if node.edges == NONE {
            return Codes::ThirtyTwo(&[]);
        }
        let words = &self.codes[node.edges as usize..][..self.edge_words(n) as usize];
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
        Some(&self.codes[end - n..end])
    }

    /// Gives back the codes of a node.
    pub fn drop_edges(&mut self, id: NodeId, bytes: &mut u64) {
        let start = std::mem::replace(&mut self[id].edges, NONE);
        if start != NONE {
            let len = self.edge_words(usize::from(self[id].num_edges));
            self.codes.give(start, len, bytes);
        }
    }

    /// Gives back the block of children of a node; the children themselves must be gone.
    pub fn drop_block(&mut self, id: NodeId, bytes: &mut u64) {
        if let Some(block) = self.block(id) {
            self[id].children = NONE;
            self.blocks.give(
                block.start as u32,
                HEADER + 3 * block.capacity as u32,
                bytes,
            );
        }
    }

    /// Bytes that the pool ever used, free ones included.
    pub fn bytes(&self) -> u64 {
        let nodes = self.nodes.len() as u64 * Self::NODE_BYTES;
        nodes + self.codes.bytes() + self.blocks.bytes()
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
        for (i, &code) in codes.iter().enumerate() {
            equal |= u32::from(code == max) << i;
        }
        if equal != 0 {
            return (LANES * chunk + equal.trailing_zeros() as usize, max.into());
        }
    }
    let last = rest.iter().position(|&code| code == max);
    (LANES * chunks.len() + last.unwrap_or(0), max.into())
}
