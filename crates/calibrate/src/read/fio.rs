//! Points in fio's JSON output.
//!
//! A job's own options go before those of all jobs. Clones of a job (`numjobs` without
//! `group_reporting`) are one point: rates add up, latencies are means over requests. Percentiles
//! of several clones are means as well, unless `json+` gives the bins, which add up. Latencies are
//! fio's total ones (`lat_ns`); percentiles those of completion (`clat_ns`) where fio was not told
//! `lat_percentiles=1`. Jobs of a plan that only prepare the drive are no points.
//!
//! A job with `rate_iops` and `rate_process=poisson` is a load at a given rate. Jobs that are held
//! back in another way have no load that could be replayed, and screening refuses them.

use super::{BLOCK_BYTES_LEGAL, Fault, block_bytes, count};
use crate::plan::PREPARING;
use crate::point::{Direction, Figures, MibPerSecond, Micros, Operation, PerSecond, Point};
use serde_json::Value;
use ssdtune_trace::fio_output::{FioDirection, FioJob, FioLatency, FioOutput};
use std::collections::BTreeMap;

/// Reads the points; the error is a place and what is wrong there.
pub(super) fn read(file: &str, source: &str, text: &str) -> Result<Vec<Point>, Fault> {
    let output =
        FioOutput::parse(text).map_err(|error| ("fio's output".to_owned(), error.to_string()))?;
    let mut groups: Vec<(Options<'_>, Vec<&FioJob>)> = Vec::new();
    for job in output.jobs.iter().filter(|job| !job.name.starts_with(PREPARING)) {
        let options = Options { own: &job.options, all: &output.options };
        let known = groups.iter_mut().find(|(other, jobs)| {
            jobs[0].name == job.name && options.own == other.own && options.is_cloned()
        });
        match known {
            Some((_, jobs)) => jobs.push(job),
            None => groups.push((options, vec![job])),
        }
    }
    let mut points = Vec::new();
    for (options, jobs) in &groups {
        let name = &jobs[0].name;
        let of_job =
            of_jobs(options, jobs).map_err(|problem| (format!("job {name:?}"), problem))?;
        points.extend(of_job.into_iter().map(|point| Point {
            at: format!("{file}, job {name}"),
            source: source.to_owned(),
            notes: format!("{}{}", output.version, options.notes()),
            ..point
        }));
    }
    Ok(points)
}

/// The reads or the writes of a job.
type Side = fn(&FioJob) -> &FioDirection;

/// The options of a job.
struct Options<'a> {
    own: &'a BTreeMap<String, Value>,
    all: &'a BTreeMap<String, Value>,
}

impl Options<'_> {
    /// The value of an option that has one of these names.
    fn get(&self, names: &[&str]) -> Option<String> {
        let value =
            names.iter().find_map(|name| self.own.get(*name).or_else(|| self.all.get(*name)));
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// A count, 1 if it is not given.
    fn count(&self, name: &str) -> Result<u32, String> {
        let Some(text) = self.get(&[name]) else { return Ok(1) };
        let wrong = || format!("its option {name} is {text:?}: a whole number from 1 to 65536");
        count(&text).filter(|count| *count > 0).ok_or_else(wrong)
    }

    fn is_cloned(&self) -> bool {
        self.count("numjobs").is_ok_and(|jobs| jobs > 1)
    }

    /// What else is worth knowing. A directory, or a name that is no device's, says that requests
    /// go to a file.
    fn notes(&self) -> String {
        let mut notes = String::new();
        let is_device = |name: &str| {
            ["/dev/", "\\\\.\\"].iter().any(|start| name.starts_with(start))
                || name.contains("traddr")
        };
        if self.get(&["directory"]).is_some()
            || self.get(&["filename"]).is_some_and(|name| !is_device(&name))
        {
            notes += ";file on fs";
        }
        for name in ["ioengine", "filename", "runtime"] {
            if let Some(value) = self.get(&[name]) {
                notes += &format!(";{name}={value}");
            }
        }
        notes
    }
}

/// The options that hold a job back.
const PACED: [&str; 4] = ["rate_iops", "rate", "rate_min", "thinktime"];

/// Requests that arrive in a second in each clone of a job, reads and writes.
struct Pace {
    reads: f64,
    writes: f64,
}

