//! Two profiles joined by group: what the host knows of each group, and the target's time.

use super::drive::WorkCounts;
use super::events::{TABLE_5, TLB_EVENTS};
use super::profile::{Profile, ProfileSetup, ProfiledGroup, Statistic};
use std::collections::{BTreeMap, BTreeSet};

/// A group that both profiles have.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Label of the workload and number of the group, as in `RW/12`.
    pub id: String,
    /// Label of the workload.
    pub workload: String,
    /// What the firmware did.
    pub counts: WorkCounts,
    /// What a model may be told, by name: counts, events, and the host's time as [`HOST_NS`].
    pub inputs: BTreeMap<String, f64>,
    /// The target's time in nanoseconds.
    pub target_ns: f64,
}

/// Name of the host's time in nanoseconds among the inputs of a model.
pub const HOST_NS: &str = "HOST_NS";

/// Two profiles, joined by group.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The groups, in the order of the host's profile.
    pub rows: Vec<Record>,
    /// Events that a learner is told: those of Table 5 in its order, then those of TLBs. Every
    /// group has counted them, and most of them found some.
    pub events: Vec<String>,
    /// How far one time of the target is from the median of its group, relative to the median and
    /// in the mean; 0 if groups have one time only. No model can predict a single run better.
    pub target_noise: f64,
    /// How far one time of the host is from the median of its group, relative to the median and in
    /// the mean; 0 if groups have one time only.
    pub host_noise: f64,
    /// Standard error of the target's medians, relative to them and in the mean. No model can have
    /// a smaller error.
    pub target_floor: f64,
}

/// Why two profiles cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The profiles measured different groups.
    #[error(
        "the profiles do not belong together: {field} is {host} on the host and {target} on the \
         target; profile both with the same --size, --scale, --groups-max, --warm-up and --seed"
    )]
    Setup {
        /// The setting that differs.
        field: &'static str,
        /// Its value on the host.
        host: String,
        /// Its value on the target.
        target: String,
    },
    /// A group did other work on the target than on the host.
    #[error(
        "group {0} did other work on the target than on the host: profile both with the same \
         version of this program"
    )]
    Work(String),
    /// A group lacks events or times.
    #[error(
        "group {id} has no {what} in the {side}'s profile; a host's needs both, by `profile \
         --events callgrind` or `perf`, a target's times alone"
    )]
    Missing {
        /// Label of the workload and number of the group.
        id: String,
        /// What the group lacks.
        what: &'static str,
        /// Whose profile it is: `host` or `target`.
        side: &'static str,
    },
    /// The profiles have too few workloads in common.
    #[error("the profiles have {0} workloads in common: leaving one out needs two at least")]
    Workloads(usize),
}

/// Joins the profile of a host with that of a target by group. Groups that only one of them has are
/// left out.
///
/// # Errors
/// The profiles do not belong together, or lack events or times.
pub fn join(host: &Profile, target: &Profile, statistic: Statistic) -> Result<Records, JoinError> {
    same_setup(&host.source.setup, &target.source.setup)?;
    let by_id: BTreeMap<&str, &ProfiledGroup> =
        target.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut rows = Vec::new();
    let (mut host_noise, mut target_noise, mut floor) = (0.0, 0.0, 0.0);
    for row in &host.rows {
        let Some(other) = by_id.get(row.id.as_str()) else { continue };
        if row.counts != other.counts {
            return Err(JoinError::Work(row.id.clone()));
        }
        rows.push(record(row, other, statistic)?);
        host_noise += noise(&row.ns);
        target_noise += noise(&other.ns);
        floor += standard_error(&other.ns);
    }
    let labels: BTreeSet<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    if labels.len() < 2 {
        return Err(JoinError::Workloads(labels.len()));
    }
    let count = rows.len() as f64;
    // An event that most groups lack, as misses of the instruction TLB, is luck, and its rate tells
    // the size of a group alone.
    let is_told = |event: &&&str| {
        let counts: Option<Vec<f64>> =
            rows.iter().map(|row: &Record| row.inputs.get(**event).copied()).collect();
        counts.is_some_and(|all| 2 * all.iter().filter(|&&count| count > 0.0).count() > all.len())
    };
    let known = TABLE_5.iter().chain(&TLB_EVENTS).filter(is_told);
    Ok(Records {
        events: known.map(|&event| event.to_owned()).collect(),
        target_noise: target_noise / count,
        host_noise: host_noise / count,
        target_floor: floor / count,
        rows,
    })
}

/// A group with what the host knows and the target's time.
fn record(
    row: &ProfiledGroup,
    other: &ProfiledGroup,
    statistic: Statistic,
) -> Result<Record, JoinError> {
    let missing = |what, side| JoinError::Missing { id: row.id.clone(), what, side };
    let target_ns = other.time_ns(statistic).ok_or_else(|| missing("time", "target"))?;
    if target_ns <= 0.0 {
        return Err(missing("time above 0", "target"));
    }
    Ok(Record { target_ns, ..known(row, statistic)? })
}

