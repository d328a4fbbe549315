//! Windows that belong to no category, and traces that found one: what was never learned, and parts
//! of what was.

use crate::Outcome;
use crate::judge::learn;
use crate::material::{FIFTHS, Labelled, Side, Trace, fifth, tail};
use crate::share::Share;
use ssdtune_tune::cluster::{Categories, FeatureSet, LearnOutcome, Threshold, TraceToLearn};

/// The threshold that ships is 20.
const THRESHOLDS: [f64; 8] = [5.0, 10.0, 15.0, 17.0, 20.0, 25.0, 30.0, 40.0];
/// The greatest number of traces among which few are learned.
const KNOWN: [usize; 4] = [1, 2, 3, 5];

/// Everything known of a trace under one set of features.
struct Seen<'a> {
    trace: &'a Trace,
    /// The distances of all its windows from categories of the other traces.
    strange: Vec<f64>,
    /// The distances of its held-out windows from the categories, its own among them.
    known: Vec<f64>,
    /// What becomes of it if it was left out.
    fed: LearnOutcome,
    /// What becomes of its held-out windows.
    rest: LearnOutcome,
    /// How many of its fifths, held out in turn, would found a category.
    fifths: usize,
}

/// Outliers by threshold, and traces that found categories.
pub fn judge(features: FeatureSet, traces: &[Trace], shown: &[Side]) -> Outcome {
    let learned = |without: Option<usize>| -> Vec<Labelled> {
        let others = traces.iter().enumerate().filter(|(place, _)| Some(*place) != without);
        others.map(|(_, one)| one.without(&tail(one))).collect()
    };
    let all = learn(features, &learned(None))?;
    let mut by_fifths = Vec::new();
    for number in 0..FIFTHS {
        let parts = traces.iter().map(|one| one.without(&fifth(one, number)));
        by_fifths.push(learn(features, &parts.collect::<Vec<_>>())?);
    }
    let mut seen = Vec::new();
    for (place, trace) in traces.iter().enumerate() {
        if !trace.is_judged() || !shown.contains(&trace.side) {
            continue;
        }
        let others = learn(features, &learned(Some(place)))?;
        let (whole, rest) = (trace.part(0..trace.windows()), trace.part(tail(trace)));
        let mut fifths = 0;
        for (number, categories) in by_fifths.iter().enumerate() {
            let part = trace.part(fifth(trace, number));
            fifths += usize::from(!categories.classify("x", part, Threshold::default())?.inside);
        }
        seen.push(Seen {
            trace,
            strange: others.distances(&others.basis().points(whole)?),
            known: all.distances(&all.basis().points(rest)?),
            fed: feed(&others, &trace.labelled(0..trace.windows()))?,
            rest: feed(&all, &trace.labelled(tail(trace)))?,
            fifths,
        });
    }
    println!("\n### {features}\n");
    outliers(&seen, shown);
    founders(&seen, shown);
    Ok(())
}

/// What becomes of a workload whose category nobody knows.
fn feed(categories: &Categories, part: &Labelled) -> Outcome<LearnOutcome> {
    let material = TraceToLearn { name: "fed", category: None, requests: &part.requests };
    Ok(categories.clone().learn(material, Threshold::default())?)
}

fn outliers(seen: &[Seen], shown: &[Side]) {
    let sides = shown.iter().map(|side| {
        let name = side.name();
        format!("{name}: left-out traces | {name}: held-out windows of known traces")
    });
    println!(
        "| windows called outliers at threshold | {} |",
        sides.collect::<Vec<_>>().join(" | ")
    );
    println!("|---|{}", "---|---|".repeat(shown.len()));
    for threshold in THRESHOLDS {
        let far = |distances: &[f64]| distances.iter().filter(|&&far| far > threshold).count();
        let mut cells = Vec::new();
        for side in shown {
            let (mut strange, mut known) = (Share::default(), Share::default());
            for one in seen.iter().filter(|one| one.trace.side == *side) {
                strange.add(far(&one.strange), one.strange.len());
                known.add(far(&one.known), one.known.len());
            }
            let mean = 100.0 * strange.mean();
            cells.push(format!("{strange}, mean of traces {mean:.0} % | {known}"));
        }
        println!("| {threshold} | {} |", cells.join(" | "));
    }
}

