//! What the drive consumes: counters of its work, and the power of each millisecond.
//!
//! Flash, after Grupp et al. (MICRO 2009): an energy for each page read or programmed (by page
//! type) and for each block erased, and a power for idle chips. The dies of a chip share its idle
//! power; while a die works, the energy of its operation takes the place of that share. Channels:
//! an energy for each byte of data. DRAM, as in DRAMPower: background, row activations, and bytes
//! read and written, for the accesses that the DRAM channel serves. Controller: idle power,
//! requests, transactions. `docs/energy.md` has the formulas and the sources.
//!
//! Counters become energies when somebody asks. The peak takes one addition for each command of a
//! die: its energy goes into windows of 1 ms, and is spread over the time it takes if that crosses
//! the end of a window. Of everything else, a window has what was counted while it was open.
//! Memory: a ring of 256 windows. An operation that lasts beyond them (a quarter of a second) is
//! squeezed into them.
//!
//! Left out: command and address cycles on the channels, halting and resuming suspended operations,
//! DRAM accesses for the mapping table (they belong to the controller's work), power states.

use super::joules::{ControllerEnergy, DramEnergy, Energy, FlashEnergy, PageTypes};
use crate::operation::{SLC_MODE, Work};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::Energy as Constants;
use ssdtune_model::ledger::Memory;
use ssdtune_model::{DeviceConfig, Nanos, SECTOR_BYTES};

/// The time over which the peak is an average.
pub(crate) const WINDOW: Nanos = Nanos(1_000_000);
/// Windows that an operation may reach into.
const RING: usize = 256;

/// 1 mW in nJ/ns.
const NJ_PER_NS_OF_MW: f64 = 1e-3;
/// 1 nJ in J.
const J_OF_NJ: f64 = 1e-9;
/// 1 mW in W, which is also 1 nJ/ns.
const W_OF_MW: f64 = 1e-3;

/// How often everything that costs energy was done.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Pages read and programmed, and blocks erased: see [`place`].
    arrays: [u64; PLACES],
    at_once: AtOnce,
}

/// Work that is so short that a window has either all or nothing of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct AtOnce {
    /// Sectors that went over the channels.
    moved_sectors: u64,
    /// DRAM rows opened.
    dram_activations: u64,
    /// Sectors read from DRAM, and written to it.
    dram_sectors: [u64; 2],
    /// Requests of the host.
    requests: u64,
}

impl Counters {
    /// Counts work of a die on a number of pages of a type, or of blocks.
    #[inline]
    pub fn die_works(&mut self, work: Work, kind: usize, count: u32) {
        self.arrays[place(work, kind)] += u64::from(count);
    }

    /// Counts data that go over a channel.
    #[inline]
    pub fn channel_moves(&mut self, sectors: u32) {
        self.at_once.moved_sectors += u64::from(sectors);
    }

    /// Counts an access to the DRAM.
    #[inline]
    pub fn dram_works(&mut self, writes: bool, sectors: u32, rows: u64) {
        self.at_once.dram_activations += rows;
        self.at_once.dram_sectors[usize::from(writes)] += u64::from(sectors);
    }

    /// Counts a request of the host.
    #[inline]
    pub fn request(&mut self) {
        self.at_once.requests += 1;
    }
}

/// Counts the drive's work and turns it into energy.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Meter {
    constants: Constants,
    /// The controller's work on one transaction.
    transaction_nj: f64,
    /// The array's work on one page or block: see [`place`].
    array_nj: [f64; PLACES],
    /// The array's and the controller's work on one page or block: see [`place`].
    work_nj: [f64; PLACES],
    /// Pages may be in SLC mode.
    has_slc_mode: bool,
    /// One sector over a channel.
    sector_nj: f64,
    /// One sector read from DRAM, and one written to it.
    dram_sector_nj: [f64; 2],
    /// The idle power of one die.
    die_idle_nj_per_ns: f64,
    dram_background_mw: f64,
    /// The power of the drive when nothing happens.
    rest_w: f64,
    counters: Counters,
    /// What of `counters` is already in a window.
    settled: AtOnce,
    windows: Windows,
}

/// Types that a table has room for: a power of two.
const KINDS: usize = 8;
/// Places in a table.
const PLACES: usize = 3 * KINDS;

/// Where the tables have the work on a page of a type. Erases have no type; all their values are
/// equal.
#[inline]
fn place(work: Work, kind: usize) -> usize {
    work as usize * KINDS + (kind & (KINDS - 1))
}

