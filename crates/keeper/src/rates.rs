//! What a tenant asks of a drive in a second: requests and flash pages, reads apart from writes.

/// A tenant's reads and writes in a second. In every array reads come first, then writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Requests a second.
    pub requests: [f64; 2],
    /// Flash pages a second.
    pub pages: [f64; 2],
}

impl Rates {
    /// These requests and pages a second, multiplied by a factor of 0 or more.
    pub(crate) fn times(self, factor: f64) -> Self {
        let [requests, pages] = [self.requests, self.pages].map(|all| all.map(|one| one * factor));
        Self { requests, pages }
    }

    /// What several tenants ask for together.
    pub fn sum<'a>(rates: impl Iterator<Item = &'a Self>) -> Self {
        rates.fold(Self::default(), |mut all, own| {
            for direction in 0..2 {
                all.requests[direction] += own.requests[direction];
                all.pages[direction] += own.pages[direction];
            }
            all
        })
    }
}

/// A quotient; 0 where the divisor is not above 0.
pub(crate) fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 { dividend / divisor } else { 0.0 }
}
