//! K-means over points with two small coordinates, as a drive would run it to retrain itself:
//! Lloyd's algorithm from given centroids, for a given number of iterations.
//!
//! Distances are compared as `p . c - |c|^2 / 2`. This orders centroids as the Euclidean distance
//! does and costs two multiplications. It is computed in 32-bit floats, eight points at a time.
//! Coordinates up to 512 are exact; products are exact to within 0.06 of 500,000. Ties go to the
//! first centroid. A centroid without points stays where it is. The algorithm stops early if no
//! point has changed its cluster. Cost: about 1 ns for each point, centroid and iteration.

/// A point or a centroid: scaled update frequency, scaled update interval.
pub type Point = [f32; 2];

/// Points, stored coordinate by coordinate. Both lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// Scaled update frequencies.
    pub x: Vec<f32>,
    /// Scaled update intervals.
    pub y: Vec<f32>,
}

/// Points that are compared at once: two vectors of the smallest SIMD there is.
const LANES: usize = 8;
/// The largest number of clusters.
pub const CLUSTERS_MAX: usize = 16;

/// Initial centroids on the diagonal, where the regions of the paper's Fig. 6 lie: from often and
/// soon to rarely and late, in the middles of equal parts. The first one is the hottest.
pub fn on_the_diagonal(clusters: usize) -> Vec<Point> {
    let middle = |part: usize| 512.0 * (2.0 * part as f32 + 1.0) / (2.0 * clusters as f32);
    (0..clusters).map(|index| [middle(clusters - 1 - index), middle(index)]).collect()
}

/// Moves the centroids, and returns the cluster of each point.
///
/// # Panics
/// There are no centroids, or more than [`CLUSTERS_MAX`].
pub fn lloyd(points: &Points, centroids: &mut [Point], iterations: u32) -> Vec<u8> {
    assert!((1..=CLUSTERS_MAX).contains(&centroids.len()), "{} centroids", centroids.len());
    let mut labels = vec![u8::MAX; points.x.len()];
    // Converted once, not in every iteration: turning a float into a whole number takes several
    // instructions.
    let whole: Vec<[u32; 2]> =
        points.x.iter().zip(&points.y).map(|(&x, &y)| [x as u32, y as u32]).collect();
    for _ in 0..iterations {
        let (sums, changed) = assign(points, &whole, centroids, &mut labels);
        if !changed {
            break;
        }
        for (centroid, [x, y, count]) in centroids.iter_mut().zip(sums) {
            if count > 0 {
                *centroid = [(x as f64 / count as f64) as f32, (y as f64 / count as f64) as f32];
            }
        }
    }
    labels
}

/// Finds the nearest centroid of each point. Returns the coordinate sums and the count of each
/// cluster, and whether any point has changed its cluster.
fn assign(
    points: &Points,
    whole: &[[u32; 2]],
    centroids: &[Point],
    labels: &mut [u8],
) -> ([[u64; 3]; CLUSTERS_MAX], bool) {
    let mut sums = [[0; 3]; CLUSTERS_MAX];
    let mut changed = false;
    let coordinates = points.x.chunks(LANES).zip(points.y.chunks(LANES)).zip(whole.chunks(LANES));
    for (((x, y), whole), labels) in coordinates.zip(labels.chunks_mut(LANES)) {
        let nearest = match (x.try_into(), y.try_into()) {
            (Ok(x), Ok(y)) => nearest(x, y, centroids),
            _ => {
                // The last points, filled up with zeros.
                let mut padded = [[0.0; LANES]; 2];
                padded[0][..x.len()].copy_from_slice(x);
                padded[1][..y.len()].copy_from_slice(y);
                nearest(&padded[0], &padded[1], centroids)
            }
        };
        for ((label, cluster), [x, y]) in labels.iter_mut().zip(nearest).zip(whole) {
            let cluster = cluster as u8;
            changed |= *label != cluster;
            *label = cluster;
            let sum = &mut sums[usize::from(cluster) % CLUSTERS_MAX];
            sum[0] += u64::from(*x);
            sum[1] += u64::from(*y);
            sum[2] += 1;
        }
    }
    (sums, changed)
}

/// The nearest centroid of each of eight points.
#[inline]
fn nearest(x: &[f32; LANES], y: &[f32; LANES], centroids: &[Point]) -> [i32; LANES] {
    let mut best = [f32::NEG_INFINITY; LANES];
    let mut nearest = [0i32; LANES];
    for (index, &[cx, cy]) in centroids.iter().enumerate() {
        let half = 0.5 * (cx * cx + cy * cy);
        for lane in 0..LANES {
            let score = x[lane] * cx + y[lane] * cy - half;
            let is_nearer = score > best[lane];
            best[lane] = if is_nearer { score } else { best[lane] };
            nearest[lane] = if is_nearer { index as i32 } else { nearest[lane] };
        }
    }
    nearest
}
