//! Reads space files: TOML with one table for each part of the drive, and values for each key.

use super::Axis;
use ssdtune_model::catalogue::{self, Legal, Parameter, SECTIONS, Value};
use ssdtune_model::{Fault, Faults, Problem};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The greatest number of values of an axis, far more than any needs. Ranks have 16 bits.
const VALUES_MAX: usize = 10_000;

/// The name of a space and its axes, in the order of the catalogue.
pub(super) fn read(text: &str) -> Result<(String, Vec<Axis>), Faults> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { text, faults: Faults::default(), axes: Vec::new() };
    for error in errors {
        let at = error.span().unwrap_or_default().start;
        reader.fault(at, "", Problem::Syntax { message: format!("not TOML: {}", error.message()) });
    }
    let mut name = "unnamed".to_owned();
    for (key, value) in table.get_ref() {
        let (word, at) = (key.get_ref().as_ref(), key.span().start);
        match value.get_ref() {
            DeValue::String(text) if word == "name" => name = text.to_string(),
            DeValue::Table(rows) => reader.section(word, at, rows),
            _ if word == "name" => reader.fault(at, "name", illegal("a text", "\"my space\"")),
            _ => reader.unknown(at, word),
        }
    }
    if reader.faults.0.is_empty() && reader.axes.is_empty() {
        let remedy = "state at least one, as in [bus] channels = [8, 16]".to_owned();
        reader.fault(0, "parameters", Problem::Missing { remedy });
    }
    reader.faults.0.sort_by_key(|fault| fault.line);
    let order = |axis: &Axis| catalogue::parameters().position(|row| row.key == axis.key());
    reader.axes.sort_by_key(order);
    reader.faults.or_ok((name, reader.axes))
}

/// The problem of a value that is not what was expected.
fn illegal(expected: &'static str, legal: &str) -> Problem {
    Problem::Illegal { expected, legal: legal.to_owned(), nearest: None }
}

/// Collects the axes and the faults of a file.
struct Reader<'a> {
    text: &'a str,
    faults: Faults,
    axes: Vec<Axis>,
}

impl Reader<'_> {
    fn fault(&mut self, at: usize, key: &str, problem: Problem) {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|&&byte| byte == b'\n').count();
        self.faults.push(Fault::new(key, problem).at_line(line));
    }

    fn unknown(&mut self, at: usize, key: &str) {
        let nearest = catalogue::nearest(key).map(str::to_owned);
        self.fault(at, key, Problem::UnknownKey { nearest });
    }

    fn section(&mut self, section: &str, at: usize, rows: &DeTable<'_>) {
        if !SECTIONS.iter().any(|known| known.name == section) {
            let legal: Vec<&str> = SECTIONS.iter().map(|known| known.name).collect();
            self.fault(at, section, illegal("a part of the drive", &legal.join(", ")));
            return;
        }
        for (name, value) in rows {
            let key = format!("{section}.{}", name.get_ref());
            let at = name.span().start;
            let Some(row) = catalogue::find(&key) else {
                self.unknown(at, &key);
                continue;
            };
            match values(row, value) {
                Ok(values) => self.axes.push(Axis::new(row, values)),
                Err(problem) => self.fault(at, row.key, problem),
            }
        }
    }
}

fn values(row: &'static Parameter, value: &Spanned<DeValue<'_>>) -> Result<Vec<Value>, Problem> {
    let values = match value.get_ref() {
        DeValue::String(word) => named(row, word)?,
        DeValue::Array(items) => {
            items.iter().map(|item| one(row, item.get_ref())).collect::<Result<_, _>>()?
        }
        DeValue::Table(parts) => stepped(row, parts)?,
        _ => return Err(layout()),
    };
    if values.is_empty() || values.len() > VALUES_MAX {
        let reason = format!("{} values; 1 to {VALUES_MAX} are possible", values.len());
        return Err(Problem::Conflict { reason });
    }
    match values.iter().find(|value| !row.legal.allows(**value)) {
        Some(wrong) => Err(Problem::Conflict {
            reason: format!("{wrong} is not among its legal values: {}", row.legal),
        }),
        None => Ok(values),
    }
}

/// The problem of values that are written in no legal form.
fn layout() -> Problem {
    illegal(
        "values",
        "a list, { from, to, by }, { from, to, pieces }, \"all\", \"commodity\", \"what-if\"",
    )
}

/// The values of the catalogue that a word stands for.
fn named(row: &'static Parameter, word: &str) -> Result<Vec<Value>, Problem> {
    let values = match word {
        "all" => catalogue::Candidates::All.values(&row.legal),
        "commodity" => row.commodity.values(&row.legal),
        "what-if" => row.what_if.values(&row.legal),
        _ => return Err(layout()),
    };
    if values.is_empty() {
        let reason = format!("the catalogue has no \"{word}\" values for it; list them");
        return Err(Problem::Conflict { reason });
    }
    Ok(values)
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(int) => int.as_str().to_owned(),
        DeValue::Float(real) => real.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        _ => return None,
    })
}

fn one(row: &'static Parameter, value: &DeValue<'_>) -> Result<Value, Problem> {
    row.parse(&text_of(value).ok_or_else(layout)?)
}

/// The values of `{ from, to, by }` or `{ from, to, pieces }`.
fn stepped(row: &'static Parameter, parts: &DeTable<'_>) -> Result<Vec<Value>, Problem> {
    let part = |name: &str| parts.iter().find(|(key, _)| key.get_ref().as_ref() == name);
    let known = |key: &str| ["from", "to", "by", "pieces"].contains(&key);
    if parts.iter().any(|(key, _)| !known(key.get_ref().as_ref())) {
        return Err(layout());
    }
    let number = |name: &str| -> Result<Option<f64>, Problem> {
        let Some((_, value)) = part(name) else { return Ok(None) };
        let text = text_of(value.get_ref()).ok_or_else(layout)?;
        let parsed = match row.legal {
            Legal::Ints { .. } => row.unit.parse_int(&text).map(|int| int as f64),
            _ => text.parse().ok().filter(|real: &f64| real.is_finite()),
        };
        parsed.map(Some).ok_or_else(layout)
    };
    let (Some(from), Some(to)) = (number("from")?, number("to")?) else { return Err(layout()) };
    let steps = match (number("by")?, number("pieces")?) {
        (Some(by), None) if by > 0.0 => ((to - from) / by + 1e-9).floor(),
        (None, Some(pieces)) if pieces >= 1.0 => pieces.floor(),
        _ => return Err(layout()),
    };
    if !(from <= to && steps < VALUES_MAX as f64) {
        return Err(Problem::Conflict { reason: format!("{from} to {to} is no row of values") });
    }
    let by = number("by")?.unwrap_or((to - from) / steps);
    let value = |index: u32| {
        let exact = from + by * f64::from(index);
        match row.legal {
            Legal::Ints { .. } => Value::Int(exact.round() as u64),
            // 0.1 has no exact binary form. Rounding to 12 digits gives the number that was meant.
            _ => Value::Real((exact * 1e12).round() / 1e12),
        }
    };
    match row.legal {
        Legal::Ints { .. } | Legal::Reals { .. } => Ok((0..=steps as u32).map(value).collect()),
        _ => Err(layout()),
    }
}
