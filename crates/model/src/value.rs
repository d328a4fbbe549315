//! Values of parameters, their kinds and units, and what is legal.
//!
//! These types know no parameter and no drive; the catalogue puts them together.

use crate::units::{Bytes, Nanos};
use serde::{Serialize, Serializer};
use std::fmt;

/// The value of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(u64),
    /// A real number, never NaN in a checked configuration.
    Real(f64),
    /// A switch: true or false.
    Bool(bool),
    /// A name from a fixed list.
    Name(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // `{:?}` keeps the point of a whole real ("1.0") and the shortest exact digits.
            Self::Real(value) => write!(f, "{value:?}"),
            Self::Bool(value) => value.fmt(f),
            Self::Name(value) => f.write_str(value),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Int(value) => serializer.serialize_u64(value),
            Self::Real(value) => serializer.serialize_f64(value),
            Self::Bool(value) => serializer.serialize_bool(value),
            Self::Name(value) => serializer.serialize_str(value),
        }
    }
}

/// How a search may vary a parameter (AutoBlox, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Any value in a range makes sense: sizes, times, ratios.
    Continuous,
    /// Only certain numbers are built: counts, rates, widths.
    Discrete,
    /// True or false.
    Boolean,
    /// Names that have no order.
    Categorical,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continuous => "continuous",
            Self::Discrete => "discrete",
            Self::Boolean => "boolean",
            Self::Categorical => "categorical",
        })
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a count, a ratio or a name.
    None,
    /// Nanoseconds. Text may carry the suffixes `ns`, `us`, `ms` and `s`.
    Nanos,
    /// Bytes. Text may carry the suffixes `B`, `KiB`, `MiB`, `GiB` and `TiB` (steps of 1,024; `K`,
    /// `M`, `G` and `T` are short for them), and `KB`, `MB`, `GB` and `TB` (steps of 1,000).
    Bytes,
    /// Another unit, by its sign, as in `GB/s`.
    Other(&'static str),
}

impl Unit {
    /// The sign of the unit; empty if there is no unit.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Nanos => "ns",
            Self::Bytes => "B",
            Self::Other(sign) => sign,
        }
    }

    /// The suffixes that text may carry, with their factors.
    const fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Nanos => &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
            Self::Bytes => &[
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
                ("TiB", 1 << 40),
                ("K", 1 << 10),
                ("k", 1 << 10),
                ("M", 1 << 20),
                ("G", 1 << 30),
                ("T", 1 << 40),
                ("KB", 1_000),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("TB", 1_000_000_000_000),
                ("B", 1),
            ],
            Self::None | Self::Other(_) => &[],
        }
    }

    /// Whether text may carry a suffix.
    pub const fn has_suffixes(self) -> bool {
        !self.suffixes().is_empty()
    }

    /// Reads a whole number. Underscores and a suffix of the unit are allowed, and with a suffix a
    /// fraction that leaves a whole number (`1.5GiB`); `None` if the text is something else.
    pub fn parse_int(self, text: &str) -> Option<u64> {
        let text = text.trim();
        let mut suffixes = self.suffixes().iter();
        // "1ms" also ends in "s": a suffix counts only if a number is left before it.
        let with_suffix = suffixes.find_map(|(suffix, factor)| {
            text.strip_suffix(suffix).and_then(|rest| scaled(rest.trim_end(), *factor))
        });
        with_suffix.or_else(|| digits(text))
    }
}

/// A number, which may have a decimal point, times a factor; `None` if that is no whole number.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let Some((whole, fraction)) = number.split_once('.') else {
        return digits(number)?.checked_mul(factor);
    };
    let denominator = 10_u128.checked_pow(fraction.len().try_into().ok()?)?;
    let parts = u128::from(digits(fraction)?).checked_mul(factor.into())?;
    let part = parts.is_multiple_of(denominator).then_some(parts / denominator)?;
    digits(whole)?.checked_mul(factor)?.checked_add(part.try_into().ok()?)
}

