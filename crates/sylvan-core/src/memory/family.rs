//! Families: the visited children of a node, and the cached step of the next simulation from it.
//!
//! ```text
//!     back    best: the highest unvisited prior, -inf if none is left                   (f32)
//!             mass: the sum of the priors of the children                               (f32)
//!             edges, or NONE
//!             unfinished (16 bits): children without a finished visit;
//!             best index (16 bits): of the legal action with the best unvisited prior
//!     front   next: the next simulation's step from here: a link, UNKNOWN or NEW
//!             the slot of that child, the number of children (16 bits each)
//!             the node, its action
//!     then per four children a unit each of
//!             q     Q for the seat to move here, on the scale of scores
//!                   where the value range is known; -inf if closed                      (f32)
//!             u     P / (1 + n)                                                         (f32)
//!             link  to the child's family if it has one, otherwise to its node
//! ```
//!
//! The best step from a node changes only when a backup passes through it. So the backup selects
//! the next step for all nodes of its path and caches it in `next`; the next simulation follows
//! links, one read per level, without reading nodes.
//!
//! Scores are compared four at a time; lanes without a child look like closed edges. Children are
//! stored in the order of their first visits. Under PUCT and UCT that is by falling prior, then
//! rising index, which is the order for ties.
//!
//! Code that creates, moves or drops a child's family must call `relink` to update the link. Code
//! that changes any other input of a selection must call `forget_next`.

use crate::contracts::game::Action;
use crate::contracts::values::Values;
use crate::memory::arena::Unit;
use crate::memory::node::{NONE, Node, NodeId};
use crate::memory::pool::Pool;

/// The Q of a closed edge, so that no scan selects it.
pub const CLOSED: f32 = f32::NEG_INFINITY;

/// Children in a group.
pub const LANES: usize = 4;

/// Units of a group: q, u, link.
pub const GROUP: usize = 3;

/// Four children side by side.
pub type Group = [[u32; LANES]; GROUP];

pub(super) const Q: usize = 0;
pub(super) const U: usize = 1;
pub(super) const LINK: usize = 2;

/// Units before the groups.
const HEAD: u32 = 2;

/// A link to a child: to its family if it has one, otherwise to its node. The `next` step of a
/// family may also be `UNKNOWN` or `NEW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(pub(super) u32);

/// Marks links to families: arenas have at most 2^31 - 2 units, so the bit is free.
const FAMILY: u32 = 1 << 31;

/// Prefetch only in arenas larger than the CPU's caches.
const CACHE_BYTES: u64 = 128 << 20;

/// The target of a link.
#[derive(Clone, Copy, Debug)]
pub enum LinkTarget {
    Node(NodeId),
    Family(u32),
}

impl Link {
    /// The next simulation must select: something changed, or there was a tie.
    pub const UNKNOWN: Self = Self(u32::MAX);
    /// The best unvisited edge.
    pub const NEW: Self = Self(u32::MAX - 1);

    #[inline]
    pub fn is_child(self) -> bool {
        self.0 < Self::NEW.0
    }

    /// The target of a link to a child.
    #[inline]
    pub fn target(self) -> LinkTarget {
        match self.0 & FAMILY {
            0 => LinkTarget::Node(self.0),
            _ => LinkTarget::Family(self.0 & !FAMILY),
        }
    }
}

/// The part of a family read during descent.
#[derive(Clone, Copy)]
pub struct Front {
    pub next: Link,
    /// The next child's slot.
    pub slot: u16,
    pub node: NodeId,
    pub action: Action,
}

/// A visited child, as stored in its parent's family.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub id: NodeId,
    pub q: f32,
    pub u: f32,
}

/// The part of a family that summarises its edges.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub len: u16,
    pub unfinished: u16,
    /// The index and prior of the best unvisited edge, or `NO_EDGE`.
    pub best: (usize, f32),
    pub mass: f32,
    pub(crate) edges: u32,
}

/// Mutable access to a family, for the backup.
///
/// `Pool::family_mut` has checked that `len` children fit into the arena, so a slot is only checked
/// against `len`. Checking every access against the arena was 10 % of a backup's instructions.
pub struct FamilyMut<'a> {
    back: &'a mut [u32; 4],
    front: &'a mut [u32; 4],
    /// The first of the groups that `len` children need.
    groups: *mut [Unit; GROUP],
    /// The number of children.
    len: usize,
}

