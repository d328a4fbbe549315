//! `ssdtune compare unit`: the HAML unit's time beside that of a program (Fig. 9 and Table V of HAML-SSD).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use serde::Serialize;
use ssdtune_ftl::placement::clusters::{Points, lloyd, on_the_diagonal};
use ssdtune_ftl::placement::haml_unit::{HamlUnit, table_v};
use std::time::Instant;

/// Arguments of `ssdtune compare unit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Clusters.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_values_t = [3, 4, 5, 6, 7, 8])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    clusters: Vec<u32>,

    /// Points.
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    #[arg(default_values_t = [640, 1_280, 2_560, 6_400, 12_800, 25_600])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    inputs: Vec<u32>,

    /// Iterations.
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    iterations: u32,
}

#[derive(Serialize)]
struct Row {
    clusters: u32,
    inputs: u32,
    unit_us: f64,
    unit_area_mm2: f64,
    unit_power_mw: f64,
    unit_energy_nj: f64,
    /// Measured on this machine, the fastest of several runs.
    software_us: f64,
    /// Of random points, how many end in the cluster that the software names.
    agreement: f64,
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    iterations: u32,
    rows: Vec<Row>,
}

const RUNS: usize = 7;

/// Points of a linear congruence, so that no library's generator changes them.
fn random(inputs: u32) -> Points {
    let mut state = u64::from(inputs);
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 513) as f32
    };
    let mut points = Points::default();
    for _ in 0..inputs {
        points.x.push(draw());
        points.y.push(draw());
    }
    points
}

fn row(clusters: u32, inputs: u32, iterations: u32) -> Option<Row> {
    let unit = HamlUnit::new(clusters as usize, inputs as usize)?;
    let (points, start) = (random(inputs), on_the_diagonal(clusters as usize));
    let (mut software_us, mut labels) = (f64::INFINITY, Vec::new());
    for _ in 0..RUNS {
        let begun = Instant::now();
        labels = lloyd(&points, &mut start.clone(), iterations);
        software_us = software_us.min(begun.elapsed().as_secs_f64() * 1e6);
    }
    let own = unit.train(&points, &start, iterations).clusters;
    let same = labels.iter().zip(&own).filter(|(a, b)| a == b).count();
    let unit_us = unit.time_us(iterations);
    Some(Row {
        clusters,
        inputs,
        unit_us,
        unit_area_mm2: unit.area_mm2(),
        unit_power_mw: unit.power_mw(),
        unit_energy_nj: unit_us * unit.power_mw(),
        software_us,
        agreement: same as f64 / f64::from(inputs),
    })
}

/// Models, measures and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sizes = args.clusters.iter().flat_map(|&k| args.inputs.iter().map(move |&n| (k, n)));
    let rows: Vec<Row> = sizes.filter_map(|(k, n)| row(k, n, args.iterations)).collect();
    if context.json() {
        return context.document(&Document { schema: 1, iterations: args.iterations, rows });
    }
    let headings = ["clusters", "inputs", "unit", "area", "power", "this machine", "agreement"];
    let mut table = table::new(&headings);
    for row in &rows {
        table.add_row([
            row.clusters.to_string(),
            row.inputs.to_string(),
            format!("{:.2} us", row.unit_us),
            format!("{:.4} mm2", row.unit_area_mm2),
            format!("{:.1} mW", row.unit_power_mw),
            format!("{:.1} us", row.software_us),
            format!("{:.2} %", 100.0 * row.agreement),
        ]);
    }
    context.line(table)?;
    context.line(format_args!(
        "\nTable V (6 clusters, 2560 inputs, 10 iterations): {} us, {} mm2, {} mW; the paper's server: {} us.\n\
         Area and power of other sizes are estimates.",
        table_v::TIME_US,
        table_v::AREA_MM2,
        table_v::POWER_MW,
        table_v::SERVER_US
    ))
}
