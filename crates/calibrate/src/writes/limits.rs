//! What keeps a drive from writes that its flash could program: hosts, and its controller.
//!
//! While nothing is collected, a drive takes writes as fast as its flash, its controller, its link
//! or its host allow. Where the host of a rig is the slowest, the level before the fall is that of
//! its processor: its writes in a second, whatever their size. Where no rule names a rig it is the
//! drive that takes no more: bytes in a second. Either limit is one of the measured levels, or none
//! where the flash alone explains them.

use crate::run::Run;
use crate::split::Expression;
use serde::Serialize;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// A limit has to bring the levels nearer by this much, as a mean of logarithms, to be one.
const GAIN_MIN: f64 = 0.02;
/// From this part of a limit on a level is the limit's.
const NEAR: f64 = 0.95;

/// What is known of limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits<'a> {
    /// The rule of each rig.
    rules: &'a [Expression],
    /// Writes in a second that the host of each rig sends; `None`: more than the drive takes.
    rates: Vec<Option<f64>>,
    /// MiB/s that the drive takes; `None`: what its flash programs.
    drive: Option<f64>,
}

/// The host of a rig, as the report names it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunHost {
    /// The rule that chooses its runs.
    pub rule: String,
    /// Writes in a second that it sends; `None`: more than the drive takes.
    pub writes_per_second: Option<f64>,
}

/// A level before the fall, in MiB/s: what was measured, and what the flash takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) real: f64,
    pub(super) own: f64,
}

impl<'a> Limits<'a> {
    /// Limits of which nothing is known.
    pub(super) fn unknown(rules: &'a [Expression]) -> Self {
        Self { rules, rates: vec![None; rules.len()], drive: None }
    }

    /// Those of the same rigs, of which nothing is known.
    pub(super) fn forgotten(&self) -> Self {
        Self::unknown(self.rules)
    }

    /// Those of the same rigs that explain levels of runs.
    pub(super) fn that_explain<'b>(&self, levels: impl Iterator<Item = (&'b Run, Level)>) -> Self {
        let mut of_rigs = vec![Vec::new(); self.rules.len()];
        let mut of_drive = Vec::new();
        for (run, level) in levels {
            match self.rig(run) {
                Some(rig) => {
                    let [real, own] = [level.real, level.own].map(|level| writes(run, level));
                    of_rigs[rig].push(Level { real, own });
                }
                None => of_drive.push(level),
            }
        }
        let rates = of_rigs.iter().map(|levels| slowest(levels)).collect();
        Self { rules: self.rules, rates, drive: slowest(&of_drive) }
    }

    /// The rig that a run was measured by.
    fn rig(&self, run: &Run) -> Option<usize> {
        self.rules.iter().position(|rule| rule.holds_for(run))
    }

    /// Writes that the host of a run sends in a second, if that is less than the drive takes.
    pub(super) fn rate(&self, run: &Run) -> Option<f64> {
        self.rates[self.rig(run)?]
    }

    /// Bytes in a second that the drive takes, if its flash could program more.
    pub(super) fn bandwidth(&self) -> Option<f64> {
        self.drive.map(|level| level * MIB)
    }

    /// Whether a throughput of a run is not that of the flash.
    pub(super) fn decide(&self, run: &Run, mib_per_second: f64) -> bool {
        let host = self.rate(run).is_some_and(|rate| writes(run, mib_per_second) >= NEAR * rate);
        host || self.drive.is_some_and(|level| mib_per_second >= NEAR * level)
    }

    /// For the report.
    pub(super) fn hosts(&self) -> Vec<RunHost> {
        let one = |(rule, rate): (&Expression, &Option<f64>)| RunHost {
            rule: rule.to_string(),
            writes_per_second: *rate,
        };
        self.rules.iter().zip(&self.rates).map(one).collect()
    }
}

impl std::fmt::Display for RunHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.writes_per_second {
            Some(rate) => write!(f, "{rate:.0} writes/s where {}", self.rule),
            None => write!(f, "more writes than the drive takes where {}", self.rule),
        }
    }
}

/// A throughput of a run in writes a second.
fn writes(run: &Run, mib_per_second: f64) -> f64 {
    mib_per_second * MIB / f64::from(run.block_bytes.max(1))
}

/// The limit with which flash comes nearest to some levels; `None` where it comes as near without
/// one. The sum of absolute logarithms is smallest at one of the measured levels.
fn slowest(levels: &[Level]) -> Option<f64> {
    let off = |limit: f64| {
        let all = levels.iter().map(|level| (level.own.min(limit) / level.real).ln().abs());
        all.sum::<f64>() / levels.len().max(1) as f64
    };
    let best = levels.iter().map(|level| level.real).min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
    (off(best) + GAIN_MIN < off(f64::INFINITY)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Pattern;

    #[test]
    fn a_limit_is_the_level_that_it_explains() {
        let levels = |all: &[(f64, f64)]| -> Vec<Level> {
            all.iter().map(|&(real, own)| Level { real, own }).collect()
        };
        // Three are at the limit, one is at what the flash does.
        let host = levels(&[(400e3, 500e3), (4e3, 3.9e3), (401e3, 480e3), (399e3, 500e3)]);
        assert_eq!(slowest(&host), Some(400e3));
        // The flash alone explains them, or takes less than was measured.
        assert_eq!(slowest(&levels(&[(400e3, 405e3), (4e3, 4e3)])), None);
        assert_eq!(slowest(&levels(&[(400e3, 300e3)])), None);
        assert_eq!(slowest(&[]), None);
    }

    #[test]
    fn runs_of_a_rig_tell_its_rate_and_others_what_the_drive_takes() {
        let run = |source: &str, block_bytes: u32| Run {
            at: String::new(),
            source: source.to_owned(),
            drive: None,
            run: String::new(),
            pattern: Pattern::new("uniform", "").unwrap(),
            span_bytes: 1 << 30,
            block_bytes,
            seconds: None,
            mib_per_second: None,
            write_amplification: None,
            samples: Vec::new(),
        };
        let rules: [Expression; 1] = ["source=slow".parse().unwrap()];
        let [short, long, other] = [run("slow", 4096), run("slow", 1 << 19), run("quick", 4096)];
        let level = |real, own| Level { real, own };
        let found = Limits::unknown(&rules).that_explain(
            [
                (&short, level(1000.0, 2000.0)),
                (&long, level(1990.0, 2000.0)),
                (&other, level(1500.0, 2000.0)),
            ]
            .into_iter(),
        );
        // 1000 MiB/s in 4 KiB; as many long writes would be 128 times as much.
        assert_eq!(
            [&short, &long, &other].map(|run| found.rate(run)),
            [Some(256_000.0), Some(256_000.0), None]
        );
        assert_eq!(found.bandwidth(), Some(1500.0 * MIB));
        assert!(found.decide(&short, 960.0) && !found.decide(&short, 900.0));
        assert!(!found.decide(&long, 1000.0) && found.decide(&other, 1500.0));
        assert_eq!(found.forgotten(), Limits::unknown(&rules));
    }
}
