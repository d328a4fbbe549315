//! A point: what a real drive did under one load, as its measurer wrote it down.
//!
//! Figures are optional one by one, because sources leave out different ones. A mixed load has two
//! points, one for its reads and one for its writes.

use serde::Serialize;
pub use ssdtune_model::Direction;
use std::fmt;

/// A latency in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Micros(pub f64);

/// A rate: requests in a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct PerSecond(pub f64);

/// A bandwidth: units of 1,048,576 bytes in a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct MibPerSecond(pub f64);

/// Words in notes that say that requests went through a file system.
const FILE_SYSTEMS: [&str; 9] =
    ["ext3", "ext4", "xfs", "btrfs", "f2fs", "ntfs", "file on fs", "file system", "filesystem"];

/// What a point's requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reads at random places.
    RandomRead,
    /// Writes at random places.
    RandomWrite,
    /// Reads one behind the other.
    SequentialRead,
    /// Writes one behind the other.
    SequentialWrite,
    /// The reads of a mix at random places.
    RandomMixReads,
    /// The writes of a mix at random places.
    RandomMixWrites,
    /// The reads of a sequential mix.
    SequentialMixReads,
    /// The writes of a sequential mix.
    SequentialMixWrites,
    /// The reads of a mix at random places whose requests arrive at random times, at a given rate.
    PacedReads,
    /// The writes of such a mix.
    PacedWrites,
}

impl Operation {
    /// Every operation and the name it has in files of points.
    pub const NAMES: [(Self, &'static str); 10] = [
        (Self::RandomRead, "randread"),
        (Self::RandomWrite, "randwrite"),
        (Self::SequentialRead, "read"),
        (Self::SequentialWrite, "write"),
        (Self::RandomMixReads, "randrw-r"),
        (Self::RandomMixWrites, "randrw-w"),
        (Self::SequentialMixReads, "rw-r"),
        (Self::SequentialMixWrites, "rw-w"),
        (Self::PacedReads, "open-r"),
        (Self::PacedWrites, "open-w"),
    ];

    /// The operation of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, own)| *own == name).map(|(operation, _)| *operation)
    }

    /// Its name in files of points.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(operation, _)| *operation == self).map_or("", |(_, name)| name)
    }

    /// Whether the point's figures are of reads or of writes.
    pub fn direction(self) -> Direction {
        match self {
            Self::RandomRead
            | Self::SequentialRead
            | Self::RandomMixReads
            | Self::SequentialMixReads
            | Self::PacedReads => Direction::Read,
            _ => Direction::Write,
        }
    }

    /// Whether the requests lie one behind the other.
    pub fn is_sequential(self) -> bool {
        matches!(
            self,
            Self::SequentialRead
                | Self::SequentialWrite
                | Self::SequentialMixReads
                | Self::SequentialMixWrites
        )
    }

    /// Whether requests of the other direction run beside those of the point.
    pub fn is_mixed(self) -> bool {
        !matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::SequentialRead | Self::SequentialWrite
        )
    }

    /// Whether requests arrive at times of their own instead of one for each that ends.
    pub fn is_paced(self) -> bool {
        matches!(self, Self::PacedReads | Self::PacedWrites)
    }

    /// The operation of the other direction of the same mix; itself where there is no mix.
    pub fn counterpart(self) -> Self {
        match self {
            Self::RandomMixReads => Self::RandomMixWrites,
            Self::RandomMixWrites => Self::RandomMixReads,
            Self::SequentialMixReads => Self::SequentialMixWrites,
            Self::SequentialMixWrites => Self::SequentialMixReads,
            Self::PacedReads => Self::PacedWrites,
            Self::PacedWrites => Self::PacedReads,
            alone => alone,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Operation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What was measured at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Requests completed in a second.
    pub iops: Option<PerSecond>,
    /// Data moved in a second.
    pub bandwidth: Option<MibPerSecond>,
    /// Mean latency.
    pub mean: Option<Micros>,
    /// Half of the requests took no longer.
    pub p50: Option<Micros>,
    /// 99 % of the requests took no longer.
    pub p99: Option<Micros>,
    /// 99.9 % of the requests took no longer.
    pub p999: Option<Micros>,
}

/// The job of a paced load whose operations are timed, where those of the other jobs are not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimedJob {
    /// Its requests that arrive in a second, reads and writes together.
    pub rate: PerSecond,
    /// Reads among them, in percent.
    pub read_percent: f64,
    /// Reads among the requests of the other jobs, in percent.
    pub others_read_percent: f64,
}

/// Requests of a paced load that arrive at random times (a Poisson process).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// How many arrive in a second.
    pub(crate) rate: f64,
    /// Reads among them, from 0 to 1.
    pub(crate) read_share: f64,
    /// How many of them the drive has at a time; later ones wait in the host.
    pub(crate) outstanding: u32,
    /// Whether their latencies are measured.
    pub(crate) is_timed: bool,
}

/// One measured point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where it stands: file and line, or file and job.
    pub at: String,
    /// Who measured it, and how: points of one source are comparable.
    pub source: String,
    /// The drive, if the file says so.
    pub drive: Option<String>,
    /// The run it belongs to: the points of a run were measured one after the other, in the order
    /// of the file.
    pub run: Option<String>,
    /// What its requests do.
    pub operation: Operation,
    /// Reads among all requests, in percent: 100 for pure reads, 0 for pure writes.
    pub read_percent: f64,
    /// Size of a request.
    pub block_bytes: u32,
    /// Requests outstanding in each job; `None` if that is not known.
    pub iodepth: Option<u32>,
    /// Jobs that ran at the same time.
    pub numjobs: u32,
    /// Requests that arrived in a second, reads and writes together, where a rate was given. With a
    /// timed job the rate that its measurer names, which leaves out the reads of this job.
    pub offered: Option<PerSecond>,
    /// The job whose operations were timed, where that was one of several of a paced load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedJob>,
    /// What was measured.
    pub figures: Figures,
    /// Whatever else the file says.
    pub notes: String,
    /// The share of the drive that holds data where it only reads. No file says it: 1, unless the
    /// state of the drive is unknown and a fit looks for it.
    #[serde(skip_serializing_if = "is_whole")]
    pub written_share: f64,
}

