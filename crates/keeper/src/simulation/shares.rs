//! How the best strategy depends on who asks for how much: a writer and a reader under every
//! strategy, at nine shares of writes (Fig. 2).

use super::{MeanLatencies, MixSimulator, SimulationError};
use crate::mix::{Mix, MixTenant};
use crate::strategy::Strategy;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_trace::Request;

/// What a strategy did to a writer and a reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareOutcome {
    /// The writer's share of the flash pages asked for, 0 to 1.
    pub write_share: f64,
    /// The strategy.
    pub strategy: Strategy,
    /// Mean latencies.
    #[serde(flatten)]
    pub means: MeanLatencies,
    /// Mean read plus mean write latency, in nanoseconds.
    pub total_ns: f64,
}

impl MixSimulator<'_> {
    /// Measures a writer and a reader at an intensity level (1 to 20), with write shares of 10 to
    /// 90 %, under all strategies of two tenants. Share by share, the strategies in their order.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn write_shares(&self, level: u8) -> Result<Vec<ShareOutcome>, SimulationError> {
        let strategies = Strategy::all(self.device.bus.channels, 2);
        let cases: Vec<(u32, &Strategy)> = (1..=9)
            .flat_map(|tenth| strategies.iter().map(move |strategy| (tenth, strategy)))
            .collect();
        let measure = |&(tenth, strategy): &(u32, &Strategy)| {
            let write_share = f64::from(tenth) / 10.0;
            let writer = MixTenant::plain(true, write_share);
            let reader = MixTenant::plain(false, 1.0 - write_share);
            let mix = Mix { level, tenants: vec![writer, reader] };
            let requests: Vec<Request> = mix.requests(self.request_options(0)).collect();
            let means = self.run(strategy, &mix.writers(), &requests)?;
            let strategy = strategy.clone();
            Ok(ShareOutcome { write_share, strategy, means, total_ns: means.total_ns() })
        };
        cases.par_iter().map(measure).collect()
    }
}
