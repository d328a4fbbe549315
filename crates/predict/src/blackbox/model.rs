//! A model of a drive: latency, IOPS and bandwidth of any workload, each with an interval, with a
//! warning for what is outside of the training data, and with the way through the tree in words.
//!
//! Each target has two regressors: the extended tree (Eq. 4, linear leaves), which can be read, and
//! the stronger one.
//!
//! Intervals of points come from cross-validation: each training row is predicted by models that
//! have not seen it. An error is the logarithm of truth over prediction, and is divided by the mean
//! size of errors in its leaf of the tree, without itself. Of these the middle 90 % are kept, and a
//! leaf's band is as wide as they are times its own mean. The [`conformal`] rank makes the bands of
//! all leaves together hold 90 % of new points.
//!
//! A window of a trace is no point of a grid, and errors on points say nothing of it. Its latency
//! has an interval only if the model was [compared](super::windows::WindowsReport) with windows of
//! other traces ([`WindowErrors`]).
//!
//! In a file a model is one JSON document with a version and its provenance.

use super::conformal;
use super::designs::DesignPoint;
use super::estimate::{Estimate, Interval, Range, number};
use super::features::{Characteristics, Features};
use super::point::{Load, Point};
use super::regressor::{FitError, Regressor};
use super::results::{Results, ResultsSource};
use super::shape_model::{ShapeModel, ShapeReport};
use super::simulated_drive::MeasureSettings;
use super::window::{Seen, Window};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::{ModelFile, ModelFileError, Version};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeMap;
use std::path::Path;

/// The share of truths that an interval is meant to hold.
pub const COVERAGE: f64 = 0.9;
/// How many rows the mean error of all leaves counts as in that of one leaf, so that a leaf of few
/// rows is not believed more than they can say.
const BAND_PRIOR_ROWS: f64 = 20.0;

/// How many workloads a thread predicts at least, so that handing them out costs nothing beside.
const BATCH: usize = 1_000;

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

/// The range that [`COVERAGE`] of the ratios of truth to prediction lie in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// How many training rows are of the leaf.
    pub rows: usize,
    /// The lower end of the range.
    pub low: f64,
    /// The upper end of the range.
    pub high: f64,
}

/// Errors of some rows: how many there are, and the sum of their sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    rows: usize,
    sum: f64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.rows += 1;
        self.sum += error.abs();
    }

    /// The mean size of the errors but one, drawn towards the mean of all leaves. Above 0.
    fn scale(self, but: Option<f64>, mean: f64) -> f64 {
        let rows = self.rows - usize::from(but.is_some());
        let sum = self.sum - but.unwrap_or(0.0).abs() + BAND_PRIOR_ROWS * mean;
        (sum / (rows as f64 + BAND_PRIOR_ROWS)).max(f64::EPSILON)
    }

    /// The band of a leaf with these errors; `range` is that of errors over their scale.
    fn band(self, range: (f64, f64), mean: f64) -> Band {
        let scale = self.scale(None, mean);
        Band { rows: self.rows, low: (range.0 * scale).exp(), high: (range.1 * scale).exp() }
    }
}

