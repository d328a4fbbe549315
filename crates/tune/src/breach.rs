//! Limits that show only when a drive is measured, and what to say where no drive keeps them all.
//!
//! A broken limit has one code everywhere, in texts and documents: the name that it has in a
//! constraints file.

use crate::grade::Speedup;
use crate::limits::Limits;
use crate::workload::Workload;
use serde::Serialize;
use std::fmt;

/// The version of the result documents of a search.
pub const SCHEMA: u32 = 1;

/// The code of the limit on average power.
pub const POWER_BUDGET: &str = "power_budget_watts";
/// The code of the limit on what other workloads may lose.
pub const MAX_HARM: &str = "max_harm";

/// Which traces of a workload a drive was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceSet {
    /// Those that a search learns from.
    Search,
    /// Those on which a result is judged, and from which no proposal learns.
    Validation,
    /// Those that are only reported.
    HeldOut,
}

impl fmt::Display for TraceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Search => "traces of the search",
            Self::Validation => "validation traces",
            Self::HeldOut => "held-out traces",
        })
    }
}

/// A limit that a measured drive breaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breach {
    /// The code of the limit.
    pub code: &'static str,
    /// The workload on which it showed.
    pub workload: String,
    /// On which traces of it.
    pub traces: TraceSet,
    /// What was measured: `power`, `latency` or `throughput`.
    pub quantity: &'static str,
    /// The measured value: watts, or a speedup over the baseline, which is 0 where the drive cannot
    /// serve the workload.
    pub measured: f64,
    /// What the limit allows: the most watts, or the least speedup.
    pub limit: f64,
    /// By how much it is broken: the ratio of the two, less 1.
    pub excess: f64,
}

impl Breach {
    /// The breach of the power budget by an average power on a workload, if there is one.
    pub(crate) fn of_power(
        limits: &Limits,
        workload: &Workload,
        traces: TraceSet,
        watts: f64,
    ) -> Option<Self> {
        let limit = limits.constraints.power_budget_watts.filter(|most| watts > *most)?;
        Some(Self {
            code: POWER_BUDGET,
            workload: workload.name.clone(),
            traces,
            quantity: "power",
            measured: watts,
            limit,
            excess: watts / limit - 1.0,
        })
    }

    /// The breaches by a speedup on another workload that may lose a share of its latency and of
    /// its throughput.
    pub(crate) fn of_harm<'a>(
        share: f64,
        workload: &'a Workload,
        traces: TraceSet,
        speedup: &Speedup,
    ) -> impl Iterator<Item = Self> + use<'a> {
        /// Stands for the speedup of a drive that cannot serve the workload.
        const NEARLY_NOTHING: f64 = 1e-9;
        let limit = 1.0 - share;
        let figures = [("latency", speedup.latency), ("throughput", speedup.throughput)];
        figures.into_iter().filter(move |(_, measured)| *measured < limit).map(
            move |(quantity, measured)| Self {
                code: MAX_HARM,
                workload: workload.name.clone(),
                traces,
                quantity,
                measured,
                limit,
                excess: limit / measured.max(NEARLY_NOTHING) - 1.0,
            },
        )
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, workload, traces, quantity, measured, limit, excess } = self;
        if *code == POWER_BUDGET {
            let percent = excess * 100.0;
            return write!(
                f,
                "{code}: {measured:.3} W on average on {traces} of {workload}, at most {limit} W \
                 ({percent:.1} % over)"
            );
        }
        let lost = (1.0 - measured) * 100.0;
        write!(
            f,
            "{code}: {quantity} of {workload} is {measured:.3}x the baseline's on {traces}, at \
             least {limit}x ({lost:.1} % lost)"
        )
    }
}

/// The measured drive that comes nearest to keeping every limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearest {
    /// The number of the trial.
    pub number: usize,
    /// The speedup on the target.
    pub target: Option<Speedup>,
    /// The limits that it breaks.
    pub breaches: Vec<Breach>,
}

/// No measured drive keeps every limit, the baseline included. Field names are part of the result
/// document.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
pub struct NothingKept {
    /// The version of this document, [`SCHEMA`].
    pub schema: u32,
    /// Whether a drive was found: no.
    pub found: bool,
    /// The codes of all limits named below, each once.
    pub broken: Vec<&'static str>,
    /// The limits that the baseline breaks.
    pub baseline: Vec<Breach>,
    /// The measured drive that comes nearest; `None` where none was measured beside the baseline.
    pub nearest: Option<Nearest>,
    /// The number of proposals.
    pub proposals: usize,
    /// Evaluations of the target spent on them.
    pub spent: f64,
}

impl fmt::Display for NothingKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { proposals, spent, .. } = self;
        write!(
            f,
            "no drive that keeps every limit was found: {proposals} proposals, {spent:.1} \
             evaluations spent"
        )?;
        if let Some(nearest) = &self.nearest {
            for breach in &nearest.breaches {
                write!(f, "\n  the nearest, trial {}: {breach}", nearest.number)?;
            }
        }
        for breach in &self.baseline {
            write!(f, "\n  the baseline: {breach}")?;
        }
        write!(f, "\nloosen what is broken ({}), or give more --budget", self.broken.join(", "))
    }
}
