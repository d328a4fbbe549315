//! The shape of a host request, as a page of it sees it: how large the request is, where in it the
//! page lies, how long the run of requests is that it continues, how long after the one before it
//! came.
//!
//! [`ShapeTracker`] is asked once for each write request and remembers where the last 32 ended.
//! Cost: some nanoseconds a request, 300 B a drive. Drives whose policy needs no shape have none.

use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, TenantId};

/// Requests whose ends are remembered.
const ENDS: usize = 32;
/// The class of the largest requests: more than 256 pages.
const LARGEST: u8 = 9;
/// The class of requests within one page of less than 4 KiB, and of less than 8 KiB.
const BELOW_4_KIB: u8 = 10;
const BELOW_8_KIB: u8 = 11;
/// Sectors of 4 KiB.
const SECTORS_4_KIB: u32 = 8;
/// What sets the names of pages of different tenants apart.
const TENANT: u32 = 0x9e37_79b1;

/// What the request that writes a page looks like from this page. Takes 16 bits.
///
/// | bits | what |
/// |---|---|
/// | 0 to 3 | size: log2 of the pages, rounded up, 9 at most; 10 and 11 for less than 4 and 8 KiB |
/// | 4, 5 | whether pages of the request come before this one, and after it |
/// | 6, 7 | whether the request begins inside this page, and whether it ends there |
/// | 8 to 11 | log2 of the pages of the run that it continues, from 1; 0 if it continues none |
/// | 12 to 15 | log4 of the nanoseconds since the request before it, less 6 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(u16);

impl Shape {
    /// The class of the request's size, 0 to 11.
    #[inline]
    pub(crate) fn size(self) -> u32 {
        u32::from(self.0 & 15)
    }

    /// Size, position and alignment together, below 256.
    #[inline]
    pub(crate) fn form(self) -> u32 {
        u32::from(self.0 & 0xff)
    }

    /// Whether pages of the request come before this one.
    #[inline]
    pub(crate) fn follows(self) -> bool {
        self.0 & 1 << 4 != 0
    }

    /// The class of the run, 0 to 15.
    #[inline]
    pub(crate) fn run(self) -> u32 {
        u32::from(self.0 >> 8 & 15)
    }

    /// The class of the time since the request before, 0 to 15.
    #[inline]
    pub(crate) fn gap(self) -> u32 {
        u32::from(self.0 >> 12)
    }
}

/// The shape of a request, without the position of a page in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestShape(u16);

impl RequestShape {
    /// The shape that a page of the request sees. `before` and `after`: whether the request has
    /// pages before and after it. `begins` and `ends`: whether the request leaves out sectors at
    /// the start of this page, and at its end.
    #[inline]
    pub fn of_page(self, before: bool, after: bool, begins: bool, ends: bool) -> Shape {
        let flags = [before, after, begins, ends];
        let bits = (4..).zip(flags).map(|(bit, is_so)| u16::from(is_so) << bit);
        Shape(bits.fold(self.0, |all, bit| all | bit))
    }
}

/// Where the last write requests ended, and when the last one came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShapeTracker {
    /// The name of the page after the last one of a request, in 32 bits: two pages of one name lie
    /// 2^32 pages apart or belong to two tenants. Its low half is compared first, since vector
    /// instructions compare eight numbers of 16 bits at a time.
    ends_low: [u16; ENDS],
    ends_high: [u16; ENDS],
    /// Pages of the run that this request ends.
    runs: [u32; ENDS],
    /// Which entry is the oldest.
    oldest: u8,
    /// When the last request came, in nanoseconds.
    last: u64,
}

impl Default for ShapeTracker {
    fn default() -> Self {
        let ends = [u16::MAX; ENDS];
        Self { ends_low: ends, ends_high: ends, runs: [0; ENDS], oldest: 0, last: 0 }
    }
}

impl ShapeTracker {
    /// Takes note of a write request of a number of pages, and says what it looks like. `page` is
    /// its first page in its tenant's address space, `sectors` are the sectors that it writes.
    pub fn request(
        &mut self,
        at: Nanos,
        tenant: TenantId,
        page: u64,
        pages: u32,
        sectors: u32,
    ) -> RequestShape {
        let size = match pages {
            0 | 1 if sectors < SECTORS_4_KIB => BELOW_4_KIB,
            0 | 1 if sectors < 2 * SECTORS_4_KIB => BELOW_8_KIB,
            _ => ((u32::BITS - (pages.max(1) - 1).leading_zeros()) as u8).min(LARGEST),
        };
        let run =
            self.run((page as u32).wrapping_add(u32::from(tenant.0).wrapping_mul(TENANT)), pages);
        let gap = at.0.saturating_sub(self.last).max(1).ilog2().saturating_sub(12) / 2;
        self.last = at.0;
        let run = if run == 0 { 0 } else { (1 + run.ilog2()).min(15) };
        RequestShape(u16::from(size) | (run as u16) << 8 | (gap.min(15) as u16) << 12)
    }

