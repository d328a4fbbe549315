//! What a search recommends, and why.

use crate::read::{self, NOTHING, cell, each, factor, number, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Chart, Page, Series, Svg, Table};

pub(crate) fn title(document: &Value) -> String {
    let [base, target] =
        ["question.baseline", "question.target"].map(|of| text(document, of).unwrap_or("?"));
    format!("{base} tuned for {target}")
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    page.lead(&headline(document));
    for note in each(document, "notes") {
        page.note(&format!("{}.", cell(note)));
    }
    let is_baseline = changes_nothing(document);
    let judged = match whole(document) {
        true => "On the whole trace",
        false => "On traces that the search did not see",
    };
    for (field, what) in [
        ("held_out", judged),
        ("training", "On the traces of the search"),
        ("ignoring_others", "The best for the target alone"),
    ] {
        let speedups = read::at(document, field);
        if speedups.is_object() {
            page.heading(what);
            if field == "held_out" && !is_baseline {
                page.chart(&bars(speedups));
            }
            page.table(&table(speedups));
        }
    }
    page.heading("What changes");
    match is_baseline {
        true => page.paragraph("Nothing: the baseline is the answer."),
        false => page.table(&parameters(document)),
    };
    bill(page, document);
    if !each(document, "importance").is_empty() {
        page.heading("Why: what the target loses when a change is taken back");
        page.chart(&importance(document));
    }
    front(page, document);
    page.heading("The search").paragraph(&effort(document)).chart(&curve(document));
    page.heading("Performance against power");
    match each(document, "trade").is_empty() {
        true => page.paragraph("The evaluator counts no energy."),
        false => page.chart(&trade(document)),
    };
    page.heading("Limits").list(each(document, "question.limits").iter().map(cell));
    page.heading("The drive").preformatted(text(document, "toml").unwrap_or_default());
}

/// Whether the search found nothing to change: the baseline is its answer.
fn changes_nothing(document: &Value) -> bool {
    read::at(document, "parameters").as_array().is_some_and(Vec::is_empty)
}

/// Why the search ended.
fn ended(document: &Value) -> &str {
    match text(document, "ended") {
        Some("budget") => "the budget is spent",
        Some("converged") => "the best trials did not change any more",
        Some("exhausted") => "nothing was left to propose",
        Some(other) => other,
        None => "the search has ended",
    }
}

/// What there is to say where the baseline is the answer.
fn nothing_better(document: &Value, target: &str, base: &str) -> String {
    let others = each(document, "front.points").len().saturating_sub(1);
    let picked = text(document, "front.picked").unwrap_or("the best");
    match others {
        0 => format!("Nothing better than {base} was found for {target}: {}.", ended(document)),
        _ => format!(
            "For {target}, {base} itself is recommended ({picked}), so nothing changes. The front \
             below has {}, each worse than it in at least one aim.",
            read::things(others as f64, "other drive")
        ),
    }
}

/// Whether the verdict is of whole traces in place of their windows.
fn whole(document: &Value) -> bool {
    number(document, "held_out.target.interval.whole").is_some()
}

/// How much faster, on what, with what confidence, at what price and power.
fn headline(document: &Value) -> String {
    let target = text(document, "question.target").unwrap_or("the target");
    let base = text(document, "question.baseline").unwrap_or("the baseline");
    if changes_nothing(document) {
        return nothing_better(document, target, base);
    }
    let (field, where_) = match read::at(document, "held_out.target").is_object() {
        true if whole(document) => ("held_out.target", "over the whole trace"),
        true => ("held_out.target", "on traces that the search did not see"),
        false => ("training.target", "on the traces that the search saw"),
    };
    let row = read::at(document, field);
    let with = |figure: &str| {
        let value = said(number(row, &format!("speedup.{figure}")), factor);
        match read::interval(row, &format!("interval.{figure}")) {
            Some(ends) => format!("{value} (95 %: {ends})"),
            None => format!("{value} (one measurement, no interval)"),
        }
    };
    let end = |figure: &str, end: &str| number(row, &format!("interval.{figure}.{end}"));
    let is_worse = |figure: &str| end(figure, "high").is_some_and(|high| high < 1.0);
    let verdict = match (is_worse("latency"), is_worse("throughput"), end("latency", "low")) {
        (true, true, _) => "Worse",
        (true, false, _) => "Worse in latency",
        (false, true, _) => "Worse in throughput",
        (.., Some(low)) if low > 1.0 => "Better",
        (.., Some(_)) => "Undecided",
        (.., None) => "Measured",
    };
    let both = |path: [&str; 2], unit: &str| match path.map(|of| number(document, of)) {
        [Some(was), Some(now)] => format!("{now:.2}{unit} instead of {was:.2}{unit}"),
        _ => "not known".to_owned(),
    };
    let watts = ["baseline.average_watts", "own.average_watts"].map(|of| format!("{field}.{of}"));
    let mut missed = match read::at(document, "front.reached").as_bool() {
        Some(false) => {
            format!("Not found is {}. ", text(document, "front.picked").unwrap_or("what was asked"))
        }
        _ => String::new(),
    };
    if let Some(lost) = text(document, "front.unconfirmed") {
        missed += &format!("Not confirmed is {lost}. ");
    }
    format!(
        "{missed}{verdict}: on {target}, {where_}, latency is {} as good as that of {base}, \
         throughput {}. Price {}; power {}.",
        with("latency"),
        with("throughput"),
        both(["price.0", "price.1"], ""),
        both([&watts[0], &watts[1]], " W")
    )
}

