//! Plans on a mix of any length, told from windows of it.
//!
//! One pass over the mix keeps windows from all over it. Each plan serves all of them, each on a
//! drive that is brought into the state in which that plan would have left it there: pages lie
//! where their tenants wrote when they were written last, and the allocator's plans have all
//! channels for all tenants until it has decided, which runs as it is.
//!
//! Cost: the pass, and for each plan some thousand requests in each window. What is kept are the
//! windows and 16 bytes for each page that the mix touches.

use super::CompareError;
use super::drives::Drives;
use super::merge::MergeOptions;
use super::queues::{Lies, Queues};
use super::stream::LongMix;
use super::told::{Modelled, Outcome, WindowLine, lines};
use crate::allocator::{Allocator, AllocatorError, Decision, Repeat};
use crate::binding::{bind, bindings};
use crate::policy::Policy;
use crate::strategy::Strategy;
use roaring::RoaringTreemap;
use serde::Serialize;
use ssdtune_experiment::livepoints::{
    LivePoints, NEVER, SampleOptions, Sampler, SharedDrive, Spaces, TAIL, Window,
};
use ssdtune_experiment::sampled::{SampledRun, SharedRun, SharedTask, serve_shared};
use ssdtune_experiment::{Blank, Nothing, Preparation, RequestSource, Served, Start, serve};
use ssdtune_model::config::{Allocation, CacheMode};
use ssdtune_model::{CheckedConfig, Nanos, Place, TenantId};
use ssdtune_sim::{Border, Look, Observe, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Windows of a mix unless stated otherwise: 500 to 1,000 of a long one.
pub const MIX_WINDOWS: SampleOptions = SampleOptions {
    windows: 1_000,
    warm_up: 500,
    measured: 500,
    page_bytes: 0,
    seed: 1,
    memory_bytes: 8 << 30,
};

/// Requests between two looks at the stop flag.
const LOOK_EVERY: u64 = 1 << 16;

/// What windows of a mix say of plans.
#[derive(Clone, Debug, Serialize)]
pub struct WindowComparison {
    /// The names of the tenants' workloads.
    pub tenants: Vec<String>,
    /// The intensity level of the whole mix, 1 to 20.
    pub level: u8,
    /// For each tenant, whether it mostly writes.
    pub writers: Vec<bool>,
    /// How much was measured.
    pub run: SampledRun,
    /// The plans: `Shared`, `Isolated`, the allocator's, and the best of all strategies.
    pub lines: Vec<WindowLine>,
    /// Every fixed strategy.
    pub strategies: Vec<WindowLine>,
    /// What the allocator decided.
    pub decisions: Vec<Decision>,
}

/// Compares plans on windows of the workloads of tenants that share a drive, the first tenant's
/// first. The allocator asks `policy`; `collect` is its period T.
///
/// # Errors
/// The workloads are no mix, or as of [`WindowPlans::compare`].
pub fn compare_windows(
    device: &CheckedConfig,
    preparation: &Preparation,
    (sources, options): (&[RequestSource], MergeOptions),
    (policy, collect): (&Policy, Nanos),
    stop: &AtomicBool,
) -> Result<WindowComparison, CompareError> {
    let mix = LongMix::new(device, sources, options, stop)?;
    WindowPlans::new(device, preparation, &mix, MIX_WINDOWS, stop)?.compare(policy, collect)
}

/// A mix that was passed over.
struct Passed {
    points: LivePoints,
    spaces: Spaces,
    /// Pages that were used before the allocator decided.
    early: RoaringTreemap,
    /// The first request after that.
    since: u32,
    /// For each tenant, whether it writes more sectors than it reads.
    writers: Vec<bool>,
    /// Flash pages that reads and writes touch.
    pages: u64,
}

/// A plan: its name, the strategy from the first request on or from the allocator's decision on,
/// and the drive's page allocation under it.
struct Division {
    plan: String,
    strategy: Strategy,
    writers: Vec<bool>,
    is_decided: bool,
    allocation: Allocation,
}

impl Division {
    /// Writes leave the parts of the allocator when they would wait there, and never those of a
    /// fixed strategy.
    fn border(&self) -> Border {
        if self.is_decided { Border::Open } else { Border::Closed }
    }
}

/// Plans on windows of a mix.
pub struct WindowPlans<'a> {
    drives: Drives,
    start: Start,
    mix: &'a LongMix<'a>,
    options: SampleOptions,
    stop: &'a AtomicBool,
}

