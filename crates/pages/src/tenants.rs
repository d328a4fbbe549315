//! Divisions of channels among the tenants of a drive.

use crate::other::{ROWS_MAX, count_the_rest};
use crate::read::{self, each, factor, number, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn title(document: &Value) -> String {
    format!("Channels for {}", read::cell(read::at(document, "tenants")))
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let lines = each(document, "lines");
    let total = |line: &&Value| number(line, "total_ns");
    let best = lines.iter().filter(|line| total(line).is_some());
    let best = best.min_by(|a, b| total(a).unwrap_or(0.0).total_cmp(&total(b).unwrap_or(0.0)));
    let keeper = lines.iter().find(|line| text(line, "plan") == Some("SSDKeeper"));
    let decisions = each(document, "decisions");
    let has_decisions = read::at(document, "decisions").is_array();
    if has_decisions && decisions.is_empty() {
        page.note(
            "SSDKeeper decided nothing: the requests end before its first period is over. Its rows \
             are with shared channels.",
        );
    }
    if let (Some(best), Some(keeper)) = (best, keeper) {
        let over = |line: &Value| said(number(line, "over_shared"), factor);
        page.lead(&format!(
            "The least time has {} ({} of what sharing all channels takes); the network's choices \
             take {}. One run each, so the differences have no interval.",
            text(best, "plan").unwrap_or("?"),
            over(best),
            over(keeper)
        ));
    }
    let mut chart = BarChart::new(
        "Mean latency of reads plus that of writes",
        Axis::new("time").in_unit("us"),
        ["reads", "writes"],
    )
    .stacked();
    let mut table = Table::new([
        "plan",
        "strategy",
        "reads",
        "writes",
        "over shared",
        "fairness (1: all are slowed alike)",
    ]);
    for line in lines {
        let name = text(line, "plan").unwrap_or("?");
        let micros = ["read_ns", "write_ns"].map(|of| number(line, of).map(|ns| ns / 1e3));
        chart.add(name, micros.map(Bar::new));
        table.add_row([
            name.to_owned(),
            text(line, "strategy").unwrap_or(read::NOTHING).to_owned(),
            said(number(line, "read_ns"), time),
            said(number(line, "write_ns"), time),
            said(number(line, "over_shared"), factor),
            said(number(line, "slowdown.min_over_max"), |of| format!("{of:.3}")),
        ]);
    }
    table.align_right(2..);
    page.chart(&chart.to_svg()).table(&table);
    if !decisions.is_empty() {
        page.heading("What the network decided, and when");
        page.table(&decided(decisions));
        count_the_rest(page, decisions);
    }
}

/// What was forecast at each look at the tenants, and which strategy was in place from then on.
fn decided(decisions: &[Value]) -> Table {
    let learned = decisions.iter().any(|one| read::at(one, "division").is_object());
    let mut heads = vec!["at", "level", "shares of the pages"];
    heads.extend(match learned {
        true => [
            "division that was looked at",
            "change of latencies by forecast",
            "risk to end more than 2 % above shared",
        ],
        // The network has not learned what dividing a running drive does.
        false => {
            ["best from the beginning", "change of latencies by forecast", "left after doubts"]
        }
    });
    heads.push("in place from then on");
    let mut table = Table::new(heads);
    let change = |gain: f64| format!("{:+.1} %", 100.0 * (-gain).exp_m1());
    for one in decisions.iter().take(ROWS_MAX) {
        let division = read::at(one, "division");
        let place = text(one, "strategy").unwrap_or(read::NOTHING);
        let back = number(one, "over_shared").map(|over| {
            format!("{place} again: latencies were {} those of shared channels", factor(over))
        });
        let share = |share: &Value| said(share.as_f64(), read::percent);
        let shares: Vec<String> = each(one, "shares").iter().map(share).collect();
        // A sum of trees may be a little below 0 or above 1.
        let risk = number(division, "risk").map(|risk| risk.clamp(0.0, 1.0));
        let forecast = match learned {
            true => [
                text(division, "strategy").unwrap_or(read::NOTHING).to_owned(),
                said(number(division, "gain"), change),
                said(risk, read::percent),
            ],
            false => [
                text(one, "favourite").unwrap_or(read::NOTHING).to_owned(),
                said(number(one, "gain"), change),
                said(number(one, "doubtful_gain"), change),
            ],
        };
        let seen = [
            said(number(one, "at_ns"), time),
            said(number(one, "level"), read::count),
            shares.join(", "),
        ];
        let place = back.unwrap_or_else(|| place.to_owned());
        table.add_row(seen.into_iter().chain(forecast).chain([place]));
    }
    table
}

/// What a network chooses, by the writers' share of the requests and by how many there are.
pub(crate) fn map(page: &mut Page, cells: &[Value]) {
    let place = |cell: &Value| Some((number(cell, "write_share")?, number(cell, "level")?));
    let known: Vec<((f64, f64), &str)> =
        cells.iter().filter_map(|cell| Some((place(cell)?, text(cell, "strategy")?))).collect();
    let distinct = |values: &mut dyn Iterator<Item = f64>| {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    };
    let levels = distinct(&mut known.iter().map(|((_, level), _)| *level));
    let shares = distinct(&mut known.iter().map(|((share, _), _)| *share));
    let shared = known.iter().filter(|(_, strategy)| *strategy == "Shared").count();
    page.lead(&format!(
        "All channels are shared in {shared} of {} cells. A row is the writers' share of the \
         requests, a column a level of intensity from 1 to 20, the most that the drive can serve; \
         5:3 gives five channels to the writers and three to the readers.",
        known.len()
    ));
    let heads = levels.iter().map(|level| format!("{level:.0}"));
    let mut table = Table::new(["writers' share".to_owned()].into_iter().chain(heads));
    for share in shares.iter().rev() {
        let strategy = |level: &f64| {
            let own = known.iter().find(|(place, _)| *place == (*share, *level));
            own.map_or(read::NOTHING, |(_, strategy)| strategy).to_owned()
        };
        let head = read::percent(*share);
        table.add_row([head].into_iter().chain(levels.iter().map(strategy)));
    }
    page.table(&table);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_decision_tells_its_forecast_and_what_came_of_it() {
        let decision = |at: u64, strategy: &str, division: Value, over_shared: Value| {
            json!({
                "at_ns": at, "level": 17, "shares": [0.25, 0.75], "strategy": strategy,
                "division": division, "over_shared": over_shared,
            })
        };
        let division = json!({"strategy": "2:6", "gain": 0.11, "risk": -0.01});
        let table = decided(&[
            decision(100_000_000, "2:6", division, Value::Null),
            decision(400_000_000, "Shared", Value::Null, json!(2.75)),
        ]);
        let mut page = Page::new("a");
        let html = page.table(&table).to_html();
        for cell in ["100.00 ms", "25.0 %, 75.0 %", "-10.4 %", ">0.0 %<", "Shared again: latencies"]
        {
            assert!(html.contains(cell), "{cell:?} is not in {html}");
        }
        assert_eq!(html.matches("2:6").count(), 2, "looked at, and in place: {html}");
        let mut promised = decision(1_000_000, "Shared", Value::Null, Value::Null);
        promised["favourite"] = json!("1:7");
        promised["gain"] = json!(0.11);
        let html = Page::new("b").table(&decided(&[promised])).to_html();
        assert!(html.contains("1:7") && html.contains("left after doubts"), "{html}");
    }

    #[test]
    fn a_map_has_a_row_for_each_share_and_a_column_for_each_level() {
        let cell = |level: u32, share: f64, strategy: &str| {
            json!({
                "level": level,
                "write_share": share,
                "strategy": strategy,
            })
        };
        let cells = [
            cell(2, 0.1, "2:6"),
            cell(1, 0.9, "Shared"),
            cell(1, 0.1, "Shared"),
            json!({"level": 7, "strategy": "7:1"}),
        ];
        let mut page = Page::new("a");
        map(&mut page, &cells);
        let html = page.to_html();
        assert!(html.contains("shared in 2 of 3 cells"), "{html}");
        assert_eq!(html.matches("<tr").count(), 3, "a head and two rows: {html}");
        assert!(html.find("90.0 %") < html.find("10.0 %") && !html.contains("7:1"), "{html}");
    }
}
