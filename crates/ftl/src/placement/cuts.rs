//! Where references that know the future cut the lives of pages: pages whose lives fall between the
//! same two cuts share a block. A life is counted in writes, and each write ends one life, so it is
//! also the page's place in the order of death.
//!
//! [`Cuts::doubling`] cuts at one block in each plane and doubles from there. [`Cuts::least_wait`]
//! looks for the cuts that cost least room. A page that dies before the others of its block waits
//! for the last of them, and meanwhile its room is lost. Every open block loses about as many pages
//! as it holds. So, for each span of writes (an eighth of the drive), the lives of its pages are
//! sorted into steps of a sixteenth of an octave, and of all ways to join neighbouring steps into
//! queues the one is taken that loses least, which may have fewer queues than there could be.
//!
//! Cost: for each span steps^2 x queues additions, some 10 ms for 16 queues, and 8 B for each cut.

use serde::{Deserialize, Serialize};

/// The number of a write that does not come.
pub(super) const NEVER: u32 = u32::MAX;
/// Spans in the time of as many writes as there are logical pages.
const SPANS: u64 = 8;
/// Steps in each octave of lives.
const STEPS: i32 = 16;

/// Cuts of lives, which may change from one span of writes to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cuts {
    /// Writes of a span.
    span: u64,
    /// Of each span: the lives, rising, with which the next queue begins.
    spans: Vec<Vec<u64>>,
}

impl Cuts {
    /// Cuts at 1, 2, 4, ... times as many writes as fill a block in each plane, the same all the
    /// time.
    pub fn doubling(unit: u64, queues: u8) -> Self {
        let cuts = (0..u32::from(queues) - 1).map(|n| unit.max(1) << n).collect();
        Self { span: u64::MAX, spans: vec![cuts] }
    }

    /// The cuts that lose least room on a drive of `pages` logical pages; `unit` pages fill a block
    /// in each plane. `deaths` says for each write which write ends its life.
    pub fn least_wait(deaths: &[u32], pages: u64, unit: u64, queues: u8) -> Self {
        let span = (pages / SPANS).max(1);
        let cut = |(births, deaths): (u64, &[u32])| {
            let ends = deaths.iter().zip(births * span..).filter(|&(&death, _)| death != NEVER);
            let lives = ends.map(|(&death, birth)| u64::from(death) - birth).collect();
            // Pages that never die have the last queue to themselves.
            Steps::of(lives, unit.max(1)).cuts(usize::from(queues) - 1, deaths.len() as u64)
        };
        Self { span, spans: (0..).zip(deaths.chunks(span as usize)).map(cut).collect() }
    }

    /// The queue of a page at a time. `now` counts the writes so far, and `left` those that come
    /// before the page is overwritten.
    pub fn queue(&self, now: u64, left: u64) -> u8 {
        let nth = ((now / self.span) as usize).min(self.spans.len().saturating_sub(1));
        self.spans.get(nth).map_or(0, |cuts| cuts.partition_point(|&cut| cut <= left)) as u8
    }
}

/// The lives of a span, sorted into steps.
struct Steps {
    /// Where each step ends, from 0 on: the first ends where it begins.
    ends: Vec<u64>,
    /// How many lives are shorter than each end, and their sum.
    below: Vec<(f64, f64)>,
    /// Pages of a block in each plane.
    unit: f64,
}

impl Steps {
    fn of(mut lives: Vec<u64>, unit: u64) -> Self {
        lives.sort_unstable();
        let beyond = lives.last().map_or(1, |most| most + 1);
        let mut ends = vec![0];
        // What dies within a quarter of a block need not be told apart.
        for step in 0.. {
            let end = unit as f64 / 4.0 * (f64::from(step) / f64::from(STEPS)).exp2();
            let end = (end.ceil() as u64).min(beyond);
            if end > ends[ends.len() - 1] {
                ends.push(end);
            }
            if end == beyond {
                break;
            }
        }
        let (mut taken, mut sum) = (0, 0.0);
        let mut before = |end: &u64| {
            while lives.get(taken).is_some_and(|life| life < end) {
                sum += lives[taken] as f64;
                taken += 1;
            }
            (taken as f64, sum)
        };
        let below = ends.iter().map(&mut before).collect();
        Self { ends, below, unit: unit as f64 }
    }