impl<'a> WindowPlans<'a> {
    /// Plans on a drive that begins like this. The page size among the options does not count.
    ///
    /// # Errors
    /// The drive cannot have the allocations that plans need, or it was aged or has dynamic
    /// allocation, which windows cannot know.
    pub fn new(
        device: &CheckedConfig,
        preparation: &Preparation,
        mix: &'a LongMix<'a>,
        options: SampleOptions,
        stop: &'a AtomicBool,
    ) -> Result<Self, CompareError> {
        if !preparation.ages.is_empty() || preparation.erases > 0 {
            return Err(CompareError::Aged);
        }
        let page_bytes = device.geometry().page_bytes;
        let options = SampleOptions { page_bytes, ..options };
        let spaces = Spaces::of(device, mix.tenants())?;
        spaces.check(device, &preparation.start)?;
        let drives = Drives::new(device, &preparation.start)?;
        if drives.own == Allocation::Dynamic {
            return Err(CompareError::DynamicWindows);
        }
        Ok(Self { drives, start: preparation.start.clone(), mix, options, stop })
    }

    /// Passes over the mix and serves its windows under the allocator's plans and every strategy.
    ///
    /// # Errors
    /// The mix cannot be read or is too short, the drive cannot be restored, has no room or does
    /// not fit the policy, or the caller stopped it.
    pub fn compare(
        &self,
        policy: &Policy,
        collect: Nanos,
    ) -> Result<WindowComparison, CompareError> {
        let (decisions, bound) = self.decide(policy, collect)?;
        let last = decisions.last();
        let passed = self.pass(last.map(|last| last.at_ns))?;
        let channels = self.drives.fixed().geometry().channels;
        let fixed = Strategy::all(channels, self.mix.tenants());
        let fixed: Vec<Strategy> =
            fixed.into_iter().filter(|strategy| strategy.is_distinct(&passed.writers)).collect();
        let keeper = |(plan, allocation): (&str, _)| {
            let strategy = last.map_or(Strategy::Shared, |last| last.strategy.clone());
            let (plan, writers) = (plan.to_owned(), bound.clone());
            Division { plan, strategy, writers, is_decided: true, allocation }
        };
        let of_allocators = self.drives.of_allocators().into_iter();
        let mut plans: Vec<Division> = of_allocators.map(keeper).collect();
        let unfixed = plans.len();
        plans.extend(fixed.iter().map(|strategy| Division {
            plan: strategy.to_string(),
            strategy: strategy.clone(),
            writers: passed.writers.clone(),
            is_decided: false,
            allocation: Allocation::Static,
        }));
        let modelled = self.model(&plans, &passed)?;
        let outcome = |(plan, modelled): (&Division, Modelled)| {
            let runs = self.serve(plan, &passed)?;
            let is_open = plan.border() == Border::Open && plan.strategy != Strategy::Shared;
            let (plan, strategy) = (plan.plan.clone(), plan.strategy.to_string());
            Ok(Outcome { plan, strategy, is_open, runs, modelled })
        };
        let outcomes: Vec<Outcome> =
            plans.iter().zip(modelled).map(outcome).collect::<Result<_, CompareError>>()?;
        let run = self.run(&passed.points);
        let is_cached = self.drives.fixed().cache.mode != CacheMode::Off;
        let all = lines(&outcomes, unfixed, &run, is_cached);
        let (others, strategies) = all.split_at(unfixed);
        let best = (strategies.iter())
            .min_by(|a, b| a.total_ns.total_cmp(&b.total_ns))
            .unwrap_or(&strategies[0]);
        let named =
            |name: &str, line: &WindowLine| WindowLine { plan: name.into(), ..line.clone() };
        let isolated = fixed.iter().position(|strategy| *strategy == Strategy::Isolated);
        let mut lines = vec![strategies[0].clone()];
        lines.extend(isolated.map(|place| strategies[place].clone()));
        lines.extend(others.iter().cloned());
        lines.push(named(&format!("best of {}", strategies.len()), best));
        let seconds = (passed.points.about.last.0 as f64 / 1e9).max(1e-9);
        Ok(WindowComparison {
            tenants: self.mix.names(),
            level: policy.intensity.level(passed.pages as f64 / seconds) + 1,
            writers: passed.writers,
            run,
            lines,
            strategies: strategies.to_vec(),
            decisions,
        })
    }

