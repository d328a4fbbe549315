//! Drives: `ssdconfig.xml` of MQSim (and of AutoBlox's fork), read and written by the rows of the
//! parameter catalogue.
//!
//! Reading takes one pass over the text and one look-up in the catalogue for each tag.

use crate::annotation;
use crate::format::{HEADER, Noted, is_xml, leaves, parse, parse_bool, report_unknown};
use crate::xml::Element;
use ssdtune_model::catalogue::{self, Group, Legal, Mqsim, Parameter, SECTIONS, Unit, Value};
use ssdtune_model::config::{Compat, DeviceConfig};
use ssdtune_model::document::Part;
use ssdtune_model::source::{self, ForeignDrive, LoadError, Loaded};
use ssdtune_model::{Fault, Faults, Nanos, Problem, closest_name};
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

/// Loads a drive by the name a user gives it: a preset, a TOML file or an MQSim XML file, told
/// apart by its content. `overrides` are `(key, value)` pairs, set in order.
///
/// # Errors
/// There is no such drive, it cannot be read, or it or an override is faulty.
pub fn load(name: &str, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    source::load_with(name, overrides, |text| is_xml(text).then(|| foreign(text, Obey::All)))
}

/// Loads a drive as MQSim would: as [`load`] does, but what an XML file says for ssdtune alone is
/// not obeyed. A pair of MQSim's files is run so.
///
/// # Errors
/// As for [`load`].
pub fn load_as_mqsim(name: &str, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    source::load_with(name, overrides, |text| is_xml(text).then(|| foreign(text, Obey::Elements)))
}

/// What of a file is obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obey {
    /// The elements and the annotation.
    All,
    /// The elements alone, as MQSim does.
    Elements,
}

/// The drive in an XML file. One that is MQSim's own has the name of the file.
fn foreign(text: &str, obey: Obey) -> Result<ForeignDrive, Faults> {
    let (Noted { value, notes }, annotated) = read(text, obey)?;
    let name = if annotated { value.name.clone() } else { String::new() };
    // MQSim has a value of its own for every tag that is absent, so all of them are stated.
    let stated = catalogue::parameters()
        .filter(|row| !row.is_constant() && (annotated || row.mqsim.is_some()));
    let stated = stated.map(|row| row.key).collect();
    Ok(ForeignDrive { config: DeviceConfig { name, ..value }, stated, notes })
}

/// The parameters that MQSim's XML holds, and where.
fn rows() -> impl Iterator<Item = (&'static Parameter, Mqsim)> {
    catalogue::parameters().filter_map(|row| row.mqsim.map(|mqsim| (row, mqsim)))
}

/// Reads an `ssdconfig.xml`. One that [`write_device`] wrote gives the drive that was written, with
/// the changes that were made to its elements since. In any other every switch of [`Compat`] is on,
/// so that a simulation agrees with MQSim; a note says so. An absent tag gets the value that MQSim
/// would take, and a note says so.
///
/// # Errors
/// Every fault of form, tag, value and combination, each with its line.
pub fn read_device(text: &str) -> Result<Noted<DeviceConfig>, Faults> {
    read(text, Obey::All).map(|(noted, _)| noted)
}

/// The drive that MQSim has when a file says nothing: all of its peculiarities.
fn plain() -> DeviceConfig {
    DeviceConfig { compat: Compat::MQSIM, name: "mqsim".to_owned(), ..Default::default() }
}

/// Reads a drive; also, whether its annotation was obeyed.
fn read(text: &str, obey: Obey) -> Result<(Noted<DeviceConfig>, bool), Faults> {
    let file = parse(text, "Execution_Parameter_Set")?;
    let (mut reader, mut notes) = (Reader::default(), Vec::new());
    let annotation = annotation::read(&file.comments)?;
    let annotated = annotation.is_some() && obey == Obey::All;
    match annotation {
        Some((Part { config, lines, .. }, faults)) if annotated => {
            reader = Reader { config, lines, faults };
        }
        Some(_) => notes.push(
            "its comment for ssdtune is not obeyed: the drive is what MQSim makes of the file"
                .to_owned(),
        ),
        None => notes.push(assumed()),
    }
    reader.containers(&file.root);
    let absent = reader.absent();
    let Reader { config, lines, mut faults } = reader;
    if let Err(conflicts) = config.check() {
        for mut fault in conflicts.0 {
            fault.line = lines.get(fault.key.as_str()).copied();
            faults.push(fault);
        }
    }
    faults.0.sort_by_key(|fault| fault.line);
    if !absent.is_empty() {
        notes.push(format!("absent tags have MQSim's compiled-in values: {}", absent.join(", ")));
    }
    faults.or_ok((Noted { value: config, notes }, annotated))
}

