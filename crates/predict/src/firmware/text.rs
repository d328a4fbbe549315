//! Fits and predictions of firmware time as text for people.

use super::fit::{
    Figures, FirmwareProvenance, FitReport, Gain, Judgement, PredictedGroup, PredictionErrors,
    WorkloadError, percentile_99,
};
use ssdtune_report::{Table, Text};

impl FitReport {
    /// The report as lines and tables, with what the model's provenance says of host and target.
    pub fn text(&self, provenance: &FirmwareProvenance) -> Text {
        let host = &provenance.host;
        let mut text = Text::from(format!("target: {}", provenance.target_label()));
        text.line(format_args!("host:   {}", host.time.label(&host.machine)));
        text.line(format_args!(
            "{} groups; the target takes {:.2} to {:.2} times as long as the host, correlation \
             {:.3}",
            self.records, self.ratio.0, self.ratio.1, self.host_correlation
        ));
        text.line(format_args!(
            "one run is off its median by {:.1} % on the target and {:.1} % on the host; {:.1} % \
             remain in the target's medians",
            100.0 * self.target_noise,
            100.0 * self.host_noise,
            100.0 * self.target_floor
        ));
        for (name, shape) in &self.networks {
            text.line(format_args!("{name}: {shape}"));
        }
        text.table(self.overview());
        if let Some(table) = self.seeds() {
            text.line("networks seed by seed: mean (least to most) of the errors in %");
            text.table(table);
        }
        text.line(
            "gain over one factor, `scaled host`, in points of %: mean and the 95 % interval over \
             workloads; undecided if that holds 0",
        );
        text.table(self.gains());
        let shown = self.shown();
        text.line("average, error in %");
        text.table(by_workload(&shown, |one| one.average_percent));
        text.line("99th percentile, error in %");
        text.table(by_workload(&shown, |one| one.p99_percent));
        text.line("firmware's share of firmware and flash time, the host's pages alone, in %");
        text.table(self.shares());
        text.table(self.events());
        text.line(format_args!("best on unseen workloads: {}", self.best));
        text
    }

    /// The errors of every learner on all workloads together.
    fn overview(&self) -> Table {
        let mut table = Table::new([
            "model",
            "average",
            "worst",
            "p99",
            "worst",
            "groups",
            "off",
            "of",
            "+NAND average",
            "+NAND p99",
            "+NAND off",
            "of",
        ]);
        let off = |errors: &PredictionErrors| {
            [format!("{:.4} s", errors.off_seconds), format!("{:.3} s", errors.seconds)]
        };
        for one in &self.judgements {
            let (plain, nand) = (&one.plain, &one.with_nand);
            let percents = [
                plain.average_percent,
                plain.average_percent_max,
                plain.p99_percent,
                plain.p99_percent_max,
                plain.group_percent,
            ];
            let with_nand = [nand.average_percent, nand.p99_percent];
            let mut row = vec![one.learner.clone()];
            row.extend(percents.map(|value| format!("{value:.1} %")));
            row.extend(off(plain));
            row.extend(with_nand.map(|value| format!("{value:.2} %")));
            row.extend(off(nand));
            table.add_row(row);
        }
        table
    }

    /// The errors of networks over the seeds that they were trained with; `None` without networks.
    fn seeds(&self) -> Option<Table> {
        let mut table =
            Table::new(["model", "seeds", "average", "p99", "+NAND average", "+NAND p99"]);
        let mut seeded = self.judgements.iter().filter(|one| !one.seeds.is_empty()).peekable();
        seeded.peek()?;
        for one in seeded {
            let cell = |of: fn(&Figures) -> f64| {
                let values: Vec<f64> = one.seeds.iter().map(of).collect();
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high = values.iter().copied().fold(0.0, f64::max);
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                format!("{mean:.1} ({low:.1} to {high:.1})")
            };
            table.add_row([
                one.learner.clone(),
                one.seeds.len().to_string(),
                cell(|one| one.average_percent),
                cell(|one| one.p99_percent),
                cell(|one| one.average_with_nand_percent),
                cell(|one| one.p99_with_nand_percent),
            ]);
        }
        Some(table)
    }

