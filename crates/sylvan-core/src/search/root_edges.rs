//! The edges of a root, in full precision.

use crate::contracts::game::Action;
use crate::contracts::numbers::PriorBits;
use crate::contracts::simd::multiversioned;
use crate::memory::edges::NO_EDGE;
use crate::search::top_actions::indices_of_greatest;

/// The root's edges, in the game's order of actions.
#[derive(Clone, Debug, Default)]
pub struct RootEdges {
    pub actions: Vec<Action>,
    /// As the evaluator gave them.
    pub priors: Vec<f32>,
    /// The evaluator's value for the seat to move, which the Gumbel rule mixes with Q.
    pub raw: f32,
    /// 32-bit codes of the priors in force (with noise), 0 where visited.
    pub(super) codes: Vec<u32>,
    /// Places of the highest codes, in falling order; behind them are those of all others that are
    /// not visited.
    first: Vec<u16>,
}

pub(super) const EXACT: PriorBits = PriorBits::ThirtyTwo;
/// Edges of a root whose order is known: to look for the next one among thousands takes its time.
const RANKED: usize = 64;

impl RootEdges {
    pub fn new(actions: Vec<Action>, priors: Vec<f32>, raw: f32) -> Self {
        let codes = priors.iter().map(|&p| EXACT.encode(p)).collect();
        Self {
            actions,
            priors,
            raw,
            codes,
            first: Vec::new(),
        }
    }

    pub fn bytes(&self) -> u64 {
        (self.actions.len() * (size_of::<Action>() + size_of::<f32>() + size_of::<u32>())) as u64
    }

    /// Finds out which come first, once priors are in force: as many as can be tried, if those are
    /// few.
    pub(super) fn rank(&mut self, most: usize) {
        let most = most.min(RANKED);
        let codes = &self.codes;
        self.first = indices_of_greatest(bytemuck::cast_slice(codes), most); // EXACT codes are floats
        let code = |index: u16| codes[usize::from(index)];
        self.first
            .sort_by_key(|&index| std::cmp::Reverse(code(index)));
        self.first.truncate(most);
    }

    /// The index and prior of the best unvisited edge, or `NO_EDGE`.
    pub fn best(&self) -> (usize, f32) {
        let mut first = self.first.iter().map(|&index| usize::from(index));
        if let Some(index) = first.find(|&index| self.codes[index] != 0) {
            return (index, EXACT.decode(self.codes[index]));
        }
        let mut best = (0, 0);
        for (index, &code) in self.codes.iter().enumerate() {
            if code > best.1 {
                best = (index, code);
            }
        }
        if best.1 == 0 {
            NO_EDGE
        } else {
            (best.0, EXACT.decode(best.1))
        }
    }

    /// Priors in force; those of visited edges stand in the children.
    pub fn current(&self) -> Vec<f32> {
        self.codes.iter().map(|&code| EXACT.decode(code)).collect()
    }

    /// A prior as the tree keeps it.
    pub fn kept(&self, prior: f32) -> f32 {
        EXACT.quantise(prior)
    }

    /// The prior in force of an unvisited edge.
    pub fn in_force(&self, index: usize) -> f32 {
        EXACT.decode(self.codes[index])
    }

    /// Writes the priors in force of unvisited edges, times the first factor and divided by the
    /// second; zeros where edges are visited.
    pub fn write_untried(&self, factors: (f32, f32), out: &mut [f32]) {
        spread(&self.codes, factors.0, factors.1, out);
    }

    pub fn is_unvisited(&self, index: usize) -> bool {
        self.codes[index] != 0
    }

    pub fn mark_visited(&mut self, index: usize) {
        self.codes[index] = 0;
    }

    pub fn mark_unvisited(&mut self, index: usize, prior: f32) {
        self.codes[index] = EXACT.encode(prior);
        if !self.first.contains(&(index as u16)) {
            self.first.clear(); // it may come before them
        }
    }
}

multiversioned! {
    fn spread(codes: &[u32], factor: f32, divisor: f32, out: &mut [f32]) {
        for (out, &code) in out.iter_mut().zip(codes) {
            *out = EXACT.decode(code) * factor / divisor;
        }
    }
}
