//! Real devices: job files for fio that run a grid's points, and fio's JSON output as results.
//!
//! A job is named after its point, which is how its result finds back. Most points are one fio job
//! with fio's own options: `rw`, `bs`, `rwmixwrite`, `percentage_random`, and `rw=write:16k` for
//! strides. fio has one stride for both directions, so a mixed point with a strided direction
//! replays a log of the very requests that are simulated (`read_iolog`, version 2); its depth is
//! fio's `iodepth` too.
//!
//! Read is what `--output-format=json` or `json+` writes (fio 3.0 or later), notes before the
//! document included: mean total latency (`lat_ns`), IOPS and bytes a second of both directions.
//!
//! Left out: open loops, several threads, verification, latencies by percentile.

use super::measure::Figures;
use super::point::{Access, Load, Pattern, Point};
use super::stream::Requests;
use serde::Deserialize;
use ssdtune_model::{Bytes, SECTOR_BYTES};
use ssdtune_trace::Op;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How fio is to run the points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// File or device to run on. Writes destroy what is there.
    pub filename: String,
    /// Bytes of it to use.
    pub size: Bytes,
    /// Seconds for each point.
    pub seconds: u32,
    /// Seconds before those.
    pub ramp_seconds: u32,
    /// fio's engine; depths above 1 need an asynchronous one.
    pub engine: String,
    /// Past the page cache, as a device is to be measured.
    pub direct: bool,
    /// Requests of a replayed log.
    pub log_requests: usize,
    /// Folder where the logs lie, as fio is to find them.
    pub log_folder: String,
    /// What decides the requests of the logs.
    pub seed: u64,
}

/// A job file, and the logs it replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// The job file.
    pub text: String,
    /// Names and texts of the logs.
    pub logs: Vec<(String, String)>,
}

