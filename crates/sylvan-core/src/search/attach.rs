//! Adds new children to a node.

use crate::contracts::game::{Action, Game};
use crate::contracts::values::Values;
use crate::memory::edges::NO_EDGE;
use crate::memory::family::LANES;
use crate::memory::node::{Node, NodeId, NodeKind};
use crate::search::descend::SearchError;
use crate::search::tree::Search;
use crate::search::visit::{Step, Visit};

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Takes an untried edge.
    #[inline(always)]
    pub(super) fn add_child(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
        index: usize,
        prior: f32,
    ) -> Result<Step, SearchError<G::Error>> {
        let action = self.action_at(visit, id, index)?;
        self.sync(visit)?;
        Self::step(visit, action)?;
        self.attach_child(visit, id, Node::new(action, index as u16, prior))
    }

    /// The action at an index of the node's legal actions.
    #[inline(always)]
    fn action_at(
        &mut self,
        visit: &Visit<G>,
        id: NodeId,
        index: usize,
    ) -> Result<Action, G::Error> {
        if id == self.tree.root {
            return Ok(self.tree.edges.actions[index]);
        }
        if let Some(actions) = self.pool.actions(id) {
            return Ok(actions[index]);
        }
        if self.settings.first_is_best && !self.pool[id].has_family() {
            return Ok(self.pool.note(id));
        }
        visit.state.action_at(index, &mut self.scratch.actions)
    }

    /// Draws an outcome of a chance node.
    pub(super) fn draw(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Step, SearchError<G::Error>> {
        self.sync(visit)?;
        visit.state.chance_outcomes(&mut self.scratch.outcomes)?;
        let outcomes = &self.scratch.outcomes;
        let index = self.tree.rng.pick(outcomes.iter().map(|outcome| outcome.1));
        let (action, probability) = outcomes[index];
        Self::step(visit, action)?;
        match self.pool.slot_of(id, index as u16) {
            Some(slot) => Ok(Step {
                node: self.pool.position(self.pool.child(id, slot)),
                slot,
            }),
            None => self.attach_child(
                visit,
                id,
                Node::new(action, index as u16, probability as f32),
            ),
        }
    }

    /// Adds a child for the state of `visit` after the last step.
    #[inline(always)]
    pub(crate) fn attach_child(
        &mut self,
        visit: &mut Visit<G>,
        parent: NodeId,
        mut child: Node<V>,
    ) -> Result<Step, SearchError<G::Error>> {
        if self.settings.rules.has_rewards && !G::LEARNED {
            let seats = &mut self.scratch.seats;
            seats.clear();
            seats.resize(self.settings.rules.num_players, 0.0);
            visit.state.rewards(seats)?;
            V::set_reward(&mut child.extra, &V::from_seats(seats));
        }
        let index = usize::from(child.index);
        let (node, child) = if self.settings.config.transpositions {
            self.add_position(visit, parent, child)?
        } else {
            let node = self.pool.add(child, &mut self.tree.bytes);
            self.tree.nodes += 1;
            (node, node)
        };
        let best = if self.pool[parent].kind() != NodeKind::Decision {
            NO_EDGE
        } else if parent == self.tree.root {
            self.tree.edges.mark_visited(index);
            self.tree.edges.best()
        } else if self.deals() {
            NO_EDGE
        } else {
            self.pool.visit_edge(parent, index)
        };
        let bytes = &mut self.tree.bytes;
        let slot = self.pool.push_child(parent, child, best, bytes);
        if usize::from(slot).is_multiple_of(LANES)
            && let [.., above, step] = visit.path[..]
        {
            self.pool.relink(above.node, step.slot, step.node); // the family is new or has moved
        }
        Ok(Step { node, slot })
    }
}
