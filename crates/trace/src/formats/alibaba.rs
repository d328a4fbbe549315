//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Offsets and lengths are in bytes, times in microseconds since 1970. The opcode is R or W.

use crate::decode::{Context, LineParser, Parsed, read_write};
use crate::text::Fields;

pub(crate) struct Alibaba {
    pub(crate) unit_ns: u64,
}

impl LineParser for Alibaba {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        fields.number("the device")?;
        let device = &line[..fields.column()];
        fields.byte(b',', "a comma, then the operation")?;
        let op_column = fields.column();
        let op = read_write(fields.until(b',', "R or W")?, op_column)?;
        let offset = fields.number("the offset in bytes")?;
        fields.byte(b',', "a comma, then the length")?;
        let size = fields.number("the length in bytes")?;
        fields.byte(b',', "a comma, then the time")?;
        let at = fields.time(self.unit_ns, "the time in microseconds")?;
        fields.end()?;
        context.byte_request(at, op, offset, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"device_id,")
    }
}
