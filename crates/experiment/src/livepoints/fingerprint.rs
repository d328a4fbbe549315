//! What tells two traces apart: a hash of all requests. Cost: some 10 ns a request.

use ssdtune_trace::Request;

/// Bytes that stand for a request, as crate `tune` has them in its keys.
const REQUEST_BYTES: usize = 23;
/// Requests hashed at once: enough for the hash's widest vectors.
const BLOCK_REQUESTS: usize = 1_024;

/// The hash of the requests so far.
#[derive(Default)]
pub(super) struct Fingerprint {
    hasher: blake3::Hasher,
    block: Vec<u8>,
}

impl Fingerprint {
    /// Adds the next request.
    #[inline]
    pub fn push(&mut self, request: &Request) {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[0..8].copy_from_slice(&request.at.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&request.lba.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&request.sectors.to_le_bytes());
        bytes[20..22].copy_from_slice(&request.tenant.0.to_le_bytes());
        bytes[22] = request.op as u8;
        self.block.extend_from_slice(&bytes);
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
