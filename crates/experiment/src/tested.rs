//! Whether a calibrated drive is used within the range in which it was tested: its own parameters,
//! kinds of requests, their sizes, and how many are outstanding or arrive.
//!
//! Of each of these, what makes up less than 1 % of the requests is passed over. A request counts
//! as sequential if it begins near the place (within eight times its own length) where one of the
//! 32 before it, of the same tenant and direction, ended, since those that are outstanding together
//! end in any order; a workload is sequential if most of its requests are.

use crate::livepoints::LivePoints;
use crate::serve::{Observer, ObserverError};
use ssdtune_model::{
    Calibrated, DeviceConfig, Direction, Nanos, SECTOR_BYTES, Sectors, TenantId, TestedLoad,
};
use ssdtune_sim::{Completion, Look, Replay, Report, Simulator};
use ssdtune_trace::{Op, Request};
use std::collections::{BTreeMap, VecDeque};

/// Share of the requests below which something is not worth a word.
const SHARE_MIN: f64 = 0.01;
/// Requests that the next one may continue.
const RECENT: usize = 32;
/// How far from its end a request begins that continues it, in lengths of that request.
const NEAR: u64 = 8;
/// Parameters that are named where a drive was changed; further ones are counted.
const KEYS_MAX: usize = 3;

/// What the requests of one direction were like.
#[derive(Clone, Debug, Default)]
struct Side {
    requests: u64,
    sequential: u64,
    /// Requests by their size in sectors.
    sizes: BTreeMap<u32, u64>,
    /// Where the last ones began and ended.
    recent: VecDeque<(TenantId, u64, u64)>,
}

impl Side {
    fn add(&mut self, tenant: TenantId, lba: Sectors, sectors: u32) {
        let (begin, end) = (lba.0, lba.0 + u64::from(sectors));
        let near = NEAR * u64::from(sectors);
        let goes_on = |&(own, first, last): &(TenantId, u64, u64)| {
            own == tenant && first != begin && last.abs_diff(begin) <= near
        };
        self.requests += 1;
        self.sequential += u64::from(self.recent.iter().any(goes_on));
        *self.sizes.entry(sectors).or_default() += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((tenant, begin, end));
    }
}

/// What a workload asks of a drive: kinds and sizes of its requests, and how many at once.
#[derive(Clone, Debug, Default)]
pub struct Load {
    read: Side,
    write: Side,
    /// Requests outstanding in its closed loops.
    closed: Option<f64>,
    /// Requests outstanding on average, where they arrive at times of their own.
    outstanding: Option<f64>,
    /// Requests that arrive in a second, where they do so at times of their own.
    rate: Option<f64>,
}

impl Load {
    /// The load of requests, in order of time, that are replayed in a way.
    pub fn of_requests(requests: &[Request], replay: Replay) -> Self {
        let mut load = Self::default();
        for request in requests {
            load.add(request.op, request.tenant, request.lba, request.sectors);
        }
        match replay {
            Replay::Closed(depth) => load.closed = Some(depth.into()),
            Replay::Open => {
                let at = |request: Option<&Request>| request.map_or(Nanos::ZERO, |one| one.at);
                let time = at(requests.last()).0.saturating_sub(at(requests.first()).0);
                load.rate = rate(load.requests(), time as f64 / 1e9);
            }
        }
        load
    }

    /// Adds what only a finished run knows: how many requests were outstanding.
    #[must_use]
    pub fn of_run(mut self, replays: impl IntoIterator<Item = Replay>, report: &Report) -> Self {
        let mut depth = 0;
        let mut is_open = false;
        for replay in replays {
            match replay {
                Replay::Closed(own) => depth += own,
                Replay::Open => is_open = true,
            }
        }
        if !is_open {
            self.closed = Some(depth.into());
            return self;
        }
        let all = &report.total.all;
        self.rate = rate(self.requests(), report.time.seconds);
        // Little's law.
        let mean = all.total_latency_ns.as_ref().map(|latency| latency.mean / 1e9);
        self.outstanding = mean.zip(self.rate).map(|(seconds, rate)| seconds * rate);
        self
    }

