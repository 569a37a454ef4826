//! What a tree keeps of a learned model's policy at a leaf.
//!
//! A model has an opinion on every action, thousands of them, and a search tries few: at most as
//! many as it has simulations left. Edges are tried by falling prior, as the tree stores it, then
//! rising action. So only the first ones in that order are kept, and not a visit changes. Priors
//! are the softmax over all actions with a finite logit; with `top_k`, over the highest of these,
//! ties to the lower action.
//!
//! Cost: one pass finds the greatest of every block of 16 logits and one adds up exponentials. The
//! k-th greatest of the blocks bounds the k-th greatest logit from below, so that few blocks are
//! read again.

use crate::game::Action;
use crate::numbers::{PADDING, PriorBits, exp, softmax_padded, softmax_scale, widened};

const BLOCK: usize = 16;

/// The edges of a leaf, by rising action, and room for finding them.
#[derive(Debug, Default)]
pub struct Shortlist {
    pub actions: Vec<Action>,
    /// Goes on with zeros up to a multiple of `PADDING`.
    pub priors: Vec<f32>,
    /// The greatest logit of each block.
    tops: Vec<f32>,
    /// Finite logits, where not all are, and their places.
    finite: Vec<f32>,
    names: Vec<Action>,
    spare: Vec<f32>,
    codes: Vec<u32>,
    sorted: Vec<u32>,
}

/// What one pass over logits finds.
#[derive(Clone, Copy, Debug)]
struct Scan {
    greatest: f32,
    least: f32,
    /// None is NaN or +inf.
    valid: bool,
}

