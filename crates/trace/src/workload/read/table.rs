//! A TOML table in which every key that is read is noted. A key that nobody has read is a fault.

use super::super::check::Fault;
use ssdtune_model::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::{Item, TableLike, Value};

/// The line, from 1, of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}

/// The text, its faults so far, and the line of each key.
pub(crate) struct Context<'t> {
    text: &'t str,
    pub(crate) faults: Vec<Fault>,
    lines: BTreeMap<String, usize>,
}

impl<'t> Context<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, faults: Vec::new(), lines: BTreeMap::new() }
    }

    /// The line of a key, or of the nearest table around it.
    pub(crate) fn line(&self, key: &str) -> Option<usize> {
        let mut key = key.trim_end_matches('.');
        loop {
            if let Some(&line) = self.lines.get(key) {
                return Some(line);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }
}

/// A table, and the keys read from it so far.
pub(crate) struct Table<'c, 't> {
    context: &'c mut Context<'t>,
    table: &'c dyn TableLike,
    /// The path of the table, with a dot at the end; empty for the root.
    path: String,
    asked: BTreeSet<&'static str>,
}

impl<'c, 't> Table<'c, 't> {
    pub(crate) fn new(
        context: &'c mut Context<'t>,
        table: &'c dyn TableLike,
        path: String,
    ) -> Self {
        for (key, item) in table.iter() {
            let span = table.key(key).and_then(|key| key.span()).or_else(|| item.span());
            if let Some(span) = span {
                let line = line_of(context.text, span.start);
                context.lines.insert(format!("{path}{key}"), line);
            }
        }
        Self { context, table, path, asked: BTreeSet::new() }
    }

    /// Adds a fault at a key of this table. The empty key stands for the table itself.
    pub(crate) fn fault(&mut self, key: &str, message: impl Into<String>) {
        let key = format!("{}{key}", self.path);
        let line = self.context.line(&key);
        let key = key.trim_end_matches('.').to_owned();
        self.context.faults.push(Fault { key, line, message: message.into() });
    }

    /// Makes the lines of this table known under another path too.
    pub(crate) fn alias(&mut self, path: &str) {
        if path == self.path {
            return;
        }
        let found: Vec<(String, usize)> = self
            .context
            .lines
            .range(self.path.clone()..)
            .take_while(|(key, _)| key.starts_with(&self.path))
            .map(|(key, line)| (format!("{path}{}", &key[self.path.len()..]), *line))
            .collect();
        self.context.lines.extend(found);
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn item(&mut self, key: &'static str) -> Option<&'c Item> {
        self.asked.insert(key);
        self.table.get(key)
    }

    fn required<T>(&mut self, key: &'static str, found: Option<T>) -> Option<T> {
        if found.is_none() && !self.has(key) {
            let message = format!("`{key}` is missing");
            self.fault("", message);
        }
        found
    }

    pub(crate) fn optional_string(&mut self, key: &'static str) -> Option<String> {
        let item = self.item(key)?;
        let text = item.as_str().map(str::to_owned);
        if text.is_none() {
            self.fault(key, format!("expected a string, found {}", item.type_name()));
        }
        text
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<String> {
        let found = self.optional_string(key);
        self.required(key, found)
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Vec<String> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let strings: Option<Vec<String>> = item
            .as_array()
            .and_then(|array| array.iter().map(|v| v.as_str().map(str::to_owned)).collect());
        strings.unwrap_or_else(|| {
            self.fault(key, "expected a list of strings");
            Vec::new()
        })
    }

    pub(crate) fn choice(&mut self, key: &'static str, legal: &[&str]) -> Option<String> {
        let found = self.string(key)?;
        if legal.contains(&found.as_str()) {
            return Some(found);
        }
        self.fault(key, format!("`{found}` is not one of {}", legal.join(", ")));
        None
    }

    pub(crate) fn optional_integer(&mut self, key: &'static str) -> Option<u64> {
        let item = self.item(key)?;
        let number = item.as_integer().and_then(|number| u64::try_from(number).ok());
        if number.is_none() {
            self.fault(key, format!("expected a whole number of 0 or more, found {}", shown(item)));
        }
        number
    }

    pub(crate) fn integer(&mut self, key: &'static str) -> Option<u64> {
        let found = self.optional_integer(key);
        self.required(key, found)
    }

    pub(crate) fn optional_float(&mut self, key: &'static str) -> Option<f64> {
        let item = self.item(key)?;
        let number = item.as_float().or_else(|| item.as_integer().map(|number| number as f64));
        if number.is_none() {
            self.fault(key, format!("expected a number, found {}", shown(item)));
        }
        number
    }

    pub(crate) fn float(&mut self, key: &'static str) -> Option<f64> {
        let found = self.optional_float(key);
        self.required(key, found)
    }

    /// A size: a whole number of bytes, or a string such as "64 KiB".
    pub(crate) fn optional_bytes(&mut self, key: &'static str) -> Option<Bytes> {
        let item = self.item(key)?;
        let bytes = match item.as_value() {
            Some(Value::Integer(number)) => u64::try_from(*number.value()).ok().map(Bytes),
            Some(Value::String(text)) => bytes_from(text.value()),
            _ => None,
        };
        if bytes.is_none() {
            let message = format!(
                "expected bytes as a whole number or with a unit (B, KiB, MiB, GiB, TiB), found {}",
                shown(item)
            );
            self.fault(key, message);
        }
        bytes
    }

    pub(crate) fn bytes(&mut self, key: &'static str) -> Option<Bytes> {
        let found = self.optional_bytes(key);
        self.required(key, found)
    }

    /// Reads a sub-table with `read`, and adds faults for its unknown keys.
    pub(crate) fn table<R>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Table<'_, 't>) -> R,
    ) -> Option<R> {
        let item = self.item(key)?;
        let Some(inner) = item.as_table_like() else {
            self.fault(key, format!("expected a table, found {}", shown(item)));
            return None;
        };
        let path = format!("{}{key}.", self.path);
        let mut table = Table::new(self.context, inner, path);
        let result = read(&mut table);
        table.finish();
        Some(result)
    }

    /// Reads each table of a list with `read`, and adds faults for unknown keys.
    pub(crate) fn tables<R>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Table<'_, 't>) -> R,
    ) -> Vec<R> {
        self.tables_counted(key, |table, _, _| read(table))
    }

    /// Reads each table of a list with `read`, which also gets the index of the table and the
    /// number of tables. Adds faults for unknown keys.
    pub(crate) fn tables_counted<R>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Table<'_, 't>, usize, usize) -> R,
    ) -> Vec<R> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let inner: Option<Vec<&dyn TableLike>> = match item {
            Item::ArrayOfTables(array) => Some(array.iter().map(|t| t as &dyn TableLike).collect()),
            Item::Value(Value::Array(array)) => array
                .iter()
                .map(|value| value.as_inline_table().map(|table| table as &dyn TableLike))
                .collect(),
            _ => None,
        };
        let Some(inner) = inner else {
            self.fault(key, format!("expected a list of tables, found {}", shown(item)));
            return Vec::new();
        };
        let count = inner.len();
        let mut results = Vec::with_capacity(count);
        for (index, inner) in inner.into_iter().enumerate() {
            let path = format!("{}{key}[{index}].", self.path);
            let mut table = Table::new(self.context, inner, path);
            results.push(read(&mut table, index, count));
            table.finish();
        }
        results
    }

    /// Adds faults for the keys that nobody has read.
    pub(crate) fn finish(&mut self) {
        let unknown: Vec<String> = self
            .table
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !self.asked.contains(key))
            .map(str::to_owned)
            .collect();
        for key in unknown {
            let nearest = self
                .asked
                .iter()
                .map(|legal| (strsim::jaro_winkler(&key, legal), *legal))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let legal: Vec<&str> = self.asked.iter().copied().collect();
            let message = match nearest {
                Some((likeness, legal)) if likeness > 0.7 => {
                    format!("unknown key; did you mean `{legal}`?")
                }
                _ => format!("unknown key; legal here: {}", legal.join(", ")),
            };
            self.fault(&key, message);
        }
    }
}

/// The type and the beginning of a value, for messages.
fn shown(item: &Item) -> String {
    let mut text = item.to_string().trim().to_owned();
    if text.len() > 40 {
        text = text.chars().take(40).collect::<String>() + "...";
    }
    format!("{} {text}", item.type_name())
}

/// Reads a size such as "4096", "4 KiB" or "1.5GiB". Decimal units are refused, because confusing
/// them with binary ones goes unnoticed.
pub(crate) fn bytes_from(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let split =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    let number: f64 = number.replace('_', "").parse().ok()?;
    let bytes = number * (1u64 << shift) as f64;
    ((0.0..9e18).contains(&bytes) && bytes.fract() == 0.0).then_some(Bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_binary_units_only() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4 KiB", 4096),
            ("1.5GiB", 3 << 29),
            ("2TiB", 2 << 40),
            ("512 B", 512),
        ] {
            assert_eq!(bytes_from(text), Some(Bytes(bytes)), "{text}");
        }
        for text in ["4 kB", "4KB", "-1", "", "1.0001 B", "1e99 TiB", "GiB"] {
            assert_eq!(bytes_from(text), None, "{text}");
        }
    }
}
