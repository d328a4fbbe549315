//! Reading points and runs of writes from files of several formats, which are told apart by their
//! content.
//!
//! - columns separated by commas, with a line of names ([`columns`]): points, runs of writes, or
//!   samples of runs over time;
//! - fio's JSON output, `json` and `json+` ([`fio`]), one file or a folder of them as fio-plot's
//!   bench-fio leaves it;
//! - the text that SPDK's `perf` prints ([`spdk`]).
//!
//! Files may be compressed (gzip, zstd, xz, bzip2). They are untrusted: no more than 64 MiB of one
//! is read, and every fault names file, place and field.

mod columns;
mod fio;
mod spdk;

use crate::point::{Figures, MibPerSecond, Point};
use crate::run::Run;
use ssdtune_trace::compress::decompressed;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest file that is read.
const BYTES_MAX: u64 = 64 << 20;
/// Most files that are looked at in a folder.
const FILES_MAX: usize = 100_000;
/// Largest size of a request.
const BLOCK_BYTES_MAX: u64 = 64 << 20;
/// Most requests outstanding in a job, and most jobs.
const COUNT_MAX: u64 = 65_536;

/// Why a file gives no points.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is none of those that are known.
    #[error(
        "{}: {problem}; points are read from columns with a line of names (source, drive, op, \
         rwmix_read, bs, iodepth, numjobs, iops, bw, lat_mean_us, lat_p50, p99, p999, notes), from \
         fio --output-format=json or json+, and from what SPDK's perf prints", path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something in the file is wrong.
    #[error("{}, {place}: {problem}", path.display())]
    Faulty {
        /// The file.
        path: PathBuf,
        /// Where in the file: a line, or a job.
        place: String,
        /// What is wrong, and what to do.
        problem: String,
    },
}

impl ReadError {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        let (Self::Unreadable { path, .. }
        | Self::Unknown { path, .. }
        | Self::Faulty { path, .. }) = self;
        path
    }
}

/// A fault within a file: its place, and what is wrong.
type Fault = (String, String);

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The points, in the order of files and lines.
    pub points: Vec<Point>,
    /// The runs of writes, in the same order.
    pub runs: Vec<Run>,
    /// Files of folders that hold no points.
    pub skipped: Vec<PathBuf>,
    /// Columns that are not read: they may be misspelt.
    pub unread: BTreeSet<String>,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Columns,
    Runs,
    Fio,
    Spdk,
}

impl Format {
    /// The format of a text, by its content.
    fn of(text: &str) -> Option<Self> {
        if spdk::is_table(text) {
            Some(Self::Spdk)
        } else if text.contains("\"fio version\"") {
            Some(Self::Fio)
        } else if columns::is_header_of_runs(text) {
            Some(Self::Runs)
        } else {
            columns::is_header(text).then_some(Self::Columns)
        }
    }
}

/// Reads the points of files and folders. The name of a file or folder is the source of those of
/// its points that name none.
///
/// # Errors
/// A file cannot be read, holds no points, or is faulty. Files within folders that hold no points
/// are skipped, unless all of a folder's do.
pub fn read(paths: &[PathBuf]) -> Result<Found, ReadError> {
    let mut found = Found::default();
    for path in paths {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let source = stem.to_string_lossy().into_owned();
        if !path.is_dir() {
            found.add(path, &source, &text_of(path)?)?;
            continue;
        }
        let before = found.points.len() + found.runs.len();
        for file in files_below(path)? {
            let Ok(text) = text_of(&file) else {
                found.skipped.push(file);
                continue;
            };
            match Format::of(&text) {
                Some(_) => found.add(&file, &source, &text)?,
                None => found.skipped.push(file),
            }
        }
        if found.points.len() + found.runs.len() == before {
            let problem = "no file in it holds points".to_owned();
            return Err(ReadError::Unknown { path: path.clone(), problem });
        }
    }
    found.runs = Run::joined(found.runs);
    Ok(found)
}

/// Reads the points of one text, which comes from the file at `path`; `source` is the source of
/// those that name none.
///
/// # Errors
/// The text holds no points, or is faulty.
pub fn parse(path: &Path, source: &str, text: &str) -> Result<Vec<Point>, ReadError> {
    let mut found = Found::default();
    found.add(path, source, text)?;
    if found.points.is_empty() {
        let problem = "it holds runs of writes, and no points".to_owned();
        return Err(ReadError::Unknown { path: path.to_path_buf(), problem });
    }
    Ok(found.points)
}

