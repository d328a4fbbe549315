//! Former flags of `simulate`. They still work, are hidden in the help, and tell what to write
//! instead.

use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_experiment::{Age, OVERWRITES, Preparation, Start};

/// The former flags.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FormerArgs {
    /// Now --age.
    #[arg(long, value_enum, value_name = "HOW", hide = true, conflicts_with_all = ["mqsim", "age"])]
    pub(super) warm_up: Option<WarmUp>,

    /// Now the SHARE of --start.
    #[arg(long, value_name = "SHARE", hide = true, value_parser = share)]
    pub(super) occupancy: Option<f64>,
}

/// The values of `--warm-up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WarmUp {
    Sequential,
    Random,
    Trace,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share between 0 and 1".to_owned())
}

impl FormerArgs {
    /// Changes a preparation as the former flags say. If one was given, the text tells what to
    /// write instead.
    pub(super) fn apply(&self, preparation: &mut Preparation) -> Outcome<Option<String>> {
        if self.warm_up.is_none() && self.occupancy.is_none() {
            return Ok(None);
        }
        let filled = matches!(self.warm_up, Some(WarmUp::Sequential | WarmUp::Random));
        if filled && preparation.start != Start::Empty {
            return Err(Failure::usage(anyhow!(
                "--start fills the drive already: leave --warm-up away, or age it with --age trace"
            )));
        }
        let share = self.occupancy.unwrap_or(1.0);
        match &preparation.start {
            Start::Empty if filled => preparation.start = Start::sequential(share),
            Start::Sequential(_) if self.occupancy.is_some() => {
                preparation.start = Start::sequential(share);
            }
            Start::Steady(_) if self.occupancy.is_some() => {
                preparation.start = Start::steady(share);
            }
            _ if share < 1.0 => {
                return Err(Failure::usage(anyhow!(
                    "--occupancy says how full --start leaves the drive: write --start \
                     sequential:{share} or --start steady:{share}"
                )));
            }
            _ => {}
        }
        preparation.ages.extend(self.warm_up.map(|how| match how {
            WarmUp::Sequential => Age::Random { times: 0 },
            WarmUp::Random => Age::Random { times: OVERWRITES },
            WarmUp::Trace => Age::Trace { times: 1 },
        }));
        preparation.check().map_err(Failure::usage)?;
        let mut words = vec![format!("--start {}", preparation.start)];
        words.extend(preparation.ages.iter().map(|age| format!("--age {age}")));
        let words = words.join(" ");
        Ok(Some(format!("--warm-up and --occupancy are now --age and --start: write {words}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of former flags, the --start beside them, and what to write instead.
    #[test]
    fn former_flags_mean_what_they_meant() {
        let of = |warm_up, occupancy, start: &str| {
            let mut preparation = Preparation::of(start.parse().unwrap(), 0);
            let said = FormerArgs { warm_up, occupancy }.apply(&mut preparation);
            said.map(|said| said.map(|text| text.rsplit("write ").next().unwrap().to_owned()))
        };
        let write = |text: &str| Some(text.to_owned());
        let (sequential, random, trace) = (WarmUp::Sequential, WarmUp::Random, WarmUp::Trace);
        for (warm_up, occupancy, start, now) in [
            (None, None, "steady:0.3", None),
            (Some(sequential), None, "empty", write("--start sequential --age random:0")),
            (Some(random), None, "empty", write("--start sequential --age random:5")),
            (Some(random), Some(0.5), "empty", write("--start sequential:0.5 --age random:5")),
            (Some(trace), None, "empty", write("--start empty --age trace:1")),
            (Some(trace), None, "steady", write("--start steady --age trace:1")),
            (None, Some(0.25), "steady", write("--start steady:0.25")),
            (None, Some(0.25), "sequential", write("--start sequential:0.25")),
        ] {
            assert_eq!(of(warm_up, occupancy, start).unwrap(), now, "{warm_up:?} {start}");
        }
        assert!(of(Some(random), None, "steady").is_err());
        assert!(of(None, Some(0.5), "empty").is_err());
        assert!(of(Some(trace), Some(0.5), "empty").is_err());
    }
}
