//! An experiment whose one flow is sampled instead of served whole.

use super::{SampledError, SampledReport, WindowServer, WindowTask};
use crate::error::SourceError;
use crate::experiment::Experiment;
use crate::fit::{AddressFit, Fitted};
use crate::livepoints::fingerprint::Fingerprint;
use crate::livepoints::{LivePoints, LivePointsError, SampleOptions, Sampler};
use crate::preparation::Start;
use crate::prepare::Upcoming;
use crate::source::{Position, RequestSource, page_sectors};
use ssdtune_estimate::Population;
use ssdtune_model::Sectors;
use ssdtune_sim::{Observe, Simulator};
use ssdtune_trace::{Request, TenantId};
use std::sync::atomic::{AtomicBool, Ordering};

/// Windows that are served first; then twice as many, and so on.
const FIRST_WINDOWS: usize = 60;
/// Requests between two looks at the stop flag.
const LOOK_EVERY: u64 = 1 << 16;

/// A request of the only tenant. One that crosses `end`, where addresses are folded back, goes on
/// at the beginning of a drive; windows cannot say that, so it is moved to end there.
fn within(request: Request, end: Option<Sectors>) -> Request {
    let last = end.map(|end| Sectors(end.0.saturating_sub(request.sectors.into())));
    let lba = last.map_or(request.lba, |last| request.lba.min(last));
    Request { tenant: TenantId(0), lba, ..request }
}

/// Passes over requests, each [`within`] `end`.
fn pass(
    requests: impl Iterator<Item = Result<Request, SourceError>>,
    options: &SampleOptions,
    end: Option<Sectors>,
    stop: &AtomicBool,
    told: &dyn Fn(u64),
) -> Result<Sampler, SampledError> {
    let mut sampler = Sampler::new(*options)?;
    for (request, nth) in requests.zip(0..) {
        sampler.push(&within(request?, end))?;
        if u64::is_multiple_of(nth, LOOK_EVERY) {
            told(if nth == 0 { 0 } else { LOOK_EVERY });
            if stop.load(Ordering::Relaxed) {
                return Err(SampledError::Interrupted);
            }
        }
    }
    Ok(sampler)
}

impl RequestSource {
    /// Passes over its requests and keeps windows of them, for drives that have `space` sectors and
    /// pages of the size in `options`. `None` if there are so few requests that they can be run
    /// whole: not more than `above`. `told` is called for every 65,536 requests
    /// that were passed, with their number.
    ///
    /// # Errors
    /// Requests do not come, their pages need too much memory, or `stop` was set.
    pub fn sample(
        &self,
        space: Sectors,
        options: &SampleOptions,
        above: u64,
        stop: &AtomicBool,
        told: &dyn Fn(u64),
    ) -> Result<Option<LivePoints>, SampledError> {
        let (requests, end) = self.passed(space, options)?;
        let sampler = pass(requests, options, end, stop, told)?;
        if sampler.requests() <= above {
            return Ok(None);
        }
        Ok(Some(sampler.finish()?))
    }

    /// All requests that [`RequestSource::sample`] has passed over for these live-points, on drives
    /// that have `space` sectors; `None` if there are others by now.
    ///
    /// # Errors
    /// Requests do not come.
    pub fn requests_of(
        &self,
        points: &LivePoints,
        space: Sectors,
    ) -> Result<Option<Vec<Request>>, SourceError> {
        let (requests, end) = self.passed(space, &points.options)?;
        let (mut all, mut fingerprint) = (Vec::new(), Fingerprint::default());
        for request in requests {
            let request = within(request?, end);
            fingerprint.push(&request);
            all.push(request);
            if all.len() as u64 > points.requests {
                return Ok(None);
            }
        }
        Ok((fingerprint.finish() == points.about.fingerprint).then_some(all))
    }

