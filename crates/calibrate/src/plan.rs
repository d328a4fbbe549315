//! The measurements that identify a drive, as a job file for fio.
//!
//! Each job is one point for [`crate::read()`], which reads what fio writes with
//! `--output-format=json+`. Jobs run one after the other, each in a reporting group of its own, so
//! that the clones of a job are one result. Without leave to destroy, there are reads alone.

use serde::Serialize;
use std::fmt::Write as _;

/// The start of the names of jobs that bring a drive into a state and measure nothing.
pub(crate) const PREPARING: &str = "prepare-";

/// Seconds that a job runs before it is measured.
const RAMP_SECONDS: u32 = 5;
/// Parts of the sustained overwrites, and seconds of each.
const SUSTAINED: (u32, u32) = (6, 600);

const ARRAY: &[&str] = &[
    "flash.page_read_latency_lsb_ns",
    "flash.page_read_latency_csb_ns",
    "flash.page_read_latency_msb_ns",
    "flash.page_read_latency_tsb_ns",
    "controller.read_time_ns",
];
const COLLISIONS: &[&str] = &["bus.channels", "bus.chips_per_channel", "bus.order"];
const PLATEAU: &[&str] =
    &["controller.core_rate", "controller.cores", "host.sata_processing_delay_ns"];
const SIZES: &[&str] = &["bus.rate_mts", "controller.pipeline_time_ns", "controller.bandwidth_mbs"];
const STREAMS: &[&str] =
    &["flash.cache_read", "flash.page_bytes", "mapping.plane_order", "mapping.stripe_dies"];
const WRITES: &[&str] =
    &["controller.write_time_ns", "cache.capacity_bytes", "flash.page_program_latency_lsb_ns"];
const MIXES: &[&str] = &["suspension.support", "bus.order", "gc.preemptible"];
const COLLECTION: &[&str] = &["mapping.overprovisioning", "gc.policy", "gc.unit"];

const LOADS: &[&str] = &[
    "suspension.suspend_program_ns",
    "suspension.program_for_read_ns",
    "controller.write_time_ns",
    "flash.page_program_latency_lsb_ns",
];
/// Thousands of requests a second of the paced loads, of all clones: up to where a quick drive
/// falls behind. Of a slow one the loads beyond are all alike.
const PACES: [u32; 10] = [5, 10, 20, 40, 60, 80, 100, 130, 170, 220];
/// Reads among them, in percent; clones, and the requests that each has outstanding at most.
const PACED: (u32, u32, u32) = (30, 4, 64);

/// What to measure.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The device, as in `/dev/nvme0n1`.
    pub device: String,
    /// Whether its data may be destroyed.
    pub is_destructive: bool,
    /// Seconds in which each job is measured.
    pub seconds: u32,
}

/// A job of fio.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedJob {
    /// Its name, which is the name of its point.
    pub name: String,
    /// What it does, in fio's words.
    pub rw: &'static str,
    /// Reads among its requests, in percent.
    pub read_percent: u32,
    /// The size of a request.
    pub block_bytes: u32,
    /// Requests outstanding in each clone.
    pub iodepth: u32,
    /// Clones.
    pub numjobs: u32,
    /// Requests of all clones that arrive in a second, at random times; `None` if each request
    /// that ends is followed by another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<u32>,
    /// Seconds that it takes; `None` if it ends with the last byte of the device.
    pub seconds: Option<u32>,
    /// The parameters that it tells about.
    pub tells: &'static [&'static str],
}

/// The jobs and their file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The device.
    pub device: String,
    /// Whether its data are destroyed.
    pub is_destructive: bool,
    /// The jobs, in their order.
    pub jobs: Vec<PlannedJob>,
    /// Seconds that all take, except those that end with the last byte of the device.
    pub seconds: u64,
    /// The job file.
    pub text: String,
}

/// A device that cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--device {0:?}: name a block device, such as /dev/nvme0n1 (through a file, its file system is \
     measured too)"
)]
pub struct NoDevice(String);

impl Plan {
    /// The measurements of a drive.
    ///
    /// # Errors
    /// The device is none.
    pub fn of(options: &PlanOptions) -> Result<Self, NoDevice> {
        let device = &options.device;
        let is_device = ["/dev/", "\\\\.\\"].iter().any(|start| device.starts_with(start));
        if !is_device || device.chars().any(|letter| letter.is_control() || letter == '"') {
            return Err(NoDevice(device.clone()));
        }
        let seconds = options.seconds;
        let mut jobs = reads(seconds);
        if options.is_destructive {
            jobs.insert(0, fill());
            jobs.extend(writes(seconds));
        }
        let times = jobs.iter().filter_map(|job| job.seconds);
        let seconds = times.map(|own| u64::from(own + RAMP_SECONDS)).sum();
        let is_destructive = options.is_destructive;
        let mut plan =
            Self { device: device.clone(), is_destructive, jobs, seconds, text: String::new() };
        plan.text = plan.file();
        Ok(plan)
    }

