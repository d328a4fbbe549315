//! Which points are worth fitting: contaminated ones are refused, each by name and with its reason.
//!
//! | reason | what is checked | tolerance |
//! |---|---|---|
//! | `little` | rate x mean latency against depth x jobs (Little's law) | 5 % |
//! | `percentiles` | p50, p99, p99.9 in order, and a mean that they allow | 3 % |
//! | `bandwidth` | rate x size against bandwidth | 2 % |
//! | `contradiction` | repeats against their median | 10 % |
//! | `spread` | a spread of repeats that the notes state | 10 % |
//! | `load-order` | random reads do not take less time where more are outstanding | 5 % |
//! | `file-system` | notes that name a file system | |
//! | `host-queue` | more outstanding than the drive takes (32 for SATA): they wait in the host | |
//! | `no-load` | neither a depth nor a rate is known | |
//! | `no-figures` | neither a rate nor a latency is known | |
//!
//! Sound measurements of fio and SPDK keep Little's law within 2 %, so at 5 % time is lost outside
//! of what the latencies count. Where two points contradict each other, the one that contradicts
//! more others goes first, then the one with more jobs.
//!
//! Repeats that remain give the repeat noise: how far a measurement is from the mean of its
//! repeats, on average. No fit can be better.

use crate::point::{Family, Figures, Operation, Point};
use serde::Serialize;
use std::cmp::Ordering::Equal;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// Deviation from Little's law that is allowed, as a share.
const LITTLE: f64 = 0.05;
/// By how much a mean may be below what its percentiles demand.
const PERCENTILES: f64 = 0.03;
/// Deviation of rate x size from the bandwidth.
const BANDWIDTH: f64 = 0.02;
/// Deviation of a repeat from the median of all, and spread that notes may state.
const REPEATS: f64 = 0.10;
/// By how much less time reads may take where more are outstanding.
const LOAD_ORDER: f64 = 0.05;

/// Why a point is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Rate and mean latency do not go with what was outstanding.
    Little,
    /// Percentiles are out of order, or impossible beside the mean.
    Percentiles,
    /// Rate and size do not go with the bandwidth.
    Bandwidth,
    /// Repeats of one point differ.
    Contradiction,
    /// The notes state that repeats differ.
    Spread,
    /// More requests outstanding take less time.
    LoadOrder,
    /// It was measured through a file system.
    FileSystem,
    /// More requests were outstanding than the drive takes.
    HostQueue,
    /// What was outstanding is not known.
    NoLoad,
    /// Nothing is known that could be fitted.
    NoFigures,
}

impl Reason {
    /// Every reason and its name.
    pub const NAMES: [(Self, &'static str); 10] = [
        (Self::Little, "little"),
        (Self::Percentiles, "percentiles"),
        (Self::Bandwidth, "bandwidth"),
        (Self::Contradiction, "contradiction"),
        (Self::Spread, "spread"),
        (Self::LoadOrder, "load-order"),
        (Self::FileSystem, "file-system"),
        (Self::HostQueue, "host-queue"),
        (Self::NoLoad, "no-load"),
        (Self::NoFigures, "no-figures"),
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(reason, _)| reason == self).map(|(_, name)| *name);
        f.write_str(name.unwrap_or(""))
    }
}

/// A reason whose points can be kept.
impl FromStr for Reason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // What has no load or no figure cannot be fitted, whatever is allowed.
        let allowed = || {
            let is_fit = |reason| !matches!(reason, Self::NoLoad | Self::NoFigures);
            Self::NAMES.iter().filter(move |(reason, _)| is_fit(*reason))
        };
        let known = allowed().find(|(_, name)| *name == text);
        known.map(|(reason, _)| *reason).ok_or_else(|| {
            let names: Vec<&str> = allowed().map(|(_, name)| *name).collect();
            format!("no reason whose points can be kept: write one of {}", names.join(", "))
        })
    }
}

/// How points are screened.
#[derive(Clone, Debug, Default)]
pub struct ScreenOptions {
    /// Requests that the drive takes at once, where that is few: 32 for SATA.
    pub queue: Option<u32>,
    /// Reasons for which no point is refused.
    pub allowed: BTreeSet<Reason>,
}

/// A point that is not worth fitting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// The point.
    pub point: Point,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, with the figures.
    pub detail: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.point, self.detail, self.reason)
    }
}

