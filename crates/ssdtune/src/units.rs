//! Durations and sizes as people type them.

use ssdtune_model::{Bytes, Nanos};

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn scaled(text: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = text.parse::<f64>().ok()? * factor as f64;
    (value.is_finite() && (0.0..1.8e19).contains(&value)).then_some(value.round() as u64)
}

/// `5ms`, `1.5s`, `2h`; a bare number is refused.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err("a number with ns, us, ms, s, min or h, such as 5ms".into()),
    };
    scaled(number, factor).map(Nanos).ok_or_else(|| "not a duration of at most 584 years".into())
}

/// `4KiB`, `512GiB`, `1GB`, or plain bytes.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "" | "B" => 1,
        "KiB" | "K" | "k" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "TiB" | "T" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err("a number with B, KiB, MiB, GiB, TiB, KB, MB, GB or TB".into()),
    };
    scaled(number, factor).map(Bytes).ok_or_else(|| "not a size of at most 16 EiB".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_is_understood_and_the_rest_refused() {
        assert_eq!(duration("5ms"), Ok(Nanos(5_000_000)));
        assert_eq!(duration("1.5 s"), Ok(Nanos(1_500_000_000)));
        assert!(duration("5").is_err() && duration("x").is_err() && duration("9e9h").is_err());
        assert_eq!(size("4KiB"), Ok(Bytes(4096)));
        assert_eq!(size("1GB"), Ok(Bytes(1_000_000_000)));
        assert_eq!(size("512"), Ok(Bytes(512)));
        assert!(size("-1").is_err() && size("99999999999TiB").is_err() && size("4Q").is_err());
    }
}
