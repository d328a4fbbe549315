//! A calibration to runs of writes as text for people, and as an HTML page.

use super::{FallErrors, FallPrediction, RunPrediction, WriteCalibration};
use crate::calibration::of_unused;
use crate::run::Sample;
use ssdtune_report::{Axis, Chart, Page, Series, Svg, Table, Text};

/// How far above the measurement the prediction of a sequential run is at least for the hint.
const HINT_MIN: f64 = 0.03;

/// How many times later the predicted throughput falls than the measured one at least for the
/// hint.
const SOONER: f64 = 1.5;
/// Samples of a run that are drawn at most; of more, several are one.
const SAMPLES_MAX: usize = 400;
/// Runs that are drawn at most.
const PICTURES_MAX: usize = 60;
/// What the figures of a fall are.
const FALLS: &str = "Throughput over time, in MiB/s: before (while 5 % of the span are written), \
                     after (the median of the last third of the time), the lowest over 5 % of the \
                     span, and when it falls below the middle of before and after for good, \
                     with how well samples tell that:";

impl WriteCalibration {
    /// The errors beside the repeat noise, what was fitted, and every run.
    pub fn text(&self) -> Text {
        let mut text = Text::new();
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Self { drive, base, hold_out, overhead, .. } = self;
        text.line(format_args!("{drive} on the base {base}; held out: {hold_out}"));
        for rule in &self.unused_rules {
            text.line(of_unused(rule));
        }
        text.line(format_args!(
            "Raw capacity {:.1} GiB for {:.1} GiB that the host sees ({:.2} % spare); written \
             beside the data: a factor of {overhead:.4}",
            gib(self.raw_bytes),
            gib(self.visible_bytes),
            100.0 * self.config.mapping.overprovisioning
        ));
        if self.config.controller.write_bandwidth_mbs > 0 {
            let takes = f64::from(self.config.controller.write_bandwidth_mbs) / 1.048_576;
            text.line(format_args!(
                "The drive takes {takes:.0} MiB/s, and its flash programs more."
            ));
        }
        for host in &self.hosts {
            text.line(format_args!("The host sends {host}."));
        }
        text.line("")
            .line("Mean absolute errors in percent, of throughput in the end and of its fall:");
        text.table(self.errors_table());
        if let Some(noise) = self.noise {
            text.line(format_args!("Repeats of a run are {noise:.1} % from their mean."));
        }
        text.line("").line("Runs, each on the state that the ones above it (one source) left:");
        text.table(self.runs_table());
        if let Some(falls) = self.falls_table() {
            text.line("").line(FALLS);
            text.table(falls);
        }
        for hint in self.hints() {
            text.line("").line(hint);
        }
        text
    }

    /// What to try where runs show that they began with another state.
    fn hints(&self) -> Vec<String> {
        let is_dear = |one: &&RunPrediction| {
            let is_in_order = one.run.pattern.kind() == "sequential";
            is_in_order && one.error.is_some_and(|error| error > HINT_MIN)
        };
        let falls_sooner = |one: &&RunPrediction| {
            let passes = |fall: FallPrediction| fall.predicted.passes.zip(fall.measured.passes);
            one.fall.and_then(passes).is_some_and(|(own, real)| own > SOONER * real)
        };
        let dear = self.runs.iter().filter(is_dear).count();
        let sooner = self.runs.iter().filter(falls_sooner).count();
        let is_dear = (dear > 0).then(|| {
            format!(
                "{dear} sequential runs cost over {:.0} % less than on the state that the runs \
                 before them left. If the drive was sanitised before them, say so: --sanitised \
                 'pattern=sequential'.",
                100.0 * HINT_MIN
            )
        });
        let is_sooner = (sooner > 0).then(|| {
            format!(
                "The throughput of {sooner} runs falls much sooner than it would. If their span \
                 was written once in order before them, say so: --filled EXPR, as in --filled \
                 'pattern!=sequential'."
            )
        });
        is_dear.into_iter().chain(is_sooner).collect()
    }

    /// The report as an HTML page, without references to other files.
    pub fn page(&self) -> Page {
        let mut page = Page::new(format!("{}, write amplification", self.drive));
        page.list(self.header());
        page.heading("Errors").table(&self.errors_table());
        page.heading("Runs").paragraph(
            "Each begins with the state that the runs above it, of the same source, left. The \
             first one begins with a drive that holds nothing.",
        );
        page.table(&self.runs_table());
        if let Some(falls) = self.falls_table() {
            page.heading("From a drive with free blocks to the steady state").paragraph(FALLS);
            page.table(&falls);
        }
        for picture in self.runs.iter().filter_map(Self::picture).take(PICTURES_MAX) {
            page.chart(&picture);
        }
        page.heading("The drive").preformatted(&self.drive_file());
        page
    }

