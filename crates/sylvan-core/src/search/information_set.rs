//! Information-set search: one tree over public actions, a fresh deal for every simulation.
//!
//! The root is a view: the information of one seat. Each simulation completes it to a deal
//! (`Game::sample`) and takes, at every node, one of the actions that are legal *in this deal*, so
//! a node gains actions with further deals (`infoset_edges.rs`). Statistics are shared by all deals
//! with the same actions so far, so no seat below the root can plan with cards that it cannot see.
//!
//! ```text
//!     score(a) = Q_s(a) + c(m) * P(a) * sqrt(m) / (1 + n(a))      m = m(a), at least 1
//! ```
//!
//! `m(a)` is the number of visits of the node at which `a` was legal; it replaces the node's
//! visits, so that a rarely legal action is not explored more because of visits at which it was
//! illegal. UCT uses `ln m(a)`. If every action is legal in every deal, as at the root, both rules
//! are unchanged. First-play urgency is as in `selection.rs`; its prior mass is that of the tried
//! legal actions.
//!
//! Priors depend on the view of the seat to move in the deal: each node and view (`Game::own_key`)
//! is evaluated once, and its priors are stored. A simulation ends at its first visit of a node. At
//! a known node with a new view it waits for the priors and then continues, unless
//! `stop_at_new_views`. With flat priors it never waits.
//!
//! Limits: nothing is proven, because results differ between deals. All actions are assumed public:
//! the search would plan with a hidden move or draw inside the tree as if it were visible. Rules:
//! PUCT, UCT.
//!
//! Twin: `sylvan.reference.deals`. Paper: Cowling, Powley and Whitehouse 2012 (SO-ISMCTS).

