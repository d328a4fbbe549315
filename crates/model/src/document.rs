//! ssdtune's own configuration files: TOML, one table per section of the catalogue.
//!
//! ```toml
//! name = "my drive"
//! base = "intel-750"      # optional: the preset that what is not said here is taken from
//!
//! [gc]
//! policy = "cost-benefit"
//!
//! [cache]
//! capacity_bytes = "256 MiB"   # sizes and times are numbers, or texts with a unit
//! ```
//!
//! Without `base`, what is not said has the catalogue's default. A table `[calibration]` may say
//! which real drive it is ([`Provenance`]); that of a base is not taken over. Reading reports every
//! fault at once. A [`Document`] keeps the text, so that setting a value leaves comments and order
//! as they are. Files are untrusted: size, faults and hints are bounded.

use crate::catalogue::{self, Legal, Parameter, SECTIONS, Since, Value};
use crate::config::DeviceConfig;
use crate::fault::{Fault, Faults, Problem};
use crate::nearest::closest_name;
use crate::provenance::Provenance;
use crate::shipped;
use serde::Deserialize as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest text that is read. The whole catalogue with comments is a tenth of it.
const MAX_BYTES: usize = 256 << 10;
/// Most faults that are described; further ones are counted. A file with more is not a
/// configuration.
const MAX_FAULTS: usize = 100;
/// Most unknown keys for which the nearest name is looked for, since each costs a comparison with
/// every name. A file with more unknown keys is not a configuration with typing errors.
const MAX_HINTS: usize = 10;

/// A configuration file that was read.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    config: DeviceConfig,
    lines: BTreeMap<&'static str, usize>,
    provenance: Option<Provenance>,
}

impl Document {
    /// Reads the text of a configuration file, and checks the configuration.
    ///
    /// # Errors
    /// Every fault of syntax, key, value and combination, each with its line.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let (Part { config, lines, provenance }, mut faults) = Part::parse(text)?;
        if let Err(conflicts) = config.check() {
            for mut fault in conflicts.0 {
                fault.line = lines.get(fault.key.as_str()).copied();
                faults.push(fault);
            }
        }
        let is_last = |fault: &Fault| matches!(fault.problem, Problem::Further { .. });
        faults.0.sort_by_key(|fault| (is_last(fault), fault.line));
        faults.or_ok(Self { text: text.to_owned(), config, lines, provenance })
    }

    /// The configuration, which has passed its check.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// The keys that the file states, each with its line.
    pub fn stated(&self) -> &BTreeMap<&'static str, usize> {
        &self.lines
    }

    /// What the file says of the real drive that it was calibrated to, if it does.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.provenance.as_ref()
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the file says behind the value of a key that it states, on the same line.
    pub fn comment(&self, key: &str) -> Option<&str> {
        let line = self.lines.get(key)?.checked_sub(1)?;
        // No value of a row holds the sign of a comment.
        let comment = self.text.lines().nth(line)?.split_once('#')?.1.trim();
        (!comment.is_empty()).then_some(comment)
    }

    /// A copy of the document with one value set. Comments and the order of the rest stay. `key` is
    /// a key of the catalogue or an MQSim tag.
    ///
    /// # Errors
    /// The key or the value is wrong, or the value contradicts others.
    pub fn with(&self, key: &str, text: &str) -> Result<Self, Faults> {
        let mut config = self.config.clone();
        catalogue::set(&mut config, key, text)?;
        let Some(row) = catalogue::find(key) else { return Ok(self.clone()) };
        let (section, name) = row.path();
        let syntax = |error: toml_edit::TomlError| {
            Faults::from(Fault::new("", Problem::Syntax { message: error.to_string() }))
        };
        let mut document: toml_edit::DocumentMut = self.text.parse().map_err(syntax)?;
        let table = document.entry(section).or_insert_with(toml_edit::table);
        let value: toml_edit::Value = toml_text(row.get(&config)).parse().map_err(syntax)?;
        match table.get_mut(name).and_then(toml_edit::Item::as_value_mut) {
            Some(old) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            None => table[name] = toml_edit::value(value),
        }
        Self::parse(&document.to_string())
    }
}

