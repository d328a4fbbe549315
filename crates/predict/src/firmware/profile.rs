//! A profile: a file of groups as JSON lines. The first line says how groups were measured
//! ([`ProfileSource`]); every other line is a group ([`ProfiledGroup`]).
//!
//! The groups of a workload are written together when all of them are measured. A file that was
//! begun can be continued, workload by workload.

use super::drive::{DriveSize, WorkCounts};
use super::events::EventSource;
use serde::{Deserialize, Serialize};
use ssdtune_learn::Version;
use ssdtune_output::{ForeignFile, LineFile, LineFileError, LineKind};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What decides the work of every group. Only profiles in which it is equal can be joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSetup {
    /// The size of the drive.
    pub size: DriveSize,
    /// How many requests a group has.
    pub group_requests: u32,
    /// Of each workload one group is run for this number of groups in the paper's Table 4,
    /// within the limit of `groups_max`.
    pub scale: u32,
    /// The most groups of a workload that are run.
    pub groups_max: u32,
    /// How many groups of each workload are served before those that are measured.
    pub warm_up: u32,
    /// Decides the requests and where data lie.
    pub seed: u64,
}

/// Where the times of a profile come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TimeSource {
    /// No times were taken.
    None,
    /// The machine itself ran the firmware.
    Measured,
    /// A command such as an emulator ran the firmware: a stand-in for a target.
    StandInMeasured {
        /// The command.
        under: String,
    },
    /// A timing model computed the times from events: a stand-in for a target that proves little.
    StandInModelled {
        /// Name of the timing model.
        model: String,
    },
}

impl TimeSource {
    /// The source in the words of reports; stand-ins are named as such.
    pub fn label(&self, machine: &str) -> String {
        match self {
            Self::None => "no times".to_owned(),
            Self::Measured => format!("measured on {machine}"),
            Self::StandInMeasured { under } => {
                format!("STAND-IN for a board, measured: {under} on {machine}")
            }
            Self::StandInModelled { model } => format!("STAND-IN for a board, computed: {model}"),
        }
    }
}

/// How the groups of a profile were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSource {
    /// Version of the file.
    pub firmware_profile: Version<1>,
    /// The program that measured, with its version.
    pub program: String,
    /// The machine: its CPU and the CPU's architecture.
    pub machine: String,
    /// What decides the work of every group.
    pub setup: ProfileSetup,
    /// Where times come from.
    pub time: TimeSource,
    /// How many times were taken of each group.
    pub repeats: u32,
    /// Where events come from.
    pub events: EventSource,
}

/// A group of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledGroup {
    /// Label of the workload and number of the group, as in `RW/12`.
    pub id: String,
    /// What the firmware did.
    pub counts: WorkCounts,
    /// CPU times of the group in nanoseconds, one for each repetition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ns: Vec<u64>,
    /// Events by their names in Table 5.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    /// Events by callgrind's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub callgrind: BTreeMap<String, u64>,
}

impl ProfiledGroup {
    /// Label of the group's workload.
    pub fn workload(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(label, _)| label)
    }

    /// The time of the group in nanoseconds; `None` if no times were taken.
    pub fn time_ns(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Median => median(&self.ns),
            Statistic::Least => self.ns.iter().min().map(|&ns| ns as f64),
        }
    }
}

/// Which of the repeated times of a group is taken for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    Median,
    /// The least. On a shared machine other programs only ever add time.
    Least,
}

/// The median of some values; of an even number of them the mean of the middle two.
pub fn median(values: &[u64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle] as f64),
        _ => Some(0.5 * (sorted[middle - 1] as f64 + sorted[middle] as f64)),
    }
}

/// A profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// How the groups were measured.
    pub source: ProfileSource,
    /// The groups, in the order of the file.
    pub rows: Vec<ProfiledGroup>,
}

/// Why a profile cannot be read or continued.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The system cannot read or write the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error(
        "{}, line {line}: {problem}; `ssdtune predict-perf ftl profile` writes such files",
        path.display()
    )]
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
    Foreign(ForeignFile),
    /// The file was begun with other settings than those asked for.
    #[error("{} was measured otherwise: {differences}. Write into another file", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What differs, there and here.
        differences: String,
    },
    /// The profile cannot be put together with the one before it.
    #[error(
        "{} does not measure what the first file does: {differences}. Put profiles of one machine \
         and one setup together",
        path.display()
    )]
    Apart {
        /// The file.
        path: PathBuf,
        /// What differs, there and here.
        differences: String,
    },
}

