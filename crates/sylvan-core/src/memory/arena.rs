//! The memory of a pool: an arena that allocates chunks of 16-byte units.
//!
//! Nodes, edges and families share it, so memory freed by one kind can be reused by another, and a
//! tree at its budget needs no reserve per kind. Adjacent free chunks merge immediately into one
//! *run*. An allocation takes a run of the shortest class that fits and frees the rest, or appends
//! new units. Every operation takes constant time.
//!
//! Runs are sorted by length into classes (exact up to 32 units, then four per doubling), each a
//! doubly linked chain through the runs themselves:
//!
//! ```text
//!     first unit of a run   [0] next of its class   [1] previous   [2] length
//!     last unit of a run    [3] length
//! ```
//!
//! One bit per unit marks the first and the last unit of every run; `free` uses it to find the free
//! neighbours of a chunk.

use crate::contracts::prefetch::prefetch_line;
use crate::memory::arena_cache;
use crate::memory::huge_pages::prefer_large;
use crate::memory::node::NONE;

/// 16 bytes, as four words.
pub type Unit = u128;

pub const UNIT_BYTES: u64 = size_of::<Unit>() as u64;

/// Units by which the arena grows: 64 KiB, so that growth is rare and touches little unused memory.
const STEP: usize = 4096;
/// Units of a small arena: 16 MiB, cheap to move, and reuses memory that is already in the caches.
const SMALL: usize = 1 << 20;
/// Bytes reserved by an arena without a limit.
const MOST_ROOM: u64 = 4 << 30;
/// The most units of an arena: links use one bit of the unit number (`family.rs`).
const MOST: u32 = (1 << 31) - 2;
const EXACT_CLASSES: u32 = 32;
const CLASSES: usize = 128;

#[derive(Debug)]
pub struct Arena {
    units: Vec<Unit>,
    /// Units to reserve once the arena is no longer small.
    reserved: usize,
    /// The end of the units allocated so far.
    end: u32,
    /// Units that may be allocated before the arena must grow; the vector may be longer.
    limit: usize,
    /// Bit `i`: unit `i` is the first or the last of a run.
    boundaries: Vec<u64>,
    /// The first run of each class.
    heads: [u32; CLASSES],
    /// Bit `c`: class `c` has runs.
    filled: u128,
    /// The capacity for which large pages were last requested.
    advised_bytes: usize,
}

/// The class of runs of this length.
fn class(len: u32) -> usize {
    if len <= EXACT_CLASSES {
        return len as usize - 1;
    }
    let exponent = len.ilog2();
    let quarter = len >> (exponent - 2) & 3;
    let first = EXACT_CLASSES.ilog2();
    ((EXACT_CLASSES + 4 * (exponent - first) + quarter) as usize).min(CLASSES - 1)
}

/// The first class in which every run has at least this length.
fn class_from(len: u32) -> usize {
    if len <= EXACT_CLASSES {
        len as usize - 1
    } else {
        class(len - 1) + 1
    }
}

