//! Traces of the UMass repository and the Storage Performance Council:
//! `asu,lba,size,opcode,timestamp`. Further fields are ignored.
//!
//! Addresses are in sectors of 512 bytes, sizes in bytes, times in seconds. A device is an
//! application storage unit (ASU).

use crate::decode::{Context, LineParser, Parsed, read_write};
use crate::error::Problem;
use crate::text::{Fault, Field, Fields};
use ssdtune_model::SECTOR_BYTES;

pub(crate) struct Spc {
    pub(crate) unit_ns: u64,
}

impl LineParser for Spc {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        fields.number("the storage unit")?;
        let device = &line[..fields.column()];
        fields.byte(b',', "a comma, then the address")?;
        let lba = fields.number("the address in sectors")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = fields.number("the size in bytes")?;
        fields.byte(b',', "a comma, then the operation")?;
        let op_column = fields.column();
        let op = read_write(fields.until(b',', "R or W")?, op_column)?;
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        if !matches!(fields.rest(), [] | [b',' | b' ', ..]) {
            return Err(Fault::new(Problem::NotANumber, "the time in seconds", fields.column()));
        }
        let sectors = Field { value: size.value.div_ceil(SECTOR_BYTES), column: size.column };
        context.request(at, op, lba, sectors, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.len() >= 3 && line[..3].eq_ignore_ascii_case(b"asu")
    }
}
