//! A drive as queues before its channels and dies: a model of how long requests take that is quick
//! enough for every request of a mix.
//!
//! Bursts decide the means of real mixes, and few of them lie in windows. What the model says of
//! the whole mix, times how much longer or shorter requests took in windows than the model says
//! there, knows of all bursts.
//!
//! Pages go to the planes of their tenants in turns. A read is a time at its die and then one at
//! its channel, a write the other way round; both come first, served first. Left out: caches,
//! mappings, collection, the host and its link. Cost: some 5 ns for each page.

use ssdtune_model::{DeviceConfig, PlaneId};
use ssdtune_trace::{Op, Request};

/// A channel and a die, by their numbers in the whole drive.
#[derive(Clone, Copy, Debug)]
struct Lane {
    channel: u32,
    die: u32,
}

/// Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    page_sectors: u64,
    sector_ns: f64,
    read_ns: f64,
    program_ns: f64,
}

/// Where a tenant's data are that a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// On the planes that its tenant writes to.
    Bound,
    /// Where the start has put them, on all planes.
    Spread,
}

/// The queues, and when they will be empty.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    costs: Costs,
    /// All planes, in the order in which pages take turns.
    spread: Vec<Lane>,
    /// Those of each tenant.
    bound: Vec<Vec<Lane>>,
    channels: Vec<f64>,
    dies: Vec<f64>,
}

impl Queues {
    /// Empty ones. `spread` are all planes in their order, `bound` those of each tenant.
    pub fn new<'a>(
        config: &DeviceConfig,
        spread: &[PlaneId],
        bound: impl Iterator<Item = &'a [PlaneId]>,
    ) -> Self {
        let geometry = config.geometry();
        let lane = |&plane: &PlaneId| {
            let at = geometry.plane_addr(plane);
            let die = plane.0 / geometry.planes_per_die;
            Lane { channel: at.channel.0, die }
        };
        let mean = |times| config.flash.technology.mean_ns(times);
        let bytes_per_us = f64::from(config.bus.width_bytes * config.bus.rate_mts);
        let costs = Costs {
            page_sectors: geometry.sectors_per_page().into(),
            sector_ns: 512.0 * 1e3 / bytes_per_us,
            read_ns: mean(&config.flash.read_latency),
            // The planes of a die program together.
            program_ns: mean(&config.flash.program_latency) / f64::from(geometry.planes_per_die),
        };
        Self {
            costs,
            spread: spread.iter().map(lane).collect(),
            bound: bound.map(|planes| planes.iter().map(lane).collect()).collect(),
            channels: vec![0.0; geometry.channels as usize],
            dies: vec![0.0; (geometry.planes() / u64::from(geometry.planes_per_die)) as usize],
        }
    }

    /// How long a tenant's request takes, in nanoseconds, after those before it.
    pub fn serve(&mut self, request: &Request, lies: Lies) -> f64 {
        let Costs { page_sectors, sector_ns, read_ns, program_ns } = self.costs;
        let lanes = match lies {
            Lies::Bound => &self.bound[usize::from(request.tenant.0)],
            Lies::Spread => &self.spread,
        };
        let (at, end) = (request.at.0 as f64, request.end().0);
        let (mut next, mut done) = (request.lba.0, at);
        while next < end {
            let page = next / page_sectors;
            let until = end.min((page + 1) * page_sectors);
            let transfer_ns = (until - next) as f64 * sector_ns;
            next = until;
            let lane = lanes[(page % lanes.len() as u64) as usize];
            let channel = &mut self.channels[lane.channel as usize];
            let die = &mut self.dies[lane.die as usize];
            match request.op {
                Op::Read => {
                    *die = die.max(at) + read_ns;
                    *channel = channel.max(*die) + transfer_ns;
                    done = done.max(*channel);
                }
                Op::Write => {
                    *channel = channel.max(at) + transfer_ns;
                    *die = die.max(*channel) + program_ns;
                    done = done.max(*die);
                }
                Op::Trim | Op::Flush => {}
            }
        }
        done - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors, TenantId, presets};

    /// Reads and writes of one page each, one after the other, on one plane and on planes of
    /// different channels.
    #[test]
    fn requests_wait_for_the_channels_that_they_share() {
        let mut config = presets::load("ssdkeeper").unwrap();
        config.flash.page_bytes = 4_096;
        // 8 sectors at 40 bytes a microsecond.
        let transfer_ns = 102_400.0;
        let (read_ns, program_ns) = (20_000.0, 200_000.0 / 4.0);
        let planes: Vec<PlaneId> = (0..64).map(PlaneId).collect();
        let bound = [&planes[..1], &planes[8..16]];
        let request = |at, page: u64, tenant, op| Request {
            at: Nanos(at),
            lba: Sectors(8 * page),
            sectors: 8,
            tenant: TenantId(tenant),
            op,
        };
        let mut queues = Queues::new(&config, &planes, bound.into_iter());
        let mut serve = |at, page, tenant, op| {
            queues.serve(&request(at, page, tenant, op), Lies::Bound).round()
        };
        assert_eq!(serve(0, 0, 0, Op::Read), read_ns + transfer_ns);
        // The second one waits for the channel, whose die has read meanwhile.
        assert_eq!(serve(0, 1, 0, Op::Read), read_ns + 2.0 * transfer_ns);
        // Another tenant's channel is idle.
        assert_eq!(serve(0, 0, 1, Op::Write), transfer_ns + program_ns);
        assert_eq!(serve(0, 0, 1, Op::Trim), 0.0);
        // A second later nobody waits.
        assert_eq!(serve(1_000_000_000, 0, 0, Op::Write), transfer_ns + program_ns);
    }
}
