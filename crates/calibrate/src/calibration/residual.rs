//! Which mechanism the residuals of a fit point to: what the drive lacks shows in the points that
//! it misses together.
//!
//! | name | what is seen in random reads | what makes it |
//! |---|---|---|
//! | `host-rate` | one job reaches less than predicted, several more | a processor of the host |
//! | `command-rate` | the rate of the smallest requests is not reached | the rate of commands |
//! | `bandwidth` | the rate of the largest requests is not reached | a cap of bandwidth |
//! | `link` | sources miss the rate of the largest requests differently | the links of hosts |
//! | `dies` | p99 with 2 to 8 outstanding is missed, the mean is not | the number of dies |
//! | `host-time` | one source is slower than predicted, another is not | a host's software |
//! | `fixed-time` | all sizes are missed by one time at the lightest load | a time a command |
//! | `byte-time` | large requests are missed at the lightest load | a time a byte |
//!
//! A rate is that of a plateau: of points that reach nearly the most of their family. Errors count
//! from [`TELLING`] on, and where loads were repeated from twice the repeat noise on.

use super::Prediction;
use crate::point::{Operation, Point};
use crate::screen::Noise;
use serde::Serialize;
use std::collections::BTreeMap;

/// The least error, as a share, that says something.
const TELLING: f64 = 0.04;
/// The least error of p99 that says something: it is half as exact.
const TELLING_P99: f64 = 0.10;
/// A plateau is what reaches this share of the highest rate.
const PLATEAU: f64 = 0.95;
/// By how much several jobs must exceed one job for the drive not to be its limit.
const FASTER: f64 = 1.1;
/// Outstanding requests at which a request meets another one at a die now and then.
const FEW: std::ops::RangeInclusive<u32> = 2..=8;

/// A mechanism that residuals point to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// Its name in the table of the documentation.
    pub mechanism: &'static str,
    /// What was seen.
    pub seen: String,
    /// What to try.
    pub advice: &'static str,
}

/// A row of the table.
struct Rule {
    mechanism: &'static str,
    advice: &'static str,
    /// What is seen, if it is.
    sees: fn(&Reads<'_>) -> Option<String>,
}

const RULES: &[Rule] = &[
    Rule {
        mechanism: "host-rate",
        advice: "a processor of the host is the limit of a job (host.core_rate): name the source \
                 by --rig",
        sees: host_rate,
    },
    Rule {
        mechanism: "command-rate",
        advice: "the controller takes fewer commands in a second (controller.core_rate); with one \
                 job alone it may be the host (--rig)",
        sees: command_rate,
    },
    Rule {
        mechanism: "bandwidth",
        advice: "less bandwidth in the controller or on the link (controller.bandwidth_mbs, \
                 host.pcie_lane_bandwidth_gbps)",
        sees: bandwidth,
    },
    Rule {
        mechanism: "link",
        advice: "the hosts have links of their own: name the slower source by --rig",
        sees: link,
    },
    Rule {
        mechanism: "dies",
        advice: "another number of dies (bus.channels, bus.chips_per_channel): fewer where p99 is \
                 higher than predicted, more where it is lower",
        sees: dies,
    },
    Rule {
        mechanism: "host-time",
        advice: "the software of this host takes time (host.request_time_ns): name the source by \
                 --rig",
        sees: host_time,
    },
    Rule {
        mechanism: "fixed-time",
        advice: "a fixed time of each command (controller.read_time_ns) or another read time of \
                 the flash",
        sees: fixed_time,
    },
    Rule {
        mechanism: "byte-time",
        advice: "another time for each byte (bus.rate_mts, controller.pipeline_time_ns)",
        sees: byte_time,
    },
];

/// Which mechanisms the residuals of points point to. None where the drive does what was measured.
pub(super) fn hints<'a>(all: impl Iterator<Item = &'a Prediction>, noise: &[Noise]) -> Vec<Hint> {
    let noise = noise.iter().filter_map(|noise| noise.iops.or(noise.mean));
    let noise = noise.fold(0.0, f64::max) / 100.0;
    let reads = Reads::of(all, TELLING.max(2.0 * noise));
    let hint = |rule: &Rule| {
        let seen = (rule.sees)(&reads)?;
        Some(Hint { mechanism: rule.mechanism, seen, advice: rule.advice })
    };
    RULES.iter().filter_map(hint).collect()
}

