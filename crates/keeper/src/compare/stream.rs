//! A mix of any length, request by request: what [`merged_requests`](super::merged_requests) makes,
//! without keeping it.
//!
//! Cost: each opening reads all workloads, those whose gaps are closed twice; before the first one,
//! they are read once for the ends of the tenants (`even`) and once for the speed (`level`).

use super::CompareError;
use super::merge::{MergeOptions, paced};
use crate::features::pages_of;
use ssdtune_experiment::{
    Blank, FallibleRequests, Fitted, Position, RequestSource, SourceError, Upcoming, page_sectors,
};
use ssdtune_model::{CheckedConfig, Nanos, Sectors};
use ssdtune_sim::{Observe, Simulator, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, Ordering};

/// Workloads of tenants that share a drive.
#[derive(Debug)]
pub struct LongMix<'a> {
    sources: &'a [RequestSource],
    options: MergeOptions,
    spaces: Vec<Sectors>,
    page: Sectors,
    /// The factor on the times of each tenant.
    factors: Vec<f64>,
    /// The factor on all times, once they begin at 0.
    speed: f64,
}

impl<'a> LongMix<'a> {
    /// Finds out how fast the workloads are to come. Pipes must have been made repeatable.
    ///
    /// # Errors
    /// As of [`merged_requests`](super::merged_requests), or `stop` was set.
    pub fn new(
        device: &CheckedConfig,
        sources: &'a [RequestSource],
        options: MergeOptions,
        stop: &AtomicBool,
    ) -> Result<Self, CompareError> {
        let tenants = vec![Tenant::sole(device); sources.len()];
        let spaces = Blank::new(device, &tenants, Observe::default()).address_spaces()?;
        let page = page_sectors(device.geometry().page_bytes);
        let factors = vec![1.0; sources.len()];
        let mut mix = Self { sources, options, spaces, page, factors, speed: 1.0 };
        if options.even {
            let end = |tenant| -> Result<u64, SourceError> {
                let mut requests =
                    mix.tenant(tenant)?.take_while(|_| !stop.load(Ordering::Relaxed));
                requests.try_fold(0, |_, request| Ok(request?.at.0))
            };
            let ends: Vec<u64> = (0..sources.len()).map(end).collect::<Result<_, _>>()?;
            let longest = ends.iter().copied().max().unwrap_or(0);
            mix.factors = ends.iter().map(|&end| longest as f64 / end.max(1) as f64).collect();
        }
        if options.level.is_some() {
            let (mut pages, mut last) = (0, 0);
            for request in mix.open()?.take_while(|_| !stop.load(Ordering::Relaxed)) {
                let request = request?;
                pages += mix.pages(&request);
                last = request.at.0;
            }
            mix.speed = paced(&options, pages, last)?;
        }
        match stop.load(Ordering::Relaxed) {
            true => Err(CompareError::Interrupted),
            false => Ok(mix),
        }
    }

    /// Opens it from its beginning.
    ///
    /// # Errors
    /// A workload cannot be opened.
    pub fn open(&self) -> Result<MixRequests, SourceError> {
        let tenants = (0..self.sources.len()).map(|tenant| Ok(self.tenant(tenant)?.peekable()));
        Ok(MixRequests {
            tenants: tenants.collect::<Result<_, SourceError>>()?,
            factors: self.factors.clone(),
            speed: self.speed,
            first: None,
            left: self.options.requests_max,
        })
    }

    /// What messages call the workloads.
    pub fn names(&self) -> Vec<String> {
        self.sources.iter().map(RequestSource::name).collect()
    }

    /// How many tenants there are.
    pub fn tenants(&self) -> usize {
        self.sources.len()
    }

    /// Flash pages that a read or write touches.
    pub(super) fn pages(&self, request: &Request) -> u64 {
        match request.op {
            Op::Read | Op::Write => pages_of(request, self.page.0 as u32),
            Op::Trim | Op::Flush => 0,
        }
    }

    fn tenant(&self, tenant: usize) -> Result<Fitted, SourceError> {
        let space = &self.spaces[tenant..=tenant];
        self.sources[tenant].open(space, self.page, &Position::default())
    }
}

impl Upcoming for LongMix<'_> {
    fn open<'a>(&'a self, _: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        Ok(Box::new(self.open()?))
    }
}

/// The requests of a mix in order of time.
pub struct MixRequests {
    tenants: Vec<Peekable<Fitted>>,
    factors: Vec<f64>,
    speed: f64,
    /// When the first request came.
    first: Option<u64>,
    left: usize,
}

impl Iterator for MixRequests {
    type Item = Result<Request, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut next: Option<(u64, usize)> = None;
        let heads = self.tenants.iter_mut().zip(&self.factors).zip(0..);
        for ((requests, factor), tenant) in heads {
            let at = match requests.peek() {
                None => continue,
                Some(Ok(request)) => (request.at.0 as f64 * factor) as u64,
                Some(Err(_)) => return requests.next(),
            };
            if next.is_none_or(|(first, _)| at < first) {
                next = Some((at, tenant));
            }
        }
        let (at, tenant) = next?;
        let first = *self.first.get_or_insert(at);
        let request = self.tenants[tenant].next()?;
        Some(request.map(|request| Request {
            at: Nanos((at.saturating_sub(first) as f64 * self.speed) as u64),
            tenant: TenantId(tenant as u16),
            ..request
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::merged_requests;
    use super::*;
    use crate::vector::Intensity;
    use ssdtune_experiment::AddressFit;
    use ssdtune_model::{presets, scramble};

    /// Requests at irregular times, of which some come together.
    fn source(seed: u64, count: u64, step: u64) -> RequestSource {
        let request = |nth: u64| Request {
            at: Nanos(5_000 + nth * step / 3 * 3),
            lba: Sectors(scramble(nth ^ seed) % 4_000 * 8),
            sectors: 8 + (scramble(nth) % 64) as u32,
            tenant: TenantId(7),
            op: if scramble(seed + nth).is_multiple_of(3) { Op::Write } else { Op::Read },
        };
        let source =
            RequestSource::of_requests("made", (0..count).map(request).collect::<Vec<_>>());
        RequestSource { fit: Some(AddressFit::Compact), ..source }
    }

    #[test]
    fn a_long_mix_is_the_mix_that_is_kept_in_memory() {
        let device = presets::load("ssdkeeper").unwrap().check().unwrap();
        let sources = [source(1, 900, 1_000), source(2, 500, 1_000), source(3, 700, 2_500)];
        let (stop, intensity) =
            (AtomicBool::new(false), Intensity { requests_per_s_max: 17_500.0 });
        for even in [false, true] {
            for level in [None, Some(9)] {
                for requests_max in [usize::MAX, 1_234] {
                    let options = MergeOptions { even, requests_max, level, intensity };
                    let whole = merged_requests(&device, &sources, &options).unwrap();
                    let mix = LongMix::new(&device, &sources, options, &stop).unwrap();
                    let long: Vec<Request> = mix.open().unwrap().collect::<Result<_, _>>().unwrap();
                    assert_eq!(long, whole, "{options:?}");
                }
            }
        }
    }
}
