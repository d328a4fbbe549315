//! From bytes to requests: what every parser shares (devices, ranges, the rules for faulty lines).
//!
//! A parser sees one line or record and answers with a request in absolute nanoseconds, with nothing, or with a
//! fault. Whether a fault stops the run is decided here, once for all formats.

use crate::error::{Malformed, Position, Problem, TraceError, printable};
use crate::formats::Format;
use crate::input::{Batch, Input};
use crate::reader::{ReadOptions, ReadStats};
use crate::request::{Op, Request, TenantId};
use crate::text::{Fault, Field, Fields};
use memchr::{memchr, memchr_iter, memrchr};
use ssdtune_model::{GOLDEN_STEP, Nanos, SECTOR_BYTES, Sectors};
use std::collections::HashMap;
use std::path::Path;

/// What a parser makes of one line: a request, nothing (an event not asked for, a device not picked), or a fault.
pub(crate) type Parsed = Result<Option<Request>, Fault>;

/// One text format.
pub(crate) trait LineParser: Send {
    /// Reads one line, without its line ending.
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed;

    /// Whether [`quick`](Self::quick) is worth trying.
    const QUICK: bool = false;

    /// Reads the line at the start of `text` in one go if it is of the plainest form, and says how many bytes it takes
    /// with its line ending. `None`, with nothing changed, of any other line: [`parse`](Self::parse) then judges it.
    #[inline(always)]
    fn quick(&mut self, text: &[u8], context: &Context) -> Option<(Request, usize)> {
        let _ = (text, context);
        None
    }

    /// Whether `line`, which did not parse and comes before the first request, belongs to the format's preamble.
    fn is_header(&mut self, line: &[u8]) -> bool {
        let _ = line;
        false
    }
}

/// A whole format: fills a batch from the input.
pub(crate) trait Decoder: Send {
    /// Decodes some input into `batch`; `false` when there is no more.
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError>;

    /// Whether positions are lines (else bytes).
    fn by_line(&self) -> bool;
}

/// Which devices of a trace become requests, and of which tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// All; each device is a tenant, numbered in order of first appearance.
    #[default]
    Tenants,
    /// All, as one tenant with one address space.
    Merged,
    /// Those named, as tenants in this order.
    Only(Vec<String>),
}

/// Device names and the tenants they stand for.
pub(crate) struct DeviceTable {
    policy: Devices,
    tenants: HashMap<Vec<u8>, Option<TenantId>>,
    names: Vec<String>,
    /// Short names seen lately, packed into a word: a trace of thirteen devices must not hash per line.
    recent: Vec<(u64, Option<TenantId>)>,
}

const RECENT: usize = 256;
const NAME_BYTES_MAX: usize = 255;
/// Names kept of devices that were not picked: for the error that lists what there is.
const UNPICKED_MAX: usize = 1 << 16;

impl DeviceTable {
    fn new(policy: Devices) -> Self {
        let mut table =
            Self { policy, tenants: HashMap::new(), names: Vec::new(), recent: Vec::new() };
        if let Devices::Only(names) = &table.policy {
            table.names.clone_from(names);
        }
        table
    }

    /// The tenant of device `name`; `None` if it was not picked.
    #[inline(always)]
    fn tenant(&mut self, name: &[u8]) -> Result<Option<TenantId>, Problem> {
        if matches!(self.policy, Devices::Merged) {
            return Ok(Some(TenantId(0)));
        }
        if name.len() > 7 {
            return self.look_up(name);
        }
        let mut word = (name.len() as u64 + 1) << 56;
        for (i, &byte) in name.iter().enumerate() {
            word |= u64::from(byte) << (8 * i);
        }
        if let Some(tenant) = self.seen_lately(word) {
            return Ok(tenant);
        }
        let tenant = self.look_up(name)?;
        if self.recent.is_empty() {
            self.recent = vec![(0, None); RECENT];
        }
        self.recent[Self::slot(word)] = (word, tenant);
        Ok(tenant)
    }

    #[inline(always)]
    fn slot(word: u64) -> usize {
        (word.wrapping_mul(GOLDEN_STEP) >> 56) as usize
    }