/// The rows of speedups: the target, then the others.
fn rows(speedups: &Value) -> impl Iterator<Item = &Value> {
    let target = read::at(speedups, "target");
    std::iter::once(target).chain(each(speedups, "others"))
}

pub(crate) fn bars(speedups: &Value) -> Svg {
    let axis = Axis::new("latency of the baseline over that of the recommended drive");
    let mut chart = BarChart::new("Speedup in latency", axis, ["latency"]);
    for row in rows(speedups) {
        let value = number(row, "speedup.latency");
        let bar = Bar::new(value).labelled(said(value, factor));
        let bar = bar.within(read::ends(row, "interval.latency"));
        chart.add(text(row, "workload").unwrap_or("?"), [bar]);
    }
    chart.from_base(1.0).to_svg()
}

pub(crate) fn table(speedups: &Value) -> Table {
    let ends = |row: &Value, figure: &str| read::interval(row, &format!("interval.{figure}"));
    // One measurement has no intervals: their columns would be empty.
    let is_known = |row: &Value| ["latency", "throughput"].iter().any(|of| ends(row, of).is_some());
    let has_intervals = rows(speedups).any(is_known);
    let with_interval =
        |name: &'static str| std::iter::once(name).chain(has_intervals.then_some("95 %"));
    let heads = std::iter::once("workload")
        .chain(with_interval("latency"))
        .chain(with_interval("throughput"))
        .chain(["latency now", "was", "throughput now", "was", "W now", "was"]);
    let mut table = Table::new(heads);
    for (place, row) in rows(speedups).enumerate() {
        let of = |path: &str, words: fn(f64) -> String| said(number(row, path), words);
        let speedup = |figure: &str| {
            let told = of(&format!("speedup.{figure}"), factor);
            let interval =
                has_intervals.then(|| ends(row, figure).unwrap_or_else(|| NOTHING.to_owned()));
            std::iter::once(told).chain(interval)
        };
        let name = text(row, "workload").unwrap_or("?");
        let cells = std::iter::once(format!("{name}{}", if place == 0 { " (target)" } else { "" }))
            .chain(speedup("latency"))
            .chain(speedup("throughput"))
            .chain([
                of("own.figures.latency_ns", time),
                of("baseline.figures.latency_ns", time),
                of("own.figures.throughput_bps", read::bandwidth),
                of("baseline.figures.throughput_bps", read::bandwidth),
                of("own.average_watts", |watts| format!("{watts:.2}")),
                of("baseline.average_watts", |watts| format!("{watts:.2}")),
            ]);
        table.add_row(cells);
    }
    table.align_right(1..);
    table
}

pub(crate) fn parameters(document: &Value) -> Table {
    let mut table = Table::new(["parameter", "baseline", "recommended"]);
    for one in each(document, "parameters") {
        let value = |field: &str| {
            let unit = text(one, "unit").unwrap_or_default();
            format!("{} {unit}", cell(read::at(one, field))).trim_end().to_owned()
        };
        let key = text(one, "key").unwrap_or("?").to_owned();
        table.add_row([key, value("baseline"), value("recommended")]);
        for setting in each(one, "settings") {
            let key = format!("- {}", text(setting, "key").unwrap_or("?"));
            let of = |field: &str| cell(read::at(setting, field));
            table.add_row([key, of("baseline"), of("recommended")]);
        }
    }
    table.align_right(1..);
    table
}

