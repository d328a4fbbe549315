//! The cheapest drive that meets a goal, and a weight of the grade tried with several values.

use crate::read::{self, cell, each, factor, number, plain, said, text};
use crate::search;
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn title(document: &Value) -> String {
    let goal = read::fields(document, "goal");
    let goal = goal.first().map(|(of, wanted)| format!("{} times in {of}", cell(wanted)));
    format!("The cheapest drive for {}", goal.unwrap_or_else(|| "a goal".to_owned()))
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let verdict = match read::at(document, "met").as_bool() {
        Some(true) => "The goal is met",
        _ => "The goal is not met; this is the nearest drive that was found",
    };
    let measure = match read::at(document, "priced").as_bool() {
        Some(true) => "Its price is",
        _ => "Its distance from the baseline is",
    };
    let of = |path: &str| said(number(document, path), plain);
    page.lead(&format!(
        "{verdict}: latency is {} as good as the baseline's{}, throughput {}{}. {measure} {} \
         (baseline {}).",
        said(number(document, "speedup.latency"), factor),
        interval(document, "latency"),
        said(number(document, "speedup.throughput"), factor),
        interval(document, "throughput"),
        of("cost"),
        of("baseline_cost"),
    ));
    let evaluations = |path: &str| said(number(document, path), |spent| format!("{spent:.1}"));
    let unseen = read::at(document, "held_out.target.speedup");
    if unseen.is_object() {
        page.paragraph(&format!(
            "That is on the traces that the search saw. On those that it did not see, latency is \
             {} as good and throughput {}.",
            said(number(unseen, "latency"), factor),
            said(number(unseen, "throughput"), factor)
        ));
    }
    page.paragraph(&format!(
        "{} proposals cost {} evaluations of the target; {} changes were taken back without \
         missing the goal, which took {} more.",
        said(number(document, "proposals"), read::count),
        evaluations("spent"),
        said(number(document, "taken_back"), read::count),
        evaluations("spent_after"),
    ));
    let held_out = read::at(document, "held_out");
    if held_out.is_object() {
        page.heading("On traces that the search did not see");
        page.chart(&search::bars(held_out)).table(&search::table(held_out));
    }
    page.heading("What changes").table(&search::parameters(document));
    page.heading("The drive").preformatted(text(document, "toml").unwrap_or_default());
}

/// Where a speedup lies, or that nobody knows.
fn interval(document: &Value, figure: &str) -> String {
    match read::interval(document, &format!("interval.{figure}")) {
        Some(ends) => format!(" (95 %: {ends})"),
        None => " (one measurement, no interval)".to_owned(),
    }
}

/// Drives that searches with different values of one weight recommend.
pub(crate) fn ablation(page: &mut Page, document: &Value) {
    let rows = each(document, "");
    page.lead(&format!(
        "One search for each of {} values of a weight of the grade, with one seed, so the \
         differences have no interval.",
        rows.len()
    ));
    let axis = Axis::new("latency of the baseline over that of the drive");
    let mut chart = BarChart::new("Speedup in latency", axis, ["target", "mean of the others"]);
    let columns = [
        "grade",
        "target.latency",
        "target.throughput",
        "others_mean.latency",
        "others_mean.throughput",
        "others_worst_latency",
    ];
    let headings = ["weight"].into_iter().map(str::to_owned);
    let told = columns.map(|column| column.replace(['.', '_'], " "));
    let mut table = Table::new(headings.chain(told));
    for row in rows {
        let weight = said(number(row, "value"), |value| value.to_string());
        let bars = ["target.latency", "others_mean.latency"].map(|of| number(row, of));
        chart.add(format!("weight {weight}"), bars.map(Bar::new));
        let cells = columns.map(|column| said(number(row, column), plain));
        table.add_row([weight].into_iter().chain(cells));
    }
    table.align_right(0..);
    page.chart(&chart.from_base(1.0).to_svg()).table(&table);
    let breaches = |row: &Value| each(row, "held_out_breaches").len();
    let broken: usize = rows.iter().map(breaches).sum();
    page.paragraph(&match broken {
        0 => "On traces that no search saw, no limit is broken.".to_owned(),
        count => format!("On traces that no search saw, {count} limits are broken."),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_goal_is_met_or_it_is_not() {
        let told = |met: bool| {
            let document = json!({
                "goal": {"latency": 3.0}, "met": met, "priced": true, "cost": 2.0,
                "speedup": {"latency": 3.1, "throughput": 1.0},
                "interval": {"latency": {"low": 2.9, "high": 3.3}},
            });
            let mut page = Page::new(title(&document));
            body(&mut page, &document);
            page.to_html()
        };
        let html = told(true);
        for part in ["3.000 times in latency", "The goal is met:", "95 %: 2.90 to 3.30"] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(html.contains("1.00x (one measurement"), "{html}");
        assert!(told(false).contains("The goal is not met"));
    }

    #[test]
    fn every_weight_has_a_row() {
        let row = |value: f64| {
            json!({"value": value, "grade": 0.5, "target": {"latency": 2.0},
                "others_mean": {"latency": 1.0}, "others_worst_latency": null})
        };
        let mut page = Page::new("weights");
        ablation(&mut page, &json!([row(0.1), row(0.9)]));
        let html = page.to_html();
        assert!(html.contains(">0.1</td>") && html.contains(">0.9</td>"), "{html}");
        assert!(html.contains("no limit is broken"), "{html}");
    }
}
