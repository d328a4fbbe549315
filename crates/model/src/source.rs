//! Loads a drive by the name a user gives it: a preset or a file.
//!
//! Files are TOML. A caller that knows another format hands its reader to [`load_with`]; the
//! formats are told apart by the content of the file, not by its name. Files above 8 MiB are
//! refused unread.

use crate::config::DeviceConfig;
use crate::document::{Document, fingerprint};
use crate::fault::{Fault, Faults, Problem};
use crate::nearest::closest_name;
use crate::provenance::Provenance;
use crate::{catalogue, presets};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use thiserror::Error;

/// Largest file that is read.
const MAX_BYTES: u64 = 8 << 20;

/// Where a configuration came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A preset of the library.
    Preset,
    /// A TOML file.
    Toml,
    /// A file in the format of the caller's [`ForeignReader`].
    Foreign,
}

/// Reads a drive from a format that this crate does not know. `None` says that the text is not in
/// that format; it is taken for TOML then.
pub type ForeignReader = fn(&str) -> Option<Result<ForeignDrive, Faults>>;

/// A drive as a [`ForeignReader`] finds it. One without a name gets that of its file.
#[derive(Clone, Debug)]
pub struct ForeignDrive {
    /// The configuration; it has passed its check.
    pub config: DeviceConfig,
    /// The keys that the file states, as opposed to those left at their defaults.
    pub stated: Vec<&'static str>,
    /// What a user should know about the reading, one sentence each.
    pub notes: Vec<String>,
}

/// A drive that was found, read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration; it has passed its check.
    pub config: DeviceConfig,
    /// Where it came from.
    pub format: Format,
    /// The text of the preset or file.
    pub text: String,
    /// The keys that the text or an override states, as opposed to those left at their defaults.
    pub stated: Vec<&'static str>,
    /// What a user should know about the reading, one sentence each.
    pub notes: Vec<String>,
    /// What the file says of the real drive that it was calibrated to.
    pub calibrated: Option<Calibrated>,
}

/// A drive that was calibrated: what its file says of it, and the configuration in that file, which
/// overrides may have changed since.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// What the file says.
    pub provenance: Provenance,
    /// The configuration of the file.
    pub config: DeviceConfig,
}

impl Calibrated {
    /// The parameters in which a drive differs from the one of the file. How a run begins and what
    /// energy costs was not tested, and may differ.
    pub fn changed(&self, used: &DeviceConfig) -> Vec<&'static str> {
        let is_tested = |section: &str| !["run", "energy"].contains(&section);
        let rows = catalogue::parameters().filter(|row| is_tested(row.path().0));
        let other = rows.filter(|row| row.get(&self.config) != row.get(used));
        other.map(|row| row.key).collect()
    }

    /// Whether the file holds another drive than the one that was tested: somebody has edited it.
    pub fn is_edited(&self) -> bool {
        let own = self.provenance.fingerprint.as_ref();
        own.is_some_and(|own| *own != fingerprint(&self.config))
    }
}

/// Why a drive cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// There is neither a preset nor a file of that name.
    #[error(
        "{name} is neither a file nor a preset{}; presets: {}",
        hint(*.nearest),
        presets::names().collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name that was given.
        name: String,
        /// The preset that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// The file or an override has faults.
    #[error("{0}")]
    Faulty(Faults),
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// Loads a preset by name or a TOML file by path; a preset goes before a file of the same name.
/// `overrides` are `(key, value)` pairs, set in order.
///
/// # Errors
/// There is no such drive, it cannot be read, or it or an override is faulty.
pub fn load(name: &str, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    load_with(name, overrides, |_| None)
}

/// Loads a preset by name or a file by path, in TOML or in the format that `foreign` reads. A
/// preset goes before a file of the same name. `overrides` are `(key, value)` pairs, set in order.
///
/// # Errors
/// There is no such drive, it cannot be read, or it or an override is faulty.
pub fn load_with(
    name: &str,
    overrides: &[(String, String)],
    foreign: ForeignReader,
) -> Result<Loaded, LoadError> {
    let mut loaded = find(name, foreign)?;
    let mut faults = Faults::default();
    for (key, value) in overrides {
        if let Err(wrong) = catalogue::set(&mut loaded.config, key, value) {
            faults.0.extend(wrong.0);
        } else if let Some(row) = catalogue::find(key) {
            loaded.stated.push(row.key);
        }
    }
    if faults.0.is_empty() && !overrides.is_empty() {
        faults = loaded.config.check().err().unwrap_or_default();
    }
    faults.or_ok(loaded).map_err(LoadError::Faulty)
}

