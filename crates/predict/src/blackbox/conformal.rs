//! Intervals that hold as many truths as they say, whatever the errors look like.
//!
//! Conformal prediction (Vovk et al., "Algorithmic Learning in a Random World", 2005) asks one
//! thing of the errors that it is given: that those to come are like them. An interval as wide as
//! the right one of the known errors then holds a share of what comes, with no assumption on how
//! errors are distributed. The first function is for errors of workloads of one kind. The second is
//! for errors of groups, here of traces, where what comes is of a group that is not among them
//! (Lee, Barber, Willett, "Distribution-free inference with hierarchical data", 2023).

/// The error that a share of those to come do not exceed: of `n` errors not the one at rank
/// `share n`, but at `share (n + 1)`, since the one to come may be larger than all. `None` if the
/// errors are too few to say: fewer than `share / (1 - share)`.
pub(super) fn quantile(errors: &[f64], share: f64) -> Option<f64> {
    let rank = (share * (errors.len() + 1) as f64 - ROUNDING).ceil() as usize;
    let mut sorted = errors.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(rank.max(1) - 1).copied()
}

/// The range that the middle `share` of what comes lies in.
pub(super) fn middle(values: &[f64], share: f64) -> Option<(f64, f64)> {
    let upper = 0.5 + 0.5 * share;
    let negative: Vec<f64> = values.iter().map(|value| -value).collect();
    Some((-quantile(&negative, upper)?, quantile(values, upper)?))
}

/// The error that a share of those of a new group do not exceed, in the mean over new groups. Every
/// known group counts alike, however many errors it has, and the new one as much as they do. `None`
/// if the groups are too few to say: fewer than [`groups_min`].
pub(super) fn quantile_of_groups<'a>(
    groups: impl IntoIterator<Item = &'a [f64]>,
    share: f64,
) -> Option<f64> {
    let groups: Vec<&[f64]> = groups.into_iter().filter(|group| !group.is_empty()).collect();
    let weight = |group: &[f64]| 1.0 / ((groups.len() + 1) as f64 * group.len() as f64);
    let weighted = |group: &&'a [f64]| {
        let weight = weight(group);
        group.iter().map(move |error| (*error, weight)).collect::<Vec<_>>()
    };
    let mut errors: Vec<(f64, f64)> = groups.iter().flat_map(weighted).collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let reached = |&(error, weight): &(f64, f64)| {
        sum += weight;
        (sum >= share - ROUNDING).then_some(error)
    };
    errors.iter().find_map(reached)
}

/// The fewest groups that say what a share of the errors of a new group do not exceed.
pub(super) fn groups_min(share: f64) -> usize {
    (share / (1.0 - share) - ROUNDING).ceil() as usize
}

/// Ranks and sums of weights are that exact.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn ranks_count_the_one_to_come() {
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(quantile(&nine, 0.9), Some(9.0));
        assert_eq!(quantile(&nine[..8], 0.9), None);
        assert_eq!(quantile(&nine, 0.5), Some(5.0));
        let nineteen: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(middle(&nineteen, 0.9), Some((1.0, 19.0)));
        assert_eq!(middle(&nine, 0.9), None);
        assert_eq!((groups_min(0.9), groups_min(0.5)), (9, 1));
    }

    #[test]
    fn groups_count_alike() {
        let (many, one) = (vec![1.0; 1_000], vec![5.0]);
        let groups: Vec<&[f64]> = vec![&many, &one, &one];
        // Each of the three has a quarter, and the new group has the last one.
        assert_eq!(quantile_of_groups(groups.clone(), 0.25), Some(1.0));
        assert_eq!(quantile_of_groups(groups.clone(), 0.26), Some(5.0));
        assert_eq!(quantile_of_groups(groups, 0.76), None);
        let nine = vec![&one[..]; groups_min(0.9)];
        assert_eq!(quantile_of_groups(nine, 0.9), Some(5.0));
        assert_eq!(quantile_of_groups(vec![&one[..]; 8], 0.9), None);
    }

    /// Groups that differ much from each other: an interval of pooled errors would hold 90 % of a
    /// new group's only if errors, not groups, were drawn at random. Of 400 draws of twelve groups
    /// the mean coverage of a thirteenth is 0.9 or a little more.
    #[test]
    fn a_new_group_is_covered() {
        let seed = 11;
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut group = || {
            let (scale, count) = (rng.random::<f64>().powi(3), rng.random_range(1..40));
            (0..count).map(|_| scale * rng.random::<f64>()).collect::<Vec<f64>>()
        };
        let mut sum = 0.0;
        for _ in 0..400 {
            let known: Vec<Vec<f64>> = (0..12).map(|_| group()).collect();
            let most = quantile_of_groups(known.iter().map(Vec::as_slice), 0.9).unwrap();
            let new = group();
            let inside = new.iter().filter(|error| **error <= most).count();
            sum += inside as f64 / new.len() as f64;
        }
        let mean = sum / 400.0;
        assert!((0.87..=0.97).contains(&mean), "seed {seed}: {mean}");
    }
}
