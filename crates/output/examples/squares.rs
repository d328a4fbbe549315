//! Writes a table of squares into the file that is named, as a program does that never destroys
//! what its user owns.
//!
//!     cargo run -p ssdtune-output --example squares -- squares.csv
//!
//! Run twice, it refuses to replace the first table; with `--force` after the name it does.

use ssdtune_output::{OutputFile, OutputPlan};
use std::error::Error;
use std::io::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "target/squares.csv".to_owned());
    let path = Path::new(&name);
    let mut plan = match words.next().as_deref() {
        Some("--force") => OutputPlan::replacing(),
        _ => OutputPlan::new(),
    };
    plan.writes("FILE", path)?;

    let mut file = OutputFile::create(path)?;
    for number in 1..=1_000_u32 {
        writeln!(file, "{number},{}", number * number)?;
    }
    file.finish()?;
    println!("{}", path.display());
    Ok(())
}
