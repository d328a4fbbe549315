//! Grids: lists of points to measure a drive at.
//!
//! The paper's grid (section III) has 0, 25, 50, 75 and 100 % writes; sizes of 1 to 256 KiB and
//! depths of 1 to 64, each four times the one before; 0, 50 and 100 % random; strides of 1 to
//! 256 KiB. The paper speaks of "12,000 requests" and does not say which. Here a direction is
//! sequential, half random, random, or has one of the five strides. Of the two directions of a
//! mixed point at most one is strided, which leaves 9 + 30 = 39 pairs. With 3 shares of writes, 25
//! pairs of sizes and 4 depths these are 11,700 mixed points. With 2 directions, 5 sizes, 4 depths
//! and 8 patterns there are 320 pure points: 12,020 in all.
//!
//! A file of a grid has the name of one point in each line; `#` begins a comment.

use super::point::{Access, Load, Pattern, Point, PointError};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const WRITE_PERCENTS: [u32; 3] = [25, 50, 75];
const SIZES_KIB: [u32; 5] = [1, 4, 16, 64, 256];
const DEPTHS: [u32; 4] = [1, 4, 16, 64];
const RANDOM_PERCENTS: [u32; 3] = [0, 50, 100];
const GAPS_KIB: [u32; 5] = [1, 4, 16, 64, 256];
/// Loads of the open grid, in percent.
const LOADS: [u32; 4] = [20, 50, 70, 90];

/// Why a list of points is no grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// A line is not the name of a point.
    #[error("{file}, line {line}: {error}")]
    Point {
        /// The list.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: PointError,
    },
    /// A point is listed twice.
    #[error("{file}, line {line}: {point} was listed before: leave one out")]
    Twice {
        /// The list.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The point.
        point: Point,
    },
    /// No point is listed.
    #[error("{file} lists no point: write one in a line, such as w50-q16-W64k.r100-R4k.s16k")]
    Empty {
        /// The list.
        file: String,
    },
}

impl GridError {
    /// The list, and the line, from 1, where the error is of one.
    pub fn place(&self) -> (&Path, Option<u64>) {
        match self {
            Self::Point { file, line, .. } | Self::Twice { file, line, .. } => {
                (Path::new(file), Some(*line as u64))
            }
            Self::Empty { file } => (Path::new(file), None),
        }
    }
}

/// The paper's grid, in a closed loop.
pub fn closed() -> Vec<Point> {
    patterns().flat_map(|point| DEPTHS.map(|depth| point.with_load(Load::Depth(depth)))).collect()
}

/// The workloads of the paper's grid in an open loop: at 20, 50, 70 and 90 % of the rate that the
/// drive can serve.
pub fn open() -> Vec<Point> {
    patterns().flat_map(|point| LOADS.map(|load| point.with_load(Load::Percent(load)))).collect()
}

/// The grid of a name: `closed` or `open`.
pub fn named(name: &str) -> Option<Vec<Point>> {
    match name {
        "closed" => Some(closed()),
        "open" => Some(open()),
        _ => None,
    }
}

/// Every workload of the paper's grid once, with one request outstanding.
fn patterns() -> impl Iterator<Item = Point> {
    pure(false).chain(mixed()).chain(pure(true))
}

fn random() -> impl Iterator<Item = Pattern> {
    RANDOM_PERCENTS.into_iter().map(|percent| Pattern::Random { percent })
}

fn strided() -> impl Iterator<Item = Pattern> {
    GAPS_KIB.into_iter().map(|kib| Pattern::Stride { gap_bytes: kib << 10 })
}

/// Points of writes only, or of reads only.
fn pure(write: bool) -> impl Iterator<Item = Point> {
    let one = move |kib: u32, pattern| {
        let access = Some(Access { bytes: kib << 10, pattern });
        if write { point(100, access, None) } else { point(0, None, access) }
    };
    let all = move |kib| random().chain(strided()).map(move |pattern| one(kib, pattern));
    SIZES_KIB.into_iter().flat_map(all)
}

/// Points of reads and writes, of which at most one direction is strided.
fn mixed() -> impl Iterator<Item = Point> {
    let with = |percent: u32, write_kib: u32, read_kib: u32| {
        let both = random().flat_map(|write| random().map(move |read| (write, read)));
        let writes = strided().flat_map(|write| random().map(move |read| (write, read)));
        let reads = random().flat_map(|write| strided().map(move |read| (write, read)));
        both.chain(writes).chain(reads).map(move |(write, read)| {
            let write = Access { bytes: write_kib << 10, pattern: write };
            let read = Access { bytes: read_kib << 10, pattern: read };
            point(percent, Some(write), Some(read))
        })
    };
    WRITE_PERCENTS.into_iter().flat_map(move |percent| {
        SIZES_KIB.into_iter().flat_map(move |write_kib| {
            SIZES_KIB.into_iter().flat_map(move |read_kib| with(percent, write_kib, read_kib))
        })
    })
}

