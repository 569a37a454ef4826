//! The edges of a root, with priors in full precision.

use crate::contracts::game::Action;
use crate::contracts::numbers::PriorBits;
use crate::contracts::simd::multiversioned;
use crate::memory::edges::NO_EDGE;
use crate::search::top_actions::indices_of_greatest;

/// The root's edges, in the game's order of actions.
#[derive(Clone, Debug, Default)]
pub struct RootEdges {
    pub actions: Vec<Action>,
    /// The evaluator's priors, without noise.
    pub priors: Vec<f32>,
    /// The evaluator's value for the seat to move; the Gumbel rule mixes it with Q.
    pub raw: f32,
    /// 32-bit codes of the current priors (with noise), 0 if visited.
    pub(super) codes: Vec<u32>,
    /// Indices of the highest codes, in falling order; all other unvisited edges come after them.
    first: Vec<u16>,
}

pub(super) const EXACT: PriorBits = PriorBits::ThirtyTwo;
/// The most edges that are sorted in advance: scanning thousands for the next one is slow.
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

    /// Sorts the first edges by their current priors: as many as can be tried, at most `RANKED`.
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

    /// The current priors; those of visited edges are stored in the children.
    pub fn current_priors(&self) -> Vec<f32> {
        self.codes.iter().map(|&code| EXACT.decode(code)).collect()
    }

    /// A prior after rounding to its stored format.
    pub fn quantised(&self, prior: f32) -> f32 {
        EXACT.quantise(prior)
    }

    /// The current prior of an unvisited edge.
    pub fn current_prior(&self, index: usize) -> f32 {
        EXACT.decode(self.codes[index])
    }

    /// Writes the current priors of unvisited edges, times `factors.0`, divided by `factors.1`;
    /// zeros for visited edges.
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
            self.first.clear(); // it may precede them
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
