//! An experiment: a drive, what it has been through, and the flows of requests it serves; run to
//! its end or to an interruption.

use crate::error::{ExperimentError, SourceError};
use crate::fit::AddressFit;
use crate::preparation::Preparation;
use crate::prepare::{Blank, FallibleRequests, Upcoming, address_spaces};
use crate::serve::{Observer, serve};
use crate::source::{Position, RequestSource, page_sectors};
use rayon::prelude::*;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{CheckedConfig, DeviceConfig, Place, Sectors, TenantId};
use ssdtune_sim::{Observe, Replay, Report, Simulator, Stream, Tenant};
use ssdtune_trace::Request;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests that one stream gives to a drive.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Where the requests come from.
    pub source: RequestSource,
    /// When they are submitted.
    pub replay: Replay,
    /// Whose they are; `None` lets each request say.
    pub tenant: Option<TenantId>,
}

/// A simulation that has not run yet.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The drive.
    pub device: CheckedConfig,
    /// Who shares it.
    pub tenants: Vec<Tenant>,
    /// The requests. The flow named last starts first, which decides between equal times.
    pub flows: Vec<Flow>,
    /// What the drive holds and has been through before.
    pub preparation: Preparation,
    /// Serves only this tenant in the run; the preparation still looks at the requests of all.
    pub only: Option<TenantId>,
    /// Where the prepared drive is kept before the run, if anywhere.
    pub save: Option<PathBuf>,
}

/// How an experiment is run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Ends the run early when it is set; the report then says so.
    pub stop: &'a AtomicBool,
    /// Told the share of the requests that were read, 0 to 1, and how many were completed since the
    /// last time.
    pub progress: &'a (dyn Fn(f64, u64) + Sync),
    /// Keeps every latency (16 bytes each), so that percentiles are exact instead of within 0.1 %.
    pub exact_percentiles: bool,
}

/// Completions between two calls of [`RunOptions::progress`].
const PROGRESS_EVERY: u64 = 10_000;

/// The reason why a drive cannot serve this number of tenants; `None` if it can.
pub fn unsupported(config: &DeviceConfig, tenants: usize) -> Option<&'static str> {
    let sata = config.host.interface == HostInterface::Sata;
    (sata && tenants > 1)
        .then_some("SATA has one queue: merge the flows into one, or take an NVMe drive")
}

impl Experiment {
    /// One tenant on the whole drive, which holds what the run touches.
    pub fn new(device: &CheckedConfig, source: RequestSource, replay: Replay) -> Self {
        Self {
            device: device.clone(),
            tenants: vec![Tenant::sole(device)],
            flows: vec![Flow { source, replay, tenant: Some(TenantId(0)) }],
            preparation: Preparation { seed: device.run.seed, ..Preparation::default() },
            only: None,
            save: None,
        }
    }

    /// What tables and documents call its workload.
    pub fn workload(&self) -> String {
        let mut names: Vec<String> = self.flows.iter().map(|flow| flow.source.name()).collect();
        names.dedup();
        names.join(" + ")
    }

    /// Whether preparation and run open each source once: a pipe can serve them.
    pub fn reads_once(&self) -> bool {
        let twice = |flow: &Flow| flow.source.fit == Some(AddressFit::Compact);
        !self.preparation.reads_requests() && !self.flows.iter().any(twice)
    }

