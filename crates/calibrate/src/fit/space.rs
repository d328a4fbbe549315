//! What a fit may change: structures, which are enumerated, and parameters, which are refined.
//!
//! Both are rows of the parameter catalogue by their names. A row that the catalogue does not have,
//! or that has no effect on the drive, is left out, so a new mechanism is one line in [`FREE`] or
//! [`AXES`].

use crate::point::Point;
use ssdtune_model::catalogue::{self, Legal, Parameter, Value};
use ssdtune_model::{DeviceConfig, Nanos};
use std::collections::BTreeSet;
use std::fmt;

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

/// Which points a parameter needs to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Any.
    Any,
    /// Points in a closed loop.
    Closed,
    /// Requests of several sizes.
    Sizes,
    /// Paced points: reads beside writes at known loads.
    Paced,
}

/// What points can tell, apart from what any can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) closed: bool,
    pub(super) sizes: bool,
    pub(super) paced: bool,
}

impl Told {
    /// What these points can tell.
    pub(super) fn by(points: &[Point]) -> Self {
        let any = |is_it: fn(&Point, &Point) -> bool| {
            points.first().is_some_and(|first| points.iter().any(|point| is_it(point, first)))
        };
        Self {
            closed: any(|point, _| !point.operation.is_paced()),
            sizes: any(|point, first| point.block_bytes != first.block_bytes),
            paced: any(|point, _| point.operation.is_paced()),
        }
    }

    fn meets(self, needs: Needs) -> bool {
        match needs {
            Needs::Any => true,
            Needs::Closed => self.closed,
            Needs::Sizes => self.sizes,
            Needs::Paced => self.paced,
        }
    }
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

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Requests in a second.
    Rate,
    /// Requests of one job in a second.
    RateOfAJob,
    /// Megabytes (1,000,000 bytes) in a second.
    Bandwidth,
}

impl Peak {
    /// The highest value measured at points.
    fn of<'a>(self, points: impl Iterator<Item = &'a Point>) -> f64 {
        let value = |point: &Point| match self {
            Self::Rate => point.figures.iops.map(|rate| rate.0),
            Self::RateOfAJob => point.figures.iops.map(|rate| rate.0 / f64::from(point.numjobs)),
            Self::Bandwidth => point.figures.bandwidth.map(|rate| rate.0 * 1.048_576),
        };
        points.filter_map(value).fold(0.0, f64::max)
    }
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
}

/// Every parameter that a fit may change.
pub const FREE: &[Free] = &[
    Free::ratios("flash.page_read_latency_lsb_ns", 2e3, 3e5, Stage::Bare),
    Free::ratios("flash.page_read_latency_msb_ns", 2e3, 3e5, Stage::Bare),
    Free::ratios("flash.page_read_latency_tsb_ns", 2e3, 3e5, Stage::Bare),
    Free::linear("controller.read_time_ns", 0.0, 6e4, Stage::Bare),
    Free::ratios("bus.rate_mts", 50.0, 6_400.0, Stage::Sizes).needs(Needs::Closed),
    Free::linear("controller.pipeline_time_ns", 0.0, 2e4, Stage::Sizes).needs(Needs::Sizes),
    Free::ratios("controller.core_rate", 2e4, 1e7, Stage::Plateau)
        .needs(Needs::Closed)
        .limits(Peak::Rate),
    Free::ratios("controller.bandwidth_mbs", 50.0, 3e4, Stage::Plateau)
        .needs(Needs::Sizes)
        .limits(Peak::Bandwidth),
    Free::linear("host.sata_processing_delay_ns", 0.0, 5e4, Stage::Plateau),
    Free::linear("controller.write_time_ns", 0.0, 6e4, Stage::Bare).needs(Needs::Paced),
    Free::linear("suspension.suspend_program_ns", 0.0, 3e5, Stage::Bare).needs(Needs::Paced),
    Free::linear("suspension.program_for_read_ns", 0.0, 1e6, Stage::Bare).needs(Needs::Paced),
    Free::ratios(PROGRAM, 1e5, 2e7, Stage::Plateau).needs(Needs::Paced),
];

/// The program time that is fitted; those of other page types keep their ratio to it.
const PROGRAM: &str = "flash.page_program_latency_lsb_ns";
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
];

