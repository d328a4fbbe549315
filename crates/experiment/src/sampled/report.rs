//! What windows say of the whole trace.

use super::{Dues, WindowRun, seconds_are_few};
use crate::livepoints::LivePoints;
use serde::Serialize;
use ssdtune_estimate::{
    Interval, Latencies, Measured, Percentile, Population, Ratio, Reach, WINDOWS_MIN,
};
use ssdtune_report::{Table, Text};

/// The seed of the bootstraps: two reports of the same windows are equal.
const SEED: u64 = 1;
/// The percentiles that are told, and their names.
const PERCENTILES: [(f64, &str); 4] =
    [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// A figure of the whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// The figure.
    pub value: f64,
    /// Where it lies with 95 %; `None` where windows do not tell ([`SampledReport::no_interval`]).
    pub interval: Option<Interval>,
}

/// Why figures have no intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    /// Too few windows: their own spread is not known.
    FewWindows,
    /// The drive cannot keep up with the trace in some windows, and how much waits there when they
    /// begin is not known.
    Backlog,
    /// A closed loop that writes pages again and again and ends soon: what the data cache keeps
    /// depends on luck.
    FewSeconds,
    /// A closed loop that fills the write buffer: how full it is when a window begins, and which
    /// dies it waits for, is not known.
    WriteBuffer,
    /// The drive collects in the windows, and a restored drive is not as far in its collections as
    /// it would be there.
    Collection,
}

impl NoInterval {
    /// Why the windows of a drive tell no intervals, if they tell none. The windows of a trace must
    /// have been drawn alike.
    pub fn of(points: &LivePoints, runs: &[WindowRun]) -> Option<Self> {
        let is_whole = || {
            let reached = Reached::of(points, runs, |run| run.served.latency_ns);
            reached.is_some_and(|own| own.chance * own.reach.covered >= 1.0)
        };
        match runs {
            _ if runs.iter().any(WindowRun::collects) => Some(Self::Collection),
            _ if late_share(runs) > LATE_MAX => Some(Self::Backlog),
            _ if seconds_are_few(points, runs) => Some(Self::FewSeconds),
            _ if Dues::of(runs).waits_for_flash => Some(Self::WriteBuffer),
            _ if runs.len() < WINDOWS_MIN && !is_whole() => Some(Self::FewWindows),
            _ => None,
        }
    }

    /// The reason in words, and what to do.
    pub fn in_words(self) -> String {
        match self {
            Self::FewWindows => format!(
                "no intervals: fewer than {WINDOWS_MIN} windows do not tell their own spread; \
                 take more of them (`trace sample --windows`), or run the whole trace"
            ),
            Self::Backlog => "no intervals: in some windows requests wait longer than a window \
                              knows of, because the drive cannot keep up with the trace there; \
                              --replay closed:N tells what it can do"
                .to_owned(),
            Self::FewSeconds => "no intervals: the trace writes pages again and again, and the \
                                 drive is done with it in less than 100 seconds, where closed \
                                 loops on windows have been up to 16 % off; run the whole trace"
                .to_owned(),
            Self::WriteBuffer => {
                "no intervals: the closed loop fills the drive's write buffer and then waits for \
                 flash, which windows do not see: latencies are too short, and bandwidth, which \
                 pays for what comes to the buffer, has been up to 2.2 times too high; run the \
                 whole trace"
                    .to_owned()
            }
            Self::Collection => "no intervals: the drive collects in the windows, where means \
                                 have been seen 1 to 9 % off, write amplification 21 and \
                                 percentiles 29 %; run the whole trace, with several seeds of \
                                 --start steady"
                .to_owned(),
        }
    }
}

/// Figures of the reads or of the writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpEstimates {
    /// `all`, `reads` or `writes`.
    pub requests: &'static str,
    /// Their share of all requests.
    pub share: f64,
    /// Their mean latency in the drive, in nanoseconds.
    pub mean: Estimated,
    /// Percentiles of it, each by its name.
    pub percentiles: Vec<(&'static str, Estimated)>,
}

/// How the windows were served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SampledRun {
    /// Requests of the trace.
    pub requests: u64,
    /// Windows that were served.
    pub windows: usize,
    /// Windows that were kept of the trace.
    pub kept: usize,
    /// Requests that warm a window up, and those that are measured then.
    pub warm_up: u32,
    /// Measured requests of a window.
    pub measured: u32,
    /// The share of the trace that was measured.
    pub covered: f64,
}

