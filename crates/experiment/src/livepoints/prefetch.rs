//! Asking the CPU for a cache line before it is used. The tables of the pass are far larger than
//! its caches, and the next requests are known.

/// Asks for the cache line in which `item` starts. Does nothing on CPUs other than x86-64.
#[inline(always)]
pub(super) fn prefetch<T>(item: &T) {
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
