//! The drives of a search with several aims: of none of them another is better in everything.
//!
//! Each is judged on validation traces as a recommendation is, and those that hurt other workloads
//! are left out. One of the others is the answer, by what the user picks it for.

use super::WorkloadResult;
use super::choice::{FRONT_MAX, HarmMeter, Refused};
use crate::aim::Aim;
use crate::error::TuneError;
use crate::evaluate::CachedEvaluator;
use crate::grade::Speedup;
use crate::interval::PRECISION;
use crate::limits::PriceLimit;
use crate::pareto;
use crate::search::{Found, REFERENCE, Settings, Trial};
use crate::task::Task;
use serde::Serialize;
use ssdtune_estimate::Interval;
use ssdtune_model::document;
use ssdtune_report::Table;
use std::fmt;
use std::str::FromStr;

/// The name of the file of a drive of the front, by its place from 1.
pub fn front_file(place: usize) -> String {
    format!("front-{place:02}.toml")
}

/// Which drive of a front is the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// That with the greatest sum of gains, each as a share of the greatest on the front: what is
    /// given up from there in one aim brings less in another.
    Knee,
    /// The one with the best grade below a price.
    Below(PriceLimit),
    /// The cheapest one that has this speedup of latency.
    Reaches(f64),
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knee => f.write_str("the knee of the front"),
            Self::Below(PriceLimit::Price(price)) => write!(f, "the best for a price of {price}"),
            Self::Below(PriceLimit::TimesBaseline(times)) => {
                write!(f, "the best for {times} times the baseline's price")
            }
            Self::Reaches(factor) => write!(f, "the cheapest with {factor}x the speed by latency"),
        }
    }
}

impl Pick {
    /// What is recommended where no drive of the front is what is asked for.
    fn missed(self) -> String {
        let instead = match self {
            Self::Knee => "the front is empty",
            Self::Below(_) => "no drive of the front costs so little, and this is the cheapest",
            Self::Reaches(_) => "no drive of the front is so fast, and this is the fastest",
        };
        format!("{self}: {instead}")
    }
}

impl FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factor = |text: &str| -> Option<f64> {
            let read = text.strip_suffix('x').unwrap_or(text).parse().ok()?;
            (0.0..=1e6).contains(&read).then_some(read)
        };
        let read = match text.split_once('=') {
            None if text == "knee" => Some(Self::Knee),
            Some(("price", limit)) => return limit.parse().map(Self::Below),
            Some(("latency", wanted)) => factor(wanted).map(Self::Reaches),
            _ => None,
        };
        read.ok_or_else(|| "write knee, price=120, price=1.2x or latency=2x".to_owned())
    }
}

/// The drives of a front. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct Front {
    /// The aims, with the baseline's figures.
    pub aims: Vec<FrontAim>,
    /// The drives, the best of the first aim first.
    pub points: Vec<FrontPoint>,
    /// The volume of all that is better than half as good as the baseline in every aim and no
    /// better than one of the drives, in logarithms.
    pub hypervolume: f64,
    /// The hypervolume of all trials, after each of them.
    pub progress: Vec<f64>,
    /// What the recommended drive was picked for; if it is not that, what it is instead.
    pub picked: String,
    /// Whether the recommended drive is what was asked for.
    pub reached: bool,
    /// What the recommended drive gains as an aim on the requests of the search, and is known to
    /// lose on those that the search never saw; `None` if there is no such aim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<String>,
}

/// An aim of a search.
#[derive(Clone, Debug, Serialize)]
pub struct FrontAim {
    /// The aim.
    pub aim: Aim,
    /// The unit of the figures.
    pub unit: &'static str,
    /// Whether more of it is better.
    pub grows: bool,
    /// The baseline's figure.
    pub baseline: f64,
}

/// A drive of a front.
#[derive(Clone, Debug, Serialize)]
pub struct FrontPoint {
    /// The number of the trial.
    pub number: usize,
    /// Its figure in each aim, in the aim's unit.
    pub values: Vec<f64>,
    /// Its gain in each aim: the logarithm of how many times better than the baseline.
    pub gains: Vec<f64>,
    /// The speedup on the target.
    pub target: Speedup,
    /// The drive, as TOML.
    pub toml: String,
}

