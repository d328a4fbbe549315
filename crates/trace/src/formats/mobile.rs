//! Block requests of a phone or host, recorded by eBPF:
//! `process,device,rw_flag,sector,size,timestamp`.
//!
//! Addresses and sizes are in sectors of 512 bytes, times in seconds. The device is the packed
//! number that Linux uses. The flags begin with R, W, D (discard) or F (flush). The name of a
//! process may hold commas, so lines are split from the right.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::formats::blkparse::op_of_flags;
use crate::text::{Fault, Fields};

pub(crate) struct Mobile {
    pub(crate) unit_ns: u64,
}

impl LineParser for Mobile {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut commas = line.iter().enumerate().rev().filter(|(_, b)| **b == b',').map(|(i, _)| i);
        let Some(start) = commas.nth(4) else {
            let expected = "process, device, flags, sector, size and time";
            return Err(Fault::new(Problem::MissingField, expected, line.len()));
        };
        let mut fields = Fields::from(line, start + 1);
        let from = fields.column();
        fields.number("the device number")?;
        let device = &line[from..fields.column()];
        fields.byte(b',', "a comma, then the flags")?;
        let op_column = fields.column();
        let flags = fields.until(b',', "the flags (R, W, D or F first)")?;
        let lba = fields.number("the sector")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = fields.number("the size in sectors")?;
        fields.byte(b',', "a comma, then the time")?;
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        fields.end()?;
        let Some(op) = op_of_flags(flags, size.value) else {
            return Err(Fault::new(Problem::UnknownOp, "flags with R, W, D or F first", op_column));
        };
        context.request(at, op, lba, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"proces")
    }
}
