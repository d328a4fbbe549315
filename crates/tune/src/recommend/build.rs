//! Makes a recommendation from a finished search.

use super::choice::{Choice, Refused, choose};
use super::front::{self, Front, Pick, Picked};
use super::judgement::Judgement;
use super::measured::{Care, STATES, table};
use super::simplify::{Chosen, Simplifier};
use super::{
    Effort, Importance, PowerTrade, Question, Recommendation, SCHEMA, SpeedupInterval,
    SpeedupTable, TopConfiguration, Verdicts,
};
use crate::aim::Aim;
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, Evaluator, WorkloadMeasurement, described};
use crate::grade::Speedup;
use crate::interval::disagreement;
use crate::limits::{controller_pins, endurance_bytes};
use crate::search::{Found, Settings, Trial, Verdict};
use crate::space::{PART, changes};
use crate::task::Task;
use crate::workload::{Trace, Workload};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{Bytes, CheckedConfig, DeviceConfig, document};

/// Options of a recommendation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workloads with traces that no decision has seen: the target, then each other workload.
    pub held_out: Option<Vec<Workload>>,
    /// The name of the recommended configuration.
    pub name: String,
    /// Which drive is recommended of a search with aims.
    pub pick: Pick,
}

/// The least gain, as a logarithm, that is divided among changes: a hundredth. Shares of less would
/// be shares of nothing.
const SHARED_MIN: f64 = 0.01;
/// A change that alone brings this share of the gain is told apart.
const MOST: f64 = 0.5;
/// Makes a recommendation from a finished search. This takes some more evaluations.
///
/// # Errors
/// The evaluator or AutoDB fails, or the caller asked to stop.
pub fn recommend(
    task: &Task,
    settings: &Settings,
    found: &Found,
    evaluator: &CachedEvaluator,
    options: &Options,
) -> Result<Recommendation, TuneError> {
    let before = evaluator.counts();
    let (Choice { number, refused }, mut front) =
        chosen(task, settings, found, options, evaluator)?;
    let mut collector = EvidenceCollector { task, evaluator, found, notes: Vec::new() };
    let simplifier = Simplifier { task, evaluator, found, notes: &mut collector.notes };
    let (drive, mut importance) = simplifier.simplify(&found.trials[number], front.is_some())?;
    let Chosen { config, grade, .. } = drive;
    collector.one_change_alone(&config, &mut importance)?;
    // What was held out gives the verdict, if something was.
    let care = if options.held_out.is_some() { Care::Search } else { Care::Verdict };
    let training = collector.table(&config, care)?;
    let ignoring_others = collector.ignoring_others(&config)?;
    let held_out = options.held_out.as_deref();
    let judgement = Judgement::of(task, &config, refused, held_out, Care::Whole, evaluator)?;
    let Judgement { refused, validation, held_out, held_out_breaches } = judgement;
    if let (Some(front), Some(unseen)) = (&mut front, &held_out) {
        front.unconfirmed = front::unconfirmed(&settings.aims, &training.target, &unseen.target);
    }
    collector.note_guesses(&config);
    collector.note_what_to_know(&settings.aims, &training, held_out.as_ref().unwrap_or(&training));
    let named = DeviceConfig { name: options.name.clone(), ..(*config).clone() };
    let (mqsim_xml, mqsim_notes) = for_mqsim(&named);
    let prices = task.limits.prices.as_ref();
    let drives = [&task.base, &config];
    let tick = evaluator.counts();
    Ok(Recommendation {
        schema: SCHEMA,
        question: question(task, settings, evaluator.behind()),
        ended: found.ended,
        effort: Effort {
            proposals: found.trials.len() - 1,
            spent: found.spent,
            run: tick.run,
            run_for_evidence: tick.run - before.run,
            answered: tick.answered,
            requests: tick.requests,
            seconds: 0.0,
        },
        grade,
        host_bytes: drives.map(|drive| Ledger::of(drive).visible_bytes.0),
        endurance_bytes: endurance(task, &training, &config),
        training,
        held_out_breaches,
        held_out,
        validation,
        ignoring_others,
        front,
        parameters: changes(&task.space, &task.base, &config),
        importance,
        toml: document::write(&named),
        mqsim_xml,
        mqsim_notes,
        curve: found.curve.clone(),
        trade: trade(&found.trials),
        top: top(found, settings.top, &refused),
        refused,
        verdicts: verdicts(&found.trials),
        price: prices.map(|prices| drives.map(|drive| prices.of(drive))),
        bill: prices.map(|prices| drives.map(|drive| prices.bill(drive))),
        controller_pins: drives.map(|drive| controller_pins(drive)),
        notes: collector.notes,
    })
}

