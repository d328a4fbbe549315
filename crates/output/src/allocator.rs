//! An allocator for programs that end in order where memory ends.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, with a function that is called where it has nothing more to give.
///
/// The function is told how many bytes were asked for. It says what is to be said, calls
/// [`remove_unfinished`](crate::remove_unfinished) and ends the process. If it returns, the process
/// is aborted, as without it. Memory that it needs it must have kept. It can be called by several
/// threads at once, and by itself.
///
/// This meets limits that the system keeps when memory is asked for (`ulimit -v`). A system that
/// promises more than it has ends processes by itself.
#[derive(Debug)]
pub struct EndingAllocator {
    end: fn(usize),
}

impl EndingAllocator {
    /// An allocator that calls `end`.
    pub const fn new(end: fn(usize)) -> Self {
        Self { end }
    }

    #[inline]
    fn got(&self, place: *mut u8, bytes: usize) -> *mut u8 {
        if place.is_null() {
            (self.end)(bytes);
        }
        place
    }
}

/// From this size on, in bytes, [`give_back_freed_memory`] has each block asked for apart.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 20;

/// Gives memory that was freed, and that the C library keeps for what comes, back to the system.
/// From the first call on, blocks of a mebibyte and more go back whenever they are freed.
///
/// glibc keeps small blocks that were freed, for each thread apart, and large ones of up to 32 MiB
/// for others of their size. A program that measures drives of many sizes one after the other finds
/// few that fit: without this `ssdtune prune` holds half as much memory again. The price is that
/// memory comes from the system, filled with zeroes, each time, and that other threads wait for
/// memory during the call: so make it after what takes longer. It is for the whole process: a
/// program calls it and no library does. With another C library than glibc nothing happens.
pub fn give_back_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the first sets a number in the C library, the second moves no block that is in use,
    // and the library guards both by its own locks.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::malloc_trim(0);
    }
}

// SAFETY: every call goes to `System`, and what it returns is returned.
unsafe impl GlobalAlloc for EndingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what `System` asks for.
        self.got(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the same.
        self.got(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the same.
        self.got(unsafe { System.realloc(place, layout, size) }, size)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the same.
        unsafe { System.dealloc(place, layout) }
    }
}
