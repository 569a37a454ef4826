//! Gumbel search (Danihelka et al. 2022): sequential halving at the root, and inside the rule
//! that makes visits follow the improved policy.
//!
//! ```text
//!     sigma(q)  = (c_visit + max_b n(b)) * c_scale * q
//!     v_mix     = (v + sum n * (sum_visited P q / sum_visited P)) / (1 + sum n)
//!     completed = q for visited edges, v_mix for the others, then mapped to 0..1 over the node
//!     pi'       = P * exp(sigma(completed)) / their sum
//!     root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
//!     inside:     argmax of pi' - n / (1 + sum n)
//! ```
//!
//! `v` is the evaluator's own value for the seat to move, `g` the Gumbel noise, drawn once per
//! search. In v_mix and completed an edge counts as visited from its first finished visit and `n`
//! counts finished visits; in the argmax of the inside rule and in the schedule `n` includes those
//! in flight. The schedule is that of Karnin et al. 2013 for `simulations` and
//! `max_considered` edges; on a reused tree it counts new visits only. Closed edges (`proofs.rs`)
//! are passed over; if that leaves no edge with the scheduled count, the nearest count below
//! takes its place, else the nearest above.
//!
//! Cost: edges that were never tried share one sigma, so that of them only the best counts, and
//! their part of the sum is what the priors of those tried leave of 1 (not less than that of the
//! best): a choice reads the tried edges alone, however many there are.
//!
//! Rounding: doubles up to the exponential of sigma less the greatest, whose products with P and
//! whose sum are single. Sums go over the tried edges by falling prior, then rising index. Ties:
//! higher prior, then lower index; at the root, before these, higher g + ln P.
//!
//! Twin: `sylvan.reference.gumbel`.

use crate::config::Selection;
use crate::family::{CLOSED, Child};
use crate::game::Game;
use crate::node::NodeId;
use crate::numbers::{exp, ln_all};
use crate::root::RootEdges;
use crate::selection::Choice;
use crate::shortlist::places_of_greatest;
use crate::tree::Search;
use crate::values::Values;

/// The root's part of a Gumbel search.
#[derive(Clone, Debug)]
pub struct GumbelRoot {
    /// g + ln P per legal action.
    aims: Vec<f64>,
    /// The places with the highest of them, as many as are considered, in falling order.
    first: Vec<u16>,
    /// The visit count considered by each simulation.
    schedule: Vec<u32>,
    /// Visits per legal action before this search; nothing if there were none.
    base: Vec<u32>,
}

impl GumbelRoot {
    /// g + ln P of an edge.
    pub fn aim(&self, index: usize) -> f64 {
        self.aims[index]
    }

    /// Visits of an edge that this search made.
    pub fn new_visits(&self, index: usize, visits: u32) -> u32 {
        visits - self.base.get(index).copied().unwrap_or(0)
    }

    /// The untried edge that comes next: the highest g + ln P, then prior, then the lower index.
    fn next(&self, edges: &RootEdges) -> Option<usize> {
        let mut first = self.first.iter().map(|&index| usize::from(index));
        first.find(|&i| edges.is_unvisited(i)).or_else(|| {
            let others = (0..self.aims.len()).filter(|&i| edges.is_unvisited(i));
            others.max_by(|&a, &b| ahead(&self.aims, &edges.priors, a, b))
        })
    }
}

/// How two places of the root compare before anything was tried.
fn ahead(aims: &[f64], priors: &[f32], a: usize, b: usize) -> std::cmp::Ordering {
    let order = aims[a].total_cmp(&aims[b]);
    order.then(priors[a].total_cmp(&priors[b])).then(b.cmp(&a))
}

/// A node's edges in the game's order, with all that the formulas read.
pub struct Dense {
    pub priors: Vec<f32>,
    /// Finished visits.
    pub visits: Vec<u32>,
    /// For the seat to move; 0 where unvisited.
    pub q: Vec<f64>,
    pub closed: Vec<bool>,
}

/// An edge that was tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    slot: u16,
    id: NodeId,
    index: u16,
    prior: f32,
    /// Finished visits.
    visits: u32,
    /// Visits started.
    started: u32,
    /// For the seat to move; 0 before the first finished visit.
    q: f64,
    closed: bool,
    /// Its part of pi' before the division, P * exp(sigma - top).
    weight: f32,
}