/// What windows of a trace say of the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledReport {
    /// How they were served.
    pub run: SampledRun,
    /// Why there are no intervals, if there are none.
    pub no_interval: Option<NoInterval>,
    /// Latencies in the drive: of all requests, of reads, of writes.
    pub latency_ns: Vec<OpEstimates>,
    /// Bytes moved a second.
    pub bandwidth_bytes_per_s: Estimated,
    /// Pages programmed for each page that the host writes; `None` where nothing is programmed.
    pub write_amplification: Option<Estimated>,
    /// The average power in watt, while the windows run.
    pub average_power_w: Option<Estimated>,
    /// The share of the variance of the mean latency that the window with the most of it has.
    pub largest_share: f64,
}

impl SampledReport {
    /// What a drive's windows say. The windows of a trace must have been drawn alike, as all of
    /// them have been. `None` if nothing was measured.
    pub fn of(points: &LivePoints, runs: &[WindowRun]) -> Option<Self> {
        let drawn = Drawn::of(points, runs)?;
        let no_interval = NoInterval::of(points, runs);
        let dues = Dues::of(runs);
        let drawn = Drawn { has_intervals: no_interval.is_none(), ..drawn };
        let ratio = |below: &dyn Fn(&WindowRun) -> f64, above: &dyn Fn(&WindowRun) -> f64| {
            drawn.ratio(below, above)
        };
        let mean = drawn.ratio_of(&|run| run.served.requests as f64, &|run| run.served.latency_ns);
        let ops: [(&'static str, LatenciesOf); 3] = [
            ("all", |run| &run.latencies),
            ("reads", |run| &run.by_op[0]),
            ("writes", |run| &run.by_op[1]),
        ];
        let programmed =
            |run: &WindowRun| (run.flash.host + run.flash.moved + run.flash.mapping) as f64;
        Some(Self {
            run: drawn.run,
            no_interval,
            latency_ns: ops.iter().filter_map(|(name, of)| drawn.op(name, *of)).collect(),
            bandwidth_bytes_per_s: ratio(&|run| dues.taken_ns(run) / 1e9, &|run| {
                512.0 * run.served.sectors as f64
            })?,
            write_amplification: ratio(&|run| run.flash.host as f64, &programmed),
            average_power_w: ratio(&|run| run.energy.1, &|run| run.energy.0),
            largest_share: mean?.largest_share,
        })
    }

    /// The half-width of the interval of the mean latency, as a share of it.
    pub fn precision(&self) -> Option<f64> {
        Some(self.latency_ns.first()?.mean.interval?.half_width())
    }

    /// The report for people.
    pub fn text(&self, workload: &str, device: &str, replay: &str) -> Text {
        let SampledRun { requests, windows, kept, warm_up, measured, covered } = self.run;
        let mut text = Text::new();
        text.line(format_args!("{workload} on {device}, {replay}, told from windows"));
        text.line(format_args!(
            "{windows} of {kept} windows, {measured} requests measured in each after {warm_up} \
             that warm up: {:.3} % of {requests} requests",
            covered * 100.0
        ));
        let mut names = vec!["latency in the drive, us", "requests", "mean"];
        names.extend(PERCENTILES.iter().map(|(_, name)| *name));
        let mut table = Table::new(names);
        for op in &self.latency_ns {
            let mut cells = vec![
                op.requests.to_owned(),
                format!("{:.1} %", op.share * 100.0),
                op.mean.scaled(1e-3),
            ];
            cells.extend(op.percentiles.iter().map(|(_, own)| own.scaled(1e-3)));
            table.add_row(cells);
        }
        text.line("").table(table).line("");
        let rate = self.bandwidth_bytes_per_s.scaled(1e-6);
        text.line(format_args!("bandwidth            {rate} MB/s"));
        if let Some(own) = self.write_amplification {
            let own = own.scaled(1.0);
            text.line(format_args!("write amplification  {own}"));
        }
        if let Some(own) = self.average_power_w {
            let own = own.scaled(1.0);
            text.line(format_args!("average power        {own} W"));
        }
        match self.no_interval {
            Some(reason) => text.line(reason.in_words()),
            None => text.line(format_args!(
                "Behind +-: how far the figure of the whole trace may be off with 95 %. One window \
                 has {:.0} % of what makes the mean uncertain.",
                self.largest_share * 100.0
            )),
        };
        text
    }
}

impl Estimated {
    /// The figure in other units, and how far it may be off. The interval is not symmetric: its
    /// larger side is told.
    pub(super) fn scaled(self, factor: f64) -> String {
        let value = self.value * factor;
        let digits = if value >= 100.0 { 1 } else { 3 };
        match self.interval {
            None => format!("{value:.digits$}"),
            Some(Interval { low, high }) => {
                let off = (high / self.value - 1.0).max(1.0 - low / self.value);
                format!("{value:.digits$} +- {:.1} %", off * 100.0)
            }
        }
    }
}

/// The largest share of all latency that late windows may have without being seen in it.
pub const LATE_MAX: f64 = 0.05;

/// The share of all latency that windows have whose requests waited longer than they know of.
fn late_share(runs: &[WindowRun]) -> f64 {
    let sum = |late: bool| -> f64 {
        let own = runs.iter().filter(|run| !late || run.is_late());
        own.map(|run| run.served.latency_ns).sum()
    };
    sum(true) / sum(false).max(f64::MIN_POSITIVE)
}

/// The latencies of some kind of requests in a window.
type LatenciesOf = fn(&WindowRun) -> &Latencies;

/// How far windows that were drawn alike tell of the whole trace.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// How they were served.
    pub run: SampledRun,
    /// With what chance each was drawn from those that were kept.
    pub chance: f64,
    /// What they leave out.
    pub reach: Reach,
}

