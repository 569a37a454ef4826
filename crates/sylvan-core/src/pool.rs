//! Where trees live: nodes and what they own, shared by all trees of one thread.
//!
//! Sharing one pool between the trees of a forest keeps their memory warm: what one game frees the
//! next one uses. Node numbers never influence a search, so results do not depend on the sharing.
//!
//! Everything lies in one arena of 16-byte units (`arena.rs`). A node owns nothing, or its *edges*,
//! or a *family*, which leads on to its edges:
//!
//! ```text
//!     family, one unit:   len, unfinished (16 bits each): children, and those without a finished visit
//!                         best: the highest unvisited prior, negative if none is left   (f32)
//!                         mass: the sum of the priors of the children                   (f32)
//!                         edges, or NONE
//!     then per four children a unit each of
//!                         q   Q for the seat that moves here, on the scale of scores
//!                             where the range of values is known; -inf if closed        (f32)
//!                         u   P / (1 + n)                                               (f32)
//!                         id  the children's numbers
//! ```
//!
//! Selection reads nothing but the first unit, `q` and `u`, four children at a time: places without
//! a child look like closed edges. A family of four fills a line of the processor's cache. Children
//! stand in the order in which they were first tried, which under PUCT and UCT is that of falling
//! priors, then rising index: the order in which ties are resolved.
//!
//! The edges of a decision node (`edges.rs`) are the codes of its unvisited priors.

use crate::arena::{Arena, UNIT_BYTES, Unit};
use crate::edges::Edges;
use crate::game::Action;
use crate::node::{NONE, Node, NodeId};
use crate::numbers::PriorBits;
use crate::values::Values;

/// The most edges of a node: places are 16 bits.
pub const MAX_EDGES: usize = 65_532;

/// The Q of a closed edge: no score beats another with it.
pub const CLOSED: f32 = f32::NEG_INFINITY;

#[derive(Debug)]
pub struct Pool<V: Values> {
    arena: Arena,
    pub edges: Edges,
    values: std::marker::PhantomData<V>,
}

/// Children in a group.
pub const LANES: usize = 4;

/// Four children side by side: q, u, id.
pub type Group = [[u32; LANES]; 3];

const Q: usize = 0;
const U: usize = 1;
const ID: usize = 2;

/// What selection reads of a family.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    /// Places without a child included.
    pub groups: &'a [Group],
    pub unfinished: u32,
    pub best: f32,
    pub mass: f32,
}

impl Scan<'_> {
    #[inline]
    pub fn id(&self, slot: usize) -> NodeId {
        self.groups[slot / LANES][ID][slot % LANES]
    }
}

/// A visited child as its parent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub id: NodeId,
    pub q: f32,
    pub u: f32,
}

/// The first unit of a family.
#[derive(Clone, Copy)]
struct Head {
    len: u16,
    unfinished: u16,
    best: f32,
    mass: f32,
    edges: u32,
}

impl Head {
    #[inline]
    fn read(words: &[u32; 4]) -> Self {
        Self {
            len: words[0] as u16,
            unfinished: (words[0] >> 16) as u16,
            best: f32::from_bits(words[1]),
            mass: f32::from_bits(words[2]),
            edges: words[3],
        }
    }

    #[inline]
    fn words(self) -> [u32; 4] {
        let counts = u32::from(self.len) | u32::from(self.unfinished) << 16;
        [counts, self.best.to_bits(), self.mass.to_bits(), self.edges]
    }
}

impl<V: Values> Pool<V> {
    /// A pool of about this many bytes, as far as that is known.
    pub fn new(edges: Edges, bytes: u64) -> Self {
        Self {
            arena: Arena::new(bytes),
            edges,
            values: std::marker::PhantomData,
        }
    }

    const NODE_UNITS: usize = size_of::<Node<V>>().div_ceil(UNIT_BYTES as usize);
    const NODE_BYTES: u64 = Self::NODE_UNITS as u64 * UNIT_BYTES;

    fn take(&mut self, units: u32, bytes: &mut u64) -> u32 {
        *bytes += u64::from(units) * UNIT_BYTES;
        self.arena.take(units)
    }

    fn give(&mut self, start: u32, units: u32, bytes: &mut u64) {
        *bytes -= u64::from(units) * UNIT_BYTES;
        self.arena.give(start, units);
    }

    /// Adds a node and the bytes it takes.
    #[inline]
    pub fn add(&mut self, node: Node<V>, bytes: &mut u64) -> NodeId {
        let id = self.take(Self::NODE_UNITS as u32, bytes);
        self[id] = node;
        id
    }

