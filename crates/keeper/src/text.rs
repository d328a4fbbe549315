//! What labels, trainings, evaluations, maps and comparisons look like as text and as a chart, for
//! people.
//!
//! Latencies are in microseconds and shares in per cent. Programs read the serialised types.

use crate::allocator::{Change, Decision, Division};
use crate::compare::{Aim, Comparison, PlanLine, Untold, WindowComparison};
use crate::evaluation::{DecisionCost, Evaluation, MapPoint, Score, SwitchScore};
use crate::labels::Labels;
use crate::simulation::ShareOutcome;
use crate::strategy::Strategy;
use crate::train::TrainingReport;
use crate::vector::LEVELS;
use ssdtune_estimate::{Interval, WINDOWS_MIN};
use ssdtune_report::{NameGrid, Svg, Table, Text};
use std::cmp::Reverse;
use std::path::Path;

/// A share as per cent.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Nanoseconds as microseconds.
fn micros(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

impl Labels {
    /// The number of mixes in this file, and how often each strategy is the best.
    pub fn text(&self, file: &Path) -> Text {
        let mut wins: Vec<(String, usize)> = self.wins().into_iter().collect();
        wins.sort_by_key(|(_, count)| Reverse(*count));
        let words: Vec<String> =
            wins.iter().map(|(strategy, count)| format!("{strategy} {count}")).collect();
        let (mixes, device) = (self.mixes.len(), &self.source.device);
        let mut text = Text::new();
        text.line(format_args!("{mixes} mixes on {device} in {}", file.display()));
        text.line(format_args!("best: {}", words.join(", ")));
        text
    }
}

/// Headings of the columns that [`score_cells`] fills.
const SCORE_HEADINGS: [&str; 8] = [
    "accuracy",
    "within 1 %",
    "regret",
    "p99",
    "max",
    "over Shared by 2 %",
    "at most by",
    "of gains >= 10 %",
];

fn score_cells(score: &Score) -> [String; 8] {
    [
        percent(score.accuracy),
        percent(score.tie_accuracy),
        format!("{:.2} %", 100.0 * score.regret_mean),
        percent(score.regret_p99),
        percent(score.regret_max),
        percent(score.above_shared_share),
        percent(score.above_shared_max),
        percent(score.gain_taken),
    ]
}

/// A table of trainings, two rows for each: its network alone, and the policy with its doubts.
pub fn training_text(reports: &[TrainingReport]) -> Text {
    let mut text = Text::new();
    if let Some(TrainingReport { mixes, score, .. }) = reports.first() {
        text.line(format_args!("{mixes} mixes to train, {} to test", score.mixes));
    }
    let headings = ["recipe", "loss"].into_iter().chain(SCORE_HEADINGS);
    let mut table = Table::new(headings.chain(["epoch", "seconds"]));
    for report in reports {
        let mut add = |name: String, score: &Score| {
            let effort = [report.epoch.to_string(), format!("{:.1}", report.seconds)];
            let start = [name, format!("{:.3}", report.loss)];
            table.add_row(start.into_iter().chain(score_cells(score)).chain(effort));
        };
        add(format!("{}, plain mixes", report.recipe), &report.network);
        add("abstaining, all".to_owned(), &report.score);
    }
    text.table(table);
    for score in reports.iter().filter_map(|report| report.switches.as_ref()) {
        text.line(switch_line(score));
    }
    text
}

/// How good the forecasts of switches are.
fn switch_line(score: &SwitchScore) -> String {
    format!(
        "of {} divisions of running drives {} ended more than 2 % above Shared; the policy takes a \
         risk of {} and allows {} of them: {} of these ended so ({} forecast), and it takes {} of \
         the gains of 10 % and more",
        score.switches,
        percent(score.harmful_share),
        percent(score.risk_max),
        percent(score.allowed_share),
        percent(score.harm_of_allowed),
        percent(score.risk_of_allowed),
        percent(score.gain_taken)
    )
}

impl Evaluation {
    /// A table with a row for the policy and for each rule beside it, and what its decisions cost.
    pub fn text(&self, cost: &DecisionCost) -> Text {
        let mut table = Table::new(std::iter::once("").chain(SCORE_HEADINGS));
        let rows = [
            ("model", Some(&self.model)),
            ("on plain mixes", self.plain.as_ref()),
            ("on mixes in bursts", self.bursty.as_ref()),
            ("Shared", Some(&self.shared)),
            ("Isolated", Some(&self.isolated)),
        ];
        for (name, score) in rows.into_iter().filter_map(|(name, score)| Some((name, score?))) {
            table.add_row(std::iter::once(name.to_owned()).chain(score_cells(score)));
        }
        let mut text = Text::new();
        text.line(format_args!("{} mixes", self.model.mixes)).table(table);
        if let Some(score) = &self.switches {
            text.line(switch_line(score));
        }
        text.line(format_args!(
            "the network: {} weights and biases, {} bytes in single precision ({} by the paper's \
             count of 16 for a neuron), {} multiplications for a part, {:.0} ns a decision",
            cost.parameters, cost.bytes, cost.paper_bytes, cost.multiplications, cost.predict_ns
        ));
        text
    }
}

/// The map of [`crate::evaluation::choice_map`] as a table: a row for each share of the writers, a
/// column for each intensity level.
pub fn choice_map_text(points: &[MapPoint]) -> Text {
    let levels = (1..=LEVELS).map(|level| level.to_string());
    let mut table = Table::new(std::iter::once("writers' share".to_owned()).chain(levels));
    for (share, strategies) in choice_map_rows(points) {
        table.add_row(std::iter::once(share).chain(strategies));
    }
    table.into()
}

/// The map of [`crate::evaluation::choice_map`] as a chart: a cell for each point, with the colour
/// of its strategy.
pub fn choice_map_chart(points: &[MapPoint]) -> Svg {
    let title = "Strategy by intensity level and share of the writers";
    let levels = (1..=LEVELS).map(|level| level.to_string());
    let mut grid = NameGrid::new(title, "intensity level", levels).grey("Shared");
    for (share, strategies) in choice_map_rows(points) {
        grid.add_row(share, strategies);
    }
    grid.to_svg()
}

/// The rows of a map: the share of the writers, and the strategy at each level.
fn choice_map_rows(points: &[MapPoint]) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
    points.chunks(usize::from(LEVELS)).map(|row| {
        let strategies = row.iter().map(|point| point.strategy.to_string()).collect();
        (format!("{:.0} %", 100.0 * row[0].write_share), strategies)
    })
}