    /// What the allocator decides, and for each tenant whether it is bound as one that mostly
    /// writes. The drive holds what it begins with: where reads find data is a part of the
    /// decision.
    fn decide(
        &self,
        policy: &Policy,
        collect: Nanos,
    ) -> Result<(Vec<Decision>, Vec<bool>), CompareError> {
        let device = self.drives.with(self.drives.own);
        let (trained, found) = (policy.channels, device.geometry().channels);
        if trained != found {
            return Err(AllocatorError::Channels { trained, found }.into());
        }
        let tenants = vec![Tenant::sole(device); self.mix.tenants()];
        let blank = Blank::new(device, &tenants, Observe::default());
        let start = Preparation::of(self.start.clone(), device.run.seed);
        let mut drive = blank.prepare(&start, self.mix, self.stop)?;
        let mut allocator = Allocator::new(policy, collect, Repeat::Once, &drive)?;
        let (mut fault, mut refused) = (None, None);
        let requests = self.mix.open()?;
        let requests = requests.map_while(|one| one.map_err(|error| fault = Some(error)).ok());
        let streams = vec![Stream { tenant: None, ..Stream::open(requests) }];
        let interval = Some(allocator.slot());
        let served = serve(&mut drive, streams, interval, self.stop, |drive, _, look| {
            // Nothing is completed here, and nothing is served after the last decision.
            if let Look::IntervalEnd(at) = look {
                refused = allocator.slot_ended(drive, at).err();
            }
            refused.is_none() && !allocator.is_decided()
        });
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        if let Some(refused) = refused {
            return Err(refused.into());
        }
        match served {
            Served::Interrupted => return Err(CompareError::Interrupted),
            Served::OutOfSpace { .. } => {
                return Err(CompareError::OutOfSpace { plan: "SSDKeeper".to_owned() });
            }
            Served::Completed | Served::GivenUp => {}
        }
        Ok((allocator.decisions().to_vec(), allocator.bound_writers().to_vec()))
    }

    /// Passes over the mix, whose tenants have their own channels from some time on.
    fn pass(&self, decided_ns: Option<u64>) -> Result<Passed, CompareError> {
        let spaces = Spaces::of(self.drives.fixed(), self.mix.tenants())?;
        let mut sampler = Sampler::new(self.options)?;
        let page_sectors = u64::from(self.drives.fixed().geometry().sectors_per_page());
        let (mut early, mut since) = (RoaringTreemap::new(), NEVER);
        let mut balance = vec![0_i64; self.mix.tenants()];
        let mut pages = 0;
        for (request, nth) in self.mix.open()?.zip(0_u64..) {
            let request = request?;
            if nth.is_multiple_of(LOOK_EVERY) && self.stop.load(Ordering::Relaxed) {
                return Err(CompareError::Interrupted);
            }
            let joint = spaces.join(&request);
            if since == NEVER && decided_ns.is_some_and(|at| request.at.0 >= at) {
                since = nth as u32;
            }
            if since == NEVER && decided_ns.is_some() && joint.sectors > 0 {
                let last = (joint.end().0 - 1) / page_sectors;
                early.insert_range(joint.lba.0 / page_sectors..=last);
            }
            pages += self.mix.pages(&request);
            balance[usize::from(request.tenant.0)] += match request.op {
                Op::Write => i64::from(request.sectors),
                Op::Read => -i64::from(request.sectors),
                Op::Trim | Op::Flush => 0,
            };
            sampler.push(&joint)?;
        }
        let writers = balance.into_iter().map(|balance| balance > 0).collect();
        let points = sampler.finish()?;
        Ok(Passed { points, spaces, early, since, writers, pages })
    }

    /// Serves all windows under a plan.
    fn serve(&self, plan: &Division, passed: &Passed) -> Result<Vec<SharedRun>, CompareError> {
        let device = self.drives.with(plan.allocation);
        let bound =
            bindings(&plan.strategy, &device.flash_geometry(), &plan.writers, plan.border());
        let (none, all) = (RoaringTreemap::new(), passed.points.windows.len());
        let tenants = SharedDrive {
            spaces: passed.spaces,
            bindings: &bound,
            since: if plan.is_decided { passed.since } else { 0 },
            early: if plan.is_decided { &passed.early } else { &none },
        };
        let task =
            SharedTask { points: &passed.points, device, start: self.start.clone(), tenants };
        let windows: Vec<usize> = (0..all).collect();
        Ok(serve_shared(&task, &windows, self.stop)?)
    }