impl FamilyMut<'_> {
    /// The highest unvisited prior, -inf if none is left, and the sum of the children's priors.
    #[inline]
    pub fn untried(&self) -> (f32, f32) {
        (f32::from_bits(self.back[0]), f32::from_bits(self.back[1]))
    }

    /// The groups, including lanes without a child.
    #[inline]
    pub fn groups(&self) -> &[[Unit; GROUP]] {
        // SAFETY: there is room for `len` children.
        unsafe { std::slice::from_raw_parts(self.groups, self.len.div_ceil(LANES)) }
    }

    /// Points to the Q of the child in a slot; u is 4 numbers after it, the link 8.
    #[inline]
    fn q_pointer(&mut self, slot: usize) -> *mut u32 {
        assert!(slot < self.len, "slot after the last child");
        // SAFETY: there is room for `len` children.
        unsafe {
            self.groups
                .cast::<u32>()
                .add(slot + 2 * (slot & !(LANES - 1)))
        }
    }

    #[inline]
    pub fn link(&mut self, slot: usize) -> Link {
        // SAFETY: `q_pointer` returns one of the first four of a group's twelve numbers.
        Link(unsafe { *self.q_pointer(slot).add(LINK * LANES) })
    }

    /// Records a finished visit of the child in a slot: Q, unless the edge is closed, and u.
    /// `first` marks the child's first finished visit. Returns the number of children without a
    /// finished visit.
    #[inline]
    pub fn record(&mut self, slot: u16, q: f32, u: f32, first: bool) -> u16 {
        let q_at = self.q_pointer(slot.into());
        // SAFETY: as above.
        unsafe {
            if *q_at != CLOSED.to_bits() {
                *q_at = q.to_bits();
            }
            *q_at.add(U * LANES) = u.to_bits();
        }
        if first {
            self.back[3] -= 1;
        }
        self.back[3] as u16
    }

    #[inline]
    pub fn set_next(&mut self, next: Link, slot: u16) {
        self.front[0] = next.0;
        self.front[1] = (self.len as u32) << 16 | u32::from(slot);
    }
}