    /// Room that a queue loses which takes all lives from one end up to another, in pages: what
    /// waits at a time, and its open block.
    fn lost(&self, from: usize, to: usize, writes: u64) -> f64 {
        let ((from_count, from_sum), (count, sum)) = (self.below[from], self.below[to]);
        let waits = (count - from_count) * self.ends[to] as f64 - (sum - from_sum);
        waits / writes as f64 + self.unit
    }

    /// The cuts that lose least, into as many queues at most. The last cut is beyond the longest
    /// life: with it the queue of pages that never die begins.
    fn cuts(&self, queues: usize, writes: u64) -> Vec<u64> {
        let last = self.ends.len() - 1;
        // For each number of queues and each end: what is lost below it, and where its last queue
        // begins.
        let mut least = vec![vec![(f64::INFINITY, 0); last + 1]; queues + 1];
        least[0][0].0 = 0.0;
        for number in 1..=queues {
            for to in 1..=last {
                let ways = (0..to)
                    .map(|from| (least[number - 1][from].0 + self.lost(from, to, writes), from));
                let best = ways.min_by(|one, other| one.0.total_cmp(&other.0));
                least[number][to] = best.unwrap_or((f64::INFINITY, 0));
            }
        }
        let number = (1..=queues).min_by(|&a, &b| least[a][last].0.total_cmp(&least[b][last].0));
        let (mut cuts, mut to) = (Vec::new(), last);
        for number in (1..=number.unwrap_or(0)).rev() {
            cuts.push(self.ends[to]);
            to = least[number][to].1;
        }
        cuts.reverse();
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_cuts_begin_with_a_block_in_each_plane() {
        let cuts = Cuts::doubling(100, 4);
        let queues = [0, 99, 100, 199, 200, 399, 400, 5_000].map(|left| cuts.queue(7, left));
        assert_eq!(queues, [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn short_and_long_lives_are_cut_apart() {
        // Blocks of 8 pages, 1,600 logical pages, so spans of 200 writes. In the first span every
        // other page lives for 2 writes and the rest for 1,000: two queues lose 2 x 8 pages and
        // hardly any wait. In the second all live for 1,000: one queue.
        let death = |n: u32| match n {
            0..200 if n.is_multiple_of(2) => n + 2,
            _ => n + 1_000,
        };
        let deaths: Vec<u32> = (0..400).map(death).collect();
        let cuts = Cuts::least_wait(&deaths, 1_600, 8, 16);
        assert_eq!((cuts.span, cuts.spans.len()), (200, 2));
        assert_eq!((cuts.spans[0].len(), cuts.spans[1].len()), (2, 1));
        assert_eq!([2, 1_000, 1_001].map(|left| cuts.queue(0, left)), [0, 1, 2]);
        assert_eq!([2, 1_000, 1_001].map(|left| cuts.queue(200, left)), [0, 0, 1]);
        assert_eq!(cuts.queue(9_999, 2), 0, "what comes after the list goes by its last span");
    }

    #[test]
    fn of_three_kinds_two_queues_join_those_that_lose_least() {
        // 90 lives of 10, 90 of 12 and 20 of 400 in 200 writes, blocks of 4 pages. To join 10 with
        // 12 loses 90 x 2 / 200 pages at a time, 12 with 400 would lose 90 x 388 / 200.
        let lives = [vec![10; 90], vec![12; 90], vec![400; 20]].concat();
        let cuts = Steps::of(lives, 4).cuts(2, 200);
        assert_eq!((cuts.len(), cuts[1]), (2, 401));
        assert!((13..=400).contains(&cuts[0]), "{cuts:?}");
    }

    #[test]
    fn nothing_that_dies_needs_no_cut_but_the_end() {
        let cuts = Cuts::least_wait(&[NEVER; 10], 100, 4, 16);
        assert_eq!(cuts.spans, [vec![1]]);
        assert_eq!(Cuts::least_wait(&[], 100, 4, 16).queue(0, 5), 0);
    }
}
