//! Heimdall's ASCII traces: `time device offset size type`, separated by blanks.
//!
//! Times are in milliseconds with a fraction, offsets and sizes in bytes. Type 0 is a write, 1 a
//! read.

use super::five_column::FiveColumns;
use crate::decode::{Context, LineParser, Parsed};

pub(crate) struct Heimdall {
    pub(crate) unit_ns: u64,
}

impl LineParser for Heimdall {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        context.byte_request(row.at, row.write_or_read()?, row.address, row.size, row.device)
    }
}
