//! The name that a misspelt word was probably meant to be, for "did you mean …?".
//!
//! The measure is the Damerau-Levenshtein distance without regard to case. It costs the product of
//! two lengths, so names that cannot win are passed over by a count of their letters, at a
//! hundredth of the cost.

/// The candidate with the fewest typing errors against `word`, if no more than a third of the
/// letters of `word` are wrong. Of equally close candidates the first is taken.
pub fn closest_name<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer than any name. The distance to a hostile word of 200,000 letters would take seconds.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let length = word.chars().count();
    let letters = LetterCounts::of(&word);
    let mut nearest = None;
    let mut limit = length.max(3) / 3;
    for name in candidates {
        let apart = name.chars().count().abs_diff(length);
        if apart > limit || letters.edits_min(&LetterCounts::of(name)) > limit {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&word, &name.to_ascii_lowercase());
        if distance <= limit {
            nearest = Some(name);
            // Only a smaller distance replaces it.
            let Some(closer) = distance.checked_sub(1) else { break };
            limit = closer;
        }
    }
    nearest
}

/// How often each letter stands in a word, without regard to case or place. Some letters share a
/// counter, which only makes words look more alike.
struct LetterCounts([u8; 64]);

impl LetterCounts {
    fn of(word: &str) -> Self {
        let mut counts = [0_u8; 64];
        for letter in word.chars() {
            let count = &mut counts[u32::from(letter.to_ascii_lowercase()) as usize % 64];
            *count = count.saturating_add(1);
        }
        Self(counts)
    }

    /// A lower bound of the distance between two words: one edit replaces, adds or removes a single
    /// letter.
    fn edits_min(&self, other: &Self) -> usize {
        let surplus = |a: &[u8; 64], b: &[u8; 64]| {
            a.iter().zip(b).map(|(a, b)| usize::from(a.saturating_sub(*b))).sum::<usize>()
        };
        surplus(&self.0, &other.0).max(surplus(&other.0, &self.0))
    }
}
