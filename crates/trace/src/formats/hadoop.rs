//! Issue events that were decoded from blktrace to CSV: `time_ns,rw,sector512,bytes,cpu,pid`.
//!
//! Times are in nanoseconds, addresses in sectors of 512 bytes, sizes in bytes. There is one
//! device.

use crate::decode::{Context, LineParser, Parsed, last_number};
use crate::error::Problem;
use crate::formats::blkparse::op_of_flags;
use crate::text::{Fault, Field, Fields};
use ssdtune_model::SECTOR_BYTES;

pub(crate) struct Hadoop {
    pub(crate) unit_ns: u64,
}

impl LineParser for Hadoop {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in ns")?;
        fields.byte(b',', "a comma, then the operation")?;
        let op_column = fields.column();
        let flags = fields.until(b',', "R, W, D or F")?;
        let lba = fields.number("the sector")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = fields.number("the size in bytes")?;
        fields.byte(b',', "a comma, then the CPU")?;
        fields.number("the CPU")?;
        fields.byte(b',', "a comma, then the process")?;
        last_number(&mut fields, "the process number")?;
        let Some(op) = op_of_flags(flags, size.value) else {
            return Err(Fault::new(Problem::UnknownOp, "R, W, D or F", op_column));
        };
        let sectors = Field { value: size.value.div_ceil(SECTOR_BYTES), column: size.column };
        context.request(at, op, lba, sectors, b"")
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"time_ns,rw,")
    }
}
