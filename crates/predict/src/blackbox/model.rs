//! A model of a drive: latency, IOPS and bandwidth of any workload, each with an interval, with a
//! warning for what is outside of the training data, and with the way through the tree in words.
//!
//! Each target has two regressors: the extended tree (Eq. 4, linear leaves), which can be read, and
//! the stronger one. Intervals come from cross-validation: each training row is predicted by models
//! that have not seen it, the ratios of truth to prediction are gathered for each leaf of the tree,
//! and the middle 90 % of a leaf's ratios are its band. A leaf of fewer than 20 rows has the band
//! of all rows.
//!
//! In a file a model is one JSON document with a version and its provenance.

use super::features::{Characteristics, Features};
use super::point::{Load, Point};
use super::regressor::{FitError, Regressor};
use super::results::ResultsSource;
use super::simulated_drive::MeasureSettings;
use serde::{Deserialize, Serialize};
use ssdtune_learn::{ModelFile, ModelFileError, Version, metrics};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeMap;
use std::path::Path;

/// The share of truths that an interval is meant to hold.
pub const COVERAGE: f64 = 0.9;
/// The fewest ratios that make a band of a leaf's own.
pub(super) const BAND_ROWS_MIN: usize = 20;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// What was measured, and how.
    pub source: ResultsSource,
    /// Digest of all results that the training points were drawn from.
    pub results_digest: String,
    /// How many results there were.
    pub points: usize,
    /// How many points the model learned from.
    pub trained_on: usize,
    /// Decided which points the model learned from.
    pub seed: u64,
    /// The program that fitted the model, and the version of its simulator's results.
    pub program: String,
    /// The command line of the program.
    pub command: String,
}

/// A figure that is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Mean latency, in nanoseconds.
    Latency,
    /// Requests completed in a second.
    Iops,
    /// Bytes moved in a second.
    Bandwidth,
}

impl Target {
    /// All targets, in the order of a [`Prediction`].
    pub const ALL: [Self; 3] = [Self::Latency, Self::Iops, Self::Bandwidth];

    /// The name of the target in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Iops => "IOPS",
            Self::Bandwidth => "bandwidth",
        }
    }

    /// A value of the target as people read it, with a unit that suits its size.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Latency if value < 1e4 => format!("{value:.0} ns"),
            Self::Latency if value < 1e7 => format!("{:.1} us", value / 1e3),
            Self::Latency => format!("{:.1} ms", value / 1e6),
            Self::Iops => format!("{value:.0}"),
            Self::Bandwidth => format!("{:.1} MB/s", value / 1e6),
        }
    }
}

/// The range of the middle [`COVERAGE`] of some ratios of truth to prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// How many ratios there were.
    pub rows: usize,
    /// The lower end of the range.
    pub low: f64,
    /// The upper end of the range.
    pub high: f64,
}

impl Band {
    /// The band of some ratios.
    pub(super) fn of(ratios: &[f64]) -> Result<Self, FitError> {
        let outside = 50.0 * (1.0 - COVERAGE);
        Ok(Self {
            rows: ratios.len(),
            low: metrics::percentile(ratios, outside)?,
            high: metrics::percentile(ratios, 100.0 - outside)?,
        })
    }
}

/// A regressor and the bands of its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Banded {
    pub(super) regressor: Regressor,
    /// The band of all training rows.
    pub(super) all: Band,
    /// The bands of the larger leaves, by the number of the leaf in the extended tree.
    pub(super) leaves: BTreeMap<usize, Band>,
}

impl Banded {
    /// Finds the bands from the training rows: the leaf of each in the tree, its truth, and what a
    /// model that has not seen it predicts.
    pub(super) fn new(
        regressor: Regressor,
        leaf_of: &[usize],
        truths: &[f64],
        unseen: &[f64],
    ) -> Result<Self, FitError> {
        let ratios: Vec<f64> =
            truths.iter().zip(unseen).map(|(truth, found)| truth / found).collect();
        let mut by_leaf: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (leaf, ratio) in leaf_of.iter().zip(&ratios) {
            by_leaf.entry(*leaf).or_default().push(*ratio);
        }
        let mut leaves = BTreeMap::new();
        for (leaf, ratios) in by_leaf {
            if ratios.len() >= BAND_ROWS_MIN {
                leaves.insert(leaf, Band::of(&ratios)?);
            }
        }
        Ok(Self { regressor, all: Band::of(&ratios)?, leaves })
    }

    fn estimate(&self, workload: &Characteristics, leaf: usize) -> Estimate {
        let value = self.regressor.predict(workload);
        let band = self.leaves.get(&leaf).unwrap_or(&self.all);
        Estimate { value, low: value * band.low, high: value * band.high }
    }
}