    /// The load of a whole trace, as its windows tell it, on a drive whose requests take
    /// `latency_ns` in the mean from their arrival at the host.
    #[must_use]
    pub fn of_windows(points: &LivePoints, replay: Replay, latency_ns: f64) -> Self {
        let mut load = Self::default();
        let requests = || points.windows.iter().flat_map(|window| &window.requests);
        for request in requests() {
            load.add(request.op, request.tenant, request.lba, request.sectors);
        }
        match replay {
            Replay::Closed(depth) => load.closed = Some(depth.into()),
            Replay::Open => {
                let share = load.requests() as f64 / requests().count().max(1) as f64;
                let all = (share * points.requests as f64).round() as u64;
                let time = points.about.last.0.saturating_sub(points.about.first.0);
                load.rate = rate(all, time as f64 / 1e9);
                load.outstanding = load.rate.map(|rate| rate * latency_ns / 1e9);
            }
        }
        load
    }

    fn add(&mut self, op: Op, tenant: TenantId, lba: Sectors, sectors: u32) {
        match op {
            Op::Read => self.read.add(tenant, lba, sectors),
            Op::Write => self.write.add(tenant, lba, sectors),
            Op::Trim | Op::Flush => {}
        }
    }

    fn requests(&self) -> u64 {
        self.read.requests + self.write.requests
    }

    /// What a calibrated drive was not tested at, a few words each; empty within its range. `used`
    /// is the drive as it is simulated, which may have been changed since.
    pub fn outside(&self, drive: &Calibrated, used: &DeviceConfig) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(derived) = &drive.provenance.derived {
            said.push(format!("the drive itself, {derived}"));
        }
        if drive.is_edited() {
            said.push("its file, which was edited since".to_owned());
        }
        let changed = drive.changed(used);
        if !changed.is_empty() {
            let more = changed.len().saturating_sub(KEYS_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let keys = changed[..changed.len().min(KEYS_MAX)].join(", ");
            said.push(format!("another {keys}{more}"));
        }
        let tested = &drive.provenance.tested;
        if tested.is_empty() {
            said.push("any load (its file names none)".to_owned());
        } else if self.requests() > 0 {
            self.kinds(tested, &mut said);
            self.amount(tested, &mut said);
        }
        said
    }

    /// Directions, sizes, places and mixes.
    fn kinds(&self, tested: &[TestedLoad], said: &mut Vec<String>) {
        let all = self.requests() as f64;
        let is_worth = |count: u64| count as f64 >= SHARE_MIN * all;
        let sides = [
            (Direction::Read, &self.read, "reads", "writes"),
            (Direction::Write, &self.write, "writes", "reads"),
        ];
        let mut known = 0;
        for (direction, side, name, other) in sides {
            if !is_worth(side.requests) {
                continue;
            }
            let own = || tested.iter().filter(|load| load.direction == direction);
            if own().next().is_none() {
                said.push(format!("{name} (tested: {other} alone)"));
                continue;
            }
            known += 1;
            let low = own().map(|load| load.block_bytes[0]).min().unwrap_or(0);
            let high = own().map(|load| load.block_bytes[1]).max().unwrap_or(0);
            said.extend(side.sizes_outside([low, high]).map(|sizes| {
                format!("{name} of {sizes} (tested: {})", sizes_in_words([low, high]))
            }));
            let is_sequential = 2 * side.sequential > side.requests;
            if own().all(|load| load.sequential != is_sequential) {
                let (one, other) = match is_sequential {
                    true => ("sequential", "random"),
                    false => ("random", "sequential"),
                };
                said.push(format!("{one} {name} (tested: {other} ones)"));
            }
        }
        if known == 2 {
            let percent = 100.0 * self.read.requests as f64 / all;
            said.extend(mix_outside(percent, tested));
        }
    }

