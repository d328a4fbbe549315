//! A battery as it lies on disk: `cases.json` and the files it names.
//!
//! Every file is untrusted. Paths must stay inside the folder, and every error names the file and
//! the case.

use super::metrics::Metrics;
use crate::trace_files::existing;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use ssdtune_sim::Replay;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Longest `cases.json` that is read. A case takes 5 KB, or 40 with a row for each request.
const BYTES_MAX: u64 = 256 << 20;

/// Why a battery cannot be used.
#[derive(Debug, Error)]
pub enum BatteryError {
    /// The list of cases cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The list.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The list of cases is not JSON, or has other fields.
    #[error("{}: {source}; a battery is a list of cases in JSON", path.display())]
    Json {
        /// The list.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The list is too long.
    #[error("{}: more than {BYTES_MAX} bytes: not a list of cases", path.display())]
    TooLong {
        /// The list.
        path: PathBuf,
    },
    /// The list is empty.
    #[error("{}: no case in it", path.display())]
    Empty {
        /// The list.
        path: PathBuf,
    },
    /// Two cases have one name.
    #[error("{}: two cases are called {id}", path.display())]
    Twice {
        /// The list.
        path: PathBuf,
        /// The name.
        id: String,
    },
    /// A case has a field that cannot be used.
    #[error("{}: case {id}: {key} {value:?} {problem}", path.display())]
    Case {
        /// The list.
        path: PathBuf,
        /// The case.
        id: String,
        /// The field.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// A name that no case and no group of a battery has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("--only {name}: no such group or case; the groups are {}", groups.join(", "))]
pub struct UnknownCase {
    /// The name.
    pub name: String,
    /// The groups there are, sorted.
    pub groups: Vec<String>,
}

/// How closely the figures of a case must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// To the nanosecond.
    Exact,
    /// Within a few per cent, in latencies, rates and commands.
    Tight,
    /// Within ten per cent, in what was written and moved.
    Loose,
    /// Compared and shown, but not judged.
    Informative,
}

impl Tier {
    /// All tiers, the strictest first.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Tight, Self::Loose, Self::Informative];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Tight => "tight",
            Self::Loose => "loose",
            Self::Informative => "informative",
        }
    }
}

/// One case: what to run, and what MQSim measured.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// The case's name, unique in its battery.
    pub id: String,
    /// The group of cases that it belongs to.
    pub group: String,
    /// How closely its figures must agree.
    pub tier: Tier,
    /// The drive: an `ssdconfig.xml`, relative to the battery's folder.
    pub ssd: String,
    /// The flows: a `workload.xml`, relative to the battery's folder.
    pub workload: String,
    /// The requests of each flow, relative to the battery's folder.
    pub traces: Vec<String>,
    /// When requests are submitted: `open`, or `closed N`.
    pub replay: String,
    /// What MQSim measured.
    pub metrics: Metrics,
    /// Whether its drive was drawn at random, so that it takes part in the rank correlation.
    #[serde(default, rename = "lhs", deserialize_with = "is_present")]
    pub is_random: bool,
}

/// Whether a field is there and not null.
fn is_present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

impl Case {
    /// Whether `name` is the case's name or its group's.
    pub fn is_called(&self, name: &str) -> bool {
        self.group == name || self.id == name
    }

    /// When its requests are submitted; `None` if [`Case::replay`] has neither of the known forms.
    pub fn replay(&self) -> Option<Replay> {
        let mut words = self.replay.split_whitespace();
        match (words.next()?, words.next()) {
            ("open", None) => Some(Replay::Open),
            ("closed", Some(depth)) => {
                depth.parse().ok().filter(|depth| (1..=65_536).contains(depth)).map(Replay::Closed)
            }
            _ => None,
        }
    }
}

/// A folder of recorded cases.
#[derive(Debug)]
pub struct Battery {
    directory: PathBuf,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
}

impl Battery {
    /// Reads `cases.json` in a folder and checks what it says. No other file is opened.
    ///
    /// # Errors
    /// The list cannot be read, or a case in it is wrong.
    pub fn open(directory: &Path) -> Result<Self, BatteryError> {
        let path = directory.join("cases.json");
        let unreadable = |source| BatteryError::Unreadable { path: path.clone(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let mut text = Vec::new();
        file.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(BatteryError::TooLong { path });
        }
        let cases: Vec<Case> = serde_json::from_slice(&text)
            .map_err(|source| BatteryError::Json { path: path.clone(), source })?;
        if cases.is_empty() {
            return Err(BatteryError::Empty { path });
        }
        check(&path, &cases)?;
        Ok(Self { directory: directory.to_path_buf(), cases })
    }

    /// The cases that have one of these names, or whose group has one; without names, all cases.
    ///
    /// # Errors
    /// No case and no group has one of the names.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Case>, UnknownCase> {
        for name in names {
            if !self.cases.iter().any(|case| case.is_called(name)) {
                let groups: BTreeSet<&String> = self.cases.iter().map(|case| &case.group).collect();
                let groups = groups.into_iter().cloned().collect();
                return Err(UnknownCase { name: name.clone(), groups });
            }
        }
        let wanted =
            |case: &&Case| names.is_empty() || names.iter().any(|name| case.is_called(name));
        Ok(self.cases.iter().filter(wanted).collect())
    }

