//! The conversion of traces into another trace: join them, select requests, change times, fit
//! addresses to a drive, split the result.
//!
//! The steps run in the order of the fields of [`Conversion`]. Dense addresses and splitting must
//! know the whole trace before the first request can go out; each of the two reads the traces once
//! more. For the memory of the steps see [`crate::transform`].

use crate::error::TraceError;
use crate::merge::{Concat, Merge, Tenants};
use crate::source::Source;
use crate::transform::{
    Chain, ClipGaps, Cut, Deduplicate, Dense, DenseOptions, DensePlan, Filter, Modulo, ScaleTime,
    SplitPlan,
};
use crate::writer::TraceWriter;
use ssdtune_model::{Bytes, Nanos, Sectors};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// A way in which several traces become one, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinName {
    /// `merge`: [`Join::Merge`].
    Merge,
    /// `concat`: [`Join::Concat`].
    Concat,
}

impl std::str::FromStr for JoinName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "merge" => Ok(Self::Merge),
            "concat" => Ok(Self::Concat),
            _ => Err("write merge or concat".to_owned()),
        }
    }
}

/// How several traces become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// All traces run at the same time. Each trace becomes a tenant.
    Merge,
    /// The traces run one after the other. Devices of the same name become the same tenant.
    Concat {
        /// The time between the last request of a trace and the start of the next.
        pause: Nanos,
    },
}

impl Join {
    /// The way of this name, with the pause that is asked for.
    ///
    /// # Errors
    /// A pause is given that this way does not use.
    pub fn asked(how: JoinName, pause: Option<Nanos>) -> Result<Self, ConversionError> {
        match (how, pause) {
            (JoinName::Concat, pause) => Ok(Self::Concat { pause: pause.unwrap_or(Nanos::ZERO) }),
            (JoinName::Merge, None) => Ok(Self::Merge),
            (JoinName::Merge, Some(_)) => {
                Err(ConversionError::Needs { option: "--pause", needs: "--join concat" })
            }
        }
    }

    /// Joins `sources` into one. A single source needs no `join`, and stays as it is without one.
    ///
    /// # Errors
    /// There are several sources and `join` is `None`, there are no sources, or more than 65,535.
    pub fn sources(
        join: Option<Self>,
        mut sources: Vec<Box<dyn Source>>,
    ) -> Result<Box<dyn Source>, ConversionError> {
        match join {
            None if sources.len() == 1 => Ok(sources.remove(0)),
            None => Err(ConversionError::NotJoined),
            Some(Self::Merge) => Ok(Box::new(Merge::new(sources, Tenants::PerSource)?)),
            Some(Self::Concat { pause }) => {
                Ok(Box::new(Concat::new(sources, Tenants::ByName, pause)?))
            }
        }
    }
}

/// A way in which addresses are fitted to a drive, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemapName {
    /// `dense`: [`Remap::Dense`].
    Dense,
    /// `modulo`: [`Remap::Modulo`].
    Modulo,
}

impl std::str::FromStr for RemapName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dense" => Ok(Self::Dense),
            "modulo" => Ok(Self::Modulo),
            _ => Err("write dense or modulo".to_owned()),
        }
    }
}

/// How addresses are fitted to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remap {
    /// Numbers the chunks that the trace touches, without gaps.
    Dense {
        /// The size of a chunk.
        chunk: Sectors,
        /// The size of the drive that the chunks must fit into; `None` for any size.
        capacity: Option<Bytes>,
    },
    /// Takes addresses modulo the size of the drive.
    Modulo {
        /// The size of the drive; at least 1 GiB.
        capacity: Sectors,
    },
}

impl Remap {
    /// The size of a chunk if none is said.
    const CHUNK: Bytes = Bytes(16 << 10);