/// The outcomes of [`crate::MixSimulator::write_shares`] as three tables, of write latency, read
/// latency and their sum: a row for each write share, a column for each strategy.
pub fn shares_text(outcomes: &[ShareOutcome]) -> Text {
    type Figure = fn(&ShareOutcome) -> f64;
    let figures: [(&str, Figure); 3] = [
        ("write latency, us", |outcome| outcome.means.write_ns),
        ("read latency, us", |outcome| outcome.means.read_ns),
        ("sum, us", |outcome| outcome.total_ns),
    ];
    // The strategies follow each other within a share.
    let rows: Vec<&[ShareOutcome]> =
        outcomes.chunk_by(|one, next| one.write_share == next.write_share).collect();
    let mut text = Text::new();
    for (title, figure) in figures {
        let strategies = rows.first().copied().unwrap_or_default().iter();
        let names = strategies.map(|outcome| outcome.strategy.to_string());
        let mut table = Table::new(std::iter::once(title.to_owned()).chain(names));
        for row in &rows {
            let share = format!("{:.0} % writes", 100.0 * row[0].write_share);
            table.add_row(
                std::iter::once(share).chain(row.iter().map(|outcome| micros(figure(outcome)))),
            );
        }
        text.table(table).line("");
    }
    text
}

/// What an allocator decided first and last, in one line; `None` if it never decided.
pub fn decisions_line(decisions: &[Decision]) -> Option<String> {
    let told = |one: &Decision| format!("{} at {:.1} ms", one.strategy, one.at_ns as f64 / 1e6);
    let first = told(decisions.first()?);
    Some(match decisions {
        [_, .., last] => {
            format!("allocator       {first}; {}, decision {}", told(last), decisions.len())
        }
        _ => format!("allocator       {first}"),
    })
}

