//! `keeper shares`: two tenants, one writing and one reading, at nine write shares under every strategy (Fig. 2).

use super::label::HowArgs;
use super::{DriveArgs, bench_failure, micros};
use crate::context::Context;
use crate::interrupt::Deferred;
use crate::outcome::Outcome;
use crate::{table, tuning};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_keeper::bench::{Bench, BenchError, Means};
use ssdtune_keeper::mix::{Mix, MixTenant};
use ssdtune_keeper::strategy::Strategy;
use ssdtune_trace::Request;

/// Arguments of `keeper shares`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The intensity level, 1 to 20.
    #[arg(long, value_name = "LEVEL", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=20))]
    level: u8,
}

#[derive(Serialize)]
struct Place {
    write_share: f64,
    strategy: Strategy,
    #[serde(flatten)]
    means: Means,
    total_ns: f64,
}

/// What a table shows of a place.
type Figure = fn(&Place) -> f64;

/// Measures and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load_static(context)?;
    let deferred = Deferred::new();
    let settings = args.how.settings(&config, false, deferred.flag(), context)?;
    let bench = Bench::new(&config, settings, deferred.flag());
    let strategies = Strategy::all(config.bus.channels, 2);
    let cells: Vec<(u32, &Strategy)> = (1..=9)
        .flat_map(|tenth| strategies.iter().map(move |strategy| (tenth, strategy)))
        .collect();
    let measure = |&(tenth, strategy): &(u32, &Strategy)| -> Result<Place, BenchError> {
        let write_share = f64::from(tenth) / 10.0;
        let tenants =
            vec![MixTenant::plain(true, write_share), MixTenant::plain(false, 1.0 - write_share)];
        let mix = Mix { level: args.level, tenants };
        let requests: Vec<Request> = mix.requests(bench.play(0)).collect();
        let means = bench.run(strategy, &mix.writers(), &requests)?;
        let strategy = strategy.clone();
        Ok(Place { write_share, strategy, means, total_ns: means.total_ns() })
    };
    let places: Vec<Place> = tuning::pool(context)?
        .install(|| cells.par_iter().map(measure).collect::<Result<_, _>>())
        .map_err(bench_failure)?;
    if context.json() {
        return context.document(&places);
    }
    let figures: [(&str, Figure); 3] = [
        ("write latency, us", |place| place.means.write_ns),
        ("read latency, us", |place| place.means.read_ns),
        ("sum, us", |place| place.total_ns),
    ];
    let names: Vec<String> = strategies.iter().map(Strategy::to_string).collect();
    for (title, figure) in figures {
        let mut headings = vec![title];
        headings.extend(names.iter().map(String::as_str));
        let mut table = table::new(&headings);
        for row in places.chunks(strategies.len()) {
            let mut cells = vec![format!("{:.0} % writes", 100.0 * row[0].write_share)];
            cells.extend(row.iter().map(|place| micros(figure(place))));
            table.add_row(cells);
        }
        context.line(table)?;
        context.line("")?;
    }
    Ok(())
}
