//! The binary trace format of this crate, `.ssdt`: about 8 to 12 bytes for each request, read at
//! the speed of memory.
//!
//! A file has a header, blocks of requests, and the names of the tenants' devices. All numbers are
//! little-endian.
//!
//! **Header**, 64 bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 7 | magic number |
//! | 8 to 11 | version, u32 |
//! | 12 to 15 | zero |
//! | 16 to 23 | number of requests, u64 |
//! | 24 to 31 | number of blocks, u64 |
//! | 32 to 39 | time of the first request in the original trace, u64, in ns |
//! | 40 to 47 | time of the last request, u64, in ns |
//! | 48 to 55 | offset of the names in the file, u64 |
//! | 56 to 59 | zero |
//! | 60 to 63 | CRC-32 of bytes 0 to 59 |
//!
//! **Block**, of at most 4,096 requests: a header of 24 bytes, then the payload.
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 3 | `BLCK` |
//! | 4 to 7 | number of requests, u32 |
//! | 8 to 11 | size of the payload in bytes, u32 |
//! | 12 to 15 | CRC-32 of the other bytes of this header and of the payload |
//! | 16 to 23 | time of the last request of the block before, u64, in ns |
//!
//! The payload holds groups of at most 256 requests. A group is a header and five columns of
//! bit-packed integers: gaps of time, addresses, sizes, tenants, operations. The module `pack`
//! describes them.
//!
//! **Names**: `NAME`, the number of names (u32), for each its length in bytes (u16) and its bytes,
//! and a CRC-32 of all this.
//!
//! Times are stored as gaps, so they cannot run backwards. The header is written last: a file whose
//! writer did not finish is recognised ([`TraceError::Truncated`]).

mod mapped;
mod pack;
mod write;

use crate::error::TraceError;
use pack::{read_u32, read_u64};
use std::path::Path;

pub use mapped::{MappedTrace, is_ssdt};
pub use write::SsdtWriter;

/// The first bytes of a file. Bit 7 of the first byte says that it is not text. The rest shows the
/// damage of a transfer that changes line ends or stops at Ctrl-Z.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SSDT\r\n\x1a";
/// The version of the format that this program writes and reads.
pub(crate) const VERSION: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 64;
pub(crate) const BLOCK_HEADER_BYTES: usize = 24;
pub(crate) const BLOCK_REQUESTS: usize = 4096;
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"BLCK";
pub(crate) const NAMES_MAGIC: [u8; 4] = *b"NAME";

/// What the header of a `.ssdt` file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of requests in the file.
    pub requests: u64,
    /// The number of blocks that hold them.
    pub blocks: u64,
    /// The time of the first request in the clock of the original trace, in nanoseconds.
    pub origin_ns: u64,
    /// The time of the last request in nanoseconds, counted from the start of the trace.
    pub duration_ns: u64,
    /// The offset of the names in the file, in bytes; 0 if the file is unfinished.
    pub(crate) names_offset: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let numbers =
            [self.requests, self.blocks, self.origin_ns, self.duration_ns, self.names_offset];
        for (i, number) in numbers.into_iter().enumerate() {
            bytes[16 + 8 * i..24 + 8 * i].copy_from_slice(&number.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, TraceError> {
        let path = || path.to_path_buf();
        if bytes.len() < HEADER_BYTES {
            let offset = bytes.len() as u64;
            return Err(TraceError::Truncated { path: path(), offset, what: "the header" });
        }
        let corrupt =
            |what: &str| TraceError::Corrupt { path: path(), offset: 0, what: what.into() };
        if bytes[..8] != MAGIC {
            return Err(corrupt("the magic number is not that of a .ssdt trace"));
        }
        let found = read_u32(bytes, 8);
        if found != VERSION {
            return Err(TraceError::Version { path: path(), found, supported: VERSION });
        }
        if crc32fast::hash(&bytes[..60]) != read_u32(bytes, 60) {
            return Err(corrupt("the checksum of the header does not hold"));
        }
        let header = Self {
            requests: read_u64(bytes, 16),
            blocks: read_u64(bytes, 24),
            origin_ns: read_u64(bytes, 32),
            duration_ns: read_u64(bytes, 40),
            names_offset: read_u64(bytes, 48),
        };
        if header.names_offset == 0 {
            let offset = HEADER_BYTES as u64;
            let what = "writing: its writer did not finish";
            return Err(TraceError::Truncated { path: path(), offset, what });
        }
        Ok(header)
    }
}

/// The header of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHeader {
    pub(crate) requests: usize,
    pub(crate) payload_bytes: usize,
    crc: u32,
    pub(crate) before_ns: u64,
}

/// The longest payload: at worst 8 + 8 + 4 + 2 + 1 bytes for each request, and the group headers.
pub(crate) const PAYLOAD_BYTES_MAX: usize = BLOCK_REQUESTS * 24 + 16 * 64;

impl BlockHeader {
    pub(crate) fn encode(requests: usize, before_ns: u64, payload: &[u8]) -> [u8; 24] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[4..8].copy_from_slice(&(requests as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&before_ns.to_le_bytes());
        let crc = Self::checksum(&bytes, payload);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of a block. The error is the reason why it cannot be one.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes[..4] != BLOCK_MAGIC {
            return Err("no block begins here".into());
        }
        let requests = read_u32(bytes, 4) as usize;
        let payload_bytes = read_u32(bytes, 8) as usize;
        if requests == 0 || requests > BLOCK_REQUESTS || payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(format!("a block of {requests} requests in {payload_bytes} bytes"));
        }
        let (crc, before_ns) = (read_u32(bytes, 12), read_u64(bytes, 16));
        Ok(Self { requests, payload_bytes, crc, before_ns })
    }

    fn checksum(header: &[u8], payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header[..12]);
        hasher.update(&header[16..24]);
        hasher.update(payload);
        hasher.finalize()
    }

    /// Checks the block of this header and appends its requests to `out`. `header` is the header as
    /// it stands in the file, `payload` what follows it.
    pub(crate) fn requests(
        &self,
        header: &[u8],
        payload: &[u8],
        out: &mut Vec<crate::request::Request>,
    ) -> Result<(), String> {
        if Self::checksum(header, payload) != self.crc {
            return Err("the checksum of a block does not hold".into());
        }
        let before = out.len();
        pack::decode(payload, self.requests, self.before_ns, out).map_err(|e| {
            out.truncate(before);
            e.to_string()
        })
    }
}
