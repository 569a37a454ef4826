//! Buffers of arenas that are gone, cached for the next.
//!
//! The operating system clears every page when it is first touched. That took 7 % of a search of half a
//! second, and more when two threads ask for pages at once. So a dropped arena leaves its buffer here and
//! a new arena starts with one. The process caches at most `MOST` bytes, and an arena gets no buffer that
//! is larger than the arena may become.
//!
//! After a fork the lock may be held by a thread that the child does not have: it is only ever tried.

use std::sync::Mutex;

use crate::memory::arena::{UNIT_BYTES, Unit};

/// Most bytes in the cache.
const MOST: usize = 128 << 20;
/// Smaller buffers are left to the allocator, which caches them itself.
const LEAST: usize = 1 << 20;

static SPARE: Mutex<Vec<Vec<Unit>>> = Mutex::new(Vec::new());

fn bytes(units: &[Unit]) -> usize {
    size_of_val(units)
}

/// The largest cached buffer that fits into `most` units; its contents are undefined.
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

/// Caches a buffer, or frees it if the cache is full. Capacity that was only reserved is released: where
/// address space is limited, cached buffers must not take that of later searches.
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
    fn the_longest_piece_that_fits_is_used_again_and_little_is_kept() {
        // Other tests leave memory as well, but none so long.
        let units = MOST / 2 / UNIT_BYTES as usize - 1;
        let mut first = Vec::with_capacity(4 * units);
        first.resize(units, 7);
        let place = first.as_ptr();
        give(first);
        let second = take(units);
        assert_eq!(second.len(), units);
        assert_eq!(
            second.capacity(),
            units,
            "what was only reserved is given back"
        );
        assert_eq!(second.as_ptr(), place);
        assert!(take(units - 1).len() < units);
        give(second);
        for _ in 0..3 {
            give(vec![0; units]);
        }
        let kept: usize = SPARE.lock().unwrap().iter().map(|units| bytes(units)).sum();
        assert!(kept <= MOST);
        give(vec![0; 2 * units + 3]);
        assert!(take(usize::MAX / 16).len() <= units, "too much was kept");
    }
}
