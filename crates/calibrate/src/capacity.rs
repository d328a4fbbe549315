//! Another capacity of a calibrated drive, by its number of dies alone.
//!
//! Channels, the controller and everything in a die stay as they were fitted: makers build the
//! sizes of a model so. The drive that comes out was not tested at all, and its file says so. What
//! makers change besides (the data cache, the over-provisioning, a second die behind one enable
//! line) stays as it is in the smaller or larger drive.

use crate::calibration::{Origins, drive_text};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{Bytes, Calibrated, CheckedConfig, DeviceConfig, Provenance, fingerprint};

/// How far the visible capacity may be from what is asked for: sizes on boxes are rounded.
const TOLERANCE: f64 = 0.01;

/// Numbers of dies that are tried in each direction, where one is not possible.
const SEARCHED: usize = 64;

/// Why there is no drive of a capacity.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The file is not the one that a calibration left.
    #[error(
        "the file of {drive} was edited after its calibration, so that nobody knows how far its \
         dies are the tested ones: take the file as it was"
    )]
    Edited {
        /// The drive to derive from.
        drive: String,
    },
    /// Whole dies do not make it.
    #[error(
        "{} cannot be made of {drive}: every channel has as many dies as the others, which makes \
         {nearest}", decimal(*.asked)
    )]
    NoDies {
        /// The drive to derive from.
        drive: String,
        /// What was asked for.
        asked: Bytes,
        /// The nearest capacities that can be made, in words.
        nearest: String,
    },
}

/// A drive that was derived from a calibrated one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Derived {
    /// What it is called.
    pub drive: String,
    /// From which drive it is derived, and by what.
    pub derived: String,
    /// What the host sees of it.
    pub visible_bytes: u64,
    /// All of its flash.
    pub raw_bytes: u64,
    /// Its dies.
    pub dies: u64,
    /// The dies of the drive that was tested.
    pub dies_tested: u64,
    /// The parameters that differ, each with its value.
    pub changed: Vec<(&'static str, String)>,
    /// The text of its file.
    #[serde(skip)]
    pub text: String,
}

impl Derived {
    /// What it is and in what it differs, as a line for people.
    pub fn words(&self) -> String {
        let Self { drive, derived, dies, visible_bytes, changed, .. } = self;
        let changed: Vec<String> =
            changed.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let changed = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
        format!("{drive}: {derived}; {visible_bytes} bytes on {dies} dies, changed: {changed}")
    }
}

/// A calibrated drive with a visible capacity near `asked`, by its number of dies alone.
///
/// # Errors
/// Whole dies on each channel do not come within 1 % of it.
pub fn derive(
    real: &Calibrated,
    base: &CheckedConfig,
    asked: Bytes,
    made_by: &str,
) -> Result<Derived, CapacityError> {
    let name = &real.provenance.drive;
    if real.is_edited() {
        return Err(CapacityError::Edited { drive: name.clone() });
    }
    let visible = |config: &DeviceConfig| Ledger::of(config).visible_bytes.0 as f64;
    let own = base.bus.chips_per_channel * base.flash.dies_per_chip;
    let wanted = asked.0 as f64 / visible(base) * f64::from(own);
    let within =
        |config: &CheckedConfig| (visible(config) / asked.0 as f64 - 1.0).abs() <= TOLERANCE;
    let Some(config) = of_dies(base, wanted.round()).filter(within) else {
        let nearest = nearest(base, wanted);
        return Err(CapacityError::NoDies { drive: name.clone(), asked, nearest });
    };
    let changed = Calibrated { config: (**base).clone(), ..real.clone() }.changed(&config);
    let value = |key| ssdtune_model::catalogue::find(key).map(|row| row.get(&config).to_string());
    let origins = Origins::derived(&changed, name);
    let changed = changed.into_iter().filter_map(|key| Some((key, value(key)?))).collect();
    let ledger = Ledger::of(&config);
    let (dies, tested) = (config.geometry().dies(), base.geometry().dies());
    let derived = format!(
        "derived from {name} by its dies ({dies} instead of {tested}) and never tested itself"
    );
    let provenance = Provenance {
        drive: format!("{name} made {}", decimal(ledger.visible_bytes)),
        made_by: made_by.to_owned(),
        derived: Some(derived.clone()),
        fingerprint: Some(fingerprint(&config)),
        ..real.provenance.clone()
    };
    let header = header(&provenance, &derived);
    let config = DeviceConfig { name: provenance.drive.clone(), ..(*config).clone() };
    Ok(Derived {
        text: drive_text(&header, &config, &origins, &provenance),
        drive: provenance.drive,
        derived,
        visible_bytes: ledger.visible_bytes.0,
        raw_bytes: ledger.raw_bytes.0,
        dies,
        dies_tested: tested,
        changed,
    })
}

