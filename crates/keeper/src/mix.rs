//! Synthetic mixes: tenants that mostly read or mostly write and share a drive (section V-A).
//!
//! A mix is one point of the feature space: an intensity level, and for each tenant its kind (it
//! mostly writes, or mostly reads) and its share of the flash pages asked for. Requests go to
//! places drawn uniformly from the tenant's working set. A small share of a tenant's requests
//! ([`MINORITY`]) is not of its kind.
//!
//! In a *plain* mix requests arrive at random (a Poisson process), reads of several pages and
//! writes of one ([`REQUEST_PAGES`]). Real volumes are not like that. So in a share of the mixes
//! ([`BURSTY`]) each tenant has the [`BurstShape`] of a recorded trace.
//!
//! Where all tenants ask for much, sharing is nearly always best. So in a share of the mixes
//! ([`UNEVEN`]) the tenants of one kind ask for a small part of the pages, 1 to 12 % of them.
//!
//! Mix number `i` of a seed and its requests are always the same, whichever other mixes are drawn.

use crate::bursts::{BurstShape, NamedShape, library};
use crate::rates::Rates;
use crate::vector::LEVELS;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, TenantId};
use std::ops::Range;

/// The share of a tenant's requests that are not of its kind, 0 to 1. On the six volumes of Table
/// II it is 1 to 12 %, 6 % in the mean.
pub const MINORITY: f64 = 0.05;

/// Flash pages of a read and of a write request. With pages of 16 KiB that is about what the
/// volumes of Table II read (36 to 56 KiB) and write (4 to 16 KiB) at once.
pub const REQUEST_PAGES: [u32; 2] = [4, 1];

/// The share of mixes, 0 to 1, whose tenants come in bursts.
pub const BURSTY: f64 = 0.34;

/// The share of mixes, 0 to 1, in which one kind of tenant asks for little.
pub const UNEVEN: f64 = 0.75;

/// What the tenants of one kind ask for in an uneven mix, as a share of all pages.
const LIGHT: Range<f64> = 0.01..0.12;
/// The share of uneven mixes in which they are the writers: light readers gain less by channels of
/// their own, since reads go before writes.
const LIGHT_WRITES: f64 = 0.9;
/// The share of the requests of a tenant of an uneven mix that are not of its kind. Of the traces
/// that are read the most, some are written to never and others a tenth.
const UNEVEN_MINORITY: Range<f64> = 0.0002..0.02;
/// The lowest level of an uneven mix: below, hardly anybody waits.
const UNEVEN_LEVEL: u8 = 12;

/// One tenant of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixTenant {
    /// Whether it mostly writes; otherwise it mostly reads.
    pub writes: bool,
    /// Its share of the flash pages that the mix asks for, 0 to 1.
    pub share: f64,
    /// The share of its requests that are not of its kind, 0 to 1, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minority: Option<f64>,
    /// How it comes in bursts; `None` for a tenant whose requests arrive at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstShape>,
}

impl MixTenant {
    /// A tenant of a plain mix; `share` is its share of the flash pages, 0 to 1.
    pub fn plain(writes: bool, share: f64) -> Self {
        Self { writes, share, minority: None, bursts: None }
    }

    /// The share of its requests that are not of its kind, 0 to 1.
    fn minority(&self, options: &RequestOptions) -> f64 {
        self.minority.unwrap_or(options.minority)
    }
}

/// What mixes are drawn like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixStyle {
    /// The share of mixes, 0 to 1, whose tenants come in bursts.
    pub bursty: f64,
    /// The share of mixes, 0 to 1, in which one kind of tenant asks for little.
    pub uneven: f64,
    /// Whether bursts have the shapes that are kept from training, instead of the others.
    pub unseen: bool,
}

impl MixStyle {
    /// Plain mixes, as the paper has them.
    pub const PLAIN: Self = Self { bursty: 0.0, uneven: 0.0, unseen: false };
}

impl Default for MixStyle {
    /// The mixes to learn from.
    fn default() -> Self {
        Self { bursty: BURSTY, uneven: UNEVEN, unseen: false }
    }
}

/// Tenants that share a drive, and how much they ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The intensity level, from 1 to 20.
    pub level: u8,
    /// The tenants, in the order of their numbers.
    pub tenants: Vec<MixTenant>,
}

