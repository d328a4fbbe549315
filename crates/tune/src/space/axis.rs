//! An axis of a space: one thing that a search may change, and the values to try.
//!
//! Most axes are a row of the parameter catalogue with some of its values. The others are a
//! [`Choice`]: settings that are to be had only together, such as all figures of a flash part. An
//! axis chooses by rank, from 0, and its users need not know which kind it is.

use super::choice::Choice;
use super::number;
use serde::{Serialize, Serializer};
use ssdtune_learn::space as encoding;
use ssdtune_model::DeviceConfig;
use ssdtune_model::catalogue::{Effect, Kind, Parameter, Value};
use std::fmt;

/// One thing that may change, and the values to try.
#[derive(Clone)]
pub struct Axis(Varied);

/// What an axis varies.
#[derive(Clone)]
enum Varied {
    /// One parameter. Numbers are in rising order.
    Parameter { row: &'static Parameter, values: Vec<Value> },
    /// Settings that go together.
    Choice(Choice),
}

/// What an axis has at a rank: a value of a parameter, or the name of an alternative.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// The value of a parameter.
    Value(Value),
    /// The name of settings that go together.
    Name(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.key(), self.labels().collect::<Vec<_>>())
    }
}

impl Axis {
    /// An axis of one parameter.
    pub(super) fn of_parameter(row: &'static Parameter, mut values: Vec<Value>) -> Self {
        if row.kind != Kind::Categorical {
            values.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
        }
        values.dedup();
        Self(Varied::Parameter { row, values })
    }

    /// An axis of settings that go together.
    pub(super) fn of_choice(choice: Choice) -> Self {
        Self(Varied::Choice(choice))
    }

    /// The settings that go together; `None` for an axis of one parameter.
    pub fn choice(&self) -> Option<&Choice> {
        match &self.0 {
            Varied::Choice(choice) => Some(choice),
            Varied::Parameter { .. } => None,
        }
    }

    pub(super) fn choice_mut(&mut self) -> Option<&mut Choice> {
        match &mut self.0 {
            Varied::Choice(choice) => Some(choice),
            Varied::Parameter { .. } => None,
        }
    }

