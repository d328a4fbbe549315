//! Every trace format that can be read: one file per format, one row each in [`Format::info`].
//!
//! A parser turns one line or record into a request in absolute nanoseconds. It keeps no other state than its
//! format asks for, and leaves the rules for faulty lines, devices and ordering to `decode` and
//! [`crate::reader`].

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod blkreplay;
pub(crate) mod blktrace;
pub mod columns;
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
pub(crate) mod systor;
pub(crate) mod tencent;
pub(crate) mod vscsi;
pub(crate) mod wiscsee;

use crate::decode::{Context, Decoder, LineParser, Parsed, TextDecoder};
use crate::error::{Problem, TraceError};
use crate::reader::{Devices, Event, ReadOptions, TimeUnit};
use columns::Columns;

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// ssdtune's binary format.
    Ssdt,
    /// ssdtune's CSV.
    Csv,
    /// MSR Cambridge CSV.
    Msr,
    /// SYSTOR'17 CSV.
    Systor,
    /// UMass / SPC CSV.
    Spc,
    /// MQSim ASCII, ns.
    Mqsim,
    /// DiskSim ASCII, ms.
    Disksim,
    /// SSDSim ASCII.
    Ssdsim,
    /// Heimdall ASCII, ms and bytes.
    Heimdall,
    /// blkparse text.
    Blkparse,
    /// Binary blktrace.
    Blktrace,
    /// fio iolog, version 2 or 3.
    Fio,
    /// Alibaba block CSV.
    Alibaba,
    /// Tencent block CSV.
    Tencent,
    /// CloudPhysics vSCSI binary.
    Vscsi,
    /// FIU text.
    Fiu,
    /// DiskMon text.
    Diskmon,
    /// blkreplay .load.
    Blkreplay,
    /// eBPF CSV of phones.
    Mobile,
    /// Decoded blktrace CSV.
    Hadoop,
    /// WiscSee events.
    Wiscsee,
    /// Any delimited text by `--columns`.
    Columns,
}

/// What a person should know of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// What `--format` calls it.
    pub name: &'static str,
    /// Whose it is and what its fields are.
    pub description: &'static str,
    /// A line of it; empty for binary formats.
    pub example: &'static str,
    /// The unit of its times.
    pub time_unit: TimeUnit,
}

