//! Linux's binary block traces, one file for each CPU, as `blktrace` writes them.
//!
//! Records of 48 bytes (`magic, sequence, time ns, sector, bytes, action, pid, device, cpu, error,
//! extra length`), each followed by its extra bytes, in the byte order of the traced machine. One
//! kind of event is read: D, Q or C. Notifications and commands passed through to the device are
//! skipped. A trace is complete only when the files of all CPUs are merged by time: see
//! [`crate::merge`].

use crate::decode::{Context, Decoder, Parsed};
use crate::error::{Problem, TraceError};
use crate::input::{Batch, Input};
use crate::request::Op;
use crate::text::{Fault, Field};
use ssdtune_model::SECTOR_BYTES;

pub(crate) const RECORD_BYTES: usize = 48;
/// The upper three bytes of the magic number. The lowest byte is the version of the records.
const MAGIC: u32 = 0x6561_7400;
const MAGIC_MASK: u32 = 0xffff_ff00;
const BATCH: usize = 4096;

const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSED_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

pub(crate) struct Blktrace {
    pub(crate) unit_ns: u64,
    /// The kind of event that is read: `D`, `Q` or `C`.
    pub(crate) action: u8,
    /// Whether the traced machine is big-endian.
    big_endian: bool,
    /// Whether the decoder looks for the next record after faulty bytes.
    lost: bool,
}

/// Whether the records that begin with `bytes` are big-endian; `None` if they are no blktrace.
pub(crate) fn byte_order(bytes: &[u8]) -> Option<bool> {
    let magic = *bytes.first_chunk::<4>()?;
    let is = |value: u32| value & MAGIC_MASK == MAGIC;
    match (is(u32::from_le_bytes(magic)), is(u32::from_be_bytes(magic))) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    }
}

/// The letter that blkparse prints for the event of an action.
fn letter(action: u32) -> u8 {
    match action & 0xff {
        1 => b'Q',
        7 => b'D',
        8 => b'C',
        _ => 0,
    }
}

/// The event that counts as arrival in a trace that begins with `bytes`: D if there is one, else Q,
/// else C.
pub(crate) fn default_action(bytes: &[u8]) -> u8 {
    let big_endian = byte_order(bytes).unwrap_or(false);
    let record = Blktrace { unit_ns: 1, action: 0, big_endian, lost: false };
    let (mut rest, mut best) = (bytes, b'D');
    let mut seen = [false; 3];
    while rest.len() >= RECORD_BYTES {
        match letter(record.u32_at(rest, 28)) {
            b'D' => return b'D',
            b'Q' => seen[0] = true,
            b'C' => seen[1] = true,
            _ => {}
        }
        let size = RECORD_BYTES + usize::from(record.u16_at(rest, 46));
        rest = rest.get(size..).unwrap_or_default();
    }
    if seen[0] {
        best = b'Q';
    } else if seen[1] {
        best = b'C';
    }
    best
}

impl Blktrace {
    pub(crate) fn new(unit_ns: u64, action: u8) -> Self {
        Self { unit_ns, action, big_endian: false, lost: false }
    }

    fn u16_at(&self, bytes: &[u8], at: usize) -> u16 {
        let two = [bytes[at], bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
    }

    fn u32_at(&self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }

    fn u64_at(&self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) =
            (u64::from(self.u32_at(bytes, at)), u64::from(self.u32_at(bytes, at + 4)));
        if self.big_endian { first << 32 | second } else { second << 32 | first }
    }

    fn record(&self, bytes: &[u8], context: &mut Context) -> Parsed {
        let action = self.u32_at(bytes, 28);
        let category = action >> CATEGORY_SHIFT;
        if letter(action) != self.action || category & (NOTIFY | PASSED_THROUGH) != 0 {
            return Ok(None);
        }
        let field = |value| Field { value, column: 0 };
        let Some(at) = self.u64_at(bytes, 8).checked_mul(self.unit_ns) else {
            return Err(Fault::new(Problem::Overflow, "a time in ns", 0));
        };
        let device = self.u32_at(bytes, 36);
        let device = format!("{},{}", device >> 20, device & 0xf_ffff);
        let sectors = u64::from(self.u32_at(bytes, 24)).div_ceil(SECTOR_BYTES);
        let op = match category {
            c if c & DISCARD != 0 => Op::Trim,
            c if c & FLUSH != 0 && sectors == 0 => Op::Flush,
            c if c & WRITE != 0 => Op::Write,
            _ => Op::Read,
        };
        let lba = if op == Op::Flush { 0 } else { self.u64_at(bytes, 16) };
        context.request(field(at), op, field(lba), field(sectors), device.as_bytes())
    }
}

impl Decoder for Blktrace {
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError> {
        for _ in 0..BATCH {
            let offset = input.offset();
            input.want(RECORD_BYTES)?;
            let bytes = input.available();
            if bytes.is_empty() {
                return Ok(false);
            }
            if bytes.len() < RECORD_BYTES {
                let offset = offset + bytes.len() as u64;
                let path = input.path().to_path_buf();
                return Err(TraceError::Truncated { path, offset, what: "a blktrace record" });
            }
            let Some(big_endian) = byte_order(bytes) else {
                if !self.lost {
                    let fault = Fault::new(Problem::BadMagic, "a record (magic 0x65617407)", 0);
                    context.bad_record(input.path(), offset, fault, &bytes[..4])?;
                }
                // Records have no alignment, so the next magic number may stand at any byte.
                self.lost = true;
                let ahead = bytes.windows(4).skip(1).position(|w| byte_order(w).is_some());
                let step = ahead.map_or(bytes.len() - 3, |n| n + 1);
                input.consume(step);
                continue;
            };
            self.lost = false;
            self.big_endian = big_endian;
            let size = RECORD_BYTES + usize::from(self.u16_at(bytes, 46));
            match self.record(bytes, context) {
                Ok(Some(request)) => {
                    batch.mark(offset);
                    batch.requests.push(request);
                }
                Ok(None) => {}
                Err(fault) => {
                    context.bad_record(input.path(), offset, fault, &bytes[..RECORD_BYTES])?;
                }
            }
            self.step_over(input, size)?;
        }
        Ok(true)
    }

    fn by_line(&self) -> bool {
        false
    }
}

impl Blktrace {
    /// Consumes a record of `size` bytes, which may be longer than the buffer.
    fn step_over(&self, input: &mut Input, size: usize) -> Result<(), TraceError> {
        let mut left = size;
        while left > 0 {
            let available = input.want(left)?.len();
            if available == 0 {
                let (path, offset) = (input.path().to_path_buf(), input.offset());
                return Err(TraceError::Truncated { path, offset, what: "a blktrace record" });
            }
            let step = available.min(left);
            input.consume(step);
            left -= step;
        }
        Ok(())
    }
}
