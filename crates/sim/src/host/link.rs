//! The link between host and drive: two directions, each of which carries one message at a time.
//!
//! PCIe: a message of n bytes is cut into payloads of 128 B with 28 B of overhead each (20 B TLP
//! header, 6 B DLLP, 2 B PHY), and runs over all lanes.

use crate::engine::{Pipe, Server, Servers};
use crate::id::{QueueId, RequestId};
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, Nanos};

/// Payload of a PCIe packet, in bytes.
const TLP_PAYLOAD: u64 = 128;
/// Overhead of a PCIe packet, in bytes.
const TLP_OVERHEAD: u64 = 28;
/// A read request carries an address and no data.
const READ_REQUEST_BYTES: u64 = TLP_OVERHEAD + 4;
const DOORBELL_BYTES: u64 = 2;
const SUBMISSION_ENTRY_BYTES: u64 = 72;
const COMPLETION_ENTRY_BYTES: u64 = 16;

/// A message from the host to the drive.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum DownMessage {
    /// The host has put an entry into this submission queue.
    Doorbell(QueueId),
    /// An entry of this submission queue.
    Entry(QueueId),
    /// The data of this write request.
    Data(RequestId),
}

/// A message from the drive to the host.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum UpMessage {
    /// Asks for the next entry of this submission queue.
    Fetch(QueueId),
    /// Asks for the data of this write request.
    FetchData(RequestId),
    /// This request is complete. The number says how many entries of its queue had been fetched by
    /// then.
    Completion(RequestId, u64),
}

/// Both directions.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Link {
    #[serde(skip)]
    pub timing: LinkTiming,
    /// From the host to the drive.
    pub down: Pipe<DownMessage>,
    /// From the drive to the host.
    pub up: Pipe<UpMessage>,
}

impl Link {
    /// A link that carries nothing.
    pub fn new(config: &DeviceConfig, servers: &Servers) -> Self {
        Self {
            timing: LinkTiming::new(config),
            down: Pipe::new(servers.number(Server::LinkDown)),
            up: Pipe::new(servers.number(Server::LinkUp)),
        }
    }

    /// Whether nothing is on its way at a time, in either direction.
    #[inline]
    pub fn is_idle(&self, at: Nanos) -> bool {
        self.down.is_idle(at) && self.up.is_idle(at)
    }
}

/// How long messages take, as a table that is filled once.
#[derive(Clone, Default)]
pub(super) struct LinkTiming {
    lanes: u64,
    bytes_per_ns: f64,
    /// A doorbell.
    pub doorbell: Nanos,
    /// A request of the drive for a submission entry or for data.
    pub read_request: Nanos,
    /// A submission entry.
    pub submission_entry: Nanos,
    /// A completion entry.
    pub completion_entry: Nanos,
    by_sectors: Vec<Nanos>,
}

impl LinkTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let mut link = Self {
            lanes: config.host.pcie_lanes.into(),
            bytes_per_ns: config.host.pcie_lane_bandwidth_gbps,
            doorbell: Nanos::ZERO,
            read_request: Nanos::ZERO,
            submission_entry: Nanos::ZERO,
            completion_entry: Nanos::ZERO,
            by_sectors: Vec::new(),
        };
        link.doorbell = link.payload(DOORBELL_BYTES);
        link.read_request = link.on_lanes(READ_REQUEST_BYTES);
        link.submission_entry = link.payload(SUBMISSION_ENTRY_BYTES);
        link.completion_entry = link.payload(COMPLETION_ENTRY_BYTES);
        link.by_sectors = (0..=256).map(|n| link.payload(n * 512)).collect();
        link
    }

    /// The time of a number of bytes over all lanes.
    fn on_lanes(&self, bytes: u64) -> Nanos {
        Nanos((bytes.div_ceil(self.lanes) as f64 / self.bytes_per_ns) as u64)
    }

    /// The time of a message with a number of bytes.
    fn payload(&self, bytes: u64) -> Nanos {
        let rest = match bytes % TLP_PAYLOAD {
            0 => 0,
            rest => rest + TLP_OVERHEAD,
        };
        self.on_lanes(bytes / TLP_PAYLOAD * (TLP_PAYLOAD + TLP_OVERHEAD) + rest)
    }

    /// The time of a message with host data.
    #[inline]
    pub fn data(&self, sectors: u32) -> Nanos {
        match self.by_sectors.get(sectors as usize) {
            Some(&time) => time,
            None => self.payload(u64::from(sectors) * 512),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_times_of_a_gen3_x4_link_are_the_published_ones() {
        let link = LinkTiming::new(&DeviceConfig::default());
        assert_eq!(link.doorbell, Nanos(8));
        assert_eq!(link.read_request, Nanos(8));
        assert_eq!(link.submission_entry, Nanos(25));
        assert_eq!(link.completion_entry, Nanos(11));
        assert_eq!(link.data(8), Nanos(1248));
        assert_eq!(link.data(128), Nanos(19_968));
        assert_eq!(link.data(1024), Nanos(19_968 * 8));
    }
}
