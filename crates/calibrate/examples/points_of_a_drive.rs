//! Prints the points that files of fio, of SPDK's perf or of columns hold.
//!
//!     cargo run -p ssdtune-calibrate --example points_of_a_drive -- results.json

use ssdtune_calibrate::{ReadError, read};

fn main() -> Result<(), ReadError> {
    let paths: Vec<_> = std::env::args_os().skip(1).map(Into::into).collect();
    for point in read(&paths)?.points {
        println!("{point}: {:?}", point.figures);
    }
    Ok(())
}
