//! The trace formats by name: what a line looks like, and in which unit its times are. The parsers
//! are in `formats`, one file for each format.

use crate::error::TraceError;

/// A trace format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// The binary format of this crate, see [`binary`](crate::binary).
    Ssdt,
    /// The CSV that this crate writes.
    Csv,
    /// CSV of the MSR Cambridge traces.
    Msr,
    /// CSV of the SYSTOR'17 traces.
    Systor,
    /// CSV of the UMass repository and the Storage Performance Council.
    Spc,
    /// MQSim's text, in nanoseconds and sectors.
    Mqsim,
    /// DiskSim's text, in milliseconds and sectors.
    Disksim,
    /// SSDSim's text, in nanoseconds and sectors.
    Ssdsim,
    /// Heimdall's text, in milliseconds and bytes.
    Heimdall,
    /// The text that blkparse prints.
    Blkparse,
    /// The binary records of Linux's blktrace.
    Blktrace,
    /// An iolog of fio, version 2 or 3.
    Fio,
    /// CSV of Alibaba's block traces.
    Alibaba,
    /// CSV of Tencent's block traces.
    Tencent,
    /// The binary records of CloudPhysics' vSCSI traces.
    Vscsi,
    /// The text of the FIU traces.
    Fiu,
    /// A log of Sysinternals DiskMon.
    Diskmon,
    /// A `.load` file of blkreplay.
    Blkreplay,
    /// CSV of block requests of phones, recorded by eBPF.
    Mobile,
    /// CSV that was decoded from blktrace.
    Hadoop,
    /// The block events of WiscSee.
    Wiscsee,
    /// Any delimited text, described by a [`ColumnSpec`](crate::ColumnSpec).
    Columns,
}

/// What a user should know about a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// The name of the format, as `--format` takes it.
    pub name: &'static str,
    /// Whose format it is, and its fields.
    pub description: &'static str,
    /// An example line; empty for binary formats.
    pub example: &'static str,
    /// The unit of its times.
    pub time_unit: TimeUnit,
}

impl Format {
    /// All formats.
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

    /// What a user should know about this format.
    pub const fn info(self) -> FormatInfo {
        FormatInfo {
            name: self.name(),
            description: self.description(),
            example: self.example(),
            time_unit: self.time_unit(),
        }
    }

