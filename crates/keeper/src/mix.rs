//! Synthetic mixes: tenants that mostly read or mostly write and share a drive (section V-A).
//!
//! A mix is one point of the feature space: an intensity level, and for each tenant its kind (it
//! mostly writes, or mostly reads) and its share of the flash pages asked for. Requests go to
//! places drawn uniformly from the tenant's working set. A small share of a tenant's requests
//! ([`MINORITY`]) is not of its kind.
//!
//! In a *plain* mix requests arrive at random (a Poisson process), reads of several pages and
//! writes of one ([`REQUEST_PAGES`]). Real volumes are not like that. So in a share of the mixes
//! ([`BURSTY`]) each tenant has a [`BurstProfile`]: it asks for most of what it wants in bursts,
//! with requests of 4 to 64 KiB.
//!
//! Mix number `i` of a seed and its requests are always the same, whichever other mixes are drawn.

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
pub const BURSTY: f64 = 0.2;

/// Sectors of the smallest request of a tenant that comes in bursts. Each of its [`SIZES`] sizes is
/// twice the one before.
const SECTORS_MIN: u32 = 8;
/// How many sizes of request there are: 4 to 64 KiB, as in the models of the volumes of Table II.
const SIZES: usize = 5;
/// Sectors of the largest request of a tenant that comes in bursts.
pub(crate) const SECTORS_MAX: u32 = SECTORS_MIN << (SIZES - 1);

/// How the requests of a tenant that comes in bursts are spread over time, and their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BurstProfile {
    /// The share of the time that is within a burst, 0 to 1.
    pub burst_time: f64,
    /// The share of the requests that come within a burst, 0 to 1.
    pub burst_requests: f64,
    /// The mean number of requests in a burst.
    pub burst_length: f64,
    /// How many times as frequent reads of one size are as reads of half that size.
    pub read_growth: f64,
    /// How many times as frequent writes of one size are as writes of half that size.
    pub write_growth: f64,
}

impl BurstProfile {
    /// Draws a profile like those of the models of the volumes in Table II: half of the requests
    /// in a tenth of the time, 10 to 400 in a burst, reads of 24 to 46 KiB and writes of 4 to 16
    /// KiB in the mean.
    fn draw(rng: &mut Pcg64) -> Self {
        let between = |rng: &mut Pcg64, range: Range<f64>| rng.random_range(range);
        Self {
            burst_time: between(rng, 0.05..0.3),
            burst_requests: between(rng, 0.3..0.8),
            burst_length: between(rng, 8f64.ln()..400f64.ln()).exp(),
            read_growth: between(rng, 0.4..2.5),
            write_growth: between(rng, 0.2..1.0),
        }
    }

    /// The share of requests that have each size, 0 to 1, the smallest size first.
    fn sizes(&self, op: Op) -> [f64; SIZES] {
        let growth = if op == Op::Write { self.write_growth } else { self.read_growth };
        let weights: [f64; SIZES] = std::array::from_fn(|size| growth.powi(size as i32));
        let all: f64 = weights.iter().sum();
        weights.map(|weight| weight / all)
    }
}

/// One tenant of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixTenant {
    /// Whether it mostly writes; otherwise it mostly reads.
    pub writes: bool,
    /// Its share of the flash pages that the mix asks for, 0 to 1.
    pub share: f64,
    /// How it comes in bursts; `None` for a tenant whose requests arrive at random.
    #[serde(default, rename = "texture", skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstProfile>,
}

