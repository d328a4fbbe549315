//! SSDSim's ASCII traces: `time device lba sectors operation`, separated by blanks.
//!
//! Times are in nanoseconds, addresses and sizes in sectors of 512 bytes. Operation 0 is a write, 1
//! a read.

use super::five_column::{self, FiveColumns, write_or_read};
use crate::decode::{Context, LineParser, Parsed};
use crate::request::Request;

pub(crate) struct Ssdsim {
    pub(crate) unit_ns: u64,
}

impl LineParser for Ssdsim {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        context.request(row.at, row.write_or_read()?, row.address, row.size, row.device)
    }

    const QUICK: bool = true;

    #[inline(always)]
    fn quick(&mut self, text: &[u8], context: &Context) -> Option<(Request, usize)> {
        five_column::quick(text, self.unit_ns, context, write_or_read)
    }
}
