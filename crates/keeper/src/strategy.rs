//! Strategies: how the channels of a drive are divided among its tenants (SSDKeeper, section IV-C).
//!
//! With N channels and k tenants there are these strategies:
//! - `Shared`: every tenant may use every channel.
//! - `Isolated`: every tenant has an equal part of the channels to itself.
//! - Two parts, written `7:1`: the first number of channels is for the tenants that mostly write,
//!   the second for those that mostly read. Two equal parts are left out, as in the paper.
//! - From three tenants on, k parts, written `5:1:1:1`: one part for each tenant, in the order of
//!   the tenants. All ways to divide N into k parts are strategies, except the equal one, which is
//!   `Isolated`.
//!
//! With 8 channels these are the paper's 8 strategies for two tenants and 42 for four. Where there
//! would be more than [`STRATEGIES_MAX`], parts are whole eighths of the channels.
//!
//! Two parts make sense only if some tenants mostly write and others mostly read; otherwise they
//! equal `Shared`. [`Strategy::is_distinct`] tells.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most strategies of single channels. Where there are more, parts are eighths of the channels.
pub const STRATEGIES_MAX: usize = 512;

/// How many tenants a strategy can be for.
pub const TENANTS: std::ops::RangeInclusive<usize> = 2..=8;

/// A set of a drive's tenants, by their numbers (0 to 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantSet(u8);

impl TenantSet {
    /// Tenants 0 to `count` - 1.
    pub fn first(count: usize) -> Self {
        Self::from_flags((0..count).map(|_| true))
    }

    /// One tenant alone.
    pub const fn only(tenant: usize) -> Self {
        Self(1 << tenant)
    }

    /// The tenants whose flag is `true`; the first flag is for tenant 0.
    pub fn from_flags(flags: impl Iterator<Item = bool>) -> Self {
        Self(flags.enumerate().map(|(tenant, is_in)| u8::from(is_in) << tenant).sum())
    }

    /// The tenants of this set that are not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// From a list with one entry for each tenant, the entries of the tenants in this set.
    pub fn select<T>(self, all: &[T]) -> impl Iterator<Item = &T> {
        let entries = all.iter().enumerate().filter(move |(tenant, _)| self.contains(*tenant));
        entries.map(|(_, entry)| entry)
    }

    /// Whether a tenant is in the set.
    pub const fn contains(self, tenant: usize) -> bool {
        self.0 >> tenant & 1 == 1
    }
}

/// A part of a drive: channels that some tenants share among themselves and with nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The tenants that may use the channels.
    pub tenants: TenantSet,
    /// How many channels they have.
    pub channels: u32,
}

/// A way to divide the channels of a drive among its tenants.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// Every tenant may use every channel.
    Shared,
    /// Every tenant has an equal part to itself.
    Isolated,
    /// One part for all tenants that mostly write, and one for all that mostly read.
    ByKind {
        /// Channels of the tenants that mostly write.
        writers: u32,
        /// Channels of the tenants that mostly read.
        readers: u32,
    },
    /// One part for each tenant, in the order of the tenants.
    Parts(Vec<u32>),
}

impl fmt::Display for Strategy {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Shared => out.write_str("Shared"),
            Self::Isolated => out.write_str("Isolated"),
            Self::ByKind { writers, readers } => write!(out, "{writers}:{readers}"),
            Self::Parts(parts) => {
                let parts: Vec<String> = parts.iter().map(u32::to_string).collect();
                out.write_str(&parts.join(":"))
            }
        }
    }
}

