//! The flags that say how mixes are drawn and measured.

use super::simulation_failure;
use crate::context::Context;
use crate::global::{real, whole};
use crate::outcome::Outcome;
use ssdtune_keeper::mix::{MINORITY, REQUEST_PAGES};
use ssdtune_keeper::{MixSimulator, MixStyle, SimulationSettings};
use ssdtune_model::{CheckedConfig, Nanos, given};
use std::sync::atomic::AtomicBool;

/// How mixes are measured.
#[derive(Debug, clap::Args)]
pub(super) struct SettingsArgs {
    /// Number of requests of each mix.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(value_parser = whole::<u64>(100..=100_000_000))]
    requests: u64,

    /// Flash pages of each tenant's working set. The drive holds these at the start of every run,
    /// and nothing else.
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    #[arg(value_parser = whole::<u64>(1..=1 << 32))]
    working_set: u64,

    /// Share of a tenant's requests that are not of its kind: a writer's reads, a reader's writes.
    #[arg(long, value_name = "SHARE", default_value_t = MINORITY)]
    #[arg(value_parser = real(0.0..=0.5))]
    minority: f64,

    /// Flash pages of a read request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[0])]
    #[arg(value_parser = whole::<u32>(1..=1024))]
    read_pages: u32,

    /// Flash pages of a write request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[1])]
    #[arg(value_parser = whole::<u32>(1..=1024))]
    write_pages: u32,

    /// The period T, in milliseconds, from whose requests the features are computed.
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = given::milliseconds)]
    collect_ms: Nanos,

    /// Flash pages a second at which intensity level 20 ends. Unless given it is measured: 90 % of
    /// what saturates the drive when all channels are shared.
    #[arg(long, value_name = "PAGES", value_parser = real(1.0..=1e9))]
    rate_max: Option<f64>,
}

impl SettingsArgs {
    /// The settings that the flags ask for. Measures the rate of level 20 if no flag gives it.
    /// `eliminate` lets a race give up strategies that can no longer win.
    pub(super) fn settings(
        &self,
        config: &CheckedConfig,
        (eliminate, style): (bool, MixStyle),
        stop: &AtomicBool,
        context: &Context,
    ) -> Outcome<SimulationSettings> {
        let mut settings = SimulationSettings {
            rate_max_pages: self.rate_max.unwrap_or(1.0),
            requests: self.requests,
            working_set_pages: self.working_set,
            minority: self.minority,
            request_pages: [self.read_pages, self.write_pages],
            style,
            collect_ns: self.collect_ms.0,
            seed: context.seed().unwrap_or(0),
            eliminate,
        };
        if self.rate_max.is_none() {
            let simulator = MixSimulator::new(config, settings, stop);
            let saturation = simulator.saturation().map_err(simulation_failure)?;
            settings.rate_max_pages = saturation.rate_max_pages();
            context.note(format_args!(
                "saturated at {:.0} flash pages a second: level 20 ends at {:.0}",
                saturation.rate_pages, settings.rate_max_pages
            ));
        }
        Ok(settings)
    }
}
