//! A whole calibration: from points and a base to a drive, with what is known of its errors.

mod collapse;
mod file;
mod html;
mod origin;
mod residual;
mod text;

pub use collapse::Collapse;
pub(crate) use file::{REST_IS_A_GUESS, text as drive_text};
pub use origin::ToldByRuns;
pub(crate) use origin::{Origins, known_before, without_effectless, without_path};
pub use residual::Hint;

use crate::errors::Errors;
use crate::fit::{
    Fit, FitError, FitOptions, FittedValue, Journal, JournalError, Progress, Rival, digest, fit,
};
use crate::load;
use crate::point::{Family, Figures, Point};
use crate::replay::{ReplayError, ReplayOptions, replay_all};
use crate::screen::{Noise, Reason, Refused, ScreenOptions, screen};
use crate::split::{Expression, Fields, Split};
use serde::Serialize;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, Faults};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The least repeat noise that is assumed, in the units of the objective.
const NOISE_MIN: f64 = 0.005;

/// What is to be calibrated, and how.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The drive, as the points name it. Needed where they are of several.
    pub drive: Option<String>,
    /// Which points are used; all of the drive without a rule.
    pub only: Option<Expression>,
    /// What the base is called: a preset, or a file. Of a file elsewhere than below the current
    /// folder only the name is passed on.
    pub base_name: String,
    /// The text of the base's file, whose comments say where its values are from. None for a
    /// preset: what is known of another drive is a guess about this one.
    pub base_text: Option<String>,
    /// Who calibrates, as the drive's file is to say.
    pub made_by: String,
    /// Which points are held out; every second load of a sweep without a rule.
    pub hold_out: Option<Expression>,
    /// Reasons for which no point is refused.
    pub allowed: BTreeSet<Reason>,
    /// Runs of writes before which the drive was sanitised.
    pub sanitised: Option<Expression>,
    /// Runs of writes before which the drive was sanitised, and their span written once in order.
    pub filled: Option<Expression>,
    /// How the drive is fitted. Noise that repeats of points show goes before that of the options.
    pub fit: FitOptions,
    /// Where evaluations are kept, so that an interrupted calibration can go on.
    pub journal: Option<PathBuf>,
}

impl Order {
    /// The rules that hold for none of the points or runs, as they stand in the command.
    pub(crate) fn unused_rules<T: Fields>(&self, all: &[T]) -> Vec<String> {
        let one = |flag, rule| (flag, Option::iter(rule));
        let [hold_out, sanitised, filled] = [
            one("--hold-out", &self.hold_out),
            one("--sanitised", &self.sanitised),
            one("--filled", &self.filled),
        ]
        .map(|(flag, rule)| rule.map(move |rule| (flag, rule)));
        let rigs = self.fit.rigs.iter().map(|rule| ("--rig", rule));
        hold_out
            .chain(rigs)
            .chain(sanitised)
            .chain(filled)
            .filter(|(_, rule)| !all.iter().any(|one| rule.holds_for(one)))
            .map(|(flag, rule)| format!("{flag} '{rule}'"))
            .collect()
    }
}

/// What is said of a rule that holds for nothing.
pub(crate) fn of_unused(rule: &str) -> String {
    format!("{rule} holds for none of them, and changes nothing.")
}