    /// Pages of the run that a request continues; 0 if it continues none. A request continues one
    /// if it starts in the page after that one, or in its last page.
    fn run(&mut self, start: u32, pages: u32) -> u32 {
        let before = self.continued(start).map_or(0, |run| self.runs[run]);
        let at = usize::from(self.oldest) % ENDS;
        let end = start.wrapping_add(pages);
        [self.ends_low[at], self.ends_high[at]] = [end as u16, (end >> 16) as u16];
        self.runs[at] = before.saturating_add(pages);
        self.oldest = (self.oldest + 1) % ENDS as u8;
        before
    }

    /// Which of the runs a request that starts in this page continues.
    #[inline]
    fn continued(&self, start: u32) -> Option<usize> {
        let (low, next) = (start as u16, start.wrapping_add(1) as u16);
        // All are compared, without a branch. The first that may be it ranks highest.
        let mut rank = 0;
        for (nth, &end) in self.ends_low.iter().enumerate() {
            rank = rank.max(-i16::from((end == low) | (end == next)) & (ENDS - nth) as i16);
        }
        let found = (ENDS as u16).wrapping_sub(rank as u16) as usize % ENDS;
        if rank == 0 {
            None
        } else if self.is_continued(found, start) {
            Some(found)
        } else {
            self.continued_behind(found, start)
        }
    }

    /// Whether a request that starts in this page continues a run: it starts in the page after the
    /// run, or in its last page.
    fn is_continued(&self, run: usize, start: u32) -> bool {
        let end = u32::from(self.ends_high[run]) << 16 | u32::from(self.ends_low[run]);
        end == start || end == start.wrapping_add(1)
    }

    /// Which of the runs behind one is continued. Needed where only the low half of that one's end
    /// fits: for one random request in a thousand.
    #[cold]
    fn continued_behind(&self, run: usize, start: u32) -> Option<usize> {
        (run + 1..ENDS).find(|&run| self.is_continued(run, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId(0);

    #[test]
    fn a_page_knows_its_request() {
        let mut tracker = ShapeTracker::default();
        let request = tracker.request(Nanos(1 << 20), TENANT, 100, 3, 30);
        let first = request.of_page(false, true, true, false);
        assert_eq!((first.size(), first.run(), first.gap()), (2, 0, 4));
        assert_eq!(first.form(), 2 | 1 << 5 | 1 << 6);
        let last = request.of_page(true, false, false, true);
        assert_eq!(last.form(), 2 | 1 << 4 | 1 << 7);
    }

    #[test]
    fn small_requests_have_classes_of_their_own() {
        let mut tracker = ShapeTracker::default();
        let mut size = |pages, sectors| {
            let request = tracker.request(Nanos(0), TENANT, 7, pages, sectors);
            request.of_page(false, false, false, false).size()
        };
        assert_eq!(
            [size(1, 1), size(1, 7), size(1, 8), size(1, 15), size(1, 16)],
            [10, 10, 11, 11, 0]
        );
        assert_eq!([size(2, 2), size(3, 48), size(256, 4_096), size(9_000, 9)], [1, 2, 8, 9]);
    }

    /// Names of a few low halves, so that most ends share theirs with others.
    #[test]
    fn the_first_run_that_a_request_continues_is_found() {
        let mut tracker = ShapeTracker::default();
        let (mut ends, mut runs) = (vec![u32::MAX; ENDS], vec![0; ENDS]);
        let mut state = 1_u64;
        for nth in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let start = ((state >> 40 & 3) << 16 | state >> 50 & 7).wrapping_sub(3) as u32;
            let pages = (state >> 60) as u32;
            let scan = |&end: &u32| end == start || end == start.wrapping_add(1);
            let before = ends.iter().position(scan).map_or(0, |run| runs[run]);
            assert_eq!(tracker.run(start, pages), before, "request {nth} from {start}");
            ends[nth % ENDS] = start.wrapping_add(pages);
            runs[nth % ENDS] = before.saturating_add(pages);
        }
    }

    #[test]
    fn runs_are_followed_through_other_requests() {
        let mut tracker = ShapeTracker::default();
        let mut run = |tenant, page, pages| {
            let request = tracker.request(Nanos(0), TenantId(tenant), page, pages, 16 * pages);
            request.of_page(false, false, false, false).run()
        };
        assert_eq!(run(0, 100, 4), 0);
        assert_eq!(run(1, 104, 1), 0, "another tenant");
        assert_eq!(run(0, 500, 1), 0);
        assert_eq!(run(0, 104, 4), 3, "after 4 pages");
        assert_eq!(run(0, 107, 2), 4, "in the last page of a run of 8");
        for page in 0..ENDS as u64 {
            run(0, 10_000 + 10 * page, 1);
        }
        assert_eq!(run(0, 109, 1), 0, "forgotten after 32 requests");
    }
}
