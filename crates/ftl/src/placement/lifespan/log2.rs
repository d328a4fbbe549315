//! Logarithms to base two in fixed point, the same on every machine.
//!
//! Cost: 16 multiplications; nothing on the way of a write uses them.

/// Bits behind the point.
const FRACTION: u32 = 16;
/// The logarithm of two.
pub(super) const LOG2_ONE: u32 = 1 << FRACTION;

/// The logarithm of a number from 1 on, rounded down to 16 bits behind the point.
pub(super) fn log2(number: u64) -> u32 {
    let whole = number.max(1).ilog2();
    // From 1 to below 2, with 63 bits behind the point.
    let mut rest = u128::from(number.max(1)) << (63 - whole);
    let mut fraction = 0;
    for _ in 0..FRACTION {
        rest = (rest * rest) >> 63;
        let is_above = rest >> 64 & 1;
        fraction = fraction << 1 | is_above as u32;
        rest >>= is_above;
    }
    whole << FRACTION | fraction
}

/// The least number whose logarithm is above the given one; the number is below 2^40.
pub(super) fn first_above(logarithm: u32) -> u64 {
    let (mut at_most, mut above) = (0, 1_u64 << 40);
    while at_most + 1 < above {
        let middle = at_most.midpoint(above);
        if log2(middle) > logarithm {
            above = middle;
        } else {
            at_most = middle;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_floating_point() {
        for number in (1..5_000).chain([1 << 20, 3 << 29, (1 << 40) - 1]) {
            let expected = (number as f64).log2() * f64::from(LOG2_ONE);
            assert!((f64::from(log2(number)) - expected).abs() <= 1.1, "{number}");
        }
    }

    #[test]
    fn the_first_number_above_a_logarithm_is_found() {
        assert_eq!(first_above(log2(1_000)), 1_001);
        assert_eq!(first_above(10 * LOG2_ONE), 1_025);
        assert_eq!(first_above(log2(1_001) - 1), 1_001);
    }
}
