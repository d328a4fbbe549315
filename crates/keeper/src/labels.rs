//! Labels: for many mixes, what each strategy does to them, as a file of JSON lines.
//!
//! The first line says what was measured and how ([`LabelSource`]); every other line is a mix
//! ([`LabelledMix`]). Mixes are measured on all threads, in any order, and each is appended by
//! one write as soon as it is known. So a run that is killed loses only the mixes under way; half
//! a line at the end is cut off when the file is opened again. The finished file is in the order
//! of the mixes. It is the same for any number of threads and interruptions.
//!
//! Cost: one race ([`MixSimulator::race`]) for each mix, and some runs whose channels are divided
//! on the way ([`MixSimulator::switches`]).

use crate::drive::{DriveFigures, FlashFigures};
use crate::features::{DECISION_SLOTS, DemandCollector, PeriodDemand, SLOTS, in_slots};
use crate::mix::Mix;
use crate::simulation::{
    MixSimulator, SimulationError, SimulationSettings, StrategyOutcome, SwitchOutcome,
};
use crate::strategy::{Strategy, TENANTS};
use crate::vector::Intensity;
use crate::watch::LAST_MOMENT;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::Version;
use ssdtune_model::config::Allocation;
use ssdtune_model::{DeviceConfig, Nanos, document, have_same_results};
use ssdtune_output::{LineFile, LineFileError, LineKind};
use ssdtune_sim::BY_LOAD_VERSION;
use ssdtune_trace::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What the labels of a file are of, and how they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelSource {
    /// Version of the file.
    pub version: Version<4>,
    /// Name of the drive.
    pub device: String,
    /// Digest of the drive's configuration ([`device_digest`]).
    pub device_digest: String,
    /// Number of channels of the drive.
    pub channels: u32,
    /// Its flash.
    pub flash: FlashFigures,
    /// Sectors of a flash page of the drive.
    pub page_sectors: u32,
    /// The program that simulated, and the version of its results.
    pub simulator: String,
    /// Numbers of tenants of the mixes, taken in turn.
    pub tenants: Vec<usize>,
    /// How mixes were drawn and measured.
    pub settings: SimulationSettings,
}

impl LabelSource {
    /// Labels of a drive; `simulator` names the program and the version of its results. Where pages
    /// are placed by load the version of that is added, so that no file holds labels of two rules.
    pub fn new(
        device: &DeviceConfig,
        mut simulator: String,
        tenants: Vec<usize>,
        settings: SimulationSettings,
    ) -> Self {
        if device.mapping.allocation != Allocation::Static {
            simulator += &format!(", by load {BY_LOAD_VERSION}");
        }
        Self {
            version: Version,
            device: device.name.clone(),
            device_digest: device_digest(device),
            channels: device.bus.channels,
            flash: FlashFigures::of(device),
            page_sectors: device.geometry().sectors_per_page(),
            simulator,
            tenants,
            settings,
        }
    }

    /// Whether these labels are of this drive. The seed that decides where data lie does not
    /// matter.
    pub fn is_of(&self, device: &DeviceConfig) -> bool {
        is_like(device, self.settings.seed, &self.device_digest)
    }

    /// How intensity levels are measured.
    pub(crate) fn intensity(&self) -> Intensity {
        Intensity { requests_per_s_max: self.settings.rate_max_pages }
    }

    /// The drive.
    pub(crate) fn drive(&self) -> DriveFigures {
        DriveFigures::new(self.channels, self.intensity(), &self.flash)
    }

    /// The requests of a mix.
    fn requests(&self, labelled: &LabelledMix) -> Vec<Request> {
        let options = self.settings.request_options(labelled.number, self.page_sectors);
        labelled.mix.requests(options).collect()
    }

    /// What a mix asks for in its first slots, of which a period T has [`SLOTS`].
    pub(crate) fn beginning(&self, labelled: &LabelledMix, slots: u64) -> PeriodDemand {
        let slot = DemandCollector::slot_of(Nanos(self.settings.collect_ns));
        let tenants = labelled.mix.tenants.len();
        in_slots(&self.requests(labelled), tenants, slot, slots, self.page_sectors)
    }