    /// What is known of a name of at most seven bytes, packed: the first byte lowest, one more than the length
    /// in the highest.
    #[inline(always)]
    fn seen_lately(&self, word: u64) -> Option<Option<TenantId>> {
        let &(known, tenant) = self.recent.get(Self::slot(word))?;
        (known == word).then_some(tenant)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<Option<TenantId>, Problem> {
        if let Some(&tenant) = self.tenants.get(name) {
            return Ok(tenant);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(Problem::TooManyDevices);
        }
        let text = String::from_utf8_lossy(name).into_owned();
        let tenant = if let Devices::Only(names) = &self.policy {
            let picked = names.iter().position(|n| *n == text);
            if picked.is_none() && self.tenants.len() >= UNPICKED_MAX {
                return Ok(None);
            }
            picked.map(|i| TenantId(i as u16))
        } else {
            let number = u16::try_from(self.names.len()).map_err(|_| Problem::TooManyDevices)?;
            self.names.push(text);
            Some(TenantId(number))
        };
        self.tenants.insert(name.to_vec(), tenant);
        Ok(tenant)
    }

    /// Name of each tenant's device.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// A device asked for that has not been seen, with the first few that have.
    pub(crate) fn missing(&self) -> Option<(String, String)> {
        let Devices::Only(names) = &self.policy else { return None };
        let missing = names.iter().find(|n| !self.tenants.contains_key(n.as_bytes()))?;
        let mut seen: Vec<_> = self.tenants.keys().map(|name| printable(name)).collect();
        seen.sort_unstable();
        seen.truncate(12);
        Some((missing.clone(), seen.join(", ")))
    }
}

/// What the parsers of one file share.
pub(crate) struct Context {
    pub(crate) format: Format,
    pub(crate) devices: DeviceTable,
    pub(crate) stats: ReadStats,
    pub(crate) lenient: bool,
    max_line_bytes: usize,
    end_max: u64,
}

/// No address in bytes may pass 2^63: what lies there is a damaged field, not a drive.
const SECTORS_MAX: u64 = (1 << 63) / SECTOR_BYTES;
/// Input without a single request after which a file is given up.
const BARREN_BYTES: u64 = 64 << 20;

impl Context {
    pub(crate) fn new(format: Format, options: &ReadOptions) -> Self {
        Self {
            format,
            devices: DeviceTable::new(options.devices.clone()),
            stats: ReadStats::default(),
            lenient: options.lenient,
            max_line_bytes: options.max_line_bytes,
            end_max: options.capacity.map_or(SECTORS_MAX, |c| c.0.min(SECTORS_MAX)),
        }
    }

    /// A request in sectors.
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

    /// A request in sectors of a device seen lately, its name of `length` (at most seven) bytes in the low bytes of
    /// `name`; `None` if anything about it wants a closer look.
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

    /// A request within the address space, of tenant 0.
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

    /// A request of ssdtune's own formats, in sectors and with the number of its tenant.
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

    /// A request in bytes: the sectors it touches.
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

