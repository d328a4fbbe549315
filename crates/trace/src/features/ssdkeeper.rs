//! SSDKeeper: nine numbers that say how four tenants share a drive.
//!
//! Liu, Chen, Tan, Zhang, Liang, Liu, "SSDKeeper: Self-Adapting Channel Allocation to Improve the Performance of SSD
//! Devices" (IPDPS 2020), sections IV-B and V-A: the overall intensity, the number of requests in a period, in twenty
//! levels; for each tenant 0 where writes dominate and 1 where reads do; each tenant's share of the requests.
//! The shares add up to 1.
//!
//! The paper leaves open which request rates bound the levels; [`Intensity`] makes it explicit: equal steps up to a
//! rate that is the caller's to state. Trims count as writes, flushes as requests only.

use crate::{Op, Request};
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;

/// Tenants in the vector.
pub const TENANTS: usize = 4;
/// Intensity levels, 0 to 19.
pub const LEVELS: u8 = 20;
/// Numbers in the vector.
pub const LENGTH: usize = 1 + 2 * TENANTS;

/// What request rate each intensity level stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intensity {
    /// The rate at which the highest level ends; beyond it the level stays.
    pub requests_per_s_max: f64,
}

impl Intensity {
    /// The level of a rate: twenty equal steps.
    pub fn level(self, requests_per_s: f64) -> u8 {
        let level = requests_per_s / self.requests_per_s_max * f64::from(LEVELS);
        // Float to int saturates, so nonsense rates end at a legal level too.
        (level as u8).min(LEVELS - 1)
    }
}

/// The features of a mix of tenants over a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MixFeatures {
    /// Intensity level.
    pub level: u8,
    /// Does the tenant mostly read? False for one that did nothing.
    pub reads: [bool; TENANTS],
    /// The tenant's share of all requests.
    pub shares: [f64; TENANTS],
}

impl MixFeatures {
    /// The vector in the paper's order: level, characteristics, shares.
    pub fn vector(&self) -> [f32; LENGTH] {
        let mut vector = [0.0; LENGTH];
        vector[0] = f32::from(self.level);
        for tenant in 0..TENANTS {
            vector[1 + tenant] = f32::from(u8::from(self.reads[tenant]));
            vector[1 + TENANTS + tenant] = self.shares[tenant] as f32;
        }
        vector
    }
}

/// Counts requests over a period; the features collector of the paper.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collector {
    reads: [u64; TENANTS],
    writes: [u64; TENANTS],
    all: [u64; TENANTS],
}

impl Collector {
    /// Counts a request. Tenants beyond the fourth have no place in the vector and are not counted.
    pub fn push(&mut self, request: &Request) {
        let tenant = usize::from(request.tenant.0);
        if tenant >= TENANTS {
            return;
        }
        self.all[tenant] += 1;
        match request.op {
            Op::Read => self.reads[tenant] += 1,
            Op::Write | Op::Trim => self.writes[tenant] += 1,
            Op::Flush => {}
        }
    }

    /// The features of what was counted in `period`.
    pub fn features(&self, period: Nanos, intensity: Intensity) -> MixFeatures {
        let total: u64 = self.all.iter().sum();
        if total == 0 || period.0 == 0 {
            return MixFeatures::default();
        }
        MixFeatures {
            level: intensity.level(total as f64 / period.as_secs_f64()),
            reads: std::array::from_fn(|t| self.reads[t] > self.writes[t]),
            shares: self.all.map(|count| count as f64 / total as f64),
        }
    }
}

/// The features of a whole trace, over the time it takes.
pub fn features(requests: &[Request], intensity: Intensity) -> MixFeatures {
    let mut collector = Collector::default();
    requests.iter().for_each(|request| collector.push(request));
    let period = match requests {
        [first, .., last] => last.at.saturating_sub(first.at),
        _ => Nanos(0),
    };
    collector.features(period, intensity)
}
