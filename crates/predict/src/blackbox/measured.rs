//! What was measured of a real drive, as points: from the files that `ssdtune calibrate` reads
//! (columns, fio's JSON, SPDK's perf), or from fio's results of jobs that are named after points
//! ([`fio::import`]).
//!
//! Points are of closed loops, so what arrived at a given rate is left out, and what does not say
//! how many requests were outstanding. The rows of the reads and of the writes of a mix are one
//! point. Of repeats the median counts. A latency that was not measured is outstanding requests
//! over IOPS.

use super::fio::{self, FioError};
use super::point::{Access, Load, Pattern, Point, PointError};
use super::results::{Results, ResultsSource};
use super::simulated_drive::Performance;
use ssdtune_calibrate::{Direction, Expression, Operation, Point as Measured, ReadError, read};
use ssdtune_learn::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is taken of the files.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Name of the device in reports.
    pub device: String,
    /// The drive, as the files name it.
    pub drive: Option<String>,
    /// Which points are taken; all without a rule.
    pub only: Option<Expression>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The points.
    pub results: Results,
    /// What was left out or put together, in words for people.
    pub notes: Vec<String>,
}

/// Why files cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read as results of jobs named after points.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// A file cannot be read, or holds no points.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The points are of several drives.
    #[error("the points are of {}: choose one with --drive", names(.0))]
    Drives(BTreeSet<String>),
    /// No point is of a closed loop and of the drive and the rule.
    #[error("none of {found} points can be taken: {left_out}")]
    Nothing {
        /// How many points there are.
        found: usize,
        /// Why they are left out.
        left_out: String,
    },
    /// A measured point is not one that models know.
    #[error("{at}: {error}")]
    Point {
        /// Where it stands.
        at: String,
        /// What is wrong.
        error: PointError,
    },
}

fn names(all: &BTreeSet<String>) -> String {
    all.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

impl ImportError {
    /// The file, where the error is of one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Fio(error) => error.path(),
            Self::Read(error) => Some(error.path()),
            Self::Drives(_) | Self::Nothing { .. } | Self::Point { .. } => None,
        }
    }
}

/// Reads the points of files and folders.
///
/// # Errors
/// A file cannot be read, is faulty, or nothing in it can be taken.
pub fn import(paths: &[PathBuf], options: &ImportOptions) -> Result<Imported, ImportError> {
    if let Some(files) = files_of_points(paths) {
        let (source, points) = fio::import(options.device.clone(), &files)?;
        return Ok(Imported { results: Results::new(source, &points), notes: Vec::new() });
    }
    let found = read(paths)?;
    let mut notes = found.notes();
    let count = found.points.len();
    let (taken, left_out) = choose(found.points, options)?;
    notes.extend(left_out.iter().map(|(why, count)| format!("{count} points left out: {why}")));
    let sources = taken.iter().map(|one| one.source.clone()).collect::<BTreeSet<_>>();
    let mut repeats: BTreeMap<Point, Vec<Performance>> = BTreeMap::new();
    for (point, performance) in joined(&taken)? {
        repeats.entry(point).or_default().push(performance);
    }
    if repeats.is_empty() {
        return Err(ImportError::Nothing { found: count, left_out: notes.join("; ") });
    }
    let merged: usize = repeats.values().map(|all| all.len() - 1).sum();
    if merged > 0 {
        notes.push(format!("{merged} points are repeats: the median of each counts"));
    }
    let points: Vec<(Point, Performance)> =
        repeats.into_iter().map(|(point, all)| (point, median(all))).collect();
    let source = ResultsSource::Measured {
        version: Version,
        device: options.device.clone(),
        files: paths.iter().map(|path| path.display().to_string()).collect(),
        drive: options.drive.clone(),
        only: options.only.as_ref().map(ToString::to_string),
        sources: sources.into_iter().collect(),
    };
    Ok(Imported { results: Results::new(source, &points), notes })
}

