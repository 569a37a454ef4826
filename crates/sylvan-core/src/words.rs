//! One arena of 32-bit words from which all blocks of a pool are cut.
//!
//! Blocks have size classes (exact to 32 words, then in steps of an eighth) with a free list each,
//! chained through the free blocks themselves. A request takes a free block of its class, else
//! splits a larger one, else takes new words at the end; so memory that was freed in one size
//! comes back in another, and the arena grows only when little is free.

use crate::node::NONE;

#[derive(Debug)]
pub struct Words {
    words: Vec<u32>,
    /// The head of each class's chain of free blocks.
    free: Vec<u32>,
    /// Words in each class.
    sizes: Vec<u32>,
}

const EXACT_CLASSES: u32 = 32;
const LARGEST: u32 = 1 << 20;

impl Default for Words {
    fn default() -> Self {
        let mut sizes: Vec<u32> = (1..=EXACT_CLASSES).collect();
        while *sizes.last().unwrap() < LARGEST {
            let last = *sizes.last().unwrap();
            sizes.push(last + (last / 8).next_multiple_of(4));
        }
        Self {
            words: Vec::new(),
            free: vec![NONE; sizes.len()],
            sizes,
        }
    }
}

impl Words {
    fn class(&self, len: u32) -> usize {
        if len <= EXACT_CLASSES {
            len as usize - 1
        } else {
            self.sizes.partition_point(|&size| size < len)
        }
    }

    /// The words that a block of `len` really takes.
    pub fn granted(&self, len: u32) -> u32 {
        self.sizes[self.class(len)]
    }

    /// The start of a block of at least `len` words, whose contents are arbitrary.
    pub fn take(&mut self, len: u32) -> u32 {
        let class = self.class(len);
        if self.free[class] != NONE {
            return self.pop(class);
        }
        let size = self.sizes[class];
        // Splitting a block less than twice as large would leave crumbs too small for most uses.
        let twice = self.class((2 * size).min(LARGEST));
        if let Some(larger) = (twice..self.free.len()).find(|&c| self.free[c] != NONE) {
            let start = self.pop(larger);
            self.scatter(start + size, self.sizes[larger] - size);
            return start;
        }
        let start = self.words.len() as u32;
        self.words.resize(self.words.len() + size as usize, 0);
        start
    }

    /// Returns a block that was taken with this `len`.
    pub fn give(&mut self, start: u32, len: u32) {
        let class = self.class(len);
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
        start
    }

    fn push(&mut self, start: u32, class: usize) {
        self.words[start as usize] = self.free[class];
        self.free[class] = start;
    }

    /// Words ever in use.
    pub fn len(&self) -> usize {
        self.words.len()
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
        let mut words = Words::default();
        let mut rng = Rng::new(0, 0);
        let mut live: Vec<(u32, u32, u32)> = Vec::new();
        let mut peak = 0;
        for tag in 0..20_000u32 {
            if live.len() > 200 || (!live.is_empty() && rng.below(3) == 0) {
                let (start, len, tag) = live.swap_remove(rng.below(live.len()));
                let block = &words[start as usize..][..len as usize];
                assert!(block.iter().all(|&w| w == tag), "another block wrote here");
                words.give(start, len);
            } else {
                let len = 1 + rng.below(if tag % 7 == 0 { 300 } else { 40 }) as u32;
                let start = words.take(len);
                words[start as usize..][..len as usize].fill(tag);
                live.push((start, len, tag));
            }
            peak = peak.max(live.iter().map(|b| b.1 as usize).sum::<usize>());
        }
        assert!(words.len() < 2 * peak, "{} words for {peak}", words.len());
    }
}
