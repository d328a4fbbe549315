//! How long flash commands, transfers and array operations take, as tables that are filled once.
//! All times are in nanoseconds.
//!
//! ONFI NV-DDR2 command sequences with the fixed times of the specification's timing mode, and
//! transfers at the rate of the channel.

use crate::operation::{SLC_MODE, Work};
use ssdtune_model::config::FlashTechnology;
use ssdtune_model::{DeviceConfig, Nanos, PageId, Table};

/// Times of the array operations on one page.
#[derive(Clone)]
struct ArrayTimes {
    /// The type of the page: see [`page_type`] and [`SLC_MODE`].
    kind: usize,
    read: Nanos,
    program: Nanos,
}

/// Times of commands, transfers and array operations.
#[derive(Clone, Default)]
pub(super) struct FlashTiming {
    /// Time of a read command on the channel, by the number of planes.
    pub read_command: Vec<Nanos>,
    /// Time of a program command on the channel without data, by the number of pages.
    pub program_command: Vec<Nanos>,
    /// Time of an erase command on the channel, by the number of planes.
    pub erase_command: Vec<Nanos>,
    /// Time of a suspend command on the channel.
    pub suspend_command: Nanos,
    /// Time of a transfer, by the number of sectors.
    transfer: Vec<Nanos>,
    /// Times of array operations, by the offset of the page in its block.
    arrays: Table<PageId, ArrayTimes>,
    /// Time of an erase in the array, of a block with all bits and of one in SLC mode.
    erase: [Nanos; 2],
    /// Time to move a page from one register of a die to the other.
    pub cache_busy: Nanos,
    pub lines: WordLines,
}

/// Which pages of a block are programmed together.
#[derive(Clone, Copy)]
pub(super) struct WordLines {
    /// Pages that a program command gives each plane at most: those of a word line, or one.
    pub pages: u32,
    /// Pages in SLC mode have offsets from here on; none if there is no SLC cache.
    pub slc_from: u32,
}

impl WordLines {
    pub fn new(config: &DeviceConfig) -> Self {
        let has_slc = config.slc_cache.is_on();
        let slc_from = if has_slc { config.flash.pages_per_block } else { u32::MAX };
        Self { pages: config.pages_per_program(), slc_from }
    }

    /// The number of the word line in which a page lies. In SLC mode each page is one; their
    /// numbers are behind those of all others.
    #[inline]
    pub fn line(self, page: PageId) -> u32 {
        if page.0 >= self.slc_from { page.0 } else { page.0 / self.pages }
    }
}

impl Default for WordLines {
    fn default() -> Self {
        Self { pages: 1, slc_from: u32::MAX }
    }
}