/// A front, the trial that was picked of it, and the trials that were left out.
pub(super) struct Picked {
    pub front: Front,
    pub number: usize,
    pub refused: Vec<Refused>,
}

/// Judges the drives of a front, and picks one.
///
/// # Errors
/// No trial keeps every limit, the evaluator or AutoDB fails, or the caller asked to stop.
pub(super) fn pick(
    task: &Task,
    settings: &Settings,
    found: &Found,
    pick: Pick,
    evaluator: &CachedEvaluator,
) -> Result<Picked, TuneError> {
    let mut validator = HarmMeter::on_validation(task, evaluator);
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for number in thinned(found) {
        let trial = &found.trials[number];
        let breaches = if number == 0 { Vec::new() } else { validator.breaches(&trial.config)? };
        match breaches.is_empty() {
            true => kept.push(trial),
            false => refused.extend(Refused::new(trial, breaches)),
        }
    }
    // The baseline may be better by the grade than all that are better in an aim.
    let baseline = Some(&found.trials[0]).filter(|own| {
        let is_asked = matches!(pick, Pick::Below(_)) && own.breaches.is_empty();
        is_asked && kept.iter().all(|trial| trial.number != 0)
    });
    let answers: Vec<&Trial> = kept.iter().copied().chain(baseline).collect();
    let (order, is_reached) = by_preference(task, &answers, pick);
    let Some(&number) = order.first() else {
        return Err(Box::new(found.nothing_kept(None)).into());
    };
    let picked = if is_reached { pick.to_string() } else { pick.missed() };
    let front = document(task, settings, found, kept, (picked, is_reached));
    Ok(Picked { front, number, refused })
}

fn gains(trial: &Trial) -> &[f64] {
    trial.gains.as_deref().unwrap_or_default()
}

/// The front, without those that add least if there are too many.
fn thinned(found: &Found) -> Vec<usize> {
    let mut front = found.front();
    while front.len() > FRONT_MAX {
        let all: Vec<Vec<f64>> =
            front.iter().map(|number| gains(&found.trials[*number]).to_vec()).collect();
        let reference = vec![REFERENCE; all[0].len()];
        let adds = |index: usize| {
            let mut others = all.clone();
            let own = others.remove(index);
            pareto::added(&own, &others, &reference)
        };
        let least = (0..front.len()).min_by(|a, b| adds(*a).total_cmp(&adds(*b)));
        front.remove(least.unwrap_or(0));
    }
    front
}

/// Numbers of trials, the one to pick first, and whether it is what it is picked for.
fn by_preference(task: &Task, kept: &[&Trial], pick: Pick) -> (Vec<usize>, bool) {
    let prices = task.limits.prices.as_ref();
    let price = |trial: &Trial| prices.map_or(0.0, |prices| prices.of(&trial.config));
    let latency = |trial: &Trial| trial.target.map_or(0.0, |target| target.latency);
    let greatest =
        |aim: usize| kept.iter().map(|trial| gains(trial)[aim]).fold(f64::MIN_POSITIVE, f64::max);
    let shares = |trial: &Trial| -> f64 {
        gains(trial).iter().enumerate().map(|(aim, gain)| gain / greatest(aim)).sum()
    };
    // The first of each pair says whether the trial is what is asked for; then more is better.
    let value = |trial: &Trial| match pick {
        Pick::Knee => (true, shares(trial)),
        Pick::Below(limit) => {
            let most = limit.over(prices.map_or(0.0, |prices| prices.of(&task.base)));
            match price(trial) <= most {
                true => (true, trial.grade.unwrap_or(f64::NEG_INFINITY)),
                false => (false, -price(trial)),
            }
        }
        Pick::Reaches(wanted) => match latency(trial) >= wanted {
            true => (true, -price(trial)),
            false => (false, latency(trial)),
        },
    };
    let mut order: Vec<_> = kept.iter().map(|trial| (value(trial), trial.number)).collect();
    order.sort_by(|a, b| b.0.0.cmp(&a.0.0).then(b.0.1.total_cmp(&a.0.1)).then(a.1.cmp(&b.1)));
    let is_reached = order.first().is_some_and(|((reached, _), _)| *reached);
    (order.into_iter().map(|(_, number)| number).collect(), is_reached)
}