/// A regressor and the bands of its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Banded {
    pub(super) regressor: Regressor,
    /// The band of all training rows.
    pub(super) all: Band,
    /// The bands of the leaves, by the number of the leaf in the extended tree. Files of earlier
    /// versions have those of leaves of 20 rows or more only.
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
        let error = |(truth, found): (&f64, &f64)| (truth / found).ln();
        let errors: Vec<f64> = truths.iter().zip(unseen).map(error).collect();
        let (mut all, mut by_leaf) = (Errors::default(), BTreeMap::<usize, Errors>::new());
        for (leaf, error) in leaf_of.iter().zip(&errors) {
            all.add(*error);
            by_leaf.entry(*leaf).or_default().add(*error);
        }
        let mean = all.sum / all.rows.max(1) as f64;
        let scaled = |(leaf, error): (&usize, &f64)| {
            by_leaf.get(leaf).map(|own| error / own.scale(Some(*error), mean))
        };
        let scaled: Vec<f64> = leaf_of.iter().zip(&errors).filter_map(scaled).collect();
        let range = conformal::middle(&scaled, COVERAGE).ok_or_else(|| {
            FitError::Rows(format!("{} rows are too few for intervals", scaled.len()))
        })?;
        let leaves = by_leaf.into_iter().map(|(leaf, own)| (leaf, own.band(range, mean))).collect();
        Ok(Self { regressor, all: all.band(range, mean), leaves })
    }

    fn estimate(&self, workload: &Characteristics, leaf: usize) -> Estimate {
        let value = self.regressor.predict(workload);
        let band = self.leaves.get(&leaf).unwrap_or(&self.all);
        Estimate {
            value,
            interval: Some(Interval { low: value * band.low, high: value * band.high }),
        }
    }
}

/// The two regressors of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetRegressors {
    pub(super) target: Target,
    pub(super) tree: Banded,
    pub(super) strong: Banded,
    /// A quick tree that predicts nearly what the stronger regressor does; `None` in an open loop
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quick: Option<Regressor>,
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
    /// How far off the model was on windows of traces; `None` if nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowErrors>,
    /// The model of windows, which takes the stronger regressors' place for them in a closed loop;
    /// `None` if no designs were learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shapes: Option<ShapeModel>,
}

/// How far off a model was on windows of traces, and so how far off it may be on those of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowErrors {
    /// Names of the traces.
    pub traces: Vec<String>,
    /// How many windows were compared, each once for every depth.
    pub windows: usize,
    /// How many requests were outstanding; empty for an open loop.
    pub depths: Vec<u32>,
    /// 1 or more. For nine in ten windows of another trace the latency over what the stronger
    /// regressor predicts is meant to lie between 1 / `strong_factor` and `strong_factor`.
    pub strong_factor: f64,
    /// The factor of the tree, in the same sense.
    pub tree_factor: f64,
}

