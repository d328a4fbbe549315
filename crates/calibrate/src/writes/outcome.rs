//! What a calibration to runs of writes found, and the drive's file.

use super::Chain;
use super::age::Aged;
use super::limits::RunHost;
use crate::calibration::{
    Order, Origins, REST_IS_A_GUESS, ToldByRuns, drive_text, known_before, without_effectless,
    without_path,
};
use crate::run::{Fall, Run, Sample, Shape};
use crate::screen::deviation;
use serde::Serialize;
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{DeviceConfig, Direction, Provenance, TestedLoad, fingerprint};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The row of what a drive takes from the host.
const WRITE_LIMIT: &str = "controller.write_bandwidth_mbs";

/// A run, and what the calibrated drive does in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPrediction {
    /// The run, with what was measured.
    pub run: Run,
    /// Whether it was held out.
    pub is_held_out: bool,
    /// The flash's writes over the host's; `None` where the pattern is not known.
    pub predicted: Option<f64>,
    /// How far that is from what was measured, as a share: 0.1 is 10 % too high.
    pub error: Option<f64>,
    /// What the host could write towards its end, in MiB/s.
    pub predicted_mib_s: Option<f64>,
    /// How far that is from what was measured, as a share.
    pub error_mib_s: Option<f64>,
    /// How its throughput falls, where it was sampled over time.
    pub fall: Option<FallPrediction>,
    /// The predicted throughput in the samples of the run.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// How the throughput of a run falls, measured and predicted. Errors are shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FallPrediction {
    /// What was measured.
    pub measured: Fall,
    /// What the calibrated drive does.
    pub predicted: Fall,
    /// How far the level before is from what was measured.
    pub error_before: f64,
    /// How far the level after is.
    pub error_after: f64,
    /// How far the lowest level is.
    pub error_lowest: f64,
    /// How far the time of the fall is; `None` where one of both does not fall.
    pub error_seconds: Option<f64>,
}

impl FallPrediction {
    fn of(run: &Run, samples: &[Sample]) -> Option<Self> {
        let (measured, predicted) = (run.fall()?, Fall::of(samples, run.span_bytes)?);
        let error = |of: fn(&Fall) -> f64| of(&predicted) / of(&measured) - 1.0;
        let times = predicted.seconds.zip(measured.seconds);
        Some(Self {
            measured,
            predicted,
            error_before: error(|fall| fall.before),
            error_after: error(|fall| fall.after),
            error_lowest: error(|fall| fall.lowest),
            error_seconds: times.map(|(own, real)| own / real - 1.0),
        })
    }
}

/// Mean absolute errors of the falls of some runs, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FallErrors {
    /// How many runs were sampled.
    pub runs: usize,
    /// Of the level before the fall.
    pub before: f64,
    /// Of the level after it.
    pub after: f64,
    /// Of the lowest level.
    pub lowest: f64,
    /// Of its time, where both fall.
    pub seconds: Option<f64>,
    /// Runs of which only the measured or only the predicted throughput falls.
    pub missed: usize,
}

/// Mean absolute errors of some runs, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunErrors {
    /// The kind of pattern; `None` for all.
    pub pattern: Option<&'static str>,
    /// Whether the runs were held out.
    pub is_held_out: bool,
    /// How many runs.
    pub runs: usize,
    /// Of the write amplification, where it is known.
    pub error: Option<f64>,
    /// Of the throughput, where it is known.
    pub throughput: Option<f64>,
    /// Of the fall of the throughput, where it was sampled.
    pub fall: Option<FallErrors>,
}

/// A drive that is calibrated to runs of writes, and all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteCalibration {
    /// The real drive.
    pub drive: String,
    /// What the fit began with.
    pub base: String,
    /// Who calibrated.
    pub made_by: String,
    /// The rule that held runs out, `automatic` without one.
    pub hold_out: String,
    /// The rule for runs before which the drive was sanitised; the first of each source without it.
    pub sanitised: Option<String>,
    /// The rule for runs before which it was sanitised and their span written once in order.
    pub filled: Option<String>,
    /// Rules of the order that hold for no run.
    pub unused_rules: Vec<String>,
    /// What the fitted runs tell.
    pub told: ToldByRuns,
    /// What the drive writes beside the data of host and collection, as a factor.
    pub overhead: f64,
    /// What the hosts of rigs send; empty where no rule names a rig.
    pub hosts: Vec<RunHost>,
    /// Raw capacity.
    pub raw_bytes: u64,
    /// What the host sees.
    pub visible_bytes: u64,
    /// Mean absolute errors, of everything first and then by pattern.
    pub errors: Vec<RunErrors>,
    /// How far repeats of a run are from their mean, in percent.
    pub noise: Option<f64>,
    /// All runs, source by source in their order.
    pub runs: Vec<RunPrediction>,
    /// The drive.
    #[serde(skip)]
    pub config: DeviceConfig,
    #[serde(skip)]
    origins: Origins,
    /// What is known from a calibration to points, whose outcome is the base.
    #[serde(skip)]
    before: Option<Provenance>,
}

