//! SSDKeeper: which channels the tenants of a drive should have, learned from simulations and
//! decided while the drive runs.
//!
//! Tenants that share a flash drive disturb each other where they wait for the same channels and
//! chips. Giving each tenant channels of its own ends that, but takes parallelism from all of them.
//! What is best depends on who asks for how much: a *strategy* divides the channels, and a small
//! network, trained on simulations, chooses one from what tenants ask for. After Liu, Chen, Tan,
//! Zhang, Liang, Liu, "SSDKeeper: Self-Adapting Channel Allocation to Improve the Performance of
//! SSD Devices" (IPDPS 2020).
//!
//! The way from nothing to a drive that decides for itself:
//!
//! 1. [`Mix::draw`] draws synthetic mixes of tenants, and a [`MixSimulator`] measures what every
//!    [`Strategy`] does to them. [`label_mixes`] keeps that in a file of [`Labels`].
//! 2. [`train()`](train::train) makes a [`Policy`] of them (by the program `ssdtune-train`, on
//!    libtorch), and [`evaluate`] says how good it is on mixes it has not seen.
//! 3. [`AllocatorObserver`] follows a run of `ssdtune_experiment` and lets the policy decide while
//!    the drive works. [`PlanRunner`] compares it with fixed strategies.
//!
//! A policy needs nothing but the demands of a period to decide. This one is shipped with ssdtune:
//!
//! ```
//! use ssdtune_keeper::{Mix, MixTenant, ObservedMix, Policy};
//! use ssdtune_model::Nanos;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/keeper/ssdkeeper.json");
//! # let path = std::path::Path::new(path);
//! let policy = Policy::read(path)?;
//!
//! // Two tenants at half of the drive's load: one writes 30 % of the pages, one reads the rest.
//! let tenants = vec![MixTenant::plain(true, 0.3), MixTenant::plain(false, 0.7)];
//! let mix = Mix { level: 10, tenants };
//! let rate_max = policy.intensity.requests_per_s_max;
//! let observed = ObservedMix::of_mix(&mix, rate_max, Nanos(policy.collect_ns));
//!
//! let choice = policy.choose(&observed, &mut policy.memory());
//! assert_eq!(choice.strategy.to_string(), "3:5");
//! // The writer gets the first three channels, the reader the other five.
//! let channels = choice.strategy.channels(policy.channels, &observed.writers);
//! assert_eq!(channels, [vec![0, 1, 2], vec![3, 4, 5, 6, 7]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Writes leave the parts that an allocator makes when they would wait there
//! ([`Border::Open`](ssdtune_sim::Border)), and never those of fixed strategies.
//!
//! What this crate does not do: it does not move data between channels (a tenant's data stay where
//! they are until they are written again), and it divides channels and not chips. The mechanism is
//! the drive's: `ssdtune_ftl` places pages by channel sets, and `ssdtune_sim` counts what tenants
//! ask for and binds them to other channels between two events.

pub mod allocator;
pub mod compare;
pub mod evaluation;
pub mod features;
pub mod labels;
pub mod mix;
pub mod policy;
pub mod simulation;
pub mod strategy;
pub mod train;

mod binding;
mod bursts;
mod drive;
mod fairness;
mod forecast;
mod guard;
mod put_on;
mod queue;
mod rates;
mod switch;
mod targets;
mod text;
mod vector;
mod watch;

pub use allocator::{
    Allocator, AllocatorError, AllocatorObserver, Change, Decision, Division, Repeat,
};
pub use binding::{Indivisible, check_divisible};
pub use bursts::{BurstShape, NamedShape};
pub use compare::{
    CompareError, CompareOptions, Comparison, Keeper, Plan, PlanRunner, WindowComparison,
    compare_windows,
};
pub use drive::FlashFigures;
pub use evaluation::{Evaluation, Score, SwitchScore, evaluate};
pub use features::{ObservedMix, PeriodDemand};
pub use labels::{
    LabelSource, LabelledMix, Labels, LabelsError, check_labels_file, label_mixes,
    labelled_allocation,
};
pub use mix::{Mix, MixStyle, MixTenant};
pub use policy::{Choice, Policy, TenantsError};
pub use put_on::Fitted;
pub use simulation::{
    MeanLatencies, MixSimulator, SimulationError, SimulationSettings, StrategyOutcome,
    SwitchOutcome,
};
pub use strategy::Strategy;
pub use switch::{Outlook, SwitchModel};
pub use targets::{PlacedTarget, Target};
pub use text::{choice_map_chart, choice_map_text, decisions_line, shares_text, training_text};
