//! The transposition table: bounds on the scores of positions, 8 bytes each.
//!
//! A position's unique key is multiplied by an odd number, which is a bijection on 64 bits. The top
//! bits of the product select a bucket, the low 50 bits are stored in the entry: with at least 2^14
//! buckets, no two positions can be confused.
//!
//! A bucket has two entries. The first holds the position with the most free cells, whose bound was
//! the most expensive; the second holds the latest other position.
//!
//! The table starts small enough for the CPU's caches and doubles as it fills, up to its budget, so
//! easy positions need little memory.

/// A bound of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast(i32),
    AtMost(i32),
}

/// `low 50 bits of the product << 14 | free cells << 8 | code of the bound`; 0 if empty.
type Entry = u64;

pub(super) struct Table {
    buckets: Vec<[Entry; 2]>,
    /// log2 of the number of buckets, and its maximum.
    bits: u32,
    max_bits: u32,
    /// Insertions left before the table doubles.
    spare: usize,
}

const KEY_SHIFT: u32 = 14;
const MIN_BITS: u32 = 14;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Scores are within ±32, so the codes of the two kinds of bounds are 32..97 and 160..225.
const OFFSET: i32 = 64;

impl Table {
    /// A table of at most `bytes`, but at least 256 KiB; it needs half as much again while it
    /// grows.
    pub fn new(bytes: usize) -> Self {
        let max_bits = (bytes / size_of::<[Entry; 2]>()).max(1 << MIN_BITS).ilog2();
        Self {
            buckets: vec![[0; 2]; 1 << MIN_BITS],
            bits: MIN_BITS,
            max_bits,
            spare: 2 << MIN_BITS,
        }
    }

    pub fn clear(&mut self) {
        *self = Self::new(size_of::<[Entry; 2]>() << self.max_bits);
    }

    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<Bound> {
        let product = key.wrapping_mul(MULTIPLIER);
        let bucket = &self.buckets[(product >> (64 - self.bits)) as usize];
        let is_ours = |entry: &&Entry| (**entry ^ product << KEY_SHIFT) >> KEY_SHIFT == 0;
        let code = (bucket.iter().find(is_ours)? & 0xff) as i32;
        match code {
            0 => None,
            1..128 => Some(Bound::AtMost(code - OFFSET)),
            _ => Some(Bound::AtLeast(code - 128 - OFFSET)),
        }
    }

    /// Stores a bound on the score of a position with `free` cells.
    #[inline(always)]
    pub fn put(&mut self, key: u64, free: i32, bound: Bound) {
        if self.spare == 0 {
            self.grow();
        }
        self.spare -= 1;
        let code = match bound {
            Bound::AtMost(score) => score + OFFSET,
            Bound::AtLeast(score) => score + OFFSET + 128,
        };
        let product = key.wrapping_mul(MULTIPLIER);
        let entry = product << KEY_SHIFT | (free << 8 | code) as u64;
        let [costly, recent] = &mut self.buckets[(product >> (64 - self.bits)) as usize];
        if *costly >> KEY_SHIFT == entry >> KEY_SHIFT {
            *costly = entry;
        } else if free as u64 >= *costly >> 8 & 0x3f {
            *recent = std::mem::replace(costly, entry);
        } else {
            *recent = entry;
        }
    }

    /// Doubles the table: the next bit of the product selects one of two buckets.
    #[cold]
    fn grow(&mut self) {
        self.spare = 2 << self.bits;
        if self.bits == self.max_bits {
            return;
        }
        let mut buckets = Vec::new();
        if buckets.try_reserve_exact(2 << self.bits).is_err() {
            self.max_bits = self.bits; // out of memory
            return;
        }
        buckets.resize(2 << self.bits, [0; 2]);
        for (index, bucket) in self.buckets.iter().enumerate() {
            for (slot, &entry) in bucket.iter().enumerate() {
                let next = entry >> KEY_SHIFT >> (63 - self.bits) & 1;
                buckets[2 * index + next as usize][slot] = entry;
            }
        }
        self.buckets = buckets;
        self.bits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(key: u64) -> Bound {
        let score = (key % 65) as i32 - 32;
        if key.is_multiple_of(2) {
            Bound::AtLeast(score)
        } else {
            Bound::AtMost(score)
        }
    }

    #[test]
    fn a_bound_is_found_under_its_own_key_only() {
        let mut table = Table::new(1 << 20);
        for i in 0..200_000u64 {
            let key = i << 30 | i;
            table.put(key, (i % 63) as i32, bound(i));
            assert_eq!(table.get(key), Some(bound(i)));
            assert_eq!(table.get(key ^ 1 << 29), None);
            assert_eq!(table.get(key ^ 1 << 63), None);
        }
        let kept = (0..200_000u64).filter_map(|i| table.get(i << 30 | i).map(|found| (i, found)));
        assert!(kept.clone().count() > 100_000);
        assert!(kept.clone().all(|(i, found)| found == bound(i)));
        assert!(table.buckets.len() * 16 == 1 << 20);
    }

    #[test]
    fn positions_with_more_free_cells_stay() {
        let mut table = Table::new(0);
        table.put(7, 40, bound(7));
        for key in 8..1_000_000 {
            table.put(key, 39, bound(key));
        }
        assert_eq!(table.get(7), Some(bound(7)));
    }
}
