//! The coarse stage: sweeps of one parameter, and changes of two.

use super::{Finding, PruneSettings, Sweep, TargetMeter};
use crate::error::TuneError;
use crate::evaluate::{Measurement, WorkloadMeasurement};
use crate::exercised::{mechanism, never_used};
use crate::space::number;
use ssdtune_experiment::Start;
use ssdtune_model::catalogue::{self, Kind, Legal, Parameter, Value};
use ssdtune_model::{CheckedConfig, DeviceConfig};

/// The values of a sweep, as multiples of the baseline's value.
const FACTORS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// Sections of the catalogue that do not describe hardware: the run itself, energy constants,
/// peculiarities of MQSim.
const NO_HARDWARE: [&str; 3] = ["run.", "energy.", "compat."];

/// Numeric parameters of the hardware.
fn numeric() -> impl Iterator<Item = &'static Parameter> {
    catalogue::parameters().filter(|row| {
        let number = matches!(row.kind, Kind::Continuous | Kind::Discrete);
        number && !NO_HARDWARE.iter().any(|part| row.key.starts_with(part))
    })
}

/// The legal value nearest to `wanted`.
fn legal(row: &Parameter, wanted: f64) -> Value {
    match row.legal {
        Legal::Ints { min, max, step } => {
            let clamped = wanted.clamp(min as f64, max as f64) as u64;
            Value::Int((clamped / step.max(1) * step.max(1)).max(min))
        }
        Legal::Reals { min, max, open } => {
            // An open end itself is not legal, so stay a thousandth of the range away from it.
            let inside = if open { (max - min) * 1e-3 } else { 0.0 };
            Value::Real(wanted.clamp(min + inside, max - inside))
        }
        Legal::Bools | Legal::Names(_) => Value::Real(wanted),
    }
}

/// The baseline with some parameters changed; `None` where it is not a legal drive, or too large.
fn changed(meter: &TargetMeter, moves: &[(&Parameter, Value)]) -> Option<CheckedConfig> {
    let base: &DeviceConfig = &meter.task.base;
    let mut config = base.clone();
    for (row, value) in moves {
        row.set(&mut config, *value).ok()?;
    }
    let start = meter.evaluator.behind().preparation().start;
    let most = PAGES_MAX[usize::from(matches!(start, Start::Sequential(_) | Start::Steady(_)))];
    let most = most * base.geometry().pages();
    config.check().ok().filter(|config| config.geometry().pages() <= most)
}

/// How many times as many pages as the baseline a drive may have: one that holds the footprint, and
/// a used one, which takes memory for all blocks of each plane that is touched. Two parameters of
/// the layout would multiply.
const PAGES_MAX: [u64; 2] = [16, 4];

/// The values of a sweep, the baseline's first.
fn values(row: &Parameter, base: &DeviceConfig) -> Vec<Value> {
    let baseline = number(row.get(base));
    let mut values: Vec<Value> =
        FACTORS.iter().map(|factor| legal(row, baseline * factor)).collect();
    values.dedup();
    values
}

/// Sweeps every numeric parameter.
pub(super) fn sweep(
    meter: &TargetMeter,
    settings: &PruneSettings,
) -> Result<Vec<Sweep>, TuneError> {
    let base: &DeviceConfig = &meter.task.base;
    let rows: Vec<&Parameter> = numeric().collect();
    let mut configs = Vec::new();
    let mut places: Vec<Vec<Option<usize>>> = Vec::new();
    for row in &rows {
        let mut indices = Vec::new();
        let skipped = row.inert(base).is_some() || number(row.get(base)) == 0.0;
        for value in values(row, base).into_iter().skip(1).filter(|_| !skipped) {
            indices.push(changed(meter, &[(row, value)]).map(|config| {
                configs.push(config);
                configs.len() - 1
            }));
        }
        places.push(indices);
    }
    let measured = meter.measure("coarse: sweeping every numeric parameter", &configs)?;
    let all = rows.iter().zip(places).map(|(row, places)| {
        let answers: Vec<Option<&WorkloadMeasurement>> =
            places.iter().map(|place| place.and_then(|place| measured[place].as_ref())).collect();
        sweep_row(meter, settings, row, &answers)
    });
    Ok(all.collect())
}

