//! Changes to families (`family.rs`): add, remove and reorder children.
//!
//! A family has a capacity of 4, 8, 12, 16, 24, 32, 48, ... children and moves when it is full, so
//! adding a child takes amortised constant time. `bytes` counts the bytes of the tree.

use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child, Head, LANES, LINK, Q, U, family_units};
use crate::memory::node::NodeId;
use crate::memory::pool::Pool;

impl<V: Values> Pool<V> {
    /// Appends a child without a finished visit; `best` is the best edge that remains unvisited, as
    /// in `Head`.
    #[inline(always)]
    pub fn push_child(
        &mut self,
        parent: NodeId,
        child: NodeId,
        best: (usize, f32),
        bytes: &mut u64,
    ) -> u16 {
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
        group[LINK][lane] = child;
        slot
    }

    /// Removes a child without a finished visit; `best` is as in `push_child`.
    pub fn remove_child(
        &mut self,
        parent: NodeId,
        child: NodeId,
        best: (usize, f32),
        bytes: &mut u64,
    ) {
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
        let lane = rest.len() % LANES;
        if lane > 0 {
            let group = self.group_mut(family, rest.len());
            (group[Q][lane], group[U][lane], group[LINK][lane]) = (CLOSED.to_bits(), 0, 0);
        }
        self.set_head(parent, head);
        let new = family_units(rest.len());
        if new < old {
            self.free(family + new, old - new, bytes);
        }
    }

    /// Makes room for one more child; returns the family's head.
    #[inline(always)]
    fn make_room(&mut self, id: NodeId, bytes: &mut u64) -> Head {
        let head = self.head(&self[id]).unwrap_or(Head {
            len: 0,
            unfinished: 0,
            best: (0, 0.0),
            mass: 0.0,
            edges: self[id].owned,
        });
        let len = usize::from(head.len);
        if len.is_multiple_of(LANES) {
            self.add_group(id, len, bytes);
        }
        head
    }

    /// Adds a group to a family whose groups are all full.
    fn add_group(&mut self, id: NodeId, len: usize, bytes: &mut u64) {
        let old = if len > 0 { family_units(len) } else { 0 };
        let new = family_units(len + 1);
        if new > old {
            let (from, to) = (self[id].owned, self.allocate(new, bytes));
            if old > 0 {
                let from = from as usize..(from + old) as usize;
                self.arena.copy_within(from, to as usize);
                self.free(self[id].owned, old, bytes);
            }
            self[id].owned = to;
            self[id].set_family(true);
        }
        let family = self[id].owned;
        *self.group_mut(family, len) = [[CLOSED.to_bits(); LANES], [0; LANES], [0; LANES]];
    }

    /// Closes the edge to a child: selection never takes it again.
    pub fn close(&mut self, parent: NodeId, slot: u16) {
        let family = self[parent].owned;
        self.group_mut(family, slot.into())[Q][usize::from(slot) % LANES] = CLOSED.to_bits();
    }

    /// Updates the Q of a child, unless its edge is closed.
    pub fn set_q(&mut self, parent: NodeId, slot: u16, q: f32) {
        let family = self[parent].owned;
        let stored = &mut self.group_mut(family, slot.into())[Q][usize::from(slot) % LANES];
        if *stored != CLOSED.to_bits() {
            *stored = q.to_bits();
        }
    }

    /// Puts another child into a slot.
    pub(crate) fn replace_child(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let (family, link) = (self[parent].owned, self.link_to(child).0);
        self.group_mut(family, slot.into())[LINK][usize::from(slot) % LANES] = link;
        self.forget_next(family);
    }

    /// Updates `u` after the child's visits or prior changed.
    #[inline]
    pub fn refresh_u(&mut self, parent: NodeId, slot: u16, child: NodeId) {
        let (family, u) = (self[parent].owned, self[child].share());
        self.group_mut(family, slot.into())[U][usize::from(slot) % LANES] = u.to_bits();
    }

    /// Reorders the children as in `order`, with their current priors; `best` is as in
    /// `push_child`.
    pub fn reorder(&mut self, id: NodeId, order: &[NodeId], best: (usize, f32)) {
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

    /// Writes the children of a family; returns the sum of their priors.
    fn set_children(&mut self, family: u32, children: &[Child]) -> f32 {
        let mut mass = 0.0;
        for (slot, &Child { id, q, u }) in children.iter().enumerate() {
            mass += self[id].prior;
            let link = self.link_to(id).0;
            let (group, lane) = (self.group_mut(family, slot), slot % LANES);
            (group[Q][lane], group[U][lane], group[LINK][lane]) = (q.to_bits(), u.to_bits(), link);
        }
        mass
    }

    /// Frees the family of a node; its children must have been removed.
    pub fn drop_family(&mut self, id: NodeId, bytes: &mut u64) {
        if let Some(head) = self.head(&self[id]) {
            let family = std::mem::replace(&mut self[id].owned, head.edges);
            self[id].set_family(false);
            self.free(family, family_units(head.len.into()), bytes);
        }
    }
}
