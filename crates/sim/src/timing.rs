//! How long things take, as tables filled once: PCIe messages, DRAM accesses, flash commands and transfers.
//!
//! PCIe: a message of n bytes is cut into payloads of 128 B with 28 B of overhead each (20 TLP header,
//! 6 DLLP, 2 PHY), and runs over all lanes. DRAM: activate, column access, then bursts on both clock edges.
//! Flash: ONFI NV-DDR2 command sequences (fixed times of the specification's timing mode) and transfers at
//! the channel's rate.

use ssdtune_model::config::FlashTechnology;
use ssdtune_model::{DeviceConfig, Nanos};

const TLP_PAYLOAD: u64 = 128;
const TLP_OVERHEAD: u64 = 28;
/// A read request carries an address, no data.
const READ_REQUEST_BYTES: u64 = TLP_OVERHEAD + 4;
const DOORBELL_BYTES: u64 = 2;
const SUBMISSION_ENTRY_BYTES: u64 = 72;
const COMPLETION_ENTRY_BYTES: u64 = 16;

/// Times of the host link.
pub(crate) struct LinkTiming {
    lanes: u64,
    bytes_per_ns: f64,
    pub doorbell: Nanos,
    pub read_request: Nanos,
    pub submission_entry: Nanos,
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

    fn on_lanes(&self, bytes: u64) -> Nanos {
        Nanos((bytes.div_ceil(self.lanes) as f64 / self.bytes_per_ns) as u64)
    }

    fn payload(&self, bytes: u64) -> Nanos {
        let rest = match bytes % TLP_PAYLOAD {
            0 => 0,
            rest => rest + TLP_OVERHEAD,
        };
        self.on_lanes(bytes / TLP_PAYLOAD * (TLP_PAYLOAD + TLP_OVERHEAD) + rest)
    }

    /// A message with host data.
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
    row: u64,
    burst: u64,
    transfer_ns: f64,
    open_ns: u64,
    precharge_ns: u64,
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

    /// One access of consecutive bytes.
    #[inline]
    pub fn sectors(&self, sectors: u32) -> Nanos {
        match self.by_sectors.get(sectors as usize) {
            Some(&time) => time,
            None => self.bytes(u64::from(sectors) * 512),
        }
    }

    /// Rows that such an access opens.
    #[inline]
    pub fn rows(&self, sectors: u32) -> u64 {
        let bytes = u64::from(sectors) * 512;
        if bytes <= self.row { 1 } else { bytes.div_ceil(self.row) }
    }

    fn bytes(&self, bytes: u64) -> Nanos {
        if bytes <= self.row {
            return Nanos(self.open_ns + self.transfer(bytes));
        }
        if self.row_formula {
            // Half of the full rows only, and a tail that divides by the transfer time.
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

    fn transfer(&self, bytes: u64) -> u64 {
        ((bytes / self.burst / 2) as f64 * self.transfer_ns) as u64
    }
}

/// Times of commands, transfers and array operations.
pub(crate) struct FlashTiming {
    /// By number of planes.
    pub read_command: Vec<Nanos>,
    pub program_command: Vec<Nanos>,
    pub erase_command: Vec<Nanos>,
    pub suspend_command: Nanos,
    /// By number of sectors.
    transfer: Vec<Nanos>,
    /// By page offset in the block.
    read: Vec<Nanos>,
    program: Vec<Nanos>,
    page_type: Vec<u8>,
    pub erase: Nanos,
    /// From one register of a die to the other.
    pub cache_busy: Nanos,
}

impl FlashTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let planes = u64::from(config.flash.planes_per_die);
        let per_plane = |first: u64, each: u64| {
            (0..=planes).map(|k| Nanos(first + each * k.saturating_sub(1))).collect::<Vec<_>>()
        };
        // Twice a page: the merge read of a misaligned tenant may name sectors beyond it.
        let sectors = u64::from(config.flash.page_bytes / 512) * 2;
        let flash = &config.flash;
        let latency = |table: &[Nanos; 4], page: u32| table[page_type(flash.technology, page)];
        /// Ready/busy signal to controller, after an array read.
        const READY_NS: Nanos = Nanos(20);
        Self {
            // tCS + 6 tWC + tWB + tRR; each further plane tDBSY + 6 tWC.
            read_command: per_plane(290, 650),
            // tCS + 6 tWC + tADL + tWPST + tWPSTH + tWB; each further plane 5 tWC + tCALS + tDBSY too.
            program_command: per_plane(361, 816),
            // tCS + 4 tWC + tWB; each further plane tDBSY + 4 tWC + tWB.
            erase_command: per_plane(220, 700),
            suspend_command: Nanos(95),
            transfer: (0..=sectors).map(|n| transfer_time(config, n * 512)).collect(),
            read: (0..flash.pages_per_block)
                .map(|page| latency(&flash.read_latency, page) + READY_NS)
                .collect(),
            program: (0..flash.pages_per_block)
                .map(|page| latency(&flash.program_latency, page))
                .collect(),
            page_type: (0..flash.pages_per_block)
                .map(|page| page_type(flash.technology, page) as u8)
                .collect(),
            erase: flash.erase_latency,
            cache_busy: flash.cache_busy,
        }
    }

    /// Data of so many sectors over the channel.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Nanos {
        self.transfer[sectors as usize]
    }

    #[inline]
    pub fn read(&self, page: u32) -> Nanos {
        self.read[page as usize]
    }

    /// The type of a page, see [`page_type`].
    #[inline]
    pub fn page_type(&self, page: u32) -> usize {
        self.page_type[page as usize].into()
    }

    #[inline]
    pub fn program(&self, page: u32) -> Nanos {
        self.program[page as usize]
    }
}

fn transfer_time(config: &DeviceConfig, bytes: u64) -> Nanos {
    let pairs = bytes / u64::from(config.bus.width_bytes) / 2;
    if config.compat.integer_bus_ns {
        return Nanos(pairs * 2 * (1000 / u64::from(config.bus.rate_mts)));
    }
    Nanos((pairs * 2 * 1000).div_ceil(config.bus.rate_mts.into()))
}

/// Which latency a page has: 0 least significant bit, then the ones between, 3 (QLC) or 2 most significant.
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
