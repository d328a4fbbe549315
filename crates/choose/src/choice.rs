//! Runs a workload on every drive, and ranks them.

use crate::estimate::{Difference, Estimate, Figure, Figures, Measured, Times};
use crate::windows::Windows;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::sampled::{NoInterval, SampledError, SampledRun};
use ssdtune_experiment::{
    ExperimentError, FlowSet, Load, Observer, Preparation, PreparationInWords, RunOptions,
};
use ssdtune_model::{Calibrated, CheckedConfig, Provenance};
use ssdtune_sim::{Ending, Replay, Report};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Version of the document. It grows when a field changes its meaning or goes.
pub(crate) const SCHEMA: u32 = 1;

/// A drive that may be chosen.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name it was given by.
    pub name: String,
    /// The drive.
    pub device: CheckedConfig,
    /// What is known of the real one, if it was calibrated.
    pub calibrated: Option<Calibrated>,
}

/// What drives are asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The requests.
    pub flows: FlowSet,
    /// What the drives hold and have been through before; each takes its own seed.
    pub preparation: Preparation,
    /// What they are ranked by.
    pub by: Figure,
    /// The fewest windows that the intervals of a long trace are taken over.
    pub windows: usize,
}

/// Why there is no ranking.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// Windows do not tell what drives are to be ranked by.
    #[error(
        "--by {figure}: windows do not tell it, since it is that of a long run in which the drive \
         collects; leave --sample away, or rank by mean, p99, throughput or write-amplification"
    )]
    NotTold {
        /// What they were to be ranked by.
        figure: Figure,
    },
    /// No drive has what drives are to be ranked by.
    #[error(
        "--by {figure}: no drive has one; write-amplification and endurance need writes of the \
         host, endurance also a number of rated cycles (flash.pe_cycles_limit)"
    )]
    NoFigure {
        /// What they were to be ranked by.
        figure: Figure,
    },
    /// Drives cannot be restored at windows of the workload.
    #[error(transparent)]
    Sampled(SampledError),
}

/// What is known of the real drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealDrive {
    /// Its name, its sources, its errors and the loads at which it was tested.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// What the workload asks for that it was not tested at, a few words each.
    pub outside_tested_range: Vec<String>,
}

/// A drive in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// Its place, from 1.
    pub place: usize,
    /// The name it was given by.
    pub drive: String,
    /// What is known of the real drive; `None` if nobody has compared it with one.
    pub calibrated: Option<RealDrive>,
    /// What it did.
    pub figures: Figures<Estimate>,
    /// How far its figures are above those of the drive in the first place; not told from windows.
    pub against_first: Figures<Difference>,
    /// From windows: how many times those of the drive in the first place its figures are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_first: Option<Figures<Times>>,
    /// From windows: why they tell no intervals, if they tell none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_interval: Option<NoInterval>,
    /// What must be known before the figures are believed.
    pub warnings: Vec<String>,
}

/// A drive that cannot serve the workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedDrive {
    /// The name it was given by.
    pub drive: String,
    /// Why not.
    pub error: String,
    /// Whether the work failed, rather than an input being wrong.
    pub is_work: bool,
}

/// Drives in the order of their worth for a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Version of this document.
    pub schema: u32,
    /// The workload.
    pub workload: String,
    /// What the drives are ranked by.
    pub by: Figure,
    /// Requests of reads and writes that each drive has served.
    pub requests: u64,
    /// Windows that the intervals are taken over.
    pub windows: usize,
    /// How windows of the trace were served, if not the whole was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledRun>,
    /// What the drives held and had been through before.
    pub preparation: PreparationInWords,
    /// The drives, the best first.
    pub ranked: Vec<Ranked>,
    /// Drives that cannot serve the workload.
    pub failed: Vec<FailedDrive>,
}

/// A run on one drive.
struct Run {
    name: String,
    measured: Measured,
    calibrated: Option<RealDrive>,
    report: Report,
}

