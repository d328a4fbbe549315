//! How long a page will live, learned from lives that ended: a discrete model of hazards.
//!
//! Lives fall into 16 bins, each as many octaves wide as the next. For each bin the model tells the
//! share of the pages that reached it and die in it: the logistic function of a sum of seven rows
//! of weights. One row speaks for all writes, the others for one feature each.
//!
//! Weights are 16-bit numbers with 12 bits behind the point, so a row is half a cache line. A
//! lesson moves every row against the error, by a step that falls with the lessons that the row
//! has had, from 0.6 to 0.02. Cost: 136 KiB; a prediction reads six rows, a lesson writes them.

use serde::{Deserialize, Serialize};

/// Bins of lifetimes. What outlives the last is a survivor.
pub(super) const BINS: usize = 16;
/// Features that have rows.
const FEATURES: usize = 6;
/// Rows of each feature, as powers of two.
const ROWS_LOG2: [u32; FEATURES] = [10, 8, 8, 10, 10, 8];
/// The number of the first row of each feature; row 0 speaks for all writes.
const FIRST_ROW: [u32; FEATURES] = first_rows();
/// All rows.
const ROWS: usize = (FIRST_ROW[FEATURES - 1] + (1 << ROWS_LOG2[FEATURES - 1])) as usize;

const fn first_rows() -> [u32; FEATURES] {
    let mut first = [1; FEATURES];
    let mut feature = 1;
    while feature < FEATURES {
        first[feature] = first[feature - 1] + (1 << ROWS_LOG2[feature - 1]);
        feature += 1;
    }
    first
}

/// One, as a weight.
const ONE: i16 = 1 << 12;
/// The weights of row 0 at the start: -2.5.
const START: i16 = -5 * ONE / 2;
/// Bits behind the point of a step.
const STEP_BITS: u32 = 30;
/// Steps: 0.6 at first, 0.02 at last.
const STEP_FIRST: u32 = (3 << STEP_BITS) / 5;
const STEP_LAST: u32 = (1 << STEP_BITS) / 50;
/// 1 / 7.2 with 20 bits behind the point: see [`Hazards::step`].
const STEP_FALL: u64 = 145_636;

/// Entries of the table of the logistic function, which spans -8 to 8.
const ENTRIES: usize = 1_024;
/// The logistic function with 16 bits behind the point, below 1.
static LOGISTIC: [u16; ENTRIES] = logistic();

/// From exp(-1/64) alone, in integers.
const fn logistic() -> [u16; ENTRIES] {
    const BITS: u32 = 60;
    /// exp(-1/64) and exp(-1/128), with 60 bits behind the point.
    const FALL: u128 = 1_135_047_113_432_355_401;
    const HALF_FALL: u128 = 1_143_949_398_276_903_548;
    let mut table = [0; ENTRIES];
    // exp(-x) at the middle of the first entry from zero on.
    let mut power = HALF_FALL;
    let mut at = ENTRIES / 2;
    while at < ENTRIES {
        let one = 1_u128 << BITS;
        let value = (one << 16) / (one + power);
        table[at] = if value > 0xffff { 0xffff } else { value as u16 };
        table[ENTRIES - 1 - at] = 0xffff - table[at];
        power = (power * FALL) >> BITS;
        at += 1;
    }
    table
}

/// The hazard that a sum of weights stands for, with 16 bits behind the point.
#[inline]
fn hazard_of(sum: i16) -> u32 {
    // 2^16 weights over 2^10 entries, the least first. In 16 bits, for vector instructions.
    u32::from(LOGISTIC[usize::from((sum as u16 ^ 0x8000) >> 6)])
}

/// A number for each bin, in one piece for vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(align(32))]
struct Row([i16; BINS]);

/// The rows that speak for a write, but for row 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rows([u16; FEATURES]);

impl Rows {
    /// The rows of the values of six features: life and age of the page; form of the request; its
    /// run and size; life of the page before and age of the page after; application and gap; number
    /// of writes and age.
    #[inline]
    pub fn of(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) -> Self {
        let values = [a, b, c, d, e, f];
        let mut rows = [0; FEATURES];
        for feature in 0..FEATURES {
            let within = values[feature] & ((1 << ROWS_LOG2[feature]) - 1);
            rows[feature] = (FIRST_ROW[feature] + within) as u16;
        }
        Self(rows)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().map(usize::from)
    }
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hazards {
    rows: Vec<Row>,
    /// The step of each row, with 30 bits behind the point.
    steps: Vec<u32>,
    /// Octaves of a bin, with 16 bits behind the point.
    width: u32,
}

impl Hazards {
    /// A model that has learned nothing, with bins that span `width` octaves each (16 bits behind
    /// the point).
    pub fn new(width: u32) -> Self {
        let mut rows = vec![Row([0; BINS]); ROWS];
        rows[0] = Row([START; BINS]);
        Self { rows, steps: vec![STEP_FIRST; ROWS], width }
    }