impl<V: Values> Pool<V> {
    #[inline]
    pub fn family_mut(&mut self, family: u32) -> FamilyMut<'_> {
        let start = family as usize;
        let units: &mut [Unit] = &mut self.arena;
        let arena_end = units.len(); // read before the pointers below, which a later use invalidates
        assert!(start + (HEAD as usize) < arena_end, "no family here");
        // SAFETY: the asserts check that head and groups are inside the arena for any `family`;
        // four numbers have the size of a unit and no stricter alignment; head and groups are
        // disjoint.
        unsafe {
            let back = units.as_mut_ptr().add(start);
            let front: &mut [u32; 4] = &mut *back.add(1).cast();
            let len = (front[1] >> 16) as usize;
            let end = start + HEAD as usize + GROUP * len.div_ceil(LANES);
            assert!(end <= arena_end, "family ends after the arena");
            FamilyMut {
                back: &mut *back.cast(),
                front,
                groups: back.add(HEAD as usize).cast(),
                len,
            }
        }
    }

    #[inline]
    pub fn family(&self, id: NodeId) -> Option<u32> {
        let node = &self[id];
        node.has_family().then_some(node.owned)
    }

    #[inline]
    pub fn front(&self, family: u32) -> Front {
        let [next, slot, node, action] = *self.arena.words(family + 1);
        Front {
            next: Link(next),
            slot: slot as u16,
            node,
            action,
        }
    }

    /// Forgets the cached step of a family.
    pub fn forget_next(&mut self, family: u32) {
        self.arena.words_mut(family + 1)[0] = Link::UNKNOWN.0;
    }

    #[inline]
    pub fn head(&self, node: &Node<V>) -> Option<Head> {
        if !node.has_family() {
            return None;
        }
        let [best, mass, edges, counts] = *self.arena.words(node.owned);
        let len = self.arena.words(node.owned + 1)[1] >> 16;
        Some(Head {
            len: len as u16,
            unfinished: counts as u16,
            best: ((counts >> 16) as usize, f32::from_bits(best)),
            mass: f32::from_bits(mass),
            edges,
        })
    }

    /// Writes the head of a family and forgets its cached step.
    #[inline(always)]
    pub(crate) fn set_head(&mut self, id: NodeId, head: Head) {
        let family = self[id].owned;
        let (index, best) = head.best;
        let counts = u32::from(head.unfinished) | (index as u32) << 16;
        *self.arena.words_mut(family) = [best.to_bits(), head.mass.to_bits(), head.edges, counts];
        let (len, action) = (u32::from(head.len) << 16, self[id].action);
        *self.arena.words_mut(family + 1) = [Link::UNKNOWN.0, len, id, action];
    }

    #[inline]
    pub fn groups(&self, family: u32) -> &[[Unit; GROUP]] {
        let len = self.arena.words(family + 1)[1] >> 16;
        let groups = self.arena[(family + HEAD) as usize..].as_chunks().0;
        &groups[..(len as usize).div_ceil(LANES)]
    }

    #[inline(always)]
    pub(super) fn group_mut(&mut self, family: u32, slot: usize) -> &mut Group {
        let start = (family + HEAD) as usize + GROUP * (slot / LANES);
        let units: &mut [Unit] = &mut self.arena[start..start + GROUP];
        &mut bytemuck::cast_slice_mut(units.as_chunks_mut::<GROUP>().0)[0]
    }

    /// Whether the arena is larger than the CPU's caches, so that prefetching pays off.
    #[inline]
    pub fn exceeds_cache(&self) -> bool {
        self.arena.bytes() > CACHE_BYTES
    }

    /// Prefetches the target of a link to a child.
    #[inline]
    pub fn prefetch(&self, link: Link) {
        self.arena.prefetch((link.0 & !FAMILY) + 1);
        self.arena
            .prefetch((link.0 & !FAMILY) + HEAD + GROUP as u32);
    }

    /// Prefetches a node and the groups of its family for the backup.
    #[inline]
    pub fn prefetch_for_backup(&self, node: NodeId, family: u32) {
        self.arena.prefetch(node);
        self.arena.prefetch(family + HEAD + GROUP as u32);
    }

    /// Prefetches a node.
    #[inline]
    pub fn prefetch_node(&self, node: NodeId) {
        self.arena.prefetch(node);
    }

    /// Prefetches what a node owns: its edges or its family.
    #[inline]
    pub fn prefetch_owned(&self, node: NodeId) {
        let owned = self[node].owned;
        if owned != NONE {
            self.arena.prefetch(owned);
            self.arena.prefetch(owned + HEAD + GROUP as u32);
        }
    }

    /// Prefetches the edges of a family for the next simulation.
    #[inline]
    pub fn prefetch_edges(&self, family: u32) {
        self.arena.prefetch(self.arena.words(family)[2]);
    }

    /// The visited children of a node, in the order of their slots.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = Child> {
        let groups = self.groups_of(id);
        (0..self.num_children(id)).map(move |slot| self.child_of(groups, slot))
    }

    /// The child in a slot, which must not be empty, as stored in its parent's family.
    pub fn child_at(&self, id: NodeId, slot: usize) -> Child {
        self.child_of(self.groups_of(id), slot)
    }

    fn groups_of(&self, id: NodeId) -> &[Group] {
        let family = self.family(id);
        bytemuck::cast_slice(family.map_or(&[][..], |family| self.groups(family)))
    }

    #[inline]
    fn child_of(&self, groups: &[Group], slot: usize) -> Child {
        let (group, lane) = (&groups[slot / LANES], slot % LANES);
        Child {
            id: self.node_of(Link(group[LINK][lane])),
            q: f32::from_bits(group[Q][lane]),
            u: f32::from_bits(group[U][lane]),
        }
    }

    /// The numbers of the visited children.
    pub fn ids(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.children(id).map(|child| child.id)
    }

    /// The child in a slot, which must not be empty.
    pub fn child(&self, id: NodeId, slot: u16) -> NodeId {
        self.node_of(self.link(self[id].owned, slot))
    }

    #[inline]
    pub fn link(&self, family: u32, slot: u16) -> Link {
        let slot = usize::from(slot);
        let links = &self.groups(family)[slot / LANES][LINK];
        Link(bytemuck::cast_ref::<_, [u32; LANES]>(links)[slot % LANES])
    }

    /// The node that a link leads to.
    #[inline]
    fn node_of(&self, link: Link) -> NodeId {
        match link.target() {
            LinkTarget::Node(id) => id,
            LinkTarget::Family(family) => self.arena.words(family + 1)[2],
        }
    }

    /// Updates the link to a child after its family was created, moved or dropped.
    #[inline(always)]
    pub fn relink(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        if self[child].is_shared() {
            return; // its edges lead to the node itself
        }
        let (family, link) = (self[parent].owned, self.link_to(child).0);
        self.group_mut(family, slot.into())[LINK][usize::from(slot) % LANES] = link;
        self.forget_next(family);
    }

    pub fn link_to(&self, id: NodeId) -> Link {
        Link(self.family(id).map_or(id, |family| family | FAMILY))
    }

    pub fn num_children(&self, id: NodeId) -> usize {
        self.head(&self[id]).map_or(0, |head| head.len.into())
    }

    /// The slot of the child with this action index.
    pub fn slot_of(&self, id: NodeId, index: u16) -> Option<u16> {
        let slot = self.ids(id).position(|child| self[child].index == index);
        slot.map(|slot| slot as u16)
    }
}