impl ProfileError {
    /// The file and the line, from 1, where the error is of one.
    pub fn place(&self) -> (&Path, Option<u64>) {
        match self {
            Self::Line { path, line, .. } => (path, Some(*line as u64)),
            Self::Io { path, .. } | Self::Other { path, .. } | Self::Apart { path, .. } => {
                (path, None)
            }
            Self::Foreign(error) => (&error.path, None),
        }
    }
}

impl Profile {
    /// Reads profiles that one machine measured at different times, and puts them together: a group
    /// has the times of all of them, and the events of the first that has any.
    ///
    /// # Errors
    /// A profile cannot be read, or does not measure what the first one does.
    pub fn read_all(paths: &[PathBuf]) -> Result<Self, ProfileError> {
        let mut all: Option<Self> = None;
        for path in paths {
            let next = Self::read(path)?;
            all = Some(match all {
                None => next,
                Some(mut all) => {
                    all.take(next, path)?;
                    all
                }
            });
        }
        all.ok_or_else(|| ProfileError::Io {
            path: PathBuf::new(),
            source: io::Error::new(io::ErrorKind::NotFound, "no profile was named"),
        })
    }

    /// Adds the groups of another profile, read from `path`.
    fn take(&mut self, other: Self, path: &Path) -> Result<(), ProfileError> {
        let apart =
            |differences: String| ProfileError::Apart { path: path.to_path_buf(), differences };
        // Times may come from one file and events from another.
        let mut alike = other.source.clone();
        (alike.events, alike.repeats) = (self.source.events.clone(), self.source.repeats);
        alike.program.clone_from(&self.source.program);
        if alike != self.source {
            return Err(apart(differences(&alike, &self.source)));
        }
        if self.source.events == EventSource::None {
            self.source.events = other.source.events;
        }
        let mut places: BTreeMap<String, usize> =
            self.rows.iter().enumerate().map(|(place, row)| (row.id.clone(), place)).collect();
        for row in other.rows {
            let Some(&place) = places.get(&row.id) else {
                places.insert(row.id.clone(), self.rows.len());
                self.rows.push(row);
                continue;
            };
            let known = &mut self.rows[place];
            if known.counts != row.counts {
                return Err(apart(format!("group {} did other work", row.id)));
            }
            known.ns.extend(row.ns);
            if known.events.is_empty() {
                (known.events, known.callgrind) = (row.events, row.callgrind);
            }
        }
        Ok(())
    }

    /// Reads a profile from a file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ProfileError::Io { path: path.to_path_buf(), source })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a profile; `path` is its name for messages.
    ///
    /// # Errors
    /// A line is wrong.
    fn parse(path: &Path, text: &str) -> Result<Self, ProfileError> {
        let fault = |line: usize, problem: String| ProfileError::Line {
            path: path.to_path_buf(),
            line,
            problem,
        };
        let mut lines = text.lines().enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(fault(1, "the file is empty".to_owned()));
        };
        let source = serde_json::from_str(first)
            .map_err(|error| fault(1, format!("no profile: {error}")))?;
        let mut rows: Vec<ProfiledGroup> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let row: ProfiledGroup =
                serde_json::from_str(line).map_err(|error| fault(number + 1, error.to_string()))?;
            if !known.insert(row.id.clone()) {
                return Err(fault(number + 1, format!("group {} stands there twice", row.id)));
            }
            rows.push(row);
        }
        Ok(Self { source, rows })
    }
}

/// The length in bytes of the last lines of a text.
fn text_of_last(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').rev().take(lines).map(str::len).sum()
}

/// What the first line of a profile says.
const KIND: LineKind = LineKind {
    name: "groups that `ssdtune predict-perf ftl profile` writes",
    is_head: |line| serde_json::from_str::<ProfileSource>(line).is_ok(),
};

