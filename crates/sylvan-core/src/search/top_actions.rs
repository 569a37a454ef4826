//! Selects the actions of a learned model's policy that a leaf stores.
//!
//! A model gives logits for thousands of actions, but a search tries at most as many as it has
//! simulations left, by falling stored prior, then rising action. So storing only the first ones in
//! that order does not change any visit. Priors are the softmax over all actions with a finite
//! logit; with `top_k`, over the highest of these, ties to the lower action.
//!
//! Cost: one pass finds the maximum of every group of 8 logits and one adds up exponentials. The
//! k-th greatest maximum is a lower bound of the k-th greatest logit, so few groups are read again.
//! The logits of a group are 8 apart, so that eight groups are compared at once.

use crate::contracts::game::Action;
use crate::contracts::numbers::{PADDING, PriorBits, exp, pad, softmax_padded, softmax_scale};
use crate::contracts::simd::multiversioned;
use crate::contracts::simd::{COLUMNS, Columns};

/// Groups compared at once, and logits per group.
const LANES: usize = COLUMNS;
/// Logits of eight groups.
const BLOCK: usize = LANES * LANES;

/// The edges of a leaf, by rising action, and buffers.
#[derive(Debug, Default)]
pub struct TopActions {
    pub actions: Vec<Action>,
    /// Padded with zeros to a multiple of `PADDING`.
    pub priors: Vec<f32>,
    /// `priors` still holds logits.
    raw: bool,
    /// The greatest logit of each group.
    tops: Vec<f32>,
    /// The finite logits and their indices, if not all are finite.
    finite: Vec<f32>,
    names: Vec<Action>,
    /// The rank of an index in the high bits, the inverted index in the low bits: greater keys
    /// first.
    keys: Vec<u64>,
    sorted: Vec<u64>,
    order: Vec<f32>,
}

/// The result of one pass over logits.
#[derive(Clone, Copy, Debug)]
struct Scan {
    greatest: f32,
    least: f32,
    /// No logit is NaN or +inf.
    valid: bool,
}

impl TopActions {
    /// Selects up to `most` of the actions 0, 1, ... with these logits, after restricting them to
    /// the `top_k` highest unless it is 0. Returns false if a logit is NaN or +inf or if none is
    /// finite; the contents are then undefined. Call `finish` to get priors.
    pub fn fill(&mut self, logits: &[f32], top_k: usize, most: usize, bits: PriorBits) -> bool {
        let n = logits.len();
        self.raw = false;
        if n <= PADDING && most >= n && (top_k == 0 || top_k >= n) && all_finite(logits) {
            self.keep_all(logits);
            return true;
        }
        let scan = scan(logits, &mut self.tops);
        if !scan.valid || scan.greatest == f32::NEG_INFINITY {
            return false;
        }
        if scan.least > f32::NEG_INFINITY {
            self.choose(logits, scan.greatest, top_k, most, bits);
            return true;
        }
        let mut finite = std::mem::take(&mut self.finite);
        let mut names = std::mem::take(&mut self.names);
        finite.clear();
        names.clear();
        for (action, &logit) in logits.iter().enumerate() {
            if logit > f32::NEG_INFINITY {
                finite.push(logit);
                names.push(action as Action);
            }
        }
        self::scan(&finite, &mut self.tops);
        self.choose(&finite, scan.greatest, top_k, most, bits);
        for action in &mut self.actions {
            *action = names[*action as usize];
        }
        (self.finite, self.names) = (finite, names);
        true
    }

    /// The same for finite logits with maximum `max` and known `tops`.
    fn choose(&mut self, logits: &[f32], max: f32, top_k: usize, most: usize, bits: PriorBits) {
        let n = logits.len();
        self.priors.clear();
        if top_k != 0 && top_k < n {
            let bound = self.bound(top_k);
            self.gather(logits, bound, ordered);
            self.pick(top_k);
            let kept = self.actions.iter().map(|&index| logits[index as usize]);
            self.priors.extend(kept);
            let n = pad(&mut self.priors);
            softmax_padded(&mut self.priors, n);
            if most < top_k {
                self.cut(most, bits);
            }
        } else if most < n {
            let scale = softmax_scale(logits, max);
            self.most_likely(logits, max, scale, most, bits);
        } else {
            self.keep_all(logits);
        }
    }

