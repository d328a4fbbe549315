//! The energy part of a report: what each component consumed from the first arrival to the end of
//! the run. Energies are in joule, powers in watt.

use serde::{Deserialize, Serialize};

/// Energy and power of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// The time counted, in seconds: from the first arrival to the end of the run.
    pub seconds: f64,
    /// All components together.
    pub total_j: f64,
    /// `total_j` divided by `seconds`; the power of the idle drive if no time has passed.
    pub average_power_w: f64,
    /// The largest average over one window, or the average over the run if that is larger.
    pub peak_power_w: f64,
    /// Length of a window.
    pub peak_window_ns: u64,
    /// Flash chips and their channels.
    pub flash: FlashEnergy,
    /// The DRAM.
    pub dram: DramEnergy,
    /// The controller.
    pub controller: ControllerEnergy,
}

/// Energy of one tenant's work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantEnergy {
    /// Flash operations, transfers, DRAM accesses and the controller's work for the tenant. Idle
    /// power is not included.
    pub work_j: f64,
    /// `work_j` divided by the sum over all tenants; `null` if that is zero.
    pub share: Option<f64>,
}

/// Energy of the flash chips and their channels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashEnergy {
    /// Array reads.
    pub read_j: f64,
    /// Array reads by page type.
    pub read_by_page_type_j: PageTypes,
    /// Programs.
    pub program_j: f64,
    /// Programs by page type.
    pub program_by_page_type_j: PageTypes,
    /// Erases.
    pub erase_j: f64,
    /// Data over the channels.
    pub transfer_j: f64,
    /// Idle dies.
    pub idle_j: f64,
}

/// One figure for each page type. SLC has the first type, MLC the first and the third, TLC the
/// first three, QLC all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageTypes {
    /// Pages of the least significant bits.
    pub lsb: f64,
    /// Pages of the central significant bits.
    pub csb: f64,
    /// Pages of the most significant bits.
    pub msb: f64,
    /// Pages of the top (fourth) bits.
    pub tsb: f64,
    /// Pages in SLC mode, on a drive with an SLC cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<f64>,
}

/// Energy of the DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DramEnergy {
    /// Refresh and clocks.
    pub background_j: f64,
    /// Row activations.
    pub activate_j: f64,
    /// Bytes read.
    pub read_j: f64,
    /// Bytes written.
    pub write_j: f64,
}

/// Energy of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControllerEnergy {
    /// Idle power of the controller.
    pub idle_j: f64,
    /// Work on requests of the host.
    pub requests_j: f64,
    /// Work on transactions of single pages.
    pub transactions_j: f64,
}

impl PageTypes {
    /// The sum over all types.
    pub fn sum(&self) -> f64 {
        self.lsb + self.csb + self.msb + self.tsb + self.slc.unwrap_or(0.0)
    }
}

impl FlashEnergy {
    /// The sum over all parts; the figures by page type are contained in others.
    pub fn sum(&self) -> f64 {
        self.read_j + self.program_j + self.erase_j + self.transfer_j + self.idle_j
    }
}

impl DramEnergy {
    /// The sum over all parts.
    pub fn sum(&self) -> f64 {
        self.background_j + self.activate_j + self.read_j + self.write_j
    }
}

impl ControllerEnergy {
    /// The sum over all parts.
    pub fn sum(&self) -> f64 {
        self.idle_j + self.requests_j + self.transactions_j
    }
}
