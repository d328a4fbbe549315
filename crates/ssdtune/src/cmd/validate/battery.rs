//! A battery as it lies on disk. Every file is untrusted: paths stay inside the folder, and what is wrong
//! is said with the file and the case.

use crate::pair::with_endings;
use serde::{Deserialize, Serialize};
use ssdtune_sim::Replay;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Larger than any battery: a case takes 5 KB, or 40 with its rows.
const MAX_BYTES: u64 = 256 << 20;

/// A battery that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum BatteryError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The list of cases is not what it should be.
    #[error("{}: {source}; a battery is a list of cases in JSON", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    /// The list is too long.
    #[error("{}: more than {MAX_BYTES} bytes: not a list of cases", path.display())]
    TooLong { path: PathBuf },
    /// Nothing to do.
    #[error("{}: no case in it", path.display())]
    Empty { path: PathBuf },
    /// Two cases of one name.
    #[error("{}: two cases are called {id}", path.display())]
    Twice { path: PathBuf, id: String },
    /// A case is wrong.
    #[error("{}: case {id}: {key} {value:?} {problem}", path.display())]
    Case { path: PathBuf, id: String, key: &'static str, value: String, problem: &'static str },
}

/// How near a case must come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tier {
    /// To the nanosecond.
    Exact,
    /// Within a few per cent.
    Tight,
    /// Within ten per cent, in what was written and moved.
    Loose,
    /// Only shown.
    Informative,
}

impl Tier {
    /// All, the strictest first.
    pub(crate) const ALL: [Self; 4] = [Self::Exact, Self::Tight, Self::Loose, Self::Informative];

    /// Its name in files.
    pub(crate) const fn name(self) -> &'static str {
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
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) group: String,
    pub(crate) tier: Tier,
    pub(crate) ssd: String,
    pub(crate) workload: String,
    pub(crate) traces: Vec<String>,
    pub(crate) replay: String,
    pub(crate) metrics: Metrics,
    /// The random configuration it belongs to, if it does.
    #[serde(default)]
    pub(crate) lhs: Option<serde_json::Value>,
}

impl Case {
    /// Whether `name` is its group or its own.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.group == name || self.id == name
    }

    /// When its requests are submitted; `None` if the text says nothing known.
    pub(crate) fn replay(&self) -> Option<Replay> {
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

/// The figures of one run, in the battery's own words and units.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Metrics {
    pub(crate) generated: u64,
    pub(crate) served: Split<u64>,
    pub(crate) bytes: Split<u64>,
    pub(crate) first_arrival_ns: Option<u64>,
    pub(crate) last_completion_ns: Option<u64>,
    pub(crate) sim_seconds: f64,
    pub(crate) iops: Split<f64>,
    #[serde(rename = "bandwidth_Bps")]
    pub(crate) bandwidth: Split<f64>,
    pub(crate) device_response_ns: Split<Latency>,
    pub(crate) end_to_end_ns: Split<Latency>,
    #[serde(default)]
    pub(crate) flash_cmds: FlashCmds,
    #[serde(default)]
    pub(crate) flash_pages: FlashPages,
    #[serde(default)]
    pub(crate) cmt: Cmt,
    #[serde(default)]
    pub(crate) gc: Gc,
    #[serde(default)]
    pub(crate) write_amplification: Option<f64>,
    /// `[arrival_ns, lba, sectors, op, device_response_ns, end_to_end_ns]`, in order of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requests: Option<Vec<[u64; 6]>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flows: Vec<FlowMetrics>,
}

/// A figure of all requests, of reads, of writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Split<T> {
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub(crate) all: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub(crate) write: Option<T>,
}

const fn none<T>() -> Option<T> {
    None
}

impl<T> Default for Split<T> {
    fn default() -> Self {
        Self { all: None, read: None, write: None }
    }
}

impl<T: Copy> Split<T> {
    /// The three with their names.
    pub(crate) fn parts(&self) -> [(&'static str, Option<T>); 3] {
        [("all", self.all), ("read", self.read), ("write", self.write)]
    }
}

/// Latencies; percentiles by nearest rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) mean: f64,
    pub(crate) min: u64,
    pub(crate) p50: u64,
    pub(crate) p95: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

macro_rules! counts {
    ($(#[$doc:meta])* $name:ident { $($field:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
        pub(crate) struct $name {
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub(crate) $field: Option<u64>,)+
        }

        impl $name {
            /// Each with its name.
            pub(crate) fn parts(&self) -> Vec<(&'static str, Option<u64>)> {
                vec![$((stringify!($field), self.$field),)+]
            }
        }
    };
}

counts!(
    /// Flash commands, not pages.
    FlashCmds {
        read,
        read_multiplane,
        program,
        program_multiplane,
        erase,
        erase_multiplane,
        suspend_program,
        suspend_erase,
        mapping_read,
        mapping_program,
    }
);

counts!(
    /// Pages read and programmed.
    FlashPages {
        read,
        program,
    }
);

counts!(
    /// The cached mapping table.
    Cmt {
        hits,
        misses_for_read,
        misses_for_write,
        misses_free,
    }
);

counts!(
    /// Garbage collection and wear levelling.
    Gc {
        executions,
        moved_pages,
        wl_executions,
    }
);

/// The figures of one flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FlowMetrics {
    pub(crate) flow: u32,
    pub(crate) served: Split<u64>,
    pub(crate) iops: Split<f64>,
    pub(crate) device_response_ns: Split<Latency>,
    pub(crate) end_to_end_ns: Split<Latency>,
}

/// A battery.
#[derive(Debug)]
pub(crate) struct Battery {
    directory: PathBuf,
    pub(crate) cases: Vec<Case>,
}

impl Battery {
    /// Reads the list of cases and checks what it says.
    pub(crate) fn open(directory: &Path) -> Result<Self, BatteryError> {
        let path = directory.join("cases.json");
        let unreadable = |source| BatteryError::Unreadable { path: path.clone(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
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

    /// A file of the battery.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A trace of the battery, compressed or not; `None` if it is absent.
    pub(crate) fn trace(&self, name: &str) -> Option<PathBuf> {
        let plain = name.strip_suffix(".xz").unwrap_or(name);
        with_endings(&self.file(plain)).find(|path| path.is_file())
    }
}

fn check(path: &Path, cases: &[Case]) -> Result<(), BatteryError> {
    let mut ids = std::collections::BTreeSet::new();
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
             \"workload\": \"workload/a.xml\", \"traces\": [\"{trace}\"], \"replay\": \"{replay}\", \
             \"metrics\": {{\"generated\": 1, \"served\": {{\"all\": 1}}, \"bytes\": {{}}, \
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
        assert!(battery.cases[0].is_called("g") && battery.cases[0].is_called("a"));
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