    /// What the model says of each plan.
    fn model(&self, plans: &[Division], passed: &Passed) -> Result<Vec<Modelled>, CompareError> {
        let queues: Vec<Queues> =
            plans.iter().map(|plan| self.queues(plan)).collect::<Result<_, _>>()?;
        let is_bound = |plan: &Division, nth: u32| !plan.is_decided || nth >= passed.since;
        let mut all: Vec<Queues> = queues.clone();
        let mut sums = vec![[0.0; 2]; plans.len()];
        let (mut counts, mut places) = ([0_u64; 2], self.places(passed));
        for (request, nth) in self.mix.open()?.zip(0_u64..) {
            let request = request?;
            if nth.is_multiple_of(LOOK_EVERY) && self.stop.load(Ordering::Relaxed) {
                return Err(CompareError::Interrupted);
            }
            let Some(op) = op(&request) else { continue };
            counts[op] += 1;
            let lies = places.of(&request);
            for ((plan, queues), sums) in plans.iter().zip(&mut all).zip(&mut sums) {
                let lies = if is_bound(plan, nth as u32) { lies } else { Lies::Spread };
                sums[op] += queues.serve(&request, lies);
            }
        }
        let told = |((plan, empty), sums): ((&Division, &Queues), [f64; 2])| Modelled {
            means: [0, 1].map(|op| sums[op] / counts[op].max(1) as f64),
            windows: (passed.points.windows.iter())
                .map(|window| {
                    let lies_as_planned = is_bound(plan, window.start);
                    self.model_window(window, empty.clone(), passed, lies_as_planned)
                })
                .collect(),
        };
        Ok(plans.iter().zip(&queues).zip(sums).map(told).collect())
    }

    /// What the model says of the measured requests of a window whose drive has nothing to do when
    /// it begins, as a restored one.
    fn model_window(
        &self,
        window: &Window,
        mut queues: Queues,
        passed: &Passed,
        is_bound: bool,
    ) -> [f64; 2] {
        let mut places = self.places(passed);
        places.know(window);
        let measured = window.warm_up..window.requests.len() as u32 - TAIL;
        let mut sums = [0.0; 2];
        for (request, nth) in window.requests.iter().zip(0..) {
            let request = passed.spaces.part(request);
            let Some(op) = op(&request) else { continue };
            let lies = if is_bound { places.of(&request) } else { Lies::Spread };
            let ns = queues.serve(&request, lies);
            if measured.contains(&nth) {
                sums[op] += ns;
            }
        }
        sums
    }

    /// The queues of a drive under a plan.
    fn queues(&self, plan: &Division) -> Result<Queues, CompareError> {
        let tenants = vec![Tenant::sole(self.drives.fixed()); self.mix.tenants()];
        let empty = Preparation::of(Start::Empty, self.drives.fixed().run.seed);
        let blank = Blank::new(self.drives.fixed(), &tenants, Observe::default());
        let mut drive = blank.prepare(&empty, &Nothing, self.stop)?;
        let spread = drive.past_planes(TenantId(0)).to_vec();
        bind(&mut drive, &plan.strategy, &plan.writers, plan.border())?;
        let bound = (0..tenants.len()).map(|tenant| drive.past_planes(TenantId::at(tenant)));
        Ok(Queues::new(self.drives.fixed(), &spread, bound))
    }

    fn places(&self, passed: &Passed) -> Places {
        let page_sectors = self.drives.fixed().geometry().sectors_per_page().into();
        let written = (self.start == Start::Footprint).then(RoaringTreemap::new);
        Places { spaces: passed.spaces, page_sectors, written }
    }

    /// How much is measured.
    fn run(&self, points: &LivePoints) -> SampledRun {
        let SampleOptions { warm_up, measured, .. } = self.options;
        let (requests, windows) = (points.requests, points.windows.len());
        let covered = (windows as f64 * f64::from(measured) / requests as f64).min(1.0);
        SampledRun { requests, windows, kept: windows, warm_up, measured, covered }
    }
}

/// Whether a request is a read (0) or a write (1).
fn op(request: &Request) -> Option<usize> {
    match request.op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        Op::Trim | Op::Flush => None,
    }
}

/// Where data lie on a drive that held some at the start: what was written since then lies where
/// its tenant writes.
struct Places {
    spaces: Spaces,
    page_sectors: u64,
    /// Pages that were written, if the drive held data.
    written: Option<RoaringTreemap>,
}

impl Places {
    /// Where a request's data lie, by its first page; a write moves them.
    fn of(&mut self, request: &Request) -> Lies {
        let Some(written) = self.written.as_mut().filter(|_| request.sectors > 0) else {
            return Lies::Bound;
        };
        let joint = self.spaces.join(request);
        let first = joint.lba.0 / self.page_sectors;
        match request.op {
            Op::Write => {
                let last = (joint.end().0 - 1) / self.page_sectors;
                (first..=last).for_each(|page| _ = written.insert(page));
                Lies::Bound
            }
            _ if written.contains(first) => Lies::Bound,
            _ => Lies::Spread,
        }
    }

    /// Learns what was written before a window.
    fn know(&mut self, window: &Window) {
        let Some(written) = &mut self.written else { return };
        for run in window.before.iter().filter(|run| run.record.write != NEVER) {
            written.insert_range(run.pages());
        }
    }
}
