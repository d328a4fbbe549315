//! Reading fields of documents, and numbers in words.

use serde_json::Value;
use ssdtune_model::{Bytes, Nanos};
pub(crate) use ssdtune_report::percent;

/// The field at a path of names with dots between them; null where there is none. A name that is a
/// number counts the items of a list, and the empty path is the whole.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    let mut place = value;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let item = name.parse::<usize>().ok().and_then(|item| place.get(item));
        place = item.or_else(|| place.get(name)).unwrap_or(NOTHING);
    }
    place
}

/// The number at a path.
pub(crate) fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path).as_f64().filter(|number| number.is_finite())
}

/// The text at a path.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    at(value, path).as_str()
}

/// The items of the list at a path; none where there is no list.
pub(crate) fn each<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The fields of the object at a path.
pub(crate) fn fields<'a>(value: &'a Value, path: &str) -> Vec<(&'a str, &'a Value)> {
    let object = at(value, path).as_object();
    object.into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect()
}

/// What stands where nothing is known.
pub(crate) const NOTHING: &str = "-";

/// A value in words, or what stands for none.
pub(crate) fn said(value: Option<f64>, words: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), words)
}

/// How a number is told.
pub(crate) type Words = fn(f64) -> String;

/// A figure, and in brackets from where to where it lies if both ends are known.
pub(crate) fn with_ends(
    [value, low, high]: [Option<f64>; 3],
    words: impl Fn(f64) -> String,
) -> String {
    match (value, low, high) {
        (Some(value), Some(low), Some(high)) => {
            format!("{} ({} to {})", words(value), words(low), words(high))
        }
        _ => said(value, words),
    }
}

/// The ends of the interval at a path; `None` unless both are known.
pub(crate) fn ends(value: &Value, path: &str) -> Option<[f64; 2]> {
    let [low, high] = ["low", "high"].map(|end| number(at(value, path), end));
    Some([low?, high?])
}

/// The interval at a path, as `1.20 to 1.80`; `None` unless both of its ends are known.
pub(crate) fn interval(value: &Value, path: &str) -> Option<String> {
    ends(value, path).map(|[low, high]| format!("{low:.2} to {high:.2}"))
}

/// A time in nanoseconds.
pub(crate) fn time(nanos: f64) -> String {
    Nanos(nanos.max(0.0).round() as u64).to_string()
}

/// A number of bytes.
pub(crate) fn size(bytes: f64) -> String {
    Bytes(bytes as u64).to_string()
}

/// A number of things a second.
pub(crate) fn rate(value: f64) -> String {
    match value {
        0.0..10.0 => format!("{value:.2}"),
        10.0..1e4 => format!("{value:.0}"),
        1e4..1e6 => format!("{:.1} k", value / 1e3),
        _ => format!("{:.2} M", value / 1e6),
    }
}

/// Bytes a second, as MB/s from 100 kB/s on, else as kB/s or B/s.
pub(crate) fn bandwidth(value: f64) -> String {
    match value {
        0.0..1e3 => format!("{value:.1} B/s"),
        1e3..1e5 => format!("{:.1} kB/s", value / 1e3),
        _ => format!("{:.1} MB/s", value / 1e6),
    }
}

/// A factor, as `1.25x`.
pub(crate) fn factor(value: f64) -> String {
    format!("{value:.2}x")
}

/// A number of three decimals.
pub(crate) fn plain(value: f64) -> String {
    format!("{value:.3}")
}

/// A whole number with blanks between thousands.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut told = if value <= -0.5 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

/// A number of things that have a regular plural: `1 window`, `2,000 windows`.
pub(crate) fn things(number: f64, one: &str) -> String {
    let ending = if number == 1.0 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// Anything as one cell of a table.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(real) if number.is_f64() => short(real),
            _ => number.to_string(),
        },
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            items.iter().map(cell).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => {
            let each = fields.iter().map(|(name, value)| format!("{name} {}", cell(value)));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// A number with about four digits that matter.
fn short(value: f64) -> String {
    let size = value.abs();
    match () {
        () if value == 0.0 => "0".to_owned(),
        () if !(1e-3..1e7).contains(&size) => format!("{value:.3e}"),
        () if size >= 1000.0 => format!("{value:.0}"),
        () if size >= 10.0 => format!("{value:.1}"),
        () => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let value = json!({"a": {"b": [1, {"c": "d"}]}, "n": null});
        assert_eq!(number(&value, "a.b.0"), Some(1.0));
        assert_eq!(text(&value, "a.b.1.c"), Some("d"));
        assert!(at(&value, "a.x.y").is_null() && at(&value, "a.b.9").is_null());
        assert_eq!(each(&value, "a.b").len(), 2);
        assert_eq!((each(&value, "n").len(), fields(&value, "a").len()), (0, 1));
    }

    #[test]
    fn numbers_are_told_as_a_person_would() {
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!((count(999.0), count(-784.0)), ("999".into(), "-784".into()));
        assert_eq!((count(-1_784.4), count(-0.4)), ("-1,784".into(), "0".into()));
        assert_eq!(rate(27_160.0), "27.2 k");
        assert_eq!(time(44_264.0), "44.26 us");
        assert_eq!(cell(&json!([1, 2.5, "x"])), "1, 2.500, x");
        assert_eq!(cell(&json!({"low": 1.0, "high": null})), "high -, low 1.000");
        assert_eq!(
            (bandwidth(2e8), bandwidth(17_302.4)),
            ("200.0 MB/s".into(), "17.3 kB/s".into())
        );
        assert_eq!(
            (things(1.0, "trace"), things(0.0, "trace")),
            ("1 trace".into(), "0 traces".into())
        );
        assert_eq!(said(None, percent), "-");
        let ends = |low| with_ends([Some(2.0), low, Some(3.0)], plain);
        assert_eq!(
            (ends(Some(1.0)), ends(None)),
            ("2.000 (1.000 to 3.000)".into(), "2.000".into())
        );
        let ends = json!({"a": {"low": 1.2, "high": 1.8}, "b": {"low": 1.0, "high": null}});
        assert_eq!(interval(&ends, "a").as_deref(), Some("1.20 to 1.80"));
        assert_eq!((interval(&ends, "b"), interval(&ends, "c")), (None, None));
    }
}
