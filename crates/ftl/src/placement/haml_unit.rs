//! The HAML unit: the hardware k-means of HAML-SSD (section III-C and Fig. 8 of the paper), bit by
//! bit and cycle by cycle.
//!
//! The two scaled tables stand in a memory of 9-bit values. Each iteration reads it once, one point
//! in each cycle: all squared distances are computed side by side, the smallest wins (ties go to
//! the first), coordinates and counts are summed. Then one divider computes the new centroids one
//! after the other, x and y of each cluster. The numbers are:
//!
//! - A coordinate has 9 bits; 512, the end of the paper's scale, is stored as 511.
//! - A centroid has 9 bits before the point and [`FRACTION_BITS`] behind it, which the paper does
//!   not say. With none behind it, 4 to 10 % of random points end in another cluster than with real
//!   numbers; with four, fewer than 1 %.
//! - A quotient is cut off, not rounded. A cluster without points keeps its centroid.
//!
//! Time: at [`CLOCK_HZ`], an iteration takes one cycle for each point, [`PIPELINE_CYCLES`] until
//! the last one is summed, and 2 K divisions of [`DIVISION_CYCLES`] (radix 4 makes the 13 bits of a
//! quotient in 7 cycles; two more load and store). Table V of the paper gives the sum, 19.8 us, and
//! the text says that divisions take less than 5 % of it; the parts are ours. Area and power of
//! sizes other than Table V's are estimates: see [`HamlUnit::area_mm2`].
//!
//! This stands beside the policies because it shares their tables. It needs nothing else of the
//! FTL.

use super::clusters::{CLUSTERS_MAX, Point, Points};

/// Bits of a centroid's coordinate behind the point.
pub const FRACTION_BITS: u32 = 4;
/// The unit's clock, in hertz.
pub const CLOCK_HZ: f64 = 1.3e9;
/// Cycles from reading a point to having summed it: subtract, square and add, compare, sum.
pub const PIPELINE_CYCLES: u64 = 4;
/// Cycles of one division.
pub const DIVISION_CYCLES: u64 = 9;

/// The largest coordinate.
const VALUE_MAX: u16 = 511;

/// The paper's Table V: six clusters, 2,560 inputs, ten iterations.
pub mod table_v {
    /// Number of clusters.
    pub const CLUSTERS: usize = 6;
    /// Number of slices.
    pub const INPUTS: usize = 2560;
    /// Number of iterations.
    pub const ITERATIONS: u32 = 10;
    /// Execution time of the unit in microseconds.
    pub const TIME_US: f64 = 19.8;
    /// Execution time of a C++ program on the paper's server, in microseconds. This is the paper's
    /// figure; it cannot be repeated (see `docs/results/placement.md`).
    pub const SERVER_US: f64 = 588_484.0;
    /// Area in square millimetres, in TSMC's 28 nm process.
    pub const AREA_MM2: f64 = 0.036;
    /// Power in milliwatts.
    pub const POWER_MW: f64 = 22.0;
}

/// The share of Table V's area that the memory takes: 2,560 x 18 bits at 0.127 um^2 for each bit,
/// with cells on 60 % of the area.
const MEMORY_SHARE: f64 = 2560.0 * 18.0 * 0.127e-6 / 0.6 / table_v::AREA_MM2;

/// A unit of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HamlUnit {
    clusters: usize,
    inputs: usize,
}

/// The result of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trained {
    /// The cluster of each point in the last iteration.
    pub clusters: Vec<u8>,
    /// The centroids, in units of 2^-[`FRACTION_BITS`].
    pub centroids: Vec<[u32; 2]>,
    /// Clock cycles that the training took.
    pub cycles: u64,
}

impl HamlUnit {
    /// A unit for a number of clusters and points. `None` if it cannot be built: it needs 1 to
    /// [`CLUSTERS_MAX`] clusters and at least one point.
    pub fn new(clusters: usize, inputs: usize) -> Option<Self> {
        let can_be = (1..=CLUSTERS_MAX).contains(&clusters) && inputs > 0;
        can_be.then_some(Self { clusters, inputs })
    }

    /// Clock cycles of a training.
    pub fn cycles(&self, iterations: u32) -> u64 {
        let divisions = 2 * self.clusters as u64 * DIVISION_CYCLES;
        u64::from(iterations) * (self.inputs as u64 + PIPELINE_CYCLES + divisions)
    }

    /// Time of a training in microseconds.
    pub fn time_us(&self, iterations: u32) -> f64 {
        self.cycles(iterations) as f64 / CLOCK_HZ * 1e6
    }

