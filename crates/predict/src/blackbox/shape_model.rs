//! The latency of windows in a closed loop, learned from designs and never from a trace.
//!
//! A Gaussian process on the columns of a [`Shape`] gives the logarithm of the mean latency. It
//! learns from four in five of the designs; the others test it. Columns are held within what the
//! designs have, and a window that is outside says so.
//!
//! Cost: to fit, 2 s for 2,400 measurements on two threads. A prediction takes a kernel for each
//! measurement, some 20 ns, beside the shape itself.

use super::designs::{self, DesignPoint};
use super::estimate::{Estimate, Range, number};
use super::features::Characteristics;

use super::regressor::{FitError, process};
use super::results::{PointResult, Results, ResultsSource};
use super::shape::Shape;
use super::window::{WINDOW_REQUESTS, folded};
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::gp::{GpMean, GpModel};
use ssdtune_learn::metrics::ErrorReport;
use ssdtune_learn::selection;
use ssdtune_model::Sectors;
use ssdtune_trace::Request;
use std::collections::BTreeMap;
use std::time::Instant;

/// The fewest designs that a model is learned from and tested on.
const DESIGNS_MIN: usize = 50;
/// The share of designs that test.
const TEST_SHARE: f64 = 0.2;
/// How many measurements the lengths and variances of the process are tuned on.
const TUNED_ON: usize = 500;

/// A model of the latency of windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeModel {
    /// What was measured, and how.
    pub source: ResultsSource,
    /// Digest of the results.
    pub results_digest: String,
    /// How many measurements the model learned from.
    pub trained_on: usize,
    /// The columns, and the values that they had in training.
    ranges: Vec<Range>,
    process: GpMean,
}

/// How good a model of windows is on designs that it has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShapeReport {
    /// How many measurements it learned from.
    pub trained_on: usize,
    /// Errors on the designs left out, by the number of requests outstanding.
    pub errors: BTreeMap<u32, ErrorReport>,
    /// Time to fit, in seconds.
    pub fit_seconds: f64,
    /// Time of a prediction of a shape, in nanoseconds.
    pub predict_ns: f64,
}

/// A measurement of a design.
struct Row {
    point: DesignPoint,
    shape: Shape,
    latency_ns: f64,
}

impl ShapeModel {
    /// Learns from most of the designs and tests on the others; `seed` decides which.
    ///
    /// # Errors
    /// The designs are of no simulated drive, or too few.
    pub fn fit(results: &Results<DesignPoint>, seed: u64) -> Result<(Self, ShapeReport), FitError> {
        let rows = rows(results)?;
        let mut numbers: Vec<u32> = rows.iter().map(|row| row.point.design).collect();
        numbers.dedup();
        if numbers.len() < DESIGNS_MIN {
            let problem = format!("{} workloads: measure {DESIGNS_MIN} at least", numbers.len());
            return Err(FitError::Rows(problem));
        }
        let parts = selection::partition(numbers.len(), &[TEST_SHARE, 1.0 - TEST_SHARE], seed)?;
        let held: Vec<u32> = parts[0].iter().map(|&place| numbers[place]).collect();
        let (test, train): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| held.contains(&row.point.design));
        let start = Instant::now();
        let process = fitted(&train, seed)?.expectation();
        let model = Self {
            source: results.source.clone(),
            results_digest: results.digest(),
            trained_on: train.len(),
            ranges: ranges(&train),
            process,
        };
        let fit_seconds = start.elapsed().as_secs_f64();
        let report = model.report(&test, fit_seconds)?;
        Ok((model, report))
    }

    fn report(&self, test: &[Row], fit_seconds: f64) -> Result<ShapeReport, FitError> {
        let start = Instant::now();
        let found: Vec<f64> = test.iter().map(|row| self.value(&row.shape)).collect();
        let predict_ns = start.elapsed().as_secs_f64() * 1e9 / test.len().max(1) as f64;
        let mut by_depth: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (row, found) in test.iter().zip(found) {
            let (truths, values) = by_depth.entry(row.point.depth).or_default();
            truths.push(row.latency_ns);
            values.push(found);
        }
        let error = |(depth, (truths, found)): (u32, (Vec<f64>, Vec<f64>))| {
            Ok((depth, ErrorReport::new(&truths, &found)?))
        };
        let errors = by_depth.into_iter().map(error).collect::<Result<_, FitError>>()?;
        Ok(ShapeReport { trained_on: self.trained_on, errors, fit_seconds, predict_ns })
    }

    /// The sectors of the drive that it has learned from.
    pub(super) fn space(&self) -> Sectors {
        self.source.space().unwrap_or(Sectors(u64::MAX))
    }

    /// The mean latency of a window of this shape, in nanoseconds.
    pub fn value(&self, shape: &Shape) -> f64 {
        let held = |(value, range): (&f64, &Range)| value.clamp(range.low, range.high);
        let row: Vec<f64> = shape.columns().iter().zip(&self.ranges).map(held).collect();
        self.process.predict_one(&row).map_or(f64::NAN, f64::exp)
    }

    /// Latency, IOPS and bandwidth of a window. As its depth is fixed, IOPS = depth / latency.
    pub(super) fn estimates(&self, shape: &Shape, workload: &Characteristics) -> [Estimate; 3] {
        let latency_ns = self.value(shape);
        let iops = workload.extended.q_dep * 1e9 / latency_ns;
        [latency_ns, iops, iops * workload.mean_bytes()]
            .map(|value| Estimate { value, interval: None })
    }

    /// A sentence for each column that is outside of what the designs have.
    pub(super) fn outside(&self, shape: &Shape) -> Vec<String> {
        let said = |(range, value): (&Range, &f64)| {
            let Range { name, low, high } = range;
            (!(*low..=*high).contains(value)).then(|| {
                let [value, low, high] = [*value, *low, *high].map(number);
                format!("{name} = {value} is outside of {low} to {high}, which were learned from")
            })
        };
        self.ranges.iter().zip(shape.columns()).filter_map(said).collect()
    }

    /// Whether the parts of the model fit together; the error says which do not.
    pub(super) fn verify(&self) -> Result<(), String> {
        let names = Shape::names();
        let own = self.ranges.iter().map(|range| &range.name);
        if !own.eq(&names) || self.process.columns() != names.len() {
            return Err("its model of windows has other columns than this version".to_owned());
        }
        let is_range = |range: &Range| range.low <= range.high && range.high.is_finite();
        match self.ranges.iter().all(is_range) {
            true => Ok(()),
            false => Err("a range of its model of windows is none".to_owned()),
        }
    }
}

