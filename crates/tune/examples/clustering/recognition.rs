//! Tables of windows in their own category.

use crate::Outcome;
use crate::judge::{Judged, all_methods};
use crate::material::{FIFTHS, Labelled, Side, Trace, fifth, tail};
use crate::share::Share;

/// Models: what was learned from training seeds, judged on others.
pub fn models(learned: &[Labelled], tested: &[Labelled]) -> Outcome {
    let columns = all_methods(learned, tested)?;
    head("windows", &columns);
    let mut categories: Vec<&str> = tested.iter().map(|one| one.category.as_str()).collect();
    categories.dedup();
    for category in categories {
        let cell = |one: &Judged| {
            let rows = one.rows.iter().zip(tested).filter(|(_, test)| test.category == category);
            rows.fold((0, 0, None), |sum: (usize, usize, Option<f64>), (row, _)| {
                let farther = [sum.2, row.distance].into_iter().flatten().reduce(f64::max);
                (sum.0 + row.hits, sum.1 + row.windows, farther)
            })
        };
        line(category, &columns.iter().map(cell).collect::<Vec<_>>());
    }
    let total = |one: &Judged| {
        let mut share = Share::default();
        let (hits, windows) =
            one.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.hits, sum.1 + row.windows));
        share.add(hits, windows);
        share
    };
    totals("all", &columns.iter().map(total).collect::<Vec<_>>());
    geometry(&columns);
    Ok(())
}

/// Real traces, each a category: learned from the first 70 %, judged on the rest.
pub fn last_of_traces(traces: &[Trace], shown: &[Side]) -> Outcome {
    let learned: Vec<Labelled> = traces.iter().map(|one| one.without(&tail(one))).collect();
    let tested: Vec<Labelled> = traces.iter().map(|one| one.labelled(tail(one))).collect();
    let columns = all_methods(&learned, &tested)?;
    head("windows", &columns);
    table(traces, shown, &columns);
    if shown.len() > 1 {
        let with_all = |one: &Judged| share(one, traces, |_| true);
        let name = "all, and traces with less than 5 held-out windows";
        totals(name, &columns.iter().map(with_all).collect::<Vec<_>>());
    }
    geometry(&columns);
    whole_traces(traces, shown, &columns);
    Ok(())
}

/// Real traces, each a category: each fifth judged in turn, learned from the others.
pub fn fifths_of_traces(traces: &[Trace], shown: &[Side]) -> Outcome {
    let mut sums: Vec<Judged> = Vec::new();
    for number in 0..FIFTHS {
        let parts = || traces.iter().map(|one| (one, fifth(one, number)));
        let learned: Vec<Labelled> = parts().map(|(one, part)| one.without(&part)).collect();
        let tested: Vec<Labelled> = parts().map(|(one, part)| one.labelled(part)).collect();
        let columns = all_methods(&learned, &tested)?;
        if sums.is_empty() {
            sums = columns;
            continue;
        }
        for (sum, column) in sums.iter_mut().zip(columns) {
            for (sum, row) in sum.rows.iter_mut().zip(column.rows) {
                sum.hits += row.hits;
                sum.windows += row.windows;
            }
        }
    }
    for row in sums.iter_mut().flat_map(|one| &mut one.rows) {
        row.distance = None;
    }
    head("windows", &sums);
    table(traces, shown, &sums);
    Ok(())
}

/// A line for each trace, and shares of the sides and of all.
fn table(traces: &[Trace], shown: &[Side], columns: &[Judged]) {
    for (place, trace) in traces.iter().enumerate() {
        if !shown.contains(&trace.side) {
            continue;
        }
        let cell = |one: &Judged| {
            let row = one.rows[place];
            (row.hits, row.windows, row.distance)
        };
        let name = format!("{} ({})", trace.name, trace.side.name());
        line(&name, &columns.iter().map(cell).collect::<Vec<_>>());
    }
    let counted = |side: Option<Side>| {
        let share = |one: &Judged| {
            share(one, traces, |trace| {
                trace.is_judged() && side.is_none_or(|side| trace.side == side)
            })
        };
        columns.iter().map(share).collect::<Vec<_>>()
    };
    for side in shown {
        totals(side.name(), &counted(Some(*side)));
    }
    if shown.len() > 1 {
        totals("all", &counted(None));
    }
}

/// The share of windows of some traces.
fn share(judged: &Judged, traces: &[Trace], counts: impl Fn(&Trace) -> bool) -> Share {
    let mut share = Share::default();
    for (row, trace) in judged.rows.iter().zip(traces) {
        if counts(trace) {
            share.add(row.hits, row.windows);
        }
    }
    share
}

/// How many traces are recognised by the centre of their held-out windows.
fn whole_traces(traces: &[Trace], shown: &[Side], columns: &[Judged]) {
    for one in columns.iter().filter(|one| one.least.is_some()) {
        let rows = one.rows.iter().zip(traces).filter(|(_, trace)| shown.contains(&trace.side));
        let rows: Vec<_> = rows.collect();
        let hits = rows.iter().filter(|(row, _)| row.whole == Some(true)).count();
        println!(
            "\nBy the centre of the held-out windows, {}: {hits} of {} traces.",
            one.name,
            rows.len()
        );
    }
}

fn head(second: &str, columns: &[Judged]) {
    let names: Vec<&str> = columns.iter().map(|one| one.name.as_str()).collect();
    println!("| held-out windows in their own category | {second} | {} |", names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len()));
}

fn line(name: &str, cells: &[(usize, usize, Option<f64>)]) {
    let show = |&(hits, windows, distance): &(usize, usize, Option<f64>)| {
        let percent = 100.0 * hits as f64 / windows as f64;
        match distance {
            Some(distance) => format!("{percent:.1} % (centre {distance:.2})"),
            None => format!("{percent:.1} %"),
        }
    };
    let shown: Vec<String> = cells.iter().map(show).collect();
    println!("| {name} | {} | {} |", cells[0].1, shown.join(" | "));
}

fn totals(name: &str, shares: &[Share]) {
    let shown: Vec<String> = shares.iter().map(Share::to_string).collect();
    println!("| {name} | {} | {} |", shares[0].total().1, shown.join(" | "));
}

fn geometry(columns: &[Judged]) {
    let show = |value: Option<f64>, factor: f64, unit: &str| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}{unit}", factor * value))
    };
    let cells: Vec<String> = columns.iter().map(|one| show(one.variance, 100.0, " %")).collect();
    println!("| variance in 5 dimensions | | {} |", cells.join(" | "));
    let cells: Vec<String> = columns.iter().map(|one| show(one.least, 1.0, "")).collect();
    println!("| least distance between categories | | {} |", cells.join(" | "));
}