    fn keep_all(&mut self, logits: &[f32]) {
        self.actions.clear();
        self.actions.extend(0..logits.len() as Action);
        self.priors.clear();
        self.priors.extend_from_slice(logits);
        pad(&mut self.priors);
        self.raw = true;
    }

    /// Turns logits into priors. Separate from `fill`, because wide loads right after narrow stores
    /// break store forwarding: the caller can do other work in between.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.raw) {
            softmax_padded(&mut self.priors, self.actions.len());
        }
    }

    /// A lower bound of the `k`-th greatest logit; -inf if there are fewer than `k` groups.
    fn bound(&mut self, k: usize) -> f32 {
        if k > self.tops.len() {
            return f32::NEG_INFINITY;
        }
        // With many groups, merge them: the bound stays good enough.
        self.order.clear();
        self.order.extend_from_slice(&self.tops);
        let mut len = self.order.len();
        while len / 2 >= LANES * k {
            let (first, second) = self.order[..len].split_at_mut(len / 2);
            raise(first, second);
            len /= 2;
        }
        let least_first = |a: &f32, b: &f32| ordered(*b).cmp(&ordered(*a));
        *self.order[..len]
            .select_nth_unstable_by(k - 1, least_first)
            .1
    }

    /// Lists the keys of logits that are at least `floor`.
    fn gather(&mut self, logits: &[f32], floor: f32, rank: impl Fn(f32) -> u32) {
        self.keys.clear();
        for (block, tops) in self.tops.chunks(LANES).enumerate() {
            if !reaches(tops, floor) {
                continue;
            }
            let logits = &logits[block * BLOCK..];
            for (lane, _) in tops.iter().enumerate().filter(|(_, top)| **top >= floor) {
                // No branches: they would be mispredicted.
                let (mut indices, mut found) = ([0; LANES + 1], 0);
                let group = logits.iter().skip(lane).step_by(LANES).take(LANES);
                for (i, &logit) in group.enumerate() {
                    indices[found] = i * LANES + lane;
                    found += usize::from(logit >= floor);
                }
                for &i in &indices[..found] {
                    self.keys.push(key(rank(logits[i]), block * BLOCK + i));
                }
            }
        }
    }

    /// Lists the indices of the `k` greatest keys by rising index; returns the least rank among
    /// them.
    fn pick(&mut self, k: usize) -> u32 {
        let least = if self.keys.len() > k {
            self.sorted.clear();
            self.sorted.extend_from_slice(&self.keys);
            *self.sorted.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1
        } else {
            self.keys.iter().copied().min().unwrap_or(0)
        };
        self.actions.clear();
        self.actions.resize(self.keys.len(), 0);
        let mut found = 0;
        for &key in &self.keys {
            self.actions[found] = !(key as u32);
            found += usize::from(key >= least);
        }
        self.actions.truncate(found);
        self.actions.sort_unstable();
        (least >> 32) as u32
    }

    /// Lists the first `k` edges, with their priors `exp(logit - max) * scale`.
    fn most_likely(&mut self, logits: &[f32], max: f32, scale: f32, k: usize, bits: PriorBits) {
        // Two logits that differ by more have different codes; `exp` has a relative error of 3e-7.
        let apart = match bits {
            PriorBits::Eight => 0.0607,
            PriorBits::Sixteen => 5e-4,
            PriorBits::ThirtyTwo => 1e-5,
        };
        let prior = |logit: f32| exp(logit - max) * scale;
        let bound = self.bound(k) - apart;
        self.gather(logits, bound, |logit| bits.encode(prior(logit)));
        let lowest = bits.encode(0.0);
        if self.pick(k) == lowest {
            // All small priors have the lowest code: take the first of them, gathered or not.
            self.actions
                .retain(|&index| bits.encode(prior(logits[index as usize])) > lowest);
            let mut room = k - self.actions.len();
            let mut above = std::mem::take(&mut self.actions).into_iter().peekable();
            for index in 0..logits.len() as Action {
                let listed = above.next_if_eq(&index).is_some();
                if listed || room > 0 {
                    room -= usize::from(!listed);
                    self.actions.push(index);
                }
            }
        }
        let indices = self.actions.iter();
        self.priors
            .extend(indices.map(|&index| prior(logits[index as usize])));
        self.pad();
    }

    /// Keeps the first `k` of the listed edges.
    fn cut(&mut self, k: usize, bits: PriorBits) {
        let names = std::mem::take(&mut self.actions);
        self.keys.clear();
        let codes = self.priors[..names.len()].iter().map(|&p| bits.encode(p));
        self.keys
            .extend(codes.enumerate().map(|(index, code)| key(code, index)));
        self.pick(k);
        for (i, action) in self.actions.iter_mut().enumerate() {
            let index = *action as usize; // at least `i`
            self.priors[i] = self.priors[index];
            *action = names[index];
        }
        self.priors.truncate(self.actions.len());
        self.pad();
    }

    fn pad(&mut self) {
        let len = self.actions.len().next_multiple_of(PADDING);
        self.priors.resize(len, 0.0);
    }
}

