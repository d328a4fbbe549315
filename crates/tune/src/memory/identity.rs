//! The version of search identities, by which AutoDB tells notes of searches that can be resumed
//! from notes that cannot.

use serde::Deserialize;

/// The version of the digests that identify searches. A note of another version is stale: no search
/// of this program has its digest, so it is never found again.
pub const IDENTITY_VERSION: u32 = 3;

/// Whether a stored note is of a search that this program cannot resume.
pub(super) fn is_stale(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Version {
        #[serde(default)]
        identity_version: u32,
    }
    !serde_json::from_slice::<Version>(json)
        .is_ok_and(|note| note.identity_version == IDENTITY_VERSION)
}