fn is_whole(share: &f64) -> bool {
    *share == 1.0
}

impl Point {
    /// Requests outstanding at any time in a closed loop: depth times jobs.
    pub fn outstanding(&self) -> Option<u32> {
        self.iodepth.filter(|_| !self.operation.is_paced())?.checked_mul(self.numjobs)
    }

    /// Where the requests of a paced load come from; none where there is no rate.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        let Some(PerSecond(offered)) = self.offered.filter(|_| self.operation.is_paced()) else {
            return Vec::new();
        };
        let outstanding = |jobs| self.iodepth.map_or(u32::MAX, |depth| depth.saturating_mul(jobs));
        let flow = |rate, read_percent: f64, jobs, is_timed| Flow {
            rate,
            read_share: read_percent / 100.0,
            outstanding: outstanding(jobs),
            is_timed,
        };
        let Some(timed) = self.timed else {
            return vec![flow(offered, self.read_percent, self.numjobs, true)];
        };
        let own = flow(timed.rate.0, timed.read_percent, 1, true);
        let rest = offered - own.rate * (1.0 - own.read_share);
        let others = self.numjobs.saturating_sub(1).max(1);
        let others = flow(rest, timed.others_read_percent, others, false);
        if rest > 0.0 { vec![own, others] } else { vec![own] }
    }

    /// Requests that arrive in a second, reads and writes of all jobs together, in a paced load.
    pub fn arriving(&self) -> Option<PerSecond> {
        let rates = self.flows().iter().map(|flow| flow.rate).sum();
        (rates > 0.0).then_some(PerSecond(rates))
    }

    /// Whether its notes say that nobody knows what the drive held.
    pub fn has_unknown_state(&self) -> bool {
        self.notes.to_ascii_lowercase().contains("state unknown")
    }

    /// The word in its notes that says that its requests went through a file system.
    pub(crate) fn file_system(&self) -> Option<&'static str> {
        let notes = self.notes.to_ascii_lowercase();
        FILE_SYSTEMS.into_iter().find(|word| notes.contains(word))
    }

    /// Whether its percentiles are those of all its requests. Of several jobs in a closed loop they
    /// are means over the jobs, as a rule.
    pub fn has_percentiles(&self) -> bool {
        self.numjobs == 1 || self.operation.is_paced()
    }

    /// The points that it is compared with.
    pub fn family(&self) -> Family {
        let Self { source, operation, block_bytes, .. } = self;
        Family { source: source.clone(), operation: *operation, block_bytes: *block_bytes }
    }
}

/// Points that differ only in how many requests are outstanding or arrive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Family {
    /// Who measured them.
    pub source: String,
    /// What their requests do.
    pub operation: Operation,
    /// Size of a request.
    pub block_bytes: u32,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} B", self.source, self.operation, self.block_bytes)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, operation, block_bytes, numjobs, .. } = self;
        write!(f, "{at} ({operation}")?;
        if operation.is_mixed() {
            write!(f, " {} % reads", self.read_percent)?;
        }
        write!(f, ", {block_bytes} B")?;
        match (self.offered, self.iodepth) {
            (Some(PerSecond(rate)), _) => write!(f, ", {rate}/s)"),
            (None, Some(depth)) => write!(f, ", {depth} x {numjobs})"),
            (None, None) => write!(f, ", {numjobs} jobs)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse;
    use std::path::Path;

    #[test]
    fn the_reads_of_a_timed_job_arrive_beside_the_rate_that_is_named() {
        let text = "op,rwmix_read,bs,iodepth,numjobs,offered_iops,notes\n\
                    open-r,33.7,4k,64,7,,\"Poisson target 10000/s in all (7 threads; 6 at 99pc \
                    writes, 1 at 50/50 and 10k/s is the one timed)\"\n\
                    open-w,25,4k,8,2,9000,\nopen-w,25,4k,,2,9000,\nrandread,100,4k,8,2,,\n";
        let points = parse(Path::new("p"), "p", text).unwrap();
        let flows = points[0].flows();
        let (own, others) = (flows[0], flows[1]);
        assert_eq!((own.rate, own.read_share, own.outstanding), (10_000.0, 0.5, 64));
        assert_eq!((others.rate, others.read_share, others.outstanding), (5_000.0, 0.01, 384));
        assert!(own.is_timed && !others.is_timed);
        assert_eq!(points[0].arriving(), Some(PerSecond(15_000.0)));
        let one = Flow { rate: 9_000.0, read_share: 0.25, outstanding: 16, is_timed: true };
        assert_eq!(points[1].flows(), [one]);
        assert_eq!(points[2].flows(), [Flow { outstanding: u32::MAX, ..one }]);
        assert_eq!((points[3].flows().len(), points[3].arriving()), (0, None));
    }

    #[test]
    fn operations_have_one_name_each_and_halves_of_mixes_find_each_other() {
        for (operation, name) in Operation::NAMES {
            assert_eq!(Operation::of_name(name), Some(operation));
            assert_eq!(operation.to_string(), name);
            let other = operation.counterpart();
            assert_eq!(other.counterpart(), operation);
            assert_eq!(operation.is_mixed(), other.direction() != operation.direction());
        }
        assert_eq!(Operation::of_name("randrw"), None);
    }
}
