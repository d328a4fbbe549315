//! What every fuzz target does: it reads arbitrary bytes as one format and checks the requests.

use ssdtune_trace::ColumnSpec;
use ssdtune_trace::{Format, Op, ReadOptions, read_from};
use std::io::Cursor;

/// Reads `data` as `format` (`None` to detect it), leniently if the length of `data` is even.
pub fn read(format: Option<Format>, data: &[u8]) {
    let columns = (format == Some(Format::Columns)).then(|| {
        ColumnSpec::parse("time=0:us,op=1,lba=2,size=3,device=4", b',')
            .expect("a legal description")
    });
    let lenient = data.len().is_multiple_of(2);
    let options = ReadOptions {
        format,
        lenient,
        columns,
        reorder_window: 4,
        // Small, so that inputs of a few hundred bytes exceed the buffer.
        max_line_bytes: if format == Some(Format::Ssdt) { 64 << 10 } else { 256 },
        ..ReadOptions::default()
    };
    let trace = read_from(Cursor::new(data.to_vec()), "fuzz", &options);
    let Ok(requests) = trace.and_then(|mut trace| trace.read_all()) else { return };
    assert!(!requests.is_empty());
    assert!(requests.is_sorted_by_key(|r| r.at));
    for request in &requests {
        assert!(request.sectors > 0 || request.op == Op::Flush);
        assert!(request.end().0 <= 1 << 56);
    }
}

/// Makes the fuzz target of one format.
#[macro_export]
macro_rules! parser {
    ($format:expr) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::read($format, data));
    };
}
