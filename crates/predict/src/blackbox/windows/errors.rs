//! From windows that were compared to intervals for windows of other traces.
//!
//! An error is the size of the logarithm of truth over prediction. Windows of one trace are alike,
//! so a trace and not a window is what is drawn: each counts alike, and the trace to come counts as
//! one more ([`conformal::quantile_of_groups`]). That promises 90 % of windows in the mean over
//! traces like these. It promises nothing of a trace of another kind, and not 90 % of each one.

use super::{WindowCheck, WindowsReport};
use crate::blackbox::conformal;
use crate::blackbox::model::{BlackBoxModel, COVERAGE, WindowErrors};
use serde::Serialize;
use std::collections::BTreeMap;

/// The traces are too few to say how far off a model is on those to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given} traces with windows: an interval that holds nine times in ten on another trace is \
     known from {least} traces or more"
)]
pub struct TooFewTraces {
    /// How many traces have windows.
    pub given: usize,
    /// How many are needed.
    pub least: usize,
}

/// How intervals do on windows of a trace that they do not know: each trace is left out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The share of windows inside, in the mean over traces, 0 to 1; 0.9 is promised.
    pub inside: f64,
    /// The least share of any trace.
    pub inside_least: f64,
    /// The upper end of an interval over its lower end, in the mean over traces.
    pub width: f64,
}

impl WindowsReport {
    /// The errors of all windows, trace by trace; `of` says which prediction.
    fn errors(&self, of: fn(&WindowCheck) -> f64) -> BTreeMap<&str, Vec<f64>> {
        let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for line in &self.lines {
            let error = (line.latency_ns / of(line)).ln().abs();
            errors.entry(&line.trace).or_default().push(error);
        }
        errors
    }

    /// Gives the model the intervals for windows of other traces that follow from those compared,
    /// and notes them in the report.
    ///
    /// # Errors
    /// There are too few traces.
    pub fn calibrate(&mut self, model: &mut BlackBoxModel) -> Result<(), TooFewTraces> {
        self.calibrated = Some(self.window_errors()?);
        self.left_out = self.left_out().ok();
        model.windows.clone_from(&self.calibrated);
        Ok(())
    }

    /// What the windows say of how far off the model is on windows of other traces.
    fn window_errors(&self) -> Result<WindowErrors, TooFewTraces> {
        let strong = self.errors(|line| line.strong_ns);
        let tree = self.errors(|line| line.tree_ns);
        let factor = |errors: &BTreeMap<&str, Vec<f64>>| {
            let most = conformal::quantile_of_groups(errors.values().map(Vec::as_slice), COVERAGE);
            let least = conformal::groups_min(COVERAGE);
            most.map(f64::exp).ok_or(TooFewTraces { given: errors.len(), least })
        };
        let mut depths: Vec<u32> = self.lines.iter().filter_map(|line| line.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        Ok(WindowErrors {
            traces: strong.keys().map(|&name| name.to_owned()).collect(),
            windows: self.windows,
            depths,
            strong_factor: factor(&strong)?,
            tree_factor: factor(&tree)?,
        })
    }

    /// How the stronger regressor's intervals do on each trace, made from all others.
    fn left_out(&self) -> Result<LeftOut, TooFewTraces> {
        let errors = self.errors(|line| line.strong_ns);
        let given = errors.len();
        let (mut inside, mut inside_least, mut width) = (0.0, 1.0f64, 0.0);
        for (name, own) in &errors {
            let others = errors.iter().filter(|other| other.0 != name);
            let others = others.map(|(_, errors)| errors.as_slice());
            let Some(most) = conformal::quantile_of_groups(others, COVERAGE) else {
                return Err(TooFewTraces { given, least: conformal::groups_min(COVERAGE) + 1 });
            };
            let held = own.iter().filter(|error| **error <= most).count() as f64;
            let share = held / own.len() as f64;
            (inside, inside_least) = (inside + share, inside_least.min(share));
            width += (2.0 * most).exp();
        }
        let traces = given.max(1) as f64;
        Ok(LeftOut { inside: inside / traces, inside_least, width: width / traces })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of `traces` traces: window `w` of trace `t` is off by a factor of 1 + t / 10.
    fn report(traces: usize) -> WindowsReport {
        let line = |trace: usize, window: usize| WindowCheck {
            trace: format!("t{trace:02}"),
            window,
            depth: Some(if window.is_multiple_of(2) { 1 } else { 16 }),
            latency_ns: 1_000.0 * (1.0 + trace as f64 / 10.0),
            strong_ns: 1_000.0,
            points_ns: None,
            tree_ns: 1_000.0 * (1.0 + trace as f64 / 10.0),
            inside_interval: None,
            warnings: 0,
            restored: None,
        };
        let windows = |trace| (1..=trace + 1).map(move |window| line(trace, window));
        WindowsReport::of((0..traces).flat_map(windows).collect()).unwrap()
    }

    #[test]
    fn nine_traces_or_more_say_how_far_off_a_model_is() {
        let few = report(8);
        assert_eq!(few.window_errors(), Err(TooFewTraces { given: 8, least: 9 }));
        let nine = report(9);
        let errors = nine.window_errors().unwrap();
        // The widest of nine, as the tenth may be any of them.
        assert!((errors.strong_factor - 1.8).abs() < 1e-9, "{errors:?}");
        assert!((errors.tree_factor - 1.0).abs() < 1e-9, "{errors:?}");
        assert_eq!((errors.traces.len(), errors.windows), (9, 45));
        assert_eq!(errors.depths, [1, 16]);
        assert_eq!(nine.left_out(), Err(TooFewTraces { given: 9, least: 10 }));
    }

    /// The worst trace is outside of what the others say, and no other one is.
    #[test]
    fn a_trace_that_is_left_out_is_not_known() {
        let found = report(10).left_out().unwrap();
        assert!((found.inside - 0.9).abs() < 1e-9, "{found:?}");
        assert_eq!(found.inside_least, 0.0);
        let width = (9.0 * 1.9f64.powi(2) + 1.8f64.powi(2)) / 10.0;
        assert!((found.width - width).abs() < 1e-9, "{found:?}");
    }
}
