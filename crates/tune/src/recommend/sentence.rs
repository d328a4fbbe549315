//! What a recommendation says first: how much faster the drive is, on what, how far that is known,
//! what it takes, and what changes.

use super::parameters::parameter_lines;
use super::{Recommendation, WorkloadResult};
use crate::grade::{LatencyFigure, Speedup, rest};
use crate::interval::SpeedupInterval;
use crate::space::AS_IN;
use ssdtune_model::Bytes;

/// Capacities that differ by a smaller share are one to the host.
const SAME_CAPACITY: f64 = 0.001;
/// Changes that the sentence names; the table of parameters has all.
const NAMED: usize = 2;

/// The recommendation in one sentence.
pub fn first_sentence(result: &Recommendation) -> String {
    let question = &result.question;
    if result.parameters.is_empty() {
        let (base, target) = (&question.baseline, &question.target);
        return match result.front.as_ref().filter(|front| front.points.len() > 1) {
            None => format!("Nothing better than {base} was found for {target}."),
            Some(front) => format!(
                "For {target}, {base} itself is recommended ({}), so nothing changes; drives of \
                 which none is better in everything: {}.",
                front.picked,
                front.points.len()
            ),
        };
    }
    let (told, known) = match &result.held_out {
        Some(held_out) if held_out.target.is_whole() => {
            (&held_out.target, "over the whole trace, of which the search saw some windows")
        }
        Some(held_out) => (&held_out.target, "on requests that the search never saw"),
        None => (&result.training.target, "on the requests of the search; no others were tried"),
    };
    let far = if told.interval.as_ref().is_some_and(SpeedupInterval::has_width) {
        " (95 % intervals)"
    } else {
        ""
    };
    // Whoever asked for a price or a speed must not take the next figures for an answer.
    let missed = result.front.as_ref().filter(|front| !front.reached);
    let mut missed =
        missed.map_or(String::new(), |front| format!("Not found is {}. ", front.picked));
    if let Some(lost) = result.front.as_ref().and_then(|front| front.unconfirmed.as_ref()) {
        missed += &format!("Not confirmed is {lost}. ");
    }
    let several = result.front.as_ref().filter(|front| front.reached && front.points.len() > 1);
    let several = several.map_or(String::new(), |front| {
        format!("; it is {}, one of {} drives", front.picked, front.points.len())
    });
    format!(
        "{missed}On {} the drive has {}, {known}{far}; {}, {}{}{}; {}{several}.",
        question.target,
        speed(told, question.graded_by.latency),
        power(told),
        price(result.price),
        host(result.host_bytes),
        endurance(result.endurance_bytes),
        changes(result)
    )
}

/// What the grade is made of, in the words of its formula.
pub fn grade_told(result: &Recommendation) -> String {
    let (question, training) = (&result.question, &result.training);
    let Speedup { latency, throughput } = training.target.speedup;
    let (alpha, beta) = (question.alpha, question.beta);
    let target = format!(
        "{} ln {latency:.2} ({} latency) + {alpha} ln {throughput:.2} (throughput)",
        rest(alpha),
        question.graded_by.latency
    );
    let formula = match training.others.is_empty() {
        true => target,
        false => format!("{} ({target}) + {beta} (the others' mean)", rest(beta)),
    };
    format!("grade {:.4} = {formula}; 0 is the baseline, 0.69 is twice as fast", result.grade)
}

/// The speedups of a drive on a workload.
fn speed(row: &WorkloadResult, by: LatencyFigure) -> String {
    let shown = row.interval.as_ref();
    let (latency, throughput) =
        (row.speedup.latency_shown(shown), row.speedup.throughput_shown(shown));
    format!(
        "{} the speed by {by} latency ({} us, was {}) and {} the throughput ({} MB/s, was {})",
        before_noun(&latency),
        row.own.latency_us(),
        row.baseline.latency_us(),
        before_noun(&throughput),
        row.own.throughput_mbps(),
        row.baseline.throughput_mbps()
    )
}

/// A factor as it stands before a noun: `1.01x (+- 1.2 %, undecided)`.
fn before_noun(factor: &str) -> String {
    match factor.trim().split_once(' ') {
        Some((times, known)) if known.contains(',') => format!("{times} ({known})"),
        _ => factor.trim().to_owned(),
    }
}

/// How much the host sees, where it is not as much as before.
fn host([was, own]: [u64; 2]) -> String {
    match (own as f64 / was as f64 - 1.0).abs() < SAME_CAPACITY {
        true => String::new(),
        false => format!(", the host sees {} (saw {})", Bytes(own), Bytes(was)),
    }
}

fn power(row: &WorkloadResult) -> String {
    match (row.own.average_watts, row.baseline.average_watts) {
        (Some(own), Some(was)) => format!("it draws {own:.2} W (was {was:.2} W)"),
        _ => "its power is not known".to_owned(),
    }
}

fn price(price: Option<[f64; 2]>) -> String {
    match price {
        Some([was, own]) => {
            format!("its parts cost {own:.2} (were {was:.2}; relative prices)")
        }
        None => "no price list was given".to_owned(),
    }
}

/// How much may be written, where anything was.
fn endurance(bytes: [Option<f64>; 2]) -> String {
    match bytes {
        [Some(was), Some(own)] => {
            format!(", it endures {:.0} TB of such writes (was {:.0})", own / 1e12, was / 1e12)
        }
        _ => String::new(),
    }
}

