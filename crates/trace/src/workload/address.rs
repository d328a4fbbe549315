//! The addresses and sizes of the requests of one operation: repeats, runs, strides, and new places
//! by skew or walk.

use super::dist::{Alias, Scramble, Zipf, below, half_threshold, threshold};
use super::model::{Access, Recent, RecentOf, SizeRange, Skew};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use ssdtune_model::SECTOR_BYTES;
use std::hint::select_unpredictable;

/// An address and a size, both in sectors.
pub(crate) type Extent = (u64, u32);

/// The last requests of one operation, which later requests may repeat.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    extents: Vec<Extent>,
    mask: u64,
    pushed: u64,
}

impl Ring {
    /// A ring for repeats that reach back `window` requests: a power of two, or 0 if nothing
    /// repeats them.
    pub(crate) fn new(window: u32) -> Self {
        Self {
            extents: vec![(0, 0); window as usize],
            mask: u64::from(window.max(1)) - 1,
            pushed: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, extent: Extent) {
        if let Some(slot) = self.extents.get_mut((self.pushed & self.mask) as usize) {
            *slot = extent;
            self.pushed += 1;
        }
    }

    /// A random extent among the last `window` ones. Its distance back is log-uniform: the draw
    /// takes a doubling of the distance, and then a place inside it. `None` if fewer extents than
    /// that have been pushed.
    #[inline]
    fn draw(&self, rng: &mut Pcg64, window: u32) -> Option<Extent> {
        let doublings = u64::from(window.trailing_zeros()) + 1;
        let bits = rng.next_u64();
        let doubling = ((bits >> 32) * doublings) >> 32;
        let span = 1u64 << doubling;
        let back = (span >> 1) + (bits & (span.div_ceil(2) - 1));
        (back < self.pushed).then(|| self.extents[((self.pushed - 1 - back) & self.mask) as usize])
    }
}

/// An [`Access`] prepared for drawing.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    sizes: Sizes,
    base: u64,
    region: u64,
    alignment: u64,
    cells: u64,
    cell: u64,
    /// Where cells lie by their rank; `None` if all cells are equally likely, so that their order
    /// does not matter.
    spread: Option<Spread>,
    /// Whether a draw must choose between repeats, runs, strides and new places.
    decides: bool,
    picker: Picker,
    turn: Turn,
    walk: u64,
    walked: u64,
    recent: Option<(u64, u32, RecentOf)>,
    cursors: Vec<Cursor>,
    chain: Chain,
}

/// Where the cells of a region lie by their rank in heat: in neighbourhoods of successive ranks,
/// which are scattered by a permutation.
#[derive(Clone, Copy, Debug)]
struct Spread {
    scramble: Scramble,
    /// Cells of a neighbourhood.
    near: u64,
    /// Ranks in whole neighbourhoods. The few cells after them stay at the end of the region.
    whole: u64,
}

impl Spread {
    fn new(cells: u64, access: &Access, key: &mut Pcg64) -> Self {
        let near = (access.neighbourhood.0 / access.cell.0).clamp(1, cells);
        let count = cells / near;
        Self { scramble: Scramble::new(count, key), near, whole: count * near }
    }

    /// The cell of a rank.
    #[inline]
    fn cell(&self, rank: u64) -> u64 {
        if self.near == 1 {
            self.scramble.permute(rank)
        } else if rank < self.whole {
            self.scramble.permute(rank / self.near) * self.near + rank % self.near
        } else {
            rank
        }
    }
}

#[derive(Clone, Debug)]
enum Picker {
    Uniform,
    Zipf(Zipf),
    HotCold { hot: u64, cells: u64 },
}

/// The slow rotation of the ranking of cells. Both numbers are cells with 32 bits of fraction.
#[derive(Clone, Copy, Debug)]
struct Turn {
    per_draw: u64,
    position: u64,
}

const TURN_ONE: f64 = 4_294_967_296.0;

#[derive(Clone, Debug)]
struct Sizes {
    pick: Option<Alias>,
    /// For each range the smallest size, the number of sizes, and the step between them, in
    /// sectors.
    ranges: Vec<(u32, u32, u32)>,
}

/// The last request of one run.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    start: u64,
    end: u64,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Fresh,
    Run,
    Stride,
}

