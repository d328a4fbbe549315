//! MQSim's ASCII traces: `time device lba sectors type`, blank-separated.
//!
//! Times in nanoseconds, addresses and sizes in sectors of 512 bytes. Type 0 is a write, any other a read, as
//! MQSim's own reader takes it. The time may have a fraction where another unit is set.

use super::five_column::FiveColumns;
use crate::decode::{Context, LineParser, Parsed};
use crate::request::Op;

pub(crate) struct Mqsim {
    pub(crate) unit_ns: u64,
}

impl LineParser for Mqsim {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        let op = if row.kind.value == 0 { Op::Write } else { Op::Read };
        context.request(row.at, op, row.address, row.size, row.device)
    }
}
