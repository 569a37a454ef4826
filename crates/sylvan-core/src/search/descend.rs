//! The descent of one simulation from the root to a leaf.
//!
//! The batch rule, for each tree: repeat descents. A descent ends
//!
//! - at a position that needs an evaluation: it joins the batch, and until its evaluation arrives
//!   every edge of its path has one more visit (a virtual visit: `n` and `N` grow, Q does not);
//! - at a finished or proven position: its value is backed up immediately, and the batch continues;
//! - at a position that already waits for its evaluation (a collision): it does not count as a
//!   simulation, but its virtual visits stay until the batch closes, so that the next descent takes
//!   another path.
//!
//! The batch closes when `leaves_in_flight` leaves wait, at collision number `collisions + 1`, when
//! the root itself waits, or when a limit is reached; then the virtual visits of collisions are
//! removed. A tree that finds no leaf for long returns an empty batch and is called again. A
//! descent changes statistics only at its end, so an error in a game leaves the tree unchanged.
//!
//! Twin: `sylvan.reference.search`.

use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::values::Values;
use crate::memory::family::{Link, LinkTarget};
use crate::memory::node::{NodeId, NodeKind};
use crate::memory::pool::{MAX_EDGES, Pool};
use crate::search::selection::Choice;
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};

/// The end of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescentEnd {
    Leaf,
    Finished,
    Collision,
}

/// An error that stops a search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError<E> {
    #[error("the game failed")]
    Game(E),
    #[error("a position has {0} legal actions; a tree holds at most 65532")]
    TooManyActions(usize),
    #[error("a position where it is a seat's turn has no legal action")]
    NoActions,
    #[error("a chance node has no outcome")]
    NoOutcomes,
    /// The actions from the root to each of the two states.
    #[error("two states with equal keys differ: after the actions {0:?}, and after {1:?}")]
    EqualKeys(Vec<Action>, Vec<Action>),
}

