//! The parameters that a fit refines.
//!
//! They are rows of the parameter catalogue by their names. A row that the catalogue does not have,
//! or that has no effect on the drive, is left out, so a new mechanism is one line in [`FREE`].

use super::told::{Needs, Peak, Told};
use crate::point::Point;
use ssdtune_model::catalogue::{self, Legal, Parameter, Value};
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, Nanos};
use std::collections::BTreeSet;

/// How the range of a parameter is divided into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Logarithmic,
}

/// Which points tell the start of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The smallest requests, the fewest outstanding: the bare times.
    Bare,
    /// Requests of all sizes, the fewest outstanding: what each byte costs.
    Sizes,
    /// The most outstanding of each size: what limits the rate.
    Plateau,
}

/// A parameter that a fit may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Free {
    /// Its row in the catalogue.
    pub key: &'static str,
    /// The smallest value that is tried.
    pub min: f64,
    /// The largest value that is tried.
    pub max: f64,
    /// How the range is divided.
    pub scale: Scale,
    /// Which points tell its start.
    pub stage: Stage,
    /// Which points can tell it.
    pub needs: Needs,
    /// What it limits, if it is a limit. 0 stands for none then and is tried at the upper end of
    /// the range; the start lies a little above the highest value measured.
    pub limits: Option<Peak>,
}

impl Free {
    /// A parameter with ranges of equal differences.
    const fn linear(key: &'static str, min: f64, max: f64, stage: Stage) -> Self {
        Self { key, min, max, scale: Scale::Linear, stage, needs: Needs::Any, limits: None }
    }

    /// A parameter with ranges of equal ratios.
    const fn ratios(key: &'static str, min: f64, max: f64, stage: Stage) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(key, min, max, stage) }
    }

    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    const fn limits(self, peak: Peak) -> Self {
        Self { limits: Some(peak), ..self }
    }

    /// The value at a place in 0 to 1.
    fn value(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        if self.limits.is_some() && place == 1.0 {
            return 0.0;
        }
        match self.scale {
            Scale::Linear => self.min + place * (self.max - self.min),
            Scale::Logarithmic => self.min * (self.max / self.min).powf(place),
        }
    }

    /// The place of a value, in 0 to 1.
    fn place(&self, value: f64) -> f64 {
        if self.limits.is_some() && value == 0.0 {
            return 1.0;
        }
        let place = match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Logarithmic => (value / self.min).ln() / (self.max / self.min).ln(),
        };
        // Also where the value is 0 and its logarithm is none.
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn row(&self) -> Option<&'static Parameter> {
        catalogue::find(self.key)
    }

    /// How it is found in a drive.
    ///
    /// Over SATA the adapter's time for each command holds that of its transfer, so requests of one
    /// size tell what is left for the link behind it. All channels together carry at least the
    /// bandwidth that the base says of the controller, which small requests alone do not tell.
    fn of(&self, drive: &DeviceConfig) -> Self {
        let is_sata = drive.host.interface == HostInterface::Sata;
        let lines = drive.bus.channels.max(1) * drive.bus.width_bytes.max(1);
        let of_a_channel = f64::from(drive.controller.bandwidth_mbs) / f64::from(lines);
        match self.key {
            LINK if is_sata => Self { needs: Needs::Closed, ..*self },
            RATE if (self.min..self.max).contains(&of_a_channel) => {
                Self { min: of_a_channel, ..*self }
            }
            _ => *self,
        }
    }

    /// Whether it can change what a drive does.
    fn works(&self, drive: &DeviceConfig) -> bool {
        self.key == WRITTEN || self.row().is_some_and(|row| row.inert(drive).is_none())
    }
}

