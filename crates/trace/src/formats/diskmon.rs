//! Logs of Sysinternals DiskMon: `number time duration disk Read|Write sector sectors`, separated
//! by tabs.
//!
//! Times are in seconds, and the clock of Windows advances in steps of about 16 ms. Addresses and
//! sizes are in sectors.

use crate::decode::{Context, LineParser, Parsed, last_number, read_write};
use crate::text::Fields;

pub(crate) struct Diskmon {
    pub(crate) unit_ns: u64,
}

impl LineParser for Diskmon {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        fields.number("the row number")?;
        fields.blank("a tab, then the time")?;
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        fields.blank("a tab, then the duration")?;
        fields.time(self.unit_ns, "the duration in seconds")?;
        fields.blank("a tab, then the disk")?;
        let from = fields.column();
        fields.number("the disk number")?;
        let device = &line[from..fields.column()];
        fields.blank("a tab, then the operation")?;
        let op_column = fields.column();
        let op = read_write(fields.word("Read or Write")?, op_column)?;
        fields.blank("a tab, then the sector")?;
        let lba = fields.number("the sector")?;
        fields.blank("a tab, then the length")?;
        let size = last_number(&mut fields, "the length in sectors")?;
        context.request(at, op, lba, size, device)
    }

    fn is_header(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"#") || line.starts_with(b"Sequence")
    }
}
