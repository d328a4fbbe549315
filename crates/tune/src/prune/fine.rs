//! The fine stage: Ridge regression over random configurations that keep the limits.

use super::{Coefficient, Finding, PruneSettings, Sweep, TargetMeter, coarse};
use crate::error::TuneError;
use crate::moves::Moves;
use crate::random::stream;
use crate::space::Space;
use ndarray::{Array1, Array2};
use ssdtune_learn::ridge::RidgeParams;

/// The fine table, and how well the regression fits.
pub(super) struct Fine {
    /// One row for each parameter, greatest absolute coefficient first.
    pub table: Vec<Coefficient>,
    /// The number of samples, the baseline included.
    pub samples: usize,
    /// The share of the variance that the regression explains.
    pub r_squared: f64,
}

/// The number of attempts at one random configuration.
const DRAWS: usize = 20;

/// Whether a parameter may matter after the coarse stage.
fn stays(coarse: &[Sweep], key: &str) -> bool {
    let found = coarse.iter().find(|sweep| sweep.key == key);
    !found.is_some_and(|sweep| {
        matches!(
            sweep.finding,
            Finding::Insensitive | Finding::NotExercised(_) | Finding::NoEffect(_)
        )
    })
}

/// Measures random configurations and fits the regression.
pub(super) fn regress(
    meter: &TargetMeter,
    settings: &PruneSettings,
    swept: &[Sweep],
) -> Result<Fine, TuneError> {
    let task = meter.task;
    let kept: Space = task.space.only(|key| stays(swept, key) && !coarse::unexercised(meter, key));
    let base = kept.point(&task.base).ok_or(TuneError::Space)?;
    let moves = Moves::new(&kept, &task.limits, &task.base, &base);
    let drawn = (0..settings.samples as u64).filter_map(|sample| {
        let mut rng = stream(settings.seed, u64::MAX, sample);
        (0..DRAWS).find_map(|_| moves.anywhere(&mut rng))
    });
    let drawn: Vec<_> = drawn.collect();
    let configs: Vec<_> = drawn.iter().map(|found| found.config.clone()).collect();
    let measured = meter.measure("fine: measuring drawn configurations", &configs)?;
    let mut rows = vec![(kept.encode(&base), 0.0)];
    for (found, answer) in drawn.iter().zip(&measured) {
        if let Some(answer) = answer {
            rows.push((kept.encode(&found.point), meter.performance(answer)));
        }
    }
    let width = kept.columns();
    let failed = |error: &dyn std::fmt::Display| TuneError::Surrogate(error.to_string());
    let cells: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().copied()).collect();
    let x = Array2::from_shape_vec((rows.len(), width), cells).map_err(|error| failed(&error))?;
    let y: Array1<f64> = rows.iter().map(|(_, performance)| *performance).collect();
    let model = RidgeParams::new(settings.penalty)
        .fit(x.view(), y.view())
        .map_err(|error| failed(&error))?;
    let predicted = model.predict(x.view()).map_err(|error| failed(&error))?;
    let mut columns = model.coefficients().iter();
    let mut table: Vec<Coefficient> = kept
        .axes()
        .iter()
        .zip(kept.widths())
        .map(|(axis, width)| {
            let coefficients: Vec<f64> = columns.by_ref().take(width).copied().collect();
            let greatest = coefficients.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            let coefficient = greatest.unwrap_or(0.0);
            let kept = coefficient.abs() >= settings.threshold;
            Coefficient { key: axis.key().to_owned(), coefficient, kept }
        })
        .collect();
    table.sort_by(|a, b| b.coefficient.abs().total_cmp(&a.coefficient.abs()));
    let mean = y.sum() / y.len() as f64;
    let total: f64 = y.iter().map(|value| (value - mean) * (value - mean)).sum();
    let left: f64 =
        y.iter().zip(&predicted).map(|(value, said)| (value - said) * (value - said)).sum();
    let r_squared = if total > 0.0 { 1.0 - left / total } else { 0.0 };
    Ok(Fine { table, samples: rows.len(), r_squared })
}