/// How the requests of a mix are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestOptions {
    /// Flash pages a second at which intensity level 20 ends.
    pub rate_max_pages: f64,
    /// How many requests there are.
    pub requests: u64,
    /// Flash pages of each tenant's working set: the first of its address space.
    pub working_set_pages: u64,
    /// The share of a tenant's requests that are not of its kind, 0 to 1.
    pub minority: f64,
    /// Flash pages of a read and of a write request of a plain mix.
    pub request_pages: [u32; 2],
    /// Sectors of a flash page.
    pub page_sectors: u32,
    /// Decides the random draws.
    pub seed: u64,
}

impl Mix {
    /// Draws the mix of a number. All levels and kinds are equally likely, and so are all ways to
    /// divide the pages among the tenants of one kind.
    pub fn draw(seed: u64, number: u64, tenants: usize, style: MixStyle) -> Self {
        let mut rng = stream(seed, number, MIXES);
        let level = rng.random_range(1..=LEVELS);
        let parts: Vec<f64> = (0..tenants).map(|_| Exp1.sample(&mut rng)).collect();
        let all: f64 = parts.iter().sum();
        let mut tenants: Vec<MixTenant> =
            parts.into_iter().map(|part| MixTenant::plain(rng.random(), part / all)).collect();
        let (mut rng, mut level) = (stream(seed, number, STYLES), level);
        if rng.random::<f64>() < style.uneven {
            level = rng.random_range(UNEVEN_LEVEL..=LEVELS);
            make_uneven(&mut tenants, &mut rng);
        }
        if rng.random::<f64>() < style.bursty {
            let shapes: Vec<&NamedShape> =
                library().iter().filter(|one| one.unseen == style.unseen).collect();
            for tenant in &mut tenants {
                tenant.bursts = Some(shapes[rng.random_range(0..shapes.len())].shape);
            }
        }
        Self { level, tenants }
    }

    /// Whether its tenants come in bursts.
    pub fn is_bursty(&self) -> bool {
        self.tenants.iter().any(|tenant| tenant.bursts.is_some())
    }

    /// Whether each tenant mostly writes.
    pub fn writers(&self) -> Vec<bool> {
        self.tenants.iter().map(|tenant| tenant.writes).collect()
    }

    /// Flash pages a second that all tenants ask for together: the middle of the level. Level 20
    /// ends at `rate_max_pages`.
    pub fn rate_pages(&self, rate_max_pages: f64) -> f64 {
        (f64::from(self.level) - 0.5) / f64::from(LEVELS) * rate_max_pages
    }

    /// What each tenant of a plain mix asks for in a second, with requests of [`REQUEST_PAGES`] and
    /// a share of [`MINORITY`] that is not of its kind.
    pub fn rates(&self, rate_max_pages: f64) -> Vec<Rates> {
        let all_pages = self.rate_pages(rate_max_pages);
        let of = |tenant: &MixTenant| {
            let of_kind =
                |writes: bool| if writes == tenant.writes { 1.0 - MINORITY } else { MINORITY };
            let shares = [of_kind(false), of_kind(true)];
            let pages = REQUEST_PAGES.map(f64::from);
            let requests = all_pages * tenant.share / (shares[0] * pages[0] + shares[1] * pages[1]);
            let requests = shares.map(|share| share * requests);
            Rates { requests, pages: [requests[0] * pages[0], requests[1] * pages[1]] }
        };
        self.tenants.iter().map(of).collect()
    }

    /// The requests of the mix, in order of time.
    pub fn requests(&self, options: RequestOptions) -> impl Iterator<Item = Request> + '_ {
        let rates = self.requests_per_ns(&options);
        let all_ns = options.requests as f64 / rates.iter().sum::<f64>();
        let mut sources: Vec<TenantSource> = (self.tenants.iter().enumerate())
            .map(|(number, tenant)| {
                TenantSource::new(tenant, number, rates[number], all_ns, &options)
            })
            .collect();
        (0..options.requests).map_while(move |_| {
            let next = |a: &&mut TenantSource, b: &&mut TenantSource| a.at_ns.total_cmp(&b.at_ns);
            let source = sources.iter_mut().min_by(next).expect("a mix has tenants");
            let request = source.at_ns.is_finite().then(|| source.request(&options));
            source.advance();
            request
        })
    }

    /// Requests of each tenant in a nanosecond.
    fn requests_per_ns(&self, options: &RequestOptions) -> Vec<f64> {
        let rate_pages = self.rate_pages(options.rate_max_pages);
        let of = |tenant: &MixTenant| {
            let pages = |writes: bool| {
                let op = if writes { Op::Write } else { Op::Read };
                mean_pages(tenant, op, options)
            };
            let (own, other) = (pages(tenant.writes), pages(!tenant.writes));
            rate_pages * tenant.share / (own + tenant.minority(options) * (other - own)) / 1e9
        };
        self.tenants.iter().map(of).collect()
    }
}

