//! `ssdtune workload learn`: from traces to categories.

use crate::autodb::{self, DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use crate::workload_source::{SourceArgs, SourceName};
use serde::Serialize;
use ssdtune_trace::Request;
use ssdtune_tune::cluster::{
    Categories, ClusterError, FeatureSet, LearnOutcome, PAPER_THRESHOLD, Threshold, TraceToLearn,
};
use ssdtune_tune::workload::published_categories;

/// Arguments of `ssdtune workload learn`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The first workloads that an AutoDB learns make its categories, one for each CATEGORY, or for \
each source that names none. Every later one joins the nearest category if its centre is within the threshold, or \
else adds a category. One that is said to be of a category and lies elsewhere is kept as an outlier; 20 outliers of a \
category become one of their own."
)]
pub(crate) struct Args {
    /// Trace files or bundled models (`ssdtune trace models`); CATEGORY= says what a source is
    /// known to be.
    #[arg(value_name = "[CATEGORY=]SOURCE", required_unless_present = "bundled")]
    sources: Vec<SourceName>,

    /// Learn the seven categories of AutoBlox from the bundled models.
    #[arg(long, conflicts_with = "sources")]
    bundled: bool,

    /// How near a trace must be to a category's centre to belong to it: a distance, or derived,
    /// which is the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    /// What windows are described by: profile (quantiles and shares) or paper (as published).
    /// Only for the first workloads.
    #[arg(long, value_name = "SET", default_value_t = FeatureSet::default())]
    features: FeatureSet,

    /// Forget every category and begin again with these. Evaluations and recommendations stay; a
    /// recommendation goes to the new category of its target, if there is one.
    #[arg(long)]
    anew: bool,

    #[command(flatten)]
    input: SourceArgs,

    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Report {
    workloads: Vec<Row>,
    features: FeatureSet,
    explained_variance_ratio: Vec<f64>,
    threshold_default: f64,
    category_distance_min: Option<f64>,
}

#[derive(Serialize)]
struct Row {
    workload: String,
    windows: usize,
    #[serde(flatten)]
    learned: LearnOutcome,
}

/// Learns and stores.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let seven = || {
        published_categories().map(|name| SourceName { category: None, source: name.to_owned() })
    };
    let sources = if args.bundled { seven().to_vec() } else { args.sources.clone() };
    let db = args.db.open()?;
    let known = match Categories::load(&db) {
        Ok(_) if args.anew => None,
        Ok(categories) => Some(categories),
        Err(ClusterError::NotLearned) => None,
        Err(_) if args.anew => None,
        Err(error) => return Err(cluster_failure(error)),
    };
    let mut read: Vec<(String, Vec<Request>)> = Vec::new();
    for source in &sources {
        read.push((source.name(), source.read(&args.input, context)?));
    }
    let material: Vec<TraceToLearn> = sources
        .iter()
        .zip(&read)
        .map(|(source, (name, requests))| TraceToLearn {
            name,
            category: source.category.as_deref(),
            requests,
        })
        .collect();
    let (categories, learned) = learn(known, &material, args)?;
    categories.store(&db).map_err(cluster_failure)?;
    let refiled = categories.refile_recommendations(&db, args.anew).map_err(autodb::failure)?;
    if refiled > 0 {
        context.note(format_args!(
            "{refiled} stored recommendations are filed under the categories of their targets now"
        ));
    }
    let windows = |name: &str| {
        categories.members().find(|member| member.name == name).map_or(0, |one| one.points.len())
    };
    let rows = material.iter().zip(learned).map(|(one, learned)| Row {
        workload: one.name.to_owned(),
        windows: windows(one.name),
        learned,
    });
    let report = Report {
        workloads: rows.collect(),
        features: categories.basis().features(),
        explained_variance_ratio: categories.basis().explained_variance_ratio(),
        threshold_default: PAPER_THRESHOLD,
        category_distance_min: categories.category_distance_min(),
    };
    drop(db);
    if context.json() { context.document(&report) } else { print(&report, args.threshold, context) }
}

fn learn(
    known: Option<Categories>,
    material: &[TraceToLearn],
    args: &Args,
) -> Outcome<(Categories, Vec<LearnOutcome>)> {
    let Some(mut categories) = known else {
        let categories = Categories::found(args.features, material).map_err(cluster_failure)?;
        let founded = |one: &TraceToLearn| LearnOutcome::Founded {
            category: one.category.unwrap_or(one.name).to_owned(),
        };
        return Ok((categories, material.iter().map(founded).collect()));
    };
    let mut learned = Vec::new();
    for one in material {
        learned.push(categories.learn(*one, args.threshold).map_err(cluster_failure)?);
    }
    Ok((categories, learned))
}

fn print(report: &Report, threshold: Threshold, context: &Context) -> Outcome {
    let mut table = table::new(&["workload", "windows", "what became of it", "distance"]);
    for Row { workload, windows, learned } in &report.workloads {
        let (what, distance) = describe(learned);
        let distance = distance.map_or_else(String::new, |distance| format!("{distance:.2}"));
        table.add_row([workload.clone(), windows.to_string(), what, distance]);
    }
    context.line(table)?;
    let explained: f64 = report.explained_variance_ratio.iter().sum();
    context.line(format_args!(
        "{:.1} % of the variance of the {} features lie in {} dimensions",
        100.0 * explained,
        report.features,
        report.explained_variance_ratio.len()
    ))?;
    let least =
        report.category_distance_min.map_or("none".to_owned(), |least| format!("{least:.2}"));
    context.line(format_args!(
        "threshold {threshold}; default {}, least distance between two categories {least}",
        report.threshold_default
    ))
}

fn describe(learned: &LearnOutcome) -> (String, Option<f64>) {
    match learned {
        LearnOutcome::Founded { category } => (format!("in category {category}, new"), None),
        LearnOutcome::Joined { category, distance } => {
            (format!("joined category {category}"), Some(*distance))
        }
        LearnOutcome::Added { category, distance } => {
            (format!("near no category: {category} is new"), Some(*distance))
        }
        LearnOutcome::Outlier { category, distance, count } => {
            (format!("outlier {count} of category {category}"), Some(*distance))
        }
        LearnOutcome::Seceded { from, category } => {
            (format!("the outliers of {from} are category {category} now"), None)
        }
        LearnOutcome::Known { category } => {
            (format!("known already, in category {category}"), None)
        }
    }
}