/// Units of a family with this many children; capacities are 4, 8, 12, 16, 24, 32, 48, ...
pub(super) fn family_units(children: usize) -> u32 {
    let groups = children.div_ceil(LANES);
    let power = groups.next_power_of_two();
    let groups = match groups {
        0..=4 => groups,
        _ if groups <= power / 4 * 3 => power / 4 * 3,
        _ => power,
    };
    HEAD + (GROUP * groups) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::numbers::PriorBits;
    use crate::contracts::values::Duel;
    use crate::memory::edges::{Edges, NO_EDGE};

    #[test]
    fn a_visit_changes_one_child_and_a_closed_edge_stays_closed() {
        let edges = Edges {
            bits: PriorBits::Eight,
            kept_below: 0,
            listed: false,
        };
        let mut pool = Pool::<Duel>::new(edges, 0);
        let mut bytes = 0;
        let parent = pool.add(Node::new(0, 0, 1.0), &mut bytes);
        for i in 0..10 {
            let child = pool.add(Node::new(i, i as u16, 0.5), &mut bytes);
            pool.push_child(parent, child, NO_EDGE, &mut bytes);
        }
        pool.close(parent, 6);
        for slot in 0..10 {
            let before: Vec<Child> = pool.children(parent).collect();
            let mut family = pool.family_mut(pool[parent].owned);
            assert_eq!(family.record(slot, 9.0, 0.25, true), 9 - slot);
            assert_eq!(
                family.link(slot.into()),
                pool.link_to(before[usize::from(slot)].id)
            );
            for (other, (old, new)) in before.iter().zip(pool.children(parent)).enumerate() {
                let (q, u) = match other == usize::from(slot) {
                    true => (if slot == 6 { CLOSED } else { 9.0 }, 0.25),
                    false => (old.q, old.u),
                };
                assert_eq!((new.id, new.q, new.u), (old.id, q, u));
            }
        }
    }

    #[test]
    #[should_panic(expected = "after the last child")]
    fn writing_after_the_last_child_panics() {
        let edges = Edges {
            bits: PriorBits::Eight,
            kept_below: 0,
            listed: false,
        };
        let mut pool = Pool::<Duel>::new(edges, 0);
        let mut bytes = 0;
        let parent = pool.add(Node::new(0, 0, 1.0), &mut bytes);
        let child = pool.add(Node::new(1, 0, 0.5), &mut bytes);
        pool.push_child(parent, child, NO_EDGE, &mut bytes);
        pool.family_mut(pool[parent].owned)
            .record(1, 0.0, 0.0, false);
    }

    #[test]
    #[should_panic(expected = "no family here")]
    fn a_family_outside_the_arena_panics() {
        let edges = Edges {
            bits: PriorBits::Eight,
            kept_below: 0,
            listed: false,
        };
        Pool::<Duel>::new(edges, 0).family_mut(u32::MAX);
    }

    #[test]
    #[should_panic(expected = "after the arena")]
    fn a_family_that_ends_after_the_arena_panics() {
        let edges = Edges {
            bits: PriorBits::Eight,
            kept_below: 0,
            listed: false,
        };
        let mut pool = Pool::<Duel>::new(edges, 0);
        let start = pool.allocate(4, &mut 0);
        pool.arena.words_mut(start + 1)[1] = u32::from(u16::MAX) << 16; // the number of children
        pool.family_mut(start);
    }
}
