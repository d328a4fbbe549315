//! How long things take, as tables that are filled once: PCIe messages, DRAM accesses, flash
//! commands and transfers. All times are in nanoseconds.
//!
//! PCIe: a message of n bytes is cut into payloads of 128 B with 28 B of overhead each (20 B TLP
//! header, 6 B DLLP, 2 B PHY), and runs over all lanes. DRAM: activate, column access, then bursts
//! on both clock edges. Flash: ONFI NV-DDR2 command sequences with the fixed times of the
//! specification's timing mode, and transfers at the rate of the channel.

use crate::energy::Work;
use ssdtune_model::config::FlashTechnology;
use ssdtune_model::{DeviceConfig, Nanos};

/// Payload of a PCIe packet, in bytes.
const TLP_PAYLOAD: u64 = 128;
/// Overhead of a PCIe packet, in bytes.
const TLP_OVERHEAD: u64 = 28;
/// A read request carries an address and no data.
const READ_REQUEST_BYTES: u64 = TLP_OVERHEAD + 4;
const DOORBELL_BYTES: u64 = 2;
const SUBMISSION_ENTRY_BYTES: u64 = 72;
const COMPLETION_ENTRY_BYTES: u64 = 16;

/// Times of the host link.
pub(crate) struct LinkTiming {
    lanes: u64,
    bytes_per_ns: f64,
    /// A doorbell.
    pub doorbell: Nanos,
    /// A request of the drive for a submission entry or for data.
    pub read_request: Nanos,
    /// A submission entry.
    pub submission_entry: Nanos,
    /// A completion entry.
    pub completion_entry: Nanos,
    by_sectors: Vec<Nanos>,
}

impl LinkTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let mut link = Self {
            lanes: config.host.pcie_lanes.into(),
            bytes_per_ns: config.host.pcie_lane_bandwidth_gbps,
            doorbell: Nanos::ZERO,
            read_request: Nanos::ZERO,
            submission_entry: Nanos::ZERO,
            completion_entry: Nanos::ZERO,
            by_sectors: Vec::new(),
        };
        link.doorbell = link.payload(DOORBELL_BYTES);
        link.read_request = link.on_lanes(READ_REQUEST_BYTES);
        link.submission_entry = link.payload(SUBMISSION_ENTRY_BYTES);
        link.completion_entry = link.payload(COMPLETION_ENTRY_BYTES);
        link.by_sectors = (0..=256).map(|n| link.payload(n * 512)).collect();
        link
    }

    /// The time of a number of bytes over all lanes.
    fn on_lanes(&self, bytes: u64) -> Nanos {
        Nanos((bytes.div_ceil(self.lanes) as f64 / self.bytes_per_ns) as u64)
    }

    /// The time of a message with a number of bytes.
    fn payload(&self, bytes: u64) -> Nanos {
        let rest = match bytes % TLP_PAYLOAD {
            0 => 0,
            rest => rest + TLP_OVERHEAD,
        };
        self.on_lanes(bytes / TLP_PAYLOAD * (TLP_PAYLOAD + TLP_OVERHEAD) + rest)
    }

    /// The time of a message with host data.
    #[inline]
    pub fn data(&self, sectors: u32) -> Nanos {
        match self.by_sectors.get(sectors as usize) {
            Some(&time) => time,
            None => self.payload(u64::from(sectors) * 512),
        }
    }
}

/// Times of the DRAM behind the data cache.
pub(crate) struct DramTiming {
    /// Bytes of a row.
    row: u64,
    /// Bytes of a burst on one clock edge.
    burst: u64,
    /// Time of a clock.
    transfer_ns: f64,
    /// Time to open a row and a column.
    open_ns: u64,
    /// Time to close a row.
    precharge_ns: u64,
    /// MQSim's formula for accesses to several rows (`compat.dram_row_formula`).
    row_formula: bool,
    by_sectors: Vec<Nanos>,
}

impl DramTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let cache = &config.cache;
        let mut dram = Self {
            row: cache.dram_row_bytes.into(),
            burst: cache.dram_burst_bytes.into(),
            transfer_ns: 1000.0 / f64::from(cache.dram_data_rate_mts),
            open_ns: (cache.dram_t_rcd + cache.dram_t_cl).0,
            precharge_ns: cache.dram_t_rp.0,
            row_formula: config.compat.dram_row_formula,
            by_sectors: Vec::new(),
        };
        dram.by_sectors = (0..=64).map(|n| dram.bytes(n * 512)).collect();
        dram
    }

    /// The time of one access to consecutive sectors.
    #[inline]
    pub fn sectors(&self, sectors: u32) -> Nanos {
        match self.by_sectors.get(sectors as usize) {
            Some(&time) => time,
            None => self.bytes(u64::from(sectors) * 512),
        }
    }

    /// The number of rows that an access to consecutive sectors opens.
    #[inline]
    pub fn rows(&self, sectors: u32) -> u64 {
        let bytes = u64::from(sectors) * 512;
        if bytes <= self.row { 1 } else { bytes.div_ceil(self.row) }
    }

    /// The time of one access to consecutive bytes.
    fn bytes(&self, bytes: u64) -> Nanos {
        if bytes <= self.row {
            return Nanos(self.open_ns + self.transfer(bytes));
        }
        if self.row_formula {
            // Only half of the full rows count, and the tail divides by the transfer time.
            let full = (((self.row / self.burst / 2) as f64 * self.transfer_ns) as u64
                + self.precharge_ns) as f64;
            let rows = (bytes / self.row / 2) as f64;
            let tail = (bytes % self.row) as f64 / (self.burst as f64 * self.transfer_ns);
            return Nanos(
                ((self.open_ns as f64 + full * rows) + self.open_ns as f64) as u64 + tail as u64,
            );
        }
        let row_ns = self.open_ns + self.transfer(self.row) + self.precharge_ns;
        let tail = match bytes % self.row {
            0 => 0,
            rest => self.open_ns + self.transfer(rest),
        };
        Nanos(bytes / self.row * row_ns + tail)
    }

    /// The time of the bursts alone.
    fn transfer(&self, bytes: u64) -> u64 {
        ((bytes / self.burst / 2) as f64 * self.transfer_ns) as u64
    }
}

