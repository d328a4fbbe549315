//! The text that blkparse prints: `device cpu sequence time pid action flags sector + sectors
//! [process]`.
//!
//! Times are in seconds, addresses and sizes in sectors of 512 bytes. A device is a pair of numbers
//! (`8,16`). One kind of event is read: D (issued to the driver), Q (queued) or C (completed). The
//! flags say whether it is a read, write, discard or flush. Messages, other events, requests
//! without data and the summary at the end are skipped.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Field, Fields};

pub(crate) struct Blkparse {
    pub(crate) unit_ns: u64,
    /// The kind of event that is read: `D`, `Q` or `C`.
    pub(crate) action: u8,
    /// Whether the summary at the end has begun.
    pub(crate) in_summary: bool,
}

/// The operation that the flags of the kernel (`rwbs`) describe, for a request of this size. An F
/// at the front asks for a flush before the data; without data the request is a flush alone. D, W
/// or R follows.
pub(crate) fn op_of_flags(flags: &[u8], sectors: u64) -> Option<Op> {
    if !flags.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let (flush, rest) = match flags {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest.first() {
        Some(b'D') => Some(Op::Trim),
        Some(b'W') if flush && sectors == 0 => Some(Op::Flush),
        Some(b'W') => Some(Op::Write),
        Some(b'R') => Some(Op::Read),
        _ if flush => Some(Op::Flush),
        _ => None,
    }
}

/// Whether `line` begins one of the tables that blkparse prints at the end.
fn begins_summary(line: &[u8]) -> bool {
    let heading = |word: &[u8]| line.starts_with(word);
    (heading(b"CPU") || heading(b"Total (") || heading(b"Throughput (")) && line.contains(&b'(')
}

impl LineParser for Blkparse {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        if self.in_summary {
            return Ok(None);
        }
        let mut fields = Fields::new(line);
        fields.skip_blanks();
        let from = fields.column();
        if begins_summary(line) {
            self.in_summary = true;
            return Ok(None);
        }
        fields.number("the device as major,minor")?;
        fields.byte(b',', "a comma, then the minor device number")?;
        fields.number("the minor device number")?;
        let device = &line[from..fields.column()];
        fields.blank("a blank, then the CPU")?;
        fields.number("the CPU")?;
        fields.blank("a blank, then the sequence number")?;
        fields.number("the sequence number")?;
        fields.blank("a blank, then the time")?;
        let at = fields.time(self.unit_ns, "the time in seconds")?;
        fields.blank("a blank, then the process number")?;
        fields.number("the process number")?;
        fields.blank("a blank, then the event")?;
        let action = fields.word("the event")?;
        if action != [self.action] {
            return Ok(None);
        }
        fields.blank("a blank, then the flags")?;
        let flags = fields.word("the flags")?;
        let nowhere = Field { value: 0, column: fields.column() };
        fields.skip_blanks();
        if !matches!(fields.rest(), [b'0'..=b'9', ..]) {
            // There are no data: a flush, or a command that is no block request.
            return match op_of_flags(flags, 0) {
                Some(Op::Flush) => context.request(at, Op::Flush, nowhere, nowhere, device),
                _ => Ok(None),
            };
        }
        let lba = fields.number("the sector")?;
        fields.skip_blanks();
        if fields.rest().first() != Some(&b'+') {
            // The bytes of a command passed through to the device, as in `36 (12 00 ..)`.
            return Ok(None);
        }
        fields.byte(b'+', "a plus sign, then the size")?;
        fields.skip_blanks();
        let size = fields.number("the size in sectors")?;
        match op_of_flags(flags, size.value) {
            Some(Op::Flush) => context.request(at, Op::Flush, nowhere, nowhere, device),
            Some(op) => context.request(at, op, lba, size, device),
            None if flags.first() == Some(&b'N') => Ok(None),
            None => {
                let expected = "flags with R, W, D, F or N first";
                Err(Fault::new(Problem::UnknownOp, expected, lba.column))
            }
        }
    }
}
