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
mod grades;
mod models;
mod origin;
mod other;
mod placement;
mod pruning;
mod read;
mod search;
mod simulation;
mod tenants;
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
    let [one] = documents else { return beside(documents) };
    let mut page = Page::new(title(&one.document));
    body(&mut page, one);
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
    Other,
}

impl Kind {
    fn of(document: &Value) -> Self {
        let first = read::each(document, "").first().unwrap_or(document);
        let has = |names: &[&str]| names.iter().all(|name| !read::at(first, name).is_null());
        match () {
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
            () => Self::Other,
        }
    }
}

fn title(document: &Value) -> String {
    match Kind::of(document) {
        Kind::Simulation => simulation::title(document),
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
        Kind::Other => "A result of ssdtune".to_owned(),
    }
}

fn body(page: &mut Page, shown: &Shown) {
    let document = &shown.document;
    match Kind::of(document) {
        Kind::Simulation => simulation::body(page, std::slice::from_ref(shown)),
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
        Kind::Other => other::body(page, document),
    }
}
