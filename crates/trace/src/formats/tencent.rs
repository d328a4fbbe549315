//! Tencent cloud block storage traces (SNIA 27917): `timestamp,offset,size,io_type,volume_id`.
//!
//! Times are in whole seconds since 1970, offsets and sizes in sectors of 512 bytes. Type 0 is a
//! read, 1 a write.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Fields};

pub(crate) struct Tencent {
    pub(crate) unit_ns: u64,
}

impl LineParser for Tencent {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        fields.byte(b',', "a comma, then the offset")?;
        let lba = fields.number("the offset in sectors")?;
        fields.byte(b',', "a comma, then the size")?;
        let size = fields.number("the size in sectors")?;
        fields.byte(b',', "a comma, then the type")?;
        let kind = fields.number("the type of the request")?;
        let op = match kind.value {
            0 => Op::Read,
            1 => Op::Write,
            _ => {
                return Err(Fault::new(Problem::UnknownOp, "0 (read) or 1 (write)", kind.column));
            }
        };
        fields.byte(b',', "a comma, then the volume")?;
        let from = fields.column();
        fields.number("the volume")?;
        let device = &line[from..fields.column()];
        fields.end()?;
        context.request(at, op, lba, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"timestamp")
    }
}
