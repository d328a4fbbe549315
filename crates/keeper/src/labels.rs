//! Labels: of every mix, what each strategy did to it, as a file of JSON lines.
//!
//! The first line says what was measured and how ([`Source`]); every other line is a mix. Mixes are measured in any
//! order on all threads and appended as soon as they are known, each by one write; so a run that is killed loses
//! the mixes under way, and half a line at the end is cut off when the file is opened again. The finished file is in
//! the order of the mixes, the same for any number of threads and interruptions.

use crate::bench::{Bench, BenchError, Entry, Settings};
use crate::features::Period;
use crate::mix::Mix;
use crate::strategy::Strategy;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::Version;
use ssdtune_model::{DeviceConfig, document};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What was measured, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Version of the file.
    pub version: Version<1>,
    /// The drive's name.
    pub device: String,
    /// Digest of its configuration, the name left out.
    pub device_digest: String,
    /// Its channels.
    pub channels: u32,
    /// The simulator, and the version of its results.
    pub simulator: String,
    /// How many tenants mixes have, in turn.
    pub tenants: Vec<usize>,
    /// How they were measured.
    pub settings: Settings,
}

impl Source {
    /// A drive; `simulator` names the program and the version of its results.
    pub fn new(
        config: &DeviceConfig,
        simulator: String,
        tenants: Vec<usize>,
        settings: Settings,
    ) -> Self {
        Self {
            version: Version,
            device: config.name.clone(),
            device_digest: digest_of(config),
            channels: config.bus.channels,
            simulator,
            tenants,
            settings,
        }
    }

    /// The mix of that number.
    pub fn mix(&self, number: u64) -> Mix {
        let tenants = self.tenants[(number % self.tenants.len() as u64) as usize];
        Mix::draw(self.settings.seed, number, tenants, self.settings.bursty)
    }
}

/// Digest of a configuration, its name left out.
pub fn digest_of(config: &DeviceConfig) -> String {
    let nameless = DeviceConfig { name: String::new(), ..config.clone() };
    blake3::hash(document::write(&nameless).as_bytes()).to_hex().to_string()
}

/// A mix and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number.
    pub number: u64,
    /// The mix.
    pub mix: Mix,
    /// What the allocator would see of it in the first T.
    pub seen: Period,
    /// What was asked for in the whole run.
    pub run: Period,
    /// Every strategy it can have, in the order in which they were run.
    pub entries: Vec<Entry>,
}

impl Row {
    /// The best strategy and its total: the label.
    ///
    /// # Panics
    /// If nothing was measured; a file that was read has something in every row.
    pub fn best(&self) -> &Entry {
        let finished = self.entries.iter().filter(|entry| entry.behind.is_none());
        finished
            .min_by(|a, b| a.means.total_ns().total_cmp(&b.means.total_ns()))
            .expect("Shared is always run to its end")
    }

    /// How much longer a strategy's total is than the best one's; of one that was given up, as far as it was run.
    pub fn ratio(&self, strategy: &Strategy) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.strategy == *strategy)?;
        let whole = entry.means.total_ns() / self.best().means.total_ns();
        Some(entry.behind.map_or(whole, |behind| behind.max(whole)))
    }
}

/// A file of labels, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// What was measured.
    pub source: Source,
    /// The mixes, in the order of the file.
    pub rows: Vec<Row>,
}

/// Why a file is no file of labels, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {problem}; label into another file", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The file holds something else than what is to be measured.
    #[error(
        "{} was begun with other settings ({found} there, {wanted} here): write into another file, or label \
         with the same", path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// In the file.
        found: String,
        /// Asked for.
        wanted: String,
    },
    /// A mix could not be measured.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

impl Labels {
    /// Reads a file; half a line at its end does not count.
    ///
    /// # Errors
    /// The file cannot be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, LabelsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LabelsError::Io { path: path.to_path_buf(), source })?;
        Ok(parse(path, &text)?.0)
    }
}

