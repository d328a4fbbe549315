//! Flows that run together on one drive: one trace, several tenants that share the drive, or a
//! workload model with its tenants.
//!
//! A [`FlowSet`] says nothing of the drive. The same set therefore runs on every drive of a sweep:
//! [`FlowSet::experiment`] puts it onto one.

use crate::error::SourceError;
use crate::experiment::{Experiment, Flow};
use crate::fit::AddressFit;
use crate::preparation::Preparation;
use crate::source::{KEPT_MAX, Origin, RequestSource, is_pipe};
use ssdtune_model::{CheckedConfig, DeviceConfig};
use ssdtune_sim::{Places, Replay, Simulator, Tenant};
use ssdtune_trace::{TenantId, TraceError};

/// The channels that a tenant may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelList(Vec<u32>);

impl std::str::FromStr for ChannelList {
    type Err = String;

    /// Reads numbers and ranges with commas between them, as in `0-3,8`.
    fn from_str(text: &str) -> Result<Self, String> {
        /// No drive has more channels.
        const HIGHEST: u32 = 65_535;
        let wrong = || "write numbers and ranges, as in 0-3 or 0,2,5".to_owned();
        let mut channels = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last > HIGHEST {
                return Err(wrong());
            }
            channels.extend(first..=last);
        }
        channels.sort_unstable();
        channels.dedup();
        Ok(Self(channels))
    }
}

/// Why flows cannot share a drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// There are more traces than a drive has streams.
    #[error("at most {most} traces share a drive")]
    TooManyTraces {
        /// The number of streams.
        most: usize,
    },
    /// Some tenants have a list of channels and others have none.
    #[error(
        "--channels is given {lists} times for {tenants} tenants: give it once for each, in their \
         order"
    )]
    ChannelLists {
        /// How many lists there are.
        lists: usize,
        /// How many tenants there are.
        tenants: usize,
    },
    /// A channel that the drive does not have.
    #[error("--channels {channel}: the drive has {count} channels, numbered from 0")]
    NoChannel {
        /// The number in the list.
        channel: u32,
        /// How many channels the drive has.
        count: u32,
    },
    /// The gaps between addresses can be closed for a single address space only.
    #[error("--fit-addresses compact works on traces; {name} has {tenants} tenants: use wrap")]
    CompactModel {
        /// The model.
        name: String,
        /// How many tenants it has.
        tenants: usize,
    },
    /// The tenants of a model each need a closed loop, and there are too few streams.
    #[error("{name} has {tenants} tenants; {most} closed loops at most")]
    TooManyLoops {
        /// The model.
        name: String,
        /// How many tenants it has.
        tenants: usize,
        /// The number of streams.
        most: usize,
    },
}

/// Flows that run together on one drive.
#[derive(Clone, Debug)]
pub struct FlowSet {
    /// The requests.
    pub flows: Vec<Flow>,
    tenants: Tenants,
    /// What the drive has been through, where the flows come with it.
    preparation: Option<Preparation>,
}

/// Who the requests belong to.
#[derive(Clone, Debug)]
enum Tenants {
    /// Channels of each tenant; `None` stands for the whole drive.
    OnChannels(Vec<Option<ChannelList>>),
    /// Tenants that are described in full.
    Described(Vec<Tenant>),
}

impl FlowSet {
    /// One tenant on the whole drive.
    pub fn single(source: RequestSource, replay: Replay) -> Self {
        Self::on_whole_drive(1, vec![Flow { source, replay, tenant: Some(TenantId(0)) }])
    }

