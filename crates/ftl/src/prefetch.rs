//! Cache hints. They change how fast an access is, never what it finds.

/// Asks for the cache line that `item` starts in.
#[inline(always)]
pub fn prefetch<T>(item: &T) {
    // Measured on 1 M random 4 KiB requests, three pairs of runs on a busy machine: medians of 792
    // ns a request without and 685 with.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64 CPU, reads and writes nothing that the
    // program can see and cannot fault; the address is that of a live reference.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
