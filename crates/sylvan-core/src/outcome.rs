//! What a search found: statistics of any node, the policy, the action to take.
//!
//! The *policy target* is the visit distribution at temperature 1 (PUCT, UCT) or the improved
//! policy (Gumbel), whatever temperature picks the action. Both respect proofs: edges that are
//! closed have no part in them, and at a proven root only edges that keep its value have. A root
//! none of whose eligible edges was visited falls back to its priors. Visits that were only forced
//! do not count (`forced.rs`).
//!
//! Temperature works on logarithms of counts relative to the greatest,
//! `p ∝ exp((ln n - ln n_max) / T)`, so small temperatures cannot overflow; 0 is the greatest count,
//! ties to the higher prior, then the lower index.
//!
//! Twin: `sylvan.reference.outcome`.

use crate::config::Selection;
use crate::game::{Action, Game, Seat};
use crate::gumbel::Dense;
use crate::node::{Kind, NodeId};
use crate::numbers::{exp_double, ln};
use crate::rng::mix;
use crate::tree::Search;
use crate::values::Values;

/// One edge, as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeStats {
    pub action: Action,
    /// N
    pub visits: u32,
    /// W of the step for the seat that chooses: visits times mean of reward + discount * value.
    pub w: f64,
    /// P, with the root's noise in force.
    pub prior: f32,
    /// Proven bounds of its worth to the seat that chooses; infinite where nothing is known.
    pub bounds: (f64, f64),
    pub kind: Kind,
    /// Visits of its node at which it could be chosen.
    pub available: u32,
}