/// Why points are no jobs, or a file no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    /// Only closed loops can be run.
    #[error("{point} is an open loop: fio's jobs are made of points with a depth (q)")]
    Open {
        /// The point.
        point: Point,
    },
    /// The document is not what fio writes.
    #[error("{file}: no output of fio: {problem} (write it with fio --output-format=json)")]
    Document {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// One job of it cannot be used.
    #[error("{file}, job {job:?}: {problem}")]
    Job {
        /// The file.
        file: String,
        /// The job's name.
        job: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// A job file for these points.
///
/// # Errors
/// A point is open.
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
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[{point}]\nstonewall\niodepth={depth}\n");
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

/// The point in fio's own options, if it has them.
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

fn log(point: &Point, options: &JobOptions) -> String {
    let name = &options.filename;
    let mut text = format!("fio version 2 iolog\n{name} add\n{name} open\n");
    for request in Requests::new(point, options.size, options.seed).take(options.log_requests) {
        let verb = if request.op == Op::Write { "write" } else { "read" };
        let (at, length) = (request.lba.bytes().0, u64::from(request.sectors) * SECTOR_BYTES);
        let _ = writeln!(text, "{name} {verb} {at} {length}");
    }
    text + &format!("{name} close\n")
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    error: i64,
    #[serde(default)]
    read: Side,
    #[serde(default)]
    write: Side,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Side {
    total_ios: u64,
    iops: f64,
    bw_bytes: f64,
    lat_ns: Option<Latency>,
}

#[derive(Default, Deserialize)]
struct Latency {
    mean: f64,
}

/// What fio measured: its version, and the figures of every job.
///
/// # Errors
/// It is no output of fio, a job is no point, failed or moved nothing, or two have one name.
pub fn import(file: &str, text: &str) -> Result<(String, Vec<(Point, Figures)>), FioError> {
    let wrong = |problem: String| FioError::Document { file: file.to_owned(), problem };
    let begin = match text.starts_with('{') {
        true => 0,
        false => text.find("\n{").ok_or_else(|| wrong("it has no line with a {".to_owned()))? + 1,
    };
    // Notes may also follow the document.
    let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Document>();
    let document = documents
        .next()
        .ok_or_else(|| wrong("it is empty".to_owned()))?
        .map_err(|error| wrong(format!("{error}, counted from its first {{")))?;
    if document.jobs.is_empty() {
        return Err(wrong("its list of jobs is empty".to_owned()));
    }
    let mut found: BTreeMap<Point, Figures> = BTreeMap::new();
    let mut order = Vec::new();
    for job in &document.jobs {
        let wrong = |problem: String| FioError::Job {
            file: file.to_owned(),
            job: job.jobname.clone(),
            problem,
        };
        let point: Point = job.jobname.parse().map_err(|error| wrong(format!("{error}")))?;
        if found.insert(point, figures(job).map_err(&wrong)?).is_some() {
            return Err(wrong("a second job of this name: run each point once".to_owned()));
        }
        order.push(point);
    }
    Ok((document.version, order.into_iter().map(|point| (point, found[&point])).collect()))
}

fn figures(job: &Job) -> Result<Figures, String> {
    if job.error != 0 {
        return Err(format!("fio ended it with error {}: run it again", job.error));
    }
    let (mut requests, mut latency) = (0, 0.0);
    for (name, side) in [("read", &job.read), ("write", &job.write)] {
        if side.total_ios > 0 {
            let mean = side.lat_ns.as_ref().map(|found| found.mean);
            let mean = mean.filter(|mean| *mean > 0.0 && mean.is_finite()).ok_or_else(|| {
                format!("its part {name} has no mean in lat_ns: use fio 3.0 or later")
            })?;
            requests += side.total_ios;
            latency += mean * side.total_ios as f64;
        }
    }
    let (iops, bandwidth_bps) =
        (job.read.iops + job.write.iops, job.read.bw_bytes + job.write.bw_bytes);
    if requests == 0 || !(iops > 0.0 && bandwidth_bps > 0.0) {
        return Err("it moved nothing: give it more time".to_owned());
    }
    let latency_ns = latency / requests as f64;
    Ok(Figures { latency_ns, iops, bandwidth_bps, offered_iops: None, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand in the shape that fio's documentation gives and fio 3.33 writes.
    const OUTPUT: &str = r#"fio: a note before the document
{ "fio version" : "fio-3.33", "timestamp" : 1, "jobs" : [
 { "jobname" : "w50-q4-W4k.r100-R16k.r0", "groupid" : 0, "error" : 0,
   "read" : { "io_bytes" : 32768, "bw_bytes" : 3276800, "bw" : 3200, "iops" : 200.0, "total_ios" : 100,
     "lat_ns" : { "min" : 1, "max" : 9, "mean" : 3000.0, "stddev" : 1.0, "N" : 100 } },
   "write" : { "io_bytes" : 4096, "bw_bytes" : 2457600, "iops" : 600.0, "total_ios" : 300,
     "lat_ns" : { "min" : 1, "max" : 9, "mean" : 5000.0, "stddev" : 1.0, "N" : 300 } } },
 { "jobname" : "w0-q1-R4k.r100", "error" : 0,
   "read" : { "bw_bytes" : 4096, "iops" : 1.0, "total_ios" : 2, "lat_ns" : { "mean" : 7.0 } },
   "write" : { "total_ios" : 0, "iops" : 0.0, "bw_bytes" : 0, "lat_ns" : { "mean" : 0.0 } } } ] }
"#;

    #[test]
    fn several_jobs_of_a_file_are_read() {
        let (version, rows) = import("a.json", OUTPUT).unwrap();
        assert_eq!((version.as_str(), rows.len()), ("fio-3.33", 2));
        assert_eq!(rows[0].0.to_string(), "w50-q4-W4k.r100-R16k.r0");
        let Figures { latency_ns, iops, bandwidth_bps, requests, .. } = rows[0].1;
        // (100 x 3000 + 300 x 5000) / 400
        assert_eq!((latency_ns, iops, bandwidth_bps, requests), (4500.0, 800.0, 5_734_400.0, 400));
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
            let error = import("a.json", &OUTPUT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert!(import("a.json", "no JSON").unwrap_err().to_string().contains("no line with a {"));
    }

    #[test]
    fn a_point_is_one_job_in_fios_words_or_a_log() {
        let options = JobOptions {
            filename: "/tmp/x".to_owned(),
            size: Bytes::from_gib(1),
            seconds: 2,
            ramp_seconds: 1,
            engine: "libaio".to_owned(),
            direct: true,
            log_requests: 10,
            log_folder: "logs".to_owned(),
            seed: 1,
        };
        let point = |name: &str| name.parse::<Point>().unwrap();
        let points =
            ["w50-q4-W4k.r100-R16k.r0", "w100-q1-W4k.s16k", "w25-q16-W4k.s16k-R64k.r50"].map(point);
        let made = jobs(&points, &options).unwrap();
        let has = |lines: &str| assert!(made.text.contains(lines), "{}", made.text);
        has(
            "[w50-q4-W4k.r100-R16k.r0]\nstonewall\niodepth=4\nrw=randrw\nrwmixwrite=50\nbs=16384,4096\n",
        );
        has("percentage_random=0,100\ntime_based=1\nruntime=2\nramp_time=1\n");
        has("rw=write:16384\nbs=4096\n");
        has("read_iolog=logs/w25-q16-W4k.s16k-R64k.r50.iolog\n");
        assert_eq!(made.logs.len(), 1);
        assert_eq!(made.logs[0].1.lines().count(), 3 + 10 + 1);
        let open = jobs(&[point("w0-l50-R4k.r0")], &options).unwrap_err();
        assert!(open.to_string().contains("is an open loop"));
    }
}
