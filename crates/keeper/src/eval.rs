//! How good a policy is on labelled mixes.
//!
//! The paper counts how often the predicted strategy is the label. Where several strategies are as good as equal that
//! says little, so beside it stand the accuracy that accepts anything within [`TIE`] of the best, and what a
//! user pays: regret, the predicted strategy's total latency over the best one's. Of a strategy that was given up
//! in its race (at least 12 % behind) the ratio is that at which it was given up.

use crate::features::Seen;
use crate::labels::Row;
use crate::policy::Policy;
use crate::strategy::Strategy;
use serde::Serialize;

/// As good as the best.
pub const TIE: f64 = 0.01;

/// What it may be worse by than leaving everything shared.
pub const HARMLESS: f64 = 0.02;

/// Figures over some mixes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// How many mixes.
    pub mixes: usize,
    /// Share whose prediction is the label.
    pub accuracy: f64,
    /// Share whose prediction is within [`TIE`] of the best.
    pub tie_accuracy: f64,
    /// Mean of the total over the best total, less 1.
    pub regret_mean: f64,
    /// Of 99 % of the mixes it is not more.
    pub regret_p99: f64,
    /// The worst.
    pub regret_max: f64,
    /// Mean regret of leaving everything shared.
    pub shared_regret_mean: f64,
    /// The most that a prediction is worse than leaving everything shared, as a share of that.
    pub above_shared_max: f64,
    /// Share of mixes in which it is more than [`HARMLESS`] worse.
    pub above_shared_share: f64,
    /// What it is worse by beyond that, in the mean over all mixes.
    pub harm_mean: f64,
    /// Share of mixes in which it leaves everything shared.
    pub shared_share: f64,
}

/// Judges a policy.
pub fn score(policy: &Policy, rows: &[&Row]) -> Score {
    let mut scratch = policy.scratch();
    let choose =
        |row: &&Row| policy.choose(&Seen::new(&row.seen, policy.intensity), &mut scratch).strategy;
    let chosen: Vec<Strategy> = rows.iter().map(choose).collect();
    of_choices(rows, &chosen)
}

/// Judges what was chosen for each mix.
pub fn of_choices(rows: &[&Row], chosen: &[Strategy]) -> Score {
    let count = rows.len().max(1) as f64;
    let ratio = |row: &Row, strategy: &Strategy| row.ratio(strategy).unwrap_or(f64::INFINITY);
    let pairs = || rows.iter().zip(chosen);
    let share = |hits: usize| hits as f64 / count;
    let mut regrets: Vec<f64> = pairs().map(|(row, strategy)| ratio(row, strategy) - 1.0).collect();
    let shared: Vec<f64> = rows.iter().map(|row| ratio(row, &Strategy::Shared)).collect();
    let above: Vec<f64> =
        regrets.iter().zip(&shared).map(|(own, shared)| (1.0 + own) / shared - 1.0).collect();
    let score = Score {
        mixes: rows.len(),
        accuracy: share(pairs().filter(|(row, s)| row.best().strategy == **s).count()),
        tie_accuracy: share(regrets.iter().filter(|regret| **regret <= TIE).count()),
        regret_mean: regrets.iter().sum::<f64>() / count,
        regret_p99: 0.0,
        regret_max: regrets.iter().copied().fold(0.0, f64::max),
        shared_regret_mean: shared.iter().sum::<f64>() / count - 1.0,
        above_shared_max: above.iter().copied().fold(0.0, f64::max),
        above_shared_share: share(above.iter().filter(|above| **above > HARMLESS).count()),
        harm_mean: above.iter().map(|above| (above - HARMLESS).max(0.0)).sum::<f64>() / count,
        shared_share: share(chosen.iter().filter(|s| **s == Strategy::Shared).count()),
    };
    regrets.sort_by(f64::total_cmp);
    // Nearest rank.
    let rank = ((0.99 * count).ceil() as usize).clamp(1, regrets.len().max(1)) - 1;
    Score { regret_p99: regrets.get(rank).copied().unwrap_or(0.0), ..score }
}