impl FlashTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let planes = u64::from(config.flash.planes_per_die);
        let per_page = |first: u64, each: u64, most: u64| {
            (0..=most).map(|k| Nanos(first + each * k.saturating_sub(1))).collect::<Vec<_>>()
        };
        // Twice a page, since the merge read of a misaligned tenant may name sectors beyond its
        // page.
        let sectors = u64::from(config.geometry().page_bytes / 512) * 2;
        let flash = &config.flash;
        let slc = Some(&config.slc_cache).filter(|cache| cache.is_on());
        let (types, lines) = (flash.technology.page_types(), WordLines::new(config));
        let word_line = lines.pages;
        let slowest = flash.technology.longest(&flash.program_latency);
        /// Time from the end of an array read until the controller has seen the ready signal.
        const READY_NS: Nanos = Nanos(20);
        Self {
            // tCS + 6 tWC + tWB + tRR; each further plane tDBSY + 6 tWC.
            read_command: per_page(290, 650, planes),
            // tCS + 6 tWC + tADL + tWPST + tWPSTH + tWB; each further plane 5 tWC + tCALS + tDBSY
            // too.
            program_command: per_page(361, 816, planes * u64::from(word_line)),
            // tCS + 4 tWC + tWB; each further plane tDBSY + 4 tWC + tWB.
            erase_command: per_page(220, 700, planes),
            suspend_command: Nanos(95),
            transfer: (0..=sectors).map(|n| transfer_time(config, n * 512)).collect(),
            arrays: (0..flash.pages_per_block)
                .map(|page| {
                    let kind = match word_line {
                        1 => page_type(flash.technology, page),
                        pages => types[(page % pages) as usize],
                    };
                    let read = flash.read_latency[kind] + READY_NS;
                    let program = if word_line > 1 { slowest } else { flash.program_latency[kind] };
                    ArrayTimes { kind, read, program }
                })
                .chain(slc.into_iter().flat_map(|cache| {
                    let (read, program) = (cache.read_latency + READY_NS, cache.program_latency);
                    (0..flash.pages_per_block).map(move |_| ArrayTimes {
                        kind: SLC_MODE,
                        read,
                        program,
                    })
                }))
                .collect(),
            erase: [flash.erase_latency, config.slc_cache.erase_latency],
            cache_busy: flash.cache_busy,
            lines,
        }
    }

    /// The time of a number of sectors over the channel.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Nanos {
        self.transfer[sectors as usize]
    }

    /// The time of an array operation, and the type of the page (see [`page_type`]).
    #[inline]
    pub fn array(&self, work: Work, page: PageId) -> (Nanos, usize) {
        let times = &self.arrays[page];
        let takes = match work {
            Work::Read => times.read,
            Work::Program => times.program,
            Work::Erase => self.erase[usize::from(page.0 >= self.lines.slc_from)],
        };
        (takes, times.kind)
    }

    /// The type of a page.
    pub fn page_type(&self, page: PageId) -> usize {
        self.arrays[page].kind
    }
}

/// The time of a number of bytes over the channel.
fn transfer_time(config: &DeviceConfig, bytes: u64) -> Nanos {
    let pairs = bytes / u64::from(config.bus.width_bytes) / 2;
    if config.compat.integer_bus_ns {
        return Nanos(pairs * 2 * (1000 / u64::from(config.bus.rate_mts)));
    }
    Nanos((pairs * 2 * 1000).div_ceil(config.bus.rate_mts.into()))
}

/// Which of its technology's latencies a page has: 0 for the least significant bit, then the bits
/// between, 2 or (QLC) 3 for the most significant bit.
pub(crate) fn page_type(technology: FlashTechnology, page: u32) -> usize {
    match technology {
        FlashTechnology::Slc => 0,
        FlashTechnology::Mlc => [0, 2][page as usize % 2],
        // The first word lines are written less densely.
        FlashTechnology::Tlc if page <= 5 => 0,
        FlashTechnology::Tlc if page <= 7 => 1,
        FlashTechnology::Tlc => (((page - 8) >> 1) % 3) as usize,
        FlashTechnology::Qlc => page as usize % 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_exact_unless_whole_nanoseconds_are_asked_for() {
        let mut config = DeviceConfig::default();
        assert_eq!(FlashTiming::new(&config).transfer(8), Nanos(12_301));
        config.compat.integer_bus_ns = true;
        assert_eq!(FlashTiming::new(&config).transfer(8), Nanos(12_288));
    }

    #[test]
    fn commands_for_more_planes_follow_the_linear_law() {
        let mut config = DeviceConfig::default();
        config.flash.planes_per_die = 8;
        let flash = FlashTiming::new(&config);
        assert_eq!(flash.read_command[1..5], [290, 940, 1590, 2240].map(Nanos));
        assert_eq!(flash.program_command[1..5], [361, 1177, 1993, 2809].map(Nanos));
        assert_eq!(flash.erase_command[1..5], [220, 920, 1620, 2320].map(Nanos));
        assert_eq!(flash.read_command[8], Nanos(290 + 7 * 650));
    }

    #[test]
    fn page_types_of_tlc_come_in_pairs_after_the_first_eight() {
        let types: Vec<usize> = (0..16).map(|p| page_type(FlashTechnology::Tlc, p)).collect();
        assert_eq!(types, [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 0, 0]);
    }
}
