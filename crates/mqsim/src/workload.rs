//! Workloads: `workload.xml`, read into scenarios and written from them.
//!
//! Reading takes one pass over the text. No trace file is opened.

use crate::format::{HEADER, Noted, leaves, parse, parse_bool, report_unknown};
use crate::scenario::{
    AddressPattern, Flow, MqsimName, Pace, Scenario, SizePattern, Source, Synthetic, TimeUnit,
    TraceSource,
};
use crate::xml::{Element, escape};
use ssdtune_model::config::{CacheMode, Priority};
use ssdtune_model::{Fault, Faults, Nanos, Problem, Sectors, closest_name};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const SYNTHETIC: &str = "IO_Flow_Parameter_Set_Synthetic";
const TRACE: &str = "IO_Flow_Parameter_Set_Trace_Based";

/// Tags that every flow has, whatever its requests come from.
const COMMON_TAGS: [&str; 7] = [
    "Priority_Class",
    "Device_Level_Data_Caching_Mode",
    "Channel_IDs",
    "Chip_IDs",
    "Die_IDs",
    "Plane_IDs",
    "Initial_Occupancy_Percentage",
];

/// Reads a `workload.xml`: its scenarios, each an independent run.
///
/// # Errors
/// Every fault of form, tag and value, each with its line.
pub fn read_workload(text: &str) -> Result<Noted<Vec<Scenario>>, Faults> {
    let root = parse(text, "MQSim_IO_Scenarios")?.root;
    let mut faults = Faults::default();
    let mut notes = Vec::new();
    let mut scenarios = Vec::new();
    for element in &root.children {
        if element.name != "IO_Scenario" {
            report_unknown(element, ["IO_Scenario"], &mut faults);
            continue;
        }
        let mut scenario = Scenario::default();
        for flow in &element.children {
            match flow.name.as_str() {
                SYNTHETIC | TRACE => {
                    scenario.flows.push(read_flow(flow, &mut faults, &mut notes));
                }
                _ => report_unknown(flow, [SYNTHETIC, TRACE], &mut faults),
            }
        }
        if scenario.flows.is_empty() {
            let remedy = format!("add a {TRACE} or a {SYNTHETIC}");
            faults
                .push(Fault::new("IO_Scenario", Problem::Missing { remedy }).at_line(element.line));
        }
        scenarios.push(scenario);
    }
    if scenarios.is_empty() {
        let remedy = "add an <IO_Scenario>".to_owned();
        faults
            .push(Fault::new("MQSim_IO_Scenarios", Problem::Missing { remedy }).at_line(root.line));
    }
    faults.0.sort_by_key(|fault| fault.line);
    faults.or_ok(Noted { value: scenarios, notes })
}

fn read_flow(element: &Element, faults: &mut Faults, notes: &mut Vec<String>) -> Flow {
    let leaves = leaves(element, faults);
    for child in element.children.iter().filter(|child| !child.children.is_empty()) {
        report_unknown(child, COMMON_TAGS, faults);
    }
    let mut tags = Tags { line: element.line, leaves, seen: COMMON_TAGS.to_vec(), faults, notes };
    let flow = Flow {
        priority: tags.name("Priority_Class", Priority::High),
        cache_mode: tags.name("Device_Level_Data_Caching_Mode", CacheMode::Write),
        channels: tags.ids("Channel_IDs"),
        chips: tags.ids("Chip_IDs"),
        dies: tags.ids("Die_IDs"),
        planes: tags.ids("Plane_IDs"),
        initial_occupancy_percent: tags.percent("Initial_Occupancy_Percentage", Some(50)),
        source: match element.name.as_str() {
            TRACE => Source::Trace(read_trace(&mut tags)),
            _ => Source::Synthetic(read_synthetic(&mut tags)),
        },
    };
    tags.finish();
    flow
}

fn read_trace(tags: &mut Tags<'_>) -> TraceSource {
    if tags.ignored("Address_Distribution") {
        tags.notes.push("Address_Distribution of a trace has no effect and is left out".to_owned());
    }
    let file = tags.text("File_Path").unwrap_or_default().to_owned();
    if file.is_empty() {
        tags.missing("File_Path", "name the trace file");
    }
    let throughput = tags.text("Device_Throughput");
    let device_throughput = throughput.and_then(|text| {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        if value.is_none() {
            tags.illegal("Device_Throughput", "a number", "above 0".to_owned(), None);
        }
        value
    });
    TraceSource {
        file,
        percent_executed: tags.percent("Percentage_To_Be_Executed", Some(100)),
        relay_count: tags.int("Relay_Count", 1, 1_000_000, Some(1)) as u32,
        time_unit: tags.name("Time_Unit", TimeUnit::Nanosecond),
        best_queue_size: tags.optional("Best_Queue_Size", 1, 65_536).map(|size| size as u32),
        device_throughput,
    }
}

