//! What is counted while the drive runs.
//!
//! Latencies go into histograms with three significant digits. If a run asks for exact percentiles,
//! they are kept one by one instead (8 B each).

use crate::energy::Work;
use crate::initial_content::InitialState;
use crate::tenant_share::TenantShare;
use crate::tx::{Class, Req};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_trace::Op;

/// The longest latency that a histogram tells apart: 1.2 hours.
const LATENCY_MAX_NS: u64 = 1 << 42;

/// The latencies of one kind of requests.
#[derive(Serialize, Deserialize)]
pub(crate) struct Latencies {
    #[serde(with = "crate::snapshot::histogram")]
    histogram: Histogram<u64>,
    /// Every latency, if the run asks for exact percentiles. The histogram is then empty.
    exact: Option<Vec<u64>>,
    pub count: u64,
    pub sum: u128,
    pub min: u64,
    pub max: u64,
}

/// Mean and percentiles of latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Shortest latency.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90 % of the latencies are not longer.
    pub p90: u64,
    /// 95 % of the latencies are not longer.
    pub p95: u64,
    /// 99 % of the latencies are not longer.
    pub p99: u64,
    /// 99.9 % of the latencies are not longer.
    pub p999: u64,
    /// 99.99 % of the latencies are not longer.
    pub p9999: u64,
    /// Longest latency.
    pub max: u64,
}

impl Latencies {
    pub fn new(exact: bool) -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3);
        Self {
            histogram: histogram.unwrap_or_else(|_| unreachable!("constant bounds are valid")),
            exact: exact.then(Vec::new),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    #[inline]
    pub fn add(&mut self, latency: Nanos) {
        self.count += 1;
        self.sum += u128::from(latency.0);
        self.min = self.min.min(latency.0);
        self.max = self.max.max(latency.0);
        match &mut self.exact {
            Some(all) => all.push(latency.0),
            None => self.histogram.saturating_record(latency.0),
        }
    }

    /// Several sets of latencies as one; `None` if all are empty.
    pub fn summary<'a>(parts: impl Iterator<Item = &'a Self> + Clone) -> Option<LatencySummary> {
        let count: u64 = parts.clone().map(|part| part.count).sum();
        if count == 0 {
            return None;
        }
        let sum: u128 = parts.clone().map(|part| part.sum).sum();
        let min = parts.clone().map(|part| part.min).min().unwrap_or(0);
        let max = parts.clone().map(|part| part.max).max().unwrap_or(0);
        let mut exact: Vec<u64> =
            parts.clone().filter_map(|p| p.exact.as_ref()).flatten().copied().collect();
        let at: Box<dyn FnMut(f64) -> u64> = if exact.is_empty() {
            let mut all = Histogram::<u64>::new_with_bounds(1, LATENCY_MAX_NS, 3)
                .unwrap_or_else(|_| unreachable!("constant bounds are valid"));
            for part in parts {
                // All histograms have the same bounds, so this cannot fail.
                let _ = all.add(&part.histogram);
            }
            Box::new(move |q| all.value_at_quantile(q).clamp(min, max))
        } else {
            exact.sort_unstable();
            // Nearest rank.
            Box::new(move |q| exact[((q * count as f64).ceil() as usize).clamp(1, exact.len()) - 1])
        };
        let mut at = at;
        Some(LatencySummary {
            mean: sum as f64 / count as f64,
            min,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max,
        })
    }
}

/// The reads or the writes of one tenant.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpStats {
    pub bytes: u64,
    /// Latencies of requests that entered the submission queue on arrival. Both ways of counting
    /// give the same for them.
    pub prompt: Latencies,
    /// Latencies of the other requests, from their entry into the submission queue.
    pub device: Latencies,
    /// Latencies of the other requests, from their arrival at the host.
    pub total: Latencies,
}

impl OpStats {
    fn new(exact: bool) -> Self {
        Self {
            bytes: 0,
            prompt: Latencies::new(exact),
            device: Latencies::new(exact),
            total: Latencies::new(exact),
        }
    }
}

/// What one tenant's requests have met.
#[derive(Serialize, Deserialize)]
pub(crate) struct TenantStats {
    pub read: OpStats,
    pub write: OpStats,
    pub trims: u64,
    pub flushes: u64,
}

/// Commands that were sent to the flash, and the pages and blocks they concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FlashCommands {
    /// Read commands to one plane.
    pub reads: u64,
    /// Read commands to several planes at once.
    pub reads_multiplane: u64,
    /// Program commands to one plane.
    pub programs: u64,
    /// Program commands to several planes at once.
    pub programs_multiplane: u64,
    /// Erase commands to one plane.
    pub erases: u64,
    /// Erase commands to several planes at once.
    pub erases_multiplane: u64,
    /// Pages read, for whatever reason.
    pub pages_read: u64,
    /// Array reads beyond the first that a page needed (read retry).
    pub read_retries: u64,
    /// Read commands during whose array time data of the read before left the die (read cache
    /// command).
    pub cache_reads: u64,
    /// Program commands whose data came while the die was programming (page cache program command).
    pub cache_programs: u64,
    /// Pages programmed for the host.
    pub pages_programmed_host: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub pages_programmed_moved: u64,
    /// Pages among the moved ones that never left their die.
    pub copybacks: u64,
    /// Translation pages programmed.
    pub pages_programmed_mapping: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Translation pages read.
    pub mapping_reads: u64,
    /// Programs interrupted, counted once for each interruption.
    pub program_suspensions: u64,
    /// Erases interrupted, counted once for each interruption.
    pub erase_suspensions: u64,
}

