//! Drives and the baseline side by side: measured results and speedups.

use super::{DriveResult, SpeedupInterval, SpeedupTable, WorkloadResult};
use crate::evaluate::{CachedEvaluator, MeasureError, Measurement, RunFacts, WorkloadMeasurement};
use crate::grade::{Figures, Speedup};
use crate::workload::{Trace, Workload};
use ssdtune_model::{CheckedConfig, DeviceConfig};
use std::borrow::Cow;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// What the search has measured: the windows of long traces that were drawn for it, and one
    /// state of used drives.
    Search,
    /// As many windows as tell the speedups to 2 %; where not even all would, no more than
    /// [`times`](crate::workload::Windows::times) allows. Used drives serve a whole target from
    /// [`STATES`] states.
    Verdict,
    /// As much as for [`Care::Verdict`]. If the target's windows still do not tell both speedups
    /// to 2 %, all of its requests run, from [`STATES`] states of both drives, where the traces can
    /// be read again and are short enough.
    Whole,
}

/// The states of used drives from which a target is served for the verdict. Long use leaves a drive
/// in one of many states, all equally likely, and a run of some thousand requests depends on which.
pub(super) const STATES: u64 = 5;

/// A drive and a baseline on workloads.
pub(super) fn rows(
    evaluator: &CachedEvaluator,
    base: &CheckedConfig,
    config: &CheckedConfig,
    workloads: &[&Workload],
    care: Care,
) -> Result<Vec<WorkloadResult>, MeasureError> {
    let mut questions: Vec<(&CheckedConfig, &Workload)> = Vec::new();
    for workload in workloads {
        questions.extend([(base, *workload), (config, *workload)]);
    }
    let answers = evaluator.measure_workloads(&questions)?;
    let mut rows = Vec::new();
    for (pair, workload) in answers.chunks(2).zip(workloads) {
        let (mut own, mut workload) = (row(workload, pair), Cow::Borrowed(*workload));
        let missing = |own: &WorkloadResult| windows_missing(own).filter(|_| care != Care::Search);
        while let Some(wider) = missing(&own).and_then(|by| wider(&workload, by)) {
            let again = evaluator.measure_workloads(&[(base, &wider), (config, &wider)])?;
            own = row(&wider, &again);
            workload = Cow::Owned(wider);
        }
        rows.push(own);
    }
    Ok(rows)
}

/// How many times as many windows would tell the speedups to 2 %.
fn windows_missing(row: &WorkloadResult) -> Option<f64> {
    row.interval.as_ref()?.windows_missing()
}

/// The workload with about this many times as many windows; `None` if it gets no more.
fn wider(workload: &Workload, times: f64) -> Option<Workload> {
    let mut has_more = false;
    let traces = workload.traces.iter().map(|trace| {
        let wider = trace.windows().and_then(|windows| windows.times(times));
        has_more |= wider.is_some();
        wider.map_or_else(|| trace.clone(), |wider| trace.with_windows(wider))
    });
    let wider = Workload { traces: traces.collect(), ..workload.clone() };
    has_more.then_some(wider)
}

/// What a baseline and a drive have answered.
fn row(workload: &Workload, pair: &[Result<WorkloadMeasurement, String>]) -> WorkloadResult {
    // A drive that cannot serve the workload has a speedup of 0.
    let nothing = Speedup { latency: 0.0, throughput: 0.0 };
    let (reference, tuned) = (pair[0].as_ref().ok(), pair[1].as_ref().ok());
    let (speedup, interval) = match (reference, tuned) {
        (Some(reference), Some(tuned)) => {
            (tuned.speedup_over(reference), SpeedupInterval::of(workload, tuned, reference))
        }
        _ => (nothing, None),
    };
    WorkloadResult {
        workload: workload.name.clone(),
        speedup,
        interval,
        baseline: drive_result(reference),
        own: drive_result(tuned),
    }
}

/// The speedups of a drive over a baseline. The first workload is the target.
///
/// # Errors
/// The evaluator or AutoDB fails, or the caller asked to stop.
pub(super) fn table(
    evaluator: &CachedEvaluator,
    base: &CheckedConfig,
    config: &CheckedConfig,
    workloads: &[&Workload],
    care: Care,
) -> Result<SpeedupTable, MeasureError> {
    let mut rows = rows(evaluator, base, config, workloads, care)?;
    let mut target = rows.remove(0);
    if care == Care::Whole
        && !is_precise(&target)
        && config != base
        && let Some(whole) = whole(workloads[0])
    {
        tell_from_states(&mut target, evaluator, [base, config], &whole)?;
    } else if care != Care::Search && evaluator.behind().preparation().is_used() {
        tell_from_states(&mut target, evaluator, [base, config], workloads[0])?;
    }
    let each: Vec<Speedup> = rows.iter().map(|row| row.speedup).collect();
    let some = !each.is_empty();
    let least = |part: fn(&Speedup) -> f64| each.iter().map(part).fold(f64::INFINITY, f64::min);
    Ok(SpeedupTable {
        target,
        others_mean: some.then(|| Speedup::mean(&each)),
        others_worst: some.then(|| Speedup {
            latency: least(|speedup| speedup.latency),
            throughput: least(|speedup| speedup.throughput),
        }),
        others: rows,
    })
}

