//! The key of an evaluation: a hash of everything that decides its result.
//!
//! An evaluation is looked up before it is simulated, so its key must differ whenever its result
//! could. The [`EvaluationKey`] is a BLAKE3 hash of 256 bits over the canonical configuration, the
//! content of the request stream, its range and transforms, the replays, the warm-up, the seed, the
//! evaluator, and [`RESULTS_EPOCH`]. The canonical configuration has every row of the catalogue,
//! those of `[compat]` and `[energy]` included. The name of a configuration decides nothing and is
//! left out.
//!
//! Every field goes in with its name and its length, so that no two lists of fields give the same
//! bytes.
//!
//! Cost: about 30 us for a configuration, 20 ns for each request of a stream.

#[cfg(test)]
mod tests;

use crate::digest::{Digest, Digester};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::{Allocation, PlacementPolicy};
use ssdtune_model::{DeviceConfig, document};
use ssdtune_sim::{BY_LOAD_VERSION, Filling, Replay};
use std::fmt;
use std::ops::Range;

/// The version of what simulations answer. It is raised by one when results change, so that no
/// evaluation stored before is found any more. A test compares digests of a few small simulations
/// with those of this epoch.
pub const RESULTS_EPOCH: u32 = 2;

/// The same of drives with a placement policy alone, so that a change there leaves all other
/// evaluations valid. Version 1: what a policy remembers takes power.
const PLACED_VERSION: u32 = 1;

/// How [`EvaluationInputs::evaluator`] names the built-in simulator.
pub const BUILT_IN: &str = "ssdtune";

/// What a drive has been through before it is measured, apart from what its configuration says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmUp {
    /// How the drive was filled, if it was.
    pub filling: Option<Filling>,
    /// The digest ([`digest_requests`](crate::memory::digest_requests)) of the requests that it
    /// then served without time, if any.
    pub requests: Option<Digest>,
}

/// Everything that decides an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationInputs<'a> {
    /// The drive.
    pub config: &'a DeviceConfig,
    /// The digest of the request stream before range and transforms
    /// ([`digest_requests`](crate::memory::digest_requests)).
    pub workload: Digest,
    /// The requests of the stream that are replayed, counted from 0.
    pub range: Range<u64>,
    /// What is done to these requests, in order. Each is one canonical text such as
    /// `time-scale 0.5`.
    pub transforms: &'a [String],
    /// The runs of the evaluation, in order.
    pub replays: &'a [Replay],
    /// What the drive goes through before each run.
    pub warm_up: WarmUp,
    /// The seed of the evaluation.
    pub seed: u64,
    /// The evaluator: [`BUILT_IN`], or the command line of another simulator.
    pub evaluator: &'a str,
}

/// The key of an evaluation in AutoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvaluationKey(pub Digest);

impl EvaluationKey {
    /// The key of an evaluation with these inputs.
    pub fn of(inputs: &EvaluationInputs) -> Self {
        Self::in_epoch(inputs, RESULTS_EPOCH)
    }

    fn in_epoch(inputs: &EvaluationInputs, epoch: u32) -> Self {
        let mut digester = Digester::new("ssdtune evaluation");
        digester
            .number("epoch", epoch.into())
            .text("evaluator", inputs.evaluator)
            .text("configuration", &canonical(inputs.config))
            .digest("workload", inputs.workload)
            .number("first", inputs.range.start)
            .number("end", inputs.range.end)
            .number("transforms", inputs.transforms.len() as u64);
        for transform in inputs.transforms {
            digester.text("transform", transform);
        }
        digester.number("replays", inputs.replays.len() as u64);
        for replay in inputs.replays {
            match replay {
                Replay::Open => digester.text("replay", "open"),
                Replay::Closed(depth) => digester.number("closed", u64::from(*depth)),
            };
        }
        let WarmUp { filling, requests } = inputs.warm_up;
        if let Some(Filling { occupancy, overwrites, seed }) = filling {
            digester
                .real("occupancy", occupancy)
                .number("overwrites", overwrites.into())
                .number("filling seed", seed);
        }
        if let Some(requests) = requests {
            digester.digest("warm-up", requests);
        }
        digester.number("seed", inputs.seed);
        if inputs.config.placement.policy != PlacementPolicy::None {
            digester.number("placement", PLACED_VERSION.into());
        }
        if inputs.config.mapping.allocation != Allocation::Static {
            digester.number("by load", BY_LOAD_VERSION.into());
        }
        Self(digester.finish())
    }

    /// The key as bytes, in the form that AutoDB takes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for EvaluationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A configuration as text that depends on its parameters only: a TOML document without a name.
/// Rows that later versions of the catalogue have added are left out while they have their default,
/// so that old keys stay valid.
pub fn canonical(config: &DeviceConfig) -> String {
    document::canonical(config)
}

/// The digest of a configuration's [`canonical`] text.
pub fn configuration_digest(config: &DeviceConfig) -> Digest {
    let mut digester = Digester::new("ssdtune configuration");
    digester.text("configuration", &canonical(config));
    digester.finish()
}