fn of_file(path: &Path, error: LineFileError) -> ProfileError {
    match error {
        LineFileError::Foreign(error) => ProfileError::Foreign(error),
        LineFileError::Io(source) => ProfileError::Io { path: path.to_path_buf(), source },
    }
}

/// A file of a profile that is being written.
pub struct ProfileFile {
    file: LineFile,
    path: PathBuf,
    known: Vec<String>,
}

impl ProfileFile {
    /// How the groups of a file were measured; `None` if it was not begun yet. Nothing but the
    /// first line is read.
    ///
    /// # Errors
    /// The file is another's, or cannot be read.
    pub fn begun(path: &Path) -> Result<Option<ProfileSource>, ProfileError> {
        let head = LineFile::head(path, KIND).map_err(|error| of_file(path, error))?;
        Ok(head.and_then(|line| serde_json::from_str(&line).ok()))
    }

    /// Begins a file, or opens one that was begun with the same settings.
    ///
    /// # Errors
    /// The file cannot be read or written, is another's, or was begun with other settings. It is
    /// not changed then.
    pub fn open(path: &Path, source: &ProfileSource) -> Result<Self, ProfileError> {
        let opened = LineFile::open(path, &line_of(source), KIND);
        let (mut file, text) = opened.map_err(|error| of_file(path, error))?;
        let mut known = Vec::new();
        if !text.is_empty() {
            let found = Profile::parse(path, &text)?;
            if &found.source != source {
                let differences = differences(&found.source, source);
                return Err(ProfileError::Other { path: path.to_path_buf(), differences });
            }
            known = found.rows.iter().map(|row| row.workload().to_owned()).collect();
            known.dedup();
            // The groups of a workload are added together, so the last workload is torn.
            if file.is_torn()
                && let Some(torn) = known.pop()
            {
                let groups = found.rows.iter().rev().take_while(|row| row.workload() == torn);
                file.cut_at(text.len() - text_of_last(&text, groups.count()));
            }
        }
        Ok(Self { file, path: path.to_path_buf(), known })
    }

    /// Whether the file has the groups of a workload.
    pub fn knows(&self, label: &str) -> bool {
        self.known.iter().any(|known| known == label)
    }

    /// Adds the groups of a workload to the end of the file, by one write.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, rows: &[ProfiledGroup]) -> Result<(), ProfileError> {
        let text: String = rows.iter().map(line_of).collect();
        let io = |source| ProfileError::Io { path: self.path.clone(), source };
        self.file.add(&text).map_err(io)?;
        self.known.extend(rows.first().map(|row| row.workload().to_owned()));
        Ok(())
    }
}

/// The fields in which two sources differ, with both values, in words.
fn differences(there: &ProfileSource, here: &ProfileSource) -> String {
    let fields = |source: &ProfileSource| match serde_json::to_value(source) {
        Ok(serde_json::Value::Object(mut fields)) => {
            if let Some(serde_json::Value::Object(setup)) = fields.remove("setup") {
                fields.extend(setup);
            }
            fields
        }
        _ => serde_json::Map::new(),
    };
    let (there, here) = (fields(there), fields(here));
    let differing = here.iter().filter_map(|(name, wanted)| {
        let found = there.get(name)?;
        (found != wanted).then(|| format!("{name} is {found} there and {wanted} here"))
    });
    differing.collect::<Vec<_>>().join(", ")
}

fn line_of(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("a profile is plain data");
    line.push('\n');
    line
}

