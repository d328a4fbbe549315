//! The file of a calibrated drive: its configuration below a header that says how far it is to be
//! trusted.

use super::origin::Origins;
use super::{Calibration, Collapse, MeanErrors, TestedRange};
use crate::fit::{FittedValue, WRITTEN};
use crate::point::{Direction, Point};
use ssdtune_model::{DeviceConfig, Provenance, TestedLoad, fingerprint};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is said of a fit without points that test it.
pub(super) const NOTHING_TESTS: &str = "Nothing was held out, so that nothing tests this fit.";

/// What a header says of all that it does not name.
pub(crate) const REST_IS_A_GUESS: &str =
    "Everything else is a guess: the base's, or the catalogue's default.";

/// Columns of a line of the header.
const COLUMNS: usize = 100;

impl Calibration {
    /// The errors of all families together.
    fn whole(&self, is_held_out: bool) -> Option<&MeanErrors> {
        self.errors.iter().find(|one| one.family.is_none() && one.is_held_out == is_held_out)
    }

    /// How far the drive is off, where nothing was fitted if that is known.
    pub(super) fn headline(&self) -> String {
        match (self.whole(true), self.whole(false)) {
            (Some(unseen), _) => format!(
                "Mean absolute errors of the simulated drive where the fit did not see the \
                 measurement (points: {}): {}.",
                unseen.points,
                in_words(unseen)
            ),
            (None, Some(fitted)) => format!(
                "Mean absolute errors of the simulated drive where it was fitted (points: {}): {}. \
                 {NOTHING_TESTS}",
                fitted.points,
                in_words(fitted)
            ),
            (None, None) => NOTHING_TESTS.to_owned(),
        }
    }

    /// The lines of the header, without the sign of a comment.
    pub fn header(&self) -> Vec<String> {
        let Self { drive, base, made_by, hold_out, tested, .. } = self;
        let sources = self.sources();
        // Lists of drives show the first line alone.
        let mut lines =
            vec![format!("{drive}, calibrated by {made_by}."), format!("Base: {base}.")];
        lines.extend_from_slice(self.origins.facts());
        lines.push(format!(
            "Points: {} fitted, {} held out ({hold_out}), {} refused; sources: {}.",
            self.fitted.len(),
            self.held_out.len(),
            self.refused.len(),
            sources.join(", ")
        ));
        for (name, errors) in [("fitted", self.whole(false)), ("held out", self.whole(true))] {
            if let Some(errors) = errors {
                lines.push(format!("Mean absolute errors, {name}: {}.", in_words(errors)));
            }
        }
        if self.held_out.is_empty() {
            lines.push(NOTHING_TESTS.to_owned());
        }
        lines.extend(self.collapses.iter().map(Collapse::words));
        lines.push(format!("Tested range: {tested}. Outside of it nothing is known."));
        lines.push(format!("Structure: {}.", self.structure));
        let equal = self.structures.iter().skip(1).filter(|rival| rival.is_equal);
        let equal: Vec<&str> = equal.map(|rival| rival.structure.as_str()).collect();
        if !equal.is_empty() {
            const NAMED: usize = 4;
            let (named, rest) = equal.split_at(equal.len().min(NAMED));
            let more =
                if rest.is_empty() { String::new() } else { format!("; {} others", rest.len()) };
            lines.push(format!("Structures that fit as well: {}{more}.", named.join("; ")));
        }
        let keys = |is_told: Option<bool>| {
            let own = self.values.iter().filter(|one| one.is_identified == is_told);
            own.map(FittedValue::name).collect::<Vec<String>>().join(", ")
        };
        for (name, keys) in [
            ("Parameters that the points tell", keys(Some(true))),
            ("Fitted, but not told by the points", keys(Some(false))),
            ("Fitted, and nobody asked whether the points tell them", keys(None)),
        ] {
            if !keys.is_empty() {
                lines.push(format!("{name}: {keys}."));
            }
        }
        let is_elsewhere = |value: &&FittedValue| value.rig.is_some() || value.key == WRITTEN;
        for value in self.values.iter().filter(is_elsewhere) {
            lines.push(format!("Not in this file: {} = {}.", value.name(), value.value));
        }
        lines.push(REST_IS_A_GUESS.to_owned());
        lines
    }

    /// Who measured the points.
    fn sources(&self) -> Vec<String> {
        let all = self.fitted.iter().chain(&self.held_out);
        let sources: BTreeSet<String> = all.map(|one| one.point.source.clone()).collect();
        sources.into_iter().collect()
    }

