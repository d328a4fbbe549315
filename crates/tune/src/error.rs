//! Why tuning cannot go on.

use crate::aim::Aim;
use crate::breach::NothingKept;
use crate::evaluate::MeasureError;

/// A search, a pruning, a recommendation or a what-if analysis cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// Measuring fails, or the caller asked to stop.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The baseline cannot be measured.
    #[error("the baseline cannot serve {workload}: {reason}")]
    Baseline {
        /// The name of the workload.
        workload: String,
        /// Why not.
        reason: String,
    },
    /// The baseline breaks the limits, so no search can start from it.
    #[error("the baseline breaks the limits: {0}; loosen them, or choose another baseline")]
    Limits(String),
    /// An aim has no value, not even for the baseline.
    #[error("--aim {aim}: the baseline has no such figure on the target ({remedy})")]
    Aim {
        /// The aim.
        aim: Aim,
        /// When it has one.
        remedy: &'static str,
    },
    /// No drive that was measured keeps every limit.
    #[error(transparent)]
    NothingKept(#[from] Box<NothingKept>),
    /// The space does not hold the baseline.
    #[error("the space does not hold the baseline's own values; build it with Space::around")]
    Space,
    /// An algorithm from elsewhere proposes what is no point of the space.
    #[error("a proposal is no point: {0}")]
    Proposal(String),
    /// The algorithm is one from elsewhere, and there is none.
    #[error("own is an algorithm of a caller: search by search::run_proposed")]
    NoProposer,
    /// A model of the trials cannot be fitted.
    #[error("the surrogate cannot be fitted: {0}")]
    Surrogate(String),
}

impl TuneError {
    /// Whether something else must be asked for.
    pub fn is_of_usage(&self) -> bool {
        matches!(self, Self::Limits(_) | Self::Space | Self::Proposal(_) | Self::Aim { .. })
    }
}
