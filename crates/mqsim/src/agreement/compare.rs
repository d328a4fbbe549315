//! Compares the figures of a run with the recorded ones, by the rules of the case's tier.
//!
//! - `exact`: every latency figure, every count of requests and commands and every row is equal.
//! - `tight`: the mean device response and IOPS within 3 %, its 99th percentile within 5 %, every
//!   count of flash commands within 1 %, and every request served.
//! - `loose`: write amplification, moved pages and erases within 10 %.
//! - `informative`: nothing is judged.
//!
//! Recorded means and rates have three decimals. A difference of half a unit either way, which
//! rounding alone can make, is none.

use super::battery::{Case, Tier};
use super::metrics::{FlashCommandCounts, Latency, Metrics, Split};
use serde::Serialize;

/// The kinds of figures between which the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Number of requests.
    Served,
    /// Mean device response over all requests, reads or writes.
    Mean,
    /// 99th percentile of the device response.
    P99,
    /// Any other latency figure.
    Latency,
    /// Requests per second.
    Iops,
    /// Number of flash commands.
    Command,
    /// Rows of single requests.
    Row,
    /// Write amplification, moved pages, erases.
    Wear,
    /// Everything else.
    Other,
}

impl Class {
    /// Whether an exact case must have it equal.
    const fn is_exact(self) -> bool {
        !matches!(self, Self::Wear | Self::Other)
    }
}

/// One figure, as MQSim recorded it and as ssdtune has it.
struct Figure {
    name: String,
    class: Class,
    recorded: f64,
    /// `None` if ssdtune has no such figure.
    ours: Option<f64>,
    /// The largest difference that the rounding of the recorded figure explains.
    rounding: f64,
}

impl Figure {
    /// The relative difference. It is 1 for a figure that one side has and the other does not.
    fn error(&self) -> f64 {
        let Some(ours) = self.ours else { return 1.0 };
        let difference = (ours - self.recorded).abs();
        if difference <= self.rounding {
            0.0
        } else if self.recorded == 0.0 {
            1.0
        } else {
            difference / self.recorded.abs()
        }
    }

    /// The largest relative difference that a tier allows; `None` if the tier does not judge it.
    fn limit(&self, tier: Tier) -> Option<f64> {
        match (tier, self.class) {
            (Tier::Exact, class) => class.is_exact().then_some(0.0),
            (Tier::Tight, Class::Served) => Some(0.0),
            (Tier::Tight, Class::Mean | Class::Iops) => Some(0.03),
            (Tier::Tight, Class::P99) => Some(0.05),
            (Tier::Tight, Class::Command) => Some(0.01),
            (Tier::Loose, Class::Wear) => Some(0.10),
            _ => None,
        }
    }
}

/// A figure that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The figure's name, as in `device_response_ns.read.p99`.
    pub figure: String,
    /// MQSim's value.
    pub recorded: f64,
    /// ssdtune's value; `null` if it has no such figure.
    pub ours: Option<f64>,
    /// The relative difference.
    pub error: f64,
    /// The relative difference that the tier allows; `null` if it does not judge the figure.
    pub allowed: Option<f64>,
}

/// How far the figures of a case agree with the recorded ones.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The rules of the case's tier hold.
    pub pass: bool,
    /// Every latency, every count of requests and commands and every row is equal.
    pub identical: bool,
    /// Number of figures compared.
    pub figures: usize,
    /// The relative difference that stands for the case in medians: the larger one of mean device
    /// response and IOPS. For exact and loose cases it is the largest of all that the tier judges.
    pub error: f64,
    /// Figures that differ more than the tier allows, the worst first.
    pub misses: Vec<Difference>,
    /// The figure with the largest relative difference, judged or not; `null` if none differs.
    pub worst: Option<Difference>,
}

/// Compares the figures of a run with those recorded for its case.
pub fn compare(case: &Case, ours: &Metrics) -> Agreement {
    let figures = figures(&case.metrics, ours);
    let difference = |figure: &Figure| Difference {
        figure: figure.name.clone(),
        recorded: figure.recorded,
        ours: figure.ours,
        error: figure.error(),
        allowed: figure.limit(case.tier),
    };
    let worse = |a: &Difference, b: &Difference| b.error.total_cmp(&a.error);
    let over = |figure: &&Figure| figure.limit(case.tier).is_some_and(|most| figure.error() > most);
    let mut misses: Vec<Difference> = figures.iter().filter(over).map(difference).collect();
    misses.sort_by(worse);
    let differing = figures.iter().filter(|figure| figure.error() > 0.0);
    let worst = differing.map(difference).min_by(worse);
    let decisive = |figure: &&Figure| match case.tier {
        Tier::Exact => figure.class.is_exact(),
        Tier::Loose => figure.class == Class::Wear,
        Tier::Tight | Tier::Informative => {
            figure.name == "device_response_ns.all.mean" || figure.name == "iops.all"
        }
    };
    Agreement {
        pass: misses.is_empty(),
        identical: figures.iter().all(|figure| !figure.class.is_exact() || figure.error() == 0.0),
        figures: figures.len(),
        error: figures.iter().filter(decisive).map(Figure::error).fold(0.0, f64::max),
        misses,
        worst,
    }
}

