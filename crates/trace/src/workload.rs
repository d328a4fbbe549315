//! Workload models: a short TOML text that takes the place of a trace.
//!
//! A [`Model`] describes a stream of requests: the mix of operations, sizes, arrivals with bursts,
//! skew, runs, reuse, phases and tenants. A [`Generator`] makes requests from it: an endless,
//! deterministic iterator of [`Request`](crate::Request)s.
//!
//! - [`parse`] reads the text form. Its error lists every fault with its line.
//! - [`bundled()`] gives the models that come with this crate.
//! - [`fit()`] makes a model of a trace, and [`distance()`] says how much two streams differ.
//!
//! The keys of the text form are described [below](#the-text-form-of-workload-models).
//!
//! ```
//! use ssdtune_trace::workload::{Generator, Seed, parse};
//!
//! let model = parse(
//!     r#"
//!     name = "small-reads"
//!     requests = 1000
//!     [arrival]
//!     process = "poisson"
//!     rate_requests_per_s = 5000
//!     [read]
//!     size = [{ bytes = "4 KiB" }]
//!     working_set = "1 GiB"
//!     skew = { kind = "zipf", theta = 0.9 }
//!     share = 1
//!     "#,
//!     "small-reads.toml",
//! )?;
//! let requests: Vec<_> = Generator::new(&model, Seed::default())?.take(1_000).collect();
//! assert!(requests.iter().all(|request| request.sectors == 8));
//! # Ok::<(), ssdtune_trace::workload::ModelError>(())
//! ```
//!
//! Addresses lie in a compact space that starts at zero. Times are nanoseconds and start at zero. A
//! request costs about 50 ns and no allocation. A generator holds its reuse windows and about 30 KB
//! for each skewed operation.
//!
//! Left out: dependencies between requests (streams are open-loop), and correlation of size with
//! time.
//!
#![doc = include_str!("../../../docs/workload-models.md")]

mod address;
mod arrival;
mod bundled;
mod check;
mod dist;
mod distance;
mod fit;
mod generate;
mod load;
mod model;
mod overview;
mod read;
mod seed;
mod variant;
mod write;

pub use bundled::{bundled, names};
pub use check::{Fault, ModelError};
pub use distance::{Distance, Profile, distance};
pub use fit::{FitError, distance_to, fit};
pub use generate::Generator;
pub use load::{LoadModelError, load};
pub use model::{
    Access, Arrival, GapRange, Model, Phase, PhaseLength, Rate, Recent, RecentOf, Runs, SizeRange,
    Skew, Stride, Tenant, Totals, Variant,
};
pub use overview::{ModelOverview, name_of_trace};
pub use read::parse;
pub use seed::{Seed, SeedSet};

#[cfg(test)]
mod tests;
