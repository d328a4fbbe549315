//! A calibration to runs of writes as text for people, and as an HTML page.

use super::{RunErrors, RunPrediction, WriteCalibration};
use ssdtune_report::{Page, Table, Text};

/// How far above the measurement the prediction of a sequential run is at least for the hint.
const HINT_MIN: f64 = 0.03;

impl WriteCalibration {
    /// The errors beside the repeat noise, what was fitted, and every run.
    pub fn text(&self) -> Text {
        let mut text = Text::new();
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Self { drive, base, hold_out, overhead, .. } = self;
        text.line(format_args!("{drive} on the base {base}; held out: {hold_out}"));
        text.line(format_args!(
            "Raw capacity {:.1} GiB for {:.1} GiB that the host sees ({:.2} % spare); written \
             beside the data: a factor of {overhead:.4}",
            gib(self.raw_bytes),
            gib(self.visible_bytes),
            100.0 * self.config.mapping.overprovisioning
        ));
        text.line("")
            .line("Mean absolute errors of write amplification and throughput in percent:");
        text.table(self.errors_table());
        if let Some(noise) = self.noise {
            text.line(format_args!("Repeats of a run are {noise:.1} % from their mean."));
        }
        text.line("").line("Runs, each on the state that the ones above it (one source) left:");
        text.table(self.runs_table());
        if let Some(hint) = self.hint() {
            text.line("").line(hint);
        }
        text
    }

    /// What to try where sequential runs cost less than the state before them would make them cost.
    fn hint(&self) -> Option<String> {
        let is_dear = |one: &&RunPrediction| {
            let is_in_order = one.run.pattern.kind() == "sequential";
            is_in_order && one.error.is_some_and(|error| error > HINT_MIN)
        };
        let count = self.runs.iter().filter(is_dear).count();
        let hint = || {
            format!(
                "{count} sequential runs cost over {:.0} % less than on the state that the runs \
                 before them left. If the drive was sanitised before them, say so: --sanitised \
                 'pattern=sequential'.",
                100.0 * HINT_MIN
            )
        };
        (count > 0).then(hint)
    }

    /// The report as an HTML page, without references to other files.
    pub fn html(&self) -> String {
        let mut page = Page::new(format!("{}, write amplification", self.drive));
        page.list(self.header());
        page.heading("Errors").table(&self.errors_table());
        page.heading("Runs").paragraph(
            "Each begins with the state that the runs above it, of the same source, left. The \
             first one begins with a drive that holds nothing.",
        );
        page.table(&self.runs_table());
        page.heading("The drive").preformatted(&self.drive_file());
        page.to_html()
    }

    fn errors_table(&self) -> Table {
        let mut table = Table::new(["runs of", "which", "runs", "amplification", "MB/s"]);
        for RunErrors { pattern, is_held_out, runs, error, throughput } in &self.errors {
            let which = if *is_held_out { "held out" } else { "fitted" };
            let name = pattern.unwrap_or("all").to_owned();
            let rate = throughput.map_or_else(|| "-".to_owned(), |error| format!("{error:.2}"));
            let cells = [name, which.to_owned(), runs.to_string(), format!("{error:.2}"), rate];
            table.add_row(cells);
        }
        table.align_right(2..);
        table
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
            "MB/s",
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
                cell(run.megabytes_per_second, 0),
                cell(one.predicted_mb_s, 0),
                error(one.error_mb_s),
            ]);
        }
        table.align_right(3..=3);
        table.align_right(5..);
        table
    }
}
