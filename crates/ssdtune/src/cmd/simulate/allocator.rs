//! `--allocator`: who shares the channels out to the tenants while the drive runs.

use crate::keeper::{milliseconds, read_policy};
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_keeper::{Policy, Repeat};
use ssdtune_model::Nanos;
use std::path::PathBuf;

/// Flags of the allocator.
#[derive(Debug, clap::Args)]
pub(crate) struct AllocatorArgs {
    /// Let SSDKeeper give tenants channels: all share all of them until --collect-ms have gone,
    /// then a trained network chooses (`docs/keeper.md`).
    #[arg(long, value_name = "keeper:MODEL", conflicts_with_all = ["series", "channels", "mqsim"])]
    allocator: Option<AllocatorArg>,

    /// Milliseconds of simulated time after which the allocator decides; the period for which the
    /// network was trained unless given.
    #[arg(long, value_name = "MS", value_parser = milliseconds, requires = "allocator")]
    collect_ms: Option<Nanos>,

    /// Let it decide again after every further --collect-ms, and switch where the network promises
    /// so much over what is in place: the logarithm of latencies, or of probabilities where the
    /// model is a classifier.
    #[arg(long, value_name = "SHARE", requires = "allocator")]
    repeat: Option<f64>,
}

/// SSDKeeper, as the command line asks for it.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) policy: Policy,
    /// The period after which it decides.
    pub(crate) collect: Nanos,
    pub(crate) repeat: Repeat,
}

/// `keeper:MODEL`.
#[derive(Clone, Debug)]
struct AllocatorArg(PathBuf);

impl std::str::FromStr for AllocatorArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("keeper", path)) if !path.is_empty() => Ok(Self(path.into())),
            _ => Err("write keeper: and the file of a trained network".to_owned()),
        }
    }
}

impl AllocatorArgs {
    /// The allocator, if one is asked for.
    pub(crate) fn keeper(&self) -> Outcome<Option<Keeper>> {
        let Some(AllocatorArg(path)) = &self.allocator else { return Ok(None) };
        let repeat = match self.repeat {
            None => Repeat::Once,
            Some(hysteresis) if (0.0..=1.0).contains(&hysteresis) => Repeat::Always { hysteresis },
            Some(given) => {
                return Err(Failure::usage(anyhow!("--repeat {given}: a share from 0 to 1")));
            }
        };
        let policy = read_policy(path)?;
        let collect = self.collect_ms.unwrap_or(Nanos(policy.collect_ns));
        Ok(Some(Keeper { policy, collect, repeat }))
    }
}
