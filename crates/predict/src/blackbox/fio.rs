//! Real devices: job files with which fio measures the points of a grid, and fio's JSON output as
//! results.
//!
//! A job has the name of its point, by which its result is found. Most points are one fio job with
//! fio's own options: `rw`, `bs`, `rwmixwrite`, `percentage_random`, and `rw=write:16k` for
//! strides. fio has one stride for both directions, so a mixed point with a strided direction
//! replays a log of the requests that would be simulated (`read_iolog`, version 2), at the point's
//! depth.
//!
//! The reader takes what `--output-format=json` or `json+` writes (fio 3.0 or later), also with
//! notes before and after the document. It uses the mean total latency (`lat_ns`), IOPS and bytes
//! in a second of both directions.
//!
//! Points of several jobs become fio's `numjobs`, reported as one group.
//!
//! Left out: open loops, verification, percentiles of latencies.

use super::point::{Access, Load, Pattern, Point};
use super::requests::PointRequests;
use super::results::ResultsSource;
use super::simulated_drive::Performance;
use ssdtune_learn::Version;
use ssdtune_model::{Bytes, SECTOR_BYTES};
use ssdtune_trace::Op;
use ssdtune_trace::fio_output::{FioJob, FioOutput};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// How fio is to measure the points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// File or device to measure. Writes destroy what it holds.
    pub filename: String,
    /// How much of the file or device is used.
    pub size: Bytes,
    /// Seconds in which each point is measured.
    pub seconds: u32,
    /// Seconds for which each point runs before it is measured.
    pub ramp_seconds: u32,
    /// fio's I/O engine; depths above 1 need an asynchronous one.
    pub engine: String,
    /// Whether requests go past the page cache, as is right for measuring a device.
    pub direct: bool,
    /// How many requests a log has.
    pub log_requests: usize,
    /// Folder in which fio finds the logs.
    pub log_folder: String,
    /// Decides the random draws of the requests in the logs.
    pub seed: u64,
}

/// A job file, and the logs that it replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Text of the job file.
    pub text: String,
    /// Name and text of each log.
    pub logs: Vec<(String, String)>,
}

/// Why points cannot be made into jobs, or a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    /// The point is of an open loop, which fio's jobs do not have.
    #[error("{point} is an open loop: fio's jobs are made of points with a depth (q)")]
    Open {
        /// The point.
        point: Point,
    },
    /// The area that is measured has less room than one request takes.
    #[error("{point} has requests of {largest}, and the area to measure has {size}: take more")]
    Small {
        /// The point.
        point: Point,
        /// The size of its largest request.
        largest: Bytes,
        /// The size of the area.
        size: Bytes,
    },
    /// The file is not what fio writes.
    #[error("{file}: no output of fio: {problem} (write it with fio --output-format=json)")]
    Document {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// The result of one job cannot be used.
    #[error("{file}, job {job:?}: {problem}")]
    Job {
        /// The file.
        file: String,
        /// Name of the job.
        job: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// Two files have a result for one point.
    #[error("{file}: {point} is in a file before it: import each point once")]
    Twice {
        /// The second of the files.
        file: String,
        /// The point.
        point: Point,
    },
}

impl FioError {
    /// The file, where the error is of one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { .. } | Self::Small { .. } => None,
            Self::Document { file, .. } | Self::Job { file, .. } | Self::Twice { file, .. } => {
                Some(Path::new(file))
            }
        }
    }
}

