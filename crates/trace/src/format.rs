//! The formats that can be read, by name: what a line looks like and in which unit its times are.
//!
//! Vocabulary only: the parsers are in `formats`.

use crate::error::TraceError;

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

/// A unit of time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// 100 ns, the ticks of Windows' file times.
    FileTime,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    const ALL: [Self; 5] = [Self::Ns, Self::FileTime, Self::Us, Self::Ms, Self::S];

    /// Nanoseconds in one.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::FileTime => 100,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// What `--time-unit` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::FileTime => "filetime",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    /// The unit called `name`.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        Self::ALL.into_iter().find(|u| u.name() == name).ok_or_else(|| TraceError::Option {
            option: "--time-unit",
            value: name.into(),
            problem: "no such unit".into(),
            legal: Self::ALL.map(Self::name).join(", "),
        })
    }
}
