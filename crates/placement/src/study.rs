//! The comparison itself: candidates on loads, and everything that was measured as one document.

use crate::buffer::behind;
use crate::candidate::{Candidate, ORACLE, ORACLE_ORDER};
use crate::drive::DriveRule;
use crate::error::PlacementError;
use crate::load::{Buffered, Load, LoadOptions};
use crate::paired::Paired;
use crate::replay::{ReplayFigures, Watch, replay};
use crate::response::{ResponseTimes, response_times};
use crate::training::training_csv;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::RequestSource;
use ssdtune_model::DeviceConfig;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is compared, and how.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The policies.
    pub candidates: Vec<Candidate>,
    /// The drives.
    pub drives: DriveRule,
    /// Whether the devices of a trace are applications that share one address space.
    pub one_address_space: bool,
    /// Pages of the write buffer in front of every drive; 0 for none.
    pub write_buffer: u32,
    /// The change of write amplification from one pass of a load to the next, as a share, from
    /// which it is replayed no more; `None` to replay it once.
    pub settle: Option<f64>,
    /// How many requests of the second half are also timed, by the simulator; 0 for none.
    pub timed_requests: usize,
}

/// Follows a comparison: is told the number of a candidate, the share of it that is done, 0 to 1,
/// and how many pages were written since the last time.
pub type Progress<'a> = &'a (dyn Fn(usize, f64, u64) + Sync);

impl Comparison {
    /// Reads a load as this comparison needs it.
    ///
    /// # Errors
    /// The source cannot be read or has no write.
    pub fn load(&self, source: &RequestSource) -> Result<Load, PlacementError> {
        let options = LoadOptions {
            page_bytes: self.drives.page_bytes(),
            one_address_space: self.one_address_space,
            timed_requests: self.timed_requests,
        };
        Ok(behind(Load::read(source, options)?, self.write_buffer))
    }

    /// Measures every candidate on a load, on all threads of the current pool. What cannot be
    /// measured says why in its place. When `stop` is set, what is not measured yet stays empty.
    pub fn run(&self, load: &Load, stop: &AtomicBool, progress: Progress<'_>) -> LoadResult {
        let mut result = LoadResult::of(load);
        match self.drives.drive(load) {
            Err(error) => result.skipped = Some(error.with_causes()),
            Ok(drive) => {
                result.drive = Some(DriveShape::of(&drive));
                let measure = |(number, candidate): (usize, &Candidate)| {
                    let tell = |done: f64, pages: u64| progress(number, done, pages);
                    let watch = Watch { stop, progress: &tell };
                    let settle = self.settle;
                    let measured = PolicyResult::measure(load, &drive, candidate, settle, &watch);
                    tell(1.0, 0);
                    measured
                };
                let candidates = self.candidates.par_iter().enumerate();
                result.policies = candidates.map(measure).collect();
                add_chosen(&mut result.policies);
            }
        }
        result
    }
}

/// A figure of a policy on a load.
type Figure = fn(&PolicyResult) -> Option<f64>;

/// The figures that policies are compared by, with their names.
const PAIRED: [(&str, Figure); 11] = [
    ("write_amplification", |policy| Some(policy.measured.as_ref()?.write_amplification)),
    ("erases", |policy| {
        let erases = policy.measured.as_ref()?.erases;
        (erases > 0).then_some(erases as f64)
    }),
    ("mean_response_time", |policy| Some(policy.response.as_ref()?.mean_ns)),
    ("median_response_time", |policy| Some(policy.response.as_ref()?.p50_ns as f64)),
    ("p99_response_time", |policy| Some(policy.response.as_ref()?.p99_ns as f64)),
    ("p99.9_response_time", |policy| Some(policy.response.as_ref()?.p999_ns as f64)),
    ("requests_per_second", |policy| Some(policy.response.as_ref()?.requests_per_s)),
    ("saturated_requests_per_second", |policy| {
        Some(policy.response.as_ref()?.saturated_requests_per_s)
    }),
    ("timed_write_amplification", |policy| Some(policy.response.as_ref()?.write_amplification)),
    ("energy_per_byte", |policy| Some(policy.response.as_ref()?.nanojoules_per_byte)),
    ("endurance", |policy| policy.response.as_ref()?.terabytes_written),
];

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// Version of this document.
    pub schema: u32,
    /// Whether it was ended early.
    pub partial: bool,
    /// How drives were chosen, in words.
    pub rule: String,
    /// What was measured on each load.
    pub loads: Vec<LoadResult>,
    /// Means of each policy, by its label, over the loads that were measured.
    pub geometric_means: BTreeMap<String, PolicyMean>,
    /// How much each policy differs from another one, over the loads that both were measured on.
    pub paired: Vec<Paired>,
}

