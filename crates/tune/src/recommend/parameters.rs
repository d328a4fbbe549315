//! Changed parameters as words.

use super::{ParameterChange, Recommendation};

/// For each changed parameter its key, the baseline's value and the recommended value, with units.
pub fn parameter_lines(recommendation: &Recommendation) -> Vec<[String; 3]> {
    let with_unit = |text: &str, unit: &str| match (unit, text.parse::<u64>()) {
        ("B", Ok(bytes)) if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => {
            format!("{} MiB", bytes >> 20)
        }
        ("", _) => text.to_owned(),
        _ => format!("{text} {unit}"),
    };
    let line = |change: &ParameterChange| {
        let (base, new) = (&change.baseline, &change.recommended);
        [change.key.to_owned(), with_unit(base, change.unit), with_unit(new, change.unit)]
    };
    recommendation.parameters.iter().map(line).collect()
}