/// The two regressors of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetRegressors {
    pub(super) target: Target,
    pub(super) tree: Banded,
    pub(super) strong: Banded,
}

/// The values that one characteristic had in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Name of the characteristic.
    pub name: String,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// A fitted model of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlackBoxModel {
    pub(super) version: Version<1>,
    /// Where the model comes from.
    pub provenance: Provenance,
    /// Whether workloads are given by the rate of their requests (an open loop) and not by how many
    /// are outstanding (a closed loop).
    pub open: bool,
    pub(super) ranges: Vec<Range>,
    pub(super) targets: Vec<TargetRegressors>,
}

/// A predicted value and its interval, which holds the truth nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value predicted.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What a model predicts for a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The workload.
    pub workload: Characteristics,
    /// What the stronger regressors predict: latency in nanoseconds, IOPS, and bytes in a second.
    pub strong: [Estimate; 3],
    /// What the trees predict: latency in nanoseconds, IOPS, and bytes in a second.
    pub tree: [Estimate; 3],
    /// A sentence for each characteristic that is outside of the training data.
    pub warnings: Vec<String>,
}

const FILE: ModelFile =
    ModelFile { holds: "black-box model", written_by: "ssdtune predict-perf fit" };

/// Why a workload is not one that a model can predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopError {
    /// A depth is given to a model of an open loop.
    #[error("the model is of an open loop: leave out --depth, the trace has its own times")]
    DepthOfOpenLoop,
    /// No depth is given to a model of a closed loop.
    #[error("the model is of a closed loop: give --depth")]
    NoDepth,
    /// No rate is given to a model of an open loop.
    #[error("the model is of an open loop: give --rate IOPS")]
    NoRate,
    /// A rate or an open point is given to a model of a closed loop.
    #[error("the model is of a closed loop: give a point with a depth (q), and no --rate")]
    RateOfClosedLoop,
}

