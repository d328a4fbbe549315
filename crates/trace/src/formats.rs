//! The parsers of all trace formats, one file for each. [`Format::info`] describes the formats.
//!
//! A parser turns one line or record into a request in absolute nanoseconds. It keeps no more state
//! than its format needs. Faulty lines, devices and the order of time are left to `decode` and
//! [`crate::reader`].

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod blkreplay;
pub(crate) mod blktrace;
mod columns;
pub(crate) mod csv;
pub(crate) mod diskmon;
pub(crate) mod disksim;
pub(crate) mod fio;
pub(crate) mod fiu;
mod five_column;
pub(crate) mod hadoop;
pub(crate) mod heimdall;
pub(crate) mod mobile;
pub(crate) mod mqsim;
pub(crate) mod msr;
pub(crate) mod spc;
pub(crate) mod ssdsim;
pub(crate) mod ssdt;
pub(crate) mod systor;
pub(crate) mod tencent;
pub(crate) mod vscsi;
pub(crate) mod wiscsee;

use crate::decode::{Context, Decoder, LineParser, Parsed, TextDecoder};
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::options::{Devices, Event, ReadOptions};
use columns::Columns;

/// Evaluates `$body` with `$parser` bound to the parser of a text format, so that `$body` is
/// compiled once for each parser. Evaluates `$other` for binary formats and for columns without a
/// description.
macro_rules! with_parser {
    (
        $format:expr, $unit_ns:expr, $action:expr, $columns:expr,
        |$parser:ident| $body:expr, $other:expr
    ) => {{
        let (unit_ns, action) = ($unit_ns, $action);
        match $format {
            Format::Csv => {
                let $parser = csv::Csv { unit_ns };
                $body
            }
            Format::Msr => {
                let $parser = msr::Msr { unit_ns };
                $body
            }
            Format::Systor => {
                let $parser = systor::Systor { unit_ns };
                $body
            }
            Format::Spc => {
                let $parser = spc::Spc { unit_ns };
                $body
            }
            Format::Mqsim => {
                let $parser = mqsim::Mqsim { unit_ns };
                $body
            }
            Format::Disksim => {
                let $parser = disksim::Disksim { unit_ns };
                $body
            }
            Format::Ssdsim => {
                let $parser = ssdsim::Ssdsim { unit_ns };
                $body
            }
            Format::Heimdall => {
                let $parser = heimdall::Heimdall { unit_ns };
                $body
            }
            Format::Blkparse => {
                let $parser = blkparse::Blkparse { unit_ns, action, in_summary: false };
                $body
            }
            Format::Fio => {
                let $parser = fio::Fio::new(unit_ns);
                $body
            }
            Format::Alibaba => {
                let $parser = alibaba::Alibaba { unit_ns };
                $body
            }
            Format::Tencent => {
                let $parser = tencent::Tencent { unit_ns };
                $body
            }
            Format::Fiu => {
                let $parser = fiu::Fiu { unit_ns };
                $body
            }
            Format::Diskmon => {
                let $parser = diskmon::Diskmon { unit_ns };
                $body
            }
            Format::Blkreplay => {
                let $parser = blkreplay::Blkreplay { unit_ns, past_preamble: false };
                $body
            }
            Format::Mobile => {
                let $parser = mobile::Mobile { unit_ns };
                $body
            }
            Format::Hadoop => {
                let $parser = hadoop::Hadoop { unit_ns };
                $body
            }
            Format::Wiscsee => {
                let $parser = wiscsee::Wiscsee { unit_ns, action };
                $body
            }
            Format::Columns => match $columns {
                Some(spec) => {
                    let $parser = Columns::new(spec, unit_ns);
                    $body
                }
                None => $other,
            },
            Format::Ssdt | Format::Blktrace | Format::Vscsi => $other,
        }
    }};
}

