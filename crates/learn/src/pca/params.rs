//! Settings of principal components, checked before fitting.

use super::PcaError;
use crate::guard::guarded_params;

/// Parameters of a principal component analysis, unchecked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcaParams(PcaValidParams);

/// Parameters of a principal component analysis, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcaValidParams {
    pub(super) components: usize,
}

guarded_params!(PcaParams, PcaValidParams, PcaError);

impl PcaParams {
    /// Keeps this many components.
    pub fn new(components: usize) -> Self {
        Self(PcaValidParams { components })
    }
}

impl PcaValidParams {
    pub(super) fn verify(&self) -> Result<(), PcaError> {
        if self.components == 0 { Err(PcaError::NoComponents) } else { Ok(()) }
    }
}