/// Gives the tenants of one kind a small share of the pages, and makes sure that there are both
/// kinds.
fn make_uneven(tenants: &mut [MixTenant], rng: &mut Pcg64) {
    let light_writes = rng.random::<f64>() < LIGHT_WRITES;
    let light = log_uniform(LIGHT, rng);
    let count = tenants.len();
    if tenants.iter().all(|one| one.writes == tenants[0].writes) {
        let turned = rng.random_range(0..count);
        tenants[turned].writes = !tenants[turned].writes;
    }
    for tenant in &mut *tenants {
        tenant.minority = Some(log_uniform(UNEVEN_MINORITY, rng));
    }
    for writes in [false, true] {
        let wanted = if writes == light_writes { light } else { 1.0 - light };
        let own = || tenants.iter().filter(|one| one.writes == writes);
        let factor = wanted / own().map(|one| one.share).sum::<f64>();
        let scale = |one: &mut MixTenant| one.share *= factor;
        tenants.iter_mut().filter(|one| one.writes == writes).for_each(scale);
    }
}

/// A number whose logarithm is equally likely everywhere in the range.
fn log_uniform(range: Range<f64>, rng: &mut Pcg64) -> f64 {
    rng.random_range(range.start.ln()..range.end.ln()).exp()
}

/// The requests of one tenant.
struct TenantSource {
    rng: Pcg64,
    tenant: MixTenant,
    number: usize,
    /// When the next request comes, in nanoseconds; infinite after the last one.
    at_ns: f64,
    arrivals: Arrivals,
}

/// When the requests of a tenant come.
enum Arrivals {
    /// At random: requests in a nanosecond.
    Random(f64),
    /// At these times, in nanoseconds.
    Drawn(std::vec::IntoIter<f64>),
}

impl TenantSource {
    /// `rate` is in requests a nanosecond, `all_ns` how long the mix lasts.
    fn new(
        tenant: &MixTenant,
        number: usize,
        rate: f64,
        all_ns: f64,
        options: &RequestOptions,
    ) -> Self {
        let mut rng = stream(options.seed, number as u64, REQUESTS);
        let arrivals = match &tenant.bursts {
            None => Arrivals::Random(rate),
            Some(shape) => {
                let times = shape.draw_times((rate * all_ns).round() as u64, &mut rng);
                let times: Vec<f64> = times.into_iter().map(|time| time * all_ns).collect();
                Arrivals::Drawn(times.into_iter())
            }
        };
        let mut source = Self { rng, tenant: *tenant, number, at_ns: 0.0, arrivals };
        source.advance();
        source
    }

    /// Moves on to the time of the next request.
    fn advance(&mut self) {
        self.at_ns = match &mut self.arrivals {
            Arrivals::Random(rate) => {
                let draw: f64 = Exp1.sample(&mut self.rng);
                self.at_ns + draw / *rate
            }
            Arrivals::Drawn(times) => times.next().unwrap_or(f64::INFINITY),
        };
    }

    /// The request at the current time.
    fn request(&mut self, options: &RequestOptions) -> Request {
        let is_other = self.rng.random::<f64>() < self.tenant.minority(options);
        let op = if self.tenant.writes != is_other { Op::Write } else { Op::Read };
        let set = options.working_set_pages * u64::from(options.page_sectors);
        let (lba, sectors) = match &self.tenant.bursts {
            None => {
                let pages = options.request_pages[usize::from(op == Op::Write)];
                let starts = options.working_set_pages.saturating_sub(pages.into()) + 1;
                let page = self.rng.random_range(0..starts);
                (page * u64::from(options.page_sectors), pages * options.page_sectors)
            }
            Some(shape) => {
                let sectors = shape.draw_sectors(op, &mut self.rng);
                // At a multiple of its own size, as file systems place it.
                let starts = (set / u64::from(sectors)).max(1);
                (self.rng.random_range(0..starts) * u64::from(sectors), sectors)
            }
        };
        let tenant = TenantId(self.number as u16);
        Request { at: Nanos(self.at_ns as u64), lba: Sectors(lba), sectors, tenant, op }
    }
}