impl Pace {
    /// The pace of a job that is held back: `None` inside if no replay sends requests like that.
    fn of(
        options: &Options<'_>,
        kinds: (Option<Operation>, Option<Operation>),
    ) -> Option<Option<Self>> {
        let is_given = |name: &&&str| options.get(&[**name]).is_some_and(|value| value != "0");
        let given = PACED.iter().find(is_given)?;
        let is_poisson = options.get(&["rate_process"]).is_some_and(|name| name == "poisson");
        let is_random = [kinds.0, kinds.1].into_iter().flatten().all(|own| !own.is_sequential());
        if *given != "rate_iops" || !is_poisson || !is_random {
            return Some(None);
        }
        let text = options.get(&["rate_iops"]).unwrap_or_default();
        let rate = |part: &str| {
            let part = part.trim().to_ascii_lowercase();
            let (digits, unit) = part.strip_suffix('k').map_or((&*part, 1.0), |own| (own, 1e3));
            digits
                .parse()
                .ok()
                .map(|rate: f64| rate * unit)
                .filter(|rate| (1.0..=1e9).contains(rate))
        };
        let (first, second) = text.split_once(',').unwrap_or((&text, &text));
        let of_kind =
            |kind: Option<Operation>, part| if kind.is_some() { rate(part) } else { Some(0.0) };
        let (reads, writes) = (of_kind(kinds.0, first), of_kind(kinds.1, second));
        Some(reads.zip(writes).map(|(reads, writes)| Self { reads, writes }))
    }

    fn total(&self) -> f64 {
        self.reads + self.writes
    }
}

/// The points of a job and its clones: one, or two of a mix. Where they stand is left empty.
fn of_jobs(options: &Options<'_>, jobs: &[&FioJob]) -> Result<Vec<Point>, String> {
    if let Some(job) = jobs.iter().find(|job| job.error != 0) {
        return Err(format!("fio ended it with error {}: run it again", job.error));
    }
    let rw = options.get(&["rw", "readwrite"]).unwrap_or_else(|| "read".to_owned());
    let (reads, writes) = operations(rw.split(':').next().unwrap_or(""))
        .ok_or_else(|| format!("its option rw is {rw:?}: only reads and writes can be points"))?;
    let sizes = options.get(&["bs", "blocksize"]).unwrap_or_else(|| "4k".to_owned());
    let mut sizes = sizes.split(',');
    let first = sizes.next().unwrap_or("");
    let second = sizes.next().filter(|size| !size.is_empty()).unwrap_or(first);
    let (iodepth, numjobs) = (options.count("iodepth")?, options.count("numjobs")?);
    let total = |direction: Side| -> u64 {
        jobs.iter().fold(0, |sum, job| sum.saturating_add(direction(job).requests))
    };
    let (read, written) = (total(|job| &job.read), total(|job| &job.write));
    let shares = read as f64 + written as f64;
    let pace = Pace::of(options, (reads, writes));
    let read_percent = match (&pace, reads, writes) {
        // Of what arrives: a drive that is overloaded completes another share.
        (Some(Some(pace)), ..) => 100.0 * pace.reads / pace.total(),
        (_, Some(_), None) => 100.0,
        (_, None, Some(_)) => 0.0,
        _ => 100.0 * read as f64 / shares.max(1.0),
    };
    let is_paced = pace.is_some();
    let offered = pace.flatten().map(|pace| PerSecond(pace.total() * f64::from(numjobs)));
    let mut points = Vec::new();
    let sides: [(Option<Operation>, &str, Side); 2] =
        [(reads, first, |job| &job.read), (writes, second, |job| &job.write)];
    for (operation, size, direction) in sides {
        let Some(operation) = operation.filter(|_| total(direction) > 0) else { continue };
        let block_bytes = block_bytes(size)
            .ok_or_else(|| format!("its option bs is {size:?}: {BLOCK_BYTES_LEGAL}"))?;
        let sides: Vec<&FioDirection> = jobs.iter().map(|job| direction(job)).collect();
        let operation = match operation.direction() {
            _ if !is_paced => operation,
            Direction::Read => Operation::PacedReads,
            Direction::Write => Operation::PacedWrites,
        };
        points.push(Point {
            at: String::new(),
            source: String::new(),
            drive: None,
            run: None,
            operation,
            read_percent: (read_percent * 10.0).round() / 10.0,
            block_bytes,
            iodepth: Some(iodepth),
            numjobs,
            offered,
            timed: None,
            figures: figures(&sides)?,
            notes: String::new(),
            written_share: 1.0,
        });
    }
    if points.is_empty() {
        Err("it moved nothing: give it more time".to_owned())
    } else {
        Ok(points)
    }
}

