//! The description of delimited text: which column holds what, as in
//! `time=0:s,op=2,lba=3,size=4:sectors`.
//!
//! Columns count from 0.
//!
//! - `time` takes a unit: ns (the default), us, ms, s or filetime. Without a time column all
//!   requests arrive at once.
//! - `lba` (by default in sectors) or `offset` (by default in bytes) is the address, `size` (by
//!   default in bytes) the length. Each takes `sectors` or `bytes`.
//! - `op` takes `letters` (R, W, T or D, F; the default), `0=write` or `0=read`. `op=read` or
//!   `op=write` without a column holds for all rows.
//! - `device` is optional.
//!
//! The delimiter is one byte. A blank stands for any run of blanks and tabs.

use crate::error::TraceError;
use crate::format::TimeUnit;
use crate::request::Op;

/// How operations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpColumn {
    Letters(usize),
    ZeroIsWrite(usize),
    ZeroIsRead(usize),
    Always(Op),
}

/// Which column of delimited text holds what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    pub(crate) time: Option<usize>,
    pub(crate) time_unit: TimeUnit,
    pub(crate) op: OpColumn,
    pub(crate) address: usize,
    pub(crate) address_in_bytes: bool,
    pub(crate) size: usize,
    pub(crate) size_in_bytes: bool,
    pub(crate) device: Option<usize>,
    pub(crate) delimiter: u8,
}

const LEGAL: &str = "time=N[:ns|us|ms|s|filetime], op=N[:letters|0=write|0=read] or op=read|write, \
                     lba=N[:sectors|bytes] or offset=N, size=N[:bytes|sectors], device=N; N from 0 \
                     to 63";
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
    /// Reads a description as [`ColumnSpec::parse`] does; the delimiter is one character or `\\t`.
    /// `None` if it is neither.
    ///
    /// # Errors
    /// As [`ColumnSpec::parse`].
    pub fn parse_delimited(text: &str, delimiter: &str) -> Option<Result<Self, TraceError>> {
        match delimiter.as_bytes() {
            b"\\t" => Some(Self::parse(text, b'\t')),
            &[delimiter] => Some(Self::parse(text, delimiter)),
            _ => None,
        }
    }

    /// Reads a description such as `time=0:s,op=2,lba=3,size=4:sectors`, of rows split at
    /// `delimiter`.
    ///
    /// The keys are `time`, `op`, `lba` or `offset`, `size` and `device`; columns count from 0. A
    /// unit may follow a column after a colon: ns, us, ms, s or filetime for the time (default ns),
    /// sectors or bytes for address and size (default sectors for `lba`, bytes for `offset` and
    /// `size`). For `op` it says how operations are written: `letters`, `0=write` or `0=read`;
    /// `op=read` and `op=write` hold for all rows.
    ///
    /// # Errors
    /// A key or unit is unknown, a column is no number from 0 to 63, or `op`, address or `size` is
    /// missing.
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

    pub(crate) fn width(&self) -> usize {
        let op = match self.op {
            OpColumn::Letters(n) | OpColumn::ZeroIsWrite(n) | OpColumn::ZeroIsRead(n) => n,
            OpColumn::Always(_) => 0,
        };
        let others =
            [self.time.unwrap_or(0), op, self.address, self.size, self.device.unwrap_or(0)];
        others.into_iter().max().unwrap_or(0) + 1
    }
}