fn read_synthetic(tags: &mut Tags<'_>) -> Synthetic {
    let pace = tags.name("Synthetic_Generator_Type", Pace::QueueDepth);
    // MQSim's own example says Intensity, which no version reads.
    if tags.ignored("Intensity") {
        tags.notes
            .push("Intensity has no effect (the tag is Bandwidth) and is left out".to_owned());
    }
    let bandwidth = tags.optional("Bandwidth", 0, 1 << 40);
    if pace == Pace::Bandwidth && bandwidth.is_none_or(|rate| rate == 0) {
        tags.missing(
            "Bandwidth",
            "Synthetic_Generator_Type is BANDWIDTH: say how many bytes per second",
        );
    }
    let synthetic = Synthetic {
        working_set_percent: tags.percent("Working_Set_Percentage", Some(100)),
        pace,
        read_percent: tags.percent("Read_Percentage", None),
        addresses: tags.name("Address_Distribution", AddressPattern::Uniform),
        hot_region_percent: tags.percent("Percentage_of_Hot_Region", Some(0)),
        aligned: tags.switch("Generated_Aligned_Addresses"),
        alignment: Sectors(tags.int("Address_Alignment_Unit", 1, 1 << 20, Some(1))),
        sizes: tags.name("Request_Size_Distribution", SizePattern::Fixed),
        mean_size: Sectors(tags.int("Average_Request_Size", 1, 65_535, None)),
        size_variance: tags.int("Variance_Request_Size", 0, 1 << 32, Some(0)),
        seed: tags.int("Seed", 0, i64::MAX as u64, Some(1)),
        queue_depth: tags.int("Average_No_of_Reqs_in_Queue", 0, 65_536, Some(0)) as u32,
        bandwidth,
        stop: Nanos(tags.int("Stop_Time", 0, 1_000_000_000_000_000, Some(0))),
        requests: tags.int("Total_Requests_To_Generate", 0, 1 << 40, Some(0)),
    };
    if synthetic.pace == Pace::QueueDepth && synthetic.queue_depth == 0 {
        tags.missing(
            "Average_No_of_Reqs_in_Queue",
            "Synthetic_Generator_Type is QUEUE_DEPTH: say how deep",
        );
    }
    if synthetic.stop == Nanos::ZERO && synthetic.requests == 0 {
        tags.missing("Stop_Time", "say when the generator stops, or how many requests it makes");
    }
    synthetic
}

/// The tags of one flow, each to be asked for once.
struct Tags<'a> {
    /// The line of the flow.
    line: usize,
    leaves: BTreeMap<&'a str, &'a Element>,
    /// Tags that are legal in this flow.
    seen: Vec<&'static str>,
    faults: &'a mut Faults,
    notes: &'a mut Vec<String>,
}

