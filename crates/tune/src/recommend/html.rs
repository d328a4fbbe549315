//! A recommendation as one HTML file with its charts, without references to other files.

use super::sentence::{first_sentence, grade_told};
use super::terminal::costs;
use super::text::judgement;
use super::{Recommendation, SpeedupTable, parameter_lines};
use ssdtune_report::{self as report, Axis, Bar, BarChart, Chart, Page, Series, Svg};

/// A recommendation as an HTML page: speedups, changed parameters and their importance, the course
/// of the search, power, limits, and the drive itself.
pub fn html_page(result: &Recommendation) -> String {
    let question = &result.question;
    let mut page = Page::new(format!("{} tuned for {}", question.baseline, question.target));
    page.paragraph(&first_sentence(result));
    page.paragraph(&format!(
        "{}. Found by {} over {} proposals ({:.1} evaluations of the target); {}. {} requests a \
         trace, drives {}.",
        grade_told(result),
        question.settings.algorithm,
        result.effort.proposals,
        result.effort.spent,
        result.ended,
        question.requests,
        question.initial_state
    ));
    judgement(result).iter().for_each(|line| _ = page.note(line));
    for note in &result.notes {
        page.note(&format!("{note}."));
    }
    if let Some(table) = &result.held_out {
        page.heading("Speedups on held-out traces");
        page.chart(&speedup_bars(table)).table(&speedups(table));
    }
    page.heading("Speedups on the traces of the search").table(&speedups(&result.training));
    page.heading("The best for the target alone").table(&speedups(&result.ignoring_others));
    if let Some(bill) = &result.bill {
        page.heading("What the parts cost").table(&costs(bill));
    }
    if let Some(front) = &result.front {
        page.heading("Drives of which none is better in everything");
        page.paragraph(&format!("{}.", front.sentence()));
        if let Some(chart) = front.chart() {
            page.chart(&chart);
        }
        page.chart(&front.progress_chart()).table(&front.table());
    }
    page.heading("What changes").table(&parameters(result));
    page.heading("Why: what the target loses when a change is taken back");
    match result.importance.is_empty() {
        true => page.paragraph("Nothing changed."),
        false => page.chart(&importance(result)),
    };
    page.heading("The search").chart(&curve(result));
    page.heading("Performance against power");
    match result.trade.is_empty() {
        true => page.paragraph("The evaluator counts no energy."),
        false => page.chart(&trade(result)),
    };
    page.heading("Limits").list(&question.limits);
    page.heading("The drive").preformatted(&result.toml);
    page.to_html()
}

fn speedups(table: &SpeedupTable) -> report::Table {
    let mut rows = report::Table::new([
        "workload",
        "latency",
        "throughput",
        "us",
        "was us",
        "MB/s",
        "was MB/s",
        "baseline busy",
        "J",
        "was J",
        "W",
        "was W",
    ]);
    rows.align_right(1..);
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for (index, row) in std::iter::once(&table.target).chain(&table.others).enumerate() {
        let (tuned, was) = (&row.own, &row.baseline);
        rows.add_row([
            format!("{}{}", row.workload, if index == 0 { " (target)" } else { "" }),
            row.speedup.latency_shown(row.interval.as_ref()),
            row.speedup.throughput_shown(row.interval.as_ref()),
            tuned.latency_us(),
            was.latency_us(),
            tuned.throughput_mbps(),
            was.throughput_mbps(),
            was.utilisation.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            number(tuned.energy_j),
            number(was.energy_j),
            number(tuned.average_watts),
            number(was.average_watts),
        ]);
    }
    for (name, mean) in [("geometric mean", table.others_mean), ("worst", table.others_worst)] {
        if let Some(speedup) = mean {
            rows.add_row([
                format!("others, {name}"),
                format!("{:.2}x", speedup.latency),
                format!("{:.2}x", speedup.throughput),
            ]);
        }
    }
    rows
}

fn parameters(result: &Recommendation) -> report::Table {
    let mut rows = report::Table::new(["parameter", "baseline", "recommended"]);
    rows.align_right(1..);
    parameter_lines(result).into_iter().for_each(|line| {
        rows.add_row(line);
    });
    rows
}

/// A chart of the best grade over the evaluations spent.
fn curve(result: &Recommendation) -> Svg {
    let axes = (Axis::new("evaluations of the target"), Axis::new("best grade"));
    let mut chart = Chart::new("Best grade so far", axes.0, axes.1);
    chart.add(Series::steps(
        result.curve.iter().filter_map(|point| Some((point.spent, point.best_grade?))),
    ));
    chart.to_svg()
}

/// A chart of every trial by power and performance, with a line through those that no other trial
/// beats in both.
fn trade(result: &Recommendation) -> Svg {
    let places = |pareto: bool| {
        let trials = result.trade.iter().filter(|trial| trial.pareto == pareto);
        trials.map(|trial| (trial.average_watts, trial.performance)).collect::<Vec<_>>()
    };
    let mut front = places(true);
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut chart = Chart::new(
        "Trials by power and performance",
        Axis::new("average power").in_unit("W"),
        Axis::new("performance of the target (formula 1)"),
    );
    chart.add(Series::rings(places(false)).named("trials"));
    chart.add(Series::line(front.iter().copied()).coloured(1));
    chart.add(Series::dots(front).coloured(1).named("no trial is better in both"));
    chart.to_svg()
}

/// A bar chart of what the target loses when a change is taken back.
fn importance(result: &Recommendation) -> Svg {
    let axis = Axis::new("loss of performance").in_unit("%");
    let mut chart = BarChart::new("Loss when a change is taken back", axis, ["loss"]);
    for one in &result.importance {
        let percent = one.loss.map(|loss| loss.exp_m1() * 100.0);
        let says =
            percent.map_or("cannot be taken back".to_owned(), |percent| format!("{percent:.1} %"));
        chart.add(one.keys.join(", "), [Bar::new(percent).labelled(says)]);
    }
    chart.to_svg()
}

fn speedup_bars(table: &SpeedupTable) -> Svg {
    let axis = Axis::new("latency speedup");
    let mut chart = BarChart::new("Latency, baseline over recommended", axis, ["latency"]);
    for row in std::iter::once(&table.target).chain(&table.others) {
        let latency = row.speedup.latency;
        chart.add(&row.workload, [Bar::from(latency).labelled(format!("{latency:.2}x"))]);
    }
    chart.from_base(1.0).to_svg()
}
