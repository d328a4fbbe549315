//! One workload of a grid. Its name says everything about it, and a list of names is a grid.
//!
//! `w50-q16-W64k.r100-R4k.s16k` means: 50 % of the requests are writes, and 16 requests are
//! outstanding. Writes are of 64 KiB and all of them go to random places. Reads are of 4 KiB, with
//! 16 KiB left out between one and the next. `r0` is sequential; `r50` jumps at every other request
//! in the mean. Pure reads and pure writes name only their own part: `w0-q1-R4k.r0`.
//!
//! A workload in an open loop has `l70` instead of `q16`: requests arrive at random, at 70 % of the
//! rate that the drive reaches with [`CALIBRATION_DEPTH`] requests outstanding.
//!
//! Real drives are measured by several jobs, too, each with a core of the host for itself:
//! `w0-q16-j4-R4k.r100` are four jobs with 16 requests outstanding each.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Requests outstanding while the rate is measured that loads of an open loop are percentages of.
pub const CALIBRATION_DEPTH: u32 = 64;

/// The largest size of a request and the largest gap, in bytes.
const BYTES_MAX: u32 = 16 << 20;
/// The most requests outstanding in a closed loop.
const DEPTH_MAX: u32 = 4096;
/// The most jobs.
const JOBS_MAX: u32 = 4096;
/// The highest load of an open loop, in percent.
const LOAD_MAX: u32 = 200;

/// When requests are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Load {
    /// In a closed loop: each job has this number of requests outstanding at any time.
    Depth(u32),
    /// In an open loop: requests arrive at random, at this percentage of the rate that the drive
    /// can serve.
    Percent(u32),
}

/// Where the next request of a direction (reads or writes) lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// A percentage of the requests goes to random places; each other one begins where the one
    /// before it ends.
    Random {
        /// The percentage of random requests: 0 is sequential, 100 is random.
        percent: u32,
    },
    /// Each request begins at a fixed distance from the end of the one before it.
    Stride {
        /// Bytes between the end of one request and the start of the next.
        gap_bytes: u32,
    },
}

/// The reads or the writes of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// Size of each request.
    pub bytes: u32,
    /// Where the requests lie.
    pub pattern: Pattern,
}

/// One workload of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    write_percent: u32,
    load: Load,
    write: Option<Access>,
    read: Option<Access>,
    jobs: u32,
}

/// Why a name, or the parts of a workload, make no point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no point: {problem} (a point is written like w50-q16-W64k.r100-R4k.s16k)")]
pub struct PointError {
    /// What was given, its first 80 characters.
    pub name: String,
    /// What is wrong with it, and what is legal.
    pub problem: String,
}

impl Point {
    /// A point of these parts. `write` and `read` are given for exactly those directions that have
    /// requests.
    ///
    /// # Errors
    /// A number is out of its range, or the parts do not go together.
    pub fn new(
        write_percent: u32,
        load: Load,
        write: Option<Access>,
        read: Option<Access>,
    ) -> Result<Self, PointError> {
        let point = Self { write_percent, load, write, read, jobs: 1 };
        let wrong = |problem: String| Err(PointError { name: point.to_string(), problem });
        if write_percent > 100 {
            return wrong(format!("{write_percent} % writes: 0 to 100"));
        }
        let sound = match load {
            Load::Depth(depth) => (1..=DEPTH_MAX).contains(&depth),
            Load::Percent(percent) => (1..=LOAD_MAX).contains(&percent),
        };
        if !sound {
            return wrong(format!("a depth is 1 to {DEPTH_MAX}, a load 1 to {LOAD_MAX} percent"));
        }
        for (part, requests, letter) in
            [(write, write_percent, 'W'), (read, 100 - write_percent, 'R')]
        {
            if part.is_some() != (requests > 0) {
                let verb = if part.is_some() { "leave out" } else { "give" };
                return wrong(format!("{write_percent} % are writes, so {verb} the part {letter}"));
            }
            if let Some(problem) = part.and_then(|access| access.fault()) {
                return wrong(problem);
            }
        }
        Ok(point)
    }