fn founders(seen: &[Seen], shown: &[Side]) {
    println!("\n| trace | left out and fed | held-out windows fed | fifths that would found one |");
    println!("|---|---|---|---|");
    for one in seen {
        let name = format!("{} ({})", one.trace.name, one.trace.side.name());
        println!("| {name} | {} | {} | {} |", told(&one.fed), told(&one.rest), one.fifths);
    }
    println!(
        "\n| | traces that found a category when left out | held-out parts that wrongly do | \
        held-out parts that join their own | fifths that wrongly found one |"
    );
    println!("|---|---|---|---|---|");
    let row = |name: &str, of: &dyn Fn(Side) -> bool| {
        let mut shares: [Share; 4] = Default::default();
        for one in seen.iter().filter(|one| of(one.trace.side)) {
            let founds = |outcome: &LearnOutcome| matches!(outcome, LearnOutcome::Added { .. });
            let joins = matches!(&one.rest, LearnOutcome::Joined { category, .. }
                if *category == one.trace.name);
            shares[0].add(founds(&one.fed).into(), 1);
            shares[1].add(founds(&one.rest).into(), 1);
            shares[2].add(joins.into(), 1);
            shares[3].add(one.fifths, FIFTHS);
        }
        let cells = shares.map(|share| share.counted());
        println!("| {name} | {} |", cells.join(" | "));
    };
    for side in shown {
        row(side.name(), &|one| one == *side);
    }
    if shown.len() > 1 {
        row("all", &|_| true);
    }
}

fn told(outcome: &LearnOutcome) -> String {
    let distance = outcome.distance().unwrap_or(0.0);
    match outcome {
        LearnOutcome::Added { .. } => format!("founds ({distance:.1})"),
        LearnOutcome::Joined { category, .. } => format!("joins {category} ({distance:.1})"),
        other => other.to_string(),
    }
}

/// Few categories: every choice of some traces of one side is learned to 70 %, and the rest of the
/// side is fed.
pub fn few(traces: &[Trace], shown: &[Side]) -> Outcome {
    println!(
        "| categories | side | left-out traces that found a category | held-out parts that \
        wrongly do | held-out parts nearest to their own |"
    );
    println!("|---|---|---|---|---|");
    for side in shown {
        let of_side: Vec<&Trace> =
            traces.iter().filter(|one| one.side == *side && one.is_judged()).collect();
        for known in KNOWN {
            let mut shares: [Share; 3] = Default::default();
            for chosen in 0u32..1 << of_side.len() {
                if chosen.count_ones() as usize != known {
                    continue;
                }
                let is_known = |place: usize| chosen >> place & 1 == 1;
                let parts = of_side.iter().enumerate().filter(|(place, _)| is_known(*place));
                let parts: Vec<_> = parts.map(|(_, one)| one.without(&tail(one))).collect();
                let categories = learn(FeatureSet::Profile, &parts)?;
                for (place, trace) in of_side.iter().enumerate() {
                    let all = 0..trace.windows();
                    let part = trace.part(if is_known(place) { tail(trace) } else { all });
                    let verdict = categories.classify("x", part, Threshold::default())?;
                    if is_known(place) {
                        shares[1].add((!verdict.inside).into(), 1);
                        shares[2].add((verdict.name == trace.name).into(), 1);
                    } else {
                        shares[0].add((!verdict.inside).into(), 1);
                    }
                }
            }
            let cells = shares.map(|share| share.counted());
            println!("| {known} | {} | {} |", side.name(), cells.join(" | "));
        }
    }
    Ok(())
}
