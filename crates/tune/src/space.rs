//! The search space (AutoBlox, section 3.2): which parameters a search varies, and their values.
//!
//! An [`Axis`] is a row of the parameter catalogue with the values to try, or a [`Choice`] of
//! settings that go together, such as a flash part. A [`Point`] chooses one value on each axis, by
//! its rank. Every other parameter stays as it is in the baseline. For the Gaussian process a point
//! becomes a row of numbers from 0 to 1: one column with the value on a continuous axis, with the
//! rank on a discrete one, with 0 or 1 for a switch, and one column for each alternative of a
//! category or choice.
//!
//! Spaces are TOML files. The first file in `configs/spaces` explains their layout.
//!
//! Cost: some microseconds to encode a point or to make its configuration.

mod axis;
mod changes;
mod choice;
mod file;
mod order;

pub use axis::{Axis, Label};
pub use changes::{ParameterChange, changes};
pub(crate) use choice::AS_IN;
pub use choice::{Alternative, Choice};
pub use order::{OrderedParameter, TuningOrder};

use serde::{Deserialize, Serialize};
use ssdtune_learn::space as encoding;
use ssdtune_model::catalogue::Value;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, Fault, Faults, Problem, Violation};
use std::collections::BTreeMap;
use std::fmt;

/// A point of a space: for each axis the rank of a value, from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<u16>);

/// The space of a search: the parameters that may change, and their values.
#[derive(Clone)]
pub struct Space {
    /// The name in reports.
    pub name: String,
    axes: Vec<Axis>,
    encoder: encoding::Space,
}

/// Parameters that make up the layout of flash. Their product is the raw capacity, so they move
/// together.
pub const LAYOUT: [&str; 7] = [
    "bus.channels",
    "bus.chips_per_channel",
    "flash.dies_per_chip",
    "flash.planes_per_die",
    "flash.blocks_per_plane",
    "flash.pages_per_block",
    "flash.page_bytes",
];

/// Axes of the PCIe link. A SATA drive has no such link.
const PCIE: [&str; 2] = ["host.pcie_lanes", "host.pcie_lane_bandwidth_gbps"];

/// The name of the choice of flash parts.
pub const PART: &str = "part";

/// Axes that share the drive's DRAM.
pub const DRAM: [&str; 2] = ["cache.capacity_bytes", "mapping.cmt_capacity_bytes"];

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("name", &self.name).field("axes", &self.axes).finish()
    }
}

/// A number or a switch (0 or 1) as a number; 0 for a name.
pub(crate) fn number(value: Value) -> f64 {
    match value {
        Value::Int(int) => int as f64,
        Value::Real(real) => real,
        Value::Bool(on) => f64::from(u8::from(on)),
        Value::Name(_) => 0.0,
    }
}

impl Space {
    /// The space of the paper.
    ///
    /// # Panics
    /// Never: a test reads the file that is built in.
    pub fn autoblox() -> Self {
        Self::parse(include_str!("../../../configs/spaces/autoblox.toml")).expect("a sound file")
    }

    /// The space of what-if analysis (section 4.5): wider than what drives on the market have.
    ///
    /// # Panics
    /// Never: a test reads the file that is built in.
    pub fn what_if() -> Self {
        Self::parse(include_str!("../../../configs/spaces/what-if.toml")).expect("a sound file")
    }

    /// What can be bought: flash parts of a catalogue, and values of everything else that drives on
    /// the market have.
    ///
    /// # Panics
    /// Never: a test reads the files that are built in.
    pub fn market() -> Self {
        Self::parse(include_str!("../../../configs/spaces/market.toml")).expect("a sound file")
    }

