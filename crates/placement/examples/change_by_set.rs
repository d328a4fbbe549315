//! How much the columns of several `ssdtune compare placement --json` change write amplification
//! beside none, one set of loads beside the other: a chart, and a table for a Markdown page.
//!
//!     cargo run -p ssdtune-placement --example change_by_set -- \
//!         "Fig. 12: clusters" clusters.svg traces=traces.json volumes=volumes.json
//!
//! A load counts if in every column that was measured on it the frontiers take less than 2 % of the
//! spare blocks, since on a smaller drive they cost more than any policy wins. Intervals of 95 %,
//! paired by load; in brackets the loads of the column that was measured on most.

use serde_json::Value;
use ssdtune_placement::{Paired, Verdict};
use ssdtune_report::{Axis, Bar, BarChart};
use std::error::Error;

/// The share of the spare blocks that frontiers may take.
const SPARE_TAKEN_MAX: f64 = 0.02;
const NONE: &str = "none";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [title, out, sets @ ..] = &arguments[..] else {
        return Err("TITLE OUT.svg NAME=FILE.json...".into());
    };
    let read = |set: &String| -> Result<(String, Vec<Paired>), Box<dyn Error>> {
        let (name, file) = set.split_once('=').ok_or("NAME=FILE.json is expected")?;
        let document = serde_json::from_slice(&std::fs::read(file)?)?;
        let changes = changes(&document);
        let loads = changes.iter().map(|change| change.loads).max().unwrap_or(0);
        Ok((format!("{name} ({loads})"), changes))
    };
    let sets = sets.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut labels: Vec<&str> = Vec::new();
    for change in sets.iter().flat_map(|(_, changes)| changes) {
        if !labels.contains(&change.policy.as_str()) {
            labels.push(&change.policy);
        }
    }
    // Stable: columns without a number stay as they are asked for.
    labels.sort_by_key(|label| number(label));
    let names = || sets.iter().map(|(name, _)| name.clone());
    let axis = Axis::new("change beside none, interval of 95 %").in_unit("%");
    let mut chart = BarChart::new(title, axis, names());
    println!("| | {} |", names().collect::<Vec<_>>().join(" | "));
    println!("|---{}|", "|---".repeat(sets.len()));
    for label in labels {
        let own = |changes: &Vec<Paired>| changes.iter().find(|one| one.policy == label).cloned();
        let row: Vec<Option<Paired>> = sets.iter().map(|(_, changes)| own(changes)).collect();
        let cells: Vec<String> = row.iter().map(cell).collect();
        println!("| {label} | {} |", cells.join(" | "));
        chart.add(label, row.iter().map(|one| one.as_ref().map_or(Bar::new(None), Paired::bar)));
    }
    std::fs::write(out, chart.to_svg().as_str())?;
    Ok(())
}

/// The first number in a label, such as the 6 of `haml K=6`.
fn number(label: &str) -> Option<u64> {
    label.split(|letter: char| !letter.is_ascii_digit()).find_map(|part| part.parse().ok())
}

/// What each column of a document changes, over the loads that count.
fn changes(document: &Value) -> Vec<Paired> {
    let loads = document["loads"].as_array().into_iter().flatten();
    let counts = |cells: &&Vec<Value>| {
        !cells.is_empty()
            && cells.iter().filter(|cell| cell["policy"] != NONE).all(|cell| {
                let taken = cell["measured"]["spare_taken"].as_f64();
                taken.is_none_or(|taken| taken < SPARE_TAKEN_MAX)
            })
    };
    let loads: Vec<&Vec<Value>> =
        loads.filter_map(|load| load["cells"].as_array()).filter(counts).collect();
    let written = |cells: &[Value], label: &str| {
        let own = cells.iter().find(|cell| cell["policy"] == label)?;
        own["measured"]["write_amplification"].as_f64()
    };
    let labels = loads.first().map_or(&[][..], |cells| &cells[..]);
    let labels = labels.iter().filter_map(|cell| cell["policy"].as_str());
    let changed = labels.filter(|label| *label != NONE).filter_map(|label| {
        let pairs =
            loads.iter().filter_map(|cells| Some((written(cells, label)?, written(cells, NONE)?)));
        Paired::of("write_amplification", label, NONE, pairs)
    });
    changed.collect()
}

/// A change with its interval, bold if it is decided.
fn cell(change: &Option<Paired>) -> String {
    let Some(change) = change else { return String::new() };
    let ends = change.interval_percent.map(|[low, high]| format!(" [{low:.1}, {high:.1}]"));
    let words = format!("{:+.1} %{}", change.change_percent, ends.unwrap_or_default());
    if change.verdict == Verdict::Undecided { words } else { format!("**{words}**") }
}