/// How far measurements of a family are from the means of their repeats, in percent; `None` where
/// nothing was repeated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The family.
    pub family: Family,
    /// Points that were repeated.
    pub repeated: usize,
    /// Of the rate.
    pub iops: Option<f64>,
    /// Of the mean latency.
    pub mean: Option<f64>,
    /// Of the median.
    pub p50: Option<f64>,
    /// Of the 99th percentile.
    pub p99: Option<f64>,
}

/// What screening leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Screened {
    /// Points that are worth fitting, in their order.
    pub kept: Vec<Point>,
    /// The others, in their order.
    pub refused: Vec<Refused>,
    /// The repeat noise, family by family.
    pub noise: Vec<Noise>,
}

impl Screened {
    /// For each source, how many points are kept, and how many are refused for which reason.
    pub fn by_source(&self) -> BTreeMap<&str, (usize, BTreeMap<Reason, usize>)> {
        let mut sources: BTreeMap<&str, (usize, BTreeMap<Reason, usize>)> = BTreeMap::new();
        for point in &self.kept {
            sources.entry(&point.source).or_default().0 += 1;
        }
        for Refused { point, reason, .. } in &self.refused {
            *sources.entry(&point.source).or_default().1.entry(*reason).or_default() += 1;
        }
        sources
    }
}

/// A verdict on a point; `None` as long as it stands.
type Verdict = Option<(Reason, String)>;
/// A law that a point keeps or breaks, among all of them.
type Check = fn(&[Point], usize, &ScreenOptions) -> Verdict;
/// A law that the points of a group keep together.
type GroupCheck = fn(&[&Point]) -> Vec<Verdict>;
/// What the points of a group have in common.
type Key = fn(&Point) -> String;

/// Screens points. Those of several drives do not disturb each other.
pub fn screen(points: Vec<Point>, options: &ScreenOptions) -> Screened {
    let mut verdicts: Vec<Verdict> = (0..points.len())
        .map(|at| {
            let checks: [Check; 7] =
                [figures, load, queue, file_system, percentiles, bandwidth, little];
            let found = checks.iter().filter_map(|check| check(&points, at, options));
            found.into_iter().find(|(reason, _)| !options.allowed.contains(reason))
        })
        .collect();
    let more: [(Reason, GroupCheck, Key); 3] = [
        (Reason::Spread, |group| group.iter().map(|point| spread(point)).collect(), repeat_key),
        (Reason::Contradiction, contradictions, repeat_key),
        (Reason::LoadOrder, load_order, sweep_key),
    ];
    for (reason, check, key) in more {
        if !options.allowed.contains(&reason) {
            judge(&points, &mut verdicts, check, key);
        }
    }
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (point, verdict) in points.into_iter().zip(verdicts) {
        match verdict {
            None => kept.push(point),
            Some((reason, detail)) => refused.push(Refused { point, reason, detail }),
        }
    }
    let noise = noise(&kept);
    Screened { kept, refused, noise }
}

/// Judges the points that still stand, group by group.
fn judge(points: &[Point], verdicts: &mut [Verdict], check: GroupCheck, key: Key) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, point) in points.iter().enumerate().filter(|(at, _)| verdicts[*at].is_none()) {
        groups.entry(key(point)).or_default().push(at);
    }
    for group in groups.into_values() {
        let members: Vec<&Point> = group.iter().map(|&at| &points[at]).collect();
        for (at, verdict) in group.into_iter().zip(check(&members)) {
            verdicts[at] = verdict;
        }
    }
}

/// What repeats of a point have in common.
fn repeat_key(point: &Point) -> String {
    let Point { source, drive, operation, block_bytes, iodepth, numjobs, offered, .. } = point;
    // Of a paced load the shares are measured, not set.
    let share = if offered.is_some() { 0.0 } else { point.read_percent };
    format!(
        "{source}|{drive:?}|{operation}|{block_bytes}|{iodepth:?}|{numjobs}|{offered:?}|{share}"
    )
}

/// What points of different loads have in common.
fn sweep_key(point: &Point) -> String {
    let Point { source, drive, operation, block_bytes, read_percent, .. } = point;
    format!("{source}|{drive:?}|{operation}|{block_bytes}|{read_percent}")
}

fn figures(points: &[Point], at: usize, _: &ScreenOptions) -> Verdict {
    let Figures { iops, mean, .. } = points[at].figures;
    let nothing = iops.is_none() && mean.is_none();
    nothing.then(|| (Reason::NoFigures, "it has neither a rate nor a mean latency".to_owned()))
}