/// The probabilities, as thresholds, that a cursor starts a run, starts a run or a strided run,
/// continues a run, continues a strided run.
#[derive(Clone, Copy, Debug)]
struct Chain {
    start_run: u64,
    start_stride: u64,
    stay_run: u64,
    stay_stride: u64,
    distance: u64,
}

impl Sizes {
    fn new(sizes: &[SizeRange]) -> Self {
        let weights: Vec<f64> = sizes.iter().map(|s| s.share).collect();
        let ranges = sizes
            .iter()
            .map(|s| {
                let steps = (s.to.0 - s.from.0) / s.step.0 + 1;
                let sectors = |bytes: u64| (bytes / SECTOR_BYTES) as u32;
                (sectors(s.from.0), steps as u32, sectors(s.step.0))
            })
            .collect();
        Self { pick: (sizes.len() > 1).then(|| Alias::new(&weights)), ranges }
    }

    #[inline]
    fn draw(&self, rng: &mut Pcg64) -> u32 {
        let Some(pick) = &self.pick else {
            let (from, steps, step) = self.ranges[0];
            return if steps == 1 {
                from
            } else {
                from + step * below(rng, u64::from(steps)) as u32
            };
        };
        let (index, rest) = pick.draw_with_rest(rng);
        let (from, steps, step) = self.ranges[index];
        from + step * ((rest * u64::from(steps)) >> 32) as u32
    }
}

impl Chain {
    fn new(access: &Access) -> Self {
        // A cursor is to spend the share of its steps that belongs to runs in runs, and that of
        // strides in strides. It leaves a run with probability 1 / length, so the probability to
        // start one, from a fresh step, must be share / (length * fresh).
        let run = access.runs.map_or((0.0, 1.0), |r| (r.share, r.mean_length));
        let stride = access.stride.map_or((0.0, 1.0), |s| (s.share, s.mean_length));
        let fresh = 1.0 - run.0 - stride.0;
        let start = |(share, length): (f64, f64)| {
            if share == 0.0 {
                0.0
            } else if fresh <= 0.0 {
                1.0
            } else {
                share / (length * fresh)
            }
        };
        let stay =
            |(share, length): (f64, f64)| if share >= 1.0 { 1.0 } else { 1.0 - 1.0 / length };
        let start_run = start(run);
        Self {
            start_run: half_threshold(start_run),
            start_stride: half_threshold(start_run + start(stride)),
            stay_run: half_threshold(stay(run)),
            stay_stride: half_threshold(stay(stride)),
            distance: access.stride.map_or(0, |s| s.distance.0 / SECTOR_BYTES),
        }
    }
}

impl Place {
    /// Prepares a checked access. `key` seeds the permutation of its cells.
    pub(crate) fn new(access: &Access, key: &mut Pcg64) -> Self {
        let cells = (access.working_set.0 / access.cell.0).max(1);
        let (picker, drift) = match access.skew {
            Skew::Uniform => (Picker::Uniform, 0.0),
            Skew::Zipf { theta, drift } => (Picker::Zipf(Zipf::new(cells, theta)), drift),
            Skew::HotCold { hot_space, hot_share, drift } => {
                let cells_hot = ((cells as f64 * hot_space) as u64).clamp(1, cells);
                match cells_hot < cells {
                    true => {
                        (Picker::HotCold { hot: threshold(hot_share), cells: cells_hot }, drift)
                    }
                    false => (Picker::Uniform, drift),
                }
            }
        };
        let chain = Chain::new(access);
        let uniform = matches!(picker, Picker::Uniform) && access.walk_share == 0.0;
        let streams = access.runs.map_or(1, |runs| runs.streams.max(1)) as usize;
        let cursor = Cursor { start: 0, end: 0, mode: Mode::Fresh };
        Self {
            sizes: Sizes::new(&access.sizes),
            base: access.offset.0 / SECTOR_BYTES,
            region: access.working_set.0 / SECTOR_BYTES,
            alignment: access.alignment.0 / SECTOR_BYTES,
            cells,
            cell: access.cell.0 / SECTOR_BYTES,
            spread: (!uniform).then(|| Spread::new(cells, access, key)),
            decides: access.recent.is_some() || chain.start_stride != 0,
            picker,
            turn: Turn { per_draw: (drift / 1e6 * TURN_ONE) as u64, position: 0 },
            walk: threshold(access.walk_share),
            walked: 0,
            recent: access
                .recent
                .map(|Recent { share, window, of }| (half_threshold(share), window, of)),
            cursors: vec![cursor; streams],
            chain,
        }
    }