/// Times of the array operations on one page.
struct ArrayTimes {
    /// The type of the page: see [`page_type`].
    kind: usize,
    read: Nanos,
    program: Nanos,
}

/// Times of commands, transfers and array operations.
pub(crate) struct FlashTiming {
    /// Time of a read command on the channel, by the number of planes.
    pub read_command: Vec<Nanos>,
    /// Time of a program command on the channel without data, by the number of planes.
    pub program_command: Vec<Nanos>,
    /// Time of an erase command on the channel, by the number of planes.
    pub erase_command: Vec<Nanos>,
    /// Time of a suspend command on the channel.
    pub suspend_command: Nanos,
    /// Time of a transfer, by the number of sectors.
    transfer: Vec<Nanos>,
    /// Times of array operations, by the offset of the page in its block.
    arrays: Vec<ArrayTimes>,
    /// Time of an erase in the array.
    pub erase: Nanos,
    /// Time to move a page from one register of a die to the other.
    pub cache_busy: Nanos,
}

impl FlashTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let planes = u64::from(config.flash.planes_per_die);
        let per_plane = |first: u64, each: u64| {
            (0..=planes).map(|k| Nanos(first + each * k.saturating_sub(1))).collect::<Vec<_>>()
        };
        // Twice a page, since the merge read of a misaligned tenant may name sectors beyond its
        // page.
        let sectors = u64::from(config.flash.page_bytes / 512) * 2;
        let flash = &config.flash;
        /// Time from the end of an array read until the controller has seen the ready signal.
        const READY_NS: Nanos = Nanos(20);
        Self {
            // tCS + 6 tWC + tWB + tRR; each further plane tDBSY + 6 tWC.
            read_command: per_plane(290, 650),
            // tCS + 6 tWC + tADL + tWPST + tWPSTH + tWB; each further plane 5 tWC + tCALS + tDBSY
            // too.
            program_command: per_plane(361, 816),
            // tCS + 4 tWC + tWB; each further plane tDBSY + 4 tWC + tWB.
            erase_command: per_plane(220, 700),
            suspend_command: Nanos(95),
            transfer: (0..=sectors).map(|n| transfer_time(config, n * 512)).collect(),
            arrays: (0..flash.pages_per_block)
                .map(|page| {
                    let kind = page_type(flash.technology, page);
                    let read = flash.read_latency[kind] + READY_NS;
                    ArrayTimes { kind, read, program: flash.program_latency[kind] }
                })
                .collect(),
            erase: flash.erase_latency,
            cache_busy: flash.cache_busy,
        }
    }

    /// The time of a number of sectors over the channel.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Nanos {
        self.transfer[sectors as usize]
    }

    /// The time of an array operation, and the type of the page (see [`page_type`]).
    #[inline]
    pub fn array(&self, work: Work, page: u32) -> (Nanos, usize) {
        let times = &self.arrays[page as usize];
        let takes = match work {
            Work::Read => times.read,
            Work::Program => times.program,
            Work::Erase => self.erase,
        };
        (takes, times.kind)
    }

    /// The type of a page.
    pub fn page_type(&self, page: u32) -> usize {
        self.arrays[page as usize].kind
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
    fn link_times_of_a_gen3_x4_link_are_the_published_ones() {
        let link = LinkTiming::new(&DeviceConfig::default());
        assert_eq!(link.doorbell, Nanos(8));
        assert_eq!(link.read_request, Nanos(8));
        assert_eq!(link.submission_entry, Nanos(25));
        assert_eq!(link.completion_entry, Nanos(11));
        assert_eq!(link.data(8), Nanos(1248));
        assert_eq!(link.data(128), Nanos(19_968));
        assert_eq!(link.data(1024), Nanos(19_968 * 8));
    }

    #[test]
    fn dram_times_grow_with_bytes_and_cross_rows() {
        let mut config = DeviceConfig::default();
        let dram = DramTiming::new(&config);
        // 26 + 8192/4/2 transfers of 1.25 ns.
        assert_eq!(dram.sectors(16), Nanos(26 + 1280));
        assert_eq!(dram.sectors(17), Nanos(26 + 1280 + 13 + 26 + 80));
        config.cache.dram_data_rate_mts = 100;
        config.cache.dram_burst_bytes = 1;
        assert_eq!(DramTiming::new(&config).sectors(8), Nanos(20_506));
    }

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