fn load(points: &[Point], at: usize, _: &ScreenOptions) -> Verdict {
    let point = &points[at];
    let (is_known, wanted) = match point.operation.is_paced() {
        true => (
            point.offered.is_some(),
            "offered_iops, a target in the notes, or to fio rate_iops with rate_process=poisson",
        ),
        false => (point.outstanding().is_some(), "iodepth"),
    };
    let detail = || format!("its load is not known and cannot be replayed: give {wanted}");
    (!is_known).then(|| (Reason::NoLoad, detail()))
}

fn queue(points: &[Point], at: usize, options: &ScreenOptions) -> Verdict {
    let (outstanding, queue) = (points[at].outstanding()?, options.queue?);
    let detail = || format!("{outstanding} outstanding, and the drive takes {queue}");
    (outstanding > queue).then(|| (Reason::HostQueue, detail()))
}

fn file_system(points: &[Point], at: usize, _: &ScreenOptions) -> Verdict {
    let word = points[at].file_system()?;
    let detail = format!("its notes say {word:?}: its latency holds that of a file system");
    Some((Reason::FileSystem, detail))
}

fn percentiles(points: &[Point], at: usize, _: &ScreenOptions) -> Verdict {
    let Figures { mean, p50, p99, p999, .. } = points[at].figures;
    let all: Vec<f64> = [p50, p99, p999].into_iter().flatten().map(|value| value.0).collect();
    if all.windows(2).any(|pair| pair[0] > pair[1]) {
        let detail = format!("its percentiles are out of order: {all:?} us");
        return Some((Reason::Percentiles, detail));
    }
    // Half of all requests take p50 at least, a hundredth p99, a thousandth p99.9.
    let (mean, p50) = (mean?.0, p50?.0);
    let p99 = p99.map_or(p50, |value| value.0);
    let p999 = p999.map_or(p99, |value| value.0);
    let least = 0.49 * p50 + 0.009 * p99 + 0.001 * p999;
    let detail = || format!("its mean is {mean} us, and its percentiles demand {least:.2} us");
    (mean * (1.0 + PERCENTILES) < least).then(|| (Reason::Percentiles, detail()))
}

fn bandwidth(points: &[Point], at: usize, _: &ScreenOptions) -> Verdict {
    let Point { figures: Figures { iops, bandwidth, .. }, block_bytes, .. } = &points[at];
    let said = bandwidth.as_ref()?.0;
    let follows = iops.as_ref()?.0 * f64::from(*block_bytes) / 1_048_576.0;
    // Bandwidths are written with two digits behind the point.
    let is_sound = (follows - said).abs() <= BANDWIDTH * said + 0.01;
    let detail = || format!("rate x size is {follows:.2} MiB/s, and its bandwidth {said} MiB/s");
    (!is_sound).then(|| (Reason::Bandwidth, detail()))
}

fn little(points: &[Point], at: usize, options: &ScreenOptions) -> Verdict {
    let point = &points[at];
    let outstanding = f64::from(point.outstanding()?);
    let in_flight = |point: &Point| Some(point.figures.iops?.0 * point.figures.mean?.0 / 1e6);
    let own = in_flight(point)?;
    let (found, is_whole) = match point.operation.is_mixed() {
        false => (own, true),
        true => match counterpart(points, at).and_then(in_flight) {
            Some(other) => (own + other, true),
            None => (own, false),
        },
    };
    // What waits in the host may be counted or not.
    let limits = [Some(outstanding), options.queue.map(f64::from).filter(|q| *q < outstanding)];
    let is_sound = limits.into_iter().flatten().any(|limit| {
        let ratio = found / limit;
        ratio <= 1.0 + LITTLE && (ratio >= 1.0 - LITTLE || !is_whole)
    });
    let detail = || {
        let percent = 100.0 * (found / outstanding - 1.0);
        format!(
            "rate x mean latency is {found:.2} outstanding, and depth x jobs {outstanding}: \
             {percent:+.1} %"
        )
    };
    (!is_sound).then(|| (Reason::Little, detail()))
}

/// The other half of a mix: the nearest point with the same load.
fn counterpart(points: &[Point], at: usize) -> Option<&Point> {
    let point = &points[at];
    let is_it = |other: &Point| {
        other.operation == point.operation.counterpart()
            && (&other.source, &other.drive, &other.run)
                == (&point.source, &point.drive, &point.run)
            && (other.iodepth, other.numjobs) == (point.iodepth, point.numjobs)
            && other.read_percent == point.read_percent
            && other.notes == point.notes
    };
    // The halves of a mix stand beside each other, in any order.
    let near = [at.checked_sub(1), Some(at + 1)];
    near.into_iter().flatten().filter_map(|at| points.get(at)).find(|other| is_it(other))
}