/// Why there is no calibrated drive.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No point is of the drive.
    #[error("no point is of {asked:?}; the points are of: {known}")]
    UnknownDrive {
        /// The drive that was asked for.
        asked: String,
        /// The drives there are.
        known: String,
    },
    /// The points are of several drives, and none was named.
    #[error("the points are of several drives: name one of them with --drive: {0}")]
    SeveralDrives(String),
    /// There are points and runs of writes.
    #[error(
        "there are {points} points and {runs} runs of writes: give one kind, and the drive that \
         comes out as --base for the other"
    )]
    Mixed {
        /// How many points.
        points: usize,
        /// How many runs.
        runs: usize,
    },
    /// Every point is refused.
    #[error(
        "every point of the drive is refused: {counts}, as {first} (--allow REASON keeps those of \
         a reason, but for no-load and no-figures)"
    )]
    AllRefused {
        /// How many for which reason.
        counts: String,
        /// The first one, with what is wrong with it.
        first: String,
    },
    /// The rule for the points to use chooses none of the drive's.
    #[error("no point or run of the drive is one where {0}")]
    NoneChosen(String),
    /// Every point is held out.
    #[error("the rule holds out every point: leave the ends of the sweeps to the fit")]
    AllHeldOut,
    /// No run of writes can be compared with anything.
    #[error(
        "no run of writes tells anything: give wa or write_mb_s of runs whose pattern is known \
         (uniform, sequential, zipf, zones or zns)"
    )]
    NothingMeasured,
    /// A run of writes cannot be one of the drive.
    #[error("{run}: {problem}")]
    TooLong {
        /// The run.
        run: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// There is no fit.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The fitted drive breaks a rule of the catalogue.
    #[error("the fitted drive: {0}")]
    Faulty(#[from] Faults),
    /// A point cannot be replayed on the fitted drive.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl CalibrateError {
    /// Whether the caller stopped it.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Fit(FitError::Interrupted) | Self::Replay(ReplayError::Interrupted))
    }

    /// Whether the order is wrong.
    pub fn is_of_the_order(&self) -> bool {
        let journal = matches!(self, Self::Fit(FitError::Journal(JournalError::Other(_))));
        let named = matches!(self, Self::UnknownDrive { .. } | Self::SeveralDrives(_));
        named
            || journal
            || matches!(self, Self::Mixed { .. } | Self::AllHeldOut | Self::NoneChosen(_))
    }

    /// Whether the points are of no use.
    pub fn is_of_the_points(&self) -> bool {
        let none = matches!(self, Self::AllRefused { .. } | Self::Fit(FitError::NoPoints));
        none || matches!(self, Self::NothingMeasured | Self::TooLong { .. })
    }
}

/// A point, and what the calibrated drive does there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The point, with what was measured.
    pub point: Point,
    /// What the drive does.
    pub predicted: Figures,
    /// How far that is from what was measured; of loads that are too much for the real drive, the
    /// rate alone.
    pub errors: Errors,
}

/// Mean absolute errors of some points, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanErrors {
    /// The family; `None` for all of them together.
    pub family: Option<Family>,
    /// Whether the points were held out.
    pub is_held_out: bool,
    /// How many points.
    pub points: usize,
    /// Of the mean latency.
    pub mean: Option<f64>,
    /// Of the median.
    pub p50: Option<f64>,
    /// Of the 99th percentile.
    pub p99: Option<f64>,
    /// Of the 99.9th percentile.
    pub p999: Option<f64>,
    /// Of the rate.
    pub iops: Option<f64>,
    /// Of the bandwidth.
    pub bandwidth: Option<f64>,
}

/// Loads at which the drive was tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedRange {
    /// What requests did.
    pub operations: Vec<String>,
    /// Their sizes, the smallest and the largest.
    pub block_bytes: (u32, u32),
    /// Requests outstanding, the fewest and the most; `None` without closed loops.
    pub outstanding: Option<(u32, u32)>,
    /// Requests that arrived in a second, the fewest and the most; `None` without paced points.
    pub offered_iops: Option<(f64, f64)>,
}

/// A calibrated drive and all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The real drive.
    pub drive: String,
    /// What the fit began with.
    pub base: String,
    /// Who calibrated.
    pub made_by: String,
    /// The rule that held points out, `automatic` without one.
    pub hold_out: String,
    /// Rules of the order that hold for no point.
    pub unused_rules: Vec<String>,
    /// Mean absolute errors, of everything first and then family by family.
    pub errors: Vec<MeanErrors>,
    /// The repeat noise of families.
    pub noise: Vec<Noise>,
    /// The objective over the fitted points.
    pub objective: f64,
    /// The noise that profiles were made with, in the units of the objective.
    pub objective_noise: f64,
    /// The values that make the structure.
    pub structure: String,
    /// The parameters that were fitted.
    pub values: Vec<FittedValue>,
    /// All structures, the best first.
    pub structures: Vec<Rival>,
    /// Loads at which the drive was tested.
    pub tested: TestedRange,
    /// The fitted points.
    pub fitted: Vec<Prediction>,
    /// The points that were held out.
    pub held_out: Vec<Prediction>,
    /// The points that were refused.
    pub refused: Vec<Refused>,
    /// Evaluations of the fit.
    pub evaluations: usize,
    /// Where paced loads are too much for the drive. Empty without paced points.
    pub collapses: Vec<Collapse>,
    /// Which mechanisms the residuals point to.
    pub hints: Vec<Hint>,
    /// The drive. What has no effect on it has the catalogue's default.
    #[serde(skip)]
    pub config: DeviceConfig,
    #[serde(skip)]
    origins: Origins,
}

