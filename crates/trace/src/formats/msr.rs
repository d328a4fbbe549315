//! MSR Cambridge block traces (SNIA 388): `filetime,host,disk,Read|Write,offset,size,response`.
//!
//! Times are in units of 100 ns since 1601, offsets and sizes in bytes. A device is one volume of
//! one host (`hm,0`). The response time is not used.

use crate::decode::{Context, LineParser, Parsed, read_write};
use crate::text::Fields;

pub(crate) struct Msr {
    pub(crate) unit_ns: u64,
}

impl LineParser for Msr {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in 100 ns")?;
        fields.byte(b',', "a comma, then the host")?;
        let device_from = fields.column();
        fields.until(b',', "the host")?;
        fields.until(b',', "the disk number")?;
        let device = &line[device_from..fields.column() - 1];
        let op_column = fields.column();
        let op = read_write(fields.until(b',', "Read or Write")?, op_column)?;
        let offset = fields.number("the offset in bytes")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = fields.number("the size in bytes")?;
        if !fields.rest().is_empty() {
            fields.byte(b',', "a comma, then the response time")?;
            fields.time(1, "the response time")?;
            fields.end()?;
        }
        context.byte_request(at, op, offset, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"Timestamp,")
    }
}