impl BlackBoxModel {
    /// Reads a model from a file and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// The model as a JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a model is plain data") + "\n"
    }

    /// Whether the parts of the model fit together; the error says which do not.
    fn verify(&self) -> Result<(), String> {
        let targets: Vec<Target> = self.targets.iter().map(|one| one.target).collect();
        if targets != Target::ALL {
            return Err("it does not have latency, IOPS and bandwidth, in this order".to_owned());
        }
        if self.ranges.len() != Features::Extended.names(self.open).len() {
            return Err(format!("it has {} ranges", self.ranges.len()));
        }
        for both in &self.targets {
            for banded in [&both.tree, &both.strong] {
                if !banded.regressor.is_sound(self.open) {
                    return Err(format!("its {} is not of its recipe", both.target.name()));
                }
                let bands = banded.leaves.values().chain([&banded.all]);
                if bands.into_iter().any(|band| !(band.low > 0.0 && band.low <= band.high)) {
                    return Err(format!("a band of its {} is no interval", both.target.name()));
                }
            }
            if both.tree.regressor.path(&Characteristics::default()).is_none() {
                return Err(format!("its {} has no tree", both.target.name()));
            }
        }
        Ok(())
    }

    /// Whether a trace can be predicted with this depth, or with none.
    ///
    /// # Errors
    /// A model of a closed loop needs a depth, one of an open loop needs none.
    pub fn check_depth(&self, depth: Option<u32>) -> Result<(), LoopError> {
        match (self.open, depth) {
            (true, Some(_)) => Err(LoopError::DepthOfOpenLoop),
            (false, None) => Err(LoopError::NoDepth),
            (true, None) | (false, Some(_)) => Ok(()),
        }
    }

    /// What is to be said if the model is of another drive than this one, as it is configured.
    pub fn other_drive(&self, config: &DeviceConfig, settings: &MeasureSettings) -> Option<String> {
        let asked = ResultsSource::simulated(config, String::new(), settings.clone(), &[]);
        let own = &self.provenance.source;
        (asked.device_digest() != own.device_digest()).then(|| {
            let (model, drive) = (own.device(), &config.name);
            format!("the model is of {model}, whose configuration is not that of {drive}")
        })
    }

    /// The characteristics by which the model knows a point. In an open loop `rate_iops` requests
    /// arrive in a second, whatever load the point names.
    ///
    /// # Errors
    /// A model of an open loop needs a rate; one of a closed loop needs a point with a depth, and
    /// no rate.
    pub fn characteristics(
        &self,
        point: &Point,
        rate_iops: Option<f64>,
    ) -> Result<Characteristics, LoopError> {
        match (self.open, point.load(), rate_iops) {
            (true, _, Some(_)) => {
                let open = point.with_load(Load::Percent(100));
                Ok(Characteristics::of_point(&open, rate_iops))
            }
            (true, _, None) => Err(LoopError::NoRate),
            (false, Load::Depth(_), None) => Ok(Characteristics::of_point(point, None)),
            (false, _, _) => Err(LoopError::RateOfClosedLoop),
        }
    }

    /// Predicts a workload. Its characteristics must be finite.
    pub fn predict(&self, workload: &Characteristics) -> Prediction {
        let nothing = Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        let (mut strong, mut tree) = ([nothing; 3], [nothing; 3]);
        for (at, both) in self.targets.iter().enumerate().take(3) {
            let leaf = match both.tree.regressor.path(workload) {
                Some(Ok(path)) => path.leaf,
                _ => continue,
            };
            strong[at] = both.strong.estimate(workload, leaf);
            tree[at] = both.tree.estimate(workload, leaf);
        }
        Prediction { workload: *workload, strong, tree, warnings: self.outside(workload) }
    }

    /// What the stronger regressor predicts for one target, without an interval: the quick way.
    pub fn value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).strong.regressor.predict(workload)
    }

    /// What the tree predicts for one target, without an interval.
    pub fn tree_value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).tree.regressor.predict(workload)
    }

    fn of(&self, target: Target) -> &TargetRegressors {
        self.targets.iter().find(|both| both.target == target).expect("checked when read or made")
    }

    /// The ranges of the characteristics in training, in the order of Eq. 4.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// A sentence for each characteristic that is outside of its range in training.
    fn outside(&self, workload: &Characteristics) -> Vec<String> {
        let row = Features::Extended.row(workload);
        let outside = |(range, value): (&Range, f64)| {
            let Range { name, low, high } = range;
            // A direction without requests has no size.
            let idle = (name.starts_with("wr_") && workload.extended.rw_ratio == 0.0)
                || (name.starts_with("rd_") && workload.extended.rw_ratio == 1.0);
            let inside = idle || (*low..=*high).contains(&value);
            (!inside).then(|| {
                format!(
                    "{name} = {} is outside the training range {} to {}: the prediction is a guess",
                    number(value),
                    number(*low),
                    number(*high)
                )
            })
        };
        self.ranges.iter().zip(row).filter_map(outside).collect()
    }

    /// The way of a workload through the tree of a target: a line for each step, one for the leaf,
    /// and one for its band.
    pub fn explain(&self, target: Target, workload: &Characteristics) -> Vec<String> {
        let both = self.of(target);
        let features = both.tree.regressor.recipe().features;
        let (names, row) = (features.names(self.open), features.row(workload));
        let Some(Ok(path)) = both.tree.regressor.path(workload) else { return Vec::new() };
        let mut lines: Vec<String> = path
            .steps
            .iter()
            .map(|step| {
                let verb = if step.below { "is at most" } else { "is above" };
                let (name, value) = natural(&names[step.column], row[step.column]);
                let (_, threshold) = natural(&names[step.column], step.threshold);
                format!("{name} = {value} {verb} {threshold}")
            })
            .collect();
        let mut sum = number(path.intercept);
        let varying = path.slopes.iter().zip(&names).filter(|(slope, _)| **slope != 0.0);
        for (slope, name) in varying {
            let sign = if *slope < 0.0 { '-' } else { '+' };
            sum += &format!(" {sign} {} {name}", number(slope.abs()));
        }
        let scale = match both.tree.regressor.recipe().scale {
            super::regressor::Scale::Log => "the logarithm of the ",
            _ => "the ",
        };
        lines.push(format!(
            "so leaf {} with {} of the training points: {scale}{} is {sum}",
            path.leaf,
            path.rows,
            target.name()
        ));
        if path.clamped {
            lines.push(
                "which leaves what the leaf was trained on, and is held at its end".to_owned(),
            );
        }
        let band = both.tree.leaves.get(&path.leaf).unwrap_or(&both.tree.all);
        lines.push(format!(
            "nine in ten of {} were between {} and {} times what was predicted",
            if both.tree.leaves.contains_key(&path.leaf) {
                "the leaf's points"
            } else {
                "all points"
            },
            number(band.low),
            number(band.high)
        ));
        lines
    }
}

/// The characteristic behind a column, and its value in the characteristic's own unit.
fn natural(name: &str, value: f64) -> (&str, String) {
    let Some(plain) = name.strip_prefix("log2 ") else { return (name, number(value)) };
    // Sizes and strides are in octaves above a sector of 512 bytes.
    let is_bytes = plain.ends_with("_size") || plain.ends_with("_stride");
    (plain, number(value.exp2() * if is_bytes { 512.0 } else { 1.0 }))
}

/// A number with four significant digits.
fn number(value: f64) -> String {
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..9).contains(&size) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (3 - size).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
