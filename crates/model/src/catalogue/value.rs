//! Values of parameters, their kinds and units, and what is legal.

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
    /// A switch.
    Bool(bool),
    /// One of a list of names.
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
    /// A range that may be divided at will: sizes, times, ratios.
    Continuous,
    /// Values that industry makes: counts, rates, widths.
    Discrete,
    /// A switch.
    Boolean,
    /// A name without an order.
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

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count or a name.
    None,
    /// Nanoseconds; text may also say `us`, `ms` or `s`.
    Nanos,
    /// Bytes; text may also say `KiB`, `MiB`, `GiB` or `TiB`.
    Bytes,
    /// Any other, by its usual sign.
    Other(&'static str),
}

impl Unit {
    /// The usual sign; empty for a count.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Nanos => "ns",
            Self::Bytes => "B",
            Self::Other(sign) => sign,
        }
    }

    /// Suffixes that a value on the command line may carry, with their factors.
    const fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Nanos => &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
            Self::Bytes => {
                &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1)]
            }
            Self::None | Self::Other(_) => &[],
        }
    }

    /// Reads a whole number, underscores and the unit's suffixes allowed.
    pub fn parse_int(self, text: &str) -> Option<u64> {
        let text = text.trim();
        for &(suffix, factor) in self.suffixes() {
            // "1ms" also ends in "s": a suffix counts only if a number is left before it.
            if let Some(number) = text.strip_suffix(suffix).and_then(|rest| digits(rest.trim_end()))
            {
                return number.checked_mul(factor);
            }
        }
        digits(text)
    }
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
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// Divisor of all.
        step: u64,
    },
    /// Real numbers from `min` to `max`.
    Reals {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Whether both ends are excluded.
        open: bool,
    },
    /// True and false.
    Bools,
    /// Names, each with MQSim's (empty where MQSim has none).
    Names(&'static [(&'static str, &'static str)]),
}

impl Legal {
    /// Whether `value` is of the right type and in range.
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

    /// The type, as an error message says it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Ints { .. } => "a whole number",
            Self::Reals { .. } => "a number",
            Self::Bools => "true or false",
            Self::Names(_) => "a name",
        }
    }

    /// Reads a value of this type from text; `None` where the text is not one. Range is not looked
    /// at, except that a name must be one of the legal ones.
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

    /// The names, where names are legal.
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

/// The values a search tries, out of the legal ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Candidates {
    /// None: a search leaves the parameter as it is.
    Fixed,
    /// These.
    Ints(&'static [u64]),
    /// These.
    Reals(&'static [f64]),
    /// From the first to the last by steps.
    Steps {
        /// First.
        from: u64,
        /// Last.
        to: u64,
        /// Distance.
        by: u64,
    },
    /// Every legal switch position or name.
    All,
}

impl Candidates {
    /// The values one by one; empty for [`Fixed`](Self::Fixed).
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
        }
    }
}

/// A field of the configuration that a [`Value`] can be read from and written to.
pub trait Field {
    /// The value.
    fn value(&self) -> Value;

    /// Takes `value`; `false` where it does not fit the field's type.
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
