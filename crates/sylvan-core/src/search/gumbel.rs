//! Gumbel search (Danihelka et al. 2022): sequential halving at the root; inside the tree, visits
//! follow the improved policy.
//!
//! ```text
//!     sigma(q)  = (c_visit + max_b n(b)) * c_scale * q
//!     v_mix     = (v + sum n * (sum_visited P q / sum_visited P)) / (1 + sum n)
//!     completed = q for visited edges, v_mix for the others, mapped to 0..1 over the node's edges
//!     pi'       = P * exp(sigma(completed)), normalised
//!     root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
//!     inside:     argmax of pi' - n / (1 + sum n)
//! ```
//!
//! `v` is the evaluator's value for the seat to move, `g` the Gumbel noise, drawn once per search
//! (`sequential_halving.rs`). In v_mix and completed, an edge is visited after its first finished
//! visit and `n` counts finished visits; in the argmax of the inside rule and in the schedule, `n`
//! includes visits in flight. The schedule is that of Karnin et al. 2013 for `simulations` and
//! `max_considered` edges; on a reused tree it counts only new visits. Closed edges (`proofs.rs`)
//! are skipped; if no edge has the scheduled count, the nearest lower count is used, otherwise the
//! nearest higher.
//!
//! Cost: untried edges share one sigma, so only the best of them can be selected, and their part of
//! the sum is 1 minus the priors of tried edges (at least the best untried prior). So a selection
//! reads only the tried edges.
//!
//! Rounding: doubles up to the exponential of sigma minus the greatest sigma; its product with P
//! and the sum are single precision. Sums run over the tried edges by falling prior, then rising
//! index. Ties: higher prior, then lower index; at the root first by higher g + ln P.
//!
//! Twin: `sylvan.reference.gumbel`.

use crate::contracts::config::Selection;
use crate::contracts::game::Game;
use crate::contracts::numbers::exp;
use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child};
use crate::memory::node::NodeId;
use crate::search::selection::Choice;
use crate::search::sequential_halving::{GumbelRoot, Rank, TriedCache};
use crate::search::tree::Search;

/// A tried edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    pub slot: u16,
    pub id: NodeId,
    pub index: u16,
    pub prior: f32,
    /// Finished visits.
    pub visits: u32,
    /// Visits started.
    pub started: u32,
    /// Q for the seat to move; 0 before the first finished visit.
    q: f64,
    pub closed: bool,
    /// Its part of pi' before normalising, P * exp(sigma - top).
    weight: f32,
}

/// Turns weights into pi', the improved policy of a node.
pub(crate) struct Shares {
    /// exp(sigma - top) of untried edges.
    untried_factor: f32,
    sum: f32,
}

impl Shares {
    /// The factor and the divisor of untried edges' priors.
    pub fn untried_factors(&self) -> (f32, f32) {
        (self.untried_factor, self.sum)
    }

    pub fn tried(&self, edge: &Tried) -> f32 {
        edge.weight / self.sum
    }

    /// pi' of an untried edge with this prior.
    fn untried(&self, prior: f32) -> f32 {
        prior * self.untried_factor / self.sum
    }
}

impl Tried {
    /// Whether this edge wins a tie with the untried edge at `index`.
    fn precedes(&self, prior: f32, index: usize) -> bool {
        self.prior > prior || (self.prior == prior && usize::from(self.index) < index)
    }
}

/// Sorts edges by falling prior, then rising index, through integer keys, which sort faster.
fn sort(tried: &mut [Tried]) {
    let key = |(position, edge): (usize, &Tried)| {
        // Priors are not negative, so their bits have the same order.
        let first = u64::from(!edge.prior.to_bits()) << 32 | u64::from(edge.index) << 16;
        first | position as u64
    };
    let mut keys: Vec<u64> = tried.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    let unsorted = tried.to_vec();
    for (edge, key) in tried.iter_mut().zip(keys) {
        *edge = unsorted[usize::from(key as u16)];
    }
}

/// Sums over the tried edges of a node with a finished visit, by falling prior, then rising index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    edges: usize,
    visits: u32,
    /// Visits started, of all tried edges.
    started: u32,
    /// The most visits of an edge.
    most: u32,
    /// The sums of P and of P * q.
    mass: f64,
    weighted: f64,
    /// The least and greatest q.
    min: f64,
    max: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            edges: 0,
            visits: 0,
            started: 0,
            most: 0,
            mass: 0.0,
            weighted: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Sums {
    fn of(tried: &[Tried]) -> Self {
        let mut sums = Self::default();
        tried.iter().for_each(|edge| sums.include(edge));
        sums
    }

    #[inline]
    fn include(&mut self, edge: &Tried) {
        self.started += edge.started;
        if edge.visits == 0 {
            return;
        }
        self.edges += 1;
        self.visits += edge.visits;
        self.most = self.most.max(edge.visits);
        self.mass += f64::from(edge.prior);
        self.weighted += f64::from(edge.prior) * edge.q;
        self.min = if edge.q < self.min { edge.q } else { self.min };
        self.max = if edge.q > self.max { edge.q } else { self.max };
    }
}