    /// One tenant for each source, all on one drive. `channels` is empty, or has the channels of
    /// each tenant; they are checked against those of `drive`.
    ///
    /// # Errors
    /// There are too many sources, or a list of channels is missing or wrong.
    pub fn shared(
        sources: Vec<RequestSource>,
        replay: Replay,
        channels: &[ChannelList],
        drive: &DeviceConfig,
    ) -> Result<Self, FlowError> {
        if sources.len() > Simulator::STREAMS_MAX {
            return Err(FlowError::TooManyTraces { most: Simulator::STREAMS_MAX });
        }
        let (lists, tenants) = (channels.len(), sources.len());
        if lists > 0 && lists != tenants {
            return Err(FlowError::ChannelLists { lists, tenants });
        }
        let count = drive.bus.channels;
        let used = channels.iter().flat_map(|list| &list.0);
        if let Some(&channel) = used.into_iter().find(|channel| **channel >= count) {
            return Err(FlowError::NoChannel { channel, count });
        }
        let flow = |(tenant, source)| Flow { source, replay, tenant: Some(tenant) };
        let flows = (0..).map(TenantId).zip(sources).map(flow).collect();
        let places = (0..tenants).map(|tenant| channels.get(tenant).cloned()).collect();
        Ok(Self { flows, tenants: Tenants::OnChannels(places), preparation: None })
    }

    /// The tenants of a workload model, each on the whole drive. A closed loop belongs to a tenant,
    /// so a closed replay gives each tenant a flow of its own. A source that is no model has one
    /// tenant.
    ///
    /// # Errors
    /// The model has several tenants and the source closes gaps between addresses, or there are
    /// more tenants than streams.
    pub fn of_model(source: RequestSource, replay: Replay) -> Result<Self, FlowError> {
        let name = source.name();
        let tenants = match &source.origin {
            Origin::Model { model, .. } => model.tenants.len(),
            Origin::File(_) | Origin::Memory { .. } => 1,
        };
        if tenants > 1 && source.fit == Some(AddressFit::Compact) {
            return Err(FlowError::CompactModel { name, tenants });
        }
        let flows = match replay {
            Replay::Open => vec![Flow { source, replay, tenant: None }],
            Replay::Closed(_) if tenants == 1 => {
                vec![Flow { source, replay, tenant: Some(TenantId(0)) }]
            }
            Replay::Closed(_) => {
                let own = |tenant| Flow {
                    source: RequestSource { only: Some(tenant), ..source.clone() },
                    replay,
                    tenant: Some(tenant),
                };
                (0..tenants as u16).map(TenantId).map(own).collect()
            }
        };
        if flows.len() > Simulator::STREAMS_MAX {
            let most = Simulator::STREAMS_MAX;
            return Err(FlowError::TooManyLoops { name, tenants, most });
        }
        Ok(Self::on_whole_drive(tenants, flows))
    }

    /// The flows of an experiment that was described elsewhere, with its tenants and what its drive
    /// has been through.
    pub fn of_experiment(experiment: Experiment) -> Self {
        Self {
            flows: experiment.flows,
            tenants: Tenants::Described(experiment.tenants),
            preparation: Some(experiment.preparation),
        }
    }

    /// Keeps what comes out of pipes, for runs that read it more than once.
    ///
    /// # Errors
    /// A pipe cannot be read, or has more than [`KEPT_MAX`] requests.
    pub fn keep_pipes(&mut self) -> Result<(), SourceError> {
        for flow in &mut self.flows {
            flow.source = flow.source.clone().repeatable()?;
        }
        Ok(())
    }

    /// Reads each trace into memory that has at most [`KEPT_MAX`] requests and is no pipe, since
    /// several runs replay it.
    ///
    /// # Errors
    /// A trace cannot be read.
    pub fn keep_short_traces(&mut self) -> Result<(), TraceError> {
        for flow in &mut self.flows {
            let is_pipe = matches!(&flow.source.origin, Origin::File(path) if is_pipe(path));
            let kept = if is_pipe { None } else { flow.source.load(KEPT_MAX)? };
            flow.source = kept.unwrap_or_else(|| flow.source.clone());
        }
        Ok(())
    }

    fn on_whole_drive(tenants: usize, flows: Vec<Flow>) -> Self {
        let tenants = Tenants::OnChannels(vec![None; tenants]);
        Self { flows, tenants, preparation: None }
    }