/// Runs the workload on every drive, on all threads of the current pool, and ranks them.
/// `progress` is told the number of a drive, the share of its requests that was read, and how many
/// were completed since the last time.
///
/// # Errors
/// `stop` was set.
pub fn choose(
    drives: &[Candidate],
    question: &Question,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, f64, u64) + Sync),
) -> Result<Choice, ChooseError> {
    let one = |(number, drive): (usize, &Candidate)| {
        let tell = |done: f64, requests: u64| progress(number, done, requests);
        let result =
            run(drive, question, &RunOptions { stop, progress: &tell, exact_percentiles: false });
        tell(1.0, 0);
        result
    };
    let results: Vec<Result<Run, FailedDrive>> =
        drives.par_iter().enumerate().with_max_len(1).map(one).collect();
    if stop.load(Ordering::Relaxed) {
        return Err(ChooseError::Interrupted);
    }
    let (mut runs, mut failed) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(run) => runs.push(run),
            Err(error) => failed.push(error),
        }
    }
    let worth = |run: &Run| {
        let value = run.measured.estimates().get(question.by).map(|estimate| estimate.value);
        worth(value, question.by)
    };
    // The sort keeps the order of the arguments where drives are equal.
    runs.sort_by(|one, other| worth(one).total_cmp(&worth(other)));
    question.check_first(runs.first().map(worth))?;
    let all = runs.first().map(|run| run.report.total.all.requests);
    Ok(Choice {
        schema: SCHEMA,
        workload: question.workload(),
        by: question.by,
        requests: all.unwrap_or(0),
        windows: runs.first().map_or(0, |run| run.measured.windows),
        sampled: None,
        preparation: question.preparation.in_words(),
        ranked: ranked(&runs),
        failed,
    })
}

/// What the best drive has least of.
pub(crate) fn worth(value: Option<f64>, by: Figure) -> f64 {
    // What has no such figure comes last.
    value.map_or(f64::INFINITY, |value| if by.is_cost() { value } else { -value })
}

impl Question {
    /// Checks that the best drive, if there is one, has what drives are ranked by: then it has a
    /// finite [`worth`].
    ///
    /// # Errors
    /// It has none, so no drive has.
    pub(crate) fn check_first(&self, worth: Option<f64>) -> Result<(), ChooseError> {
        match worth.is_some_and(f64::is_infinite) {
            true => Err(ChooseError::NoFigure { figure: self.by }),
            false => Ok(()),
        }
    }

    /// What messages call the workload.
    pub(crate) fn workload(&self) -> String {
        let mut names: Vec<String> =
            self.flows.flows.iter().map(|flow| flow.source.name()).collect();
        names.dedup();
        names.join(" + ")
    }
}

/// The runs, which are in order, as places.
fn ranked(runs: &[Run]) -> Vec<Ranked> {
    let place = |(at, run): (usize, &Run)| Ranked {
        place: at + 1,
        drive: run.name.clone(),
        calibrated: run.calibrated.clone(),
        figures: run.measured.estimates(),
        against_first: run.measured.above(&runs[0].measured),
        times_first: None,
        no_interval: None,
        warnings: warnings(&run.report),
    };
    runs.iter().enumerate().map(place).collect()
}

/// What the report warns of, and figures that the run was too short for.
fn warnings(report: &Report) -> Vec<String> {
    let mut all = report.warnings.clone();
    if report.total.write.requests > 0 && report.collection.executions == 0 {
        all.push(
            "no garbage was collected: WA and TBW are those of free blocks that are being filled, \
             not of long use; give a workload with more writes"
                .to_owned(),
        );
    }
    all
}

fn run(
    drive: &Candidate,
    question: &Question,
    options: &RunOptions<'_>,
) -> Result<Run, FailedDrive> {
    let failed =
        |error: String, is_work: bool| FailedDrive { drive: drive.name.clone(), error, is_work };
    let experiment = question.flows.experiment(&drive.device, &question.preparation);
    let mut windows = Windows::new(question.windows);
    let mut load = Load::default();
    let mut observers: Vec<&mut dyn Observer> = vec![&mut windows];
    if drive.calibrated.is_some() {
        observers.push(&mut load);
    }
    let report = experiment
        .run(options, &mut observers)
        .map_err(|error: ExperimentError| failed(in_full(&error), error.is_failed_work()))?;
    if report.outcome == Ending::OutOfSpace {
        return Err(failed("it ran out of free blocks".to_owned(), true));
    }
    if report.total.all.requests == 0 {
        return Err(failed("the workload reads and writes nothing".to_owned(), false));
    }
    let replays = experiment.flows.iter().map(|flow| flow.replay).collect::<Vec<Replay>>();
    let calibrated = drive.calibrated.as_ref().map(|real| RealDrive {
        provenance: real.provenance.clone(),
        outside_tested_range: load.of_run(replays, &report).outside(real, &drive.device),
    });
    let measured = windows.measured(report.endurance.terabytes_written);
    Ok(Run { name: drive.name.clone(), measured, calibrated, report })
}

