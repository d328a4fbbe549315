//! Reads space files: TOML with one table for each part of the drive, and values for each key. The
//! table `choice` has settings that go together, and so has a catalogue of flash parts.

use super::choice::{Alternative, Choice};
use super::{Axis, PART};
use ssdtune_model::catalogue::{self, Legal, Parameter, SECTIONS, Value};
use ssdtune_model::{Fault, Faults, Problem};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The greatest number of values of an axis, far more than any needs. Ranks have 16 bits.
const VALUES_MAX: usize = 10_000;

/// The catalogue of flash parts that is built in.
const CATALOGUE: &str = include_str!("../../../../configs/parts/market.toml");

/// The flash parts of a catalogue, in the order of their names.
pub(super) fn read_parts(text: &str) -> Result<Vec<Alternative>, Faults> {
    let (table, mut reader) = Reader::of(text);
    let parts = reader.alternatives("", table.get_ref());
    reader.in_order().or_ok(parts)
}

/// The name of a space and its axes: choices first, then parameters in the order of the catalogue.
pub(super) fn read(text: &str) -> Result<(String, Vec<Axis>), Faults> {
    let (table, mut reader) = Reader::of(text);
    let mut name = "unnamed".to_owned();
    for (key, value) in table.get_ref() {
        let (word, at) = (key.get_ref().as_ref(), key.span().start);
        match value.get_ref() {
            DeValue::String(text) if word == "name" => name = text.to_string(),
            DeValue::Table(rows) if word == "choice" => reader.choices(rows),
            DeValue::Table(rows) => reader.section(word, at, rows),
            _ if word == "name" => reader.fault(at, "name", illegal("a text", "\"my space\"")),
            _ => reader.unknown(at, word),
        }
    }
    if reader.faults.0.is_empty() && reader.axes.is_empty() {
        let remedy = "state at least one, as in [bus] channels = [8, 16]".to_owned();
        reader.fault(0, "parameters", Problem::Missing { remedy });
    }
    reader.refuse_what_is_set_twice();
    let order = |axis: &Axis| catalogue::parameters().position(|row| row.key == axis.key());
    reader.axes.sort_by_key(order);
    let axes = std::mem::take(&mut reader.axes);
    reader.in_order().or_ok((name, axes))
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

impl<'a> Reader<'a> {
    /// The table of a file, and a reader that knows where it is no TOML.
    fn of(text: &'a str) -> (Spanned<DeTable<'a>>, Self) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Self { text, faults: Faults::default(), axes: Vec::new() };
        for error in errors {
            let message = format!("not TOML: {}", error.message());
            let at = error.span().unwrap_or_default().start;
            reader.fault(at, "", Problem::Syntax { message });
        }
        (table, reader)
    }

    /// The faults in the order of their lines.
    fn in_order(mut self) -> Faults {
        self.faults.0.sort_by_key(|fault| fault.line);
        self.faults
    }

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
                Ok(values) => self.axes.push(Axis::of_parameter(row, values)),
                Err(problem) => self.fault(at, row.key, problem),
            }
        }
    }
}

