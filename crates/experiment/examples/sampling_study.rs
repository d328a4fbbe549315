//! What windows of real traces are worth beside full runs: how far restored windows, and ratios of
//! drives on them, are off the same windows inside full runs; how often intervals hold what a whole
//! trace gives; whether drives are put in the right order; what races cost.
//!
//! `sampling_study TRACES [REQUESTS [DRIVES [WINDOWS [PASSES]]]]`: names separated by commas, or
//! `all`; the first REQUESTS (100,000) of each trace; DRIVES (40) random drives beside the preset
//! `intel-750`; WINDOWS (40) of 500 measured requests in each estimate; PASSES (1) over each trace,
//! whose windows lie at other places (if a trace is so long that there are gaps between windows:
//! more than 2.1 million requests). The traces are looked for in `$SSDTUNE_SHARED/traces`. It
//! prints a line for each trace and replay, and the sums.
//!
//! The first six traces have been looked at while restoring and estimating were made, the others
//! not before their figures were written down.
//!
//! Each drive runs the whole trace once, and serves all windows once; draws of windows are made of
//! what was measured then.

#[path = "common/real_traces.rs"]
mod real_traces;

use rayon::prelude::*;
use real_traces::{FILES, requests};
use ssdtune_estimate::{
    Latencies, Measured, Population, Race, Ratio, Sample, Standing, Tail, TailWindow,
};
use ssdtune_experiment::livepoints::{LivePoints, SampleOptions, Sampler};
use ssdtune_experiment::sampled::{SampledReport, WindowRun, WindowServer, WindowTask};
use ssdtune_experiment::{
    Experiment, KeepCompletions, Preparation, RequestSource, RunOptions, Start,
};
use ssdtune_model::{Bytes, CheckedConfig, Nanos, presets, scramble};
use ssdtune_sim::{Completion, Replay};
use ssdtune_trace::Request;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Requests that are outstanding in closed replay.
const DEPTH: u32 = 16;
/// Draws of windows for each drive.
const SEEDS: u64 = 25;
/// Windows in the first round of a race; each further one has twice as many.
const FIRST_ROUND: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |nth: usize, default: usize| {
        arguments.get(nth).map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (most, drives, windows) = (number(1, 100_000)?, number(2, 40)?, number(3, 40)?);
    let passes = number(4, 1)? as u64;
    let asked = arguments.first().map_or("all", String::as_str);
    let columns = [
        "trace",
        "replay",
        "windows",
        "bias of the baseline, %",
        "of ratios: median, largest",
        "mean held, refused, %",
        "+- %, off %",
        "p99 held, %",
        "order: windows, prefix of the same cost, of 20,000",
        "races: wrong, requests to throw out 8 to 14 % worse",
    ];
    println!("| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
    let mut sums = Sums::default();
    for name in real_traces::asked(asked, FILES.len()) {
        let requests = requests(name, most)?;
        for replay in [Replay::Open, Replay::Closed(DEPTH)] {
            let whole: Vec<Arc<Whole>> = (0..=drives as u64)
                .into_par_iter()
                .map(|nth| run_whole(&drive(nth), &requests, replay).map(Arc::new))
                .collect::<Result<_, _>>()?;
            let mut studies = Vec::new();
            for seed in 1..=passes {
                let points = sample(&requests, seed)?;
                let all = (0..).zip(&whole).collect::<Vec<_>>().into_par_iter();
                let all: Vec<Measures> = all
                    .map(|(nth, whole)| measure(&drive(nth), whole, &points, replay))
                    .collect::<Result<_, _>>()?;
                studies.push(Study { all, windows, each: points.options.length() as usize });
            }
            let count = studies[0].all[0].windows.len();
            println!("| {name} | {replay} | {count} | {} |", Study::row(&studies, &mut sums));
        }
    }
    println!("\n{}", sums.said());
    Ok(())
}

fn sample(requests: &[Request], seed: u64) -> Result<LivePoints, Box<dyn Error>> {
    let options = SampleOptions { measured: 500, seed, ..SampleOptions::default() };
    let mut sampler = Sampler::new(options)?;
    requests.iter().try_for_each(|request| sampler.push(request))?;
    Ok(sampler.finish()?)
}

/// Drive 0 is the preset with queues for the closed loop; every other one has other parts and other
/// caches, a quarter to four times as large. None collects.
fn drive(nth: u64) -> CheckedConfig {
    let mut config = presets::load("intel-750").expect("the preset is built in");
    config.host.queue_depth = config.host.queue_depth.max(DEPTH);
    config.host.queue_fetch_size = config.host.queue_fetch_size.max(DEPTH);
    let draw = |axis: u64, values: &[u64]| {
        values[(scramble(nth << 8 | axis) % values.len() as u64) as usize]
    };
    if nth > 0 {
        config.cache.capacity = Bytes(draw(1, &[200, 400, 800, 1_600, 3_200]) << 20);
        config.mapping.cmt_capacity = Bytes(draw(2, &[64, 128, 256, 512, 1_024]) << 20);
        config.bus.channels = draw(3, &[8, 12, 16, 24]) as u32;
        config.bus.chips_per_channel = draw(4, &[2, 4, 6]) as u32;
        config.flash.dies_per_chip = draw(5, &[1, 2]) as u32;
        config.flash.planes_per_die = draw(6, &[2, 4]) as u32;
        config.bus.rate_mts = draw(7, &[200, 333, 533, 800]) as u32;
        let read = draw(8, &[40, 60, 80, 120]);
        config.flash.read_latency =
            [read, read * 5 / 4, read * 3 / 2, read * 2].map(|us| Nanos(us * 1_000));
        let program = draw(9, &[400, 700, 1_100]);
        config.flash.program_latency =
            [program, program * 2, program * 3, program * 4].map(|us| Nanos(us * 1_000));
        config.host.pcie_lanes = draw(10, &[2, 4, 8]) as u32;
    }
    config.check().expect("each of these drives is sound")
}

/// What a drive did with a trace in a full run.
struct Whole {
    /// Latencies in the order of the requests, and when each was enqueued.
    latencies: Vec<u64>,
    enqueued: Vec<u64>,
    preparation: Preparation,
}

/// What a drive did with a trace.
struct Measures {
    whole: Arc<Whole>,
    /// In restored windows.
    windows: Vec<WindowRun>,
    /// What the windows cost inside the full run.
    inside: Vec<f64>,
    /// Whether its windows tell intervals ([`SampledReport::no_interval`]).
    tells: bool,
    replay: Replay,
}

fn run_whole(
    device: &CheckedConfig,
    requests: &[Request],
    replay: Replay,
) -> Result<Whole, String> {
    let source = RequestSource::of_requests("trace", requests.to_vec());
    let mut experiment = Experiment::new(device, source, replay);
    experiment.preparation = Preparation::of(Start::Footprint, device.run.seed);
    let (stop, mut kept) = (AtomicBool::new(false), KeepCompletions::default());
    let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
    experiment.run(&options, &mut [&mut kept]).map_err(|error| error.to_string())?;
    let mut all: Vec<Completion> = kept.0;
    all.sort_by_key(|completion| completion.number);
    let latencies = all.iter().map(|done| (done.completed - done.enqueued).0).collect();
    let enqueued = all.iter().map(|done| done.enqueued.0).collect();
    Ok(Whole { latencies, enqueued, preparation: experiment.preparation })
}

fn measure(
    device: &CheckedConfig,
    whole: &Arc<Whole>,
    points: &LivePoints,
    replay: Replay,
) -> Result<Measures, String> {
    let (stop, preparation) = (AtomicBool::new(false), &whole.preparation);
    let task = WindowTask { points, device, preparation, replay };
    let every: Vec<usize> = (0..points.windows.len()).collect();
    let server = WindowServer::new(task, &every, &stop).map_err(|error| error.to_string())?;
    let windows = server.serve(&every, &stop, &|_| {}).map_err(|error| error.to_string())?;
    let Whole { latencies, enqueued, .. } = &**whole;
    let inside = points.windows.iter().map(|window| {
        let from = (window.start + window.warm_up) as usize;
        let end = from + points.options.measured as usize;
        match replay {
            Replay::Open => latencies[from..end].iter().map(|own| *own as f64).sum(),
            Replay::Closed(_) => (enqueued[end] - enqueued[from]) as f64,
        }
    });
    let report = SampledReport::of(points, &windows);
    let tells = report.is_some_and(|report| report.no_interval.is_none());
    let inside = inside.collect();
    Ok(Measures { whole: Arc::clone(whole), inside, tells, windows, replay })
}

impl Measures {
    /// What its first requests cost in a full run: the mean latency, or the time that they took.
    fn first(&self, requests: usize) -> f64 {
        let Whole { latencies, enqueued, .. } = &*self.whole;
        let end = requests.min(latencies.len());
        match self.replay {
            Replay::Open => latencies[..end].iter().map(|own| *own as f64).sum::<f64>(),
            Replay::Closed(_) => (enqueued[end - 1] - enqueued[0]) as f64,
        }
    }

    fn in_full(&self) -> f64 {
        self.first(self.whole.latencies.len())
    }

    fn p99(&self) -> f64 {
        let mut sorted = self.whole.latencies.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() as f64 * 0.99).ceil() as usize - 1] as f64
    }

    fn cost(&self, window: usize) -> f64 {
        match self.replay {
            Replay::Open => self.windows[window].served.latency_ns,
            Replay::Closed(_) => self.windows[window].served.span_ns,
        }
    }
}