    /// The path of a file that a case names.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The path of a trace that a case names, compressed or not; `None` if it is absent.
    pub fn trace(&self, name: &str) -> Option<PathBuf> {
        let plain = name.strip_suffix(".xz").unwrap_or(name);
        existing(&self.file(plain))
    }
}

fn check(path: &Path, cases: &[Case]) -> Result<(), BatteryError> {
    let mut ids = BTreeSet::new();
    for case in cases {
        let wrong = |key, value: &str, problem| BatteryError::Case {
            path: path.to_path_buf(),
            id: case.id.clone(),
            key,
            value: value.to_owned(),
            problem,
        };
        if !ids.insert(&case.id) {
            return Err(BatteryError::Twice { path: path.to_path_buf(), id: case.id.clone() });
        }
        if case.replay().is_none() {
            return Err(wrong("replay", &case.replay, "is neither open nor closed N"));
        }
        if case.traces.is_empty() {
            return Err(wrong("traces", "", "is empty: name one for each flow"));
        }
        let traces = case.traces.iter().map(|trace| ("traces", trace));
        for (key, value) in traces.chain([("ssd", &case.ssd), ("workload", &case.workload)]) {
            if !stays_inside(value) {
                return Err(wrong(key, value, "leaves the folder of the battery"));
            }
        }
    }
    Ok(())
}

/// Whether a path cannot lead out of the folder it is relative to.
fn stays_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn battery(text: &str) -> Result<Battery, BatteryError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cases.json"), text).unwrap();
        Battery::open(directory.path())
    }

    fn case(replay: &str, trace: &str, tier: &str) -> String {
        let latencies = "{\"all\": {\"mean\": 1.0, \"min\": 1, \"p50\": 1, \"p95\": 1, \"p99\": 1, \
                         \"p999\": 1, \"max\": 1}}";
        format!(
            "{{\"id\": \"a\", \"group\": \"g\", \"tier\": \"{tier}\", \"ssd\": \"ssd/a.xml\", \
             \"workload\": \"workload/a.xml\", \"traces\": [\"{trace}\"], \
             \"replay\": \"{replay}\", \"metrics\": {{\"generated\": 1, \
             \"served\": {{\"all\": 1}}, \"bytes\": {{}}, \
             \"sim_seconds\": 1.0, \"iops\": {{}}, \"bandwidth_Bps\": {{}}, \
             \"device_response_ns\": {latencies}, \"end_to_end_ns\": {latencies}}}}}"
        )
    }

    #[test]
    fn a_sound_list_is_read() {
        let one = case("closed 8 per flow", "traces/a.trace.xz", "loose");
        let battery = battery(&format!("[{one}]")).unwrap();
        assert_eq!(battery.cases[0].replay(), Some(Replay::Closed(8)));
        assert_eq!(battery.cases[0].tier, Tier::Loose);
        let selected = |name: &str| battery.select(&[name.to_owned()]).map(|cases| cases.len());
        assert_eq!(
            (selected("g"), selected("a"), battery.select(&[]).unwrap().len()),
            (Ok(1), Ok(1), 1)
        );
        let groups = vec!["g".to_owned()];
        assert_eq!(selected("b"), Err(UnknownCase { name: "b".to_owned(), groups }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = case("open", "t", "exact");
        for (text, says) in [
            ("[]".to_owned(), "no case"),
            ("{}".to_owned(), "a list of cases"),
            (format!("[{good},{good}]"), "two cases are called a"),
            (format!("[{}]", case("closed", "t", "exact")), "neither open nor closed"),
            (format!("[{}]", case("closed 0", "t", "exact")), "neither open nor closed"),
            (format!("[{}]", case("open", "/etc/passwd", "exact")), "leaves the folder"),
            (format!("[{}]", case("open", "../../x", "exact")), "leaves the folder"),
            (format!("[{}]", case("open", "t", "hard")), "unknown variant `hard`"),
        ] {
            let error = battery(&text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