    /// Area in square millimetres. For Table V's size it is Table V's; for others it is an estimate
    /// in which the memory grows with the points and the rest with the clusters.
    pub fn area_mm2(&self) -> f64 {
        table_v::AREA_MM2 * self.share()
    }

    /// Power in milliwatts, estimated as [`HamlUnit::area_mm2`] is.
    pub fn power_mw(&self) -> f64 {
        table_v::POWER_MW * self.share()
    }

    /// The area and the power of this unit, divided by Table V's.
    fn share(&self) -> f64 {
        let points = self.inputs as f64 / table_v::INPUTS as f64;
        let clusters = self.clusters as f64 / table_v::CLUSTERS as f64;
        MEMORY_SHARE * points + (1.0 - MEMORY_SHARE) * clusters
    }

    /// Clusters points from given centroids.
    ///
    /// # Panics
    /// There are more points or centroids than the unit has room for.
    pub fn train(&self, points: &Points, centroids: &[Point], iterations: u32) -> Trained {
        assert!(points.x.len() <= self.inputs && centroids.len() == self.clusters);
        let value = |real: &f32| (*real as u16).min(VALUE_MAX);
        let memory: Vec<[u16; 2]> =
            points.x.iter().zip(&points.y).map(|(x, y)| [value(x), value(y)]).collect();
        let fixed = |real: f32| {
            let most = u32::from(VALUE_MAX) << FRACTION_BITS;
            ((real * f32::from(1u16 << FRACTION_BITS)) as u32).min(most)
        };
        let mut centroids: Vec<[u32; 2]> = centroids.iter().map(|at| at.map(fixed)).collect();
        let mut clusters = vec![0; memory.len()];
        for _ in 0..iterations {
            let mut sums = [[0u32; 3]; CLUSTERS_MAX];
            for (point, cluster) in memory.iter().zip(&mut clusters) {
                *cluster = nearest(*point, &centroids);
                let sum = &mut sums[usize::from(*cluster)];
                // 25 bits hold the sum of 2^16 points. The 32 bits here would wrap at 2^23 points.
                sum[0] += u32::from(point[0]);
                sum[1] += u32::from(point[1]);
                sum[2] += 1;
            }
            for (centroid, [x, y, count]) in centroids.iter_mut().zip(sums) {
                if count > 0 {
                    *centroid = [divide(x, count), divide(y, count)];
                }
            }
        }
        Trained { clusters, centroids, cycles: self.cycles(iterations) }
    }
}

/// The nearest centroid of a point.
fn nearest(point: [u16; 2], centroids: &[[u32; 2]]) -> u8 {
    let square = |value: u16, centroid: u32| {
        let apart = (u32::from(value) << FRACTION_BITS).abs_diff(centroid);
        // The square of a number of 13 bits.
        apart * apart
    };
    let distance = |at: &[u32; 2]| square(point[0], at[0]) + square(point[1], at[1]);
    let (mut best, mut least) = (0, u32::MAX);
    for (index, centroid) in centroids.iter().enumerate() {
        let apart = distance(centroid);
        if apart < least {
            (best, least) = (index as u8, apart);
        }
    }
    best
}

