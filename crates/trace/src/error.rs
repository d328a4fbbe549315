//! Errors of reading, changing and writing traces. Each names the file, the line or byte, what was
//! expected, and what to do next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A place in a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The line of a text trace, from 1.
    Line(u64),
    /// The byte of a binary trace, from 0, counted after decompression.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// What is wrong with a line or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Problem {
    /// A number was expected, and something else stands there.
    NotANumber,
    /// A number is below zero.
    Negative,
    /// A number exceeds the range of its field.
    Overflow,
    /// The line ends before its last field.
    MissingField,
    /// The line continues after its last field.
    ExtraField,
    /// The operation is not one that the format defines.
    UnknownOp,
    /// A read, write or trim has no sectors.
    ZeroLength,
    /// The request reaches past the end of the drive, or past 8 EiB.
    BeyondCapacity,
    /// The time is later than that of the request before it by more than
    /// [`ReadOptions::max_gap`](crate::ReadOptions::max_gap).
    TimeJump,
    /// The request stands more than
    /// [`ReadOptions::reorder_window`](crate::ReadOptions::reorder_window) places after its turn:
    /// later requests have been handed out already.
    OutOfOrder,
    /// The time is earlier than that of a request before it by more than
    /// [`JUMP_BACK`](crate::JUMP_BACK), and [`ReadOptions::strict`](crate::ReadOptions::strict)
    /// refuses that.
    JumpBack,
    /// The line holds control characters: the file is not text, or damaged.
    NotText,
    /// The line exceeds [`ReadOptions::max_line_bytes`](crate::ReadOptions::max_line_bytes).
    LineTooLong,
    /// The trace has more than 65,536 devices, or a device name has more than 255 bytes.
    TooManyDevices,
    /// The record does not begin with the magic number of its format.
    BadMagic,
    /// The header that the format demands is missing.
    BadHeader,
}

impl Problem {
    const fn text(self) -> &'static str {
        match self {
            Self::NotANumber => "not a number",
            Self::Negative => "negative",
            Self::Overflow => "out of the range of this field",
            Self::MissingField => "the line ends too early",
            Self::ExtraField => "the line goes on after its last field",
            Self::UnknownOp => "no operation of this format",
            Self::ZeroLength => "a request of no sectors",
            Self::BeyondCapacity => "reaches past the end of the address space",
            Self::TimeJump => {
                "later than the request before it by more than the longest gap allowed"
            }
            Self::OutOfOrder => "earlier than what has left the reorder window",
            Self::JumpBack => "earlier than a request before it by more than a minute",
            Self::NotText => "not text",
            Self::LineTooLong => "line too long",
            Self::TooManyDevices => "too many devices, or a device name of more than 255 bytes",
            Self::BadMagic => "wrong magic number",
            Self::BadHeader => "wrong or missing header",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::NotANumber | Self::MissingField | Self::ExtraField | Self::UnknownOp => {
                "--lenient skips such lines and counts them; --format names another format"
            }
            Self::Negative | Self::Overflow | Self::ZeroLength | Self::BadMagic => {
                "--lenient skips such requests and counts them"
            }
            Self::BeyondCapacity => {
                "remap the addresses (--remap dense or --remap modulo), or --lenient skips such \
                 requests"
            }
            Self::TimeJump => {
                "a damaged time stamp or the wrong time unit: --lenient skips it, --time-unit sets \
                 the unit, --max-gap allows it"
            }
            Self::OutOfOrder => {
                "sort the trace, widen --reorder-window, or --lenient skips such requests"
            }
            Self::JumpBack => {
                "a damaged time stamp, or traces one after the other in one file: without --strict \
                 such requests are sorted in, `ssdtune trace convert --strict --lenient` leaves \
                 them out"
            }
            Self::NotText => {
                "is the file damaged, or in another format? --lenient skips such lines; `ssdtune \
                 trace formats` lists what can be read"
            }
            Self::LineTooLong => "is this a text trace? --format names the format",
            Self::TooManyDevices => "--devices picks some, --merge-devices takes all for one",
            Self::BadHeader => "--format names another format",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A line or record that cannot be read.
#[derive(Clone, Debug)]
pub struct Malformed {
    /// The path of the file, or the name given for a stream.
    pub path: PathBuf,
    /// The line, or the first byte of the record.
    pub position: Position,
    /// The column of the faulty field in bytes, from 1; 0 if the whole line or record is at fault.
    pub column: usize,
    /// The name of the format that the file is read as.
    pub format: &'static str,
    /// What was expected in this place.
    pub expected: &'static str,
    /// What stands there instead: printable, at most 40 bytes of it. `None` unless
    /// [`ReadOptions::show_content`](crate::ReadOptions::show_content) asks for it, since a line
    /// that is not of a trace may be a secret.
    pub found: Option<String>,
    /// The kind of fault.
    pub problem: Problem,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.position)?;
        if self.column > 0 {
            write!(f, ", column {}", self.column)?;
        }
        write!(f, " ({}): expected {}", self.format, self.expected)?;
        if let Some(found) = &self.found {
            write!(f, ", found `{found}`")?;
        }
        write!(f, ": {}; {}", self.problem, self.problem.hint())?;
        if self.found.is_none() { f.write_str("; -v shows what stands there") } else { Ok(()) }
    }
}

