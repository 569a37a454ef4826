//! Information-set search: one tree over public actions, a fresh deal for every simulation.
//!
//! The root is a view, what one seat knows. Each walk completes it to a deal (`Game::sample`) and
//! takes, at every node, one of the actions that are legal *in this deal*; so a node gains actions
//! when other deals come by (`infoset_edges.rs`). Statistics belong to the actions so far, whatever the deal:
//! nobody below the root plans for cards that he cannot see.
//!
//! ```text
//!     score(a) = Q_s(a) + c(m) * P(a) * sqrt(m) / (1 + n(a))      m = m(a), at least 1
//! ```
//!
//! `m(a)` is the number of visits of the node at which `a` was legal, where PUCT has the node's
//! visits: an action that is seldom legal is not explored the more for the visits it could not have.
//! UCT has `ln m(a)`. Where all is legal in every deal, and so at the root, both are as they were.
//! First-play urgency is that of `selection.rs`, its prior mass that of the legal actions tried.
//!
//! Priors come from the view of the seat to move, in the deal: the evaluator is asked once per node
//! and own view (`Game::own_key`), and its answer kept. A walk that comes to a node for the first
//! time ends there; one that comes to a known node with a view that is new there waits for the
//! priors and walks on, unless `stop_at_new_views`. With flat priors there is nothing to wait for.
//!
//! Limits: nothing is proven, since the end differs from deal to deal. Actions are taken as public: a
//! hidden move or draw inside the tree would be planned around as if it were seen. Rules: PUCT, UCT.
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
    /// Whether walks of this tree go through fresh deals.
    #[inline]
    pub(crate) fn deals(&self) -> bool {
        G::HIDDEN && self.settings.deals
    }

    /// Draws a deal for a walk, which is at the root.
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

    /// Walks on from the end of a path, in the deal that `visit` has, to where the simulation ends.
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

    /// The root's actions are the same in all deals.
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

    /// Decides whether an evaluator must be asked before the seat to move can choose.
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
        visit.own_key = if flat { 0 } else { visit.state.own_key() };
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

    /// Takes one of the actions that are legal in this deal, of which the seat's priors are known.
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

    /// Notes what can be taken from a node in this deal: the indices are in the scratch.
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

    /// Counts what was passed as available once more, and takes the edge at a index of the scratch.
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

    /// The index, among those in the scratch, of the edge that the rule takes.
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

    /// The scale of scores at a node and its first-play urgency, in a deal where `seat` chooses among
    /// the edges in the scratch.
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

    /// Takes back what a walk that came to nothing had counted as available.
    pub(crate) fn undo_legal_edges(&mut self, edges: &[(NodeId, u32)]) {
        for &(id, index) in edges {
            self.pool.infoset_edges_mut(id)[index as usize].available -= 1;
        }
    }

    /// Takes in an evaluation of a leaf below the root: the simulation ends, or its walk goes on with
    /// the priors that it now has.
    pub(crate) fn expand_view(&mut self, visit: &Visit<G>, logits: &mut Vec<f32>, values: &[f32]) {
        let id = visit.end();
        self.tree.views.stop_waiting(id, visit.own_key);
        self.remove_virtual_visits(&visit.path);
        self.pool[id].set_pending(false);
        if !self.settings.config.flat_priors {
            softmax(logits);
            self.store_priors(id, visit.own_key, logits);
        }
        if visit.resumes {
            let mut walk = visit.clone();
            walk.counted = true;
            return self.tree.suspended.push_back(Box::new(walk));
        }
        self.backup(&visit.path, V::from_seats(values), false);
        for (i, &action) in visit.actions.iter().enumerate() {
            let index = self.pool.infoset_index(id, action, i, &mut self.tree.bytes);
            self.pool.infoset_edges_mut(id)[index].available += 1;
        }
        let node = &mut self.pool[id];
        node.set_kind(NodeKind::Decision);
        node.set_seat(visit.seat);
        self.tree.progress.waiting -= 1;
        self.tree.progress.finished += 1;
    }

    /// Keeps the priors of a view at a node, as precisely as the tree keeps priors.
    fn store_priors(&mut self, id: NodeId, own_key: u64, priors: &[f32]) {
        let bits = self.pool.bits();
        let priors = priors.iter().map(|&prior| bits.quantise(prior)).collect();
        let tree = &mut *self.tree;
        tree.views.insert(id, own_key, priors, &mut tree.bytes);
    }

    /// Deals with a walk that came to a view which waited for its evaluation: one that had been
    /// evaluated on its way waits as well, others come to nothing.
    pub(crate) fn unblock(&mut self, walk: Box<Visit<G>>) {
        if walk.counted {
            self.tree.progress.waiting += 1;
            self.tree.suspended.push_back(walk);
        } else {
            self.undo_legal_edges(&walk.legal_edges);
        }
    }

    /// Gives up the walks that were to go on.
    pub(crate) fn abandon_suspended(&mut self) {
        while let Some(walk) = self.tree.suspended.pop_front() {
            self.undo_legal_edges(&walk.legal_edges);
            self.tree.progress.waiting -= 1;
            self.tree.progress.started -= 1;
        }
    }
}
