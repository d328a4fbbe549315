//! Writes the two files with which MQSim replays a trace on a drive of ssdtune:
//!
//!     cargo run -p ssdtune-mqsim --example export -- z-ssd requests.trace
//!
//! The drive is a preset or a file (TOML, or MQSim's XML). `ssdconfig.xml` and `workload.xml` are
//! written into the working directory; MQSim is then started there with
//! `MQSim -i ssdconfig.xml -w workload.xml`.

use ssdtune_mqsim::{Scenario, load, write_device, write_workload};
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(drive), Some(trace)) = (arguments.next(), arguments.next()) else {
        return Err("name a drive and a trace file in MQSim's format".into());
    };
    let drive = load(&drive, &[])?;
    let device = write_device(&drive.config)?;
    // What the XML cannot express, MQSim does in its own way.
    for note in drive.notes.iter().chain(&device.notes) {
        eprintln!("note: {note}");
    }
    let workload = write_workload(&[Scenario::replay_of(&trace, &drive.config)]);
    fs::write("ssdconfig.xml", device.value)?;
    fs::write("workload.xml", workload)?;
    Ok(())
}