impl Shortlist {
    /// Keeps up to `most` of the actions to which these logits belong, one each, and which `top_k`
    /// leaves if that is not 0. False, and nothing of use is kept, if one is NaN or +inf or none is
    /// finite.
    pub fn fill(&mut self, logits: &[f32], top_k: usize, most: usize, bits: PriorBits) -> bool {
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

    /// The same where all logits are finite, `max` is the greatest and `tops` are known.
    fn choose(&mut self, logits: &[f32], max: f32, top_k: usize, most: usize, bits: PriorBits) {
        let n = logits.len();
        self.actions.clear();
        self.priors.clear();
        if top_k != 0 && top_k < n {
            self.highest(logits, top_k);
            softmax_padded(&mut self.priors);
            if most < top_k {
                self.cut(most, bits);
            }
        } else if most < n {
            let scale = softmax_scale(logits, max);
            self.likeliest(logits, max, scale, most, bits);
        } else {
            self.actions.extend(0..n as Action);
            self.priors.extend_from_slice(logits);
            softmax_padded(&mut self.priors);
        }
    }

    /// A number that at least `k` logits are not below; the lowest of all if there are too few
    /// blocks to tell.
    fn bound(&mut self, k: usize) -> f32 {
        if k > self.tops.len() {
            return f32::NEG_INFINITY;
        }
        self.spare.clear();
        self.spare.extend_from_slice(&self.tops);
        kth_greatest(&mut self.spare, k)
    }

    /// Lists the places of logits not below a floor, and these logits.
    fn gather(&mut self, logits: &[f32], floor: f32) {
        for (number, block) in logits.chunks(BLOCK).enumerate() {
            if self.tops[number] < floor {
                continue;
            }
            for (i, &logit) in block.iter().enumerate() {
                if logit >= floor {
                    self.actions.push((number * BLOCK + i) as Action);
                    self.priors.push(logit);
                }
            }
        }
    }

    /// Lists the `k` highest logits, of equals the first.
    fn highest(&mut self, logits: &[f32], k: usize) {
        let bound = self.bound(k);
        self.gather(logits, bound);
        if self.priors.len() == k {
            return;
        }
        self.spare.clear();
        self.spare.extend_from_slice(&self.priors);
        let floor = kth_greatest(&mut self.spare, k);
        let above = self.priors.iter().filter(|&&logit| logit > floor).count();
        let mut room = k - above;
        self.retain(|logit| {
            let on_it = logit == floor && room > 0;
            room -= usize::from(on_it);
            logit > floor || on_it
        });
    }

    /// Keeps the listed edges whose number passes.
    fn retain(&mut self, mut keep: impl FnMut(f32) -> bool) {
        let mut kept = 0;
        for i in 0..self.actions.len() {
            if keep(self.priors[i]) {
                (self.actions[kept], self.priors[kept]) = (self.actions[i], self.priors[i]);
                kept += 1;
            }
        }
        self.actions.truncate(kept);
        self.priors.truncate(kept);
    }

    /// Lists the `k` edges that come first, with their priors `exp(logit - max) * scale`.
    fn likeliest(&mut self, logits: &[f32], max: f32, scale: f32, k: usize, bits: PriorBits) {
        // As far apart, two logits have different codes; the exponential may be off by 3e-7.
        let apart = match bits {
            PriorBits::Eight => 0.0607,
            PriorBits::Sixteen => 5e-4,
            PriorBits::ThirtyTwo => 1e-5,
        };
        let bound = self.bound(k) - apart;
        self.gather(logits, bound);
        let prior = |logit: f32| exp(logit - max) * scale;
        self.priors.iter_mut().for_each(|x| *x = prior(*x));
        let least = self.cut(k, bits);
        if least > bits.encode(0.0) {
            return;
        }
        // Below some prior all have the same code: of these the first, gathered or not.
        let floor = bits.encode(0.0);
        self.retain(|prior| bits.encode(prior) > floor);
        let mut room = k - self.actions.len();
        let above = std::mem::take(&mut self.actions);
        let mut places = above.iter().copied().peekable();
        let mut spare = std::mem::take(&mut self.priors);
        for (place, &logit) in logits.iter().enumerate() {
            let listed = places.next_if_eq(&(place as Action)).is_some();
            if listed || room > 0 {
                room -= usize::from(!listed);
                self.actions.push(place as Action);
                self.priors.push(prior(logit));
            }
        }
        spare.clear();
        self.pad();
    }

    /// Keeps of the listed edges the `k` that come first; the least code among them.
    fn cut(&mut self, k: usize, bits: PriorBits) -> u32 {
        self.priors.truncate(self.actions.len());
        self.codes.clear();
        self.codes
            .extend(self.priors.iter().map(|&p| bits.encode(p)));
        let mut least = self.codes.iter().copied().min().unwrap_or(0);
        if self.codes.len() > k {
            self.sorted.clear();
            self.sorted.extend_from_slice(&self.codes);
            least = *self.sorted.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1;
            let mut room = k - self.codes.iter().filter(|&&code| code > least).count();
            let codes = std::mem::take(&mut self.codes);
            let mut each = codes.iter();
            self.retain(|_| {
                let code = *each.next().expect("one code per edge");
                let on_it = code == least && room > 0;
                room -= usize::from(on_it);
                code > least || on_it
            });
            self.codes = codes;
        }
        self.pad();
        least
    }

    fn pad(&mut self) {
        let len = self.actions.len().next_multiple_of(PADDING);
        self.priors.resize(len, 0.0);
    }
}

/// Places, rising, among which are those of the `k` greatest numbers, and few others.
pub fn places_of_greatest(numbers: &[f32], k: usize) -> Vec<u16> {
    let mut list = Shortlist::default();
    if k < numbers.len() {
        scan(numbers, &mut list.tops);
        let bound = list.bound(k.max(1));
        list.gather(numbers, bound);
        list.actions.iter().map(|&place| place as u16).collect()
    } else {
        (0..numbers.len() as u16).collect()
    }
}

fn kth_greatest(numbers: &mut [f32], k: usize) -> f32 {
    // No number is NaN, and zeros of both signs are equal: any that is not less will do.
    *numbers
        .select_nth_unstable_by(k - 1, |a, b| b.partial_cmp(a).expect("numbers"))
        .1
}

widened! {
    /// Finds the greatest of every block, and of all, and whether all are numbers.
    fn scan(logits: &[f32], tops: &mut Vec<f32>) -> Scan {
        let greater = |a: f32, b: f32| if b > a { b } else { a };
        let less = |a: f32, b: f32| if b < a { b } else { a };
        tops.clear();
        let (blocks, rest) = logits.as_chunks::<BLOCK>();
        let mut lows = [f32::INFINITY; BLOCK];
        let mut valid = [1u32; BLOCK];
        let mut greatest = f32::NEG_INFINITY;
        for block in blocks {
            for i in 0..BLOCK {
                lows[i] = less(lows[i], block[i]);
                valid[i] &= u32::from(block[i] < f32::INFINITY);
            }
            let by_8: [f32; 8] = std::array::from_fn(|i| greater(block[i], block[i + 8]));
            let by_4: [f32; 4] = std::array::from_fn(|i| greater(by_8[i], by_8[i + 4]));
            let top = greater(greater(by_4[0], by_4[2]), greater(by_4[1], by_4[3]));
            tops.push(top);
            greatest = greater(greatest, top);
        }
        let mut scan = Scan {
            greatest,
            least: lows.into_iter().fold(f32::INFINITY, less),
            valid: valid.into_iter().all(|yes| yes == 1),
        };
        if !rest.is_empty() {
            let top = rest.iter().copied().fold(f32::NEG_INFINITY, greater);
            tops.push(top);
            scan.greatest = greater(greatest, top);
            scan.least = rest.iter().copied().fold(scan.least, less);
            scan.valid &= rest.iter().all(|&x| x < f32::INFINITY);
        }
        scan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::softmax;
    use crate::rng::Rng;

    /// The definition: all priors, then the first by stored prior and place.
    fn expected(
        logits: &[f32],
        top_k: usize,
        most: usize,
        bits: PriorBits,
    ) -> (Vec<Action>, Vec<f32>) {
        let mut places: Vec<usize> = (0..logits.len())
            .filter(|&i| logits[i].is_finite())
            .collect();
        if top_k > 0 && top_k < places.len() {
            places.sort_by(|&a, &b| logits[b].partial_cmp(&logits[a]).unwrap().then(a.cmp(&b)));
            places.truncate(top_k);
            places.sort_unstable();
        }
        let mut priors: Vec<f32> = places.iter().map(|&i| logits[i]).collect();
        softmax(&mut priors);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(bits.encode(priors[i])), i));
        order.truncate(most);
        order.sort_unstable();
        let actions = order.iter().map(|&i| places[i] as Action).collect();
        (actions, order.iter().map(|&i| priors[i]).collect())
    }

