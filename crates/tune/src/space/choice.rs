//! Settings that are to be had only together: a choice of one alternative, each of which sets the
//! same parameters.
//!
//! A flash part is such an alternative. Its cell type, times, geometry and rated cycles come from
//! one data sheet, and no part has the times of one and the size of another. An alternative may
//! also say how much of something else it allows: a part has a fastest interface rate.

use super::number;
use ssdtune_model::DeviceConfig;
use ssdtune_model::catalogue::{self, Parameter, Value};
use std::fmt;

/// The parameter that says of which type the cells of a part are.
const CELL: &str = "flash.technology";

/// Alternatives of which a drive has one.
#[derive(Clone, Debug)]
pub struct Choice {
    key: String,
    alternatives: Vec<Alternative>,
}

/// What the name of the alternative that is the baseline's own begins with; then comes its drive.
pub(crate) const AS_IN: &str = "as in ";

/// Settings that go together.
#[derive(Clone)]
pub struct Alternative {
    pub(super) name: String,
    pub(super) says: String,
    pub(super) source: String,
    pub(super) guessed: Vec<&'static str>,
    pub(super) settings: Vec<(&'static Parameter, Value)>,
    pub(super) at_most: Vec<(&'static Parameter, f64)>,
}

impl fmt::Debug for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings.iter().map(|(row, value)| format!("{} = {value}", row.key));
        write!(f, "{} {{ {} }}", self.name, settings.collect::<Vec<_>>().join(", "))
    }
}

impl Alternative {
    /// The name by which it is chosen.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a few words; empty if its file does not say.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// Where its figures come from; empty if its file does not say.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The keys of those of its figures that no public source tells.
    pub fn guessed(&self) -> &[&'static str] {
        &self.guessed
    }

    /// Its settings: parameters of the catalogue and their values.
    pub fn settings(&self) -> &[(&'static Parameter, Value)] {
        &self.settings
    }

    /// The greatest values that it allows of other parameters.
    pub fn at_most(&self) -> &[(&'static Parameter, f64)] {
        &self.at_most
    }

    /// A drive with these settings. It may break limits.
    pub fn on(&self, config: &DeviceConfig) -> DeviceConfig {
        let mut other = config.clone();
        self.set(&mut other);
        other
    }

    pub(super) fn value_of(&self, key: &str) -> Option<Value> {
        self.settings.iter().find(|(row, _)| row.key == key).map(|(_, value)| *value)
    }

    pub(super) fn set(&self, config: &mut DeviceConfig) {
        for (row, value) in &self.settings {
            row.set(config, *value).expect("values of an alternative are legal");
        }
    }

    /// Whether a drive has all of its settings.
    fn is_in(&self, config: &DeviceConfig) -> bool {
        self.settings.iter().all(|(row, value)| row.get(config) == *value)
    }

    /// The first limit that a drive with these settings breaks.
    pub(super) fn broken_by(&self, config: &DeviceConfig) -> Option<(&'static Parameter, f64)> {
        self.at_most.iter().copied().find(|(row, most)| number(row.get(config)) > *most)
    }
}

impl Choice {
    pub(super) fn new(key: &str, alternatives: Vec<Alternative>) -> Self {
        Self { key: key.to_owned(), alternatives }
    }

    /// The name of the choice.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What there is to choose from.
    pub fn alternatives(&self) -> &[Alternative] {
        &self.alternatives
    }

    /// The keys that every alternative of the same cell type sets, and this one does not. If there
    /// is none of its type, all alternatives count.
    pub(super) fn missing_of(&self, one: &Alternative) -> Vec<&'static str> {
        let cell = |own: &Alternative| own.value_of(CELL);
        let alike = |own: &&Alternative| cell(own) == cell(one);
        let like: Vec<&Alternative> = match self.alternatives.iter().any(|own| alike(&own)) {
            true => self.alternatives.iter().filter(alike).collect(),
            false => self.alternatives.iter().collect(),
        };
        let Some((first, rest)) = like.split_first() else { return Vec::new() };
        let all_set = |key: &str| rest.iter().all(|own| own.value_of(key).is_some());
        let keys = first.settings.iter().map(|(row, _)| row.key);
        keys.filter(|key| all_set(key) && one.value_of(key).is_none()).collect()
    }

    /// Adds alternatives. One that has the name of another takes its place.
    pub(super) fn extend(&mut self, more: Vec<Alternative>) {
        for one in more {
            match self.alternatives.iter_mut().find(|own| own.name == one.name) {
                Some(own) => *own = one,
                None => self.alternatives.push(one),
            }
        }
    }

    pub(super) fn sets(&self, key: &str) -> bool {
        self.alternatives.iter().any(|one| one.value_of(key).is_some())
    }

    pub(super) fn rank_in(&self, config: &DeviceConfig) -> Option<usize> {
        self.alternatives.iter().position(|one| one.is_in(config))
    }

    /// Whether no setting has an effect in such a drive.
    pub(super) fn is_inert(&self, config: &DeviceConfig) -> bool {
        let mut rows = self.alternatives.iter().flat_map(|one| &one.settings);
        rows.all(|(row, _)| row.inert(config).is_some())
    }

    /// The choice with the settings of a baseline as one alternative, which comes first if it is
    /// none of the others. What an alternative does not set is as in the baseline, so that all set
    /// the same parameters. Of what the others limit, the baseline's own alternative allows as much
    /// as the baseline has: more is not known of it. It never allows less, whatever its file says.
    pub(super) fn around(&self, base: &DeviceConfig) -> Self {
        let set = rows(self.alternatives.iter().flat_map(|one| &one.settings));
        let limited = rows(self.alternatives.iter().flat_map(|one| &one.at_most));
        let complete = |one: &Alternative| {
            let settings = set.iter().map(|row| {
                let own = one.value_of(row.key);
                (*row, own.unwrap_or_else(|| row.get(base)))
            });
            Alternative { settings: settings.collect(), ..one.clone() }
        };
        let mut alternatives: Vec<Alternative> = self.alternatives.iter().map(complete).collect();
        if let Some(rank) = alternatives.iter().position(|one| one.is_in(base)) {
            for (row, most) in &mut alternatives[rank].at_most {
                *most = most.max(number(row.get(base)));
            }
        } else {
            let own = Alternative {
                name: format!("{AS_IN}{}", base.name),
                says: "what the baseline has".to_owned(),
                source: String::new(),
                guessed: Vec::new(),
                settings: set.iter().map(|row| (*row, row.get(base))).collect(),
                at_most: limited.iter().map(|row| (*row, number(row.get(base)))).collect(),
            };
            alternatives.insert(0, own);
        }
        Self { key: self.key.clone(), alternatives }
    }
}

/// The rows of pairs, each once, in the order of the catalogue.
fn rows<'a, T: 'a>(
    pairs: impl Iterator<Item = &'a (&'static Parameter, T)>,
) -> Vec<&'static Parameter> {
    let keys: Vec<&str> = pairs.map(|(row, _)| row.key).collect();
    catalogue::parameters().filter(|row| keys.contains(&row.key)).collect()
}