    /// What a mix asks for in its whole run, in slots as long as those that decide.
    pub(crate) fn whole_run(&self, labelled: &LabelledMix) -> PeriodDemand {
        let requests = self.requests(labelled);
        let slot = Nanos((self.settings.collect_ns / DECISION_SLOTS).max(1));
        let count = requests.last().map_or(0, |last| last.at.0 / slot.0) + 1;
        in_slots(&requests, labelled.mix.tenants.len(), slot, count, self.page_sectors)
    }

    /// The mix of a number.
    pub fn mix(&self, number: u64) -> Mix {
        let tenants = self.tenants[(number % self.tenants.len() as u64) as usize];
        Mix::draw(self.settings.seed, number, tenants, self.settings.style)
    }
}

/// Digest of a drive's configuration without its name, as 64 hexadecimal digits.
pub fn device_digest(device: &DeviceConfig) -> String {
    blake3::hash(document::identity(device).as_bytes()).to_hex().to_string()
}

/// The page allocation of a drive when it is labelled: static where some tenants place pages
/// dynamically (hybrid), since there it depends on more than the strategy where a page goes.
pub fn labelled_allocation(device: &DeviceConfig) -> Allocation {
    match device.mapping.allocation {
        Allocation::Static | Allocation::Hybrid => Allocation::Static,
        Allocation::Dynamic => Allocation::Dynamic,
    }
}

/// Whether a digest is of this drive with the allocation that it is labelled with, and its own
/// seed, the default one or `seed`.
pub(crate) fn is_like(device: &DeviceConfig, seed: u64, digest: &str) -> bool {
    let seeds = [device.run.seed, DeviceConfig::default().run.seed, seed];
    seeds.into_iter().any(|seed| {
        let mut device = device.clone();
        device.mapping.allocation = labelled_allocation(&device);
        device.run.seed = seed;
        device_digest(&device) == digest
    })
}

/// A mix and what every strategy did to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelledMix {
    /// The number of the mix.
    pub number: u64,
    /// The mix.
    pub mix: Mix,
    /// What it asks for in the first period T, which is what an allocator is told.
    pub seen: PeriodDemand,
    /// What every distinct strategy did, in the order in which they were run.
    pub entries: Vec<StrategyOutcome>,
    /// What dividing the channels did after all had been shared for a while.
    pub switches: Vec<SwitchOutcome>,
}

impl LabelledMix {
    /// The strategy with the least total latency: the label.
    ///
    /// # Panics
    /// If no strategy was run to its end. In every mix that was read from a file one was.
    pub fn best(&self) -> &StrategyOutcome {
        let finished = self.entries.iter().filter(|entry| entry.behind.is_none());
        finished
            .min_by(|a, b| a.means.total_ns().total_cmp(&b.means.total_ns()))
            .expect("Shared is always run to its end")
    }

    /// A strategy's total latency divided by the best one's, as far as the strategy was run; `None`
    /// if it was not run at all.
    pub fn ratio(&self, strategy: &Strategy) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.strategy == *strategy)?;
        let whole = entry.means.total_ns() / self.best().means.total_ns();
        Some(entry.behind.map_or(whole, |behind| behind.max(whole)))
    }
}

/// The labels of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// What they are of, and how they were measured.
    pub source: LabelSource,
    /// The mixes, in the order of the file.
    pub mixes: Vec<LabelledMix>,
}

/// What the labels of a file are.
#[derive(Clone, Debug, Serialize)]
pub struct LabelsSummary<'a> {
    /// What they are of, and how they were measured.
    pub source: &'a LabelSource,
    /// The number of mixes.
    pub mixes: usize,
    /// How often each strategy is the best.
    pub labels: BTreeMap<String, usize>,
    /// The file.
    pub file: String,
}

/// Why labels cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// The system cannot read or write the file.
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
    /// The file is another's, and was not touched.
    #[error(transparent)]
    Foreign(ssdtune_output::ForeignFile),
    /// The file was begun with other settings than those asked for.
    #[error(
        "{} was begun with other settings ({found} there, {wanted} here): write into another file, \
         or label with the same",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// The settings in the file.
        found: String,
        /// The settings asked for.
        wanted: String,
    },
    /// A mix could not be measured.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

