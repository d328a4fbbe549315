//! Ranks drives by windows of a long trace instead of the whole.
//!
//! Every drive serves the same windows, each on a drive that is first brought into the state in
//! which it would be there. Latencies are from the arrival at the host, as in a run of the whole
//! trace; a drive whose requests may have waited before a window has no intervals. Two drives are
//! compared window by window ([`Times`]), so that what makes a window heavy for both drops out.
//!
//! Windows do not tell endurance: it is that of a long run in which the drive collects. Write
//! amplification is that of the windows.
//!
//! Cost: a pass over the trace for each size of a page (with `--fit-addresses wrap`, of a drive);
//! then for each drive and window a restored drive and some 1,600 requests. Some 60 KB are kept of
//! each of these, so 2,000 windows take 120 MB a drive, and the windows themselves up to 400 MB for
//! each pass.

#[cfg(test)]
mod tests;

use crate::choice::{
    Candidate, Choice, ChooseError, FailedDrive, Question, Ranked, RealDrive, SCHEMA, in_full,
    worth,
};
use crate::estimate::{Estimate, Figure, Figures, Times};
use ssdtune_estimate::{
    Interval, Latencies, Measured, Percentile, Population, Ratio, Tail, TailWindow,
};
use ssdtune_experiment::livepoints::{LivePoints, LivePointsError, SampleOptions, TAIL};
use ssdtune_experiment::sampled::{
    Dues, LATE_MAX, NoInterval, Reached, SampledError, SampledTraces, WindowRun, WindowServer,
    WindowTask,
};
use ssdtune_experiment::{Experiment, Load};
use ssdtune_model::SECTOR_BYTES;
use ssdtune_trace::Op;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The percentile that is told.
const P99: f64 = 0.99;
/// The seed of the bootstraps: two rankings by the same windows are equal.
const SEED: u64 = 1;
/// Windows that are served first where a precision is asked for; then twice as many, and so on.
const FIRST_WINDOWS: usize = 60;

/// How a trace is sampled for a ranking.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Where windows lie and how long they are. Each drive has pages of its own size.
    pub options: SampleOptions,
    /// The half-width of the interval of every drive's mean latency at which enough windows have
    /// been served, as a share of it; `None`: all windows are.
    pub precision: Option<f64>,
}

/// Who is told how far drives are.
type Progress<'a> = &'a (dyn Fn(usize, f64, u64) + Sync);