/// Every parameter that a fit may change.
pub const FREE: &[Free] = &[
    Free::ratios("flash.page_read_latency_lsb_ns", 2e3, 3e5, Stage::Bare),
    Free::ratios(MIDDLE, 2e3, 3e5, Stage::Bare).needs(Needs::Later),
    Free::ratios("flash.page_read_latency_msb_ns", 2e3, 3e5, Stage::Bare),
    Free::ratios("flash.page_read_latency_tsb_ns", 2e3, 3e5, Stage::Bare),
    Free::linear("controller.read_time_ns", 0.0, 6e4, Stage::Bare),
    Free::ratios(RATE, 50.0, 6_400.0, Stage::Sizes).needs(Needs::Closed),
    Free::linear("controller.pipeline_time_ns", 0.0, 2e4, Stage::Sizes).needs(Needs::Sizes),
    Free::ratios("controller.core_rate", 2e4, 1e7, Stage::Plateau)
        .needs(Needs::Closed)
        .limits(Peak::Rate),
    Free::ratios("controller.bandwidth_mbs", 50.0, 3e4, Stage::Plateau)
        .needs(Needs::Bandwidth)
        .limits(Peak::Bandwidth),
    Free::linear("host.sata_processing_delay_ns", 0.0, 5e4, Stage::Plateau),
    Free::linear("controller.write_time_ns", 0.0, 6e4, Stage::Bare).needs(Needs::Paced),
    Free::linear("suspension.suspend_program_ns", 0.0, 3e5, Stage::Bare).needs(Needs::Paced),
    Free::linear("suspension.program_for_read_ns", 0.0, 1e6, Stage::Bare).needs(Needs::Paced),
    Free::ratios(PROGRAM, 1e5, 2e7, Stage::Plateau).needs(Needs::Paced),
    Free::linear(WRITTEN, 0.05, 1.0, Stage::Bare).needs(Needs::UnknownState),
];

/// The share of the drive that holds data, where nobody knows it. It is no parameter of the drive
/// but what was done with it before, so that it is no row of the catalogue.
pub const WRITTEN: &str = "share that holds data";

/// The read time of the second of three page types. Of four, two lie between the ends.
const MIDDLE: &str = "flash.page_read_latency_csb_ns";
/// The program time that is fitted; those of other page types keep their ratio to it.
const PROGRAM: &str = "flash.page_program_latency_lsb_ns";
/// The rate of a channel.
const RATE: &str = "bus.rate_mts";
/// The link of a host.
const LINK: &str = "host.pcie_lane_bandwidth_gbps";

/// Every parameter that a fit may change for the points of a rig: what its host costs beside that
/// of the points of no rig. Each job has a processor of its own, and all share a SATA adapter and
/// the link, which may be slower than the drive's.
pub const FREE_OF_RIGS: &[Free] = &[
    Free::linear("host.request_time_ns", 0.0, 6e4, Stage::Bare),
    Free::ratios(LINK, 0.05, 8.0, Stage::Sizes).needs(Needs::Sizes),
    Free::ratios("host.core_rate", 1e4, 1e7, Stage::Plateau).limits(Peak::RateOfAJob),
    Free::linear("host.sata_processing_delay_ns", 0.0, 5e4, Stage::Plateau),
    Free::linear(WRITTEN, 0.05, 1.0, Stage::Bare).needs(Needs::UnknownState),
];

/// The rig by which each point was measured: the number of the first rule that chooses it, `None`
/// where none does.
pub(super) type Rigs = [Option<usize>];

/// A parameter of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Knob {
    pub(super) free: Free,
    /// The rig that it belongs to; `None` for the drive.
    pub(super) rig: Option<usize>,
}

/// The parameters of a fit, and places in their ranges.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Space(pub(super) Vec<Knob>);

