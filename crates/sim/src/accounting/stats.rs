//! What is counted while the drive runs.
//!
//! Latencies go into histograms with three significant digits. If a run asks for exact percentiles,
//! they are kept one by one instead (8 B each).

use super::counts::{Counts, FlashCommands};
use super::tenant_share::TenantShare;
use crate::vocabulary::{Completion, InitialState};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Table, TenantId};
use ssdtune_trace::Op;

/// The longest latency that a histogram tells apart: 1.2 hours.
const LATENCY_MAX_NS: u64 = 1 << 42;

/// Latencies that are put into a histogram together. Each touches a line of memory of its own
/// somewhere in half a megabyte; together they wait for these lines at the same time.
const BATCH: usize = 128;

/// The latencies of one kind of requests.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Latencies {
    #[serde(with = "crate::stored::histogram")]
    histogram: Histogram<u64>,
    /// Latencies that are not in the histogram yet, fewer than [`BATCH`].
    recent: Vec<u64>,
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
            recent: Vec::with_capacity(BATCH),
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
        if let Some(all) = &mut self.exact {
            all.push(latency.0);
            return;
        }
        self.recent.push(latency.0);
        if self.recent.len() == BATCH {
            self.sort_in();
        }
    }

    /// Puts the recent latencies into the histogram.
    fn sort_in(&mut self) {
        for latency in self.recent.drain(..) {
            self.histogram.saturating_record(latency);
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
                part.recent.iter().for_each(|&latency| all.saturating_record(latency));
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
#[derive(Clone, Serialize, Deserialize)]
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
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TenantStats {
    pub read: OpStats,
    pub write: OpStats,
    pub trims: u64,
    pub flushes: u64,
}

/// Everything that is counted.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub tenants: Table<TenantId, TenantStats>,
    pub counts: Counts,
    /// What each of several tenants has caused. Empty if there is one tenant, who has caused
    /// everything.
    pub shares: Table<TenantId, TenantShare>,
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
        let shares = Table::of(TenantShare::default(), if tenants > 1 { tenants } else { 0 });
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
    pub fn count(&mut self, tenant: TenantId, add: impl Fn(&mut Counts)) {
        add(&mut self.counts);
        if let Some(share) = self.shares.get_mut(tenant) {
            add(&mut share.counts);
        }
    }

    /// Counts a request that was completed.
    #[inline]
    pub fn complete(&mut self, done: &Completion) {
        self.completed += 1;
        self.last_completion = done.completed;
        let tenant = &mut self.tenants[done.tenant];
        let op = match done.op {
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
        op.bytes += u64::from(done.sectors) * 512;
        if done.enqueued == done.arrived {
            op.prompt.add(done.completed - done.arrived);
        } else {
            op.device.add(done.completed - done.enqueued);
            op.total.add(done.completed - done.arrived);
        }
    }
}