/// What the parts cost: of the baseline, then of the recommended drive.
fn bill(page: &mut Page, document: &Value) {
    let [was, now] = ["bill.0", "bill.1"].map(|of| each(document, of));
    if now.is_empty() {
        return;
    }
    let mut table = Table::new(["part", "baseline", "price", "recommended", "price"]);
    for (place, line) in now.iter().enumerate() {
        let before = was.get(place).unwrap_or(&Value::Null);
        let of = |line: &Value, field: &str| cell(read::at(line, field));
        table.add_row([
            of(line, "part"),
            of(before, "amount"),
            of(before, "price"),
            of(line, "amount"),
            of(line, "price"),
        ]);
    }
    table.align_right(2..3).align_right(4..);
    page.heading("What the parts cost, in relative units").table(&table);
}

fn importance(document: &Value) -> Svg {
    let axis = Axis::new("loss of performance").in_unit("%");
    let mut chart = BarChart::new("Loss when a change is taken back", axis, ["loss"]);
    for one in each(document, "importance") {
        let loss = number(one, "loss").map(|loss| loss.exp_m1() * 100.0);
        let says = said(loss, |percent| format!("{percent:.1} %"));
        let says = if loss.is_some() { says } else { "cannot be taken back".to_owned() };
        chart.add(cell(read::at(one, "keys")), [Bar::new(loss).labelled(says)]);
    }
    chart.to_svg()
}

/// Drives of which none is better in everything, where the search had several aims.
fn front(page: &mut Page, document: &Value) {
    let front = read::at(document, "front");
    if !front.is_object() {
        return;
    }
    page.heading("Drives of which none is better in everything");
    let aims = each(front, "aims");
    let name = |aim: &Value| text(aim, "aim").unwrap_or("?").to_owned();
    let axis = |aim: &Value| match text(aim, "unit") {
        None | Some("") => Axis::new(name(aim)),
        Some(unit) => Axis::new(name(aim)).in_unit(unit),
    };
    let points = each(front, "points");
    if let [first, second, ..] = aims {
        let title = format!("Drives by {} and {}", name(first), name(second));
        let mut chart = Chart::new(title, axis(first), axis(second));
        let base = number(first, "baseline").zip(number(second, "baseline"));
        chart.add(Series::crosses(base).named("baseline"));
        let places = points.iter();
        let places = places
            .filter_map(|point| Some((number(point, "values.0")?, number(point, "values.1")?)));
        chart.add(Series::dots(places).coloured(1).named("drives of the front"));
        page.chart(&chart.to_svg());
    }
    let headings = aims.iter().map(|aim| axis_words(&name(aim), text(aim, "unit")));
    let mut table = Table::new(["drive".to_owned()].into_iter().chain(headings));
    let mut add = |drive: String, values: Vec<String>| {
        table.add_row([drive].into_iter().chain(values));
    };
    let baseline = aims.iter().map(|aim| cell(read::at(aim, "baseline")));
    add("baseline".to_owned(), baseline.collect());
    for point in points {
        let values = each(point, "values").iter().map(cell).collect();
        add(format!("trial {}", cell(read::at(point, "number"))), values);
    }
    table.align_right(1..);
    page.table(&table);
    if let Some(picked) = text(front, "picked") {
        page.paragraph(&format!("Recommended: {picked}."));
    }
    let (x, y) = (Axis::new("trials"), Axis::new("hypervolume"));
    let mut chart = Chart::new("How good the front was after each trial", x, y);
    let progress = each(front, "progress").iter().filter_map(Value::as_f64).enumerate();
    chart.add(Series::steps(progress.map(|(trial, volume)| (trial as f64, volume))));
    page.chart(&chart.to_svg());
}

fn axis_words(name: &str, unit: Option<&str>) -> String {
    match unit {
        None | Some("") => name.to_owned(),
        Some(unit) => format!("{name}, {unit}"),
    }
}

fn effort(document: &Value) -> String {
    let of = |path: &str| said(number(document, path), read::count);
    format!(
        "{} made {} proposals, which cost {} evaluations of the target; {}. {} requests a trace, \
         drives {}. Seed {}.",
        text(document, "question.settings.algorithm").unwrap_or("?"),
        of("effort.proposals"),
        said(number(document, "effort.spent"), |spent| format!("{spent:.1}")),
        ended(document),
        of("question.requests"),
        text(document, "question.initial_state").unwrap_or("?"),
        cell(read::at(document, "question.settings.seed"))
    )
}

fn curve(document: &Value) -> Svg {
    let axes = (Axis::new("evaluations of the target"), Axis::new("best grade"));
    let mut chart = Chart::new("Best grade so far", axes.0, axes.1);
    let points = each(document, "curve").iter();
    chart.add(Series::steps(
        points.filter_map(|point| Some((number(point, "spent")?, number(point, "best_grade")?))),
    ));
    chart.to_svg()
}

