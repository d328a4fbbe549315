//! Finds the format of a trace from its first 64 KiB.
//!
//! Binary formats, and files that are no traces, are recognised by magic numbers. Text is tried as
//! every text format; the share of lines that parse is the confidence. Formats that fit equally
//! well and would give different requests are reported, not guessed. The function `prefer` has the
//! rules that settle some of these cases.

use crate::error::{TraceError, printable};
use crate::format::Format;
use crate::formats::{blktrace, fit, vscsi};
use std::cmp::Reverse;
use std::path::Path;

/// The number of lines examined: enough to outnumber a header of one page.
const LINES: usize = 400;
/// The share of fitting lines, in percent, below which a format is not considered.
const CONFIDENCE_MIN: u32 = 60;

/// A format, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// The share of the examined lines that fit the format, in percent.
    pub confidence: u32,
}

/// Finds the format of a trace that begins with `first`; `whole` says that the file has no more
/// bytes. An error may show the first line.
pub fn detect(path: &Path, first: &[u8], whole: bool) -> Result<Detected, TraceError> {
    check_encoding(path, first)?;
    let certain = |format| Ok(Detected { format, confidence: 100 });
    if first.starts_with(&crate::binary::MAGIC) {
        return certain(Format::Ssdt);
    }
    if blktrace::byte_order(first).is_some() {
        return certain(Format::Blktrace);
    }
    not_a_trace(path, first)?;
    if vscsi::version_of(first).is_some() {
        return certain(Format::Vscsi);
    }
    let lines = sample(first, whole);
    let Some(first_line) = lines.first() else {
        if first.is_empty() || whole {
            let detail = "; it is empty".into();
            return Err(TraceError::Empty { path: path.to_path_buf(), detail });
        }
        return Err(unknown(path, first));
    };
    let mut candidates: Vec<(Format, u32)> = Format::ALL
        .into_iter()
        .filter(|f| !f.is_binary() && *f != Format::Columns)
        .filter_map(|format| {
            let fit = fit(format, &lines, CONFIDENCE_MIN as usize);
            let share = (100 * fit.good).checked_div(fit.good + fit.bad)?;
            // Lines that yield no request prove nothing, unless the header already did.
            let proven = fit.requests > 0 || (format == Format::Fio && fit.good > 0);
            (proven && share >= CONFIDENCE_MIN).then_some((format, share))
        })
        .collect();
    candidates.sort_by_key(|&(format, share)| (Reverse(share), format));
    prefer(&mut candidates, &lines);
    match candidates[..] {
        [] => Err(unknown(path, first_line)),
        [(format, confidence)] => Ok(Detected { format, confidence }),
        [(format, confidence), (_, next), ..] if confidence > next + 20 => {
            Ok(Detected { format, confidence })
        }
        _ => {
            let candidates = candidates.into_iter().map(|(format, share)| (format.name(), share));
            let (path, candidates) = (path.to_path_buf(), candidates.collect());
            Err(TraceError::AmbiguousFormat { path, candidates })
        }
    }
}

fn unknown(path: &Path, first_line: &[u8]) -> TraceError {
    let (first_line, known) = (Some(printable(first_line)), Format::names());
    TraceError::UnknownFormat { path: path.to_path_buf(), first_line, known }
}

/// The first lines of `first` that are complete and not blank.
fn sample(first: &[u8], whole: bool) -> Vec<&[u8]> {
    let complete = match memchr::memrchr(b'\n', first) {
        _ if whole => first,
        Some(end) => &first[..end],
        None => b"",
    };
    complete
        .split(|&b| b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .take(LINES)
        .collect()
}

/// Decides between formats of five numbers where the ranges of the fields allow it.
///
/// - SSDSim's lines mean what MQSim's mean, so MQSim stands for both.
/// - DiskSim and Heimdall print milliseconds with a fraction, MQSim whole nanoseconds.
/// - Heimdall's addresses and sizes are bytes, in multiples of 512. A DiskSim trace with eight or
///   more rows that are all multiples of 512 sectors is unlikely.
/// - Whole numbers as times with types other than 0 and 1 may be MQSim's types or DiskSim's flags.
///   This case is not decided.
fn prefer(candidates: &mut Vec<(Format, u32)>, lines: &[&[u8]]) {
    let has = |candidates: &[(Format, u32)], format| candidates.iter().any(|c| c.0 == format);
    if !has(candidates, Format::Mqsim) {
        return;
    }
    let rows: Vec<Vec<&[u8]>> = lines
        .iter()
        .map(|line| line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect())
        .filter(|row: &Vec<&[u8]>| row.len() == 5)
        .collect();
    let fractional = rows.iter().any(|row| row[0].contains(&b'.'));
    let number = |word: &[u8]| crate::text::scan_u64(word).map_or(0, |(value, _)| value);
    let in_bytes = rows.iter().all(|r| number(r[2]) % 512 == 0 && number(r[3]) % 512 == 0);
    let odd_type = rows.iter().any(|row| number(row[4]) > 1);
    let mut drop = |format| candidates.retain(|c| c.0 != format);
    drop(Format::Ssdsim);
    if fractional {
        drop(Format::Mqsim);
        match (in_bytes, rows.len()) {
            (false, _) => drop(Format::Heimdall),
            (true, 8..) => drop(Format::Disksim),
            (true, _) => {}
        }
    } else {
        drop(Format::Heimdall);
        if !odd_type {
            drop(Format::Disksim);
        }
    }
}

/// Refuses text in an encoding that does not contain ASCII.
pub(crate) fn check_encoding(path: &Path, first: &[u8]) -> Result<(), TraceError> {
    let encoding = match first {
        [0xff, 0xfe, 0, 0, ..] => "UTF-32LE",
        [0xff, 0xfe, ..] => "UTF-16LE",
        [0xfe, 0xff, ..] => "UTF-16BE",
        // ASCII in UTF-16 without a byte order mark: every other byte is zero.
        [1..=0x7f, 0, 1..=0x7f, 0, 1..=0x7f, 0, 1..=0x7f, 0, ..] => "UTF-16LE",
        [0, 1..=0x7f, 0, 1..=0x7f, 0, 1..=0x7f, 0, 1..=0x7f, ..] => "UTF-16BE",
        _ => return Ok(()),
    };
    Err(TraceError::Encoding { path: path.to_path_buf(), encoding })
}

fn not_a_trace(path: &Path, first: &[u8]) -> Result<(), TraceError> {
    let unpack = "unpack it and name the files inside";
    let (what, remedy) = match first {
        [b'P', b'K', 3, 4, ..] => ("a zip archive", unpack),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => ("a 7z archive", unpack),
        [b'R', b'a', b'r', b'!', ..] => ("a RAR archive", unpack),
        [b'P', b'A', b'R', b'1', ..] => ("a Parquet file", "export it as CSV and use --columns"),
        [0x7f, b'E', b'L', b'F', ..] => ("a program", "name a trace"),
        [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ("compressed twice", "decompress it once")
        }
        // A tar archive has its magic at byte 257. One sample of the FIU traces has a stray tar
        // header before its text. It is known by byte 512 and is read as text.
        _ if first.get(257..262) == Some(b"ustar") && first.get(512..520) != Some(b"30 atime") => {
            ("a tar archive", unpack)
        }
        _ => return Ok(()),
    };
    Err(TraceError::NotATrace { path: path.to_path_buf(), what, remedy })
}
