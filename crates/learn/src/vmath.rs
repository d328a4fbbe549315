//! Vector code: functions compiled for several vector widths, and `exp` and `ln` for use in them.
//!
//! The library's `exp` and `ln` are calls of about 5 ns each, and the compiler cannot put calls
//! into vector code. A Gaussian process needs three for each pair of points, which would be most of
//! the time of a prediction. The functions here are straight-line arithmetic and stay within 2
//! units in the last place of the library's. They use no fused multiplications, so results are the
//! same on every CPU.

/// Declares functions that are compiled for each width of vectors and run with the widest that the
/// CPU has.
///
/// Each body becomes the method of a structure. A closure would not do: pulp calls it through a
/// function that is not inlined, and its loops would be compiled for the oldest CPU. A sum that
/// must not depend on the width has to be split into a fixed number of partial sums.
macro_rules! vectorised {
    (@output) => { () };
    (@output $out:ty) => { $out };
    ($($(#[$meta:meta])* $vis:vis fn $name:ident<$life:lifetime>(
        $($arg:ident: $type:ty),* $(,)?
    ) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name<$life>($($arg: $type),*) $(-> $out)? {
            struct Body<$life> {
                $($arg: $type,)*
            }

            impl<$life> pulp::NullaryFnOnce for Body<$life> {
                type Output = vectorised!(@output $($out)?);

                #[inline(always)]
                fn call(self) -> Self::Output {
                    let Self { $($arg),* } = self;
                    $body
                }
            }

            pulp::Arch::new().dispatch(Body { $($arg),* })
        }
    )*};
}

pub(crate) use vectorised;

const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding this number rounds to an integer, which then stands in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const EXPONENT_ONE: u64 = 1023;
const MANTISSA: u64 = (1 << 52) - 1;

/// `e^x` for `x` up to 700. For `x` below -708 the result stays at about 3e-308.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // Taylor's series. |r| <= ln2/2, so the first term left out is below 2e-16.
    let mut sum = 1.0 / 479_001_600.0;
    sum = sum * r + 1.0 / 39_916_800.0;
    sum = sum * r + 1.0 / 3_628_800.0;
    sum = sum * r + 1.0 / 362_880.0;
    sum = sum * r + 1.0 / 40_320.0;
    sum = sum * r + 1.0 / 5_040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    // The two greatest terms come last, so that hardly more is rounded than their sum.
    sum = 1.0 + (r + r * r * sum);
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(EXPONENT_ONE) << 52;
    sum * f64::from_bits(power)
}

/// `ln v` for finite `v` from 1.
#[inline(always)]
pub(crate) fn ln(v: f64) -> f64 {
    let bits = v.to_bits();
    let mantissa = f64::from_bits((bits & MANTISSA) | (EXPONENT_ONE << 52));
    let large = mantissa > std::f64::consts::SQRT_2;
    let m = if large { 0.5 * mantissa } else { mantissa };
    // The exponent as a float: in 2^52 + exponent it stands in the lowest bits.
    let biased = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let e = biased - 1023.0 + if large { 1.0 } else { 0.0 };
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // ln m = 2 artanh s. z <= 0.0295, so the first term left out is below 1e-17.
    let mut sum = 1.0 / 21.0;
    sum = sum * z + 1.0 / 19.0;
    sum = sum * z + 1.0 / 17.0;
    sum = sum * z + 1.0 / 15.0;
    sum = sum * z + 1.0 / 13.0;
    sum = sum * z + 1.0 / 11.0;
    sum = sum * z + 1.0 / 9.0;
    sum = sum * z + 1.0 / 7.0;
    sum = sum * z + 1.0 / 5.0;
    sum = sum * z + 1.0 / 3.0;
    sum = sum * z + 1.0;
    e * LN2_HIGH + (e * LN2_LOW + 2.0 * s * sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exp_is_within_two_ulp_where_it_once_was_not() {
        let x = -636.6555471111345_f64;
        let (ours, theirs) = (exp(x), x.exp());
        assert!((ours - theirs).abs() <= 4.5e-16 * theirs, "{ours:e} {theirs:e}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 16))]

        #[test]
        fn exp_is_within_two_ulp(x in -707.0f64..20.0) {
            let (ours, theirs) = (exp(x), x.exp());
            prop_assert!((ours - theirs).abs() <= 4.5e-16 * theirs, "{x}: {ours:e} {theirs:e}");
        }

        #[test]
        fn ln_is_within_two_ulp(power in 0.0f64..600.0) {
            let v = power.exp();
            let (ours, theirs) = (ln(v), v.ln());
            let gap = (ours - theirs).abs();
            prop_assert!(gap <= 4.5e-16 * theirs.max(0.3), "{v}: {ours} {theirs}");
        }
    }

    #[test]
    fn ends_of_the_ranges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        assert!(exp(-1e9) < 1e-300 && exp(-1e9) >= 0.0);
        assert!(exp(f64::NEG_INFINITY) < 1e-300);
        assert!((ln(f64::MAX) - f64::MAX.ln()).abs() < 1e-12);
    }
}