/// What rounding to three decimals explains: a unit, in case digits were cut off, and a tenth of it
/// for the representation in binary.
const ROUNDING: f64 = 0.0011;
/// What rounding to four decimals explains.
const ROUNDING_4: f64 = 0.00011;

fn figures(recorded: &Metrics, ours: &Metrics) -> Vec<Figure> {
    let mut list = List(Vec::new());
    list.count("generated", Class::Served, Some(recorded.generated), Some(ours.generated));
    list.count(
        "first_arrival_ns",
        Class::Latency,
        recorded.first_arrival_ns,
        ours.first_arrival_ns,
    );
    list.count(
        "last_completion_ns",
        Class::Latency,
        recorded.last_completion_ns,
        ours.last_completion_ns,
    );
    list.counts("served", Class::Served, &recorded.served.parts(), &ours.served.parts());
    if sizes_are_true(recorded) {
        list.counts("bytes", Class::Other, &recorded.bytes.parts(), &ours.bytes.parts());
    }
    list.rates("iops", &recorded.iops, &ours.iops);
    list.latencies(
        "device_response_ns",
        true,
        &recorded.device_response_ns,
        &ours.device_response_ns,
    );
    list.latencies("end_to_end_ns", false, &recorded.end_to_end_ns, &ours.end_to_end_ns);
    for flow in &recorded.flows {
        let Some(our) = ours.flows.iter().find(|our| our.flow == flow.flow) else {
            if recorded.flows.len() > 1 {
                list.push(format!("flow {}", flow.flow), Class::Served, 1.0, None, 0.0);
            }
            continue;
        };
        let name = |what: &str| format!("flow {}: {what}", flow.flow);
        list.counts(&name("served"), Class::Served, &flow.served.parts(), &our.served.parts());
        let (theirs, our_times) = (&flow.device_response_ns, &our.device_response_ns);
        list.latencies(&name("device_response_ns"), false, theirs, our_times);
        list.latencies(&name("end_to_end_ns"), false, &flow.end_to_end_ns, &our.end_to_end_ns);
    }
    list.commands(&recorded.flash_cmds, &ours.flash_cmds);
    let pages = (recorded.flash_pages.parts(), ours.flash_pages.parts());
    list.counts("flash_pages", Class::Other, &pages.0, &pages.1);
    if ours.cmt.hits.is_some() {
        list.counts("cmt", Class::Other, &recorded.cmt.parts(), &ours.cmt.parts());
    }
    list.collection(recorded, ours);
    list.rows(recorded, ours);
    list.0
}

/// Whether the recorded bytes are the bytes moved. MQSim keeps 16 bits of a request's size, so a
/// record of larger requests counts bytes that were never moved.
fn sizes_are_true(recorded: &Metrics) -> bool {
    match (recorded.bytes.all, recorded.served.all) {
        (Some(bytes), Some(served)) => bytes <= served.saturating_mul(65_535 * 512),
        _ => true,
    }
}

/// The figures of a case, as they are gathered.
struct List(Vec<Figure>);

impl List {
    fn push(
        &mut self,
        name: String,
        class: Class,
        recorded: f64,
        ours: Option<f64>,
        rounding: f64,
    ) {
        self.0.push(Figure { name, class, recorded, ours, rounding });
    }

    fn count(&mut self, name: &str, class: Class, recorded: Option<u64>, ours: Option<u64>) {
        if let Some(recorded) = recorded {
            // Counts and times stay below 2^53, so their floating-point forms are exact.
            let ours = ours.map(|count| count as f64);
            self.push(name.to_owned(), class, recorded as f64, ours, 0.0);
        }
    }