impl MixTenant {
    /// A tenant of a plain mix; `share` is its share of the flash pages, 0 to 1.
    pub fn plain(writes: bool, share: f64) -> Self {
        Self { writes, share, bursts: None }
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
    /// divide the pages among the tenants. `bursty` is the share of mixes, 0 to 1, whose tenants
    /// come in bursts.
    pub fn draw(seed: u64, number: u64, tenants: usize, bursty: f64) -> Self {
        let mut rng = stream(seed, number, MIXES);
        let level = rng.random_range(1..=LEVELS);
        let parts: Vec<f64> = (0..tenants).map(|_| Exp1.sample(&mut rng)).collect();
        let all: f64 = parts.iter().sum();
        let mut tenants: Vec<MixTenant> =
            parts.into_iter().map(|part| MixTenant::plain(rng.random(), part / all)).collect();
        let mut rng = stream(seed, number, BURSTS);
        if rng.random::<f64>() < bursty {
            tenants
                .iter_mut()
                .for_each(|tenant| tenant.bursts = Some(BurstProfile::draw(&mut rng)));
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
        let rate_pages = self.rate_pages(options.rate_max_pages);
        let mut sources: Vec<TenantSource> = (self.tenants.iter().enumerate())
            .map(|(number, tenant)| TenantSource::new(tenant, number, rate_pages, &options))
            .collect();
        (0..options.requests).map(move |_| {
            let next = |a: &&mut TenantSource, b: &&mut TenantSource| a.at_ns.total_cmp(&b.at_ns);
            let source = sources.iter_mut().min_by(next).expect("a mix has tenants");
            let request = source.request(&options);
            source.advance();
            request
        })
    }
}

/// The requests of one tenant. They arrive at random, at one rate within bursts and at another
/// between them.
struct TenantSource {
    rng: Pcg64,
    tenant: MixTenant,
    number: usize,
    /// When the next request comes, in nanoseconds.
    at_ns: f64,
    in_burst: bool,
    /// Time to the end of the burst, or between bursts to the beginning of the next one.
    left_ns: f64,
    /// Requests in a nanosecond, between bursts and within them.
    rates: [f64; 2],
    /// Mean duration of the time between bursts and of a burst, in nanoseconds.
    holds_ns: [f64; 2],
}

impl TenantSource {
    fn new(tenant: &MixTenant, number: usize, rate_pages: f64, options: &RequestOptions) -> Self {
        let mut rng = stream(options.seed, number as u64, REQUESTS);
        let pages = |writes: bool| {
            let op = if writes { Op::Write } else { Op::Read };
            mean_pages(tenant, op, options)
        };
        let (own, other) = (pages(tenant.writes), pages(!tenant.writes));
        let rate = rate_pages * tenant.share / (own + options.minority * (other - own)) / 1e9;
        let (rates, holds_ns, in_burst) = match tenant.bursts {
            None => ([rate; 2], [f64::INFINITY; 2], false),
            Some(profile) => {
                let (time, requests) = (profile.burst_time, profile.burst_requests);
                let rates = [rate * (1.0 - requests) / (1.0 - time), rate * requests / time];
                let burst_ns = profile.burst_length / rates[1];
                let holds_ns = [burst_ns * (1.0 - time) / time, burst_ns];
                (rates, holds_ns, rng.random::<f64>() < time)
            }
        };
        let tenant = *tenant;
        let mut source =
            Self { rng, tenant, number, at_ns: 0.0, in_burst, left_ns: 0.0, rates, holds_ns };
        source.left_ns = source.draw_hold_ns();
        source.advance();
        source
    }

    /// Moves on to the time of the next request.
    fn advance(&mut self) {
        loop {
            let draw: f64 = Exp1.sample(&mut self.rng);
            let gap_ns = draw / self.rates[usize::from(self.in_burst)];
            if gap_ns <= self.left_ns {
                self.left_ns -= gap_ns;
                self.at_ns += gap_ns;
                return;
            }
            // Arrivals are memoryless: what is left of the gap is drawn anew at the other rate.
            self.at_ns += self.left_ns;
            self.in_burst = !self.in_burst;
            self.left_ns = self.draw_hold_ns();
        }
    }

    /// Draws how long the burst, or the time between two bursts, lasts.
    fn draw_hold_ns(&mut self) -> f64 {
        let hold_ns = self.holds_ns[usize::from(self.in_burst)];
        if hold_ns == f64::INFINITY {
            return hold_ns;
        }
        let draw: f64 = Exp1.sample(&mut self.rng);
        draw * hold_ns
    }

    /// The request at the current time.
    fn request(&mut self, options: &RequestOptions) -> Request {
        let is_other = self.rng.random::<f64>() < options.minority;
        let op = if self.tenant.writes != is_other { Op::Write } else { Op::Read };
        let set = options.working_set_pages * u64::from(options.page_sectors);
        let (lba, sectors) = match self.tenant.bursts {
            None => {
                let pages = options.request_pages[usize::from(op == Op::Write)];
                let starts = options.working_set_pages.saturating_sub(pages.into()) + 1;
                let page = self.rng.random_range(0..starts);
                (page * u64::from(options.page_sectors), pages * options.page_sectors)
            }
            Some(profile) => {
                let mut draw = self.rng.random::<f64>();
                let shares = profile.sizes(op);
                let mut size = 0;
                while size + 1 < SIZES && draw >= shares[size] {
                    draw -= shares[size];
                    size += 1;
                }
                let sectors = SECTORS_MIN << size;
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
    match tenant.bursts {
        None => f64::from(options.request_pages[usize::from(op == Op::Write)]),
        Some(profile) => {
            let pages = |size: usize| (SECTORS_MIN << size).div_ceil(options.page_sectors);
            profile.sizes(op).iter().enumerate().map(|(s, share)| share * f64::from(pages(s))).sum()
        }
    }
}

// What a random stream is for: each purpose has streams of its own.
const MIXES: u64 = 0;
const REQUESTS: u64 = 1;
const BURSTS: u64 = 2;

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
            let mix = Mix::draw(3, number, 4, 0.0);
            let requests: Vec<Request> = mix.requests(OPTIONS).collect();
            assert_eq!(requests.len() as u64, OPTIONS.requests);
            assert!(requests.is_sorted_by_key(|request| request.at));
            let period = first_period(&requests, 4, Nanos::MAX, OPTIONS.page_sectors);
            let seen = ObservedMix::new(&period, INTENSITY);
            assert!(seen.burst.abs() < 3.5, "mix {number} comes at random: {}", seen.burst);
            let seen = seen.features;
            assert_eq!(seen.level + 1, mix.level, "mix {number}");
            for (tenant, drawn) in mix.tenants.iter().enumerate() {
                assert!((seen.shares[tenant] - drawn.share).abs() < 0.01, "mix {number}");
                // A tenant with a handful of requests may seem to be of the other kind.
                assert!(drawn.share < 0.005 || seen.reads[tenant] != drawn.writes);
            }
        }
    }

    #[test]
    fn burst_profiles_keep_rate_and_shares_and_come_in_bursts() {
        let (mut bursty, mut errors) = (0, Vec::new());
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4, 1.0);
            assert!(mix.is_bursty());
            let requests: Vec<Request> = mix.requests(OPTIONS).collect();
            let sizes = 8..=128;
            assert!(requests.iter().all(|r| sizes.contains(&r.sectors) && r.lba.0 % 8 == 0));
            assert!(requests.is_sorted_by_key(|request| request.at));
            let period = first_period(&requests, 4, Nanos::MAX, OPTIONS.page_sectors);
            let rate = mix.rate_pages(OPTIONS.rate_max_pages);
            errors.push((period.rate_pages() / rate).ln());
            // Slots of a fiftieth of a tenth of the run hold 80 requests, fewer than most bursts.
            let tenth = Nanos(requests[requests.len() - 1].at.0 / 10);
            let period = first_period(&requests, 4, tenth, OPTIONS.page_sectors);
            bursty += u32::from(ObservedMix::new(&period, INTENSITY).burst > 5.0);
        }
        // Bursts of hundreds make any one run's rate uncertain, not their mean.
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 0.1, "{errors:?}");
        assert!(bursty > 10, "{bursty}");
    }

    #[test]
    fn a_mix_depends_on_its_number_alone() {
        let draw = |seed, number| Mix::draw(seed, number, 4, 0.5);
        assert_eq!(draw(1, 7), draw(1, 7));
        assert_ne!(draw(1, 7), draw(1, 8));
        assert_ne!(draw(1, 7), draw(2, 7));
        let mix = draw(1, 7);
        let (short, long): (Vec<_>, Vec<_>) = (
            mix.requests(RequestOptions { requests: 100, ..OPTIONS }).collect(),
            mix.requests(OPTIONS).take(100).collect(),
        );
        assert_eq!(short, long);
    }
}