    /// What it takes, for people.
    pub fn words(&self) -> String {
        let minutes = self.seconds.div_ceil(60);
        let fill = match self.is_destructive {
            true => ", and as long as it takes to write the device once",
            false => "",
        };
        let what = match self.is_destructive {
            true => "DESTROYS the data of",
            false => "only reads from",
        };
        let count = self.jobs.len();
        format!("{count} jobs, {minutes} minutes{fill}; the plan {what} {}", self.device)
    }

    /// How fio is to be called with the file.
    pub fn command(&self, file: &str) -> String {
        let guard = if self.is_destructive { "" } else { " --readonly" };
        format!("fio{guard} --output-format=json+ --output=results.json {file}")
    }

    fn file(&self) -> String {
        // Colons separate the names of files.
        let device = self.device.replace(':', "\\:");
        let mut text = format!(
            "# {}.\n# {}\n# ssdtune calibrate results.json --base DRIVE --out drive.toml\n",
            self.words(),
            self.command("FILE")
        );
        text += match self.is_destructive {
            true => {
                "# First the device is written once, then reads are measured, then overwrites\n\
                 # until the drive is in its steady state, then writes and mixes in that state.\n"
            }
            false => {
                "# Places that were never written cost a drive no read of its flash: measure a\n\
                 # drive that was written once as a whole. --destructive does that first.\n"
            }
        };
        let _ = write!(
            text,
            "\n[global]\nfilename={device}\nioengine=libaio\ndirect=1\nthread=1\nnorandommap=1\n\
             randrepeat=0\ngroup_reporting=1\nlat_percentiles=1\n\
             percentile_list=50:95:99:99.9:99.99\n"
        );
        let mut told: &[&str] = &[];
        for job in &self.jobs {
            if job.tells != told {
                let _ = write!(text, "\n# These tell about: {}", told_in_words(job.tells));
                told = job.tells;
            }
            text += "\n";
            job.write(&mut text);
        }
        text
    }
}

fn told_in_words(tells: &[&str]) -> String {
    if tells.is_empty() { "nothing by themselves".to_owned() } else { tells.join(", ") }
}

impl PlannedJob {
    fn new(
        rw: &'static str,
        kib: u32,
        depth: u32,
        jobs: u32,
        tells: &'static [&'static str],
    ) -> Self {
        let read_percent = if rw.contains("read") { 100 } else { 0 };
        Self {
            name: format!("{rw}-{kib}k-d{depth}-j{jobs}"),
            rw,
            read_percent,
            block_bytes: kib << 10,
            iodepth: depth,
            numjobs: jobs,
            offered_iops: None,
            seconds: None,
            tells,
        }
    }

    /// Adds its section.
    fn write(&self, text: &mut String) {
        let Self { name, rw, block_bytes, iodepth, numjobs, .. } = self;
        let _ = write!(
            text,
            "[{name}]\nstonewall\nrw={rw}\nbs={}k\niodepth={iodepth}\nnumjobs={numjobs}\n",
            block_bytes >> 10
        );
        if *rw == "randrw" {
            let _ = writeln!(text, "rwmixread={}", self.read_percent);
        }
        if let Some(offered) = self.offered_iops {
            let reads = offered * self.read_percent / 100;
            let (reads, writes) = (reads / numjobs, (offered - reads) / numjobs);
            let _ = writeln!(text, "rate_iops={reads},{writes}\nrate_process=poisson");
        }
        match self.seconds {
            Some(seconds) => {
                let _ = writeln!(text, "time_based=1\nruntime={seconds}\nramp_time={RAMP_SECONDS}");
            }
            None => text.push_str("size=100%\n"),
        }
    }
}

/// Writes the whole device once.
fn fill() -> PlannedJob {
    let job = PlannedJob::new("write", 1024, 8, 1, &[]);
    PlannedJob { name: format!("{PREPARING}fill"), ..job }
}

