//! The record of a search: every trial in order, their ranking, and the best grade after each.

use super::keep::least_broken;
use super::trial::Trial;
use crate::space::Point;
use serde::Serialize;
use std::collections::BTreeSet;

/// The best grade after a trial.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// Evaluations of the target spent until after this trial.
    pub spent: f64,
    /// Requests simulated by this process until after this trial.
    pub requests: u64,
    /// The best grade of this trial and all before it; `None` while none keeps every limit.
    pub best_grade: Option<f64>,
}

/// The trials of a search. The first one is the baseline.
pub(super) struct TrialLog {
    trials: Vec<Trial>,
    curve: Vec<CurvePoint>,
    judged: BTreeSet<Point>,
    /// How many of the best trials make up the top set.
    top: usize,
}

impl TrialLog {
    /// An empty log whose top set has this many trials.
    pub fn new(top: usize) -> Self {
        Self { trials: Vec::new(), curve: Vec::new(), judged: BTreeSet::new(), top }
    }

    /// Numbers a trial and adds it. `spent` and `requests` are what the search has cost so far.
    pub fn add(&mut self, mut trial: Trial, spent: f64, requests: u64) {
        trial.number = self.trials.len();
        self.judged.insert(trial.point.clone());
        self.trials.push(trial);
        let best_grade = self.best().and_then(|best| best.grade);
        self.curve.push(CurvePoint { spent, requests, best_grade });
    }

    /// Every trial, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Whether no trial lies at a point.
    pub fn is_new(&self, point: &Point) -> bool {
        !self.judged.contains(point)
    }

    /// Numbers of the graded trials that keep every limit, best first. Of trials with equal grades
    /// the earlier comes first.
    pub fn ranking(&self) -> Vec<usize> {
        let mut graded: Vec<(f64, usize)> = (self.trials.iter())
            .filter_map(|trial| Some((trial.kept_grade()?, trial.number)))
            .collect();
        graded.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        graded.into_iter().map(|(_, number)| number).collect()
    }

    /// The best trial so far; `None` while none keeps every limit.
    pub fn best(&self) -> Option<&Trial> {
        self.ranking().first().map(|number| &self.trials[*number])
    }

    /// Numbers of the trials that proposals begin from, best first: the top set. While no trial
    /// keeps every limit, it is the one that comes nearest.
    pub fn roots(&self) -> Vec<usize> {
        let mut roots = self.ranking();
        roots.truncate(self.top);
        if roots.is_empty() {
            roots.push(least_broken(&self.trials).map_or(0, |trial| trial.number));
        }
        roots
    }

    /// The best grade so far; minus infinity where there is none.
    pub fn best_grade(&self) -> f64 {
        self.top_grades().first().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The worst grade of the top set; minus infinity where there is none.
    pub fn top_worst(&self) -> f64 {
        self.top_grades().last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The mean grade of the top set.
    pub fn top_mean(&self) -> f64 {
        let grades = self.top_grades();
        grades.iter().sum::<f64>() / grades.len().max(1) as f64
    }

    /// The grades of the top set, best first.
    fn top_grades(&self) -> Vec<f64> {
        let ranking = self.ranking();
        let top = ranking.iter().take(self.top);
        top.filter_map(|number| self.trials[*number].grade).collect()
    }

    /// The trials, the ranking and the curve.
    pub fn into_parts(self) -> (Vec<Trial>, Vec<usize>, Vec<CurvePoint>) {
        let ranking = self.ranking();
        (self.trials, ranking, self.curve)
    }
}
