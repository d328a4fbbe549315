//! What a drive holds and has been through before its run, as one value.
//!
//! A preparation has three parts: what the drive holds at the start ([`Start`]), what was done with
//! it afterwards ([`Age`], any number of steps in order), and how worn its blocks are. The words
//! that [`Start`] and [`Age`] are read from and printed as are the words of every command (`--start
//! sequential:0.5 --age random:2`).
//!
//! A `sequential` or `steady` start is *defined*: the simulator computes where data lie when it
//! first looks, so it takes no time and memory only for what the run touches. A `footprint` start
//! and every step of ageing are *written*: each page goes through the translation layer, without
//! simulated time.

use serde::{Deserialize, Serialize};
use ssdtune_sim::Report;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How many times `--age random` overwrites the data unless told otherwise. After five times,
/// collection under random writes costs as much as it ever will.
pub const OVERWRITES: u32 = 5;

/// The largest number of times that an [`Age`] may be repeated.
const TIMES_MAX: u32 = 100;

/// What a drive holds and has been through before its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preparation {
    /// What the drive holds at the start.
    pub start: Start,
    /// What was then done with it, in this order.
    pub ages: Vec<Age>,
    /// How often each block was erased before; only for a defined start (`sequential` or `steady`
    /// without random ageing).
    pub erases: u32,
    /// Decides where the pages of a defined start lie and which pages random ageing overwrites.
    pub seed: u64,
}

/// What a drive holds at the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Nothing: reads of pages that the run has not written find no data.
    Empty,
    /// Everything that the run reads or writes, written once in the order of addresses. It does not
    /// ask whether the run reads at all: one read more must not make it another drive.
    #[default]
    Footprint,
    /// Data written once in the order of addresses. Pages that the run touches come first, then the
    /// lowest others.
    Sequential(Shares),
    /// Data in the pages that [`Start::Sequential`] names, in the state that endless random
    /// overwrites lead to.
    Steady(Shares),
    /// The drive that a file from [`crate::Experiment::save`] holds.
    Restored(PathBuf),
}

/// One step of ageing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Pages are overwritten at random, as many as hold data, this many times. The data of a
    /// `sequential` start are then really written, page by page, even with 0 times.
    Random {
        /// Overwrites of each page in the mean, 0 to 100.
        times: u32,
    },
    /// The requests of the run are served this many times.
    Trace {
        /// Repetitions, 1 to 100.
        times: u32,
    },
}

/// How much of each tenant's address space holds data; the last entry also stands for all further
/// tenants.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares(pub Vec<Share>);

/// How much of one address space holds data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// A part of all pages, 0 to 1.
    Fraction(f64),
    /// This many flash pages, or all if there are fewer.
    Pages(u64),
}

impl Shares {
    /// A share of the address space, 0 to 1, that is equal for all tenants.
    pub fn all(fraction: f64) -> Self {
        Self(vec![Share::Fraction(fraction)])
    }
}

/// Why a preparation is impossible, or a text names none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreparationError {
    /// The text names no start.
    #[error(
        "write empty, footprint, sequential, steady, or with the share of pages that hold data, 0 \
         to 1: sequential:0.5, steady:0.7"
    )]
    UnknownStart,
    /// The text names no ageing.
    #[error("write random, trace, or with a number of times from 0 to 100: random:2, trace:3")]
    UnknownAge,
    /// Random ageing of a drive that holds nothing to overwrite.
    #[error(
        "--age random overwrites what the drive holds, and --start {0} gives it nothing or only \
         what the run touches: add --start sequential, or sequential:SHARE"
    )]
    NothingToOverwrite(&'static str),
    /// Random ageing of a drive in steady state.
    #[error(
        "--start steady is what --age random leads to after endless overwrites: leave one away"
    )]
    AlreadySteady,
    /// Random ageing comes after another step.
    #[error("--age random comes first, right after --start sequential")]
    RandomNotFirst,
    /// Wear of a drive that is not defined.
    #[error(
        "--erases says how worn --start sequential or --start steady leave the drive: give one of \
         them, without --age random"
    )]
    ErasesWithoutDefinition,
    /// A restored drive is given another past.
    #[error("--restore brings the drive as it was kept: leave --start, --age and --erases away")]
    RestoredHasItsPast,
}

/// What a drive held and had been through before its run, in the words of the command line. Field
/// names are part of result documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationInWords {
    /// What it held at the start.
    pub start: String,
    /// What was then done with it, in this order.
    pub age: Vec<String>,
    /// How often each block was erased before.
    pub erases: u32,
}

