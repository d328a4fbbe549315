//! HAML-SSD (Li et al., DATE 2021): hotness queues by k-means over update frequency and update
//! interval.
//!
//! This is Algorithm 1 of the paper. The logical pages are divided into slices. During a period,
//! each slice counts its updates (`UpdateF_TBL`) and sums up the intervals between them
//! (`UpdateT_TBL`); the first interval begins with the period. At the end of the period the sums
//! become averages, or the period itself if there was no update. Both tables are scaled to 0..512,
//! k-means clusters the slices, and the tables are cleared. Until the next training, a page goes to
//! the queue of its slice's cluster. Cluster 0 is the hottest.
//!
//! Where the paper leaves room:
//! - The printed algorithm has one `T_starttime` for all slices, while the text defines the
//!   interval between two updates of the same data page. `placement.interval_since` has both, and
//!   as its default the middle: each slice has its own start time.
//! - An update is a page written; the pages of one request are updated at the same time. With
//!   `placement.count = "requests"` a request updates each of its slices once.
//! - Until the first training, all slices are cold.
//! - A period without any write teaches nothing; the old classification stays.
//! - After a training, the clusters are numbered by how far frequency exceeds interval at their
//!   centroids.
//! - Moved pages go to the cluster of their slice, in blocks apart from host data: a page that has
//!   survived a collection is colder than its cluster. (`placement.moved = "with-host"` makes both
//!   share blocks.)
//! - Wear: after each training, every plane once moves its least erased block of cold data and its
//!   most erased block of hot data, if they are at least `EXCHANGE_GAP` erases apart from the
//!   others. The rules for free blocks then send the cold pages to worn blocks and the hot ones to
//!   fresh blocks.
//!
//! Cost: some 3 ns for a write; 37 B for each slice. A training is one
//! [`lloyd`].

use super::clusters::{Point, Points, lloyd, on_the_diagonal};
use super::heat::Heat;
use super::{Policy, Queue, Write};
use crate::block::Pick;
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::{HAML_SLICE_BYTES, IntervalStart, Placement, TableScale, UpdateUnit};
use ssdtune_model::{PlaneId, Table};

/// Difference in erase counts from which blocks of hot and cold data are exchanged.
pub(crate) const EXCHANGE_GAP: u32 = 2;

/// The upper end of the tables' scale.
pub(super) const SCALE: u64 = 512;

/// What the present period says of a slice.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slice {
    /// When the slice was last updated, or when the period began, in nanoseconds.
    last: u64,
    /// Sum of the intervals between its updates, in nanoseconds.
    intervals: u64,
    updates: u32,
    queue: Queue,
}

/// How many slices HAML-SSD can keep in as much memory as `asa-ftl` takes for some logical pages;
/// at least one.
pub fn slices_in_memory_of_asa_ftl(pages: u64) -> u32 {
    (Heat::bytes_for(pages) / HAML_SLICE_BYTES).max(1) as u32
}

/// Which update an interval begins with, and when that was, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Since {
    /// The slice's last one, which the slice knows.
    Slice,
    /// The drive's last one.
    Drive { last: u64 },
    /// The same page's last one.
    Page {
        last: Table<LogicalPage, u64>,
        /// Intervals of each slice in this period.
        gaps: Vec<u32>,
    },
}

/// The time of a page that was never written.
const NEVER: u64 = u64::MAX;

/// The two tables at the end of a period. Both have one value for each slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// Updates of the slice (`UpdateF_TBL`).
    pub updates: Vec<u32>,
    /// Average interval between updates of the slice, in nanoseconds (`UpdateT_TBL`).
    pub interval_ns: Vec<u64>,
}

/// What went into a training and what came out of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Number of the training, from 1.
    pub number: u64,
    /// The tables of the period before it.
    pub tables: Tables,
    /// The cluster of each slice. Cluster 0 is the hottest.
    pub clusters: Vec<u8>,
    /// The centroids of the clusters, on the scale 0..512.
    pub centroids: Vec<Point>,
}

/// Both tables on the scale 0..512: each value divided by the largest of its table (lines 30 to 32
/// of Algorithm 1), or their logarithms.
pub fn scaled(tables: &Tables, scale: TableScale) -> Points {
    let most_updates = tables.updates.iter().copied().max().unwrap_or(0).into();
    let most_interval = tables.interval_ns.iter().copied().max().unwrap_or(0);
    // 512 times the longest possible period is below 2^63.
    let linear = |value: u64, most: u64| (value * SCALE).checked_div(most).unwrap_or(0) as f32;
    let log = |value: f64, most: f64| match most > 0.0 {
        true => (SCALE as f64 * value.ln_1p() / most.ln_1p()).round() as f32,
        false => 0.0,
    };
    // Intervals are counted in thousandths of the longest one. Otherwise their first decades would
    // take most of the scale.
    let thousandths = |interval: u64| interval as f64 * (1e3 / most_interval.max(1) as f64);
    let x = |updates: u64| match scale {
        TableScale::Linear => linear(updates, most_updates),
        TableScale::Log => log(updates as f64, most_updates as f64),
    };
    let y = |interval: u64| match scale {
        TableScale::Linear => linear(interval, most_interval),
        TableScale::Log => log(thousandths(interval), thousandths(most_interval)),
    };
    Points {
        x: tables.updates.iter().map(|&updates| x(updates.into())).collect(),
        y: tables.interval_ns.iter().map(|&interval| y(interval)).collect(),
    }
}

