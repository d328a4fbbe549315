//! MQSim's configuration files: `ssdconfig.xml` (and AutoBlox's) and `workload.xml`, in both directions.
//!
//! MQSim skips tags it does not know and takes compiled-in values for tags that are absent, both silently.
//! Here an unknown tag is a fault, and what was taken for an absent one is noted.

mod device;
mod workload;

pub use device::{read_device, write_device};
pub use workload::{read_workload, write_workload};

use crate::fault::{Fault, Faults, Problem};
use crate::xml::Element;
use std::collections::BTreeMap;

/// What was read or written, and what is to be known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted<T> {
    /// It.
    pub value: T,
    /// What a reader of the result should know.
    pub notes: Vec<String>,
}

/// The declaration that every file of MQSim begins with.
const HEADER: &str = "<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n";

/// Unknown tags for which a similar one is looked for; a file with more is not one of MQSim's.
const MAX_HINTS: usize = 100;

/// Whether a file is XML rather than TOML, from its first letter.
pub fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// The root element, if it has this name.
fn root(text: &str, name: &str) -> Result<Element, Faults> {
    let root = crate::xml::parse(text)?;
    if root.name == name {
        return Ok(root);
    }
    let reason = format!("the root element must be <{name}>");
    Err(Fault::new(root.name, Problem::Unsupported { reason }).at_line(root.line).into())
}

/// The leaves of an element by tag; elements inside are left to the caller.
fn leaves<'a>(parent: &'a Element, faults: &mut Faults) -> BTreeMap<&'a str, &'a Element> {
    let mut leaves: BTreeMap<&str, &Element> = BTreeMap::new();
    for child in parent.children.iter().filter(|child| child.children.is_empty()) {
        if let Some(first) = leaves.insert(&child.name, child) {
            let problem = Problem::Duplicate { first_line: first.line };
            faults.push(Fault::new(&child.name, problem).at_line(child.line));
        }
    }
    leaves
}

/// MQSim's truth values.
fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