/// What a text states of a configuration, not checked as a whole: other files may say the rest.
#[derive(Clone, Debug)]
pub struct Part {
    /// The configuration. What the text does not say has the catalogue's default.
    pub config: DeviceConfig,
    /// The keys that the text states, each with its line.
    pub lines: BTreeMap<&'static str, usize>,
    /// What the text says of a real drive.
    pub provenance: Option<Provenance>,
}

impl Part {
    /// Reads the text of a configuration file. Beside what it states stand its faults of syntax,
    /// key and value, each with its line.
    ///
    /// # Errors
    /// It is too long to be read at all.
    pub fn parse(text: &str) -> Result<(Self, Faults), Faults> {
        if text.len() > MAX_BYTES {
            let reason = format!("{} bytes; at most {MAX_BYTES} are read", text.len());
            return Err(Fault::new("", Problem::Unsupported { reason }).into());
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader {
            text,
            config: DeviceConfig::default(),
            lines: BTreeMap::new(),
            provenance: None,
            faults: Faults::default(),
            unknown_keys: 0,
            further: 0,
        };
        for error in errors {
            reader.syntax(&error);
        }
        reader.top(table.get_ref());
        let Reader { config, lines, provenance, mut faults, further, .. } = reader;
        if further > 0 {
            faults.push(Fault::new("", Problem::Further { count: further }));
        }
        Ok((Self { config, lines, provenance }, faults))
    }
}

/// A configuration as the text of a new file. Every key is stated, except those with one legal
/// value.
pub fn write(config: &DeviceConfig) -> String {
    write_name(&config.name) + &write_rows(config, plain(|row| !row.is_constant()))
}

/// A configuration as the text of a new file. Each parameter for which `comment` has a text is
/// stated with it, and no other.
pub fn write_commented(
    config: &DeviceConfig,
    comment: impl Fn(&Parameter) -> Option<String>,
) -> String {
    let stated = |row: &Parameter| comment(row).filter(|_| !row.is_constant());
    write_name(&config.name) + &write_rows(config, stated)
}

/// The parameters of a configuration that `is_stated` picks, as text. [`Part::parse`] reads it.
pub fn write_part(config: &DeviceConfig, is_stated: impl Fn(&Parameter) -> bool) -> String {
    write_rows(config, plain(|row| !row.is_constant() && is_stated(row)))
}

/// A configuration without its name as canonical text, for the keys of stored evaluations.
///
/// It is the text of [`write()`] without those rows that later versions of the catalogue have added
/// and that have their default. So a new row leaves the keys of earlier results as they are.
pub fn canonical(config: &DeviceConfig) -> String {
    without_later_defaults(config, Since::Start)
}

/// A configuration without its name as text, for the digests in labels and in results of
/// predictors, which were first stored when rows up to [`Since::Placement`] were known.
pub fn identity(config: &DeviceConfig) -> String {
    without_later_defaults(config, Since::Placement)
}

/// A configuration without its name and without those rows that came in after `known` and have
/// their default.
fn without_later_defaults(config: &DeviceConfig, known: Since) -> String {
    let is_stated = |row: &Parameter| {
        !row.is_constant() && (row.since <= known || row.get(config) != row.default_value())
    };
    write_name("") + &write_rows(config, plain(is_stated))
}

/// A short name of a configuration, which another one has once in 2^64 times. Neither its name nor
/// how a run begins nor what energy costs is part of it.
pub fn fingerprint(config: &DeviceConfig) -> String {
    let tested = DeviceConfig {
        run: DeviceConfig::default().run,
        energy: DeviceConfig::default().energy,
        ..config.clone()
    };
    let text = canonical(&tested);
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn write_name(name: &str) -> String {
    format!("name = {}\n", toml_edit::Value::from(name))
}

/// Rows that are stated without a comment.
fn plain(is_stated: impl Fn(&Parameter) -> bool) -> impl Fn(&Parameter) -> Option<String> {
    move |row| is_stated(row).then(String::new)
}

/// Rows with the comments that `stated` has for them, and no others.
fn write_rows(config: &DeviceConfig, stated: impl Fn(&Parameter) -> Option<String>) -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let rows = section.rows.iter().filter_map(|row| Some((row, stated(row)?)));
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n# {}.\n[{}]", section.title, section.name);
        for (row, comment) in rows {
            let sign = if comment.is_empty() { "" } else { "  # " };
            let value = toml_text(row.get(config));
            let _ = writeln!(text, "{} = {value}{sign}{comment}", row.path().1);
        }
    }
    text
}