/// The whole drive with a hidden share, which the host sees as much of as before: blocks of more or
/// fewer pages.
pub(super) fn whole(base: &DeviceConfig, visible: u64, spare: f64, name: &str) -> DeviceConfig {
    let mut made = base.clone();
    let at = base.geometry();
    let page_of_all = at.planes() * u64::from(at.blocks_per_plane) * u64::from(at.page_bytes);
    let line = base.pages_per_program();
    let pages = visible as f64 / (1.0 - spare) / page_of_all as f64;
    let lines = ((pages / f64::from(line)).round() as u32).max(1);
    made.flash.pages_per_block = lines * line;
    let raw = page_of_all * u64::from(made.flash.pages_per_block);
    made.mapping.overprovisioning = 1.0 - visible as f64 / raw as f64;
    name.clone_into(&mut made.name);
    made
}

/// What the fit has found.
pub(super) struct Found {
    /// What the runs tell.
    pub(super) told: ToldByRuns,
    /// Rules of the order that hold for no run.
    pub(super) unused_rules: Vec<String>,
    /// What the drive writes beside the data, as a factor.
    pub(super) overhead: f64,
    /// The hosts of rigs.
    pub(super) hosts: Vec<RunHost>,
    /// Whether the drive takes less than its flash could program.
    pub(super) takes_less: bool,
    /// The drive.
    pub(super) config: DeviceConfig,
}

impl WriteCalibration {
    pub(super) fn new(
        drive: String,
        order: &Order,
        found: Found,
        chains: Vec<Chain>,
        predicted: Vec<Vec<Aged>>,
    ) -> Self {
        let Found { told, unused_rules, overhead, hosts, takes_less, config } = found;
        let config = without_effectless(&config);
        let mut runs = Vec::new();
        for (chain, predicted) in chains.into_iter().zip(predicted) {
            let own = chain.runs.into_iter().zip(chain.is_held_out).zip(predicted);
            runs.extend(own.map(|((run, is_held_out), predicted)| {
                let (samples, predicted_mib_s) = (predicted.samples, predicted.mib_per_second);
                let fall = FallPrediction::of(&run, &samples);
                let real = run.mib_per_second;
                let error_mib_s = predicted_mib_s.zip(real).map(|(own, real)| own / real - 1.0);
                let predicted = predicted.amplification.map(|factor| factor * overhead);
                let error =
                    predicted.zip(run.write_amplification).map(|(own, real)| own / real - 1.0);
                RunPrediction {
                    run,
                    is_held_out,
                    predicted,
                    error,
                    predicted_mib_s,
                    error_mib_s,
                    fall,
                    samples,
                }
            }));
        }
        let rule =
            order.hold_out.as_ref().map_or_else(|| "automatic".to_owned(), ToString::to_string);
        let ledger = Ledger::of(&config);
        let base_text = order.base_text.as_deref();
        let mut origins = Origins::of_writes(&drive, &config, base_text, told);
        if takes_less {
            origins = origins.fitted(WRITE_LIMIT, "the level before the throughput falls");
        }
        Self {
            origins,
            before: known_before(&drive, base_text),
            drive,
            base: without_path(&order.base_name),
            made_by: order.made_by.clone(),
            hold_out: rule,
            sanitised: order.sanitised.as_ref().map(ToString::to_string),
            filled: order.filled.as_ref().map(ToString::to_string),
            unused_rules,
            told,
            overhead,
            hosts,
            raw_bytes: ledger.raw_bytes.0,
            visible_bytes: ledger.visible_bytes.0,
            errors: errors(&runs),
            noise: noise(&runs),
            runs,
            config,
        }
    }