/// How uncertain the latency of each of these designs is in the mean over the depths, after what is
/// known: the standard deviation of its logarithm.
pub(super) fn uncertainty(
    known: &Results<DesignPoint>,
    numbers: &[u32],
    depths: &[u32],
) -> Result<Vec<f64>, FitError> {
    let seed = seed(known)?;
    let process = fitted(&rows(known)?, seed)?;
    let space = space(known)?;
    let shape = |&number: &u32| {
        let requests = folded(&designs::requests(seed, number), space);
        let of = |&depth: &u32| of_design(&requests, depth, space);
        depths.iter().map(of).collect::<Vec<Shape>>()
    };
    let shapes: Vec<Shape> = numbers.par_iter().map(shape).flatten_iter().collect();
    let variances = process.predict(matrix(shapes.iter()).view())?.variances.to_vec();
    let mean = |variances: &[f64]| {
        variances.iter().map(|variance| variance.sqrt()).sum::<f64>() / depths.len() as f64
    };
    Ok(variances.chunks(depths.len()).map(mean).collect())
}

/// The seed of the designs.
fn seed(results: &Results<DesignPoint>) -> Result<u64, FitError> {
    let settings = results.source.settings().map(|settings| settings.seed);
    settings.ok_or_else(|| FitError::Rows("the workloads are of no simulated drive".to_owned()))
}

/// The sectors of the drive that they were measured on.
fn space(results: &Results<DesignPoint>) -> Result<Sectors, FitError> {
    let missing = "they do not say how large the drive is: measure them again";
    results.source.space().ok_or_else(|| FitError::Rows(missing.to_owned()))
}

fn of_design(requests: &[Request], depth: u32, space: Sectors) -> Shape {
    Shape::of(requests, WINDOW_REQUESTS / 3, depth, space)
}

/// The measurements with their shapes, in the order of the designs.
fn rows(results: &Results<DesignPoint>) -> Result<Vec<Row>, FitError> {
    let (seed, space) = (seed(results)?, space(results)?);
    let mut sorted: Vec<&PointResult<DesignPoint>> = results.rows.iter().collect();
    sorted.sort_by_key(|row| row.point);
    let groups: Vec<_> = sorted.chunk_by(|a, b| a.point.design == b.point.design).collect();
    let of = |group: &&[&PointResult<DesignPoint>]| -> Vec<Row> {
        let requests = folded(&designs::requests(seed, group[0].point.design), space);
        let row = |one: &&PointResult<DesignPoint>| Row {
            point: one.point,
            shape: of_design(&requests, one.point.depth, space),
            latency_ns: one.performance.latency_ns,
        };
        group.iter().map(row).collect()
    };
    Ok(groups.par_iter().flat_map_iter(of).collect())
}

