//! How far a prediction is from a measurement, and the one number that a fit makes small.

use crate::point::{Figures, Point};
use serde::Serialize;

/// The weight of an error of the median and of the 99th percentile beside that of the mean.
const PERCENTILE_WEIGHT: f64 = 0.3;

/// Errors of a prediction as shares of what was measured: 0.1 is 10 % too high. `None` where
/// nothing was measured, or where percentiles of several jobs are no percentiles of all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Errors {
    /// Of the mean latency.
    pub mean: Option<f64>,
    /// Of the median.
    pub p50: Option<f64>,
    /// Of the 99th percentile.
    pub p99: Option<f64>,
    /// Of the 99.9th percentile.
    pub p999: Option<f64>,
    /// Of the rate.
    pub iops: Option<f64>,
    /// Of the bandwidth.
    pub bandwidth: Option<f64>,
}

impl Errors {
    /// The errors of a prediction of a point.
    pub fn of(point: &Point, predicted: &Figures) -> Self {
        let measured = &point.figures;
        let share =
            |measured: Option<f64>, predicted: Option<f64>| Some(predicted? / measured? - 1.0);
        let latency = |value: fn(&Figures) -> Option<crate::point::Micros>| {
            share(value(measured).map(|v| v.0), value(predicted).map(|v| v.0))
        };
        let percentile = |value| latency(value).filter(|_| point.has_percentiles());
        Self {
            mean: latency(|figures| figures.mean),
            p50: percentile(|figures| figures.p50),
            p99: percentile(|figures| figures.p99),
            p999: percentile(|figures| figures.p999),
            iops: share(measured.iops.map(|v| v.0), predicted.iops.map(|v| v.0)),
            bandwidth: share(measured.bandwidth.map(|v| v.0), predicted.bandwidth.map(|v| v.0)),
        }
    }

    /// Those of the rate and the bandwidth alone: beyond what a drive can do, latencies are those
    /// of the host's queues.
    pub(crate) fn of_rate(self) -> Self {
        Self { iops: self.iops, bandwidth: self.bandwidth, ..Self::default() }
    }

    /// What a fit makes small: the absolute error of the mean, and 0.3 times those of the median
    /// and the 99th percentile. Without a mean latency, that of the rate. `None` without either.
    pub fn objective(&self) -> Option<f64> {
        let main = self.mean.or(self.iops)?.abs();
        let percentiles = [self.p50, self.p99].into_iter().flatten().map(f64::abs);
        Some(main + PERCENTILE_WEIGHT * percentiles.sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{Micros, PerSecond};
    use crate::read::parse;
    use std::path::Path;

    #[test]
    fn the_objective_is_of_what_was_measured() {
        let text = "op,bs,iodepth,numjobs,iops,lat_mean_us,p50,p99\n\
                    randread,4k,8,1,1000,100,80,200\nrandread,4k,8,2,1000,100,80,200\n\
                    randread,4k,8,1,1000,,,\n";
        let points = parse(Path::new("p"), "p", text).unwrap();
        let predicted = Figures {
            iops: Some(PerSecond(900.0)),
            mean: Some(Micros(110.0)),
            p50: Some(Micros(76.0)),
            p99: Some(Micros(240.0)),
            ..Figures::default()
        };
        let objective = |at: usize| Errors::of(&points[at], &predicted).objective().unwrap();
        assert!((objective(0) - (0.1 + 0.3 * 0.05 + 0.3 * 0.2)).abs() < 1e-12);
        assert!((objective(1) - 0.1).abs() < 1e-12, "of two jobs only the mean counts");
        assert!((objective(2) - 0.1).abs() < 1e-12, "the rate stands in for the mean");
        assert_eq!(Errors::default().objective(), None);
    }
}
