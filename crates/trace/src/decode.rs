//! From bytes to requests: what all parsers share, namely devices, legal ranges, and what to do
//! with faulty lines.
//!
//! A parser sees one line or record. It answers with a request in absolute nanoseconds, with
//! nothing, or with a fault. Whether a fault ends the reading is decided here, once for all
//! formats.

mod devices;
mod lines;

use crate::error::{Malformed, Position, Problem, TraceError, printable};
use crate::format::Format;
use crate::input::{Batch, Input};
use crate::options::{Devices, ReadOptions};
use crate::request::{Op, Request};
use crate::source::ReadStats;
use crate::text::{Fault, Field, Fields};
use ssdtune_model::{Nanos, SECTOR_BYTES, Sectors, TenantId};
use std::path::Path;

use devices::DeviceTable;
pub(crate) use lines::TextDecoder;

/// What a parser makes of one line: a request, nothing (the event or the device was not asked for),
/// or a fault.
pub(crate) type Parsed = Result<Option<Request>, Fault>;

/// The parser of one text format.
pub(crate) trait LineParser: Send {
    /// Reads one line, which comes without its line ending.
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed;

    /// Whether the parser has a [`quick`](Self::quick) that is worth trying.
    const QUICK: bool = false;

    /// Reads the line at the start of `text` in one pass if it has the most common form. Returns
    /// the request and the length of the line in bytes, with its line ending. For any other line it
    /// returns `None` and changes nothing; [`parse`](Self::parse) then judges the line.
    #[inline(always)]
    fn quick(&mut self, text: &[u8], context: &Context) -> Option<(Request, usize)> {
        let _ = (text, context);
        None
    }

    /// Whether `line` belongs to the header of the format. Asked only for lines that do not parse
    /// and stand before the first request.
    fn is_header(&mut self, line: &[u8]) -> bool {
        let _ = line;
        false
    }
}

/// The decoder of one format: fills batches with requests from the input.
pub(crate) trait Decoder: Send {
    /// Decodes a part of the input into `batch`. Returns `false` at the end of the input.
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError>;

    /// Whether positions in the input are lines; otherwise they are bytes.
    fn by_line(&self) -> bool;
}

/// What the parsers of one file share.
pub(crate) struct Context {
    pub(crate) format: Format,
    pub(crate) devices: DeviceTable,
    pub(crate) stats: ReadStats,
    pub(crate) lenient: bool,
    /// Whether errors show what stands in a line.
    show_content: bool,
    max_line_bytes: usize,
    end_max: u64,
}

/// The end of the address space: 2^63 bytes. An address beyond it comes from a damaged field, not
/// from a drive.
const SECTORS_MAX: u64 = (1 << 63) / SECTOR_BYTES;

impl Context {
    pub(crate) fn new(format: Format, options: &ReadOptions) -> Self {
        Self {
            format,
            devices: DeviceTable::new(options.devices.clone()),
            stats: ReadStats::default(),
            lenient: options.lenient,
            show_content: options.show_content,
            max_line_bytes: options.max_line_bytes,
            end_max: options.capacity.map_or(SECTORS_MAX, |c| c.0.min(SECTORS_MAX)),
        }
    }

    /// A request with address and size in sectors.
    #[inline(always)]
    pub(crate) fn request(
        &mut self,
        at: Field,
        op: Op,
        lba: Field,
        sectors: Field,
        device: &[u8],
    ) -> Parsed {
        let request = self.unnamed_request(at, op, lba, sectors)?;
        match self.devices.tenant(device) {
            Ok(Some(tenant)) => Ok(Some(Request { tenant, ..request })),
            Ok(None) => {
                self.stats.deselected += 1;
                Ok(None)
            }
            Err(problem) => Err(Fault::new(problem, "a device", 0)),
        }
    }

    /// A request in sectors of a device that was seen lately. `name` holds the name of the device
    /// in its `length` (at most 7) low bytes. `None` if anything about the request needs a closer
    /// look.
    #[inline(always)]
    pub(crate) fn quick_request(
        &self,
        at_ns: u64,
        op: Op,
        lba: u64,
        sectors: u64,
        (name, length): (u64, usize),
    ) -> Option<Request> {
        let kept = name & ((1 << (8 * length)) - 1);
        let tenant = match self.devices.policy {
            Devices::Merged => TenantId(0),
            _ => self.devices.seen_lately(kept | (length as u64 + 1) << 56)??,
        };
        let count = u32::try_from(sectors).ok().filter(|&count| count > 0)?;
        let end = lba.checked_add(sectors)?;
        (end <= self.end_max).then_some(Request {
            at: Nanos(at_ns),
            lba: Sectors(lba),
            sectors: count,
            tenant,
            op,
        })
    }

    /// A request of tenant 0, checked against the address space.
    #[inline(always)]
    fn unnamed_request(
        &self,
        at: Field,
        op: Op,
        lba: Field,
        sectors: Field,
    ) -> Result<Request, Fault> {
        if sectors.value == 0 && op != Op::Flush {
            return Err(Fault::new(Problem::ZeroLength, "a size above 0", sectors.column));
        }
        let Ok(length) = u32::try_from(sectors.value) else {
            return Err(Fault::new(Problem::Overflow, "a size below 2 TiB", sectors.column));
        };
        match lba.value.checked_add(sectors.value) {
            Some(end) if end <= self.end_max => {}
            _ => {
                return Err(Fault::new(
                    Problem::BeyondCapacity,
                    "an address on the drive",
                    lba.column,
                ));
            }
        }
        let (at, lba, tenant) = (Nanos(at.value), Sectors(lba.value), TenantId(0));
        Ok(Request { at, lba, sectors: length, tenant, op })
    }