/// Makes a job file that measures the points.
///
/// # Errors
/// A point is of an open loop, or has requests that are larger than the area to measure.
pub fn jobs(points: &[Point], options: &JobOptions) -> Result<Jobs, FioError> {
    let JobOptions { filename, size, seconds, ramp_seconds, engine, direct, .. } = options;
    let direct = u8::from(*direct);
    let mut text = format!(
        "; ssdtune predict-perf fio-jobs: {} points. Writes destroy what {filename} holds.\n\
         ; fio --output-format=json --output=results.json THIS_FILE\n\
         [global]\nfilename={filename}\nsize={}\nioengine={engine}\ndirect={direct}\nthread=1\n\
         norandommap=1\nrandom_generator=tausworthe64\nrandrepeat=1\n",
        points.len(),
        size.0,
    );
    let timed = format!("time_based=1\nruntime={seconds}\nramp_time={ramp_seconds}\n");
    let mut logs = Vec::new();
    for point in points {
        let Load::Depth(depth) = point.load() else { return Err(FioError::Open { point: *point }) };
        let sizes = [point.read(), point.write()].into_iter().flatten().map(|access| access.bytes);
        let largest = Bytes(sizes.max().unwrap_or(0).into());
        if largest > *size {
            return Err(FioError::Small { point: *point, largest, size: *size });
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[{point}]\nstonewall\niodepth={depth}\n");
        if point.jobs() > 1 {
            let _ = write!(text, "numjobs={}\ngroup_reporting=1\n", point.jobs());
        }
        match native(point) {
            Some(lines) => text += &(lines + &timed),
            None => {
                let name = format!("{point}.iolog");
                let _ =
                    writeln!(text, "read_iolog={}/{name}\nreplay_no_stall=1", options.log_folder);
                logs.push((name, log(point, options)));
            }
        }
    }
    Ok(Jobs { text, logs })
}

/// A point in fio's own options; `None` if they cannot express it.
fn native(point: &Point) -> Option<String> {
    let lines = |rw: &str, rest: String| Some(format!("rw={rw}\n{rest}"));
    match (point.write(), point.read()) {
        (Some(write), Some(read)) => {
            let random = |access: Access| match access.pattern {
                Pattern::Random { percent } => Some(percent),
                Pattern::Stride { .. } => None,
            };
            let (writes, reads) = (random(write)?, random(read)?);
            let shared = format!(
                "rwmixwrite={}\nbs={},{}\n",
                point.write_percent(),
                read.bytes,
                write.bytes
            );
            match (writes, reads) {
                (0, 0) => lines("rw", shared),
                _ => lines("randrw", format!("{shared}percentage_random={reads},{writes}\n")),
            }
        }
        (Some(only), None) | (None, Some(only)) => {
            let verb = if point.write().is_some() { "write" } else { "read" };
            let size = format!("bs={}\n", only.bytes);
            match only.pattern {
                Pattern::Random { percent: 0 } => lines(verb, size),
                Pattern::Random { percent } => {
                    let share = format!("{size}percentage_random={percent}\n");
                    lines(&format!("rand{verb}"), share)
                }
                Pattern::Stride { gap_bytes } => lines(&format!("{verb}:{gap_bytes}"), size),
            }
        }
        (None, None) => None,
    }
}

/// The requests of a point as a log that fio replays.
fn log(point: &Point, options: &JobOptions) -> String {
    let name = &options.filename;
    let mut text = format!("fio version 2 iolog\n{name} add\n{name} open\n");
    for request in PointRequests::new(point, options.size, options.seed).take(options.log_requests)
    {
        let verb = if request.op == Op::Write { "write" } else { "read" };
        let (at, length) = (request.lba.bytes().0, u64::from(request.sectors) * SECTOR_BYTES);
        let _ = writeln!(text, "{name} {verb} {at} {length}");
    }
    text + &format!("{name} close\n")
}

/// What fio measured, from the names and texts of the files that it has written.
///
/// # Errors
/// A file is not what fio writes, a job is no point, failed or moved nothing, or a point was
/// measured twice.
pub fn import(
    device: String,
    files: &[(String, String)],
) -> Result<(ResultsSource, Vec<(Point, Performance)>), FioError> {
    let mut versions: Vec<String> = Vec::new();
    let mut all: Vec<(Point, Performance)> = Vec::new();
    for (file, text) in files {
        let (version, found) = read(file, text)?;
        let is_known = |point: &Point| all.iter().any(|(known, _)| known == point);
        if let Some(&(point, _)) = found.iter().find(|(point, _)| is_known(point)) {
            return Err(FioError::Twice { file: file.clone(), point });
        }
        if !versions.contains(&version) {
            versions.push(version);
        }
        all.extend(found);
    }
    let files = files.iter().map(|(file, _)| file.clone()).collect();
    let source = ResultsSource::Fio { version: Version, device, fio: versions.join(", "), files };
    Ok((source, all))
}

/// Whether a text is fio's, with a job that is named after a point.
pub(super) fn names_points(text: &str) -> bool {
    let Ok(document) = FioOutput::parse(text) else { return false };
    document.jobs.iter().any(|job| job.name.parse::<Point>().is_ok())
}

/// Reads one file: the version of fio, and what each job measured.
fn read(file: &str, text: &str) -> Result<(String, Vec<(Point, Performance)>), FioError> {
    let wrong = |problem: String| FioError::Document { file: file.to_owned(), problem };
    let document = FioOutput::parse(text).map_err(|error| wrong(error.to_string()))?;
    let mut found: BTreeMap<Point, Performance> = BTreeMap::new();
    let mut order = Vec::new();
    for job in &document.jobs {
        let wrong = |problem: String| FioError::Job {
            file: file.to_owned(),
            job: job.name.clone(),
            problem,
        };
        let point: Point = job.name.parse().map_err(|error| wrong(format!("{error}")))?;
        if found.insert(point, performance(job).map_err(&wrong)?).is_some() {
            return Err(wrong("a second job of this name: run each point once".to_owned()));
        }
        order.push(point);
    }
    Ok((document.version, order.into_iter().map(|point| (point, found[&point])).collect()))
}

/// What one job measured; the error says what is wrong with it.
fn performance(job: &FioJob) -> Result<Performance, String> {
    if job.error != 0 {
        return Err(format!("fio ended it with error {}: run it again", job.error));
    }
    let (mut requests, mut latency) = (0, 0.0);
    for (name, side) in [("read", &job.read), ("write", &job.write)] {
        if side.requests > 0 {
            let mean = side.mean_ns().ok_or_else(|| {
                format!("its part {name} has no mean in lat_ns: use fio 3.0 or later")
            })?;
            requests += side.requests;
            latency += mean * side.requests as f64;
        }
    }
    let (iops, bandwidth_bps) =
        (job.read.iops + job.write.iops, job.read.bytes_per_second + job.write.bytes_per_second);
    if requests == 0 || !(iops > 0.0 && bandwidth_bps > 0.0) {
        return Err("it moved nothing: give it more time".to_owned());
    }
    let latency_ns = latency / requests as f64;
    Ok(Performance { latency_ns, iops, bandwidth_bps, offered_iops: None, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand in the form that fio's documentation gives and fio 3.33 writes.
    const OUTPUT: &str = r#"fio: a note before the document
{ "fio version" : "fio-3.33", "timestamp" : 1, "jobs" : [
 { "jobname" : "w50-q4-W4k.r100-R16k.r0", "groupid" : 0, "error" : 0,
   "read" : { "io_bytes" : 32768, "bw_bytes" : 3276800, "bw" : 3200, "iops" : 200.0,
     "total_ios" : 100,
     "lat_ns" : { "min" : 1, "max" : 9, "mean" : 3000.0, "stddev" : 1.0, "N" : 100 } },
   "write" : { "bw_bytes" : 2457600, "iops" : 600.0, "total_ios" : 300,
     "lat_ns" : { "min" : 1, "max" : 9, "mean" : 5000.0, "stddev" : 1.0, "N" : 300 } } },
 { "jobname" : "w0-q1-R4k.r100", "error" : 0,
   "read" : { "bw_bytes" : 4096, "iops" : 1.0, "total_ios" : 2, "lat_ns" : { "mean" : 7.0 } },
   "write" : { "total_ios" : 0, "iops" : 0.0, "bw_bytes" : 0, "lat_ns" : { "mean" : 0.0 } } } ] }
"#;

    #[test]
    fn several_jobs_of_a_file_are_read() {
        let (version, rows) = read("a.json", OUTPUT).unwrap();
        assert_eq!((version.as_str(), rows.len()), ("fio-3.33", 2));
        assert_eq!(rows[0].0.to_string(), "w50-q4-W4k.r100-R16k.r0");
        let Performance { latency_ns, iops, bandwidth_bps, requests, .. } = rows[0].1;
        // (100 x 3000 + 300 x 5000) / 400
        assert_eq!((latency_ns, iops, bandwidth_bps, requests), (4500.0, 800.0, 5_734_400.0, 400));
    }

    fn options() -> JobOptions {
        JobOptions {
            filename: "/tmp/x".to_owned(),
            size: Bytes::from_gib(1),
            seconds: 2,
            ramp_seconds: 1,
            engine: "libaio".to_owned(),
            direct: true,
            log_requests: 10,
            log_folder: "logs".to_owned(),
            seed: 1,
        }
    }

    #[test]
    fn requests_must_fit_into_the_area_that_is_measured() {
        let point: Point = "w50-q4-W4k.r100-R16k.r0".parse().unwrap();
        let of = |kib: u64| jobs(&[point], &JobOptions { size: Bytes(kib << 10), ..options() });
        assert!(of(16).is_ok());
        let error = of(15).unwrap_err();
        assert_eq!((error.path(), matches!(error, FioError::Small { .. })), (None, true));
        assert!(error.to_string().contains("requests of 16 KiB"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (from, to, problem) in [
            ("w0-q1-R4k.r100", "my job", "a.json, job \"my job\": \"my job\" is no point"),
            ("w0-q1-R4k.r100", "w50-q4-W4k.r100-R16k.r0", "a second job of this name"),
            (
                "\"error\" : 0,\n   \"read\" : { \"bw",
                "\"error\" : 5,\n   \"read\" : { \"bw",
                "error 5",
            ),
            (
                "\"lat_ns\" : { \"mean\" : 7.0 }",
                "\"lat\" : 7.0",
                "its part read has no mean in lat_ns",
            ),
            ("\"total_ios\" : 2", "\"total_ios\" : 0", "it moved nothing"),
            ("\"fio version\"", "\"version\"", "missing field `fio version`"),
        ] {
            assert!(OUTPUT.contains(from), "{from}");
            let error = read("a.json", &OUTPUT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert!(read("a.json", "no JSON").unwrap_err().to_string().contains("no line with a {"));
    }

    #[test]
    fn files_are_put_together_and_each_point_comes_once() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let other = OUTPUT.replace("w0-q1-R4k", "w0-q2-R4k").replace("w50-q4", "w50-q8");
        let files = [file("a.json", OUTPUT), file("b.json", &other)];
        let (source, all) = import("desk".to_owned(), &files).unwrap();
        assert_eq!(all.len(), 4);
        let (device, fio) = ("desk".to_owned(), "fio-3.33".to_owned());
        let files = vec!["a.json".to_owned(), "b.json".to_owned()];
        assert_eq!(source, ResultsSource::Fio { version: Version, device, fio, files });
        let twice = [file("a.json", OUTPUT), file("c.json", OUTPUT)];
        let error = import(String::new(), &twice).unwrap_err().to_string();
        let expected = "c.json: w50-q4-W4k.r100-R16k.r0 is in a file before it";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_point_is_one_job_in_fios_words_or_a_log() {
        let options = options();
        let point = |name: &str| name.parse::<Point>().unwrap();
        let points =
            ["w50-q4-W4k.r100-R16k.r0", "w100-q1-W4k.s16k", "w25-q16-W4k.s16k-R64k.r50"].map(point);
        let made = jobs(&points, &options).unwrap();
        let has = |lines: &str| assert!(made.text.contains(lines), "{}", made.text);
        has("[w50-q4-W4k.r100-R16k.r0]\nstonewall\niodepth=4\n");
        has("iodepth=4\nrw=randrw\nrwmixwrite=50\nbs=16384,4096\n");
        has("percentage_random=0,100\ntime_based=1\nruntime=2\nramp_time=1\n");
        has("rw=write:16384\nbs=4096\n");
        has("read_iolog=logs/w25-q16-W4k.s16k-R64k.r50.iolog\n");
        assert_eq!(made.logs.len(), 1);
        assert_eq!(made.logs[0].1.lines().count(), 3 + 10 + 1);
        let open = jobs(&[point("w0-l50-R4k.r0")], &options).unwrap_err();
        assert!(open.to_string().contains("is an open loop"));
    }
}
