//! blkreplay `.load` files: free text, a header line `start ; sector; length ; op ; ...`, then rows
//! of this form.
//!
//! Times are in seconds, addresses and sizes in sectors. The operation is R, RA (read ahead), W or
//! D (discard). The fields after it, delays of a replay, are not used.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Fields};

pub(crate) struct Blkreplay {
    pub(crate) unit_ns: u64,
    /// Whether a row has been read, so that no header can follow.
    pub(crate) past_preamble: bool,
}

fn separator(fields: &mut Fields, expected: &'static str) -> Result<(), Fault> {
    fields.skip_blanks();
    fields.byte(b';', expected)?;
    fields.skip_blanks();
    Ok(())
}

impl LineParser for Blkreplay {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        fields.skip_blanks();
        let at = fields.time(self.unit_ns, "the start in seconds")?;
        separator(&mut fields, "a semicolon, then the sector")?;
        let lba = fields.number("the sector")?;
        separator(&mut fields, "a semicolon, then the length")?;
        let size = fields.number("the length in sectors")?;
        separator(&mut fields, "a semicolon, then the operation")?;
        let column = fields.column();
        let rest = fields.rest();
        let word = rest.split(|&b| b == b';' || b == b' ').next().unwrap_or(rest);
        let op = match word {
            b"R" | b"RA" => Op::Read,
            b"W" => Op::Write,
            b"D" => Op::Trim,
            _ => return Err(Fault::new(Problem::UnknownOp, "R, RA, W or D", column)),
        };
        self.past_preamble = true;
        context.request(at, op, lba, size, b"")
    }

    /// Everything before the first row: the licence, remarks, and one or more header lines.
    fn is_header(&mut self, _line: &[u8]) -> bool {
        !self.past_preamble
    }
}
