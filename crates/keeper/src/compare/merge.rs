//! Requests of several workloads as one mix: in order of time, at the speed asked for.

use super::plans::total_pages;
use crate::vector::{Intensity, LEVELS};
use ssdtune_experiment::{Blank, Position, RequestSource, SourceError, page_sectors};
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{Observe, SimError, Tenant};
use ssdtune_trace::{Request, TenantId};

/// How workloads become a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeOptions {
    /// Whether each tenant's speed is first changed so that all end together.
    pub even: bool,
    /// How many requests are kept: the first in order of time.
    pub requests_max: usize,
    /// The intensity level that the mix is to have in the mean, 1 to 20; `None` keeps its speed.
    pub level: Option<u8>,
    /// How intensity levels are measured.
    pub intensity: Intensity,
}

/// Why workloads do not become a mix.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The drive cannot be simulated with this number of tenants.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The requests of a workload do not come.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// The requests have no speed that could be changed.
    #[error("the mix has no reads and writes over some time")]
    NoDuration,
}

/// Reads the workloads of tenants that share a drive, the first tenant's first, and merges them
/// into one mix that begins at time 0. Each tenant has an equal part of the drive's addresses.
///
/// # Errors
/// The drive cannot be simulated, a workload cannot be read, there are no reads and writes, or all
/// requests come at one time.
pub fn merged_requests(
    device: &CheckedConfig,
    sources: &[RequestSource],
    options: &MergeOptions,
) -> Result<Vec<Request>, MergeError> {
    let tenants = vec![Tenant::sole(device); sources.len()];
    let spaces = Blank::new(device, &tenants, Observe::default()).address_spaces()?;
    let page = page_sectors(device.geometry().page_bytes);
    let read = |(tenant, source): (usize, &RequestSource)| {
        source.open(&spaces[tenant..=tenant], page, &Position::default())?.collect()
    };
    let workloads: Vec<Vec<Request>> =
        sources.iter().enumerate().map(read).collect::<Result<_, SourceError>>()?;
    merge(workloads, device.geometry().sectors_per_page(), options)
}

/// Merges the requests of each tenant, given in order of time, into one mix that begins at time 0.
/// `page_sectors` is the size of a flash page.
fn merge(
    workloads: Vec<Vec<Request>>,
    page_sectors: u32,
    options: &MergeOptions,
) -> Result<Vec<Request>, MergeError> {
    let end = |requests: &[Request]| requests.last().map_or(0, |request| request.at.0);
    let longest = workloads.iter().map(|requests| end(requests)).max().unwrap_or(0);
    let mut mix: Vec<Request> = Vec::new();
    for (tenant, requests) in workloads.into_iter().enumerate() {
        let length = end(&requests).max(1);
        let factor = if options.even { longest as f64 / length as f64 } else { 1.0 };
        let tenant = TenantId(tenant as u16);
        mix.extend(requests.into_iter().map(|request| Request {
            tenant,
            at: Nanos((request.at.0 as f64 * factor) as u64),
            ..request
        }));
    }
    mix.sort_by_key(|request| (request.at, request.tenant.0));
    mix.truncate(options.requests_max);
    let first = mix.first().map_or(0, |request| request.at.0);
    let last = end(&mix);
    let pages = total_pages(&mix, page_sectors);
    let factor = paced(options, pages, last - first)?;
    for request in &mut mix {
        request.at = Nanos(((request.at.0 - first) as f64 * factor) as u64);
    }
    Ok(mix)
}

/// The factor on the times of a mix at which it has the intensity level asked for; 1 if none is.
/// `pages` is how many flash pages the mix touches, `span` how many nanoseconds it takes.
pub(super) fn paced(options: &MergeOptions, pages: u64, span: u64) -> Result<f64, MergeError> {
    if pages == 0 || span == 0 {
        return Err(MergeError::NoDuration);
    }
    Ok(options.level.map_or(1.0, |level| {
        let rate_max = options.intensity.requests_per_s_max;
        let wanted = (f64::from(level) - 0.5) / f64::from(LEVELS) * rate_max;
        pages as f64 * 1e9 / span as f64 / wanted
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::Sectors;
    use ssdtune_trace::Op;

    /// Reads of one page of 8 sectors at these times, in milliseconds.
    fn reads(at_ms: &[u64]) -> Vec<Request> {
        let read = |&ms: &u64| Request {
            at: Nanos::from_ms(ms),
            lba: Sectors(8 * ms),
            sectors: 8,
            tenant: TenantId(9),
            op: Op::Read,
        };
        at_ms.iter().map(read).collect()
    }

    const OPTIONS: MergeOptions = MergeOptions {
        even: false,
        requests_max: 100,
        level: None,
        intensity: Intensity { requests_per_s_max: 1_000.0 },
    };

    fn merged(options: &MergeOptions) -> Vec<(u64, u16)> {
        let workloads = vec![reads(&[10, 20, 30]), reads(&[5, 15])];
        let mix = merge(workloads, 8, options).unwrap();
        mix.iter().map(|request| (request.at.0 / 1_000, request.tenant.0)).collect()
    }

    #[test]
    fn requests_are_in_order_of_time_at_the_speed_asked_for() {
        let plain = [(0, 1), (5_000, 0), (10_000, 1), (15_000, 0), (25_000, 0)];
        assert_eq!(merged(&OPTIONS), plain);
        // The second workload ends at 30 ms too; the mix begins with its first request at 10 ms.
        let even = MergeOptions { even: true, requests_max: 4, ..OPTIONS };
        assert_eq!(merged(&even), [(0, 0), (0, 1), (10_000, 0), (20_000, 0)]);
        // Five pages in 25 ms are 200 a second; level 10 of 1,000 a second is 475.
        let level = MergeOptions { level: Some(10), ..OPTIONS };
        assert_eq!(merged(&level).last(), Some(&(10_526, 0)));
    }

    #[test]
    fn a_mix_without_duration_or_pages_has_no_speed() {
        let at_once = vec![reads(&[7]), reads(&[7])];
        assert!(matches!(merge(at_once, 8, &OPTIONS), Err(MergeError::NoDuration)));
        let trims = reads(&[1, 2]).into_iter().map(|read| Request { op: Op::Trim, ..read });
        let trims = merge(vec![trims.collect()], 8, &OPTIONS);
        assert!(matches!(trims, Err(MergeError::NoDuration)));
    }
}
