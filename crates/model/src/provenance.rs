//! What the file of a calibrated drive says of the real drive that it was fitted to: the table
//! `[calibration]`.
//!
//! It is no part of a [`crate::DeviceConfig`]: it changes no result, no key and no digest. Readers
//! of files hand it out beside the configuration, so that tools can say when a drive is used
//! outside of what it was tested at.
//!
//! ```toml
//! [calibration]
//! drive = "Samsung 980 PRO 1TB"
//! made_by = "ssdtune 0.1.0"
//! base = "intel-750"
//! sources = ["rig"]
//! points_fitted = 6
//! points_held_out = 4
//! fingerprint = "b6d81b360a5672d8"     # of the configuration that was tested
//! errors_held_out_percent = { iops = 1.2, mean = 1.1, p99 = 6.8 }
//!
//! [[calibration.tested]]
//! direction = "read"
//! sequential = false
//! read_percent = [100.0, 100.0]        # reads among all requests
//! block_bytes = [4096, 16384]
//! outstanding = [1, 128]               # in a closed loop
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether two programs give the same results, each named as in `ssdtune 0.2.0, results 2`: what
/// counts is the version of the results, not that of the program.
pub fn have_same_results(one: &str, other: &str) -> bool {
    let parts = |program: &str| {
        let (name, rest) = program.split_once(' ')?;
        let (_, results) = rest.split_once(", ")?;
        Some((name.to_owned(), results.to_owned()))
    };
    one == other || parts(one).is_some_and(|own| parts(other) == Some(own))
}

/// Most loads that one table lists.
const LOADS_MAX: usize = 100;

/// Whether data come from the drive or go to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// Loads of one kind at which a drive was tested. Ranges hold their ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestedLoad {
    /// Whose figures were compared: those of reads or of writes.
    pub direction: Direction,
    /// Whether the requests lay one behind the other; at random places otherwise.
    pub sequential: bool,
    /// Reads among all requests, in percent: 100 for reads alone, 0 for writes alone.
    pub read_percent: [f64; 2],
    /// Sizes of requests.
    pub block_bytes: [u32; 2],
    /// Requests outstanding in closed loops; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<[u32; 2]>,
    /// Requests that arrived in a second at times of their own; `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<[f64; 2]>,
}

impl TestedLoad {
    /// Whether requests of the other direction ran beside those that were compared.
    pub fn is_mixed(&self) -> bool {
        let alone = match self.direction {
            Direction::Read => 100.0,
            Direction::Write => 0.0,
        };
        self.read_percent != [alone; 2]
    }
}

/// Where a calibrated drive comes from, and how far it is to be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The real drive.
    pub drive: String,
    /// Who calibrated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub made_by: String,
    /// What the fit began with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Who measured the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Points that were fitted.
    #[serde(default)]
    pub points_fitted: u32,
    /// Points that tested the fit.
    #[serde(default)]
    pub points_held_out: u32,
    /// Of a drive that was made from a calibrated one: from which, and by what. Such a drive was
    /// never tested itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// [`crate::fingerprint()`] of the configuration; without it nobody notices that the file was
    /// changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Mean absolute errors at the points that tested the fit, in percent, by the name of the
    /// figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_held_out_percent: BTreeMap<String, f64>,
    /// The loads at which the drive was tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<TestedLoad>,
}

/// The table as it stands in a file.
#[derive(Serialize)]
struct Whole<'a> {
    calibration: &'a Provenance,
}

impl Provenance {
    /// The longest text that a table may hold, in characters.
    pub const NAME_MAX: usize = 200;

