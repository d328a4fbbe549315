//! What a trace is like: sizes, rates, burstiness, footprint, sequences, reuse and skew.
//!
//! Run it with `cargo run --release -p ssdtune-trace --example describe_trace -- TRACE`, where
//! TRACE is a file of any format that the crate reads. Without TRACE it writes a trace of a bundled
//! workload model first, and describes that. It takes a second.

use ssdtune_trace::describe::Describer;
use ssdtune_trace::workload::{Generator, Seed, bundled};
use ssdtune_trace::writer::{OutputFormat, TraceWriter};
use ssdtune_trace::{ReadOptions, Requests, open_path};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Writes 100,000 requests of the model of a database.
fn generate(path: &Path) -> Result<(), Box<dyn Error>> {
    let model = bundled("database")?;
    let requests: Vec<_> = Generator::new(&model, Seed::default())?.take(100_000).collect();
    let mut writer = TraceWriter::create(path, OutputFormat::of_name(path)?)?;
    writer.write(&requests)?;
    let summary = writer.finish(0, &[])?;
    println!("{}: {} requests, {} bytes", path.display(), summary.requests, summary.bytes);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => {
            let path = std::env::temp_dir().join("ssdtune-database.csv.zst");
            generate(&path)?;
            path
        }
    };

    // The format is detected. A faulty line ends the program with an error that names the line.
    let trace = open_path(&path, &ReadOptions::default())?;
    println!("{}: read as {}", path.display(), trace.format.name());

    // Requests stream through, so the trace may be larger than the memory.
    let mut describer = Describer::new();
    for request in Requests::new(trace.source) {
        describer.push(&request?);
    }
    print!("{}", describer.finish());
    Ok(())
}
