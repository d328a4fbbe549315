//! Shares in words.

/// A share in percent with one decimal; a share of next to nothing, below 0.05 %, with one digit
/// that counts, nine decimals at most.
pub fn percent(share: f64) -> String {
    let small = share.abs() * 100.0;
    let decimals = match small > 0.0 && small < 0.05 {
        true => (-small.log10()).ceil().min(9.0) as usize,
        false => 1,
    };
    format!("{:.decimals$} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_are_not_nothing() {
        let told = [0.0, 0.5, 6e-4, 3e-4, 2e-5, -2e-5, 1e-30].map(percent);
        let expected =
            ["0.0 %", "50.0 %", "0.1 %", "0.03 %", "0.002 %", "-0.002 %", "0.000000000 %"];
        assert_eq!(told, expected);
    }
}