/// Serves windows of the workload on every drive, on all threads of the current pool, and ranks
/// them. A trace that is a file of live-points is not sampled again. `progress` is told the number
/// of a drive, the share of its work that is done, and how many requests were passed or served
/// since the last time.
///
/// # Errors
/// `stop` was set, windows do not tell the figure that is asked for, or drives cannot be restored
/// at windows of such a workload.
pub fn choose_sampled(
    drives: &[Candidate],
    question: &Question,
    sampling: &Sampling,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Choice, ChooseError> {
    if question.by == Figure::Endurance {
        return Err(ChooseError::NotTold { figure: question.by });
    }
    let results = sampled(drives, question, sampling, (stop, progress))?;
    let (mut runs, mut failed) = (Vec::new(), Vec::new());
    for result in results {
        match result.and_then(Run::told) {
            Ok(run) => runs.push(run),
            Err(error) => failed.push(error),
        }
    }
    let value = |told: &Told<'_>| told.figures.get(question.by).map(|own| own.value);
    // The sort keeps the order of the arguments where drives are equal.
    let worth = |told: &Told<'_>| worth(value(told), question.by);
    runs.sort_by(|one, other| worth(one).total_cmp(&worth(other)));
    question.check_first(runs.first().map(worth))?;
    let place = |(at, told): (usize, &Told<'_>)| told.ranked(at + 1, &runs[0]);
    let all = |told: &Told<'_>| told.run.windows.iter().map(|run| run.since_arrival.len()).sum();
    let requests = runs.first().map_or(0, all) as u64;
    Ok(Choice {
        schema: SCHEMA,
        workload: question.workload(),
        by: question.by,
        requests,
        windows: runs.first().map_or(0, |told| told.run.windows.len()),
        sampled: runs.first().map(|told| told.reached.run),
        preparation: question.preparation.in_words(),
        ranked: runs.iter().enumerate().map(place).collect(),
        failed,
    })
}

/// A drive and the windows that it has served.
struct Run<'a> {
    drive: &'a Candidate,
    experiment: Experiment,
    points: Arc<LivePoints>,
    windows: Vec<WindowRun>,
}

/// Every drive with its windows served, or why it cannot serve them.
fn sampled<'a>(
    drives: &'a [Candidate],
    question: &Question,
    sampling: &Sampling,
    (stop, progress): (&AtomicBool, Progress<'_>),
) -> Result<Vec<Result<Run<'a>, FailedDrive>>, ChooseError> {
    let mut traces = SampledTraces::new(sampling.options);
    let mut order: Vec<usize> = (0..drives.len()).collect();
    // Drives with pages of one size, one after the other, share a pass.
    order.sort_by_key(|&at| drives[at].device.geometry().page_bytes);
    let mut results: Vec<(usize, Result<Run<'a>, FailedDrive>)> = Vec::new();
    for at in order {
        let (drive, windows) = (&drives[at], Vec::new());
        let experiment = question.flows.experiment(&drive.device, &question.preparation);
        experiment.check_sampled().map_err(ChooseError::Sampled)?;
        let points = traces.points(&experiment, stop, &|more| progress(at, 0.0, more));
        let run = points.map(|points| Run { drive, experiment, points, windows });
        results.push((at, kept(drive, run)?));
    }
    results.sort_by_key(|result| result.0);
    let mut count = sampling.precision.map_or(usize::MAX, |_| FIRST_WINDOWS);
    loop {
        for (at, result) in &mut results {
            let Ok(run) = result else { continue };
            let (drive, at) = (run.drive, *at);
            let served = run.serve(count, stop, &|more| progress(at, 0.0, more));
            if let Err(error) = kept(drive, served)? {
                *result = Err(error);
            }
        }
        let is_known = |run: &Run<'_>| {
            run.windows.len() == run.points.windows.len()
                || sampling.precision.is_some_and(|wanted| run.is_known(wanted))
        };
        if results.iter().all(|(_, result)| result.as_ref().map_or(true, is_known)) {
            break;
        }
        count *= 2;
    }
    (0..drives.len()).for_each(|at| progress(at, 1.0, 0));
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// What is wrong with one drive, kept apart from what ends the ranking.
fn kept<T>(
    drive: &Candidate,
    result: Result<T, SampledError>,
) -> Result<Result<T, FailedDrive>, ChooseError> {
    match result {
        Err(SampledError::Interrupted) => Err(ChooseError::Interrupted),
        Err(error) => {
            let is_work = matches!(error, SampledError::Points(LivePointsError::OutOfSpace));
            Ok(Err(FailedDrive { drive: drive.name.clone(), error: in_full(&error), is_work }))
        }
        Ok(value) => Ok(Ok(value)),
    }
}

impl Run<'_> {
    /// Serves what is missing of `count` windows, or of all where there are not more.
    fn serve(
        &mut self,
        count: usize,
        stop: &AtomicBool,
        told: &(dyn Fn(u64) + Sync),
    ) -> Result<(), SampledError> {
        let (points, all) = (&*self.points, self.points.windows.len());
        let alike = Population::new(&vec![1.0; all], 1.0, points.options.seed)
            .map_err(|_| SampledError::Nothing)?;
        let wanted = alike.sample(count.min(all)).drawn.into_iter().map(|drawn| drawn.window);
        let is_missing = |window: &usize| self.windows.iter().all(|run| run.window != *window);
        let more: Vec<usize> = wanted.filter(is_missing).collect();
        if stop.load(Ordering::Relaxed) {
            return Err(SampledError::Interrupted);
        }
        if more.is_empty() {
            return Ok(());
        }
        let task = WindowTask {
            points,
            device: &self.experiment.device,
            preparation: &self.experiment.preparation,
            replay: self.experiment.flows[0].replay,
        };
        let runs = WindowServer::new(task, &more, stop)?.serve(&more, stop, told)?;
        // Only latencies from the arrival at the host are told; the others would take twice as
        // much again.
        let none = || Latencies::new(Vec::new());
        let light = |run| WindowRun { latencies: none(), by_op: [none(), none()], ..run };
        self.windows.extend(runs.into_iter().map(light));
        self.windows.sort_by_key(|run| run.window);
        Ok(())
    }

    /// How far the windows reach, by what they take of all latency.
    fn reached(&self) -> Option<Reached> {
        Reached::of(&self.points, &self.windows, |run| run.since_arrival.sum())
    }

    /// Whether the mean latency is known as well as is wanted.
    fn is_known(&self, wanted: f64) -> bool {
        let Some(reached) = self.reached() else { return false };
        let own = self
            .ratio(&reached, &|run| run.since_arrival.len() as f64, &|run| run.since_arrival.sum());
        let interval = own.and_then(|own| own.interval).filter(|_| self.no_interval().is_none());
        interval.is_some_and(|own| own.half_width() <= wanted)
    }

    fn ratio(
        &self,
        reached: &Reached,
        below: &dyn Fn(&WindowRun) -> f64,
        above: &dyn Fn(&WindowRun) -> f64,
    ) -> Option<Ratio> {
        let (chance, all) = (reached.chance, self.windows.iter());
        let measured = all.map(|run| Measured { chance, below: below(run), above: above(run) });
        Ratio::of(&measured.collect::<Vec<_>>(), reached.reach)
    }

    /// Why the drive has no intervals.
    fn no_interval(&self) -> Option<NoInterval> {
        let sum = |late: bool| -> f64 {
            let own = self.windows.iter().filter(|run| !late || run.is_late_since_arrival());
            own.map(|run| run.since_arrival.sum()).sum()
        };
        let is_late = sum(true) > LATE_MAX * sum(false);
        let own = NoInterval::of(&self.points, &self.windows);
        own.or(is_late.then_some(NoInterval::Backlog))
    }

    /// Bytes of the measured reads and writes of a window.
    fn bytes(&self, run: &WindowRun) -> f64 {
        let window = &self.points.windows[run.window];
        let end = window.requests.len() - TAIL as usize;
        let measured = &window.requests[window.warm_up as usize..end];
        let moving = measured.iter().filter(|one| matches!(one.op, Op::Read | Op::Write));
        let sectors: u64 = moving.map(|one| u64::from(one.sectors)).sum();
        (sectors * SECTOR_BYTES) as f64
    }
}

