//! How long a page will live, learned from lives that ended: a discrete model of hazards.
//!
//! Lives fall into eight bins, each as many octaves wide as the next. For each bin the model tells
//! the share of the pages that reached it and outlive it: a curve like the logistic function, of a
//! sum of seven rows of weights. One row speaks for all writes, the others for one feature each.
//!
//! Weights are 16-bit numbers with 12 bits behind the point, so a row is one vector of 16 B. A
//! lesson moves every row against the error, by a step that falls with the lessons that the row
//! has had, from 0.6 to 0.02. Cost: 68 KiB, or 27 KiB if it is small, and 18 KiB of constants that
//! all drives share; a prediction reads seven rows, a lesson writes them. A small model has 256
//! rows for each feature. The values of three features need 1,024, so four values share a row by a
//! hash.

use serde::{Deserialize, Serialize};

/// Bins of lifetimes. What outlives the last is a survivor.
pub(super) const BINS: usize = 8;
/// Features that have rows.
const FEATURES: usize = 6;
/// Bits of the value of each feature.
const VALUE_BITS: [u32; FEATURES] = [10, 8, 8, 10, 10, 8];
/// Rows of each feature, in a full model and in a small one.
const ROWS_FULL: [u32; FEATURES] = [1 << 10, 1 << 8, 1 << 8, 1 << 10, 1 << 10, 1 << 8];
const ROWS_SMALL: [u32; FEATURES] = [1 << SMALL_BITS; FEATURES];
/// Bits of a row's number within its feature in a small model.
const SMALL_BITS: u32 = 8;

/// One, as a weight.
const ONE: i16 = 1 << 12;
/// The weights of row 0 at the start: -2.5.
const START: i16 = -5 * ONE / 2;
/// Bits behind the point of a step.
const STEP_BITS: u32 = 30;
/// Steps: 0.6 at first, 0.02 at last.
const STEP_FIRST: u64 = (3 << STEP_BITS) / 5;
const STEP_LAST: u64 = (1 << STEP_BITS) / 50;
/// 1 / 7.2 with 20 bits behind the point.
const STEP_FALL: u64 = 145_636;

/// The step of the lesson after one with this step: 0.6 / sqrt(1 + n / 10) after n lessons, which
/// falls by its cube over 7.2 each time.
const fn next_step(step: u64) -> u64 {
    let cube = (((step * step) >> STEP_BITS) * step) >> STEP_BITS;
    let next = step - ((cube * STEP_FALL) >> 20);
    if next < STEP_LAST { STEP_LAST } else { next }
}

/// Lessons from which on the step is the last one; some nine thousand.
const LESSONS: usize = {
    let (mut step, mut lessons) = (STEP_FIRST, 0);
    while step > STEP_LAST {
        step = next_step(step);
        lessons += 1;
    }
    lessons
};

/// The step after each number of lessons, with 15 bits behind the point. 18 KiB for all drives.
static STEPS: [i16; LESSONS + 1] = {
    let mut steps = [0; LESSONS + 1];
    let (mut step, mut lessons) = (STEP_FIRST, 0);
    while lessons <= LESSONS {
        steps[lessons] = (step >> (STEP_BITS - 15)) as i16;
        step = next_step(step);
        lessons += 1;
    }
    steps
};

/// The share of the pages that outlive a bin, with 16 bits behind the point, below 1, by the sum x
/// of the weights: (1 - |x| / 8)^4 / 2 where x is positive, what that leaves of 1 where it is not.
/// That is nearly the falling logistic function and as steep at zero, but needs no table and no
/// branch, only what vector instructions do with 16-bit numbers.
#[inline]
fn survival_of(sum: i16) -> u16 {
    let sign = (sum >> 15) as u16;
    let rest = ((sum as u16 ^ sign) ^ 0x7fff) << 1;
    let square = ((u32::from(rest) * u32::from(rest)) >> 16) as u16;
    let fourth = ((u32::from(square) * u32::from(square)) >> 16) as u16;
    (fourth >> 1) ^ sign
}

/// A number for each bin, in one piece for vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(align(16))]
struct Row([i16; BINS]);