fn toml_text(value: Value) -> String {
    match value {
        Value::Name(name) => format!("\"{name}\""),
        other => other.to_string(),
    }
}

/// A configuration file while it is read.
struct Reader<'a> {
    text: &'a str,
    config: DeviceConfig,
    /// The line of each key that was read.
    lines: BTreeMap<&'static str, usize>,
    provenance: Option<Provenance>,
    faults: Faults,
    unknown_keys: usize,
    /// Faults that are only counted.
    further: usize,
}

impl Reader<'_> {
    fn line(&self, position: usize) -> usize {
        let before = self.text.as_bytes().get(..position).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn fault(&mut self, key: String, position: usize, problem: Problem, value: Option<String>) {
        if self.faults.0.len() >= MAX_FAULTS {
            self.further += 1;
            return;
        }
        let mut fault = Fault::new(key, problem).at_line(self.line(position));
        if let Some(value) = value {
            fault = fault.with_value(value);
        }
        self.faults.push(fault);
    }

    /// The nearest line above `line` with a key or a table called `name`. The search goes upwards,
    /// since another table may have a key of that name.
    fn first_line(&self, name: &str, line: usize) -> usize {
        let above = self.text.lines().take(line.saturating_sub(1)).map(str::trim_start);
        let names = |text: &str, start: &str| {
            let rest = text.strip_prefix(start).and_then(|text| text.strip_prefix(name));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let above: Vec<&str> = above.collect();
        let mut found =
            above.iter().enumerate().filter(|(_, text)| names(text, "") || names(text, "["));
        found.next_back().map_or(line, |(index, _)| index + 1)
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        if self.faults.0.len() >= MAX_FAULTS {
            self.further += 1;
            return;
        }
        let span = error.span().unwrap_or_default();
        let name = self.text.get(span.clone()).unwrap_or_default().to_owned();
        if error.message().contains("duplicate key") {
            let first_line = self.first_line(&name, self.line(span.start));
            return self.fault(name, span.start, Problem::Duplicate { first_line }, None);
        }
        let message = format!("not TOML: {}", error.message());
        self.fault(String::new(), span.start, Problem::Syntax { message }, None);
    }

    fn top(&mut self, table: &DeTable<'_>) {
        if let Some(value) = table.get("base") {
            self.base(value);
        }
        for (key, value) in table {
            let name: &str = key.get_ref();
            let at = key.span().start;
            match (name, value.get_ref()) {
                ("base", _) => {}
                ("name", DeValue::String(text)) => self.config.name = text.to_string(),
                ("name", other) => self.wrong_type(name, at, "a string", other),
                ("calibration", DeValue::Table(_)) => self.calibration(value),
                ("calibration", other) => self.wrong_type(name, at, "a table", other),
                (_, DeValue::Table(inner))
                    if SECTIONS.iter().any(|section| section.name == name) =>
                {
                    self.section(name, inner);
                }
                (_, other) => self.unknown(name.to_owned(), at, other),
            }
        }
    }

    fn calibration(&mut self, table: &Spanned<DeValue<'_>>) {
        let read = Provenance::deserialize(toml::de::ValueDeserializer::from(table.clone()));
        let at = table.span().start;
        let (at, reason) = match read {
            Err(error) => (error.span().map_or(at, |span| span.start), error.message().to_owned()),
            Ok(read) => match read.fault() {
                Some(reason) => (at, reason),
                None => return self.provenance = Some(read),
            },
        };
        self.fault("calibration".to_owned(), at, Problem::Unsupported { reason }, None);
    }

    fn base(&mut self, value: &Spanned<DeValue<'_>>) {
        let at = value.span().start;
        let DeValue::String(name) = value.get_ref() else {
            return self.wrong_type("base", at, "a string", value.get_ref());
        };
        match shipped::text(name).filter(|text| !shipped::has_base(text)) {
            // Presets state no base of their own (a test sees to it), so this ends.
            Some(text) => match Self::parse_preset(text) {
                Ok(config) => self.config = DeviceConfig { name: name.to_string(), ..config },
                Err(faults) => self.faults.0.extend(faults.0),
            },
            None => {
                let nearest = closest_name(name, shipped::names()).map(str::to_owned);
                let legal = shipped::names().collect::<Vec<_>>().join(", ");
                let problem = Problem::Illegal { expected: "the name of a preset", legal, nearest };
                self.fault("base".to_owned(), at, problem, Some(name.to_string()));
            }
        }
    }

    fn parse_preset(text: &str) -> Result<DeviceConfig, Faults> {
        Document::parse(text).map(|document| document.config)
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = format!("{section}.{}", key.get_ref());
            let at = key.span().start;
            match catalogue::parameters().find(|row| row.key == path) {
                Some(row) => self.assign(row, at, value.get_ref()),
                None => self.unknown(path, at, value.get_ref()),
            }
        }
    }

    fn assign(&mut self, row: &'static Parameter, at: usize, value: &DeValue<'_>) {
        self.lines.insert(row.key, self.line(at));
        let text = shown(value);
        let typed = match (value, &row.legal) {
            (DeValue::Integer(int), Legal::Ints { .. }) => {
                u64::from_str_radix(int.as_str(), int.radix()).ok().map(Value::Int)
            }
            // A whole number where a real one is meant, as in `threshold = 1`.
            (DeValue::Integer(int), Legal::Reals { .. }) if int.radix() == 10 => {
                int.as_str().parse().ok().map(Value::Real)
            }
            (DeValue::Float(real), Legal::Reals { .. }) => {
                real.as_str().parse().ok().map(Value::Real)
            }
            (DeValue::Boolean(on), Legal::Bools) => Some(Value::Bool(*on)),
            // As `--set` accepts them: "64 MiB", "75us".
            (DeValue::String(text), Legal::Ints { .. }) if row.unit.has_suffixes() => {
                row.unit.parse_int(text).map(Value::Int)
            }
            (DeValue::String(name), Legal::Names(_)) => {
                row.legal.names().find(|own| own == name).map(Value::Name)
            }
            _ => None,
        };
        let set = match typed {
            Some(value) => row.set(&mut self.config, value),
            None => Err(row.illegal(text.trim_matches('"'))),
        };
        if let Err(problem) = set {
            self.fault(row.key.to_owned(), at, problem, Some(text));
        }
    }

    fn unknown(&mut self, path: String, at: usize, value: &DeValue<'_>) {
        self.unknown_keys += 1;
        let nearest = (self.unknown_keys <= MAX_HINTS).then(|| nearest(&path)).flatten();
        let nearest = nearest.map(str::to_owned);
        self.fault(path, at, Problem::UnknownKey { nearest }, Some(shown(value)));
    }

    fn wrong_type(&mut self, key: &str, at: usize, expected: &'static str, value: &DeValue<'_>) {
        let legal = "any".to_owned();
        let problem = Problem::Illegal { expected, legal, nearest: None };
        self.fault(key.to_owned(), at, problem, Some(shown(value)));
    }
}

/// The key, or else the table, that `path` was meant to be.
fn nearest(path: &str) -> Option<&'static str> {
    let sections =
        || SECTIONS.iter().map(|section| section.name).chain(["name", "base", "calibration"]);
    catalogue::nearest(path)
        .or_else(|| catalogue::nearest(path.rsplit('.').next().unwrap_or(path)))
        .or_else(|| closest_name(path, sections()))
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(int) => int.as_str().to_owned(),
        DeValue::Float(real) => real.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(when) => when.to_string(),
        DeValue::Array(_) => "[…]".to_owned(),
        DeValue::Table(_) => "{…}".to_owned(),
    }
}

#[cfg(test)]
mod tests;