/// Calibrates a drive.
///
/// # Errors
/// No points are left, nothing can be fitted, the journal cannot be kept, or `stop` was set.
pub fn calibrate(
    points: Vec<Point>,
    base: &DeviceConfig,
    order: &Order,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Calibration, CalibrateError> {
    let (name, mut points) =
        of_drive(points, order.drive.as_deref(), |point| point.drive.as_deref())?;
    if let Some(only) = &order.only {
        points.retain(|point| only.chooses(point));
        if points.is_empty() {
            return Err(CalibrateError::NoneChosen(only.to_string()));
        }
    }
    let queue = (base.host.interface == HostInterface::Sata).then_some(base.host.queue_depth);
    let screened = screen(points, &ScreenOptions { queue, allowed: order.allowed.clone() });
    if screened.kept.is_empty() {
        let first = screened.refused.first().map(ToString::to_string).unwrap_or_default();
        return Err(CalibrateError::AllRefused { counts: counts(&screened.refused), first });
    }
    let unused_rules = order.unused_rules(&screened.kept);
    let split = match &order.hold_out {
        Some(rule) => Split::by(screened.kept, rule),
        None => Split::automatic(screened.kept),
    };
    if split.fitted.is_empty() {
        return Err(CalibrateError::AllHeldOut);
    }
    let noise = objective_noise(&screened.noise).unwrap_or(order.fit.noise);
    let options = FitOptions { noise, ..order.fit.clone() };
    let told = load::telling(&split.fitted);
    let inputs = digest(base, &told, &options);
    let journal = order.journal.as_ref().map(|path| Journal::open(path, &inputs)).transpose();
    let journal = journal.map_err(FitError::from)?.unwrap_or_default();
    let fit = fit(base, &told, &options, &journal, stop, progress)?;
    let requests = options.looks.last().map_or(0, |look| look.requests);
    let replayed = ReplayOptions { requests, seed: options.seed, ..ReplayOptions::default() };
    let predict = |points| predictions(points, &fit, &replayed, stop);
    let (fitted, held_out) = (predict(split.fitted)?, predict(split.held_out)?);
    let rule = order.hold_out.as_ref().map_or_else(|| "automatic".to_owned(), ToString::to_string);
    let origins = Origins::of(&fit, &name, base, order.base_text.as_deref());
    let Fit { structure, values, objective, rivals, evaluations, drive, .. } = fit;
    let config = DeviceConfig { name: name.clone(), ..without_effectless(&drive) };
    Ok(Calibration {
        drive: name,
        base: origin::without_path(&order.base_name),
        made_by: order.made_by.clone(),
        hold_out: rule,
        unused_rules,
        errors: mean_errors(&fitted, &held_out),
        collapses: collapse::all(&fitted, &held_out),
        hints: residual::hints(fitted.iter().chain(&held_out), &screened.noise),
        noise: screened.noise,
        objective,
        objective_noise: noise,
        structure: structure.to_string(),
        values,
        structures: rivals,
        tested: tested(fitted.iter().chain(&held_out)),
        fitted,
        held_out,
        refused: screened.refused,
        evaluations,
        config,
        origins,
    })
}

/// What a fitted drive does at points.
fn predictions(
    points: Vec<Point>,
    fit: &Fit,
    options: &ReplayOptions,
    stop: &AtomicBool,
) -> Result<Vec<Prediction>, CalibrateError> {
    let replayed: Vec<Point> = points.iter().map(|point| fit.replayed(point)).collect();
    let asked = |point| Ok((point, fit.drive_at(point).check()?));
    let asked: Result<Vec<_>, Faults> = replayed.iter().map(asked).collect();
    let predicted = replay_all(&asked?, options, stop)?;
    let overloaded = load::overloaded(&points);
    let one = |((point, predicted), is_overloaded): ((Point, Figures), bool)| {
        let errors = Errors::of(&point, &predicted);
        let errors = if is_overloaded { errors.of_rate() } else { errors };
        Prediction { point, predicted, errors }
    };
    Ok(points.into_iter().zip(predicted).zip(overloaded).map(one).collect())
}

/// What is of one drive, and its name. What names no drive is of any.
pub(crate) fn of_drive<T>(
    all: Vec<T>,
    asked: Option<&str>,
    drive: impl Fn(&T) -> Option<&str>,
) -> Result<(String, Vec<T>), CalibrateError> {
    let known: BTreeSet<String> =
        all.iter().filter_map(|one| drive(one).map(str::to_owned)).collect();
    let list = || known.iter().cloned().collect::<Vec<String>>().join(", ");
    let name = match (asked, known.len()) {
        (Some(asked), _) => asked.to_owned(),
        (None, 0) => "a drive without a name".to_owned(),
        (None, 1) => list(),
        (None, _) => return Err(CalibrateError::SeveralDrives(list())),
    };
    if !known.is_empty() && !known.contains(&name) {
        return Err(CalibrateError::UnknownDrive { asked: name, known: list() });
    }
    let is_own = |one: &T| drive(one).is_none_or(|drive| drive == name);
    let own = all.into_iter().filter(is_own).collect();
    Ok((name, own))
}

/// How many points are refused for which reason, as text.
fn counts(refused: &[Refused]) -> String {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    for refused in refused {
        *counts.entry(refused.reason).or_default() += 1;
    }
    let each = counts.iter().map(|(reason, count)| format!("{count} {reason}"));
    each.collect::<Vec<String>>().join(", ")
}

/// The repeat noise in the units of the objective, in the mean over families.
fn objective_noise(noise: &[Noise]) -> Option<f64> {
    let of = |noise: &Noise| {
        let main = noise.mean.or(noise.iops)?;
        let percentiles: f64 = [noise.p50, noise.p99].into_iter().flatten().sum();
        Some((main + 0.3 * percentiles) / 100.0)
    };
    let all: Vec<f64> = noise.iter().filter_map(of).collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    (!all.is_empty()).then(|| mean.max(NOISE_MIN))
}

/// Mean errors of everything and of each family, fitted before held out.
fn mean_errors(fitted: &[Prediction], held_out: &[Prediction]) -> Vec<MeanErrors> {
    let mut all = Vec::new();
    for (part, is_held_out) in [(fitted, false), (held_out, true)] {
        let whole: Vec<&Prediction> = part.iter().collect();
        all.extend((!whole.is_empty()).then(|| MeanErrors::of(None, is_held_out, &whole)));
    }
    let mut families: BTreeMap<(Family, bool), Vec<&Prediction>> = BTreeMap::new();
    for (part, is_held_out) in [(fitted, false), (held_out, true)] {
        for prediction in part {
            let key = (prediction.point.family(), is_held_out);
            families.entry(key).or_default().push(prediction);
        }
    }
    let of = |((family, is_held_out), own): ((Family, bool), Vec<&Prediction>)| {
        MeanErrors::of(Some(family), is_held_out, &own)
    };
    all.extend(families.into_iter().map(of));
    all
}

impl MeanErrors {
    fn of(family: Option<Family>, is_held_out: bool, of: &[&Prediction]) -> Self {
        let mean = |value: fn(&Errors) -> Option<f64>| {
            let all: Vec<f64> =
                of.iter().filter_map(|one| value(&one.errors)).map(f64::abs).collect();
            (!all.is_empty()).then(|| 100.0 * all.iter().sum::<f64>() / all.len() as f64)
        };
        Self {
            family,
            is_held_out,
            points: of.len(),
            mean: mean(|errors| errors.mean),
            p50: mean(|errors| errors.p50),
            p99: mean(|errors| errors.p99),
            p999: mean(|errors| errors.p999),
            iops: mean(|errors| errors.iops),
            bandwidth: mean(|errors| errors.bandwidth),
        }
    }
}

fn tested<'a>(all: impl Iterator<Item = &'a Prediction> + Clone) -> TestedRange {
    let points = || all.clone().map(|prediction| &prediction.point);
    let operations: BTreeSet<String> = points().map(|point| point.operation.to_string()).collect();
    let sizes = points().map(|point| point.block_bytes);
    let outstanding = points().filter_map(Point::outstanding);
    let offered = || points().filter_map(|point| point.offered).map(|rate| rate.0);
    let least = offered().fold(f64::INFINITY, f64::min);
    TestedRange {
        operations: operations.into_iter().collect(),
        block_bytes: (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0)),
        outstanding: outstanding.clone().min().zip(outstanding.max()),
        offered_iops: least.is_finite().then(|| (least, offered().fold(0.0, f64::max))),
    }
}

#[cfg(test)]
mod tests;
