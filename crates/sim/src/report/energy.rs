//! The energy part of a report: what each component consumed from the first arrival to the end of the run.

use serde::{Deserialize, Serialize};

/// Energy and power of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// The time counted: from the first arrival to the end of the run.
    pub seconds: f64,
    /// All components together.
    pub total_j: f64,
    /// One over the other; at rest where no time has passed.
    pub average_power_w: f64,
    /// The most over one window, or the average where that is more.
    pub peak_power_w: f64,
    /// Length of a window.
    pub peak_window_ns: u64,
    /// Chips and channels.
    pub flash: FlashEnergy,
    /// The DRAM.
    pub dram: DramEnergy,
    /// The controller.
    pub controller: ControllerEnergy,
}

/// Energy of one tenant's work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantEnergy {
    /// Flash operations, transfers, DRAM accesses and the controller's work for it; nothing of the idle terms.
    pub work_j: f64,
    /// Of what all tenants' work took; `null` where that is nothing.
    pub share: Option<f64>,
}

/// Energy of the flash chips and their channels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashEnergy {
    /// Array reads.
    pub read_j: f64,
    /// Of these, by page type.
    pub read_by_page_type_j: PageTypes,
    /// Programs.
    pub program_j: f64,
    /// Of these, by page type.
    pub program_by_page_type_j: PageTypes,
    /// Erases.
    pub erase_j: f64,
    /// Data over the channels.
    pub transfer_j: f64,
    /// Dies at rest.
    pub idle_j: f64,
}

/// One figure for each page type; SLC has the first, MLC the first and the third, TLC the first three.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageTypes {
    /// Least significant bits.
    pub lsb: f64,
    /// Central significant bits.
    pub csb: f64,
    /// Most significant bits.
    pub msb: f64,
    /// Top (fourth) bits.
    pub tsb: f64,
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
    /// At rest.
    pub idle_j: f64,
    /// Requests of the host.
    pub requests_j: f64,
    /// Page transactions.
    pub transactions_j: f64,
}

impl PageTypes {
    /// All types together.
    pub fn sum(&self) -> f64 {
        self.lsb + self.csb + self.msb + self.tsb
    }
}

impl FlashEnergy {
    /// All parts together.
    pub fn sum(&self) -> f64 {
        self.read_j + self.program_j + self.erase_j + self.transfer_j + self.idle_j
    }
}

impl DramEnergy {
    /// All parts together.
    pub fn sum(&self) -> f64 {
        self.background_j + self.activate_j + self.read_j + self.write_j
    }
}

impl ControllerEnergy {
    /// All parts together.
    pub fn sum(&self) -> f64 {
        self.idle_j + self.requests_j + self.transactions_j
    }
}