fn document(
    task: &Task,
    settings: &Settings,
    found: &Found,
    mut kept: Vec<&Trial>,
    (picked, reached): (String, bool),
) -> Front {
    let baseline = |aim: Aim| {
        aim.value(&task.base, &found.baseline.target, task.limits.prices.as_ref())
            .unwrap_or(f64::NAN)
    };
    let aims: Vec<FrontAim> = (settings.aims.iter())
        .map(|&aim| {
            let (unit, scale) = aim.unit();
            FrontAim { aim, unit, grows: aim.grows(), baseline: baseline(aim) / scale }
        })
        .collect();
    kept.sort_by(|a, b| gains(b)[0].total_cmp(&gains(a)[0]).then(a.number.cmp(&b.number)));
    let point = |trial: &&Trial| {
        let value = |(aim, gain): (&FrontAim, &f64)| {
            aim.baseline * if aim.grows { gain.exp() } else { (-gain).exp() }
        };
        FrontPoint {
            number: trial.number,
            values: aims.iter().zip(gains(trial)).map(value).collect(),
            gains: gains(trial).to_vec(),
            target: trial.target.unwrap_or(Speedup { latency: 1.0, throughput: 1.0 }),
            toml: document::write(&trial.config),
        }
    };
    let points: Vec<FrontPoint> = kept.iter().map(point).collect();
    let all: Vec<Vec<f64>> = points.iter().map(|point| point.gains.clone()).collect();
    let hypervolume = pareto::hypervolume(&all, &vec![REFERENCE; aims.len()]);
    let progress = found.hypervolumes();
    Front { aims, points, hypervolume, progress, picked, reached, unconfirmed: None }
}

impl Front {
    fn column(aim: &FrontAim) -> String {
        match aim.unit {
            "" => aim.aim.to_string(),
            unit => format!("{}, {unit}", aim.aim),
        }
    }

    /// The rows of a table: the heads, the baseline, then each drive.
    fn rows(&self) -> Vec<Vec<String>> {
        let head = ["drive".to_owned()].into_iter().chain(self.aims.iter().map(Self::column));
        let base = self.aims.iter().map(|aim| figure(aim.baseline));
        let mut rows =
            vec![head.collect(), std::iter::once("baseline".to_owned()).chain(base).collect()];
        for (place, point) in (1..).zip(&self.points) {
            let name = format!("front-{place:02} (trial {})", point.number);
            let cells = point.values.iter().zip(&point.gains);
            let cells =
                cells.map(|(value, gain)| format!("{} ({:.2}x)", figure(*value), gain.exp()));
            rows.push(std::iter::once(name).chain(cells).collect());
        }
        rows
    }

    /// The front as a table for terminals.
    pub(super) fn table(&self) -> Table {
        let mut rows = self.rows().into_iter();
        let mut table = Table::new(rows.next().unwrap_or_default());
        table.align_right(1..);
        rows.for_each(|row| _ = table.add_row(row));
        table
    }

    /// The front as a table in Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        for (place, row) in self.rows().iter().enumerate() {
            text += &format!("| {} |\n", row.join(" | "));
            if place == 0 {
                text += &format!("|{}\n", "---|".repeat(row.len()));
            }
        }
        text
    }

    /// The front in one sentence.
    pub(super) fn sentence(&self) -> String {
        let names: Vec<&str> = self.aims.iter().map(|aim| aim.aim.name()).collect();
        format!(
            "{} drives of which none is better in all of {} (factors: times better than the \
             baseline; hypervolume {:.3}); recommended is {}",
            self.points.len(),
            names.join(", "),
            self.hypervolume,
            self.picked
        )
    }
}

