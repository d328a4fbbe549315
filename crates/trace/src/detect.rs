//! Which format a trace is in, from its first 64 KiB.
//!
//! Binary formats and things that are no traces are told by magic numbers. Text is tried as every
//! format: the share of lines that parse is the confidence. Formats that fit equally well and would
//! give different requests are reported, not guessed; where a rule of plausibility decides between
//! them it stands in `prefer`.

use crate::error::{TraceError, printable};
use crate::format::Format;
use crate::formats::{blktrace, fit, vscsi};
use std::cmp::Reverse;
use std::path::Path;

/// Lines looked at: enough that a preamble of a page is outnumbered.
const LINES: usize = 400;
/// Below this share of fitting lines (percent) a format is not considered.
const CONFIDENCE_MIN: u32 = 60;

/// A guess and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// Share of the sampled lines that fit it, in percent.
    pub confidence: u32,
}

/// Names the format of a trace that begins with `first` (all of it, if `whole`).
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
    let (first_line, known) = (printable(first_line), Format::names());
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

/// Settles what the fields' ranges can settle among the formats of five numbers.
///
/// - SSDSim's meaning of a line is MQSim's, so MQSim stands for both.
/// - DiskSim and Heimdall print milliseconds with a fraction, MQSim whole nanoseconds.
/// - Heimdall's addresses and sizes are bytes, multiples of 512; eight DiskSim rows of nothing but
///   multiples of 256 KiB would be a strange trace.
/// - Whole-number times with types other than 0 and 1 may be MQSim's or DiskSim's flags: left open.
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

/// Refuses text that is not ASCII-compatible.
pub(crate) fn check_encoding(path: &Path, first: &[u8]) -> Result<(), TraceError> {
    let encoding = match first {
        [0xff, 0xfe, 0, 0, ..] => "UTF-32LE",
        [0xff, 0xfe, ..] => "UTF-16LE",
        [0xfe, 0xff, ..] => "UTF-16BE",
        // ASCII in UTF-16 without a mark: every other byte is zero.
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
        // A stray tar header before text (one sample of FIU's has one) is junk lines; a whole
        // archive has its magic at byte 257 and blocks of zeros, so it has no text in the first
        // block's tail either.
        _ if first.get(257..262) == Some(b"ustar") && first.get(512..520) != Some(b"30 atime") => {
            ("a tar archive", unpack)
        }
        _ => return Ok(()),
    };
    Err(TraceError::NotATrace { path: path.to_path_buf(), what, remedy })
}