/// The texts of the files, if all are fio's and one of their jobs is named after a point.
fn files_of_points(paths: &[PathBuf]) -> Option<Vec<(String, String)>> {
    let text =
        |path: &PathBuf| Some((path.display().to_string(), std::fs::read_to_string(path).ok()?));
    let files: Vec<(String, String)> = paths.iter().map(text).collect::<Option<_>>()?;
    let is_of_points = |(_, text): &(String, String)| fio::names_points(text);
    files.iter().all(is_of_points).then_some(files)
}

/// The points of the drive, of the rule and of closed loops, and how many are left out for what.
fn choose(
    points: Vec<Measured>,
    options: &ImportOptions,
) -> Result<(Vec<Measured>, BTreeMap<&'static str, usize>), ImportError> {
    let mut left_out = BTreeMap::new();
    let drive = |one: &Measured| match (&options.drive, &one.drive) {
        (Some(wanted), Some(own)) => wanted == own,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let chosen = |one: &Measured| options.only.as_ref().is_none_or(|rule| rule.chooses(one));
    let why = |one: &Measured| match one {
        one if !drive(one) => Some("they are of other drives"),
        one if !chosen(one) => Some("--only does not choose them"),
        one if one.operation.is_paced() => Some("their requests arrive at a given rate"),
        one if one.outstanding().is_none_or(|number| number == 0) => {
            Some("they do not say how many requests are outstanding")
        }
        one if one.figures.iops.is_none() && one.figures.bandwidth.is_none() => {
            Some("they have neither IOPS nor bandwidth")
        }
        _ => None,
    };
    let mut taken = Vec::new();
    for one in points {
        match why(&one) {
            Some(why) => *left_out.entry(why).or_insert(0) += 1,
            None => taken.push(one),
        }
    }
    let drives: BTreeSet<String> = taken.iter().filter_map(|one| one.drive.clone()).collect();
    match drives.len() {
        0 | 1 => Ok((taken, left_out)),
        _ => Err(ImportError::Drives(drives)),
    }
}

/// The points with their figures. The n-th reads of a mix belong to the n-th writes of the same.
fn joined(points: &[Measured]) -> Result<Vec<(Point, Performance)>, ImportError> {
    let (mut all, mut mixes) = (Vec::new(), BTreeMap::<String, [Vec<&Measured>; 2]>::new());
    for one in points {
        let point = point_of(one)?;
        if !one.operation.is_mixed() {
            all.push((point, performance(&[one])));
            continue;
        }
        let side = usize::from(one.operation.direction() == Direction::Write);
        let key = format!("{point} {} {:?} {}", one.source, one.run, one.notes);
        mixes.entry(key).or_default()[side].push(one);
    }
    for [reads, writes] in mixes.into_values() {
        for (read, write) in reads.into_iter().zip(writes) {
            all.push((point_of(read)?, performance(&[read, write])));
        }
    }
    Ok(all)
}

/// The point of a measured one.
fn point_of(one: &Measured) -> Result<Point, ImportError> {
    let percent = if one.operation.is_sequential() { 0 } else { 100 };
    let access = Access { bytes: one.block_bytes, pattern: Pattern::Random { percent } };
    let writes = match (one.operation.is_mixed(), one.operation) {
        (true, _) => (100.0 - one.read_percent).round().clamp(1.0, 99.0) as u32,
        (false, Operation::RandomWrite | Operation::SequentialWrite) => 100,
        (false, _) => 0,
    };
    let of = |is_there: bool| is_there.then_some(access);
    let depth = Load::Depth(one.iodepth.unwrap_or(0));
    Point::new(writes, depth, of(writes > 0), of(writes < 100))
        .and_then(|point| point.with_jobs(one.numjobs))
        .map_err(|error| ImportError::Point { at: one.at.clone(), error })
}

/// What the reads and the writes of a point did together.
fn performance(sides: &[&Measured]) -> Performance {
    let (mut iops, mut bandwidth_bps, mut latency, mut is_known) = (0.0, 0.0, 0.0, true);
    for side in sides {
        let bytes = f64::from(side.block_bytes);
        let moved = side.figures.bandwidth.map(|own| own.0 * (1 << 20) as f64);
        let own = side.figures.iops.map_or_else(|| moved.unwrap_or(0.0) / bytes, |own| own.0);
        iops += own;
        bandwidth_bps += moved.unwrap_or(own * bytes);
        latency += own * side.figures.mean.map_or(0.0, |mean| mean.0 * 1e3);
        is_known &= side.figures.mean.is_some();
    }
    let outstanding = sides[0].outstanding().map_or(1.0, f64::from);
    let latency_ns = if is_known { latency / iops } else { outstanding * 1e9 / iops };
    Performance { latency_ns, iops, bandwidth_bps, offered_iops: None, requests: 0 }
}

/// The median of each figure.
fn median(all: Vec<Performance>) -> Performance {
    let of = |figure: &dyn Fn(&Performance) -> f64| {
        let mut values: Vec<f64> = all.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 {
            values[middle]
        } else {
            0.5 * (values[middle - 1] + values[middle])
        }
    };
    Performance {
        latency_ns: of(&|one| one.latency_ns),
        iops: of(&|one| one.iops),
        bandwidth_bps: of(&|one| one.bandwidth_bps),
        offered_iops: None,
        requests: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "source,drive,op,rwmix_read,bs,iodepth,numjobs,iops,bw,lat_mean_us,notes\n";

    fn import_of(lines: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        std::fs::write(&path, format!("{HEAD}{lines}")).unwrap();
        import(&[path], options)
    }

    #[test]
    fn rows_become_points_and_what_is_left_out_is_said() {
        let lines = "a,d,randread,100,4096,16,4,1000,,60,\n\
                     a,d,randread,100,4096,16,4,3000,,20,\n\
                     a,d,randread,100,4096,16,4,2000,,31,\n\
                     a,d,write,0,131072,1,1,,100,,\n\
                     a,d,randrw-r,70,4096,8,1,700,,10,\n\
                     a,d,randrw-w,70,4096,8,1,300,,20,\n\
                     a,d,open-r,100,4096,8,1,700,,10,\n\
                     a,d,randread,100,4096,,1,700,,10,\n";
        let Imported { results, notes } = import_of(lines, &ImportOptions::default()).unwrap();
        let names: Vec<String> = results.rows.iter().map(|row| row.point.to_string()).collect();
        let wanted = ["w0-q16-j4-R4k.r100", "w30-q8-W4k.r100-R4k.r100", "w100-q1-W128k.r0"];
        assert_eq!(names, wanted);
        let of = |at: usize| results.rows[at].performance;
        assert_eq!((of(0).iops, of(0).latency_ns), (2000.0, 31_000.0));
        assert_eq!((of(1).iops, of(1).latency_ns), (1000.0, 13_000.0));
        // 100 MiB/s of 128 KiB are 800 requests a second, one at a time.
        assert_eq!((of(2).iops, of(2).latency_ns), (800.0, 1_250_000.0));
        let notes = notes.join("\n");
        assert!(
            notes.contains("1 points left out: their requests arrive at a given rate"),
            "{notes}"
        );
        assert!(notes.contains("1 points left out: they do not say how many"), "{notes}");
        assert!(notes.contains("2 points are repeats"), "{notes}");
    }

    #[test]
    fn one_drive_is_chosen_by_name_and_rule() {
        let lines = "a,d,randread,100,4096,1,1,1000,,60,\nb,e,randread,100,4096,1,1,2000,,60,\n\
                     c,e,randread,100,4096,1,1,4000,,60,\n";
        let error = import_of(lines, &ImportOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "the points are of \"d\", \"e\": choose one with --drive");
        let only = Some("source=c".parse().unwrap());
        let options = ImportOptions { drive: Some("e".to_owned()), only, ..Default::default() };
        let found = import_of(lines, &options).unwrap();
        assert_eq!(found.results.rows.len(), 1);
        assert_eq!(found.results.rows[0].performance.iops, 4000.0);
        let options = ImportOptions { drive: Some("f".to_owned()), ..Default::default() };
        let error = import_of(lines, &options).unwrap_err().to_string();
        assert!(error.contains("none of 3 points") && error.contains("other drives"), "{error}");
    }
}