impl Comparison {
    /// A table with a row for each plan, what the allocator saw when it first decided, and every
    /// change of its strategy.
    pub fn text(&self) -> Text {
        let mut headings = vec!["", "strategy", "write us", "read us", "sum us", "over Shared"];
        headings.extend(["slowdown of each tenant", "fairness"]);
        let targets: Vec<String> =
            self.targets.iter().map(|target| format!("{target}, us")).collect();
        headings.extend(targets.iter().map(String::as_str));
        let mut table = Table::new(headings);
        for line in &self.lines {
            let targets = self.targets.iter().zip(&line.targets_ns).map(|(target, &ns)| {
                let mark = if ns < target.below.0 as f64 { "" } else { ", missed" };
                micros(ns) + mark
            });
            table.add_row(plan_cells(line).into_iter().chain(targets));
        }
        let mut text = Text::new();
        text.line(mix_line(&self.tenants, &self.writers, self.level));
        text.table(table);
        if self.aim == Aim::Fairness || !self.targets.is_empty() {
            let aim = match self.aim {
                Aim::Latency => "the least sum",
                Aim::Fairness => {
                    "the best fairness, if no tenant is slowed down more than the slowest one \
                     under Shared"
                }
            };
            let targets = if self.targets.is_empty() { "" } else { "the targets, then " };
            let mut divisions = self.decisions.iter().filter_map(|one| one.division.as_ref());
            let known = match divisions.next() {
                Some(one) if one.worst_target.is_some() => "latencies and these targets",
                Some(one) if one.fairness.is_some() => "latencies and fairness",
                _ => "latencies alone",
            };
            text.line(format_args!("best: {targets}{aim}; SSDKeeper decides by {known}"));
        }
        decision_lines(&self.decisions).into_iter().for_each(|line| {
            text.line(line);
        });
        text
    }
}

/// What is said where an allocator never decided.
const UNDECIDED: &str = "SSDKeeper decided nothing: the requests end before its first period is \
                         over. Its rows are with shared channels; --requests takes more, \
                         --collect-ms makes the period shorter";

/// The workloads of a mix, and how intense it is.
fn mix_line(tenants: &[String], writers: &[bool], level: u8) -> String {
    let kinds: Vec<String> = (tenants.iter().zip(writers))
        .map(|(name, writes)| format!("{name} ({})", if *writes { "writes" } else { "reads" }))
        .collect();
    format!("{}; intensity level {level}", kinds.join(", "))
}

/// What the allocator saw when it first decided, and each change of its strategy since then.
fn decision_lines(decisions: &[Decision]) -> Vec<String> {
    let Some(first) = decisions.first() else { return vec![UNDECIDED.to_owned()] };
    let changes = decisions.windows(2).filter(|pair| pair[0].strategy != pair[1].strategy);
    std::iter::once(seen_line(first)).chain(changes.map(|pair| change_line(&pair[1]))).collect()
}

/// The strategy that the allocator changed to, with the forecast or the latencies that made it so.
fn change_line(now: &Decision) -> String {
    let why = match (now.over_shared, &now.division) {
        (Some(factor), _) => {
            format!("channels are shared again: latencies were {factor:.2} times those of Shared")
        }
        (None, Some(division)) => division_words(division),
        (None, None) => format!("{} from then on", now.strategy),
    };
    format!("at {:.1} ms: {why}", now.at_ns as f64 / 1e6)
}

/// What the allocator saw when it decided.
fn seen_line(first: &Decision) -> String {
    let kinds: Vec<&str> = first.reads.iter().map(|&reads| if reads { "1" } else { "0" }).collect();
    let shares: Vec<String> = first.shares.iter().map(|share| format!("{share:.2}")).collect();
    let at_ms = first.at_ns as f64 / 1e6;
    let (kinds, shares) = (kinds.join(","), shares.join(","));
    let (favourite, gain, left) = (&first.favourite, first.gain, first.doubtful_gain);
    let promise = match (&first.division, favourite) {
        (Some(division), _) => division_words(division),
        (None, Strategy::Shared) => "nothing promises more than Shared".to_owned(),
        _ => format!("{favourite} promises {gain:.2} over Shared, {left:.2} after doubts"),
    };
    format!("seen at {at_ms:.1} ms: [{}] [{kinds}] [{shares}]; {promise}", first.level)
}

