//! What a line in one column explains of residuals, from sums that can be added and taken away.

/// A column whose variance is below this fraction of its mean square is constant here.
const CONSTANT: f64 = 1e-12;

/// Weighted sums over rows of one side of a threshold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    weight: f64,
    x: f64,
    r: f64,
    xx: f64,
    xr: f64,
}

impl Side {
    pub(super) fn add(&mut self, x: f64, residual: f64, weight: f64) {
        self.weight += weight;
        self.x += weight * x;
        self.r += weight * residual;
        self.xx += weight * x * x;
        self.xr += weight * x * residual;
    }

    /// These sums without those of some of their rows.
    pub(super) fn without(&self, part: &Self) -> Self {
        Self {
            weight: self.weight - part.weight,
            x: self.x - part.x,
            r: self.r - part.r,
            xx: self.xx - part.xx,
            xr: self.xr - part.xr,
        }
    }

    /// What the best line takes off the squared residuals.
    pub(super) fn explained(&self) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let level = self.r * self.r / self.weight;
        let spread = self.xx - self.x * self.x / self.weight;
        if spread <= CONSTANT * self.xx {
            return level;
        }
        let slant = self.xr - self.x * self.r / self.weight;
        level + slant * slant / spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against residuals of the least squares line by its textbook formulas, over rows that are left
        /// when some are taken away.
        #[test]
        fn lines_explain_what_they_take_away(
            rows in prop::collection::vec((-2.0f64..2.0, -2.0f64..2.0, 0.1f64..3.0), 8..40),
        ) {
            let (mut all, mut part) = (Side::default(), Side::default());
            for (number, (x, r, w)) in rows.iter().enumerate() {
                all.add(*x, *r, *w);
                if number < 3 {
                    part.add(*x, *r, *w);
                }
            }
            let rest = &rows[3..];
            let weight: f64 = rest.iter().map(|(_, _, w)| w).sum();
            let mean = |of: fn(&(f64, f64, f64)) -> f64| {
                rest.iter().map(|row| row.2 * of(row)).sum::<f64>() / weight
            };
            let (mx, mr) = (mean(|row| row.0), mean(|row| row.1));
            let sum = |of: &dyn Fn(f64, f64) -> f64| {
                rest.iter().map(|(x, r, w)| w * of(*x, *r)).sum::<f64>()
            };
            let slope = sum(&|x, r| (x - mx) * (r - mr)) / sum(&|x, _| (x - mx) * (x - mx));
            let before = sum(&|_, r| r * r);
            let after = sum(&|x, r| (r - mr - slope * (x - mx)).powi(2));
            let found = all.without(&part).explained();
            prop_assert!((found - (before - after)).abs() < 1e-6, "{found} {}", before - after);
        }
    }

    #[test]
    fn a_constant_column_explains_the_level_alone() {
        let mut side = Side::default();
        for residual in [1.0, 3.0] {
            side.add(0.7, residual, 1.0);
        }
        assert!((side.explained() - 8.0).abs() < 1e-12);
        assert_eq!(Side::default().explained(), 0.0);
    }
}
