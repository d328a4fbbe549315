//! Where each value in the file of a drive is from: the words behind it.

use crate::fit::Fit;
use serde::Serialize;
use ssdtune_model::document::{Document, write_commented};
use ssdtune_model::{DeviceConfig, Provenance, catalogue};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// What is said of a value that nobody knows anything of.
const GUESS: &str = "guess";

/// What fitted runs of writes tell of a drive. What they do not tell is the base's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ToldByRuns {
    /// Its raw capacity, as runs of random writes tell it.
    pub raw_capacity: bool,
    /// What it writes beside the data, as sequential runs tell it.
    pub overhead: bool,
    /// The time of a program, as the throughput of any tells it.
    pub program_time: bool,
}

/// Where the values of a drive are from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origins {
    /// The words about parameters that are stated in any case.
    words: BTreeMap<&'static str, String>,
    /// The word about all others.
    other: String,
    /// What the base's file says of the real drive as a whole.
    facts: Vec<String>,
}

impl Origins {
    /// Those of a drive that was fitted from a base, apart from what was fitted. The file of the
    /// base may say from where it has its values.
    fn of_base(name: &str, drive: &DeviceConfig, base_text: Option<&str>) -> Self {
        let document = document(name, base_text);
        let mut words = BTreeMap::new();
        if let Some(document) = &document {
            let own = document.stated().keys().filter(|key| is_same(key, document, drive));
            let word =
                |key: &&'static str| (*key, document.comment(key).unwrap_or(GUESS).to_owned());
            words.extend(own.map(word));
        }
        let facts = document.map_or_else(Vec::new, |document| facts(document.text()));
        Self { words, other: GUESS.to_owned(), facts }
    }

    /// Those of a drive called `name` that was fitted to points.
    pub(super) fn of(fit: &Fit, name: &str, base: &DeviceConfig, base_text: Option<&str>) -> Self {
        let mut all = Self::of_base(name, &fit.drive, base_text);
        let changed = catalogue::parameters().filter(|row| row.get(base) != row.get(&fit.drive));
        let followed = changed.filter_map(|row| Some((row.key, follows(row.key)?.to_owned())));
        all.words.extend(followed);
        let structure = fit.structure.0.iter();
        all.words.extend(structure.map(|(key, _)| (*key, "fitted: structure".to_owned())));
        for value in fit.values.iter().filter(|value| value.rig.is_none()) {
            let word = match value.is_identified {
                Some(false) => "fitted; the points do not tell it",
                _ => "fitted",
            };
            all.words.insert(value.key, word.to_owned());
        }
        all
    }

    /// Those of a drive called `name` that was fitted to runs of writes, as far as they tell it.
    pub(crate) fn of_writes(
        name: &str,
        drive: &DeviceConfig,
        base_text: Option<&str>,
        told: ToldByRuns,
    ) -> Self {
        let mut all = Self::of_base(name, drive, base_text);
        let programs = catalogue::parameters()
            .filter(|row| told.program_time && row.key.starts_with("flash.page_program_latency_"));
        all.words.extend(programs.map(|row| (row.key, "fitted: the throughput".to_owned())));
        let capacity = ["mapping.overprovisioning", "flash.pages_per_block"];
        for key in capacity.into_iter().filter(|_| told.raw_capacity) {
            all.words.insert(key, "fitted: the raw capacity".to_owned());
        }
        all
    }

    /// Says of a row that it was fitted, and to what.
    pub(crate) fn fitted(mut self, key: &'static str, to: &str) -> Self {
        self.words.insert(key, format!("fitted: {to}"));
        self
    }

    /// Those of a drive with another number of dies than the calibrated one called `name`.
    pub(crate) fn derived(changed: &[&'static str], name: &str) -> Self {
        let words = changed.iter().map(|key| (*key, "by the capacity".to_owned()));
        Self { words: words.collect(), other: format!("as in {name}"), facts: Vec::new() }
    }

    /// What the base's file says of the real drive as a whole, as lines.
    pub(crate) fn facts(&self) -> &[String] {
        &self.facts
    }

    /// The rows of a drive's file: those of which something is said, and those with another value
    /// than the catalogue's default. What has no effect on the drive is left out.
    pub(super) fn rows(&self, config: &DeviceConfig) -> String {
        write_commented(config, |row| {
            let known = self.words.get(row.key).filter(|_| row.inert(config).is_none());
            let is_default = row.get(config) == row.default_value();
            (known.is_some() || !is_default).then(|| known.unwrap_or(&self.other).clone())
        })
    }
}

/// What the base's file says. What was fitted to another drive is a guess about this one.
fn document(name: &str, base_text: Option<&str>) -> Option<Document> {
    let document = base_text.and_then(|text| Document::parse(text).ok());
    document.filter(|document| document.provenance().is_none_or(|known| known.drive == name))
}

/// What is known of the drive called `name` from an earlier calibration, whose outcome is the base.
pub(crate) fn known_before(name: &str, base_text: Option<&str>) -> Option<Provenance> {
    document(name, base_text).and_then(|document| document.provenance().cloned())
}

/// Whether a drive has the value of a file.
fn is_same(key: &str, document: &Document, drive: &DeviceConfig) -> bool {
    catalogue::find(key).is_some_and(|row| row.get(document.config()) == row.get(drive))
}

/// From what a parameter follows that a fit has changed and that was not free.
fn follows(key: &str) -> Option<&'static str> {
    match key {
        "flash.blocks_per_plane" => Some("by the capacity"),
        "flash.dies_per_chip" => Some("dies go one to a chip"),
        "host.queue_depth" | "host.queue_fetch_size" => Some("deep enough for the points"),
        key if key.starts_with("flash.page_read_latency_") => {
            Some("between the first and the last page type")
        }
        _ => None,
    }
}

/// The sources that the header of a file names: lines like `# [D] The maker's data sheet`.
fn facts(text: &str) -> Vec<String> {
    let header = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    header.filter(|line| line.starts_with('[')).map(str::to_owned).collect()
}

/// The drive with the catalogue's default in every parameter that has no effect on it.
pub(crate) fn without_effectless(drive: &DeviceConfig) -> DeviceConfig {
    let mut made = drive.clone();
    for row in catalogue::parameters().filter(|row| row.inert(drive).is_some()) {
        let mut tried = made.clone();
        let is_set = row.set(&mut tried, row.default_value()).is_ok();
        if is_set && row.inert(&tried).is_some() && tried.check().is_ok() {
            made = tried;
        }
    }
    made
}

/// What a base is called, without folders of this machine.
pub(crate) fn without_path(name: &str) -> String {
    let path = Path::new(name);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    let file = path.file_name().filter(|_| !is_below);
    file.map_or_else(|| name.to_owned(), |file| file.to_string_lossy().into_owned())
}
