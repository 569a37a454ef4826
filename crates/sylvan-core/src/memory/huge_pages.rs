//! Large pages for large arenas.
//!
//! A search accesses its memory at random, and in arenas of more than some tens of megabytes almost
//! every access misses the TLB. Pages of 2 MB made searches of ten million nodes 10 % to 25 %
//! faster (`benchmarks/README.md`). Small arenas keep small pages: a budget of a few megabytes has
//! no room for rounding up.

/// Request large pages for arenas of this many bytes that have reserved four times as many.
const LARGE: usize = 16 << 20;

/// Advises the operating system to use large pages, once the buffer is large and again after it
/// moved; `advised_bytes` is the capacity at the last call. The advice changes no contents and may
/// do nothing.
pub fn prefer_large<T>(memory: &mut Vec<T>, advised_bytes: &mut usize) {
    let bytes = memory.capacity() * size_of::<T>();
    if bytes == *advised_bytes || memory.len() * size_of::<T>() < LARGE || bytes < 4 * LARGE {
        return;
    }
    *advised_bytes = bytes;
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        // Round outwards to the whole mapping: the system cannot move a partly advised mapping,
        // only copy it.
        let start = memory.as_mut_ptr() as usize / PAGE * PAGE;
        let end = (memory.as_mut_ptr() as usize + bytes).next_multiple_of(PAGE);
        // SAFETY: the pages hold the vector's allocation and at most the allocator's header;
        // MADV_HUGEPAGE neither reads, writes nor unmaps them. A failure is harmless.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}