/// A group with what the host knows; the target's time is 0.
///
/// # Errors
/// The group lacks events or times.
pub fn known(row: &ProfiledGroup, statistic: Statistic) -> Result<Record, JoinError> {
    let missing = |what| JoinError::Missing { id: row.id.clone(), what, side: "host" };
    let host_ns = row.time_ns(statistic).ok_or_else(|| missing("time"))?;
    if row.events.is_empty() {
        return Err(missing("events"));
    }
    let counted = WorkCounts::NAMES.iter().zip(row.counts.values());
    let mut inputs: BTreeMap<String, f64> =
        counted.map(|(name, count)| ((*name).to_owned(), count as f64)).collect();
    let events = row.events.iter().chain(&row.callgrind);
    inputs.extend(events.map(|(name, &count)| (name.clone(), count as f64)));
    inputs.insert(HOST_NS.to_owned(), host_ns);
    Ok(Record {
        id: row.id.clone(),
        workload: row.workload().to_owned(),
        counts: row.counts,
        inputs,
        target_ns: 0.0,
    })
}

/// Whether two profiles measured the same groups.
fn same_setup(host: &ProfileSetup, target: &ProfileSetup) -> Result<(), JoinError> {
    let fields = |setup: &ProfileSetup| {
        [
            ("size", format!("{:?}", setup.size)),
            ("group_requests", setup.group_requests.to_string()),
            ("scale", setup.scale.to_string()),
            ("groups_max", setup.groups_max.to_string()),
            ("warm_up", setup.warm_up.to_string()),
            ("seed", setup.seed.to_string()),
        ]
    };
    for ((field, host), (_, target)) in fields(host).into_iter().zip(fields(target)) {
        if host != target {
            return Err(JoinError::Setup { field, host, target });
        }
    }
    Ok(())
}

/// How far times are from their median in the mean, relative to the median; 0 for one time.
fn noise(times: &[u64]) -> f64 {
    match super::profile::median(times) {
        Some(median) if times.len() > 1 && median > 0.0 => {
            let far: f64 = times.iter().map(|&time| (time as f64 - median).abs()).sum();
            far / (median * times.len() as f64)
        }
        _ => 0.0,
    }
}

/// Standard error of a median, relative to the median: 1.2533 times the standard error of a mean.
/// The standard deviation is taken from the distance between the quartiles, which is 1.349 standard
/// deviations and does not depend on outliers.
fn standard_error(times: &[u64]) -> f64 {
    let (Some(median), true) = (super::profile::median(times), times.len() > 2) else { return 0.0 };
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let quartile = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low as f64 + (high as f64 - low as f64) * place.fract()
    };
    let deviation = (quartile(0.75) - quartile(0.25)) / 1.349;
    1.2533 * deviation / (times.len() as f64).sqrt() / median.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::profile::tests::source;
    use super::*;

    fn profile(ids: &[&str], ns: &[u64]) -> Profile {
        let row = |id: &&str| ProfiledGroup {
            id: (*id).to_owned(),
            counts: WorkCounts { requests: 1_000, ..WorkCounts::default() },
            ns: ns.to_vec(),
            events: BTreeMap::from([("INSTR".to_owned(), 7)]),
            callgrind: BTreeMap::new(),
        };
        Profile { source: source(), rows: ids.iter().map(row).collect() }
    }

    #[test]
    fn groups_that_both_have_are_joined() {
        let (host, target) = (
            profile(&["RW/0", "RW/1", "SR/0"], &[10, 30, 20]),
            profile(&["SR/0", "RW/1", "TC/0"], &[50]),
        );
        let records = join(&host, &target, Statistic::Median).unwrap();
        let ids: Vec<&str> = records.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["RW/1", "SR/0"]);
        assert_eq!(records.rows[0].inputs[HOST_NS], 20.0);
        assert_eq!(records.rows[0].target_ns, 50.0);
        assert_eq!(records.events, ["INSTR"]);
        // An event that one of two groups has counted, and one that one of two has found.
        let mut luck = host.clone();
        for (row, count) in luck.rows.iter_mut().zip([0, 0, 3]) {
            row.events.insert("ITLB_MISSES".to_owned(), count);
        }
        luck.rows[1].events.insert("BR_INSTS".to_owned(), 7);
        assert_eq!(join(&luck, &target, Statistic::Median).unwrap().events, ["INSTR"]);
        // (10 + 10 + 0) / 3 of 20.
        assert!((records.host_noise - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(records.target_noise, 0.0);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let host = profile(&["RW/0", "SR/0"], &[1]);
        let mut target = host.clone();
        target.source.setup.scale = 11;
        let error = join(&host, &target, Statistic::Median).unwrap_err().to_string();
        assert!(error.contains("scale is 10 on the host and 11"), "{error}");
        let mut target = host.clone();
        target.rows[1].counts.victims = 1;
        assert_eq!(
            join(&host, &target, Statistic::Median),
            Err(JoinError::Work("SR/0".to_owned()))
        );
        let target = profile(&["RW/0", "SR/0"], &[]);
        let error = join(&host, &target, Statistic::Median).unwrap_err().to_string();
        assert!(error.contains("no time in the target's"), "{error}");
        let target = profile(&["RW/0"], &[1]);
        assert_eq!(join(&host, &target, Statistic::Median), Err(JoinError::Workloads(1)));
    }

    #[test]
    fn the_error_of_a_median_by_hand() {
        // Quartiles 20 and 40, deviation 20 / 1.349.
        let expected = 1.2533 * (20.0 / 1.349) / 5.0_f64.sqrt() / 30.0;
        assert!((standard_error(&[10, 20, 30, 40, 50]) - expected).abs() < 1e-12);
        assert_eq!(standard_error(&[10, 20]), 0.0);
    }
}