    /// This workload by so many jobs at a time.
    ///
    /// # Errors
    /// The number is out of its range, or the point is of an open loop.
    pub fn with_jobs(self, jobs: u32) -> Result<Self, PointError> {
        let point = Self { jobs, ..self };
        match self.load {
            Load::Depth(_) if (1..=JOBS_MAX).contains(&jobs) => Ok(point),
            _ => Err(PointError {
                name: point.to_string(),
                problem: format!("jobs (j) are 1 to {JOBS_MAX}, and of points with a depth (q)"),
            }),
        }
    }

    /// Percentage of requests that are writes.
    pub const fn write_percent(&self) -> u32 {
        self.write_percent
    }

    /// When requests are submitted.
    pub const fn load(&self) -> Load {
        self.load
    }

    /// How many jobs make the requests at the same time.
    pub const fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Requests outstanding at any time, of all jobs together; `None` in an open loop.
    pub fn outstanding(&self) -> Option<f64> {
        match self.load {
            Load::Depth(depth) => Some(f64::from(depth) * f64::from(self.jobs)),
            Load::Percent(_) => None,
        }
    }

    /// The writes, if there are any.
    pub const fn write(&self) -> Option<Access> {
        self.write
    }

    /// The reads, if there are any.
    pub const fn read(&self) -> Option<Access> {
        self.read
    }

    /// This workload under another load.
    #[must_use]
    pub const fn with_load(self, load: Load) -> Self {
        Self { load, ..self }
    }

    /// Mean size of a request, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let size = |access: Option<Access>| access.map_or(0.0, |access| f64::from(access.bytes));
        let share = f64::from(self.write_percent) / 100.0;
        share * size(self.write) + (1.0 - share) * size(self.read)
    }
}

impl Access {
    /// What is wrong with it, if anything.
    fn fault(&self) -> Option<String> {
        let sectors = |bytes: u32| bytes.is_multiple_of(512) && (512..=BYTES_MAX).contains(&bytes);
        if !sectors(self.bytes) {
            return Some(format!("{} bytes: a multiple of 512 up to {BYTES_MAX}", self.bytes));
        }
        match self.pattern {
            Pattern::Random { percent } if percent > 100 => {
                Some(format!("{percent} % random: 0 to 100"))
            }
            Pattern::Stride { gap_bytes } if !sectors(gap_bytes) => {
                Some(format!("a gap of {gap_bytes} bytes: a multiple of 512 up to {BYTES_MAX}"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}-", self.write_percent)?;
        match self.load {
            Load::Depth(depth) => write!(f, "q{depth}")?,
            Load::Percent(percent) => write!(f, "l{percent}")?,
        }
        if self.jobs != 1 {
            write!(f, "-j{}", self.jobs)?;
        }
        for (letter, access) in [('W', self.write), ('R', self.read)] {
            let Some(Access { bytes, pattern }) = access else { continue };
            write!(f, "-{letter}{}.", Size(bytes))?;
            match pattern {
                Pattern::Random { percent } => write!(f, "r{percent}")?,
                Pattern::Stride { gap_bytes } => write!(f, "s{}", Size(gap_bytes))?,
            }
        }
        Ok(())
    }
}

/// A size as it is written in names: in KiB if it is a whole number of them, else in bytes.
struct Size(u32);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 1024 {
            0 => write!(f, "{}k", self.0 / 1024),
            _ => write!(f, "{}b", self.0),
        }
    }
}

impl FromStr for Point {
    type Err = PointError;