/// A drive and what its windows say.
struct Told<'a> {
    run: Run<'a>,
    reached: Reached,
    figures: Figures<Estimate>,
    write_amplification: Option<Ratio>,
    no_interval: Option<NoInterval>,
    dues: Dues,
}

impl<'a> Run<'a> {
    /// What the windows say.
    fn told(self) -> Result<Told<'a>, FailedDrive> {
        let moved: usize = self.windows.iter().map(|run| run.since_arrival.len()).sum();
        let reached = match self.reached() {
            Some(reached) if moved > 0 => reached,
            _ => {
                let (drive, error) = (self.drive.name.clone(), SampledError::Nothing.to_string());
                return Err(FailedDrive { drive, error, is_work: false });
            }
        };
        let no_interval = self.no_interval();
        let dues = Dues::of(&self.windows);
        let estimate = |value: f64, interval: Option<Interval>| {
            let interval = interval.filter(|_| no_interval.is_none());
            let (low, high) = (interval.map(|own| own.low), interval.map(|own| own.high));
            Estimate { value, low, high }
        };
        let write_amplification =
            self.ratio(&reached, &|run| run.flash.host as f64, &|run| programmed(run));
        let ratio = |figure: Figure| match figure {
            Figure::Mean => self.ratio(&reached, &|run| run.since_arrival.len() as f64, &|run| {
                run.since_arrival.sum()
            }),
            Figure::Throughput => {
                self.ratio(&reached, &|run| dues.taken_ns(run) / 1e9, &|run| self.bytes(run))
            }
            Figure::WriteAmplification => write_amplification,
            Figure::P99 | Figure::Endurance => None,
        };
        let tail = || {
            let all = self.windows.iter().map(|run| (reached.chance, &run.since_arrival));
            let all: Vec<(f64, &Latencies)> = all.collect();
            let own = Percentile::of(&all, P99, reached.reach, SEED)?;
            Some(estimate(own.value, own.interval))
        };
        let figures = Figures::of(|at| match Figure::ALL[at] {
            Figure::P99 => tail(),
            figure => ratio(figure).map(|own| estimate(own.value, own.interval)),
        });
        Ok(Told { run: self, reached, figures, write_amplification, no_interval, dues })
    }
}