    /// How many tenants share the drive.
    pub fn tenant_count(&self) -> usize {
        match &self.tenants {
            Tenants::OnChannels(channels) => channels.len(),
            Tenants::Described(tenants) => tenants.len(),
        }
    }

    /// The flows on a drive. `preparation` holds unless the set has its own; its seed is replaced
    /// by the drive's.
    pub fn experiment(&self, device: &CheckedConfig, preparation: &Preparation) -> Experiment {
        let seeded = || Preparation { seed: device.run.seed, ..preparation.clone() };
        let tenants = match &self.tenants {
            Tenants::OnChannels(channels) => {
                channels.iter().map(|channels| tenant_on(device, channels.as_ref())).collect()
            }
            Tenants::Described(tenants) => tenants.clone(),
        };
        Experiment {
            device: device.clone(),
            tenants,
            flows: self.flows.clone(),
            preparation: self.preparation.clone().unwrap_or_else(seeded),
            only: None,
            save: None,
        }
    }
}

fn tenant_on(device: &DeviceConfig, channels: Option<&ChannelList>) -> Tenant {
    let mut tenant = Tenant::sole(device);
    if let Some(ChannelList(channels)) = channels {
        tenant.places = Places { channels: channels.clone(), ..tenant.places };
    }
    tenant
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;
    use ssdtune_trace::workload::{Seed, bundled};

    fn source() -> RequestSource {
        RequestSource::of_requests("none", Vec::new())
    }

    fn channels(text: &str) -> ChannelList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_of_channels_are_read() {
        assert_eq!(channels("0-3").0, [0, 1, 2, 3]);
        assert_eq!(channels("5,0-1,1").0, [0, 1, 5]);
        for wrong in ["", "3-1", "a", "1-", "0-99999999", "-1"] {
            assert!(wrong.parse::<ChannelList>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn tenants_get_the_channels_they_are_given() {
        let drive = presets::load("samsung-850-pro").unwrap().check().unwrap();
        let two = || vec![source(), source()];
        let lists = [channels("0-1"), channels("2")];
        let set = FlowSet::shared(two(), Replay::Open, &lists, &drive).unwrap();
        let experiment = set.experiment(&drive, &Preparation::default());
        let places = experiment.tenants.iter().map(|tenant| tenant.places.channels.clone());
        assert_eq!(places.collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
        assert_eq!(experiment.flows[1].tenant, Some(TenantId(1)));
        assert_eq!(experiment.preparation.seed, drive.run.seed);

        let wrong = |lists: &[ChannelList]| FlowSet::shared(two(), Replay::Open, lists, &drive);
        let missing = FlowError::ChannelLists { lists: 1, tenants: 2 };
        assert_eq!(wrong(&lists[..1]).unwrap_err(), missing);
        let count = drive.bus.channels;
        let beyond = [channels("0"), channels("7-8")];
        assert_eq!(wrong(&beyond).unwrap_err(), FlowError::NoChannel { channel: 8, count });
        let many = vec![source(); Simulator::STREAMS_MAX + 1];
        assert!(FlowSet::shared(many, Replay::Open, &[], &drive).is_err());
    }

    #[test]
    fn each_tenant_of_a_model_has_its_own_closed_loop() {
        let mut model = bundled("prxy_0").unwrap();
        model.tenants.push(model.tenants[0].clone());
        let source = RequestSource::of_model(model, Seed::default(), 10);
        let open = FlowSet::of_model(source.clone(), Replay::Open).unwrap();
        assert_eq!((open.flows.len(), open.tenant_count()), (1, 2));
        let closed = FlowSet::of_model(source.clone(), Replay::Closed(4)).unwrap();
        let owners = closed.flows.iter().map(|flow| (flow.tenant, flow.source.only));
        let own = |tenant| (Some(TenantId(tenant)), Some(TenantId(tenant)));
        assert_eq!(owners.collect::<Vec<_>>(), [own(0), own(1)]);
        let compact = RequestSource { fit: Some(AddressFit::Compact), ..source };
        assert!(FlowSet::of_model(compact, Replay::Open).is_err());
    }
}