impl Space {
    /// Those parameters of the drive that the catalogue has and that can change what the drive
    /// does, and those of each rig. Where every point has a rig, what can be of the drive as well
    /// is not told from that of the first one.
    pub(super) fn of(free: &[Free], drive: &DeviceConfig, told: Told, rigs: &Rigs) -> Self {
        let works = |free: &&Free| {
            free.works(drive) && !is_between(free.key, drive) && told.meets(free.needs)
        };
        let own = free.iter().filter(works).map(|free| Knob { free: free.of(drive), rig: None });
        let known: BTreeSet<usize> = rigs.iter().flatten().copied().collect();
        let of_rigs = FREE_OF_RIGS.iter().map(|free| free.of(drive));
        let of_rigs: Vec<Free> =
            of_rigs.filter(|free| free.works(drive) && told.meets(free.needs)).collect();
        let mut all: Vec<Knob> = own.collect();
        let drives: Vec<&str> = all.iter().map(|knob| knob.free.key).collect();
        // Where no point is without a rig, the drive is behind the first one.
        let first = known.first().copied().filter(|_| rigs.iter().all(Option::is_some));
        for rig in known {
            let is_own = |free: &&Free| Some(rig) != first || !drives.contains(&free.key);
            let own = of_rigs.iter().filter(is_own);
            all.extend(own.map(|free| Knob { free: *free, rig: Some(rig) }));
        }
        Self(all)
    }

    /// The parameters whose start is told by the points of a stage.
    pub(super) fn axes_of(&self, stage: Stage) -> Vec<usize> {
        (0..self.0.len()).filter(|&axis| self.0[axis].free.stage == stage).collect()
    }

    /// Where a drive's own values lie, and limits a little above what was measured at points, or
    /// where the drive has them if that is more. So is the link of a rig, or else as fast as the
    /// drive's: both caps of bandwidth together cannot be found one after the other.
    pub(super) fn places(&self, drive: &DeviceConfig, points: &[Point], rigs: &Rigs) -> Vec<f64> {
        let own = |free: &Free| match free.row().map(|row| row.get(drive)) {
            Some(Value::Int(int)) => int as f64,
            Some(Value::Real(real)) => real,
            _ if free.key == WRITTEN => free.max,
            _ => free.min,
        };
        let peak = |Knob { free, rig }: &Knob| {
            let is_own = |at: &usize| rig.is_none() || rigs[*at] == *rig;
            let points = (0..points.len()).filter(is_own).map(|at| &points[at]);
            let start = free.limits.map(|peak| 1.1 * peak.of(points)).filter(|peak| *peak > 0.0);
            // What the base says of a limit is better than that nobody has come near it.
            start.map(|start| start.max(own(free)))
        };
        let link = |Knob { free, rig }: &Knob| {
            let is_own = |at: &usize| rigs[*at] == *rig;
            let points = (0..points.len()).filter(is_own).map(|at| &points[at]);
            let peak =
                1.1e-3 * Peak::Bandwidth.of(points) / f64::from(drive.host.pcie_lanes.max(1));
            (free.key == LINK && peak > 0.0).then(|| peak.min(own(free)))
        };
        let start =
            |knob: &Knob| peak(knob).or_else(|| link(knob)).unwrap_or_else(|| own(&knob.free));
        self.0.iter().map(|knob| knob.free.place(start(knob))).collect()
    }

    /// The drive with the values at some places. Times of page types between the first and the last
    /// lie evenly between theirs, unless they are found.
    pub(super) fn apply(&self, drive: &DeviceConfig, places: &[f64]) -> DeviceConfig {
        let mut made = drive.clone();
        self.set(&mut made, places, None);
        if !self.0.iter().any(|knob| knob.free.key == MIDDLE) {
            between(&mut made);
        }
        in_ratio(&mut made, drive);
        made
    }

    /// The drive behind a rig whose jobs have a processor each.
    pub(super) fn behind(
        &self,
        drive: &DeviceConfig,
        places: &[f64],
        rig: Option<usize>,
        jobs: u32,
    ) -> DeviceConfig {
        let mut made = drive.clone();
        if rig.is_some() {
            made.host.cores = jobs.max(1);
            self.set(&mut made, places, rig);
        }
        made
    }