    /// Its requests for drives that have `space` sectors, and where addresses are folded back.
    fn passed(
        &self,
        space: Sectors,
        options: &SampleOptions,
    ) -> Result<(Fitted, Option<Sectors>), SourceError> {
        let page = page_sectors(options.page_bytes);
        let requests = self.open(&[space], page, &Position::default())?;
        Ok((requests, (self.fit == Some(AddressFit::Wrap)).then_some(space)))
    }
}

impl Experiment {
    /// Passes over the requests of its only flow and keeps windows of them, with pages of the
    /// device's size. `told` is called for every 65,536 requests that were passed, with their
    /// number.
    ///
    /// # Errors
    /// There are several flows, requests do not come, their pages need too much memory, or `stop`
    /// was set.
    pub fn sample(
        &self,
        options: &SampleOptions,
        stop: &AtomicBool,
        told: &dyn Fn(u64),
    ) -> Result<LivePoints, SampledError> {
        self.check_sampled()?;
        let page_bytes = self.device.geometry().page_bytes;
        let options = SampleOptions { page_bytes, ..*options };
        let drive = Simulator::new(&self.device, &self.tenants, Observe::default())
            .map_err(LivePointsError::from)?;
        let folded = self.flows.iter().any(|flow| flow.source.fit == Some(AddressFit::Wrap));
        let end = folded.then(|| drive.address_space(TenantId(0)).sectors_floor());
        Ok(pass(self.open(&drive)?, &options, end, stop, told)?.finish()?)
    }

    /// Serves windows of its flow: all of them, or with `precision` (0.02: 2 %) 60, and then twice
    /// as many until the mean latency is known that well. `told` is called with the number of
    /// requests of each window.
    ///
    /// # Errors
    /// As of [`Experiment::sample`], and where the drive cannot be restored or is unfit.
    pub fn run_sampled(
        &self,
        points: &LivePoints,
        precision: Option<f64>,
        stop: &AtomicBool,
        told: &(dyn Fn(u64) + Sync),
    ) -> Result<SampledReport, SampledError> {
        self.check_sampled()?;
        let (device, preparation) = (&self.device, &self.preparation);
        let task = WindowTask { points, device, preparation, replay: self.flows[0].replay };
        let all = points.windows.len();
        let serve =
            |windows: &[usize]| WindowServer::new(task, windows, stop)?.serve(windows, stop, told);
        let Some(precision) = precision else {
            let runs = serve(&(0..all).collect::<Vec<usize>>())?;
            return SampledReport::of(points, &runs).ok_or(SampledError::Nothing);
        };
        let alike = Population::new(&vec![1.0; all], 1.0, points.options.seed)
            .map_err(|_| SampledError::Nothing)?;
        let (mut runs, mut count) = (Vec::new(), FIRST_WINDOWS);
        loop {
            let wanted = alike.sample(count).drawn.into_iter().map(|drawn| drawn.window);
            let known =
                |window: &usize| runs.iter().any(|run: &super::WindowRun| run.window == *window);
            let more: Vec<usize> = wanted.filter(|window| !known(window)).collect();
            runs.extend(serve(&more)?);
            runs.sort_by_key(|run| run.window);
            let report = SampledReport::of(points, &runs).ok_or(SampledError::Nothing)?;
            if runs.len() == all || report.precision().is_some_and(|own| own <= precision) {
                return Ok(report);
            }
            count *= 2;
        }
    }

    /// Checks that its drive can be restored at windows of its flow.
    ///
    /// # Errors
    /// There are several flows, or the drive begins otherwise than windows can be restored.
    pub fn check_sampled(&self) -> Result<(), SampledError> {
        if self.flows.len() != 1 || self.tenants.len() != 1 {
            return Err(SampledError::Flows { flows: self.flows.len().max(self.tenants.len()) });
        }
        let start = &self.preparation.start;
        match (start, self.preparation.ages.is_empty() && self.preparation.erases == 0) {
            (Start::Footprint | Start::Steady(_), true) => Ok(()),
            (_, true) => Err(SampledError::Start { start: start.to_string() }),
            (_, false) => Err(SampledError::Start { start: format!("{start} with --age") }),
        }
    }
}
