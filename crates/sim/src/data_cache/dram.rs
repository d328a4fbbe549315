//! The DRAM channel: it serves one access at a time.
//!
//! Accesses are served in the order of arrival. If tenants do not share the data cache, they take
//! turns, so that none waits for all accesses of another.
//!
//! An access takes: activate, column access, then bursts on both clock edges.

use crate::base::Base;
use crate::engine::ServerId;
use crate::id::{PartitionId, Place, RequestId, Table, TransactionId};
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, Nanos, TenantId};
use std::collections::VecDeque;

/// What an access to the DRAM is for.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Access {
    /// Data of a request, read or written: the request, and the number of sectors.
    Request(RequestId, u32),
    /// Pages that leave the data cache: the transactions that will write them to flash.
    Evictions(Vec<TransactionId>),
    /// A page that was read from flash enters the data cache.
    Fill,
}

/// The channel and the accesses that wait for it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct DramChannel {
    #[serde(skip)]
    pub timing: DramTiming,
    server: ServerId,
    /// One queue for each part of the data cache. Each access stands with the time it takes.
    queues: Table<PartitionId, VecDeque<(Nanos, Access)>>,
    /// The access that is served.
    current: Option<Access>,
    /// The queue that was served last.
    turn: PartitionId,
}

impl DramChannel {
    /// A channel that serves nobody.
    pub fn new(config: &DeviceConfig, partitions: usize, server: ServerId) -> Self {
        Self {
            timing: DramTiming::new(config),
            server,
            queues: (0..partitions).map(|_| VecDeque::new()).collect(),
            current: None,
            turn: PartitionId(0),
        }
    }

    /// Starts an access for a tenant, or queues it behind others.
    #[inline]
    pub fn access(
        &mut self,
        base: &mut Base,
        tenant: TenantId,
        partition: PartitionId,
        sectors: u32,
        writes: bool,
        access: Access,
    ) {
        let takes = self.timing.sectors(sectors);
        let (now, rows) = (base.now(), self.timing.rows(sectors));
        base.books.dram_works(now, tenant, takes, writes, sectors, rows);
        if self.current.is_some() {
            self.queues[partition].push_back((takes, access));
        } else {
            self.current = Some(access);
            self.turn = partition;
            base.events.push(now + takes, self.server);
        }
    }

    /// An access has ended. Do what follows from it, then call [`DramChannel::serve_next`]: until
    /// then the channel counts as taken.
    #[inline]
    pub fn ended(&mut self) -> Option<Access> {
        self.current.replace(Access::Fill)
    }

    /// Serves the next access, if one waits.
    #[inline]
    pub fn serve_next(&mut self, base: &mut Base) {
        self.current = None;
        for _ in 0..self.queues.len() {
            let next = self.turn.index() + 1;
            self.turn = PartitionId::at(if next < self.queues.len() { next } else { 0 });
            if let Some((takes, access)) = self.queues[self.turn].pop_front() {
                self.current = Some(access);
                base.events.push(base.now() + takes, self.server);
                break;
            }
        }
    }

    /// Transactions that wait for the DRAM.
    pub fn transactions(&self) -> usize {
        let waiting = self.queues.iter().flatten().map(|(_, access)| access);
        let lists = waiting.chain(&self.current).map(|access| match access {
            Access::Evictions(list) => list.len(),
            Access::Request(..) | Access::Fill => 0,
        });
        lists.sum()
    }
}

/// Times of the DRAM behind the data cache.
#[derive(Clone, Default)]
pub(super) struct DramTiming {
    /// Bytes of a row.
    row: u64,
    /// Bytes of a burst on one clock edge.
    burst: u64,
    /// Time of a clock.
    transfer_ns: f64,
    /// Time to open a row and a column.
    open_ns: u64,
    /// Time to close a row.
    precharge_ns: u64,
    /// MQSim's formula for accesses to several rows (`compat.dram_row_formula`).
    row_formula: bool,
    by_sectors: Vec<Nanos>,
}

impl DramTiming {
    pub fn new(config: &DeviceConfig) -> Self {
        let cache = &config.cache;
        let mut dram = Self {
            row: cache.dram_row_bytes.into(),
            burst: cache.dram_burst_bytes.into(),
            transfer_ns: 1000.0 / f64::from(cache.dram_data_rate_mts),
            open_ns: (cache.dram_t_rcd + cache.dram_t_cl).0,
            precharge_ns: cache.dram_t_rp.0,
            row_formula: config.compat.dram_row_formula,
            by_sectors: Vec::new(),
        };
        dram.by_sectors = (0..=64).map(|n| dram.bytes(n * 512)).collect();
        dram
    }

    /// The time of one access to consecutive sectors.
    #[inline]
    pub fn sectors(&self, sectors: u32) -> Nanos {
        match self.by_sectors.get(sectors as usize) {
            Some(&time) => time,
            None => self.bytes(u64::from(sectors) * 512),
        }
    }

    /// The number of rows that an access to consecutive sectors opens.
    #[inline]
    pub fn rows(&self, sectors: u32) -> u64 {
        let bytes = u64::from(sectors) * 512;
        if bytes <= self.row { 1 } else { bytes.div_ceil(self.row) }
    }

    /// The time of one access to consecutive bytes.
    fn bytes(&self, bytes: u64) -> Nanos {
        if bytes <= self.row {
            return Nanos(self.open_ns + self.transfer(bytes));
        }
        if self.row_formula {
            // Only half of the full rows count, and the tail divides by the transfer time.
            let full = (((self.row / self.burst / 2) as f64 * self.transfer_ns) as u64
                + self.precharge_ns) as f64;
            let rows = (bytes / self.row / 2) as f64;
            let tail = (bytes % self.row) as f64 / (self.burst as f64 * self.transfer_ns);
            return Nanos(
                ((self.open_ns as f64 + full * rows) + self.open_ns as f64) as u64 + tail as u64,
            );
        }
        let row_ns = self.open_ns + self.transfer(self.row) + self.precharge_ns;
        let tail = match bytes % self.row {
            0 => 0,
            rest => self.open_ns + self.transfer(rest),
        };
        Nanos(bytes / self.row * row_ns + tail)
    }

    /// The time of the bursts alone.
    fn transfer(&self, bytes: u64) -> u64 {
        ((bytes / self.burst / 2) as f64 * self.transfer_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dram_times_grow_with_bytes_and_cross_rows() {
        let mut config = DeviceConfig::default();
        let dram = DramTiming::new(&config);
        // 26 + 8192/4/2 transfers of 1.25 ns.
        assert_eq!(dram.sectors(16), Nanos(26 + 1280));
        assert_eq!(dram.sectors(17), Nanos(26 + 1280 + 13 + 26 + 80));
        config.cache.dram_data_rate_mts = 100;
        config.cache.dram_burst_bytes = 1;
        assert_eq!(DramTiming::new(&config).sectors(8), Nanos(20_506));
    }

    #[test]
    fn the_row_formula_counts_half_of_the_rows_and_divides_the_rest_by_a_time() {
        let mut config = DeviceConfig::default();
        config.compat.dram_row_formula = true;
        let dram = DramTiming::new(&config);
        // Twice 26 ns to open; for each two full rows 1280 ns of bursts and 13 ns to close; and
        // bytes behind the last full row over 4 * 1.25.
        assert_eq!(dram.sectors(17), Nanos(52 + 102));
        assert_eq!(dram.sectors(5 * 16 + 8), Nanos(52 + 2 * 1293 + 819));
    }
}