    fn counts(
        &mut self,
        name: &str,
        class: Class,
        recorded: &[(&'static str, Option<u64>)],
        ours: &[(&'static str, Option<u64>)],
    ) {
        for ((part, recorded), (_, ours)) in recorded.iter().zip(ours) {
            self.count(&format!("{name}.{part}"), class, *recorded, *ours);
        }
    }

    fn rates(&mut self, name: &str, recorded: &Split<f64>, ours: &Split<f64>) {
        for ((part, recorded), (_, ours)) in recorded.parts().into_iter().zip(ours.parts()) {
            if let Some(recorded) = recorded {
                self.push(format!("{name}.{part}"), Class::Iops, recorded, ours, ROUNDING);
            }
        }
    }

    fn latencies(
        &mut self,
        name: &str,
        judged: bool,
        recorded: &Split<Latency>,
        ours: &Split<Latency>,
    ) {
        for ((part, recorded), (_, ours)) in recorded.parts().into_iter().zip(ours.parts()) {
            let Some(recorded) = recorded else { continue };
            let class = |class| if judged { class } else { Class::Latency };
            let mean = ours.map(|latency| latency.mean);
            let name = |what: &str| format!("{name}.{part}.{what}");
            self.push(name("mean"), class(Class::Mean), recorded.mean, mean, ROUNDING);
            type Take = fn(&Latency) -> u64;
            let figures: [(&str, Class, Take); 6] = [
                ("min", Class::Latency, |latency| latency.min),
                ("p50", Class::Latency, |latency| latency.p50),
                ("p95", Class::Latency, |latency| latency.p95),
                ("p99", class(Class::P99), |latency| latency.p99),
                ("p999", Class::Latency, |latency| latency.p999),
                ("max", Class::Latency, |latency| latency.max),
            ];
            for (what, class, take) in figures {
                self.count(&name(what), class, Some(take(&recorded)), ours.as_ref().map(take));
            }
        }
    }

    fn commands(&mut self, recorded: &FlashCommandCounts, ours: &FlashCommandCounts) {
        let parts = recorded.parts().into_iter().zip(ours.parts());
        for ((part, recorded), (_, ours)) in parts {
            // MQSim counts mapping writes when it queues them, and never serves them.
            let class = if part == "mapping_program" { Class::Other } else { Class::Command };
            self.count(&format!("flash_cmds.{part}"), class, recorded, ours);
        }
    }

    fn collection(&mut self, recorded: &Metrics, ours: &Metrics) {
        for ((part, theirs), (_, our)) in recorded.gc.parts().into_iter().zip(ours.gc.parts()) {
            let class = if part == "moved_pages" { Class::Wear } else { Class::Other };
            self.count(&format!("gc.{part}"), class, theirs, our);
        }
        let erases =
            |cmds: &FlashCommandCounts| Some(cmds.erase? + cmds.erase_multiplane.unwrap_or(0));
        let (theirs, our) = (erases(&recorded.flash_cmds), erases(&ours.flash_cmds));
        self.count("erases", Class::Wear, theirs, our);
        if let Some(recorded) = recorded.write_amplification {
            let name = "write_amplification".to_owned();
            self.push(name, Class::Wear, recorded, ours.write_amplification, ROUNDING_4);
        }
    }

    fn rows(&mut self, recorded: &Metrics, ours: &Metrics) {
        let (Some(theirs), Some(our)) = (&recorded.requests, &ours.requests) else { return };
        let equal = theirs.iter().zip(our).filter(|(a, b)| a == b).count();
        let name = "requests (equal rows)".to_owned();
        self.push(name, Class::Row, theirs.len() as f64, Some(equal as f64), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(class: Class, recorded: f64, ours: Option<f64>, rounding: f64) -> Figure {
        Figure { name: String::new(), class, recorded, ours, rounding }
    }

    #[test]
    fn rounding_of_the_record_is_no_difference_and_absence_is() {
        assert_eq!(figure(Class::Mean, 100.333, Some(100.33333), ROUNDING).error(), 0.0);
        assert!(figure(Class::Mean, 100.333, Some(100.335), ROUNDING).error() > 0.0);
        assert_eq!(figure(Class::Served, 5.0, None, 0.0).error(), 1.0);
        assert_eq!(figure(Class::Served, 0.0, Some(0.0), 0.0).error(), 0.0);
        assert_eq!(figure(Class::Served, 0.0, Some(3.0), 0.0).error(), 1.0);
        assert_eq!(figure(Class::Served, 4.0, Some(3.0), 0.0).error(), 0.25);
    }

    #[test]
    fn each_tier_judges_what_its_rule_says() {
        let judged = |tier, class| figure(class, 1.0, Some(1.0), 0.0).limit(tier);
        assert_eq!(judged(Tier::Exact, Class::Latency), Some(0.0));
        assert_eq!(judged(Tier::Exact, Class::Wear), None);
        assert_eq!(judged(Tier::Tight, Class::Mean), Some(0.03));
        assert_eq!(judged(Tier::Tight, Class::P99), Some(0.05));
        assert_eq!(judged(Tier::Tight, Class::Command), Some(0.01));
        assert_eq!(judged(Tier::Tight, Class::Latency), None);
        assert_eq!(judged(Tier::Loose, Class::Wear), Some(0.10));
        assert_eq!(judged(Tier::Loose, Class::Mean), None);
        assert_eq!(judged(Tier::Informative, Class::Served), None);
    }

    #[test]
    fn sizes_that_wrap_make_bytes_meaningless() {
        let mut recorded = Metrics::default();
        recorded.bytes.all = Some(65_535 * 512 * 2);
        recorded.served.all = Some(2);
        assert!(sizes_are_true(&recorded));
        recorded.bytes.all = Some(65_535 * 512 * 2 + 1);
        assert!(!sizes_are_true(&recorded));
    }
}
