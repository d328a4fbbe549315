//! The figures of a study, as charts.

use crate::paired::Paired;
use crate::study::{LoadResult, PolicyResult, Study};
use ssdtune_report::{Axis, Bar, BarChart, Chart, Series, Svg};
use std::collections::BTreeSet;

/// Everything of a study that can be drawn, each as the name and the text of a file, with the
/// figures of HAML-SSD it is like: `amplification` (Fig. 10), `erases` (Table VI) and `response`
/// (Fig. 11, if requests were timed) relative to the first policy, `change` (of write amplification
/// with intervals, beside the policies asked for), `invalid` (Fig. 3), `intervals` (Fig. 4), and
/// `clusters-LOAD` (Fig. 7) for each load.
pub fn figures(study: &Study) -> Vec<(String, String)> {
    let amplification = Axis::new("pages programmed for a page written");
    let amplification = bars(study, "Write amplification", amplification, &|policy, _| {
        Some(policy.measured.as_ref()?.write_amplification)
    });
    let erases = relative(study, "Erases", &|policy| Some(policy.measured.as_ref()?.erases as f64));
    let response = study.has_response_times().then(|| {
        relative(study, "Mean response time", &|policy| Some(policy.response.as_ref()?.mean_ns))
    });
    let invalid =
        stacks(study, "Full blocks by their share of invalid pages", "blocks", FIFTHS, &invalid);
    let intervals =
        stacks(study, "Slices by their interval, T the longest", "slices", SPANS, &intervals);
    let change = Some(changes(study));
    let charts =
        [Some(amplification), Some(erases), response, change, Some(invalid), Some(intervals)];
    let named = NAMES.into_iter().zip(charts).filter_map(|(name, svg)| Some((file(name), svg?)));
    let clusters = study.measured().map(|load| (clusters_file(&load.title()), clusters(load)));
    named.chain(clusters).map(|(name, svg)| (name, svg.to_string())).collect()
}

/// The names of the charts that a study has one of.
const NAMES: [&str; 6] = ["amplification", "erases", "response", "change", "invalid", "intervals"];

/// The files of all figures that there can be of loads with these titles ([`crate::title`]).
pub fn figure_names(titles: &[String]) -> Vec<String> {
    NAMES.into_iter().map(file).chain(titles.iter().map(|title| clusters_file(title))).collect()
}

fn file(name: &str) -> String {
    format!("{name}.svg")
}

fn clusters_file(title: &str) -> String {
    file(&format!("clusters-{title}"))
}

/// A group of bars for each load, a bar for each policy. The value may be compared with the load's
/// first policy.
fn bars(
    study: &Study,
    title: &str,
    axis: Axis,
    value: &dyn Fn(&PolicyResult, &PolicyResult) -> Option<f64>,
) -> Svg {
    let mut chart = BarChart::new(title, axis, study.labels());
    for load in study.measured() {
        let values = load.policies.iter().map(|policy| Bar::new(value(policy, &load.policies[0])));
        chart.add(load.title(), values);
    }
    chart.to_svg()
}

fn relative(study: &Study, title: &str, value: &dyn Fn(&PolicyResult) -> Option<f64>) -> Svg {
    let axis = Axis::new("share of the first policy's");
    bars(study, title, axis, &|policy, first| Some(value(policy)? / value(first)?))
}

/// How much more or less each policy writes than those it is compared with, over all loads.
fn changes(study: &Study) -> Svg {
    let of_writes = || study.paired.iter().filter(|one| one.figure == "write_amplification");
    let others: BTreeSet<&str> = of_writes().map(|one| one.beside.as_str()).collect();
    let mut policies: Vec<&str> = Vec::new();
    for one in of_writes() {
        if !policies.contains(&one.policy.as_str()) {
            policies.push(&one.policy);
        }
    }
    let series = others.iter().map(|other| format!("beside {other}"));
    let title = match others.iter().next() {
        Some(other) if others.len() == 1 => format!("Write amplification beside {other}"),
        _ => "Write amplification beside others".to_owned(),
    };
    let mut chart =
        BarChart::new(title, Axis::new("change, with intervals of 95 %").in_unit("%"), series);
    for policy in policies {
        let bar = |other: &&str| {
            let one = of_writes().find(|one| one.policy == policy && one.beside == **other);
            one.map_or(Bar::new(None), Paired::bar)
        };
        chart.add(policy, others.iter().map(bar));
    }
    chart.to_svg()
}

/// Names of the fifths of [`invalid`].
const FIFTHS: &[&str] = &["0-20 %", "20-40 %", "40-60 %", "60-80 %", "80-100 %"];
/// Names of the spans of [`intervals`].
const SPANS: &[&str] = &["to T/32", "to T/16", "to T/8", "to T/4", "to T/2", "to T"];

/// How many full blocks have a share of invalid pages in each fifth.
fn invalid(policy: &PolicyResult) -> Option<Vec<u64>> {
    Some(policy.measured.as_ref()?.invalid_fifths.to_vec())
}

/// How many slices have an interval in each span. Slices without an update count as the longest.
fn intervals(policy: &PolicyResult) -> Option<Vec<u64>> {
    let bins = &policy.measured.as_ref()?.learned.as_ref()?.interval_32nds;
    let spans = [0..1, 1..2, 2..4, 4..8, 8..16, 16..32];
    Some(spans.map(|span| bins[span].iter().sum()).to_vec())
}

/// A bar for each policy of each load, divided into the shares of its parts.
fn stacks(
    study: &Study,
    title: &str,
    what: &str,
    names: &[&str],
    parts: &dyn Fn(&PolicyResult) -> Option<Vec<u64>>,
) -> Svg {
    let axis = Axis::new(format!("share of the {what}"));
    let mut chart = BarChart::new(title, axis, names.iter().copied()).stacked();
    for load in study.measured() {
        for policy in &load.policies {
            let Some(counts) = parts(policy) else { continue };
            let all = counts.iter().sum::<u64>().max(1) as f64;
            let shares = counts.into_iter().map(|count| count as f64 / all);
            chart.add(format!("{}, {}", load.title(), policy.policy), shares);
        }
    }
    chart.to_svg()
}

/// The slices of a load's last training by updates and interval, in the colours of their clusters.
fn clusters(load: &LoadResult) -> Svg {
    let mut chart = Chart::new(
        format!("{}: update frequency and interval of slices", load.title()),
        Axis::new("updates, share of the most"),
        Axis::new("interval, share of the longest"),
    );
    let Some(training) = load.training() else { return chart.to_svg() };
    let tables = &training.tables;
    let most_updates = f64::from(tables.updates.iter().copied().max().unwrap_or(0).max(1));
    let longest = tables.interval_ns.iter().copied().max().unwrap_or(0).max(1) as f64;
    for cluster in 0..training.centroids.len() {
        let rows = tables.updates.iter().zip(&tables.interval_ns).zip(&training.clusters);
        let slices = rows.filter(|(_, of)| usize::from(**of) == cluster);
        let points = slices.map(|((&updates, &interval), _)| {
            (f64::from(updates) / most_updates, interval as f64 / longest)
        });
        chart.add(Series::dots(points).named(format!("cluster {cluster}")).coloured(cluster));
    }
    chart.to_svg()
}
