//! What MQSim's two kinds of files have in common: the declaration, tags without children, truth
//! values.

use crate::xml::{self, Element, File};
use ssdtune_model::{Fault, Faults, Problem, closest_name};
use std::collections::BTreeMap;

/// A value that was read or written, with what its user should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted<T> {
    /// The value.
    pub value: T,
    /// One sentence for each thing that was taken for granted, left out or could not be expressed.
    pub notes: Vec<String>,
}

/// The declaration that every file of MQSim begins with.
pub(crate) const HEADER: &str = "<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n";

/// Unknown tags for which the nearest legal tag is looked for. A file with more is not one of
/// MQSim's.
const HINTS_MAX: usize = 100;

/// Whether a text is XML rather than TOML, judged by its first letter.
pub fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Reads `text`, whose root element must be called `name`.
pub(crate) fn parse(text: &str, name: &str) -> Result<File, Faults> {
    let file = xml::parse(text)?;
    if file.root.name == name {
        return Ok(file);
    }
    let root = file.root;
    let reason = format!("the root element must be <{name}>");
    Err(Fault::new(root.name, Problem::Unsupported { reason }).at_line(root.line).into())
}

/// The children of `parent` that have no children themselves, by tag. A tag that stands twice is a
/// fault.
pub(crate) fn leaves<'a>(
    parent: &'a Element,
    faults: &mut Faults,
) -> BTreeMap<&'a str, &'a Element> {
    let mut leaves: BTreeMap<&str, &Element> = BTreeMap::new();
    for child in parent.children.iter().filter(|child| child.children.is_empty()) {
        if let Some(first) = leaves.insert(&child.name, child) {
            let problem = Problem::Duplicate { first_line: first.line };
            faults.push(Fault::new(&child.name, problem).at_line(child.line));
        }
    }
    leaves
}

/// Reports `element` as unknown, with the nearest of the tags that are `known` in its place.
pub(crate) fn report_unknown<'a>(
    element: &Element,
    known: impl IntoIterator<Item = &'a str>,
    faults: &mut Faults,
) {
    let few = faults.0.len() < HINTS_MAX;
    let nearest = few.then(|| closest_name(&element.name, known)).flatten();
    let problem = Problem::UnknownKey { nearest: nearest.map(str::to_owned) };
    let fault = Fault::new(&element.name, problem);
    faults.push(fault.at_line(element.line).with_value(&element.text));
}

/// A truth value as MQSim writes it, in any case.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