    /// Frees a node that owns nothing any more.
    pub fn remove(&mut self, id: NodeId, bytes: &mut u64) {
        *bytes -= Self::NODE_BYTES;
        self.arena.give(id, Self::NODE_UNITS as u32);
    }

    #[inline]
    fn head(&self, node: &Node<V>) -> Option<Head> {
        let head = || Head::read(self.arena.words(node.owned));
        node.has_family().then(head)
    }

    fn set_head(&mut self, id: NodeId, head: Head) {
        let owned = self[id].owned;
        *self.arena.words_mut(owned) = head.words();
    }

    #[inline]
    fn groups(&self, family: u32, children: usize) -> &[Group] {
        let len = 3 * children.div_ceil(LANES);
        let units = &self.arena[family as usize + 1..][..len];
        bytemuck::cast_slice(units.as_chunks::<3>().0)
    }

    #[inline]
    fn group_mut(&mut self, family: u32, slot: usize) -> &mut Group {
        let start = family as usize + 1 + 3 * (slot / LANES);
        let units: &mut [Unit] = &mut self.arena[start..start + 3];
        &mut bytemuck::cast_slice_mut(units.as_chunks_mut::<3>().0)[0]
    }

    /// The visited children of a node, in the order of their slots.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = Child> {
        let len = self.num_children(id);
        let groups = match len {
            0 => &[],
            _ => self.groups(self[id].owned, len),
        };
        (0..len).map(move |slot| {
            let (group, lane) = (&groups[slot / LANES], slot % LANES);
            Child {
                id: group[ID][lane],
                q: f32::from_bits(group[Q][lane]),
                u: f32::from_bits(group[U][lane]),
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
        let head = self.head(node)?;
        Some(Scan {
            groups: self.groups(node.owned, usize::from(head.len)),
            unfinished: head.unfinished.into(),
            best: head.best,
            mass: head.mass,
        })
    }

    pub fn has_children(&self, id: NodeId) -> bool {
        self[id].has_family()
    }

    pub fn child(&self, id: NodeId, slot: u16) -> NodeId {
        let slot = usize::from(slot);
        self.groups(self[id].owned, slot + 1)[slot / LANES][ID][slot % LANES]
    }

    pub fn num_children(&self, id: NodeId) -> usize {
        self.head(&self[id]).map_or(0, |head| head.len.into())
    }

    /// The slot of the child behind legal action number `index`.
    pub fn slot_of(&self, id: NodeId, index: u16) -> Option<u16> {
        let place = self.ids(id).position(|child| self[child].index == index);
        place.map(|slot| slot as u16)
    }

    /// Appends a child without a finished visit; `best` is the highest prior then left unvisited.
    pub fn push_child(&mut self, parent: NodeId, child: NodeId, best: f32, bytes: &mut u64) -> u16 {
        let mut head = self.make_room(parent, bytes);
        let (prior, u) = (self[child].prior, self[child].share());
        let slot = head.len;
        head.len += 1;
        head.unfinished += 1;
        head.best = best;
        head.mass += prior;
        self.set_head(parent, head);
        let family = self[parent].owned;
        let group = self.group_mut(family, slot.into());
        let lane = usize::from(slot) % LANES;
        group[Q][lane] = 0;
        group[U][lane] = u.to_bits();
        group[ID][lane] = child;
        slot
    }

    /// Takes out a child without a finished visit; `best` is as in `push_child`.
    pub fn pull_child(&mut self, parent: NodeId, child: NodeId, best: f32, bytes: &mut u64) {
        let Some(mut head) = self.head(&self[parent]) else {
            return;
        };
        let rest: Vec<Child> = self.children(parent).filter(|c| c.id != child).collect();
        if rest.is_empty() {
            return self.drop_family(parent, bytes);
        }
        let (family, old) = (self[parent].owned, family_units(head.len.into()));
        head.len -= 1;
        head.unfinished -= 1;
        head.best = best;
        head.mass = self.set_children(family, &rest);
        let (lane, empty) = (rest.len() % LANES, f32::NEG_INFINITY.to_bits());
        if lane > 0 {
            let group = self.group_mut(family, rest.len());
            (group[Q][lane], group[U][lane], group[ID][lane]) = (empty, 0, 0);
        }
        self.set_head(parent, head);
        let new = family_units(rest.len());
        if new < old {
            self.give(family + new, old - new, bytes);
        }
    }

    /// The first unit of the node's family, which has room for one more child.
    #[inline]
    fn make_room(&mut self, id: NodeId, bytes: &mut u64) -> Head {
        let head = self.head(&self[id]).unwrap_or(Head {
            len: 0,
            unfinished: 0,
            best: 0.0,
            mass: 0.0,
            edges: self[id].owned,
        });
        let len = usize::from(head.len);
        if len.is_multiple_of(LANES) {
            self.add_group(id, len, bytes);
        }
        head
    }

    /// Adds a group to the family of a node all of whose groups are full.
    fn add_group(&mut self, id: NodeId, len: usize, bytes: &mut u64) {
        let old = if len > 0 { family_units(len) } else { 0 };
        let new = family_units(len + 1);
        if new > old {
            let (from, to) = (self[id].owned, self.take(new, bytes));
            if old > 0 {
                let from = from as usize..(from + old) as usize;
                self.arena.copy_within(from, to as usize);
                self.give(self[id].owned, old, bytes);
            }
            self[id].owned = to;
            self[id].set_family(true);
        }
        let family = self[id].owned;
        *self.group_mut(family, len) = [[CLOSED.to_bits(); LANES], [0; LANES], [0; LANES]];
    }

    /// Takes in a finished visit of the child in a slot: its Q, unless the edge is closed, and u.
    #[inline]
    pub fn record(&mut self, family: u32, slot: u16, q: f32, u: f32) {
        let group = self.group_mut(family, slot.into());
        let lane = usize::from(slot) % LANES;
        if group[Q][lane] != CLOSED.to_bits() {
            group[Q][lane] = q.to_bits();
        }
        group[U][lane] = u.to_bits();
    }

    /// Closes the edge to a child for good.
    pub fn close(&mut self, parent: NodeId, slot: u16) {
        let family = self[parent].owned;
        self.group_mut(family, slot.into())[Q][usize::from(slot) % LANES] = CLOSED.to_bits();
    }

    /// Brings `u` up to date after the child's visits or prior changed.
    #[inline]
    pub fn refresh_u(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let (family, u) = (self[parent].owned, self[child].share());
        self.group_mut(family, slot.into())[U][usize::from(slot) % LANES] = u.to_bits();
    }

    /// One child of the family fewer is without a finished visit.
    #[inline]
    pub fn first_visit_finished(&mut self, family: u32) {
        self.arena.words_mut(family)[0] -= 1 << 16;
    }

    /// Puts the children into another order and their priors in force; `order` lists their
    /// numbers, `best` is as in `push_child`.
    pub fn reorder(&mut self, id: NodeId, order: &[NodeId], best: f32) {
        let Some(mut head) = self.head(&self[id]) else {
            return;
        };
        let mut children: Vec<Child> = self.children(id).collect();
        children.sort_by_key(|child| order.iter().position(|&id| id == child.id));
        for child in &mut children {
            child.u = self[child.id].share();
        }
        head.best = best;
        head.mass = self.set_children(self[id].owned, &children);
        self.set_head(id, head);
    }

    /// Writes the children of a family; the sum of their priors.
    fn set_children(&mut self, family: u32, children: &[Child]) -> f32 {
        let mut mass = 0.0;
        for (slot, &Child { id, q, u }) in children.iter().enumerate() {
            mass += self[id].prior;
            let (group, lane) = (self.group_mut(family, slot), slot % LANES);
            (group[Q][lane], group[U][lane], group[ID][lane]) = (q.to_bits(), u.to_bits(), id);
        }
        mass
    }

    /// Stores the priors of a decision node, all unvisited, with zeros behind (`Edges::write`).
    #[inline]
    pub fn set_edges(&mut self, id: NodeId, priors: &[f32], actions: &[Action], bytes: &mut u64) {
        let n = actions.len();
        let units = self.edges.units(n);
        let start = self.take(units, bytes);
        let chunk = &mut self.arena[start as usize..][..units as usize];
        self.edges.write(chunk, priors, actions);
        self[id].owned = start;
        self[id].num_edges = n as u16;
    }

    /// The edges of a node, if it has any stored here.
    #[inline]
    fn edges_of(&self, node: &Node<V>) -> u32 {
        self.head(node).map_or(node.owned, |head| head.edges)
    }

    #[inline]
    fn edge_units(&self, id: NodeId) -> &[Unit] {
        let (start, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        match start {
            NONE => &[],
            _ => &self.arena[start as usize..][..self.edges.units(n) as usize],
        }
    }

    #[inline]
    fn edge_units_mut(&mut self, id: NodeId) -> &mut [Unit] {
        let (start, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        let units = self.edges.units(n) as usize;
        &mut self.arena[start as usize..][..units]
    }

    /// What was to be remembered with the edges of a node.
    #[inline]
    pub fn note(&self, id: NodeId) -> u32 {
        let n = usize::from(self[id].num_edges);
        self.edges.note(self.edge_units(id), n)
    }

    pub fn set_note(&mut self, id: NodeId, note: u32) {
        let (edges, n) = (self.edges, usize::from(self[id].num_edges));
        edges.set_note(self.edge_units_mut(id), n, note);
    }

    /// The code of an unvisited edge, 0 if it is visited.
    pub fn code(&self, id: NodeId, index: usize) -> u32 {
        self.edges.code(self.edge_units(id), index)
    }

    /// Marks an edge as visited; the prior of the best one that is left, negative if none is.
    #[inline]
    pub fn visit_edge(&mut self, id: NodeId, index: usize) -> f32 {
        let (edges, n) = (self.edges, usize::from(self[id].num_edges));
        let units = self.edge_units_mut(id);
        edges.set_code(units, index, 0);
        match edges.best(units, n).1 {
            0 => -1.0,
            code => edges.bits.decode(code),
        }
    }

    /// Marks an edge as unvisited again.
    pub fn restore_code(&mut self, id: NodeId, index: usize, prior: f32) {
        let edges = self.edges;
        edges.set_code(self.edge_units_mut(id), index, edges.bits.encode(prior));
    }

    /// The place and code of the largest code, the first of equals; code 0 if all are visited.
    #[inline]
    pub fn best_edge(&self, id: NodeId) -> (usize, u32) {
        let n = usize::from(self[id].num_edges);
        match self.edge_units(id) {
            [] => (0, 0),
            units => self.edges.best(units, n),
        }
    }

    /// The legal actions of a decision node, where they are kept.
    pub fn actions(&self, id: NodeId) -> Option<&[Action]> {
        let n = usize::from(self[id].num_edges);
        self.edges.actions(self.edge_units(id), n)
    }

    /// Gives back the edges of a node.
    pub fn drop_edges(&mut self, id: NodeId, bytes: &mut u64) {
        let (edges, n) = (self.edges_of(&self[id]), usize::from(self[id].num_edges));
        match self.head(&self[id]) {
            Some(head) => self.set_head(
                id,
                Head {
                    edges: NONE,
                    ..head
                },
            ),
            None => self[id].owned = NONE,
        }
        if edges != NONE {
            self.give(edges, self.edges.units(n), bytes);
        }
    }

    /// Gives back the family of a node; the children themselves must be gone.
    pub fn drop_family(&mut self, id: NodeId, bytes: &mut u64) {
        if let Some(head) = self.head(&self[id]) {
            let family = std::mem::replace(&mut self[id].owned, head.edges);
            self[id].set_family(false);
            self.give(family, family_units(head.len.into()), bytes);
        }
    }

    pub fn bits(&self) -> PriorBits {
        self.edges.bits
    }

    /// Bytes that the pool ever used, free ones included.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes()
    }
}

impl<V: Values> std::ops::Index<NodeId> for Pool<V> {
    type Output = Node<V>;

    #[inline]
    fn index(&self, id: NodeId) -> &Node<V> {
        let units = &self.arena[id as usize..id as usize + Self::NODE_UNITS];
        // SAFETY: a node is `Pod`, fits into its units and needs no stricter alignment. (What
        // `bytemuck` does, less its check of the alignment, which cost two instructions in a hundred.)
        unsafe { &*units.as_ptr().cast() }
    }
}

impl<V: Values> std::ops::IndexMut<NodeId> for Pool<V> {
    #[inline]
    fn index_mut(&mut self, id: NodeId) -> &mut Node<V> {
        const { assert!(align_of::<Node<V>>() <= align_of::<Unit>()) };
        let units = &mut self.arena[id as usize..id as usize + Self::NODE_UNITS];
        // SAFETY: as above, and the units are borrowed for as long as the node.
        unsafe { &mut *units.as_mut_ptr().cast() }
    }
}

impl<V: Values> Node<V> {
    /// The exploration share of the edge to this node, P / (1 + n).
    #[inline]
    pub fn share(&self) -> f32 {
        share(self.prior, self.started())
    }
}

#[inline]
fn share(prior: f32, started: u32) -> f32 {
    prior / (1 + started) as f32
}

/// Units of a family with so many children: room for 4, 8, 12, 16, 24, 32, 48, ...
fn family_units(children: usize) -> u32 {
    let groups = children.div_ceil(LANES);
    let power = groups.next_power_of_two();
    let groups = match groups {
        0..=4 => groups,
        _ if groups <= power / 4 * 3 => power / 4 * 3,
        _ => power,
    };
    1 + 3 * groups as u32
}