/// The labels, and the bytes of their whole lines.
fn parse(path: &Path, text: &str) -> Result<(Labels, usize), LabelsError> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let wrong = |number: usize, problem: String| LabelsError::Line {
        path: path.to_path_buf(),
        line: number + 1,
        problem,
    };
    let mut lines = text[..whole].lines().enumerate();
    let (_, first) =
        lines.next().ok_or_else(|| wrong(0, "it has no line that says what it holds".into()))?;
    let source: Source = serde_json::from_str(first)
        .map_err(|error| wrong(0, format!("it does not say what it holds: {error}")))?;
    if source.tenants.is_empty() || !source.tenants.iter().all(|&t| (2..=4).contains(&t)) {
        return Err(wrong(0, "tenants must be 2 to 4".into()));
    }
    let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, text) in lines {
        let row: Row = serde_json::from_str(text)
            .map_err(|error| wrong(number, format!("no labelled mix: {error}")))?;
        if row.mix != source.mix(row.number) {
            return Err(wrong(number, format!("mix {} is not that of line 1", row.number)));
        }
        if !seen.insert(row.number) {
            return Err(wrong(number, format!("mix {} stands there already", row.number)));
        }
        let has_shared =
            row.entries.iter().any(|e| e.strategy == Strategy::Shared && e.behind.is_none());
        let totals = row.entries.iter().map(|entry| entry.means.total_ns());
        if !has_shared || !totals.into_iter().all(|total| total.is_finite() && total >= 0.0) {
            return Err(wrong(number, format!("mix {} has not its figures", row.number)));
        }
        if [&row.seen, &row.run].into_iter().any(|p| p.asked.len() != row.mix.tenants.len()) {
            return Err(wrong(number, format!("mix {} has not what was seen of it", row.number)));
        }
        rows.push(row);
    }
    Ok((Labels { source, rows }, whole))
}

/// Labels mixes `0..count` into a file, those that it does not hold yet, and tells how many more are done.
///
/// # Errors
/// The file cannot be read or written or holds something else, a mix cannot be measured, or the bench's caller
/// stopped it; what was measured is in the file.
pub fn label(
    bench: &Bench,
    source: &Source,
    count: u64,
    path: &Path,
    tell: &(dyn Fn(u64) + Sync),
) -> Result<Labels, LabelsError> {
    let io = |source| LabelsError::Io { path: path.to_path_buf(), source };
    let (mut file, mut labels) = open(path, source)?;
    let known: BTreeSet<u64> = labels.rows.iter().map(|row| row.number).collect();
    tell(known.len() as u64);
    let missing: Vec<u64> = (0..count).filter(|number| !known.contains(number)).collect();
    let strategies: Vec<(usize, Vec<Strategy>)> = (source.tenants.iter())
        .map(|&tenants| (tenants, Strategy::all(source.channels, tenants)))
        .collect();
    let kept = Mutex::new((&mut file, &mut labels.rows));
    missing.par_iter().with_max_len(1).try_for_each(|&number| -> Result<(), LabelsError> {
        if bench.is_stopped() {
            return Err(BenchError::Interrupted.into());
        }
        let mix = source.mix(number);
        let (_, strategies) = (strategies.iter())
            .find(|(tenants, _)| *tenants == mix.tenants.len())
            .expect("a list for each number of tenants");
        let entries = bench.race(strategies, &mix, number)?;
        let [seen, run] = bench.observe(&mix, number);
        let row = Row { number, mix, seen, run, entries };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.write_all(line(&row).as_bytes()).map_err(io)?;
        kept.1.push(row);
        tell(1);
        Ok(())
    })?;
    labels.rows.sort_by_key(|row| row.number);
    let mut text = line(&labels.source);
    text.extend(labels.rows.iter().map(line));
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(".new");
    std::fs::write(&beside, text)
        .and_then(|()| File::open(&beside)?.sync_all())
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(io)?;
    Ok(labels)
}

/// Begins a file, or goes on with one of the same source.
fn open(path: &Path, source: &Source) -> Result<(File, Labels), LabelsError> {
    let io = |source| LabelsError::Io { path: path.to_path_buf(), source };
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
    let text = std::fs::read_to_string(path).map_err(io)?;
    if !text.contains('\n') {
        file.set_len(0).map_err(io)?;
        file.write_all(line(source).as_bytes()).map_err(io)?;
        return Ok((file, Labels { source: source.clone(), rows: Vec::new() }));
    }
    let (labels, whole) = parse(path, &text)?;
    if labels.source != *source {
        let (found, wanted) = (line(&labels.source), line(source));
        let [found, wanted] = [found, wanted].map(|text| text.trim().to_owned());
        return Err(LabelsError::Other { path: path.to_path_buf(), found, wanted });
    }
    file.set_len(whole as u64).map_err(io)?;
    Ok((file, labels))
}
