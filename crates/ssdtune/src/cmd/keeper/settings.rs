//! The flags that say how mixes are drawn and measured.

use super::simulation_failure;
use crate::context::Context;
use crate::keeper::milliseconds;
use crate::outcome::Outcome;
use ssdtune_keeper::mix::{BURSTY, MINORITY, REQUEST_PAGES};
use ssdtune_keeper::{MixSimulator, SimulationSettings};
use ssdtune_model::{CheckedConfig, Nanos};
use std::sync::atomic::AtomicBool;

/// How mixes are measured.
#[derive(Debug, clap::Args)]
pub(super) struct SettingsArgs {
    /// Requests of a mix.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    requests: u64,

    /// Flash pages of each tenant's working set.
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    working_set: u64,

    /// Share of a tenant's requests that are not of its kind.
    #[arg(long, value_name = "SHARE", default_value_t = MINORITY, value_parser = minority)]
    minority: f64,

    /// Flash pages of a read request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[0])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    read_pages: u32,

    /// Flash pages of a write request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[1])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    write_pages: u32,

    /// Share of the mixes whose tenants come in bursts and with requests of 4 to 64 KiB. The paper
    /// has none: 0.
    #[arg(long, value_name = "SHARE", default_value_t = BURSTY, value_parser = share)]
    bursty: f64,

    /// The period T, in milliseconds, from whose requests the features are computed.
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = milliseconds)]
    collect_ms: Nanos,

    /// Flash pages a second at which intensity level 20 ends. Unless given it is measured: 90 % of
    /// what saturates the drive when all channels are shared.
    #[arg(long, value_name = "PAGES", value_parser = rate)]
    rate_max: Option<f64>,
}

fn minority(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or_else(|| "write a share between 0 and 0.5".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share between 0 and 1".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1.0..=1e9).contains(rate));
    rate.ok_or_else(|| "write flash pages a second, from 1 to 1e9".to_owned())
}

impl SettingsArgs {
    /// The settings. The rate of level 20 is measured if no flag gives it.
    pub(super) fn settings(
        &self,
        config: &CheckedConfig,
        eliminate: bool,
        stop: &AtomicBool,
        context: &Context,
    ) -> Outcome<SimulationSettings> {
        let mut settings = SimulationSettings {
            rate_max_pages: self.rate_max.unwrap_or(1.0),
            requests: self.requests,
            working_set_pages: self.working_set,
            minority: self.minority,
            request_pages: [self.read_pages, self.write_pages],
            bursty: self.bursty,
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