/// What a file of MQSim's own leaves open, and what is taken for it.
fn assumed() -> String {
    let (mode, is_open) = (plain().cache.mode, |row: &&Parameter| row.mqsim.is_none());
    let mut open = Vec::new();
    for section in SECTIONS.iter().filter(|section| section.name != "compat") {
        let keys = || section.rows.iter().filter(is_open).map(|row| row.key);
        match keys().count() == section.rows.len() {
            true => open.push(format!("[{}]", section.name)),
            false => open.extend(keys().filter(|key| *key != "cache.mode").map(str::to_owned)),
        }
    }
    format!(
        "an MQSim file cannot say all of a drive: every switch of [compat] is on, as MQSim \
         behaves; cache.mode is {mode}, which MQSim takes from the workload's flows; these have \
         their defaults: {}",
        open.join(", ")
    )
}

/// A drive while it is read.
struct Reader {
    config: DeviceConfig,
    /// The line of each key that was read.
    lines: BTreeMap<&'static str, usize>,
    faults: Faults,
}

impl Default for Reader {
    fn default() -> Self {
        Self { config: plain(), lines: BTreeMap::new(), faults: Faults::default() }
    }
}

impl Reader {
    /// Reads the tags inside the elements that hold parameters.
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
                _ => report_unknown(element, [HOST, DEVICE], &mut self.faults),
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

    /// A second element of a name that may stand once is a fault.
    fn only_one(&mut self, element: &Element, index: usize) {
        if index > 0 {
            let reason = "stands twice; keep one".to_owned();
            let fault = Fault::new(&element.name, Problem::Conflict { reason });
            self.faults.push(fault.at_line(element.line));
        }
    }

    /// Reads the parameters in one element.
    fn group(&mut self, parent: &Element, group: Group) {
        for (tag, element) in leaves(parent, &mut self.faults) {
            if group == Group::Device && tag == FLASH {
                continue;
            }
            match rows().find(|(row, _)| row.aliases().any(|alias| alias == tag)) {
                Some((row, mqsim)) if mqsim.group == group => self.assign(row, element),
                Some((_, mqsim)) => {
                    let reason = format!("belongs into {}", group_name(mqsim.group));
                    let fault = Fault::new(tag, Problem::Unsupported { reason });
                    self.faults.push(fault.at_line(element.line));
                }
                None => {
                    let tags = rows().flat_map(|(row, _)| row.aliases());
                    report_unknown(element, tags, &mut self.faults);
                }
            }
        }
        for child in parent.children.iter().filter(|child| !child.children.is_empty()) {
            if group != Group::Device || child.name != FLASH {
                report_unknown(child, [HOST, DEVICE, FLASH], &mut self.faults);
            }
        }
    }

    /// Sets the parameter of one tag.
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

    /// Gives absent tags the values that MQSim has for them, and returns each as `TAG = VALUE`.
    fn absent(&mut self) -> Vec<String> {
        let mut absent = Vec::new();
        for (row, mqsim) in rows() {
            if row.is_constant() || self.lines.contains_key(row.key) {
                continue;
            }
            let value = mqsim.absent.unwrap_or_else(|| row.default_value());
            // A test sees to it that these are legal.
            if row.set(&mut self.config, value).is_ok() {
                absent.push(format!("{} = {}", mqsim.tags[0], mqsim_text(row, value)));
            }
        }
        absent
    }
}

/// The value that MQSim's text stands for.
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

/// The complaint about a value. Where names are legal, it lists MQSim's names instead of ssdtune's.
fn illegal(row: &Parameter, text: &str) -> Problem {
    let Legal::Names(names) = row.legal else { return row.illegal(text) };
    let theirs = || names.iter().map(|(_, theirs)| *theirs).filter(|theirs| !theirs.is_empty());
    Problem::Illegal {
        expected: "a name",
        legal: theirs().collect::<Vec<_>>().join(", "),
        nearest: closest_name(text, theirs()).map(str::to_owned),
    }
}