/// The parameters of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingOptions {
    /// Number of clusters, 1 to [`CLUSTERS_MAX`](super::clusters::CLUSTERS_MAX).
    pub clusters: usize,
    /// Iterations of k-means, at most.
    pub iterations: u32,
    /// How the tables become coordinates.
    pub scale: TableScale,
    /// Clusters by both tables; if false, by the number of updates alone.
    pub interval: bool,
}

impl Training {
    /// Clusters the slices of a period: lines 29 to 35 of Algorithm 1. The number of the training
    /// is 0.
    ///
    /// # Panics
    /// The options ask for no clusters, or for too many.
    pub fn of(tables: Tables, options: TrainingOptions) -> Self {
        let clusters = options.clusters;
        let mut centroids = on_the_diagonal(clusters);
        let mut points = scaled(&tables, options.scale);
        if !options.interval {
            points.y.fill(0.0);
            centroids.iter_mut().for_each(|centroid| centroid[1] = 0.0);
        }
        let labels = lloyd(&points, &mut centroids, options.iterations);
        let mut order: Vec<usize> = (0..clusters).collect();
        let heat = |&index: &usize| centroids[index][0] - centroids[index][1];
        order.sort_by(|a, b| heat(b).total_cmp(&heat(a)));
        let mut rank = vec![0; clusters];
        order.iter().enumerate().for_each(|(place, &index)| rank[index] = place as u8);
        Self {
            number: 0,
            tables,
            clusters: labels.iter().map(|&label| rank[usize::from(label)]).collect(),
            centroids: order.iter().map(|&index| centroids[index]).collect(),
        }
    }
}

/// Finds the slice of a page by a multiplication: page times `factor`, divided by 2^63.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SliceIndex {
    factor: u64,
    /// Number of the last slice.
    pub(super) last: u64,
}

impl SliceIndex {
    fn new(pages: u64, slices: u32) -> Self {
        let size = pages.div_ceil(slices.into()).max(1);
        // Exact while pages times size is below 2^63. Beyond that, the border of a slice may be off
        // by one page.
        Self { factor: (1u64 << 63).div_ceil(size), last: pages.div_ceil(size).max(1) - 1 }
    }

    /// The number of the slice that holds a page.
    #[inline]
    pub(super) fn of(self, page: LogicalPage) -> usize {
        ((u128::from(page.0) * u128::from(self.factor)) >> 63).min(self.last.into()) as usize
    }
}

/// How a snapshot stores [`TableScale`], which has no serde of its own: by its variant.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TableScale")]
enum ScaleName {
    Linear,
    Log,
}

/// The policy: its tables, and the classification of the last training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Haml {
    slices: Vec<Slice>,
    pub(super) cut: SliceIndex,
    period: u64,
    /// When the present period began, in nanoseconds.
    start: u64,
    clusters: u8,
    iterations: u32,
    #[serde(with = "ScaleName")]
    scale: TableScale,
    with_interval: bool,
    since: Since,
    /// Whether a request updates a slice once, whatever number of its pages.
    by_request: bool,
    wear_rules: bool,
    /// For each plane, how many blocks are still to be exchanged: 2 for the cold and the hot one, 1
    /// for the hot one.
    due: Table<PlaneId, u8>,
    last: Option<Box<Training>>,
}

impl Haml {
    pub fn new(config: &Placement, pages: u64, planes: usize) -> Self {
        let cut = SliceIndex::new(pages, config.slices);
        let clusters = config.clusters as u8;
        let slice = Slice { queue: Queue(clusters - 1), ..Slice::default() };
        Self {
            slices: vec![slice; cut.last as usize + 1],
            cut,
            period: config.period.0,
            start: 0,
            clusters,
            iterations: config.iterations,
            scale: config.scale,
            with_interval: config.interval,
            since: match config.interval_since {
                IntervalStart::Slice => Since::Slice,
                IntervalStart::Drive => Since::Drive { last: 0 },
                IntervalStart::Page => Since::Page {
                    last: Table::of(NEVER, pages as usize),
                    gaps: vec![0; cut.last as usize + 1],
                },
            },
            by_request: config.count == UpdateUnit::Requests,
            wear_rules: config.wear_rules,
            due: Table::of(0, planes),
            last: None,
        }
    }

