//! What `compare placement` prints: JSON and tables.

use super::drive::Variation;
use super::load::Load;
use super::plots;
use super::replay::Measured;
use super::response::Response;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use serde::Serialize;
use ssdtune_model::DeviceConfig;
use std::collections::BTreeMap;
use std::path::Path;

/// What `--json` prints.
#[derive(Serialize)]
pub(crate) struct Document {
    pub(crate) schema: u32,
    pub(crate) partial: bool,
    /// How drives were chosen.
    rule: String,
    loads: Vec<LoadResult>,
    /// By policy, over the loads that all policies were measured on.
    geometric_means: BTreeMap<String, Mean>,
}

#[derive(Serialize)]
struct Mean {
    write_amplification: f64,
    /// Of the way from `none` to `oracle`, if both were measured.
    distance_covered: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct LoadResult {
    name: String,
    /// From a model fitted to published figures.
    synthetic: bool,
    write_requests: usize,
    written_pages: u64,
    footprint_pages: u32,
    duration_s: f64,
    applications: usize,
    pub(crate) drive: Option<Drive>,
    /// Why there are no cells.
    pub(crate) skipped: Option<String>,
    pub(crate) cells: Vec<CellResult>,
}

impl LoadResult {
    pub(crate) fn of(load: &Load) -> Self {
        Self {
            name: load.name.clone(),
            synthetic: load.synthetic,
            write_requests: load.writes.len(),
            written_pages: load.pages(0..load.writes.len()),
            footprint_pages: load.footprint_pages,
            duration_s: load.duration_ns as f64 / 1e9,
            applications: load.applications,
            drive: None,
            skipped: None,
            cells: Vec::new(),
        }
    }

    /// The short name of a trace file.
    pub(crate) fn title(&self) -> &str {
        let name = Path::new(&self.name).file_name().and_then(|name| name.to_str());
        name.map_or(&self.name, |name| name.split('.').next().unwrap_or(name))
    }

