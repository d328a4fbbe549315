//! What is compared: placement policies, each with the settings it looks at.

use crate::load::Load;
use ssdtune_ftl::placement::{Reference, slices_in_memory_of_asa_ftl};
use ssdtune_model::config::{
    GcPolicy, IntervalStart, MAX_FRONTIERS, MovedPages, PlacementPolicy, TableScale, UpdateUnit,
};
use ssdtune_model::{DeviceConfig, Nanos};

/// Write frontiers of the reference whose queues double.
const DOUBLING_FRONTIERS: u32 = 8;

/// The names of the references that know the future.
const REFERENCES: [(&str, Reference); 2] =
    [(ORACLE, Reference::Doubling), (ORACLE_ORDER, Reference::Order)];

/// The name of the reference whose queues double.
pub(crate) const ORACLE: &str = "oracle";
/// The name of the reference that places by the order of death.
pub(crate) const ORACLE_ORDER: &str = "oracle-order";

/// The names of further ways of haml.
const WAYS: [&str; 5] = ["no-wear-rules", "log-scale", "no-interval", "equal-memory", "readings"];

/// Which block collection takes: a `gc.policy`, and how many candidates d-choices draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Victims {
    /// Its name: that of the `gc.policy`, or `rga-64` for d-choices of 64.
    pub name: String,
    /// The policy of the drive.
    pub policy: GcPolicy,
    /// Candidates of d-choices; 0 for the drive's own number.
    pub choices: u32,
}

impl Victims {
    /// The victims with a name.
    fn named(name: &str) -> Result<Self, UnknownName> {
        let drawn = name.strip_prefix("rga-").and_then(|choices| choices.parse().ok());
        let choices: u32 = drawn.filter(|&choices| choices > 0).unwrap_or(0);
        let policy = if choices > 0 { Some(GcPolicy::Rga) } else { GcPolicy::from_name(name) };
        let policy = policy.ok_or_else(|| UnknownName {
            of: "victims",
            name: name.to_owned(),
            legal: GcPolicy::ALL
                .iter()
                .map(|one| one.name())
                .chain(["rga-N"])
                .map(str::to_owned)
                .collect(),
        })?;
        Ok(Self { name: name.to_owned(), policy, choices })
    }
}

/// One policy with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The name of the policy, followed by the settings that tell it from the other candidates.
    pub label: String,
    /// The policy of the drive.
    pub policy: PlacementPolicy,
    /// How victims are chosen, if not as the drive does by itself.
    pub victims: Option<Victims>,
    /// The reference that takes the place of the policy and knows when each page is written next.
    pub reference: Option<Reference>,
    /// Which write frontiers take the pages that collection moves.
    pub moved: MovedPages,
    /// Clusters of pages, which are write frontiers too.
    pub clusters: u32,
    /// Slices of the address space that haml keeps its tables for.
    pub slices: u32,
    /// Whether haml has as many slices instead as fit the memory that asa-ftl takes.
    pub equal_memory: bool,
    /// Trainings of haml in the time of the load.
    pub periods: f64,
    /// What haml counts as an update.
    pub count: UpdateUnit,
    /// Since when haml counts intervals.
    pub interval_since: IntervalStart,
    /// How haml scales its tables before clustering.
    pub scale: TableScale,
    /// Whether haml clusters by update interval too, not by update frequency alone.
    pub interval: bool,
    /// Whether haml wears its blocks evenly.
    pub wear_rules: bool,
}

impl Candidate {
    /// The configuration of the drive with its placement policy replaced by this one. The time
    /// between two trainings follows from the load.
    pub fn apply(&self, drive: &DeviceConfig, load: &Load) -> DeviceConfig {
        let mut config = drive.clone();
        let period = (load.duration_ns as f64 / self.periods) as u64;
        config.placement.policy = self.policy;
        config.placement.moved = self.moved;
        config.placement.clusters = self.clusters;
        if self.reference == Some(Reference::Order) && self.moved == MovedPages::Policy {
            config.placement.moved = MovedPages::WithHost;
        }
        if let Some(victims) = &self.victims {
            config.gc.policy = victims.policy;
            config.gc.choices = victims.choices;
        }
        config.placement.slices = self.slices_for(load);
        config.placement.count = self.count;
        config.placement.interval_since = self.interval_since;
        config.placement.period = Nanos(period.clamp(1_000, 10_000_000_000_000_000));
        config.placement.scale = self.scale;
        config.placement.interval = self.interval;
        config.placement.wear_rules = self.wear_rules;
        config
    }