    /// This space with further flash parts, from a file like `configs/parts/market.toml`. A part
    /// with the name of another takes its place.
    ///
    /// # Errors
    /// Every fault with its line; that the space has no choice of parts; a part that leaves out
    /// what all parts of its cell type state: it would have another part's.
    pub fn with_parts(mut self, text: &str) -> Result<Self, Faults> {
        let more = file::read_parts(text)?;
        let part = self.axes.iter_mut().filter(|axis| axis.key() == PART);
        match part.into_iter().find_map(Axis::choice_mut) {
            Some(part) => {
                let incomplete = more.iter().filter_map(|one| {
                    let missing = part.missing_of(one);
                    let remedy = format!(
                        "state {}: all other parts of its cell type do",
                        missing.join(", ")
                    );
                    let fault = Fault::new(one.name(), Problem::Missing { remedy });
                    (!missing.is_empty()).then_some(fault)
                });
                let incomplete: Vec<Fault> = incomplete.collect();
                if !incomplete.is_empty() {
                    return Err(Faults(incomplete));
                }
                part.extend(more);
            }
            None => {
                let reason = format!("the space {} has no choice of parts", self.name);
                return Err(Fault::new("choice.part", Problem::Conflict { reason }).into());
            }
        }
        Ok(Self::of(self.name, self.axes))
    }