/// What is forecast of a division, and what came of it.
fn division_words(division: &Division) -> String {
    let Division { strategy, risk, gain, is_taken, worst_target, fairness } = division;
    // A sum of trees may be a little below 0 or above 1.
    let risk = percent(risk.clamp(0.0, 1.0));
    let change = (-gain).exp_m1();
    let change = match change <= 0.0 {
        true => format!("{} shorter", percent(-change)),
        false => format!("{} longer", percent(change)),
    };
    let end = if *is_taken { "done" } else { "not done" };
    let target = match (worst_target, fairness) {
        (Some(Change { now, then }), _) => format!(
            " and to bring the worst target from {} to {} of what was promised",
            percent(*now),
            percent(*then)
        ),
        (None, Some(Change { now, then })) => {
            format!(" and to bring fairness from {now:.2} to {then:.2}")
        }
        (None, None) => String::new(),
    };
    format!(
        "{strategy} from then on is expected to make latencies {change}{target}, with a risk of \
         {risk} to end more than 2 % above Shared: {end}"
    )
}

impl WindowComparison {
    /// A table with a row for each plan, what was measured, and what the figures do not tell.
    pub fn text(&self) -> Text {
        let headings = ["", "strategy", "write us", "read us", "sum us", "over Shared"];
        let mut table = Table::new(headings);
        for line in &self.lines {
            let off = |value: f64, interval: Option<Interval>| match interval {
                None => String::new(),
                Some(Interval { low, high }) => {
                    let off = (high / value - 1.0).max(1.0 - low / value);
                    format!(" +- {:.1} %", 100.0 * off)
                }
            };
            table.add_row([
                line.plan.clone(),
                line.strategy.clone(),
                micros(line.means.write_ns),
                micros(line.means.read_ns),
                micros(line.total_ns) + &off(line.total_ns, line.total_interval),
                format!("{:.3}", line.over_shared)
                    + &off(line.over_shared, line.over_shared_interval),
            ]);
        }
        let run = &self.run;
        let mut text = Text::new();
        text.line(mix_line(&self.tenants, &self.writers, self.level));
        text.line(format_args!(
            "told from {} windows, {} requests measured in each after {} that warm up: {:.3} % of \
             {} requests",
            run.windows,
            run.measured,
            run.warm_up,
            100.0 * run.covered,
            run.requests
        ));
        text.table(table);
        decision_lines(&self.decisions).into_iter().for_each(|line| {
            text.line(line);
        });
        for reason in [
            Untold::FewWindows,
            Untold::Bursts,
            Untold::Backlog,
            Untold::DataCache,
            Untold::Collection,
            Untold::OpenBorder,
        ] {
            let plans = self.lines.iter().filter(|line| line.no_interval == Some(reason));
            let plans: Vec<&str> = plans.map(|line| line.plan.as_str()).collect();
            if !plans.is_empty() {
                text.line(format_args!("{}: {}", plans.join(", "), without_interval(reason)));
            }
        }
        text
    }
}

/// Why nothing is told of how far a plan's figures may be off, and what to do.
fn without_interval(reason: Untold) -> String {
    match reason {
        Untold::FewWindows => format!(
            "no intervals, because fewer than {WINDOWS_MIN} windows do not tell their own spread; \
             leave --sample away"
        ),
        Untold::Bursts => {
            "no intervals, because bursts decide that lie between the windows; leave \
                           --sample away to know"
                .to_owned()
        }
        Untold::DataCache => "no intervals, because the drive has a data cache: there windows of \
                              several tenants have been 6 % off"
            .to_owned(),
        Untold::Collection => "no intervals, because the drive collects in the windows, which do \
                               not know how far it was in its collections; leave --sample away"
            .to_owned(),
        Untold::OpenBorder => {
            "no intervals, because writes leave the allocator's parts while these \
                               are busy, and windows do not know which did before them; leave \
                               --sample away to know"
                .to_owned()
        }
        Untold::Backlog => "no intervals, because requests wait longer than a window knows of: \
                            with these channels, or with all of them shared, the drive cannot keep \
                            up for long; leave --sample away to know"
            .to_owned(),
    }
}