/// An error and its causes, as one line.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}

impl Choice {
    /// What is to be said once of all runs, each with the drives that it is said of.
    pub(crate) fn warnings(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for drive in &self.ranked {
            for warning in &drive.warnings {
                all.entry(warning).or_default().push(&drive.drive);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_experiment::{RequestSource, Start};
    use ssdtune_model::{Direction, Nanos, Sectors, TenantId, TestedLoad, presets};
    use ssdtune_trace::{Op, Request};

    fn requests(count: u64, op: Op) -> RequestSource {
        let one = |n: u64| Request {
            at: Nanos(100_000 * n),
            lba: Sectors(8 * (n * 7_919 % 10_007)),
            sectors: 8,
            tenant: TenantId(0),
            op: if n.is_multiple_of(3) { op } else { Op::Read },
        };
        RequestSource::of_requests("made", (0..count).map(one).collect::<Vec<_>>())
    }

    fn candidate(name: &str, times: u64) -> Candidate {
        let mut config = presets::load("samsung-850-pro").unwrap();
        config.flash.blocks_per_plane = 64;
        for time in &mut config.flash.read_latency {
            time.0 *= times;
        }
        let device = config.check().unwrap();
        Candidate { name: name.to_owned(), device, calibrated: None }
    }

    fn question(source: RequestSource, by: Figure) -> Question {
        Question {
            flows: FlowSet::single(source, Replay::Open),
            preparation: Preparation::of("steady:0.8".parse::<Start>().unwrap(), 0),
            by,
            windows: 20,
        }
    }

    fn ask(drives: &[Candidate], question: &Question) -> Choice {
        choose(drives, question, &AtomicBool::new(false), &|_, _, _| {}).unwrap()
    }

    #[test]
    fn the_faster_drive_is_first_and_equal_drives_are_undecided() {
        let drives = [candidate("slow", 3), candidate("fast", 1), candidate("twin", 1)];
        let choice = ask(&drives, &question(requests(4_000, Op::Read), Figure::Mean));
        let names: Vec<&str> = choice.ranked.iter().map(|one| one.drive.as_str()).collect();
        assert_eq!(names, ["fast", "twin", "slow"], "{:?}", choice.failed);
        let decided = |at: usize| choice.ranked[at].against_first.latency_ns_mean.unwrap();
        assert_eq!((decided(1).value, decided(1).is_decided), (0.0, false));
        assert!(decided(2).is_decided && decided(2).low.unwrap() > 0.0, "{}", choice.text());
        assert_eq!(choice.windows, 31);
        let by_rate = ask(&drives, &question(requests(400, Op::Read), Figure::Throughput));
        assert_eq!(by_rate.ranked[2].drive, "slow");
        assert_eq!(by_rate.ranked[0].figures.write_amplification, None);
    }

    /// The windows' figures are those of the report.
    #[test]
    fn figures_are_those_of_the_report() {
        let drive = candidate("drive", 1);
        let question = question(requests(6_000, Op::Write), Figure::Endurance);
        let figures = ask(std::slice::from_ref(&drive), &question).ranked[0].figures;
        let experiment = question.flows.experiment(&drive.device, &question.preparation);
        let options = RunOptions {
            stop: &AtomicBool::new(false),
            progress: &|_, _| {},
            exact_percentiles: false,
        };
        let report = experiment.run(&options, &mut []).unwrap();
        let latency = report.total.all.total_latency_ns.unwrap();
        let endurance = report.endurance.terabytes_written.unwrap();
        for (own, report) in [
            (figures.latency_ns_mean, latency.mean),
            (figures.latency_ns_p99, latency.p99 as f64),
            (figures.throughput_bytes_per_s, report.total.all.bandwidth_bytes_per_s),
            (figures.write_amplification, report.write_amplification.total),
            (figures.terabytes_written, endurance),
        ] {
            let own = own.unwrap();
            assert!((own.value / report - 1.0).abs() < 2e-3, "{own:?} {report}");
            assert!(own.low.unwrap() <= own.value && own.value <= own.high.unwrap());
        }
    }

    #[test]
    fn a_run_that_collects_nothing_does_not_tell_write_amplification() {
        let said = |count, op| {
            let question = question(requests(count, op), Figure::Mean);
            ask(&[candidate("drive", 1)], &question).text().to_string()
        };
        assert!(said(60, Op::Write).contains("drive: no garbage was collected: WA and TBW"));
        assert!(!said(6_000, Op::Write).contains("no garbage"));
        assert!(!said(60, Op::Read).contains("no garbage"));
        assert!(said(600, Op::Read).contains("intervals of 95 % over 38 windows"));
        assert!(said(60, Op::Read).contains("too few requests for intervals"));
        assert!(said(3, Op::Read).contains("too few requests for intervals"));
    }

    #[test]
    fn what_writes_nothing_is_not_ranked_by_endurance() {
        let question = question(requests(60, Op::Read), Figure::Endurance);
        let drives = [candidate("drive", 1)];
        let asked = choose(&drives, &question, &AtomicBool::new(false), &|_, _, _| {});
        let error = asked.unwrap_err().to_string();
        assert!(error.starts_with("--by endurance: no drive has one; "), "{error}");
    }

    #[test]
    fn drives_that_cannot_serve_are_named_and_the_others_ranked() {
        let mut small = candidate("small", 1);
        let mut config = (*small.device).clone();
        config.flash.blocks_per_plane = 48;
        small.device = config.check().unwrap();
        let far = Request {
            at: Nanos(0),
            lba: Sectors(small.device.geometry().raw_capacity().0 / 512),
            sectors: 8,
            tenant: TenantId(0),
            op: Op::Read,
        };
        let source = RequestSource::of_requests("far", vec![far]);
        let choice = ask(&[small, candidate("large", 1)], &question(source, Figure::Mean));
        assert_eq!((choice.ranked.len(), choice.failed.len()), (1, 1));
        assert_eq!(choice.failed[0].drive, "small");
        assert!(choice.failed[0].error.contains("--fit-addresses"), "{:?}", choice.failed);
        assert!(!choice.failed[0].is_work);
        let none = RequestSource::of_requests("none", Vec::new());
        let choice = ask(&[candidate("a", 1)], &question(none, Figure::Mean));
        assert!(choice.ranked.is_empty() && choice.failed[0].error.contains("nothing"));
        let stop = AtomicBool::new(true);
        let question = question(requests(10, Op::Read), Figure::Mean);
        assert!(choose(&[candidate("a", 1)], &question, &stop, &|_, _, _| {}).is_err());
    }

    #[test]
    fn calibrated_drives_say_where_the_workload_leaves_their_range() {
        let mut drive = candidate("real", 1);
        let tested = vec![TestedLoad {
            direction: Direction::Read,
            sequential: false,
            read_percent: [100.0; 2],
            block_bytes: [16_384; 2],
            outstanding: Some([1, 32]),
            offered_iops: None,
        }];
        let provenance = Provenance { drive: "Real".to_owned(), tested, ..Provenance::default() };
        let config = (*drive.device).clone();
        drive.calibrated = Some(Calibrated { provenance, config });
        let choice = ask(&[drive], &question(requests(500, Op::Read), Figure::P99));
        let real = choice.ranked[0].calibrated.as_ref().unwrap();
        assert_eq!(real.outside_tested_range, ["reads of 4 KiB (tested: 16 KiB)"]);
        let words = choice.text().to_string();
        assert!(words.contains("outside of what Real was tested at: reads of 4 KiB"), "{words}");
        let json = serde_json::to_value(&choice).unwrap();
        assert_eq!(json["ranked"][0]["calibrated"]["drive"], "Real");
        assert_eq!(json["by"], "p99");
    }
}