/// What turns weights into pi', the improved policy of a node.
struct Shares {
    /// exp(sigma - top) of the edges that were never tried.
    grown: f32,
    sum: f32,
}

impl Shares {
    fn tried(&self, edge: &Tried) -> f32 {
        edge.weight / self.sum
    }

    /// The share of an untried edge with this prior.
    fn fresh(&self, prior: f32) -> f32 {
        prior * self.grown / self.sum
    }
}

impl Tried {
    /// Whether a tie with the untried edge at `index` goes to this one.
    fn leads(&self, prior: f32, index: usize) -> bool {
        self.prior > prior || (self.prior == prior && usize::from(self.index) < index)
    }
}

/// What turns Q into sigma(completed Q) at a node.
struct Completion {
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

    fn of_edge(&self, edge: &Tried) -> f64 {
        self.of(if edge.visits > 0 { edge.q } else { self.mixed })
    }
}

/// The visit count that each simulation considers, for `m` considered edges.
pub fn schedule(m: usize, simulations: usize) -> Vec<u32> {
    if m <= 1 {
        return (0..simulations as u32).collect();
    }
    let phases = m.next_power_of_two().ilog2() as usize;
    let mut visits = vec![0; m];
    let mut considered = m;
    let mut schedule = Vec::with_capacity(simulations);
    while schedule.len() < simulations {
        for _ in 0..(simulations / (phases * considered)).max(1) {
            schedule.extend_from_slice(&visits[..considered]);
            visits[..considered].iter_mut().for_each(|v| *v += 1);
        }
        considered = (considered / 2).max(2);
    }
    schedule.truncate(simulations);
    schedule
}