    /// The row of the parameter in the catalogue; `None` for settings that go together.
    pub fn parameter(&self) -> Option<&'static Parameter> {
        match self.0 {
            Varied::Parameter { row, .. } => Some(row),
            Varied::Choice(_) => None,
        }
    }

    /// The key of the parameter in the catalogue, or the name of the choice.
    pub fn key(&self) -> &str {
        match &self.0 {
            Varied::Parameter { row, .. } => row.key,
            Varied::Choice(choice) => choice.key(),
        }
    }

    /// The sign of the unit of numbers; empty for names and plain numbers.
    pub fn unit(&self) -> &'static str {
        self.parameter().map_or("", |row| row.unit.sign())
    }

    /// How many values there are to choose from.
    pub fn count(&self) -> usize {
        match &self.0 {
            Varied::Parameter { values, .. } => values.len(),
            Varied::Choice(choice) => choice.alternatives().len(),
        }
    }

    /// What the axis has at a rank.
    pub fn label(&self, rank: u16) -> Label {
        match &self.0 {
            Varied::Parameter { values, .. } => Label::Value(values[usize::from(rank)]),
            Varied::Choice(choice) => {
                Label::Name(choice.alternatives()[usize::from(rank)].name().to_owned())
            }
        }
    }

    /// What the axis has at each rank.
    pub fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        (0..self.count() as u16).map(|rank| self.label(rank))
    }

    /// The rank of a value that is written as text; `None` if the axis has no such value.
    pub fn rank_of(&self, text: &str) -> Option<u16> {
        let place = match &self.0 {
            Varied::Parameter { row, values } => {
                let value = row.parse(text).ok()?;
                values.iter().position(|own| *own == value)
            }
            Varied::Choice(choice) => choice.alternatives().iter().position(|a| a.name() == text),
        };
        place.map(|rank| rank as u16)
    }

    /// The rank that a drive has on the axis; `None` if the axis lacks its value.
    pub fn rank_in(&self, config: &DeviceConfig) -> Option<u16> {
        let place = match &self.0 {
            Varied::Parameter { row, values } => {
                let value = row.get(config);
                values.iter().position(|own| *own == value)
            }
            Varied::Choice(choice) => choice.rank_in(config),
        };
        place.map(|rank| rank as u16)
    }

    /// Gives a drive the value at a rank.
    ///
    /// # Panics
    /// The axis has no such rank.
    pub(super) fn set(&self, config: &mut DeviceConfig, rank: u16) {
        match &self.0 {
            Varied::Parameter { row, values } => {
                let value = values[usize::from(rank)];
                row.set(config, value).expect("values of an axis are legal");
            }
            Varied::Choice(choice) => choice.alternatives()[usize::from(rank)].set(config),
        }
    }

    /// The value of a parameter at a rank, if the axis sets it.
    pub fn value_of(&self, key: &str, rank: u16) -> Option<Value> {
        match &self.0 {
            Varied::Parameter { row, values } => {
                (row.key == key).then(|| values[usize::from(rank)])
            }
            Varied::Choice(choice) => choice.alternatives()[usize::from(rank)].value_of(key),
        }
    }

    /// Whether the axis sets a parameter.
    pub fn sets(&self, key: &str) -> bool {
        match &self.0 {
            Varied::Parameter { row, .. } => row.key == key,
            Varied::Choice(choice) => choice.sets(key),
        }
    }

    /// The value at a rank as a number; the rank itself where values are no numbers.
    pub fn number(&self, rank: u16) -> f64 {
        match &self.0 {
            Varied::Parameter { row, values } => match row.kind {
                Kind::Continuous | Kind::Discrete => number(values[usize::from(rank)]),
                Kind::Boolean | Kind::Categorical => f64::from(rank),
            },
            Varied::Choice(_) => f64::from(rank),
        }
    }

    /// Whether the values are numbers, so that they have an order.
    pub fn is_numeric(&self) -> bool {
        let kind = self.parameter().map(|row| row.kind);
        matches!(kind, Some(Kind::Continuous | Kind::Discrete))
    }

    /// Whether the value changes nothing in a drive that has the other values of `config`.
    pub(super) fn is_inert(&self, config: &DeviceConfig) -> bool {
        match &self.0 {
            Varied::Parameter { row, .. } => row.inert(config).is_some(),
            Varied::Choice(choice) => choice.is_inert(config),
        }
    }

    /// Whether the catalogue says that the axis has no effect on any drive.
    pub(super) fn is_always_inert(&self) -> bool {
        self.parameter().is_some_and(|row| matches!(row.effect, Effect::Never(_)))
    }

    /// The axis with the values that a baseline has.
    pub(super) fn around(&self, base: &DeviceConfig) -> Self {
        match &self.0 {
            Varied::Parameter { row, values } => {
                let (mut values, own) = (values.clone(), row.get(base));
                if !values.contains(&own) {
                    values.push(own);
                }
                Self::of_parameter(row, values)
            }
            Varied::Choice(choice) => Self::of_choice(choice.around(base)),
        }
    }

    /// How the axis becomes columns of numbers.
    pub(super) fn coordinate(&self) -> encoding::Coordinate {
        let Varied::Parameter { row, values } = &self.0 else {
            return encoding::Coordinate::Categorical { choices: self.count() };
        };
        let numbers = || values.iter().map(|value| number(*value)).collect::<Vec<f64>>();
        match row.kind {
            Kind::Continuous if values.len() > 1 => encoding::Coordinate::Continuous {
                low: number(values[0]),
                high: number(values[values.len() - 1]),
                logarithmic: false,
            },
            Kind::Continuous | Kind::Discrete => {
                encoding::Coordinate::Ordinal { values: numbers() }
            }
            Kind::Boolean if values.len() > 1 => encoding::Coordinate::Boolean,
            Kind::Boolean => encoding::Coordinate::Ordinal { values: vec![0.0] },
            Kind::Categorical => encoding::Coordinate::Categorical { choices: values.len() },
        }
    }

    /// The number of columns in an encoded point.
    pub(super) fn width(&self) -> usize {
        match &self.0 {
            Varied::Parameter { row, values } if row.kind == Kind::Categorical => values.len(),
            Varied::Parameter { .. } => 1,
            Varied::Choice(choice) => choice.alternatives().len(),
        }
    }
}
