//! `keeper shares`: two tenants, one writing and one reading, at nine write shares under every
//! strategy (Fig. 2).

use super::settings::SettingsArgs;
use super::{DriveArgs, micros, simulation_failure};
use crate::context::Context;
use crate::interrupt::Deferred;
use crate::outcome::Outcome;
use crate::{table, tuning};
use ssdtune_keeper::simulation::ShareOutcome;
use ssdtune_keeper::{MixSimulator, Strategy};

/// Arguments of `keeper shares`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// The intensity level, 1 to 20.
    #[arg(long, value_name = "LEVEL", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=20))]
    level: u8,
}

/// Measures every strategy and prints a table for each figure.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load_static(context)?;
    let deferred = Deferred::new();
    let settings = args.settings.settings(&config, false, deferred.flag(), context)?;
    let simulator = MixSimulator::new(&config, settings, deferred.flag());
    let outcomes = tuning::pool(context)?
        .install(|| simulator.write_shares(args.level))
        .map_err(simulation_failure)?;
    if context.json() {
        return context.document(&outcomes);
    }
    let figures: [(&str, fn(&ShareOutcome) -> f64); 3] = [
        ("write latency, us", |one| one.means.write_ns),
        ("read latency, us", |one| one.means.read_ns),
        ("sum, us", |one| one.total_ns),
    ];
    let strategies = Strategy::all(config.bus.channels, 2);
    let names: Vec<String> = strategies.iter().map(Strategy::to_string).collect();
    for (title, figure) in figures {
        let mut headings = vec![title];
        headings.extend(names.iter().map(String::as_str));
        let mut table = table::new(&headings);
        for row in outcomes.chunks(strategies.len()) {
            let mut cells = vec![format!("{:.0} % writes", 100.0 * row[0].write_share)];
            cells.extend(row.iter().map(|one| micros(figure(one))));
            table.add_row(cells);
        }
        context.line(table)?;
        context.line("")?;
    }
    Ok(())
}
