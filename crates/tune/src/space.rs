//! The search space (AutoBlox, section 3.2): which parameters a search varies, and their values.
//!
//! An [`Axis`] is a row of the parameter catalogue with the values to try. A [`Point`] chooses one
//! value on each axis, by its rank. Every other parameter stays as it is in the baseline. For the
//! Gaussian process a point becomes a row of numbers from 0 to 1: one column with the value on a
//! continuous axis, with the rank on a discrete one, with 0 or 1 for a switch, and one column for
//! each choice of a category.
//!
//! Spaces are TOML files. The first file in `configs/spaces` explains their layout.
//!
//! Cost: some microseconds to encode a point or to make its configuration.

mod changes;
mod file;
mod order;

pub use changes::{ParameterChange, changes};
pub use order::{OrderedParameter, TuningOrder};

use serde::{Deserialize, Serialize};
use ssdtune_learn::space as encoding;
use ssdtune_model::catalogue::{self, Kind, Parameter, Value};
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, Faults};
use std::fmt;

/// A parameter to vary, and the values to try.
#[derive(Clone)]
pub struct Axis {
    parameter: &'static Parameter,
    values: Vec<Value>,
}

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

/// Axes that make up the layout of flash. Their product is the capacity, so they move together.
pub const LAYOUT: [&str; 6] = [
    "bus.channels",
    "bus.chips_per_channel",
    "flash.dies_per_chip",
    "flash.planes_per_die",
    "flash.blocks_per_plane",
    "flash.pages_per_block",
];

/// Axes of the PCIe link. A SATA drive has no such link.
const PCIE: [&str; 2] = ["host.pcie_lanes", "host.pcie_lane_bandwidth_gbps"];

/// Axes that share the drive's DRAM.
pub const DRAM: [&str; 2] = ["cache.capacity_bytes", "mapping.cmt_capacity_bytes"];

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.parameter.key, self.values)
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("name", &self.name).field("axes", &self.axes).finish()
    }
}

impl Axis {
    fn new(parameter: &'static Parameter, mut values: Vec<Value>) -> Self {
        if parameter.kind != Kind::Categorical {
            values.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
        }
        values.dedup();
        Self { parameter, values }
    }

    /// The row of the parameter in the catalogue.
    pub fn parameter(&self) -> &'static Parameter {
        self.parameter
    }

    /// The key of the parameter.
    pub fn key(&self) -> &'static str {
        self.parameter.key
    }

    /// The values to try. Numbers are in rising order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether the values are numbers, so that they have an order.
    pub fn is_numeric(&self) -> bool {
        matches!(self.parameter.kind, Kind::Continuous | Kind::Discrete)
    }

    fn coordinate(&self) -> encoding::Coordinate {
        let values = || self.values.iter().map(|value| number(*value)).collect::<Vec<f64>>();
        match self.parameter.kind {
            Kind::Continuous if self.values.len() > 1 => encoding::Coordinate::Continuous {
                low: number(self.values[0]),
                high: number(self.values[self.values.len() - 1]),
                logarithmic: false,
            },
            Kind::Continuous | Kind::Discrete => encoding::Coordinate::Ordinal { values: values() },
            Kind::Boolean if self.values.len() > 1 => encoding::Coordinate::Boolean,
            Kind::Boolean => encoding::Coordinate::Ordinal { values: vec![0.0] },
            Kind::Categorical => encoding::Coordinate::Categorical { choices: self.values.len() },
        }
    }

    fn code(&self, rank: u16) -> f64 {
        match self.parameter.kind {
            Kind::Continuous | Kind::Discrete => number(self.values[usize::from(rank)]),
            Kind::Boolean | Kind::Categorical => f64::from(rank),
        }
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
            |axis: &&Axis| base.host.interface == HostInterface::Sata && PCIE.contains(&axis.key());
        let kept = self.axes.iter().filter(|axis| !always_inert(axis.parameter) && !settled(axis));
        let axes = kept.map(|axis| {
            let mut values = axis.values.clone();
            let value = axis.parameter.get(base);
            if !values.contains(&value) {
                values.push(value);
            }
            Axis::new(axis.parameter, values)
        });
        Self::of(self.name.clone(), axes.filter(|axis| axis.values.len() > 1).collect())
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

    /// The point of a configuration; `None` where an axis lacks its value. Parameters without axis
    /// are not compared.
    pub fn point(&self, config: &DeviceConfig) -> Option<Point> {
        let rank = |axis: &Axis| {
            let wanted = axis.parameter.get(config);
            axis.values.iter().position(|value| *value == wanted).map(|rank| rank as u16)
        };
        self.axes.iter().map(rank).collect::<Option<Vec<u16>>>().map(Point)
    }

    /// The configuration of a point: the baseline with the point's values. It may break limits.
    ///
    /// # Panics
    /// The point belongs to another space.
    pub fn config(&self, base: &DeviceConfig, point: &Point) -> DeviceConfig {
        let mut config = base.clone();
        for (axis, rank) in self.axes.iter().zip(&point.0) {
            let value = axis.values[usize::from(*rank)];
            axis.parameter.set(&mut config, value).expect("values of an axis are legal");
        }
        config
    }

    /// The canonical form of a point: every parameter without effect in this configuration has its
    /// value from `at_rest`. So two points that are one and the same drive become one point.
    #[must_use]
    pub fn canonical(&self, base: &DeviceConfig, point: &Point, at_rest: &Point) -> Point {
        let config = self.config(base, point);
        let ranks = self.axes.iter().zip(&point.0).zip(&at_rest.0);
        Point(
            ranks
                .map(|((axis, rank), rest)| match axis.parameter.inert(&config) {
                    Some(_) => *rest,
                    None => *rank,
                })
                .collect(),
        )
    }

    /// A point as a row of numbers from 0 to 1.
    ///
    /// # Panics
    /// The point belongs to another space.
    pub fn encode(&self, point: &Point) -> Vec<f64> {
        let codes: Vec<f64> =
            self.axes.iter().zip(&point.0).map(|(axis, rank)| axis.code(*rank)).collect();
        self.encoder.encode(&codes).expect("a point of this space")
    }

    /// The number of columns of an encoded point.
    pub fn columns(&self) -> usize {
        self.encoder.columns()
    }

    /// The number of columns of each axis in an encoded point.
    pub fn widths(&self) -> impl Iterator<Item = usize> + '_ {
        self.axes.iter().map(|axis| match axis.parameter.kind {
            Kind::Categorical => axis.values.len(),
            _ => 1,
        })
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
        self.axes.iter().map(|axis| axis.values.len() as f64).product()
    }
}

/// Whether the catalogue says that a parameter has no effect on any drive.
fn always_inert(row: &Parameter) -> bool {
    matches!(row.effect, catalogue::Effect::Never(_))
}

#[cfg(test)]
mod tests;