struct Study {
    /// The baseline, then the drives.
    all: Vec<Measures>,
    /// Windows of an estimate.
    windows: usize,
    /// Requests that a window serves.
    each: usize,
}

/// What draws of windows say of the drives on a trace.
#[derive(Default)]
struct Trials {
    held: u64,
    trials: u64,
    /// Without an interval.
    refused: u64,
    /// Half-widths, and how far ratios were off, in percent.
    halves: Vec<f64>,
    off: Vec<f64>,
    tails: u64,
    tails_held: u64,
}

/// Sums over all traces.
#[derive(Default)]
struct Sums {
    trials: u64,
    held: u64,
    refused: u64,
    tails: u64,
    tails_held: u64,
    eliminated: u64,
    wrong: u64,
    costs: Vec<usize>,
}

impl Sums {
    fn said(mut self) -> String {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        format!(
            "{} trials: means held {:.1} %, {} without an interval; {} of p99: {:.1} %. {} \
             eliminations, {:.2} % of them wrong; a drive 8 to 14 % worse was thrown out after {} \
             requests in the median ({} races).",
            self.trials,
            share(self.held, self.trials),
            self.refused,
            self.tails,
            share(self.tails_held, self.tails),
            self.eliminated,
            share(self.wrong, self.eliminated),
            median(&mut self.costs).unwrap_or(0),
            self.costs.len()
        )
    }
}