/// How a policy does on all loads together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PolicyMean {
    /// Geometric mean of the write amplification.
    pub write_amplification: f64,
    /// Share of the way from the mean of `none` to that of `oracle`. `None` unless both were
    /// measured and differ.
    pub distance_covered: Option<f64>,
    /// Share of the way from the mean of `none` to that of `oracle-order`, the stronger reference.
    pub distance_covered_by_order: Option<f64>,
}

/// What was measured on one load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    /// The file's path or the model's name.
    pub name: String,
    /// Whether it comes from a model fitted to published figures.
    pub synthetic: bool,
    /// Write requests.
    pub write_requests: usize,
    /// Pages written; a page that is written twice counts twice.
    pub written_pages: u64,
    /// What the write buffer made of the host's writes, if there is one; then the two numbers above
    /// are those of the writes that leave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<Buffered>,
    /// Pages written at least once.
    pub footprint_pages: u32,
    /// Seconds from the first to the last write.
    pub duration_s: f64,
    /// How many devices or tenants write.
    pub applications: usize,
    /// The drive, if there is one for this load.
    pub drive: Option<DriveShape>,
    /// Why there is no drive.
    pub skipped: Option<String>,
    /// What each candidate did, in their order.
    #[serde(rename = "cells")]
    pub policies: Vec<PolicyResult>,
}

/// The size of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriveShape {
    /// Planes.
    pub planes: u64,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Share of the raw capacity that the host does not see.
    pub overprovisioning: f64,
}

/// What one candidate did on one load.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyResult {
    /// The candidate's label.
    pub policy: String,
    /// How victims are chosen, if not greedily.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victims: Option<String>,
    /// Clusters of pages.
    pub clusters: u32,
    /// Slices of the address space.
    pub slices: u32,
    /// Trainings in the time of the load.
    pub periods: f64,
    /// What the replay measured.
    pub measured: Option<ReplayFigures>,
    /// What the simulator measured.
    pub response: Option<ResponseTimes>,
    /// Why the policy cannot do anything with this load.
    pub not_applicable: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
}

impl Study {
    /// Puts the results of loads together.
    pub fn of(drives: &DriveRule, loads: Vec<LoadResult>, partial: bool) -> Self {
        let (geometric_means, paired) = (means(&loads), Vec::new());
        Self { schema: 1, partial, rule: drives.describe(), loads, geometric_means, paired }
    }

    /// Compares every policy with those of these labels, load by load.
    #[must_use]
    pub fn beside(mut self, labels: &[String]) -> Self {
        let pairs = |&(name, figure): &(&'static str, Figure)| {
            let compare = |beside: &String| self.differences(name, figure, beside);
            labels.iter().flat_map(compare).collect::<Vec<_>>()
        };
        self.paired = PAIRED.iter().flat_map(pairs).collect();
        self
    }

    /// How a figure of every other policy differs from that of one.
    fn differences(&self, name: &'static str, figure: Figure, beside: &str) -> Vec<Paired> {
        let others = self.labels().into_iter().filter(|&label| label != beside);
        let difference = |label: &str| {
            let pair = |load: &LoadResult| {
                Some((figure(load.policy(label)?)?, figure(load.policy(beside)?)?))
            };
            Paired::of(name, label, beside, self.measured().filter_map(pair))
        };
        others.filter_map(difference).collect()
    }