/// The CPU of this machine by the name that the system has for it, and its architecture.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    // Kernels for ARM name no model, only a part number: 0xd03 is a Cortex-A53.
    let part = || field("CPU part").map(|part| format!("CPU part {part}"));
    let cpu = field("model name").or_else(part).unwrap_or_else(|| "unknown CPU".to_owned());
    format!("{cpu}, {}", std::env::consts::ARCH)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::firmware) fn source() -> ProfileSource {
        ProfileSource {
            firmware_profile: Version,
            program: "test".to_owned(),
            machine: "a machine".to_owned(),
            setup: ProfileSetup {
                size: DriveSize::Small,
                group_requests: 1_000,
                scale: 10,
                groups_max: 20,
                warm_up: 1,
                seed: 0,
            },
            time: TimeSource::Measured,
            repeats: 3,
            events: EventSource::None,
        }
    }

    fn row(id: &str) -> ProfiledGroup {
        ProfiledGroup {
            id: id.to_owned(),
            counts: WorkCounts { requests: 1_000, ..WorkCounts::default() },
            ns: vec![5, 3, 4],
            events: BTreeMap::from([("INSTR".to_owned(), 9)]),
            callgrind: BTreeMap::new(),
        }
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[9, 1, 5]), Some(5.0));
        assert_eq!(median(&[9, 1, 5, 6]), Some(5.5));
    }

    #[test]
    fn what_is_written_is_read_and_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let mut store = ProfileFile::open(&path, &source()).unwrap();
        store.append(&[row("RW/0"), row("RW/1")]).unwrap();
        assert!(store.knows("RW") && !store.knows("SR"));
        drop(store);
        let mut store = ProfileFile::open(&path, &source()).unwrap();
        assert!(store.knows("RW") && !store.knows("SR"));
        store.append(&[row("SR/0")]).unwrap();
        let profile = Profile::read(&path).unwrap();
        assert_eq!(profile.source, source());
        assert_eq!(profile.rows, [row("RW/0"), row("RW/1"), row("SR/0")]);
        let other = ProfileSource { repeats: 4, ..source() };
        let error = ProfileFile::open(&path, &other).err().unwrap().to_string();
        assert!(
            error.contains("repeats is 3 there and 4 here. Write into another file"),
            "{error}"
        );
    }

    #[test]
    fn a_workload_of_which_half_was_written_is_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let mut store = ProfileFile::open(&path, &source()).unwrap();
        store.append(&[row("RW/0"), row("RW/1")]).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        store.append(&[row("SR/0"), row("SR/1")]).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        // In the second row of SR.
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let mut store = ProfileFile::open(&path, &source()).unwrap();
        assert!(store.knows("RW") && !store.knows("SR"));
        store.append(&[]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        store.append(&[row("SR/0"), row("SR/1")]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        let foreign = folder.path().join("foreign");
        std::fs::write(&foreign, "{}\n").unwrap();
        let error = ProfileFile::open(&foreign, &source()).err().unwrap();
        assert!(matches!(error, ProfileError::Foreign(_)), "{error}");
        assert!(ProfileFile::begun(&foreign).is_err());
        assert_eq!(ProfileFile::begun(&path).unwrap(), Some(source()));
    }

    #[test]
    fn profiles_of_one_machine_are_put_together() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, source: &ProfileSource, rows: &[ProfiledGroup]| {
            let path = folder.path().join(name);
            ProfileFile::open(&path, source).unwrap().append(rows).unwrap();
            path
        };
        let later = ProfiledGroup { ns: vec![1, 2], events: BTreeMap::new(), ..row("RW/0") };
        let first = write("a", &source(), &[row("RW/0")]);
        let second = write("b", &ProfileSource { repeats: 2, ..source() }, &[later, row("SR/0")]);
        let all = Profile::read_all(&[first.clone(), second]).unwrap();
        assert_eq!(all.rows.len(), 2);
        assert_eq!(all.rows[0].ns, [5, 3, 4, 1, 2]);
        assert_eq!(all.rows[0].events["INSTR"], 9);
        let elsewhere = ProfileSource { machine: "another".to_owned(), ..source() };
        let other = write("c", &elsewhere, &[row("RW/1")]);
        let error = Profile::read_all(&[first, other]).unwrap_err().to_string();
        assert!(
            error.contains("machine is \"another\" there and \"a machine\" here. Put"),
            "{error}"
        );
    }

    #[test]
    fn faults_name_their_line() {
        let good = line_of(&source());
        for (text, problem) in [
            (String::new(), "line 1: the file is empty"),
            ("{}\n".to_owned(), "line 1: no profile"),
            (good.replace("profile\":1", "profile\":2"), "version 2"),
            (
                format!("{good}{}{}", line_of(&row("RW/0")), line_of(&row("RW/0"))),
                "line 3: group RW/0",
            ),
            (format!("{good}{{\"id\":3}}\n"), "line 2"),
        ] {
            let error = Profile::parse(Path::new("x"), &text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