    /// The lines of the header of the drive's file, without the sign of a comment.
    pub fn header(&self) -> Vec<String> {
        let Self { drive, made_by, base, hold_out, .. } = self;
        let what = if self.told.raw_capacity { "spare capacity" } else { "writes" };
        let first = format!("{drive}, {what} calibrated by {made_by}.");
        let mut lines = vec![first, format!("Base: {base}.")];
        lines.extend_from_slice(self.origins.facts());
        lines.push(format!(
            "Runs of writes: {} fitted, {} held out ({hold_out}), {} not replayed; sources: {}.",
            self.known(false).count(),
            self.known(true).count(),
            self.runs.iter().filter(|one| one.predicted.is_none()).count(),
            self.sources().join(", ")
        ));
        lines.push(match &self.sanitised {
            Some(rule) => format!("Sanitised before the first run of a source, and where {rule}."),
            None => "Assumed: sanitised before the first run of each source alone.".to_owned(),
        });
        lines.extend(
            self.filled
                .iter()
                .map(|rule| format!("Sanitised, and then written once in order, where {rule}.")),
        );
        lines.extend(self.errors.iter().map(ToString::to_string));
        lines.extend(self.numbers());
        if self.config.controller.write_bandwidth_mbs > 0 {
            lines.push(format!(
                "The drive takes {} MB/s whatever its flash programs ({WRITE_LIMIT}).",
                self.config.controller.write_bandwidth_mbs
            ));
        }
        let host = |host: &RunHost| format!("Not in this file: the host sends {host}.");
        lines.extend(self.hosts.iter().map(host));
        lines.push("Of these runs no latency was compared.".to_owned());
        if let Some(before) = &self.before {
            let Provenance { made_by, sources, .. } = before;
            let sources = sources.join(", ");
            lines.push(format!(
                "Everything else: as {made_by} calibrated it to points of {sources}."
            ));
        } else {
            lines.push(REST_IS_A_GUESS.to_owned());
        }
        lines
    }

    /// The numbers that runs tell, and whether they did.
    fn numbers(&self) -> Vec<String> {
        let ToldByRuns { raw_capacity, overhead, program_time } = self.told;
        let gib = self.raw_bytes as f64 / f64::from(1 << 30);
        let mut lines = vec![if raw_capacity {
            format!(
                "Fitted: raw capacity {gib:.1} GiB (mapping.overprovisioning, \
                 flash.pages_per_block)."
            )
        } else {
            format!(
                "The base's, since no fitted run of random writes tells it: raw capacity {gib:.1} \
                 GiB."
            )
        }];
        lines.push(if overhead {
            format!(
                "Not in this file: the drive writes {:.4} times the data (parity, tables).",
                self.overhead
            )
        } else {
            "Assumed, since no fitted run in order tells it: nothing is written beside the data \
             (parity, tables)."
                .to_owned()
        });
        if program_time {
            lines.push("Fitted to throughput: the times of programs, by one factor.".to_owned());
        }
        lines
    }

    /// The runs that were predicted and measured.
    fn known(&self, is_held_out: bool) -> impl Iterator<Item = &RunPrediction> + Clone {
        let own = self.runs.iter().filter(|one| one.error.is_some() || one.error_mib_s.is_some());
        own.filter(move |one| one.is_held_out == is_held_out)
    }

    fn sources(&self) -> Vec<String> {
        let sources: BTreeSet<&str> = self.runs.iter().map(|one| one.run.source.as_str()).collect();
        sources.into_iter().map(str::to_owned).collect()
    }

