//! Documents as pages: what commands print with `--json`, as one HTML file for people.
//!
//! A page begins with its headline: what was found, by how much and with what interval, at what
//! price and power. Charts and tables follow, and at the end stands where it all comes from. The
//! page refers to nothing outside of itself.
//!
//! Documents are read by the fields that `docs/results-schema.md` describes, not by the types that
//! wrote them: so a document of last year can be shown, and several documents beside each other.
//! What a document lacks is left out. One of a kind that has no page of its own is shown field by
//! field.
//!
//! ```
//! use serde_json::json;
//! use ssdtune_pages::{Origin, Shown, page_of};
//!
//! let grades = json!([{"drive": "z-ssd", "grade": 1.2, "target": {"latency": 3.0}}]);
//! let mut page = page_of(&[Shown::new("grades.json", grades)]);
//! Origin { program: "ssdtune 0.2.0", command: "ssdtune grade z-ssd", seed: None, inputs: &[] }
//!     .add_to(&mut page);
//! let html = page.to_html();
//! assert!(html.contains("z-ssd is the best of 1 drives") && html.contains("0.2.0"));
//! ```
//!
//! Cost: some milliseconds for a chart.

mod choice;
mod fields;
mod grades;
mod models;
mod origin;
mod other;
mod parameters;
mod placement;
mod predictions;
mod pruning;
mod read;
mod sampled;
mod search;
mod seeds;
mod simulation;
mod tenants;
mod traces;
mod whatif;
mod windows;

pub use origin::Origin;

use serde_json::Value;
use ssdtune_report::Page;

/// A document, and what to call it where several are shown.
#[derive(Clone, Debug)]
pub struct Shown {
    name: String,
    document: Value,
    series: Vec<(String, String)>,
}

impl Shown {
    /// A document of this name.
    pub fn new(name: impl Into<String>, document: Value) -> Self {
        Self { name: name.into(), document, series: Vec::new() }
    }

    /// The document in the text of a file of this name.
    ///
    /// # Errors
    /// What is wrong with it: it is no JSON, or it holds nothing that could be shown.
    pub fn read(name: String, text: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("{name}: no JSON: {error}"))?;
        let is_empty = match &document {
            Value::Object(fields) => fields.is_empty(),
            of => of.as_array().is_none_or(Vec::is_empty),
        };
        match is_empty {
            true => Err(format!("{name}: it holds no result of ssdtune")),
            false => Ok(Self::new(name, document)),
        }
    }

    /// Reads the files of time series that the document names, where they are there and plain
    /// text, so that the page shows them.
    #[must_use]
    pub fn with_series(self) -> Self {
        let cells = read::each(&self.document, "cells").iter();
        let files = cells.filter_map(|cell| read::text(cell, "series"));
        let read = |file: &str| Some((file.to_owned(), std::fs::read_to_string(file).ok()?));
        let series = files.filter_map(read).collect();
        Self { series, ..self }
    }
}

/// The page of one or more documents.
pub fn page_of(documents: &[Shown]) -> Page {
    let mut page = match documents {
        [one] => {
            let mut page = Page::new(title(&one.document));
            body(&mut page, one);
            page
        }
        _ => beside(documents),
    };
    if let Some(seeds) = seeds::told(documents.iter().map(|one| &one.document)) {
        page.heading("Seeds").paragraph(&seeds);
    }
    page
}

/// Documents beside each other: simulations in one table, others one after the other.
fn beside(documents: &[Shown]) -> Page {
    let mut page = Page::new(format!("{} results side by side", documents.len()));
    let are_simulations = documents.iter().all(|one| Kind::of(&one.document) == Kind::Simulation);
    if are_simulations {
        simulation::body(&mut page, documents);
        return page;
    }
    for one in documents {
        page.heading(&format!("{}: {}", one.name, title(&one.document)));
        body(&mut page, one);
    }
    page
}

/// What a document is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Simulation,
    Sampled,
    Search,
    Grades,
    Choice,
    Placement,
    Tenants,
    Fit,
    Windows,
    Pruning,
    WhatIf,
    Ablation,
    Predictions,
    Map,
    Traces,
    Batch,
    Other,
}