/// Whether the speedups of a row are known to 2 %, or do not come from windows.
fn is_precise(row: &WorkloadResult) -> bool {
    row.interval.as_ref().is_none_or(SpeedupInterval::is_precise)
}

/// The whole traces of a target that is measured on windows; `None` where one of them cannot run
/// whole, or is another one by now.
fn whole(target: &Workload) -> Option<Workload> {
    if !target.can_run_whole() {
        return None;
    }
    let traces = target.traces.iter().map(Trace::whole).collect::<Option<_>>()?;
    Some(Workload { traces, ..target.clone() })
}

/// Tells the speedups of a drive on a workload of whole traces from several states of the drives.
/// Figures become geometric means over the states; all else is told from the first.
fn tell_from_states(
    row: &mut WorkloadResult,
    evaluator: &CachedEvaluator,
    drives: [&CheckedConfig; 2],
    workload: &Workload,
) -> Result<(), MeasureError> {
    if workload.traces.iter().any(|trace| trace.windows().is_some()) {
        return Ok(());
    }
    let in_state = |drive: &CheckedConfig, state: u64| {
        let mut other: DeviceConfig = (**drive).clone();
        other.run.seed = other.run.seed.wrapping_add(state) & SEED_MAX;
        // The seed alone is another, so it is as sound as before.
        other.check().unwrap_or_else(|_| drive.clone())
    };
    let windows = row.interval.take();
    let mut measured: Vec<WorkloadMeasurement> = Vec::new();
    let mut speedups: Vec<Speedup> = Vec::new();
    // Where chance has no part in the start, or in what follows, two states tell as much as all.
    for some in [0..2, 2..STATES] {
        if speedups.windows(2).any(|pair| pair[0] == pair[1]) {
            break;
        }
        let states: Vec<CheckedConfig> =
            some.flat_map(|state| drives.map(|drive| in_state(drive, state))).collect();
        let questions: Vec<_> = states.iter().map(|drive| (drive, workload)).collect();
        let answers = evaluator.measure_workloads(&questions)?;
        if measured.is_empty() {
            *row = self::row(workload, &answers[..2]);
        }
        let Ok(answers) = answers.into_iter().collect::<Result<Vec<_>, String>>() else {
            // It cannot serve the workload from one of them: the row says what it does from the
            // first.
            return Ok(());
        };
        speedups.extend(answers.chunks(2).map(|pair| pair[1].speedup_over(&pair[0])));
        measured.extend(answers);
    }
    row.speedup = Speedup::mean(&speedups);
    let told = SpeedupInterval::of_states(&speedups);
    row.interval = Some(match windows {
        Some(windows) => told.in_place_of(windows, workload),
        None => told,
    });
    let all = |of: usize| {
        let traces = measured.iter().skip(of).step_by(2).flat_map(|own| own.traces());
        drive_result(Some(&WorkloadMeasurement::new(traces.cloned().collect()))).figures
    };
    (row.baseline.figures, row.own.figures) = (all(0), all(1));
    Ok(())
}

/// The greatest seed of a drive.
const SEED_MAX: u64 = i64::MAX as u64;