/// The row of a parameter, from the answers for all values but the baseline's.
fn sweep_row(
    meter: &TargetMeter,
    settings: &PruneSettings,
    row: &Parameter,
    answers: &[Option<&WorkloadMeasurement>],
) -> Sweep {
    let base: &DeviceConfig = &meter.task.base;
    let mut performances = vec![Some(0.0)];
    performances
        .extend(answers.iter().map(|answer| answer.map(|measured| meter.performance(measured))));
    let known: Vec<&Measurement> = answers
        .iter()
        .flatten()
        .flat_map(|measured| measured.traces())
        .chain(meter.baseline.traces())
        .collect();
    let moved = performances.iter().flatten().any(|performance| performance.abs() >= settings.flat);
    let finding = if let Some(reason) = row.inert(base) {
        Finding::NoEffect(reason.to_owned())
    } else if number(row.get(base)) == 0.0 {
        Finding::NotSwept("it is 0 in the baseline".to_owned())
    } else if answers.iter().all(Option::is_none) {
        Finding::NotSwept("no larger value makes a drive that serves the workload".to_owned())
    } else if moved {
        Finding::Sensitive
    } else {
        match mechanism(row.key).filter(|name| never_used(&known, name)) {
            Some(name) => Finding::NotExercised(name.to_owned()),
            None => Finding::Insensitive,
        }
    };
    let swept = if answers.is_empty() { 1 } else { answers.len() + 1 };
    let values = values(row, base).into_iter().take(swept).map(number).collect();
    performances.truncate(swept);
    Sweep { key: row.key.to_owned(), values, performances, finding }
}

/// Whether a switch or a category belongs to a mechanism that the baseline never used. Suspension
/// does not count, because it is these switches that turn it on.
pub(super) fn unexercised(meter: &TargetMeter, key: &str) -> bool {
    let named = catalogue::find(key)
        .is_some_and(|row| matches!(row.kind, Kind::Boolean | Kind::Categorical));
    let known: Vec<&Measurement> = meter.baseline.traces().iter().collect();
    let unused = |name: &&str| *name != "suspension" && never_used(&known, name);
    named && mechanism(key).filter(unused).is_some()
}

/// Changes insensitive parameters two at a time, both to their greatest value, and corrects the
/// findings. Returns the number of pairs tried.
pub(super) fn pairs(
    meter: &TargetMeter,
    settings: &PruneSettings,
    coarse: &mut [Sweep],
) -> Result<usize, TuneError> {
    let base: &DeviceConfig = &meter.task.base;
    let flat: Vec<usize> =
        (0..coarse.len()).filter(|index| coarse[*index].finding == Finding::Insensitive).collect();
    let greatest = |index: usize| {
        let row = catalogue::find(&coarse[index].key)?;
        values(row, base).last().map(|value| (row, *value))
    };
    let (mut configs, mut places) = (Vec::new(), Vec::new());
    for (place, &one) in flat.iter().enumerate() {
        for &two in &flat[place + 1..] {
            let (Some(first), Some(second)) = (greatest(one), greatest(two)) else { continue };
            if let Some(config) = changed(meter, &[first, second]) {
                configs.push(config);
                places.push((one, two));
            }
        }
    }
    let measured = meter.measure("coarse: moving insensitive parameters in pairs", &configs)?;
    for ((one, two), answer) in places.iter().zip(measured) {
        let moved = answer
            .is_some_and(|measured| meter.performance(&measured).abs() >= 2.0 * settings.flat);
        if moved {
            for (index, other) in [(*one, *two), (*two, *one)] {
                if coarse[index].finding == Finding::Insensitive {
                    coarse[index].finding = Finding::SensitiveWith(coarse[other].key.clone());
                }
            }
        }
    }
    Ok(configs.len())
}
