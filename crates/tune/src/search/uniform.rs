//! Random search: uniform draws from the drives within the limits. It is the yardstick that every
//! other algorithm must beat.

use super::Ended;
use super::state::SearchState;
use super::trial::Proposal;
use crate::error::TuneError;
use crate::moves::Moves;
use crate::random::stream;

/// The number of draws for one proposal before the space counts as exhausted.
const DRAWS: usize = 50;

pub(super) fn search(state: &mut SearchState) -> Result<Ended, TuneError> {
    let moves = Moves::of_task(state.task, &state.base_point);
    for iteration in 0.. {
        if state.budget.is_spent() {
            return Ok(Ended::Budget);
        }
        let mut proposals: Vec<Proposal> = Vec::new();
        for slot in 0..state.settings.batch {
            let mut rng = stream(state.settings.seed, iteration, slot as u64);
            let drawn = (0..DRAWS).filter_map(|_| moves.anywhere(&mut rng)).find(|found| {
                let taken = proposals.iter().any(|proposal| proposal.point == found.point);
                !taken && state.log.is_new(&found.point)
            });
            proposals.extend(drawn.map(|found| Proposal::new(found.point, found.config, "random")));
        }
        if proposals.is_empty() {
            return Ok(Ended::Exhausted);
        }
        state.run_in_full(proposals)?;
    }
    Ok(Ended::Budget)
}
