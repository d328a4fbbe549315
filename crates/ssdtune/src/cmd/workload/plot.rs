//! `ssdtune workload plot`: the windows in two dimensions (Fig. 2 of AutoBlox), as one SVG file
//! without anything outside of it.

use crate::autodb::{DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::Context as _;
use ssdtune_report::{Axis, Chart, Series, Svg};
use ssdtune_tune::cluster::{Categories, WindowPoint};
use std::path::PathBuf;

/// Arguments of `ssdtune workload plot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The two components to draw, counted from 1.
    #[arg(long, value_name = "X,Y", value_delimiter = ',', num_args = 2,
          default_values_t = [1, 2], value_parser = clap::value_parser!(u8).range(1..=5))]
    components: Vec<u8>,

    #[command(flatten)]
    db: DbArg,
}

/// Draws.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let categories = {
        let db = args.db.open_existing()?;
        Categories::load(&db).map_err(cluster_failure)?
    };
    let axes = [0, 1].map(|i| args.components.get(i).map_or(i, |&n| usize::from(n) - 1));
    let picture = draw(&categories, axes);
    match &args.output {
        None => context.raw(picture.as_str().as_bytes()),
        Some(path) => std::fs::write(path, picture.as_str())
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Failure::from),
    }
}

/// A dot for each window in the colour of its category, a ring for windows of outliers, a cross for
/// the centre of each category.
fn draw(categories: &Categories, axes: [usize; 2]) -> Svg {
    let shares = categories.basis().explained_variance_ratio();
    let axis = |component: usize| {
        let share = 100.0 * shares.get(component).copied().unwrap_or(0.0);
        let name = format!("principal component {}", component + 1);
        Axis::new(name).in_unit(format!("{share:.1} % of the variance"))
    };
    let title = "Windows of 3,000 requests, by category";
    let mut chart = Chart::new(title, axis(axes[0]), axis(axes[1]));
    let flat = |point: &WindowPoint| (point[axes[0]], point[axes[1]]);
    let list = categories.list();
    for category in &list {
        let windows = |outliers: bool| {
            let members = categories.members().filter(move |member| {
                member.category == category.number && member.outlier_of.is_some() == outliers
            });
            members.flat_map(|member| member.points.iter().map(flat)).collect::<Vec<_>>()
        };
        let colour = category.number as usize;
        let name = format!("{} ({})", category.name, category.windows);
        chart.add(Series::dots(windows(false)).coloured(colour).named(name));
        chart.add(Series::rings(windows(true)).coloured(colour));
    }
    chart.add(Series::crosses(list.iter().map(|category| flat(&category.centre))));
    chart.to_svg()
}