impl PreparationInWords {
    /// One line for people: the words for start and ages, and with a report how many pages that
    /// were.
    pub fn line(&self, report: Option<&Report>) -> String {
        let mut line = format!("start           {}", self.start);
        self.age.iter().for_each(|age| line += &format!(", age {age}"));
        let made = report.map(|report| &report.simulation);
        let held = made.map_or(0, |made| made.initial_pages);
        let written = made.map_or(0, |made| made.warm_up_pages);
        for (pages, what) in [(held, "held data"), (written, "were written before the run")] {
            if pages > 0 {
                line += &format!("; {pages} pages {what}");
            }
        }
        line
    }
}

impl Preparation {
    /// A drive with this start, not aged and not worn.
    pub fn of(start: Start, seed: u64) -> Self {
        Self { start, seed, ..Self::default() }
    }

    /// Whether its parts go together.
    ///
    /// # Errors
    /// Says which parts do not, and what to write instead.
    pub fn check(&self) -> Result<(), PreparationError> {
        let random = self.ages.iter().position(|age| matches!(age, Age::Random { .. }));
        if let Start::Restored(_) = self.start {
            let plain = self.ages.is_empty() && self.erases == 0;
            return if plain { Ok(()) } else { Err(PreparationError::RestoredHasItsPast) };
        }
        match (random, &self.start) {
            (Some(0), Start::Sequential(_)) | (None, _) => {}
            (Some(_), Start::Sequential(_)) => return Err(PreparationError::RandomNotFirst),
            (Some(_), Start::Steady(_)) => return Err(PreparationError::AlreadySteady),
            (Some(_), start) => return Err(PreparationError::NothingToOverwrite(start.name())),
        }
        let defined = matches!(self.start, Start::Sequential(_) | Start::Steady(_));
        if self.erases > 0 && (!defined || random.is_some()) {
            return Err(PreparationError::ErasesWithoutDefinition);
        }
        Ok(())
    }

    /// Whether making it reads the requests of the run, if there are any: all but an empty and a
    /// restored drive without ageing do.
    pub fn reads_requests(&self) -> bool {
        !matches!(self.start, Start::Empty | Start::Restored(_)) || self.looks_at_requests()
    }

    /// The words of the command line for it.
    pub fn in_words(&self) -> PreparationInWords {
        let age = self.ages.iter().map(ToString::to_string).collect();
        PreparationInWords { start: self.start.to_string(), age, erases: self.erases }
    }

    /// Whether the drive was used before the run, so that it collects in the run or soon after.
    pub fn is_used(&self) -> bool {
        let fresh = matches!(self.start, Start::Empty | Start::Footprint);
        !fresh || !self.ages.is_empty()
    }

    /// Whether it can only be made by looking at the requests of the run.
    pub fn looks_at_requests(&self) -> bool {
        let replays = self.ages.iter().any(|age| matches!(age, Age::Trace { times: 1.. }));
        replays || self.start == Start::Footprint
    }
}

impl Start {
    /// Every tenant's pages hold data, as far as the share (0 to 1) goes, written once in order.
    pub fn sequential(share: f64) -> Self {
        Self::Sequential(Shares::all(share))
    }

    /// Every tenant's pages hold data, as far as the share (0 to 1) goes, overwritten at random for
    /// ever.
    pub fn steady(share: f64) -> Self {
        Self::Steady(Shares::all(share))
    }

