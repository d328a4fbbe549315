//! What a training of HAML-SSD saw: Table I, Fig. 4 and Fig. 7 of the paper, and how the hardware
//! unit clusters the same tables.

use serde::Serialize;
use ssdtune_ftl::placement::clusters::{lloyd, on_the_diagonal};
use ssdtune_ftl::placement::haml_unit::HamlUnit;
use ssdtune_ftl::placement::{Training, scaled};
use ssdtune_model::config::TableScale;
use std::fmt::Write as _;

/// Iterations of k-means in the comparison of the unit with software.
const ITERATIONS: u32 = 10;

/// A training in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingFigures {
    /// How many trainings there have been, this one included.
    pub trainings: u64,
    /// Pearson's correlation of update frequency and mean interval, over the slices that were
    /// updated (Table I).
    pub correlation: f64,
    /// The correlation over all slices. A slice that was not updated has the whole period as its
    /// interval.
    pub correlation_all: f64,
    /// How many slices have an interval in each 32nd of the longest (Fig. 4).
    pub interval_32nds: Vec<u64>,
    /// How many slices each cluster has, the hottest first.
    pub cluster_slices: Vec<u64>,
    /// Centres of the clusters: updates and interval, scaled to 0..=512.
    pub centroids: Vec<[f32; 2]>,
    /// Share of the slices that the hardware unit puts into the cluster that software does.
    pub unit_agreement: f64,
    /// Microseconds that the hardware unit takes.
    pub unit_time_us: f64,
}

impl TrainingFigures {
    /// Sums up a training.
    pub fn of(training: &Training) -> Self {
        let tables = &training.tables;
        let pairs: Vec<[f64; 2]> = (tables.updates.iter().zip(&tables.interval_ns))
            .map(|(&updates, &interval)| [f64::from(updates), interval as f64])
            .collect();
        let updated: Vec<[f64; 2]> = pairs.iter().copied().filter(|pair| pair[0] > 0.0).collect();
        let longest = tables.interval_ns.iter().copied().max().unwrap_or(0).max(1);
        let mut interval_32nds = vec![0; 32];
        for &interval in &tables.interval_ns {
            interval_32nds[(interval * 32 / longest).min(31) as usize] += 1;
        }
        let mut cluster_slices = vec![0; training.centroids.len()];
        for &cluster in &training.clusters {
            cluster_slices[usize::from(cluster)] += 1;
        }
        let (unit_agreement, unit_time_us) = hardware(training).unwrap_or((f64::NAN, f64::NAN));
        Self {
            trainings: training.number,
            correlation: correlation(&updated),
            correlation_all: correlation(&pairs),
            interval_32nds,
            cluster_slices,
            centroids: training.centroids.clone(),
            unit_agreement,
            unit_time_us,
        }
    }
}

/// How far the hardware unit agrees with software from the same start, and its time in
/// microseconds. `None` if there is no unit of that size.
fn hardware(training: &Training) -> Option<(f64, f64)> {
    let points = scaled(&training.tables, TableScale::Linear);
    let start = on_the_diagonal(training.centroids.len());
    let unit = HamlUnit::new(start.len(), points.x.len())?;
    let software = lloyd(&points, &mut start.clone(), ITERATIONS);
    let hardware = unit.train(&points, &start, ITERATIONS).clusters;
    let same = software.iter().zip(&hardware).filter(|(a, b)| a == b).count();
    Some((same as f64 / software.len() as f64, unit.time_us(ITERATIONS)))
}

/// Pearson's correlation of pairs; not a number if one of the two never changes.
fn correlation(pairs: &[[f64; 2]]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |axis: usize| pairs.iter().map(|pair| pair[axis]).sum::<f64>() / count;
    let middle = [mean(0), mean(1)];
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|pair| of(pair[0] - middle[0], pair[1] - middle[1])).sum()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// A training as CSV: updates, interval in nanoseconds and cluster of every slice.
pub fn training_csv(training: &Training) -> String {
    let mut text = "slice,updates,interval_ns,cluster\n".to_owned();
    let rows = training.tables.updates.iter().zip(&training.tables.interval_ns);
    for (slice, ((updates, interval), cluster)) in rows.zip(&training.clusters).enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{slice},{updates},{interval},{cluster}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_ftl::placement::{Tables, TrainingOptions};

    fn training() -> Training {
        let tables = Tables { updates: vec![4, 2, 1, 0], interval_ns: vec![100, 400, 700, 1_000] };
        let scale = TableScale::Linear;
        let options = TrainingOptions { clusters: 2, iterations: 10, scale, interval: true };
        Training::of(tables, options)
    }

    #[test]
    fn a_training_in_numbers() {
        let figures = TrainingFigures::of(&training());
        // Means 7/3 and 400; products -500, 0, -400, squares 14/3 and 180,000.
        let expected = -900.0 / (14.0_f64 / 3.0 * 180_000.0).sqrt();
        assert!((figures.correlation - expected).abs() < 1e-12, "{}", figures.correlation);
        assert_eq!(figures.cluster_slices, [2, 2]);
        assert_eq!(figures.interval_32nds.iter().sum::<u64>(), 4);
        assert_eq!([3, 12, 22, 31].map(|at| figures.interval_32nds[at]), [1; 4]);
        assert_eq!(figures.unit_agreement, 1.0);
    }

    #[test]
    fn a_training_as_csv_has_a_line_for_each_slice() {
        let text = training_csv(&training());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1..3], ["0,4,100,0", "1,2,400,0"]);
    }
}
