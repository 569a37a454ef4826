//! An arena of 32-bit words from which blocks are cut.
//!
//! Blocks are whole numbers of units, which are words or lines of the processor's cache, and have
//! size classes (exact to 32 units, then in steps of an eighth) with a free list each,
//! chained through the free blocks themselves. A request takes a free block of its class, else
//! splits a larger one, else takes new words at the end; so memory that was freed in one size
//! comes back in another. When a quarter of the arena is free and yet it would have to grow,
//! neighbouring free blocks are merged first; then it may grow by a quarter before that is tried
//! again.

use crate::node::NONE;
use crate::pages::prefer_large;

#[derive(Debug)]
pub struct Words {
    words: Vec<u32>,
    /// Bytes for which large pages were asked.
    asked: usize,
    /// The head of each class's chain of free blocks.
    free: Vec<u32>,
    /// Bit `c` is set if class `c` has free blocks.
    filled: u128,
    /// Words in each class.
    sizes: Vec<u32>,
    /// Words in a unit.
    unit: u32,
    free_words: usize,
    /// Merge only once the arena has reached this length.
    patience: usize,
}

const EXACT_CLASSES: u32 = 32;
/// Classes between a block to split and what is cut from it.
const CRUMB: usize = 4;
const LARGEST: u32 = 1 << 20;

/// Words in a line of the cache.
pub const LINE: u32 = 16;

impl Words {
    /// An arena of blocks whose sizes are multiples of `unit` words. With `LINE`, blocks of a large
    /// arena also begin where a line does: its memory begins 16 bytes after a page, where the
    /// allocator has put it.
    pub fn new(unit: u32) -> Self {
        let mut sizes: Vec<u32> = (1..=EXACT_CLASSES).collect();
        let mut size = EXACT_CLASSES;
        while size < LARGEST {
            size += (size / 8).next_multiple_of(4);
            sizes.push(size);
        }
        assert!(sizes.len() <= 128, "a class needs its bit");
        Self {
            words: vec![0; if unit == LINE { 12 } else { 0 }],
            asked: 0,
            filled: 0,
            free: vec![NONE; sizes.len()],
            sizes: sizes.into_iter().map(|size| size * unit).collect(),
            unit,
            free_words: 0,
            patience: 0,
        }
    }

    #[inline]
    fn class(&self, len: u32) -> usize {
        let units = len.div_ceil(self.unit);
        if units <= EXACT_CLASSES {
            units as usize - 1
        } else {
            self.sizes.partition_point(|&size| size < len)
        }
    }

    /// The start of a block of at least `len` words, whose contents are arbitrary; its bytes are
    /// added to `bytes`.
    #[inline]
    pub fn take(&mut self, len: u32, bytes: &mut u64) -> u32 {
        let class = self.class(len);
        *bytes += 4 * u64::from(self.sizes[class]);
        if let Some(start) = self.reuse(class) {
            return start;
        }
        if self.free_words > self.words.len() / 4 && self.words.len() >= self.patience {
            self.merge();
            self.patience = self.words.len() + self.words.len() / 4;
            if let Some(start) = self.reuse(class) {
                return start;
            }
        }
        let start = u32::try_from(self.words.len()).expect("budgets keep a pool below 2^32 words");
        let size = self.sizes[class] as usize;
        self.words.resize(self.words.len() + size, 0);
        prefer_large(&mut self.words, &mut self.asked);
        start
    }

    /// A free block of this class, cut from a larger one if need be.
    fn reuse(&mut self, class: usize) -> Option<u32> {
        if self.free[class] != NONE {
            return Some(self.pop(class));
        }
        // A few classes further up, so that what is left over is of use.
        let larger = self.filled >> class >> CRUMB << CRUMB << class;
        if larger == 0 {
            return None;
        }
        let larger = larger.trailing_zeros() as usize;
        let start = self.pop(larger);
        let size = self.sizes[class];
        self.scatter(start + size, self.sizes[larger] - size);
        Some(start)
    }

    /// Makes one block of free blocks that touch.
    fn merge(&mut self) {
        let mut blocks = Vec::new();
        for class in 0..self.free.len() {
            while self.free[class] != NONE {
                let start = self.pop(class);
                blocks.push((start, self.sizes[class]));
            }
        }
        blocks.sort_unstable();
        let mut blocks = blocks.into_iter();
        let Some(mut run) = blocks.next() else { return };
        for (start, size) in blocks {
            if run.0 + run.1 == start {
                run.1 += size;
            } else {
                self.scatter(run.0, run.1);
                run = (start, size);
            }
        }
        self.scatter(run.0, run.1);
    }

    /// Returns a block that was taken with this `len`.
    pub fn give(&mut self, start: u32, len: u32, bytes: &mut u64) {
        let class = self.class(len);
        *bytes -= 4 * u64::from(self.sizes[class]);
        self.push(start, class);
    }

    /// Cuts a stretch of words into free blocks of existing classes.
    fn scatter(&mut self, mut start: u32, mut len: u32) {
        while len > 0 {
            let class = self.sizes.partition_point(|&size| size <= len) - 1;
            self.push(start, class);
            start += self.sizes[class];
            len -= self.sizes[class];
        }
    }

    fn pop(&mut self, class: usize) -> u32 {
        let start = self.free[class];
        self.free[class] = self.words[start as usize];
        self.free_words -= self.sizes[class] as usize;
        if self.free[class] == NONE {
            self.filled &= !(1 << class);
        }
        start
    }

    fn push(&mut self, start: u32, class: usize) {
        self.words[start as usize] = self.free[class];
        self.free[class] = start;
        self.filled |= 1 << class;
        self.free_words += self.sizes[class] as usize;
    }

    /// Bytes ever in use.
    pub fn bytes(&self) -> u64 {
        self.words.len() as u64 * 4
    }
}

impl std::ops::Deref for Words {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.words
    }
}

impl std::ops::DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn blocks_never_overlap_and_are_reused() {
        let mut words = Words::new(1);
        let mut rng = Rng::new(0, 0);
        let mut live: Vec<(u32, u32, u32)> = Vec::new();
        let (mut peak, mut bytes) = (0, 0);
        for tag in 0..20_000u32 {
            if live.len() > 200 || (!live.is_empty() && rng.below(3) == 0) {
                let (start, len, tag) = live.swap_remove(rng.below(live.len()));
                let block = &words[start as usize..][..len as usize];
                assert!(block.iter().all(|&w| w == tag), "another block wrote here");
                words.give(start, len, &mut bytes);
            } else {
                let len = 1 + rng.below(if tag % 7 == 0 { 300 } else { 40 }) as u32;
                let start = words.take(len, &mut bytes);
                words[start as usize..][..len as usize].fill(tag);
                live.push((start, len, tag));
            }
            peak = peak.max(live.iter().map(|b| b.1 as usize).sum::<usize>());
        }
        assert!(
            words.len() < 5 * peak / 2,
            "{} words for {peak}",
            words.len()
        );
    }
}
