//! `keeper map`: which strategy a network chooses, by intensity and write share (Fig. 6).

use super::read_policy;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use serde::Serialize;
use ssdtune_keeper::features::Seen;
use ssdtune_keeper::mix::{Mix, MixTenant};
use ssdtune_learn::mlp::Buffer;
use ssdtune_trace::features::ssdkeeper::LEVELS;
use std::path::PathBuf;

/// Arguments of `keeper map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// How many tenants: half of them write, half read, shares equal among each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=4))]
    tenants: u8,
}

#[derive(Serialize)]
struct Place {
    level: u8,
    write_share: f64,
    strategy: String,
}

/// Asks the network everywhere and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = read_policy(&args.model)?;
    let writers = usize::from(args.tenants / 2);
    let readers = usize::from(args.tenants) - writers;
    let mut buffer = Buffer::default();
    let mut places = Vec::new();
    for tenth in (1..=9).rev() {
        let write_share = f64::from(tenth) / 10.0;
        let tenant = |writes: bool, share: f64, count: usize| {
            vec![MixTenant { writes, share: share / count as f64 }; count]
        };
        let tenants =
            [tenant(true, write_share, writers), tenant(false, 1.0 - write_share, readers)]
                .concat();
        for level in 1..=LEVELS {
            let mix = Mix { level, tenants: tenants.clone() };
            let strategy = policy.choose(&Seen::of_mix(&mix), &mut buffer).strategy.to_string();
            places.push(Place { level: level - 1, write_share, strategy });
        }
    }
    if context.json() {
        return context.document(&places);
    }
    let headings: Vec<String> = (0..LEVELS).map(|level| level.to_string()).collect();
    let mut all = vec!["writers' share"];
    all.extend(headings.iter().map(String::as_str));
    let mut table = table::new(&all);
    for row in places.chunks(usize::from(LEVELS)) {
        let mut cells = vec![format!("{:.0} %", 100.0 * row[0].write_share)];
        cells.extend(row.iter().map(|place| place.strategy.clone()));
        table.add_row(cells);
    }
    context.line(table)
}