    /// Trains if the period is over.
    #[inline]
    fn advance(&mut self, now: u64) {
        if now - self.start >= self.period {
            self.train(now);
        }
    }

    /// Ends the period: clusters the slices if anything was written, and clears the tables.
    #[cold]
    fn train(&mut self, now: u64) {
        if self.slices.iter().any(|slice| slice.updates > 0) {
            let average = |(number, slice): (usize, &Slice)| {
                let intervals = match &self.since {
                    Since::Page { gaps, .. } => gaps[number],
                    Since::Slice | Since::Drive { .. } => slice.updates,
                };
                slice.intervals.checked_div(intervals.into()).unwrap_or(self.period)
            };
            let tables = Tables {
                updates: self.slices.iter().map(|slice| slice.updates).collect(),
                interval_ns: self.slices.iter().enumerate().map(average).collect(),
            };
            let options = TrainingOptions {
                clusters: self.clusters.into(),
                iterations: self.iterations,
                scale: self.scale,
                interval: self.with_interval,
            };
            let mut training = Training::of(tables, options);
            training.number = self.last.as_ref().map_or(0, |last| last.number) + 1;
            for (slice, &cluster) in self.slices.iter_mut().zip(&training.clusters) {
                slice.queue = Queue(cluster);
            }
            self.last = Some(Box::new(training));
            if self.wear_rules {
                self.due.iter_mut().for_each(|due| *due = 2);
            }
        }
        self.start += (now - self.start) / self.period * self.period;
        for slice in &mut self.slices {
            *slice = Slice { last: self.start, queue: slice.queue, ..Slice::default() };
        }
        match &mut self.since {
            Since::Slice => {}
            Since::Drive { last } => *last = self.start,
            Since::Page { gaps, .. } => gaps.fill(0),
        }
    }

    /// Whether a write is the first page of its request in a slice.
    fn begins_in_slice(&self, write: &Write, slice: usize) -> bool {
        let before = write.page.0.checked_sub(1).map(|page| self.cut.of(LogicalPage(page)));
        !write.shape.follows() || before != Some(slice)
    }

    /// Whether it counts requests, and so has to know where they begin.
    pub fn counts_requests(&self) -> bool {
        self.by_request
    }

    /// The last training, if there was one.
    pub fn last_training(&self) -> Option<&Training> {
        self.last.as_deref()
    }

    /// Which free block a queue takes. `draw` gives a random number.
    pub fn pick(&self, Queue(queue): Queue, draw: impl FnOnce() -> u32) -> Pick {
        match queue {
            _ if !self.wear_rules => Pick::InOrder,
            0 => Pick::Least,
            queue if queue + 1 == self.clusters => Pick::Most,
            _ => Pick::Any(draw()),
        }
    }

    /// The next block that a plane is to move for the sake of wear: its queue, and which of the
    /// queue's blocks.
    pub fn exchange(&mut self, plane: PlaneId) -> Option<(Queue, Pick)> {
        let due = &mut self.due[plane];
        *due = due.checked_sub(1)?;
        let cold = Queue(self.clusters - 1);
        Some(if *due == 1 { (cold, Pick::Least) } else { (Queue(0), Pick::Most) })
    }
}

impl Policy for Haml {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        self.slices[self.cut.of(write.page)].queue
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.slices[self.cut.of(page)]);
    }

    #[inline]
    fn observe(&mut self, write: &Write) {
        self.advance(write.at);
        let number = self.cut.of(write.page);
        let counts = !self.by_request || self.begins_in_slice(write, number);
        let slice = &mut self.slices[number];
        slice.updates = slice.updates.saturating_add(counts.into());
        match &mut self.since {
            Since::Slice => slice.intervals += write.at - slice.last,
            Since::Drive { last } => {
                slice.intervals += write.at - *last;
                *last = write.at;
            }
            Since::Page { last, gaps } => {
                let before = std::mem::replace(&mut last[write.page], write.at);
                if before != NEVER && before >= self.start {
                    slice.intervals += write.at - before;
                    gaps[number] = gaps[number].saturating_add(1);
                }
            }
        }
        slice.last = write.at;
    }

    fn memory_bytes(&self) -> u64 {
        let of_training = HAML_SLICE_BYTES as usize - size_of::<Slice>();
        let training = self.last.as_ref().map_or(0, |last| last.clusters.len() * of_training);
        let since = match &self.since {
            Since::Slice | Since::Drive { .. } => 0,
            Since::Page { last, gaps } => 8 * last.len() + 4 * gaps.len(),
        };
        (self.slices.len() * size_of::<Slice>() + training + self.due.len() + since) as u64
    }
}