impl Kind {
    fn of(document: &Value) -> Self {
        let first = read::each(document, "").first().unwrap_or(document);
        let has = |names: &[&str]| names.iter().all(|name| !read::at(first, name).is_null());
        let cell = read::at(document, "cells.0");
        match () {
            () if has(&["cells"]) && sampled::is_told_from_windows(cell) => Self::Sampled,
            () if has(&["cells"]) && document.is_object() => Self::Simulation,
            () if has(&["question", "training", "effort"]) => Self::Search,
            () if has(&["drive", "target"]) && document.is_array() => Self::Grades,
            () if has(&["lines", "tenants"]) && !has(&["workloads"]) => Self::Tenants,
            () if has(&["loads", "paired"]) => Self::Placement,
            () if has(&["entries", "trained_on"]) => Self::Fit,
            () if has(&["ranked", "by"]) => Self::Choice,
            () if has(&["stronger", "outside_training"]) => Self::Windows,
            () if has(&["coarse", "fine"]) => Self::Pruning,
            () if has(&["goal", "taken_back"]) => Self::WhatIf,
            () if has(&["value", "others_mean"]) => Self::Ablation,
            () if has(&["workload", "strong", "tree"]) => Self::Predictions,
            () if has(&["level", "write_share", "strategy"]) => Self::Map,
            () if has(&["file", "arrivals", "footprint"]) => Self::Traces,
            () if has(&["point", "latency_ns", "iops"]) => Self::Batch,
            () => Self::Other,
        }
    }
}

fn title(document: &Value) -> String {
    match Kind::of(document) {
        Kind::Simulation | Kind::Sampled => simulation::title(document),
        Kind::Search => search::title(document),
        Kind::Grades => "Drives graded".to_owned(),
        Kind::Choice => choice::title(document),
        Kind::Placement => "Placement policies compared".to_owned(),
        Kind::Tenants => tenants::title(document),
        Kind::Fit => models::title(document),
        Kind::Windows => "A model beside the simulator".to_owned(),
        Kind::Pruning => pruning::title(document),
        Kind::WhatIf => whatif::title(document),
        Kind::Ablation => "A weight of the grade, tried".to_owned(),
        Kind::Predictions => predictions::title(document).to_owned(),
        Kind::Map => "What a network chooses".to_owned(),
        Kind::Traces => "What traces are like".to_owned(),
        Kind::Batch => "Predictions for points".to_owned(),
        Kind::Other => "A result of ssdtune".to_owned(),
    }
}

fn body(page: &mut Page, shown: &Shown) {
    let document = &shown.document;
    match Kind::of(document) {
        Kind::Simulation => simulation::body(page, std::slice::from_ref(shown)),
        Kind::Sampled => sampled::body(page, std::slice::from_ref(shown)),
        Kind::Search => search::body(page, document),
        Kind::Grades => grades::body(page, document),
        Kind::Placement => placement::body(page, document),
        Kind::Tenants => tenants::body(page, document),
        Kind::Fit => models::body(page, document),
        Kind::Choice => choice::body(page, document),
        Kind::Windows => windows::body(page, document),
        Kind::Pruning => pruning::body(page, document),
        Kind::WhatIf => whatif::body(page, document),
        Kind::Ablation => whatif::ablation(page, document),
        Kind::Predictions => predictions::body(page, document),
        Kind::Map => tenants::map(page, read::each(document, "")),
        Kind::Traces => traces::body(page, read::each(document, "")),
        Kind::Batch => predictions::batch(page, read::each(document, "")),
        Kind::Other => other::body(page, document),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_holds_nothing_is_refused() {
        for text in ["{}", "[]", "1", "null", "{"] {
            let error = Shown::read("a.json".to_owned(), text).unwrap_err();
            assert!(error.starts_with("a.json: "), "{error}");
        }
        assert!(Shown::read("a.json".to_owned(), r#"{"a": 1}"#).is_ok());
    }

    #[test]
    fn a_simulation_told_from_windows_has_its_figures_on_the_page() {
        let figure = |value: f64| json!({"value": value, "interval": {"low": 90.0, "high": 120.0}});
        let own = json!({
            "requests": "all", "share": 1.0, "mean": figure(100.0),
            "percentiles": [["p99", {"value": 2_000.0, "interval": null}]],
        });
        let report = json!({
            "run": {"requests": 3000, "kept": 40, "measured": 200, "windows": 40, "covered": 0.5},
            "latency_ns": [own], "no_interval": null,
        });
        let document = json!({"cells": [{"device": "z-ssd", "workload": "a", "report": report}]});
        assert_eq!(Kind::of(&document), Kind::Sampled);
        let html = page_of(&[Shown::new("a.json", document)]).to_html();
        for figure in ["3,000 requests", "100 ns (90 ns to 120 ns)", "2.00 us", "40 windows of 200"]
        {
            assert!(html.contains(figure), "{figure} is not in {html}");
        }
    }

    #[test]
    fn loads_that_were_left_out_have_their_reason_on_the_page() {
        let loads = json!([{"name": "a", "skipped": "it hardly writes", "cells": []}]);
        let document = json!({"loads": loads, "geometric_means": {}, "paired": []});
        let html = page_of(&[Shown::new("a.json", document)]).to_html();
        assert!(html.contains("it hardly writes") && html.contains("No load was measured"));
        assert!(!html.contains("<svg"));
    }
}
