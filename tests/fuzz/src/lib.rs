//! What must hold for any bytes that ssdtune is given to read, and for any sequence of operations
//! on a drive. Each [`Target`] panics if it does not hold.
//!
//! `scripts/fuzz` gives made-up bytes to the targets. Inputs worth keeping are in `corpus/`, in a
//! folder for each target; an ordinary test replays them.

mod documents;
mod learned;
mod livepoints;
mod memory;
mod operations;
mod simulator;
mod traces;

#[allow(dead_code, reason = "the simulator's tests use all of it")]
#[path = "../../../crates/sim/tests/corners.rs"]
mod corners;
#[allow(dead_code, reason = "the simulator's tests use all of it")]
#[path = "../../../crates/sim/tests/drives.rs"]
mod drives;

use ssdtune_trace::Format;

/// One thing that reads bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its folder in `corpus/`.
    pub name: &'static str,
    /// Checks what must hold for the bytes.
    ///
    /// # Panics
    /// It does not hold.
    pub demand: fn(&[u8]),
}

/// The target of one trace format.
macro_rules! trace {
    ($name:literal, $format:ident) => {
        Target { name: $name, demand: |bytes| traces::read(Some(Format::$format), bytes) }
    };
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "toml_config", demand: documents::toml_config },
    Target { name: "ssd_xml", demand: documents::ssd_xml },
    Target { name: "workload_xml", demand: documents::workload_xml },
    Target { name: "constraints", demand: documents::constraints },
    Target { name: "space", demand: documents::space },
    Target { name: "workload_model", demand: documents::workload_model },
    Target { name: "policy", demand: learned::policy },
    Target { name: "labels", demand: learned::labels },
    Target { name: "black_box", demand: learned::black_box },
    Target { name: "results", demand: learned::results },
    Target { name: "fio_json", demand: learned::fio_json },
    Target { name: "points", demand: learned::points },
    Target { name: "live_points", demand: livepoints::read },
    Target { name: "firmware_model", demand: learned::firmware_model },
    Target { name: "profile", demand: learned::profile },
    Target { name: "autodb_import", demand: memory::import },
    Target { name: "autodb_log", demand: memory::log },
    Target { name: "snapshot", demand: simulator::snapshot },
    Target { name: "ftl_operations", demand: operations::ftl },
    Target { name: "sim_operations", demand: simulator::operations },
    Target { name: "trace-detect", demand: |bytes| traces::read(None, bytes) },
    Target { name: "trace-ssdt", demand: traces::ssdt },
    trace!("trace-alibaba", Alibaba),
    trace!("trace-blkparse", Blkparse),
    trace!("trace-blkreplay", Blkreplay),
    trace!("trace-blktrace", Blktrace),
    trace!("trace-columns", Columns),
    trace!("trace-csv", Csv),
    trace!("trace-diskmon", Diskmon),
    trace!("trace-disksim", Disksim),
    trace!("trace-fio", Fio),
    trace!("trace-fiu", Fiu),
    trace!("trace-hadoop", Hadoop),
    trace!("trace-heimdall", Heimdall),
    trace!("trace-mobile", Mobile),
    trace!("trace-mqsim", Mqsim),
    trace!("trace-msr", Msr),
    trace!("trace-spc", Spc),
    trace!("trace-ssdsim", Ssdsim),
    trace!("trace-systor17", Systor),
    trace!("trace-tencent", Tencent),
    trace!("trace-vscsi", Vscsi),
    trace!("trace-wiscsee", Wiscsee),
];