/// Energy of an array for one bit of a page, or of a block's share of a bit, in nanojoule: see
/// [`place`].
fn array_nj_per_bit(constants: &Constants, pages_per_block: u32) -> [f64; PLACES] {
    let mut per_bit = [0.0; PLACES];
    let erase = constants.flash_erase_nj_per_bit * f64::from(pages_per_block);
    let kinds = [
        (Work::Read, constants.flash_read_nj_per_bit, constants.slc_read_nj_per_bit),
        (Work::Program, constants.flash_program_nj_per_bit, constants.slc_program_nj_per_bit),
        (Work::Erase, [erase; 4], erase),
    ];
    for (work, each, slc) in kinds {
        (0..).zip(each).for_each(|(kind, nj)| per_bit[place(work, kind)] = nj);
        per_bit[place(work, SLC_MODE)] = slc;
    }
    per_bit
}

impl Meter {
    pub fn new(config: &DeviceConfig) -> Self {
        let constants = config.energy.clone();
        let geometry = config.geometry();
        // Arrays work on whole pages, however small the mapping units are.
        let bits = f64::from(config.flash.page_bytes) * 8.0;
        let gib = Memory::of(config).drive_dram_bytes.0 as f64 / f64::from(1 << 30);
        let dram_background_mw = constants.dram_background_mw_per_gib * gib;
        let flash_idle_mw = constants.flash_idle_mw * geometry.chips() as f64;
        let sector = SECTOR_BYTES as f64;
        let per_bit = array_nj_per_bit(&constants, geometry.pages_per_block);
        let array_nj = per_bit.map(|nj| nj * bits);
        Self {
            transaction_nj: constants.controller_nj_per_transaction,
            work_nj: array_nj.map(|nj| nj + constants.controller_nj_per_transaction),
            array_nj,
            has_slc_mode: config.slc_cache.is_on(),
            sector_nj: constants.channel_nj_per_byte * sector,
            dram_sector_nj: [constants.dram_read_nj_per_byte, constants.dram_write_nj_per_byte]
                .map(|nj| nj * sector),
            die_idle_nj_per_ns: constants.flash_idle_mw * NJ_PER_NS_OF_MW
                / f64::from(geometry.dies_per_chip),
            dram_background_mw,
            rest_w: (flash_idle_mw + dram_background_mw + constants.controller_idle_mw) * W_OF_MW,
            constants,
            counters: Counters::default(),
            settled: AtOnce::default(),
            windows: Windows::new(),
        }
    }

    /// A die works on a number of pages of a type, or of blocks. The time of the work, `[from,
    /// to]`, begins now or a little later.
    #[inline]
    pub fn die_works(
        &mut self,
        now: Nanos,
        work: Work,
        kind: usize,
        count: u32,
        [from, to]: [Nanos; 2],
    ) {
        self.die_works_along(now, work, kind, count, [from, to], to - from);
    }

    /// As [`Meter::die_works`], but the work takes the place of idle power for `alone` only.
    #[inline]
    pub fn die_works_along(
        &mut self,
        now: Nanos,
        work: Work,
        kind: usize,
        count: u32,
        [from, to]: [Nanos; 2],
        alone: Nanos,
    ) {
        self.counters.die_works(work, kind, count);
        let idle = alone.0 as f64 * self.die_idle_nj_per_ns;
        let net = f64::from(count) * self.work_nj[place(work, kind)] - idle;
        self.pass(now);
        self.windows.add(from, to, net);
    }

    /// Data go over a channel.
    #[inline]
    pub fn channel_moves(&mut self, now: Nanos, sectors: u32) {
        self.pass(now);
        self.counters.channel_moves(sectors);
    }

    /// The DRAM opens rows and reads or writes sectors.
    #[inline]
    pub fn dram_works(&mut self, now: Nanos, writes: bool, sectors: u32, rows: u64) {
        self.pass(now);
        self.counters.dram_works(writes, sectors, rows);
    }

    /// A request of the host arrives.
    #[inline]
    pub fn request(&mut self, now: Nanos) {
        self.pass(now);
        self.counters.request();
    }