    /// What the drive's file says for programs.
    pub fn provenance(&self) -> Provenance {
        let held = self.errors.iter().find(|one| one.pattern.is_none() && one.is_held_out);
        let short = |text: &str| text.chars().take(Provenance::NAME_MAX).collect::<String>();
        let load = |sequential: bool| {
            let is_own = |run: &&RunPrediction| {
                sequential == matches!(run.run.pattern.shape, Shape::Sequential)
            };
            let all = self.known(false).chain(self.known(true));
            let sizes = all.filter(is_own).map(|one| one.run.block_bytes);
            Some(TestedLoad {
                direction: Direction::Write,
                sequential,
                read_percent: [0.0; 2],
                block_bytes: [sizes.clone().min()?, sizes.max()?],
                outstanding: None,
                offered_iops: None,
            })
        };
        let rounded = |error: f64| (error * 100.0).round() / 100.0;
        let error = held.into_iter().flat_map(|one| {
            let rate = one.throughput.map(|error| ("write MiB/s".to_owned(), rounded(error)));
            let own = one.error.map(|error| ("write amplification".to_owned(), rounded(error)));
            [own, rate].into_iter().flatten()
        });
        let before = self.before.clone().unwrap_or_default();
        let sources = self.sources();
        let sources = before.sources.iter().chain(&sources).map(|source| short(source));
        Provenance {
            drive: short(&self.drive),
            made_by: short(&self.made_by),
            base: short(&self.base),
            sources: sources.collect(),
            points_fitted: before.points_fitted + self.known(false).count() as u32,
            points_held_out: before.points_held_out + self.known(true).count() as u32,
            derived: None,
            fingerprint: Some(fingerprint(&self.config)),
            errors_held_out_percent: before
                .errors_held_out_percent
                .into_iter()
                .chain(error)
                .collect(),
            tested: before
                .tested
                .into_iter()
                .chain([false, true].into_iter().filter_map(load))
                .collect(),
        }
    }

    /// The text of the drive's file.
    pub fn drive_file(&self) -> String {
        drive_text(&self.header(), &self.config, &self.origins, &self.provenance())
    }
}

impl fmt::Display for RunErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.is_held_out { "held out" } else { "fitted" };
        write!(f, "Mean absolute errors, {}, {which}:", self.pattern.unwrap_or("all"))?;
        let mut part = |name: &str, error: Option<f64>| match error {
            Some(error) => write!(f, " {name} {error:.1} %,"),
            None => Ok(()),
        };
        part("write amplification", self.error)?;
        part("MiB/s", self.throughput)?;
        if let Some(fall) = &self.fall {
            part("level before the fall", Some(fall.before))?;
            part("after", Some(fall.after))?;
            part("time of the fall", fall.seconds)?;
        }
        write!(f, " of {} {}.", self.runs, if self.runs == 1 { "run" } else { "runs" })
    }
}

/// Mean errors of all runs and of each kind of pattern, fitted before held out.
fn errors(runs: &[RunPrediction]) -> Vec<RunErrors> {
    let mut groups: BTreeMap<(Option<&'static str>, bool), Vec<&RunPrediction>> = BTreeMap::new();
    for one in runs.iter().filter(|one| one.error.is_some() || one.error_mib_s.is_some()) {
        for pattern in [None, Some(one.run.pattern.kind())] {
            groups.entry((pattern, one.is_held_out)).or_default().push(one);
        }
    }
    let of = |((pattern, is_held_out), own): ((_, bool), Vec<&RunPrediction>)| RunErrors {
        pattern,
        is_held_out,
        runs: own.len(),
        error: percent(own.iter().filter_map(|one| one.error)),
        throughput: percent(own.iter().filter_map(|one| one.error_mib_s)),
        fall: FallErrors::of(&own),
    };
    groups.into_iter().map(of).collect()
}

impl FallErrors {
    fn of(runs: &[&RunPrediction]) -> Option<Self> {
        let falls = || runs.iter().filter_map(|one| one.fall);
        let is_missed = |one: &FallPrediction| {
            one.measured.seconds.is_some() != one.predicted.seconds.is_some()
        };
        Some(Self {
            runs: falls().count(),
            before: percent(falls().map(|one| one.error_before))?,
            after: percent(falls().map(|one| one.error_after))?,
            lowest: percent(falls().map(|one| one.error_lowest))?,
            seconds: percent(falls().filter_map(|one| one.error_seconds)),
            missed: falls().filter(is_missed).count(),
        })
    }
}

/// The mean of absolute shares, in percent.
fn percent(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = shares.map(|share| 100.0 * share.abs()).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// How far runs of one pattern over one span are from their mean.
fn noise(runs: &[RunPrediction]) -> Option<f64> {
    let mut groups: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    for RunPrediction { run, .. } in runs {
        if let Some(measured) = run.write_amplification {
            groups.entry((run.pattern.to_string(), run.span_bytes)).or_default().push(measured);
        }
    }
    deviation(groups.into_values().filter(|group| group.len() > 1))
}
