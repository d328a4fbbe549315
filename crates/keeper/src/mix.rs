//! Synthetic mixes: tenants that mostly read or mostly write share a drive at some intensity (section V-A).
//!
//! A mix is a point of the feature space: an intensity level and, for each tenant, its kind and its share of the
//! flash pages asked for. Requests go to places drawn uniformly from the tenant's working set; a small share of
//! them goes the other way ([`MINORITY`]). Of a *plain* mix they arrive at random (Poisson), reads of several
//! pages and writes of one ([`REQUEST_PAGES`]). Volumes in use are not like that: some mixes ([`BURSTY`]) have
//! tenants with a [`Texture`], which ask for most of what they want in bursts, from 4 to 64 KiB at once.
//! Mix `i` of a seed and its requests are the same whatever is asked of the others.

use crate::features::Rates;
use crate::vector::LEVELS;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, TenantId};
use std::ops::Range;

/// The share of a tenant's requests that are not of its kind: the six volumes of Table II have 1 to 12 %, 6 % in
/// the mean.
pub const MINORITY: f64 = 0.05;

/// Pages of a read and of a write request: with 16 KiB a page, about what the same volumes read (36 to 56 KiB) and
/// write (4 to 16 KiB).
pub const REQUEST_PAGES: [u32; 2] = [4, 1];

/// The share of mixes whose tenants come in bursts.
pub const BURSTY: f64 = 0.2;

/// Sectors of the smallest request of a tenant with a texture; each of [`SIZES`] sizes is twice the one before.
const SECTORS_MIN: u32 = 8;
/// 4 to 64 KiB, which is what the models of the six volumes have.
const SIZES: usize = 5;
/// Sectors of the largest.
pub(crate) const SECTORS_MAX: u32 = SECTORS_MIN << (SIZES - 1);

/// How a tenant's requests come, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Texture {
    /// The share of the time that is burst.
    pub burst_time: f64,
    /// The share of the requests that come then.
    pub burst_requests: f64,
    /// Requests of a burst, in the mean.
    pub burst_length: f64,
    /// How many times as frequent reads are as those of half the size.
    pub read_growth: f64,
    /// And writes.
    pub write_growth: f64,
}

impl Texture {
    /// Drawn around what the models of the volumes of Table II have: half of the requests in a tenth of the time,
    /// 10 to 400 at once, reads of 24 to 46 KiB and writes of 4 to 16 in the mean.
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

    /// How frequent each size is.
    fn sizes(&self, op: Op) -> [f64; SIZES] {
        let growth = if op == Op::Write { self.write_growth } else { self.read_growth };
        let weights: [f64; SIZES] = std::array::from_fn(|size| growth.powi(size as i32));
        let all: f64 = weights.iter().sum();
        weights.map(|weight| weight / all)
    }
}

/// A tenant of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixTenant {
    /// It mostly writes.
    pub writes: bool,
    /// Its share of the pages.
    pub share: f64,
    /// How its requests come, if not one by one at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<Texture>,
}

impl MixTenant {
    /// A tenant of a plain mix.
    pub fn plain(writes: bool, share: f64) -> Self {
        Self { writes, share, texture: None }
    }
}

/// A mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// Intensity level, from 1 to 20.
    pub level: u8,
    /// Who shares the drive.
    pub tenants: Vec<MixTenant>,
}

/// How a mix becomes requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Play {
    /// Where level 20 ends, pages in a second.
    pub rate_max_pages: f64,
    /// How many requests.
    pub requests: u64,
    /// Pages of each tenant's working set, its first ones.
    pub working_set_pages: u64,
    /// Share of a tenant's requests that are not of its kind.
    pub minority: f64,
    /// Pages of a read and of a write request.
    pub request_pages: [u32; 2],
    /// Sectors of a page.
    pub page_sectors: u32,
    /// What decides the draws.
    pub seed: u64,
}

impl Mix {
    /// The mix of that number, with so many tenants: every level and kind alike, shares uniform over all ways
    /// to divide the pages. In a share of `bursty` of the mixes the tenants have textures.
    pub fn draw(seed: u64, number: u64, tenants: usize, bursty: f64) -> Self {
        let mut rng = stream(seed, number, 0);
        let level = rng.random_range(1..=LEVELS);
        let parts: Vec<f64> = (0..tenants).map(|_| Exp1.sample(&mut rng)).collect();
        let all: f64 = parts.iter().sum();
        let mut tenants: Vec<MixTenant> =
            parts.into_iter().map(|part| MixTenant::plain(rng.random(), part / all)).collect();
        let mut rng = stream(seed, number, TEXTURES);
        if rng.random::<f64>() < bursty {
            tenants.iter_mut().for_each(|tenant| tenant.texture = Some(Texture::draw(&mut rng)));
        }
        Self { level, tenants }
    }

    /// Whether its tenants come in bursts.
    pub fn is_bursty(&self) -> bool {
        self.tenants.iter().any(|tenant| tenant.texture.is_some())
    }

    /// Whether each tenant mostly writes.
    pub fn writers(&self) -> Vec<bool> {
        self.tenants.iter().map(|tenant| tenant.writes).collect()
    }

    /// Pages in a second: the middle of the level.
    pub fn rate_pages(&self, rate_max_pages: f64) -> f64 {
        (f64::from(self.level) - 0.5) / f64::from(LEVELS) * rate_max_pages
    }

    /// What each tenant of a plain mix asks for in a second, if mixes are played as usual.
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

