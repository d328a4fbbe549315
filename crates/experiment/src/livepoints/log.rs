//! Some earlier requests, the fewer the older: where pages that leave a cache are looked for.
//!
//! Requests are kept in clumps of 32 that follow each other, since pages that were used together
//! leave a cache together. Of each doubling of the age some 128 clumps are kept at first, then 64.

/// Requests of a clump.
const CLUMP: u32 = 32;
/// Clumps that are kept of the latest requests.
const LATEST: u32 = 128;
/// Clumps at which the older ones are thinned.
const THIN_AT: usize = 4_096;

/// The pages of one request.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first page.
    pub first: u64,
    /// Pages.
    pub pages: u32,
}

/// The requests.
#[derive(Default)]
pub struct Log {
    clumps: Vec<(u32, Vec<Span>)>,
}

impl Log {
    /// Adds a request, whose number is one more than that of the last.
    #[inline]
    pub fn push(&mut self, number: u32, span: Span) {
        if number.is_multiple_of(CLUMP) || self.clumps.is_empty() {
            if self.clumps.len() == THIN_AT {
                self.thin(number);
            }
            self.clumps.push((number, Vec::with_capacity(CLUMP as usize)));
        }
        if let Some((_, spans)) = self.clumps.last_mut() {
            spans.push(span);
        }
    }

    fn thin(&mut self, now: u32) {
        self.clumps.retain(|&(first, _)| {
            let age = (now - first) / CLUMP / LATEST;
            let class = age.max(1).ilog2();
            (first / CLUMP).is_multiple_of(1 << class)
        });
    }

    /// The clumps nearest to ages that grow by a quarter of a doubling from `from` requests on, the
    /// latest first; each with the number of its first request.
    pub fn ladder(&self, now: u32, from: u32) -> Vec<&(u32, Vec<Span>)> {
        let mut found: Vec<usize> = Vec::new();
        let mut age = f64::from(from);
        while age <= f64::from(now) + 1.0 {
            let wanted = f64::from(now) - age;
            let after = self.clumps.partition_point(|&(first, _)| f64::from(first) <= wanted);
            let nth = after.saturating_sub(1);
            if found.last() != Some(&nth) && nth < self.clumps.len() {
                found.push(nth);
            }
            age *= 1.19;
        }
        found.iter().map(|&nth| &self.clumps[nth]).collect()
    }
}
