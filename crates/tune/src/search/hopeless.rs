//! A filter that discards hopeless proposals before they are simulated.
//!
//! A [`Forecast`] learns to predict the performance (formula 1) of drives from what AutoDB knew
//! when the search began ([`crate::memory::training_examples`]). A proposal is *hopeless* if its
//! highest likely grade, on the target and the other workloads together, does not reach the worst
//! grade of the top set. The paper has this rule for leaving out the other workloads; here it is
//! applied before the target is run.
//!
//! A discarded proposal costs as much of the budget as if it had run, so the filter makes a search
//! cheaper and not longer. It has no performance and no grade, and no surrogate learns from it.
//!
//! The forecast may be wrong about drives unlike those it knows, so every tenth hopeless proposal
//! is run nevertheless. Measurements of the running search are learned too, from time to time. With
//! too few examples at the start, nothing is discarded during the whole search.
//!
//! Proposals that are made in order to learn are not filtered: the sensitivity runs of the default
//! algorithm, and all proposals of the paper's algorithm. Without bad drives among its trials a
//! search knows its axes less well and ends at lower grades (docs/results/search.md).
//!
//! One thread decides, in the order of proposals, from examples that were stored when the search
//! began and from trials of finished batches. So threads and interruptions change nothing.
//!
//! Cost: six fits of about 100 ms at the start, and one whenever a tenth more is known; some
//! microseconds for a prediction.

mod forecast;
#[cfg(test)]
mod tests;

use super::settings::{Algorithm, Settings};
use super::trial::{Proposal, Trial};
use crate::error::TuneError;
use crate::memory::{Digest, TrainingExample};
use crate::task::Task;
use crate::workload::Workload;
use forecast::Forecast;
use serde::{Deserialize, Serialize};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeSet;

/// The least number of training examples with which the filter of hopeless proposals works.
pub const EXAMPLES_MIN: usize = 100;
/// The greatest number of training examples that the filter of hopeless proposals learns from, so
/// that a fit stays below a second.
pub const EXAMPLES_MAX: usize = 1_500;
/// One in this number of hopeless proposals is run to check the prediction.
const CHECKED_EACH: usize = 10;

/// What the filter of hopeless proposals did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardReport {
    /// The number of stored evaluations that the filter has learned from.
    #[serde(rename = "lessons")]
    pub examples: usize,
    /// Why the filter discards nothing; `None` where it works.
    pub idle: Option<String>,
    /// The number of proposals discarded.
    pub discarded: usize,
    /// The number of hopeless proposals that were run to check the prediction.
    pub checked: usize,
    /// The number of checked proposals that beat the worst grade of the top set.
    pub wrong: usize,
}

/// Proposals, divided into those to run and those to discard.
pub(super) struct Sifted {
    /// Proposals to run.
    pub kept: Vec<Proposal>,
    /// Hopeless proposals, each with its highest likely grade.
    pub discarded: Vec<(Proposal, f64)>,
}

/// The filter of hopeless proposals.
pub(super) struct HopelessFilter {
    forecast: Option<Forecast>,
    report: DiscardReport,
}

impl HopelessFilter {
    /// A filter that has learned from examples.
    pub fn new(
        task: &Task,
        settings: &Settings,
        examples: &[TrainingExample],
    ) -> Result<Self, TuneError> {
        let mut report = DiscardReport { examples: examples.len(), ..DiscardReport::default() };
        let traces: BTreeSet<Digest> = examples.iter().map(|example| example.trace).collect();
        report.idle = if settings.algorithm == Algorithm::Autoblox {
            Some("autoblox proposes what it is unsure of, to learn from it".to_owned())
        } else if examples.len() < EXAMPLES_MIN || traces.len() < 2 {
            Some(format!(
                "AutoDB holds {} evaluations of drives like these, on {} traces; {EXAMPLES_MIN} on \
                 at least 2 are needed",
                examples.len(),
                traces.len()
            ))
        } else {
            None
        };
        let forecast = match report.idle {
            Some(_) => None,
            None => Some(Forecast::learn(task, examples, &traces, settings.seed)?),
        };
        Ok(Self { forecast, report })
    }

    /// What the filter did.
    pub fn into_report(self) -> DiscardReport {
        self.report
    }

    /// Divides proposals into those to run and those that will hardly reach the grade `worst`.
    pub fn sift(
        &mut self,
        task: &Task,
        proposals: Vec<Proposal>,
        worst: f64,
    ) -> Result<Sifted, TuneError> {
        let mut sifted = Sifted { kept: Vec::new(), discarded: Vec::new() };
        if let Some(forecast) = &mut self.forecast {
            forecast.refresh()?;
        }
        for mut proposal in proposals {
            let bound = self.bound(task, &proposal.config).filter(|bound| *bound < worst);
            match bound {
                None => sifted.kept.push(proposal),
                Some(_) if self.is_next_checked() => {
                    self.report.checked += 1;
                    proposal.predicted_below = Some(worst);
                    sifted.kept.push(proposal);
                }
                Some(bound) => {
                    self.report.discarded += 1;
                    sifted.discarded.push((proposal, bound));
                }
            }
        }
        Ok(sifted)
    }

    /// The highest likely grade of a drive; `None` where the filter does not work.
    fn bound(&self, task: &Task, config: &DeviceConfig) -> Option<f64> {
        let forecast = self.forecast.as_ref()?;
        let highest = |workload: &Workload| forecast.highest(task, config, workload);
        let others: Vec<f64> = task.others.iter().map(highest).collect();
        Some(task.weights.grade(highest(&task.target), &others))
    }

    /// Whether the next hopeless proposal is to be run, to check the prediction.
    fn is_next_checked(&self) -> bool {
        let hopeless = self.report.discarded + self.report.checked;
        hopeless % CHECKED_EACH == CHECKED_EACH - 1
    }

    /// Learns the performances (formula 1) of drives on a workload.
    pub fn learn<'a>(
        &mut self,
        task: &Task,
        workload: &Workload,
        known: impl IntoIterator<Item = (&'a DeviceConfig, f64)>,
    ) {
        if let Some(forecast) = &mut self.forecast {
            for (config, performance) in known {
                forecast.note(task, config, workload, performance);
            }
        }
    }

    /// Counts a trial whose grade is above the one it was predicted not to reach.
    pub fn count_if_wrong(&mut self, trial: &Trial, predicted_below: Option<f64>) {
        if trial.kept_grade().zip(predicted_below).is_some_and(|(grade, bound)| grade > bound) {
            self.report.wrong += 1;
        }
    }
}