impl Study {
    fn sample(&self, seed: u64, count: usize) -> Sample {
        let base = &self.all[0];
        let sizes: Vec<f64> = (0..base.windows.len()).map(|window| base.cost(window)).collect();
        let measured: f64 = base.windows.iter().map(|own| own.served.requests as f64).sum();
        let covered = measured / base.whole.latencies.len() as f64;
        Population::new(&sizes, covered.min(1.0), seed).expect("sizes are numbers").sample(count)
    }

    /// How many times the cost of one drive another has, by the windows of a sample.
    fn ratio(&self, sample: &Sample, below: &Measures, above: &Measures) -> Option<Ratio> {
        let windows = sample.drawn.iter().map(|own| Measured {
            chance: own.chance,
            below: below.cost(own.window),
            above: above.cost(own.window),
        });
        Ratio::of(&windows.collect::<Vec<_>>(), sample.reach)
    }

    /// What passes over a trace with several seeds say together; bias, order and races are those of
    /// the first.
    fn row(passes: &[Self], sums: &mut Sums) -> String {
        let own = &passes[0];
        let base = &own.all[0];
        let sum = |own: &Measures, restored: bool| -> f64 {
            let each = 0..own.windows.len();
            each.map(|nth| if restored { own.cost(nth) } else { own.inside[nth] }).sum()
        };
        let ratio = |own: &Measures, restored| sum(own, restored) / sum(base, restored);
        let mut biases: Vec<f64> = (own.all[1..].iter())
            .map(|own| 100.0 * (ratio(own, true) / ratio(own, false)).ln().abs())
            .collect();
        let own_bias = 100.0 * (sum(base, true) / sum(base, false) - 1.0);
        let largest = biases.iter().copied().fold(0.0, f64::max);
        let bias = median(&mut biases).unwrap_or(0.0);
        let mut all = Trials::default();
        passes.iter().for_each(|pass| pass.trials(&mut all));
        let Trials { held, trials, mut halves, mut off, tails, tails_held, refused } = all;
        sums.trials += trials;
        sums.held += held;
        sums.refused += refused;
        sums.tails += tails;
        sums.tails_held += tails_held;
        let share = |part: u64, all: u64| match all {
            0 => "-".to_owned(),
            all => format!("{:.1}", 100.0 * part as f64 / all as f64),
        };
        let (races, costs) = own.races(sums);
        format!(
            "{own_bias:+.2} | {bias:.2}, {largest:.2} | {}, {} | {:.1}, {:.1} | {} | {:.3}, {:.3}, \
             {:.3} | {races}, {costs}",
            share(held, trials),
            share(refused, refused + trials),
            median(&mut halves).unwrap_or(f64::NAN),
            median(&mut off).unwrap_or(f64::NAN),
            share(tails_held, tails),
            own.order(|drive| {
                let sample = own.sample(1, own.windows);
                own.ratio(&sample, base, drive).map_or(f64::NAN, |ratio| ratio.value)
            }),
            own.order(|drive| drive.first(own.windows * own.each)),
            own.order(|drive| drive.first(20_000)),
        )
    }

