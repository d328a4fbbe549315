//! Random search: what every other algorithm must beat.

use super::judge::Judge;
use super::moves::Moves;
use super::{Ended, Proposal, SearchError, stream};

/// Draws of one slot before the space counts as exhausted.
const DRAWS: usize = 50;

pub(super) fn search(judge: &mut Judge) -> Result<Ended, SearchError> {
    let base = judge.base_point.clone();
    let moves = Moves::new(judge.task, &base);
    for iteration in 0.. {
        if !judge.may_go_on() {
            return Ok(Ended::Budget);
        }
        let mut proposals: Vec<Proposal> = Vec::new();
        for slot in 0..judge.settings.batch {
            let mut rng = stream(judge.settings.seed, iteration, slot as u64);
            let drawn = (0..DRAWS).filter_map(|_| moves.anywhere(&mut rng)).find(|found| {
                let taken = proposals.iter().any(|own| own.point == found.point);
                !taken && judge.is_new(&found.point)
            });
            proposals.extend(drawn.map(|found| Proposal::new(found.point, found.config, "random")));
        }
        if proposals.is_empty() {
            return Ok(Ended::Exhausted);
        }
        let proposals = judge.sift(proposals, 1.0)?;
        judge.full(proposals)?;
    }
    Ok(Ended::Budget)
}
