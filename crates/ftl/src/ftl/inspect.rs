//! Figures about the drive, and a check of all its invariants.
//!
//! Counters and free blocks cost nothing to read. Histograms and checks walk every block.

use super::{Ftl, FtlCounters};
use crate::block::Plane;
use crate::cmt::MappingCache;
use crate::number::TranslationPageId;
use ssdtune_model::PlaneId;
use std::collections::BTreeMap;

impl Ftl {
    /// What was counted since the start, or since the last [`Ftl::reset_counters`].
    pub fn counters(&self) -> &FtlCounters {
        &self.counters
    }

    /// The number of free blocks of a plane. Write frontiers are not free.
    #[inline]
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane].free_blocks()
    }

    /// The number of valid pages of each full block of a plane, in the order of the blocks.
    pub fn valid_pages(&mut self, plane: PlaneId) -> Vec<u32> {
        self.wake(plane);
        self.planes[plane].full_blocks()
    }

    /// The number of logical pages that hold data, of all tenants.
    pub fn mapped_pages(&self) -> u64 {
        self.table.mapped()
    }

    /// Heap memory of the FTL's state, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
            + self.planes.iter().map(Plane::memory_bytes).sum::<u64>()
            + self.caches.iter().map(MappingCache::memory_bytes).sum::<u64>()
            + self.translation.memory_bytes()
            + self.initial_content.as_ref().map_or(0, |content| content.memory_bytes())
            + self.placer.memory_bytes()
    }

    /// How many blocks were erased how often: pairs of (erases, blocks) in ascending order of
    /// erases.
    pub fn erase_histogram(&self) -> Vec<(u32, u64)> {
        let mut counts = BTreeMap::new();
        for plane in &self.planes {
            let (unseen, worn) = plane.unseen_blocks();
            *counts.entry(worn).or_insert(0) += u64::from(unseen);
            for block in plane.blocks.iter().filter(|_| !plane.asleep) {
                *counts.entry(block.erases).or_insert(0) += 1;
            }
        }
        counts.into_iter().filter(|&(_, blocks)| blocks > 0).collect()
    }

    /// Asserts every invariant. This walks the whole drive and is meant for tests.
    ///
    /// # Panics
    /// An invariant is broken.
    pub fn check(&self) {
        self.planes.iter().for_each(Plane::check);
        let valid: u64 = self.planes.iter().map(|plane| plane.valid).sum();
        let tenants = self.tenants.names();
        let translation = tenants
            .flat_map(|tenant| {
                let first = self.translation_base(tenant).0;
                (first..first + self.translation_pages(tenant)).map(TranslationPageId)
            })
            .filter(|&page| !self.caches.is_empty() && self.translation.phys(page).is_some())
            .count() as u64;
        let in_flight = self.moves_in_flight();
        let frozen = if self.caches.is_empty() && self.config.eager_frontiers {
            let full = |tenant| self.tenant_pages(tenant) / self.entries_per_page;
            self.tenants.names().map(full).sum()
        } else {
            0
        };
        assert_eq!(valid, self.table.mapped() + translation + in_flight + frozen);
    }
}