    fn from_str(name: &str) -> Result<Self, PointError> {
        let wrong = |problem: String| PointError { name: name.chars().take(80).collect(), problem };
        let (mut writes, mut load, mut write, mut read) = (None, None, None, None);
        let mut jobs = None;
        for part in name.split('-') {
            let at = part.char_indices().nth(1).map_or(part.len(), |(at, _)| at);
            let (letter, rest) = part.split_at(at);
            let number = || {
                let unreadable = |_| wrong(format!("{rest:?} in {part:?} is no whole number"));
                rest.parse::<u32>().map_err(unreadable)
            };
            let twice = match letter {
                "w" => writes.replace(number()?).is_some(),
                "q" => load.replace(Load::Depth(number()?)).is_some(),
                "j" => jobs.replace(number()?).is_some(),
                "l" => load.replace(Load::Percent(number()?)).is_some(),
                "W" => write.replace(access(rest).map_err(wrong)?).is_some(),
                "R" => read.replace(access(rest).map_err(wrong)?).is_some(),
                _ => return Err(wrong(format!("{part:?} begins with none of w, q, j, l, W, R"))),
            };
            if twice {
                return Err(wrong(format!("{part:?} is the second of its kind")));
            }
        }
        let writes = writes.ok_or_else(|| wrong("its part w is missing".to_owned()))?;
        let load = load.ok_or_else(|| wrong("its part q or l is missing".to_owned()))?;
        let point = Self::new(writes, load, write, read).map_err(|error| wrong(error.problem))?;
        let point = match jobs {
            Some(jobs) => point.with_jobs(jobs).map_err(|error| wrong(error.problem))?,
            None => point,
        };
        match point.to_string() {
            usual if usual == name => Ok(point),
            usual => Err(wrong(format!("it is written {usual}"))),
        }
    }
}

fn access(text: &str) -> Result<Access, String> {
    let unreadable = || format!("{text:?} is no size and pattern, such as 64k.r100 or 4k.s16k");
    let (bytes, pattern) = text.split_once('.').ok_or_else(unreadable)?;
    let bytes = size(bytes).ok_or_else(unreadable)?;
    let pattern = if let Some(percent) = pattern.strip_prefix('r') {
        Pattern::Random { percent: percent.parse().map_err(|_| unreadable())? }
    } else {
        let gap = pattern.strip_prefix('s').ok_or_else(unreadable)?;
        Pattern::Stride { gap_bytes: size(gap).ok_or_else(unreadable)? }
    };
    Ok(Access { bytes, pattern })
}

fn size(text: &str) -> Option<u32> {
    match text.strip_suffix('k') {
        Some(kib) => kib.parse::<u32>().ok()?.checked_mul(1024),
        None => text.strip_suffix('b')?.parse().ok(),
    }
}

impl Serialize for Point {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_access() -> impl Strategy<Value = Access> {
        let pattern = prop_oneof![
            (0u32..=100).prop_map(|percent| Pattern::Random { percent }),
            (1u32..=1024).prop_map(|sectors| Pattern::Stride { gap_bytes: 512 * sectors }),
        ];
        (1u32..=2048, pattern)
            .prop_map(|(sectors, pattern)| Access { bytes: 512 * sectors, pattern })
    }

    proptest! {
        #[test]
        fn a_name_is_its_point(
            percent in 0u32..=100,
            number in 1u32..=200,
            jobs in 1u32..=8,
            open: bool,
            write in some_access(),
            read in some_access(),
        ) {
            let load = if open { Load::Percent(number) } else { Load::Depth(number) };
            let write = (percent > 0).then_some(write);
            let read = (percent < 100).then_some(read);
            let mut point = Point::new(percent, load, write, read).unwrap();
            if !open {
                point = point.with_jobs(jobs).unwrap();
            }
            prop_assert_eq!(point.to_string().parse::<Point>(), Ok(point));
        }

        #[test]
        fn no_text_is_too_odd(text in "[wqljWRrskb0-9.é-]{0,24}") {
            if let Ok(point) = text.parse::<Point>() {
                prop_assert_eq!(point.to_string(), text);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (name, problem) in [
            ("w50-q16-W64k.r100", "give the part R"),
            ("w0-q16-W64k.r100-R4k.r0", "leave out the part W"),
            ("w100-q0-W4k.r0", "a depth is 1 to"),
            ("w100-q1-W4000b.r0", "a multiple of 512"),
            ("w100-q1-W4096b.r0", "it is written w100-q1-W4k.r0"),
            ("w100-q1-q2-W4k.r0", "second of its kind"),
            ("w100-W4k.r0", "its part q or l is missing"),
            ("w100-q4-j0-W4k.r0", "jobs (j) are 1 to"),
            ("w100-l50-j2-W4k.r0", "of points with a depth"),
            ("w100-q4-j1-W4k.r0", "it is written w100-q4-W4k.r0"),
            ("w100-q1-W4k", "no size and pattern"),
            ("", "begins with none of"),
        ] {
            let error = name.parse::<Point>().unwrap_err().to_string();
            assert!(error.contains(problem), "{name}: {error}");
        }
    }
}