impl LabelsError {
    /// The file and the line, from 1, as far as the error is of one.
    pub fn place(&self) -> Option<(&Path, Option<u64>)> {
        match self {
            Self::Line { path, line, .. } => Some((path, Some(*line as u64))),
            Self::Io { path, .. } | Self::Other { path, .. } => Some((path, None)),
            Self::Foreign(error) => Some((&error.path, None)),
            Self::Simulation(_) => None,
        }
    }
}

/// What the first line of a file of labels says.
const KIND: LineKind = LineKind {
    name: "labels that `ssdtune keeper label` writes",
    // Of any version: what is wrong with another one is said when the file is read.
    is_head: |line| {
        let head: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        ["version", "device_digest", "tenants", "settings"].iter().all(|key| !head[key].is_null())
    },
};

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

impl Labels {
    /// Reads a file. Half a line at its end, which a killed program leaves, does not count.
    ///
    /// # Errors
    /// The file cannot be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, LabelsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LabelsError::Io { path: path.to_path_buf(), source })?;
        parse(path, &text)
    }

    /// What the labels are, for a document.
    pub fn summary(&self, file: &Path) -> LabelsSummary<'_> {
        let (mixes, file) = (self.mixes.len(), file.display().to_string());
        LabelsSummary { source: &self.source, mixes, labels: self.wins(), file }
    }

    /// How many mixes each strategy is the best for; strategies that are never the best are left
    /// out.
    pub fn wins(&self) -> BTreeMap<String, usize> {
        let mut wins = BTreeMap::new();
        for mix in &self.mixes {
            *wins.entry(mix.best().strategy.to_string()).or_default() += 1;
        }
        wins
    }
}

/// The labels in the whole lines of a text.
fn parse(path: &Path, text: &str) -> Result<Labels, LabelsError> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let wrong = |number: usize, problem: String| LabelsError::Line {
        path: path.to_path_buf(),
        line: number + 1,
        problem,
    };
    let mut lines = text[..whole].lines().enumerate();
    let (_, first) =
        lines.next().ok_or_else(|| wrong(0, "it has no line that says what it holds".into()))?;
    let source: LabelSource = serde_json::from_str(first)
        .map_err(|error| wrong(0, format!("it does not say what it holds: {error}")))?;
    if source.tenants.is_empty() || !source.tenants.iter().all(|t| TENANTS.contains(t)) {
        return Err(wrong(0, "tenants must be 2 to 8".into()));
    }
    if let Some(fault) = source.drive().fault() {
        return Err(wrong(0, fault.into()));
    }
    let (mut mixes, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, text) in lines {
        let mix: LabelledMix = serde_json::from_str(text)
            .map_err(|error| wrong(number, format!("no labelled mix: {error}")))?;
        if let Some(problem) = fault(&mix, &source) {
            return Err(wrong(number, format!("mix {} {problem}", mix.number)));
        }
        if !seen.insert(mix.number) {
            return Err(wrong(number, format!("mix {} stands there already", mix.number)));
        }
        mixes.push(mix);
    }
    Ok(Labels { source, mixes })
}

/// What is wrong with a labelled mix, if anything.
fn fault(labelled: &LabelledMix, source: &LabelSource) -> Option<&'static str> {
    let LabelledMix { number, mix, seen, entries, switches } = labelled;
    if *mix != source.mix(*number) {
        return Some("is not that of line 1");
    }
    let is_whole = |entry: &StrategyOutcome| entry.behind.is_none();
    let has_shared = entries.iter().any(|e| e.strategy == Strategy::Shared && is_whole(e));
    let mut totals = entries.iter().map(|entry| entry.means.total_ns());
    if !has_shared || !totals.all(|total| total.is_finite() && total >= 0.0) {
        return Some("has not its figures");
    }
    let tenants = mix.tenants.len();
    let is_sound = |switch: &SwitchOutcome| {
        let shares = switch.settled.len() == tenants
            && switch.settled.iter().all(|share| (0.0..=1.0).contains(share));
        shares && switch.over_shared > 0.0 && (1..=LAST_MOMENT).contains(&switch.slots)
    };
    if !switches.iter().all(is_sound) {
        return Some("has not what its switches did");
    }
    let is_short = seen.asked.len() != tenants || seen.slots.len() != tenants;
    let is_cut = seen.slots.iter().any(|slots| slots.len() as u64 != SLOTS);
    (is_short || is_cut).then_some("does not say what each tenant asked for")
}

