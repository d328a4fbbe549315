//! Synthetic mixes: tenants that mostly read or mostly write share a drive at some intensity (section V-A).
//!
//! A mix is a point of the feature space: an intensity level and, for each tenant, its kind and its share of the
//! flash pages asked for. Its requests arrive at random (Poisson), at pages drawn uniformly from the tenant's
//! working set; reads are of several pages, writes of one ([`REQUEST_PAGES`]). A small share of a tenant's requests
//! goes the other way ([`MINORITY`]). Mix `i` of a seed and its requests are the same whatever is asked of the
//! others.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::features::ssdkeeper::LEVELS;
use ssdtune_trace::{Op, Request, TenantId};

/// The share of a tenant's requests that are not of its kind: the six volumes of Table II have 1 to 12 %, 6 % in
/// the mean.
pub const MINORITY: f64 = 0.05;

/// Pages of a read and of a write request: with 16 KiB a page, about what the same volumes read (36 to 56 KiB) and
/// write (4 to 16 KiB).
pub const REQUEST_PAGES: [u32; 2] = [4, 1];

/// A tenant of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixTenant {
    /// It mostly writes.
    pub writes: bool,
    /// Its share of the pages.
    pub share: f64,
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
    /// to divide the requests.
    pub fn draw(seed: u64, number: u64, tenants: usize) -> Self {
        let mut rng = stream(seed, number, 0);
        let level = rng.random_range(1..=LEVELS);
        let parts: Vec<f64> = (0..tenants).map(|_| Exp1.sample(&mut rng)).collect();
        let all: f64 = parts.iter().sum();
        let tenants = (parts.into_iter())
            .map(|part: f64| MixTenant { writes: rng.random(), share: part / all })
            .collect();
        Self { level, tenants }
    }

    /// Whether each tenant mostly writes.
    pub fn writers(&self) -> Vec<bool> {
        self.tenants.iter().map(|tenant| tenant.writes).collect()
    }

    /// Pages in a second: the middle of the level.
    pub fn rate_pages(&self, rate_max_pages: f64) -> f64 {
        (f64::from(self.level) - 0.5) / f64::from(LEVELS) * rate_max_pages
    }

    /// How many requests of each tenant make its share of one page.
    fn request_weights(&self, play: &Play) -> Vec<f64> {
        let [read, write] = play.request_pages.map(f64::from);
        let weight = |tenant: &MixTenant| {
            let (own, other) = if tenant.writes { (write, read) } else { (read, write) };
            tenant.share / (own + play.minority * (other - own))
        };
        self.tenants.iter().map(weight).collect()
    }

    /// Its requests, in order of time.
    pub fn requests(&self, play: Play) -> impl Iterator<Item = Request> + '_ {
        let mut rng = stream(play.seed, 0, 1);
        let weights = self.request_weights(&play);
        let all: f64 = weights.iter().sum();
        let gap_ns = 1e9 / (self.rate_pages(play.rate_max_pages) * all);
        let mut at_ns = 0.0;
        (0..play.requests).map(move |_| {
            let gap: f64 = Exp1.sample(&mut rng);
            at_ns += gap * gap_ns;
            let mut draw = rng.random::<f64>() * all;
            let mut tenant = 0;
            while tenant + 1 < weights.len() && draw >= weights[tenant] {
                draw -= weights[tenant];
                tenant += 1;
            }
            let is_other = rng.random::<f64>() < play.minority;
            let op = if self.tenants[tenant].writes != is_other { Op::Write } else { Op::Read };
            let pages = play.request_pages[usize::from(op == Op::Write)];
            let starts = play.working_set_pages.saturating_sub(pages.into()) + 1;
            let page = rng.random_range(0..starts);
            Request {
                at: Nanos(at_ns as u64),
                lba: Sectors(page * u64::from(play.page_sectors)),
                sectors: pages * play.page_sectors,
                tenant: TenantId(tenant as u16),
                op,
            }
        })
    }
}

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
    use crate::features::Seen;
    use ssdtune_sim::Demand;
    use ssdtune_trace::features::ssdkeeper::Intensity;

    const PLAY: Play = Play {
        rate_max_pages: 80_000.0,
        requests: 40_000,
        working_set_pages: 500,
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        page_sectors: 32,
        seed: 9,
    };

    #[test]
    fn the_features_of_the_requests_are_those_of_the_mix() {
        for number in 0..20 {
            let mix = Mix::draw(3, number, 4);
            let mut demands = [Demand::default(); 4];
            let mut end = Nanos::ZERO;
            for request in mix.requests(PLAY) {
                let pages = request.sectors / PLAY.page_sectors;
                demands[usize::from(request.tenant.0)].count(request.op, pages.into());
                end = request.at;
            }
            let intensity = Intensity { requests_per_s_max: PLAY.rate_max_pages };
            let seen = Seen::new(&demands, end, intensity).features;
            assert_eq!(seen.level + 1, mix.level, "mix {number}");
            for (tenant, drawn) in mix.tenants.iter().enumerate() {
                assert!((seen.shares[tenant] - drawn.share).abs() < 0.01, "mix {number}");
                // A tenant with a handful of requests may seem to be of the other kind.
                assert!(drawn.share < 0.005 || seen.reads[tenant] != drawn.writes);
            }
            let requests: u64 = demands.iter().map(|demand| demand.reads + demand.writes).sum();
            assert_eq!(requests, PLAY.requests);
        }
    }

    #[test]
    fn a_mix_depends_on_its_number_alone() {
        assert_eq!(Mix::draw(1, 7, 4), Mix::draw(1, 7, 4));
        assert_ne!(Mix::draw(1, 7, 4), Mix::draw(1, 8, 4));
        assert_ne!(Mix::draw(1, 7, 4), Mix::draw(2, 7, 4));
        let mix = Mix::draw(1, 7, 4);
        let (short, long): (Vec<_>, Vec<_>) = (
            mix.requests(Play { requests: 100, ..PLAY }).collect(),
            mix.requests(PLAY).take(100).collect(),
        );
        assert_eq!(short, long);
    }
}
