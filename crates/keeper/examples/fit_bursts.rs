//! Fits the shapes of bursts to recorded traces and prints them as `configs/keeper/bursts.toml`.
//!
//!     cargo run --release -p ssdtune-keeper --example fit_bursts -- TRACE... --unseen TRACE...
//!
//! Traces after `--unseen` are kept from training. Of each the first million requests count.

use serde::Serialize;
use ssdtune_keeper::{BurstShape, NamedShape};
use ssdtune_trace::{Op, ReadOptions, Request, hold, open_path};
use std::error::Error;
use std::path::Path;

#[derive(Serialize)]
struct Library {
    shape: Vec<NamedShape>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut unseen, mut shape) = (false, Vec::new());
    for argument in std::env::args().skip(1) {
        if argument == "--unseen" {
            unseen = true;
            continue;
        }
        let path = Path::new(&argument);
        let mut trace = open_path(path, &ReadOptions::default())?;
        let moves = |request: &Request| matches!(request.op, Op::Read | Op::Write);
        let mut requests = hold(&mut *trace.source, 1_000_000)?;
        requests.retain(moves);
        let mut fitted = BurstShape::fit(&requests);
        let round = |number: &mut f64| *number = (*number * 1e3).round() / 1e3;
        fitted.unevenness.iter_mut().for_each(round);
        [&mut fitted.read_growth, &mut fitted.write_growth].into_iter().for_each(round);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = file.split('.').next().unwrap_or_default().to_owned();
        eprintln!("{name}: {} requests", requests.len());
        shape.push(NamedShape { name, unseen, shape: fitted });
    }
    print!("{}", toml::to_string(&Library { shape })?);
    Ok(())
}
