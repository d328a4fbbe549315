//! What the controller takes for a command, besides link, DRAM and flash.
//!
//! A command of the host waits for a processor of the controller and takes its time there; then it
//! takes a fixed time, in which commands do not meet. The data of a read come from flash over a bus
//! inside the controller, on which they may wait for each other, and through a pipeline, where they
//! do not meet; the data of a write take the same bus in the other direction, and may take longer
//! there. Everything but the beginning of a command is arithmetic: a request whose pages have all
//! come is held back until the last of them is through
//! ([`Host::data_ready_at`](crate::host::Host::data_ready_at)).
//!
//! A drive whose controller takes no time has no [`Controller`].

use crate::base::Base;
use crate::engine::{Cores, DelayLine, Server, Servers};
use crate::host::{Arrived, HostRequest};
use crate::stored::Part;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::CommandTimes;
use ssdtune_model::{DeviceConfig, Nanos, config};
use ssdtune_trace::Op;

/// Sectors of the 4 KiB that the pipeline's time is stated for.
const PIPELINE_SECTORS: u32 = 8;
/// Separates the random sequence of command times from others of the same seed.
const STREAM: u64 = 0x636f_6e74_726f_6c00;

/// The controller of a drive.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Controller {
    #[serde(skip)]
    rules: Rules,
    cores: Cores,
    /// Commands on their way to the data cache.
    commands: DelayLine<Arrived>,
    /// When the bus inside will have carried what it was given so far.
    bus_free_at: Nanos,
    /// Draws the times that processors take.
    rng: Pcg64Mcg,
}

/// What follows from the configuration.
#[derive(Clone, Default)]
struct Rules {
    read_time: Nanos,
    write_time: Nanos,
    /// Mean time of a processor for a command, in nanoseconds.
    core_ns: f64,
    exponential: bool,
    pipeline_time: Nanos,
    /// Time of a sector on the bus, in nanoseconds.
    sector_ns: f64,
    /// That of a sector that the host writes, which may be longer.
    written_sector_ns: f64,
}

impl Rules {
    fn new(config: &config::Controller) -> Self {
        let per = |rate: f64, amount: f64| if rate > 0.0 { amount / rate } else { 0.0 };
        let sector_ns = per(f64::from(config.bandwidth_mbs), 512e3);
        Self {
            read_time: config.read_time,
            write_time: config.write_time,
            core_ns: per(config.core_rate as f64, 1e9),
            exponential: config.core_times == CommandTimes::Exponential,
            pipeline_time: config.pipeline_time,
            sector_ns,
            written_sector_ns: sector_ns.max(per(f64::from(config.write_bandwidth_mbs), 512e3)),
        }
    }

    fn take_no_time(&self) -> bool {
        let times = [self.read_time, self.write_time, self.pipeline_time];
        times == [Nanos::ZERO; 3] && self.core_ns == 0.0 && self.written_sector_ns == 0.0
    }
}

impl Part for Option<Controller> {
    fn adopt(&mut self, made: Self) {
        match (self, made) {
            (Some(controller), Some(made)) => controller.rules = made.rules,
            // Restored with other times, of which all or none were 0 before.
            (controller, made) => *controller = made,
        }
    }
}

impl Controller {
    /// The controller of a drive; `None` if it takes no time for anything.
    pub fn new(config: &DeviceConfig, servers: &Servers) -> Option<Self> {
        let rules = Rules::new(&config.controller);
        if rules.take_no_time() {
            return None;
        }
        Some(Self {
            rules,
            cores: Cores::new(config.controller.cores),
            commands: DelayLine::new(servers.number(Server::Controller)),
            bus_free_at: Nanos::ZERO,
            rng: Pcg64Mcg::seed_from_u64(config.run.seed ^ STREAM),
        })
    }

    /// Takes a command that has reached the drive. It comes out of [`Controller::event`].
    pub fn take(&mut self, base: &mut Base, arrived: Arrived, request: &HostRequest) {
        let now = base.now();
        let takes = self.core_time();
        let mut due = self.cores.pass(now, takes);
        match arrived {
            Arrived::Read(_) if request.op == Op::Read => due += self.rules.read_time,
            Arrived::Write(_) => {
                due += self.rules.write_time;
                due = due.max(self.carry(now, request.sectors, self.rules.written_sector_ns));
            }
            Arrived::Read(_) | Arrived::Trim(_) | Arrived::Flush(_) => {}
        }
        self.commands.push(&mut base.events, due, arrived);
    }

    /// A command may go on.
    pub fn event(&mut self, base: &mut Base) -> Option<Arrived> {
        self.commands.take(&mut base.events)
    }

    /// Some sectors of a page have left their die for the host. Returns when the host can have
    /// them.
    pub fn data_out(&mut self, now: Nanos, sectors: u32) -> Nanos {
        let units = sectors.div_ceil(PIPELINE_SECTORS);
        let sector_ns = self.rules.sector_ns;
        // Without a limit of their own, reads do not wait for what is written.
        let out = if sector_ns > 0.0 { self.carry(now, sectors, sector_ns) } else { now };
        out + self.rules.pipeline_time * u64::from(units)
    }

    /// Sends sectors over the bus inside. Returns when they are on the other side.
    fn carry(&mut self, now: Nanos, sectors: u32, sector_ns: f64) -> Nanos {
        let takes = Nanos((sector_ns * f64::from(sectors)) as u64);
        self.bus_free_at = self.bus_free_at.max(now) + takes;
        self.bus_free_at
    }

    /// How long a processor takes for the next command.
    fn core_time(&mut self) -> Nanos {
        let mean = self.rules.core_ns;
        if !self.rules.exponential {
            return Nanos(mean.round() as u64);
        }
        // The draw is below 1, so the logarithm is finite.
        let draw: f64 = self.rng.random();
        Nanos((-(1.0 - draw).ln() * mean).round() as u64)
    }

    /// Asserts that every command will go on.
    pub fn check(&self) {
        self.commands.check();
    }
}