fn all_finite(logits: &[f32]) -> bool {
    logits.iter().filter(|x| !x.is_finite()).count() == 0
}

fn key(rank: u32, index: usize) -> u64 {
    u64::from(rank) << 32 | u64::from(!(index as u32))
}

/// Maps floats to integers in the same order; zeros of both signs are equal.
fn ordered(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
}

/// Whether a number is at least `floor`.
fn reaches(numbers: &[f32], floor: f32) -> bool {
    numbers.iter().filter(|&&x| x >= floor).count() > 0
}

/// Indices, rising, that contain those of the `k` greatest numbers and few others.
pub fn indices_of_greatest(numbers: &[f32], k: usize) -> Vec<u16> {
    let mut list = TopActions::default();
    if k < numbers.len() {
        scan(numbers, &mut list.tops);
        let bound = list.bound(k.max(1));
        list.gather(numbers, bound, |_| 0);
        let mut indices: Vec<u16> = list.keys.iter().map(|&key| !(key as u32) as u16).collect();
        indices.sort_unstable();
        indices
    } else {
        (0..numbers.len() as u16).collect()
    }
}

multiversioned! {
    /// Replaces each number by the maximum of itself and another.
    fn raise(numbers: &mut [f32], others: &[f32]) {
        for (number, &other) in numbers.iter_mut().zip(others) {
            *number = if other > *number { other } else { *number };
        }
    }
}

