//! Large pages for large arenas.
//!
//! A search jumps through its memory, and past some tens of megabytes every jump also misses the
//! processor's table of pages. Asking for pages of 2 MB made searches of ten million nodes a tenth
//! to a quarter faster (`benchmarks/README.md`). Small arenas keep small pages: a budget of a few
//! megabytes has no room for rounding up.

/// From this many bytes on an arena asks for large pages, if it may come to have four times as many.
const LARGE: usize = 16 << 20;

/// Tells the operating system that large pages suit this memory, once there is much in it and
/// whenever it has moved; `advised_bytes` remembers the last capacity. Only advice: it changes no contents
/// and may do nothing.
pub fn prefer_large<T>(memory: &mut Vec<T>, advised_bytes: &mut usize) {
    let bytes = memory.capacity() * size_of::<T>();
    if bytes == *advised_bytes || memory.len() * size_of::<T>() < LARGE || bytes < 4 * LARGE {
        return;
    }
    *advised_bytes = bytes;
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        // Outwards, to all of the mapping that the allocator has made for so much memory: one that
        // is advised in part cannot be moved any more, only copied.
        let start = memory.as_mut_ptr() as usize / PAGE * PAGE;
        let end = (memory.as_mut_ptr() as usize + bytes).next_multiple_of(PAGE);
        // SAFETY: the pages hold the allocation that the vector owns and at most the allocator's
        // notes beside it; MADV_HUGEPAGE neither reads, writes nor unmaps them. A failure is harmless.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}