/// Why a trace cannot be read, changed or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system reports an error.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line or record cannot be read.
    #[error("{0}")]
    Malformed(Box<Malformed>),
    /// The file ends in the middle of a record, a block or a compressed stream.
    #[error(
        "{}: the file ends in the middle of {what} at byte {offset}; it was cut short, copy it \
         again",
        path.display()
    )]
    Truncated {
        /// The path of the file.
        path: PathBuf,
        /// The byte at which the data end, counted after decompression.
        offset: u64,
        /// The incomplete part.
        what: &'static str,
    },
    /// A checksum or a count inside the file is wrong, or a compressed stream is damaged.
    #[error(
        "{}: damaged at byte {offset}: {what}; convert the original trace again",
        path.display()
    )]
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// The first byte of the damaged part.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file was written by another version of the binary format.
    #[error(
        "{}: version {found} of the binary format; this program reads version \
         {supported}: convert the original trace again, or use a newer ssdtune",
        path.display()
    )]
    Version {
        /// The path of the file.
        path: PathBuf,
        /// The version that the file states.
        found: u32,
        /// The version that this program reads.
        supported: u32,
    },
    /// The text is neither ASCII nor UTF-8.
    #[error(
        "{}: the text is {encoding}; convert it first: iconv -f {encoding} -t UTF-8",
        path.display()
    )]
    Encoding {
        /// The path of the file.
        path: PathBuf,
        /// The encoding that its first bytes show.
        encoding: &'static str,
    },
    /// The file is something known that is no trace, such as an archive.
    #[error("{}: this is {what}, not a trace; {remedy}", path.display())]
    NotATrace {
        /// The path of the file.
        path: PathBuf,
        /// What the file is.
        what: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// No known format fits the file.
    #[error(
        "{}: no known trace format fits ({}); name one with --format ({known}) or describe the \
         columns of a text (`ssdtune trace convert --columns`)",
        path.display(),
        .first_line.as_ref().map_or("-v shows the first line".to_owned(), |line| {
            format!("first line: `{line}`")
        })
    )]
    UnknownFormat {
        /// The path of the file.
        path: PathBuf,
        /// The beginning of its first line, made printable. `None` unless
        /// [`ReadOptions::show_content`](crate::ReadOptions::show_content) asks for it.
        first_line: Option<String>,
        /// The names of all known formats.
        known: String,
    },
    /// Several formats fit the file equally well and would give different requests.
    #[error(
        "{}: could be {}; name one with --format",
        path.display(),
        candidates.iter().map(|c| format!("{} ({} %)", c.0, c.1)).collect::<Vec<_>>().join(" or ")
    )]
    AmbiguousFormat {
        /// The path of the file.
        path: PathBuf,
        /// The names of the formats that fit, each with the share of fitting lines in percent; the
        /// best first.
        candidates: Vec<(&'static str, u32)>,
    },
    /// The trace has no requests.
    #[error("{}: no request in it{detail}", path.display())]
    Empty {
        /// The path of the file.
        path: PathBuf,
        /// How much was examined, and what to do.
        detail: String,
    },
    /// A compressed stream expands more than is allowed.
    #[error(
        "{}: {compressed} compressed bytes have become {expanded}, more than {limit} \
         times as many: a decompression bomb? --max-expansion allows more",
        path.display()
    )]
    Bomb {
        /// The path of the file.
        path: PathBuf,
        /// Bytes read from the file.
        compressed: u64,
        /// Bytes after decompression.
        expanded: u64,
        /// The largest quotient of the two that is allowed.
        limit: u64,
    },
    /// The trace has no request of a device that was asked for.
    #[error("{}: no request of device `{device}`; the trace has: {known}", path.display())]
    UnknownDevice {
        /// The path of the file.
        path: PathBuf,
        /// The device that was asked for.
        device: String,
        /// The first dozen devices that the trace does have.
        known: String,
    },
    /// An option has a value that is not legal.
    #[error("{option} {value}: {problem}; legal: {legal}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// The value given.
        value: String,
        /// What is wrong with the value.
        problem: String,
        /// The legal values.
        legal: String,
    },
    /// The work needs more memory than is allowed.
    #[error("{what} needs more than {limit_bytes} bytes; {remedy}")]
    Memory {
        /// What needs the memory.
        what: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
        /// What to do about it.
        remedy: &'static str,
    },
}

impl TraceError {
    /// The file, or the name given for a stream, where the error is of one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Malformed(malformed) => Some(&malformed.path),
            Self::Io { path, .. }
            | Self::Truncated { path, .. }
            | Self::Corrupt { path, .. }
            | Self::Version { path, .. }
            | Self::Encoding { path, .. }
            | Self::NotATrace { path, .. }
            | Self::UnknownFormat { path, .. }
            | Self::AmbiguousFormat { path, .. }
            | Self::Empty { path, .. }
            | Self::Bomb { path, .. }
            | Self::UnknownDevice { path, .. } => Some(path),
            Self::Option { .. } | Self::Memory { .. } => None,
        }
    }

    /// The line of a text trace, from 1, where the error is of one.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Malformed(malformed) => match malformed.position {
                Position::Line(line) => Some(line),
                Position::Byte(_) => None,
            },
            _ => None,
        }
    }
}

/// At most 40 bytes of `bytes`, unprintable ones escaped.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(40)];
    let mut text = shown.escape_ascii().to_string();
    if shown.len() < bytes.len() {
        text.push_str("...");
    }
    text
}
