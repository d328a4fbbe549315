//! Models and reports as text for people.

use super::drive_model::{DrivePrediction, DriveReport};
use super::estimate::{Estimate, Interval};
use super::fit::{FitReport, KindError};
use super::model::{BlackBoxModel, Prediction, Target, WindowErrors};
use super::shape_model::ShapeReport;
use super::windows::{LeftOut, Restored, WindowCheck, WindowsReport};
use ssdtune_learn::metrics::ErrorReport;
use ssdtune_report::{Table, Text};

impl FitReport {
    /// The report as lines and a table. In an open loop the drive serves what is offered, so only
    /// latency is shown.
    pub fn text(&self) -> Text {
        let kind = if self.open { "open loop" } else { "closed loop" };
        let mut text = Text::from(format!(
            "{}, {kind}: learned from {} points, tested on {}",
            self.device, self.trained_on, self.tested_on
        ));
        let mut table = Table::new([
            "model", "target", "from", "MRE", "MAPE", "R2", "p90", "leaves", "fit", "predict",
            "recipe",
        ]);
        let is_shown = |target| !self.open || target == Target::Latency;
        for entry in self.entries.iter().filter(|entry| is_shown(entry.target)) {
            table.add_row([
                entry.model.to_owned(),
                entry.target.name().to_owned(),
                if entry.derived { "latency" } else { "itself" }.to_owned(),
                format!("{:.3}", entry.error.mre),
                format!("{:.1} %", entry.error.mape_percent),
                format!("{:.3}", entry.error.r2),
                format!("{:.3}", entry.error.relative_p90),
                entry.leaves.to_string(),
                format!("{:.2} s", entry.fit_seconds),
                format!("{:.0} ns", entry.predict_ns),
                entry.recipe.clone(),
            ]);
        }
        text.table(table);
        for KindError { model, kind, error } in &self.kinds {
            text.line(format_args!(
                "latency of {kind} by the {model}: MRE {:.3}, R2 {:.3}, {} points",
                error.mre, error.r2, error.count
            ));
        }
        if let Some(shapes) = &self.windows {
            text.text(shapes.text());
        }
        if self.shares_draws {
            text.line(
                "the points tested on share their random draws with those learned from, so errors \
                 look smaller than they are: --test FILE takes points of another seed",
            );
        }
        for coverage in &self.coverage {
            text.line(format_args!(
                "intervals of the {}: {:.1} % of the latencies inside (90 % are meant to be), \
                 upper end {:.2} times the lower",
                coverage.model,
                100.0 * coverage.inside,
                coverage.width
            ));
        }
        let shares =
            self.importance.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
        let shares: Vec<String> = shares.collect();
        text.line(format_args!("what latency depends on: {}", shares.join(", ")));
        text
    }
}

impl DriveReport {
    /// The report as lines and a table.
    pub fn text(&self) -> Text {
        let [learned, tested] = self.divided;
        let mut text = Text::from(format!(
            "{}: the model learns from all {} points; its errors are those of models that learn \
             from {learned} at random and predict the other {tested}, in {} divisions",
            self.device, self.points, self.divisions
        ));
        if !self.others.is_empty() {
            text.line(match &self.like {
                Some(like) => format!("of the other drives it is most like {like}"),
                None => "it is like none of the other drives".to_owned(),
            });
        }
        let mut table =
            Table::new(["model", "target", "MRE", "least to greatest", "median error", "R2"]);
        for entry in &self.entries {
            let [least, most] = entry.mre_range.map(|error| 100.0 * error);
            table.add_row([
                entry.model.to_owned(),
                entry.target.name().to_owned(),
                format!("{:.1} %", 100.0 * entry.mre),
                format!("{least:.1} to {most:.1} %"),
                format!("{:.1} %", 100.0 * entry.relative_p50),
                format!("{:.3}", entry.r2),
            ]);
        }
        table.align_right(2..);
        text.table(table);
        match (self.inside, self.width) {
            (Some(inside), Some(width)) => text.line(format_args!(
                "intervals hold {:.1} % of the latencies not learned from (90 % are meant to be \
                 inside), upper end {width:.2} times the lower",
                100.0 * inside
            )),
            _ => text.line("points are too few for intervals"),
        };
        text.line(format_args!(
            "learned in {:.3} s, {:.0} ns a prediction",
            self.fit_seconds, self.predict_ns
        ));
        text
    }
}

impl DrivePrediction {
    /// The prediction in lines.
    pub fn text(&self) -> Text {
        let Self { latency, iops, bandwidth, .. } = self;
        let all = Target::ALL.into_iter().zip([latency, iops, bandwidth]);
        let mut text = Text::default();
        for (target, Estimate { value, interval }) in all {
            let (name, value) = (target.name(), target.text(*value));
            let known = interval.map_or_else(
                || "how far off is not known".to_owned(),
                |Interval { low, high }| {
                    format!("90 % interval {} to {}", target.text(low), target.text(high))
                },
            );
            text.line(format_args!("{name} {value}, {known}"));
        }
        text
    }
}

impl ShapeReport {
    fn text(&self) -> Text {
        let error = |(depth, error): (&u32, &ErrorReport)| {
            format!("{:.3} at depth {depth} ({} workloads)", error.mre, error.count)
        };
        let errors: Vec<String> = self.errors.iter().map(error).collect();
        Text::from(format!(
            "latency of windows: learned from {} measurements of random workloads in {:.1} s, \
             {:.0} us a prediction; MRE on others of the kind {}",
            self.trained_on,
            self.fit_seconds,
            self.predict_ns / 1e3,
            errors.join(", ")
        ))
    }
}