    /// Lets time go on to `now`, which never falls.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        if now.0 >= self.windows.open_until {
            self.turn(now);
        }
    }

    /// Closes the windows that have ended.
    #[cold]
    fn turn(&mut self, now: Nanos) {
        let nj = self.pending_nj();
        self.windows.ring[self.windows.open as usize % RING] += nj;
        self.settled = self.counters.at_once;
        self.windows.close_before(now.0 / WINDOW.0);
    }

    /// Energy of short work that belongs to the open window and is not in it yet.
    fn pending_nj(&self) -> f64 {
        self.at_once_nj(&self.counters.at_once, &self.settled)
    }

    /// The energy of the short work between two counts.
    fn at_once_nj(&self, now: &AtOnce, before: &AtOnce) -> f64 {
        let of = |count: fn(&AtOnce) -> u64, nj: f64| (count(now) - count(before)) as f64 * nj;
        of(|c| c.moved_sectors, self.sector_nj)
            + of(|c| c.dram_activations, self.constants.dram_activate_nj)
            + of(|c| c.dram_sectors[0], self.dram_sector_nj[0])
            + of(|c| c.dram_sectors[1], self.dram_sector_nj[1])
            + of(|c| c.requests, self.constants.controller_nj_per_request)
    }

    /// What the work of a tenant has cost, and what the work of all tenants has cost, in joule.
    pub fn work_j(&self, tenant: Option<&Counters>) -> [f64; 2] {
        let of = |done: &Counters| {
            let arrays = done.arrays.iter().zip(&self.work_nj);
            let arrays: f64 = arrays.map(|(&count, nj)| count as f64 * nj).sum();
            (arrays + self.at_once_nj(&done.at_once, &AtOnce::default())) * J_OF_NJ
        };
        [of(tenant.unwrap_or(&self.counters)), of(&self.counters)]
    }

    /// The energy report. No part of it ever falls from one call to the next: what a die has begun
    /// is counted in full, and idle time is counted only when it has passed. `since` is the time
    /// from the first arrival until `now`, `idle` the time in it that dies did not work, all dies
    /// together.
    pub fn report(&self, now: Nanos, since: Nanos, idle: Nanos) -> Energy {
        let done = &self.counters;
        let seconds = since.as_secs_f64();
        let of_mw = |mw: f64| mw * NJ_PER_NS_OF_MW * since.0 as f64 * J_OF_NJ;
        let of_nj = |count: u64, nj: f64| count as f64 * nj * J_OF_NJ;
        let array = |work, kind| {
            let place = place(work, kind);
            of_nj(done.arrays[place], self.array_nj[place])
        };
        let types = |work| PageTypes {
            lsb: array(work, 0),
            csb: array(work, 1),
            msb: array(work, 2),
            tsb: array(work, 3),
            slc: self.has_slc_mode.then(|| array(work, SLC_MODE)),
        };
        let read_by_page_type_j = types(Work::Read);
        let program_by_page_type_j = types(Work::Program);
        let flash = FlashEnergy {
            read_j: read_by_page_type_j.sum(),
            read_by_page_type_j,
            program_j: program_by_page_type_j.sum(),
            program_by_page_type_j,
            erase_j: types(Work::Erase).sum(),
            transfer_j: of_nj(done.at_once.moved_sectors, self.sector_nj),
            idle_j: idle.0 as f64 * self.die_idle_nj_per_ns * J_OF_NJ,
        };
        let dram = DramEnergy {
            background_j: of_mw(self.dram_background_mw),
            activate_j: of_nj(done.at_once.dram_activations, self.constants.dram_activate_nj),
            read_j: of_nj(done.at_once.dram_sectors[0], self.dram_sector_nj[0]),
            write_j: of_nj(done.at_once.dram_sectors[1], self.dram_sector_nj[1]),
        };
        let controller = ControllerEnergy {
            idle_j: of_mw(self.constants.controller_idle_mw),
            requests_j: of_nj(done.at_once.requests, self.constants.controller_nj_per_request),
            transactions_j: of_nj(done.arrays.iter().sum(), self.transaction_nj),
        };
        let total_j = flash.sum() + dram.sum() + controller.sum();
        let average_power_w = if seconds > 0.0 { total_j / seconds } else { self.rest_w };
        let peak = self.rest_w + self.windows.peak(now, self.pending_nj()) / WINDOW.0 as f64;
        Energy {
            seconds,
            total_j,
            average_power_w,
            // A run of few windows may begin and end inside them.
            peak_power_w: peak.max(average_power_w),
            peak_window_ns: WINDOW.0,
            flash,
            dram,
            controller,
        }
    }
}

/// Energy above that of the idle drive, window by window.
#[derive(Clone, Serialize, Deserialize)]
struct Windows {
    /// The open window and those behind it, by their number modulo the length.
    #[serde(with = "crate::stored::array")]
    ring: [f64; RING],
    /// Number of the first window that may still grow.
    open: u64,
    /// When that window ends.
    open_until: u64,
    /// The most that a closed window held.
    peak: f64,
}

impl Windows {
    fn new() -> Self {
        Self { ring: [0.0; RING], open: 0, open_until: WINDOW.0, peak: f64::NEG_INFINITY }
    }

    /// Adds the energy of something that begins in the open window or later.
    #[inline]
    fn add(&mut self, from: Nanos, to: Nanos, nj: f64) {
        debug_assert!(from <= to);
        if to.0 <= self.open_until {
            self.ring[self.open as usize % RING] += nj;
        } else {
            self.spread(from.0, to.0, nj);
        }
    }