/// The trial to recommend, and the front that it is of if the search had aims.
fn chosen(
    task: &Task,
    settings: &Settings,
    found: &Found,
    options: &Options,
    evaluator: &CachedEvaluator,
) -> Result<(Choice, Option<Front>), TuneError> {
    if settings.aims.is_empty() {
        return Ok((choose(task, found, evaluator)?, None));
    }
    let picked = front::pick(task, settings, found, options.pick, evaluator)?;
    let Picked { front, number, refused } = picked;
    Ok((Choice { number, refused }, Some(front)))
}

/// A drive as MQSim's XML, and what that leaves out or why there is none.
fn for_mqsim(named: &DeviceConfig) -> (Option<String>, Vec<String>) {
    match ssdtune_mqsim::write_device(named) {
        Ok(written) => (Some(written.value), written.notes),
        Err(faults) => (None, faults.0.iter().map(ToString::to_string).collect()),
    }
}

/// What the baseline and a drive endure, by what they do to the target.
fn endurance(task: &Task, training: &SpeedupTable, config: &CheckedConfig) -> [Option<f64>; 2] {
    let rows = [(&training.target.baseline, &task.base), (&training.target.own, config)];
    let writes = |trace: &Trace| trace.characteristics().pattern.write_share > 0.0;
    if !task.target.traces.iter().any(writes) {
        return [None; 2];
    }
    rows.map(|(row, drive)| row.write_amplification.map(|own| endurance_bytes(drive, own)))
}

/// The most evaluations that [`recommend`] asks for beside those that choose the drive, whether
/// they are in memory or not.
///
/// # Errors
/// Those of [`choose`].
pub fn evidence_max(
    task: &Task,
    settings: &Settings,
    found: &Found,
    options: &Options,
    evaluator: &CachedEvaluator,
) -> Result<u64, TuneError> {
    let (Choice { number, .. }, _) = chosen(task, settings, found, options, evaluator)?;
    let best = &found.trials[number];
    let traces = |workloads: &mut dyn Iterator<Item = &Workload>| -> u64 {
        workloads.map(|workload| workload.traces.len() as u64).sum()
    };
    let all = traces(&mut task.workloads());
    let held_out = options.held_out.iter().flatten();
    let base = &found.trials[0].point;
    let changes = task.space.differing(base, &best.point) as u64;
    // Each change taken back, and once more where some went that nothing has tried; each alone
    // beside the drive; all idle ones taken back, and all untried ones; three tables of two drives.
    let target = task.target.traces.len() as u64;
    let mut changed = 3 * changes * target;
    if task.limits.prices.is_some() {
        // Each change may cost more than it brings; then the others are taken back once more.
        changed += changes * all + changes * changes.saturating_sub(1) / 2 * target;
    }
    let whole = options.held_out.iter().flatten().take(1).any(Workload::can_run_whole);
    if evaluator.behind().preparation().is_used() || whole {
        changed += 2 * STATES * target;
    }
    let validation = task.max_harm.iter().flat_map(|harm| &harm.validation);
    let [held_out, validation] =
        [traces(&mut held_out.into_iter()), traces(&mut validation.into_iter())];
    Ok(changed + 8 * all + target + 2 * held_out + 3 * validation)
}

/// What a search with these settings asks.
pub fn question(task: &Task, settings: &Settings, evaluator: &dyn Evaluator) -> Question {
    Question {
        baseline: task.base.name.clone(),
        target: task.target.name.clone(),
        others: task.others.iter().map(|other| other.name.clone()).collect(),
        space: task.space.name.clone(),
        points: task.space.size(),
        limits: task.limits.lines(),
        requests: task.target.traces.iter().map(|trace| trace.requests().len()).sum(),
        initial_state: described(&evaluator.preparation()),
        graded_by: evaluator.graded_by(),
        alpha: task.weights.alpha,
        beta: task.weights.beta,
        max_harm: task.max_harm.as_ref().map(|harm| harm.share),
        settings: settings.clone(),
        outside_tested_range: None,
    }
}

/// Collects the evidence.
struct EvidenceCollector<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    found: &'a Found,
    notes: Vec<String>,
}