impl WindowsReport {
    /// The report as a table of the windows and a line about all of them.
    pub fn text(&self) -> Text {
        let mut table =
            Table::new(["trace", "window", "depth", "simulated", "stronger", "tree", ""]);
        let latency = |ns| Target::Latency.text(ns);
        for line in &self.lines {
            table.add_row([
                line.trace.clone(),
                line.window.to_string(),
                line.depth.map_or_else(|| "open".to_owned(), |depth| depth.to_string()),
                latency(line.latency_ns),
                latency(line.strong_ns),
                latency(line.tree_ns),
                line.notes(),
            ]);
        }
        let mut text = Text::from(table);
        text.line(format_args!(
            "{} windows, latency: MRE {:.3} (median {:.3}) for the stronger model, {:.3} (median \
             {:.3}) for the tree; {} outside the training range",
            self.windows,
            self.stronger.mre,
            self.stronger.relative_p50,
            self.tree.mre,
            self.tree.relative_p50,
            self.outside_training
        ));
        if let Some(points) = &self.points {
            text.line(format_args!(
                "the stronger model is that of windows; that of points: MRE {:.3} (median {:.3})",
                points.mre, points.relative_p50
            ));
        }
        match (self.inside_intervals, &self.calibrated) {
            (_, Some(errors)) => text.text(errors.text(self.left_out.as_ref())),
            (Some(inside), None) => text.line(format_args!(
                "{:.0} % of the latencies are inside their intervals (90 % are meant to be)",
                100.0 * inside
            )),
            (None, None) => text.line(
                "the model has no intervals for windows: --calibrate FILE writes it with them",
            ),
        };
        let restored = || self.lines.iter().filter_map(|line| line.restored);
        let collect = restored().filter(|own| own.collects).count();
        let late = restored().filter(|own| own.is_late).count();
        if collect > 0 {
            text.line(format_args!(
                "{collect} windows collect, where a restored drive has been 1 to 8 % off"
            ));
        }
        if late > 0 {
            text.line(format_args!(
                "{late} windows are late: before them requests may have waited, or a write buffer \
                 filled, which the simulated figures leave out"
            ));
        }
        text
    }
}

impl WindowCheck {
    /// What must be known before its line is believed.
    fn notes(&self) -> String {
        let restored = |is: fn(&Restored) -> bool| self.restored.as_ref().is_some_and(is);
        let notes = [
            (self.warnings > 0, "outside training"),
            (restored(|own| own.collects), "collects"),
            (restored(|own| own.is_late), "late"),
        ];
        let said: Vec<&str> = notes.iter().filter(|own| own.0).map(|own| own.1).collect();
        said.join(", ")
    }
}

impl BlackBoxModel {
    /// A prediction as a table of all targets, and the way through the tree to the latency.
    pub fn text(&self, prediction: &Prediction) -> Text {
        let mut table = Table::new(["", "stronger model", "9 in 10", "tree", "9 in 10"]);
        for (at, target) in Target::ALL.into_iter().enumerate() {
            let (strong, tree) = (&prediction.strong[at], &prediction.tree[at]);
            table.add_row([
                target.name().to_owned(),
                target.text(strong.value),
                interval(target, strong),
                target.text(tree.value),
                interval(target, tree),
            ]);
        }
        let mut text = Text::from(table);
        text.line("the tree's way to the latency (ns):");
        for line in self.explain(Target::Latency, &prediction.workload) {
            text.line(format_args!("  {line}"));
        }
        text
    }
}

impl Prediction {
    /// Of all warnings, one for each characteristic.
    pub fn examples(predictions: &[Self]) -> Vec<&str> {
        let all = predictions.iter().flat_map(|one| &one.warnings);
        let mut warnings: Vec<&str> = all.map(String::as_str).collect();
        warnings.sort_unstable();
        warnings.dedup_by_key(|warning| warning.split(" = ").next());
        warnings
    }

    /// Predictions of windows, in their order, as a table.
    pub fn table(predictions: &[Self]) -> Table {
        let headings = ["window", "writes", "latency", "9 in 10", "IOPS", "bandwidth", ""];
        let mut table = Table::new(headings);
        for (place, prediction) in predictions.iter().enumerate() {
            let [latency, iops, bandwidth] = &prediction.strong;
            let note = if prediction.warnings.is_empty() { "" } else { "outside training" };
            table.add_row([
                (place + 1).to_string(),
                format!("{:.0} %", 100.0 * prediction.workload.extended.rw_ratio),
                Target::Latency.text(latency.value),
                interval(Target::Latency, latency),
                Target::Iops.text(iops.value),
                Target::Bandwidth.text(bandwidth.value),
                note.to_owned(),
            ]);
        }
        table
    }
}

fn interval(target: Target, estimate: &Estimate) -> String {
    let text = |Interval { low, high }| format!("{} to {}", target.text(low), target.text(high));
    estimate.interval.map_or_else(|| "not known".to_owned(), text)
}

impl WindowErrors {
    /// What intervals of windows are from now on, and how they do on traces left out.
    fn text(&self, left_out: Option<&LeftOut>) -> Text {
        let mut text = Text::from(format!(
            "from {} windows of {} traces: nine times in ten the latency of a window of another \
             trace is within a factor of {:.2} of the stronger model, {:.2} of the tree",
            self.windows,
            self.traces.len(),
            self.strong_factor,
            self.tree_factor
        ));
        if let Some(LeftOut { inside, inside_least, width }) = left_out {
            text.line(format_args!(
                "each trace by intervals of the others: {:.0} % inside in the mean, {:.0} % of the \
                 worst trace, upper end {width:.1} times the lower",
                100.0 * inside,
                100.0 * inside_least
            ));
        }
        text
    }
}
