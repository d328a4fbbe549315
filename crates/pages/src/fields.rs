//! Fields of documents as people write them: a name without underlines, a value with its unit.
//!
//! The unit of a field is the ending of its name, as `docs/results-schema.md` has them: `_ns` or
//! `_j`. The name loses it where every value is a number, which then has the unit; lists and
//! objects keep the whole name.

use crate::read::{self, Words, bandwidth, cell, factor, percent, plain, rate, time};
use serde_json::Value;

/// Names whose ending tells no unit, and what people call them.
const NAMES: [(&str, &str, Words); 20] = [
    ("mre", "mean relative error", percent),
    ("mape_percent", "mean relative error", |value| percent(value / 100.0)),
    ("mae", "mean absolute error", plain),
    ("rmse", "root of the mean square error", plain),
    ("r2", "R2", plain),
    ("relative_p50", "half are off by less than", percent),
    ("relative_p90", "90 % are off by less than", percent),
    ("relative_p99", "99 % are off by less than", percent),
    ("relative_max", "the worst is off by", percent),
    ("change_percent", "change", |value| format!("{value:+.1} %")),
    ("bytes_per_s", "bandwidth", bandwidth),
    ("share", "share", percent),
    ("inside", "inside", percent),
    ("inside_least", "inside, worst trace", percent),
    ("width", "upper end over lower end", factor),
    ("strong_factor", "factor of the stronger model", factor),
    ("tree_factor", "factor of the tree", factor),
    ("used_share_mean", "rated cycles used, mean of the blocks", percent),
    ("used_share_worst", "rated cycles used, worst block", percent),
    ("days", "days until the rated cycles are used", rate),
];
/// Endings of names, the units they tell, and whether the name loses them: `read_bytes` and
/// `read_share` would both be `read`.
const ENDINGS: [(&str, Words, bool); 16] = [
    ("hit_rate", percent, false),
    ("_bytes_per_s", bandwidth, true),
    ("_bps", bandwidth, true),
    ("_per_s", |value| format!("{}/s", rate(value)), true),
    ("_ns", |value| if value < 0.0 { format!("-{}", time(-value)) } else { time(value) }, true),
    ("_bytes", read::size, false),
    ("_us", |value| format!("{value:.2} us"), true),
    ("_mw", |value| format!("{value:.2} mW"), true),
    ("_nj", |value| format!("{value:.2} nJ"), true),
    ("_mm2", |value| format!("{value:.4} mm2"), true),
    ("_j", |value| format!("{value:.3} J"), true),
    ("_watts", |value| format!("{value:.2} W"), true),
    ("_w", |value| format!("{value:.2} W"), true),
    ("_s", |value| format!("{value:.3} s"), true),
    ("_percent", |value| format!("{value:.1} %"), false),
    ("_share", percent, false),
];

/// What a field is called where its values are numbers, and how these are told; `None` for a field
/// without a unit.
fn rule(field: &str) -> Option<(String, Words)> {
    if let Some((_, name, words)) = NAMES.iter().find(|(own, ..)| *own == field) {
        return Some(((*name).to_owned(), *words));
    }
    let (ending, words, is_cut) = ENDINGS.iter().find(|(ending, ..)| field.ends_with(ending))?;
    let name = if *is_cut { field.strip_suffix(ending)? } else { field };
    (!name.is_empty()).then(|| (name.replace('_', " "), *words))
}

/// Whether a field is shown beside those with these names: not if one of them says the same.
pub(crate) fn is_shown(field: &str, beside: &[&str]) -> bool {
    field != "mape_percent" || !beside.contains(&"mre")
}

/// What a field with these values is called.
pub(crate) fn name<'a>(field: &str, mut values: impl Iterator<Item = &'a Value>) -> String {
    let are_numbers = values.all(|value| value.is_number() || value.is_null());
    let rule = rule(field).filter(|_| are_numbers);
    rule.map_or_else(|| field.replace('_', " "), |(name, _)| name)
}

/// The value of a field, with its unit.
pub(crate) fn value(field: &str, value: &Value) -> String {
    match value {
        Value::Number(number) => match (rule(field), number.as_f64()) {
            (Some((_, words)), Some(real)) => words(real),
            (None, Some(real)) if !number.is_f64() => read::count(real),
            _ => cell(value),
        },
        Value::Object(_) => {
            let members = read::fields(value, "");
            let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
            let shown = members.iter().filter(|(field, _)| is_shown(field, &names));
            let told = shown.map(|(field, own)| {
                format!("{} {}", name(field, std::iter::once(*own)), self::value(field, own))
            });
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
            ("raw_bytes", json!(1_073_741_824_u64), "raw bytes: 1 GiB"),
            ("read_share", json!(0.617), "read share: 61.7 %"),
            ("latency_ns", json!(1500.0), "latency: 1.50 us"),
            ("late_ns", json!(-1500), "late: -1.50 us"),
            ("latencies_ns", json!([1.0, 2.0]), "latencies ns: 1.000, 2.000"),
            ("bandwidth_bytes_per_s", json!(2e6), "bandwidth: 2.0 MB/s"),
            ("bytes_per_s", json!(2e8), "bandwidth: 200.0 MB/s"),
            ("requests_per_s", json!(20), "requests: 20/s"),
            ("average_power_w", json!(1.5), "average power: 1.50 W"),
            ("read_hit_rate", json!(1), "read hit rate: 100.0 %"),
            ("read_hit_rate", json!(null), "read hit rate: -"),
            ("moved_pages", json!(1_234_567), "moved pages: 1,234,567"),
            ("mre", json!(0.08), "mean relative error: 8.0 %"),
            ("days", json!(0.4), "days until the rated cycles are used: 0.40"),
            ("width", json!(1.5), "upper end over lower end: 1.50x"),
            ("depth", json!(1.5), "depth: 1.500"),
            ("unit_us", json!(5.369), "unit: 5.37 us"),
            ("unit_area_mm2", json!(0.01556), "unit area: 0.0156 mm2"),
            (
                "ends",
                json!({"low_ns": 1.0, "mape_percent": 3.0, "mre": 0.03}),
                "ends: low 1 ns, mean relative error 3.0 %",
            ),
            ("error", json!({"mape_percent": 7.5}), "error: mean relative error 7.5 %"),
        ] {
            let name = name(field, std::iter::once(&own));
            assert_eq!(format!("{name}: {}", value(field, &own)), told);
        }
    }
}