impl Found {
    /// What was left out, in words for people.
    pub fn notes(&self) -> Vec<String> {
        let (files, columns) = (self.skipped.len(), Vec::from_iter(self.unread.iter().cloned()));
        let files = (files > 0).then(|| format!("{files} other files in the folders are skipped"));
        let columns = (!columns.is_empty())
            .then(|| format!("columns that are not read: {}", columns.join(", ")));
        files.into_iter().chain(columns).collect()
    }

    /// Adds what a text holds.
    fn add(&mut self, path: &Path, source: &str, text: &str) -> Result<(), ReadError> {
        let unknown = |problem: &str| ReadError::Unknown {
            path: path.to_path_buf(),
            problem: problem.to_owned(),
        };
        let format = Format::of(text).ok_or_else(|| unknown("no points"))?;
        let file = path.display().to_string();
        let before = self.points.len() + self.runs.len();
        let added = match format {
            Format::Columns => {
                columns::read(&file, source, text).map(|own| self.points.extend(own))
            }
            Format::Runs => {
                columns::read_runs(&file, source, text).map(|own| self.runs.extend(own))
            }
            Format::Fio => fio::read(&file, source, text).map(|own| self.points.extend(own)),
            Format::Spdk => spdk::read(&file, source, text).map(|own| self.points.extend(own)),
        };
        added.map_err(|(place, problem)| ReadError::Faulty {
            path: path.to_path_buf(),
            place,
            problem,
        })?;
        if matches!(format, Format::Columns | Format::Runs) {
            self.unread.extend(columns::unread(text));
        }
        let is_empty = self.points.len() + self.runs.len() == before;
        if is_empty { Err(unknown("it has no points, only names")) } else { Ok(()) }
    }
}

/// The text of a file, decompressed if it is compressed, unless it is too long.
fn text_of(path: &Path) -> Result<String, ReadError> {
    let unreadable = |source| ReadError::Unreadable { path: path.to_path_buf(), source };
    let mut text = String::new();
    let file = fs::File::open(path).and_then(decompressed).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > BYTES_MAX {
        let problem = "more than 64 MiB: divide it".to_owned();
        return Err(ReadError::Unknown { path: path.to_path_buf(), problem });
    }
    Ok(text)
}

/// The files of a folder and all below it, in the order of their names.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let (mut open, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        let unreadable = |source| ReadError::Unreadable { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // Links are not followed, so that no folder is seen twice.
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        if files.len() > FILES_MAX {
            let problem = format!("more than {FILES_MAX} files below it: name a smaller folder");
            return Err(ReadError::Unknown { path: folder, problem });
        }
    }
    files.sort();
    Ok(files)
}

/// A size of requests in bytes, as fio and people write it: `4096`, `4k`, `128KiB`, `1m`.
fn block_bytes(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(factor)?;
    let is_legal = bytes.is_multiple_of(512) && (512..=BLOCK_BYTES_MAX).contains(&bytes);
    u32::try_from(bytes).ok().filter(|_| is_legal)
}

/// What to write for a size that is not legal.
const BLOCK_BYTES_LEGAL: &str = "a multiple of 512 bytes up to 64 MiB, such as 4096 or 4k";

/// A depth or a number of jobs; 0 stands for one that is not known.
fn count(text: &str) -> Option<u32> {
    let number = text.trim().parse::<u64>().ok().filter(|number| *number <= COUNT_MAX)?;
    u32::try_from(number).ok()
}