    /// The loads that were measured.
    pub fn measured(&self) -> impl Iterator<Item = &LoadResult> {
        self.loads.iter().filter(|load| !load.policies.is_empty())
    }

    /// The labels of the candidates, in their order.
    pub fn labels(&self) -> Vec<&str> {
        labels(&self.loads)
    }

    /// The labels of the candidates with one way of choosing victims, in their order; greedily if
    /// no name is given.
    pub fn labels_with(&self, victims: Option<&str>) -> Vec<&str> {
        let first = self.measured().next().map_or(&[][..], |load| &load.policies);
        let with = first.iter().filter(|policy| policy.victims.as_deref() == victims);
        with.map(|policy| policy.policy.as_str()).collect()
    }

    /// The ways of choosing victims that were crossed with the candidates, besides the greedy one.
    pub fn victims(&self) -> Vec<&str> {
        let first = self.measured().next().map_or(&[][..], |load| &load.policies);
        let mut names: Vec<&str> = first.iter().filter_map(|one| one.victims.as_deref()).collect();
        names.dedup();
        names
    }

    /// Whether any candidate has response times.
    pub fn has_response_times(&self) -> bool {
        self.measured().flat_map(|load| &load.policies).any(|policy| policy.response.is_some())
    }
}

fn labels(loads: &[LoadResult]) -> Vec<&str> {
    let measured = loads.iter().find(|load| !load.policies.is_empty());
    let policies = measured.map_or(&[][..], |load| &load.policies);
    policies.iter().map(|policy| policy.policy.as_str()).collect()
}