    /// The share of the drive that holds data for the points of a rig.
    pub(super) fn written_share(&self, places: &[f64], rig: Option<usize>) -> f64 {
        let of = |rig: Option<usize>| {
            let is_it = |(knob, _): &(&Knob, _)| knob.free.key == WRITTEN && knob.rig == rig;
            let own = self.0.iter().zip(places).find(is_it);
            own.map(|(knob, &place)| rounded(knob.free.value(place)))
        };
        of(rig).or_else(|| of(None)).unwrap_or(1.0)
    }

    fn set(&self, made: &mut DeviceConfig, places: &[f64], rig: Option<usize>) {
        for (knob, &place) in self.0.iter().zip(places).filter(|(knob, _)| knob.rig == rig) {
            let Some(row) = knob.free.row() else { continue };
            // A value within the bounds of a fit may be illegal in the catalogue; it stays then.
            let _ = row.set(made, legal(&row.legal, knob.free.value(place)));
        }
    }

    /// The value of each parameter at some places, in their order.
    pub(super) fn values(&self, places: &[f64]) -> Vec<Value> {
        let value = |(knob, &place): (&Knob, &f64)| {
            let value = knob.free.value(place);
            let known = |row: &'static Parameter| legal(&row.legal, value);
            knob.free.row().map_or(Value::Real(rounded(value)), known)
        };
        self.0.iter().zip(places).map(value).collect()
    }

    /// The value at a place of one parameter, as a drive has it.
    pub(super) fn value(&self, axis: usize, place: f64) -> f64 {
        let free = &self.0[axis].free;
        match free.row().map(|row| legal(&row.legal, free.value(place))) {
            Some(Value::Int(int)) => int as f64,
            _ => free.value(place),
        }
    }
}

/// A number as a value of a row.
fn legal(legal: &Legal, number: f64) -> Value {
    match legal {
        Legal::Ints { step, .. } => {
            let steps = (number / *step as f64).round().max(0.0);
            Value::Int((steps as u64).saturating_mul(*step))
        }
        _ => Value::Real(rounded(number)),
    }
}

/// More digits than the points are worth make no other drive.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// The times of the first and the last page type decide the others.
fn between(drive: &mut DeviceConfig) {
    let types = drive.flash.technology.page_types();
    let (Some(&first), Some(&last)) = (types.first(), types.last()) else { return };
    let ends = [first, last].map(|page| drive.flash.read_latency[page].0 as f64);
    for (at, &page) in types.iter().enumerate() {
        let share = at as f64 / (types.len() - 1).max(1) as f64;
        let nanos = ends[0] + share * (ends[1] - ends[0]);
        drive.flash.read_latency[page] = Nanos(nanos.round() as u64);
    }
}

/// The program times of all page types change as that of the first one did.
fn in_ratio(made: &mut DeviceConfig, before: &DeviceConfig) {
    let (new, old) = (&mut made.flash.program_latency, before.flash.program_latency);
    if new[0] != old[0] && old[0] > Nanos::ZERO {
        let ratio = new[0].0 as f64 / old[0].0 as f64;
        for page in 1..old.len() {
            new[page] = Nanos((old[page].0 as f64 * ratio).round() as u64);
        }
    }
}