impl std::str::FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{name}` is no strategy: write Shared, Isolated, or channels as in 7:1 or 5:1:1:1"
            )
        };
        match name {
            "Shared" => return Ok(Self::Shared),
            "Isolated" => return Ok(Self::Isolated),
            _ => {}
        }
        let parts: Option<Vec<u32>> =
            name.split(':').map(|part| part.parse().ok().filter(|&part| part > 0)).collect();
        match parts.ok_or_else(wrong)?.as_slice() {
            [writers, readers] => Ok(Self::ByKind { writers: *writers, readers: *readers }),
            parts if TENANTS.contains(&parts.len()) => Ok(Self::Parts(parts.to_vec())),
            _ => Err(wrong()),
        }
    }
}

impl Serialize for Strategy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Strategy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Strategy {
    /// Every strategy for `tenants` tenants on a drive of `channels` channels. Those that do not
    /// depend on the number of tenants come first.
    ///
    /// # Panics
    /// If the number of tenants is not in [`TENANTS`].
    pub fn all(channels: u32, tenants: usize) -> Vec<Self> {
        assert!(TENANTS.contains(&tenants), "{tenants} tenants have no strategies");
        let every = count(channels, tenants);
        let steps = if every <= STRATEGIES_MAX as u64 { channels } else { 8 };
        // Channels before a boundary, in steps.
        let at = |step: u32| (u64::from(channels) * u64::from(step) / u64::from(steps)) as u32;
        let mut all = vec![Self::Shared];
        let isolated = equal(channels, tenants);
        if isolated.is_some() {
            all.push(Self::Isolated);
        }
        for step in (1..steps).rev() {
            let (writers, readers) = (at(step), channels - at(step));
            if writers != readers {
                all.push(Self::ByKind { writers, readers });
            }
        }
        if tenants > 2 {
            let mut parts = Vec::new();
            compositions(steps, tenants, &mut Vec::new(), &mut parts);
            all.extend(
                parts
                    .into_iter()
                    .map(|cuts| (cuts.windows(2)).map(|w| at(w[1]) - at(w[0])).collect::<Vec<_>>())
                    .filter(|parts| Some(parts) != isolated.as_ref())
                    .map(Self::Parts),
            );
        }
        all
    }

    /// Whether these tenants can have the strategy, and it is not merely `Shared` under another
    /// name. `writers` says for each tenant whether it mostly writes.
    pub fn is_distinct(&self, writers: &[bool]) -> bool {
        match self {
            Self::Shared | Self::Isolated => true,
            Self::ByKind { .. } => writers.contains(&true) && writers.contains(&false),
            Self::Parts(parts) => parts.len() == writers.len(),
        }
    }

    /// The parts that the strategy makes of `channels` channels; the first part has the first
    /// channels. `writers` says for each tenant whether it mostly writes.
    pub fn parts(&self, channels: u32, writers: &[bool]) -> impl Iterator<Item = Part> {
        let all = TenantSet::first(writers.len());
        let writing = TenantSet::from_flags(writers.iter().copied());
        let count = match self {
            Self::ByKind { .. } if self.is_distinct(writers) => 2,
            Self::Isolated if channels as usize >= writers.len() => writers.len(),
            Self::Parts(parts) => parts.len(),
            Self::Shared | Self::Isolated | Self::ByKind { .. } => 1,
        };
        let tenants = writers.len() as u32;
        (0..count).map(move |number| match self {
            Self::Parts(parts) => {
                Part { tenants: TenantSet::only(number), channels: parts[number] }
            }
            Self::Isolated if count > 1 => {
                let channels = equal_part(channels, tenants, number as u32);
                Part { tenants: TenantSet::only(number), channels }
            }
            Self::ByKind { writers, .. } if count > 1 && number == 0 => {
                Part { tenants: writing, channels: *writers }
            }
            Self::ByKind { readers, .. } if count > 1 => {
                Part { tenants: all.without(writing), channels: *readers }
            }
            Self::Shared | Self::Isolated | Self::ByKind { .. } => Part { tenants: all, channels },
        })
    }

    /// The numbers of the channels that each tenant may use. `writers` says for each tenant whether
    /// it mostly writes.
    pub fn channels(&self, channels: u32, writers: &[bool]) -> Vec<Vec<u32>> {
        let mut sets = vec![Vec::new(); writers.len()];
        let mut first = 0;
        for part in self.parts(channels, writers) {
            let range = first..first + part.channels;
            for (tenant, set) in sets.iter_mut().enumerate() {
                if part.tenants.contains(tenant) {
                    *set = range.clone().collect();
                }
            }
            first = range.end;
        }
        sets
    }

    /// This strategy for tenants that are numbered otherwise: tenant `i` gets the part that tenant
    /// `order[i]` has here.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        match self {
            Self::Parts(parts) if parts.len() == order.len() => {
                Self::Parts(order.iter().map(|&from| parts[from]).collect())
            }
            other => other.clone(),
        }
    }
}

/// The channels divided as equally as possible, larger parts first; none if there are fewer
/// channels than tenants.
fn equal(channels: u32, tenants: usize) -> Option<Vec<u32>> {
    let tenants = tenants as u32;
    (channels >= tenants).then(|| (0..tenants).map(|n| equal_part(channels, tenants, n)).collect())
}

/// Channels of the part with that number when parts are as equal as possible.
fn equal_part(channels: u32, tenants: u32, number: u32) -> u32 {
    channels / tenants + u32::from(number < channels % tenants)
}

/// How many strategies there are if parts are any whole numbers of channels.
fn count(channels: u32, tenants: usize) -> u64 {
    let two_parts = u64::from(channels.saturating_sub(1)) - u64::from(channels.is_multiple_of(2));
    if (channels as usize) < tenants {
        return 1 + two_parts;
    }
    // Compositions of N into k parts: N - 1 over k - 1. `Isolated` is one of them.
    let parts = (1..tenants as u64)
        .try_fold(1u64, |all, k| Some(all.checked_mul(u64::from(channels).checked_sub(k)?)? / k));
    match tenants {
        2 => 2 + two_parts,
        _ => parts.unwrap_or(u64::MAX).saturating_add(1 + two_parts),
    }
}

/// Adds every way to cut `steps` into `parts` parts to `all`, as boundaries from 0 to `steps`;
/// those with the largest first part come first. `cuts` holds the boundaries found so far.
fn compositions(steps: u32, parts: usize, cuts: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
    if cuts.is_empty() {
        cuts.push(0);
    }
    let last = cuts[cuts.len() - 1];
    if parts == 1 {
        cuts.push(steps);
        all.push(cuts.clone());
        cuts.pop();
        return;
    }
    let most = steps.saturating_sub(parts as u32 - 1);
    for next in (last + 1..=most).rev() {
        cuts.push(next);
        compositions(steps, parts - 1, cuts, all);
        cuts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn names(channels: u32, tenants: usize) -> Vec<String> {
        Strategy::all(channels, tenants).iter().map(Strategy::to_string).collect()
    }

    #[test]
    fn the_papers_eight_and_forty_two() {
        let eight = ["Shared", "Isolated", "7:1", "6:2", "5:3", "3:5", "2:6", "1:7"];
        assert_eq!(names(8, 2), eight);
        let four = names(8, 4);
        assert_eq!(four.len(), 42);
        assert_eq!(four[..8], eight);
        assert_eq!(four[8], "5:1:1:1");
        for named in ["4:2:1:1", "3:3:1:1", "3:2:2:1", "1:1:1:5"] {
            assert!(four.iter().any(|name| name == named), "{named}");
        }
        assert!(!four.iter().any(|name| name == "2:2:2:2"), "that is Isolated");
    }

    #[test]
    fn channels_go_to_tenants_by_kind_or_by_number() {
        let of =
            |name: &str, writers: &[bool]| name.parse::<Strategy>().unwrap().channels(8, writers);
        let mixed = [false, true, true, false];
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(of("Shared", &mixed), vec![all.clone(); 4]);
        assert_eq!(of("Isolated", &mixed), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        let (writers, readers): (Vec<u32>, Vec<u32>) = ((0..3).collect(), (3..8).collect());
        assert_eq!(of("3:5", &mixed), [&readers, &writers, &writers, &readers].map(Vec::clone));
        assert_eq!(of("3:5", &[true; 4]), vec![all; 4]);
        assert_eq!(of("1:4:2:1", &mixed), [vec![0], vec![1, 2, 3, 4], vec![5, 6], vec![7]]);
        assert_eq!(of("Isolated", &[true; 3])[2], [6, 7]);
    }

    #[test]
    fn two_parts_of_one_kind_drop_out() {
        let distinct = |writers: &[bool]| {
            let all = Strategy::all(8, writers.len());
            all.iter().filter(|strategy| strategy.is_distinct(writers)).count()
        };
        assert_eq!(distinct(&[true, false]), 8);
        assert_eq!(distinct(&[true, true]), 2);
        assert_eq!(distinct(&[false, true, true, true]), 42);
        assert_eq!(distinct(&[false; 4]), 36);
    }

    proptest! {
        #[test]
        fn strategies_are_distinct_and_use_every_channel(
            channels in 1u32..200,
            tenants in 2usize..=8,
        ) {
            let all = Strategy::all(channels, tenants);
            prop_assert!(all.len() <= STRATEGIES_MAX);
            let every = count(channels, tenants);
            if every <= STRATEGIES_MAX as u64 {
                prop_assert_eq!(all.len() as u64, every);
            }
            let mut names: Vec<String> = all.iter().map(Strategy::to_string).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), all.len());
            let writers: Vec<bool> = (0..tenants).map(|tenant| tenant % 2 == 0).collect();
            for strategy in &all {
                prop_assert_eq!(&strategy.to_string().parse::<Strategy>().unwrap(), strategy);
                let sets = strategy.channels(channels, &writers);
                let mut used: Vec<u32> = sets.concat();
                used.sort_unstable();
                used.dedup();
                prop_assert_eq!(used, (0..channels).collect::<Vec<_>>());
                prop_assert!(sets.iter().all(|set| !set.is_empty()));
                if let Strategy::Parts(parts) = strategy {
                    prop_assert_eq!(parts.iter().sum::<u32>(), channels);
                    let turned: Vec<usize> = (0..tenants).rev().collect();
                    prop_assert_eq!(&strategy.reordered(&turned).reordered(&turned), strategy);
                }
            }
        }
    }
}