    /// The candidate as often as it is to be replayed, of which the replay that moves least
    /// counts: once, unless it is the reference by the order of death on a drive with few spare
    /// blocks. A quarter of them may stand open, as many stay free for collection; where that are
    /// fewer than a plane may have, fewer open blocks can be better, and a reference may try.
    pub(crate) fn trials(&self, drive: &DeviceConfig) -> Vec<Self> {
        if self.reference != Some(Reference::Order) {
            return vec![self.clone()];
        }
        let blocks = f64::from(drive.allocation_geometry().blocks_per_plane);
        let quarter = (blocks * drive.mapping.overprovisioning / 4.0) as u32;
        let mut open = vec![quarter.clamp(2, MAX_FRONTIERS)];
        if quarter < MAX_FRONTIERS {
            open.extend([quarter * 3 / 4, quarter / 2, quarter / 3].map(|open| open.max(2)));
        }
        open.dedup();
        open.into_iter().map(|clusters| Self { clusters, ..self.clone() }).collect()
    }

    /// Slices that haml has for a load.
    pub(crate) fn slices_for(&self, load: &Load) -> u32 {
        match self.equal_memory {
            true => slices_in_memory_of_asa_ftl(load.footprint_pages.into()),
            false => self.slices,
        }
    }

    /// Why the policy cannot do anything with this load, if so. `repeats`: whether the load is
    /// replayed again and again.
    pub(crate) fn not_applicable(&self, load: &Load, repeats: bool) -> Option<&'static str> {
        if self.policy == PlacementPolicy::AutoStream && load.applications < 2 {
            Some("one stream, and nobody knows who writes")
        } else if self.reference.is_some() && repeats {
            Some("a reference knows the future of one replay only")
        } else {
            None
        }
    }
}

/// Policies by name, and the settings to compare them with.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Names of policies, or `oracle` and `oracle-order` for references that know the future.
    pub policies: Vec<String>,
    /// Numbers of clusters of haml; other policies take the first. Not empty.
    pub clusters: Vec<u32>,
    /// Numbers of slices of haml. Not empty.
    pub slices: Vec<u32>,
    /// Numbers of trainings of haml in the time of the load. Not empty.
    pub periods: Vec<f64>,
    /// Which write frontiers take the pages that collection moves. Not empty.
    pub moved: Vec<MovedPages>,
    /// Names of victim policies ([`Victims`]). All candidates are also measured with each of them
    /// but `greedy`, which every drive has anyway.
    pub victims: Vec<String>,
    /// Further ways of haml to add:
    ///
    /// - `no-wear-rules`: free blocks in order, and no exchange of worn blocks;
    /// - `log-scale`: logarithmic tables;
    /// - `no-interval`: clusters by update frequency alone;
    /// - `equal-memory`: as many slices as fit the memory that `asa-ftl` takes;
    /// - `readings`: counting pages or requests, with intervals since the slice's, the drive's or
    ///   the page's last update.
    pub ways: Vec<String>,
    /// Labels of candidates that all others are compared with ([`Study::beside`]); `none` need not
    /// be among the candidates.
    ///
    /// [`Study::beside`]: crate::Study::beside
    pub beside: Vec<String>,
}

impl Default for Candidates {
    /// Every policy with the settings of HAML-SSD: 6 clusters, 2,560 slices, a training every six
    /// hours of a week.
    fn default() -> Self {
        Self {
            policies: Self::names().map(str::to_owned).collect(),
            clusters: vec![6],
            slices: vec![2_560],
            periods: vec![28.0],
            moved: vec![MovedPages::Policy],
            victims: Vec::new(),
            ways: Vec::new(),
            beside: vec!["none".to_owned()],
        }
    }
}

/// A name that is no policy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{of} {name}: must be one of {}", legal.join(", "))]
pub struct UnknownName {
    /// What it should name: a placement `policy` or `victims`.
    pub of: &'static str,
    /// The name.
    pub name: String,
    /// All names that there are.
    pub legal: Vec<String>,
}