    #[test]
    fn the_edges_kept_are_the_first_by_stored_prior() {
        let mut rng = Rng::new(5, 0);
        let mut list = Shortlist::default();
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
            let (actions, priors) = expected(&logits, top_k, most, bits);
            assert_eq!(list.actions, actions, "{kind} {top_k} {most} {bits:?}");
            assert_eq!(list.priors[..actions.len()], priors);
            assert_eq!(list.priors.len(), actions.len().next_multiple_of(PADDING));
        }
    }

    #[test]
    fn the_greatest_are_among_the_places() {
        let mut rng = Rng::new(6, 0);
        for _ in 0..2000 {
            let n = 1 + rng.below(400);
            let numbers: Vec<f32> = (0..n).map(|_| rng.below(50) as f32).collect();
            let k = 1 + rng.below(n);
            let places = places_of_greatest(&numbers, k);
            assert!(places.len() >= k && places.is_sorted());
            let least = places
                .iter()
                .map(|&i| numbers[usize::from(i)])
                .fold(99.0, f32::min);
            assert_eq!(
                numbers.iter().filter(|&&x| x >= least).count(),
                places.len(),
                "all that are not less"
            );
        }
    }

    #[test]
    fn what_is_no_number_is_noticed() {
        let mut list = Shortlist::default();
        let mut fill = |logits: &[f32]| list.fill(logits, 0, 9, PriorBits::Eight);
        for place in [0, 7, 15, 16, 20] {
            let mut logits = vec![1.0; 21];
            assert!(fill(&logits));
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
                logits[place] = bad;
                assert!(!fill(&logits), "{bad} at {place}");
            }
        }
        assert!(!fill(&[f32::NEG_INFINITY; 40]));
    }
}
