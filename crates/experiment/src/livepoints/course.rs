//! What the trace had written by when: counts at some requests, and some of its writes.
//!
//! As the trace grows, ever fewer are kept: every second one, every fourth, and so on.
//! Cost: one counter for each written page and length of epochs; 70 B for each mark and 16 B for
//! each write that is kept, 1.1 MB at most.

use super::log::Span;
use super::record::{NEVER, Record};

/// Marks at most.
const MARKS: usize = 8_192;
/// Requests between two marks, at first.
const MARK_EVERY: u32 = 64;
/// Writes that are kept at most.
pub(super) const WRITES: usize = 32_768;
/// Writes that are kept or not together: those of a file that is written from end to end follow
/// each other.
const CLUMP: usize = 64;

/// Counts of written pages, see [`Mark::written`].
pub type Written = [u64; Mark::ALL + 1];

/// How many pages were written up to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The request.
    pub request: u32,
    /// Pages that went to flash at once, by the times of the trace and by each length of epochs;
    /// last, all pages written.
    pub written: Written,
}

impl Mark {
    /// Binary logarithms of the lengths of epochs, in requests, for which pages are counted.
    pub const EPOCHS: [u32; 6] = [9, 11, 13, 15, 17, 19];
    /// The count of all pages written.
    pub const ALL: usize = Self::EPOCHS.len() + 1;
}

/// A write, which stands for others before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// The request.
    pub request: u32,
    /// The first page.
    pub first: u64,
    /// Pages.
    pub pages: u32,
}

/// What was written by when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// How much, in the order of the requests; the last mark stands at the end of the trace.
    pub marks: Vec<Mark>,
    /// Every nth clump of 64 writes from the first on, n being a power of two.
    pub writes: Vec<Wrote>,
}

/// A course as far as the trace has come.
pub(super) struct Recorder {
    course: Course,
    written: Written,
    /// Requests between two marks, a power of two.
    mark_every: u32,
    /// Writes so far.
    writes: u64,
    /// Every nth clump is kept, a power of two.
    clump_every: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            course: Course::default(),
            written: Written::default(),
            mark_every: MARK_EVERY,
            writes: 0,
            clump_every: 1,
        }
    }
}

impl Recorder {
    /// A request comes.
    #[inline]
    pub fn come(&mut self, now: u32) {
        if now & (self.mark_every - 1) == 0 {
            self.mark(now);
        }
    }

    #[cold]
    fn mark(&mut self, now: u32) {
        self.course.marks.push(Mark { request: now, written: self.written });
        if self.course.marks.len() == MARKS {
            thin(&mut self.course.marks, 1);
            self.mark_every *= 2;
        }
    }

    /// It writes pages.
    #[inline]
    pub fn write(&mut self, now: u32, span: Span) {
        if (self.writes / CLUMP as u64).is_multiple_of(self.clump_every) {
            let Span { first, pages } = span;
            self.course.writes.push(Wrote { request: now, first, pages });
            if self.course.writes.len() == WRITES {
                thin(&mut self.course.writes, CLUMP);
                self.clump_every *= 2;
            }
        }
        self.writes += 1;
    }

    /// One of its pages was this, and is that now.
    #[inline]
    pub fn count(&mut self, before: &Record, after: &Record) {
        self.written[0] += u64::from(!after.dirty());
        for (count, bits) in self.written[1..Mark::ALL].iter_mut().zip(Mark::EPOCHS) {
            let again = before.write != NEVER && (before.write ^ after.write) >> bits == 0;
            *count += u64::from(!again);
        }
        self.written[Mark::ALL] += 1;
    }

    /// The course of a trace with this many requests.
    pub fn finish(mut self, requests: u32) -> Course {
        self.course.marks.push(Mark { request: requests, written: self.written });
        self.course
    }
}

/// Keeps the first of each pair of clumps.
fn thin<T>(list: &mut Vec<T>, clump: usize) {
    let mut nth = 0;
    list.retain(|_| {
        nth += 1;
        ((nth - 1) / clump).is_multiple_of(2)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_keeps_whole_clumps_from_all_over_the_trace() {
        let mut recorder = Recorder::default();
        let all = 10 * WRITES as u32;
        for now in 0..all {
            recorder.come(now);
            recorder.write(now, Span { first: u64::from(now), pages: 1 });
        }
        let Course { marks, writes } = recorder.finish(all);
        assert!(marks.len() < MARKS && writes.len() < WRITES);
        assert!(marks.len() > MARKS / 4 && writes.len() > WRITES / 4);
        assert_eq!(marks.last().map(|mark| mark.request), Some(all));
        let every = writes[CLUMP].request;
        for (nth, clump) in writes.chunks(CLUMP).enumerate() {
            let first = every * nth as u32;
            let numbers: Vec<u32> = clump.iter().map(|wrote| wrote.request).collect();
            assert_eq!(numbers, (first..first + CLUMP as u32).collect::<Vec<_>>());
        }
    }
}
