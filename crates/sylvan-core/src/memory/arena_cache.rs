//! A cache for the buffers of dropped arenas.
//!
//! The operating system clears every page at its first access. That took 7 % of a search of half a
//! second, and more with two threads. So a dropped arena puts its buffer into this cache and a new
//! arena takes one from it. The cache holds at most `MOST` bytes, and an arena gets no buffer
//! larger than its own limit.
//!
//! After a fork the lock may be held by a thread that does not exist in the child, so use only
//! `try_lock`.

use std::sync::Mutex;

use crate::memory::arena::{UNIT_BYTES, Unit};

/// The most bytes in the cache.
const MOST: usize = 128 << 20;
/// Smaller buffers are not cached here: the allocator caches them itself.
const LEAST: usize = 1 << 20;

static SPARE: Mutex<Vec<Vec<Unit>>> = Mutex::new(Vec::new());

fn bytes(units: &[Unit]) -> usize {
    size_of_val(units)
}

/// Takes the largest cached buffer of at most `most` units; its contents are undefined.
pub fn take(most: usize) -> Vec<Unit> {
    if most * (UNIT_BYTES as usize) < LEAST {
        return Vec::new();
    }
    let Ok(mut spare) = SPARE.try_lock() else {
        return Vec::new();
    };
    let fits = (0..spare.len()).filter(|&i| spare[i].len() <= most);
    match fits.max_by_key(|&i| spare[i].len()) {
        Some(longest) => spare.swap_remove(longest),
        None => Vec::new(),
    }
}

/// Caches a buffer, or frees it if it is too small or too large; drops the oldest buffers if the
/// cache is full. Releases capacity that was only reserved: address space may be limited.
pub fn give(mut units: Vec<Unit>) {
    if bytes(&units) < LEAST || bytes(&units) > MOST {
        return;
    }
    units.shrink_to_fit();
    if let Ok(mut spare) = SPARE.try_lock() {
        spare.push(units);
        while spare.iter().map(|units| bytes(units)).sum::<usize>() > MOST {
            spare.remove(0); // the oldest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_returns_the_longest_buffer_that_fits_and_the_cache_is_bounded() {
        // Other tests cache buffers too, but shorter ones.
        let units = MOST / 2 / UNIT_BYTES as usize - 1;
        let mut first = Vec::with_capacity(4 * units);
        first.resize(units, 7);
        let address = first.as_ptr();
        give(first);
        let second = take(units);
        assert_eq!(second.len(), units);
        assert_eq!(second.capacity(), units, "reserved capacity is released");
        assert_eq!(second.as_ptr(), address);
        assert!(take(units - 1).len() < units);
        give(second);
        for _ in 0..3 {
            give(vec![0; units]);
        }
        let kept: usize = SPARE.lock().unwrap().iter().map(|units| bytes(units)).sum();
        assert!(kept <= MOST);
        give(vec![0; 2 * units + 3]);
        assert!(
            take(usize::MAX / 16).len() <= units,
            "the cache holds too much"
        );
    }
}