/// The decoder of `format`. `first` is the beginning of the trace; it decides which event counts as
/// arrival if the options leave that open.
pub(crate) fn decoder(
    format: Format,
    options: &ReadOptions,
    first: &[u8],
) -> Result<Box<dyn Decoder>, TraceError> {
    let unit = match (options.time_unit, &options.columns) {
        (Some(unit), _) => unit,
        (None, Some(spec)) if format == Format::Columns => spec.time_unit(),
        (None, _) => format.info().time_unit,
    };
    let unit_ns = unit.ns();
    let action = match options.event {
        Event::Issue => b'D',
        Event::Queue => b'Q',
        Event::Complete => b'C',
        Event::Auto if format == Format::Blktrace => blktrace::default_action(first),
        Event::Auto => default_action(format, || first.split(|&b| b == b'\n')),
    };
    let columns = options.columns.clone();
    with_parser!(
        format,
        unit_ns,
        action,
        columns,
        |parser| Ok(Box::new(TextDecoder::new(parser)) as Box<dyn Decoder>),
        match format {
            Format::Blktrace => Ok(Box::new(blktrace::Blktrace::new(unit_ns, action))),
            Format::Vscsi => Ok(Box::new(vscsi::Vscsi::new(unit_ns))),
            Format::Ssdt => Ok(Box::new(ssdt::SsdtDecoder::default())),
            _ => Err(TraceError::Option {
                option: "--format",
                value: format.name().into(),
                problem: "needs a description of the columns".into(),
                legal: "--columns time=N,op=N,lba=N,size=N".into(),
            }),
        }
    )
}

/// The event that counts as arrival in a text trace: D if its beginning has one, else Q, else C.
fn default_action<'l, L: Iterator<Item = &'l [u8]>>(format: Format, lines: impl Fn() -> L) -> u8 {
    let nth = match format {
        Format::Blkparse => 5,
        Format::Wiscsee => 1,
        // Other formats have no events. Detection asks for every format.
        _ => return b'D',
    };
    let has = |letter: u8| {
        lines().any(|line| {
            let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
            words.nth(nth) == Some(&[letter])
        })
    };
    b"DQC".iter().copied().find(|&letter| has(letter)).unwrap_or(b'D')
}

/// How well a format fits the lines of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit {
    /// Lines that are requests or other events of the format.
    pub(crate) good: u32,
    /// Lines that do not fit.
    pub(crate) bad: u32,
    /// Lines that are requests.
    pub(crate) requests: u32,
}

/// Tries to read `lines` as `format`. Stops as soon as fewer than `share_min` percent of them can
/// fit.
pub(crate) fn fit(format: Format, lines: &[&[u8]], share_min: usize) -> Fit {
    // The names of devices do not matter here, so none are kept.
    let options = ReadOptions { devices: Devices::Merged, ..ReadOptions::default() };
    let mut context = Context::new(format, &options);
    let action = default_action(format, || lines.iter().copied());
    let unit_ns = format.info().time_unit.ns();
    let bad_max = (lines.len() * (100 - share_min) / 100) as u32;
    with_parser!(
        format,
        unit_ns,
        action,
        None,
        |parser| fit_with(parser, lines, bad_max, &mut context),
        Fit::default()
    )
}

fn fit_with<P: LineParser>(
    mut parser: P,
    lines: &[&[u8]],
    bad_max: u32,
    context: &mut Context,
) -> Fit {
    let mut fit = Fit::default();
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let parsed: Parsed = parser.parse(line, context);
        match parsed {
            Ok(Some(_)) => {
                fit.good += 1;
                fit.requests += 1;
            }
            Ok(None) => fit.good += 1,
            Err(_) if line.trim_ascii().is_empty() || line.starts_with(b"#") => {}
            Err(_) if fit.good == 0 && parser.is_header(line) => {}
            // The line has the right form, and a value that no drive can have. The reader reports
            // it later with its line number.
            Err(fault)
                if matches!(fault.problem, Problem::ZeroLength | Problem::BeyondCapacity) => {}
            Err(_) => fit.bad += 1,
        }
        if fit.bad > bad_max {
            break;
        }
    }
    fit
}
