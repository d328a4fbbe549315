//! What is wrong with a configuration, in full: where, which key, which value, what would be right.

use serde::Serialize;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, where the configuration came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The key or XML path; empty where a whole file is meant.
    pub key: String,
    /// The value as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong with it.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum Problem {
    /// The text is not TOML or XML.
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// No such key, tag or name.
    UnknownKey {
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// The key stands twice.
    Duplicate {
        /// Line of the first.
        first_line: usize,
    },
    /// The value is not of the right type or not in range.
    Illegal {
        /// The type.
        expected: &'static str,
        /// What is legal.
        legal: String,
        /// The legal name that was probably meant.
        nearest: Option<String>,
    },
    /// Something that must be there is not.
    Missing {
        /// What to add.
        remedy: String,
    },
    /// Values that are legal each for itself but not together.
    Conflict {
        /// Why, and what to change.
        reason: String,
    },
    /// Legal elsewhere, but not modelled or not allowed here.
    Unsupported {
        /// Why, and what to do instead.
        reason: String,
    },
}

impl Fault {
    /// A fault of a key, its place not yet known.
    pub fn new(key: impl Into<String>, problem: Problem) -> Self {
        Self { file: None, line: None, key: key.into(), value: None, problem }
    }

    /// The same with the value as written.
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

    /// The same with its line.
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
            Self::Missing { remedy } => write!(f, "missing; {remedy}"),
            Self::Conflict { reason } | Self::Unsupported { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Fault {}

/// Everything that is wrong with one configuration; never empty when it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// `value` if nothing is wrong.
    ///
    /// # Errors
    /// These faults, if there are any.
    pub fn or_ok<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Notes one more.
    pub fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The same with the file's name on each.
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