    /// The way of this name, with the sizes that are asked for.
    ///
    /// # Errors
    /// A size is given that this way does not use, or one that it needs is missing.
    pub fn asked(
        how: RemapName,
        chunk: Option<Bytes>,
        capacity: Option<Bytes>,
    ) -> Result<Self, ConversionError> {
        let needs = |option, needs| Err(ConversionError::Needs { option, needs });
        match (how, chunk, capacity) {
            (RemapName::Dense, chunk, capacity) => {
                let chunk = chunk.unwrap_or(Self::CHUNK).sectors_floor();
                Ok(Self::Dense { chunk, capacity })
            }
            (RemapName::Modulo, Some(_), _) => needs("--chunk", "--remap dense"),
            (RemapName::Modulo, None, None) => needs("--remap modulo", "--capacity"),
            (RemapName::Modulo, None, Some(capacity)) => {
                Ok(Self::Modulo { capacity: capacity.sectors_floor() })
            }
        }
    }
}

/// The steps of a conversion. Steps that are `None` are left out.
#[derive(Clone, Debug, Default)]
pub struct Conversion {
    /// Drops a request that repeats an earlier one within this time.
    pub dedupe: Option<Nanos>,
    /// Keeps the requests that pass a filter.
    pub filter: Option<Filter>,
    /// Keeps a part of the trace.
    pub cut: Option<Cut>,
    /// Shortens longer gaps between requests to this time.
    pub clip_gaps: Option<Nanos>,
    /// Multiplies all times by this factor.
    pub time_scale: Option<f64>,
    /// Fits addresses to a drive.
    pub remap: Option<Remap>,
    /// Splits the trace by time into two or more parts, with these shares.
    pub split: Option<Vec<u32>>,
}

/// Why a conversion fails.
#[derive(Debug, Error)]
pub enum ConversionError {
    /// A trace cannot be read, or an option is wrong.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// There are several traces, and no way to join them was given.
    #[error(
        "several traces: say --join merge (side by side, each a tenant) or --join concat (one \
         after the other)"
    )]
    NotJoined,
    /// An option is given that does nothing without another one.
    #[error("{option} needs {needs}")]
    Needs {
        /// The option.
        option: &'static str,
        /// The other one, with its value if it must have a certain one.
        needs: &'static str,
    },
    /// The drive is smaller than the part of the address space that the trace touches.
    #[error(
        "the trace touches {needed}, the drive has {capacity}: take a larger drive, a part of the \
         trace, or --remap modulo"
    )]
    TooLarge {
        /// The size of the dense address space.
        needed: Bytes,
        /// The size of the drive.
        capacity: Bytes,
    },
}

impl ConversionError {
    /// Whether the options are wrong, rather than a trace.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NotJoined | Self::Needs { .. } | Self::Trace(TraceError::Option { .. })
        )
    }
}

/// A conversion that is ready for its last pass over the traces.
pub struct Converted {
    /// The converted requests.
    pub source: Chain<Box<dyn Source>>,
    /// The times at which the parts end, if the trace is split.
    pub split: Option<SplitPlan>,
    /// The sizes of a dense address space, if addresses are numbered.
    pub dense: Option<DenseSize>,
}

/// Why the parts of a conversion are not complete.
#[derive(Debug, Error)]
pub enum PartsError {
    /// A trace cannot be read to its end.
    #[error("{0}")]
    Read(#[source] TraceError),
    /// A part cannot be written.
    #[error(transparent)]
    Write(TraceError),
    /// The caller asked to stop.
    #[error("interrupted")]
    Stopped,
}

impl Converted {
    /// How many parts there are; 1 if the trace is not split.
    pub fn parts(&self) -> usize {
        self.split.as_ref().map_or(1, SplitPlan::parts)
    }

    /// Reads the requests to their end and writes each into its part, until `stop` is set. There is
    /// a writer for each part.
    ///
    /// # Errors
    /// A request cannot be read or written, or `stop` was set.
    pub fn write_parts(
        &mut self,
        writers: &mut [TraceWriter],
        stop: &AtomicBool,
    ) -> Result<(), PartsError> {
        let mut batch = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            batch.clear();
            if self.source.fill(&mut batch).map_err(PartsError::Read)? == 0 {
                return Ok(());
            }
            let Some(plan) = &mut self.split else {
                writers[0].write(&batch).map_err(PartsError::Write)?;
                continue;
            };
            let mut outcome = Ok(());
            plan.cut(&batch, |part, requests| {
                if outcome.is_ok() {
                    outcome = writers[part].write(&requests).map_err(PartsError::Write);
                }
            });
            outcome?;
        }
        Err(PartsError::Stopped)
    }
}

