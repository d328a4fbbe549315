//! What was measured at the points of a grid, as a file of JSON lines.
//!
//! The first line says what was measured and how ([`ResultsSource`]); every other line is a point
//! and what was measured there ([`PointResult`]). Lines are appended as soon as they are known,
//! each by one write. So a run that is killed loses only the points under way, and leaves at most
//! half a line, which is cut off when the file is opened again. Each line carries a key of
//! everything that decides it: the first line and the point.

use super::designs::Designs;
use super::point::Point;
use super::simulated_drive::{MeasureSettings, Performance};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ssdtune_learn::Version;
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{Bytes, DeviceConfig, Sectors, document, have_same_results};
use ssdtune_output::{LineFile, LineFileError, LineKind};
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::io;
use std::path::{Path, PathBuf};

/// What the results of a file are of, and how they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ResultsSource {
    /// A simulated drive.
    Simulated {
        /// Version of the file.
        version: Version<1>,
        /// Name of the drive.
        device: String,
        /// Digest of the drive's configuration without its name.
        device_digest: String,
        /// The program that simulated, and the version of its results.
        simulator: String,
        /// How points were measured.
        settings: MeasureSettings,
        /// Digest of the list of points. The points of a family share a drive, so the list matters.
        grid_digest: String,
        /// What the host sees of the drive, for designs: where they lie on it matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        visible_bytes: Option<Bytes>,
    },
    /// A real device, measured with fio.
    Fio {
        /// Version of the file.
        version: Version<1>,
        /// Name of the device, as the user gave it.
        device: String,
        /// Version of fio.
        fio: String,
        /// The files imported, in their order.
        files: Vec<String>,
    },
    /// A real drive, measured by others or in other formats.
    Measured {
        /// Version of the file.
        version: Version<1>,
        /// Name of the device, as the user gave it.
        device: String,
        /// The files imported, in their order.
        files: Vec<String>,
        /// The drive that was chosen of these, as they name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<String>,
        /// The rule that chose points.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<String>,
        /// Who measured, as the files name them.
        sources: Vec<String>,
    },
}

/// What one line of a file of results is of: a [`Point`], or a design at a depth. It is written as
/// a word.
pub trait Place: Copy + Ord + Debug + Display + Serialize + DeserializeOwned + Send + Sync {}

impl<P: Copy + Ord + Debug + Display + Serialize + DeserializeOwned + Send + Sync> Place for P {}

/// A point and what was measured there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "P: Place")]
pub struct PointResult<P = Point> {
    /// A digest of everything that decides the result ([`ResultsSource::key`]).
    pub key: String,
    /// The point.
    pub point: P,
    /// What was measured.
    #[serde(flatten)]
    pub performance: Performance,
}

/// The results of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Results<P = Point> {
    /// What they are of, and how they were measured.
    pub source: ResultsSource,
    /// The results, in the order of the file.
    pub rows: Vec<PointResult<P>>,
}

/// Why results cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system cannot read or write the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {problem}; measure it again into another file", path.display())]
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
        "{} was measured with another {field} ({found} there, {wanted} here): write into another \
         file, or measure with the same",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// The first setting that differs.
        field: String,
        /// Its value in the file.
        found: String,
        /// The value asked for.
        wanted: String,
    },
}

impl ResultsError {
    /// The file and the line, from 1, where the error is of one.
    pub fn place(&self) -> (&Path, Option<u64>) {
        match self {
            Self::Line { path, line, .. } => (path, Some(*line as u64)),
            Self::Io { path, .. } | Self::Other { path, .. } => (path, None),
            Self::Foreign(error) => (&error.path, None),
        }
    }
}

impl ResultsSource {
    /// Results of a simulated drive; `simulator` names the program and the version of its results.
    pub fn simulated(
        config: &DeviceConfig,
        simulator: String,
        settings: MeasureSettings,
        points: &[Point],
    ) -> Self {
        let names = points.iter().map(ToString::to_string).collect();
        Self::of(config, simulator, settings, names, None)
    }

