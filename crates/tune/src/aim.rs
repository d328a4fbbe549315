//! What a search may aim at in place of the grade: figures of a drive of which less or more is
//! better.
//!
//! A gain is the logarithm of how many times better a drive is than the baseline: 0 is as good, and
//! 0.69 twice as good, whatever the unit. So aims can be laid side by side.

use crate::evaluate::{Measurement, WorkloadMeasurement, charged_ns};
use crate::grade::LatencyFigure;
use crate::limits::{Prices, endurance_bytes};
use serde::{Deserialize, Serialize};
use ssdtune_model::DeviceConfig;
use std::fmt;
use std::str::FromStr;

/// A figure of a drive that a search improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aim {
    /// Mean response time at the target's own arrival times.
    Latency,
    /// The response time that 99 % of the target's requests do not exceed.
    P99,
    /// The response time that 99.9 % of the target's requests do not exceed.
    #[serde(rename = "p99.9")]
    P999,
    /// Throughput in the target's closed loop.
    Throughput,
    /// The price of the parts.
    Price,
    /// Average power at the target's own arrival times.
    Power,
    /// What may be written, in the target's manner, until cells are worn as far as they are rated.
    Endurance,
}

impl Aim {
    /// Every aim.
    pub const ALL: [Self; 7] = [
        Self::Latency,
        Self::P99,
        Self::P999,
        Self::Throughput,
        Self::Price,
        Self::Power,
        Self::Endurance,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Throughput => "throughput",
            Self::Price => "price",
            Self::Power => "power",
            Self::Endurance => "endurance",
        }
    }

    /// The unit of [`Aim::value`] in reports, and how many of the value's own units make one.
    pub const fn unit(self) -> (&'static str, f64) {
        match self {
            Self::Latency | Self::P99 | Self::P999 => ("us", 1e3),
            Self::Throughput => ("MB/s", 1e6),
            Self::Price => ("", 1.0),
            Self::Power => ("W", 1.0),
            Self::Endurance => ("TB", 1e12),
        }
    }

    /// When the figure is known.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::Latency | Self::Throughput => "requests must move data",
            Self::P99 | Self::P999 => {
                "windows of long traces tell means only: with --requests N the first N requests \
                 are measured whole"
            }
            Self::Price => "the price list must not make it free",
            Self::Power => "the evaluator must count energy",
            Self::Endurance => "requests must write, and the evaluator must count programs",
        }
    }

    /// Whether more of it is better.
    pub const fn grows(self) -> bool {
        matches!(self, Self::Throughput | Self::Endurance)
    }

    /// The figure of a drive that was measured on the target: nanoseconds, bytes a second, money,
    /// watt or bytes. `None` where it is not known: nothing was written, the evaluator does not
    /// tell, there is no price list, or a percentile is asked of windows. What a used drive has
    /// left undone is charged, as it is to the grade.
    pub fn value(
        self,
        config: &DeviceConfig,
        measured: &WorkloadMeasurement,
        prices: Option<&Prices>,
    ) -> Option<f64> {
        let traces = measured.traces();
        let percentile = |figure: LatencyFigure| -> Option<f64> {
            // Windows tell means only.
            let whole = |trace: &&Measurement| trace.windows.is_empty();
            let each = traces.iter().map(|trace| {
                let open = Some(trace).filter(whole)?.open.as_ref()?;
                Some(charged_ns(figure, open, config)?.ln())
            });
            let sum: f64 = each.collect::<Option<Vec<f64>>>()?.iter().sum();
            Some((sum / traces.len() as f64).exp())
        };
        let figures = |part: fn(&crate::grade::Figures) -> f64| {
            let sum: f64 = traces.iter().map(|trace| part(&trace.figures).ln()).sum();
            Some((sum / traces.len() as f64).exp())
        };
        let value = match self {
            Self::Latency => figures(|figures| figures.latency_ns),
            Self::Throughput => figures(|figures| figures.throughput_bps),
            Self::P99 => percentile(LatencyFigure::P99),
            Self::P999 => percentile(LatencyFigure::P999),
            Self::Price => prices.map(|prices| prices.of(config)),
            Self::Power => measured.average_watts(),
            Self::Endurance => {
                measured.write_amplification().map(|own| endurance_bytes(config, own))
            }
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }

    /// The gain of a figure over the baseline's.
    pub fn gain(self, own: f64, baseline: f64) -> f64 {
        let more = (own / baseline).ln();
        if self.grows() { more } else { 0.0 - more }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Aim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|aim| aim.name() == text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|aim| aim.name()).collect();
            format!("no such aim; write some of {}, with commas between them", all.join(", "))
        })
    }
}