    /// The name of this format, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssdt => "ssdt",
            Self::Csv => "csv",
            Self::Msr => "msr",
            Self::Systor => "systor17",
            Self::Spc => "spc",
            Self::Mqsim => "mqsim",
            Self::Disksim => "disksim",
            Self::Ssdsim => "ssdsim",
            Self::Heimdall => "heimdall",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Fio => "fio",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Vscsi => "vscsi",
            Self::Fiu => "fiu",
            Self::Diskmon => "diskmon",
            Self::Blkreplay => "blkreplay",
            Self::Mobile => "mobile",
            Self::Hadoop => "hadoop",
            Self::Wiscsee => "wiscsee",
            Self::Columns => "columns",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Ssdt => "ssdtune binary: compact, checksummed",
            Self::Csv => "ssdtune CSV: time_ns,tenant,op(R|W|T|F),lba,sectors",
            Self::Msr => "MSR Cambridge CSV: time,host,disk,op,offset_B,size_B,response",
            Self::Systor => "SYSTOR'17 CSV: time,response,op,lun,offset_B,size_B",
            Self::Spc => "UMass / SPC CSV: asu,lba,size_B,op,time",
            Self::Mqsim => "MQSim: time device lba sectors type(0 = write)",
            Self::Disksim => "DiskSim: time device block blocks flags(bit 0 = read)",
            Self::Ssdsim => "SSDSim: time device lba sectors op(0 = write, 1 = read)",
            Self::Heimdall => "Heimdall: time device offset_B size_B op(0 = write, 1 = read)",
            Self::Blkparse => "blkparse text: events D, Q or C (--event)",
            Self::Blktrace => "blktrace binary, one file per CPU: events D, Q or C (--event)",
            Self::Fio => "fio iolog version 2 or 3",
            Self::Alibaba => "Alibaba block CSV: device,op,offset_B,size_B,time",
            Self::Tencent => "Tencent block CSV: time,offset_sectors,sectors,op(0 = read),volume",
            Self::Vscsi => "CloudPhysics vSCSI binary, versions 1 and 2",
            Self::Fiu => "FIU: time pid process lba sectors op major minor md5",
            Self::Diskmon => "DiskMon: row time duration disk op sector sectors",
            Self::Blkreplay => "blkreplay .load: start ; sector ; sectors ; op ; ...",
            Self::Mobile => "eBPF CSV: process,device,flags,sector,sectors,time",
            Self::Hadoop => "decoded blktrace CSV: time_ns,rw,sector512,bytes,cpu,pid",
            Self::Wiscsee => "WiscSee: pid event(D|C) op offset_B size_B time latency flag",
            Self::Columns => "any delimited text, as --columns describes it",
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Csv => "1000,0,W,2048,8",
            Self::Msr => "128166385295514663,hm,0,Write,9056014336,2048,2833",
            Self::Systor => "1455591804.310701000,0.006475000,R,0,203468398592,32768",
            Self::Spc => "0,20941264,8192,W,0.551706",
            Self::Mqsim => "938513000 4 264719034 16 0",
            Self::Disksim => "5265.313 0 6357144 8 0",
            Self::Ssdsim => "26214000 0 303574 7 0",
            Self::Heimdall => "223.412 0 3159347200 36864 0",
            Self::Blkparse => "8,16 3 5 0.000026421 3645 D R 4938888 + 256 [java]",
            Self::Fio => "17 /dev/sda write 4096 8192",
            Self::Alibaba => "419,W,8792731648,16384,1577808144360767",
            Self::Tencent => "1538323200,4247200,128,1,1058",
            Self::Fiu => "89966522969723 4270 nfsd 18579576 8 W 6 0 d6c75ba4",
            Self::Diskmon => "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8",
            Self::Blkreplay => "0.000123 ; 80 ; 8 ; W ; 0.0 ; 0.0",
            Self::Mobile => "loop40-2757,8388608,R,206567552,8,653406.907265",
            Self::Hadoop => "1135872448,W,766637768,28672,1,723",
            Self::Wiscsee => "39949 D read 299008 4096 0.000000000 0 False",
            Self::Ssdt | Self::Blktrace | Self::Vscsi | Self::Columns => "",
        }
    }

    const fn time_unit(self) -> TimeUnit {
        match self {
            Self::Ssdt
            | Self::Csv
            | Self::Mqsim
            | Self::Ssdsim
            | Self::Blktrace
            | Self::Fiu
            | Self::Hadoop
            | Self::Columns => TimeUnit::Ns,
            Self::Msr => TimeUnit::FileTime,
            Self::Systor
            | Self::Spc
            | Self::Blkparse
            | Self::Tencent
            | Self::Diskmon
            | Self::Blkreplay
            | Self::Mobile
            | Self::Wiscsee => TimeUnit::S,
            Self::Disksim | Self::Heimdall => TimeUnit::Ms,
            Self::Fio | Self::Alibaba | Self::Vscsi => TimeUnit::Us,
        }
    }

    /// The names of all formats, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The format called `name`.
    ///
    /// # Errors
    /// No format has this name.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| TraceError::Option {
            option: "--format",
            value: name.into(),
            problem: "no such format".into(),
            legal: format!("auto, {}", Self::names()),
        })
    }

    /// Whether the format is binary; all others are text.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Ssdt | Self::Blktrace | Self::Vscsi)
    }
}

/// A unit of time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 1 ns.
    Ns,
    /// 100 ns: the ticks of Windows' file times.
    FileTime,
    /// 1 us.
    Us,
    /// 1 ms.
    Ms,
    /// 1 s.
    S,
}

impl TimeUnit {
    const ALL: [Self; 5] = [Self::Ns, Self::FileTime, Self::Us, Self::Ms, Self::S];

    /// The length of the unit in nanoseconds.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::FileTime => 100,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// The name of the unit, as `--time-unit` takes it.
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
    ///
    /// # Errors
    /// No unit has this name.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        Self::ALL.into_iter().find(|u| u.name() == name).ok_or_else(|| TraceError::Option {
            option: "--time-unit",
            value: name.into(),
            problem: "no such unit".into(),
            legal: Self::ALL.map(Self::name).join(", "),
        })
    }
}