    /// Results of designs on a simulated drive.
    pub fn designs(
        config: &DeviceConfig,
        simulator: String,
        settings: MeasureSettings,
        designs: &Designs,
    ) -> Self {
        let visible = Ledger::of(config).visible_bytes;
        Self::of(config, simulator, settings, designs.words(), Some(visible))
    }

    fn of(
        config: &DeviceConfig,
        simulator: String,
        settings: MeasureSettings,
        names: Vec<String>,
        visible_bytes: Option<Bytes>,
    ) -> Self {
        Self::Simulated {
            version: Version,
            device: config.name.clone(),
            device_digest: digest(&[&document::identity(config)]),
            simulator,
            settings,
            grid_digest: digest(&names.iter().map(String::as_str).collect::<Vec<_>>()),
            visible_bytes,
        }
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        match self {
            Self::Simulated { device, .. }
            | Self::Fio { device, .. }
            | Self::Measured { device, .. } => device,
        }
    }

    /// How a simulated drive was measured; `None` for a real one.
    pub const fn settings(&self) -> Option<&MeasureSettings> {
        match self {
            Self::Simulated { settings, .. } => Some(settings),
            Self::Fio { .. } | Self::Measured { .. } => None,
        }
    }

    /// The sectors that the host sees of the drive; `None` unless designs were measured on it.
    pub(super) fn space(&self) -> Option<Sectors> {
        match self {
            Self::Simulated { visible_bytes, .. } => visible_bytes.map(Bytes::sectors_floor),
            Self::Fio { .. } | Self::Measured { .. } => None,
        }
    }

    /// Digest of the configuration of a simulated drive; `None` for a real one.
    pub fn device_digest(&self) -> Option<&str> {
        match self {
            Self::Simulated { device_digest, .. } => Some(device_digest),
            Self::Fio { .. } | Self::Measured { .. } => None,
        }
    }

    /// The key of the result at a point.
    pub fn key(&self, point: &impl Place) -> String {
        let own = serde_json::to_string(self).expect("a source is plain data");
        digest(&[&own, &point.to_string()])[..32].to_owned()
    }

    /// The first field that differs: its name, its value here, its value in the other.
    fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let flat = |source: &Self| {
            let mut fields = BTreeMap::new();
            let value = serde_json::to_value(source).expect("a source is plain data");
            flatten("", &value, &mut fields);
            fields
        };
        let (ours, theirs) = (flat(self), flat(other));
        let nothing = || "nothing".to_owned();
        let differs = |key: &&String| match (ours.get(*key), theirs.get(*key)) {
            (Some(own), Some(other)) if *key == "simulator" => {
                let [own, other] = [own, other].map(|name| name.trim_matches('"'));
                !have_same_results(own, other)
            }
            (own, other) => own != other,
        };
        ours.keys().chain(theirs.keys()).find(differs).map(|key| {
            let of = |fields: &BTreeMap<String, String>| fields.get(key).cloned();
            (key.clone(), of(&ours).unwrap_or_else(nothing), of(&theirs).unwrap_or_else(nothing))
        })
    }
}

/// Adds the fields of a JSON value by their paths, as in `settings.seed`.
fn flatten(name: &str, value: &serde_json::Value, into: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{key}"), value, into);
            }
        }
        other => {
            into.insert(name.to_owned(), other.to_string());
        }
    }
}

/// A digest of some texts, as 64 hexadecimal digits.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

impl<P: Place> Results<P> {
    /// Results at points.
    pub fn new(source: ResultsSource, points: &[(P, Performance)]) -> Self {
        let row = |&(point, performance): &(P, Performance)| PointResult {
            key: source.key(&point),
            point,
            performance,
        };
        let rows = points.iter().map(row).collect();
        Self { source, rows }
    }

