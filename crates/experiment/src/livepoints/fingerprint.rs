//! What tells two traces apart: a hash of all requests. Cost: some 10 ns a request.

use ssdtune_trace::{REQUEST_BYTES, Request};

/// Requests hashed at once: enough for the hash's widest vectors.
const BLOCK_REQUESTS: usize = 1_024;

/// The hash of the requests so far.
#[derive(Default)]
pub(crate) struct Fingerprint {
    hasher: blake3::Hasher,
    block: Vec<u8>,
}

impl Fingerprint {
    /// Adds the next request.
    #[inline]
    pub fn push(&mut self, request: &Request) {
        self.block.extend_from_slice(&request.key_bytes());
        if self.block.len() == BLOCK_REQUESTS * REQUEST_BYTES {
            self.hasher.update(&self.block);
            self.block.clear();
        }
    }

    pub fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.block);
        *self.hasher.finalize().as_bytes()
    }
}