impl WindowErrors {
    /// What is to be said of a workload whose depth is outside of those compared.
    fn outside(&self, workload: &Characteristics) -> Option<String> {
        let (low, high) = (self.depths.iter().min()?, self.depths.iter().max()?);
        let inside = f64::from(*low)..=f64::from(*high);
        (!inside.contains(&workload.extended.q_dep))
            .then(|| format!("the interval is known for {low} to {high} requests outstanding only"))
    }
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
            if both.quick.as_ref().is_some_and(|quick| !quick.is_sound(self.open)) {
                return Err(format!("the quick {} is not of its recipe", both.target.name()));
            }
            if both.tree.regressor.path(&Characteristics::default()).is_none() {
                return Err(format!("its {} has no tree", both.target.name()));
            }
        }
        if let Some(shapes) = &self.shapes {
            shapes.verify()?;
        }
        let factors = self.windows.iter().flat_map(|own| [own.strong_factor, own.tree_factor]);
        if factors.into_iter().any(|factor| !(factor >= 1.0 && factor.is_finite())) {
            return Err("a factor of its errors on windows is below 1".to_owned());
        }
        Ok(())
    }

    /// Learns what windows take from random workloads that were measured on the same drive, and
    /// returns how good it is at those left out. What is known of errors on windows is of the
    /// former model, and is forgotten.
    ///
    /// # Errors
    /// The model is of an open loop, or the workloads are of another drive or too few.
    pub fn learn_windows(
        &mut self,
        results: &Results<DesignPoint>,
        seed: u64,
    ) -> Result<ShapeReport, FitError> {
        let (own, other) = (self.provenance.source.device(), results.source.device());
        if self.open {
            let problem = "workloads are measured in a closed loop, and the points are open ones";
            return Err(FitError::Rows(problem.to_owned()));
        }
        if own != other {
            return Err(FitError::Rows(format!("the workloads are of {other}, not of {own}")));
        }
        let (shapes, report) = ShapeModel::fit(results, seed)?;
        (self.shapes, self.windows) = (Some(shapes), None);
        Ok(report)
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

    /// What is to be said of predictions for windows, if nobody has looked how far off they are.
    pub const fn doubt(&self) -> Option<&'static str> {
        match self.windows {
            Some(_) => None,
            None => Some(
                "how far off the model is on windows of traces is not known; `ssdtune \
                 predict-perf check --calibrate` finds out",
            ),
        }
    }

    /// The depths at which windows are predicted: those given, or `None` in an open loop.
    ///
    /// # Errors
    /// A model of a closed loop needs a depth, one of an open loop needs none.
    pub fn depths(&self, given: &[u32]) -> Result<Vec<Option<u32>>, LoopError> {
        self.check_depth(given.first().copied())?;
        Ok(if self.open { vec![None] } else { given.iter().copied().map(Some).collect() })
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

    /// Says if the model has learned from a drive that was prepared in another way.
    pub fn other_preparation(&self, settings: &MeasureSettings) -> Option<String> {
        let (learned, asked) = (self.provenance.source.settings()?.flags(), settings.flags());
        (learned != asked).then(|| {
            format!("the model has learned from a drive of {learned}, and this one is of {asked}")
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

    /// Predicts a point, with the intervals of points. Its characteristics must be finite.
    pub fn predict(&self, workload: &Characteristics) -> Prediction {
        let nothing = Estimate { value: f64::NAN, interval: None };
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

    /// What the model looks at in a window, at this many requests outstanding or at its own rate;
    /// `None` if all its requests come at one time, which is no rate. Only a model of windows looks
    /// at the shape, which costs milliseconds and tens of megabytes.
    pub fn see(&self, window: &Window, depth: Option<u32>) -> Option<Seen> {
        match &self.shapes {
            Some(shapes) => window.seen(depth, shapes.space()),
            None => window.plain(depth),
        }
    }

    /// Predicts a window of a trace. Only its latency has an interval, and only if it is known how
    /// far off the model is on windows. Its characteristics must be finite. With a shape and a
    /// model of windows it is the latter that predicts, and not the stronger regressors.
    pub fn predict_window(&self, seen: &Seen) -> Prediction {
        let workload = &seen.workload;
        let mut found = self.predict(workload);
        if let (Some(shapes), Some(shape)) = (&self.shapes, &seen.shape) {
            found.strong = shapes.estimates(shape, workload);
            found.warnings = shapes.outside(shape);
        }
        found.strong.iter_mut().chain(&mut found.tree).for_each(|one| one.interval = None);
        if let Some(errors) = &self.windows {
            let within = |factor, of: &mut Estimate| {
                of.interval = Some(Interval::within(factor, of.value));
            };
            within(errors.strong_factor, &mut found.strong[0]);
            within(errors.tree_factor, &mut found.tree[0]);
            found.warnings.extend(errors.outside(workload));
        }
        found
    }

    /// What the stronger regressor predicts for one target, without an interval: the quick way.
    pub fn value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).strong.regressor.predict(workload)
    }

    /// What the tree predicts for one target, without an interval.
    pub fn tree_value(&self, target: Target, workload: &Characteristics) -> f64 {
        self.of(target).tree.regressor.predict(workload)
    }

    /// What is predicted for one target of many workloads, without intervals, on all threads: by
    /// the quick trees, whose errors are within a tenth of those of the stronger regressors and
    /// which are a hundred times as fast, or by these where there are none.
    pub fn values(&self, target: Target, workloads: &[Characteristics]) -> Vec<f64> {
        let both = self.of(target);
        let regressor = both.quick.as_ref().unwrap_or(&both.strong.regressor);
        workloads
            .par_iter()
            .with_min_len(BATCH)
            .map(|workload| regressor.predict(workload))
            .collect()
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
            "nine in ten of such points are between {} and {} times what is predicted",
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
