//! `ssdtune workload list`: the categories, and the workloads in them.

use crate::autodb::DbArg;
use crate::context::Context;
use crate::outcome::Outcome;
use serde::Serialize;
use ssdtune_report::Table;
use ssdtune_tune::cluster::{FeatureSet, WindowPoint};

/// Arguments of `ssdtune workload list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Report {
    features: FeatureSet,
    explained_variance_ratio: Vec<f64>,
    category_distance_min: Option<f64>,
    categories: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    number: u32,
    name: String,
    centre: WindowPoint,
    windows: u64,
    workloads: Vec<String>,
    outliers: Vec<String>,
}

/// Lists them.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let categories = args.db.categories()?;
    let members = |number: u32, outliers: bool| -> Vec<String> {
        let own = categories.members().filter(|member| member.category == number);
        own.filter(|member| member.outlier_of.is_some() == outliers)
            .map(|member| member.name.clone())
            .collect()
    };
    let rows = categories.list().into_iter().map(|category| Row {
        number: category.number,
        name: category.name,
        centre: category.centre,
        windows: category.windows,
        workloads: members(category.number, false),
        outliers: members(category.number, true),
    });
    let report = Report {
        features: categories.basis().features(),
        explained_variance_ratio: categories.basis().explained_variance_ratio(),
        category_distance_min: categories.category_distance_min(),
        categories: rows.collect(),
    };
    let mut table = Table::new(["number", "category", "windows", "workloads", "outliers"]);
    for row in &report.categories {
        table.add_row([
            row.number.to_string(),
            row.name.clone(),
            row.windows.to_string(),
            row.workloads.join(", "),
            row.outliers.join(", "),
        ]);
    }
    context.show(&report, table)
}