use crate::contracts::config::{Fpu, Selection};
use crate::contracts::game::{Game, Seat, Turn};
use crate::contracts::numbers::softmax;
use crate::contracts::values::Values;
use crate::memory::node::{NONE, Node, NodeId, NodeKind};
use crate::memory::pool::MAX_EDGES;
use crate::search::descend::{DescentEnd, SearchError};
use crate::search::scale::Scale;
use crate::search::selection::{Choice, first_play_urgency};
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};
use crate::search::widening::{Candidate, ChoiceContext};
use crate::sources::deals::deal;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Whether this is an information-set tree.
    #[inline]
    pub(crate) fn deals(&self) -> bool {
        G::HIDDEN && self.settings.deals
    }

    /// Starts a descent at the root with a fresh deal.
    pub(crate) fn deal(&mut self, visit: &mut Visit<G>) -> Result<(), G::Error> {
        visit.path.clear();
        visit.legal_edges.clear();
        visit.counted = false;
        visit.path.push(Step {
            node: self.tree.root,
            slot: 0,
        });
        deal(&self.tree.state, &mut visit.state, &mut self.tree.rng)
    }

    /// Continues a descent from the end of its path, in its deal, to the end of the simulation.
    pub(crate) fn descend_in_deal(
        &mut self,
        visit: &mut Visit<G>,
    ) -> Result<DescentEnd, SearchError<G::Error>> {
        let mut id = visit.end();
        loop {
            let step = if id == self.tree.root && self.pool[id].is_open() {
                let choice = match self.forced_edge() {
                    Some(choice) => choice,
                    None if self.settings.scans_all_edges() => self.choose_by_scan(visit, id)?,
                    None => self.choose(id),
                };
                self.step_from_root(visit, choice)?
            } else {
                match visit.state.turn(&mut visit.actions)? {
                    Turn::Over => return self.finish_in_deal(visit, id),
                    Turn::Chance => self.draw_in_deal(visit, id)?,
                    Turn::Seat(seat) => {
                        visit.seat = seat;
                        if let Some(outcome) = self.stop_for_evaluation(visit, id)? {
                            return Ok(outcome);
                        }
                        self.choose_in_deal(visit, id)?
                    }
                }
            };
            visit.path.push(step);
            id = step.node;
        }
    }

    /// Takes an edge of the root; its actions are the same in all deals.
    fn step_from_root(
        &mut self,
        visit: &mut Visit<G>,
        choice: Choice,
    ) -> Result<Step, SearchError<G::Error>> {
        match choice {
            Choice::Visited(slot, node) => {
                visit.state.apply(self.pool[node].action)?;
                Ok(Step { node, slot })
            }
            Choice::New(index, prior) => {
                let action = self.tree.edges.actions[index];
                visit.state.apply(action)?;
                self.attach_child(
                    visit,
                    self.tree.root,
                    Node::new(action, index as u16, prior),
                )
            }
        }
    }

    fn finish_in_deal(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<DescentEnd, SearchError<G::Error>> {
        let value = self.returns(&visit.state)?;
        if self.pool[id].kind() == NodeKind::Leaf {
            self.pool[id].set_kind(NodeKind::Terminal);
        }
        self.record_depth(visit);
        self.backup(&visit.path, value, false);
        self.tree.progress.started += u64::from(!visit.counted);
        self.tree.progress.finished += 1;
        Ok(DescentEnd::Finished)
    }

    /// Ends the descent if the seat to move needs an evaluation first; `None` if its priors are
    /// known.
    fn stop_for_evaluation(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Option<DescentEnd>, SearchError<G::Error>> {
        let n = visit.actions.len();
        match n {
            0 => return Err(SearchError::NoActions),
            n if n > MAX_EDGES => return Err(SearchError::TooManyActions(n)),
            _ => {}
        }
        let fresh = id == self.tree.root || self.pool[id].num_edges == 0;
        let flat = self.settings.config.flat_priors;
        visit.own_key = if flat { 0 } else { visit.state.own_key()? };
        let known = flat
            || self
                .tree
                .views
                .get(id, visit.own_key)
                .is_some_and(|priors| priors.len() == n);
        if !fresh && known {
            return Ok(None);
        }
        if self.tree.views.is_waiting(id, visit.own_key) {
            return Ok(Some(DescentEnd::Collision));
        }
        visit.resumes = !fresh && !self.settings.config.stop_at_new_views;
        self.record_depth(visit);
        Ok(Some(DescentEnd::Leaf))
    }

    /// Draws an outcome of chance in this deal.
    fn draw_in_deal(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Step, SearchError<G::Error>> {
        visit.state.chance_outcomes(&mut self.scratch.outcomes)?;
        let outcomes = std::mem::take(&mut self.scratch.outcomes);
        match outcomes.len() {
            0 => return Err(SearchError::NoOutcomes),
            n if n > MAX_EDGES => return Err(SearchError::TooManyActions(n)),
            _ => {}
        }
        if self.pool[id].kind() == NodeKind::Leaf {
            self.pool[id].set_kind(NodeKind::Chance);
        }
        self.list_legal_edges(visit, id, outcomes.iter().map(|outcome| outcome.0));
        let drawn = self.tree.rng.pick(outcomes.iter().map(|outcome| outcome.1));
        let probability = outcomes[drawn].1 as f32;
        self.scratch.outcomes = outcomes;
        self.take_edge(visit, id, drawn, probability)
    }

    /// Selects one of the legal actions in this deal; their priors are known.
    fn choose_in_deal(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Step, SearchError<G::Error>> {
        let mut priors = std::mem::take(&mut self.scratch.priors);
        priors.clear();
        match self.tree.views.get(id, visit.own_key) {
            Some(known) if !self.settings.config.flat_priors => priors.extend_from_slice(known),
            _ => priors.resize(
                visit.actions.len(),
                self.settings.flat_prior(visit.actions.len()),
            ),
        }
        let actions = std::mem::take(&mut visit.actions);
        self.list_legal_edges(visit, id, actions.iter().copied());
        visit.actions = actions;
        let chosen = if self.settings.scans_all_edges() {
            self.best_available_by_scan(visit, id, &priors)
        } else {
            self.best_available(id, visit.seat, &priors)
        };
        let prior = priors[chosen];
        self.scratch.priors = priors;
        self.take_edge(visit, id, chosen, prior)
    }

    /// Writes the edge indices of the legal actions in this deal to the scratch and to the visit.
    fn list_legal_edges(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
        actions: impl Iterator<Item = u32>,
    ) {
        self.scratch.edge_indices.clear();
        for (i, action) in actions.enumerate() {
            let index = self.pool.infoset_index(id, action, i, &mut self.tree.bytes);
            self.pool.prefetch_child(id, index);
            self.scratch.edge_indices.push(index as u32);
            visit.legal_edges.push((id, index as u32));
        }
    }

    /// Counts one more available visit for the legal edges, and takes the edge at index `chosen` of
    /// the scratch.
    fn take_edge(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
        chosen: usize,
        prior: f32,
    ) -> Result<Step, SearchError<G::Error>> {
        let edges = self.pool.infoset_edges_mut(id);
        for &index in &self.scratch.edge_indices {
            edges[index as usize].available += 1;
        }
        let index = self.scratch.edge_indices[chosen];
        let taken = edges[index as usize];
        visit.state.apply(taken.action)?;
        if taken.node != NONE {
            self.pool[taken.node].prior = prior;
            let (node, slot) = (taken.node, taken.slot as u16);
            return Ok(Step { node, slot });
        }
        let step = self.attach_child(visit, id, Node::new(taken.action, index as u16, prior))?;
        let edge = &mut self.pool.infoset_edges_mut(id)[index as usize];
        (edge.node, edge.slot) = (step.node, step.slot.into());
        Ok(step)
    }

    /// The index in the scratch of the edge with the highest score.
    fn best_available(&self, id: NodeId, seat: Seat, priors: &[f32]) -> usize {
        let (scale, fpu) = self.scale_and_urgency(id, seat, priors);
        let edges = self.pool.infoset_edges(id);
        let mut best = (0, f64::NEG_INFINITY);
        for (i, &index) in self.scratch.edge_indices.iter().enumerate() {
            let edge = &edges[index as usize];
            let (q, n) = match edge.node {
                NONE => (fpu, 0),
                child => {
                    let child = &self.pool[child];
                    let q = match child.visits {
                        0 => fpu,
                        _ => scale.apply(self.q_for(child, seat)),
                    };
                    (q, child.started())
                }
            };
            let available = edge.available.max(1);
            let score = match self.settings.config.selection {
                Selection::Uct { .. } if edge.node == NONE => f64::INFINITY,
                Selection::Uct { c_uct } => {
                    let log = self.settings.log(available);
                    f64::from(q) + c_uct * (log / f64::from(n.max(1))).sqrt()
                }
                _ => {
                    let share = priors[i] / (1 + n) as f32;
                    f64::from(q + self.settings.explore(available) * share)
                }
            };
            if score > best.1 || score == best.1 && priors[i] > priors[best.0] {
                best = (i, score);
            }
        }
        best.0
    }

    /// The same with the options of `widening.rs`.
    fn best_available_by_scan(&self, visit: &Visit<G>, id: NodeId, priors: &[f32]) -> usize {
        let seat = visit.seat;
        let (scale, fpu) = self.scale_and_urgency(id, seat, priors);
        let edges = self.pool.infoset_edges(id);
        let indices = self.scratch.edge_indices.iter().zip(priors);
        let candidates: Vec<Candidate> = indices
            .map(|(&index, &prior)| {
                let edge = &edges[index as usize];
                Candidate {
                    prior,
                    action: edge.action,
                    available: edge.available.max(1),
                    child: (edge.node != NONE).then_some(edge.node),
                    closed: false,
                }
            })
            .collect();
        let context = ChoiceContext {
            id,
            seat,
            scale,
            fpu,
        };
        self.best_candidate(&context, &candidates)
    }

    /// The scale of scores and the first-play urgency at a node, for `seat` and the edges in the
    /// scratch.
    fn scale_and_urgency(&self, id: NodeId, seat: Seat, priors: &[f32]) -> (Scale, f32) {
        let edges = self.pool.infoset_edges(id);
        let tried = || {
            let indices = self.scratch.edge_indices.iter().enumerate();
            indices.filter_map(|(i, &index)| match edges[index as usize].node {
                NONE => None,
                child => Some((i, &self.pool[child])),
            })
        };
        let value = self.pool[id].value(seat);
        let scale = self.settings.known.unwrap_or_else(|| {
            let qs = tried().filter(|(_, child)| child.visits > 0);
            let qs = qs.map(|(_, child)| self.q_for(child, seat));
            let range = |(min, max): (f32, f32), q: f32| (min.min(q), max.max(q));
            self.scale_of(|| qs.fold((value, value), range))
        });
        let rule = self.settings.fpu(false);
        let mass = match rule {
            Fpu::Reduction(_) => tried().fold(0.0, |mass, (i, _)| mass + priors[i]),
            _ => 0.0,
        };
        (scale, first_play_urgency(rule, scale, value, mass))
    }

    /// Undoes the available visits counted by an abandoned descent.
    pub(crate) fn undo_legal_edges(&mut self, edges: &[(NodeId, u32)]) {
        for &(id, index) in edges {
            self.pool.infoset_edges_mut(id)[index as usize].available -= 1;
        }
    }

    /// Applies the evaluation of a leaf below the root: the simulation ends, or its descent
    /// continues with the new priors.
    pub(crate) fn expand_view(&mut self, visit: &Visit<G>, logits: &mut Vec<f32>, values: &[f32]) {
        let id = visit.end();
        self.tree.views.stop_waiting(id, visit.own_key);
        self.remove_virtual_visits(&visit.path);
        if self.at_horizon(visit) {
            self.backup(&visit.path, V::from_seats(values), false);
            return self.close(visit);
        }
        self.pool[id].set_pending(false);
        if !self.settings.config.flat_priors {
            self.settings.shape_priors(visit, logits);
            softmax(logits);
            self.store_priors(id, visit.own_key, logits);
        }
        if visit.resumes {
            let mut descent = visit.clone();
            descent.counted = true;
            return self.tree.suspended.push_back(Box::new(descent));
        }
        self.backup(&visit.path, V::from_seats(values), false);
        for (i, &action) in visit.actions.iter().enumerate() {
            let index = self.pool.infoset_index(id, action, i, &mut self.tree.bytes);
            self.pool.infoset_edges_mut(id)[index].available += 1;
        }
        let node = &mut self.pool[id];
        node.set_kind(NodeKind::Decision);
        node.set_seat(visit.seat);
        self.close(visit);
    }

    /// Stores the priors of a view at a node, in the stored format.
    fn store_priors(&mut self, id: NodeId, own_key: u64, priors: &[f32]) {
        let bits = self.pool.bits();
        let priors = priors.iter().map(|&prior| bits.quantise(prior)).collect();
        let tree = &mut *self.tree;
        tree.views.insert(id, own_key, priors, &mut tree.bytes);
    }

    /// Handles a descent that collided with a waiting view: suspends it if it was evaluated before
    /// on its path, otherwise abandons it.
    pub(crate) fn unblock(&mut self, descent: Box<Visit<G>>) {
        if descent.counted {
            self.tree.progress.waiting += 1;
            self.tree.suspended.push_back(descent);
        } else {
            self.undo_legal_edges(&descent.legal_edges);
        }
    }

    /// Abandons all suspended descents.
    pub(crate) fn abandon_suspended(&mut self) {
        while let Some(descent) = self.tree.suspended.pop_front() {
            self.undo_legal_edges(&descent.legal_edges);
            self.tree.progress.waiting -= 1;
            self.tree.progress.started -= 1;
        }
    }
}
