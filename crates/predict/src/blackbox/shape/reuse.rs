//! Pages of a window that are used again.

use super::{PAGE, pages_of};
use ssdtune_trace::{Op, Request};
use std::collections::HashMap;

/// How far back a page may have been used, in pages: what a small cache, a large one and any cache
/// may hold.
const WITHIN: [u64; 3] = [256, 4_096, u64::MAX];

/// Pages that are used again, by what uses them now and what used them last, and by how long ago.
#[derive(Clone, Debug, Default)]
pub(super) struct Reuse {
    /// Read after a write, read after a read, written after a write, written after a read.
    again: [[f64; WITHIN.len()]; 4],
    /// Pages read that nothing has used before in the window.
    fresh_reads: f64,
    footprint: usize,
}

impl Reuse {
    /// The names of what [`Reuse::counts`] returns.
    pub(super) const NAMES: [&str; 13] = [
        "log2 pages read after a write, within 256",
        "log2 pages read after a write, within 4,096",
        "log2 pages read after a write",
        "log2 pages read after a read, within 256",
        "log2 pages read after a read, within 4,096",
        "log2 pages read after a read",
        "log2 pages written after a write, within 256",
        "log2 pages written after a write, within 4,096",
        "log2 pages written after a write",
        "log2 pages written after a read, within 256",
        "log2 pages written after a read, within 4,096",
        "log2 pages written after a read",
        "log2 pages read for the first time",
    ];

    pub(super) fn of(requests: &[Request], before: usize) -> Self {
        let mut own = Self::default();
        // When each page was used last, in pages touched, and whether it was written then.
        let mut last: HashMap<u64, (u64, bool)> = HashMap::new();
        let mut now = 0;
        let moving = |request: &Request| matches!(request.op, Op::Read | Op::Write);
        for (number, request) in requests.iter().enumerate().filter(|one| moving(one.1)) {
            let writes = request.op == Op::Write;
            for page in pages_of(request, PAGE) {
                let used = last.insert(page, (now, writes));
                if number >= before {
                    own.add(writes, used.map(|(at, written)| (now - at, written)));
                }
                now += 1;
            }
        }
        Self { footprint: last.len(), ..own }
    }

    /// Counts a page; `used` is how many pages ago it was used last, and whether it was written.
    fn add(&mut self, writes: bool, used: Option<(u64, bool)>) {
        let Some((ago, written)) = used else {
            self.fresh_reads += f64::from(u8::from(!writes));
            return;
        };
        let kind = usize::from(writes) * 2 + usize::from(written == writes);
        let counts = self.again[kind].iter_mut().zip(WITHIN);
        counts.filter(|(_, within)| ago <= *within).for_each(|(count, _)| *count += 1.0);
    }

    /// Pages that were used in the window, counted once each.
    pub(super) const fn footprint(&self) -> usize {
        self.footprint
    }

    /// Numbers of pages, in the order of [`Reuse::NAMES`].
    pub(super) fn counts(&self) -> [f64; 13] {
        // `kind` counts writes after reads before writes after writes, the names the other way.
        let [reads_of_written, reads_of_read, writes_of_read, writes_of_written] = self.again;
        let kinds = [reads_of_written, reads_of_read, writes_of_written, writes_of_read];
        let mut counts = [0.0; 13];
        counts[..12].copy_from_slice(kinds.as_flattened());
        counts[12] = self.fresh_reads;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    #[test]
    fn pages_are_known_by_their_last_use() {
        let request = |op, page: u64, pages: u32| Request {
            at: Nanos::ZERO,
            lba: Sectors(page * 8),
            sectors: pages * 8,
            tenant: TenantId(0),
            op,
        };
        let requests = [
            request(Op::Write, 0, 2),
            request(Op::Trim, 0, 2),
            request(Op::Read, 1, 2),
            // 300 pages later.
            request(Op::Read, 1_000, 300),
            request(Op::Write, 1, 1),
            request(Op::Write, 0, 1),
        ];
        let found = Reuse::of(&requests, 0);
        assert_eq!(found.footprint(), 303);
        let [read_of_written @ .., _, _, _, ww_near, ww_far, ww, wr_near, wr_far, wr, fresh] =
            found.counts();
        assert_eq!(read_of_written, [1.0, 1.0, 1.0]);
        assert_eq!([ww_near, ww_far, ww], [0.0, 1.0, 1.0]);
        assert_eq!([wr_near, wr_far, wr], [0.0, 1.0, 1.0]);
        assert_eq!(fresh, 301.0);
        // What came before counts as used, and not itself.
        assert_eq!(Reuse::of(&requests, 3).counts()[..3], [0.0; 3]);
    }
}