/// The bandwidth that follows from the rate, where a file does not say it.
fn with_bandwidth(mut figures: Figures, block_bytes: u32) -> Figures {
    let of_rate = || figures.iops.map(|rate| rate.0 * f64::from(block_bytes) / 1_048_576.0);
    figures.bandwidth = figures.bandwidth.or_else(|| of_rate().map(MibPerSecond));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::compress;
    use std::io::Write as _;

    #[test]
    fn sizes_are_read_as_fio_writes_them() {
        let read = ["4096", "4k", "4KiB", "1m", "0.5k", "4x", "100", "", "1000m"].map(block_bytes);
        let some = [Some(4096), Some(4096), Some(4096), Some(1 << 20)];
        assert_eq!(read[..4], some);
        assert_eq!(read[4..], [None; 5]);
    }

    #[test]
    fn a_folder_is_one_source_and_other_files_in_it_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("drive/4k");
        fs::create_dir_all(&below).unwrap();
        let job = |depth: u32| {
            format!(
                r#"{{ "fio version": "fio-3.36", "global options": {{ "bs": "4k" }}, "jobs": [
                {{ "jobname": "x", "job options": {{ "rw": "randread", "iodepth": "{depth}" }},
                  "read": {{ "total_ios": 9, "iops": 100.0, "bw_bytes": 409600,
                    "lat_ns": {{ "mean": 10000.0 }} }} }} ] }}"#
            )
        };
        fs::write(below.join("randread-1-1.json"), job(1)).unwrap();
        fs::write(below.join("randread-2-1.json"), job(2)).unwrap();
        fs::write(below.join("randread_bw.1.log"), "1, 2, 3, 4\n").unwrap();
        let found = read(&[folder.path().to_path_buf()]).unwrap();
        assert_eq!(found.points.iter().filter_map(|p| p.iodepth).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found.points[0].source, found.points[1].source);
        assert_eq!(found.skipped.len(), 1);
        fs::remove_dir_all(folder.path().join("drive")).unwrap();
        let error = read(&[folder.path().to_path_buf()]).unwrap_err().to_string();
        assert!(error.contains("no file in it holds points"), "{error}");
    }

    #[test]
    fn samples_of_runs_are_joined_with_their_sums_and_files_may_be_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let (sums, samples) = (folder.path().join("wa.csv"), folder.path().join("t.csv.xz"));
        let head = "source,drive,run,pattern,details,span_gib,bs,run_s,write_mb_s,wa\n";
        fs::write(&sums, format!("{head}rig,A,1,zipf-shuffle,0.8,2,4k,35,,2.5\n")).unwrap();
        let head = "source,drive,run,pattern,span_gib,bs,t_s,write_mib_s,read_iops\n";
        let row = |drive: &str, t: u32, rate: u32| {
            format!("rig,{drive},1,zipf-shuffle 0.800000,2,4096,{t},{rate},0\n")
        };
        let rows = [row("A", 10, 200), row("B", 10, 7), row("A", 20, 0), row("A", 30, 100)];
        let (file, xz) = (fs::File::create(&samples).unwrap(), compress::Compression::Xz);
        let mut file = compress::Compressor::new(file, xz).unwrap();
        file.write_all(format!("{head}{}", rows.concat()).as_bytes()).unwrap();
        file.finish().unwrap();
        for files in [[sums.clone(), samples.clone()], [samples.clone(), sums]] {
            let runs = read(&files).unwrap().runs;
            assert_eq!(runs.len(), 2, "{runs:?}");
            let both = runs.iter().find(|run| run.drive.as_deref() == Some("A")).unwrap();
            assert_eq!((both.samples.len(), both.write_amplification), (3, Some(2.5)));
            assert_eq!(both.host_bytes(), 3000.0 * 1_048_576.0);
            assert_eq!(both.mib_per_second, Some(100.0));
        }
        fs::write(&samples, format!("{head}{}{}", row("A", 10, 1), row("A", 10, 1))).unwrap();
        let error = read(std::slice::from_ref(&samples)).unwrap_err().to_string();
        assert!(error.contains("run 1: t_s must grow"), "{error}");
        fs::write(&samples, format!("{head}{}", row("A", 0, 1))).unwrap();
        let error = read(&[samples]).unwrap_err().to_string();
        assert!(error.contains("line 2: t_s: write the seconds"), "{error}");
    }

    #[test]
    fn what_is_no_file_of_points_is_refused_with_the_formats() {
        let error = parse(Path::new("a.txt"), "a", "hello\n").unwrap_err();
        assert!(error.to_string().contains("fio --output-format=json"), "{error}");
        assert_eq!(error.path(), Path::new("a.txt"));
        let missing = read(&[PathBuf::from("missing.csv")]).unwrap_err();
        assert!(missing.to_string().starts_with("cannot read missing.csv"), "{missing}");
    }
}
