//! Numbers as bytes: seven bits in each, the lowest first. Small numbers take one byte.

use super::super::record::{NEVER, Record};
use super::Damage;
use ssdtune_model::Nanos;

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a difference: small ones of either sign are small numbers.
pub(super) fn put_signed(out: &mut Vec<u8>, difference: i64) {
    put(out, (difference << 1 ^ difference >> 63) as u64);
}

/// Bytes of which some have been read.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn number(&mut self) -> Result<u64, Damage> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let [byte] = *self.array()?;
            if shift == 63 && byte > 1 {
                return Err("a number is too large");
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
            if shift > 63 {
                return Err("a number is too long");
            }
        }
    }

    /// A number of a smaller type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damage> {
        self.number()?.try_into().map_err(|_| "a number is too large")
    }

    pub fn signed(&mut self) -> Result<i64, Damage> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A time, counted from another.
    pub fn time(&mut self, from: Nanos) -> Result<Nanos, Damage> {
        from.0.checked_add(self.number()?).map(Nanos).ok_or("a time is too large")
    }

    /// How many things follow, each of which takes `least` bytes or more.
    pub fn count(&mut self, least: usize) -> Result<usize, Damage> {
        let count: usize = self.small()?;
        if count > self.0.len() / least {
            Err("more is announced than there is")
        } else {
            Ok(count)
        }
    }

    /// As many values as are wanted, which `read` gives.
    pub fn column<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        (0..count).map(|_| read(self)).collect()
    }

    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Damage> {
        let (taken, rest) = self.0.split_first_chunk().ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// That nothing is left.
    pub fn end(&self) -> Result<(), Damage> {
        if self.0.is_empty() { Ok(()) } else { Err("there is more than was announced") }
    }
}

/// The three times of a record as numbers: before a request, and each before the last. 0 is never.
pub(super) fn ages(record: &Record, start: u32) -> [u64; 3] {
    let ago = |time: u32, after: u32, more: u32| match time {
        NEVER => 0,
        _ => u64::from(after.wrapping_sub(time).wrapping_add(more)),
    };
    let Record { touch, write, rewrite, .. } = *record;
    [ago(touch, start, 0), ago(write, touch, 1), ago(rewrite, write, 0)]
}

/// The times of a record whose [`ages`] these are.
pub(super) fn times([touch, write, rewrite]: [u64; 3], start: u32) -> Result<[u32; 3], Damage> {
    let before = |after: u32, ago: u64, more: u64| match (after, ago) {
        (_, 0) => Ok(NEVER),
        (NEVER, _) => Err("a page was written that was never used"),
        (after, ago) => {
            let time = (u64::from(after) + more).checked_sub(ago);
            time.map(|time| time as u32).ok_or("a time is too early")
        }
    };
    let touch = before(start, touch, 0)?;
    // The request that used a page last may be the one that wrote it.
    let write = before(touch, write, 1)?;
    Ok([touch, write, before(write, rewrite, 0)?])
}
