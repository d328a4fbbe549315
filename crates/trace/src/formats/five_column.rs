//! What the formats of five numbers share: `time device address size type`, separated by blanks.

use crate::decode::Context;
use crate::error::Problem;
use crate::request::{Op, Request};
use crate::text::{Fault, Field, Fields, Plain};

/// Reads a line of whole numbers with one blank between them. Returns the request and the position
/// of the next line; `None` for a line of any other form.
#[inline(always)]
pub(crate) fn quick(
    text: &[u8],
    unit_ns: u64,
    context: &Context,
    op: impl Fn(u64) -> Option<Op>,
) -> Option<(Request, usize)> {
    let mut line = Plain::new(text);
    let at_ns = line.number()?.checked_mul(unit_ns)?;
    let device = line.short_name()?;
    let address = line.number()?;
    let size = line.number()?;
    let (kind, end) = line.last_digit()?;
    Some((context.quick_request(at_ns, op(u64::from(kind))?, address, size, device)?, end))
}

/// The five fields of a line.
pub(crate) struct FiveColumns<'a> {
    pub(crate) at: Field,
    pub(crate) device: &'a [u8],
    pub(crate) address: Field,
    pub(crate) size: Field,
    pub(crate) kind: Field,
}

impl<'a> FiveColumns<'a> {
    #[inline(always)]
    pub(crate) fn parse(line: &'a [u8], unit_ns: u64) -> Result<Self, Fault> {
        let mut fields = Fields::new(line);
        fields.skip_blanks();
        let at = fields.time(unit_ns, "the time")?;
        fields.blank("a blank, then the device")?;
        let from = fields.column();
        fields.number("the device number")?;
        let device = &line[from..fields.column()];
        fields.blank("a blank, then the address")?;
        let address = fields.number("the address")?;
        fields.blank("a blank, then the size")?;
        let size = fields.number("the size")?;
        fields.blank("a blank, then the type")?;
        let kind = fields.number("the type of the request")?;
        fields.end()?;
        Ok(Self { at, device, address, size, kind })
    }

    /// The operation, for formats with the types 0 (write) and 1 (read).
    #[inline(always)]
    pub(crate) fn write_or_read(&self) -> Result<Op, Fault> {
        write_or_read(self.kind.value).ok_or_else(|| {
            Fault::new(Problem::UnknownOp, "0 (write) or 1 (read)", self.kind.column)
        })
    }
}

/// The operation of a type, for formats with the types 0 (write) and 1 (read).
#[inline(always)]
pub(crate) fn write_or_read(kind: u64) -> Option<Op> {
    match kind {
        0 => Some(Op::Write),
        1 => Some(Op::Read),
        _ => None,
    }
}