impl EvidenceCollector<'_> {
    /// Looks for a change that alone brings most of the gain: then the baseline stumbles over one
    /// setting, which is not what a search is for. The change whose loss is greatest is tried; all
    /// are where the losses do not add up to half of the gain, since each of several would do.
    fn one_change_alone(
        &mut self,
        config: &CheckedConfig,
        importance: &mut [Importance],
    ) -> Result<(), TuneError> {
        let Task { space, base, limits, target, weights, .. } = self.task;
        let Some(best) = space.point(config) else { return Ok(()) };
        let losses: f64 = importance.iter().filter_map(|change| change.loss).sum();
        let whole = self.evaluator.measure_workloads(&[(config, target)])?.swap_remove(0);
        let over =
            |measured: WorkloadMeasurement| measured.speedup_over(&self.found.baseline.target);
        let Ok(whole) = whole.map(over) else { return Ok(()) };
        let gain = weights.performance(&whole);
        let tried = if losses < MOST * gain { importance.len() } else { 1 };
        let mut tried: Vec<&mut Importance> = importance.iter_mut().take(tried).collect();
        let with_one = |change: &Importance| {
            let mut point = self.found.trials[0].point.clone();
            for axis in change.keys.iter().filter_map(|key| space.axis(key)) {
                point.0[axis] = best.0[axis];
            }
            limits.feasible(space, base, &point)
        };
        let drives: Vec<_> = tried.iter().map(|change| with_one(change)).collect();
        let questions: Vec<_> =
            drives.iter().flatten().map(|found| (&found.config, target)).collect();
        let mut answers = self.evaluator.measure_workloads(&questions)?.into_iter();
        for (change, _) in tried.iter_mut().zip(&drives).filter(|(_, drive)| drive.is_some()) {
            let answer = answers.next().and_then(Result::ok);
            change.alone = answer.map(over);
        }
        let share = |alone: &Speedup| weights.performance(alone) / gain;
        let each = tried.iter().filter_map(|change| Some((&change.keys, change.alone.as_ref()?)));
        let most = each.max_by(|a, b| share(a.1).total_cmp(&share(b.1)));
        let is_most = |alone: &Speedup| gain >= SHARED_MIN && share(alone) >= MOST;
        if let Some((keys, alone)) = most.filter(|(_, alone)| is_most(alone)) {
            let with = match keys.len() {
                1 => String::new(),
                _ => format!(" (with what goes along: {})", keys[1..].join(", ")),
            };
            self.notes.push(format!(
                "{}{with} alone brings {:.0} % of the gain: {:.2}x latency and {:.2}x throughput \
                 of {:.2}x and {:.2}x; compare with a baseline that has it",
                keys[0],
                100.0 * share(alone),
                alone.latency,
                alone.throughput,
                whole.latency,
                whole.throughput
            ));
        }
        Ok(())
    }

    /// Speedups of a drive on the workloads of the search.
    fn table(&self, config: &CheckedConfig, care: Care) -> Result<SpeedupTable, TuneError> {
        let mut workloads = vec![&self.task.target];
        workloads.extend(&self.task.others);
        Ok(table(self.evaluator, &self.task.base, config, &workloads, care)?)
    }

    /// Speedups of the best drive for the target alone: the best trial or, where changes that were
    /// taken back had cost something, the recommended drive.
    fn ignoring_others(&self, recommended: &CheckedConfig) -> Result<SpeedupTable, TuneError> {
        let own = self.table(recommended, Care::Search)?;
        let best = self.table(&self.found.best_alone().config, Care::Search)?;
        let [ours, others] =
            [&own, &best].map(|one| self.task.weights.performance(&one.target.speedup));
        Ok(if ours > others { own } else { best })
    }

    /// Adds a note if the drive has flash of which no public source tells every figure.
    fn note_guesses(&mut self, config: &CheckedConfig) {
        let space = &self.task.space;
        let Some(axis) = space.axis(PART).map(|axis| &space.axes()[axis]) else { return };
        let (Some(choice), Some(rank)) = (axis.choice(), axis.rank_in(config)) else { return };
        let part = &choice.alternatives()[usize::from(rank)];
        if !part.guessed().is_empty() {
            self.notes.push(format!(
                "of {} no public source tells {}: these are guesses, and the gain depends on them",
                part.name(),
                part.guessed().join(", ")
            ));
        }
    }

    /// Adds notes on what the figures do not show: those of the search, and those of the verdict.
    fn note_what_to_know(&mut self, aims: &[Aim], training: &SpeedupTable, verdict: &SpeedupTable) {
        if training.target.baseline.average_watts.is_none() {
            self.notes.push("the evaluator counts no energy: no power was limited".to_owned());
        }
        self.notes.extend(not_sold(self.task));
        if self.evaluator.behind().graded_by().both_rules {
            self.notes.push(
                "each speedup is the lesser of two, under the drive's own rules and under \
                 MQSim's; microseconds and MB/s are those of the own rules"
                    .to_owned(),
            );
        }
        let is_of_windows = training.target.interval.as_ref().is_some_and(|own| own.windows > 0);
        if is_of_windows && !self.evaluator.behind().preparation().is_used() {
            self.notes.push(
                "windows of a long trace are served by drives as the trace has left them, not long \
                 in use, and nothing is charged for what they leave undone: `--start steady:0.9 \
                 --requests N` measures the first N requests on used drives"
                    .to_owned(),
            );
        }
        for breach in &self.found.trials[0].breaches {
            self.notes.push(format!("the baseline breaks a limit: {breach}"));
        }
        for row in std::iter::once(&training.target).chain(&training.others) {
            if let Some(busy) = row.baseline.utilisation.filter(|busy| *busy >= SATURATED) {
                self.notes.push(format!(
                    "the baseline is {:.0} % busy ({}) under {}: its ratios are those of a \
                     saturated drive",
                    busy * 100.0,
                    row.baseline.busiest.as_deref().unwrap_or("a part"),
                    row.workload
                ));
            }
        }
        let target = &training.target;
        if let Some(note) = verdict.target.interval.as_ref().and_then(SpeedupInterval::note) {
            self.notes.push(format!("{}: {note}", verdict.target.workload));
        }
        let unseen = &verdict.target;
        self.notes.extend(disagreement(
            (&target.speedup, target.interval.as_ref()),
            (&unseen.speedup, unseen.interval.as_ref()),
        ));
        let worse = |interval: &SpeedupInterval| interval.worse(&target.speedup);
        self.notes.extend(unseen.interval.as_ref().and_then(worse));
        self.notes.extend(front::left_out(aims, &unseen.speedup));
        if target.own.collections == Some(0) && target.baseline.collections == Some(0) {
            self.notes.push(
                "no garbage was collected while requests were served: the run says little about \
                 collection and over-provisioning"
                    .to_owned(),
            );
        }
    }
}

