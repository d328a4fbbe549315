//! `--allocator`: SSDKeeper, which gives channels to the tenants while the drive runs.

use crate::context::Context;
use crate::device;
use crate::global::real;
use crate::outcome::Outcome;
use ssdtune_keeper::{Policy, Repeat};
use ssdtune_model::{CheckedConfig, Nanos, given};
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of the allocator.
#[derive(Debug, clap::Args)]
pub(crate) struct AllocatorArgs {
    /// Let SSDKeeper give channels to the tenants. At first all tenants share all channels; at some
    /// moments of the first two --collect-ms a trained network may divide them (`docs/keeper.md`).
    /// Writes that would wait in a part go where the whole drive has the least to do.
    #[arg(long, value_name = "keeper:MODEL", conflicts_with_all = ["series", "channels", "mqsim"])]
    allocator: Option<AllocatorArg>,

    /// The period T, in milliseconds of simulated time. The allocator decides at its end; with most
    /// networks also at moments before, and until 2 T. Default: the period of the network.
    #[arg(long, value_name = "MS", value_parser = given::milliseconds, requires = "allocator")]
    collect_ms: Option<Nanos>,

    /// Let the allocator decide again after each further --collect-ms. It switches to another
    /// strategy if the network promises at least this gain over the present one. A gain is a
    /// difference of logarithms: of latencies, or of probabilities if the model is a classifier.
    #[arg(long, value_name = "SHARE", requires = "allocator", value_parser = real(0.0..=1.0))]
    repeat: Option<f64>,
}

/// The allocator that the flags ask for.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) policy: Policy,
    /// The period after which it decides.
    pub(crate) collect: Nanos,
    pub(crate) repeat: Repeat,
}

/// The file of a network, written as `keeper:MODEL`.
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
    /// Reads the network for a drive, if an allocator is asked for; `to` is told how it suits.
    pub(crate) fn keeper(
        &self,
        on: &CheckedConfig,
        to: Option<&Context>,
    ) -> Outcome<Option<Arc<Keeper>>> {
        let Some(AllocatorArg(path)) = &self.allocator else { return Ok(None) };
        let repeat = self.repeat.map_or(Repeat::Once, |hysteresis| Repeat::Always { hysteresis });
        let policy = device::network(path, on, to)?;
        let collect = self.collect_ms.unwrap_or(Nanos(policy.collect_ns));
        Ok(Some(Arc::new(Keeper { policy, collect, repeat })))
    }
}
