//! What can be wrong with a trace: each fault names the file, the line (or byte), what was expected
//! and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Line of a text trace, from 1.
    Line(u64),
    /// Byte of the decompressed stream of a binary trace, from 0.
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

/// What is wrong with one line or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Problem {
    /// Something else stands where a number must be.
    NotANumber,
    /// A number below zero.
    Negative,
    /// A number past the range of its field.
    Overflow,
    /// The line ends too early.
    MissingField,
    /// The line goes on after its last field.
    ExtraField,
    /// Not a read, write, trim or flush of this format.
    UnknownOp,
    /// A read, write or trim of no sectors.
    ZeroLength,
    /// The request reaches past the drive, or past 8 EiB.
    BeyondCapacity,
    /// A time later than the one before it by more than any trace lasts.
    TimeJump,
    /// A time earlier than what the reorder window has already let go.
    OutOfOrder,
    /// Bytes that no text has.
    NotText,
    /// A line longer than the limit.
    LineTooLong,
    /// More devices than a tenant number can tell apart, or a name too long to be one.
    TooManyDevices,
    /// A record that does not begin with its format's magic number.
    BadMagic,
    /// The preamble that the format must begin with is not there.
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
                "remap the addresses (--remap dense or --remap modulo), or --lenient skips such requests"
            }
            Self::TimeJump => {
                "a damaged time stamp or the wrong time unit: --lenient skips it, --time-unit sets the unit, --max-gap allows it"
            }
            Self::OutOfOrder => {
                "sort the trace, widen --reorder-window, or --lenient skips such requests"
            }
            Self::NotText => {
                "is the file damaged, or in another format? --lenient skips such lines; `ssdtune trace formats` lists what can be read"
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
    /// The file.
    pub path: PathBuf,
    /// The line, or the byte the record begins at.
    pub position: Position,
    /// Column of the faulty field, from 1 (bytes); 0 where the whole line or record is at fault.
    pub column: usize,
    /// Name of the format it was read as.
    pub format: &'static str,
    /// What should have stood there.
    pub expected: &'static str,
    /// What stands there: printable, at most 40 characters.
    pub found: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.position)?;
        if self.column > 0 {
            write!(f, ", column {}", self.column)?;
        }
        let Self { format, expected, found, .. } = self;
        write!(f, " ({format}): expected {expected}, found `{found}`")?;
        write!(f, ": {}; {}", self.problem, self.problem.hint())
    }
}

/// Why a trace cannot be read, changed or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused, or the compressed stream is damaged.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A line or record that cannot be read.
    #[error("{0}")]
    Malformed(Box<Malformed>),
    /// The file stops in the middle of something.
    #[error(
        "{}: the file ends in the middle of {what} at byte {offset}; it was cut short, copy it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Byte of the decompressed stream at which it ends.
        offset: u64,
        /// What is incomplete.
        what: &'static str,
    },
    /// A checksum or an internal count does not hold.
    #[error("{}: damaged at byte {offset}: {what}; convert the original trace again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte of the damaged part.
        offset: u64,
        /// What does not hold.
        what: String,
    },
    /// Written by a newer or foreign version.
    #[error(
        "{}: version {found} of the binary format; this program reads version {supported}: convert the original trace again, or use a newer ssdtune",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Version read here.
        supported: u32,
    },
    /// Text in an encoding that is not ASCII or UTF-8.
    #[error("{}: the text is {encoding}; convert it first: iconv -f {encoding} -t UTF-8", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What its first bytes say.
        encoding: &'static str,
    },
    /// Recognised as something that is not a trace.
    #[error("{}: this is {what}, not a trace; {remedy}", path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// No format fits.
    #[error(
        "{}: no known trace format fits (first line: `{first_line}`); name one with --format ({known}) or describe the columns with --columns",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its first line, made printable.
        first_line: String,
        /// Names of all formats.
        known: String,
    },
    /// Several formats fit and mean different things.
    #[error(
        "{}: could be {}; name one with --format",
        path.display(),
        candidates.iter().map(|c| format!("{} ({} %)", c.0, c.1)).collect::<Vec<_>>().join(" or ")
    )]
    AmbiguousFormat {
        /// The file.
        path: PathBuf,
        /// What it could be, with the confidence in percent, likeliest first.
        candidates: Vec<(&'static str, u32)>,
    },
    /// There is nothing in it.
    #[error("{}: no request in it{detail}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// How much was looked at, and what to do.
        detail: String,
    },
    /// A compressed stream that grows beyond all measure.
    #[error(
        "{}: {compressed} compressed bytes have become {expanded}, more than {limit} times as many: a decompression bomb? --max-expansion allows more",
        path.display()
    )]
    Bomb {
        /// The file.
        path: PathBuf,
        /// Bytes read from the file.
        compressed: u64,
        /// Bytes they became.
        expanded: u64,
        /// The limit passed.
        limit: u64,
    },
    /// A device was asked for that the trace does not have.
    #[error("{}: no request of device `{device}`; the trace has: {known}", path.display())]
    UnknownDevice {
        /// The file.
        path: PathBuf,
        /// The device asked for.
        device: String,
        /// The first devices it has.
        known: String,
    },
    /// An option that makes no sense, alone or with the others.
    #[error("{option} {value}: {problem}; legal: {legal}")]
    Option {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        problem: String,
        /// What is legal.
        legal: String,
    },
    /// The work would need more memory than was allowed.
    #[error("{what} needs more than {limit_bytes} bytes; {remedy}")]
    Memory {
        /// What grew.
        what: &'static str,
        /// The limit.
        limit_bytes: u64,
        /// What to do.
        remedy: &'static str,
    },
}

/// At most 40 characters of `bytes`, with everything unprintable escaped.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(40)];
    let mut text = shown.escape_ascii().to_string();
    if shown.len() < bytes.len() {
        text.push_str("...");
    }
    text
}