/// Turns Q into sigma(completed Q) at a node.
pub(crate) struct Completion {
    /// v_mix, for edges without a finished visit.
    mixed: f64,
    least: f64,
    scale: f64,
    /// The greatest sigma.
    top: f64,
}

impl Completion {
    fn of(&self, q: f64) -> f64 {
        (q - self.least) * self.scale
    }

    pub fn of_edge(&self, edge: &Tried) -> f64 {
        self.of(if edge.visits > 0 { edge.q } else { self.mixed })
    }

    pub fn of_untried(&self) -> f64 {
        self.of(self.mixed)
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The tried edges of a node, by falling prior, then rising index.
    pub(crate) fn tried(&self, id: NodeId) -> (Vec<Tried>, Sums) {
        let mut tried = Vec::with_capacity(self.pool.num_children(id));
        let sums = self.list_tried(id, &mut tried);
        (tried, sums)
    }

    fn list_tried(&self, id: NodeId, tried: &mut Vec<Tried>) -> Sums {
        tried.clear();
        let (mut sums, mut falls) = (Sums::default(), true);
        let mut last = (f32::INFINITY, 0);
        for (slot, child) in self.pool.children(id).enumerate() {
            let edge = self.tried_edge(id, slot, child);
            falls &= edge.prior < last.0 || (edge.prior == last.0 && edge.index > last.1);
            last = (edge.prior, edge.index);
            sums.include(&edge);
            tried.push(edge);
        }
        if falls {
            return sums;
        }
        // At the root, noise changes the order of first visits.
        sort(tried);
        Sums::of(tried)
    }

    /// Updates the cached list of the root's tried edges.
    fn refresh_cache(&self, cache: &mut TriedCache) {
        let (root, tried) = (self.tree.root, &mut cache.tried);
        let visits = self.pool[root].visits;
        let one_more = visits == std::mem::replace(&mut cache.visits, visits) + 1;
        // With one descent at a time and without proofs, one visit changes one edge.
        let alone = G::LEARNED && self.settings.config.leaves_in_flight == 1;
        if !(alone && one_more && tried.len() == self.pool.num_children(root)) {
            self.list_tried(root, tried);
            return;
        }
        let slot = usize::from(tried[cache.taken].slot);
        tried[cache.taken] = self.tried_edge(root, slot, self.pool.child_at(root, slot));
    }

    /// The tried edge to a child.
    #[inline]
    fn tried_edge(&self, parent: NodeId, slot: usize, Child { id, q, .. }: Child) -> Tried {
        let child = &self.pool[id];
        let q_or_none = match child.visits {
            0 => 0.0,
            _ if self.settings.known.is_none() && q != CLOSED => q,
            _ => {
                let discount = self.settings.config.discount;
                child.q(child.mean(), self.pool[parent].seat(), discount)
            }
        };
        Tried {
            slot: slot as u16,
            id,
            index: child.index,
            prior: child.prior,
            visits: child.visits,
            started: child.started(),
            q: q_or_none.into(),
            closed: q == CLOSED,
            weight: 0.0,
        }
    }

    /// The completion of Q at a node whose tried edges have these sums.
    pub(crate) fn completion(&self, id: NodeId, sums: &Sums) -> Completion {
        let Selection::Gumbel {
            c_visit, c_scale, ..
        } = self.settings.config.selection
        else {
            unreachable!("called only by a Gumbel search");
        };
        let Sums { mass, weighted, .. } = *sums;
        let (mut min, mut max) = (sums.min, sums.max);
        let mean = if mass > 0.0 { weighted / mass } else { 0.0 };
        let raw = if id == self.tree.root {
            self.tree.edges.raw
        } else {
            f32::from_bits(self.pool.note(id))
        };
        let total = f64::from(sums.visits);
        let mixed = (f64::from(raw) + total * mean) / (1.0 + total);
        if sums.edges < usize::from(self.pool[id].num_edges) {
            min = if mixed < min { mixed } else { min };
            max = if mixed > max { mixed } else { max };
        }
        let scale = (c_visit + f64::from(sums.most)) * c_scale / (max - min).max(1e-8);
        Completion {
            mixed,
            least: min,
            scale,
            top: (max - min) * scale,
        }
    }

    /// Sets the weights of a node's tried edges in pi'.
    pub(crate) fn share(&self, id: NodeId, tried: &mut [Tried], sums: &Sums) -> Shares {
        let completion = self.completion(id, sums);
        let growth = |sigma: f64| exp((sigma - completion.top) as f32);
        let mut sum = 0.0;
        for edge in tried {
            edge.weight = edge.prior * growth(completion.of_edge(edge));
            sum += edge.weight;
        }
        let mut untried_factor = growth(completion.of_untried());
        let (mass, (_, best)) = match self.pool.head(&self.pool[id]) {
            Some(head) => (head.mass, head.best),
            None => (0.0, self.best_unvisited(id)),
        };
        if best >= 0.0 {
            sum += (1.0 - mass).max(best) * untried_factor;
        } else {
            untried_factor = 0.0; // no untried edges: the factor could overflow
        }
        Shares {
            untried_factor,
            sum,
        }
    }

    pub(crate) fn choose_gumbel(&mut self, id: NodeId) -> Choice {
        if id == self.tree.root {
            return self.choose_at_root();
        }
        if !self.pool[id].has_family() {
            let (index, prior) = self.next_unvisited(id);
            return Choice::New(index, prior);
        }
        let mut tried = std::mem::take(&mut self.scratch.tried);
        let sums = self.list_tried(id, &mut tried);
        let choice = self.choose_inside(id, &mut tried, &sums);
        self.scratch.tried = tried;
        choice
    }

    fn choose_inside(&self, id: NodeId, tried: &mut [Tried], sums: &Sums) -> Choice {
        let (index, prior) = self.next_unvisited(id);
        let shares = self.share(id, tried, sums);
        let visits = f64::from(sums.started);
        let mut best: Option<(&Tried, f64)> = None;
        for edge in tried.iter().filter(|edge| !edge.closed) {
            let share = f64::from(shares.tried(edge));
            let lag = share - f64::from(edge.started) / (1.0 + visits);
            if best.is_none_or(|(_, top)| lag > top) {
                best = Some((edge, lag));
            }
        }
        let fresh = f64::from(shares.untried(prior));
        match best {
            Some((edge, lag))
                if prior < 0.0 || lag > fresh || lag == fresh && edge.precedes(prior, index) =>
            {
                Choice::Visited(edge.slot, edge.id)
            }
            _ => Choice::New(index, prior),
        }
    }

    fn choose_at_root(&mut self) -> Choice {
        let take = |gumbel: &mut GumbelRoot| std::mem::take(&mut gumbel.cache);
        let mut cache = self
            .tree
            .progress
            .gumbel
            .as_mut()
            .map(take)
            .unwrap_or_default();
        let choice = self.choose_among(&mut cache);
        if let Some(gumbel) = &mut self.tree.progress.gumbel {
            gumbel.cache = cache;
        }
        choice
    }

    fn choose_among(&self, cache: &mut TriedCache) -> Choice {
        let (root, edges) = (self.tree.root, &self.tree.edges);
        let gumbel = self.gumbel();
        let step = self.tree.progress.started as usize;
        let scheduled = gumbel.schedule.get(step).copied().unwrap_or(u32::MAX);
        let new_one = |index: usize| Choice::New(index, edges.current_prior(index));
        if scheduled == 0 && gumbel.base.is_empty() {
            // Every tried edge has a visit.
            if let Some(index) = gumbel.next(edges) {
                return new_one(index);
            }
        }
        self.refresh_cache(cache);
        let tried = &cache.tried;
        let untried = tried.len() < edges.actions.len();
        let considered = match gumbel.due(scheduled, tried) {
            (1, position) if !(untried && scheduled == 0) => {
                cache.taken = position;
                return Choice::Visited(tried[position].slot, tried[position].id);
            }
            (0, _) => gumbel.considered(scheduled, tried, untried),
            _ => scheduled,
        };
        let completion = self.completion(root, &Sums::of(tried));
        let mut best: Option<(Rank, usize)> = None;
        for (position, edge) in tried.iter().enumerate() {
            let index = usize::from(edge.index);
            if edge.closed || gumbel.new_visits(index, edge.started) != considered {
                continue;
            }
            let sigma = completion.of_edge(edge);
            let rank = Rank::new(
                index,
                gumbel.perturbed_logit(index, edges),
                sigma,
                edge.prior,
            );
            if best.is_none_or(|(top, _)| rank.precedes(&top)) {
                best = Some((rank, position));
            }
        }
        if considered == 0
            && untried
            && let Some(index) = gumbel.next(edges)
        {
            let sigma = completion.of_untried();
            let rank = Rank::new(
                index,
                gumbel.perturbed_logit(index, edges),
                sigma,
                edges.current_prior(index),
            );
            if best.is_none_or(|(top, _)| rank.precedes(&top)) {
                return new_one(index);
            }
        }
        let (_, position) = best.expect("a node that is not proven has an open edge");
        cache.taken = position;
        Choice::Visited(tried[position].slot, tried[position].id)
    }

    fn gumbel(&self) -> &GumbelRoot {
        let gumbel = self.tree.progress.gumbel.as_ref();
        gumbel.expect("set when the root was prepared")
    }
}