    /// What the drive's file says for programs.
    pub fn provenance(&self) -> Provenance {
        let held_out = self.errors.iter().find(|one| one.family.is_none() && one.is_held_out);
        let errors = held_out.into_iter().flat_map(named).filter_map(|(name, error)| {
            // Two digits are more than the points are worth.
            Some((name.to_owned(), (error? * 100.0).round() / 100.0))
        });
        Provenance {
            drive: name(&self.drive),
            made_by: name(&self.made_by),
            base: name(&self.base),
            sources: self.sources().iter().map(|source| name(source)).collect(),
            points_fitted: self.fitted.len() as u32,
            points_held_out: self.held_out.len() as u32,
            derived: None,
            fingerprint: Some(fingerprint(&self.config)),
            errors_held_out_percent: errors.collect(),
            tested: tested_loads(self.fitted.iter().chain(&self.held_out).map(|one| &one.point)),
        }
    }

    /// The text of the file.
    pub fn drive_file(&self) -> String {
        text(&self.header(), &self.config, &self.origins, &self.provenance())
    }
}

/// The text of a drive's file: a header of comments, the configuration with words about where each
/// value is from, and what programs are to know of the drive's origin.
pub(crate) fn text(
    header: &[String],
    config: &DeviceConfig,
    origins: &Origins,
    provenance: &Provenance,
) -> String {
    let header: String = header.iter().map(|text| wrapped(&line(text))).collect();
    format!("{header}{}\n{}", origins.rows(config), provenance.to_toml())
}

/// A text as comments that are not too long, unless a word is.
fn wrapped(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 1 && last + 1 + word.chars().count() > COLUMNS {
            lines.push("#".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// A text as one line: what files of points say may hold line feeds.
fn line(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}

/// A name as the table of a file may hold it: a line that is not too long.
fn name(text: &str) -> String {
    line(text).chars().take(Provenance::NAME_MAX).collect()
}

/// The loads of points, put together by direction, order and whether others ran beside them.
fn tested_loads<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<TestedLoad> {
    let mut loads: BTreeMap<(Direction, bool, bool), TestedLoad> = BTreeMap::new();
    for point in points {
        let Point { operation, read_percent, block_bytes, offered, .. } = point;
        let key = (operation.direction(), operation.is_sequential(), operation.is_mixed());
        let own = TestedLoad {
            direction: key.0,
            sequential: key.1,
            read_percent: [*read_percent; 2],
            block_bytes: [*block_bytes; 2],
            outstanding: point.outstanding().map(|count| [count; 2]),
            offered_iops: offered.filter(|_| operation.is_paced()).map(|rate| [rate.0; 2]),
        };
        let load = loads.entry(key).or_insert_with(|| own.clone());
        load.read_percent = both(load.read_percent, own.read_percent);
        load.block_bytes = both(load.block_bytes, own.block_bytes);
        load.outstanding = known(load.outstanding, own.outstanding);
        load.offered_iops = known(load.offered_iops, own.offered_iops);
    }
    loads.into_values().collect()
}

/// The smallest range that holds two.
fn both<T: PartialOrd>([low, high]: [T; 2], [first, last]: [T; 2]) -> [T; 2] {
    [if first < low { first } else { low }, if last > high { last } else { high }]
}

/// The smallest range that holds those that are known.
fn known<T: PartialOrd>(one: Option<[T; 2]>, other: Option<[T; 2]>) -> Option<[T; 2]> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

/// Errors by the names of their figures.
fn named(errors: &MeanErrors) -> [(&'static str, Option<f64>); 5] {
    [
        ("mean", errors.mean),
        ("p50", errors.p50),
        ("p99", errors.p99),
        ("p99.9", errors.p999),
        ("IOPS", errors.iops),
    ]
}

/// Errors as words.
fn in_words(errors: &MeanErrors) -> String {
    let known = named(errors).into_iter().filter_map(|(name, error)| Some((name, error?)));
    known.map(|(name, error)| format!("{name} {error:.1} %")).collect::<Vec<String>>().join(", ")
}

impl fmt::Display for TestedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, block_bytes: (small, large), outstanding, offered_iops } = self;
        write!(f, "{} of {small}", operations.join(", "))?;
        if large > small {
            write!(f, " to {large}")?;
        }
        write!(f, " B")?;
        if let Some((fewest, most)) = outstanding {
            write!(f, ", {fewest}")?;
            if most > fewest {
                write!(f, " to {most}")?;
            }
            write!(f, " outstanding")?;
        }
        if let Some((least, most)) = offered_iops {
            write!(f, ", {least}")?;
            if most > least {
                write!(f, " to {most}")?;
            }
            write!(f, " requests/s offered")?;
        }
        Ok(())
    }
}