/// When the values of an axis are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// In every combination, from the start.
    First,
    /// In the structures that fit best after the first look.
    Then,
    /// In the structures that fit best after the first look, if there are requests of several
    /// sizes: those of one size cannot tell such values apart.
    ThenBySizes,
}

/// A value of the catalogue that makes a structure together with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Its row in the catalogue.
    pub key: &'static str,
    /// The values that are tried.
    pub values: &'static [&'static str],
    /// When they are tried.
    pub tried: Tried,
}

impl Axis {
    /// An axis whose values are tried from the start.
    const fn first(key: &'static str, values: &'static [&'static str]) -> Self {
        Self { key, values, tried: Tried::First }
    }
}

/// Every value that makes structures.
pub const AXES: &[Axis] = &[
    Axis::first("bus.channels", &["4", "8", "16"]),
    Axis::first("bus.chips_per_channel", &["1", "2", "4", "8"]),
    Axis::first("flash.cache_read", &["false", "true"]),
    Axis::first("bus.order", &["data-first", "commands-first"]),
    Axis { key: "controller.core_times", values: &["fixed", "exponential"], tried: Tried::Then },
    Axis { key: "flash.page_bytes", values: &["4096", "8192", "16384"], tried: Tried::ThenBySizes },
];

/// One combination of the values of axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Structure(pub Vec<(&'static str, &'static str)>);

impl Structure {
    /// Every combination of those axes that are tried first, in their order, that makes a possible
    /// drive of `base`.
    pub fn all(axes: &[Axis], base: &DeviceConfig) -> Vec<Self> {
        Self::default().longer(axes, base, |tried| tried == Tried::First)
    }

    /// Every combination of this structure with those axes that are tried then, in their order,
    /// that makes a possible drive of `base`. `sizes` says whether there are requests of several
    /// sizes.
    pub fn variants(&self, axes: &[Axis], base: &DeviceConfig, sizes: bool) -> Vec<Self> {
        let now = |tried| tried == Tried::Then || tried == Tried::ThenBySizes && sizes;
        self.longer(axes, base, now)
    }

    fn longer(&self, axes: &[Axis], base: &DeviceConfig, now: impl Fn(Tried) -> bool) -> Vec<Self> {
        let mut all = vec![self.clone()];
        for axis in axes.iter().filter(|axis| now(axis.tried)) {
            let longer = |known: &Self| {
                let known = known.0.clone();
                axis.values.iter().map(move |value| {
                    Self(known.iter().copied().chain([(axis.key, *value)]).collect())
                })
            };
            all = all.iter().flat_map(longer).collect();
        }
        all.retain(|structure| structure.apply(base).is_some_and(|made| made.check().is_ok()));
        all
    }