impl Reader<'_> {
    /// Reads the table of choices: for each its alternatives, or that they are the catalogue's.
    fn choices(&mut self, rows: &DeTable<'_>) {
        for (name, value) in rows {
            let (key, at) = (name.get_ref().as_ref(), name.span().start);
            let alternatives = match value.get_ref() {
                DeValue::String(word) if key == PART && word == "catalogue" => {
                    read_parts(CATALOGUE).expect("a sound catalogue is built in")
                }
                DeValue::Table(all) => self.alternatives(&format!("choice.{key}."), all),
                _ => {
                    let legal = "a table of alternatives; \"catalogue\" for the choice part";
                    self.fault(at, &format!("choice.{key}"), illegal("alternatives", legal));
                    continue;
                }
            };
            if alternatives.len() > VALUES_MAX {
                let count = alternatives.len();
                let reason = format!("{count} alternatives; at most {VALUES_MAX} are possible");
                self.fault(at, &format!("choice.{key}"), Problem::Conflict { reason });
                continue;
            }
            if alternatives.is_empty() && self.faults.0.is_empty() {
                let remedy = "state at least one alternative".to_owned();
                self.fault(at, &format!("choice.{key}"), Problem::Missing { remedy });
            }
            self.axes.push(Axis::of_choice(Choice::new(key, alternatives)));
        }
    }

    /// Reads alternatives. Names of faults begin with `prefix`.
    fn alternatives(&mut self, prefix: &str, rows: &DeTable<'_>) -> Vec<Alternative> {
        let mut all = Vec::new();
        for (name, value) in rows {
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(settings) => {
                    all.push(self.alternative(&key, name.get_ref(), settings));
                }
                _ => {
                    let legal = "a table of settings, as in { gc.paced = true }";
                    self.fault(name.span().start, &key, illegal("an alternative", legal));
                }
            }
        }
        all
    }

    fn alternative(&mut self, key: &str, name: &str, rows: &DeTable<'_>) -> Alternative {
        let mut one = Alternative {
            name: name.to_owned(),
            says: String::new(),
            source: String::new(),
            guessed: Vec::new(),
            settings: Vec::new(),
            at_most: Vec::new(),
        };
        let faults = self.faults.0.len();
        for (word, value) in rows {
            let (at, own) = (word.span().start, value.get_ref());
            match (word.get_ref().as_ref(), own) {
                ("says", DeValue::String(text)) => one.says = text.to_string(),
                ("source", DeValue::String(text)) => one.source = text.to_string(),
                ("guessed", DeValue::Array(items)) => {
                    for item in items {
                        let text = item.get_ref().as_str().unwrap_or_default();
                        let row = self.row(item.span().start, key, text);
                        one.guessed.extend(row.map(|row| row.key));
                    }
                }
                ("at_most", own) => {
                    for (row, value, at) in self.flat(key, "", at, own) {
                        match text_of(value).and_then(|text| text.parse().ok()) {
                            Some(most) => one.at_most.push((row, most)),
                            None => self.fault(at, row.key, illegal("a number", "the greatest")),
                        }
                    }
                }
                ("says" | "source" | "guessed", _) => {
                    let legal = "texts for says and source, a list of keys for guessed";
                    self.fault(at, key, illegal("a description", legal));
                }
                (word, own) => {
                    for (row, value, at) in self.flat(key, word, at, own) {
                        let is_set = one.settings.iter().any(|(own, _)| own.key == row.key);
                        match one_legal(row, value) {
                            Ok(_) if is_set => {
                                let reason = format!("{key} sets it twice");
                                self.fault(at, row.key, Problem::Conflict { reason });
                            }
                            Ok(value) => one.settings.push((row, value)),
                            Err(problem) => self.fault(at, row.key, problem),
                        }
                    }
                }
            }
        }
        if one.settings.is_empty() && self.faults.0.len() == faults {
            let at = rows.iter().next().map_or(0, |(word, _)| word.span().start);
            let remedy = "state at least one setting, as in gc.paced = true".to_owned();
            self.fault(at, key, Problem::Missing { remedy });
        }
        one
    }

    /// The rows of the catalogue that a value with the path `path` stands for, with their values
    /// and places: that of the path, or those of a table of further paths.
    fn flat<'v>(
        &mut self,
        owner: &str,
        path: &str,
        at: usize,
        value: &'v DeValue<'v>,
    ) -> Vec<(&'static Parameter, &'v DeValue<'v>, usize)> {
        let DeValue::Table(rows) = value else {
            return self.row(at, owner, path).map(|row| (row, value, at)).into_iter().collect();
        };
        let mut all = Vec::new();
        for (word, value) in rows {
            let joint = if path.is_empty() { "" } else { "." };
            let longer = format!("{path}{joint}{}", word.get_ref());
            all.extend(self.flat(owner, &longer, word.span().start, value.get_ref()));
        }
        all
    }

    /// The row with a key; a fault of `owner` if there is none.
    fn row(&mut self, at: usize, owner: &str, key: &str) -> Option<&'static Parameter> {
        let row = catalogue::find(key).filter(|row| row.key == key);
        if row.is_none() {
            let nearest = catalogue::nearest(key).map(str::to_owned);
            self.fault(at, &format!("{owner}: {key}"), Problem::UnknownKey { nearest });
        }
        row
    }

    /// A parameter that two axes set would have the value of the later one.
    fn refuse_what_is_set_twice(&mut self) {
        let twice = catalogue::parameters().filter_map(|row| {
            let mut setting = self.axes.iter().filter(|axis| axis.sets(row.key));
            Some((row, setting.next()?.key().to_owned(), setting.next()?.key().to_owned()))
        });
        for (row, first, second) in twice.collect::<Vec<_>>() {
            let reason = format!("both {first} and {second} set it; leave it to one of them");
            self.fault(0, row.key, Problem::Conflict { reason });
        }
    }
}

/// A value of a parameter that is legal.
fn one_legal(row: &'static Parameter, value: &DeValue<'_>) -> Result<Value, Problem> {
    let value = one(row, value)?;
    if row.legal.allows(value) { Ok(value) } else { Err(row.illegal(&value.to_string())) }
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
