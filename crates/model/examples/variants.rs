//! Prints what a search may try for one parameter of a drive, and what each value would do to its
//! capacity:
//!
//!     cargo run -p ssdtune-model --example variants -- intel-750 mapping.overprovisioning
//!
//! The drive is a preset or a TOML file.

use ssdtune_model::ledger::Ledger;
use ssdtune_model::{DeviceConfig, catalogue, source};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let drive = arguments.next().unwrap_or_else(|| "intel-750".to_owned());
    let key = arguments.next().unwrap_or_else(|| "mapping.overprovisioning".to_owned());
    let drive = source::load(&drive, &[])?.config;
    let row = catalogue::find(&key).ok_or_else(|| format!("{key} is no parameter"))?;
    println!("{}: {} ({})", row.key, row.meaning, row.unit.sign());
    println!("{:>12}  {:>12}  {:>12}", "value", "raw", "visible");
    for value in row.what_if.values(&row.legal) {
        let mut variant: DeviceConfig = drive.clone();
        row.set(&mut variant, value)?;
        // A value can be legal for itself and wrong for this drive.
        match variant.check() {
            Ok(checked) => {
                let ledger = Ledger::of(&checked);
                let (raw, visible) = (ledger.raw_bytes, ledger.visible_bytes);
                println!("{value:>12}  {:>12}  {:>12}", raw.to_string(), visible.to_string());
            }
            Err(faults) => println!("{value:>12}  {faults}"),
        }
    }
    Ok(())
}