    /// Applies the choice of devices and the capacity to requests that were decoded in one piece.
    pub(crate) fn admit(
        &mut self,
        requests: &mut Vec<Request>,
        path: &Path,
        offset: u64,
    ) -> Result<(), TraceError> {
        let end_max = self.end_max;
        if let Some(beyond) = requests.iter().find(|r| r.end().0 > end_max) {
            self.fault(Malformed {
                path: path.to_path_buf(),
                position: Position::Byte(offset),
                column: 0,
                format: self.format,
                expected: "an address on the drive",
                found: beyond.lba.to_string(),
                problem: Problem::BeyondCapacity,
            })?;
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

    /// Counts a fault and goes on, or stops.
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

/// Feeds lines to a parser.
pub(crate) struct TextDecoder<P> {
    parser: P,
    /// Lines seen.
    line: u64,
    started: bool,
    discarding: bool,
    barren_since: u64,
}

impl<P: LineParser> TextDecoder<P> {
    pub(crate) fn new(parser: P) -> Self {
        Self { parser, line: 0, started: false, discarding: false, barren_since: 0 }
    }

    #[cold]
    fn bad_line(
        &mut self,
        line: &[u8],
        fault: Fault,
        input: &Input,
        context: &mut Context,
    ) -> Result<(), TraceError> {
        let ignorable = line.trim_ascii().is_empty() || line.starts_with(b"#");
        if ignorable || (!self.started && self.parser.is_header(line)) {
            return Ok(());
        }
        let binary = line.iter().any(|&b| b < 0x20 && b != b'\t' && b != b'\r');
        let (problem, column, found) = if binary {
            (Problem::NotText, 0, line)
        } else {
            let at = (fault.column as usize).min(line.len());
            (fault.problem, at + 1, &line[at..])
        };
        context.fault(Malformed {
            path: input.path().to_path_buf(),
            position: Position::Line(self.line),
            column,
            format: context.format,
            expected: fault.expected,
            found: printable(found),
            problem,
        })
    }

    #[inline]
    fn lines(
        &mut self,
        input: &Input,
        upto: usize,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        let chunk = &input.available()[..upto];
        batch.mark(self.line + 1);
        if P::QUICK {
            return self.quick_lines(chunk, input, context, batch);
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.one(&chunk[start..end], input, context, batch)?;
            start = end + 1;
        }
        if start < chunk.len() {
            self.one(&chunk[start..], input, context, batch)?;
        }
        Ok(())
    }

    /// Like [`lines`](Self::lines), but plain lines are read without looking for their ends first.
    fn quick_lines(
        &mut self,
        mut rest: &[u8],
        input: &Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        loop {
            let before = batch.requests.len();
            while let Some((request, used)) = self.parser.quick(rest, context) {
                batch.requests.push(request);
                rest = &rest[used..];
            }
            let plain = batch.requests.len() - before;
            self.line += plain as u64;
            self.started |= plain > 0;
            if rest.is_empty() {
                return Ok(());
            }
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            self.one(&rest[..end], input, context, batch)?;
            rest = rest.get(end + 1..).unwrap_or(&[]);
        }
    }

    #[inline(always)]
    fn one(
        &mut self,
        line: &[u8],
        input: &Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        self.line += 1;
        let line = match line {
            [head @ .., b'\r'] => head,
            line => line,
        };
        match self.parser.parse(line, context) {
            Ok(Some(request)) => {
                batch.requests.push(request);
                self.started = true;
            }
            Ok(None) => {
                self.started = true;
                batch.mark(self.line + 1);
            }
            Err(fault) => {
                self.bad_line(line, fault, input, context)?;
                batch.mark(self.line + 1);
            }
        }
        Ok(())
    }

    /// A line longer than the limit: an error, or in lenient mode thrown away up to its end.
    #[cold]
    fn endless(&mut self, input: &mut Input, context: &mut Context) -> Result<(), TraceError> {
        if !self.discarding {
            self.line += 1;
            self.discarding = true;
            context.fault(Malformed {
                path: input.path().to_path_buf(),
                position: Position::Line(self.line),
                column: 0,
                format: context.format,
                expected: "the end of the line",
                found: printable(input.available()),
                problem: Problem::LineTooLong,
            })?;
        }
        input.consume(input.available().len());
        Ok(())
    }
}

impl<P: LineParser> Decoder for TextDecoder<P> {
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError> {
        input.fill()?;
        if self.discarding
            && let Some(end) = memchr(b'\n', input.available())
        {
            input.consume(end + 1);
            self.discarding = false;
        }
        let available = input.available();
        if available.is_empty() {
            return Ok(false);
        }
        let upto = match memrchr(b'\n', available) {
            Some(last) => last + 1,
            None if input.at_end() && available.len() <= context.max_line_bytes => available.len(),
            None if available.len() >= context.max_line_bytes.min(input.capacity()) => 0,
            None => return Ok(!input.at_end()),
        };
        if upto == 0 || self.discarding {
            self.endless(input, context)?;
        } else {
            self.lines(input, upto, context, batch)?;
            input.consume(upto);
        }
        if !batch.requests.is_empty() || context.stats.deselected > 0 {
            self.barren_since = input.offset();
        } else if input.offset() - self.barren_since > BARREN_BYTES {
            return Err(TraceError::Empty {
                path: input.path().to_path_buf(),
                detail: format!(
                    " within {} MiB up to line {}, as {}; --format names another format",
                    BARREN_BYTES >> 20,
                    self.line,
                    context.format.name()
                ),
            });
        }
        Ok(true)
    }

    fn by_line(&self) -> bool {
        true
    }
}

/// Reads `R...`/`r...` as a read and `W...`/`w...` as a write.
#[inline(always)]
pub(crate) fn read_write(word: &[u8], column: usize) -> Result<Op, Fault> {
    match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" => Ok(Op::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" => Ok(Op::Write),
        _ => Err(Fault::new(Problem::UnknownOp, "a read or a write (R, W, Read, Write)", column)),
    }
}

/// Reads the last field of a line, a number.
#[inline(always)]
pub(crate) fn last_number(fields: &mut Fields, expected: &'static str) -> Result<Field, Fault> {
    let field = fields.number(expected)?;
    fields.end()?;
    Ok(field)
}
