//! Predictions of many points at once, without intervals.

use super::drive_model::AnyModel;
use super::features::Characteristics;
use super::model::{LoopError, Target};
use super::point::Point;
use serde::Serialize;
use ssdtune_report::{Table, Text};

/// What is predicted for one of many points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchLine {
    /// The point.
    pub point: Point,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
    /// Requests completed in a second.
    pub iops: f64,
    /// Bytes moved in a second.
    pub bandwidth_bps: f64,
}

impl AnyModel {
    /// Predicts points of a closed loop, on all threads.
    ///
    /// # Errors
    /// A point or the model is of an open loop.
    pub fn batch(&self, points: &[Point]) -> Result<Vec<BatchLine>, LoopError> {
        let line = |point: &Point, [latency_ns, iops, bandwidth_bps]: [f64; 3]| BatchLine {
            point: *point,
            latency_ns,
            iops,
            bandwidth_bps,
        };
        match self {
            Self::Few(model) => {
                let one = |point: &Point| {
                    let found = model.predict(point, None)?;
                    let figures = [found.latency, found.iops, found.bandwidth];
                    Ok(line(point, figures.map(|estimate| estimate.value)))
                };
                points.iter().map(one).collect()
            }
            Self::Grid(model) => {
                let of = |point| model.characteristics(point, None);
                let workloads =
                    points.iter().map(of).collect::<Result<Vec<Characteristics>, _>>()?;
                let [latencies, iops, bandwidths] =
                    Target::ALL.map(|target| model.values(target, &workloads));
                let rows = latencies.into_iter().zip(iops).zip(bandwidths);
                let figures = rows.map(|((latency, iops), bandwidth)| [latency, iops, bandwidth]);
                Ok(points.iter().zip(figures).map(|(point, own)| line(point, own)).collect())
            }
        }
    }
}

impl BatchLine {
    /// A table of all lines.
    pub fn table(lines: &[Self]) -> Text {
        let mut table = Table::new(["point", "latency", "IOPS", "bandwidth"]);
        for Self { point, latency_ns, iops, bandwidth_bps } in lines {
            table.add_row([
                point.to_string(),
                Target::Latency.text(*latency_ns),
                Target::Iops.text(*iops),
                Target::Bandwidth.text(*bandwidth_bps),
            ]);
        }
        table.align_right(1..);
        Text::from(table)
    }
}