fn means(loads: &[LoadResult]) -> BTreeMap<String, PolicyMean> {
    let measured: Vec<&LoadResult> =
        loads.iter().filter(|load| !load.policies.is_empty()).collect();
    let mean = |label: &str| {
        let values: Option<Vec<f64>> =
            measured.iter().map(|load| load.amplification(label)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
    };
    let [none, oracle, order] = ["none", ORACLE, ORACLE_ORDER].map(mean);
    let of = |label: &str| {
        let write_amplification = mean(label)?;
        let covered = |to: Option<f64>| {
            let (from, to) = none.zip(to)?;
            let share = (from - write_amplification) / (from - to);
            share.is_finite().then_some(share)
        };
        let (distance_covered, distance_covered_by_order) = (covered(oracle), covered(order));
        let mean = PolicyMean { write_amplification, distance_covered, distance_covered_by_order };
        Some((label.to_owned(), mean))
    };
    labels(loads).into_iter().filter_map(of).collect()
}

/// A short name of a load that is called `name`: that of the file up to its first dot.
pub fn title(name: &str) -> String {
    let file = Path::new(name).file_name().and_then(|name| name.to_str());
    file.map_or(name, |name| name.split('.').next().unwrap_or(name)).to_owned()
}

impl LoadResult {
    fn of(load: &Load) -> Self {
        Self {
            name: load.name.clone(),
            synthetic: load.synthetic,
            write_requests: load.writes.len(),
            written_pages: load.pages(0..load.writes.len()),
            write_buffer: load.buffered,
            footprint_pages: load.footprint_pages,
            duration_s: load.duration_ns as f64 / 1e9,
            applications: load.applications,
            drive: None,
            skipped: None,
            policies: Vec::new(),
        }
    }

    /// A short name: that of the file up to its first dot.
    pub fn title(&self) -> String {
        title(&self.name)
    }

    /// The seconds that each replay took, a line for each.
    pub fn times(&self) -> impl Iterator<Item = String> {
        self.policies.iter().filter_map(|policy| {
            let seconds = policy.measured.as_ref()?.seconds;
            Some(format!("{}: {seconds:.1} s", policy.policy))
        })
    }

    /// The last training of the first candidate that was trained, as the name and text of a CSV
    /// file.
    pub fn table(&self) -> Option<(String, String)> {
        Some((format!("{}.csv", self.title()), training_csv(self.training()?)))
    }

    /// What the first candidate that was trained learned last.
    pub fn training(&self) -> Option<&ssdtune_ftl::placement::Training> {
        self.policies.iter().find_map(|policy| policy.measured.as_ref()?.training.as_ref())
    }

    fn policy(&self, label: &str) -> Option<&PolicyResult> {
        self.policies.iter().find(|policy| policy.policy == label)
    }

    fn amplification(&self, label: &str) -> Option<f64> {
        self.policy(label)?.measured.as_ref().map(|measured| measured.write_amplification)
    }
}

/// If haml was measured with several numbers of clusters, adds it with the number that moved least
/// in the half before the measured one; 1 stands for no policy. So a queue counts only if it wins
/// more than its frontier costs, and the choice knows nothing of the half that judges it.
fn add_chosen(policies: &mut Vec<PolicyResult>) {
    let clusters = |policy: &PolicyResult| match policy.policy.strip_prefix("haml K=") {
        Some(number) => number.parse().ok(),
        None => (policy.policy == "none").then_some(1),
    };
    let before = |policy: &PolicyResult| Some(policy.measured.as_ref()?.write_amplification_before);
    let numbered =
        policies.iter().filter_map(|policy| Some((clusters(policy)?, before(policy)?, policy)));
    let numbered: Vec<(u32, f64, &PolicyResult)> = numbered.collect();
    let best = numbered.iter().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    if let Some(&(clusters, _, best)) = best.filter(|_| numbered.len() > 2) {
        let policy = "haml, K chosen".to_owned();
        policies.push(PolicyResult { policy, clusters, ..best.clone() });
    }
}

impl DriveShape {
    fn of(config: &DeviceConfig) -> Self {
        Self {
            planes: config.geometry().planes(),
            blocks_per_plane: config.flash.blocks_per_plane,
            pages_per_block: config.flash.pages_per_block,
            page_bytes: config.geometry().page_bytes,
            overprovisioning: config.mapping.overprovisioning,
        }
    }
}

impl PolicyResult {
    fn measure(
        load: &Load,
        drive: &DeviceConfig,
        candidate: &Candidate,
        settle: Option<f64>,
        watch: &Watch<'_>,
    ) -> Self {
        let mut result = Self {
            policy: candidate.label.clone(),
            victims: candidate.victims.as_ref().map(|victims| victims.name.clone()),
            clusters: candidate.clusters,
            slices: candidate.slices_for(load),
            periods: candidate.periods,
            measured: None,
            response: None,
            not_applicable: candidate.not_applicable(load, settle.is_some()).map(str::to_owned),
            error: None,
        };
        if result.not_applicable.is_none()
            && let Err(error) = result.fill(load, drive, candidate, settle, watch)
        {
            result.error = Some(error.with_causes());
        }
        result
    }

    /// Replays the load and times its requests, as far as that goes without an error.
    fn fill(
        &mut self,
        load: &Load,
        drive: &DeviceConfig,
        candidate: &Candidate,
        settle: Option<f64>,
        watch: &Watch<'_>,
    ) -> Result<(), PlacementError> {
        for trial in candidate.trials(drive) {
            let Some(measured) = replay(load, drive, &trial, settle, watch)? else { break };
            let best = self.measured.as_ref();
            if best.is_none_or(|best| measured.moved_pages < best.moved_pages) {
                (self.clusters, self.measured) = (trial.clusters, Some(measured));
            }
        }
        if !load.timed.is_empty() && candidate.reference.is_none() {
            self.response = response_times(load, drive, candidate, watch.stop)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &str, amplifications: &[(&str, f64)]) -> LoadResult {
        let figures = |write_amplification| ReplayFigures {
            write_amplification,
            write_amplification_before: write_amplification,
            passes: 1,
            spare_taken: 0.01,
            programs_per_host_page: None,
            host_pages: 1,
            moved_pages: 0,
            erases: 0,
            exchanges: 0,
            wear: crate::replay::WearSpread { least: 0, most: 0, mean: 0.0, deviation: 0.0 },
            invalid_fifths: [0; 5],
            frontiers: 1,
            memory_bytes: 0,
            seconds: 0.0,
            learned: None,
            training: None,
        };
        let policies = amplifications.iter().map(|&(label, amplification)| PolicyResult {
            policy: label.to_owned(),
            victims: None,
            clusters: 6,
            slices: 1,
            periods: 1.0,
            measured: amplification.is_finite().then(|| figures(amplification)),
            response: None,
            not_applicable: None,
            error: None,
        });
        LoadResult {
            name: name.to_owned(),
            synthetic: false,
            write_requests: 1,
            written_pages: 1,
            write_buffer: None,
            footprint_pages: 1,
            duration_s: 1.0,
            applications: 1,
            drive: None,
            skipped: None,
            policies: policies.collect(),
        }
    }

    #[test]
    fn means_are_geometric_and_measured_from_none_to_oracle() {
        let loads = vec![
            result("a", &[("none", 4.0), ("haml", 2.0), ("sepbit", 3.0), ("oracle", 1.0)]),
            result("skipped", &[]),
            result("b", &[("none", 1.0), ("haml", 1.0), ("sepbit", f64::NAN), ("oracle", 1.0)]),
        ];
        let study = Study::of(&DriveRule::TableIii, loads, false);
        let mean = |label: &str| study.geometric_means.get(label);
        assert_eq!(mean("none").map(|mean| mean.write_amplification), Some(2.0));
        let haml = mean("haml").expect("measured everywhere");
        assert!((haml.write_amplification - 2.0_f64.sqrt()).abs() < 1e-12);
        let covered = haml.distance_covered.expect("both ends");
        assert!((covered - (2.0 - 2.0_f64.sqrt())).abs() < 1e-12);
        assert!(mean("sepbit").is_none(), "not measured on b");
        assert_eq!(study.measured().count(), 2);
        assert_eq!(study.labels(), ["none", "haml", "sepbit", "oracle"]);
    }

    #[test]
    fn policies_are_compared_load_by_load() {
        let loads = vec![
            result("a", &[("none", 4.0), ("haml", 2.0), ("dac", 3.0)]),
            result("b", &[("none", 2.0), ("haml", 1.0), ("dac", f64::NAN)]),
        ];
        let study = Study::of(&DriveRule::TableIii, loads, false).beside(&["none".to_owned()]);
        // Nothing was erased or timed.
        let figures: Vec<(&str, &str, usize)> = study
            .paired
            .iter()
            .map(|paired| (paired.figure, paired.policy.as_str(), paired.loads))
            .collect();
        let amplification = "write_amplification";
        assert_eq!(figures, [(amplification, "haml", 2), (amplification, "dac", 1)]);
        assert!((study.paired[0].change_percent + 50.0).abs() < 1e-9);
    }

    #[test]
    fn the_number_of_clusters_is_chosen_by_the_half_before() {
        let cells = [("none", 2.0), ("haml K=2", 1.8), ("haml K=3", 1.7), ("sepbit", 1.5)];
        let mut load = result("a", &cells);
        // In the half before, two clusters were better than three.
        load.policies[1].clusters = 2;
        let before = [1.9, 1.5, 1.6, 1.2];
        for (policy, before) in load.policies.iter_mut().zip(before) {
            policy.measured.as_mut().unwrap().write_amplification_before = before;
        }
        add_chosen(&mut load.policies);
        let chosen = load.policies.last().unwrap();
        assert_eq!((chosen.policy.as_str(), chosen.clusters), ("haml, K chosen", 2));
        assert_eq!(load.amplification("haml, K chosen"), Some(1.8));
        load.policies.truncate(2);
        add_chosen(&mut load.policies);
        assert_eq!(load.policies.len(), 2, "one number is no choice");
    }

    #[test]
    fn titles_are_names_of_files_up_to_the_first_dot() {
        assert_eq!(result("/tmp/a/hot.csv.zst", &[]).title(), "hot");
        assert_eq!(result("prn_1", &[]).title(), "prn_1");
    }
}
