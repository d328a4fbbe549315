//! Everything of the drive that serves one thing at a time is a server with a number: a stream of
//! arrivals, a direction of the link, the DRAM channel, a flash channel, a die. Each server has at
//! most one pending event, but for a die whose planes read for themselves: one for each plane.

use crate::id::{ChannelId, DieId, QueueId, StreamId};
use serde::{Deserialize, Serialize};

/// Number of a server, below [`ServerId::LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerId(pub u32);

impl ServerId {
    /// Servers that a key can number.
    pub const LIMIT: u32 = 1 << 14;
}

/// Streams of arrivals that a drive can have.
pub(crate) const STREAMS_MAX: u32 = 64;
// Streams come first. Bells, channels and dies follow the last one here.
const SATA_IN: u32 = STREAMS_MAX;
const SATA_OUT: u32 = STREAMS_MAX + 1;
const LINK_DOWN: u32 = STREAMS_MAX + 2;
const LINK_UP: u32 = STREAMS_MAX + 3;
const DRAM: u32 = STREAMS_MAX + 4;
const HOST_CPU: u32 = STREAMS_MAX + 5;
const CONTROLLER: u32 = STREAMS_MAX + 6;
const PIPELINE: u32 = STREAMS_MAX + 7;
const REST: u32 = STREAMS_MAX + 8;
const FIRST_BELL: u32 = STREAMS_MAX + 9;

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// The next request of a stream arrives.
    Stream(StreamId),
    /// The SATA adapter, on the way in.
    SataIn,
    /// The SATA adapter, on the way out.
    SataOut,
    /// The direction of the link from the host to the drive.
    LinkDown,
    /// The direction of the link from the drive to the host.
    LinkUp,
    /// The DRAM channel.
    Dram,
    /// The host's software: a request leaves it.
    HostCpu,
    /// The controller: a command leaves it.
    Controller,
    /// The controller: the last data of a read leave it.
    Pipeline,
    /// Notices that the host leaves the drive alone.
    Rest,
    /// Hears the host give back places of a completion queue.
    Bell(QueueId),
    /// A flash channel.
    Channel(ChannelId),
    /// A die.
    Die(DieId),
}

/// How the servers of a drive are numbered.
#[derive(Clone, Copy)]
pub(crate) struct Servers {
    first_channel: u32,
    first_die: u32,
}

impl Servers {
    /// The numbering of a drive with `queues` pairs of host queues and `channels` channels.
    pub fn new(queues: usize, channels: u32) -> Self {
        let first_channel = FIRST_BELL + queues as u32;
        Self { first_channel, first_die: first_channel + channels }
    }

    /// Channels and dies that can be numbered.
    pub fn limit(&self) -> u32 {
        ServerId::LIMIT.saturating_sub(self.first_channel)
    }

    /// The number of a server.
    pub fn number(&self, server: Server) -> ServerId {
        ServerId(match server {
            Server::Stream(stream) => stream.0,
            Server::SataIn => SATA_IN,
            Server::SataOut => SATA_OUT,
            Server::LinkDown => LINK_DOWN,
            Server::LinkUp => LINK_UP,
            Server::Dram => DRAM,
            Server::HostCpu => HOST_CPU,
            Server::Controller => CONTROLLER,
            Server::Pipeline => PIPELINE,
            Server::Rest => REST,
            Server::Bell(queue) => FIRST_BELL + queue.0,
            Server::Channel(channel) => self.first_channel + channel.0,
            Server::Die(die) => self.first_die + die.0,
        })
    }

    /// The server of a number.
    #[inline]
    pub fn which(&self, ServerId(number): ServerId) -> Server {
        match number {
            die if die >= self.first_die => Server::Die(DieId(die - self.first_die)),
            channel if channel >= self.first_channel => {
                Server::Channel(ChannelId(channel - self.first_channel))
            }
            LINK_DOWN => Server::LinkDown,
            LINK_UP => Server::LinkUp,
            DRAM => Server::Dram,
            SATA_IN => Server::SataIn,
            SATA_OUT => Server::SataOut,
            HOST_CPU => Server::HostCpu,
            CONTROLLER => Server::Controller,
            PIPELINE => Server::Pipeline,
            REST => Server::Rest,
            bell if bell >= FIRST_BELL => Server::Bell(QueueId(bell - FIRST_BELL)),
            stream => Server::Stream(StreamId(stream)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_of_one_server() {
        let servers = Servers::new(3, 4);
        let some = [
            Server::Stream(StreamId(0)),
            Server::Stream(StreamId(STREAMS_MAX - 1)),
            Server::SataIn,
            Server::SataOut,
            Server::LinkDown,
            Server::LinkUp,
            Server::Dram,
            Server::HostCpu,
            Server::Controller,
            Server::Pipeline,
            Server::Rest,
            Server::Bell(QueueId(0)),
            Server::Bell(QueueId(2)),
            Server::Channel(ChannelId(0)),
            Server::Channel(ChannelId(3)),
            Server::Die(DieId(0)),
            Server::Die(DieId(70)),
        ];
        for server in some {
            assert_eq!(servers.which(servers.number(server)), server);
        }
    }
}