/// The changes that matter most, and how many there are besides.
fn changes(result: &Recommendation) -> String {
    let lines = parameter_lines(result);
    let line_of = |key: &String| lines.iter().find(|line| line[0] == *key);
    // Importance comes greatest first; of a group of parameters the first stands for all.
    let groups = result.importance.iter();
    let mut first: Vec<&[String; 3]> =
        groups.filter_map(|group| group.keys.iter().find_map(line_of)).collect();
    if first.is_empty() {
        first.extend(&lines);
    }
    first.truncate(NAMED);
    let named: Vec<String> =
        first.iter().map(|[key, was, own]| format!("{key} from {} to {own}", old(was))).collect();
    let more = match lines.len() - first.len() {
        0 => String::new(),
        1 => " and one parameter more".to_owned(),
        more => format!(" and {more} parameters more"),
    };
    format!("it changes {}{more}", named.join(", "))
}

/// A value of the baseline in words. A part that no catalogue has is named by its drive.
fn old(value: &str) -> &str {
    if value.starts_with(AS_IN) { "the baseline's" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::CachedEvaluator;
    use crate::recommend::{Front, FrontPoint, Options, Pick, recommend};
    use crate::search::testing::{Formula, GO_ON, TASK, search, settings};
    use crate::search::{Algorithm, PriorKnowledge};

    fn recommended(budget: f64) -> Recommendation {
        let formula = Formula::default();
        let mut settings = settings(Algorithm::Random, 1);
        settings.budget = budget;
        let found = search(&TASK, &PriorKnowledge::default(), &settings, &formula, 2);
        let cached = CachedEvaluator::new(&formula, None, &GO_ON, &|_| {});
        let options = Options { held_out: None, name: "tuned".to_owned(), pick: Pick::Knee };
        recommend(&TASK, &settings, &found, &cached, &options).unwrap()
    }

    /// A front of two drives.
    fn front(picked: &str, reached: bool) -> Front {
        let point = FrontPoint {
            number: 0,
            values: Vec::new(),
            gains: Vec::new(),
            target: Speedup { latency: 1.0, throughput: 1.0 },
            toml: String::new(),
        };
        Front {
            aims: Vec::new(),
            points: vec![point.clone(), point],
            hypervolume: 0.0,
            progress: Vec::new(),
            picked: picked.to_owned(),
            reached,
            unconfirmed: None,
        }
    }

    #[test]
    fn the_sentence_has_all_that_is_asked_for() {
        let mut result = recommended(25.0);
        let told = first_sentence(&result);
        assert!(
            told.starts_with(&format!("On {} the drive has ", result.question.target)),
            "{told}"
        );
        for part in ["mean latency", "the throughput", "no others were tried", "it changes "] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(told.contains("no price list was given"), "{told}");
        assert!(told.contains(&result.importance[0].keys[0]), "{told}");
        result.price = Some([100.0, 112.5]);
        assert!(
            first_sentence(&result)
                .contains("its parts cost 112.50 (were 100.00; relative prices)")
        );
        result.host_bytes = [400 << 30; 2];
        assert!(!first_sentence(&result).contains("the host sees"));
        result.host_bytes = [400 << 30, 380 << 30];
        assert!(first_sentence(&result).contains(", the host sees 380 GiB (saw 400 GiB)"));
        result.parameters.clear();
        assert!(first_sentence(&result).starts_with("Nothing better than "));
        let picked = "the knee of the front";
        result.front = Some(front(picked, true));
        let told = first_sentence(&result);
        assert!(told.contains(&format!("recommended ({picked}), so nothing changes")), "{told}");
        assert!(told.ends_with("better in everything: 2."), "{told}");
    }

    #[test]
    fn a_factor_that_is_undecided_says_so_in_brackets() {
        assert_eq!(before_noun("1.01x +- 1.2 %, undecided"), "1.01x (+- 1.2 %, undecided)");
        assert_eq!(before_noun(" 1.31x +- 1.2 % "), "1.31x +- 1.2 %");
        assert_eq!(before_noun("1.31x"), "1.31x");
    }

    #[test]
    fn what_was_asked_for_and_not_found_is_said_first() {
        let mut result = recommended(25.0);
        let picked = "the best for a price of 80: no drive of the front costs so little, and this \
                      is the cheapest";
        result.front = Some(front(picked, false));
        let told = first_sentence(&result);
        assert!(told.starts_with(&format!("Not found is {picked}. On ")), "{told}");
        result.front = Some(front("the knee of the front", true));
        let told = first_sentence(&result);
        assert!(told.starts_with("On "), "{told}");
        assert!(told.ends_with("; it is the knee of the front, one of 2 drives."), "{told}");
        let lost = "latency, 1.70x where the search looked and 0.01x elsewhere";
        result.front.as_mut().expect("a front").unconfirmed = Some(lost.to_owned());
        assert!(first_sentence(&result).starts_with(&format!("Not confirmed is {lost}. On ")));
        // So too where the baseline is the nearest.
        result.parameters.clear();
        result.front = Some(front(picked, false));
        let told = first_sentence(&result);
        assert!(told.contains(&format!("recommended ({picked}), so nothing changes")), "{told}");
    }

    #[test]
    fn the_formula_in_words_gives_the_grade() {
        let result = recommended(25.0);
        let told = grade_told(&result);
        let Speedup { latency, throughput } = result.training.target.speedup;
        let weights = &TASK.weights;
        let others = result.training.others.iter();
        let others: Vec<f64> = others.map(|row| weights.performance(&row.speedup)).collect();
        let target = weights.performance(&Speedup { latency, throughput });
        assert!((weights.grade(target, &others) - result.grade).abs() < 1e-9, "{told}");
        assert!(told.contains(&format!("ln {latency:.2}")), "{told}");
        assert_eq!(told.contains("the others' mean"), !others.is_empty(), "{told}");
    }
}