    /// A drive with this structure. Its raw capacity is that of `base`, to a block of each plane.
    /// `None` if a value is illegal.
    pub fn apply(&self, base: &DeviceConfig) -> Option<DeviceConfig> {
        let mut made = base.clone();
        for (key, value) in &self.0 {
            catalogue::set(&mut made, key, value).ok()?;
        }
        // The number of chips says how many dies there are, whatever a chip was before.
        if self.0.iter().any(|(key, _)| *key == "bus.chips_per_channel") {
            made.flash.dies_per_chip = 1;
        }
        let (whole, at) = (base.geometry().raw_capacity(), made.geometry());
        let of_a_row = at.block_bytes().0 * at.planes();
        let blocks = (whole.0 as f64 / of_a_row as f64).round();
        made.flash.blocks_per_plane = (blocks as u32).max(4);
        Some(made)
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |(key, value): &(&str, &str)| {
            format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
        };
        if self.0.is_empty() {
            return f.write_str("that of the base");
        }
        f.write_str(&self.0.iter().map(name).collect::<Vec<_>>().join(" "))
    }
}

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
            let row = free.row();
            row.is_some_and(|row| row.inert(drive).is_none())
                && !is_between(free.key, drive)
                && told.meets(free.needs)
        };
        let own = free.iter().filter(works).map(|free| Knob { free: *free, rig: None });
        let known: BTreeSet<usize> = rigs.iter().flatten().copied().collect();
        let works = |free: &&Free| {
            free.row().is_some_and(|row| row.inert(drive).is_none()) && told.meets(free.needs)
        };
        let of_rigs: Vec<Free> = FREE_OF_RIGS.iter().filter(works).copied().collect();
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

    /// Where a drive's own values lie, and limits a little above what was measured at points. So
    /// is the link of a rig, or else as fast as the drive's: both caps of bandwidth together cannot
    /// be found one after the other.
    pub(super) fn places(&self, drive: &DeviceConfig, points: &[Point], rigs: &Rigs) -> Vec<f64> {
        let own = |free: &Free| match free.row().map(|row| row.get(drive)) {
            Some(Value::Int(int)) => int as f64,
            Some(Value::Real(real)) => real,
            _ => free.min,
        };
        let peak = |Knob { free, rig }: &Knob| {
            let is_own = |at: &usize| rig.is_none() || rigs[*at] == *rig;
            let own = (0..points.len()).filter(is_own).map(|at| &points[at]);
            free.limits.map(|peak| 1.1 * peak.of(own)).filter(|peak| *peak > 0.0)
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
    /// lie evenly between theirs.
    pub(super) fn apply(&self, drive: &DeviceConfig, places: &[f64]) -> DeviceConfig {
        let mut made = drive.clone();
        self.set(&mut made, places, None);
        between(&mut made);
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
            knob.free.row().map_or(Value::Real(value), |row| legal(&row.legal, value))
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
        // More digits than the points are worth make no other drive.
        _ => Value::Real((number * 1e4).round() / 1e4),
    }
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
    types.first() != Some(&own) && types.last() != Some(&own)
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
    fn every_free_parameter_and_axis_is_a_row_with_legal_bounds() {
        for free in FREE {
            let row = free.row().unwrap_or_else(|| panic!("{} is no row", free.key));
            for bound in [free.min, free.max] {
                assert!(row.legal.allows(legal(&row.legal, bound)), "{} {bound}", free.key);
            }
        }
        for axis in AXES {
            for value in axis.values {
                let mut drive = DeviceConfig::default();
                catalogue::set(&mut drive, axis.key, value).unwrap();
            }
        }
    }

    #[test]
    fn only_parameters_with_an_effect_are_free_and_middle_pages_lie_between() {
        let mut drive = DeviceConfig::default();
        drive.flash.technology = FlashTechnology::Tlc;
        let reads = Told { closed: true, ..Told::default() };
        let keys = |drive: &DeviceConfig, sizes: bool| -> Vec<&str> {
            let told = Told { sizes, ..reads };
            let space = Space::of(FREE, drive, told, &[]);
            space.0.iter().map(|knob| knob.free.key).collect()
        };
        let found = keys(&drive, false);
        assert_eq!(
            found[..2],
            ["flash.page_read_latency_lsb_ns", "flash.page_read_latency_msb_ns"]
        );
        let absent = ["flash.page_read_latency_tsb_ns", "host.sata_processing_delay_ns"];
        assert!(absent.iter().all(|key| !found.contains(key)), "{found:?}");
        assert!(!found.contains(&"controller.bandwidth_mbs"));
        assert!(keys(&drive, true).contains(&"controller.bandwidth_mbs"));
        let space = Space::of(FREE, &drive, reads, &[]);
        drive.flash.read_latency = [40_000, 1, 60_000, 1].map(Nanos);
        let made = space.apply(&drive, &space.places(&drive, &[], &[]));
        assert_eq!(made.flash.read_latency[..3], [40_000, 50_000, 60_000].map(Nanos));
        drive.flash.technology = FlashTechnology::Qlc;
        assert_eq!(keys(&drive, false)[1], "flash.page_read_latency_tsb_ns");
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
    fn structures_keep_the_capacity() {
        let base = ssdtune_model::presets::load("intel-750").unwrap();
        let all = Structure::all(AXES, &base);
        assert_eq!(all.len(), 48);
        for structure in &all {
            let made = structure.apply(&base).unwrap();
            let (own, wanted) = (made.geometry().blocks() as f64, base.geometry().blocks() as f64);
            let most = made.geometry().planes() as f64 / 2.0;
            assert!((own - wanted).abs() <= most, "{structure}: {own} blocks, {wanted}");
        }
        assert_eq!(
            all[0].to_string(),
            "channels=4 chips_per_channel=1 cache_read=false order=data-first"
        );
    }
}
