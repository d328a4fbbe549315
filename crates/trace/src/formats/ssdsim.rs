//! SSDSim's ASCII traces: `time device lba sectors operation`, blank-separated.
//!
//! Times in nanoseconds, addresses and sizes in sectors of 512 bytes, operation 0 a write and 1 a read.

use super::five_column::{self, FiveColumns};
use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::{Op, Request};
use crate::text::Fault;

pub(crate) struct Ssdsim {
    pub(crate) unit_ns: u64,
}

impl LineParser for Ssdsim {
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
        context.request(row.at, op, row.address, row.size, row.device)
    }

    const QUICK: bool = true;

    #[inline(always)]
    fn quick(&mut self, text: &[u8], context: &Context) -> Option<(Request, usize)> {
        five_column::quick(text, self.unit_ns, context, |kind| match kind {
            0 => Some(Op::Write),
            1 => Some(Op::Read),
            _ => None,
        })
    }
}
