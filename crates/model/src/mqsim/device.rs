//! `ssdconfig.xml`, read and written by the rows of the catalogue.

use super::{HEADER, MAX_HINTS, Noted, leaves, parse_bool, root};
use crate::catalogue::{self, Group, Legal, Mqsim, Parameter, Unit, Value};
use crate::config::{Compat, DeviceConfig};
use crate::fault::{Fault, Faults, Problem};
use crate::xml::Element;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HOST: &str = "Host_Parameter_Set";
const DEVICE: &str = "Device_Parameter_Set";
const FLASH: &str = "Flash_Parameter_Set";

const fn group_name(group: Group) -> &'static str {
    match group {
        Group::Host => HOST,
        Group::Device => DEVICE,
        Group::Flash => FLASH,
    }
}

/// Reads an `ssdconfig.xml`. Every switch of [`Compat`] is on in the result, so that a simulation agrees
/// with MQSim; a value that MQSim would take for an absent tag is taken, and noted.
///
/// # Errors
/// Every fault of form, tag, value and combination, each with its line.
pub fn read_device(text: &str) -> Result<Noted<DeviceConfig>, Faults> {
    let root = root(text, "Execution_Parameter_Set")?;
    let mut reader = Reader {
        config: DeviceConfig {
            compat: Compat::MQSIM,
            name: "mqsim".to_owned(),
            ..Default::default()
        },
        lines: BTreeMap::new(),
        faults: Faults::default(),
    };
    reader.containers(&root);
    let absent = reader.absent();
    let Reader { config, lines, mut faults } = reader;
    if let Err(conflicts) = config.check() {
        for mut fault in conflicts.0 {
            fault.line = lines.get(fault.key.as_str()).copied();
            faults.push(fault);
        }
    }
    faults.0.sort_by_key(|fault| fault.line);
    let mut notes = Vec::new();
    if !absent.is_empty() {
        notes.push(format!("absent tags have MQSim's compiled-in values: {}", absent.join(", ")));
    }
    faults.or_ok(Noted { value: config, notes })
}

struct Reader {
    config: DeviceConfig,
    lines: BTreeMap<&'static str, usize>,
    faults: Faults,
}

impl Reader {
    fn containers(&mut self, root: &Element) {
        for element in &root.children {
            match element.name.as_str() {
                HOST => self.group(element, Group::Host),
                DEVICE => {
                    self.group(element, Group::Device);
                    let inner = element.children.iter().filter(|child| child.name == FLASH);
                    for (index, flash) in inner.enumerate() {
                        self.only_one(flash, index);
                        self.group(flash, Group::Flash);
                    }
                }
                _ => self.unknown(element, [HOST, DEVICE].into_iter()),
            }
        }
        for name in [HOST, DEVICE] {
            let named = root.children.iter().filter(|child| child.name == name);
            for (index, element) in named.enumerate() {
                self.only_one(element, index);
            }
        }
        if !root.children.iter().any(|child| child.name == DEVICE) {
            let problem = Problem::Missing { remedy: "a drive is described in it".to_owned() };
            self.faults.push(Fault::new(DEVICE, problem).at_line(root.line));
        }
    }

    fn only_one(&mut self, element: &Element, index: usize) {
        if index > 0 {
            let reason = "stands twice; keep one".to_owned();
            let fault = Fault::new(&element.name, Problem::Conflict { reason });
            self.faults.push(fault.at_line(element.line));
        }
    }

    fn unknown(&mut self, element: &Element, known: impl Iterator<Item = &'static str>) {
        let few = self.faults.0.len() < MAX_HINTS;
        let nearest = few.then(|| catalogue::closest(&element.name, known)).flatten();
        let nearest = nearest.map(str::to_owned);
        let fault = Fault::new(&element.name, Problem::UnknownKey { nearest });
        self.faults.push(fault.at_line(element.line).with_value(&element.text));
    }

    fn group(&mut self, parent: &Element, group: Group) {
        for (tag, element) in leaves(parent, &mut self.faults) {
            if group == Group::Device && tag == FLASH {
                continue;
            }
            let row = catalogue::parameters().find(|row| row.aliases().any(|alias| alias == tag));
            match row.and_then(|row| row.mqsim.map(|mqsim| (row, mqsim))) {
                Some((row, mqsim)) if mqsim.group == group => self.assign(row, element),
                Some((_, mqsim)) => {
                    let reason = format!("belongs into {}", group_name(mqsim.group));
                    let fault = Fault::new(tag, Problem::Unsupported { reason });
                    self.faults.push(fault.at_line(element.line));
                }
                None => self.unknown(element, catalogue::parameters().flat_map(Parameter::aliases)),
            }
        }
        for child in parent.children.iter().filter(|child| !child.children.is_empty()) {
            if group != Group::Device || child.name != FLASH {
                self.unknown(child, [HOST, DEVICE, FLASH].into_iter());
            }
        }
    }

    fn assign(&mut self, row: &'static Parameter, element: &Element) {
        let before = row.get(&self.config);
        let set = match value_of(row, &element.text) {
            Some(value) => row.set(&mut self.config, value),
            None => Err(illegal(row, &element.text)),
        };
        let fault = |problem| {
            Fault::new(&element.name, problem).at_line(element.line).with_value(&element.text)
        };
        if let Err(problem) = set {
            return self.faults.push(fault(problem));
        }
        if let Some(first) = self.lines.insert(row.key, element.line)
            && row.get(&self.config) != before
        {
            let reason = format!("another spelling of it has another value in line {first}");
            self.faults.push(fault(Problem::Conflict { reason }));
        }
    }

