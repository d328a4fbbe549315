//! Rows of delimited text, read as a [`ColumnSpec`] describes them.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::options::{ColumnSpec, OpColumn};
use crate::request::Op;
use crate::text::{Fault, Field, Fields};
use ssdtune_model::SECTOR_BYTES;

pub(crate) struct Columns {
    spec: ColumnSpec,
    unit_ns: u64,
    /// The start and end of each field, up to the last one needed.
    spans: Vec<(usize, usize)>,
    width: usize,
}

impl Columns {
    pub(crate) fn new(spec: ColumnSpec, unit_ns: u64) -> Self {
        let width = spec.width();
        Self { spec, unit_ns, spans: Vec::with_capacity(width), width }
    }

    fn split(&mut self, line: &[u8]) {
        self.spans.clear();
        let blank = self.spec.delimiter == b' ';
        let is_end = |b: u8| b == self.spec.delimiter || (blank && b == b'\t');
        let mut start = 0;
        while self.spans.len() < self.width && start <= line.len() {
            if blank {
                start += line[start..].iter().take_while(|b| is_end(**b)).count();
                if start == line.len() {
                    break;
                }
            }
            let len = line[start..].iter().position(|b| is_end(*b)).unwrap_or(line.len() - start);
            self.spans.push((start, start + len));
            start += len + 1;
        }
    }

    fn field<'a>(&self, line: &'a [u8], n: usize, name: &'static str) -> Result<Fields<'a>, Fault> {
        let Some(&(start, end)) = self.spans.get(n) else {
            return Err(Fault::new(Problem::MissingField, name, line.len()));
        };
        let mut fields = Fields::from(&line[..end], start);
        fields.skip_blanks();
        Ok(fields)
    }

    fn number(&self, line: &[u8], n: usize, name: &'static str) -> Result<Field, Fault> {
        let mut fields = self.field(line, n, name)?;
        let field = fields.number(name)?;
        fields.end()?;
        Ok(field)
    }

    fn op(&self, line: &[u8]) -> Result<Op, Fault> {
        let (n, zero, other) = match self.spec.op {
            OpColumn::Always(op) => return Ok(op),
            OpColumn::ZeroIsWrite(n) => (n, Op::Write, Op::Read),
            OpColumn::ZeroIsRead(n) => (n, Op::Read, Op::Write),
            OpColumn::Letters(n) => {
                let fields = self.field(line, n, "the operation")?;
                return match fields.rest().first() {
                    Some(b'R' | b'r') => Ok(Op::Read),
                    Some(b'W' | b'w') => Ok(Op::Write),
                    Some(b'T' | b't' | b'D' | b'd') => Ok(Op::Trim),
                    Some(b'F' | b'f') => Ok(Op::Flush),
                    _ => {
                        let expected = "a word with R, W, T, D or F first";
                        Err(Fault::new(Problem::UnknownOp, expected, fields.column()))
                    }
                };
            }
        };
        Ok(if self.number(line, n, "the operation")?.value == 0 { zero } else { other })
    }
}

impl LineParser for Columns {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        self.split(line);
        let at = match self.spec.time {
            Some(n) => {
                let mut fields = self.field(line, n, "the time")?;
                let at = fields.time(self.unit_ns, "the time")?;
                fields.end()?;
                at
            }
            None => Field { value: 0, column: 0 },
        };
        let op = self.op(line)?;
        let address = self.number(line, self.spec.address, "the address")?;
        let size = self.number(line, self.spec.size, "the size")?;
        let device = match self.spec.device {
            Some(n) => self.field(line, n, "the device")?.rest().trim_ascii(),
            None => b"",
        };
        // If either is in bytes, both are converted to bytes: offset and size together decide which
        // sectors are touched.
        if !self.spec.address_in_bytes && !self.spec.size_in_bytes {
            return context.request(at, op, address, size, device);
        }
        let bytes = |field: Field, already: bool| {
            let factor = if already { 1 } else { SECTOR_BYTES };
            match field.value.checked_mul(factor) {
                Some(value) => Ok(Field { value, ..field }),
                None => Err(Fault::new(Problem::Overflow, "an address on a drive", field.column)),
            }
        };
        let offset = bytes(address, self.spec.address_in_bytes)?;
        context.byte_request(at, op, offset, bytes(size, self.spec.size_in_bytes)?, device)
    }

    /// A first line without a digit in the address column names the columns.
    fn is_header(&mut self, line: &[u8]) -> bool {
        self.split(line);
        self.spans
            .get(self.spec.address)
            .is_some_and(|&(start, end)| !line[start..end].iter().any(u8::is_ascii_digit))
    }
}