impl FlashCommands {
    /// Counts a command to a number of planes.
    #[inline]
    pub(crate) fn count_command(&mut self, work: Work, planes: u32) {
        let [single, multiplane] = match work {
            Work::Read => [&mut self.reads, &mut self.reads_multiplane],
            Work::Program => [&mut self.programs, &mut self.programs_multiplane],
            Work::Erase => [&mut self.erases, &mut self.erases_multiplane],
        };
        *(if planes == 1 { single } else { multiplane }) += 1;
    }

    /// Counts an interruption of an operation of this class.
    pub(crate) fn count_suspension(&mut self, class: Class) {
        let counter = match class {
            Class::Erase => &mut self.erase_suspensions,
            _ => &mut self.program_suspensions,
        };
        *counter += 1;
    }

    /// Counts the pages, or the blocks, of a command.
    #[inline]
    pub(crate) fn count_pages(&mut self, work: Work, class: Class, count: u32) {
        let counter = match (work, class) {
            (Work::Read, _) => &mut self.pages_read,
            (Work::Erase, _) => &mut self.blocks_erased,
            (Work::Program, Class::GcWrite) => &mut self.pages_programmed_moved,
            (Work::Program, Class::MappingWrite) => &mut self.pages_programmed_mapping,
            (Work::Program, _) => &mut self.pages_programmed_host,
        };
        *counter += u64::from(count);
    }
}

/// What requests have met on their way through the drive.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Pages read by the host that held no data.
    pub unwritten_reads: u64,
    /// Pages read by the host.
    pub page_reads: u64,
    /// Writes of a part of a page, for which the rest had to be read.
    pub merge_reads: u64,
    /// Writes that had to wait for a free block.
    pub held_writes: u64,
    /// Pages that reads looked for in the data cache.
    pub cache_lookups: u64,
    /// Pages that the data cache held in full.
    pub cache_hits: u64,
    /// Pages written into the data cache.
    pub cache_writes: u64,
    /// Pages written into the data cache that it already held.
    pub cache_write_hits: u64,
    /// Pages moved to level wear.
    pub wear_moved_pages: u64,
}

/// Everything that is counted.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stats {
    pub tenants: Vec<TenantStats>,
    pub counts: Counts,
    /// What each of several tenants has caused. Empty if there is one tenant, who has caused
    /// everything.
    pub shares: Vec<TenantShare>,
    pub flash: FlashCommands,
    pub arrived: u64,
    pub completed: u64,
    pub first_arrival: Option<Nanos>,
    pub last_completion: Nanos,
    pub dram_busy: Nanos,
    /// Pages written before the run, without time.
    pub warm_up_pages: u64,
    /// How the data that the drive held at the start were written.
    pub initial_state: InitialState,
    /// Pages that held data at the start.
    pub initial_pages: u64,
}

impl Stats {
    pub fn new(tenants: usize, exact: bool) -> Self {
        let shares = vec![TenantShare::default(); if tenants > 1 { tenants } else { 0 }];
        let tenants = (0..tenants)
            .map(|_| TenantStats {
                read: OpStats::new(exact),
                write: OpStats::new(exact),
                trims: 0,
                flushes: 0,
            })
            .collect();
        Self {
            tenants,
            counts: Counts::default(),
            shares,
            flash: FlashCommands::default(),
            arrived: 0,
            completed: 0,
            first_arrival: None,
            last_completion: Nanos::ZERO,
            dram_busy: Nanos::ZERO,
            warm_up_pages: 0,
            initial_state: InitialState::Empty,
            initial_pages: 0,
        }
    }

    /// Whether there are several tenants, so that what is done must be counted for each of them.
    #[inline]
    pub fn has_several(&self) -> bool {
        !self.shares.is_empty()
    }

    /// Counts something for the drive and for the tenant it belongs to.
    #[inline]
    pub fn count(&mut self, tenant: usize, add: impl Fn(&mut Counts)) {
        add(&mut self.counts);
        if let Some(share) = self.shares.get_mut(tenant) {
            add(&mut share.counts);
        }
    }

    /// Counts a request that was completed.
    #[inline]
    pub fn complete(&mut self, req: &Req, now: Nanos) {
        self.completed += 1;
        self.last_completion = now;
        let tenant = &mut self.tenants[req.tenant as usize];
        let op = match req.op {
            Op::Read => &mut tenant.read,
            Op::Write => &mut tenant.write,
            Op::Trim => {
                tenant.trims += 1;
                return;
            }
            Op::Flush => {
                tenant.flushes += 1;
                return;
            }
        };
        op.bytes += u64::from(req.sectors) * 512;
        if req.enqueued == req.arrived {
            op.prompt.add(now - req.arrived);
        } else {
            op.device.add(now - req.enqueued);
            op.total.add(now - req.arrived);
        }
    }
}