/// Labels those of the mixes of some numbers that a file does not hold yet. `tell` is told how many
/// more are done: first those that the file holds, then each mix.
///
/// # Errors
/// The file cannot be read or written, was begun with other settings, a mix cannot be measured, or
/// the caller stopped it. What was measured until then is in the file.
pub fn label_mixes(
    simulator: &MixSimulator,
    source: &LabelSource,
    numbers: impl IntoIterator<Item = u64>,
    path: &Path,
    tell: &(dyn Fn(u64) + Sync),
) -> Result<Labels, LabelsError> {
    let io = |source| LabelsError::Io { path: path.to_path_buf(), source };
    let (mut file, mut labels) = open(path, source)?;
    let known: BTreeSet<u64> = labels.mixes.iter().map(|mix| mix.number).collect();
    tell(known.len() as u64);
    let missing: Vec<u64> = numbers.into_iter().filter(|number| !known.contains(number)).collect();
    let strategies: Vec<(usize, Vec<Strategy>)> = (source.tenants.iter())
        .map(|&tenants| (tenants, Strategy::all(source.channels, tenants)))
        .collect();
    let kept = Mutex::new((&mut file, &mut labels.mixes));
    missing.par_iter().with_max_len(1).try_for_each(|&number| -> Result<(), LabelsError> {
        if simulator.is_stopped() {
            return Err(SimulationError::Interrupted.into());
        }
        let mix = source.mix(number);
        let (_, strategies) = (strategies.iter())
            .find(|(tenants, _)| *tenants == mix.tenants.len())
            .expect("a list for each number of tenants");
        let entries = simulator.race(strategies, &mix, number)?;
        let switches = simulator.switches(&mix, number, &entries)?;
        let seen = simulator.observe(&mix, number);
        let labelled = LabelledMix { number, mix, seen, entries, switches };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.add(&line(&labelled)).map_err(io)?;
        kept.1.push(labelled);
        tell(1);
        Ok(())
    })?;
    labels.mixes.sort_by_key(|mix| mix.number);
    let mut text = line(&labels.source);
    text.extend(labels.mixes.iter().map(line));
    ssdtune_output::write(path, text).map_err(io)?;
    Ok(labels)
}

/// Looks whether labels can be written into a file, without touching it: there is none, or it
/// begins as labels do. Of a foreign file no more than the first line is read.
///
/// # Errors
/// The file is another's, or cannot be read.
pub fn check_labels_file(path: &Path) -> Result<(), LabelsError> {
    LineFile::head(path, KIND).map(drop).map_err(|error| of_file(path, error))
}

fn of_file(path: &Path, error: LineFileError) -> LabelsError {
    match error {
        LineFileError::Foreign(error) => LabelsError::Foreign(error),
        LineFileError::Io(source) => LabelsError::Io { path: path.to_path_buf(), source },
    }
}

/// Begins a file, or opens one that was begun with the same settings.
fn open(path: &Path, source: &LabelSource) -> Result<(LineFile, Labels), LabelsError> {
    let opened = LineFile::open(path, &line(source), KIND);
    let (file, text) = opened.map_err(|error| of_file(path, error))?;
    if text.is_empty() {
        return Ok((file, Labels { source: source.clone(), mixes: Vec::new() }));
    }
    let labels = parse(path, &text)?;
    let known = LabelSource { simulator: source.simulator.clone(), ..labels.source.clone() };
    if known != *source || !have_same_results(&labels.source.simulator, &source.simulator) {
        let (found, wanted) = (line(&labels.source), line(source));
        let [found, wanted] = [found, wanted].map(|text| text.trim().to_owned());
        return Err(LabelsError::Other { path: path.to_path_buf(), found, wanted });
    }
    Ok((file, labels))
}
