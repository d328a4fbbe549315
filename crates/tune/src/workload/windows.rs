//! Windows that stand for a trace too long to be run whole.
//!
//! One pass over the trace keeps windows from all over it ([`LivePoints`]). A drive is measured on
//! some of them, which are drawn half by what the baseline took for each and half alike; all drives
//! are measured on the same. A larger draw holds a smaller one, so a race on a share of the windows
//! is a beginning of the whole.

#[cfg(test)]
mod tests;

use super::Trace;
use crate::digest::{Digest, Digester};
use ssdtune_estimate::{Drawn, Population, PopulationError, Reach};
use ssdtune_experiment::RequestSource;
use ssdtune_experiment::livepoints::{LivePoints, RESTORED_EPOCH, Window};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Request, TenantId};
use std::sync::Arc;

/// Windows that a drive is measured on, unless more are asked for. With 500 measured requests each
/// they rank drives as a whole run does (docs/results/sampling.md), at the cost of a prefix of
/// 47,000 requests; and one or two fewer, as a draw may give, are still enough for an interval.
pub const WINDOWS: usize = 44;
/// Windows that are measured at most to know a speedup better, if that is not known to 2 % by all.
const MOST: usize = 240;
/// A target whose windows do not tell a verdict to 2 % runs whole if it has no more requests: both
/// loops of two drives from five states are twenty runs, some minutes on two processors.
pub const WHOLE_MAX: u64 = 2_000_000;
/// The fewest windows of a draw: races decide on no fewer.
const WINDOWS_MIN: usize = 10;

/// Windows of a trace that drives are measured on.
#[derive(Clone, Debug)]
pub struct Windows {
    points: Arc<LivePoints>,
    /// The digest of the trace and of how it was sampled.
    digest: Digest,
    /// The windows of the trace that may be drawn.
    own: Arc<Vec<usize>>,
    population: Arc<Population>,
    /// Windows that were asked for.
    count: usize,
    drawn: Vec<Drawn>,
    reach: Reach,
    /// Where the whole trace can be read again.
    whole: Option<Arc<WholeTrace>>,
}

/// A trace that was sampled and can be read once more.
#[derive(Clone, Debug)]
struct WholeTrace {
    source: RequestSource,
    /// The sectors of the smallest drive.
    space: Sectors,
}

impl Windows {
    /// `count` windows of a trace, drawn alike: nothing is known of them yet.
    pub fn new(points: Arc<LivePoints>, count: usize) -> Self {
        let own: Vec<usize> = (0..points.windows.len()).collect();
        Self::of(points, own, count)
    }

    fn of(points: Arc<LivePoints>, own: Vec<usize>, count: usize) -> Self {
        let digest = digest(&points);
        let sizes = vec![1.0; own.len()];
        let (own, population) = (Arc::new(own), population(&points, &sizes));
        let drawn = Vec::new();
        let reach = Reach::WHOLE;
        Self { points, digest, own, population, count, drawn, reach, whole: None }.draw(count)
    }

    /// Windows of a trace that were drawn before, with the chances of that draw. Nothing else may
    /// be drawn of them.
    pub fn drawn_before(points: Arc<LivePoints>, drawn: &[(usize, f64)]) -> Self {
        let drawn = drawn.iter().map(|&(window, chance)| Drawn { window, chance }).collect();
        Self { drawn, ..Self::new(points, 0) }
    }

    /// These windows of a trace whose requests come from this source, for drives of `space`
    /// sectors. A trace that is too long to be run whole is not read again.
    #[must_use]
    pub(super) fn of_whole(self, source: RequestSource, space: Sectors) -> Self {
        let whole = Arc::new(WholeTrace { source, space });
        Self { whole: (self.points.requests <= WHOLE_MAX).then_some(whole), ..self }
    }

    /// Two sets of other windows: every second one, and those between them. What one has taught is
    /// judged by the other.
    pub fn halves(self) -> (Self, Self) {
        let half = |odd: usize| {
            let own = self.own.iter().copied().skip(odd).step_by(2).collect();
            let half = Self::of(Arc::clone(&self.points), own, self.count);
            Self { whole: self.whole.clone(), ..half }
        };
        (half(0), half(1))
    }

    /// A draw of `count` windows by what the baseline took for each that may be drawn.
    ///
    /// # Errors
    /// A size is negative or no number.
    pub fn by_sizes(&self, sizes: &[f64]) -> Result<Self, PopulationError> {
        let covered = self.population.sample(0).reach.covered;
        let population = Population::new(sizes, covered, self.points.options.seed)?;
        Ok(Self { population: Arc::new(population), ..self.clone() }.draw(self.count))
    }

    /// A draw of `count` windows, all of them if there are fewer.
    #[must_use]
    pub fn draw(self, count: usize) -> Self {
        let sample = self.population.sample(count.max(WINDOWS_MIN));
        let named = |drawn: Drawn| Drawn { window: self.own[drawn.window], ..drawn };
        let drawn = sample.drawn.into_iter().map(named).collect();
        Self { count, drawn, reach: sample.reach, ..self }
    }

    /// All windows that may be drawn.
    #[must_use]
    pub fn every(&self) -> Self {
        self.clone().draw(self.own.len())
    }

    /// A draw of this share of the windows that were asked for.
    #[must_use]
    pub fn share(&self, share: f64) -> Self {
        self.clone().draw((self.count as f64 * share).ceil() as usize)
    }