/// A row for each shape.
fn matrix<'a>(shapes: impl ExactSizeIterator<Item = &'a Shape>) -> Array2<f64> {
    let size = (shapes.len(), Shape::names().len());
    let cells = shapes.flat_map(|shape| shape.columns().iter().copied()).collect();
    Array2::from_shape_vec(size, cells).expect("every shape has all columns")
}

/// A process that was tuned on some of the rows and knows all.
fn fitted(rows: &[Row], seed: u64) -> Result<GpModel, FitError> {
    let x = matrix(rows.iter().map(|row| &row.shape));
    let y: Array1<f64> = rows.iter().map(|row| row.latency_ns.ln()).collect();
    process(&x, &y, TUNED_ON, seed)
}

/// The values of each column.
fn ranges(rows: &[Row]) -> Vec<Range> {
    let range = |(column, name): (usize, String)| {
        let values = || rows.iter().map(|row| row.shape.columns()[column]);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        Range { name, low, high }
    };
    Shape::names().into_iter().enumerate().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::designs::Designs;
    use crate::blackbox::simulated_drive::{MeasureSettings, Performance};
    use ssdtune_model::DeviceConfig;

    /// A drive whose latency follows from pages, writes and depth.
    fn measured(designs: &Designs, seed: u64) -> Results<DesignPoint> {
        let settings = MeasureSettings { seed, ..MeasureSettings::default() };
        let (config, simulator) = (DeviceConfig::default(), "made up".to_owned());
        let source = ResultsSource::designs(&config, simulator, settings, designs);
        let space = source.space().unwrap();
        let at = |design| designs.at_depths(design);
        let latency = |point: DesignPoint| {
            let requests = folded(&designs::requests(seed, point.design), space);
            let shape = of_design(&requests, point.depth, space);
            let [depth, writes, pages] = shape.columns()[..3] else { panic!("three columns") };
            let latency_ns = 1e5 * (1.0 + 3.0 * writes) * (0.7 * pages + 0.5 * depth).exp2();
            let (iops, bandwidth_bps, offered_iops) = (1.0, 1.0, None);
            (point, Performance { latency_ns, iops, bandwidth_bps, offered_iops, requests: 1 })
        };
        let points: Vec<_> = (0..designs.count).flat_map(at).map(latency).collect();
        Results::new(source, &points)
    }

    #[test]
    fn latency_is_learned_and_tested_on_other_designs() {
        let designs = Designs { count: 120, depths: vec![1, 8] };
        let results = measured(&designs, 3);
        let (model, report) = ShapeModel::fit(&results, 1).unwrap();
        assert_eq!(report.trained_on, 192);
        let errors: Vec<_> = report.errors.iter().map(|(depth, one)| (*depth, one.count)).collect();
        assert_eq!(errors, [(1, 24), (8, 24)]);
        // One latency for all would be off by more than half.
        assert!(report.errors.values().all(|error| error.mre < 0.1), "{report:?}");
        // Another seed means other workloads.
        let other = measured(&Designs { count: 20, depths: vec![8] }, 4);
        let rows = rows(&other).unwrap();
        let off = |row: &Row| (model.value(&row.shape) / row.latency_ns - 1.0).abs();
        let mean = rows.iter().map(off).sum::<f64>() / rows.len() as f64;
        assert!(mean < 0.1, "{mean}");
        // It says what it has not learned.
        let deep = of_design(&designs::requests(3, 0), 64, model.space());
        let said = model.outside(&deep);
        assert!(said.iter().any(|one| one.starts_with("log2 depth = 6 is outside")), "{said:?}");
        assert!(model.verify().is_ok());
        let mut other = model.clone();
        other.ranges[0].name.push('x');
        assert!(other.verify().is_err());
    }

    #[test]
    fn few_designs_are_refused() {
        let few = measured(&Designs { count: 49, depths: vec![1] }, 0);
        let error = ShapeModel::fit(&few, 0).unwrap_err().to_string();
        assert!(error.contains("49 workloads: measure 50 at least"), "{error}");
    }

    /// Each design is less uncertain once it is measured.
    #[test]
    fn what_was_measured_is_less_uncertain_than_what_was_not() {
        let depths = [1, 8];
        let numbers: Vec<u32> = (20..40).collect();
        let [before, after] = [20, 40].map(|count| {
            let known = measured(&Designs { count, depths: depths.to_vec() }, 3);
            uncertainty(&known, &numbers, &depths).unwrap()
        });
        let pairs = || before.iter().zip(&after);
        assert!(pairs().all(|(before, after)| after < before), "{before:?} {after:?}");
    }
}
