//! What users give as text: numbers in a range, periods, and parameters with their values.

use crate::units::Nanos;
use std::ops::{Bound, RangeBounds, RangeInclusive};

/// The parser of an option whose value is a whole number without a sign, in a range. What it says
/// of a wrong value is the range.
pub fn whole<T: TryFrom<u64>>(
    range: impl RangeBounds<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    let least = match range.start_bound() {
        Bound::Included(&least) => least,
        Bound::Excluded(&below) => below.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let most = match range.end_bound() {
        Bound::Included(&most) => most,
        Bound::Excluded(&above) => above.saturating_sub(1),
        Bound::Unbounded => u64::MAX,
    };
    // No more than the type holds.
    let most = most.min(u64::MAX >> (64 - 8 * size_of::<T>().min(8)));
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => format!("write a whole number of at least {least}"),
            _ => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// The parser of an option whose value is a number in a range.
pub fn real(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("write a number from {} to {}", range.start(), range.end()))
    }
}

/// Reads a period that is given in milliseconds.
pub fn milliseconds(text: &str) -> Result<Nanos, String> {
    let ms = text.parse().ok().filter(|ms: &f64| (0.001..=1e9).contains(ms));
    ms.map(|ms| Nanos((ms * 1e6).round() as u64))
        .ok_or_else(|| "write milliseconds, 0.001 to 1000000000".into())
}

/// One of several equal parts of some work, as in `--part 3/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which part, from 1.
    number: u64,
    /// How many parts there are.
    of: u64,
}

impl Part {
    /// All of the work.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Whether the piece of work of this index, from 0, belongs to the part. Pieces are dealt out
    /// in turn, so that long ones beside each other come to different parts.
    pub const fn has(self, index: u64) -> bool {
        index % self.of == self.number - 1
    }

    /// How many of this many pieces belong to the part.
    pub const fn count(self, pieces: u64) -> u64 {
        (pieces + self.of - self.number) / self.of
    }
}

impl std::str::FromStr for Part {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match numbers {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("write K/N, the K-th of N parts: 1/4 to 4/4"),
        }
    }
}

/// A parameter and its value, as in `--set KEY=VALUE`.
#[derive(Clone, Debug)]
pub struct Override {
    /// A key of the parameter catalogue or a tag of MQSim.
    pub key: String,
    /// The value as text.
    pub value: String,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err("write KEY=VALUE, as in gc.threshold=0.1".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_of_their_range_are_answered_with_it() {
        let percent = whole::<u8>(1..=100);
        assert_eq!((percent("1"), percent("100")), (Ok(1), Ok(100)));
        for text in ["0", "101", "1.5", "-1", "1000000", "ten", ""] {
            assert_eq!(percent(text), Err("write a whole number from 1 to 100".to_owned()));
        }
        assert_eq!(whole::<u64>(3..)("2"), Err("write a whole number of at least 3".to_owned()));
        let small = whole::<u16>(3..);
        assert_eq!((small("65535"), small("65536").is_err()), (Ok(65_535), true));
        assert!(small("65536").unwrap_err().ends_with("from 3 to 65535"));
        let share = real(0.5..=1.0);
        assert_eq!(share("0.5"), Ok(0.5));
        for text in ["0.4", "inf", "NaN", ""] {
            assert_eq!(share(text), Err("write a number from 0.5 to 1".to_owned()));
        }
    }

    #[test]
    fn every_piece_of_work_belongs_to_one_part() {
        for (pieces, of) in [(0, 1), (1, 1), (5, 2), (7, 7), (3, 8), (64, 5)] {
            let parts: Vec<Part> =
                (1..=of).map(|number| format!("{number}/{of}").parse().unwrap()).collect();
            let has = |index: u64| parts.iter().filter(|part| part.has(index)).count();
            assert!((0..pieces).all(|index| has(index) == 1), "{pieces} in {of}");
            for part in parts {
                let own = (0..pieces).filter(|index| part.has(*index)).count() as u64;
                assert_eq!(part.count(pieces), own, "{pieces}: {part:?}");
            }
        }
        assert!((0..9).all(|index| Part::WHOLE.has(index)));
        for text in ["", "1", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2"] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_period_is_given_in_milliseconds() {
        assert_eq!(milliseconds("1.5"), Ok(Nanos(1_500_000)));
        for text in ["0", "-1", "2e9", "NaN", "ms"] {
            assert_eq!(
                milliseconds(text),
                Err("write milliseconds, 0.001 to 1000000000".to_owned())
            );
        }
    }

    #[test]
    fn a_parameter_has_a_key_and_a_value() {
        let Override { key, value } = " gc.threshold = 0.1 ".parse().unwrap();
        assert_eq!((key.as_str(), value.as_str()), ("gc.threshold", "0.1"));
        assert!("=0.1".parse::<Override>().is_err() && "gc.threshold".parse::<Override>().is_err());
    }
}
