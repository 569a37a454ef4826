//! The most visited nodes of a tree, for views that show a part of it.
//!
//! Best first: of all nodes whose parent is taken, the next one has the most visits; ties go to the
//! one found first. Nodes on wanted paths and the children of their last nodes come before all
//! others. Only statistics are read, no state is made, except with transpositions, where the rules
//! say whether a line ends by repetition.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::contracts::game::{Action, Game, Seat};
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::search::tree::Search;

/// A node and the edge that leads to it.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitedNode {
    /// The place of its parent in the list; None at the root.
    pub parent: Option<usize>,
    pub action: Action,
    /// N of the edge; at the root, of the node.
    pub visits: u32,
    /// Q of the edge for the seat that chose it; NaN if no seat did.
    pub q: f64,
    /// P of the edge; NaN at the root.
    pub prior: f64,
    /// The mean or proven value for the seat that was asked for.
    pub value: f64,
    pub proven: bool,
    pub kind: NodeKind,
    /// The seat to move, at a decision.
    pub seat: Option<Seat>,
    /// Visited children that are not in the list.
    pub missing: u32,
}

/// The nodes taken so far, and the visited children of those that are not.
struct Walk {
    taken: Vec<VisitedNode>,
    /// Parent's place, number of the edge, step of a wanted path that ends here.
    found: Vec<(usize, NodeId, Option<usize>)>,
    /// Whether a child is not wanted, its visits, its place in `found`: the least is next.
    waiting: BinaryHeap<Reverse<(bool, Reverse<u32>, usize)>>,
    wanted: Paths,
}

/// Paths as a tree of steps.
struct Paths {
    steps: HashMap<(usize, Action), usize>,
    /// By step: whether a path ends here.
    ends: Vec<bool>,
}

impl Paths {
    fn new(paths: &[Vec<Action>]) -> Self {
        let (mut steps, mut ends) = (HashMap::new(), vec![false]);
        for path in paths {
            let last = path.iter().fold(0, |step, &action| {
                *steps.entry((step, action)).or_insert_with(|| {
                    ends.push(false);
                    ends.len() - 1
                })
            });
            ends[last] = true;
        }
        Self { steps, ends }
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The `most` most visited nodes, parents first, and besides them those on `wanted` paths with
    /// the children of each path's last node; at most `limit` in all. Values are those of `seat`.
    pub fn most_visited(
        &self,
        seat: Seat,
        most: usize,
        limit: usize,
        wanted: &[Vec<Action>],
    ) -> Result<Vec<VisitedNode>, G::Error> {
        let mut walk = Walk {
            taken: Vec::new(),
            found: Vec::new(),
            waiting: BinaryHeap::new(),
            wanted: Paths::new(wanted),
        };
        let Some(mut most) = most.checked_sub(1) else {
            return Ok(walk.taken);
        };
        let root = self.tree.root;
        walk.taken.push(self.as_visited(root, None, seat));
        self.add_candidates(root, Some(0), &mut walk)?;
        while let Some(Reverse((is_more, _, number))) = walk.waiting.pop() {
            if walk.taken.len() >= limit || is_more && most == 0 {
                break; // the wanted ones came first
            }
            most -= usize::from(is_more);
            let (parent, edge, step) = walk.found[number];
            let chooser = walk.taken[parent].seat;
            walk.taken[parent].missing -= 1;
            let mut node = self.as_visited(edge, Some(chooser), seat);
            node.parent = Some(parent);
            walk.taken.push(node);
            self.add_candidates(self.pool.position(edge), step, &mut walk)?;
        }
        Ok(walk.taken)
    }

    /// The node behind an edge that was chosen by `chooser`, or the root, which nobody chose.
    fn as_visited(&self, edge: NodeId, chooser: Option<Option<Seat>>, seat: Seat) -> VisitedNode {
        let step = self.pool.present(edge);
        let node = &self.pool[self.pool.position(edge)];
        let visits = f64::from(step.visits);
        let q = |chooser| {
            let reward = V::reward(&step.extra, chooser);
            (visits * reward + self.settings.config.discount * step.w.seat(chooser)) / visits
        };
        let proven = self.settings.config.proofs && node.is_proven();
        let value = match proven {
            true => node.proven().seat(seat),
            false => node.w.seat(seat) / f64::from(node.visits),
        };
        VisitedNode {
            parent: None,
            action: step.action,
            visits: step.visits,
            q: chooser.flatten().map_or(f64::NAN, q),
            prior: chooser.map_or(f64::NAN, |_| step.prior.into()),
            value: value + 0.0, // turns the -0 of a negated draw into 0
            proven,
            kind: node.kind(),
            seat: (node.kind() == NodeKind::Decision).then(|| node.seat()),
            missing: 0,
        }
    }

    /// Adds the visited children of the node taken last; `step` is its place on the wanted paths.
    fn add_candidates(
        &self,
        id: NodeId,
        step: Option<usize>,
        walk: &mut Walk,
    ) -> Result<(), G::Error> {
        let parent = walk.taken.len() - 1;
        if self.settings.config.transpositions && self.is_repeated(&walk.taken)? {
            return Ok(()); // this line ends here, others go on
        }
        let mut children: Vec<NodeId> = self.pool.ids(id).collect();
        children.retain(|&child| self.pool[child].visits > 0);
        children.sort_by_key(|&child| self.pool[child].index);
        walk.taken[parent].missing = children.len() as u32;
        let is_end = step.is_some_and(|step| walk.wanted.ends[step]);
        for child in children {
            let node = &self.pool[child];
            let next = step.and_then(|step| walk.wanted.steps.get(&(step, node.action)).copied());
            let is_more = !is_end && next.is_none();
            let entry = (is_more, Reverse(node.visits), walk.found.len());
            walk.waiting.push(Reverse(entry));
            walk.found.push((parent, child, next));
        }
        Ok(())
    }

    /// Whether the position of the node taken last repeats one on its path.
    fn is_repeated(&self, taken: &[VisitedNode]) -> Result<bool, G::Error> {
        let mut path = Vec::new();
        let mut node = taken.last();
        while let Some((step, parent)) = node.and_then(|node| Some((node, node.parent?))) {
            path.push(step.action);
            node = taken.get(parent);
        }
        let mut state = self.tree.state.clone();
        for &action in path.iter().rev() {
            state.apply(action)?;
        }
        Ok(state.is_repetition())
    }
}
