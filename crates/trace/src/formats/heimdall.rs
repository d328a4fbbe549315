//! Heimdall's ASCII traces: `time device offset size type`, blank-separated.
//!
//! Times in milliseconds with a fraction, offsets and sizes in bytes, type 0 a write and 1 a read.

use super::five_column::FiveColumns;
use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::Fault;

pub(crate) struct Heimdall {
    pub(crate) unit_ns: u64,
}

impl LineParser for Heimdall {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        let op = match row.kind.value {
            0 => Op::Write,
            1 => Op::Read,
            _ => {
                let expected = "0 (write) or 1 (read)";
                return Err(Fault::new(Problem::UnknownOp, expected, row.kind.column));
            }
        };
        context.byte_request(row.at, op, row.address, row.size, row.device)
    }
}
