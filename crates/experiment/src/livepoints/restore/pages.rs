//! Sets of pages. They are asked whether they hold a page, and never in which order.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A set of pages.
pub(super) type Pages = HashSet<u64, BuildHasherDefault<PageHasher>>;

/// Spreads numbers of pages by one multiplication: nobody chooses them to collide here, since what
/// a window holds is bounded.
#[derive(Default)]
pub(super) struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, page: u64) {
        let product = u128::from(self.0 ^ page) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
