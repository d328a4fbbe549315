//! A model of a drive: latency, IOPS and bandwidth of any workload, with an interval, a warning
//! outside what was trained on, and the way through the tree.
//!
//! Two regressors for each target: the extended tree (Eq. 4, linear leaves), which can be read, and
//! the stronger one. The interval comes from the residuals of the tree's leaf: each training row
//! was predicted by models that had not seen it (cross-validation), the ratios of truth to
//! prediction are gathered leaf by leaf, and the middle 90 % of a leaf's ratios are its band. A
//! leaf of fewer than 20 rows has the band of all.
//!
//! On disk: one JSON document, versioned, with where it comes from.

use super::features::{Characteristics, Features};
use super::regressor::{FitError, Regressor};
use super::results::Source;
use serde::{Deserialize, Serialize};
use ssdtune_learn::{ModelFile, ModelFileError, Version, metrics};
use std::collections::BTreeMap;
use std::path::Path;

/// Share of the truths that an interval is to hold.
pub const COVERAGE: f64 = 0.9;
/// Fewest ratios of a leaf's own band.
pub(super) const BAND_ROWS_MIN: usize = 20;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// What was measured.
    pub source: Source,
    /// Digest of the points and figures it was chosen from.
    pub results_digest: String,
    /// Points there were.
    pub points: usize,
    /// Points it learned from.
    pub trained_on: usize,
    /// What decided which.
    pub seed: u64,
    /// The program.
    pub program: String,
    /// How it was called.
    pub command: String,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Mean latency, nanoseconds.
    Latency,
    /// Requests a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Latency, Self::Iops, Self::Bandwidth];

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Iops => "IOPS",
            Self::Bandwidth => "bandwidth",
        }
    }
}

/// Ratios of truth to prediction that hold the middle [`COVERAGE`] of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Rows it was seen on.
    pub rows: usize,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Band {
    pub(super) fn of(ratios: &[f64]) -> Result<Self, FitError> {
        let outside = 50.0 * (1.0 - COVERAGE);
        Ok(Self {
            rows: ratios.len(),
            low: metrics::percentile(ratios, outside)?,
            high: metrics::percentile(ratios, 100.0 - outside)?,
        })
    }
}

/// A regressor and the bands of its ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Banded {
    pub(super) regressor: Regressor,
    pub(super) all: Band,
    /// By leaf of the extended tree.
    pub(super) leaves: BTreeMap<usize, Band>,
}

impl Banded {
    /// Gathers the ratios of rows by their leaves.
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

/// Both regressors of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Both {
    pub(super) target: Target,
    pub(super) tree: Banded,
    pub(super) strong: Banded,
}

/// What one characteristic was in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The characteristic.
    pub name: String,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

/// A fitted model of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub(super) version: Version<1>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Whether workloads are given by their rate rather than their depth.
    pub open: bool,
    pub(super) ranges: Vec<Range>,
    pub(super) targets: Vec<Both>,
}

/// A prediction and what the truth is between nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The prediction.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What a model says of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The workload.
    pub workload: Characteristics,
    /// By the stronger model: latency in nanoseconds, IOPS, bytes a second.
    pub strong: [Estimate; 3],
    /// By the tree.
    pub tree: [Estimate; 3],
    /// Characteristics outside what was trained on.
    pub warnings: Vec<String>,
}

const FILE: ModelFile =
    ModelFile { holds: "black-box model", written_by: "ssdtune predict-perf fit" };

impl Model {
    /// Reads a model and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or is no model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// The model as a JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a model is plain data") + "\n"
    }

    fn verify(&self) -> Result<(), String> {
        let targets: Vec<Target> = self.targets.iter().map(|both| both.target).collect();
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

    /// The stronger model's target of a workload, and nothing else: the quick way.
    pub fn value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).strong.regressor.predict(workload)
    }

    /// The tree's target of a workload, and nothing else.
    pub fn tree_value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).tree.regressor.predict(workload)
    }

    fn of(&self, target: Target) -> &Both {
        self.targets.iter().find(|both| both.target == target).expect("checked when read or made")
    }

    /// Ranges of what it was trained on, in the order of Eq. 4.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    fn outside(&self, workload: &Characteristics) -> Vec<String> {
        let row = Features::Extended.row(workload);
        let outside = |(range, value): (&Range, f64)| {
            let Range { name, low, high } = range;
            // Sizes of a direction that has no requests say nothing.
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

    /// The way of a workload through the tree of a target, a sentence for each step.
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

/// A column's characteristic and value in its own unit.
fn natural(name: &str, value: f64) -> (&str, String) {
    let Some(plain) = name.strip_prefix("log2 ") else { return (name, number(value)) };
    // Octaves of sizes and strides count from a sector, 512 bytes.
    let is_bytes = plain.ends_with("_size") || plain.ends_with("_stride");
    (plain, number(value.exp2() * if is_bytes { 512.0 } else { 1.0 }))
}

/// Four significant digits.
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