    /// What every learner gains over one factor.
    fn gains(&self) -> Table {
        let mut table = Table::new(["model", "average", "p99", "+NAND average", "+NAND p99"]);
        for one in &self.judgements {
            let Some(gains) = &one.gains else { continue };
            let each = [gains.average, gains.p99, gains.average_with_nand, gains.p99_with_nand];
            let cells = each.iter().map(Gain::text);
            table.add_row(std::iter::once(one.learner.clone()).chain(cells).collect::<Vec<_>>());
        }
        table
    }

    /// The learners that are shown workload by workload.
    fn shown(&self) -> Vec<&Judgement> {
        let mut shown: Vec<&Judgement> = Vec::new();
        for name in [
            "scaled host",
            "linear",
            "costs",
            "costs + residual",
            "dnn",
            "rate dnn",
            self.best.as_str(),
            "counts",
        ] {
            let is_shown = shown.iter().any(|one| one.learner == name);
            let found = self.judgements.iter().find(|one| one.learner == name);
            shown.extend(found.filter(|_| !is_shown));
        }
        shown
    }

    /// The shares of firmware, as in Fig. 1.
    fn shares(&self) -> Table {
        let mut table = Table::new(["workload", "NAND", "Z-NAND"]);
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let (mut nand, mut z_nand) = (0.0, 0.0);
        for one in &self.shares {
            table.add_row([one.workload.clone(), percent(one.nand), percent(one.z_nand)]);
            (nand, z_nand) = (nand + one.nand, z_nand + one.z_nand);
        }
        let count = self.shares.len().max(1) as f64;
        table.add_row(["mean".to_owned(), percent(nand / count), percent(z_nand / count)]);
        table
    }

    /// How each event goes with the target's time, as in Table 5.
    fn events(&self) -> Table {
        let mut table = Table::new(["event", "correlation here", "the paper's"]);
        for row in &self.correlations {
            let shown =
                |value: Option<f64>| value.map_or("-".to_owned(), |own| format!("{own:.3}"));
            table.add_row([row.event.clone(), shown(row.here), shown(row.paper)]);
        }
        table
    }
}

/// One error of some learners for each workload.
fn by_workload(judgements: &[&Judgement], error: fn(&WorkloadError) -> f64) -> Table {
    let mut headings = vec!["workload", "groups", "measured mean", "measured p99"];
    headings.extend(judgements.iter().map(|one| one.learner.as_str()));
    let mut table = Table::new(headings);
    let workloads = judgements.first().map_or(&[][..], |first| &first.plain.workloads);
    for (place, known) in workloads.iter().enumerate() {
        let mut row = vec![
            known.workload.clone(),
            known.groups.to_string(),
            format!("{:.0} us", known.mean_ns / 1e3),
            format!("{:.0} us", known.p99_ns / 1e3),
        ];
        let errors = judgements.iter().filter_map(|one| one.plain.workloads.get(place));
        row.extend(errors.map(|one| format!("{:.1}", error(one))));
        table.add_row(row);
    }
    table
}

impl PredictedGroup {
    /// Mean and 99th percentile of the predicted times of each workload, as a table.
    pub fn table(groups: &[Self]) -> Table {
        let mut table = Table::new(["workload", "groups", "mean", "p99"]);
        for part in groups.chunk_by(|a, b| a.workload == b.workload) {
            let times: Vec<f64> = part.iter().map(|group| group.predicted_ns / 1e3).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let p99 = percentile_99(&times);
            let (name, count) = (part[0].workload.clone(), times.len().to_string());
            table.add_row([name, count, format!("{mean:.0} us"), format!("{p99:.0} us")]);
        }
        table
    }
}
