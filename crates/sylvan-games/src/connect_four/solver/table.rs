//! The solver's memory: a bound on the score of each position, in 8 bytes.
//!
//! A position's exact key is multiplied by an odd number, which is one to one on 64 bits. The top
//! bits of the product choose the entry, the low 56 bits are kept in it: since there are at least
//! 2^8 entries, that tells any two positions apart, and no bound is ever taken for another's.
//! A new bound replaces the old one.
//!
//! The table starts small enough for a cache and doubles as bounds come in, up to its budget: an
//! easy position pays for no memory that it does not use.

/// What is known of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast(i32),
    AtMost(i32),
}

pub(super) struct Table {
    /// `low 56 bits of the product << 8 | code`; 0 marks an empty entry.
    entries: Vec<u64>,
    /// log2 of the number of entries, now and at most.
    bits: u32,
    max_bits: u32,
    /// Bounds to come before the table doubles.
    spare: usize,
}

/// Scores lie within ±32, so that codes of either kind of bound lie within 1..128 and 129..256.
const OFFSET: i32 = 64;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const MIN_BITS: u32 = 8;
const START_BITS: u32 = 15;

impl Table {
    pub fn new(bytes: usize) -> Self {
        let max_bits = (bytes / 8).max(1 << MIN_BITS).ilog2();
        let bits = START_BITS.min(max_bits);
        Self {
            entries: vec![0; 1 << bits],
            bits,
            max_bits,
            spare: 1 << bits,
        }
    }

    pub fn clear(&mut self) {
        *self = Self::new(8 << self.max_bits);
    }

    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<Bound> {
        let spread = key.wrapping_mul(SPREAD);
        let entry = self.entries[(spread >> (64 - self.bits)) as usize];
        let code = (entry & 0xff) as i32;
        if (entry ^ spread << 8) >> 8 != 0 || code == 0 {
            None
        } else if code >= 128 {
            Some(Bound::AtLeast(code - 128 - OFFSET))
        } else {
            Some(Bound::AtMost(code - OFFSET))
        }
    }

    #[inline(always)]
    pub fn put(&mut self, key: u64, bound: Bound) {
        if self.spare == 0 {
            self.grow();
        }
        self.spare -= 1;
        let spread = key.wrapping_mul(SPREAD);
        let code = match bound {
            Bound::AtLeast(score) => score + OFFSET + 128,
            Bound::AtMost(score) => score + OFFSET,
        };
        self.entries[(spread >> (64 - self.bits)) as usize] = spread << 8 | code as u64;
    }

    /// Doubles the table: the next bit of an entry's product says which of two places is its own.
    #[cold]
    fn grow(&mut self) {
        self.spare = 1 << self.bits;
        if self.bits == self.max_bits {
            return;
        }
        let mut entries = vec![0; 2 << self.bits];
        for (place, &entry) in self.entries.iter().enumerate() {
            let low = entry >> 8 & (u64::MAX >> self.bits);
            entries[2 * place + (low >> (63 - self.bits)) as usize] = entry;
        }
        self.entries = entries;
        self.bits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_found_under_its_own_key_only() {
        let mut table = Table::new(0);
        for key in 0..100_000u64 {
            let score = (key % 65) as i32 - 32;
            let bound = if key % 2 == 0 {
                Bound::AtLeast(score)
            } else {
                Bound::AtMost(score)
            };
            table.put(key << 20, bound);
            assert_eq!(table.get(key << 20), Some(bound));
            assert_eq!(table.get((key << 20) + 1), None);
            assert_eq!(table.get((key << 20) ^ 1 << 63), None);
        }
    }
}
