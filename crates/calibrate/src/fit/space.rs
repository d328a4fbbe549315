//! What a fit may change: structures, which are enumerated, and parameters, which are refined.
//!
//! Both are rows of the parameter catalogue by their names. A row that the catalogue does not have,
//! or that has no effect on the drive, is left out, so a new mechanism is one line in [`FREE`] or
//! [`AXES`].

use crate::point::Point;
use ssdtune_model::catalogue::{self, Legal, Parameter, Value};
use ssdtune_model::{DeviceConfig, Nanos};
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
    /// Whether only requests of several sizes can tell it.
    pub needs_sizes: bool,
    /// What it limits, if it is a limit. 0 stands for none then and is tried at the upper end of
    /// the range; the start lies a little above the highest value measured.
    pub limits: Option<Peak>,
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Requests in a second.
    Rate,
    /// Megabytes (1,000,000 bytes) in a second.
    Bandwidth,
}

impl Peak {
    /// The highest value measured at points.
    fn of(self, points: &[Point]) -> f64 {
        let value = |point: &Point| match self {
            Self::Rate => point.figures.iops.map(|rate| rate.0),
            Self::Bandwidth => point.figures.bandwidth.map(|rate| rate.0 * 1.048_576),
        };
        points.iter().filter_map(value).fold(0.0, f64::max)
    }
}

impl Free {
    /// A parameter with ranges of equal differences.
    const fn linear(key: &'static str, min: f64, max: f64, stage: Stage) -> Self {
        Self { key, min, max, scale: Scale::Linear, stage, needs_sizes: false, limits: None }
    }

    /// A parameter with ranges of equal ratios.
    const fn ratios(key: &'static str, min: f64, max: f64, stage: Stage) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(key, min, max, stage) }
    }

    const fn needs_sizes(self) -> Self {
        Self { needs_sizes: true, ..self }
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
    Free::ratios("bus.rate_mts", 50.0, 6_400.0, Stage::Sizes),
    Free::linear("controller.pipeline_time_ns", 0.0, 2e4, Stage::Sizes).needs_sizes(),
    Free::ratios("controller.core_rate", 2e4, 1e7, Stage::Plateau).limits(Peak::Rate),
    Free::ratios("controller.bandwidth_mbs", 50.0, 3e4, Stage::Plateau)
        .needs_sizes()
        .limits(Peak::Bandwidth),
    Free::linear("host.sata_processing_delay_ns", 0.0, 5e4, Stage::Plateau),
];

/// A value of the catalogue that makes a structure together with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Its row in the catalogue.
    pub key: &'static str,
    /// The values that are tried.
    pub values: &'static [&'static str],
}

/// Every value that makes structures.
pub const AXES: &[Axis] = &[
    Axis { key: "bus.channels", values: &["4", "8", "16"] },
    Axis { key: "bus.chips_per_channel", values: &["1", "2", "4", "8"] },
    Axis { key: "flash.cache_read", values: &["false", "true"] },
    Axis { key: "bus.order", values: &["data-first", "commands-first"] },
];

/// One combination of the values of axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Structure(pub Vec<(&'static str, &'static str)>);

impl Structure {
    /// Every combination of axes, in their order, that makes a possible drive of `base`.
    pub fn all(axes: &[Axis], base: &DeviceConfig) -> Vec<Self> {
        let mut all = vec![Self::default()];
        for axis in axes.iter().filter(|axis| catalogue::find(axis.key).is_some()) {
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

    /// A drive with this structure. Its raw capacity is that of `base` to a block of each plane.
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
        let blocks = (base.geometry().blocks() as f64 / made.geometry().planes() as f64).round();
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

/// The parameters of a fit, and places in their ranges.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Space(pub(super) Vec<Free>);

impl Space {
    /// Those parameters that the catalogue has and that can change what the drive does.
    /// `sizes` says whether there are requests of several sizes.
    pub(super) fn of(free: &[Free], drive: &DeviceConfig, sizes: bool) -> Self {
        let works = |free: &&Free| {
            let row = free.row();
            row.is_some_and(|row| row.inert(drive).is_none())
                && !is_between(free.key, drive)
                && (sizes || !free.needs_sizes)
        };
        Self(free.iter().filter(works).copied().collect())
    }

    /// The parameters whose start is told by the points of a stage.
    pub(super) fn axes_of(&self, stage: Stage) -> Vec<usize> {
        (0..self.0.len()).filter(|&axis| self.0[axis].stage == stage).collect()
    }

    /// Where a drive's own values lie, and limits a little above what was measured at points.
    pub(super) fn places(&self, drive: &DeviceConfig, points: &[Point]) -> Vec<f64> {
        let own = |free: &Free| match free.row().map(|row| row.get(drive)) {
            Some(Value::Int(int)) => int as f64,
            Some(Value::Real(real)) => real,
            _ => free.min,
        };
        let peak = |free: &Free| free.limits.map(|peak| 1.1 * peak.of(points));
        let start = |free: &Free| peak(free).filter(|p| *p > 0.0).unwrap_or_else(|| own(free));
        self.0.iter().map(|free| free.place(start(free))).collect()
    }

    /// The drive with the values at some places. Times of page types between the first and the last
    /// lie evenly between theirs.
    pub(super) fn apply(&self, drive: &DeviceConfig, places: &[f64]) -> DeviceConfig {
        let mut made = drive.clone();
        for (free, &place) in self.0.iter().zip(places) {
            let Some(row) = free.row() else { continue };
            // A value within the bounds of a fit may be illegal in the catalogue; it stays then.
            let _ = row.set(&mut made, legal(&row.legal, free.value(place)));
        }
        between(&mut made);
        made
    }

    /// The value that a drive has of each parameter, with its name.
    pub(super) fn values(&self, drive: &DeviceConfig) -> Vec<(&'static str, Value)> {
        let value = |free: &Free| Some((free.key, free.row()?.get(drive)));
        self.0.iter().filter_map(value).collect()
    }

    /// The value at a place of one parameter, as a drive has it.
    pub(super) fn value(&self, axis: usize, place: f64) -> f64 {
        let free = &self.0[axis];
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
        _ => Value::Real(number),
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
    use ssdtune_model::config::FlashTechnology;

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
        let keys = |drive: &DeviceConfig, sizes: bool| -> Vec<&str> {
            Space::of(FREE, drive, sizes).0.iter().map(|free| free.key).collect()
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
        let space = Space::of(FREE, &drive, false);
        drive.flash.read_latency = [40_000, 1, 60_000, 1].map(Nanos);
        let made = space.apply(&drive, &space.places(&drive, &[]));
        assert_eq!(made.flash.read_latency[..3], [40_000, 50_000, 60_000].map(Nanos));
        drive.flash.technology = FlashTechnology::Qlc;
        assert_eq!(keys(&drive, false)[1], "flash.page_read_latency_tsb_ns");
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