impl<E> From<E> for SearchError<E> {
    fn from(error: E) -> Self {
        Self::Game(error)
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Descends from the root to the end of this simulation. Backs up the values of finished
    /// positions; otherwise changes no statistics.
    #[inline(never)] // keeps its variables in registers
    pub(super) fn descend(
        &mut self,
        visit: &mut Visit<G>,
    ) -> Result<DescentEnd, SearchError<G::Error>> {
        visit.path.clear();
        visit.turn = None;
        visit.path.push(Step {
            node: self.tree.root,
            slot: 0,
        });
        if G::KEEP_STATES {
            visit.synced = 0;
        } else {
            visit.state.clone_from(&self.tree.state);
        }
        let mut id = self.tree.root;
        if let Some(choice) = self.forced_edge() {
            let step = self.follow(visit, id, choice)?;
            visit.path.push(step);
            id = step.node;
        }
        if self.follow_cached_links(visit, &mut id)? {
            id = self.take_unvisited_edge(visit, id)?;
            // Most descents end at the new node; with transpositions it may be a known one.
            if (!self.settings.config.transpositions || self.ends_here(visit, id))
                && let Some(outcome) = self.classify_leaf(visit, id)?
            {
                return Ok(outcome);
            }
        }
        self.select_slow_path(visit, id)
    }

    /// Continues the descent from a node of any kind.
    #[inline(never)] // keeps its setup out of `descend`: most descents do not get here
    fn select_slow_path(
        &mut self,
        visit: &mut Visit<G>,
        mut id: NodeId,
    ) -> Result<DescentEnd, SearchError<G::Error>> {
        loop {
            if self.end_repetition(visit) {
                return Ok(DescentEnd::Finished);
            }
            if self.follow_cached_links(visit, &mut id)? {
                id = self.take_unvisited_edge(visit, id)?;
                continue;
            }
            if self.end_repetition(visit) {
                return Ok(DescentEnd::Finished);
            }
            let step = if self.pool[id].is_open() {
                let choice = if self.settings.scans_all_edges() {
                    self.choose_by_scan(visit, id)?
                } else {
                    self.choose(id)
                };
                self.follow(visit, id, choice)?
            } else {
                match self.stop_at(visit, id)? {
                    Some(outcome) => return Ok(outcome),
                    None => self.draw(visit, id)?,
                }
            };
            visit.path.push(step);
            id = step.node;
        }
    }

    /// Takes the best unvisited edge of a node; returns the new node.
    #[inline(always)]
    fn take_unvisited_edge(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<NodeId, SearchError<G::Error>> {
        let (index, prior) = self.next_unvisited(id);
        let step = self.add_child(visit, id, index, prior)?;
        visit.path.push(step);
        Ok(step.node)
    }

    /// Follows the steps cached by backups, from family to family, and sets `id` to the last node.
    /// Returns whether its best unvisited edge comes next; if not, the caller must select.
    #[inline]
    fn follow_cached_links(&self, visit: &mut Visit<G>, id: &mut NodeId) -> Result<bool, G::Error> {
        if self.settings.fast_puct.is_none() {
            return Ok(false); // no steps are cached
        }
        if let Some(family) = self.pool.family(*id) {
            let Visit { state, path, .. } = visit;
            let (next, end) = match self.settings.config.transpositions {
                true => follow_links::<G, V, true>(self.pool, family, state, path)?,
                false => follow_links::<G, V, false>(self.pool, family, state, path)?,
            };
            *id = end;
            if !next.is_child() {
                return Ok(next == Link::NEW);
            }
        }
        Ok(self.pool[*id].is_open())
    }

    /// Handles a node where no seat selects; returns `None` at a chance node.
    #[inline(always)]
    fn stop_at(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Option<DescentEnd>, SearchError<G::Error>> {
        let node = &self.pool[id];
        match node.kind() {
            NodeKind::Leaf if node.is_pending() => Ok(Some(DescentEnd::Collision)),
            NodeKind::Leaf if !node.is_proven() => self.classify_leaf(visit, id),
            NodeKind::Chance if !node.is_proven() => Ok(None),
            _ => self.finish(visit, id).map(Some),
        }
    }

    /// Classifies a new node; returns `None` if it is a chance node.
    #[inline(always)]
    fn classify_leaf(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Option<DescentEnd>, SearchError<G::Error>> {
        let turn = match visit.turn.take() {
            Some(turn) => turn,
            None => {
                self.sync(visit)?;
                visit.state.turn(&mut visit.actions)?
            }
        };
        self.record_turn(visit, id, turn)
    }

    /// Brings the state to the end of the path, with `KEEP_STATES` from the nearest stored state;
    /// otherwise it is already there.
    pub(crate) fn sync(&self, visit: &mut Visit<G>) -> Result<(), G::Error> {
        if !G::KEEP_STATES || visit.synced == visit.path.len() {
            return Ok(());
        }
        let path = visit.path.iter().enumerate().rev();
        let mut kept = path.filter_map(|(i, step)| Some((i, self.tree.kept.get(step.node)?)));
        let (last, state) = kept.next().unwrap_or((0, &self.tree.state));
        visit.state.clone_from(state);
        for i in last + 1..visit.path.len() {
            let Step { node, slot } = visit.path[i];
            let edge = self.pool.edge(visit.path[i - 1].node, slot, node);
            visit.state.apply(self.pool[edge].action)?;
        }
        visit.synced = visit.path.len();
        Ok(())
    }

    /// Applies an action to the state at the end of the path.
    pub(super) fn step(visit: &mut Visit<G>, action: Action) -> Result<(), G::Error> {
        if G::KEEP_STATES {
            visit.synced = visit.path.len() + 1;
        }
        visit.state.apply(action)
    }

    /// Records the kind of a new node; expands a chance node and returns `None`.
    #[inline(always)]
    fn record_turn(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
        turn: Turn,
    ) -> Result<Option<DescentEnd>, SearchError<G::Error>> {
        match turn {
            Turn::Seat(seat) => {
                let n = visit.actions.len();
                if n == 0 && !(G::LEARNED && id != self.tree.root) {
                    return Err(SearchError::NoActions);
                }
                if n > MAX_EDGES {
                    return Err(SearchError::TooManyActions(n));
                }
                visit.seat = seat;
                self.record_depth(visit);
                Ok(Some(DescentEnd::Leaf))
            }
            Turn::Chance => {
                visit.state.chance_outcomes(&mut self.scratch.outcomes)?;
                match self.scratch.outcomes.len() {
                    0 => return Err(SearchError::NoOutcomes),
                    n if n > MAX_EDGES => return Err(SearchError::TooManyActions(n)),
                    n => self.pool[id].num_edges = n as u16,
                }
                self.pool[id].set_kind(NodeKind::Chance);
                if G::KEEP_STATES {
                    // Store a copy, because the descent changes its own state.
                    self.tree.store_state(id, &visit.state.clone());
                }
                Ok(None)
            }
            Turn::Over => {
                let value = self.returns(&visit.state)?;
                self.pool[id].set_kind(NodeKind::Terminal);
                self.record_depth(visit);
                let proven = self.settings.config.proofs && self.prove_terminal(id, &value);
                self.add_finished(&visit.path, value, proven);
                Ok(Some(DescentEnd::Finished))
            }
        }
    }

    /// Ends a descent at a finished or proven position.
    fn finish(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<DescentEnd, SearchError<G::Error>> {
        let value = if self.settings.config.proofs && self.pool[id].is_proven() {
            self.pool[id].proven()
        } else {
            self.sync(visit)?;
            self.returns(&visit.state)?
        };
        self.record_depth(visit);
        self.add_finished(&visit.path, value, false);
        Ok(DescentEnd::Finished)
    }

    pub(super) fn add_finished(&mut self, path: &[Step], value: V, proven: bool) {
        self.backup(path, value, proven);
        self.tree.progress.started += 1;
        self.tree.progress.finished += 1;
    }

    pub(crate) fn record_depth(&mut self, visit: &Visit<G>) {
        let depth = visit.path.len() as u32 - 1;
        self.tree.progress.depth = self.tree.progress.depth.max(depth);
    }

    pub(crate) fn returns(&mut self, state: &G) -> Result<V, G::Error> {
        let seats = &mut self.scratch.seats;
        seats.clear();
        seats.resize(self.settings.rules.num_players, 0.0);
        state.returns(seats)?;
        Ok(V::from_seats(seats))
    }

    /// Takes an edge.
    fn follow(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
        choice: Choice,
    ) -> Result<Step, SearchError<G::Error>> {
        match choice {
            Choice::Visited(slot, child) => {
                if !G::KEEP_STATES {
                    Self::step(visit, self.pool[child].action)?;
                }
                let node = self.pool.position(child);
                Ok(Step { node, slot })
            }
            Choice::New(index, prior) => self.add_child(visit, id, index, prior),
        }
    }
}

/// The size of states that fit into registers, in bytes.
const FEW: usize = 32;

/// Follows the cached steps from a family, with the state and the path; returns the last link and
/// the last node. A last link to a child leads to a node without a family. With shared positions it
/// stops where the game ends by repetition.
#[inline(never)] // tells the compiler that arguments do not alias
fn follow_links<G: Game, V: Values, const SHARED: bool>(
    pool: &Pool<V>,
    family: u32,
    state: &mut G,
    path: &mut Vec<Step>,
) -> Result<(Link, NodeId), G::Error> {
    if G::KEEP_STATES || size_of::<G>() > FEW {
        return follow_links_in_place::<G, V, SHARED>(pool, family, state, path);
    }
    let mut near = state.clone();
    let end = follow_links_in_place::<G, V, SHARED>(pool, family, &mut near, path)?;
    *state = near;
    Ok(end)
}

#[inline(always)]
fn follow_links_in_place<G: Game, V: Values, const SHARED: bool>(
    pool: &Pool<V>,
    family: u32,
    state: &mut G,
    path: &mut Vec<Step>,
) -> Result<(Link, NodeId), G::Error> {
    let mut front = pool.front(family);
    loop {
        let (next, slot) = (front.next, front.slot);
        if !next.is_child() {
            return Ok((next, front.node));
        }
        let (node, action, family) = match next.target() {
            LinkTarget::Family(family) => {
                front = pool.front(family);
                (front.node, front.action, Some(family))
            }
            LinkTarget::Node(edge) if SHARED => {
                let node = pool.position(edge);
                let family = pool.family(node);
                if let Some(family) = family {
                    front = pool.front(family);
                }
                (node, pool[edge].action, family)
            }
            LinkTarget::Node(node) => (node, pool[node].action, None),
        };
        if let Some(family) = family {
            pool.prefetch_for_backup(node, family);
        }
        if !G::KEEP_STATES {
            state.apply(action)?;
        }
        path.push(Step { node, slot });
        if SHARED && state.is_repetition() {
            return Ok((Link::UNKNOWN, node));
        }
        if family.is_none() {
            return Ok((next, node));
        }
    }
}
