//! Mixing of 64-bit numbers: seeds of random sub-streams, and random draws that are computed from a
//! place instead of taken from a stream.
//!
//! Both functions are those of the generator SplitMix64 (Steele, Lea, Flood, "Fast Splittable
//! Pseudorandom Number Generators", OOPSLA 2014): two multiplications, about 2 ns. Neither is
//! cryptographic. Stored seeds and recorded results depend on every bit of them.

/// 2^64 divided by the golden ratio, rounded to an odd number: a step that visits all 64-bit
/// numbers and keeps neighbours far apart.
pub const GOLDEN_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the 64-bit numbers in which every input bit reaches every output bit. Zero
/// stays zero.
#[inline]
pub const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The first number that a SplitMix64 generator seeded with `x` draws. Unlike [`scramble`] it moves
/// zero as well.
#[inline]
pub const fn split_mix(x: u64) -> u64 {
    scramble(x.wrapping_add(GOLDEN_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the published generator for the seed 1477776061723855037.
    #[test]
    fn draws_are_those_of_the_published_generator() {
        let seed = 1_477_776_061_723_855_037_u64;
        let drawn =
            [0, 1, 2].map(|step: u64| split_mix(seed.wrapping_add(step.wrapping_mul(GOLDEN_STEP))));
        let published =
            [1_985_237_415_132_408_290, 2_979_275_885_539_914_483, 13_511_426_838_097_143_398];
        assert_eq!(drawn, published);
        assert_eq!(scramble(0), 0);
    }
}