/// One node, as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeStats {
    pub kind: Kind,
    pub seat: Seat,
    pub visits: u32,
    /// W per seat.
    pub w: Vec<f64>,
    pub proven: Option<Vec<f64>>,
    /// In the game's order.
    pub edges: Vec<EdgeStats>,
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The node at the end of a path of actions from the root, if the tree has it.
    pub fn find(&self, path: &[Action]) -> Option<NodeId> {
        path.iter().try_fold(self.tree.root, |id, &action| {
            let mut children = self.pool.ids(id);
            children.find(|&child| self.pool[child].action == action)
        })
    }

    /// One number over the actions and visit counts of all nodes: equal trees have equal
    /// signatures.
    pub fn signature(&self) -> u64 {
        let mut hash = 0;
        let mut stack = vec![(self.tree.root, 0)];
        while let Some((id, depth)) = stack.pop() {
            let node = &self.pool[id];
            hash = mix(
                mix(hash, depth << 32 | u64::from(node.action)),
                node.visits.into(),
            );
            let mut children: Vec<NodeId> = self.pool.ids(id).collect();
            children.retain(|&child| self.pool[child].visits > 0);
            children.sort_by_key(|&child| self.pool[child].index);
            stack.extend(children.into_iter().map(|child| (child, depth + 1)));
        }
        hash
    }

    /// The statistics of the node at the end of a path of actions.
    pub fn node_stats(&mut self, path: &[Action]) -> Result<Option<NodeStats>, G::Error> {
        let Some(id) = self.find(path) else {
            return Ok(None);
        };
        let seats = self.settings.rules.num_players;
        // Adding zero turns the -0 of a negated draw into 0.
        let per_seat = |values: V| (0..seats).map(|s| values.seat(s as Seat) + 0.0).collect();
        let node = &self.pool[id];
        let proven = self.settings.config.proofs && node.is_proven();
        Ok(Some(NodeStats {
            kind: node.kind(),
            seat: node.seat(),
            visits: node.visits,
            w: per_seat(node.w),
            proven: proven.then(|| per_seat(node.proven())),
            edges: self.edge_stats(id, path)?,
        }))
    }

    fn edge_stats(&self, id: NodeId, path: &[Action]) -> Result<Vec<EdgeStats>, G::Error> {
        if self.deals() {
            return Ok(self.seen_stats(id));
        }
        let mut state = self.tree.state.clone();
        for &action in path {
            state.apply(action)?;
        }
        let node = &self.pool[id];
        let mut edges: Vec<EdgeStats> = match node.kind() {
            Kind::Leaf | Kind::Terminal => return Ok(Vec::new()),
            Kind::Decision => {
                let mut actions = Vec::new();
                state.turn(&mut actions)?;
                if G::LEARNED && id != self.tree.root {
                    let all = 0..self.settings.rules.num_actions as Action;
                    actions = self
                        .pool
                        .actions(id)
                        .map_or_else(|| all.collect(), Into::into);
                }
                let priors = self.priors(id);
                actions
                    .into_iter()
                    .zip(priors)
                    .map(EdgeStats::unvisited)
                    .collect()
            }
            Kind::Chance => {
                let mut outcomes = Vec::new();
                state.chance_outcomes(&mut outcomes)?;
                let outcomes = outcomes.into_iter();
                outcomes
                    .map(|(action, p)| EdgeStats::unvisited((action, p as f32)))
                    .collect()
            }
        };
        for edge in &mut edges {
            edge.available = node.visits;
        }
        self.add_children(id, &mut edges);
        Ok(edges)
    }

    /// The same in an information-set tree, whose nodes have lists of what they have seen.
    fn seen_stats(&self, id: NodeId) -> Vec<EdgeStats> {
        let mut edges: Vec<EdgeStats> = if id == self.tree.root {
            let actions = self.tree.edges.actions.iter().copied();
            let edges = actions.zip(self.priors(id)).map(EdgeStats::unvisited);
            let available = self.pool[id].visits;
            edges.map(|edge| EdgeStats { available, ..edge }).collect()
        } else {
            let seen = self.pool.seen(id).iter();
            seen.map(|seen| EdgeStats {
                available: seen.available,
                ..EdgeStats::unvisited((seen.action, 0.0))
            })
            .collect()
        };
        self.add_children(id, &mut edges);
        for child in self.pool.ids(id) {
            let child = &self.pool[child];
            edges[usize::from(child.index)].prior = child.prior;
        }
        edges.retain(|edge| edge.available > 0); // walks that were given up leave their actions
        edges
    }

    /// Adds what is known of visited children to the edges of a node.
    fn add_children(&self, id: NodeId, edges: &mut [EdgeStats]) {
        let (node, discount) = (&self.pool[id], self.settings.config.discount);
        for child in self.pool.ids(id) {
            let child = &self.pool[child];
            let edge = &mut edges[usize::from(child.index)];
            edge.visits = child.visits;
            let visits = f64::from(child.visits);
            edge.w = visits * V::reward(&child.extra, node.seat())
                + discount * child.w.seat(node.seat());
            edge.kind = child.kind();
            if self.settings.config.proofs && child.is_bounded() {
                let (low, high) = child.step_bounds(node.seat(), discount);
                edge.bounds = (low + 0.0, high + 0.0);
            }
        }
    }

    /// Which edges of the root an action may be chosen from.
    pub(crate) fn eligible(&self, dense: &Dense) -> Vec<bool> {
        let root = &self.pool[self.tree.root];
        let seat = root.seat();
        let discount = self.settings.config.discount;
        let mut eligible: Vec<bool> = dense.closed.iter().map(|closed| !closed).collect();
        if self.settings.config.proofs && root.is_proven() {
            let value = root.proven().seat(seat);
            eligible.fill(false);
            for child in self.pool.ids(self.tree.root) {
                let child = &self.pool[child];
                eligible[usize::from(child.index)] = child.step_bounds(seat, discount).0 >= value;
            }
        }
        if !eligible.contains(&true) {
            eligible.fill(true);
        }
        eligible
    }

    /// The policy target over the root's legal actions, in their order.
    pub fn policy(&self) -> Vec<f32> {
        let dense = self.dense(self.tree.root);
        let eligible = self.eligible(&dense);
        let best = self.best_among(&dense, &eligible);
        self.target(&dense, &eligible, best)
    }

    /// The policy target, where the rest is known; `best` is the place of the preferred action.
    pub(crate) fn target(&self, dense: &Dense, eligible: &[bool], best: usize) -> Vec<f32> {
        let mut policy: Vec<f64> = match self.settings.config.selection {
            Selection::Gumbel { .. } => {
                let improved = self.improved_policy(dense);
                improved.into_iter().map(f64::from).collect()
            }
            _ => {
                let earned = self.earned_visits(dense, best);
                earned.into_iter().map(f64::from).collect()
            }
        };
        mask(&mut policy, eligible);
        if policy.iter().all(|&p| p == 0.0) {
            policy = dense.priors.iter().map(|&p| f64::from(p)).collect();
            mask(&mut policy, eligible);
        }
        let sum: f64 = policy.iter().sum();
        policy.into_iter().map(|p| (p / sum) as f32).collect()
    }

    /// The place of the action that the search prefers.
    pub fn best(&self) -> usize {
        let dense = self.dense(self.tree.root);
        self.best_among(&dense, &self.eligible(&dense))
    }

    /// The same among some edges.
    pub(crate) fn best_among(&self, dense: &Dense, eligible: &[bool]) -> usize {
        let edges = || (0..eligible.len()).filter(|&i| eligible[i]);
        let gumbel = self.tree.progress.gumbel.as_ref();
        let count = |i: usize| match gumbel {
            Some(gumbel) => gumbel.new_visits(i, dense.visits[i]),
            None => dense.visits[i],
        };
        let most = edges().map(count).max().unwrap_or(0);
        let score: Vec<f64> = match gumbel {
            Some(_) => self.gumbel_scores(dense),
            None => vec![0.0; dense.priors.len()],
        };
        let mut best = None;
        for i in edges().filter(|&i| count(i) == most) {
            let aim = gumbel.map_or(0.0, |gumbel| gumbel.aim(i));
            let key = (score[i], aim, dense.priors[i]);
            if best.is_none_or(|(_, top)| key > top) {
                best = Some((i, key));
            }
        }
        best.map_or(0, |(i, _)| i)
    }

    /// The place of the action picked at the search's temperature; one draw unless it is 0, and
    /// the same answer when asked again.
    pub fn pick(&mut self) -> usize {
        let temperature = self.settings.config.temperature;
        if temperature == 0.0 {
            return self.best();
        }
        let finished = self.tree.progress.finished;
        match self.tree.progress.picked {
            Some((at, place)) if at == finished => return place,
            _ => {}
        }
        let policy = self.policy();
        let max = policy.iter().copied().fold(0.0, f32::max);
        let weight = |p: f32| {
            let relative = ln(f64::from(p)) - ln(f64::from(max));
            if p > 0.0 {
                exp_double(relative / temperature)
            } else {
                0.0
            }
        };
        let mut weights: Vec<f64> = policy.into_iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        let place = self.tree.rng.pick(weights);
        self.tree.progress.picked = Some((finished, place));
        place
    }
}

impl EdgeStats {
    fn unvisited((action, prior): (Action, f32)) -> Self {
        Self {
            action,
            visits: 0,
            w: 0.0,
            prior,
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            kind: Kind::Leaf,
            available: 0,
        }
    }
}

fn mask(policy: &mut [f64], eligible: &[bool]) {
    for (p, &eligible) in policy.iter_mut().zip(eligible) {
        if !eligible {
            *p = 0.0;
        }
    }
}