    /// Spreads energy over several windows.
    fn spread(&mut self, from: u64, to: u64, nj: f64) {
        if from < self.open_until && to - self.open_until <= WINDOW.0 {
            let later = nj * ((to - self.open_until) as f64 / (to - from) as f64);
            self.ring[self.open as usize % RING] += nj - later;
            self.ring[(self.open as usize + 1) % RING] += later;
            return;
        }
        let end = (self.open + RING as u64) * WINDOW.0;
        let (mut start, to) = (from.min(end - 1), to.min(end));
        if start == to {
            self.ring[(start / WINDOW.0) as usize % RING] += nj;
            return;
        }
        let each = nj / (to - start) as f64;
        while start < to {
            let window = start / WINDOW.0;
            let length = ((window + 1) * WINDOW.0).min(to) - start;
            self.ring[window as usize % RING] += each * length as f64;
            start += length;
        }
    }

    /// Closes all windows before this one: nothing will be added to them.
    fn close_before(&mut self, window: u64) {
        let held = window.min(self.open + RING as u64);
        while self.open < held {
            let slot = &mut self.ring[self.open as usize % RING];
            self.peak = self.peak.max(std::mem::take(slot));
            self.open += 1;
        }
        if self.open < window {
            self.peak = self.peak.max(0.0);
            self.open = window;
        }
        self.open_until = (self.open + 1) * WINDOW.0;
    }

    /// The most that a window held, of all windows up to the present one. `pending` belongs to the
    /// open one.
    fn peak(&self, now: Nanos, pending: f64) -> f64 {
        let running = (now.0 / WINDOW.0).min(self.open + RING as u64 - 1);
        let later = (self.open + 1..=running).map(|window| self.ring[window as usize % RING]);
        later.fold(self.peak.max(self.ring[self.open as usize % RING] + pending), f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = WINDOW.0;

    #[test]
    fn energy_is_spread_over_the_windows_an_operation_crosses() {
        let mut windows = Windows::new();
        windows.add(Nanos(0), Nanos(MS), 5.0);
        // Half of a window, a whole one, and a quarter.
        windows.add(Nanos(MS / 2), Nanos(MS * 9 / 4), 7.0);
        assert_eq!(windows.ring[..4], [7.0, 4.0, 1.0, 0.0]);
        // A quarter and three quarters.
        windows.add(Nanos(MS * 3 / 4), Nanos(MS * 7 / 4), 4.0);
        assert_eq!(windows.ring[..4], [8.0, 7.0, 1.0, 0.0]);
        assert_eq!(windows.peak(Nanos(MS - 1), 0.0), 8.0);
        assert_eq!(windows.peak(Nanos(MS - 1), 0.5), 8.5);
        windows.close_before(2);
        windows.add(Nanos(2 * MS), Nanos(2 * MS), 2.0);
        windows.close_before(3);
        windows.add(Nanos(3 * MS), Nanos(3 * MS + 1), 0.5);
        assert_eq!((windows.open, windows.peak), (3, 8.0));
        assert_eq!(windows.ring[..4], [0.0, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn nothing_is_lost_in_long_operations_and_long_rests() {
        let mut windows = Windows::new();
        windows.add(Nanos(0), Nanos(MS * 10_000), 1024.0);
        assert!((windows.ring.iter().sum::<f64>() - 1024.0).abs() < 1e-9);
        windows.close_before(10_000);
        windows.add(Nanos(MS * 10_000), Nanos(MS * 10_000 + 1), 3.0);
        assert!((windows.peak - 4.0).abs() < 1e-12);
        // An operation that begins beyond the ring.
        windows.add(Nanos(MS * 11_000), Nanos(MS * 11_001), 8.0);
        assert_eq!(windows.ring.iter().sum::<f64>(), 11.0);
        // One that takes no time.
        windows.add(Nanos(MS * 10_003), Nanos(MS * 10_003), 1.0);
        assert_eq!(windows.ring.iter().sum::<f64>(), 12.0);
    }

    #[test]
    fn a_rest_between_windows_counts_as_a_window_of_nothing() {
        let mut windows = Windows::new();
        windows.add(Nanos(0), Nanos(10), -1.0);
        assert_eq!(windows.peak(Nanos(0), 0.0), -1.0);
        windows.close_before(9);
        windows.add(Nanos(9 * MS), Nanos(9 * MS), -1.0);
        assert_eq!(windows.peak(Nanos(9 * MS), 0.0), 0.0);
    }

    #[test]
    fn short_work_belongs_to_the_window_in_which_it_happens() {
        let config = DeviceConfig::default();
        let mut meter = Meter::new(&config);
        for window in [5, 1, 7, 3].into_iter().enumerate() {
            let (nth, requests) = window;
            (0..requests).for_each(|_| meter.request(Nanos(nth as u64 * MS + MS / 2)));
        }
        let busiest = 7.0 * config.energy.controller_nj_per_request;
        assert_eq!(meter.windows.peak(Nanos(4 * MS - 1), meter.pending_nj()), busiest);
    }
}