/// The result of a drive from its measurements. `None`: it cannot serve the workload.
fn drive_result(answer: Option<&WorkloadMeasurement>) -> DriveResult {
    let measured: &[Measurement] = answer.map_or(&[], WorkloadMeasurement::traces);
    let count = measured.len().max(1) as f64;
    let mean = |part: fn(&Figures) -> f64| {
        (measured.iter().map(|measurement| part(&measurement.figures).ln()).sum::<f64>() / count)
            .exp()
    };
    let open: Option<Vec<&RunFacts>> =
        measured.iter().map(|measurement| measurement.open.as_ref()).collect();
    let both: Option<Vec<&RunFacts>> = measured
        .iter()
        .flat_map(|measurement| [measurement.open.as_ref(), measurement.closed.as_ref()])
        .collect();
    let busiest = open.as_ref().and_then(|runs| {
        runs.iter().map(|run| run.busy.busiest()).max_by(|a, b| a.1.total_cmp(&b.1))
    });
    let total = |part: fn(&RunFacts) -> Option<f64>| -> Option<f64> {
        open.as_ref().filter(|runs| !runs.is_empty())?.iter().map(|run| part(run)).sum()
    };
    let count_of = |part: fn(&RunFacts) -> u64| {
        both.as_ref().map(|runs| runs.iter().map(|run| part(run)).sum::<u64>())
    };
    DriveResult {
        figures: answer.map(|_| Figures {
            latency_ns: mean(|figures| figures.latency_ns),
            throughput_bps: mean(|figures| figures.throughput_bps),
        }),
        busiest: busiest.map(|(name, _)| name.to_owned()),
        utilisation: busiest.map(|(_, share)| share),
        energy_j: total(|run| run.energy_j),
        average_watts: answer.and_then(WorkloadMeasurement::average_watts),
        write_amplification: answer.and_then(WorkloadMeasurement::write_amplification),
        peak_watts: total(|run| run.peak_watts).map(|sum| sum / count),
        collections: count_of(|run| run.collections),
        mapping_misses: count_of(|run| run.mapping_misses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{EvaluationError, Evaluator, InProcess, Job};
    use crate::workload::{HeldTrace, LoadOptions, NamedWorkload, Sampling};
    use ssdtune_experiment::Preparation;
    use ssdtune_model::{Nanos, Sectors, presets};
    use ssdtune_trace::workload::{Generator, Seed, bundled};
    use ssdtune_trace::{Op, Request, TenantId};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// No drive with more channels than the Intel 750 can serve anything.
    struct Narrow;

    impl Evaluator for Narrow {
        fn identity(&self) -> String {
            "narrow".to_owned()
        }

        fn preparation(&self) -> Preparation {
            Preparation::default()
        }

        fn measure(&self, job: &Job, _: &AtomicBool) -> Result<Measurement, EvaluationError> {
            if job.config.bus.channels > 12 {
                return Err(EvaluationError::Unfit("too wide".to_owned()));
            }
            let figures = Figures { latency_ns: 2e3, throughput_bps: 3e6 };
            Ok(Measurement::of(figures))
        }
    }

    /// It was said to have a latency of 1 ns and a throughput of 1 B/s.
    #[test]
    fn a_drive_that_cannot_serve_has_no_figures() {
        let base = presets::load("intel-750").unwrap();
        let mut wide = base.clone();
        ssdtune_model::set(&mut wide, "bus.channels", "16").unwrap();
        let (base, wide) = (base.check().unwrap(), wide.check().unwrap());
        let (at, lba, tenant) = (Nanos::ZERO, Sectors(0), TenantId(0));
        let request = Request { at, lba, sectors: 8, tenant, op: Op::Read };
        let traces = vec![Trace::new("one", vec![request])];
        let workload = Workload { name: "one".to_owned(), depth: 1, traces };
        let stop = AtomicBool::new(false);
        let evaluator = CachedEvaluator::new(&Narrow, None, &stop, &|_| {});
        let rows = rows(&evaluator, &base, &wide, &[&workload], Care::Verdict).unwrap();
        let (baseline, own) = (&rows[0].baseline, &rows[0].own);
        assert_eq!((rows[0].speedup.latency, own.figures), (0.0, None));
        assert_eq!([own.latency_us(), own.throughput_mbps()], ["not served", "-"]);
        let near = |text: String| text.parse::<f64>().unwrap();
        assert_eq!([near(baseline.latency_us()), near(baseline.throughput_mbps())], [2.0, 3.0]);
    }

    /// The first requests of a model, measured on windows if there are more than `above`.
    fn loaded(requests: usize, above: u64) -> Workload {
        let model = bundled("database").unwrap();
        let all = Generator::new(&model, Seed::default()).unwrap().take(requests);
        let (workload, name) = ("database".to_owned(), "held".to_owned());
        let requests = Arc::new(all.collect());
        let held = HeldTrace { workload, name, requests, warnings: Vec::new() };
        let options = LoadOptions {
            seed: Seed::default(),
            requests: 1_000_000,
            space: Sectors(1 << 40),
            fit: None,
            depth: None,
            sampled: Some(Sampling { above, page_bytes: 4_096 }),
        };
        NamedWorkload::of_held(held).load(&options).unwrap()
    }

    /// Of twenty thousand requests there are fewer than the forty windows that an interval takes.
    #[test]
    fn a_target_that_windows_do_not_tell_runs_whole() {
        let [base, slow] = ["20000", "60000"].map(|nanos| {
            let mut config = presets::load("intel-750").unwrap();
            ssdtune_model::set(&mut config, "flash.page_read_latency_lsb_ns", nanos).unwrap();
            config.check().unwrap()
        });
        let stop = AtomicBool::new(false);
        let in_process = InProcess::default();
        let evaluator = CachedEvaluator::new(&in_process, None, &stop, &|_| {});
        let told = |workload: &Workload, care| {
            table(&evaluator, &base, &slow, &[workload], care).unwrap().target
        };
        let (whole, sampled) = (loaded(20_000, 1_000_000), loaded(20_000, 10_000));
        let interval = |row: &WorkloadResult| row.interval.clone().expect("windows");
        let on_windows = told(&sampled, Care::Search);
        assert!(!interval(&on_windows).is_precise() && interval(&on_windows).windows > 0);
        let verdict = told(&sampled, Care::Whole);
        let of_verdict = interval(&verdict);
        assert!(of_verdict.is_precise(), "{of_verdict:?}");
        assert_eq!((of_verdict.whole, of_verdict.states, of_verdict.windows), (20_000, 2, 0));
        let note = of_verdict.note().unwrap();
        assert!(note.contains("too few") && note.contains("all 20000 requests"), "{note}");
        // Nothing is left to chance on drives that hold what the trace touches.
        assert_eq!(verdict.speedup, told(&whole, Care::Search).speedup);
        assert!(verdict.own.collections.is_some());
    }
}
