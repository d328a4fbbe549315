//! Fields of documents as people write them: a name without underlines, a value with its unit.
//!
//! The unit of a field is the ending of its name, as `docs/results-schema.md` has them: `_ns`,
//! `_bytes`, `_j`. Where a value is told with its unit, the name loses the ending.

use crate::read::{self, bandwidth, cell, percent, rate, time};
use serde_json::Value;
use ssdtune_model::Bytes;

/// How a number is told.
type Words = fn(f64) -> String;

/// Names whose ending tells no unit, and what people call them.
const NAMES: [(&str, &str, Words); 18] = [
    ("mre", "mean relative error", percent),
    ("mae", "mean absolute error", read::plain),
    ("rmse", "root of the mean square error", read::plain),
    ("r2", "R2", read::plain),
    ("relative_p50", "half are off by less than", percent),
    ("relative_p90", "90 % are off by less than", percent),
    ("relative_p99", "99 % are off by less than", percent),
    ("relative_max", "the worst is off by", percent),
    ("change_percent", "change", |value| format!("{value:+.1} %")),
    ("share", "share", percent),
    ("inside", "inside", percent),
    ("inside_least", "inside, worst trace", percent),
    ("width", "upper end over lower end", read::factor),
    ("strong_factor", "factor of the stronger model", read::factor),
    ("tree_factor", "factor of the tree", read::factor),
    ("used_share_mean", "rated cycles used, mean of the blocks", percent),
    ("used_share_worst", "rated cycles used, worst block", percent),
    ("days", "days until the rated cycles are used", read::count),
];
/// Endings of names, and the units they tell.
const ENDINGS: [(&str, Words); 10] = [
    ("_bytes_per_s", bandwidth),
    ("_per_s", |value| format!("{}/s", rate(value))),
    ("_ns", time),
    ("_bytes", |value| Bytes(value as u64).to_string()),
    ("_j", |value| format!("{value:.3} J")),
    ("_watts", |value| format!("{value:.2} W")),
    ("_w", |value| format!("{value:.2} W")),
    ("_s", |value| format!("{value:.3} s")),
    ("_percent", |value| format!("{value:.1} %")),
    ("_share", percent),
];
/// The same as another field in a second unit: shown once.
const REPEATED: &str = "mape_percent";

/// What a field is called, and how its numbers are told.
fn rule(field: &str) -> (String, Words) {
    if let Some((_, name, words)) = NAMES.iter().find(|(own, ..)| *own == field) {
        return ((*name).to_owned(), *words);
    }
    if field.ends_with("hit_rate") {
        return (field.replace('_', " "), percent);
    }
    let ending = |(ending, words): &(&str, Words)| Some((field.strip_suffix(ending)?, *words));
    match ENDINGS.iter().find_map(ending) {
        Some((name, words)) => (name.replace('_', " "), words),
        None => (field.replace('_', " "), |value| cell(&value.into())),
    }
}

/// Whether a field is shown: not if another one says the same.
pub(crate) fn is_shown(field: &str) -> bool {
    field != REPEATED
}

/// What a field is called.
pub(crate) fn name(field: &str) -> String {
    rule(field).0
}

/// The value of a field, with its unit.
pub(crate) fn value(field: &str, value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() || name(field) != field.replace('_', " ") => {
            value.as_f64().map_or_else(|| cell(value), rule(field).1)
        }
        Value::Object(fields) => {
            let shown = fields.iter().filter(|(field, _)| is_shown(field));
            let told =
                shown.map(|(field, own)| format!("{} {}", name(field), self::value(field, own)));
            told.collect::<Vec<_>>().join(", ")
        }
        _ => cell(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_told_with_their_units() {
        for (field, own, told) in [
            ("raw_bytes", json!(1_073_741_824_u64), "raw: 1 GiB"),
            ("latency_ns", json!(1500.0), "latency: 1.50 us"),
            ("bandwidth_bytes_per_s", json!(2e6), "bandwidth: 2.0 MB/s"),
            ("average_power_w", json!(1.5), "average power: 1.50 W"),
            ("read_hit_rate", json!(0.5), "read hit rate: 50.0 %"),
            ("read_hit_rate", json!(null), "read hit rate: -"),
            ("moved_pages", json!(1_234_567), "moved pages: 1234567"),
            ("mre", json!(0.08), "mean relative error: 8.0 %"),
            ("width", json!(1.5), "upper end over lower end: 1.50x"),
            ("depth", json!(1.5), "depth: 1.500"),
            ("ends", json!({"low_ns": 1.0, "mape_percent": 3.0}), "ends: low 1 ns"),
        ] {
            assert_eq!(format!("{}: {}", name(field), value(field, &own)), told);
        }
    }
}