impl Candidates {
    /// The names of all policies, the references that know the future last.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let references = REFERENCES.iter().map(|&(name, _)| name);
        PlacementPolicy::ALL.iter().map(|policy| policy.name()).chain(references)
    }

    /// Every policy with every combination of the settings that it looks at.
    ///
    /// # Errors
    /// A name is no policy's.
    pub fn list(&self) -> Result<Vec<Candidate>, UnknownName> {
        let mut plain = Vec::new();
        for name in &self.policies {
            self.add(name, &mut plain)?;
        }
        let moving = |moved: MovedPages| {
            plain.iter().map(move |candidate| Candidate {
                label: match moved {
                    MovedPages::Policy => candidate.label.clone(),
                    other => format!("{}, moved {other}", candidate.label),
                },
                moved,
                ..candidate.clone()
            })
        };
        let mut all: Vec<Candidate> = self.moved.iter().copied().flat_map(moving).collect();
        let greedy = all.clone();
        for name in &self.victims {
            let victims = Victims::named(name)?;
            if victims.policy != GcPolicy::Greedy {
                all.extend(greedy.iter().map(|candidate| Candidate {
                    label: format!("{}, victims {name}", candidate.label),
                    victims: Some(victims.clone()),
                    ..candidate.clone()
                }));
            }
        }
        let is_known =
            |name: &&String| *name == "none" || all.iter().any(|one| one.label == **name);
        match self.beside.iter().find(|name| !is_known(name)) {
            Some(name) => Err(UnknownName {
                of: "beside",
                name: name.clone(),
                // Only what is measured can be compared with.
                legal: std::iter::once("none".to_owned())
                    .chain(greedy.iter().map(|one| one.label.clone()).filter(|own| own != "none"))
                    .collect(),
            }),
            None => Ok(all),
        }
    }

    fn add(&self, name: &str, all: &mut Vec<Candidate>) -> Result<(), UnknownName> {
        let reference = REFERENCES.iter().find(|&&(one, _)| one == name).map(|&(_, one)| one);
        let policy = match reference {
            Some(_) => Some(PlacementPolicy::Haml),
            None => PlacementPolicy::from_name(name),
        };
        let plain = Candidate {
            label: name.to_owned(),
            policy: policy.ok_or_else(|| UnknownName {
                of: "policy",
                name: name.to_owned(),
                legal: Self::names().map(str::to_owned).collect(),
            })?,
            victims: None,
            reference,
            moved: MovedPages::Policy,
            clusters: if reference.is_some() { DOUBLING_FRONTIERS } else { self.clusters[0] },
            slices: self.slices[0],
            equal_memory: false,
            periods: self.periods[0],
            count: UpdateUnit::Pages,
            interval_since: IntervalStart::Slice,
            scale: TableScale::Linear,
            interval: true,
            wear_rules: reference.is_none(),
        };
        if plain.policy == PlacementPolicy::Haml && reference.is_none() {
            return self.add_haml(&plain, all);
        }
        all.push(plain);
        Ok(())
    }

    fn add_haml(&self, plain: &Candidate, all: &mut Vec<Candidate>) -> Result<(), UnknownName> {
        let if_several = |count: usize, text: String| if count > 1 { text } else { String::new() };
        for &clusters in &self.clusters {
            for &slices in &self.slices {
                for &periods in &self.periods {
                    let label = [
                        plain.label.clone(),
                        if_several(self.clusters.len(), format!(" K={clusters}")),
                        if_several(self.slices.len(), format!(" {slices} slices")),
                        if_several(self.periods.len(), format!(" {periods} periods")),
                    ]
                    .concat();
                    all.push(Candidate { label, clusters, slices, periods, ..plain.clone() });
                }
            }
        }
        let named =
            |what: &str| Candidate { label: format!("{}, {what}", plain.label), ..plain.clone() };
        for way in &self.ways {
            match way.as_str() {
                "no-wear-rules" => {
                    all.push(Candidate { wear_rules: false, ..named("no wear rules") });
                }
                "log-scale" => {
                    all.push(Candidate { scale: TableScale::Log, ..named("log scale") });
                }
                "no-interval" => all.push(Candidate { interval: false, ..named("no interval") }),
                "equal-memory" => {
                    all.push(Candidate { equal_memory: true, ..named("memory of asa-ftl") });
                }
                "readings" => add_readings(plain, all),
                _ => {
                    let legal = WAYS.iter().copied().map(str::to_owned).collect();
                    let (of, name) = ("haml", way.clone());
                    return Err(UnknownName { of, name, legal });
                }
            }
        }
        Ok(())
    }
}