/// What the reads and the writes of a kind of job are.
fn operations(rw: &str) -> Option<(Option<Operation>, Option<Operation>)> {
    use Operation::{
        RandomMixReads, RandomMixWrites, RandomRead, RandomWrite, SequentialMixReads,
        SequentialMixWrites, SequentialRead, SequentialWrite,
    };
    Some(match rw {
        "randread" => (Some(RandomRead), None),
        "randwrite" => (None, Some(RandomWrite)),
        "read" => (Some(SequentialRead), None),
        "write" => (None, Some(SequentialWrite)),
        "randrw" => (Some(RandomMixReads), Some(RandomMixWrites)),
        "rw" | "readwrite" => (Some(SequentialMixReads), Some(SequentialMixWrites)),
        _ => return None,
    })
}

/// The figures of a direction, over all clones.
fn figures(sides: &[&FioDirection]) -> Result<Figures, String> {
    let sides: Vec<&FioDirection> =
        sides.iter().copied().filter(|side| side.requests > 0).collect();
    let iops: f64 = sides.iter().map(|side| side.iops).sum();
    let bytes: f64 = sides.iter().map(|side| side.bytes_per_second).sum();
    if !(iops > 0.0 && iops.is_finite() && bytes > 0.0 && bytes.is_finite()) {
        return Err("its iops or bw_bytes is 0: use fio 3.0 or later, and give it time".to_owned());
    }
    let percentiles = [50.0, 99.0, 99.9].map(|percent| percentile(&sides, percent));
    let [p50, p99, p999] = percentiles.map(|nanos| nanos.map(|nanos| Micros(nanos / 1000.0)));
    Ok(Figures {
        iops: Some(PerSecond(iops)),
        bandwidth: Some(MibPerSecond(bytes / 1_048_576.0)),
        mean: mean(&sides, FioDirection::mean_ns).map(|nanos| Micros(nanos / 1000.0)),
        p50,
        p99,
        p999,
    })
}

/// A mean over clones, weighted with their requests; `None` unless each has a value.
fn mean(sides: &[&FioDirection], value: impl Fn(&FioDirection) -> Option<f64>) -> Option<f64> {
    let requests: f64 = sides.iter().map(|side| side.requests as f64).sum();
    let values: Option<Vec<f64>> =
        sides.iter().map(|side| Some(value(side)? * side.requests as f64)).collect();
    Some(values?.iter().sum::<f64>() / requests).filter(|mean| mean.is_finite() && *mean > 0.0)
}

/// A percentile in nanoseconds: of total latency where fio has it, else of completion.
fn percentile(sides: &[&FioDirection], percent: f64) -> Option<f64> {
    let key = format!("{percent:.6}");
    let parts: [fn(&FioDirection) -> Option<&FioLatency>; 2] =
        [|side| side.total.as_ref(), |side| side.completion.as_ref()];
    parts.into_iter().find_map(|part| {
        let of_bins = || {
            let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
            for side in sides {
                for (&nanos, &requests) in &part(side).filter(|all| !all.bins.is_empty())?.bins {
                    let sum = bins.entry(nanos).or_default();
                    *sum = sum.saturating_add(requests);
                }
            }
            nearest_rank(&bins, percent)
        };
        let said = || mean(sides, |side| part(side)?.percentiles_ns.get(&key).copied());
        of_bins().or_else(said)
    })
}