    /// How many requests are outstanding or arrive.
    fn amount(&self, tested: &[TestedLoad], said: &mut Vec<String>) {
        let depths = tested.iter().filter_map(|load| load.outstanding);
        let depths = span(depths.map(|range| range.map(f64::from)));
        let rates = span(tested.iter().filter_map(|load| load.offered_iops));
        let is_within = |value: Option<f64>, range: Option<[f64; 2]>| {
            value.zip(range).is_some_and(|(value, [low, high])| low <= value && value <= high)
        };
        // Fewer than one at a time are one at a time, with pauses.
        let mean = self.outstanding.map(|mean| mean.max(1.0));
        if is_within(self.closed.or(mean), depths) || is_within(self.rate, rates) {
            return;
        }
        let range = |[low, high]: [f64; 2]| match low < high {
            true => format!("{low} to {high}"),
            false => format!("{low}"),
        };
        match (self.closed, mean, self.rate, depths, rates) {
            (Some(depth), _, _, Some(own), _) => {
                said.push(format!("{depth} requests outstanding (tested: {})", range(own)));
            }
            (Some(depth), _, _, None, Some(own)) => said.push(format!(
                "{depth} requests outstanding (tested: {} arriving in a second)",
                range(own)
            )),
            (None, Some(mean), _, Some(own), _) => said.push(format!(
                "{mean:.1} requests outstanding on average (tested: {})",
                range(own)
            )),
            (None, _, Some(rate), _, Some(own)) => {
                said.push(format!("{rate:.0} requests in a second (tested: {})", range(own)));
            }
            _ => {}
        }
    }
}

impl Side {
    /// The sizes outside of a range, in words, if enough requests have one.
    fn sizes_outside(&self, [low, high]: [u32; 2]) -> Option<String> {
        let bytes = |sectors: u32| u64::from(sectors) * SECTOR_BYTES;
        let is_outside = |&(&sectors, _): &(&u32, &u64)| {
            !(u64::from(low)..=u64::from(high)).contains(&bytes(sectors))
        };
        let outside = || self.sizes.iter().filter(is_outside);
        let count: u64 = outside().map(|(_, count)| count).sum();
        let ends = outside().next().zip(outside().next_back());
        let ((&first, _), (&last, _)) = ends?;
        let is_worth = count as f64 >= SHARE_MIN * self.requests as f64;
        let range = [first, last].map(|sectors| bytes(sectors).min(u32::MAX.into()) as u32);
        is_worth.then(|| sizes_in_words(range))
    }
}

/// Says that a mix of reads and writes is outside of what was tested, if it is.
fn mix_outside(percent: f64, tested: &[TestedLoad]) -> Option<String> {
    if !tested.iter().any(TestedLoad::is_mixed) {
        return Some("reads and writes together (tested: each alone)".to_owned());
    }
    let [low, high] = span(tested.iter().map(|load| load.read_percent))?;
    let is_within = (low - 1.0..=high + 1.0).contains(&percent);
    let range = if low < high { format!("{low} to {high} %") } else { format!("{low} %") };
    (!is_within).then(|| format!("{percent:.0} % reads (tested: {range})"))
}

/// The smallest range that holds all ranges; `None` without any.
fn span(ranges: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
    ranges.reduce(|[low, high], [first, last]| [low.min(first), high.max(last)])
}

/// A range of sizes as text.
fn sizes_in_words([low, high]: [u32; 2]) -> String {
    let number = |bytes: u32, unit: u32| f64::from(bytes) / f64::from(unit);
    let unit = |bytes: u32| match bytes {
        0..=1023 => (1, "B"),
        1024..=1_048_575 => (1 << 10, "KiB"),
        _ => (1 << 20, "MiB"),
    };
    let ((first, small), (last, large)) = (unit(low), unit(high));
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    let (first, last) = (rounded(number(low, first)), rounded(number(high, last)));
    match (low == high, small == large) {
        (true, _) => format!("{first} {small}"),
        (false, true) => format!("{first} to {last} {large}"),
        (false, false) => format!("{first} {small} to {last} {large}"),
    }
}

/// The sentence for people about a drive that is used outside of its tested range, with each of
/// `outside` once; `None` within it.
pub fn outside_in_words(drive: &Calibrated, outside: &[String]) -> Option<String> {
    let name = &drive.provenance.drive;
    let each = outside.iter().enumerate().filter(|(at, one)| !outside[..*at].contains(one));
    let parts = each.map(|(_, one)| one.as_str()).collect::<Vec<_>>().join("; ");
    (!outside.is_empty()).then(|| format!("outside of what {name} was tested at: {parts}"))
}