/// The restoring divider: it finds the bits of the quotient from the highest to the lowest, and
/// cuts off the rest.
fn divide(sum: u32, count: u32) -> u32 {
    let dividend = u64::from(sum) << FRACTION_BITS;
    let (mut rest, mut quotient) = (dividend, 0);
    for bit in (0..9 + FRACTION_BITS).rev() {
        let part = u64::from(count) << bit;
        if rest >= part {
            rest -= part;
            quotient |= 1 << bit;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::super::clusters::on_the_diagonal;
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Lloyd's algorithm in 64-bit floats, written the obvious way.
    fn floating(points: &Points, centroids: &mut [Point], iterations: u32) -> Vec<u8> {
        let mut real: Vec<[f64; 2]> = centroids.iter().map(|c| c.map(f64::from)).collect();
        let at: Vec<[f64; 2]> =
            points.x.iter().zip(&points.y).map(|(&x, &y)| [x.into(), y.into()]).collect();
        let mut labels = vec![0; at.len()];
        for _ in 0..iterations {
            for (point, label) in at.iter().zip(&mut labels) {
                let distance = |c: &[f64; 2]| (c[0] - point[0]).powi(2) + (c[1] - point[1]).powi(2);
                let order = |a: &usize, b: &usize| {
                    distance(&real[*a]).total_cmp(&distance(&real[*b])).then(a.cmp(b))
                };
                *label = (0..real.len()).min_by(order).unwrap() as u8;
            }
            for (index, centroid) in real.iter_mut().enumerate() {
                let members: Vec<&[f64; 2]> = at
                    .iter()
                    .zip(&labels)
                    .filter(|(_, l)| **l as usize == index)
                    .map(|p| p.0)
                    .collect();
                if !members.is_empty() {
                    let mean = |axis: usize| {
                        members.iter().map(|p| p[axis]).sum::<f64>() / members.len() as f64
                    };
                    *centroid = [mean(0), mean(1)];
                }
            }
        }
        labels
    }

    fn agreement(a: &[u8], b: &[u8]) -> f64 {
        a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
    }

    /// Points in several shapes: evenly spread, in clumps, and as update tables are, where most
    /// slices are updated seldom and late.
    fn table(shape: u32, inputs: usize, rng: &mut Pcg64Mcg) -> Points {
        let mut points = Points::default();
        for index in 0..inputs {
            let (x, y) = match shape {
                0 => (rng.random_range(0..512), rng.random_range(0..512)),
                1 => {
                    let middle = [(60, 450), (150, 300), (300, 200), (450, 60)][index % 4];
                    let near = |at: i32, draw: i32| (at + draw).clamp(0, 511) as u32;
                    let mut draw = || rng.random_range(-50..50);
                    (near(middle.0, draw()), near(middle.1, draw()))
                }
                _ => {
                    let updates = (512.0 / (1.0 + f64::from(rng.random_range(0..2_000u32)))) as u32;
                    (updates, if updates == 0 { 511 } else { rng.random_range(0..512) })
                }
            };
            points.x.push(x as f32);
            points.y.push(y as f32);
        }
        points
    }

    #[test]
    fn it_agrees_with_floating_point_on_99_in_100_slices() {
        let mut rng = Pcg64Mcg::seed_from_u64(8);
        for shape in 0..3 {
            for (clusters, inputs) in [(3, 640), (6, 2560), (8, 2560), (6, 25_600)] {
                let points = table(shape, inputs, &mut rng);
                let start = on_the_diagonal(clusters);
                let unit = HamlUnit::new(clusters, inputs).unwrap().train(&points, &start, 10);
                let real = floating(&points, &mut start.clone(), 10);
                let same = agreement(&unit.clusters, &real);
                println!("shape {shape}, {clusters} clusters, {inputs} inputs: {same}");
                assert!(same >= 0.99, "shape {shape}, {clusters} clusters, {inputs}: {same}");
            }
        }
    }

    #[test]
    fn software_agrees_with_floating_point_as_well() {
        let mut rng = Pcg64Mcg::seed_from_u64(9);
        for shape in 0..3 {
            let points = table(shape, 2563, &mut rng);
            let mut start = on_the_diagonal(6);
            let real = floating(&points, &mut start.clone(), 10);
            let software = super::super::clusters::lloyd(&points, &mut start, 10);
            assert!(
                agreement(&software, &real) > 0.999,
                "shape {shape}: {}",
                agreement(&software, &real)
            );
        }
    }

    #[test]
    fn its_time_is_that_of_table_v() {
        let unit = HamlUnit::new(table_v::CLUSTERS, table_v::INPUTS).unwrap();
        // 10 x (2560 + 4 + 12 x 9) = 26,720 cycles of 1.3 GHz.
        assert_eq!(unit.cycles(table_v::ITERATIONS), 26_720);
        let time = unit.time_us(table_v::ITERATIONS);
        assert!((time / table_v::TIME_US - 1.0).abs() < 0.05, "{time}");
        assert!((unit.area_mm2() - table_v::AREA_MM2).abs() < 1e-12);
        assert!((unit.power_mw() - table_v::POWER_MW).abs() < 1e-12);
        // "The maximum execution time with 25,600 inputs is only 197 us", and divisions cost less
        // than 5 %.
        let largest = HamlUnit::new(6, 25_600).unwrap().time_us(10);
        assert!((largest / 197.0 - 1.0).abs() < 0.01, "{largest}");
        assert!(12.0 * DIVISION_CYCLES as f64 / 2560.0 < 0.05);
    }

    #[test]
    fn sizes_that_cannot_be_built_are_refused() {
        assert_eq!(HamlUnit::new(0, 10), None);
        assert_eq!(HamlUnit::new(17, 10), None);
        assert_eq!(HamlUnit::new(6, 0), None);
    }

    proptest! {
        #[test]
        fn the_divider_divides(count in 1u32..70_000, mean in 0u32..512) {
            let sum = mean.saturating_mul(count).min(511 * count);
            prop_assert_eq!(divide(sum, count), (sum << FRACTION_BITS.min(5)) / count);
        }
    }
}
