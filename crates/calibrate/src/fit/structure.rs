//! Structures: what a fit enumerates.
//!
//! They are values of rows of the parameter catalogue by their names. A row that has no effect on
//! the drive is left out of what is tried then, so a new mechanism is one line in [`AXES`].

use ssdtune_model::DeviceConfig;
use ssdtune_model::catalogue;
use std::fmt;

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

    /// The value that a drive has, if it is one of those that are tried.
    fn of(&self, drive: &DeviceConfig) -> Option<(&'static str, &'static str)> {
        let own = catalogue::find(self.key)?.get(drive).to_string();
        let value = self.values.iter().find(|value| **value == own)?;
        Some((self.key, value))
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
    Axis { key: "mapping.stripe_dies", values: &["1", "2", "4", "8"], tried: Tried::ThenBySizes },
];

/// One combination of the values of axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Structure(pub Vec<(&'static str, &'static str)>);

impl Structure {
    /// Every combination of those axes that are tried first, in their order, that makes a possible
    /// drive of `base`.
    pub fn all(axes: &[Axis], base: &DeviceConfig) -> Vec<Self> {
        Self::combined(axes, base, |tried| tried == Tried::First)
    }

    /// This structure and all that differ from it in the value of one of those axes that are tried
    /// then, in their order, if they make a possible drive of `base` that no other one makes.
    /// `sizes` says whether there are requests of several sizes.
    pub fn variants(&self, axes: &[Axis], base: &DeviceConfig, sizes: bool) -> Vec<Self> {
        let Some(own) = self.apply(base) else { return Vec::new() };
        // Whether the law of the controller's times has an effect is decided by a parameter that is
        // free; how data lie is not.
        let works = |axis: &&Axis| match axis.tried {
            Tried::First => false,
            Tried::Then => true,
            Tried::ThenBySizes => {
                let row = catalogue::find(axis.key);
                sizes && row.is_some_and(|row| row.inert(&own).is_none())
            }
        };
        // Every variant names every axis, so that they can be told apart.
        let now: Vec<&Axis> = axes.iter().filter(works).collect();
        let whole = Self(
            self.0.iter().copied().chain(now.iter().filter_map(|axis| axis.of(&own))).collect(),
        );
        let mut all = vec![whole.clone()];
        for axis in now {
            for value in axis.values {
                let other = |(key, own): &(&'static str, &'static str)| {
                    (*key, if *key == axis.key { *value } else { *own })
                };
                let mut other = Self(whole.0.iter().map(other).collect());
                if !other.0.iter().any(|(key, _)| *key == axis.key) {
                    other.0.push((axis.key, value));
                }
                all.push(other);
            }
        }
        let mut drives = Vec::new();
        all.retain(|structure| {
            let made = structure.apply(base).filter(|made| made.check().is_ok());
            let is_new = made.as_ref().is_some_and(|made| !drives.contains(made));
            drives.extend(made.filter(|_| is_new));
            is_new
        });
        all
    }

    fn combined(axes: &[Axis], base: &DeviceConfig, now: impl Fn(Tried) -> bool) -> Vec<Self> {
        let mut all = vec![Self::default()];
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

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::config::{CacheMode, GcUnit};

    #[test]
    fn every_axis_is_a_row_with_legal_values() {
        for axis in AXES {
            for value in axis.values {
                let mut drive = DeviceConfig::default();
                catalogue::set(&mut drive, axis.key, value).unwrap();
            }
        }
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

    #[test]
    fn variants_differ_in_one_axis_and_make_different_drives() {
        let mut base = ssdtune_model::presets::load("intel-750").unwrap();
        let one = Structure(vec![("bus.channels", "4"), ("bus.chips_per_channel", "2")]);
        let names = |base: &DeviceConfig, sizes| -> Vec<String> {
            let all = one.variants(AXES, base, sizes);
            let own = |structure: &Structure| Structure(structure.0[2..].to_vec()).to_string();
            all.iter().map(own).collect()
        };
        base.controller.core_rate = 100_000;
        base.flash.page_bytes = 16_384;
        assert_eq!(names(&base, false), ["core_times=fixed", "core_times=exponential"]);
        let found = names(&base, true);
        assert_eq!(found[0], "core_times=fixed page_bytes=16384");
        assert_eq!(found[1], "core_times=exponential page_bytes=16384");
        assert_eq!(found[2], "core_times=fixed page_bytes=4096");
        assert_eq!(found.len(), 4);
        // With superblocks over 8 dies neighbours can be dealt over some of them.
        (base.gc.unit, base.cache.mode) = (GcUnit::Drive, CacheMode::Write);
        (base.gc.copyback, base.mapping.unit_bytes) = (false, 4_096);
        let found = names(&base, true);
        assert_eq!(found[0], "core_times=fixed page_bytes=16384 stripe_dies=1");
        assert_eq!(found.len(), 7, "{found:?}");
        assert!(found.contains(&"core_times=fixed page_bytes=16384 stripe_dies=8".to_owned()));
    }
}