/// A figure with about four digits.
fn figure(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 4) as usize;
    format!("{value:.digits$}")
}

/// Speeds that are aims, better than the baseline's on the requests of the search, and known to be
/// worse on those that it never saw.
pub(super) fn unconfirmed(
    aims: &[Aim],
    seen: &WorkloadResult,
    unseen: &WorkloadResult,
) -> Option<String> {
    let interval = unseen.interval.as_ref();
    let speeds = [
        (Aim::Latency, seen.speedup.latency, unseen.speedup.latency),
        (Aim::Throughput, seen.speedup.throughput, unseen.speedup.throughput),
    ];
    let ends = interval.map_or([None; 2], |interval| [interval.latency, interval.throughput]);
    let lost = |((aim, seen, unseen), end): ((Aim, f64, f64), Option<Interval>)| {
        let most = end.map_or(unseen * (1.0 + PRECISION), |end| end.high);
        (aims.contains(&aim) && seen > 1.0 && most < 1.0).then(|| {
            format!("{aim}, {seen:.2}x where the search looked and {unseen:.2}x elsewhere")
        })
    };
    let lost: Vec<String> = speeds.into_iter().zip(ends).filter_map(lost).collect();
    (!lost.is_empty()).then(|| lost.join(", and "))
}

/// What to say of a speed that is no aim and became worse, by the figures of the verdict.
pub(super) fn left_out(aims: &[Aim], verdict: &Speedup) -> Option<String> {
    let latencies = [Aim::Latency, Aim::P99, Aim::P999];
    let given_up = [
        ("latency", verdict.latency, !aims.iter().any(|aim| latencies.contains(aim))),
        ("throughput", verdict.throughput, !aims.contains(&Aim::Throughput)),
    ];
    let worse = |(name, factor, is_left_out): (&str, f64, bool)| {
        (is_left_out && factor < 1.0 - PRECISION).then(|| {
            format!(
                "{name} is no aim, and {factor:.2}x of it is left: name it in --aim too; a larger \
                 budget does not bring it back"
            )
        })
    };
    let notes: Vec<String> = given_up.into_iter().filter_map(worse).collect();
    (!aims.is_empty() && !notes.is_empty()).then(|| notes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::SpeedupInterval;
    use crate::recommend::DriveResult;
    use crate::search::testing::{Formula, GO_ON, TASK, search, settings};
    use crate::search::{Algorithm, PriorKnowledge};

    #[test]
    fn a_price_is_no_reason_to_be_slower_than_the_baseline() {
        let formula = Formula::default();
        let mut task = TASK.clone();
        task.limits.prices = Some(crate::limits::Prices::market());
        let cached = CachedEvaluator::new(&formula, None, &GO_ON, &|_| {});
        for seed in 1..4 {
            let aims = vec![Aim::Price, Aim::Latency];
            let settings = Settings { aims, budget: 10.0, ..settings(Algorithm::Bayes, seed) };
            let found = search(&task, &PriorKnowledge::default(), &settings, &formula, 2);
            for times in [0.3, 0.9, 1.0, 1.5] {
                let below = Pick::Below(PriceLimit::TimesBaseline(times));
                let Picked { front, number, .. } =
                    pick(&task, &settings, &found, below, &cached).unwrap();
                let prices = task.limits.prices.as_ref().unwrap();
                let best = (found.trials.iter())
                    .filter(|trial| found.front().contains(&trial.number) || trial.number == 0)
                    .filter(|trial| prices.of(&trial.config) <= times * prices.of(&task.base))
                    .filter_map(|trial| trial.grade)
                    .max_by(f64::total_cmp);
                assert_eq!(front.reached, best.is_some(), "seed {seed}, {times}x");
                if let Some(best) = best {
                    assert_eq!(found.trials[number].grade, Some(best), "seed {seed}, {times}x");
                    assert!(times < 1.0 || best >= 0.0);
                }
            }
        }
    }

    #[test]
    fn a_baseline_over_the_power_budget_is_no_answer_to_a_price() {
        let formula = Formula { counts_energy: true, ..Formula::default() };
        let mut task = TASK.clone();
        task.limits.prices = Some(crate::limits::Prices::market());
        // The formula's drives draw a watt for each channel.
        let channels = f64::from(task.base.bus.channels);
        task.limits.constraints.power_budget_watts = Some(channels / 3.0);
        let aims = vec![Aim::Price, Aim::Latency];
        let settings = Settings { aims, budget: 10.0, ..settings(Algorithm::Bayes, 1) };
        let found = search(&task, &PriorKnowledge::default(), &settings, &formula, 2);
        let cached = CachedEvaluator::new(&formula, None, &GO_ON, &|_| {});
        let below = Pick::Below(PriceLimit::TimesBaseline(1e6));
        let number = pick(&task, &settings, &found, below, &cached).unwrap().number;
        assert!(number > 0 && found.trials[number].breaches.is_empty(), "{number}");
    }

    #[test]
    fn a_speed_that_is_no_aim_is_named_when_it_is_given_up() {
        let verdict = Speedup { latency: 1.1, throughput: 0.5 };
        let note = left_out(&[Aim::Latency, Aim::Price], &verdict).unwrap();
        assert!(note.starts_with("throughput is no aim, and 0.50x"), "{note}");
        assert_eq!(left_out(&[Aim::Latency, Aim::Throughput], &verdict), None);
        assert_eq!(left_out(&[], &verdict), None);
        let slow = Speedup { latency: 0.9, throughput: 1.0 };
        assert!(left_out(&[Aim::Price], &slow).unwrap().starts_with("latency"));
        assert_eq!(left_out(&[Aim::P99], &slow), None);
    }

    #[test]
    fn an_aim_that_later_requests_take_away_is_named() {
        let row = |latency, throughput, interval| WorkloadResult {
            workload: "t".to_owned(),
            speedup: Speedup { latency, throughput },
            interval,
            baseline: DriveResult::default(),
            own: DriveResult::default(),
        };
        let both = [Aim::Latency, Aim::Throughput];
        let (seen, unseen) = (row(1.7, 1.1, None), row(0.01, 1.2, None));
        let told = unconfirmed(&both, &seen, &unseen).unwrap();
        assert_eq!(told, "latency, 1.70x where the search looked and 0.01x elsewhere");
        // Given up by choice, no aim, or not known to be worse.
        let slow = row(0.9, 1.1, None);
        assert_eq!(unconfirmed(&both, &slow, &unseen), None);
        assert_eq!(unconfirmed(&[Aim::Price], &seen, &unseen), None);
        let throughput = Some(Interval { low: 0.5, high: 1.1 });
        let wide = SpeedupInterval { throughput, ..SpeedupInterval::default() };
        assert_eq!(unconfirmed(&both, &seen, &row(1.5, 0.7, Some(wide))), None);
        assert!(unconfirmed(&both, &seen, &row(1.5, 0.7, None)).is_some());
    }

    #[test]
    fn picks_are_read_and_said() {
        let read = |text: &str| text.parse::<Pick>();
        assert_eq!(read("knee"), Ok(Pick::Knee));
        assert_eq!(read("latency=2x"), Ok(Pick::Reaches(2.0)));
        assert_eq!(read("price=1.2x"), Ok(Pick::Below(PriceLimit::TimesBaseline(1.2))));
        assert_eq!(read("price=90").unwrap().to_string(), "the best for a price of 90");
        assert_eq!(
            read("price=90").unwrap().missed(),
            "the best for a price of 90: no drive of the front costs so little, and this is the \
             cheapest"
        );
        for wrong in ["", "knees", "price", "price=", "latency=fast", "latency=-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn figures_have_about_four_digits() {
        assert_eq!([1234.5, 12.345, 0.5, 0.001].map(figure), ["1234", "12.35", "0.5000", "0.0010"]);
    }
}
