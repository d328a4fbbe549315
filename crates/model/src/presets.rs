//! The drives that come with ssdtune, by name.
//!
//! They are the files in `configs/devices/`, built into the library: a stand-in for a drive on the
//! market or for the drive of a paper each, every value with its source.

use crate::config::DeviceConfig;
use crate::document::Document;
use crate::nearest::closest_name;
pub use crate::shipped::{names, text};
use thiserror::Error;

/// There is no preset of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "no preset is called {name}{}; there are {}",
    hint(.nearest),
    names().collect::<Vec<_>>().join(", ")
)]
pub struct UnknownPreset {
    /// The name asked for.
    pub name: String,
    /// The preset that was probably meant.
    pub nearest: Option<&'static str>,
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// The names of the presets that were calibrated to real drives.
pub fn calibrated() -> impl Iterator<Item = &'static str> {
    // A test parses every one of them.
    let is_calibrated = |name: &&str| {
        let document = text(name).and_then(|text| Document::parse(text).ok());
        document.is_some_and(|document| document.provenance().is_some())
    };
    names().filter(is_calibrated)
}

/// The configuration of a preset.
///
/// # Errors
/// There is no preset of that name.
pub fn load(name: &str) -> Result<DeviceConfig, UnknownPreset> {
    let document = text(name).map(Document::parse);
    match document {
        // A test parses every one of them.
        Some(parsed) => Ok(parsed.expect("presets are sound").config().clone()),
        None => Err(UnknownPreset { name: name.to_owned(), nearest: closest_name(name, names()) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Compat, DeviceConfig};
    use crate::ledger::Ledger;
    use crate::units::Bytes;

    #[test]
    fn every_preset_is_sound_and_states_nothing_without_effect() {
        for name in names() {
            let document =
                Document::parse(text(name).unwrap()).unwrap_or_else(|f| panic!("{name}:\n{f}"));
            let config = document.config();
            assert_eq!(config.name, name);
            assert_eq!(config.compat, Compat::default(), "{name}");
            let inert = config.inert(document.stated().keys().copied());
            assert_eq!(inert, [], "{name}");
            assert_eq!(config.advice(), [], "{name}");
            assert!(!crate::shipped::has_base(text(name).unwrap()), "{name}");
        }
    }

    #[test]
    fn raw_capacities_are_as_their_sources_say() {
        for (name, gib) in [
            ("intel-750", 480),
            ("samsung-850-pro", 256),
            ("z-ssd", 1024),
            ("ssdkeeper", 512),
            ("haml", 300),
            ("lpm-znand", 1280),
            ("lpm-nand", 1280),
            ("mqsim-default", 512),
        ] {
            assert_eq!(
                load(name).unwrap().geometry().raw_capacity(),
                Bytes::from_gib(gib),
                "{name}"
            );
        }
    }

    #[test]
    fn visible_capacities_are_what_is_on_the_box() {
        let visible = |name| Ledger::of(&load(name).unwrap()).visible_bytes.0 as f64;
        for (name, bytes) in
            [("samsung-850-pro", 256e9), ("z-ssd", 800e9), ("haml", 256.0 * 1073741824.0)]
        {
            assert!((visible(name) / bytes - 1.0).abs() < 1e-3, "{name}: {}", visible(name));
        }
    }

    #[test]
    fn every_value_of_a_preset_has_its_source_and_every_file_is_built_in() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/devices");
        let files = std::fs::read_dir(directory).unwrap().count();
        assert_eq!(files, names().count());
        // The whole file of MQSim's example has one source, named at its top.
        for name in names().filter(|name| *name != "mqsim-default") {
            let own = text(name).unwrap().split("\n[calibration]").next().unwrap();
            for line in own.lines().filter(|line| line.contains(" = ")) {
                let plain = line.starts_with("name") || line == "ideal = false";
                assert!(line.contains('#') || plain, "{name}: {line}");
            }
        }
    }

    #[test]
    fn calibrated_presets_are_the_drives_that_were_tested() {
        for name in calibrated() {
            let document = Document::parse(text(name).unwrap()).unwrap();
            let own = Some(crate::fingerprint(document.config()));
            assert_eq!(document.provenance().unwrap().fingerprint, own, "{name}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error = load("intel750").unwrap_err();
        assert_eq!(error.nearest, Some("intel-750"));
        assert!(
            error.to_string().starts_with("no preset is called intel750 (did you mean intel-750?)")
        );
        assert_eq!(load("floppy").map(|config: DeviceConfig| config.name).ok(), None);
    }
}