fn find(name: &str, foreign: ForeignReader) -> Result<Loaded, LoadError> {
    if let Some(text) = presets::text(name) {
        return parse(text.to_owned(), Format::Preset, name);
    }
    let path = Path::new(name);
    // What is written like a path is a missing file, not a misspelt preset.
    let is_path = path.extension().is_some() || name.contains(std::path::is_separator);
    if !is_path && !path.exists() {
        let nearest = closest_name(name, presets::names());
        return Err(LoadError::Unknown { name: name.to_owned(), nearest });
    }
    let text = read_text(path)?;
    let Some(read) = foreign(&text) else { return parse(text, Format::Toml, name) };
    let ForeignDrive { mut config, stated, notes } =
        read.map_err(|faults| LoadError::Faulty(faults.in_file(name)))?;
    if let Some(stem) = path.file_stem().filter(|_| config.name.is_empty()) {
        config.name = stem.to_string_lossy().into_owned();
    }
    Ok(Loaded { config, format: Format::Foreign, text, stated, notes, calibrated: None })
}

fn parse(text: String, format: Format, name: &str) -> Result<Loaded, LoadError> {
    let document =
        Document::parse(&text).map_err(|faults| LoadError::Faulty(faults.in_file(name)))?;
    let config = document.config().clone();
    let of_file = |provenance| Calibrated { provenance, config: config.clone() };
    Ok(Loaded {
        calibrated: document.provenance().cloned().map(of_file),
        config,
        format,
        stated: document.stated().keys().copied().collect(),
        notes: Vec::new(),
        text,
    })
}

/// Reads a text file of at most 8 MiB.
///
/// # Errors
/// It cannot be read, is too large or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, LoadError> {
    let shown = path.display().to_string();
    let unreadable = |source| LoadError::Unreadable { path: shown.clone(), source };
    let refused = |reason: String| {
        LoadError::Faulty(
            Faults::from(Fault::new("", Problem::Unsupported { reason })).in_file(&shown),
        )
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused(format!("more than {MAX_BYTES} bytes: not a configuration")));
    }
    String::from_utf8(bytes).map_err(|_| refused("not UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_files_load_and_overrides_are_checked_together() {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let loaded =
            load("intel-750", &[set("bus.channels", "16"), set("gc.policy", "fifo")]).unwrap();
        assert_eq!((loaded.format, loaded.config.bus.channels), (Format::Preset, 16));
        let wrong = [set("bus.chanels", "16"), set("gc.policy", "best")];
        let Err(LoadError::Faulty(faults)) = load("intel-750", &wrong) else { panic!("accepted") };
        assert_eq!(faults.0.len(), 2);
        let clash = load("intel-750", &[set("mapping.overprovisioning", "0")]);
        assert!(matches!(clash, Err(LoadError::Faulty(_))));
    }

    #[test]
    fn what_is_not_there_is_answered_with_the_nearest_preset() {
        let error = load("zssd", &[]).unwrap_err().to_string();
        assert!(
            error.starts_with("zssd is neither a file nor a preset (did you mean z-ssd?)"),
            "{error}"
        );
        assert!(matches!(load("/", &[]), Err(LoadError::Unreadable { .. })));
    }

    /// A format whose files begin with a percent sign and hold the number of channels.
    fn percent(text: &str) -> Option<Result<ForeignDrive, Faults>> {
        let channels = text.strip_prefix('%')?;
        let mut config = DeviceConfig { name: String::new(), ..DeviceConfig::default() };
        let set = catalogue::set(&mut config, "bus.channels", channels);
        let notes = vec!["read".to_owned()];
        Some(set.map(|()| ForeignDrive { config, stated: vec!["bus.channels"], notes }))
    }

    #[test]
    fn a_file_is_told_by_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let foreign = load_with(&write("a.toml", b"%16"), &[], percent).unwrap();
        assert_eq!((foreign.format, foreign.config.bus.channels), (Format::Foreign, 16));
        assert_eq!((foreign.config.name.as_str(), foreign.notes.len()), ("a", 1));
        let toml = write("b.percent", b"[bus]\nchannels = 4");
        let loaded = load_with(&toml, &[], percent).unwrap();
        assert_eq!((loaded.format, loaded.config.bus.channels), (Format::Toml, 4));
        let wrong = load_with(&write("c", b"%0"), &[], percent).unwrap_err().to_string();
        assert!(wrong.contains("c: bus.channels = 0: must be"), "{wrong}");
        let faulty = load(&write("d", b"[gc]\nthreshold = 3"), &[]).unwrap_err().to_string();
        assert!(faulty.contains("d:2: gc.threshold = 3"), "{faulty}");
        assert!(load(&write("e", b"\xff\xfe"), &[]).unwrap_err().to_string().contains("UTF-8"));
    }
}
