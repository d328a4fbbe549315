//! fio's I/O logs (`write_iolog`), versions 2 and 3, told apart by their first line.
//!
//! Version 2: `file action [offset length]`, without times; `wait` lines move the clock by their offset in
//! microseconds. Version 3: `time file action [offset length]`, times in microseconds by default. Offsets and
//! lengths in bytes; a device is a file. sync and datasync are flushes; add, open, close and the like are nothing.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Field, Fields};

#[derive(Default)]
pub(crate) struct Fio {
    unit_ns: u64,
    version: u8,
    /// Clock of version 2.
    now_ns: u64,
}

impl Fio {
    pub(crate) fn new(unit_ns: u64) -> Self {
        Self { unit_ns, ..Self::default() }
    }

    fn header(&mut self, line: &[u8]) -> Parsed {
        self.version = match line.trim_ascii_end() {
            b"fio version 2 iolog" => 2,
            b"fio version 3 iolog" => 3,
            _ => {
                let expected = "`fio version 2 iolog` or `fio version 3 iolog`";
                return Err(Fault::new(Problem::BadHeader, expected, 0));
            }
        };
        Ok(None)
    }
}

impl LineParser for Fio {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        if self.version == 0 {
            return self.header(line);
        }
        let mut fields = Fields::new(line);
        let mut at = Field { value: self.now_ns, column: 0 };
        if self.version == 3 {
            at = fields.time(self.unit_ns, "the time in microseconds")?;
            fields.blank("a blank, then the file")?;
        }
        let device = fields.word("the file")?;
        fields.blank("a blank, then the action")?;
        let column = fields.column();
        let op = match fields.word("the action")? {
            b"read" => Some(Op::Read),
            b"write" => Some(Op::Write),
            b"trim" => Some(Op::Trim),
            b"sync" | b"datasync" => Some(Op::Flush),
            b"wait" => None,
            b"add" | b"open" | b"close" | b"unlink" => return Ok(None),
            _ => {
                let expected = "read, write, trim, sync, datasync, wait, add, open or close";
                return Err(Fault::new(Problem::UnknownOp, expected, column));
            }
        };
        fields.skip_blanks();
        if op == Some(Op::Flush) && fields.rest().is_empty() {
            let nowhere = Field { value: 0, column };
            return context.request(at, Op::Flush, nowhere, nowhere, device);
        }
        let offset = fields.number("the offset in bytes")?;
        fields.skip_blanks();
        let size = if op.is_none() && fields.rest().is_empty() {
            Field { value: 0, column }
        } else {
            fields.number("the length in bytes")?
        };
        fields.end()?;
        match op {
            Some(Op::Flush) => {
                let nowhere = Field { value: 0, column };
                context.request(at, Op::Flush, nowhere, nowhere, device)
            }
            Some(op) => context.byte_request(at, op, offset, size, device),
            None => {
                let later =
                    offset.value.checked_mul(self.unit_ns).and_then(|d| d.checked_add(self.now_ns));
                let Some(later) = later else {
                    return Err(Fault::new(
                        Problem::Overflow,
                        "a wait in microseconds",
                        offset.column,
                    ));
                };
                self.now_ns = later;
                Ok(None)
            }
        }
    }
}