    /// The sum of the rows, bin by bin. Not inlined: among other code the compiler adds two bins at
    /// a time instead of eight.
    #[inline(never)]
    fn sum(&self, rows: &Rows) -> Row {
        let mut sum = self.rows[0];
        for row in rows.iter() {
            let row = &self.rows[row].0;
            for (sum, weight) in sum.0.iter_mut().zip(row) {
                *sum = sum.saturating_add(*weight);
            }
        }
        sum
    }

    /// The hazard of each bin, with 16 bits behind the point.
    #[inline]
    fn hazards(&self, rows: &Rows) -> [u32; BINS] {
        let sum = self.sum(rows);
        let mut hazards = [0; BINS];
        for (hazard, sum) in hazards.iter_mut().zip(sum.0) {
            *hazard = hazard_of(sum);
        }
        hazards
    }

    /// The expected logarithm of a page's life, less that of one that dies in the first bin, in
    /// octaves with 16 bits behind the point. A survivor counts an octave above the last edge.
    #[inline]
    pub fn expected_life(&self, rows: &Rows) -> u32 {
        let hazards = self.hazards(rows);
        // The mean is the sum of the shares that outlive each bin but the last, and of those that
        // outlive all. Four chains at a time, since each multiplication waits for the one before.
        let chain = |first: usize| {
            let (mut alive, mut sum) = (1_u64 << 16, 0);
            for &hazard in &hazards[first..first + 4] {
                alive = (alive * u64::from(0x1_0000 - hazard)) >> 16;
                sum += alive;
            }
            (alive, sum)
        };
        let (a, b, c, d) = (chain(0), chain(4), chain(8), chain(12));
        let (ab, cd) = ((a.0 * b.0) >> 16, (c.0 * d.0) >> 16);
        let alive = (ab * cd) >> 16;
        let sum = a.1 + ((a.0 * b.1) >> 16) + ((ab * (c.1 + ((c.0 * d.1) >> 16))) >> 16);
        let width = u64::from(self.width);
        let above = (1 << 16) + width / 2;
        ((sum.saturating_sub(alive) * width + alive * above) >> 16) as u32
    }

    /// Teaches what became of a page that these rows spoke for: it outlived the bins from `from` to
    /// below `until`, and died in bin `until` if `dies`.
    #[inline]
    pub fn teach(&mut self, rows: &Rows, from: u8, until: u8, dies: bool) {
        let sum = self.sum(rows);
        // The error with 15 bits behind the point.
        let mut error = [0; BINS];
        let outlived = usize::from(from)..usize::from(until);
        for (error, &sum) in error[outlived.clone()].iter_mut().zip(&sum.0[outlived]) {
            *error = (hazard_of(sum) >> 1) as i16;
        }
        if dies {
            let bin = usize::from(until);
            error[bin] = ((hazard_of(sum.0[bin]) >> 1) as i32 - 0x7fff) as i16;
        }
        self.step(0, &error);
        for row in rows.iter() {
            self.step(row, &error);
        }
    }

    /// Moves a row against an error.
    #[inline]
    fn step(&mut self, row: usize, error: &[i16; BINS]) {
        let step = self.steps[row];
        // 0.6 / sqrt(1 + n / 10) after n lessons: what falls by its cube over 7.2 each time.
        let cube =
            (((u64::from(step) * u64::from(step)) >> STEP_BITS) * u64::from(step)) >> STEP_BITS;
        self.steps[row] = (step - ((cube * STEP_FALL) >> 20) as u32).max(STEP_LAST);
        // 15 bits of the error and 15 of the step are behind the point, and 12 of a weight.
        let factor = (step >> (STEP_BITS - 15)) as i16;
        let row = &mut self.rows[row].0;
        for bin in 0..BINS {
            let change = (i32::from(error[bin]) * i32::from(factor) + (1 << 17)) >> 18;
            row[bin] = row[bin].saturating_sub(change as i16);
        }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.rows.len() * size_of::<Row>() + self.steps.len() * 4) as u64
    }
}