    /// This many times as many windows, at least twice as many; `None` if there are no more. More
    /// than 240 are drawn only if there are as many as are asked for: they cost as much as a small
    /// search, and would not tell what is asked.
    pub fn times(&self, times: f64) -> Option<Self> {
        let (drawn, all) = (self.drawn.len(), self.own.len());
        let wanted = drawn as f64 * times.max(2.0);
        let most = if wanted <= all as f64 { wanted.ceil() as usize } else { all.min(MOST) };
        (most > drawn).then(|| self.clone().draw(most)).filter(|more| more.drawn.len() > drawn)
    }

    /// The live-points of the trace.
    pub const fn points(&self) -> &Arc<LivePoints> {
        &self.points
    }

    /// The digest of the trace and of how it was sampled: that of the live-points.
    pub const fn points_digest(&self) -> Digest {
        self.digest
    }

    /// The windows, each with its place in the trace and the chance with which it was drawn.
    pub fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// What the draw leaves out.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Requests that a run on these windows serves, those that warm up included.
    pub fn requests_served(&self) -> usize {
        self.windows().map(|window| window.requests.len()).sum()
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.drawn.iter().map(|drawn| &self.points.windows[drawn.window])
    }

    /// The measured requests of the windows, as if one window followed the other.
    fn requests(&self) -> Vec<Request> {
        let mut all: Vec<Request> = Vec::new();
        let mut ends = Nanos::ZERO;
        for window in self.windows() {
            let measured = self.points.options.measured as usize;
            let own = window.requests.iter().skip(window.warm_up as usize).take(measured + 1);
            let own: Vec<&Request> = own.collect();
            let begins = own.first().map_or(Nanos::ZERO, |request| request.at);
            let at = |request: &Request| ends + (request.at - begins);
            all.extend(own.iter().take(measured).map(|request| Request {
                at: at(request),
                tenant: TenantId(0),
                ..**request
            }));
            ends = own.last().map_or(ends, |last| at(last));
        }
        all
    }

    /// The digest of the trace, of the windows and of their chances.
    fn digest(&self) -> Digest {
        let mut digester = Digester::new("ssdtune windows");
        digester.digest("points", self.digest).number("windows", self.drawn.len() as u64);
        for drawn in &self.drawn {
            digester.number("window", drawn.window as u64).real("chance", drawn.chance);
        }
        digester.finish()
    }
}

fn population(points: &LivePoints, sizes: &[f64]) -> Arc<Population> {
    let measured = sizes.len() as u64 * u64::from(points.options.measured);
    let covered = (measured as f64 / points.requests as f64).clamp(f64::MIN_POSITIVE, 1.0);
    let alike = Population::new(sizes, covered, points.options.seed);
    // Live-points have two windows at least, so that each half has one.
    Arc::new(alike.expect("a pass keeps two windows or more"))
}

/// The digest of a trace, and of how it was sampled.
fn digest(points: &LivePoints) -> Digest {
    let mut digester = Digester::new("ssdtune live-points");
    digester.number("epoch", RESTORED_EPOCH.into());
    digester
        .bytes("trace", &points.about.fingerprint)
        .number("page bytes", points.options.page_bytes.into())
        .number("warm-up", points.options.warm_up.into())
        .number("measured", points.options.measured.into())
        .number("seed", points.options.seed)
        .number("windows", points.windows.len() as u64);
    digester.finish()
}

impl Trace {
    /// A trace that is measured on windows alone.
    pub fn of_windows(name: impl Into<String>, windows: Windows) -> Self {
        let (requests, digest) = (windows.requests(), windows.digest());
        let footprint = windows.points.extents();
        let trace = Self { digest, ..Self::new(name, requests) };
        // Nobody has asked for it before.
        let _ = trace.footprint.set(footprint);
        Self { windows: Some(Arc::new(windows)), ..trace }
    }

    /// The windows that it is measured on, if it is too long to be run whole.
    pub fn windows(&self) -> Option<&Windows> {
        self.windows.as_deref()
    }

    /// The trace with every second of its windows, and with those between them; `None` if it is not
    /// measured on windows.
    pub(crate) fn window_halves(&self) -> Option<(Self, Self)> {
        let (one, other) = self.windows()?.clone().halves();
        Some((self.with_windows(one), self.with_windows(other)))
    }

    /// The trace with all its requests: itself or, if it is measured on windows, read again. `None`
    /// where there is nothing to read, or where other requests are there by now.
    pub(crate) fn whole(&self) -> Option<Self> {
        let Some(windows) = self.windows() else { return Some(self.clone()) };
        let WholeTrace { source, space } = windows.whole.as_deref()?;
        let requests = source.requests_of(&windows.points, *space).ok()??;
        Some(Self { warnings: self.warnings.clone(), ..Self::new(&*self.name, requests) })
    }

    /// The requests of [`Trace::whole`], before anything is read.
    pub(super) fn whole_requests(&self) -> Option<u64> {
        match self.windows() {
            Some(windows) => windows.whole.is_some().then_some(windows.points.requests),
            None => Some(self.length as u64),
        }
    }

    /// This trace, measured on these windows of it.
    #[must_use]
    pub fn with_windows(&self, windows: Windows) -> Self {
        Self { warnings: self.warnings.clone(), ..Self::of_windows(&*self.name, windows) }
    }
}
