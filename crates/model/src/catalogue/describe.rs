//! Parameters described for people and programs: one in full, some by name, and what two drives
//! differ in.

use super::{Effect, Parameter, SECTIONS, find, nearest, parameters};
use crate::config::DeviceConfig;
use crate::fault::{Fault, Faults, Problem};
use crate::value::{Kind, Value};
use serde::Serialize;
use std::fmt;

/// Everything that is known of a parameter without a drive.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Its key.
    pub key: &'static str,
    /// Its tags in MQSim's XML.
    pub mqsim_tags: Vec<&'static str>,
    /// How a search may vary it.
    pub kind: Kind,
    /// The sign of its unit; empty if it has none.
    pub unit: &'static str,
    /// Its value in the default drive.
    pub default: Value,
    /// Its legal values, in words.
    pub legal: String,
    /// The values that drives on the market have.
    pub commodity: Vec<Value>,
    /// The values that a what-if search may try.
    pub what_if: Vec<Value>,
    /// What it does.
    pub meaning: &'static str,
    /// Why or when it has no effect.
    pub no_effect: Option<&'static str>,
}

impl Parameter {
    /// Everything that is known of the parameter without a drive.
    pub fn describe(&self) -> Description {
        Description {
            key: self.key,
            mqsim_tags: self.aliases().collect(),
            kind: self.kind,
            unit: self.unit.sign(),
            default: self.default_value(),
            legal: self.legal.to_string(),
            commodity: self.commodity.values(&self.legal),
            what_if: self.what_if.values(&self.legal),
            meaning: self.meaning,
            no_effect: match self.effect {
                Effect::Yes => None,
                Effect::Never(reason) => Some(reason),
                Effect::Unless(_) => {
                    Some("under some other settings; `ssdtune config check` says when")
                }
            },
        }
    }
}

/// The parameter in full, a line for each property.
impl fmt::Display for Parameter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Description { mqsim_tags, unit, default, legal, no_effect, .. } = self.describe();
        write!(out, "{}: {}", self.key, self.meaning)?;
        write!(out, "\n  kind       {}", self.kind)?;
        write!(out, "\n  default    {default} {unit}")?;
        write!(out, "\n  legal      {legal} {unit}")?;
        write!(out, "\n  commodity  {}", self.commodity)?;
        write!(out, "\n  what-if    {}", self.what_if)?;
        if !mqsim_tags.is_empty() {
            write!(out, "\n  MQSim      {}", mqsim_tags.join(", "))?;
        }
        match no_effect {
            Some(reason) => write!(out, "\n  no effect  {reason}"),
            None => Ok(()),
        }
    }
}

/// The parameters that some names stand for: keys, MQSim tags, or names of sections, whose
/// parameters all count. Without names they are all parameters.
///
/// # Errors
/// A name stands for nothing.
pub fn select(names: &[String]) -> Result<Vec<&'static Parameter>, Faults> {
    if names.is_empty() {
        return Ok(parameters().collect());
    }
    let mut rows = Vec::new();
    for name in names {
        if let Some(section) = SECTIONS.iter().find(|section| section.name == name) {
            rows.extend(section.rows);
        } else if let Some(row) = find(name) {
            rows.push(row);
        } else {
            let nearest = nearest(name).map(str::to_owned);
            return Err(Fault::new(name, Problem::UnknownKey { nearest }).into());
        }
    }
    Ok(rows)
}

/// A parameter in which two drives differ.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Its key.
    pub key: &'static str,
    /// Its value in the first drive.
    pub first: Value,
    /// Its value in the second drive.
    pub second: Value,
    /// The sign of its unit; empty if it has none.
    pub unit: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Why it has no effect in either drive. `None` if it has an effect in one of them.
    pub no_effect: Option<&'static str>,
}

/// The parameters in which two drives differ.
pub fn differences(first: &DeviceConfig, second: &DeviceConfig) -> Vec<Difference> {
    let differs = |row: &&Parameter| row.get(first) != row.get(second);
    let difference = |row: &Parameter| Difference {
        key: row.key,
        first: row.get(first),
        second: row.get(second),
        unit: row.unit.sign(),
        meaning: row.meaning,
        no_effect: row.inert(first).and(row.inert(second)),
    };
    parameters().filter(differs).map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_parameters_and_sections() {
        let count = |name: &str| select(&[name.to_owned()]).map(|rows| rows.len());
        assert_eq!(count("gc.threshold").unwrap(), 1);
        assert!(count("gc").unwrap() > 1);
        assert!(count("gc.treshold").unwrap_err().to_string().contains("gc.threshold"));
        assert_eq!(select(&[]).unwrap().len(), parameters().count());
        let text = select(&["gc.threshold".to_owned()]).unwrap()[0].to_string();
        assert!(text.starts_with("gc.threshold: ") && text.contains("\n  legal      "), "{text}");
    }

    #[test]
    fn drives_differ_in_what_was_set() {
        let base = DeviceConfig::default();
        let mut other = base.clone();
        other.gc.threshold = 0.2;
        let found: Vec<&str> = differences(&base, &other).iter().map(|one| one.key).collect();
        assert_eq!(found, ["gc.threshold"]);
        assert!(differences(&base, &base).is_empty());
    }
}