    /// The next extent. `rings` hold the recent reads and writes of the stream.
    #[inline]
    pub(crate) fn next(
        &mut self,
        rings: &[Ring; 2],
        size_rng: &mut Pcg64,
        place_rng: &mut Pcg64,
    ) -> Extent {
        // The two halves of one random number decide two things. Shares are exact to 2^-32.
        let decision = if self.decides { place_rng.next_u64() } else { 0 };
        if let Some((share, window, of)) = self.recent
            && (decision >> 32) < share
            && let Some(extent) = rings[of as usize].draw(place_rng, window)
        {
            return extent;
        }
        let sectors = self.sizes.draw(size_rng);
        let which = match self.cursors.len() {
            1 => 0,
            n => below(place_rng, n as u64) as usize,
        };
        let cursor = self.cursors[which];
        let mode = self.next_mode(cursor.mode, decision & 0xffff_ffff);
        let wanted = match mode {
            Mode::Run => cursor.end,
            Mode::Stride => cursor.start + self.chain.distance,
            Mode::Fresh => self.fresh(place_rng),
        };
        let start = self.fitted(wanted, sectors, mode);
        self.cursors[which] = Cursor { start, end: start + u64::from(sectors), mode };
        (self.base + start, sectors)
    }

    #[inline]
    fn next_mode(&self, mode: Mode, draw: u64) -> Mode {
        let chain = &self.chain;
        if chain.start_stride == 0 {
            return Mode::Fresh;
        }
        match mode {
            Mode::Run if draw < chain.stay_run => Mode::Run,
            Mode::Stride if draw < chain.stay_stride => Mode::Stride,
            Mode::Run | Mode::Stride => Mode::Fresh,
            Mode::Fresh if draw < chain.start_run => Mode::Run,
            Mode::Fresh if draw < chain.start_stride => Mode::Stride,
            Mode::Fresh => Mode::Fresh,
        }
    }

    /// The sector at which a cell begins that is chosen by skew or by the walk. Which of the two it
    /// is cannot be predicted, so both are computed: a mispredicted branch costs more than an
    /// unused draw.
    #[inline]
    fn fresh(&mut self, rng: &mut Pcg64) -> u64 {
        let drawn = match &self.picker {
            Picker::Uniform => below(rng, self.cells),
            Picker::Zipf(zipf) => zipf.draw(rng),
            Picker::HotCold { hot, cells } => {
                let is_hot = rng.next_u64() < *hot;
                let (from, count) =
                    select_unpredictable(is_hot, (0, *cells), (*cells, self.cells - cells));
                from + below(rng, count)
            }
        };
        let mut rank = self.turned(drawn);
        if self.walk != 0 {
            let walks = rng.next_u64() < self.walk;
            rank = select_unpredictable(walks, self.walked, rank);
            let next = self.walked + u64::from(walks);
            self.walked = select_unpredictable(next == self.cells, 0, next);
        }
        self.spread.map_or(rank, |spread| spread.cell(rank)) * self.cell
    }

    /// The rank after the rotation of the ranking so far.
    #[inline]
    fn turned(&mut self, rank: u64) -> u64 {
        if self.turn.per_draw == 0 {
            return rank;
        }
        self.turn.position += self.turn.per_draw;
        let whole = self.turn.position >> 32;
        if whole >= self.cells {
            self.turn.position -= self.cells << 32;
        }
        let rank = rank + (self.turn.position >> 32);
        select_unpredictable(rank >= self.cells, rank.wrapping_sub(self.cells), rank)
    }

    /// Keeps a request inside its region. A run or stride continues at the start of the region; a
    /// new place moves down.
    #[inline]
    fn fitted(&self, wanted: u64, sectors: u32, mode: Mode) -> u64 {
        let last = self.region - u64::from(sectors);
        if wanted <= last {
            wanted
        } else if mode == Mode::Fresh {
            last - last % self.alignment
        } else {
            0
        }
    }
}
