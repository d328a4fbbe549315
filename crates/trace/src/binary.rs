//! ssdtune's binary trace format, `.ssdt`: about 8 to 12 bytes per request, read at memory speed.
//!
//! All numbers are little-endian.
//!
//! | part | content |
//! |---|---|
//! | header, 64 bytes | magic (8), version u32, 0 u32, requests u64, blocks u64, origin u64 (ns), duration u64 (ns), offset of the names u64, 0 u32, CRC-32 of the 60 bytes before it |
//! | blocks | each at most 4,096 requests: header of 24 bytes (`BLCK`, requests u32, payload bytes u32, CRC-32 of the payload and the other header fields u32, time of the last request before the block u64), payload |
//! | names | `NAME`, count u32, then length u16 and bytes of each tenant's device; CRC-32 of all this |
//!
//! A payload is groups of at most 256 requests, each a header of widths and bases and then five
//! columns of bit-packed integers: gaps of time, addresses, sizes, tenants, operations (`pack`).
//! The header is written last, so a file whose writer died is recognised
//! ([`TraceError::Truncated`]). Times never go back, by construction.

mod mapped;
mod pack;
mod write;

use crate::error::TraceError;
use pack::{read_u32, read_u64};
use std::path::Path;

pub use mapped::{MappedTrace, is_ssdt};
pub use write::SsdtWriter;

/// First bytes: not text (bit 7), and damaged by a transfer that changes line ends or stops at
/// Ctrl-Z.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SSDT\r\n\x1a";
/// Version written and read.
pub(crate) const VERSION: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 64;
pub(crate) const BLOCK_HEADER_BYTES: usize = 24;
pub(crate) const BLOCK_REQUESTS: usize = 4096;
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"BLCK";
pub(crate) const NAMES_MAGIC: [u8; 4] = *b"NAME";

/// What the header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Requests in the file.
    pub requests: u64,
    /// Blocks they are in.
    pub blocks: u64,
    /// The original trace's time of the first request, ns.
    pub origin_ns: u64,
    /// Time of the last request, ns.
    pub duration_ns: u64,
    /// Where the names stand.
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

/// A block's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHeader {
    pub(crate) requests: usize,
    pub(crate) payload_bytes: usize,
    crc: u32,
    pub(crate) before_ns: u64,
}

/// A payload cannot be longer: 8 + 8 + 4 + 2 + 1 bytes per request at worst, and the group headers.
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

    /// Reads a header; the reason as text where it cannot be one.
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

    /// Checks and decodes the block whose header is `header` and whose payload is `payload`.
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