    /// The word for it on a command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Footprint => "footprint",
            Self::Sequential(_) => "sequential",
            Self::Steady(_) => "steady",
            Self::Restored(_) => "restored",
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let (Self::Sequential(Shares(shares)) | Self::Steady(Shares(shares))) = self else {
            return Ok(());
        };
        match shares.as_slice() {
            [Share::Fraction(share)] if *share == 1.0 => Ok(()),
            shares => {
                for (place, share) in shares.iter().enumerate() {
                    f.write_str(if place == 0 { ":" } else { "," })?;
                    match share {
                        Share::Fraction(share) => write!(f, "{share}")?,
                        Share::Pages(pages) => write!(f, "{pages} pages")?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Start {
    type Err = PreparationError;

    /// `empty`, `footprint`, `sequential[:SHARE]` or `steady[:SHARE]`, with SHARE from 0 to 1 (1
    /// unless given).
    fn from_str(text: &str) -> Result<Self, PreparationError> {
        let (word, share) = match text.split_once(':') {
            Some((word, share)) => (word, Some(share)),
            None => (text, None),
        };
        let wrong = PreparationError::UnknownStart;
        let share = match share.map(str::parse) {
            None => None,
            Some(Ok(share)) if (0.0..=1.0).contains(&share) => Some(share),
            Some(_) => return Err(wrong),
        };
        match (word, share) {
            ("empty", None) => Ok(Self::Empty),
            ("footprint", None) => Ok(Self::Footprint),
            ("sequential", share) => Ok(Self::sequential(share.unwrap_or(1.0))),
            ("steady", share) => Ok(Self::steady(share.unwrap_or(1.0))),
            _ => Err(wrong),
        }
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random { times } => write!(f, "random:{times}"),
            Self::Trace { times } => write!(f, "trace:{times}"),
        }
    }
}

impl FromStr for Age {
    type Err = PreparationError;

    /// `random[:TIMES]` (0 to 100, [`OVERWRITES`] unless given) or `trace[:TIMES]` (1 to 100, once
    /// unless given).
    fn from_str(text: &str) -> Result<Self, PreparationError> {
        let (word, times) = match text.split_once(':') {
            Some((word, times)) => (word, Some(times)),
            None => (text, None),
        };
        let wrong = PreparationError::UnknownAge;
        let times = match times.map(str::parse) {
            None => None,
            Some(Ok(times)) if times <= TIMES_MAX => Some(times),
            Some(_) => return Err(wrong),
        };
        match (word, times) {
            ("random", times) => Ok(Self::Random { times: times.unwrap_or(OVERWRITES) }),
            ("trace", None) => Ok(Self::Trace { times: 1 }),
            ("trace", Some(times)) if times > 0 => Ok(Self::Trace { times }),
            _ => Err(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_printed_alike() {
        for text in ["empty", "footprint", "sequential", "sequential:0.5", "steady", "steady:0"] {
            assert_eq!(text.parse::<Start>().unwrap().to_string(), text);
        }
        for text in ["random:0", "random:7", "trace:1", "trace:100"] {
            assert_eq!(text.parse::<Age>().unwrap().to_string(), text);
        }
        assert_eq!("steady:1".parse(), Ok(Start::steady(1.0)));
        assert_eq!("random".parse(), Ok(Age::Random { times: OVERWRITES }));
        assert_eq!("trace".parse(), Ok(Age::Trace { times: 1 }));
    }

    #[test]
    fn wrong_words_are_refused() {
        let starts = ["", "full", "empty:0.5", "footprint:1", "steady:1.1", "steady:-1", "steady:"];
        for text in starts {
            assert_eq!(text.parse::<Start>(), Err(PreparationError::UnknownStart), "{text}");
        }
        for text in ["", "random:101", "random:x", "trace:0", "trace:", "for-ever"] {
            assert_eq!(text.parse::<Age>(), Err(PreparationError::UnknownAge), "{text}");
        }
    }

    #[test]
    fn parts_that_do_not_go_together_are_told_apart() {
        let check = |start: &str, ages: &[&str], erases| {
            let (start, seed) = (start.parse().unwrap(), 0);
            let ages = ages.iter().map(|age| age.parse().unwrap()).collect();
            Preparation { start, ages, erases, seed }.check()
        };
        assert_eq!(check("empty", &[], 0), Ok(()));
        assert_eq!(check("footprint", &["trace:2"], 0), Ok(()));
        assert_eq!(check("sequential:0.5", &["random", "trace"], 0), Ok(()));
        assert_eq!(check("steady", &["trace"], 9), Ok(()));
        assert_eq!(check("steady", &["random"], 0), Err(PreparationError::AlreadySteady));
        let nothing = Err(PreparationError::NothingToOverwrite("footprint"));
        assert_eq!(check("footprint", &["random"], 0), nothing);
        let late = Err(PreparationError::RandomNotFirst);
        assert_eq!(check("sequential", &["trace", "random"], 0), late);
        let worn = Err(PreparationError::ErasesWithoutDefinition);
        assert_eq!(check("empty", &[], 1), worn);
        assert_eq!(check("sequential", &["random"], 1), worn);
        let kept = Preparation { erases: 3, ..Preparation::of(Start::Restored("a".into()), 0) };
        assert_eq!(kept.check(), Err(PreparationError::RestoredHasItsPast));
    }
}