impl<G: Game, V: Values> Search<'_, G, V> {
    pub(crate) fn gumbel_root(&self, mut noise: Vec<f64>) -> GumbelRoot {
        let Selection::Gumbel { max_considered, .. } = self.settings.config.selection else {
            unreachable!("asked by a Gumbel search");
        };
        let simulations = self.settings.config.limits.simulations.unwrap_or(0) as usize;
        let edges = &self.tree.edges;
        let mut logs: Vec<f64> = edges.priors.iter().map(|&p| edges.kept(p).into()).collect();
        ln_all(&mut logs);
        noise.iter_mut().zip(logs).for_each(|(g, log)| *g += log);
        let considered = max_considered.min(noise.len());
        GumbelRoot {
            schedule: schedule(considered, simulations),
            base: self.started_at_root(),
            first: first_places(&noise, &edges.priors, considered),
            aims: noise,
        }
    }

    /// Visits started per legal action of the root, nothing if there are none.
    fn started_at_root(&self) -> Vec<u32> {
        let mut base = Vec::new();
        for id in self.pool.ids(self.tree.root) {
            base.resize(self.tree.edges.actions.len(), 0);
            base[usize::from(self.pool[id].index)] = self.pool[id].started();
        }
        base
    }

    pub(crate) fn dense(&self, id: NodeId) -> Dense {
        let priors = self.priors(id);
        let n = priors.len();
        let mut dense = Dense {
            priors,
            visits: vec![0; n],
            q: vec![0.0; n],
            closed: vec![false; n],
        };
        for edge in self.tried(id) {
            let index = usize::from(edge.index);
            dense.visits[index] = edge.visits;
            dense.closed[index] = edge.closed;
            dense.q[index] = edge.q;
        }
        dense
    }

    /// The tried edges of a node, by falling prior, then rising index.
    fn tried(&self, id: NodeId) -> Vec<Tried> {
        let mut tried = Vec::new();
        self.list_tried(id, &mut tried);
        tried
    }

    fn list_tried(&self, id: NodeId, tried: &mut Vec<Tried>) {
        let (seat, discount) = (self.pool[id].seat(), self.settings.config.discount);
        let unscaled = self.settings.known.is_none();
        tried.clear();
        let mut falls = true;
        let mut last = (f32::INFINITY, 0);
        for (slot, Child { id, q, .. }) in self.pool.children(id).enumerate() {
            let child = &self.pool[id];
            let q_or_none = match child.visits {
                0 => 0.0,
                _ if unscaled && q != CLOSED => q,
                _ => child.q(child.mean(), seat, discount),
            };
            falls &= child.prior < last.0 || (child.prior == last.0 && child.index > last.1);
            last = (child.prior, child.index);
            tried.push(Tried {
                slot: slot as u16,
                id,
                index: child.index,
                prior: child.prior,
                visits: child.visits,
                started: child.started(),
                q: q_or_none.into(),
                closed: q == CLOSED,
                weight: 0.0,
            });
        }
        if !falls {
            // At the root noise decides in which order edges are tried.
            tried.sort_unstable_by(|a, b| b.prior.total_cmp(&a.prior).then(a.index.cmp(&b.index)));
        }
    }

    /// What completes the Q of a node with these tried edges.
    fn completion(&self, id: NodeId, tried: &[Tried]) -> Completion {
        let Selection::Gumbel {
            c_visit, c_scale, ..
        } = self.settings.config.selection
        else {
            unreachable!("asked by a Gumbel search");
        };
        let (mut total, mut mass, mut weighted, mut most) = (0.0, 0.0, 0.0, 0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut visited = 0;
        for edge in tried.iter().filter(|edge| edge.visits > 0) {
            total += f64::from(edge.visits);
            mass += f64::from(edge.prior);
            weighted += f64::from(edge.prior) * edge.q;
            most = most.max(edge.visits);
            min = min.min(edge.q);
            max = max.max(edge.q);
            visited += 1;
        }
        let mean = if mass > 0.0 { weighted / mass } else { 0.0 };
        let raw = if id == self.tree.root {
            self.tree.edges.raw
        } else {
            f32::from_bits(self.pool.note(id))
        };
        let mixed = (f64::from(raw) + total * mean) / (1.0 + total);
        if visited < usize::from(self.pool[id].num_edges) {
            min = min.min(mixed);
            max = max.max(mixed);
        }
        let scale = (c_visit + f64::from(most)) * c_scale / (max - min).max(1e-8);
        Completion {
            mixed,
            least: min,
            scale,
            top: (max - min) * scale,
        }
    }

    /// pi' of the root's edges, in the game's order.
    pub(crate) fn improved_policy(&self, dense: &Dense) -> Vec<f32> {
        let root = self.tree.root;
        let mut tried = self.tried(root);
        let shares = self.share(root, &mut tried);
        let mut policy: Vec<f32> = dense.priors.iter().map(|&p| shares.fresh(p)).collect();
        for edge in &tried {
            policy[usize::from(edge.index)] = shares.tried(edge);
        }
        policy
    }

    /// Gives the tried edges of a node their weights in pi'.
    fn share(&self, id: NodeId, tried: &mut [Tried]) -> Shares {
        let completion = self.completion(id, tried);
        let grown = |sigma: f64| exp((sigma - completion.top) as f32);
        let mut sum = 0.0;
        for edge in tried {
            edge.weight = edge.prior * grown(completion.of_edge(edge));
            sum += edge.weight;
        }
        let grown = grown(completion.of(completion.mixed));
        let (mass, (_, best)) = match self.pool.head(&self.pool[id]) {
            Some(head) => (head.mass, head.best),
            None => (0.0, self.best_unvisited(id)),
        };
        if best >= 0.0 {
            sum += (1.0 - mass).max(best) * grown;
        }
        Shares { grown, sum }
    }

    pub(crate) fn choose_gumbel(&mut self, id: NodeId) -> Choice {
        if !self.pool[id].has_family() && id != self.tree.root {
            let (index, prior) = self.newcomer(id);
            return Choice::New(index, prior);
        }
        let mut tried = std::mem::take(&mut self.scratch.tried);
        let choice = if id == self.tree.root {
            self.choose_at_root(&mut tried)
        } else {
            self.list_tried(id, &mut tried);
            self.choose_inside(id, &mut tried)
        };
        self.scratch.tried = tried;
        choice
    }

    fn choose_inside(&self, id: NodeId, tried: &mut [Tried]) -> Choice {
        let (index, prior) = self.newcomer(id);
        let shares = self.share(id, tried);
        let visits: f64 = tried.iter().map(|edge| f64::from(edge.started)).sum();
        let mut best: Option<(&Tried, f64)> = None;
        for edge in tried.iter().filter(|edge| !edge.closed) {
            let share = f64::from(shares.tried(edge));
            let lag = share - f64::from(edge.started) / (1.0 + visits);
            if best.is_none_or(|(_, top)| lag > top) {
                best = Some((edge, lag));
            }
        }
        let fresh = f64::from(shares.fresh(prior));
        match best {
            Some((edge, lag))
                if prior < 0.0 || lag > fresh || lag == fresh && edge.leads(prior, index) =>
            {
                Choice::Visited(edge.slot, edge.id)
            }
            _ => Choice::New(index, prior),
        }
    }

    fn choose_at_root(&self, tried: &mut Vec<Tried>) -> Choice {
        let (root, edges) = (self.tree.root, &self.tree.edges);
        let gumbel = self.gumbel();
        let step = self.tree.progress.started as usize;
        let scheduled = gumbel.schedule.get(step).copied().unwrap_or(u32::MAX);
        let new_one = |index: usize| Choice::New(index, edges.in_force(index));
        if scheduled == 0 && gumbel.base.is_empty() {
            // Of the edges that were tried none is without a visit.
            if let Some(index) = gumbel.next(edges) {
                return new_one(index);
            }
        }
        self.list_tried(root, tried);
        let untried = tried.len() < edges.actions.len();
        let new = |edge: &Tried| gumbel.new_visits(usize::from(edge.index), edge.started);
        let open = || tried.iter().filter(|edge| !edge.closed);
        let counts = || open().map(new).chain(untried.then_some(0));
        let below = counts().filter(|&n| n <= scheduled).max();
        let considered = below.or_else(|| counts().min());
        let fresh = match considered {
            Some(0) if untried => gumbel.next(edges),
            _ => None,
        };
        let completion = self.completion(root, tried);
        let key = |index: usize, sigma: f64, prior: f32| {
            let aim = gumbel.aims[index];
            (aim + sigma, aim, prior, std::cmp::Reverse(index))
        };
        let fresh = fresh.map(|index| {
            let sigma = completion.of(completion.mixed);
            (key(index, sigma, edges.in_force(index)), new_one(index))
        });
        let tried = open().filter(|edge| Some(new(edge)) == considered);
        let tried = tried.map(|edge| {
            let sigma = completion.of_edge(edge);
            let choice = Choice::Visited(edge.slot, edge.id);
            (key(usize::from(edge.index), sigma, edge.prior), choice)
        });
        let best = tried
            .chain(fresh)
            .reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.expect("a node that is not proven has an open edge").1
    }

    fn gumbel(&self) -> &GumbelRoot {
        let gumbel = self.tree.progress.gumbel.as_ref();
        gumbel.expect("set when the root was prepared")
    }

    /// g + ln P + sigma(completed) of every edge of the root.
    pub(crate) fn gumbel_scores(&self, dense: &Dense) -> Vec<f64> {
        let root = self.tree.root;
        let completion = self.completion(root, &self.tried(root));
        let visited = dense.visits.iter().map(|&n| n > 0).zip(&dense.q);
        let completed = visited.map(|(yes, &q)| if yes { q } else { completion.mixed });
        let aims = self.gumbel().aims.iter().zip(completed);
        aims.map(|(aim, q)| aim + completion.of(q)).collect()
    }
}

/// The `n` places that are ahead of all others, in falling order.
fn first_places(aims: &[f64], priors: &[f32], n: usize) -> Vec<u16> {
    let rounded: Vec<f32> = aims.iter().map(|&aim| aim as f32).collect();
    let mut places = places_of_greatest(&rounded, n);
    places.sort_unstable_by(|&a, &b| ahead(aims, priors, b.into(), a.into()));
    places.truncate(n);
    places
}

#[cfg(test)]
mod tests {
    use super::schedule;

    #[test]
    fn schedules_halve() {
        // 16 simulations over 4 edges: two rounds for each of four, then the better two get the rest.
        assert_eq!(
            schedule(4, 16),
            [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        );
        assert_eq!(schedule(1, 3), [0, 1, 2]);
        assert_eq!(schedule(8, 3), [0, 0, 0]);
        assert!(schedule(5, 0).is_empty());
    }
}