/// The sizes of a dense address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseSize {
    /// The size of the address space.
    pub space: Bytes,
    /// The memory for the numbers of the chunks.
    pub table: Bytes,
}

impl Conversion {
    /// Shares of a split as a user writes them, as in `70/20/10`. One that is no number becomes 0,
    /// which is refused.
    pub fn shares(text: &str) -> Vec<u32> {
        text.split('/').map(|share| share.trim().parse().unwrap_or(0)).collect()
    }

    /// Prepares the conversion and returns a source of the converted requests.
    ///
    /// `traces` opens the joined traces anew for each pass: one to number addresses, one to split,
    /// and the last one that yields the requests.
    ///
    /// # Errors
    /// An option is wrong, the traces cannot be opened or read, or they do not fit the drive.
    pub fn open(
        &self,
        mut traces: impl FnMut() -> Result<Box<dyn Source>, ConversionError>,
    ) -> Result<Converted, ConversionError> {
        self.check()?;
        let plan = match self.remap {
            Some(Remap::Dense { chunk, capacity }) => {
                Some(self.number(traces()?, chunk, capacity)?)
            }
            _ => None,
        };
        let split = match &self.split {
            Some(shares) => Some(SplitPlan::of(&mut self.select(traces()?)?, shares)?),
            None => None,
        };
        let dense = plan.as_ref().map(|plan| DenseSize {
            space: plan.sectors().bytes(),
            table: Bytes(plan.bitmap_bytes()),
        });
        let folded = match self.remap {
            Some(Remap::Modulo { capacity }) => Some(Modulo::new(capacity)?),
            _ => None,
        };
        let source = self.select(traces()?)?.then_if(plan.map(Dense)).then_if(folded);
        Ok(Converted { source, split, dense })
    }

    /// Finds wrong options before anything is read.
    fn check(&self) -> Result<(), TraceError> {
        if let Some(factor) = self.time_scale {
            ScaleTime::new(factor)?;
        }
        if let Some(Remap::Modulo { capacity }) = self.remap {
            Modulo::new(capacity)?;
        }
        if let Some(shares) = &self.split {
            SplitPlan::new(Nanos::ZERO, shares)?;
        }
        Ok(())
    }

    /// Applies every step but those on addresses and the split.
    fn select(&self, traces: Box<dyn Source>) -> Result<Chain<Box<dyn Source>>, TraceError> {
        let scale = self.time_scale.map(ScaleTime::new).transpose()?;
        Ok(Chain::new(traces)
            .then_if(self.dedupe.map(Deduplicate::new))
            .then_if(self.filter.clone())
            .then_if(self.cut.clone())
            .then_if(self.clip_gaps.map(ClipGaps::new))
            .then_if(scale))
    }

