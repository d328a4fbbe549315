//! Parameters of principal component analysis, and their check.

use super::PcaError;
use crate::guard::guarded_params;

/// Parameters of principal component analysis. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcaParams(PcaValidParams);

/// Parameters of principal component analysis that have passed their check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcaValidParams {
    pub(super) components: usize,
}

guarded_params!(PcaParams, PcaValidParams, PcaError);

impl PcaParams {
    /// Keeps the first `components` components, at least 1.
    pub fn new(components: usize) -> Self {
        Self(PcaValidParams { components })
    }
}

impl PcaValidParams {
    pub(super) fn verify(&self) -> Result<(), PcaError> {
        if self.components == 0 { Err(PcaError::NoComponents) } else { Ok(()) }
    }
}
