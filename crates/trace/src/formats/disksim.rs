//! DiskSim's default ASCII traces: `time device block blocks flags`, separated by blanks.
//!
//! Times are in milliseconds with a fraction, addresses and sizes in blocks of 512 bytes. Bit 0 of
//! the flags is set for a read. The other flags (time-critical, time-limited and more) do not
//! matter to a drive and are ignored.

use super::five_column::FiveColumns;
use crate::decode::{Context, LineParser, Parsed};
use crate::request::Op;

pub(crate) struct Disksim {
    pub(crate) unit_ns: u64,
}

impl LineParser for Disksim {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        let op = if row.kind.value & 1 == 0 { Op::Write } else { Op::Read };
        context.request(row.at, op, row.address, row.size, row.device)
    }
}