/// Points of one size from one source.
type Family<'a> = Vec<&'a Prediction>;

/// Random reads in closed loops, by source and size.
struct Reads<'a> {
    sources: BTreeMap<&'a str, BTreeMap<u32, Family<'a>>>,
    /// The least error that says something.
    telling: f64,
}

impl<'a> Reads<'a> {
    fn of(all: impl Iterator<Item = &'a Prediction>, telling: f64) -> Self {
        let mut sources: BTreeMap<&str, BTreeMap<u32, Family<'_>>> = BTreeMap::new();
        for one in all {
            let Point { operation, source, block_bytes, .. } = &one.point;
            if *operation == Operation::RandomRead && one.point.outstanding().is_some() {
                let sizes = sources.entry(source).or_default();
                sizes.entry(*block_bytes).or_default().push(one);
            }
        }
        Self { sources, telling }
    }

    /// The smallest or the largest size of all, with its points from all sources.
    fn of_size(&self, is_largest: bool) -> Option<(u32, Family<'a>)> {
        let sizes = || self.sources.values().flat_map(BTreeMap::keys).copied();
        let size = if is_largest { sizes().max() } else { sizes().min() }?;
        let own = self.sources.values().filter_map(|sizes| sizes.get(&size));
        Some((size, own.flatten().copied().collect()))
    }