/// A value as MQSim writes it; empty for a name that MQSim does not have.
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

/// Writes an `ssdconfig.xml`. The notes name the settings that MQSim's format cannot express; MQSim
/// will do there what it always does, and [`read_device`] finds them in a comment of the file.
///
/// # Errors
/// Every value that MQSim has no name for or cannot hold.
pub fn write_device(config: &DeviceConfig) -> Result<Noted<String>, Faults> {
    let notes = notes_for_mqsim(config)?;
    let annotation = annotation::write(config);
    let mut text = format!("{HEADER}{annotation}<Execution_Parameter_Set>\n\t<{HOST}>\n");
    write_group(&mut text, config, Group::Host, "\t\t");
    let _ = write!(text, "\t</{HOST}>\n\t<{DEVICE}>\n");
    write_group(&mut text, config, Group::Device, "\t\t");
    let _ = writeln!(text, "\t\t<{FLASH}>");
    write_group(&mut text, config, Group::Flash, "\t\t\t");
    let _ = write!(text, "\t\t</{FLASH}>\n\t</{DEVICE}>\n</Execution_Parameter_Set>\n");
    Ok(Noted { value: text, notes })
}

/// The drive that MQSim makes of this one: what it has no words for is as MQSim always does it, and
/// all of its peculiarities are on. Cells that are programmed all at once are programmed page by
/// page there, so each page takes its share of the time, and a drive writes as fast as before.
///
/// The drive may be none that can be: check it.
pub fn as_mqsim(config: &DeviceConfig) -> DeviceConfig {
    let mut other = config.clone();
    if config.flash.one_shot {
        let pages = config.flash.technology.page_types().len() as u64;
        other.flash.program_latency =
            config.flash.program_latency.map(|time| Nanos(time.0 / pages));
    }
    let plain = plain();
    // The mode of the cache is in the workload's file.
    let unknown = |row: &&Parameter| row.mqsim.is_none() && row.key != "cache.mode";
    for row in catalogue::parameters().filter(unknown) {
        let set = row.set(&mut other, row.get(&plain));
        debug_assert!(set.is_ok(), "{}: a default that is not legal", row.key);
    }
    other
}

/// The parameters of this drive that do something and that MQSim has no words for. The switches of
/// `[compat]` are not among them: they are MQSim's nature.
pub fn unknown_to_mqsim(config: &DeviceConfig) -> impl Iterator<Item = &'static Parameter> {
    let plain = plain();
    catalogue::parameters()
        .filter(|row| row.mqsim.is_none() && row.path().0 != "compat")
        .filter(move |row| row.get(config) != row.get(&plain) && row.inert(config).is_none())
}

/// What MQSim will not know of a drive, one sentence each.
fn notes_for_mqsim(config: &DeviceConfig) -> Result<Vec<String>, Faults> {
    let mut faults = Faults::default();
    for (row, _) in rows() {
        let value = row.get(config);
        if let Some(reason) = inexpressible(row, value) {
            let fault = Fault::new(row.key, Problem::Unsupported { reason });
            faults.push(fault.with_value(value.to_string()));
        }
    }
    let note = |row: &Parameter| {
        let theirs = match row.key {
            "cache.mode" => "MQSim takes it from the workload's flows",
            _ => "MQSim has nothing like it",
        };
        format!("{} = {}: only ssdtune reads it; {theirs}", row.key, row.get(config))
    };
    let mut notes: Vec<String> = unknown_to_mqsim(config).map(note).collect();
    if config.compat != Compat::MQSIM {
        let switches = "[compat]: only ssdtune reads its switches; in MQSim all of them are on";
        notes.push(switches.to_owned());
    }
    faults.or_ok(notes)
}

/// Writes the parameters of one element, each with all the spellings that versions of MQSim read.
fn write_group(text: &mut String, config: &DeviceConfig, group: Group, indent: &str) {
    for (row, mqsim) in rows().filter(|(_, mqsim)| mqsim.group == group) {
        let value = mqsim_text(row, row.get(config));
        for tag in mqsim.tags {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{indent}<{tag}>{value}</{tag}>");
        }
    }
}

/// Why MQSim's XML cannot hold this value; `None` if it can.
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
