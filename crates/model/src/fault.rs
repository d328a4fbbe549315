//! What is wrong with a configuration: in which place, which key, which value, and what would be
//! right.
//!
//! Readers collect every fault instead of stopping at the first one.

use serde::Serialize;
use std::fmt;

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, if the configuration came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The key or XML tag; empty if the fault concerns the whole file.
    pub key: String,
    /// The value as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong with the key, the value or the file.
    #[serde(flatten)]
    pub problem: Problem,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum Problem {
    /// The text is not TOML or XML.
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// There is no parameter or tag of that name.
    UnknownKey {
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The key stands twice in the file.
    Duplicate {
        /// The line of its first occurrence.
        first_line: usize,
    },
    /// The value has the wrong type or is out of range.
    Illegal {
        /// The right type, as in "a whole number".
        expected: &'static str,
        /// The legal values.
        legal: String,
        /// The legal name that was probably meant.
        nearest: Option<String>,
    },
    /// Something that must be there is absent.
    Missing {
        /// What to add.
        remedy: String,
    },
    /// Values that are legal each for itself contradict each other.
    Conflict {
        /// Why, and what to change.
        reason: String,
    },
    /// More faults than are listed. It comes last.
    Further {
        /// How many more.
        count: usize,
    },
    /// Something that other programs know is not modelled or not allowed here.
    Unsupported {
        /// Why, and what to do instead.
        reason: String,
    },
}

impl Fault {
    /// A fault of a key. Its file, line and value are not known yet.
    pub fn new(key: impl Into<String>, problem: Problem) -> Self {
        Self { file: None, line: None, key: key.into(), value: None, problem }
    }

    /// Adds the value as written, cut after 80 characters.
    pub fn with_value(mut self, value: impl Into<String>) -> Self {
        // A hostile value may be megabytes long; nobody reads more than a line of it.
        const SHOWN: usize = 80;
        let mut value: String = value.into();
        if let Some((at, _)) = value.char_indices().nth(SHOWN) {
            value.truncate(at);
            value.push('…');
        }
        self.value = Some(value);
        self
    }

    /// Adds the line, from 1.
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        if !self.key.is_empty() {
            f.write_str(&self.key)?;
            if let Some(value) = &self.value {
                write!(f, " = {value}")?;
            }
            f.write_str(": ")?;
        }
        self.problem.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message } => f.write_str(message),
            Self::UnknownKey { nearest: Some(nearest) } => {
                write!(f, "no such key; did you mean {nearest}?")
            }
            Self::UnknownKey { nearest: None } => {
                f.write_str("no such key; `ssdtune config params` lists all")
            }
            Self::Duplicate { first_line } => {
                write!(f, "stands twice, first in line {first_line}; keep one")
            }
            Self::Illegal { expected, legal, nearest } => {
                write!(f, "must be {expected}: {legal}")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest}?"),
                    None => Ok(()),
                }
            }
            Self::Further { count } => write!(f, "and {count} more faults"),
            Self::Missing { remedy } => write!(f, "missing; {remedy}"),
            Self::Conflict { reason } | Self::Unsupported { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Fault {}

impl std::error::Error for Problem {}

/// Everything that is wrong with one configuration. As an error it holds at least one fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Returns `value` if nothing is wrong.
    ///
    /// # Errors
    /// There are faults.
    pub fn or_ok<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Adds a fault.
    pub fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// How many faults there are, those that are not listed included.
    pub fn count(&self) -> usize {
        let count = |fault: &Fault| match fault.problem {
            Problem::Further { count } => count,
            _ => 1,
        };
        self.0.iter().map(count).sum()
    }

    /// Puts the name of the file on each fault.
    pub fn in_file(mut self, file: &str) -> Self {
        for fault in &mut self.0 {
            fault.file = Some(file.to_owned());
        }
        self
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