    /// The smallest and the largest size with their points, if they differ.
    fn ends(&self) -> Option<[(u32, Family<'a>); 2]> {
        let [small, large] = [self.of_size(false)?, self.of_size(true)?];
        (small.0 < large.0).then_some([small, large])
    }

    fn tells(&self, error: f64) -> bool {
        error.abs() > self.telling
    }
}

/// The middle one of some errors; `None` without any.
fn typical(errors: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut all: Vec<f64> = errors.flatten().collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// How much faster than measured the drive is; what was outstanding and took longer has a lower
/// rate.
fn rate(one: &Prediction) -> Option<f64> {
    one.errors.iops.or_else(|| one.errors.mean.map(|mean| 1.0 / (1.0 + mean) - 1.0))
}

fn measured(one: &Prediction) -> f64 {
    one.point.figures.iops.map_or(0.0, |rate| rate.0)
}

fn most(points: &[&Prediction]) -> f64 {
    points.iter().map(|one| measured(one)).fold(0.0, f64::max)
}

/// The typical error of the rate on the plateau.
fn of_plateau(points: &[&Prediction]) -> Option<f64> {
    let least = points.iter().filter_map(|one| one.point.outstanding()).min()?;
    let most = most(points);
    let is_high = |one: &&&Prediction| {
        measured(one) >= PLATEAU * most && one.point.outstanding() > Some(least)
    };
    typical(points.iter().filter(is_high).map(|one| rate(one)))
}

/// The typical error of the mean with the fewest outstanding, as a share and in microseconds.
fn of_light(points: &[&Prediction]) -> Option<(f64, f64)> {
    let least = points.iter().filter_map(|one| one.point.outstanding()).min()?;
    let light = || points.iter().filter(|one| one.point.outstanding() == Some(least));
    let micros = |one: &&&Prediction| Some(one.predicted.mean?.0 - one.point.figures.mean?.0);
    Some((typical(light().map(|one| one.errors.mean))?, typical(light().map(|one| micros(&one)))?))
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

fn host_rate(reads: &Reads<'_>) -> Option<String> {
    let of = |(source, sizes): (&&str, &BTreeMap<u32, Family<'_>>)| {
        let (one, many): (Vec<_>, Vec<_>) =
            sizes.values().next()?.iter().partition(|one| one.point.numjobs == 1);
        let (alone, together) = (of_plateau(&one)?, of_plateau(&many)?);
        let is_limit = most(&many) > FASTER * most(&one);
        (is_limit && alone > reads.telling && together < alone / 2.0).then(|| {
            format!("the highest rate of one job is predicted {} off ({source})", percent(alone))
        })
    };
    reads.sources.iter().find_map(of)
}

fn command_rate(reads: &Reads<'_>) -> Option<String> {
    let (size, small) = reads.of_size(false)?;
    let several: Vec<_> = small.iter().copied().filter(|one| one.point.numjobs > 1).collect();
    let error = of_plateau(&several).or_else(|| of_plateau(&small))?;
    let large = reads.ends().and_then(|[_, (_, large)]| of_plateau(&large));
    let is_small_alone = large.is_none_or(|large| large < error / 2.0);
    (error > reads.telling && is_small_alone)
        .then(|| format!("the highest rate of {size} B is predicted {} off", percent(error)))
}

fn bandwidth(reads: &Reads<'_>) -> Option<String> {
    let [(_, small), (size, large)] = reads.ends()?;
    let (small, error) = (of_plateau(&small)?, of_plateau(&large)?);
    (error > reads.telling && small < error / 2.0)
        .then(|| format!("the highest rate of {size} B is predicted {} off", percent(error)))
}

fn link(reads: &Reads<'_>) -> Option<String> {
    let [_, (size, _)] = reads.ends()?;
    let of = |(source, sizes): (&&str, &BTreeMap<u32, Family<'_>>)| {
        Some((of_plateau(sizes.get(&size)?)?, (*source).to_owned()))
    };
    let mut all: Vec<(f64, String)> = reads.sources.iter().filter_map(of).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((slow, under), (fast, over)) = (all.first()?, all.last()?);
    reads.tells(fast - slow).then(|| {
        let [slow, fast] = [*slow, *fast].map(percent);
        format!(
            "the highest rate of {size} B is predicted {slow} off ({under}) and {fast} ({over})"
        )
    })
}

fn dies(reads: &Reads<'_>) -> Option<String> {
    let all = reads.sources.values().flat_map(BTreeMap::values).flatten();
    let few = || {
        all.clone().filter(|one| one.point.outstanding().is_some_and(|count| FEW.contains(&count)))
    };
    let tail = typical(few().map(|one| one.errors.p99))?;
    let mean = typical(few().map(|one| one.errors.mean))?;
    (tail.abs() > TELLING_P99 && mean.abs() < tail.abs() / 2.0).then(|| {
        format!(
            "p99 with 2 to 8 outstanding is predicted {} off, the mean {}",
            percent(tail),
            percent(mean)
        )
    })
}

fn host_time(reads: &Reads<'_>) -> Option<String> {
    let of = |(source, sizes): (&&str, &BTreeMap<u32, Family<'_>>)| {
        let (share, micros) = of_light(sizes.values().next()?)?;
        Some((share, micros, (*source).to_owned()))
    };
    let mut all: Vec<(f64, f64, String)> = reads.sources.iter().filter_map(of).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (share, micros, source) = all.first()?;
    let best = all.last()?.0;
    (*share < -reads.telling && best > share / 2.0).then(|| {
        format!(
            "the lightest load is predicted {micros:+.1} us off ({}, {source})",
            percent(*share)
        )
    })
}

fn fixed_time(reads: &Reads<'_>) -> Option<String> {
    let families = || reads.sources.values().flat_map(BTreeMap::values);
    let all: Vec<(f64, f64)> = families().filter_map(|points| of_light(points)).collect();
    let (low, high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
        (low.min(one.1), high.max(one.1))
    });
    // The smallest request shows a time best.
    let largest = all.iter().map(|one| one.0.abs()).fold(0.0, f64::max);
    let is_one = low * high > 0.0 && low.abs().min(high.abs()) > 0.5 * low.abs().max(high.abs());
    (is_one && reads.tells(largest))
        .then(|| format!("lightest loads are predicted {low:+.1} to {high:+.1} us off"))
}

fn byte_time(reads: &Reads<'_>) -> Option<String> {
    let [(_, small), (size, large)] = reads.ends()?;
    let ((_, small), (error, micros)) = (of_light(&small)?, of_light(&large)?);
    (reads.tells(error) && small.abs() < micros.abs() / 2.0).then(|| {
        format!(
            "the lightest load of {size} B is predicted {micros:+.1} us off ({})",
            percent(error)
        )
    })
}

#[cfg(test)]
mod tests;
