//! `ssdtune workload learn`: from traces to categories.

use crate::autodb::{self, DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::workload_source::{SourceArgs, SourceName};
use ssdtune_trace::Request;
use ssdtune_tune::cluster::{
    Categories, ClusterError, FeatureSet, LearnReport, Threshold, TraceToLearn,
};
use ssdtune_tune::workload::published_categories;

/// Arguments of `ssdtune workload learn`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The first workloads that an AutoDB learns make its categories: one for \
    each CATEGORY, and one for each source that names none. Each later workload joins the nearest \
    category if its centre is within the threshold, and adds a category if not. A workload that is \
    said to be of a category and lies elsewhere is kept as an outlier; 20 outliers of a category \
    become a category of their own.")]
pub(crate) struct Args {
    /// Trace files or bundled models (`ssdtune trace models`). CATEGORY= says which category a
    /// source is known to be of.
    #[arg(value_name = "[CATEGORY=]SOURCE", required_unless_present = "bundled")]
    sources: Vec<SourceName>,

    /// Learn the seven categories of AutoBlox from the bundled models.
    #[arg(long, conflicts_with = "sources")]
    bundled: bool,

    /// How near a workload must be to the centre of a category to belong to it: a distance, or
    /// `derived`, the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    /// What describes a window: profile (quantiles and shares) or paper (as published). It takes
    /// effect for the first workloads only.
    #[arg(long, value_name = "SET", default_value_t = FeatureSet::default())]
    features: FeatureSet,

    /// Forget all categories and begin again with these workloads. Evaluations and recommendations
    /// stay; each recommendation goes to the new category of its target, if there is one.
    #[arg(long)]
    anew: bool,

    #[command(flatten)]
    input: SourceArgs,

    #[command(flatten)]
    db: DbArg,
}

/// Learns and stores.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let seven = || {
        published_categories().map(|name| SourceName { category: None, source: name.to_owned() })
    };
    let sources = if args.bundled { seven().to_vec() } else { args.sources.clone() };
    let db = args.db.open(context)?;
    let known = match Categories::load(&db) {
        Ok(_) | Err(_) if args.anew => None,
        Ok(categories) => Some(categories),
        Err(ClusterError::NotLearned) => None,
        Err(error) => return Err(cluster_failure(error)),
    };
    let read = |source: &SourceName| Ok((source.name(), args.input.read(source, context)?));
    let read = sources.iter().map(read).collect::<Outcome<Vec<(String, Vec<Request>)>>>()?;
    let material: Vec<TraceToLearn> = sources
        .iter()
        .zip(&read)
        .map(|(source, (name, requests))| TraceToLearn {
            name,
            category: source.category.as_deref(),
            requests,
        })
        .collect();
    let (categories, learned) =
        Categories::found_or_learn(known, args.features, &material, args.threshold)
            .map_err(cluster_failure)?;
    categories.store(&db).map_err(cluster_failure)?;
    let refiled = categories.refile_recommendations(&db, args.anew).map_err(autodb::failure)?;
    if refiled > 0 {
        context.note(format_args!(
            "{refiled} stored recommendations are filed under the categories of their targets now"
        ));
    }
    drop(db);
    let names = material.iter().map(|one| one.name);
    let report = LearnReport::of(&categories, names.zip(learned));
    context.show(&report, report.text(&categories, args.threshold))
}