/// Whether a parameter is the read time of a page type that others decide.
fn is_between(key: &str, drive: &DeviceConfig) -> bool {
    let keys =
        ["lsb", "csb", "msb", "tsb"].map(|page| format!("flash.page_read_latency_{page}_ns"));
    let Some(own) = keys.iter().position(|known| known == key) else { return false };
    let types = drive.flash.technology.page_types();
    let is_middle = key == MIDDLE && types.len() == 3;
    !is_middle && types.first() != Some(&own) && types.last() != Some(&own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::config::{FlashTechnology, SuspensionSupport};

    #[test]
    fn places_and_values_are_each_others_inverse() {
        for free in FREE {
            for place in [0.0, 0.25, 0.5, 0.999, 1.0] {
                let back = free.place(free.value(place));
                assert!((back - place).abs() < 1e-9, "{} {place} {back}", free.key);
            }
            assert_eq!(free.place(-1.0), 0.0);
        }
    }

    #[test]
    fn every_free_parameter_is_a_row_with_legal_bounds() {
        for free in FREE.iter().filter(|free| free.key != WRITTEN) {
            let row = free.row().unwrap_or_else(|| panic!("{} is no row", free.key));
            for bound in [free.min, free.max] {
                assert!(row.legal.allows(legal(&row.legal, bound)), "{} {bound}", free.key);
            }
        }
    }

    #[test]
    fn only_parameters_with_an_effect_are_free_and_middle_pages_lie_between() {
        let mut drive = DeviceConfig::default();
        drive.flash.technology = FlashTechnology::Tlc;
        let reads = Told { closed: true, ..Told::default() };
        let later = Told { later: true, ..reads };
        let keys = |drive: &DeviceConfig, told: Told| -> Vec<&str> {
            let space = Space::of(FREE, drive, told, &[]);
            space.0.iter().map(|knob| knob.free.key).collect()
        };
        let read = |page: &str| format!("flash.page_read_latency_{page}_ns");
        let found = keys(&drive, reads);
        assert_eq!(found[..2], [read("lsb"), read("msb")]);
        let absent = ["flash.page_read_latency_tsb_ns", "host.sata_processing_delay_ns", MIDDLE];
        assert!(absent.iter().all(|key| !found.contains(key)), "{found:?}");
        assert!(!found.contains(&"controller.bandwidth_mbs"));
        let sizes = Told { sizes: true, ..reads };
        assert!(keys(&drive, sizes).contains(&"controller.pipeline_time_ns"));
        assert!(!keys(&drive, sizes).contains(&"controller.bandwidth_mbs"));
        let bandwidth = Told { bandwidth: true, ..sizes };
        assert!(keys(&drive, bandwidth).contains(&"controller.bandwidth_mbs"));
        assert_eq!(keys(&drive, later)[..3], [read("lsb"), read("csb"), read("msb")]);
        let times = |drive: &DeviceConfig, told: Told| {
            let space = Space::of(FREE, drive, told, &[]);
            let made = space.apply(drive, &space.places(drive, &[], &[]));
            made.flash.read_latency.map(|time| (time.0 + 5) / 10 * 10)
        };
        drive.flash.read_latency = [40_000, 43_000, 60_000, 70_000].map(Nanos);
        assert_eq!(times(&drive, reads)[..3], [40_000, 50_000, 60_000]);
        assert_eq!(times(&drive, later)[..3], [40_000, 43_000, 60_000]);
        drive.flash.technology = FlashTechnology::Qlc;
        assert_eq!(times(&drive, later), [40_000, 50_000, 60_000, 70_000]);
        assert_eq!(keys(&drive, later)[..2], [read("lsb"), read("tsb")]);
        drive.flash.technology = FlashTechnology::Mlc;
        assert_eq!(keys(&drive, later)[..2], [read("lsb"), read("msb")]);
    }

    #[test]
    fn paced_points_tell_about_writes_and_programs_keep_their_ratios() {
        let mut drive = DeviceConfig::default();
        drive.flash.technology = FlashTechnology::Tlc;
        drive.suspension.support = SuspensionSupport::ProgramErase;
        drive.flash.program_latency = [100_000, 200_000, 300_000, 0].map(Nanos);
        let paced = Told { paced: true, ..Told::default() };
        let space = Space::of(FREE, &drive, paced, &[]);
        let keys: Vec<&str> = space.0.iter().map(|knob| knob.free.key).collect();
        for key in ["controller.write_time_ns", "suspension.suspend_program_ns", PROGRAM] {
            assert!(keys.contains(&key), "{keys:?}");
        }
        assert!(!keys.contains(&"bus.rate_mts") && !keys.contains(&"controller.core_rate"));
        let mut places = space.places(&drive, &[], &[]);
        let axis = keys.iter().position(|key| *key == PROGRAM).unwrap();
        places[axis] = space.0[axis].free.place(400_000.0);
        let made = space.apply(&drive, &places);
        let programs = made.flash.program_latency;
        assert_eq!(programs, [400_000, 800_000, 1_200_000, 0].map(Nanos));
    }

    #[test]
    fn the_adapter_of_the_first_rig_is_the_drives_where_all_points_have_rigs() {
        let mut drive = DeviceConfig::default();
        drive.host.interface = ssdtune_model::config::HostInterface::Sata;
        let adapters = |rigs: &Rigs| -> Vec<Option<usize>> {
            let told = Told { closed: true, ..Told::default() };
            let all = Space::of(FREE, &drive, told, rigs).0;
            let own = all.iter().filter(|knob| knob.free.key == "host.sata_processing_delay_ns");
            own.map(|knob| knob.rig).collect()
        };
        assert_eq!(adapters(&[None, Some(0)]), [None, Some(0)]);
        assert_eq!(adapters(&[Some(1), Some(0)]), [None, Some(1)]);
        assert_eq!(adapters(&[Some(0)]), [None]);
    }

    #[test]
    fn the_link_behind_a_sata_adapter_is_told_by_one_size() {
        let mut drive = DeviceConfig::default();
        let links = |drive: &DeviceConfig| -> Vec<Free> {
            let told = Told { closed: true, ..Told::default() };
            let all = Space::of(FREE, drive, told, &[Some(0), None]).0;
            all.iter().map(|knob| knob.free).filter(|free| free.key == LINK).collect()
        };
        assert_eq!(links(&drive), []);
        drive.host.interface = HostInterface::Sata;
        assert_eq!(links(&drive).len(), 1);
    }

    #[test]
    fn channels_carry_what_the_base_says_of_the_bandwidth() {
        let mut drive = DeviceConfig::default();
        (drive.bus.channels, drive.bus.rate_mts) = (4, 100);
        let slowest = |drive: &DeviceConfig| {
            let told = Told { closed: true, ..Told::default() };
            let all = Space::of(FREE, drive, told, &[]).0;
            all.iter().find(|knob| knob.free.key == RATE).map(|knob| knob.free.min)
        };
        assert_eq!(slowest(&drive), Some(50.0));
        drive.controller.bandwidth_mbs = 3_500;
        assert_eq!(slowest(&drive), Some(875.0));
        let told = Told { closed: true, ..Told::default() };
        let space = Space::of(FREE, &drive, told, &[]);
        let made = space.apply(&drive, &space.places(&drive, &[], &[]));
        assert_eq!(made.bus.rate_mts, 875);
    }

    #[test]
    fn a_state_that_nobody_knows_is_found_for_each_rig() {
        let drive = DeviceConfig::default();
        let told = Told { closed: true, unknown_state: true, ..Told::default() };
        let space = Space::of(FREE, &drive, told, &[None, Some(0)]);
        let mut places = space.places(&drive, &[], &[]);
        assert_eq!([None, Some(0)].map(|rig| space.written_share(&places, rig)), [1.0, 1.0]);
        let is_it = |knob: &Knob| knob.free.key == WRITTEN && knob.rig == Some(0);
        places[space.0.iter().position(is_it).unwrap()] = 0.0;
        assert_eq!([None, Some(0)].map(|rig| space.written_share(&places, rig)), [1.0, 0.05]);
        // Where all points have rigs, the drive's is that of the first one.
        let space = Space::of(FREE, &drive, told, &[Some(0)]);
        let mut places = space.places(&drive, &[], &[]);
        let is_it = |knob: &Knob| knob.free.key == WRITTEN;
        places[space.0.iter().position(is_it).unwrap()] = 1.0 / 0.95 * 0.45;
        assert!((space.written_share(&places, Some(0)) - 0.5).abs() < 1e-9);
        let known = Told { unknown_state: false, ..told };
        let known = Space::of(FREE, &drive, known, &[]);
        assert_eq!(known.written_share(&known.places(&drive, &[], &[]), None), 1.0);
    }
}