fn trade(document: &Value) -> Svg {
    let places = |pareto: bool| -> Vec<(f64, f64)> {
        let trials = each(document, "trade").iter();
        let trials = trials.filter(|trial| read::at(trial, "pareto") == pareto);
        trials
            .filter_map(|one| Some((number(one, "average_watts")?, number(one, "performance")?)))
            .collect()
    };
    let mut front = places(true);
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut chart = Chart::new(
        "Trials by power and performance",
        Axis::new("average power").in_unit("W"),
        Axis::new("performance on the target, 0 is the baseline"),
    );
    chart.add(Series::rings(places(false)).named("trials"));
    chart.add(Series::line(front.iter().copied()).coloured(1));
    chart.add(Series::dots(front).coloured(1).named("no trial is better in both"));
    chart.to_svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn search(low: f64, high: f64) -> Value {
        json!({
            "question": {"baseline": "b", "target": "t"},
            "held_out": {"target": {
                "speedup": {"latency": 1.5, "throughput": 1.1},
                "interval": {"latency": {"low": low, "high": high}},
                "baseline": {"average_watts": 2.0}, "own": {"average_watts": 1.0},
            }},
            "price": [100.0, 90.0],
        })
    }

    #[test]
    fn the_headline_says_whether_it_is_known() {
        let cases = [(1.2, 1.8, "Better"), (0.9, 1.8, "Undecided"), (0.5, 0.9, "Worse")];
        for (low, high, verdict) in cases {
            let told = headline(&search(low, high));
            assert!(told.starts_with(verdict), "{told}");
            assert!(told.contains("1.50x (95 %:") && told.contains("no interval"), "{told}");
            assert!(told.contains("90.00 instead of 100.00"), "{told}");
            assert!(told.contains("1.00 W instead of 2.00 W"), "{told}");
        }
        let mut slower = search(1.2, 1.8);
        slower["held_out"]["target"]["interval"]["throughput"] = json!({"low": 0.1, "high": 0.5});
        assert!(headline(&slower).starts_with("Worse in throughput: "));
        assert!(headline(&slower).contains("on traces that the search did not see"));
        slower["held_out"]["target"]["interval"]["whole"] = json!(20_000);
        assert!(headline(&slower).contains("over the whole trace"));
        assert!(headline(&json!({})).starts_with("Measured"), "nothing is known");
    }

    #[test]
    fn columns_of_intervals_are_there_where_one_is_known() {
        let html = |speedups: &Value| {
            let mut page = Page::new("a");
            page.table(&table(speedups));
            page.to_html()
        };
        let mut speedups = json!({"target": {"speedup": {"latency": 1.5, "throughput": 1.1}}});
        assert!(!html(&speedups).contains("95 %"));
        speedups["target"]["interval"] = json!({"throughput": {"low": 1.0, "high": 1.2}});
        let both = html(&speedups);
        assert!(both.contains("1.00 to 1.20"), "{both}");
        assert_eq!(both.matches("95 %").count(), 2, "{both}");
    }

    #[test]
    fn a_baseline_that_stays_is_no_result_to_be_undecided() {
        let mut document = search(1.0, 1.0);
        document["parameters"] = json!([]);
        document["ended"] = json!("budget");
        let told = headline(&document);
        assert_eq!(told, "Nothing better than b was found for t: the budget is spent.");
        document["front"] = json!({"points": [{}, {}, {}], "picked": "the knee of the front"});
        let told = headline(&document);
        let whose = "For t, b itself is recommended (the knee of the front)";
        assert!(told.starts_with(whose) && told.contains("2 other drives"), "{told}");
        document["front"]["points"] = json!([{}, {}]);
        assert!(headline(&document).contains("has 1 other drive, each"));
        document["parameters"] = json!([{}]);
        document["front"]["reached"] = json!(true);
        assert!(!headline(&document).contains("Not found"));
        document["front"]["reached"] = json!(false);
        assert!(headline(&document).starts_with("Not found is the knee of the front. "));
        document["front"] = json!({"reached": true, "unconfirmed": "latency, 1.7x and 0.1x"});
        let told = headline(&document);
        assert!(told.starts_with("Not confirmed is latency, 1.7x and 0.1x. "), "{told}");
        document["parameters"] = json!([]);
        let mut page = Page::new("a");
        body(&mut page, &document);
        assert!(page.to_html().contains("Nothing: the baseline is the answer"));
    }
}