/// Mean number of flash pages that one request of a tenant touches.
fn mean_pages(tenant: &MixTenant, op: Op, options: &RequestOptions) -> f64 {
    match &tenant.bursts {
        None => f64::from(options.request_pages[usize::from(op == Op::Write)]),
        Some(shape) => shape.mean_pages(op, options.page_sectors),
    }
}

// What a random stream is for: each purpose has streams of its own.
const MIXES: u64 = 0;
const REQUESTS: u64 = 1;
const STYLES: u64 = 2;

fn stream(seed: u64, number: u64, purpose: u64) -> Pcg64 {
    let mut bytes = [0; 32];
    for (to, from) in bytes.chunks_exact_mut(8).zip([seed, number, purpose, 0x006b_6565_7065_7221])
    {
        to.copy_from_slice(&from.to_le_bytes());
    }
    Pcg64::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{ObservedMix, first_period};
    use crate::vector::Intensity;

    const OPTIONS: RequestOptions = RequestOptions {
        rate_max_pages: 80_000.0,
        requests: 40_000,
        working_set_pages: 500,
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        page_sectors: 32,
        seed: 9,
    };

    const INTENSITY: Intensity = Intensity { requests_per_s_max: OPTIONS.rate_max_pages };

    #[test]
    fn the_features_of_the_requests_are_those_of_the_mix() {
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4, MixStyle::PLAIN);
            let requests: Vec<Request> = mix.requests(OPTIONS).collect();
            assert_eq!(requests.len() as u64, OPTIONS.requests);
            assert!(requests.is_sorted_by_key(|request| request.at));
            let period = first_period(&requests, 4, Nanos::MAX, OPTIONS.page_sectors);
            let seen = ObservedMix::new(&period, INTENSITY);
            assert!(seen.burst.abs() < 3.5, "mix {number} comes at random: {}", seen.burst);
            assert_eq!(seen.level + 1, mix.level, "mix {number}");
            for (tenant, drawn) in mix.tenants.iter().enumerate() {
                assert!((seen.shares[tenant] - drawn.share).abs() < 0.01, "mix {number}");
                // A tenant with a handful of requests may seem to be of the other kind.
                assert!(drawn.share < 0.005 || seen.readers[tenant] != drawn.writes);
            }
        }
    }

    #[test]
    fn bursts_keep_rates_and_come_together() {
        let (mut bursty, all) = (0, MixStyle { bursty: 1.0, ..MixStyle::default() });
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4, all);
            assert!(mix.is_bursty());
            let requests: Vec<Request> = mix.requests(OPTIONS).collect();
            let sizes = 8..=128;
            assert!(requests.iter().all(|r| sizes.contains(&r.sectors) && r.lba.0 % 8 == 0));
            assert!(requests.is_sorted_by_key(|request| request.at));
            assert!(requests.len() as u64 + 4 >= OPTIONS.requests, "{}", requests.len());
            let period = first_period(&requests, 4, Nanos::MAX, OPTIONS.page_sectors);
            let error = (period.rate_pages() / mix.rate_pages(OPTIONS.rate_max_pages)).ln();
            assert!(error.abs() < 0.3, "mix {number}: {error}");
            bursty += u32::from(ObservedMix::new(&period, INTENSITY).burst > 5.0);
        }
        assert!(bursty > 10, "{bursty}");
    }

    #[test]
    fn uneven_mixes_have_both_kinds_and_a_light_one() {
        let uneven = MixStyle { uneven: 1.0, ..MixStyle::PLAIN };
        for number in 0..50 {
            let mix = Mix::draw(4, number, 4, uneven);
            let written: f64 = mix.tenants.iter().filter(|t| t.writes).map(|t| t.share).sum();
            assert!(LIGHT.contains(&written.min(1.0 - written)), "{mix:?}");
            assert!((mix.tenants.iter().map(|t| t.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_mix_depends_on_its_number_alone() {
        let draw = |seed, number| Mix::draw(seed, number, 4, MixStyle::default());
        assert_eq!(draw(1, 7), draw(1, 7));
        assert_ne!(draw(1, 7), draw(1, 8));
        assert_ne!(draw(1, 7), draw(2, 7));
        let mix = Mix::draw(1, 7, 4, MixStyle::PLAIN);
        let (short, long): (Vec<_>, Vec<_>) = (
            mix.requests(RequestOptions { requests: 100, ..OPTIONS }).collect(),
            mix.requests(OPTIONS).take(100).collect(),
        );
        assert_eq!(short, long);
    }
}