    /// Prepares the drive, serves the flows and reports. Observers are told in their order.
    ///
    /// # Errors
    /// The drive or a tenant is impossible, requests do not come, or an observer fails.
    pub fn run(
        &self,
        options: &RunOptions<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Report, ExperimentError> {
        if let Some(reason) = unsupported(&self.device, self.tenants.len()) {
            return Err(ExperimentError::Unsupported(reason));
        }
        let completions = observers.iter().any(|observer| observer.wants_completions());
        let observe = Observe { exact_percentiles: options.exact_percentiles, completions };
        let blank = Blank::new(&self.device, &self.tenants, observe);
        let mut drive = blank.prepare(&self.preparation, self, options.stop)?;
        self.keep(&drive, options.stop)?;
        let warnings = self.serve(&mut drive, options, observers)?;
        let mut report = drive.report();
        report.warnings.extend(warnings);
        for observer in observers {
            observer.end(&drive, &report).map_err(ExperimentError::Observer)?;
        }
        Ok(report)
    }

    /// Runs each tenant alone on the drive that they share, on all threads of the current pool. The
    /// reports are in the order of the tenants.
    ///
    /// # Errors
    /// As for [`Experiment::run`].
    pub fn run_each_alone(&self, options: &RunOptions<'_>) -> Result<Vec<Report>, ExperimentError> {
        let alone = |tenant| {
            let experiment = Self { only: Some(tenant), ..self.clone() };
            experiment.run(&RunOptions { progress: &|_, _| {}, ..*options }, &mut [])
        };
        (0..self.tenants.len() as u16).into_par_iter().map(TenantId).map(alone).collect()
    }

    /// Writes the prepared drive to its file. A drive whose ageing was cut short is not the one
    /// asked for.
    fn keep(&self, drive: &Simulator, stop: &AtomicBool) -> Result<(), ExperimentError> {
        let Some(path) = self.save.as_ref().filter(|_| !stop.load(Ordering::Relaxed)) else {
            return Ok(());
        };
        let bytes = drive.snapshot()?;
        let failed = |source| ExperimentError::Save { path: path.clone(), source };
        ssdtune_output::write(path, bytes).map_err(failed)
    }

    /// Serves the flows. Returns what is to be said of the files that they were read from.
    fn serve(
        &self,
        drive: &mut Simulator,
        options: &RunOptions<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Vec<String>, ExperimentError> {
        let served: Vec<Flow> = self.flows.iter().filter_map(|flow| self.served(flow)).collect();
        let spaces = self.spaces(drive);
        let fault = RefCell::new(None);
        let mut gauge = Gauge::default();
        let mut streams = Vec::with_capacity(served.len());
        for flow in &served {
            let position = gauge.add(flow);
            let requests = self.open(flow, &spaces, &position)?.map_while(|request| {
                let note = |error| {
                    fault.borrow_mut().get_or_insert(ExperimentError::Source(error));
                };
                request.map_err(note).ok()
            });
            let (tenant, replay) = (flow.tenant, flow.replay);
            streams.push(Stream { requests: Box::new(requests), tenant, replay });
        }
        for observer in observers.iter_mut() {
            observer.begin(drive).map_err(ExperimentError::Observer)?;
        }
        let interval = observers.iter().find_map(|observer| observer.interval());
        let mut told = 0;
        serve(drive, streams, interval, options.stop, |drive, completions, look| {
            for observer in observers.iter_mut() {
                if let Err(error) = observer.look(drive, completions, look) {
                    fault.borrow_mut().get_or_insert(ExperimentError::Observer(error));
                    return false;
                }
            }
            if drive.completed() - told >= PROGRESS_EVERY {
                (options.progress)(gauge.share(), drive.completed() - told);
                told = drive.completed();
            }
            true
        });
        let told = gauge.positions.iter().flat_map(Position::warnings);
        let noted = served.iter().flat_map(|flow| flow.source.warnings.clone());
        fault.into_inner().map_or(Ok(noted.chain(told).collect()), Err)
    }

    /// A flow as the run has it, if it has it at all.
    fn served(&self, flow: &Flow) -> Option<Flow> {
        let Some(only) = self.only else { return Some(flow.clone()) };
        match flow.tenant {
            Some(tenant) => (tenant == only).then(|| flow.clone()),
            None => {
                let source = RequestSource { only: Some(only), ..flow.source.clone() };
                Some(Flow { source, tenant: Some(only), ..flow.clone() })
            }
        }
    }

    fn spaces(&self, drive: &Simulator) -> Vec<Sectors> {
        address_spaces(drive, self.tenants.len())
    }

    fn open(
        &self,
        flow: &Flow,
        spaces: &[Sectors],
        position: &Position,
    ) -> Result<impl Iterator<Item = Result<Request, SourceError>> + use<>, SourceError> {
        let page = page_sectors(self.device.geometry().page_bytes);
        let spaces = match flow.tenant {
            Some(tenant) => std::slice::from_ref(&spaces[tenant.index()]),
            None => spaces,
        };
        flow.source.open(spaces, page, position)
    }
}

/// A preparation looks at the requests of all flows, one flow after the other.
impl Upcoming for Experiment {
    fn open<'a>(&'a self, drive: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        let spaces = self.spaces(drive);
        let mut flows = Vec::with_capacity(self.flows.len());
        for flow in &self.flows {
            let requests = self.open(flow, &spaces, &Position::default())?;
            let owned = move |request: Request| Request {
                tenant: flow.tenant.unwrap_or(request.tenant),
                ..request
            };
            flows.push(requests.map(move |request| request.map(owned)));
        }
        Ok(Box::new(flows.into_iter().flatten()))
    }
}

/// How far the flows of a run have been read.
#[derive(Default)]
struct Gauge {
    positions: Vec<Position>,
    total: u64,
}

impl Gauge {
    /// Follows one more flow, which is to move the position it gets.
    fn add(&mut self, flow: &Flow) -> Position {
        let position = Position::default();
        self.positions.push(position.clone());
        self.total += flow.source.length();
        position
    }

    /// Share of all flows that has been read, 0 to 1.
    fn share(&self) -> f64 {
        let read: u64 = self.positions.iter().map(Position::get).sum();
        if self.total == 0 { 0.0 } else { (read as f64 / self.total as f64).min(1.0) }
    }
}
