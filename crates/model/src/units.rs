//! Units: one newtype per quantity, with only the arithmetic that makes sense for it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

/// Bytes in one logical sector, the unit of host addresses in every trace format we read.
pub const SECTOR_BYTES: u64 = 512;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash,
            Serialize, Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The quantity zero.
            pub const ZERO: Self = Self(0);
            /// The largest quantity, more than any run reaches.
            pub const MAX: Self = Self(u64::MAX);

            /// The quantity as a plain number.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The difference, or zero if `other` is larger.
            #[inline]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The sum; `None` if it leaves the 64-bit range.
            #[inline]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl From<$name> for u64 {
            #[inline]
            fn from(quantity: $name) -> Self {
                quantity.0
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity!(
    /// Simulated time or a duration, in nanoseconds. 64 bits reach 584 years.
    Nanos
);
quantity!(
    /// A size in bytes.
    Bytes
);
quantity!(
    /// A size or a host address in 512-byte sectors.
    Sectors
);

impl Nanos {
    /// A duration given in microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A duration given in milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// The duration in seconds, for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Bytes {
    /// A size given in KiB (1,024 bytes).
    pub const fn from_kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// A size given in MiB (1,048,576 bytes).
    pub const fn from_mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// A size given in GiB (1,073,741,824 bytes).
    pub const fn from_gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// The number of whole sectors in this size.
    pub const fn sectors_floor(self) -> Sectors {
        Sectors(self.0 / SECTOR_BYTES)
    }
}

impl Sectors {
    /// The size in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * SECTOR_BYTES)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.2} us", ns / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} ms", ns / 1e6),
            _ => write!(f, "{:.3} s", ns / 1e9),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let step = (self.0.ilog2() / 10).min(UNITS.len() as u32);
        let value = self.0 as f64 / (1u64 << (10 * step)) as f64;
        let unit = UNITS[step as usize - 1];
        if self.0.is_multiple_of(1 << (10 * step)) {
            write!(f, "{value:.0} {unit}")
        } else {
            write!(f, "{value:.2} {unit}")
        }
    }
}

/// Reads a duration as people write it: `5ms`, `1.5s`, `2h`. A number without a unit is refused.
impl FromStr for Nanos {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = number_and_unit(text);
        let factor = match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err("a number with ns, us, ms, s, min or h, such as 5ms".into()),
        };
        let nanos = scaled(number, factor).map(Self);
        nanos.ok_or_else(|| "not a duration of at most 584 years".into())
    }
}

/// What is said of a text that is no size.
const SIZE: &str = "write a size such as 512GiB or 1TB: a number with B, KiB, MiB, GiB, TiB, KB, \
                    MB, GB or TB";

/// Reads a size as people write it: `4KiB`, `512GiB`, `1GB`. A number without a unit is in bytes.
impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = number_and_unit(text);
        let factor = match unit {
            "" | "B" => 1,
            "KiB" | "K" | "k" => 1 << 10,
            "MiB" | "M" => 1 << 20,
            "GiB" | "G" => 1 << 30,
            "TiB" | "T" => 1 << 40,
            "KB" | "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            _ => return Err(SIZE.into()),
        };
        scaled(number, factor).map(Self).ok_or_else(|| "not a size of at most 16 EiB".into())
    }
}

/// Splits a text behind its digits and decimal point.
fn number_and_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// The number times the factor, rounded; `None` if it does not fit.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value.is_finite() && (0.0..1.8e19).contains(&value)).then_some(value.round() as u64)
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sectors", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_as_a_person_would_write_them() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes::from_kib(16).to_string(), "16 KiB");
        assert_eq!(Bytes::from_gib(512).to_string(), "512 GiB");
        assert_eq!(Bytes(1_500_000).to_string(), "1.43 MiB");
        assert_eq!(Bytes::MAX.to_string(), "16384.00 PiB");
    }

    #[test]
    fn durations_print_with_a_fitting_unit() {
        assert_eq!(Nanos(999).to_string(), "999 ns");
        assert_eq!(Nanos(88_898).to_string(), "88.90 us");
        assert_eq!(Nanos::from_ms(3).to_string(), "3.00 ms");
    }

    #[test]
    fn sectors_and_bytes_agree() {
        assert_eq!(Sectors(8).bytes(), Bytes::from_kib(4));
        assert_eq!(Bytes(4095).sectors_floor(), Sectors(7));
    }

    #[test]
    fn what_people_write_is_read_and_the_rest_refused() {
        let duration = |text: &str| text.parse::<Nanos>();
        assert_eq!(duration("5ms"), Ok(Nanos(5_000_000)));
        assert_eq!(duration("1.5 s"), Ok(Nanos(1_500_000_000)));
        assert!(duration("5").is_err() && duration("x").is_err() && duration("9e9h").is_err());
        let size = |text: &str| text.parse::<Bytes>();
        assert_eq!(size("4KiB"), Ok(Bytes(4096)));
        assert_eq!(size("1GB"), Ok(Bytes(1_000_000_000)));
        assert_eq!(size("512"), Ok(Bytes(512)));
        assert!(size("-1").is_err() && size("99999999999TiB").is_err() && size("4Q").is_err());
    }
}