/// The rows that speak for a write, but for row 0: numbers of 16 bits from the lowest bit on, four
/// in one word and two in the other. An array of six numbers would be stored one by one and copied
/// by wider loads, which wait until the stores have reached the cache: 7 ns a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rows {
    four: u64,
    two: u32,
}

impl Rows {
    #[inline]
    fn of([a, b, c, d, e, f]: [u16; FEATURES]) -> Self {
        let [four @ .., last] = [a, b, c, d, e].map(u64::from);
        let four = four.into_iter().rev().fold(0, |all, row| all << u16::BITS | row);
        Self { four, two: u32::from(f) << u16::BITS | last as u32 }
    }

    /// The numbers of the rows.
    #[inline]
    fn numbers(self) -> [u16; FEATURES] {
        let four = |nth: u32| (self.four >> (nth * u16::BITS)) as u16;
        [four(0), four(1), four(2), four(3), self.two as u16, (self.two >> u16::BITS) as u16]
    }

    /// In three words, of which a sample takes less room.
    pub fn words(self) -> [u32; 3] {
        [self.four as u32, (self.four >> u32::BITS) as u32, self.two]
    }

    /// What [`Rows::words`] gave.
    pub fn of_words([low, high, two]: [u32; 3]) -> Self {
        Self { four: u64::from(high) << u32::BITS | u64::from(low), two }
    }
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hazards {
    rows: Vec<Row>,
    /// Lessons that each row has had, 65,535 at most.
    lessons: Vec<u16>,
    /// Octaves of a bin, with 16 bits behind the point.
    width: u32,
    /// The first row of each feature.
    first: [u16; FEATURES],
    /// Whether values of more than eight bits share rows.
    is_small: bool,
}

impl Hazards {
    /// A model that has learned nothing, with bins that span `width` octaves each (16 bits behind
    /// the point).
    pub fn new(width: u32, is_small: bool) -> Self {
        let counts = if is_small { ROWS_SMALL } else { ROWS_FULL };
        let mut first = [0; FEATURES];
        let mut count = 1;
        for (first, rows) in first.iter_mut().zip(counts) {
            *first = count as u16;
            count += rows;
        }
        let mut rows = vec![Row([0; BINS]); count as usize];
        rows[0] = Row([START; BINS]);
        Self { lessons: vec![0; rows.len()], rows, width, first, is_small }
    }

    /// The rows of the values of the features: life and age of the page; form of the request; its
    /// run and size; life of the page before and age of the page after; application and gap; number
    /// of writes and age.
    #[inline]
    pub fn rows(&self, values: [u32; FEATURES]) -> Rows {
        let mut rows = [0; FEATURES];
        for feature in 0..FEATURES {
            let mut value = values[feature] as u16 & ((1 << VALUE_BITS[feature]) - 1);
            if self.is_small && VALUE_BITS[feature] > SMALL_BITS {
                value = value.wrapping_mul(0x9e35) >> (u16::BITS - SMALL_BITS);
            }
            rows[feature] = self.first[feature] + value;
        }
        Rows::of(rows)
    }

    /// The share of the pages that outlive each bin of those that reach it, with 16 bits behind the
    /// point. Not inlined: among other code the compiler adds two bins at a time instead of eight.
    #[inline(never)]
    fn survival(&self, rows: Rows) -> [u16; BINS] {
        let mut sum = self.rows[0];
        for row in rows.numbers() {
            let row = &self.rows[usize::from(row)].0;
            for (sum, weight) in sum.0.iter_mut().zip(row) {
                *sum = sum.saturating_add(*weight);
            }
        }
        let mut survival = [0; BINS];
        for (survival, &sum) in survival.iter_mut().zip(&sum.0) {
            *survival = survival_of(sum);
        }
        survival
    }