    /// Its requests, in order of time.
    pub fn requests(&self, play: Play) -> impl Iterator<Item = Request> + '_ {
        let rate_pages = self.rate_pages(play.rate_max_pages);
        let mut sources: Vec<Source> = (self.tenants.iter().enumerate())
            .map(|(number, tenant)| Source::new(tenant, number, rate_pages, &play))
            .collect();
        (0..play.requests).map(move |_| {
            let next = |a: &&mut Source, b: &&mut Source| a.at_ns.total_cmp(&b.at_ns);
            let source = sources.iter_mut().min_by(next).expect("a mix has tenants");
            let request = source.request(&play);
            source.advance();
            request
        })
    }
}

/// Where a tenant's requests come from: at random, at one rate in bursts and at another between them.
struct Source {
    rng: Pcg64,
    tenant: MixTenant,
    number: usize,
    /// When the next request comes.
    at_ns: f64,
    in_burst: bool,
    /// Time to the end of the burst, or to the next one.
    left_ns: f64,
    /// Between bursts and in them, requests in a nanosecond.
    rates: [f64; 2],
    /// How long each takes in the mean.
    holds_ns: [f64; 2],
}

impl Source {
    fn new(tenant: &MixTenant, number: usize, rate_pages: f64, play: &Play) -> Self {
        let mut rng = stream(play.seed, number as u64, REQUESTS);
        let pages = |writes: bool| {
            let op = if writes { Op::Write } else { Op::Read };
            mean_pages(tenant, op, play)
        };
        let (own, other) = (pages(tenant.writes), pages(!tenant.writes));
        let rate = rate_pages * tenant.share / (own + play.minority * (other - own)) / 1e9;
        let (rates, holds_ns, in_burst) = match tenant.texture {
            None => ([rate; 2], [f64::INFINITY; 2], false),
            Some(texture) => {
                let (time, requests) = (texture.burst_time, texture.burst_requests);
                let rates = [rate * (1.0 - requests) / (1.0 - time), rate * requests / time];
                let burst_ns = texture.burst_length / rates[1];
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

    /// To the next request.
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

    /// How long it stays as it is.
    fn draw_hold_ns(&mut self) -> f64 {
        let hold_ns = self.holds_ns[usize::from(self.in_burst)];
        if hold_ns == f64::INFINITY {
            return hold_ns;
        }
        let draw: f64 = Exp1.sample(&mut self.rng);
        draw * hold_ns
    }

    /// What is asked for now.
    fn request(&mut self, play: &Play) -> Request {
        let is_other = self.rng.random::<f64>() < play.minority;
        let op = if self.tenant.writes != is_other { Op::Write } else { Op::Read };
        let set = play.working_set_pages * u64::from(play.page_sectors);
        let (lba, sectors) = match self.tenant.texture {
            None => {
                let pages = play.request_pages[usize::from(op == Op::Write)];
                let starts = play.working_set_pages.saturating_sub(pages.into()) + 1;
                let page = self.rng.random_range(0..starts);
                (page * u64::from(play.page_sectors), pages * play.page_sectors)
            }
            Some(texture) => {
                let mut draw = self.rng.random::<f64>();
                let shares = texture.sizes(op);
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

/// Pages that a request of a tenant touches in the mean.
fn mean_pages(tenant: &MixTenant, op: Op, play: &Play) -> f64 {
    match tenant.texture {
        None => f64::from(play.request_pages[usize::from(op == Op::Write)]),
        Some(texture) => {
            let pages = |size: usize| (SECTORS_MIN << size).div_ceil(play.page_sectors);
            texture.sizes(op).iter().enumerate().map(|(s, share)| share * f64::from(pages(s))).sum()
        }
    }
}

/// Purposes of random streams.
const REQUESTS: u64 = 1;
const TEXTURES: u64 = 2;

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
    use crate::features::{Seen, first_period};
    use crate::vector::Intensity;

    const PLAY: Play = Play {
        rate_max_pages: 80_000.0,
        requests: 40_000,
        working_set_pages: 500,
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        page_sectors: 32,
        seed: 9,
    };

    const INTENSITY: Intensity = Intensity { requests_per_s_max: PLAY.rate_max_pages };

    #[test]
    fn the_features_of_the_requests_are_those_of_the_mix() {
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4, 0.0);
            let requests: Vec<Request> = mix.requests(PLAY).collect();
            assert_eq!(requests.len() as u64, PLAY.requests);
            assert!(requests.is_sorted_by_key(|request| request.at));
            let period = first_period(&requests, 4, Nanos::MAX, PLAY.page_sectors);
            let seen = Seen::new(&period, INTENSITY);
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
    fn textures_keep_rate_and_shares_and_come_in_bursts() {
        let (mut bursty, mut errors) = (0, Vec::new());
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4, 1.0);
            assert!(mix.is_bursty());
            let requests: Vec<Request> = mix.requests(PLAY).collect();
            let sizes = 8..=128;
            assert!(requests.iter().all(|r| sizes.contains(&r.sectors) && r.lba.0 % 8 == 0));
            assert!(requests.is_sorted_by_key(|request| request.at));
            let period = first_period(&requests, 4, Nanos::MAX, PLAY.page_sectors);
            let rate = mix.rate_pages(PLAY.rate_max_pages);
            errors.push((period.rate_pages() / rate).ln());
            // Slots of a fiftieth of a tenth of the run hold 80 requests, fewer than most bursts.
            let tenth = Nanos(requests[requests.len() - 1].at.0 / 10);
            let period = first_period(&requests, 4, tenth, PLAY.page_sectors);
            bursty += u32::from(Seen::new(&period, INTENSITY).burst > 5.0);
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
            mix.requests(Play { requests: 100, ..PLAY }).collect(),
            mix.requests(PLAY).take(100).collect(),
        );
        assert_eq!(short, long);
    }
}