/// An observer that finds out what a run asks of the drive.
impl Observer for Load {
    fn wants_completions(&self) -> bool {
        true
    }

    fn look(
        &mut self,
        _: &mut Simulator,
        completions: &[Completion],
        _: Look,
    ) -> Result<(), ObserverError> {
        for one in completions {
            self.add(one.op, one.tenant, one.lba, one.sectors);
        }
        Ok(())
    }
}

/// Requests in a second; `None` where no time passes.
fn rate(requests: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| requests as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::livepoints::{SampleOptions, Sampler};
    use ssdtune_model::Provenance;

    fn tested(direction: Direction, read_percent: f64) -> TestedLoad {
        TestedLoad {
            direction,
            sequential: false,
            read_percent: [read_percent; 2],
            block_bytes: [4096, 16_384],
            outstanding: Some([1, 32]),
            offered_iops: None,
        }
    }

    fn drive(tested: Vec<TestedLoad>) -> Calibrated {
        let provenance =
            Provenance { drive: "Real 1TB".to_owned(), tested, ..Provenance::default() };
        Calibrated { provenance, config: DeviceConfig::default() }
    }

    /// Requests far from each other, a millisecond apart.
    fn requests(sectors: &[u32], op: Op) -> Vec<Request> {
        let one = |(number, &sectors): (usize, &u32)| Request {
            at: Nanos(1_000_000 * number as u64),
            lba: Sectors(10_000 * (number as u64 * 7_919 % 1_000)),
            sectors,
            tenant: TenantId(0),
            op,
        };
        sectors.iter().enumerate().map(one).collect()
    }

    fn said(requests: &[Request], replay: Replay, drive: &Calibrated) -> String {
        Load::of_requests(requests, replay).outside(drive, &drive.config).join("; ")
    }

    #[test]
    fn within_the_range_nothing_is_said_and_its_ends_belong_to_it() {
        let reads = drive(vec![tested(Direction::Read, 100.0)]);
        let small = requests(&[8, 32, 8, 16].repeat(50), Op::Read);
        for depth in [1, 32] {
            assert_eq!(said(&small, Replay::Closed(depth), &reads), "");
        }
        // One request of 200 is no reason for a word.
        let mut one_large = small.clone();
        one_large[7].sectors = 256;
        one_large[9].op = Op::Write;
        assert_eq!(said(&one_large, Replay::Closed(8), &reads), "");
    }

    #[test]
    fn sizes_directions_places_and_depths_outside_are_named() {
        let reads = drive(vec![tested(Direction::Read, 100.0)]);
        let large = requests(&[8, 256, 64].repeat(50), Op::Read);
        assert_eq!(
            said(&large, Replay::Closed(33), &reads),
            "reads of 32 to 128 KiB (tested: 4 to 16 KiB); 33 requests outstanding \
             (tested: 1 to 32)"
        );
        let writes = requests(&[8; 100], Op::Write);
        assert_eq!(said(&writes, Replay::Closed(1), &reads), "writes (tested: reads alone)");
        let mut stream = requests(&[8; 100], Op::Read);
        for (number, request) in stream.iter_mut().enumerate() {
            // In pairs that come the wrong way round.
            request.lba = Sectors(8 * (number as u64 ^ 1));
        }
        assert_eq!(
            said(&stream, Replay::Closed(1), &reads),
            "sequential reads (tested: random ones)"
        );
        let none = drive(Vec::new());
        assert_eq!(said(&stream, Replay::Closed(1), &none), "any load (its file names none)");
    }

    #[test]
    fn mixes_are_compared_with_mixes() {
        let mut mixed = requests(&[8; 100], Op::Read);
        mixed.iter_mut().step_by(4).for_each(|request| request.op = Op::Write);
        let alone = vec![tested(Direction::Read, 100.0), tested(Direction::Write, 0.0)];
        let words = "reads and writes together (tested: each alone)";
        assert_eq!(said(&mixed, Replay::Closed(4), &drive(alone)), words);
        let both =
            |percent| vec![tested(Direction::Read, percent), tested(Direction::Write, percent)];
        assert_eq!(said(&mixed, Replay::Closed(4), &drive(both(75.0))), "");
        assert_eq!(
            said(&mixed, Replay::Closed(4), &drive(both(50.0))),
            "75 % reads (tested: 50 %)"
        );
    }

    /// Windows of a trace tell the load of the whole.
    #[test]
    fn windows_ask_for_what_the_whole_trace_asks_for() {
        let mut all = requests(&[8; 6_000], Op::Read);
        all.iter_mut().step_by(4).for_each(|request| request.op = Op::Write);
        all.iter_mut().step_by(50).for_each(|request| request.op = Op::Flush);
        let options =
            SampleOptions { windows: 20, measured: 50, warm_up: 20, ..Default::default() };
        let mut sampler = Sampler::new(options).unwrap();
        all.iter().for_each(|request| sampler.push(request).unwrap());
        let points = sampler.finish().unwrap();
        let (told, whole) =
            (Load::of_windows(&points, Replay::Open, 2e6), Load::of_requests(&all, Replay::Open));
        let share = |load: &Load| load.read.requests as f64 / load.requests() as f64;
        assert!((share(&told) - share(&whole)).abs() < 0.02);
        let rate = (told.rate.unwrap(), whole.rate.unwrap());
        assert!((rate.0 / rate.1 - 1.0).abs() < 0.01, "{rate:?}");
        // Little's law: 2 ms each.
        assert!((told.outstanding.unwrap() - 2e-3 * rate.0).abs() < 1e-9);
        assert_eq!(Load::of_windows(&points, Replay::Closed(8), 2e6).closed, Some(8.0));
        assert_eq!(told.read.sizes.keys().collect::<Vec<_>>(), [&8]);
    }

    #[test]
    fn arrivals_are_compared_with_rates_and_by_littles_law() {
        let open = requests(&[8; 101], Op::Read);
        let paced = |least: f64, most: f64| {
            let load = TestedLoad {
                outstanding: None,
                offered_iops: Some([least, most]),
                ..tested(Direction::Read, 100.0)
            };
            drive(vec![load])
        };
        // 101 requests in 100 ms.
        assert_eq!(said(&open, Replay::Open, &paced(500.0, 2_000.0)), "");
        let words = "1010 requests in a second (tested: 100 to 900)";
        assert_eq!(said(&open, Replay::Open, &paced(100.0, 900.0)), words);
        assert!(said(&open, Replay::Closed(2), &paced(1.0, 2.0)).contains("arriving in a second"));
        let load = Load { outstanding: Some(40.0), ..Load::of_requests(&open, Replay::Open) };
        let reads = drive(vec![tested(Direction::Read, 100.0)]);
        let words = "40.0 requests outstanding on average (tested: 1 to 32)";
        assert_eq!(load.outside(&reads, &reads.config), [words]);
        let idle = Load { outstanding: Some(0.1), ..load };
        assert_eq!(idle.outside(&reads, &reads.config), Vec::<String>::new());
    }

    #[test]
    fn a_drive_that_is_not_the_tested_one_is_named() {
        let own = drive(vec![tested(Direction::Read, 100.0)]);
        let load = Load::of_requests(&requests(&[8; 100], Op::Read), Replay::Closed(1));
        let mut used = own.config.clone();
        used.bus.channels += 1;
        let outside = load.outside(&own, &used);
        assert_eq!(outside, ["another bus.channels"]);
        assert_eq!(
            outside_in_words(&own, &outside).unwrap(),
            "outside of what Real 1TB was tested at: another bus.channels"
        );
        assert_eq!(outside_in_words(&own, &[]), None);
        let mut derived = own;
        derived.provenance.derived = Some("derived from Real 512GB".to_owned());
        assert!(
            load.outside(&derived, &derived.config)[0].starts_with("the drive itself, derived")
        );
    }
}
