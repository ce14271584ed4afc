//! # Places at random, the same again for the same seed
//!
//! What is sampled at exact periods may keep step with what it samples, such as the kernel's tick: RFC 2330, 11.1, and
//! RFC 3432, 4.2.

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number from 0 up to 1, evenly distributed: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) at that place.
#[inline]
pub(crate) fn uniform(seed: u64, place: u64) -> f64 {
    let mut bits = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(ODD));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spread_evenly_and_do_not_follow_one_another() {
        let numbers: Vec<f64> = (0..100_000).map(|place| uniform(7, place)).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mut tenths = [0; 10];
        for number in &numbers {
            tenths[(number * 10.0) as usize] += 1;
        }
        // Binomial of 100,000 and a tenth: five standard deviations are 474.
        assert!(
            tenths
                .iter()
                .all(|&count| (9_526..=10_474).contains(&count)),
            "{tenths:?}"
        );
        let products: f64 = numbers
            .windows(2)
            .map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5))
            .sum();
        let correlation = products / (numbers.len() as f64 / 12.0);
        assert!(correlation.abs() < 0.016, "{correlation}");
    }

    #[test]
    fn a_seed_gives_the_same_places_again_and_another_gives_others() {
        assert_eq!(uniform(7, 3), uniform(7, 3));
        assert_ne!(uniform(7, 3), uniform(8, 3));
    }
}
