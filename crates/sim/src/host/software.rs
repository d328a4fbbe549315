//! The host's software: what a request costs before the drive hears of it, so that a rig can be
//! told from a drive. A request waits for a processor and takes its time there; then it takes a
//! fixed time, in which requests do not meet.

use super::Host;
use super::arrivals::Lookahead;
use crate::base::Base;
use crate::engine::{Cores, DelayLine, Server, Servers};
use crate::id::RequestId;
use serde::{Deserialize, Serialize};
use ssdtune_model::TenantId;
use ssdtune_model::{DeviceConfig, Nanos};

/// The processors and the requests in them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct HostCpu {
    /// The fixed time.
    time: Nanos,
    /// The time that a processor is taken for a request.
    core_time: Nanos,
    cores: Cores,
    requests: DelayLine<(TenantId, RequestId)>,
}

impl HostCpu {
    /// The host's software; `None` if it takes no time.
    pub fn new(config: &DeviceConfig, servers: &Servers) -> Option<Self> {
        let host = &config.host;
        let core_time = match host.core_rate {
            0 => Nanos::ZERO,
            rate => Nanos((1e9 / rate as f64).round() as u64),
        };
        let takes_time = host.request_time > Nanos::ZERO || core_time > Nanos::ZERO;
        takes_time.then(|| Self {
            time: host.request_time,
            core_time,
            cores: Cores::new(host.cores),
            requests: DelayLine::new(servers.number(Server::HostCpu)),
        })
    }

    /// Asserts that every request will leave.
    pub fn check(&self) {
        self.requests.check();
    }
}

impl Host {
    /// Hands a request to the host's software, or sends it on if that takes no time.
    pub(super) fn send_in(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        tenant: TenantId,
        request: RequestId,
    ) {
        match &mut self.cpu {
            Some(cpu) => {
                let due = cpu.cores.pass(base.now(), cpu.core_time) + cpu.time;
                cpu.requests.push(&mut base.events, due, (tenant, request));
            }
            None => self.send(base, ahead, tenant, request),
        }
    }

    /// The host's software is done with a request.
    pub fn cpu_event(&mut self, base: &mut Base, ahead: &impl Lookahead) {
        let Some(cpu) = &mut self.cpu else { return };
        if let Some((tenant, request)) = cpu.requests.take(&mut base.events) {
            self.send(base, ahead, tenant, request);
        }
    }
}