fn digits(text: &str) -> Option<u64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if !plain {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Every value a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Legal {
    /// Whole numbers from `min` to `max`, multiples of `step`.
    Ints {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// What all of them are a multiple of.
        step: u64,
    },
    /// Real numbers from `min` to `max`.
    Reals {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
        /// Whether `min` and `max` themselves are excluded.
        open: bool,
    },
    /// True and false.
    Bools,
    /// Names, each with MQSim's name for it (empty if MQSim has none).
    Names(&'static [(&'static str, &'static str)]),
}

impl Legal {
    /// Whether `value` has the right type and is in range.
    pub fn allows(&self, value: Value) -> bool {
        match (*self, value) {
            (Self::Ints { min, max, step }, Value::Int(int)) => {
                (min..=max).contains(&int) && int.is_multiple_of(step)
            }
            (Self::Reals { min, max, open: false }, Value::Real(real)) => {
                (min..=max).contains(&real)
            }
            (Self::Reals { min, max, open: true }, Value::Real(real)) => min < real && real < max,
            (Self::Bools, Value::Bool(_)) => true,
            (Self::Names(names), Value::Name(name)) => names.iter().any(|(own, _)| *own == name),
            _ => false,
        }
    }

    /// The type in words, as in "a whole number".
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Ints { .. } => "a whole number",
            Self::Reals { .. } => "a number",
            Self::Bools => "true or false",
            Self::Names(_) => "a name",
        }
    }

    /// Reads a value of this type from text; `None` if the text is something else. A name must be a
    /// legal one; the range of numbers is not checked.
    pub fn parse(&self, text: &str, unit: Unit) -> Option<Value> {
        match self {
            Self::Ints { .. } => unit.parse_int(text).map(Value::Int),
            Self::Reals { .. } => {
                text.trim().parse().ok().filter(|real: &f64| real.is_finite()).map(Value::Real)
            }
            Self::Bools => text.trim().parse().ok().map(Value::Bool),
            Self::Names(names) => {
                let mut own = names.iter().map(|(own, _)| *own);
                own.find(|own| own.eq_ignore_ascii_case(text.trim())).map(Value::Name)
            }
        }
    }

    /// The legal names; none if numbers or switches are legal.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let names: &[(&str, &str)] = match self {
            Self::Names(names) => names,
            _ => &[],
        };
        names.iter().map(|(own, _)| *own)
    }
}

impl fmt::Display for Legal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ints { min, max, step: 1 } => write!(f, "{min} to {max}"),
            Self::Ints { min, max, step } => write!(f, "{min} to {max} in steps of {step}"),
            Self::Reals { min, max, open: false } => write!(f, "{min} to {max}"),
            Self::Reals { min, max, open: true } => {
                write!(f, "between {min} and {max}, both excluded")
            }
            Self::Bools => f.write_str("true, false"),
            Self::Names(names) => {
                let own: Vec<&str> = names.iter().map(|(own, _)| *own).collect();
                f.write_str(&own.join(", "))
            }
        }
    }
}

/// The values among the legal ones that a search tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Candidates {
    /// No value: a search leaves the parameter as it is.
    Fixed,
    /// A list of whole numbers.
    Ints(&'static [u64]),
    /// A list of real numbers.
    Reals(&'static [f64]),
    /// Whole numbers at equal distances.
    Steps {
        /// The first number.
        from: u64,
        /// The limit, which is included if a step reaches it.
        to: u64,
        /// The distance between two numbers.
        by: u64,
    },
    /// Every legal name, or both positions of a switch.
    All,
    /// A list of names.
    Names(&'static [&'static str]),
}

impl Candidates {
    /// The values as a list. `legal` says which names there are, for [`All`](Self::All).
    pub fn values(&self, legal: &Legal) -> Vec<Value> {
        match *self {
            Self::Fixed => Vec::new(),
            Self::Ints(list) => list.iter().copied().map(Value::Int).collect(),
            Self::Reals(list) => list.iter().copied().map(Value::Real).collect(),
            Self::Steps { from, to, by } => {
                (from..=to).step_by(by as usize).map(Value::Int).collect()
            }
            Self::All => match legal {
                Legal::Bools => vec![Value::Bool(false), Value::Bool(true)],
                names => names.names().map(Value::Name).collect(),
            },
            Self::Names(list) => list.iter().copied().map(Value::Name).collect(),
        }
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(items: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for (index, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
            }
            Ok(())
        }
        match self {
            Self::Fixed => f.write_str("-"),
            Self::Ints(items) => list(items, f),
            Self::Reals(items) => list(items, f),
            Self::Steps { from, to, by } => write!(f, "{from} to {to} by {by}"),
            Self::All => f.write_str("all"),
            Self::Names(items) => list(items, f),
        }
    }
}

/// A type of a configuration's field, which converts from and to a [`Value`].
pub trait Field {
    /// The field's value.
    fn value(&self) -> Value;

    /// Sets the field and returns true, or returns false if `value` does not fit its type.
    fn assign(&mut self, value: Value) -> bool;
}

macro_rules! field {
    ($type:ty, $variant:ident, $($into:tt)+) => {
        impl Field for $type {
            fn value(&self) -> Value {
                Value::$variant((*self).into())
            }

            fn assign(&mut self, value: Value) -> bool {
                let Value::$variant(value) = value else { return false };
                let convert: fn(_) -> Option<Self> = $($into)+;
                convert(value).map(|value| *self = value).is_some()
            }
        }
    };
}

field!(u32, Int, |value: u64| value.try_into().ok());
field!(u64, Int, |value: u64| Some(value));
field!(f64, Real, |value: f64| Some(value));
field!(bool, Bool, |value: bool| Some(value));
field!(Nanos, Int, |value: u64| Some(Nanos(value)));
field!(Bytes, Int, |value: u64| Some(Bytes(value)));