/// The spread that a point's notes state, as in `spread=42.8%`.
fn spread(point: &Point) -> Verdict {
    let (_, behind) = point.notes.split_once("spread=")?;
    let percent: f64 = behind.split_once('%')?.0.trim().parse().ok()?;
    let detail = || format!("its notes say that repeats spread over {percent} %");
    (percent > 100.0 * REPEATS).then(|| (Reason::Spread, detail()))
}

/// Repeats that are far from the median of all.
fn contradictions(group: &[&Point]) -> Vec<Verdict> {
    let value = |point: &Point| {
        let of_mean = || point.figures.mean.map(|mean| 1e6 / mean.0);
        point.figures.iops.map(|rate| rate.0).or_else(of_mean)
    };
    let mut values: Vec<f64> = group.iter().filter_map(|point| value(point)).collect();
    values.sort_by(f64::total_cmp);
    let Some(middle) = median(&values) else { return vec![None; group.len()] };
    let judge = |point: &&Point| {
        let own = value(point)?;
        let detail = || {
            let repeats = values.len();
            format!(
                "a rate of {own:.1}/s, and the median of its {repeats} repeats is {middle:.1}/s"
            )
        };
        let is_far = (own / middle - 1.0).abs() > REPEATS;
        is_far.then(|| (Reason::Contradiction, detail()))
    };
    group.iter().map(judge).collect()
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}

/// Random reads that take less time than others with less load, or more than others with more.
fn load_order(group: &[&Point]) -> Vec<Verdict> {
    let mut verdicts = vec![None; group.len()];
    let load = |at: usize| Some((group[at].outstanding()?, group[at].figures.mean?.0));
    let contradict = |one: usize, other: usize| {
        let (Some(mut less), Some(mut more)) = (load(one), load(other)) else { return false };
        if less.0 > more.0 {
            (less, more) = (more, less);
        }
        less.0 < more.0 && more.1 < less.1 * (1.0 - LOAD_ORDER)
    };
    let mut open: Vec<usize> =
        (0..group.len()).filter(|&at| group[at].operation == Operation::RandomRead).collect();
    loop {
        let count = |at: usize| open.iter().filter(|&&other| contradict(at, other)).count();
        let counted = open.iter().map(|&at| (count(at), group[at].numjobs, load(at), at));
        let worst = counted.max_by(|one, other| one.partial_cmp(other).unwrap_or(Equal));
        let Some((count, _, Some((outstanding, mean)), at)) = worst.filter(|found| found.0 > 0)
        else {
            return verdicts;
        };
        let detail = format!(
            "{mean} us with {outstanding} outstanding contradicts {count} other points of its \
             source: more outstanding would take less time"
        );
        verdicts[at] = Some((Reason::LoadOrder, detail));
        open.retain(|&other| other != at);
    }
}

/// The repeat noise of each family that has repeats.
fn noise(kept: &[Point]) -> Vec<Noise> {
    let mut groups: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
    for point in kept {
        groups.entry(repeat_key(point)).or_default().push(point);
    }
    let mut families: BTreeMap<Family, Vec<Vec<&Point>>> = BTreeMap::new();
    for group in groups.into_values().filter(|group| group.len() > 1) {
        families.entry(group[0].family()).or_default().push(group);
    }
    let of_family = |(family, groups): (Family, Vec<Vec<&Point>>)| {
        let of = |value: fn(&Figures) -> Option<f64>| {
            let values = groups.iter().map(|group| {
                group.iter().filter_map(|point| value(&point.figures)).collect::<Vec<f64>>()
            });
            deviation(values.filter(|values| values.len() > 1))
        };
        Noise {
            repeated: groups.len(),
            iops: of(|figures| figures.iops.map(|rate| rate.0)),
            mean: of(|figures| figures.mean.map(|mean| mean.0)),
            p50: of(|figures| figures.p50.map(|p50| p50.0)),
            p99: of(|figures| figures.p99.map(|p99| p99.0)),
            family,
        }
    };
    families.into_iter().map(of_family).collect()
}

/// The mean deviation of values from the means of their groups, in percent. Among n repeats the
/// mean lies nearer to each than the truth does, by a factor of the root of (n - 1) / n.
pub(crate) fn deviation(groups: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for values in groups {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let widened = (n / (n - 1.0)).sqrt();
        sum += values.iter().map(|value| widened * (value / mean - 1.0).abs()).sum::<f64>();
        count += values.len();
    }
    (count > 0).then(|| 100.0 * sum / count as f64)
}

#[cfg(test)]
mod tests;