    fn amplification(&self, label: &str) -> Option<f64> {
        let cell = self.cells.iter().find(|cell| cell.policy == label)?;
        cell.measured.as_ref().map(|measured| measured.write_amplification)
    }
}

#[derive(Serialize)]
pub(crate) struct Drive {
    planes: u64,
    blocks_per_plane: u32,
    pages_per_block: u32,
    page_bytes: u32,
    overprovisioning: f64,
}

impl Drive {
    pub(crate) fn of(config: &DeviceConfig) -> Self {
        Self {
            planes: config.geometry().planes(),
            blocks_per_plane: config.flash.blocks_per_plane,
            pages_per_block: config.flash.pages_per_block,
            page_bytes: config.flash.page_bytes,
            overprovisioning: config.mapping.overprovisioning,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct CellResult {
    policy: String,
    clusters: u32,
    slices: u32,
    periods: f64,
    pub(crate) measured: Option<Measured>,
    pub(crate) response: Option<Response>,
    pub(crate) not_applicable: Option<String>,
    pub(crate) error: Option<String>,
}

impl CellResult {
    /// The policy with the settings that tell it from others.
    pub(crate) fn policy(&self) -> &str {
        &self.policy
    }

    pub(crate) fn new(variation: &Variation) -> Self {
        Self {
            policy: variation.label.clone(),
            clusters: variation.clusters,
            slices: variation.slices,
            periods: variation.periods,
            measured: None,
            response: None,
            not_applicable: None,
            error: None,
        }
    }
}

impl Document {
    pub(crate) fn of(rule: String, loads: Vec<LoadResult>, partial: bool) -> Self {
        let geometric_means = means(&loads);
        Self { schema: 1, partial, rule, loads, geometric_means }
    }
}

/// Policies in the order of the first load.
fn labels(loads: &[LoadResult]) -> Vec<&str> {
    let measured = loads.iter().find(|load| !load.cells.is_empty());
    measured.map_or(Vec::new(), |load| load.cells.iter().map(|c| c.policy.as_str()).collect())
}

fn means(loads: &[LoadResult]) -> BTreeMap<String, Mean> {
    let measured: Vec<&LoadResult> = loads.iter().filter(|load| !load.cells.is_empty()).collect();
    let mean = |label: &str| {
        let values: Option<Vec<f64>> =
            measured.iter().map(|load| load.amplification(label)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
    };
    let ends = mean("none").zip(mean("oracle"));
    let of = |label: &str| {
        let write_amplification = mean(label)?;
        let covered = |(from, to): (f64, f64)| (from - write_amplification) / (from - to);
        let distance_covered = ends.map(covered).filter(|share| share.is_finite());
        Some((label.to_owned(), Mean { write_amplification, distance_covered }))
    };
    labels(loads).into_iter().filter_map(of).collect()
}

/// Prints, and draws if that was asked for.
pub(crate) fn print(document: &Document, plots: Option<&Path>, context: &Context) -> Outcome {
    if let Some(directory) = plots {
        plots::write_all(directory, &document.loads)?;
    }
    if context.json() {
        return context.document(document);
    }
    context.line(format_args!("Drives: {}.\n", document.rule))?;
    let measured =
        |show: fn(&Measured) -> String| move |cell: &CellResult| cell.measured.as_ref().map(show);
    let amplification = measured(|m| format!("{:.3}", m.write_amplification));
    matrix("write amplification", document, true, &amplification, context)?;
    matrix("erases", document, false, &measured(|m| m.erases.to_string()), context)?;
    let wear = measured(|m| {
        let wear = &m.wear;
        format!("{}..{} ({:.2} +- {:.2})", wear.least, wear.most, wear.mean, wear.deviation)
    });
    matrix("erases of a block: least..most (mean +- deviation)", document, false, &wear, context)?;
    if document.loads.iter().flat_map(|load| &load.cells).any(|cell| cell.response.is_some()) {
        let response = |cell: &CellResult| {
            cell.response.as_ref().map(|response| format!("{:.1}", response.mean_ns / 1e3))
        };
        matrix("mean response time (us)", document, false, &response, context)?;
    }
    for load in &document.loads {
        if let Some(reason) = &load.skipped {
            context.line(format_args!("left out: {reason}"))?;
        }
        for cell in &load.cells {
            let said = cell.error.as_ref().or(cell.not_applicable.as_ref());
            if let Some(reason) = said {
                context.line(format_args!("{}, {}: {reason}", load.title(), cell.policy))?;
            }
        }
    }
    Ok(())
}

fn matrix(
    title: &str,
    document: &Document,
    with_means: bool,
    value: &dyn Fn(&CellResult) -> Option<String>,
    context: &Context,
) -> Outcome {
    let labels = labels(&document.loads);
    let mut headings = vec![title];
    headings.extend(&labels);
    let mut rows = table::new(&headings);
    for load in document.loads.iter().filter(|load| !load.cells.is_empty()) {
        let cells = load.cells.iter().map(|cell| value(cell).unwrap_or_else(|| "-".into()));
        let title = format!("{}{}", load.title(), if load.synthetic { " (model)" } else { "" });
        rows.add_row(std::iter::once(title).chain(cells));
    }
    if with_means {
        let means = &document.geometric_means;
        let of = |label: &&str| {
            means.get(*label).map_or("-".into(), |m| format!("{:.3}", m.write_amplification))
        };
        rows.add_row(std::iter::once("geometric mean".to_owned()).chain(labels.iter().map(of)));
        let covered = |label: &&str| {
            let share = means.get(*label).and_then(|mean| mean.distance_covered);
            share.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share))
        };
        rows.add_row(
            std::iter::once("of the way to oracle".to_owned()).chain(labels.iter().map(covered)),
        );
    }
    context.line(format_args!("{rows}\n"))
}