    /// Reads a space file.
    ///
    /// # Errors
    /// Every fault with its line. For an unknown name, the nearest legal one.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let (name, axes) = file::read(text)?;
        Ok(Self::of(name, axes))
    }

    fn of(name: String, axes: Vec<Axis>) -> Self {
        let encoder = encoding::Space::new(axes.iter().map(Axis::coordinate).collect())
            .expect("axes have values, numbers in rising order");
        Self { name, axes, encoder }
    }

    /// This space around a baseline. The baseline's own values are added to their axes. Axes
    /// without effect on any drive are left out, and axes of the PCIe link for a SATA drive.
    #[must_use]
    pub fn around(&self, base: &DeviceConfig) -> Self {
        let settled =
            |axis: &Axis| base.host.interface == HostInterface::Sata && PCIE.contains(&axis.key());
        let kept = self.axes.iter().filter(|axis| !axis.is_always_inert() && !settled(axis));
        let axes = kept.map(|axis| axis.around(base)).filter(|axis| axis.count() > 1);
        Self::of(self.name.clone(), axes.collect())
    }

    /// This space with only those axes for whose key `keep` returns true.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Self {
        let axes = self.axes.iter().filter(|axis| keep(axis.key())).cloned().collect();
        Self::of(self.name.clone(), axes)
    }

    /// The axes, in the order of the catalogue.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The index of a parameter's axis; `None` where it has none.
    pub fn axis(&self, key: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.key() == key)
    }

    /// The point with these values, given as texts by the keys of axes. Axes that are not given are
    /// as in another point.
    ///
    /// # Errors
    /// A text that says which key or value is wrong, and what would be legal.
    pub fn stated(&self, from: &Point, values: &BTreeMap<String, String>) -> Result<Point, String> {
        let mut point = from.clone();
        for (key, text) in values {
            let axis = self.axis(key).ok_or_else(|| {
                let all: Vec<&str> = self.axes.iter().map(|axis| axis.key()).collect();
                format!("{key} is no axis of the space {}: {}", self.name, all.join(", "))
            })?;
            let chosen = &self.axes[axis];
            point.0[axis] = chosen.rank_of(text).ok_or_else(|| {
                let all: Vec<String> = chosen.labels().map(|label| label.to_string()).collect();
                format!("{key} = {text}: legal are {}", all.join(", "))
            })?;
        }
        Ok(point)
    }

    /// Whether drives are made of flash parts.
    pub fn has_parts(&self) -> bool {
        self.axis(PART).is_some()
    }

    /// The space that is built in under a name; `None` if there is none of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "market" => Self::market(),
            "autoblox" => Self::autoblox(),
            "what-if" => Self::what_if(),
            _ => return None,
        })
    }

    /// The axes that make up the layout of flash: one change of one of them changes the capacity.
    pub fn layout_axes(&self) -> Vec<usize> {
        let is_layout = |axis: &usize| LAYOUT.iter().any(|key| self.axes[*axis].sets(key));
        (0..self.axes.len()).filter(is_layout).collect()
    }

    /// The axes that share the drive's DRAM.
    pub fn dram_axes(&self) -> Vec<usize> {
        DRAM.iter().filter_map(|key| self.axis(key)).collect()
    }

    /// The point of a configuration; `None` where an axis lacks its value. Parameters without axis
    /// are not compared.
    pub fn point(&self, config: &DeviceConfig) -> Option<Point> {
        self.axes.iter().map(|axis| axis.rank_in(config)).collect::<Option<Vec<u16>>>().map(Point)
    }

    /// The configuration of a point: the baseline with the point's values. It may break limits.
    ///
    /// # Panics
    /// The point belongs to another space.
    pub fn config(&self, base: &DeviceConfig, point: &Point) -> DeviceConfig {
        let mut config = base.clone();
        self.axes.iter().zip(&point.0).for_each(|(axis, rank)| axis.set(&mut config, *rank));
        config
    }

    /// What the alternatives of a point do not allow: a bus that is faster than the flash part.
    pub fn violations(&self, base: &DeviceConfig, point: &Point) -> Vec<Violation> {
        let chosen = self.axes.iter().zip(&point.0).filter_map(|(axis, rank)| {
            let choice = axis.choice()?;
            Some((axis, &choice.alternatives()[usize::from(*rank)]))
        });
        let chosen: Vec<_> = chosen.filter(|(_, one)| !one.at_most().is_empty()).collect();
        if chosen.is_empty() {
            return Vec::new();
        }
        let config = self.config(base, point);
        let broken = chosen.into_iter().filter_map(|(axis, one)| {
            let (row, most) = one.broken_by(&config)?;
            let (key, name, value) = (axis.key(), one.name(), row.get(&config));
            let explanation = format!("{key} {name} allows {} of {most}, not {value}", row.key);
            Some(Violation { limit: "space", explanation })
        });
        broken.collect()
    }

    /// The point with what its alternatives limit lowered to what they allow, except on the axis
    /// `fixed`.
    #[must_use]
    pub fn within_alternatives(&self, point: &Point, fixed: Option<usize>) -> Point {
        let mut lower = point.clone();
        for (axis, rank) in self.axes.iter().zip(&point.0) {
            let limits = axis.choice().map(|all| all.alternatives()[usize::from(*rank)].at_most());
            for (row, most) in limits.into_iter().flatten() {
                let Some(other) = self.axis(row.key).filter(|other| Some(*other) != fixed) else {
                    continue;
                };
                let value = |rank: u16| self.axes[other].number(rank);
                while lower.0[other] > 0 && value(lower.0[other]) > *most {
                    lower.0[other] -= 1;
                }
            }
        }
        lower
    }

    /// The canonical form of a point: every axis without effect in this configuration has its rank
    /// from `at_rest`. So two points that are one and the same drive become one point.
    #[must_use]
    pub fn canonical(&self, base: &DeviceConfig, point: &Point, at_rest: &Point) -> Point {
        let config = self.config(base, point);
        let ranks = self.axes.iter().zip(&point.0).zip(&at_rest.0);
        let rank = |((axis, rank), rest): ((&Axis, &u16), &u16)| {
            if axis.is_inert(&config) { *rest } else { *rank }
        };
        Point(ranks.map(rank).collect())
    }

    /// A point as a row of numbers from 0 to 1.
    ///
    /// # Panics
    /// The point belongs to another space.
    pub fn encode(&self, point: &Point) -> Vec<f64> {
        let codes: Vec<f64> =
            self.axes.iter().zip(&point.0).map(|(axis, rank)| axis.number(*rank)).collect();
        self.encoder.encode(&codes).expect("a point of this space")
    }

    /// The number of columns of an encoded point.
    pub fn columns(&self) -> usize {
        self.encoder.columns()
    }

    /// The number of columns of each axis in an encoded point.
    pub fn widths(&self) -> impl Iterator<Item = usize> + '_ {
        self.axes.iter().map(Axis::width)
    }

    /// The number of steps between two points: the difference of ranks on numeric axes, and one for
    /// each other axis on which they differ.
    pub fn manhattan(&self, a: &Point, b: &Point) -> u32 {
        let parts = self.axes.iter().zip(a.0.iter().zip(&b.0));
        parts
            .map(|(axis, (a, b))| match axis.is_numeric() {
                true => u32::from(a.abs_diff(*b)),
                false => u32::from(a != b),
            })
            .sum()
    }

    /// The number of axes on which two points differ.
    pub fn differing(&self, a: &Point, b: &Point) -> u32 {
        a.0.iter().zip(&b.0).map(|(a, b)| u32::from(a != b)).sum()
    }

    /// The number of points in the space, whether they keep limits or not.
    pub fn size(&self) -> f64 {
        self.axes.iter().map(|axis| axis.count() as f64).product()
    }
}

#[cfg(test)]
mod tests;