/// Pages programmed for whatever reason.
fn programmed(run: &WindowRun) -> f64 {
    (run.flash.host + run.flash.moved + run.flash.mapping) as f64
}

impl Told<'_> {
    /// The drive in its place.
    fn ranked(&self, place: usize, first: &Self) -> Ranked {
        let Run { drive, experiment, points, windows } = &self.run;
        let latency = self.figures.latency_ns_mean.map_or(0.0, |own| own.value);
        let load = || Load::of_windows(points, experiment.flows[0].replay, latency);
        let calibrated = drive.calibrated.as_ref().map(|real| RealDrive {
            provenance: real.provenance.clone(),
            outside_tested_range: load().outside(real, &drive.device),
        });
        let writes = windows.iter().any(|run| run.flash.host > 0);
        let collects = windows.iter().any(WindowRun::collects);
        let warnings = (writes && !collects).then(|| {
            "no garbage was collected in the windows: WA is that of free blocks that are being \
             filled, not of long use"
                .to_owned()
        });
        Ranked {
            place,
            drive: drive.name.clone(),
            calibrated,
            figures: self.figures,
            against_first: Figures::of(|_| None),
            times_first: Some(self.times(first)),
            no_interval: self.no_interval,
            warnings: warnings.into_iter().collect(),
        }
    }

    /// How many times those of another drive its figures are.
    fn times(&self, first: &Self) -> Figures<Times> {
        let (own, other) = (&self.run.windows, &first.run.windows);
        let are_told = self.no_interval.is_none() && first.no_interval.is_none();
        let times = |value: f64, interval: Option<Interval>| {
            let interval = interval.filter(|_| are_told);
            let is_decided = interval.is_some_and(|own| !own.holds(1.0));
            let (low, high) = (interval.map(|own| own.low), interval.map(|own| own.high));
            Times { value, low, high, is_decided }
        };
        let (chance, mine, their) = (self.reached.chance, self.reached.reach, first.reached.reach);
        let reach = if their.unseen > mine.unseen { their } else { mine };
        let pairs = || own.iter().zip(other);
        let start = |run: &Run<'_>, at: usize| run.points.windows[at].start;
        let is_paired = own.len() == other.len()
            && pairs().all(|(one, other)| {
                start(&self.run, one.window) == start(&first.run, other.window)
            });
        let ratio = |[above, below]: [&dyn Fn(&WindowRun) -> f64; 2]| {
            let pair = |(own, first): (&WindowRun, &WindowRun)| Measured {
                chance,
                below: below(first),
                above: above(own),
            };
            Ratio::of(&pairs().map(pair).collect::<Vec<_>>(), reach)
        };
        let tail = || {
            let windows = pairs().map(|(own, first)| TailWindow {
                chance,
                below: &first.since_arrival,
                above: &own.since_arrival,
            });
            Tail::of(&windows.collect::<Vec<_>>(), P99, reach, SEED)
        };
        Figures::of(|at| match Figure::ALL[at] {
            _ if !is_paired => None,
            Figure::Mean => {
                let sum: &dyn Fn(&WindowRun) -> f64 = &|run| run.since_arrival.sum();
                ratio([sum; 2]).map(|own| times(own.value, own.interval))
            }
            Figure::P99 => tail().map(|own| times(own.value, own.interval)),
            Figure::Throughput => {
                // The bytes are those of the same requests, so only the times differ.
                let slower =
                    ratio([&|run| self.dues.taken_ns(run), &|run| first.dues.taken_ns(run)])?;
                let turned = |own: Interval| Interval { low: 1.0 / own.high, high: 1.0 / own.low };
                Some(times(1.0 / slower.value, slower.interval.map(turned)))
            }
            Figure::WriteAmplification => {
                let both = [(1.0, self.write_amplification?), (-1.0, first.write_amplification?)];
                Ratio::product(&both).map(|own| times(own.value, own.interval))
            }
            Figure::Endurance => None,
        })
    }
}
