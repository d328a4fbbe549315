//! Counters that stand once for the drive and once for each of several tenants.

use crate::operation::{Class, Work};
use serde::{Deserialize, Serialize};

/// Commands that were sent to the flash, and the pages and blocks they concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashCommands {
    /// Read commands to one plane.
    pub reads: u64,
    /// Read commands to several planes at once.
    pub reads_multiplane: u64,
    /// Program commands of one page.
    pub programs: u64,
    /// Program commands of several pages at once: in several planes, or of a word line.
    pub programs_multiplane: u64,
    /// Erase commands to one plane.
    pub erases: u64,
    /// Erase commands to several planes at once.
    pub erases_multiplane: u64,
    /// Pages read, for whatever reason.
    pub pages_read: u64,
    /// Array reads beyond the first that a page needed (read retry).
    pub read_retries: u64,
    /// Read commands during whose array time data of the read before left the die (read cache
    /// command).
    pub cache_reads: u64,
    /// Program commands whose data came while the die was programming (page cache program command).
    pub cache_programs: u64,
    /// Pages programmed for the host.
    pub pages_programmed_host: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub pages_programmed_moved: u64,
    /// Pages among the moved ones that never left their die.
    pub copybacks: u64,
    /// Translation pages programmed.
    pub pages_programmed_mapping: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Translation pages read.
    pub mapping_reads: u64,
    /// Programs interrupted, counted once for each interruption.
    pub program_suspensions: u64,
    /// Erases interrupted, counted once for each interruption.
    pub erase_suspensions: u64,
}

impl FlashCommands {
    /// Counts a command to a number of planes, or of pages.
    #[inline]
    pub(crate) fn count_command(&mut self, work: Work, planes: u32) {
        let [single, multiplane] = match work {
            Work::Read => [&mut self.reads, &mut self.reads_multiplane],
            Work::Program => [&mut self.programs, &mut self.programs_multiplane],
            Work::Erase => [&mut self.erases, &mut self.erases_multiplane],
        };
        *(if planes == 1 { single } else { multiplane }) += 1;
    }

    /// Counts an interruption of an operation of this class.
    pub(crate) fn count_suspension(&mut self, class: Class) {
        let counter = match class {
            Class::Erase => &mut self.erase_suspensions,
            _ => &mut self.program_suspensions,
        };
        *counter += 1;
    }

    /// Counts the pages, or the blocks, of a command.
    #[inline]
    pub(crate) fn count_pages(&mut self, work: Work, class: Class, count: u32) {
        let counter = match (work, class) {
            (Work::Read, _) => &mut self.pages_read,
            (Work::Erase, _) => &mut self.blocks_erased,
            (Work::Program, Class::GcWrite) => &mut self.pages_programmed_moved,
            (Work::Program, Class::MappingWrite) => &mut self.pages_programmed_mapping,
            (Work::Program, _) => &mut self.pages_programmed_host,
        };
        *counter += u64::from(count);
    }
}

/// What requests have met on their way through the drive.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Pages read by the host that held no data.
    pub unwritten_reads: u64,
    /// Pages read by the host.
    pub page_reads: u64,
    /// Writes of a part of a page, for which the rest had to be read.
    pub merge_reads: u64,
    /// Writes that had to wait for a free block.
    pub held_writes: u64,
    /// Pages that reads looked for in the data cache.
    pub cache_lookups: u64,
    /// Pages that the data cache held in full.
    pub cache_hits: u64,
    /// Pages written into the data cache.
    pub cache_writes: u64,
    /// Pages written into the data cache that it already held.
    pub cache_write_hits: u64,
    /// Pages moved to level wear.
    pub wear_moved_pages: u64,
}
