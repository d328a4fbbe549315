//! A window of a trace: its requests, what a model sees of them, and what the simulator measures.

use super::features::Characteristics;
use super::shape::Shape;
use super::simulated_drive::{MeasureError, Performance, SimulatedDrive};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, Source, TenantId, TraceError};

/// How many requests a window has unless told otherwise.
pub const WINDOW_REQUESTS: usize = 3_000;

/// What a model sees of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The characteristics that points have too.
    pub workload: Characteristics,
    /// What these hide; `None` in an open loop, for which no model learns from shapes.
    pub shape: Option<Shape>,
}

/// A window of a trace.
#[derive(Clone, Debug)]
pub struct Window {
    /// Name of the trace.
    pub trace: String,
    /// Number of the window in the trace, from 1.
    pub number: usize,
    /// The reads and writes of the window, in order of time.
    pub requests: Vec<Request>,
}

impl Window {
    /// Cuts the reads and writes of a trace into windows of `length` requests, at least 3, and
    /// hands out each when it is whole. Requests that fill no window at the end are left out.
    /// Returns how many windows there are.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn cut(
        trace: &str,
        source: &mut dyn Source,
        length: usize,
        take: &mut dyn FnMut(Self),
    ) -> Result<usize, TraceError> {
        let (mut batch, mut requests, mut number) = (Vec::new(), Vec::new(), 0);
        while source.fill(&mut batch)? > 0 {
            for request in batch.drain(..).filter(|request: &Request| {
                matches!(request.op, Op::Read | Op::Write) && request.sectors > 0
            }) {
                requests.push(Request { tenant: TenantId(0), ..request });
                if requests.len() == length.max(3) {
                    number += 1;
                    let requests = std::mem::take(&mut requests);
                    take(Self { trace: trace.to_owned(), number, requests });
                }
            }
        }
        Ok(number)
    }

    /// At most `count` of the windows, at equal distances.
    pub fn thin_out(windows: Vec<Self>, count: usize) -> Vec<Self> {
        let step = windows.len().div_ceil(count.max(1)).max(1);
        windows.into_iter().step_by(step).collect()
    }

    /// What a model of points sees of the window: [`Window::seen`] without the shape.
    pub(super) fn plain(&self, depth: Option<u32>) -> Option<Seen> {
        let requests = &self.requests;
        let workload = match depth {
            Some(depth) => Characteristics::of_requests(requests, f64::from(depth), None),
            None => {
                let (first, last) = (requests.first()?.at.0, requests.last()?.at.0);
                let seconds = (last > first).then(|| (last - first) as f64 / 1e9)?;
                let rate = (requests.len() - 1) as f64 / seconds;
                Characteristics::of_requests(requests, 0.0, Some(rate))
            }
        };
        Some(Seen { workload, shape: None })
    }

    /// What a model sees of the window on a drive of this size: with `depth` requests outstanding,
    /// or at its own rate if no depth is given. `None` if all requests come at one time, which is
    /// no rate.
    pub fn seen(&self, depth: Option<u32>, space: Sectors) -> Option<Seen> {
        let shape =
            |depth| Shape::of(&folded(&self.requests, space), self.uncounted(), depth, space);
        Some(Seen { shape: depth.map(shape), ..self.plain(depth)? })
    }

    /// How many requests at the beginning of the window are not counted.
    pub(super) fn uncounted(&self) -> usize {
        self.requests.len() / 3
    }

    /// What the simulator measures of the window.
    pub(super) fn measure(
        &self,
        drive: &SimulatedDrive,
        depth: Option<u32>,
    ) -> Result<Performance, MeasureError> {
        let begin = self.requests.first().map_or(Nanos::ZERO, |request| request.at);
        drive.replay(depth, self.uncounted() as u64, |space: Sectors| {
            let mut requests = folded(&self.requests, space);
            requests.iter_mut().for_each(|request| request.at -= begin);
            requests
        })
    }
}

/// The requests with addresses beyond the end of the drive folded back.
pub(super) fn folded(requests: &[Request], space: Sectors) -> Vec<Request> {
    let fold = |request: &Request| {
        let room = space.0.saturating_sub(u64::from(request.sectors)).max(1);
        Request { lba: Sectors(request.lba.0 % room), ..*request }
    };
    requests.iter().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Sectors = Sectors(1 << 20);

    fn trace(count: u64) -> Vec<Request> {
        let op = |n: u64| if n.is_multiple_of(4) { Op::Flush } else { Op::Read };
        let request = |n: u64| Request {
            at: Nanos(1_000 * n),
            lba: Sectors(8 * n),
            sectors: 8,
            tenant: TenantId(3),
            op: op(n),
        };
        (0..count).map(request).collect()
    }

    struct InMemory(Vec<Request>);

    impl Source for InMemory {
        fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
            let some = self.0.len().min(7);
            out.extend(self.0.drain(..some));
            Ok(some)
        }
    }

    fn cut(requests: Vec<Request>, length: usize) -> Vec<Window> {
        let mut windows = Vec::new();
        let take = &mut |window| windows.push(window);
        let count = Window::cut("a", &mut InMemory(requests), length, take).unwrap();
        assert_eq!(count, windows.len());
        windows
    }

    #[test]
    fn windows_are_full_and_hold_reads_and_writes() {
        // 75 of 100 requests are reads: 7 windows of 10.
        let windows = cut(trace(100), 10);
        assert_eq!(windows.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        let all = || windows.iter().flat_map(|window| &window.requests);
        assert_eq!(all().count(), 70);
        assert!(all().all(|request| request.op == Op::Read && request.tenant == TenantId(0)));
        let some = Window::thin_out(windows, 3);
        assert_eq!(some.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 4, 7]);
    }

    #[test]
    fn a_window_has_its_own_rate_or_the_depth_given() {
        let requests = trace(13)[1..].to_vec();
        // Reads at 1, 2, 3, 5, 6, 7, 9, 10, 11 us: 8 intervals in 10 us.
        let window = cut(requests, 9).remove(0);
        let open = window.seen(None, SPACE).unwrap().workload;
        assert!((open.offered_iops.unwrap() - 800_000.0).abs() < 1e-3);
        assert_eq!(window.seen(Some(7), SPACE).unwrap().workload.extended.q_dep, 7.0);
        let mut still = window;
        still.requests.iter_mut().for_each(|request| request.at = Nanos(5));
        assert_eq!(still.seen(None, SPACE), None);
    }
}