/// The capacities next to a number of dies on each channel that cannot be, in words.
fn nearest(base: &CheckedConfig, dies: f64) -> String {
    let low = dies.floor().min(1e6) as u32;
    let below = (1..=low).rev().take(SEARCHED).find_map(|dies| of_dies(base, dies.into()));
    let above = (low + 1..).take(SEARCHED).find_map(|dies| of_dies(base, dies.into()));
    let sizes = [below, above].into_iter().flatten();
    let sizes = sizes.map(|config| decimal(Ledger::of(&config).visible_bytes));
    match sizes.collect::<Vec<String>>().as_slice() {
        [] => "nothing near it".to_owned(),
        sizes => format!("{} the nearest", sizes.join(" and ")),
    }
}

/// The drive with this number of dies on each channel: more chips if they keep their dies, else
/// more dies in each chip. `None` where that is no possible drive.
fn of_dies(base: &CheckedConfig, dies: f64) -> Option<CheckedConfig> {
    let dies = Some(dies).filter(|dies| (1.0..=1e6).contains(dies))? as u32;
    let mut config = (**base).clone();
    let (chips, each) = (config.bus.chips_per_channel, config.flash.dies_per_chip);
    if dies.is_multiple_of(each) {
        config.bus.chips_per_channel = dies / each;
    } else if dies.is_multiple_of(chips) {
        config.flash.dies_per_chip = dies / chips;
    } else {
        return None;
    }
    config.check().ok()
}

/// The comments at the top of the file.
fn header(provenance: &Provenance, derived: &str) -> Vec<String> {
    let Provenance { drive, made_by, .. } = provenance;
    vec![
        format!("{drive}, {derived}."),
        format!("Made by {made_by}. Nothing of this capacity was measured: the tested loads and"),
        "the errors below are those of the drive that it is derived from. Channels, controller,"
            .to_owned(),
        "data cache and over-provisioning are as there; in a real drive they may differ."
            .to_owned(),
    ]
}

/// A capacity as boxes state it.
fn decimal(bytes: Bytes) -> String {
    let bytes = bytes.0 as f64;
    match bytes {
        1e12.. => format!("{:.2} TB", bytes / 1e12),
        1e9.. => format!("{:.1} GB", bytes / 1e9),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::document::Document;
    use ssdtune_model::presets;

    fn calibrated() -> (Calibrated, CheckedConfig) {
        let config = presets::load("samsung-850-pro").unwrap();
        let provenance = Provenance { drive: "Real".to_owned(), ..Provenance::default() };
        (Calibrated { provenance, config: config.clone() }, config.check().unwrap())
    }

    /// A quarter to four times the drive, whatever its chips are.
    #[test]
    fn other_capacities_differ_by_their_dies_alone() {
        let (real, base) = calibrated();
        let bytes = Ledger::of(&base).visible_bytes.0;
        for times in [0.5, 2.0, 4.0] {
            let asked = Bytes((bytes as f64 * times * 1.004) as u64);
            let made = derive(&real, &base, asked, "a test").unwrap();
            assert_eq!(made.dies as f64, base.geometry().dies() as f64 * times);
            assert!((made.visible_bytes as f64 / (bytes as f64 * times) - 1.0).abs() < 1e-3);
            let read = Document::parse(&made.text).unwrap();
            let provenance = read.provenance().unwrap();
            assert!(provenance.derived.as_ref().unwrap().contains("never tested itself"));
            assert_eq!(provenance.fingerprint, Some(fingerprint(read.config())));
            let changed = real.changed(read.config());
            assert!(
                changed.iter().all(|key| key.contains("chips_per") || key.contains("dies_per")),
                "{changed:?}"
            );
            assert!(made.text.starts_with("# Real made "), "{}", made.text);
        }
    }

    #[test]
    fn what_dies_cannot_make_is_refused_with_the_nearest_that_they_can() {
        let (real, base) = calibrated();
        let bytes = Ledger::of(&base).visible_bytes.0 as f64;
        let own = f64::from(base.bus.chips_per_channel * base.flash.dies_per_chip);
        let asked = Bytes((bytes * (own + 0.4) / own) as u64);
        let said = derive(&real, &base, asked, "a test").unwrap_err().to_string();
        let [below, above] =
            [own, own + 1.0].map(|dies| decimal(Bytes((bytes * dies / own) as u64)));
        assert!(said.contains(&format!("{below} and {above} the nearest")), "{said}");
        let tiny = derive(&real, &base, Bytes(1 << 20), "a test").unwrap_err().to_string();
        assert!(tiny.contains("1.0 MB cannot be made of Real"), "{tiny}");
    }
}
