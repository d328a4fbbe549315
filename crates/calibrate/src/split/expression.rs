//! A small language that chooses points.
//!
//! ```text
//! iodepth=2,8,32 & op=randread       both conditions
//! bs>4k | source=*spdk*              one of them; & binds more tightly than |
//! outstanding=16..64 & notes!=*cold* ranges include their ends; * stands for any text
//! ```
//!
//! Fields with numbers: `bs`, `iodepth`, `numjobs`, `outstanding`, `rwmix_read`, `offered_iops`,
//! `iops`; with text: `op`, `source`, `drive`, `run`, `notes`. Runs of writes have `bs`, `span_gib`
//! and `wa`, and `pattern`, `source`, `drive` and `run`. What has not the field is chosen by `!=`
//! alone.

use crate::point::Point;
use std::fmt;
use std::str::FromStr;

/// Conditions that choose points.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    /// One of these, and of it all conditions.
    any: Vec<Vec<Condition>>,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part:?}: {problem} (conditions are written as in iodepth=2,8,32 & op=randread | bs>4k)")]
pub struct ExpressionError {
    /// The part that is wrong.
    pub part: String,
    /// What is wrong with it, and what is legal.
    pub problem: String,
}

/// Something that has fields by which it can be chosen.
pub(crate) trait Fields {
    /// The number in a field, if it has one.
    fn number(&self, field: &str) -> Option<f64>;
    /// The text in a field, if it has one.
    fn text(&self, field: &str) -> Option<&str>;
}

/// Fields with numbers.
const NUMBERS: [&str; 9] = [
    "bs",
    "iodepth",
    "numjobs",
    "outstanding",
    "rwmix_read",
    "offered_iops",
    "iops",
    "span_gib",
    "wa",
];

/// Fields with text.
const TEXTS: [&str; 6] = ["op", "source", "drive", "run", "notes", "pattern"];

impl Fields for Point {
    fn number(&self, field: &str) -> Option<f64> {
        match field {
            "bs" => Some(f64::from(self.block_bytes)),
            "iodepth" => self.iodepth.map(f64::from),
            "numjobs" => Some(f64::from(self.numjobs)),
            "outstanding" => self.outstanding().map(f64::from),
            "rwmix_read" => Some(self.read_percent),
            "offered_iops" => self.offered.map(|rate| rate.0),
            "iops" => self.figures.iops.map(|rate| rate.0),
            _ => None,
        }
    }

    fn text(&self, field: &str) -> Option<&str> {
        match field {
            "op" => Some(self.operation.name()),
            "source" => Some(&self.source),
            "drive" => self.drive.as_deref(),
            "run" => self.run.as_deref(),
            "notes" => Some(&self.notes),
            _ => None,
        }
    }
}

/// The signs of comparison, longer ones first.
const SIGNS: [&str; 6] = ["!=", "<=", ">=", "=", "<", ">"];

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// Whether a number lies in one of these ranges, ends included.
    Number { field: &'static str, ranges: Vec<(f64, f64)>, negated: bool },
    /// Whether a text fits one of these patterns.
    Text { field: &'static str, patterns: Vec<String>, negated: bool },
}

impl Expression {
    /// Whether the expression chooses a point.
    pub fn chooses(&self, point: &Point) -> bool {
        self.holds_for(point)
    }

    /// Whether the expression holds for something with fields.
    pub(crate) fn holds_for(&self, one: &impl Fields) -> bool {
        self.any.iter().any(|all| all.iter().all(|condition| condition.holds(one)))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = |part: &str| part.split('&').map(condition).collect();
        let any = text.split('|').map(all).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), any })
    }
}

fn condition(part: &str) -> Result<Condition, ExpressionError> {
    let part = part.trim();
    let wrong = |problem: String| ExpressionError { part: part.to_owned(), problem };
    let at = part.find(['!', '<', '>', '=']);
    let (field, rest) = part.split_at(at.unwrap_or(part.len()));
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let sign =
        *sign.ok_or_else(|| wrong("a field, one of = != < <= > >=, and values".to_owned()))?;
    let (field, values) = (field.trim(), rest[sign.len()..].trim());
    let negated = sign == "!=";
    if let Some(field) = NUMBERS.iter().find(|name| **name == field) {
        let list = matches!(sign, "=" | "!=");
        let values = if list { values.split(',').collect() } else { vec![values] };
        let ranges = values.into_iter().map(|value| {
            let illegal = || wrong(format!("{value:?} is no number, size (4k) or range (8..64)"));
            range(sign, value.trim()).ok_or_else(illegal)
        });
        return Ok(Condition::Number { field, ranges: ranges.collect::<Result<_, _>>()?, negated });
    }
    let Some(field) = TEXTS.iter().find(|name| **name == field) else {
        let names: Vec<&str> = NUMBERS.into_iter().chain(TEXTS).collect();
        return Err(wrong(format!("{field:?} is no field: {}", names.join(", "))));
    };
    if !matches!(sign, "=" | "!=") {
        return Err(wrong(format!("{field} is a text: compare it with = or !=")));
    }
    let patterns = values.split(',').map(|value| value.trim().to_owned()).collect();
    Ok(Condition::Text { field, patterns, negated })
}