    /// Gives absent tags what MQSim gives them; returns those where that is not ssdtune's default.
    fn absent(&mut self) -> Vec<String> {
        let mut absent = Vec::new();
        for row in catalogue::parameters().filter(|row| !row.is_constant()) {
            let Some(mqsim) = row.mqsim.filter(|_| !self.lines.contains_key(row.key)) else {
                continue;
            };
            let value = mqsim.absent.unwrap_or_else(|| row.default_value());
            // A test sees to it that these are legal.
            if row.set(&mut self.config, value).is_ok() {
                absent.push(format!("{} = {}", mqsim.tags[0], mqsim_text(row, value)));
            }
        }
        absent
    }
}

fn value_of(row: &Parameter, text: &str) -> Option<Value> {
    match row.legal {
        Legal::Ints { .. } => Unit::None.parse_int(text).map(Value::Int),
        Legal::Reals { .. } => row.legal.parse(text, row.unit),
        Legal::Bools => parse_bool(text).map(Value::Bool),
        Legal::Names(names) => {
            let mut known = names.iter().filter(|(_, theirs)| !theirs.is_empty());
            known
                .find(|(_, theirs)| theirs.eq_ignore_ascii_case(text))
                .map(|(own, _)| Value::Name(own))
        }
    }
}

/// The complaint about a value, with MQSim's names where names are legal.
fn illegal(row: &Parameter, text: &str) -> Problem {
    let Legal::Names(names) = row.legal else { return row.illegal(text) };
    let theirs = || names.iter().map(|(_, theirs)| *theirs).filter(|theirs| !theirs.is_empty());
    Problem::Illegal {
        expected: "a name",
        legal: theirs().collect::<Vec<_>>().join(", "),
        nearest: catalogue::closest(text, theirs()).map(str::to_owned),
    }
}

fn mqsim_text(row: &Parameter, value: Value) -> String {
    match (row.legal, value) {
        (Legal::Names(names), Value::Name(name)) => {
            let theirs =
                names.iter().find(|(own, _)| *own == name).map_or("", |(_, theirs)| *theirs);
            theirs.to_owned()
        }
        _ => value.to_string(),
    }
}

/// Writes an `ssdconfig.xml`; the notes name what XML cannot say and MQSim will do its own way.
///
/// # Errors
/// Every value that MQSim has no name for or cannot hold.
pub fn write_device(config: &DeviceConfig) -> Result<Noted<String>, Faults> {
    let mut faults = Faults::default();
    let mut notes = Vec::new();
    for row in catalogue::parameters() {
        let value = row.get(config);
        match row.mqsim {
            Some(_) => {
                if let Some(reason) = inexpressible(row, value) {
                    let fault = Fault::new(row.key, Problem::Unsupported { reason });
                    faults.push(fault.with_value(value.to_string()));
                }
            }
            // The workload's flows carry the mode; all peculiarities are MQSim's nature.
            None if row.key == "cache.mode" || row.path().0 == "compat" => {}
            None if value != row.default_value() && row.inert(config).is_none() => {
                notes.push(format!("{} = {value} cannot be said in MQSim's XML", row.key));
            }
            None => {}
        }
    }
    if config.compat != Compat::MQSIM {
        notes.push("MQSim has all peculiarities of [compat], whatever they are set to".to_owned());
    }
    faults.or_ok(())?;
    let mut text = format!("{HEADER}<Execution_Parameter_Set>\n\t<{HOST}>\n");
    write_group(&mut text, config, Group::Host, "\t\t");
    let _ = write!(text, "\t</{HOST}>\n\t<{DEVICE}>\n");
    write_group(&mut text, config, Group::Device, "\t\t");
    let _ = writeln!(text, "\t\t<{FLASH}>");
    write_group(&mut text, config, Group::Flash, "\t\t\t");
    let _ = write!(text, "\t\t</{FLASH}>\n\t</{DEVICE}>\n</Execution_Parameter_Set>\n");
    Ok(Noted { value: text, notes })
}

fn write_group(text: &mut String, config: &DeviceConfig, group: Group, indent: &str) {
    let placed = |row: &'static Parameter| row.mqsim.map(|mqsim: Mqsim| (row, mqsim));
    let rows = catalogue::parameters().filter_map(placed).filter(|(_, mqsim)| mqsim.group == group);
    for (row, mqsim) in rows {
        let value = mqsim_text(row, row.get(config));
        for tag in mqsim.tags {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{indent}<{tag}>{value}</{tag}>");
        }
    }
}

/// Why MQSim cannot be told this value.
fn inexpressible(row: &Parameter, value: Value) -> Option<String> {
    let int = match value {
        Value::Int(int) => int,
        Value::Name(_) if mqsim_text(row, value).is_empty() => {
            return Some("MQSim has nothing like it; choose another".to_owned());
        }
        _ => return None,
    };
    // The widths of MQSim's own variables; its times are 64 bits wide.
    let largest = match row.key {
        "host.queue_depth" | "host.queue_fetch_size" => u64::from(u16::MAX),
        _ if row.unit == Unit::Nanos || row.key == "run.response_log_period_us" => u64::MAX,
        "run.seed" => i32::MAX as u64,
        _ => u64::from(u32::MAX),
    };
    (int > largest).then(|| format!("more than the {largest} that MQSim can hold"))
}