fn point(percent: u32, write: Option<Access>, read: Option<Access>) -> Point {
    Point::new(percent, Load::Depth(1), write, read).expect("the grid's own points are sound")
}

/// Reads the text of a list; `file` is its name for messages.
///
/// # Errors
/// A line is not the name of a point, a point is listed twice, or there is none.
pub fn parse(file: &str, text: &str) -> Result<Vec<Point>, GridError> {
    let (mut points, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in text.lines().enumerate() {
        let name = line.split('#').next().unwrap_or_default().trim();
        if name.is_empty() {
            continue;
        }
        let (file, line) = (file.to_owned(), number + 1);
        match name.parse::<Point>() {
            Err(error) => return Err(GridError::Point { file, line, error }),
            Ok(point) if !seen.insert(point) => return Err(GridError::Twice { file, line, point }),
            Ok(point) => points.push(point),
        }
    }
    if points.is_empty() { Err(GridError::Empty { file: file.to_owned() }) } else { Ok(points) }
}

/// `count` of the points, or all if there are fewer, in their order. Points that differ only in
/// their load form a family; whole families are drawn at random until there are enough points, and
/// the last one is cut to what is wanted.
pub fn sample(points: &[Point], count: usize, seed: u64) -> Vec<Point> {
    let family = |point: &Point| point.with_load(Load::Depth(1));
    let mut families: Vec<Point> = points.iter().map(family).collect();
    families.sort_unstable();
    families.dedup();
    let mut rng = Pcg64::seed_from_u64(seed);
    for last in (1..families.len()).rev() {
        families.swap(last, rng.random_range(0..=last));
    }
    let mut sizes: BTreeMap<Point, usize> = BTreeMap::new();
    points.iter().for_each(|point| *sizes.entry(family(point)).or_default() += 1);
    let mut taken = 0;
    // Of each chosen family, how many of its points are still wanted.
    let mut wanted: BTreeMap<Point, usize> = BTreeMap::new();
    for one in families {
        let of_it = sizes[&one].min(count - taken);
        wanted.insert(one, of_it);
        taken += of_it;
    }
    let is_wanted = |point: &&Point| match wanted.get_mut(&family(point)) {
        Some(left @ 1..) => {
            *left -= 1;
            true
        }
        _ => false,
    };
    points.iter().filter(is_wanted).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_grid_has_12_020_points_and_every_value_of_every_characteristic() {
        let points = closed();
        assert_eq!(points.len(), 12_020);
        assert_eq!(points.iter().collect::<BTreeSet<_>>().len(), points.len());
        let writes: BTreeSet<u32> = points.iter().map(Point::write_percent).collect();
        assert_eq!(writes, [0, 25, 50, 75, 100].into());
        for side in [Point::read, Point::write] {
            let parts: BTreeSet<Access> = points.iter().filter_map(side).collect();
            assert_eq!(parts.len(), 5 * 8);
        }
        assert_eq!(open().len(), points.len());
    }

    #[test]
    fn the_listed_files_are_the_grids() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/predict/");
        for (name, points) in [("closed.points", closed()), ("open.points", open())] {
            let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
            assert_eq!(parse(name, &text).unwrap(), points, "{name}");
        }
    }

    #[test]
    fn a_sample_has_whole_families_and_every_part_of_the_grid() {
        let some = sample(&closed(), 2000, 1);
        assert_eq!(some.len(), 2000);
        assert_ne!(some, sample(&closed(), 2000, 2));
        for depth in DEPTHS {
            let of_depth = some.iter().filter(|point| point.load() == Load::Depth(depth));
            assert_eq!(of_depth.count(), 500);
        }
        let pure = some.iter().filter(|point| point.write_percent() == 100).count();
        assert!((4..=80).contains(&pure), "{pure}");
        assert_eq!(sample(&some, 9999, 3), some);
        for count in [1, 3, 4, 5, 1999] {
            assert_eq!(sample(&closed(), count, 1).len(), count);
        }
    }

    #[test]
    fn a_faulty_line_is_named() {
        let error = parse("my.points", "# mine\nw100-q1-W4k.r0\n\nw100-q1\n").unwrap_err();
        assert!(error.to_string().starts_with("my.points, line 4: \"w100-q1\""), "{error}");
        let error = parse("my.points", "w100-q1-W4k.r0\nw100-q1-W4k.r0 # again").unwrap_err();
        assert!(matches!(error, GridError::Twice { line: 2, .. }));
        assert!(matches!(parse("my.points", "#\n"), Err(GridError::Empty { .. })));
    }
}