    /// The expected logarithm of a page's life, less that of one that dies in the first bin, in
    /// octaves with 16 bits behind the point. A survivor counts an octave above the last edge.
    #[inline]
    pub fn expected_life(&self, rows: Rows) -> u32 {
        let survival = self.survival(rows);
        // The mean is the sum of the shares that outlive each bin but the last, and of those that
        // outlive all. Two chains of four, since each multiplication waits for the one before.
        let (mut alive, mut sum) = (1_u64 << 16, 0_u64);
        for four in survival.chunks_exact(4) {
            let (mut all, mut within) = (1_u64 << 16, 0);
            for &share in four {
                all = (all * u64::from(share)) >> 16;
                within += all;
            }
            sum += (alive * within) >> 16;
            alive = (alive * all) >> 16;
        }
        // A survivor counts an octave and half a bin in place of the bin that it is in the sum for.
        let width = i64::from(self.width);
        let more = (1 << 16) + width / 2 - width;
        ((sum as i64 * width + alive as i64 * more) >> 16) as u32
    }

    /// Teaches what became of a page that these rows spoke for: it outlived the bins from `from` to
    /// below `until`, and died in bin `until` if `dies`.
    #[inline]
    pub fn teach(&mut self, rows: Rows, from: u8, until: u8, dies: bool) {
        let survival = self.survival(rows);
        let (from, until) = (i16::from(from), i16::from(until));
        let died = if dies { until } else { -1 };
        // The error with 15 bits behind the point.
        let mut error = [0; BINS];
        for bin in 0..BINS {
            let at = bin as i16;
            let hazard = ((0xffff - survival[bin]) >> 1) as i16;
            let outlived = if at >= from && at < until { hazard } else { 0 };
            error[bin] = if at == died { hazard - 0x7fff } else { outlived };
        }
        let [a, b, c, d, e, f] = rows.numbers();
        for row in [0, a, b, c, d, e, f] {
            self.step(row.into(), &error);
        }
    }

    /// Moves a row against an error.
    #[inline]
    fn step(&mut self, row: usize, error: &[i16; BINS]) {
        let lessons = self.lessons[row];
        self.lessons[row] = lessons.saturating_add(1);
        // 15 bits of the error and 15 of the step are behind the point, and 12 of a weight.
        let factor = STEPS[usize::from(lessons).min(LESSONS)];
        let row = &mut self.rows[row].0;
        for bin in 0..BINS {
            let product = ((i32::from(error[bin]) * i32::from(factor)) >> 16) as i16;
            row[bin] = row[bin].saturating_sub((product + 2) >> 2);
        }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.rows.len() * size_of::<Row>() + self.lessons.len() * size_of::<u16>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survival_is_nearly_logistic() {
        let mut before = u16::MAX;
        for sum in i16::MIN..=i16::MAX {
            let found = survival_of(sum);
            assert!(found <= before, "{sum}");
            before = found;
            let exact = 1.0 / (1.0 + (f64::from(sum) / f64::from(ONE)).exp());
            assert!((f64::from(found) / 65_536.0 - exact).abs() < 0.04, "{sum}: {found}");
            assert_eq!(found, !survival_of(!sum), "as many die at one end as live at the other");
        }
    }

    #[test]
    fn every_value_has_a_row_of_its_feature() {
        for (is_small, counts) in [(false, ROWS_FULL), (true, ROWS_SMALL)] {
            let model = Hazards::new(LOG2, is_small);
            let mut seen = vec![false; model.rows.len()];
            seen[0] = true;
            for value in 0..1 << 16 {
                let rows = model.rows([value; FEATURES]).numbers();
                for feature in 0..FEATURES {
                    let within = u32::from(rows[feature] - model.first[feature]);
                    assert!(within < counts[feature], "{value}");
                    seen[usize::from(rows[feature])] = true;
                }
            }
            assert!(seen.iter().all(|&seen| seen), "a row that nothing names");
        }
    }

    #[test]
    fn a_lesson_moves_only_the_bins_that_it_is_about() {
        let mut model = Hazards::new(LOG2, false);
        let rows = model.rows([5, 6, 7, 8, 9, 10]);
        let before = model.survival(rows);
        model.teach(rows, 2, 5, true);
        let after = model.survival(rows);
        for bin in 0..BINS {
            match bin {
                2..5 => assert!(after[bin] > before[bin], "outlived {bin}"),
                5 => assert!(after[bin] < before[bin], "died"),
                _ => assert_eq!(after[bin], before[bin], "{bin}"),
            }
        }
    }

    const LOG2: u32 = 1 << 16;
}
