//! The rules of agreement with MQSim: recorded cases, run again and compared figure by figure.
//!
//! A battery is a folder with `cases.json` and the files it names ([`Battery`]). Every case has a
//! drive and a workload of MQSim and the figures that MQSim gave for them ([`Case`], [`Metrics`]).
//! [`run_case`] runs a case with the peculiarities of MQSim reproduced, [`compare`] judges its
//! figures by the rules of the case's tier ([`Agreement`]), and [`Summary`] is the verdict over
//! many cases, told to people by [`text()`]. What MQSim's defects make different on purpose stands
//! in `docs/mqsim-differences.md`.
//!
//! A case takes as long as its simulation; comparing costs nothing beside it.

mod battery;
mod compare;
mod metrics;
mod rank;
mod run;
mod summary;
mod text;

pub use battery::{Battery, BatteryError, Case, Tier, UnknownCase};
pub use compare::{Agreement, Difference, compare};
pub use metrics::{
    CollectionCounts, FlashCommandCounts, FlashPageCounts, FlowMetrics, Latency,
    MappingCacheCounts, Metrics, Split,
};
pub use rank::{RankCorrelation, RankedCase};
pub use run::run_case;
pub use summary::{CaseResult, Cost, Status, Summary, Tally};
pub use text::text;