impl Reached {
    /// How far these windows reach, where `size` says what each takes of what is to be told. `None`
    /// without windows.
    pub fn of(
        points: &LivePoints,
        runs: &[WindowRun],
        size: impl Fn(&WindowRun) -> f64,
    ) -> Option<Self> {
        let options = &points.options;
        let (windows, kept) = (runs.len(), points.windows.len());
        let share = |windows: usize| {
            let measured = windows as u64 * u64::from(options.measured);
            (measured as f64 / points.requests as f64).min(1.0)
        };
        let sizes: Vec<f64> = runs.iter().map(size).collect();
        // What one window is of the whole trace.
        let seen = Population::new(&sizes, share(windows).max(f64::MIN_POSITIVE), SEED).ok()?;
        let run = SampledRun {
            requests: points.requests,
            windows,
            kept,
            warm_up: options.warm_up,
            measured: options.measured,
            covered: share(windows),
        };
        let reach = Reach { covered: share(kept), ..seen.sample(windows).reach };
        Some(Self { run, chance: windows as f64 / kept.max(1) as f64, reach })
    }
}

/// Windows that were drawn alike.
struct Drawn<'a> {
    runs: &'a [WindowRun],
    run: SampledRun,
    chance: f64,
    reach: Reach,
    has_intervals: bool,
}

impl<'a> Drawn<'a> {
    fn of(points: &LivePoints, runs: &'a [WindowRun]) -> Option<Self> {
        let Reached { run, chance, reach } =
            Reached::of(points, runs, |run| run.served.latency_ns)?;
        Some(Self { runs, run, chance, reach, has_intervals: true })
    }

    fn ratio_of(
        &self,
        below: &dyn Fn(&WindowRun) -> f64,
        above: &dyn Fn(&WindowRun) -> f64,
    ) -> Option<Ratio> {
        let measured = |run: &WindowRun| Measured {
            chance: self.chance,
            below: below(run),
            above: above(run),
        };
        Ratio::of(&self.runs.iter().map(measured).collect::<Vec<_>>(), self.reach)
    }

    fn ratio(
        &self,
        below: &dyn Fn(&WindowRun) -> f64,
        above: &dyn Fn(&WindowRun) -> f64,
    ) -> Option<Estimated> {
        let ratio = self.ratio_of(below, above)?;
        let interval = ratio.interval.filter(|_| self.has_intervals);
        Some(Estimated { value: ratio.value, interval })
    }

    /// Figures of one kind of requests; `None` where there are none.
    fn op(&self, requests: &'static str, of: LatenciesOf) -> Option<OpEstimates> {
        let count = |run: &WindowRun| of(run).len() as f64;
        let mean = self.ratio(&count, &|run| of(run).sum())?;
        let latencies: Vec<(f64, &Latencies)> =
            self.runs.iter().map(|run| (self.chance, of(run))).collect();
        let percentile = |&(share, name): &(f64, &'static str)| {
            let own = Percentile::of(&latencies, share, self.reach, SEED)?;
            let interval = own.interval.filter(|_| self.has_intervals);
            Some((name, Estimated { value: own.value, interval }))
        };
        let (own, all): (f64, u64) = (
            self.runs.iter().map(count).sum(),
            self.runs.iter().map(|run| run.served.requests).sum(),
        );
        Some(OpEstimates {
            requests,
            share: own / all.max(1) as f64,
            mean,
            percentiles: PERCENTILES.iter().filter_map(percentile).collect(),
        })
    }
}