    /// A request of this crate's own formats: in sectors, with the number of its tenant.
    #[inline(always)]
    pub(crate) fn numbered_request(
        &mut self,
        at: Field,
        op: Op,
        lba: Field,
        sectors: Field,
        tenant: Field,
    ) -> Parsed {
        let Ok(number) = u16::try_from(tenant.value) else {
            return Err(Fault::new(Problem::Overflow, "a tenant below 65,536", tenant.column));
        };
        let parsed = match self.devices.policy {
            Devices::Only(_) => {
                return self.request(at, op, lba, sectors, number.to_string().as_bytes());
            }
            Devices::Tenants | Devices::Merged => self.unnamed_request(at, op, lba, sectors)?,
        };
        let kept = if self.devices.policy == Devices::Tenants { number } else { 0 };
        Ok(Some(Request { tenant: TenantId(kept), ..parsed }))
    }

    /// A request with address and size in bytes. It covers all sectors that it touches.
    #[inline(always)]
    pub(crate) fn byte_request(
        &mut self,
        at: Field,
        op: Op,
        offset: Field,
        size: Field,
        device: &[u8],
    ) -> Parsed {
        let Some(end) = offset.value.checked_add(size.value) else {
            return Err(Fault::new(
                Problem::BeyondCapacity,
                "an address on the drive",
                offset.column,
            ));
        };
        let first = offset.value / SECTOR_BYTES;
        let count = if size.value == 0 { 0 } else { end.div_ceil(SECTOR_BYTES) - first };
        let lba = Field { value: first, column: offset.column };
        self.request(at, op, lba, Field { value: count, column: size.column }, device)
    }

    /// Applies the choice of devices and the capacity to requests that were decoded as a whole
    /// block.
    pub(crate) fn admit(
        &mut self,
        requests: &mut Vec<Request>,
        path: &Path,
        offset: u64,
    ) -> Result<(), TraceError> {
        let end_max = self.end_max;
        if let Some(beyond) = requests.iter().find(|r| r.end().0 > end_max) {
            let fault = Fault::new(Problem::BeyondCapacity, "an address on the drive", 0);
            let found = beyond.lba.to_string();
            self.bad_record(path, offset, fault, found.as_bytes())?;
            requests.retain(|r| r.end().0 <= end_max);
        }
        match self.devices.policy {
            Devices::Tenants => {}
            Devices::Merged => requests.iter_mut().for_each(|r| r.tenant = TenantId(0)),
            Devices::Only(_) => {
                let before = requests.len();
                let devices = &mut self.devices;
                requests.retain_mut(|r| {
                    let name = r.tenant.0.to_string();
                    let tenant = devices.tenant(name.as_bytes()).ok().flatten();
                    r.tenant = tenant.unwrap_or_default();
                    tenant.is_some()
                });
                self.stats.deselected += (before - requests.len()) as u64;
            }
        }
        Ok(())
    }

    /// Handles the fault of the record at byte `offset`: in lenient mode it is counted, otherwise
    /// it is an error. `found` are the faulty bytes.
    #[cold]
    pub(crate) fn bad_record(
        &mut self,
        path: &Path,
        offset: u64,
        fault: Fault,
        found: &[u8],
    ) -> Result<(), TraceError> {
        self.fault(Malformed {
            path: path.to_path_buf(),
            position: Position::Byte(offset),
            column: 0,
            format: self.format.name(),
            expected: fault.expected,
            found: self.shown(found),
            problem: fault.problem,
        })
    }

    /// Bytes of the input for an error, if errors may show any.
    #[cold]
    pub(crate) fn shown(&self, bytes: &[u8]) -> Option<String> {
        self.show_content.then(|| printable(bytes))
    }

    /// Handles a fault: in lenient mode it is counted, otherwise it is an error.
    #[cold]
    pub(crate) fn fault(&mut self, malformed: Malformed) -> Result<(), TraceError> {
        if !self.lenient {
            return Err(TraceError::Malformed(Box::new(malformed)));
        }
        self.stats.skipped += 1;
        *self.stats.skipped_by.entry(malformed.problem).or_default() += 1;
        self.stats.first_skipped.get_or_insert_with(|| Box::new(malformed));
        Ok(())
    }
}

/// The operation that `word` names: a read or a write, as one letter or as a word.
#[inline(always)]
pub(crate) fn read_write(word: &[u8], column: usize) -> Result<Op, Fault> {
    match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" => Ok(Op::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" => Ok(Op::Write),
        _ => Err(Fault::new(Problem::UnknownOp, "a read or a write (R, W, Read, Write)", column)),
    }
}

/// The number in the last field of a line.
#[inline(always)]
pub(crate) fn last_number(fields: &mut Fields, expected: &'static str) -> Result<Field, Fault> {
    let field = fields.number(expected)?;
    fields.end()?;
    Ok(field)
}
