//! WiscSee's block events: `pid D|C read|write|discard offset size time latency flag`, separated by
//! blanks.
//!
//! Offsets and sizes are in bytes, times in seconds. One kind of event is read: D (issued) or C
//! (completed).

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Fields};

pub(crate) struct Wiscsee {
    pub(crate) unit_ns: u64,
    /// The kind of event that is read: `D` or `C`.
    pub(crate) action: u8,
}

impl LineParser for Wiscsee {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        fields.number("the process number")?;
        fields.blank("a blank, then the event")?;
        let action_column = fields.column();
        let action = fields.word("D or C")?;
        if !matches!(action, b"D" | b"C") {
            return Err(Fault::new(Problem::UnknownOp, "the event D or C", action_column));
        }
        fields.blank("a blank, then the operation")?;
        let op_column = fields.column();
        let op = match fields.word("the operation")? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"discard" => Op::Trim,
            b"flush" => Op::Flush,
            _ => {
                let expected = "read, write, discard or flush";
                return Err(Fault::new(Problem::UnknownOp, expected, op_column));
            }
        };
        fields.blank("a blank, then the offset")?;
        let offset = fields.number("the offset in bytes")?;
        fields.blank("a blank, then the size")?;
        let size = fields.number("the size in bytes")?;
        fields.blank("a blank, then the time")?;
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        if !matches!(fields.rest(), [] | [b' ' | b'\t', ..]) {
            return Err(Fault::new(Problem::NotANumber, "the time in seconds", fields.column()));
        }
        if action != [self.action] {
            return Ok(None);
        }
        context.byte_request(at, op, offset, size, b"")
    }
}