/// What to say of the price of a baseline whose dies are smaller than all of the catalogue: prices
/// count dies, so such a drive seems to be dear, and leaves room for what nobody would pay.
fn not_sold(task: &Task) -> Option<String> {
    let die = |config: &DeviceConfig| {
        let at = config.flash_geometry();
        at.raw_capacity().0 / at.dies().max(1)
    };
    let parts = task.space.axes()[task.space.axis(PART)?].choice()?.alternatives();
    // Those without a source are the baseline's own.
    let sold = parts.iter().filter(|part| !part.source().is_empty());
    let least = sold.map(|part| die(&part.on(&task.base))).min()?;
    let own = die(&task.base);
    (own < least).then(|| {
        format!(
            "the flash of {} has dies of {}, and the smallest part has {}: nobody sells such dies, \
             so the baseline's price means little; compare with a drive that is sold",
            task.base.name,
            Bytes(own),
            Bytes(least)
        )
    })
}

/// A drive whose busiest part is busy for this share of the time counts as saturated: most of its
/// latency is waiting.
const SATURATED: f64 = 0.7;

fn trade(trials: &[Trial]) -> Vec<PowerTrade> {
    let points: Vec<(usize, f64, f64)> = (trials.iter())
        .filter_map(|trial| Some((trial.number, trial.performance?, trial.average_watts?)))
        .collect();
    let beaten = |(number, performance, watts): &(usize, f64, f64)| {
        points.iter().any(|(other, reached, power)| {
            let as_good = reached >= performance && power <= watts;
            as_good && (reached > performance || power < watts || other < number)
        })
    };
    (points.iter())
        .map(|point| PowerTrade {
            number: point.0,
            performance: point.1,
            average_watts: point.2,
            pareto: !beaten(point),
        })
        .collect()
}

fn top(found: &Found, count: usize, refused: &[Refused]) -> Vec<TopConfiguration> {
    let is_refused = |number: usize| refused.iter().any(|refused| refused.number == number);
    let kept = found.ranking.iter().filter(|number| !is_refused(**number));
    let top = kept.take(count).map(|number| &found.trials[*number]);
    top.filter_map(|trial| {
        let (number, toml) = (trial.number, document::write(&trial.config));
        Some(TopConfiguration { number, grade: trial.grade?, target: trial.target?, toml })
    })
    .collect()
}

fn verdicts(trials: &[Trial]) -> Verdicts {
    let mut counts = Verdicts::default();
    for trial in trials.iter().skip(1) {
        *match trial.verdict {
            Verdict::Graded => &mut counts.graded,
            Verdict::Censored => &mut counts.censored,
            Verdict::Raced => &mut counts.raced,
            Verdict::Unfit(_) => &mut counts.unfit,
            Verdict::Harmful => &mut counts.harmful,
            Verdict::OverPower => &mut counts.over_power,
        } += 1;
    }
    counts
}