    /// Numbers the chunks that the traces touch.
    fn number(
        &self,
        traces: Box<dyn Source>,
        chunk: Sectors,
        capacity: Option<Bytes>,
    ) -> Result<DensePlan, ConversionError> {
        let options = DenseOptions { chunk, ..DenseOptions::default() };
        let plan = DensePlan::of(&mut self.select(traces)?, options)?;
        let needed = plan.sectors().bytes();
        match capacity.filter(|&capacity| needed > capacity) {
            Some(capacity) => Err(ConversionError::TooLarge { needed, capacity }),
            None => Ok(plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Op, Request};
    use crate::source::Requests;
    use ssdtune_model::TenantId;

    /// Requests in memory, handed out in one batch.
    struct Memory(Vec<Request>);

    impl Source for Memory {
        fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
            let count = self.0.len();
            out.append(&mut self.0);
            Ok(count)
        }
    }

    /// Ten reads of 16 KiB, one second and one gibibyte apart.
    fn trace() -> Box<dyn Source> {
        let request = |n: u64| Request {
            at: Nanos(n * 1_000_000_000),
            lba: Sectors(n << 21),
            sectors: 32,
            tenant: TenantId(0),
            op: Op::Read,
        };
        Box::new(Memory((0..10).map(request).collect()))
    }

    fn convert(conversion: &Conversion) -> (Vec<Request>, Converted, u32) {
        let mut passes = 0;
        let mut converted = conversion
            .open(|| {
                passes += 1;
                Ok(trace())
            })
            .unwrap();
        let mut requests = Vec::new();
        while converted.source.fill(&mut requests).unwrap() > 0 {}
        (requests, converted, passes)
    }

    #[test]
    fn addresses_come_last_so_that_only_selected_requests_are_numbered() {
        let conversion = Conversion {
            cut: Some(Cut::new(Nanos(4_000_000_000)..Nanos::MAX, 1, 3)),
            time_scale: Some(0.5),
            remap: Some(Remap::Dense { chunk: Sectors(32), capacity: Some(Bytes(48 << 10)) }),
            split: Some(vec![2, 1]),
            ..Conversion::default()
        };
        let (requests, converted, passes) = convert(&conversion);
        let found: Vec<(u64, u64)> =
            requests.iter().map(|request| (request.at.0 / 1_000_000, request.lba.0)).collect();
        assert_eq!(found, [(500, 0), (1_000, 32), (1_500, 64)]);
        assert_eq!(passes, 3);
        assert_eq!(converted.dense.map(|dense| dense.space), Some(Bytes(48 << 10)));
        assert_eq!(converted.split.map(|split| split.parts()), Some(2));
    }

    #[test]
    fn one_pass_is_enough_without_plans() {
        let remap = Some(Remap::Modulo { capacity: Sectors(3 << 21) });
        let (requests, converted, passes) = convert(&Conversion { remap, ..Conversion::default() });
        assert_eq!(passes, 1);
        assert!(converted.dense.is_none() && converted.split.is_none());
        assert!(requests.iter().zip(0u64..).all(|(request, n)| request.lba.0 == (n % 3) << 21));
    }

    #[test]
    fn what_is_wrong_is_found_before_anything_is_read() {
        let unread = || -> Result<Box<dyn Source>, ConversionError> { panic!("nothing is read") };
        let plain = Conversion::default;
        for wrong in [
            Conversion { time_scale: Some(-1.0), ..plain() },
            Conversion { split: Some(vec![1, 0]), ..plain() },
            Conversion { remap: Some(Remap::Modulo { capacity: Sectors(9) }), ..plain() },
        ] {
            let error = wrong.open(unread).err().expect("refused");
            assert!(error.is_usage(), "{error}");
        }
        let small = Remap::Dense { chunk: Sectors(32), capacity: Some(Bytes(159 << 10)) };
        let error = Conversion { remap: Some(small), ..plain() }.open(|| Ok(trace()));
        let error = error.err().expect("160 KiB do not fit");
        assert!(!error.is_usage() && error.to_string().contains("159 KiB"), "{error}");
    }

    #[test]
    fn several_traces_must_be_joined() {
        let joined = |join| Join::sources(join, vec![trace(), trace()]);
        assert!(matches!(joined(None), Err(ConversionError::NotJoined)));
        let all = |join| Requests::new(joined(Some(join)).unwrap()).collect::<Result<Vec<_>, _>>();
        let merged = all(Join::Merge).unwrap();
        assert_eq!(merged.len(), 20);
        assert_eq!((merged[0].tenant, merged[1].tenant), (TenantId(0), TenantId(1)));
        let after = all(Join::Concat { pause: Nanos(500_000_000) }).unwrap();
        assert_eq!(after[10].at, Nanos(9_500_000_000));
        assert!(Join::sources(None, vec![trace()]).is_ok());
    }
}