    fn errors_table(&self) -> Table {
        let names = [
            "runs of",
            "which",
            "runs",
            "amplification",
            "MiB/s",
            "before",
            "after",
            "lowest",
            "time of fall",
        ];
        let mut table = Table::new(names);
        let cell = |error: Option<f64>| error.map_or("-".to_owned(), |error| format!("{error:.2}"));
        for one in &self.errors {
            let which = if one.is_held_out { "held out" } else { "fitted" };
            let name = one.pattern.unwrap_or("all").to_owned();
            let fall = |of: fn(&FallErrors) -> f64| cell(one.fall.as_ref().map(of));
            table.add_row([
                name,
                which.to_owned(),
                one.runs.to_string(),
                cell(one.error),
                cell(one.throughput),
                fall(|fall| fall.before),
                fall(|fall| fall.after),
                fall(|fall| fall.lowest),
                cell(one.fall.as_ref().and_then(|fall| fall.seconds)),
            ]);
        }
        table.align_right(2..);
        table
    }

    /// How the throughput of each run that was sampled falls.
    fn falls_table(&self) -> Option<Table> {
        let names = [
            "source",
            "run",
            "pattern",
            "GiB",
            "before",
            "error",
            "after",
            "error",
            "lowest",
            "error",
            "falls at s",
            "known to",
            "passes",
            "predicted",
            "error",
        ];
        let mut table = Table::new(names);
        let level = |level: f64| format!("{level:.0}");
        let error = |error: f64| format!("{:+.1} %", 100.0 * error);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let mut is_empty = true;
        for one in &self.runs {
            let (run, Some(fall)) = (&one.run, &one.fall) else { continue };
            is_empty = false;
            let FallPrediction { measured, predicted, .. } = fall;
            table.add_row([
                run.source.clone(),
                run.run.clone(),
                run.pattern.to_string(),
                (run.span_bytes >> 30).to_string(),
                level(measured.before),
                error(fall.error_before),
                level(measured.after),
                error(fall.error_after),
                level(measured.lowest),
                error(fall.error_lowest),
                or_none(measured.seconds.map(level)),
                or_none(measured.known_within.map(|within| format!("+-{within:.0}"))),
                or_none(measured.passes.map(|passes| format!("{passes:.3}"))),
                or_none(predicted.seconds.map(level)),
                or_none(fall.error_seconds.map(error)),
            ]);
        }
        table.align_right(3..);
        (!is_empty).then_some(table)
    }

    /// The throughput of a run over time, measured and predicted.
    fn picture(one: &RunPrediction) -> Option<Svg> {
        let run = &one.run;
        let points = |samples: &[Sample]| {
            let step = samples.len().div_ceil(SAMPLES_MAX).max(1);
            let own = samples.chunks(step).filter_map(|own| {
                let sum: f64 = own.iter().map(|sample| sample.mib_per_second).sum();
                Some((own.last()?.seconds, sum / own.len() as f64))
            });
            own.collect::<Vec<_>>()
        };
        if one.samples.is_empty() {
            return None;
        }
        let (x, y) = (Axis::new("time").in_unit("s"), Axis::new("written").in_unit("MiB/s"));
        let mut chart = Chart::new(format!("{} {}: {}", run.source, run.run, run.pattern), x, y);
        chart.add(Series::line(points(&one.samples)).named("predicted").coloured(0));
        chart.add(Series::line(points(&run.samples)).named("measured").coloured(1));
        Some(chart.to_svg())
    }

    fn runs_table(&self) -> Table {
        let names = [
            "source",
            "run",
            "pattern",
            "GiB",
            "which",
            "measured",
            "predicted",
            "error",
            "MiB/s",
            "predicted",
            "error",
        ];
        let mut table = Table::new(names);
        let cell = |number: Option<f64>, digits: usize| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
        };
        let error = |error: Option<f64>| {
            error.map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", 100.0 * error))
        };
        for one in &self.runs {
            let run = &one.run;
            let which = if one.is_held_out { "held out" } else { "fitted" };
            table.add_row([
                run.source.clone(),
                run.run.clone(),
                run.pattern.to_string(),
                (run.span_bytes >> 30).to_string(),
                which.to_owned(),
                cell(run.write_amplification, 3),
                cell(one.predicted, 3),
                error(one.error),
                cell(run.mib_per_second, 0),
                cell(one.predicted_mib_s, 0),
                error(one.error_mib_s),
            ]);
        }
        table.align_right(3..=3);
        table.align_right(5..);
        table
    }
}
