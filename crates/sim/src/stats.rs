//! What is counted while the drive runs. Latencies go into histograms of three significant digits; where a
//! run asks for exact percentiles they are kept one by one instead (8 B each).

use crate::energy::Work;
use crate::initial_content::InitialState;
use crate::tenant_share::TenantShare;
use crate::tx::{Class, Req};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_trace::Op;

/// Longest latency a histogram tells apart: 1.2 hours.
const LATENCY_MAX_NS: u64 = 1 << 42;

/// Latencies of one kind of request.
#[derive(Serialize, Deserialize)]
pub(crate) struct Latencies {
    #[serde(with = "crate::snapshot::histogram")]
    histogram: Histogram<u64>,
    exact: Option<Vec<u64>>,
    pub count: u64,
    pub sum: u128,
    pub min: u64,
    pub max: u64,
}

/// Mean and percentiles, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Shortest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90 % are not longer.
    pub p90: u64,
    /// 95 % are not longer.
    pub p95: u64,
    /// 99 % are not longer.
    pub p99: u64,
    /// 99.9 % are not longer.
    pub p999: u64,
    /// 99.99 % are not longer.
    pub p9999: u64,
    /// Longest.
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

    /// Everything seen by several, as one; `None` if they saw nothing.
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
                // The bounds are the same, so it cannot fail.
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

/// One direction of one tenant.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpStats {
    pub bytes: u64,
    /// Of requests that entered the submission queue on arrival: both latencies are the same.
    pub prompt: Latencies,
    /// Of the others, from the entry into the submission queue.
    pub device: Latencies,
    /// Of the others, from the arrival at the host.
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

/// One tenant.
#[derive(Serialize, Deserialize)]
pub(crate) struct TenantStats {
    pub read: OpStats,
    pub write: OpStats,
    pub trims: u64,
    pub flushes: u64,
}

/// Commands sent to the flash, by the planes they used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FlashCommands {
    /// Reads of one plane.
    pub reads: u64,
    /// Reads of several planes at once.
    pub reads_multiplane: u64,
    /// Programs of one plane.
    pub programs: u64,
    /// Programs of several planes at once.
    pub programs_multiplane: u64,
    /// Erases of one plane.
    pub erases: u64,
    /// Erases of several planes at once.
    pub erases_multiplane: u64,
    /// Pages read, for whatever reason.
    pub pages_read: u64,
    /// Array reads beyond the first that pages took (read retry).
    pub read_retries: u64,
    /// Reads whose array worked while data of the one before left the die (cache read).
    pub cache_reads: u64,
    /// Programs whose data came while the die programmed (cache program).
    pub cache_programs: u64,
    /// Pages programmed for the host.
    pub pages_programmed_host: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub pages_programmed_moved: u64,
    /// Of these, pages that never left their die.
    pub copybacks: u64,
    /// Translation pages programmed.
    pub pages_programmed_mapping: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Translation pages read.
    pub mapping_reads: u64,
    /// Programs interrupted.
    pub program_suspensions: u64,
    /// Erases interrupted.
    pub erase_suspensions: u64,
}

impl FlashCommands {
    /// One command to so many planes.
    #[inline]
    pub(crate) fn count_command(&mut self, work: Work, planes: u32) {
        let [single, multiplane] = match work {
            Work::Read => [&mut self.reads, &mut self.reads_multiplane],
            Work::Program => [&mut self.programs, &mut self.programs_multiplane],
            Work::Erase => [&mut self.erases, &mut self.erases_multiplane],
        };
        *(if planes == 1 { single } else { multiplane }) += 1;
    }

    /// An operation was interrupted.
    pub(crate) fn count_suspension(&mut self, class: Class) {
        let counter = match class {
            Class::Erase => &mut self.erase_suspensions,
            _ => &mut self.program_suspensions,
        };
        *counter += 1;
    }

    /// The pages, or blocks, of a command.
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

/// What requests have met on their way.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub unwritten_reads: u64,
    pub page_reads: u64,
    pub merge_reads: u64,
    pub held_writes: u64,
    pub cache_lookups: u64,
    pub cache_hits: u64,
    pub cache_writes: u64,
    pub cache_write_hits: u64,
    pub wear_moved_pages: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Stats {
    pub tenants: Vec<TenantStats>,
    pub counts: Counts,
    /// What each of several tenants has caused; empty where there is one, who has caused everything.
    pub shares: Vec<TenantShare>,
    pub flash: FlashCommands,
    pub arrived: u64,
    pub completed: u64,
    pub first_arrival: Option<Nanos>,
    pub last_completion: Nanos,
    pub dram_busy: Nanos,
    pub warm_up_pages: u64,
    /// What the drive was at the start.
    pub initial_state: InitialState,
    /// Pages that held data then.
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

    /// Whether what is done must be counted for tenants apart.
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