fn reads(seconds: u32) -> Vec<PlannedJob> {
    let read = |kib, depth, jobs, tells| PlannedJob::new("randread", kib, depth, jobs, tells);
    let mut jobs = vec![read(4, 1, 1, ARRAY)];
    jobs.extend([2, 4, 8, 16, 32, 64, 128].map(|depth| read(4, depth, 1, COLLISIONS)));
    jobs.extend([(64, 2), (64, 4), (64, 8)].map(|(depth, jobs)| read(4, depth, jobs, PLATEAU)));
    for kib in [8, 16, 64, 128] {
        jobs.extend([1, 4, 16, 64].map(|depth| read(kib, depth, 1, SIZES)));
    }
    jobs.extend([1, 8, 32].map(|depth| PlannedJob::new("read", 128, depth, 1, STREAMS)));
    // How far two measurements of the same load are apart.
    for (depth, tells) in [(1, ARRAY), (32, COLLISIONS)] {
        jobs.extend((2..4).map(|time| {
            let job = read(4, depth, 1, tells);
            PlannedJob { name: format!("{}-again{time}", job.name), ..job }
        }));
    }
    jobs.into_iter().map(|job| PlannedJob { seconds: Some(seconds), ..job }).collect()
}

fn writes(seconds: u32) -> Vec<PlannedJob> {
    let (parts, part_seconds) = SUSTAINED;
    let mut jobs: Vec<PlannedJob> = (1..=parts)
        .map(|part| PlannedJob {
            name: format!("sustained-{part}"),
            seconds: Some(part_seconds),
            ..PlannedJob::new("randwrite", 4, 32, 1, COLLECTION)
        })
        .collect();
    let timed = |job| PlannedJob { seconds: Some(seconds), ..job };
    for (kib, depths) in [(4, [1, 8, 64]), (16, [1, 8, 64])] {
        jobs.extend(depths.map(|depth| timed(PlannedJob::new("randwrite", kib, depth, 1, WRITES))));
    }
    for read_percent in [90, 70, 50] {
        jobs.extend([1, 8, 32].map(|depth| {
            let job = timed(PlannedJob::new("randrw", 4, depth, 1, MIXES));
            let name = format!("{}-r{read_percent}", job.name);
            PlannedJob { name, read_percent, ..job }
        }));
    }
    let (read_percent, clones, depth) = PACED;
    jobs.extend(PACES.map(|thousands| {
        let job = timed(PlannedJob::new("randrw", 4, depth, clones, LOADS));
        let (name, offered) = (format!("paced-{thousands}k"), Some(1000 * thousands));
        PlannedJob { name, read_percent, offered_iops: offered, ..job }
    }));
    // Last, because every other load wants what random writes left.
    jobs.extend([1, 32].map(|depth| timed(PlannedJob::new("write", 128, depth, 1, WRITES))));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FREE, Free, Needs};
    use crate::point::Point;
    use crate::read::parse;
    use crate::screen::{ScreenOptions, screen};
    use ssdtune_model::catalogue;
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    fn plan(is_destructive: bool) -> Plan {
        let device = "/dev/nvme0n1".to_owned();
        Plan::of(&PlanOptions { device, is_destructive, seconds: 30 }).unwrap()
    }

    /// The options of each section of a job file, with those of all.
    fn sections(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
        let mut sections: Vec<(String, BTreeMap<String, String>)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => sections.push((name.to_owned(), BTreeMap::new())),
                None => {
                    let (key, value) = line.split_once('=').unwrap_or((line, "1"));
                    let own = &mut sections.last_mut().unwrap().1;
                    assert_eq!(own.insert(key.to_owned(), value.to_owned()), None, "{line}");
                }
            }
        }
        sections
    }

    /// What fio writes of such jobs (json+, a group for each job), made up: every request takes 100
    /// us, and one more for each 4 KiB, and the drive takes 64 at once.
    fn results(text: &str) -> String {
        let mut sections = sections(text);
        let (_, global) = sections.remove(0);
        let job = |(name, own): &(String, BTreeMap<String, String>)| {
            let number = |key: &str| own[key].trim_end_matches('k').parse::<f64>().unwrap();
            let outstanding = number("iodepth") * number("numjobs");
            let nanos = (1e5 + 250.0 * number("bs")) * (outstanding / 64.0).max(1.0);
            let rate = match own.get("rate_iops").and_then(|rates| rates.split_once(',')) {
                Some((reads, writes)) => {
                    let rates = [reads, writes].map(|rate| rate.parse::<f64>().unwrap());
                    rates.iter().sum::<f64>() * number("numjobs")
                }
                None => outstanding / nanos * 1e9,
            };
            let side = |share: f64| {
                let iops = share * rate;
                let bytes = iops * number("bs") * 1024.0;
                let bin = nanos as u64;
                format!(
                    r#"{{ "total_ios": {}, "iops": {iops}, "bw_bytes": {bytes},
                    "lat_ns": {{ "mean": {nanos}, "percentile": {{ "50.000000": {bin} }},
                    "bins": {{ "{bin}": 1000 }} }} }}"#,
                    (1e6 * share) as u64
                )
            };
            let share = match own["rw"].as_str() {
                "randread" | "read" => 1.0,
                "randrw" => number("rwmixread") / 100.0,
                _ => 0.0,
            };
            let options = serde_json::to_string(own).unwrap();
            let (read, write) = (side(share), side(1.0 - share));
            format!(
                r#"{{ "jobname": "{name}", "groupid": 0, "error": 0, "job options": {options},
                "read": {read}, "write": {write} }}"#
            )
        };
        let jobs: Vec<String> = sections.iter().map(job).collect();
        let global = serde_json::to_string(&global).unwrap();
        let jobs = jobs.join(", ");
        format!(r#"{{ "fio version": "fio-3.36", "global options": {global}, "jobs": [{jobs}] }}"#)
    }

    #[test]
    fn what_fio_writes_of_a_plan_are_sound_points() {
        for is_destructive in [false, true] {
            let plan = plan(is_destructive);
            let text = results(&plan.text);
            let points = parse(Path::new("results.json"), "rig", &text).unwrap();
            let measured: Vec<&PlannedJob> =
                plan.jobs.iter().filter(|job| !job.name.starts_with(PREPARING)).collect();
            let mixes = measured.iter().filter(|job| job.rw == "randrw").count();
            assert_eq!(points.len(), measured.len() + mixes);
            for job in measured {
                let name = format!("results.json, job {}", job.name);
                let own: Vec<&Point> = points.iter().filter(|point| point.at == name).collect();
                assert_eq!(own.len(), if job.rw == "randrw" { 2 } else { 1 }, "{name}");
                for point in own {
                    let load = (point.block_bytes, point.iodepth, point.numjobs);
                    assert_eq!(load, (job.block_bytes, Some(job.iodepth), job.numjobs));
                    assert_eq!(
                        point.arriving().map(|rate| rate.0),
                        job.offered_iops.map(f64::from)
                    );
                    assert!((point.read_percent - f64::from(job.read_percent)).abs() < 1e-9);
                }
            }
            let screened = screen(points, &ScreenOptions::default());
            let refused: Vec<String> = screened.refused.iter().map(ToString::to_string).collect();
            assert_eq!(refused, [""; 0]);
            assert!(!screened.noise.is_empty(), "repeats give the noise");
        }
    }

    #[test]
    fn without_leave_nothing_is_written() {
        let plan = plan(false);
        assert!(!plan.text.contains("write") || plan.text.contains("never written"));
        for (name, own) in &sections(&plan.text)[1..] {
            assert!(["randread", "read"].contains(&own["rw"].as_str()), "{name}");
        }
        assert!(plan.command("x").contains("--readonly") && plan.words().contains("only reads"));
        let names: BTreeSet<&str> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names.len(), plan.jobs.len());
        assert_eq!(plan.seconds, 35 * plan.jobs.len() as u64);
    }

    #[test]
    fn with_leave_the_device_is_filled_first_and_the_words_say_so() {
        let plan = plan(true);
        assert_eq!(plan.jobs[0].name, "prepare-fill");
        assert!(plan.text.starts_with(&format!("# {}", plan.words())));
        assert!(plan.words().contains("DESTROYS the data of /dev/nvme0n1"));
        assert!(!plan.command("x").contains("--readonly"));
        for rw in ["randwrite", "write", "randrw"] {
            assert!(plan.jobs.iter().any(|job| job.rw == rw), "{rw}");
        }
    }

    #[test]
    fn every_parameter_that_a_fit_may_change_is_told_by_a_job() {
        let told: BTreeSet<&str> =
            plan(false).jobs.iter().flat_map(|job| job.tells).copied().collect();
        let of_reads = |free: &&Free| free.needs != Needs::Paced;
        for free in FREE.iter().filter(of_reads).filter(|free| catalogue::find(free.key).is_some())
        {
            let is_hosts =
                free.key.starts_with("host.request") || free.key.starts_with("host.core");
            assert!(told.contains(free.key) || is_hosts, "{}", free.key);
        }
        let all: BTreeSet<&str> =
            plan(true).jobs.iter().flat_map(|job| job.tells).copied().collect();
        for key in &all {
            assert!(catalogue::find(key).is_some(), "{key}");
        }
        for free in FREE.iter().filter(|free| free.needs == Needs::Paced) {
            assert!(all.contains(free.key), "{}", free.key);
        }
    }

    #[test]
    fn a_file_is_no_device() {
        for device in ["/tmp/file", "", "/dev/x\n[job]", "/dev/\"x"] {
            let device = device.to_owned();
            let options = PlanOptions { device, is_destructive: false, seconds: 1 };
            assert!(Plan::of(&options).unwrap_err().to_string().contains("block device"));
        }
    }
}