    /// Draws windows again and again for each drive, and looks whether intervals hold the truth.
    fn trials(&self, all: &mut Trials) {
        let base = &self.all[0];
        let truth = |own: &Measures| own.in_full() / base.in_full();
        for (own, seed) in self.all[1..].iter().flat_map(|own| (0..SEEDS).map(move |s| (own, s))) {
            let sample = self.sample(seed, self.windows);
            let Some(ratio) = self.ratio(&sample, base, own) else { continue };
            if !(base.tells && own.tells) {
                all.refused += 1;
                continue;
            }
            if let Some(interval) = ratio.interval {
                all.trials += 1;
                all.held += u64::from(interval.holds(truth(own)));
                all.halves.push(100.0 * interval.half_width());
                all.off.push(100.0 * (ratio.value / truth(own)).ln().abs());
            }
            if seed < 5 && base.replay == Replay::Open {
                let tail = self.tail(&sample, own, seed);
                if let Some(interval) = tail.and_then(|tail| tail.interval) {
                    all.tails += 1;
                    all.tails_held += u64::from(interval.holds(own.p99() / base.p99()));
                }
            }
        }
    }

    fn tail(&self, sample: &Sample, own: &Measures, seed: u64) -> Option<Tail> {
        let of = |own: &'_ Measures, window: usize| -> Latencies {
            own.windows[window].latencies.clone()
        };
        let pairs: Vec<(f64, Latencies, Latencies)> = (sample.drawn.iter())
            .map(|drawn| (drawn.chance, of(&self.all[0], drawn.window), of(own, drawn.window)))
            .collect();
        let windows: Vec<TailWindow<'_>> = pairs
            .iter()
            .map(|(chance, below, above)| TailWindow { chance: *chance, below, above })
            .collect();
        Tail::of(&windows, 0.99, sample.reach, seed)
    }

    /// Spearman's coefficient between what drives cost by an estimate and what they do in full.
    fn order(&self, estimate: impl Fn(&Measures) -> f64) -> f64 {
        let ranks = |values: Vec<f64>| -> Vec<f64> {
            let rank = |value: &f64| {
                let (mut below, mut same) = (0.0, 0.0);
                for other in &values {
                    below += f64::from(u8::from(other < value));
                    same += f64::from(u8::from(other == value));
                }
                below + (same - 1.0) / 2.0
            };
            values.iter().map(rank).collect()
        };
        let told = ranks(self.all[1..].iter().map(&estimate).collect());
        let truth = ranks(self.all[1..].iter().map(Measures::in_full).collect());
        let mean = (told.len() as f64 - 1.0) / 2.0;
        let sum = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).map(|(a, b)| (a - mean) * (b - mean)).sum()
        };
        sum(&told, &truth) / (sum(&told, &told) * sum(&truth, &truth)).sqrt()
    }

    /// Races of each drive against the next ones: the share of wrong eliminations, and the median
    /// of the requests served of drives 8 to 14 % worse until they were thrown out.
    fn races(&self, sums: &mut Sums) -> (String, String) {
        let race = Race::new(0.01);
        let count = self.all[0].windows.len();
        let (mut wrong, mut eliminated, mut costs) = (0, 0, Vec::new());
        let drives = &self.all[1..];
        for (nth, own) in drives.iter().enumerate() {
            for step in 1..6 {
                let rival = &drives[(nth + step) % drives.len()];
                let gap = own.in_full() / rival.in_full();
                let mut windows = FIRST_ROUND;
                let thrown_out = loop {
                    let sample = self.sample((nth * 8 + step) as u64, windows);
                    let ratio = self.ratio(&sample, rival, own);
                    match ratio.map(|ratio| race.standing(&ratio, 1.0)) {
                        Some(Standing::Worse) => break Some(sample.drawn.len()),
                        Some(Standing::Better) => break None,
                        _ if windows >= count => break None,
                        _ => windows *= 2,
                    }
                };
                if let Some(windows) = thrown_out {
                    eliminated += 1;
                    wrong += u64::from(gap <= 1.0);
                    if (1.08..1.14).contains(&gap) {
                        costs.push(windows * self.each);
                    }
                } else if (1.08..1.14).contains(&gap) {
                    costs.push(count * self.each);
                }
            }
        }
        sums.eliminated += eliminated;
        sums.wrong += wrong;
        sums.costs.extend(&costs);
        let cost = median(&mut costs).map_or("-".to_owned(), |cost| cost.to_string());
        (format!("{wrong} of {eliminated}"), cost)
    }
}

fn median<T: PartialOrd + Copy>(values: &mut [T]) -> Option<T> {
    values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}