    /// The table as text, for the end of a drive's file.
    pub fn to_toml(&self) -> String {
        // Strings, numbers and lists of them can always be written.
        toml::to_string(&Whole { calibration: self }).unwrap_or_default()
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let names = [&self.drive, &self.made_by, &self.base].into_iter().chain(&self.sources);
        let mut names = names.chain(&self.derived).chain(self.errors_held_out_percent.keys());
        let wrong = |name: &str| {
            name.chars().any(char::is_control) || name.chars().nth(Self::NAME_MAX).is_some()
        };
        if self.drive.trim().is_empty() {
            return Some("drive must name the real drive".to_owned());
        }
        if names.any(|name| wrong(name)) {
            return Some(format!(
                "texts are single lines of at most {} characters",
                Self::NAME_MAX
            ));
        }
        if self.tested.len() > LOADS_MAX {
            return Some(format!("at most {LOADS_MAX} tables of tested loads"));
        }
        let errors = self.errors_held_out_percent.values();
        if errors.into_iter().any(|error| !(error.is_finite() && *error >= 0.0)) {
            return Some("errors_held_out_percent: numbers from 0 on".to_owned());
        }
        self.tested.iter().find_map(|load| {
            let is_range = |[low, high]: [f64; 2], least: f64, most: f64| {
                low >= least && low <= high && high <= most
            };
            let whole = |[low, high]: [u32; 2]| is_range([low.into(), high.into()], 1.0, 1e10);
            let ranges = [
                ("read_percent: from 0 to 100", is_range(load.read_percent, 0.0, 100.0)),
                ("block_bytes: from 1 on", whole(load.block_bytes)),
                ("outstanding: from 1 on", load.outstanding.is_none_or(whole)),
                (
                    "offered_iops: above 0",
                    load.offered_iops.is_none_or(|range| is_range(range, 1e-9, 1e12)),
                ),
            ];
            let wrong = ranges.into_iter().find(|(_, is_right)| !is_right);
            wrong.map(|(rule, _)| format!("tested.{rule}, the lower end first"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_results_counts_and_not_that_of_the_program() {
        let same = |other| have_same_results("ssdtune 0.1.0, results 2", other);
        assert!(same("ssdtune 0.1.0, results 2") && same("ssdtune 0.2.0, results 2"));
        assert!(!same("ssdtune 0.1.0, results 3") && !same("other 0.1.0, results 2"));
        assert!(!same("test") && have_same_results("test", "test"));
    }
    use crate::config::DeviceConfig;
    use crate::document::{self, Document, fingerprint};
    use crate::source::Calibrated;

    fn provenance() -> Provenance {
        Provenance {
            drive: "A \"drive\" 1TB".to_owned(),
            sources: vec!["rig".to_owned()],
            points_fitted: 3,
            errors_held_out_percent: BTreeMap::from([("mean".to_owned(), 1.5)]),
            fingerprint: Some(fingerprint(&DeviceConfig::default())),
            tested: vec![TestedLoad {
                direction: Direction::Read,
                sequential: false,
                read_percent: [100.0, 100.0],
                block_bytes: [4096, 16_384],
                outstanding: Some([1, 32]),
                offered_iops: None,
            }],
            ..Provenance::default()
        }
    }

    #[test]
    fn the_table_is_read_as_it_was_written_and_changes_nothing_else() {
        let config = DeviceConfig::default();
        let plain = document::write(&config);
        let text = format!("{plain}\n{}", provenance().to_toml());
        let read = Document::parse(&text).unwrap();
        assert_eq!(read.provenance(), Some(&provenance()));
        let without = Document::parse(&plain).unwrap();
        assert_eq!(without.provenance(), None);
        assert_eq!(read.config(), without.config());
        assert_eq!(read.stated(), without.stated());
        for form in [document::canonical, document::identity, document::write] {
            assert_eq!(form(read.config()), form(&config));
        }
    }

    #[test]
    fn what_a_table_cannot_say_is_a_fault_with_its_line() {
        let table = provenance().to_toml();
        for (from, to, said) in [
            ("points_fitted = 3", "points_fited = 3", "line 4: calibration: unknown field"),
            ("\"read\"", "\"trim\"", "unknown variant `trim`"),
            ("[1, 32]", "[32, 1]", "line 1: calibration: tested.outstanding: from 1 on, the lower"),
            ("[4096, 16384]", "[0, 16384]", "tested.block_bytes"),
            ("[100.0, 100.0]", "[100.0, 101.0]", "tested.read_percent"),
            ("mean = 1.5", "mean = -1.5", "errors_held_out_percent"),
            ("[\"rig\"]", "[\"r\\u001big\"]", "single lines"),
            ("drive = ", "drive = \"\" # ", "must name the real drive"),
        ] {
            let text = table.replacen(from, to, 1);
            assert_ne!(text, table, "{from}");
            let faults = Document::parse(&text).unwrap_err().to_string();
            assert!(faults.contains(said), "{said}\n{faults}");
        }
        assert!(Document::parse("calibration = 3").unwrap_err().to_string().contains("a table"));
    }

    #[test]
    fn changes_are_noticed_except_those_of_the_run() {
        let config = DeviceConfig::default();
        let calibrated = Calibrated { provenance: provenance(), config: config.clone() };
        assert!(!calibrated.is_edited());
        let mut used = config.clone();
        used.run.seed += 1;
        used.name.push('x');
        used.energy.dram_read_nj_per_byte *= 2.0;
        assert_eq!(calibrated.changed(&used), Vec::<&str>::new());
        assert_eq!(fingerprint(&used), fingerprint(&config));
        used.bus.channels += 1;
        assert_eq!(calibrated.changed(&used), ["bus.channels"]);
        assert!(Calibrated { config: used, ..calibrated }.is_edited());
    }
}
