//! Prefetching: asks for memory some time before it is read. It changes no result.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line at an address.
#[inline(always)]
pub fn prefetch_line<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch of any address has no visible effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches all cache lines of some entries.
#[inline]
pub fn prefetch<T>(entries: &[T]) {
    let first = entries.as_ptr().cast::<u8>();
    for offset in (0..size_of_val(entries)).step_by(LINE) {
        prefetch_line(first.wrapping_add(offset));
    }
}
