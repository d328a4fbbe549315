//! Workload models: a short TOML text in place of a trace that cannot be had.
//!
//! A [`Model`] states what a stream of requests looks like (operation mix, sizes, arrivals with
//! bursts, skew, runs, reuse, phases, tenants); a [`Generator`] turns it into an endless,
//! deterministic iterator of [`Request`](crate::Request)s. The text form is read by [`parse`],
//! whose errors list every fault with its line; `bundled` finds the models that ship with the
//! crate; [`fit()`] makes a model from a trace, and [`distance()`] says how far the two
//! are apart. The keys are documented in `docs/workload-models.md`.
//!
//! Addresses are bytes in a compact space that starts at zero, times are nanoseconds from the first
//! request. Generation costs about 50 ns and no allocation per request; a model's state is its
//! reuse windows plus about 30 KB per skewed access pattern.
//!
//! Left out: dependencies between requests (streams are open-loop) and correlation of size with
//! time.

mod address;
mod arrival;
mod bundled;
mod check;
mod dist;
mod distance;
mod fit;
mod generate;
mod model;
mod read;
mod seed;
mod variant;
mod write;

pub use bundled::{bundled, names};
pub use check::{Fault, ModelError};
pub use distance::{Distance, Profile, distance};
pub use fit::{FitError, distance_to, fit};
pub use generate::Generator;
pub use model::{
    Access, Arrival, GapRange, Model, Phase, PhaseLength, Rate, Recent, RecentOf, Runs, SizeRange,
    Skew, Stride, Tenant, Totals, Variant,
};
pub use read::parse;
pub use seed::{Seed, SeedSet};

#[cfg(test)]
mod tests;
