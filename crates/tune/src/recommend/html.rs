//! A recommendation as one HTML file with drawings in it, without references to anything outside.

use super::{Recommendation, Table, parameter_lines};
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .7rem;\
text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
svg{background:#fafafa;border:1px solid #eee}svg text{font:11px system-ui,sans-serif;fill:#444}\
code,pre{background:#f6f6f6;padding:.1rem .3rem}pre{padding:.7rem;overflow:auto;max-height:24rem}\
.note{color:#7a4b00}";

/// The page.
pub fn page(own: &Recommendation) -> String {
    let question = &own.question;
    let title = format!("{} tuned for {}", question.baseline, question.target);
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style>\
         <h1>{0}</h1>",
        escape(&title)
    );
    // Writing to a String cannot fail.
    let _ = write!(
        html,
        "<p>Grade <b>{:.4}</b> by {} over {} proposals ({:.1} evaluations of the target); {}. {} requests a \
         trace, drives {}; α {}, β {}.</p>",
        own.grade,
        question.settings.algorithm,
        own.effort.proposals,
        own.effort.spent,
        own.ended,
        question.requests,
        escape(&question.initial_state),
        question.alpha,
        question.beta
    );
    for note in &own.notes {
        let _ = write!(html, "<p class=\"note\">{}.</p>", escape(note));
    }
    if let Some(table) = &own.held_out {
        html += "<h2>Speedups on held-out traces</h2>";
        html += &bars(table);
        html += &speedups(table);
    }
    html += "<h2>Speedups on the traces of the search</h2>";
    html += &speedups(&own.training);
    html += "<h2>The best for the target alone</h2>";
    html += &speedups(&own.ignoring_others);
    html += "<h2>What changes</h2>";
    html += &parameters(own);
    html += "<h2>Why: what the target loses when a change is taken back</h2>";
    html += &importance(own);
    html += "<h2>The search</h2>";
    html += &curve(own);
    html += "<h2>Performance against power</h2>";
    html += &trade(own);
    html += "<h2>Limits</h2><ul>";
    for limit in &question.limits {
        let _ = write!(html, "<li>{}</li>", escape(limit));
    }
    let _ = writeln!(html, "</ul><h2>The drive</h2><pre>{}</pre></html>", escape(&own.toml));
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn speedups(table: &Table) -> String {
    let mut html = String::from(
        "<table><tr><th>workload</th><th>latency</th><th>throughput</th><th>us</th><th>was us</th><th>MB/s</th>\
         <th>was MB/s</th><th>baseline busy</th><th>J</th><th>was J</th><th>W</th><th>was W</th></tr>",
    );
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for (index, row) in std::iter::once(&table.target).chain(&table.others).enumerate() {
        let (own, was) = (&row.own, &row.baseline);
        let busy =
            was.utilisation.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let _ = write!(
            html,
            "<tr><td>{}{}</td><td>{:.2}x</td><td>{:.2}x</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td>\
             <td>{:.1}</td><td>{busy}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.workload),
            if index == 0 { " (target)" } else { "" },
            row.speedup.latency,
            row.speedup.throughput,
            own.figures.latency_ns / 1e3,
            was.figures.latency_ns / 1e3,
            own.figures.throughput_bps / 1e6,
            was.figures.throughput_bps / 1e6,
            number(own.energy_j),
            number(was.energy_j),
            number(own.average_watts),
            number(was.average_watts)
        );
    }
    for (name, mean) in [("geometric mean", table.others_mean), ("worst", table.others_worst)] {
        if let Some(own) = mean {
            let _ = write!(
                html,
                "<tr><td>others, {name}</td><td>{:.2}x</td><td>{:.2}x</td></tr>",
                own.latency, own.throughput
            );
        }
    }
    html + "</table>"
}

fn parameters(own: &Recommendation) -> String {
    let mut html =
        String::from("<table><tr><th>parameter</th><th>baseline</th><th>recommended</th></tr>");
    for [key, base, new] in parameter_lines(own) {
        let _ = write!(html, "<tr><td>{key}</td><td>{base}</td><td>{new}</td></tr>");
    }
    html + "</table>"
}

/// The size of the drawings that have axes, and the room for what is written beside them.
const WIDE: f64 = 640.0;
const HIGH: f64 = 260.0;
const LEFT: f64 = 60.0;
const BELOW: f64 = 34.0;

/// A drawing with two axes.
struct Plot {
    svg: String,
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    fn new(points: &[(f64, f64)], x_name: &str, y_name: &str) -> Self {
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| {
                    (low.min(own), high.max(own))
                });
            // A single value still needs a width.
            if high > low { (low, high) } else { (low - 0.5, low + 0.5) }
        };
        let x = range(&mut points.iter().map(|point| point.0));
        let y = range(&mut points.iter().map(|point| point.1));
        let mut plot = Self {
            svg: format!(
                "<svg viewBox=\"0 0 {WIDE} {HIGH}\" width=\"{WIDE}\" height=\"{HIGH}\" role=\"img\">"
            ),
            x,
            y,
        };
        for step in 0..=4 {
            let part = f64::from(step) / 4.0;
            let (x_at, y_at) = (x.0 + part * (x.1 - x.0), y.0 + part * (y.1 - y.0));
            let (px, py) = plot.place((x_at, y_at));
            let _ = write!(
                plot.svg,
                "<line x1=\"{LEFT}\" x2=\"{WIDE}\" y1=\"{py:.1}\" y2=\"{py:.1}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{y_at:.3}</text>\
                 <text x=\"{px:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x_at:.1}</text>",
                LEFT - 6.0,
                py + 4.0,
                HIGH - BELOW + 15.0
            );
        }
        let _ = write!(
            plot.svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{x_name}</text>\
             <text x=\"{LEFT}\" y=\"12\">{y_name}</text>",
            WIDE / 2.0,
            HIGH - 4.0
        );
        plot
    }

    fn place(&self, point: (f64, f64)) -> (f64, f64) {
        let part = |value: f64, range: (f64, f64)| (value - range.0) / (range.1 - range.0);
        let x = LEFT + part(point.0, self.x) * (WIDE - LEFT - 16.0);
        let y = HIGH - BELOW - part(point.1, self.y) * (HIGH - BELOW - 22.0);
        (x, y)
    }

    fn line(&mut self, points: &[(f64, f64)], colour: &str) {
        let places: Vec<String> = (points.iter())
            .map(|point| self.place(*point))
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = write!(
            self.svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            places.join(" ")
        );
    }

    fn dot(&mut self, point: (f64, f64), colour: &str, says: &str) {
        let (x, y) = self.place(point);
        let _ = write!(
            self.svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{}</title></circle>",
            escape(says)
        );
    }

    fn finish(self) -> String {
        self.svg + "</svg>"
    }
}

/// The best grade over evaluations, as steps.
fn curve(own: &Recommendation) -> String {
    let points: Vec<(f64, f64)> =
        own.curve.iter().map(|point| (point.spent, point.best_grade)).collect();
    let mut plot = Plot::new(&points, "evaluations of the target", "best grade");
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for point in &points {
        if let Some(last) = steps.last().copied() {
            steps.push((point.0, last.1));
        }
        steps.push(*point);
    }
    plot.line(&steps, "#1f6feb");
    plot.finish()
}

fn trade(own: &Recommendation) -> String {
    if own.trade.is_empty() {
        return "<p>The evaluator counts no energy.</p>".to_owned();
    }
    let place = |trial: &super::Trade| (trial.average_watts, trial.performance);
    let points: Vec<(f64, f64)> = own.trade.iter().map(place).collect();
    let mut plot =
        Plot::new(&points, "average power in watt", "performance of the target (formula 1)");
    let mut front: Vec<(f64, f64)> =
        own.trade.iter().filter(|trial| trial.pareto).map(place).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    plot.line(&front, "#d1242f");
    for trial in &own.trade {
        let colour = if trial.pareto { "#d1242f" } else { "#8c959f" };
        let says = format!(
            "trial {}: {:.4} at {:.3} W",
            trial.number, trial.performance, trial.average_watts
        );
        plot.dot(place(trial), colour, &says);
    }
    plot.finish()
}

/// One bar for each value, negative ones to the left.
fn bar_chart(rows: &[(String, f64, String)]) -> String {
    const LABEL: f64 = 300.0;
    let greatest = rows.iter().map(|row| row.1.abs()).fold(1e-9, f64::max);
    let height = 20.0 * rows.len() as f64 + 8.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDE} {height}\" width=\"{WIDE}\" height=\"{height}\" role=\"img\">"
    );
    for (index, (name, value, says)) in rows.iter().enumerate() {
        let y = 20.0 * index as f64 + 6.0;
        let width = value.abs() / greatest * (WIDE - LABEL - 80.0);
        let colour = if *value >= 0.0 { "#1f6feb" } else { "#d1242f" };
        let _ = write!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect x=\"{LABEL}\" y=\"{y:.1}\" \
             width=\"{width:.1}\" height=\"14\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LABEL - 6.0,
            y + 11.0,
            escape(name),
            LABEL + width + 5.0,
            y + 11.0,
            escape(says)
        );
    }
    svg + "</svg>"
}

fn importance(own: &Recommendation) -> String {
    let rows: Vec<(String, f64, String)> = (own.importance.iter())
        .map(|one| {
            let says = one.loss.map_or("cannot be taken back".to_owned(), |loss| {
                format!("{:.1} %", loss.exp_m1() * 100.0)
            });
            (one.keys.join(", "), one.loss.unwrap_or(0.0), says)
        })
        .collect();
    if rows.is_empty() { "<p>Nothing changed.</p>".to_owned() } else { bar_chart(&rows) }
}

fn bars(table: &Table) -> String {
    let rows: Vec<(String, f64, String)> = std::iter::once(&table.target)
        .chain(&table.others)
        .map(|row| {
            let says = format!("{:.2}x latency", row.speedup.latency);
            (row.workload.clone(), row.speedup.latency.max(1e-9).ln(), says)
        })
        .collect();
    bar_chart(&rows)
}
