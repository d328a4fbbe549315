//! Constants of the cells and the circuits: how they age, and how much energy they take.

use serde::{Deserialize, Serialize};

/// Read retry, and latencies that change with wear. All of it is off in the default drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Ageing {
    /// Probability, 0 to 1, that an attempt to read a page of a block without erases must be
    /// repeated.
    pub retry_probability: f64,
    /// How much 1,000 erases of the block add to the probability of a repeated read.
    pub retry_probability_per_1000_cycles: f64,
    /// Most repetitions of one read.
    pub retries_max: u32,
    /// Share of the read latency that 1,000 erases of the block add to it.
    pub read_growth_per_1000_cycles: f64,
    /// Share of the program latency that 1,000 erases of the block add to it; negative if worn
    /// cells are programmed faster.
    pub program_growth_per_1000_cycles: f64,
    /// Share of the erase latency that 1,000 erases of the block add to it.
    pub erase_growth_per_1000_cycles: f64,
}

impl Ageing {
    /// Whether any read may have to be repeated.
    pub fn has_retries(&self) -> bool {
        self.retries_max > 0
            && (self.retry_probability > 0.0 || self.retry_probability_per_1000_cycles > 0.0)
    }
}

impl Default for Ageing {
    fn default() -> Self {
        Self {
            retry_probability: 0.0,
            retry_probability_per_1000_cycles: 0.0,
            retries_max: 8,
            read_growth_per_1000_cycles: 0.0,
            program_growth_per_1000_cycles: 0.0,
            erase_growth_per_1000_cycles: 0.0,
        }
    }
}

/// Energy constants. The catalogue and `docs/energy.md` name their sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Energy to read one bit of the flash array, in nanojoule, by page type as in
    /// [`Flash::read_latency`](super::Flash::read_latency).
    pub flash_read_nj_per_bit: [f64; 4],
    /// Energy to program one bit of the flash array, in nanojoule, by page type as in
    /// [`Flash::read_latency`](super::Flash::read_latency).
    pub flash_program_nj_per_bit: [f64; 4],
    /// Energy to read one bit of a page in SLC mode, in nanojoule.
    pub slc_read_nj_per_bit: f64,
    /// Energy to program one bit of a page in SLC mode, in nanojoule.
    pub slc_program_nj_per_bit: f64,
    /// Energy to erase one bit of the flash array, in nanojoule.
    pub flash_erase_nj_per_bit: f64,
    /// Energy to move one byte over a channel, in nanojoule.
    pub channel_nj_per_byte: f64,
    /// Power of one chip whose dies are idle, in milliwatt.
    pub flash_idle_mw: f64,
    /// Power of the DRAM at rest (refresh, clocks), in milliwatt for each gibibyte.
    pub dram_background_mw_per_gib: f64,
    /// Energy of one DRAM row activation with its precharge, in nanojoule.
    pub dram_activate_nj: f64,
    /// Energy to read one byte of DRAM, in nanojoule.
    pub dram_read_nj_per_byte: f64,
    /// Energy to write one byte of DRAM, in nanojoule.
    pub dram_write_nj_per_byte: f64,
    /// Power of the controller at rest, in milliwatt.
    pub controller_idle_mw: f64,
    /// Energy of the controller's work for one request of the host, in nanojoule.
    pub controller_nj_per_request: f64,
    /// Energy of the controller's work for one page transaction, in nanojoule.
    pub controller_nj_per_transaction: f64,
}

impl Default for Energy {
    fn default() -> Self {
        Self {
            flash_read_nj_per_bit: [0.15; 4],
            flash_program_nj_per_bit: [3.31; 4],
            slc_read_nj_per_bit: 0.15,
            slc_program_nj_per_bit: 3.31,
            flash_erase_nj_per_bit: 0.07,
            channel_nj_per_byte: 0.5,
            flash_idle_mw: 12.7,
            dram_background_mw_per_gib: 75.0,
            dram_activate_nj: 3.0,
            dram_read_nj_per_byte: 0.1,
            dram_write_nj_per_byte: 0.1,
            controller_idle_mw: 500.0,
            controller_nj_per_request: 1000.0,
            controller_nj_per_transaction: 500.0,
        }
    }
}
