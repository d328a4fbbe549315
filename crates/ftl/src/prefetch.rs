//! Prefetching: asking the CPU for a cache line before it is used. It changes how fast an access
//! is, never what it finds.
//!
//! The FTL's tables are far larger than the CPU's caches and are accessed in random order. A line
//! that was asked for early enough is there when it is needed.

/// Asks the CPU to load the cache line in which `item` starts. Does nothing on CPUs other than
/// x86-64.
#[inline(always)]
pub fn prefetch<T>(item: &T) {
    // Measured on 1 M random 4 KiB requests, three pairs of runs on a busy machine: medians of 792
    // ns a request without and 685 with.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction. It cannot fault, and it reads and writes
    // nothing that the program can see. The address is that of a live reference.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
