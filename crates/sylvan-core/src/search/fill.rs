//! The batch rule (`descend.rs`) and the limits of a search.

use crate::contracts::config::Stop;
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::node::NodeKind;
use crate::search::batch::Batch;
use crate::search::clock::{Clock, Signal};
use crate::search::descend::{DescentEnd, SearchError};
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};

/// A tree returns to its caller after this many descents without a leaf.
const MAX_DESCENTS_WITHOUT_LEAF: usize = 1 << 14;
/// Visits have 32 bits, visits in flight 16.
const MOST_VISITS: u32 = u32::MAX - u16::MAX as u32;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Fills the tree's part of a batch.
    pub fn fill(
        &mut self,
        batch: &mut Batch<G>,
        clock: &mut Clock,
    ) -> Result<(), SearchError<G::Error>> {
        let first = batch.len();
        let mut collided: Vec<Vec<Step>> = Vec::new();
        let mut blocked: Vec<Box<Visit<G>>> = Vec::new();
        let mut finished = 0;
        let result = loop {
            if batch.len() - first >= self.settings.config.leaves_in_flight {
                break Ok(());
            }
            let resumed = if G::HIDDEN { self.resume(clock) } else { None };
            // Free memory before the descent: it may drop a path without virtual visits.
            if resumed.is_none() && !self.may_start(clock, collided.is_empty()) {
                break Ok(());
            }
            let visit = batch.next(&self.tree.state);
            let end = match resumed {
                Some(walk) => {
                    *visit = *walk;
                    self.descend_in_deal(visit)
                }
                None if self.deals() => match self.deal(visit) {
                    Ok(()) => self.descend_in_deal(visit),
                    Err(error) => Err(error.into()),
                },
                None => self.descend(visit),
            };
            match end {
                Ok(DescentEnd::Leaf) => {
                    self.start_waiting(visit);
                    batch.add();
                }
                Ok(DescentEnd::Finished) => {
                    finished += 1;
                    if finished >= MAX_DESCENTS_WITHOUT_LEAF && batch.len() == first {
                        break Ok(());
                    }
                }
                Ok(DescentEnd::Collision) if collided.len() >= self.settings.config.collisions => {
                    if self.deals() {
                        blocked.push(Box::new(visit.clone()));
                    }
                    break Ok(());
                }
                Ok(DescentEnd::Collision) => {
                    self.add_virtual_visits(&visit.path);
                    let at_root = visit.path.len() == 1;
                    if self.deals() {
                        blocked.push(Box::new(visit.clone()));
                    }
                    collided.push(std::mem::take(&mut visit.path));
                    if at_root {
                        break Ok(()); // the root's evaluation must come first
                    }
                }
                Err(error) => {
                    self.undo_legal_edges(&visit.legal_edges);
                    self.tree.progress.started -= u64::from(visit.counted);
                    self.prune(&visit.path);
                    break Err(error);
                }
            }
        };
        for path in &collided {
            self.remove_virtual_visits(path);
        }
        if G::HIDDEN {
            blocked.into_iter().for_each(|walk| self.unblock(walk));
        }
        result
    }

    /// Marks the end of a descent as waiting for its evaluation, with virtual visits on its path.
    fn start_waiting(&mut self, visit: &mut Visit<G>) {
        self.add_virtual_visits(&visit.path);
        let leaf = visit.end();
        self.pool[leaf].set_pending(true);
        if self.deals() {
            self.tree.views.start_waiting(leaf, visit.own_key);
        }
        visit.ticket = self.tree.next_ticket();
        visit.state.assign_slot(self.tree.next_slot());
        visit.tree = self.tree.index_in_shard;
        self.tree.progress.waiting += 1;
        let counts = leaf != self.tree.root && !(G::HIDDEN && visit.counted);
        self.tree.progress.started += u64::from(counts);
    }

    /// The next suspended descent; it has its priors now. Abandons all if the clock has stopped the
    /// search.
    fn resume(&mut self, clock: &mut Clock) -> Option<Box<Visit<G>>> {
        if self.tree.suspended.is_empty() {
            return None;
        }
        if let Signal::Stop(stop) = clock.signal() {
            self.tree.progress.stop = Some(stop);
            self.abandon_suspended();
        }
        let walk = self.tree.suspended.pop_front()?;
        self.tree.progress.waiting -= 1;
        Some(walk)
    }

    /// Whether another simulation may start now; sets `progress.stop` if none may start any more.
    /// `exact`: all visits in flight will be finished, because none is a collision's.
    #[inline(always)]
    fn may_start(&mut self, clock: &mut Clock, exact: bool) -> bool {
        if self.tree.progress.stop.is_some() {
            return false;
        }
        let limits = &self.settings.config.limits;
        let progress = &self.tree.progress;
        let root = &self.pool[self.tree.root];
        let reached = |limit: Option<u64>, n: u64| limit.is_some_and(|limit| n >= limit);
        let expanded = root.kind() != NodeKind::Leaf;
        let known = self.settings.config.proofs && root.is_proven();
        let stop = if known || root.kind() == NodeKind::Terminal {
            Some(Stop::Proven)
        } else if expanded
            && (reached(limits.simulations, progress.started) || root.started() >= MOST_VISITS)
        {
            Some(Stop::Simulations)
        } else if expanded && reached(limits.nodes, self.tree.nodes) {
            Some(Stop::Nodes)
        } else if limits.depth.is_some_and(|depth| progress.depth >= depth) {
            Some(Stop::Depth)
        } else if exact && expanded && self.is_decided(clock) {
            Some(Stop::Decided)
        } else if self.tree.bytes > self.budget && expanded && !self.free_memory() {
            Some(Stop::Bytes)
        } else {
            match clock.signal() {
                Signal::Go => None,
                // Complete a started batch, so that its leaves do not depend on the time.
                Signal::Pause => return self.tree.progress.waiting > 0,
                // Always evaluate the root, so that there is a result.
                Signal::Stop(stop) => expanded.then_some(stop),
            }
        };
        self.tree.progress.stop = stop;
        stop.is_none()
    }

    /// Drops subtrees to keep the budget; returns false if that is not possible.
    #[cold]
    fn free_memory(&mut self) -> bool {
        let mut sweep = std::mem::take(&mut self.tree.sweep);
        let kept = sweep.make_room(self.pool, self.tree, self.budget);
        self.tree.sweep = sweep;
        kept
    }
}
