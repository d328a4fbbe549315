//! What a training of HAML-SSD saw: Table I, Fig. 4 and Fig. 7 of the paper, and the hardware unit on the same
//! table.

use super::show::LoadResult;
use anyhow::Context as _;
use serde::Serialize;
use ssdtune_ftl::placement::clusters::{lloyd, on_the_diagonal};
use ssdtune_ftl::placement::haml_unit::HamlUnit;
use ssdtune_ftl::placement::{Training, scaled};
use ssdtune_model::config::TableScale;
use std::fmt::Write as _;
use std::path::Path;

const ITERATIONS: u32 = 10;

/// A training in numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Learned {
    pub(crate) trainings: u64,
    /// Pearson's, between update frequency and average interval over the slices that were updated (Table I).
    pub(crate) correlation: f64,
    /// The same over all slices, those without updates at the period's end.
    pub(crate) correlation_all: f64,
    /// Slices by their interval in 32nds of the longest (Fig. 4).
    pub(crate) interval_32nds: Vec<u64>,
    /// Slices of each cluster, the hottest first.
    pub(crate) cluster_slices: Vec<u64>,
    pub(crate) centroids: Vec<[f32; 2]>,
    /// Share of slices that the hardware unit clusters as the software does.
    pub(crate) unit_agreement: f64,
    pub(crate) unit_time_us: f64,
}

impl Learned {
    pub(crate) fn of(training: &Training) -> Self {
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
        let clusters = training.centroids.len();
        let mut cluster_slices = vec![0; clusters];
        training.clusters.iter().for_each(|&own| cluster_slices[usize::from(own)] += 1);
        let (unit_agreement, unit_time_us) = unit(training).unwrap_or((f64::NAN, f64::NAN));
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

/// Agreement of the hardware with the software from the same start, and its time.
fn unit(training: &Training) -> Option<(f64, f64)> {
    let points = scaled(&training.tables, TableScale::Linear);
    let start = on_the_diagonal(training.centroids.len());
    let hardware = HamlUnit::new(start.len(), points.x.len())?;
    let labels = lloyd(&points, &mut start.clone(), ITERATIONS);
    let own = hardware.train(&points, &start, ITERATIONS).clusters;
    let same = labels.iter().zip(&own).filter(|(a, b)| a == b).count();
    Some((same as f64 / labels.len() as f64, hardware.time_us(ITERATIONS)))
}

fn correlation(pairs: &[[f64; 2]]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |axis: usize| pairs.iter().map(|pair| pair[axis]).sum::<f64>() / count;
    let middle = [mean(0), mean(1)];
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|pair| of(pair[0] - middle[0], pair[1] - middle[1])).sum()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// A CSV file for each load that haml was trained on.
pub(crate) fn write_all(directory: &Path, loads: &[LoadResult]) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for load in loads {
        let trained = load.cells.iter().find_map(|cell| cell.measured.as_ref()?.training.as_ref());
        let Some(training) = trained else { continue };
        let mut text = "slice,updates,interval_ns,cluster\n".to_owned();
        let rows = training.tables.updates.iter().zip(&training.tables.interval_ns);
        for (slice, ((updates, interval), cluster)) in rows.zip(&training.clusters).enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{slice},{updates},{interval},{cluster}");
        }
        let path = directory.join(format!("{}.csv", load.title()));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_ftl::placement::{Tables, TrainingOptions};

    #[test]
    fn a_training_in_numbers() {
        let tables = Tables { updates: vec![4, 2, 1, 0], interval_ns: vec![100, 400, 700, 1_000] };
        let scale = TableScale::Linear;
        let options = TrainingOptions { clusters: 2, iterations: 10, scale, interval: true };
        let learned = Learned::of(&Training::of(tables, options));
        // Means 7/3 and 400; products -500, 0, -400, squares 14/3 and 180,000.
        let expected = -900.0 / (14.0_f64 / 3.0 * 180_000.0).sqrt();
        assert!((learned.correlation - expected).abs() < 1e-12, "{}", learned.correlation);
        assert_eq!(learned.cluster_slices, [2, 2]);
        assert_eq!(learned.interval_32nds.iter().sum::<u64>(), 4);
        assert_eq!([3, 12, 22, 31].map(|at| learned.interval_32nds[at]), [1; 4]);
        assert_eq!(learned.unit_agreement, 1.0);
    }
}