/// The range that a sign and a value stand for.
fn range(sign: &str, value: &str) -> Option<(f64, f64)> {
    if let Some((from, to)) = value.split_once("..").filter(|_| matches!(sign, "=" | "!=")) {
        return Some((number(from)?, number(to)?));
    }
    let value = number(value)?;
    Some(match sign {
        "<" => (f64::NEG_INFINITY, value.next_down()),
        "<=" => (f64::NEG_INFINITY, value),
        ">" => (value.next_up(), f64::INFINITY),
        ">=" => (value, f64::INFINITY),
        _ => (value, value),
    })
}

/// A number, which may end in `k` or `m` (steps of 1,024).
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024.0),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1.0), |digits| (digits, 1_048_576.0)),
    };
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}

impl Condition {
    fn holds(&self, one: &impl Fields) -> bool {
        let (found, negated) = match self {
            Self::Number { field, ranges, negated } => {
                let is_in =
                    |value: f64| ranges.iter().any(|(from, to)| (*from..=*to).contains(&value));
                (one.number(field).is_some_and(is_in), *negated)
            }
            Self::Text { field, patterns, negated } => {
                let is_one = |value: &str| patterns.iter().any(|pattern| fits(value, pattern));
                (one.text(field).is_some_and(is_one), *negated)
            }
        };
        found != negated
    }
}

/// Whether a text fits a pattern, in which `*` stands for any text.
fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse;
    use std::path::Path;

    const ROWS: &str = "source,drive,op,rwmix_read,bs,iodepth,numjobs,iops,notes
lab/spdk,A 1TB,randread,100,4096,2,1,1000,cold
lab/spdk,A 1TB,randread,100,4096,8,2,1000,
lab/uring,A 1TB,randread,100,16384,8,1,1000,
lab/uring,,randwrite,0,4096,,1,1000,
";

    /// The rows that an expression chooses, from 1.
    fn chosen(expression: &str) -> Vec<usize> {
        let points = parse(Path::new("p"), "p", ROWS).unwrap();
        let expression: Expression = expression.parse().unwrap();
        (1..=4).filter(|row| expression.chooses(&points[row - 1])).collect()
    }

    #[test]
    fn conditions_choose_what_they_say() {
        for (expression, rows) in [
            ("iodepth=2,8 & op=randread", vec![1, 2, 3]),
            ("iodepth=2,8&source=*spdk", vec![1, 2]),
            ("bs>4k", vec![3]),
            ("bs>=4k", vec![1, 2, 3, 4]),
            ("bs<4k | outstanding=16", vec![2]),
            ("outstanding = 2..8", vec![1, 3]),
            ("iodepth!=8", vec![1, 4]),
            ("drive=A*", vec![1, 2, 3]),
            ("drive!=A*", vec![4]),
            ("source=lab/*i*g & iodepth<=8", vec![3]),
            ("notes=cold | op=randwrite", vec![1, 4]),
        ] {
            assert_eq!(chosen(expression), rows, "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_said() {
        for (text, problem) in [
            ("depth=2", "\"depth\" is no field: bs, iodepth"),
            ("iodepth", "a field, one of = !="),
            ("iodepth=2,x", "\"x\" is no number"),
            ("op>randread", "op is a text"),
            ("op=read & ", "a field, one of"),
            ("", "a field, one of"),
            ("iodepth>2..4", "\"2..4\" is no number"),
        ] {
            let error = text.parse::<Expression>().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        let all = [
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "*", true),
            ("abc", "a*c", true),
            ("abc", "*b*", true),
            ("ac", "a*a*c", false),
            ("aba", "ab*ba", false),
            ("", "*", true),
        ];
        all.iter()
            .for_each(|(text, pattern, is)| assert_eq!(fits(text, pattern), *is, "{pattern}"));
    }
}
