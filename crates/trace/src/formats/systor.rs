//! SYSTOR'17 enterprise VDI traces (SNIA 4928): `timestamp,response,iotype,lun,offset,size`.
//!
//! Times are in seconds since 1970, offsets and sizes in bytes. A device is a LUN. The rows are in
//! order of completion, so reading them needs the reorder window. The response may be empty.

use crate::decode::{Context, LineParser, Parsed, last_number, read_write};
use crate::text::Fields;

pub(crate) struct Systor {
    pub(crate) unit_ns: u64,
}

impl LineParser for Systor {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        fields.byte(b',', "a comma, then the response time")?;
        fields.until(b',', "the response time")?;
        let op_column = fields.column();
        let op = read_write(fields.until(b',', "R or W")?, op_column)?;
        let device = fields.until(b',', "the LUN")?;
        let offset = fields.number("the offset in bytes")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = last_number(&mut fields, "the size in bytes")?;
        context.byte_request(at, op, offset, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"Timestamp,")
    }
}
