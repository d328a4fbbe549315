//! CloudPhysics vSCSI traces: little-endian binary records of 32 bytes (version 1) or 40 bytes
//! (version 2).
//!
//! Version 1: `serial u32, length u32, segments u32, command u16, version u16, lba u64, time u64`.
//!
//! Version 2: `command u16, version u16, serial u32, length u32, segments u32, lba u64, time u64,
//! response u64`.
//!
//! Lengths are in bytes, addresses in sectors of 512 bytes, times in microseconds. The SCSI
//! commands READ, WRITE, UNMAP, WRITE SAME (read as a write) and SYNCHRONIZE CACHE are requests.
//! Other commands are skipped.

use crate::decode::{Context, Decoder};
use crate::error::{Malformed, Position, Problem, TraceError};
use crate::input::{Batch, Input};
use crate::request::Op;
use crate::text::{Fault, Field};
use ssdtune_model::SECTOR_BYTES;

/// The size of a record by its version.
const RECORD_BYTES: [usize; 3] = [0, 32, 40];
const BATCH: usize = 4096;

pub(crate) struct Vscsi {
    pub(crate) unit_ns: u64,
    /// The version, 1 or 2; 0 before the first record.
    version: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The version of the records in `bytes`, if the version fields of the first records agree.
pub(crate) fn version_of(bytes: &[u8]) -> Option<usize> {
    [(1, 14), (2, 2)].into_iter().find_map(|(version, field)| {
        let mut records = bytes.chunks_exact(RECORD_BYTES[version]).take(16).peekable();
        records.peek()?;
        records.all(|r| usize::from(u16_at(r, field) >> 8) == version).then_some(version)
    })
}

fn op_of_command(command: u16) -> Option<Op> {
    match command & 0xff {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Op::Read),
        0x0a | 0x2a | 0x8a | 0xaa | 0x41 | 0x93 => Some(Op::Write),
        0x42 => Some(Op::Trim),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

impl Vscsi {
    pub(crate) fn new(unit_ns: u64) -> Self {
        Self { unit_ns, version: 0 }
    }

    fn record(&self, bytes: &[u8], context: &mut Context) -> crate::decode::Parsed {
        let (command, version, length, lba, time) = match self.version {
            1 => (u16_at(bytes, 12), u16_at(bytes, 14), u32_at(bytes, 4), 16, 24),
            _ => (u16_at(bytes, 0), u16_at(bytes, 2), u32_at(bytes, 8), 16, 24),
        };
        if usize::from(version >> 8) != self.version {
            return Err(Fault::new(Problem::BadMagic, "the record version of the first record", 0));
        }
        let field = |value| Field { value, column: 0 };
        let Some(at) = u64_at(bytes, time).checked_mul(self.unit_ns) else {
            return Err(Fault::new(Problem::Overflow, "a time in microseconds", 0));
        };
        match op_of_command(command) {
            None => Ok(None),
            Some(Op::Flush) => context.request(field(at), Op::Flush, field(0), field(0), b""),
            Some(op) => {
                let sectors = u64::from(length).div_ceil(SECTOR_BYTES);
                context.request(field(at), op, field(u64_at(bytes, lba)), field(sectors), b"")
            }
        }
    }
}

impl Decoder for Vscsi {
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError> {
        if self.version == 0 {
            let path = input.path().to_path_buf();
            let first = input.want(16 * RECORD_BYTES[2])?;
            if first.is_empty() {
                return Ok(false);
            }
            let Some(version) = version_of(first) else {
                return Err(TraceError::Malformed(Box::new(Malformed {
                    path,
                    position: Position::Byte(0),
                    column: 0,
                    format: context.format.name(),
                    expected: "records whose version field says 1 or 2",
                    found: context.shown(&first[..first.len().min(16)]),
                    problem: Problem::BadMagic,
                })));
            };
            self.version = version;
        }
        let size = RECORD_BYTES[self.version];
        for _ in 0..BATCH {
            input.want(size)?;
            let bytes = input.available();
            if bytes.is_empty() {
                return Ok(false);
            }
            if bytes.len() < size {
                let offset = input.offset() + bytes.len() as u64;
                let path = input.path().to_path_buf();
                return Err(TraceError::Truncated { path, offset, what: "a vSCSI record" });
            }
            let offset = input.offset();
            match self.record(&bytes[..size], context) {
                Ok(Some(request)) => {
                    batch.mark(offset);
                    batch.requests.push(request);
                }
                Ok(None) => {}
                Err(fault) => {
                    context.bad_record(input.path(), offset, fault, &bytes[..size])?;
                }
            }
            input.consume(size);
        }
        Ok(true)
    }

    fn by_line(&self) -> bool {
        false
    }
}