multiversioned! {
    /// Finds the maximum of every group, the extremes of all, and NaN or +inf.
    fn scan(logits: &[f32], tops: &mut Vec<f32>) -> Scan {
        tops.clear();
        tops.resize(logits.len().div_ceil(BLOCK) * LANES, f32::NEG_INFINITY);
        let mut all = Columns::EMPTY;
        for (block, tops) in logits.chunks(BLOCK).zip(tops.as_chunks_mut().0) {
            let (rows, rest) = block.as_chunks();
            all.high = Columns::EMPTY.high;
            all = all.with(rows);
            for (column, &x) in rest.iter().enumerate() {
                all.include(column, x);
            }
            *tops = all.high;
        }
        all.high = Columns::EMPTY.with(tops.as_chunks().0).high;
        let greater = |a: f32, &b: &f32| if b > a { b } else { a };
        let less = |a: f32, &b: &f32| if b < a { b } else { a };
        Scan {
            greatest: all.high.iter().fold(f32::NEG_INFINITY, greater),
            least: all.low.iter().fold(f32::INFINITY, less),
            valid: all.valid.iter().all(|&yes| yes != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::numbers::softmax;
    use crate::contracts::rng::Rng;

    /// The definition: compute all priors, then take the first by stored prior and index.
    fn expected(
        logits: &[f32],
        top_k: usize,
        most: usize,
        bits: PriorBits,
    ) -> (Vec<Action>, Vec<f32>) {
        let mut indices: Vec<usize> = (0..logits.len())
            .filter(|&i| logits[i].is_finite())
            .collect();
        if top_k > 0 && top_k < indices.len() {
            indices.sort_by(|&a, &b| logits[b].partial_cmp(&logits[a]).unwrap().then(a.cmp(&b)));
            indices.truncate(top_k);
            indices.sort_unstable();
        }
        let mut priors: Vec<f32> = indices.iter().map(|&i| logits[i]).collect();
        softmax(&mut priors);
        let mut order: Vec<usize> = (0..indices.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(bits.encode(priors[i])), i));
        order.truncate(most);
        order.sort_unstable();
        let actions = order.iter().map(|&i| indices[i] as Action).collect();
        (actions, order.iter().map(|&i| priors[i]).collect())
    }

    #[test]
    fn the_edges_kept_are_the_first_by_stored_prior() {
        let mut rng = Rng::new(5, 0);
        let mut list = TopActions::default();
        for round in 0..6000 {
            let n = 1 + rng.below(if round % 10 == 0 { 700 } else { 90 });
            let kind = rng.below(6);
            let width = [0.02, 1.0, 8.0, 60.0, 1.0, 3.0][kind];
            let logits: Vec<f32> = (0..n)
                .map(|_| match kind {
                    4 => rng.below(5) as f32,
                    5 if rng.below(3) == 0 => f32::NEG_INFINITY,
                    _ => (width * (rng.uniform() - 0.5)) as f32,
                })
                .collect();
            if !logits.iter().any(|x| x.is_finite()) {
                continue;
            }
            let top_k = rng.below(3) * rng.below(n + 5);
            let most = 1 + rng.below(n + 5);
            let bits = [PriorBits::Eight, PriorBits::Sixteen, PriorBits::ThirtyTwo][rng.below(3)];
            assert!(list.fill(&logits, top_k, most, bits));
            list.finish();
            let (actions, priors) = expected(&logits, top_k, most, bits);
            assert_eq!(list.actions, actions, "{kind} {top_k} {most} {bits:?}");
            assert_eq!(list.priors[..actions.len()], priors);
            assert_eq!(list.priors.len(), actions.len().next_multiple_of(PADDING));
        }
    }

    #[test]
    fn indices_of_greatest_contain_the_greatest() {
        let mut rng = Rng::new(6, 0);
        for _ in 0..2000 {
            let n = 1 + rng.below(400);
            let numbers: Vec<f32> = (0..n).map(|_| rng.below(50) as f32).collect();
            let k = 1 + rng.below(n);
            let indices = indices_of_greatest(&numbers, k);
            assert!(indices.len() >= k && indices.is_sorted());
            let least = indices
                .iter()
                .map(|&i| numbers[usize::from(i)])
                .fold(99.0, f32::min);
            assert_eq!(
                numbers.iter().filter(|&&x| x >= least).count(),
                indices.len(),
                "all numbers that are not less"
            );
        }
    }

    #[test]
    fn nan_and_infinity_are_refused() {
        let mut list = TopActions::default();
        let mut fill = |logits: &[f32]| list.fill(logits, 0, 9, PriorBits::Eight);
        for index in [0, 7, 15, 16, 20] {
            let mut logits = vec![1.0; 21];
            assert!(fill(&logits));
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
                logits[index] = bad;
                assert!(!fill(&logits), "{bad} at {index}");
            }
        }
        assert!(!fill(&[f32::NEG_INFINITY; 40]));
    }
}
