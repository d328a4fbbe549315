//! The file of a calibrated drive: its configuration below a header that says how far it is to be
//! trusted.

use super::{Calibration, MeanErrors, TestedRange};
use ssdtune_model::document;
use std::collections::BTreeSet;
use std::fmt;

impl Calibration {
    /// The lines of the header, without the sign of a comment.
    pub fn header(&self) -> Vec<String> {
        let Self { drive, base, made_by, hold_out, errors, tested, .. } = self;
        let all = self.fitted.iter().chain(&self.held_out);
        let sources: BTreeSet<&str> = all.map(|one| one.point.source.as_str()).collect();
        let sources: Vec<&str> = sources.into_iter().collect();
        let whole = |is_held_out: bool| {
            errors.iter().find(|one| one.family.is_none() && one.is_held_out == is_held_out)
        };
        let mut lines = vec![
            format!("{drive}, calibrated by {made_by} from the base {base}."),
            format!(
                "Points: {} fitted, {} held out ({hold_out}), {} refused; sources: {}.",
                self.fitted.len(),
                self.held_out.len(),
                self.refused.len(),
                sources.join(", ")
            ),
        ];
        for (name, errors) in [("fitted", whole(false)), ("held out", whole(true))] {
            if let Some(errors) = errors {
                lines.push(format!("Mean absolute errors, {name}: {}.", in_words(errors)));
            }
        }
        lines.push(format!("Tested range: {tested}. Outside of it nothing is known."));
        lines.push(format!("Structure: {}.", self.structure));
        let equal = self.structures.iter().skip(1).filter(|rival| rival.is_equal);
        let equal: Vec<&str> = equal.map(|rival| rival.structure.as_str()).collect();
        if !equal.is_empty() {
            lines.push(format!("Structures that fit as well: {}.", equal.join("; ")));
        }
        let keys = |is_told: Option<bool>| {
            let own = self.values.iter().filter(|one| one.is_identified == is_told);
            own.map(|value| value.key).collect::<Vec<&str>>().join(", ")
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
        lines
            .push("Everything else is a guess: the base's, or the catalogue's default.".to_owned());
        lines
    }

    /// The text of the file.
    pub fn drive_file(&self) -> String {
        // What files of points say may hold line feeds.
        let comment = |line: String| {
            let line = line.replace(|letter: char| letter.is_control(), " ");
            format!("# {line}\n")
        };
        let header: String = self.header().into_iter().map(comment).collect();
        header + &document::write(&self.config)
    }
}

/// Errors as words.
fn in_words(errors: &MeanErrors) -> String {
    let all = [
        ("mean", errors.mean),
        ("p50", errors.p50),
        ("p99", errors.p99),
        ("p99.9", errors.p999),
        ("IOPS", errors.iops),
    ];
    let known = all.into_iter().filter_map(|(name, error)| Some((name, error?)));
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
            write!(f, ", {fewest} to {most} outstanding")?;
        }
        if let Some((least, most)) = offered_iops {
            write!(f, ", {least} to {most} requests/s offered")?;
        }
        Ok(())
    }
}