/// Adds haml by the other readings of its paper: what an update is, and since when intervals count.
fn add_readings(plain: &Candidate, all: &mut Vec<Candidate>) {
    for &count in UpdateUnit::ALL {
        for &interval_since in IntervalStart::ALL {
            if (count, interval_since) != (plain.count, plain.interval_since) {
                let label = format!("{}, {count} since {interval_since}", plain.label);
                all.push(Candidate { label, count, interval_since, ..plain.clone() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(candidates: &Candidates) -> Vec<String> {
        candidates.list().unwrap().into_iter().map(|candidate| candidate.label).collect()
    }

    #[test]
    fn every_policy_is_compared_once_unless_settings_are_asked_for() {
        let all = Candidates::default();
        let names: Vec<&str> = Candidates::names().collect();
        assert_eq!(labels(&all), names);
        assert_eq!(names.last(), Some(&"oracle-order"));
        let wrong = Candidates { policies: vec!["haml".into(), "lru".into()], ..all };
        let error = wrong.list().unwrap_err();
        assert!(error.to_string().starts_with("policy lru: must be one of none, "), "{error}");
    }

    #[test]
    fn victims_are_crossed_with_all_policies() {
        let candidates = Candidates {
            policies: vec!["none".into(), "dac".into()],
            victims: vec!["greedy".into(), "rga-64".into(), "cost-benefit".into()],
            ..Candidates::default()
        };
        let expected = [
            "none",
            "dac",
            "none, victims rga-64",
            "dac, victims rga-64",
            "none, victims cost-benefit",
            "dac, victims cost-benefit",
        ];
        assert_eq!(labels(&candidates), expected);
        let list = candidates.list().unwrap();
        assert_eq!(list[0].victims, None);
        let choices = |at: usize| list[at].victims.as_ref().map(|one| (one.policy, one.choices));
        assert_eq!(choices(3), Some((GcPolicy::Rga, 64)));
        assert_eq!(choices(5), Some((GcPolicy::CostBenefit, 0)));
        for name in ["rga-0", "rga-x", "oldest"] {
            let wrong = Candidates { victims: vec![name.into()], ..candidates.clone() };
            let error = wrong.list().unwrap_err().to_string();
            assert!(error.starts_with(&format!("victims {name}: must be one of greedy, ")));
        }
    }

    #[test]
    fn only_haml_is_varied_by_its_settings_and_all_by_where_moved_pages_go() {
        let candidates = Candidates {
            policies: vec!["sepbit".into(), "haml".into()],
            clusters: vec![4, 6],
            slices: vec![640, 2_560],
            ways: vec!["no-interval".into(), "readings".into()],
            moved: vec![MovedPages::Policy, MovedPages::WithHost],
            ..Candidates::default()
        };
        let plain = [
            "sepbit",
            "haml K=4 640 slices",
            "haml K=4 2560 slices",
            "haml K=6 640 slices",
            "haml K=6 2560 slices",
            "haml, no interval",
            "haml, pages since drive",
            "haml, pages since page",
            "haml, requests since slice",
            "haml, requests since drive",
            "haml, requests since page",
        ];
        let moved = plain.map(|label| format!("{label}, moved with-host"));
        assert_eq!(labels(&candidates), [plain.map(str::to_owned), moved].concat());
        let list = candidates.list().unwrap();
        assert!(!list[5].interval && list[5].clusters == 4 && list[4].interval);
        let wrong = Candidates { ways: vec!["no-slices".into()], ..candidates };
        let error = wrong.list().unwrap_err().to_string();
        assert!(error.starts_with("haml no-slices: must be one of no-wear-rules, "), "{error}");
        let wrong = Candidates { beside: vec!["haml K=5".into()], ..Candidates::default() };
        let error = wrong.list().unwrap_err().to_string();
        assert!(error.starts_with("beside haml K=5: must be one of none, "), "{error}");
        let few = Candidates { policies: vec!["none".into()], ..Candidates::default() };
        let wrong = Candidates { beside: vec!["haml".into()], ..few };
        let error = wrong.list().unwrap_err().to_string();
        assert_eq!(error, "beside haml: must be one of none", "it is not measured");
    }
}