fn plan_cells(line: &PlanLine) -> [String; 8] {
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let slowdowns: Vec<String> =
        line.slowdown.tenants.iter().map(|tenant| ratio(tenant.slowdown)).collect();
    [
        line.plan.clone(),
        line.strategy.clone(),
        micros(line.means.write_ns),
        micros(line.means.read_ns),
        micros(line.total_ns),
        format!("{:.3}", line.over_shared),
        slowdowns.join(" "),
        ratio(line.slowdown.min_over_max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::MeanLatencies;

    #[test]
    fn a_map_has_a_row_for_each_share_and_a_cell_for_each_level() {
        let strategy = |level| if level <= 5 { Strategy::Shared } else { Strategy::Isolated };
        let row = |write_share| {
            let point = move |level| MapPoint { level, write_share, strategy: strategy(level) };
            (1..=LEVELS).map(point)
        };
        let points: Vec<MapPoint> = row(0.9).chain(row(0.1)).collect();
        let text = choice_map_text(&points).to_string();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0][..4], ["writers'", "share", "1", "2"]);
        assert_eq!(lines[1][..3], ["90", "%", "Shared"]);
        assert_eq!(lines[2].iter().filter(|word| **word == "Isolated").count(), 15);
        let chart = choice_map_chart(&points);
        assert_eq!(chart.as_str().lines().filter(|line| *line == "Shared").count(), 10);
    }

    #[test]
    fn an_allocator_tells_what_it_saw_first_and_each_change() {
        let decision = |at_ms: u64, strategy: Strategy, division, over_shared| Decision {
            at_ns: at_ms * 1_000_000,
            level: 17,
            reads: vec![false, true],
            shares: vec![0.25, 0.75],
            burst: 1.0,
            settled: vec![0.0; 2],
            favourite: Strategy::Shared,
            gain: 0.0,
            doubtful_gain: 0.0,
            division,
            proposed: strategy.clone(),
            strategy,
            over_shared,
        };
        let isolated = Division {
            strategy: Strategy::Isolated,
            risk: 0.05,
            gain: 0.2,
            is_taken: true,
            worst_target: None,
            fairness: None,
        };
        let lines = decision_lines(&[
            decision(100, Strategy::Shared, None, None),
            decision(200, Strategy::Shared, None, None),
            decision(400, Strategy::Isolated, Some(isolated), None),
            decision(900, Strategy::Shared, None, Some(2.75)),
        ]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("seen at 100.0 ms: [17] [0,1] [0.25,0.75]"), "{}", lines[0]);
        let divided = lines[1].strip_prefix("at 400.0 ms: Isolated from then on").expect(&lines[1]);
        assert!(divided.contains("18.1 % shorter") && divided.ends_with("Shared: done"));
        assert!(
            lines[2].starts_with("at 900.0 ms: channels are shared again: latencies were 2.75")
        );
        assert_eq!(decision_lines(&[]), [UNDECIDED]);
    }

    #[test]
    fn shares_have_a_table_for_each_figure() {
        let outcome = |write_share, strategy, read_ns| {
            let means = MeanLatencies { read_ns, write_ns: 2_000.0 };
            ShareOutcome { write_share, strategy, means, total_ns: means.total_ns() }
        };
        let outcomes = [
            outcome(0.9, Strategy::Shared, 1_000.0),
            outcome(0.9, Strategy::Isolated, 1_500.0),
            outcome(0.5, Strategy::Shared, 3_000.0),
            outcome(0.5, Strategy::Isolated, 4_000.0),
        ];
        let text = shares_text(&outcomes).to_string();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = text.lines().map(words).collect();
        // Three tables of a heading and two shares, with an empty line below each.
        assert_eq!(lines.len(), 3 * 4, "{text}");
        assert_eq!(lines[4], ["read", "latency,", "us", "Shared", "Isolated"]);
        assert_eq!(lines[5], ["90", "%", "writes", "1.0", "1.5"]);
        assert_eq!(lines[10], ["50", "%", "writes", "5.0", "6.0"]);
    }
}