    /// What the results are of, and how many there are.
    pub(super) fn into_source(self) -> (ResultsSource, usize) {
        (self.source, self.rows.len())
    }

    /// The results as the lines of a file.
    pub fn to_lines(&self) -> String {
        let mut text = line(&self.source);
        text.extend(self.rows.iter().map(line));
        text
    }

    /// Reads a file. Half a line at its end, which a killed program leaves, does not count.
    ///
    /// # Errors
    /// The file cannot be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ResultsError::Io { path: path.to_path_buf(), source })?;
        parse(path, &text)
    }

    /// Digest of all that a model is fitted to: the points and what was measured there.
    pub fn digest(&self) -> String {
        let texts: Vec<String> = self.rows.iter().map(line).collect();
        digest(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// What the first line of a file of results says.
const KIND: LineKind = LineKind {
    name: "results that `ssdtune predict-perf sweep` writes",
    is_head: |line| serde_json::from_str::<ResultsSource>(line).is_ok(),
};

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

/// The results in the whole lines of a text.
fn parse<P: Place>(path: &Path, text: &str) -> Result<Results<P>, ResultsError> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let wrong = |number: usize, problem: String| ResultsError::Line {
        path: path.to_path_buf(),
        line: number + 1,
        problem,
    };
    let mut lines = text[..whole].lines().enumerate();
    let Some((_, first)) = lines.next() else {
        return Err(wrong(0, "it has no line that says what was measured".to_owned()));
    };
    let source: ResultsSource = serde_json::from_str(first)
        .map_err(|error| wrong(0, format!("it does not say what was measured: {error}")))?;
    let (mut rows, mut seen) = (Vec::new(), BTreeMap::new());
    for (number, text) in lines {
        let row: PointResult<P> = serde_json::from_str(text)
            .map_err(|error| wrong(number, format!("no measured point: {error}")))?;
        let Performance { latency_ns, iops, bandwidth_bps, offered_iops, .. } = row.performance;
        let figures = [latency_ns, iops, bandwidth_bps, offered_iops.unwrap_or(1.0)];
        if !figures.iter().all(|figure| figure.is_finite() && *figure > 0.0) {
            return Err(wrong(number, format!("{} has a figure that is not above 0", row.point)));
        }
        if row.key != source.key(&row.point) {
            let problem = format!("the key of {} is not that of line 1 and the point", row.point);
            return Err(wrong(number, problem));
        }
        if let Some(before) = seen.insert(row.point, number + 1) {
            return Err(wrong(number, format!("{} stands on line {before} already", row.point)));
        }
        rows.push(row);
    }
    Ok(Results { source, rows })
}

/// A file of results that is being written.
#[derive(Debug)]
pub struct ResultsFile<P = Point> {
    path: PathBuf,
    file: LineFile,
    results: Results<P>,
}

impl<P: Place> ResultsFile<P> {
    /// Begins a file, or opens one that was begun with the same settings.
    ///
    /// # Errors
    /// The file cannot be read or written, is another's, a line is wrong, or it was begun with
    /// other settings. It is not changed then.
    pub fn open(path: &Path, source: ResultsSource) -> Result<Self, ResultsError> {
        let opened = LineFile::open(path, &line(&source), KIND);
        let (file, text) = opened.map_err(|error| match error {
            LineFileError::Foreign(error) => ResultsError::Foreign(error),
            LineFileError::Io(source) => ResultsError::Io { path: path.to_path_buf(), source },
        })?;
        if text.is_empty() {
            let results = Results { source, rows: Vec::new() };
            return Ok(Self { path: path.to_path_buf(), file, results });
        }
        let results = parse(path, &text)?;
        if let Some((field, wanted, found)) = source.difference(&results.source) {
            return Err(ResultsError::Other { path: path.to_path_buf(), field, found, wanted });
        }
        Ok(Self { path: path.to_path_buf(), file, results })
    }

    /// The results in the file.
    pub const fn results(&self) -> &Results<P> {
        &self.results
    }

    /// Adds results to the end of the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, points: &[(P, Performance)]) -> Result<(), ResultsError> {
        let rows = Results::new(self.results.source.clone(), points).rows;
        let text: String = rows.iter().map(line).collect();
        self.file
            .add(&text)
            .map_err(|source| ResultsError::Io { path: self.path.clone(), source })?;
        self.results.rows.extend(rows);
        Ok(())
    }

    /// Puts the results into this order of points, so that the file does not tell in which order
    /// they were found. Results at other points come after them. The file is replaced as a whole.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn sort(mut self, order: &[P]) -> Result<Results<P>, ResultsError> {
        let place: BTreeMap<&P, usize> =
            order.iter().enumerate().map(|(at, point)| (point, at)).collect();
        self.results
            .rows
            .sort_by_key(|row| (place.get(&row.point).copied().unwrap_or(usize::MAX), row.point));
        let replaced = ssdtune_output::write(&self.path, self.results.to_lines());
        replaced.map_err(|source| ResultsError::Io { path: self.path.clone(), source })?;
        Ok(self.results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(seed: u64) -> ResultsSource {
        let settings = MeasureSettings { seed, ..MeasureSettings::default() };
        ResultsSource::simulated(&DeviceConfig::default(), "test".to_owned(), settings, &[])
    }

    fn measured(latency_ns: f64) -> Performance {
        Performance { latency_ns, iops: 1.0, bandwidth_bps: 2.0, offered_iops: None, requests: 3 }
    }

    fn point(name: &str) -> Point {
        name.parse().unwrap()
    }

    #[test]
    fn what_was_appended_is_read_and_half_a_line_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let (a, b) = (point("w100-q1-W4k.r0"), point("w0-q1-R4k.r0"));
        let mut store: ResultsFile = ResultsFile::open(&path, source(0)).unwrap();
        store.append(&[(a, measured(5.5))]).unwrap();
        store.append(&[(b, measured(6.25))]).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        // Wherever the writer was killed, what stands before is kept, and the rest can be appended
        // again.
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut store = ResultsFile::open(&path, source(0)).unwrap();
            for (point, latency) in
                [(a, 5.5), (b, 6.25)].into_iter().skip(store.results().rows.len())
            {
                store.append(&[(point, measured(latency))]).unwrap();
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "cut at {cut}");
        }
        let sorted = ResultsFile::open(&path, source(0)).unwrap().sort(&[b, a]).unwrap();
        assert_eq!(sorted.rows.iter().map(|row| row.point).collect::<Vec<_>>(), [b, a]);
        assert_eq!(Results::read(&path).unwrap(), sorted);
    }

    #[test]
    fn another_measurement_and_a_changed_line_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let one = [(point("w100-q1-W4k.r0"), measured(1.0))];
        ResultsFile::open(&path, source(0)).unwrap().append(&one).unwrap();
        let error = ResultsFile::<Point>::open(&path, source(7)).unwrap_err().to_string();
        assert!(error.contains("another settings.seed (0 there, 7 here)"), "{error}");
        let text = std::fs::read_to_string(&path).unwrap();
        for (from, to, problem) in [
            ("w100-q1-W4k.r0", "w100-q4-W4k.r0", "line 2: the key of w100-q4-W4k.r0"),
            ("\"latency_ns\":1.0", "\"latency_ns\":-1.0", "line 2: w100-q1-W4k.r0 has a figure"),
            ("\"latency_ns\":1.0", "\"latency\":1.0", "line 2: no measured point: missing field"),
            ("{\"kind\"", "{\"sort\"", "line 1: it does not say what was measured"),
        ] {
            assert!(text.contains(from), "{text}");
            std::fs::write(&path, text.replace(from, to)).unwrap();
            let error = Results::<Point>::read(&path).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
