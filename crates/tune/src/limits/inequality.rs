//! Inequalities over names of the catalogue, such as `bus.channels * bus.chips_per_channel <= 80`.
//!
//! An inequality consists of two expressions and one of `<= < >= > == !=` between them. Expressions
//! are made of numbers (also with `KiB`, `MiB`, `GiB`, `TiB`, `KB`, `MB`, `GB`, `TB`), keys of the
//! catalogue that hold a number or a switch, the names `capacity_bytes`, `usable_bytes`,
//! `dram_bytes`, `chips`, `dies`, `planes` and `controller_pins`, the four operations, and
//! parentheses. Names are checked when the text is read.

use super::{derived, value_of};
use ssdtune_model::catalogue::{self, Kind};
use ssdtune_model::{DeviceConfig, presets};
use std::fmt;

/// A condition on a drive, such as `chips <= 80`.
#[derive(Clone, Debug, PartialEq)]
pub struct Inequality {
    text: String,
    left: Expression,
    relation: Relation,
    right: Expression,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Unequal,
}

/// The signs of all relations.
const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<", Relation::Below),
    (">", Relation::Above),
];

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Number(f64),
    Name(String),
    Two(Box<Expression>, char, Box<Expression>),
}

/// The greatest depth of nested parentheses. The parser is recursive, so it needs a bound.
const DEPTH_MAX: usize = 32;

impl fmt::Display for Inequality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Inequality {
    /// Reads an inequality.
    ///
    /// # Errors
    /// A text that says what is wrong. For an unknown name it proposes the nearest legal one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = RELATIONS
            .iter()
            .filter_map(|(sign, relation)| text.find(sign).map(|at| (at, sign.len(), *relation)));
        // The first sign in the text; of two at one place the longer.
        let first = found.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)));
        let Some((at, length, relation)) = first else {
            return Err(format!("{text}: no comparison; write one of <= < >= > == !="));
        };
        let side = |text: &str| {
            let mut parser = Parser { rest: text, depth: 0 };
            let expression = parser.sum()?;
            match parser.rest.trim() {
                "" => Ok(expression),
                rest => Err(format!("{text}: cannot read on from `{rest}`")),
            }
        };
        Ok(Self {
            text: text.trim().to_owned(),
            left: side(&text[..at])?,
            relation,
            right: side(&text[at + length..])?,
        })
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the condition holds for a drive. With a side that cannot be computed (0 / 0) it does
    /// not hold.
    pub fn holds(&self, config: &DeviceConfig) -> bool {
        let (left, right) = (self.left.value(config), self.right.value(config));
        match self.relation {
            Relation::AtMost => left <= right,
            Relation::Below => left < right,
            Relation::AtLeast => left >= right,
            Relation::Above => left > right,
            Relation::Equal => left == right,
            Relation::Unequal => left != right && !left.is_nan() && !right.is_nan(),
        }
    }

    /// A text that says with which values the condition does not hold.
    pub fn explain(&self, config: &DeviceConfig) -> String {
        let (left, right) = (self.left.value(config), self.right.value(config));
        format!("{} does not hold: {left} against {right}", self.text)
    }
}

impl Expression {
    fn value(&self, config: &DeviceConfig) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => value_of(name, config),
            Self::Two(left, sign, right) => {
                let (left, right) = (left.value(config), right.value(config));
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            left = Expression::Two(Box::new(left), sign, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.term()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            left = Expression::Two(Box::new(left), sign, Box::new(self.term()?));
        }
        Ok(left)
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }

    fn term(&mut self) -> Result<Expression, String> {
        if self.sign(&['(']).is_some() {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(format!("more than {DEPTH_MAX} parentheses inside each other"));
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return match self.sign(&[')']) {
                Some(_) => Ok(inner),
                None => Err("a parenthesis is not closed".to_owned()),
            };
        }
        let rest = self.rest.trim_start();
        let word_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c: char| !word_char(c)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        match word.chars().next() {
            None => Err("a number or a name is missing".to_owned()),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(word),
            Some(_) => named(word),
        }
    }

    /// Reads a number, and the unit of bytes behind it if there is one.
    fn number(&mut self, word: &str) -> Result<Expression, String> {
        let wrong = || format!("{word}: not a number");
        let split = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
        let (digits, mut unit) = word.split_at(split);
        let units = [
            ("KiB", 1_u64 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("TiB", 1 << 40),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
        ];
        let behind = self.rest.trim_start();
        if unit.is_empty()
            && let Some((name, _)) = units.iter().find(|(name, _)| behind.starts_with(name))
        {
            unit = name;
            self.rest = &behind[name.len()..];
        }
        let number: f64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
        let factor = match unit {
            "" => 1,
            unit => units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1,
        };
        Ok(Expression::Number(number * factor as f64))
    }
}

/// Reads a name, or says what is wrong with it.
fn named(word: &str) -> Result<Expression, String> {
    let any = presets::load("mqsim-default").unwrap_or_default();
    if derived(word, &any).is_some() {
        return Ok(Expression::Name(word.to_owned()));
    }
    match catalogue::find(word) {
        Some(row) if row.kind != Kind::Categorical => Ok(Expression::Name(row.key.to_owned())),
        Some(row) => Err(format!("{}: it holds a name, not a number", row.key)),
        None => {
            let hint = catalogue::nearest(word).map(|near| format!(" (did you mean {near}?)"));
            Err(format!("{word}: no such key{}", hint.unwrap_or_default()))
        }
    }
}