/// The value that `percent` of the counted requests do not exceed.
fn nearest_rank(bins: &BTreeMap<u64, u64>, percent: f64) -> Option<f64> {
    let total = bins.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let rank = (total as f64 * percent / 100.0).ceil() as u64;
    let mut seen: u64 = 0;
    bins.iter().find_map(|(&nanos, &count)| {
        seen = seen.saturating_add(count);
        (seen >= rank && nanos > 0).then_some(nanos as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand in the form of fio 3.36.
    fn job(name: &str, options: &str, read: &str, write: &str) -> String {
        format!(
            r#"{{ "jobname": "{name}", "error": 0, "job options": {{ {options} }},
              "read": {{ {read} }}, "write": {{ {write} }} }}"#
        )
    }

    fn output(jobs: &[String]) -> String {
        format!(
            r#"{{ "fio version": "fio-3.36", "global options": {{ "bs": "4k", "iodepth": "8" }},
              "jobs": [ {} ] }}"#,
            jobs.join(", ")
        )
    }

    const SIDE: &str = r#""total_ios": 100, "iops": 1000.0, "bw_bytes": 4096000,
        "lat_ns": { "mean": 8000.0 },
        "clat_ns": { "percentile": { "50.000000": 7000, "99.000000": 20000 } }"#;

    #[test]
    fn a_job_is_a_point_and_a_mix_is_two() {
        let text = output(&[
            job("a", r#""rw": "randread", "iodepth": "32", "numjobs": "1""#, SIDE, ""),
            job("b", r#""rw": "randrw", "bs": "4k,16k""#, SIDE, SIDE),
        ]);
        let points = read("x.json", "x", &text).unwrap();
        assert_eq!(points.len(), 3);
        let Point { at, operation, iodepth, figures, .. } = &points[0];
        assert_eq!((at.as_str(), *iodepth), ("x.json, job a", Some(32)));
        assert_eq!(*operation, Operation::RandomRead);
        let (mean, p99) = (Some(Micros(8.0)), Some(Micros(20.0)));
        assert_eq!((figures.mean, figures.p99, figures.p999), (mean, p99, None));
        assert_eq!(figures.bandwidth, Some(MibPerSecond(3.90625)));
        assert_eq!((points[1].operation.name(), points[1].read_percent), ("randrw-r", 50.0));
        assert_eq!((points[2].operation.name(), points[2].block_bytes), ("randrw-w", 16384));
        assert_eq!(points[2].iodepth, Some(8));
    }

    /// Two clones of 100 requests: half of all below 6 us, and one of 200 at 90 us.
    #[test]
    fn clones_are_one_point_and_bins_add_up() {
        let clone = |bins: &str| {
            let read = format!(
                r#""total_ios": 100, "iops": 500.0, "bw_bytes": 2048000,
                "lat_ns": {{ "mean": 8000.0 }}, "clat_ns": {{ "bins": {{ {bins} }},
                "percentile": {{ "50.000000": 1, "99.000000": 1 }} }}"#
            );
            job("c", r#""rw": "randread", "numjobs": "2""#, &read, "")
        };
        let text = output(&[clone(r#""6000": 99, "90000": 1"#), clone(r#""9000": 100"#)]);
        let points = read("x.json", "x", &text).unwrap();
        assert_eq!((points.len(), points[0].outstanding()), (1, Some(16)));
        let Figures { iops, p50, p99, p999, .. } = points[0].figures;
        assert_eq!(iops, Some(PerSecond(1000.0)));
        assert_eq!((p50, p99, p999), (Some(Micros(9.0)), Some(Micros(9.0)), Some(Micros(90.0))));
    }

    #[test]
    fn a_job_with_a_rate_is_a_load_and_other_paces_have_none() {
        let load = |options: &str| {
            let text = output(&[job("p", options, SIDE, SIDE)]);
            let points = read("x.json", "x", &text).unwrap();
            points.iter().for_each(|point| assert_eq!(point.outstanding(), None));
            let Point { offered, read_percent, .. } = points[0];
            let names: Vec<&str> = points.iter().map(|point| point.operation.name()).collect();
            (names.join(" "), offered.map(|rate| rate.0), read_percent)
        };
        let both = "open-r open-w".to_owned();
        let poisson = r#""rate_process": "poisson", "numjobs": "4""#;
        let mix = load(&format!(r#""rw": "randrw", "rate_iops": "1500,500", {poisson}"#));
        assert_eq!(mix, (both.clone(), Some(8000.0), 75.0));
        let one = load(&format!(r#""rw": "randrw", "rate_iops": "2k", {poisson}"#));
        assert_eq!(one, (both.clone(), Some(16000.0), 50.0));
        let reads = load(&format!(r#""rw": "randread", "rate_iops": "2k,5", {poisson}"#));
        assert_eq!(reads, ("open-r".to_owned(), Some(8000.0), 100.0));
        for other in [
            r#""rw": "randrw", "rate_iops": "2k""#,
            r#""rw": "randrw", "rate_iops": "2k,", "rate_process": "poisson""#,
            r#""rw": "rw", "rate_iops": "2k", "rate_process": "poisson""#,
            r#""rw": "randrw", "thinktime": "20""#,
            r#""rw": "randrw", "rate": "20m", "rate_process": "poisson""#,
        ] {
            assert_eq!(load(other), (both.clone(), None, 50.0), "{other}");
        }
    }

    #[test]
    fn what_is_no_point_is_said_with_its_job() {
        for (options, side, problem) in [
            (r#""rw": "randtrim""#, SIDE, "its option rw is \"randtrim\""),
            (r#""rw": "read", "bs": "100""#, SIDE, "its option bs is \"100\""),
            (r#""rw": "read", "iodepth": "-1""#, SIDE, "its option iodepth is \"-1\""),
            (r#""rw": "read""#, r#""total_ios": 0"#, "it moved nothing"),
            (r#""rw": "read""#, r#""total_ios": 5"#, "its iops or bw_bytes is 0"),
        ] {
            let (place, found) =
                read("x", "x", &output(&[job("j", options, side, "")])).unwrap_err();
            assert!(place == "job \"j\"" && found.contains(problem), "{place}: {found}");
        }
    }
}