impl<'a> Tags<'a> {
    /// The text of a tag; `None` if it is absent.
    fn text(&mut self, tag: &'static str) -> Option<&'a str> {
        self.seen.push(tag);
        self.leaves.get(tag).map(|element| element.text.as_str())
    }

    /// Whether a tag stands there that is legal and has no effect.
    fn ignored(&mut self, tag: &'static str) -> bool {
        self.text(tag).is_some()
    }

    fn fault(&mut self, tag: &str, problem: Problem) {
        let element = self.leaves.get(tag);
        let mut fault = Fault::new(tag, problem);
        fault.line = Some(element.map_or(self.line, |element| element.line));
        if let Some(element) = element {
            fault = fault.with_value(&element.text);
        }
        self.faults.push(fault);
    }

    fn illegal(
        &mut self,
        tag: &str,
        expected: &'static str,
        legal: String,
        nearest: Option<String>,
    ) {
        self.fault(tag, Problem::Illegal { expected, legal, nearest });
    }

    fn missing(&mut self, tag: &str, remedy: &str) {
        self.fault(tag, Problem::Missing { remedy: remedy.to_owned() });
    }

    /// A whole number from `min` to `max`; `None` if the tag is absent or wrong.
    fn optional(&mut self, tag: &'static str, min: u64, max: u64) -> Option<u64> {
        let text = self.text(tag)?;
        let value = text.parse().ok().filter(|value| (min..=max).contains(value));
        if value.is_none() {
            self.illegal(tag, "a whole number", format!("{min} to {max}"), None);
        }
        value
    }

    /// A whole number from `min` to `max`; `absent` if there is no such tag, which is a fault if
    /// there is no `absent` either.
    fn int(&mut self, tag: &'static str, min: u64, max: u64, absent: Option<u64>) -> u64 {
        if !self.leaves.contains_key(tag) && absent.is_none() {
            self.missing(tag, "every generator needs it");
        }
        self.optional(tag, min, max).or(absent).unwrap_or(min)
    }

    fn percent(&mut self, tag: &'static str, absent: Option<u64>) -> u32 {
        self.int(tag, 0, 100, absent) as u32
    }

    fn switch(&mut self, tag: &'static str) -> bool {
        let Some(text) = self.text(tag) else { return false };
        let value = parse_bool(text);
        if value.is_none() {
            self.illegal(tag, "true or false", "true, false".to_owned(), None);
        }
        value.unwrap_or_default()
    }

    /// A choice by MQSim's name for it, in any case.
    fn name<T: MqsimName>(&mut self, tag: &'static str, absent: T) -> T {
        let Some(text) = self.text(tag) else { return absent };
        let found = T::ALL.iter().find(|value| value.mqsim_name().eq_ignore_ascii_case(text));
        if let Some(value) = found {
            return *value;
        }
        let names = || T::ALL.iter().map(|value| value.mqsim_name());
        let nearest = closest_name(text, names()).map(str::to_owned);
        self.illegal(tag, "a name", names().collect::<Vec<_>>().join(", "), nearest);
        absent
    }

    /// A list of numbers separated by commas, sorted and without duplicates, as MQSim makes it.
    fn ids(&mut self, tag: &'static str) -> Vec<u32> {
        // No drive that passes its check has more channels, chips, dies or planes of one parent.
        const LIMIT: u32 = 1_024;
        let Some(text) = self.text(tag) else {
            self.missing(tag, "list the numbers the flow may use, from 0, with commas");
            return Vec::new();
        };
        let parsed: Option<Vec<u32>> =
            text.split(',').map(|id| id.trim().parse().ok().filter(|&id| id < LIMIT)).collect();
        let Some(mut ids) = parsed else {
            self.illegal(tag, "a list", format!("numbers below {LIMIT} with commas"), None);
            return Vec::new();
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Reports the tags that nobody asked for.
    fn finish(self) {
        for (tag, element) in &self.leaves {
            if !self.seen.contains(tag) {
                report_unknown(element, self.seen.iter().copied(), self.faults);
            }
        }
    }
}

/// Writes scenarios as a `workload.xml`.
pub fn write_workload(scenarios: &[Scenario]) -> String {
    let mut text = format!("{HEADER}<MQSim_IO_Scenarios>\n");
    for scenario in scenarios {
        text.push_str("\t<IO_Scenario>\n");
        for flow in &scenario.flows {
            let name = if matches!(flow.source, Source::Trace(_)) { TRACE } else { SYNTHETIC };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t\t<{name}>");
            for (tag, value) in flow_tags(flow) {
                let _ = writeln!(text, "\t\t\t<{tag}>{}</{tag}>", escape(&value));
            }
            let _ = writeln!(text, "\t\t</{name}>");
        }
        text.push_str("\t</IO_Scenario>\n");
    }
    text.push_str("</MQSim_IO_Scenarios>\n");
    text
}

/// The tags of a flow with their texts, in the order in which they are written.
fn flow_tags(flow: &Flow) -> Vec<(&'static str, String)> {
    let ids = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut tags = vec![
        ("Priority_Class", flow.priority.mqsim_name().to_owned()),
        ("Device_Level_Data_Caching_Mode", flow.cache_mode.mqsim_name().to_owned()),
        ("Channel_IDs", ids(&flow.channels)),
        ("Chip_IDs", ids(&flow.chips)),
        ("Die_IDs", ids(&flow.dies)),
        ("Plane_IDs", ids(&flow.planes)),
        ("Initial_Occupancy_Percentage", flow.initial_occupancy_percent.to_string()),
    ];
    match &flow.source {
        Source::Trace(trace) => tags.extend(trace_tags(trace)),
        Source::Synthetic(generator) => tags.extend(synthetic_tags(generator)),
    }
    tags
}

fn trace_tags(trace: &TraceSource) -> Vec<(&'static str, String)> {
    let mut tags = vec![
        ("File_Path", trace.file.clone()),
        ("Percentage_To_Be_Executed", trace.percent_executed.to_string()),
        ("Relay_Count", trace.relay_count.to_string()),
        ("Time_Unit", trace.time_unit.mqsim_name().to_owned()),
    ];
    tags.extend(trace.best_queue_size.map(|size| ("Best_Queue_Size", size.to_string())));
    tags.extend(trace.device_throughput.map(|rate| ("Device_Throughput", format!("{rate:?}"))));
    tags
}

fn synthetic_tags(generator: &Synthetic) -> Vec<(&'static str, String)> {
    let mut tags = vec![
        ("Working_Set_Percentage", generator.working_set_percent.to_string()),
        ("Synthetic_Generator_Type", generator.pace.mqsim_name().to_owned()),
        ("Read_Percentage", generator.read_percent.to_string()),
        ("Address_Distribution", generator.addresses.mqsim_name().to_owned()),
        ("Percentage_of_Hot_Region", generator.hot_region_percent.to_string()),
        ("Generated_Aligned_Addresses", generator.aligned.to_string()),
        ("Address_Alignment_Unit", generator.alignment.0.to_string()),
        ("Request_Size_Distribution", generator.sizes.mqsim_name().to_owned()),
        ("Average_Request_Size", generator.mean_size.0.to_string()),
        ("Variance_Request_Size", generator.size_variance.to_string()),
        ("Seed", generator.seed.to_string()),
        ("Average_No_of_Reqs_in_Queue", generator.queue_depth.to_string()),
    ];
    tags.extend(generator.bandwidth.map(|rate| ("Bandwidth", rate.to_string())));
    tags.extend([
        ("Stop_Time", generator.stop.0.to_string()),
        ("Total_Requests_To_Generate", generator.requests.to_string()),
    ]);
    tags
}