impl Arena {
    /// An arena of at most about `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let room = bytes.saturating_add(bytes / 8).min(MOST_ROOM);
        Self {
            units: Vec::new(),
            reserved: (room / UNIT_BYTES) as usize,
            end: 0,
            limit: 0,
            boundaries: Vec::new(),
            heads: [NONE; CLASSES],
            filled: 0,
            advised_bytes: 0,
        }
    }

    /// Allocates `len` units and returns the first; their contents are undefined.
    #[inline]
    pub fn allocate(&mut self, len: u32) -> u32 {
        match self.reuse(len) {
            Some(start) => start,
            None => self.extend(len),
        }
    }

    /// Frees all units at once.
    pub fn clear(&mut self) {
        self.boundaries[..(self.end as usize).div_ceil(64)].fill(0);
        self.heads = [NONE; CLASSES];
        self.filled = 0;
        self.end = 0;
    }

    /// Frees `len` allocated units; they may come from several allocations.
    pub fn free(&mut self, mut start: u32, mut len: u32) {
        if start > 0 && self.is_boundary(start - 1) {
            let before = self.words(start - 1)[3];
            self.unlink(start - before, before);
            (start, len) = (start - before, len + before);
        }
        if start + len < self.end && self.is_boundary(start + len) {
            let after = self.words(start + len)[2];
            self.unlink(start + len, after);
            len += after;
        }
        self.link(start, len);
    }

    /// Allocates from a run, if one is long enough.
    #[inline]
    fn reuse(&mut self, len: u32) -> Option<u32> {
        if self.filled == 0 {
            return None;
        }
        let start = self.shortest(len)?;
        let run = self.words(start)[2];
        self.unlink(start, run);
        if run > len {
            self.link(start + len, run - len);
        }
        Some(start)
    }

    /// A run of the first class in which every run is long enough.
    #[inline]
    fn shortest(&self, len: u32) -> Option<u32> {
        let first = class_from(len);
        let classes = self.filled >> first;
        (classes != 0).then(|| self.heads[first + classes.trailing_zeros() as usize])
    }

    /// Allocates new units at the end.
    #[inline]
    fn extend(&mut self, len: u32) -> u32 {
        let start = self.end;
        let end = start + len;
        assert!(end <= MOST, "budgets keep a pool below 2^31 units");
        if end as usize > self.limit {
            self.grow(end as usize);
        }
        self.end = end;
        start
    }

    /// Grows to `end` units. An arena that is no longer small reserves all its memory at once:
    /// reserved memory costs nothing, while moving the arena would temporarily need twice its
    /// memory.
    #[cold]
    fn grow(&mut self, end: usize) {
        let len = end.next_multiple_of(STEP);
        if self.units.is_empty() {
            self.units = arena_cache::take(self.reserved);
        }
        let small = SMALL.min(self.reserved / 8);
        if len > small.max(self.units.capacity()) && len < self.reserved {
            let more = self.reserved - self.units.len();
            let _ = self.units.try_reserve_exact(more); // on failure it grows by doubling
        }
        if len > self.units.len() {
            self.units.resize(len, 0);
        }
        self.limit = len;
        self.boundaries.resize(len / 64, 0);
        prefer_large(&mut self.units, &mut self.advised_bytes);
    }

    /// Prefetches a unit.
    #[inline]
    pub fn prefetch(&self, unit: u32) {
        prefetch_line(self.units.as_ptr().wrapping_add(unit as usize));
    }

    #[inline]
    pub fn words(&self, unit: u32) -> &[u32; 4] {
        bytemuck::cast_ref(&self.units[unit as usize])
    }

    #[inline]
    pub fn words_mut(&mut self, unit: u32) -> &mut [u32; 4] {
        bytemuck::cast_mut(&mut self.units[unit as usize])
    }

    fn link(&mut self, start: u32, len: u32) {
        let class = class(len);
        let next = std::mem::replace(&mut self.heads[class], start);
        self.filled |= 1 << class;
        if next != NONE {
            self.words_mut(next)[1] = start;
        }
        self.words_mut(start + len - 1)[3] = len;
        self.words_mut(start)[..3].copy_from_slice(&[next, NONE, len]);
        self.mark(start, len, true);
    }

    fn unlink(&mut self, start: u32, len: u32) {
        let [next, previous, ..] = *self.words(start);
        if next != NONE {
            self.words_mut(next)[1] = previous;
        }
        if previous != NONE {
            self.words_mut(previous)[0] = next;
        } else {
            let class = class(len);
            self.heads[class] = next;
            if next == NONE {
                self.filled &= !(1 << class);
            }
        }
        self.mark(start, len, false);
    }

    fn is_boundary(&self, unit: u32) -> bool {
        self.boundaries[unit as usize / 64] >> (unit % 64) & 1 == 1
    }

    fn mark(&mut self, start: u32, len: u32, on: bool) {
        for unit in [start, start + len - 1] {
            let bits = &mut self.boundaries[unit as usize / 64];
            *bits = *bits & !(1 << (unit % 64)) | u64::from(on) << (unit % 64);
        }
    }

    /// Bytes up to the end of the units allocated so far.
    pub fn bytes(&self) -> u64 {
        u64::from(self.end) * UNIT_BYTES
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        arena_cache::give(std::mem::take(&mut self.units));
    }
}

impl std::ops::Deref for Arena {
    type Target = [Unit];

    #[inline]
    fn deref(&self) -> &[Unit] {
        &self.units
    }
}

impl std::ops::DerefMut for Arena {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Unit] {
        &mut self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::rng::Rng;

    #[test]
    fn chunks_never_overlap_and_reuse_freed_units() {
        let mut arena = Arena::new(0);
        let mut rng = Rng::new(0, 0);
        let mut live: Vec<(u32, u32, u32)> = Vec::new();
        let (mut peak, mut used) = (0, 0);
        // Lengths of nodes, edges and families in a search.
        let lens = [2, 2, 2, 2, 2, 1, 3, 3, 3, 4, 4, 7, 10, 19];
        for tag in 0..100_000u32 {
            if live.len() > 5000 || (!live.is_empty() && rng.below(3) == 0) {
                let (start, len, tag) = live.swap_remove(rng.below(live.len()));
                let chunk = &arena[start as usize..][..len as usize];
                assert!(
                    chunk.iter().all(|&unit| unit == tag.into()),
                    "overlapping chunks"
                );
                arena.free(start, len);
                used -= len;
            } else {
                let len = lens[rng.below(lens.len())];
                let start = arena.allocate(len);
                arena[start as usize..][..len as usize].fill(tag.into());
                live.push((start, len, tag));
                used += len;
            }
            peak = peak.max(used);
        }
        assert!(
            arena.end < peak + peak / 7,
            "{} units for at most {peak}",
            arena.end
        );
    }

    #[test]
    fn a_cleared_arena_allocates_like_a_new_one() {
        let mut arena = Arena::new(0);
        for round in 0..3 {
            let taken: Vec<u32> = (1..40).map(|len| arena.allocate(len)).collect();
            assert_eq!(taken[..3], [0, 1, 3], "round {round}");
            taken
                .iter()
                .zip(1..)
                .step_by(3)
                .for_each(|(&start, len)| arena.free(start, len));
            arena.clear();
            assert_eq!(arena.bytes(), 0);
        }
    }

    #[test]
    fn free_chunks_merge_into_one_run() {
        let mut arena = Arena::new(0);
        let chunks: Vec<(u32, u32)> = (1..60).map(|len| (arena.allocate(len), len)).collect();
        let end = arena.end;
        for &(start, len) in chunks.iter().step_by(2) {
            arena.free(start, len);
        }
        for &(start, len) in chunks.iter().skip(1).step_by(2) {
            arena.free(start, len);
        }
        assert_eq!(arena.filled.count_ones(), 1);
        assert_eq!(arena.words(0)[2], end);
        assert_eq!(arena.allocate(end / 2), 0);
    }

    #[test]
    fn every_run_of_a_class_is_long_enough() {
        for len in 1..100_000 {
            assert!(class(len) < class_from(len + 1), "{len}");
            assert!(class_from(len) >= class(len));
        }
    }
}
