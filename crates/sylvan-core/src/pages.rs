//! Large pages for large arenas.
//!
//! A search jumps through its memory, and past some tens of megabytes every jump also misses the
//! processor's table of pages. Asking for pages of 2 MB made searches of ten million nodes a tenth
//! to a quarter faster (`benchmarks/README.md`). Small arenas keep small pages: a budget of a few
//! megabytes has no room for rounding up.

/// From this many bytes on an arena asks for large pages.
const LARGE: usize = 64 << 20;

/// Tells the operating system that large pages suit this memory, whenever the vector has grown to a
/// new capacity; `asked` remembers the last one. Only advice: it changes no contents and may do
/// nothing.
pub fn prefer_large<T>(memory: &mut Vec<T>, asked: &mut usize) {
    let bytes = memory.capacity() * size_of::<T>();
    if bytes == *asked || bytes < LARGE {
        return;
    }
    *asked = bytes;
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (memory.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = (memory.as_mut_ptr() as usize + bytes) / PAGE * PAGE;
        // SAFETY: the range lies inside the allocation that the vector owns, its start is on a page
        // boundary, and MADV_HUGEPAGE neither reads, writes nor unmaps it. A failure is harmless.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}
