//! Intervals of 95 %, and the quantiles that they are made of.

use serde::Serialize;

/// Fewer windows than these give no interval: their own spread is not known well enough.
pub const WINDOWS_MIN: usize = 40;

/// Where a ratio lies with 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of a value whose logarithm lies within `half` of what it is.
    pub(crate) fn around(value: f64, half: f64) -> Self {
        Self { low: value * (-half).exp(), high: value * half.exp() }
    }

    /// Half the width, as a share of the value: the `+-` of a report.
    pub fn half_width(&self) -> f64 {
        ((self.high / self.low).sqrt() - 1.0).abs()
    }

    /// Whether a value is inside.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The 97.5 % quantile of Student's distribution.
///
/// From 3 degrees of freedom on within 2 % (Abramowitz and Stegun, 26.7.5); below that the exact
/// values of 1 and 2 degrees, joined by a line.
pub fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_963_985;
    let (one, two, three) = (12.706, 4.303, 3.182);
    if freedom.is_nan() || freedom <= 1.0 {
        return one;
    }
    if freedom < 3.0 {
        let (from, to, rest) =
            if freedom < 2.0 { (one, two, freedom - 1.0) } else { (two, three, freedom - 2.0) };
        return from + (to - from) * rest;
    }
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    z + terms[0] / freedom + terms[1] / freedom.powi(2) + terms[2] / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, table) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (4.0, 2.776), (9.0, 2.262), (39.0, 2.023)]
        {
            let own = student(freedom);
            assert!((own / table - 1.0).abs() < 0.02, "{freedom}: {own}");
        }
        let falls = (10..4000).map(|at| student(f64::from(at) / 10.0));
        assert!(falls.clone().zip(falls.skip(1)).all(|(one, next)| next <= one * 1.02));
    }

    #[test]
    fn half_a_width_is_a_share_of_the_value() {
        let interval = Interval::around(2.0, 1.05_f64.ln());
        assert!((interval.half_width() - 0.05).abs() < 1e-12);
        assert!(interval.holds(2.09) && !interval.holds(2.11) && !interval.holds(1.9));
    }
}