const fn info(
    name: &'static str,
    time_unit: TimeUnit,
    description: &'static str,
    example: &'static str,
) -> FormatInfo {
    FormatInfo { name, description, example, time_unit }
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 22] = [
        Self::Ssdt,
        Self::Csv,
        Self::Msr,
        Self::Systor,
        Self::Spc,
        Self::Mqsim,
        Self::Disksim,
        Self::Ssdsim,
        Self::Heimdall,
        Self::Blkparse,
        Self::Blktrace,
        Self::Fio,
        Self::Alibaba,
        Self::Tencent,
        Self::Vscsi,
        Self::Fiu,
        Self::Diskmon,
        Self::Blkreplay,
        Self::Mobile,
        Self::Hadoop,
        Self::Wiscsee,
        Self::Columns,
    ];

    /// Its row of the table of formats.
    #[rustfmt::skip]
    pub const fn info(self) -> FormatInfo {
        use TimeUnit::{FileTime, Ms, Ns, S, Us};
        match self {
            Self::Ssdt => info("ssdt", Ns, "ssdtune binary: compact, checksummed", ""),
            Self::Csv => info("csv", Ns, "ssdtune CSV: time_ns,tenant,op(R|W|T|F),lba,sectors", "1000,0,W,2048,8"),
            Self::Msr => info("msr", FileTime, "MSR Cambridge CSV: time,host,disk,op,offset_B,size_B,response", "128166385295514663,hm,0,Write,9056014336,2048,2833"),
            Self::Systor => info("systor17", S, "SYSTOR'17 CSV: time,response,op,lun,offset_B,size_B", "1455591804.310701000,0.006475000,R,0,203468398592,32768"),
            Self::Spc => info("spc", S, "UMass / SPC CSV: asu,lba,size_B,op,time", "0,20941264,8192,W,0.551706"),
            Self::Mqsim => info("mqsim", Ns, "MQSim: time device lba sectors type(0 = write)", "938513000 4 264719034 16 0"),
            Self::Disksim => info("disksim", Ms, "DiskSim: time device block blocks flags(bit 0 = read)", "5265.313 0 6357144 8 0"),
            Self::Ssdsim => info("ssdsim", Ns, "SSDSim: time device lba sectors op(0 = write, 1 = read)", "26214000 0 303574 7 0"),
            Self::Heimdall => info("heimdall", Ms, "Heimdall: time device offset_B size_B op(0 = write, 1 = read)", "223.412 0 3159347200 36864 0"),
            Self::Blkparse => info("blkparse", S, "blkparse text: events D, Q or C (--event)", "8,16 3 5 0.000026421 3645 D R 4938888 + 256 [java]"),
            Self::Blktrace => info("blktrace", Ns, "blktrace binary, one file per CPU: events D, Q or C (--event)", ""),
            Self::Fio => info("fio", Us, "fio iolog version 2 or 3", "17 /dev/sda write 4096 8192"),
            Self::Alibaba => info("alibaba", Us, "Alibaba block CSV: device,op,offset_B,size_B,time", "419,W,8792731648,16384,1577808144360767"),
            Self::Tencent => info("tencent", S, "Tencent block CSV: time,offset_sectors,sectors,op(0 = read),volume", "1538323200,4247200,128,1,1058"),
            Self::Vscsi => info("vscsi", Us, "CloudPhysics vSCSI binary, versions 1 and 2", ""),
            Self::Fiu => info("fiu", Ns, "FIU: time pid process lba sectors op major minor md5", "89966522969723 4270 nfsd 18579576 8 W 6 0 d6c75ba4"),
            Self::Diskmon => info("diskmon", S, "DiskMon: row time duration disk op sector sectors", "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8"),
            Self::Blkreplay => info("blkreplay", S, "blkreplay .load: start ; sector ; sectors ; op ; ...", "0.000123 ; 80 ; 8 ; W ; 0.0 ; 0.0"),
            Self::Mobile => info("mobile", S, "eBPF CSV: process,device,flags,sector,sectors,time", "loop40-2757,8388608,R,206567552,8,653406.907265"),
            Self::Hadoop => info("hadoop", Ns, "decoded blktrace CSV: time_ns,rw,sector512,bytes,cpu,pid", "1135872448,W,766637768,28672,1,723"),
            Self::Wiscsee => info("wiscsee", S, "WiscSee: pid event(D|C) op offset_B size_B time latency flag", "39949 D read 299008 4096 0.000000000 0 False"),
            Self::Columns => info("columns", Ns, "any delimited text, as --columns describes it", ""),
        }
    }

    /// What `--format` calls it.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// All names, for messages.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The format called `name`.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| TraceError::Option {
            option: "--format",
            value: name.into(),
            problem: "no such format".into(),
            legal: format!("auto, {}", Self::names()),
        })
    }

    /// Whether it is not text.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Ssdt | Self::Blktrace | Self::Vscsi)
    }
}

/// Runs `$body` with `$parser` bound to the parser of a text format: monomorphic for each.
macro_rules! with_parser {
    ($format:expr, $unit_ns:expr, $action:expr, $columns:expr, |$parser:ident| $body:expr, $other:expr) => {{
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

/// The decoder of `format`; `first` is the beginning of the trace, which decides what event is taken by default.
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
            Format::Ssdt => Ok(Box::new(crate::binary::stream::SsdtDecoder::default())),
            _ => Err(TraceError::Option {
                option: "--format",
                value: format.name().into(),
                problem: "needs a description of the columns".into(),
                legal: "--columns time=N,op=N,lba=N,size=N".into(),
            }),
        }
    )
}

/// The event of a text trace to take: D if the beginning has one, else Q, else C.
fn default_action<'l, L: Iterator<Item = &'l [u8]>>(format: Format, lines: impl Fn() -> L) -> u8 {
    let nth = match format {
        Format::Blkparse => 5,
        Format::Wiscsee => 1,
        // Only these list one request's events one by one; detection asks for every format.
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

/// How well `format` fits the complete lines of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit {
    /// Lines that are requests or events of the format.
    pub(crate) good: u32,
    /// Lines that are not.
    pub(crate) bad: u32,
    /// Lines that are requests.
    pub(crate) requests: u32,
}

/// Tries `lines` as `format`; stops early where fewer than `share_min` percent of them can still fit.
pub(crate) fn fit(format: Format, lines: &[&[u8]], share_min: usize) -> Fit {
    // Names of devices do not matter here, so none are kept.
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
            // Of the right form, with a value no drive could take: that is for the reader to say, with its line.
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
