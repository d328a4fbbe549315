//! Any delimited text, by a description of its columns: `time=0:s,op=2,lba=3,size=4:sectors`.
//!
//! Columns count from 0. `time` takes a unit (ns, us, ms, s, filetime; default ns), `lba` (default sectors) and
//! `offset` and `size` (default bytes) take `sectors` or `bytes`. `op` takes `letters` (R, W, T or D, F; the
//! default), `0=write` or `0=read`; without an op column `op=read` or `op=write` holds for all rows. `device` is
//! optional. The delimiter is one byte; a blank stands for any run of spaces and tabs.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::{Problem, TraceError};
use crate::reader::TimeUnit;
use crate::request::Op;
use crate::text::{Fault, Field, Fields};
use ssdtune_model::SECTOR_BYTES;

/// How the operation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpColumn {
    Letters(usize),
    ZeroIsWrite(usize),
    ZeroIsRead(usize),
    Always(Op),
}

/// Which column holds what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    time: Option<usize>,
    time_unit: TimeUnit,
    op: OpColumn,
    address: usize,
    address_in_bytes: bool,
    size: usize,
    size_in_bytes: bool,
    device: Option<usize>,
    delimiter: u8,
}

const LEGAL: &str = "time=N[:ns|us|ms|s|filetime], op=N[:letters|0=write|0=read] or op=read|write, lba=N[:sectors|bytes] \
                     or offset=N, size=N[:bytes|sectors], device=N; N from 0 to 63";
const COLUMN_MAX: usize = 63;

fn wrong(value: &str, problem: impl Into<String>) -> TraceError {
    TraceError::Option {
        option: "--columns",
        value: value.into(),
        problem: problem.into(),
        legal: LEGAL.into(),
    }
}

fn column(value: &str) -> Result<usize, TraceError> {
    match value.parse() {
        Ok(n) if n <= COLUMN_MAX => Ok(n),
        _ => Err(wrong(value, "not a column number")),
    }
}

fn in_bytes(unit: Option<&str>, default: bool) -> Result<bool, TraceError> {
    match unit {
        None => Ok(default),
        Some("bytes") => Ok(true),
        Some("sectors") => Ok(false),
        Some(other) => Err(wrong(other, "not a unit of size")),
    }
}

impl ColumnSpec {
    /// Reads a description such as `time=0:s,op=2,lba=3,size=4:sectors`, for rows split at `delimiter`.
    pub fn parse(text: &str, delimiter: u8) -> Result<Self, TraceError> {
        let (mut time, mut op, mut address, mut size, mut device) = (None, None, None, None, None);
        let mut time_unit = TimeUnit::Ns;
        let (mut address_in_bytes, mut size_in_bytes) = (false, true);
        for part in text.split(',') {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(part, "no `name=column`"))?;
            let (value, unit) = match value.split_once(':') {
                Some((value, unit)) => (value, Some(unit)),
                None => (value, None),
            };
            match key.trim() {
                "time" => {
                    time = Some(column(value)?);
                    if let Some(unit) = unit {
                        time_unit = TimeUnit::parse(unit)?;
                    }
                }
                "op" => {
                    op = Some(match (value, unit) {
                        ("read", None) => OpColumn::Always(Op::Read),
                        ("write", None) => OpColumn::Always(Op::Write),
                        (n, None | Some("letters")) => OpColumn::Letters(column(n)?),
                        (n, Some("0=write")) => OpColumn::ZeroIsWrite(column(n)?),
                        (n, Some("0=read")) => OpColumn::ZeroIsRead(column(n)?),
                        (_, Some(other)) => {
                            return Err(wrong(other, "not a way to write operations"));
                        }
                    });
                }
                name @ ("lba" | "offset") => {
                    address = Some(column(value)?);
                    address_in_bytes = in_bytes(unit, name == "offset")?;
                }
                "size" => {
                    size = Some(column(value)?);
                    size_in_bytes = in_bytes(unit, true)?;
                }
                "device" => device = Some(column(value)?),
                other => return Err(wrong(other, "no such column name")),
            }
        }
        let missing = |name| wrong(text, format!("`{name}` is missing"));
        Ok(Self {
            time,
            time_unit,
            op: op.ok_or_else(|| missing("op"))?,
            address: address.ok_or_else(|| missing("lba"))?,
            address_in_bytes,
            size: size.ok_or_else(|| missing("size"))?,
            size_in_bytes,
            device,
            delimiter,
        })
    }

    /// The unit of the time column.
    pub fn time_unit(&self) -> TimeUnit {
        self.time_unit
    }

    fn width(&self) -> usize {
        let op = match self.op {
            OpColumn::Letters(n) | OpColumn::ZeroIsWrite(n) | OpColumn::ZeroIsRead(n) => n,
            OpColumn::Always(_) => 0,
        };
        let others =
            [self.time.unwrap_or(0), op, self.address, self.size, self.device.unwrap_or(0)];
        others.into_iter().max().unwrap_or(0) + 1
    }
}

pub(crate) struct Columns {
    spec: ColumnSpec,
    unit_ns: u64,
    /// (start, end) of each field up to the last one needed.
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
        // All in bytes where either is: an offset and a size may together cross a sector's border.
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

    /// A first line without a digit where the address should be names the columns.
    fn is_header(&mut self, line: &[u8]) -> bool {
        self.split(line);
        self.spans
            .get(self.spec.address)
            .is_some_and(|&(start, end)| !line[start..end].iter().any(u8::is_ascii_digit))
    }
}
