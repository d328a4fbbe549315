//! The CSV of this crate: `time_ns,tenant,op,lba,sectors`.
//!
//! Times are in nanoseconds, addresses and sizes in sectors of 512 bytes. The operation is R, W, T
//! (trim) or F (flush).

use crate::decode::{Context, LineParser, Parsed, last_number};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Fields};

/// The first line of a file.
pub(crate) const HEADER: &str = "time_ns,tenant,op,lba,sectors";

pub(crate) struct Csv {
    pub(crate) unit_ns: u64,
}

impl LineParser for Csv {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in ns")?;
        fields.byte(b',', "a comma, then the tenant")?;
        let tenant = fields.number("the tenant")?;
        fields.byte(b',', "a comma, then the operation")?;
        let op_column = fields.column();
        let op = match fields.until(b',', "R, W, T or F")? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            b"T" => Op::Trim,
            b"F" => Op::Flush,
            _ => return Err(Fault::new(Problem::UnknownOp, "R, W, T or F", op_column)),
        };
        let lba = fields.number("the address in sectors")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = last_number(&mut fields, "the size in sectors")?;
        context.numbered_request(at, op, lba, size, tenant)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line == HEADER.as_bytes()
    }
}
