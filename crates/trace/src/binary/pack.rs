//! The payload of a block in `.ssdt` files: columns of bit-packed integers.
//!
//! A payload holds groups of at most 256 requests. A group begins with a header of 24 bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 3 | width in bits of a gap, an address, a size, a tenant; u8 each |
//! | 4 | mode of the addresses, u8 |
//! | 5 to 7 | zero |
//! | 8 to 15 | base address, u64 |
//! | 16 to 19 | base size, u32 |
//! | 20 to 21 | base tenant, u16 |
//! | 22 to 23 | zero |
//!
//! The columns follow, each padded to whole bytes. A value that needs more than 56 bits is stored
//! in 64. An operation takes 2 bits. Addresses take the mode that needs fewer bits: offsets from
//! the smallest address of the group (mode 0), or zigzag-coded distances from the end of the
//! request before (mode 1, for sequential streams).
//!
//! Reading a value takes one unaligned load of 8 bytes, a shift and a mask. So that a load never
//! passes the end, payloads end in 8 spare bytes.

use crate::request::{Op, Request};
use ssdtune_model::{Nanos, Sectors, TenantId};

/// The largest number of requests in a group.
pub(crate) const GROUP: usize = 256;
const GROUP_HEADER_BYTES: usize = 24;
const SPARE_BYTES: usize = 8;

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}

fn width_of(max: u64) -> u32 {
    match 64 - max.leading_zeros() {
        width @ 0..=56 => width,
        _ => 64,
    }
}

fn column_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends `values` to `out`, each in `width` bits.
fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut word, mut bits) = (0u128, 0);
    for value in values {
        word |= u128::from(value) << bits;
        bits += width;
        while bits >= 8 {
            out.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(word as u8);
    }
}

/// Fills `values` from `bytes`, which holds them in `width` bits each and must extend 8 bytes past
/// the last one.
#[inline(always)]
fn unpack(bytes: &[u8], width: u32, values: &mut [u64]) {
    if width == 0 {
        return values.fill(0);
    }
    let mask = u64::MAX >> (64 - width);
    let mut bit = 0;
    for value in values {
        let at = bit >> 3;
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { return };
        *value = u64::from_le_bytes(*word) >> (bit & 7) & mask;
        bit += width as usize;
    }
}

/// The distance between two addresses, coded so that short distances in both directions are small
/// numbers.
fn zigzag(from: u64, to: u64) -> u64 {
    let distance = to.wrapping_sub(from) as i64;
    (distance << 1 ^ distance >> 63) as u64
}

#[inline(always)]
fn unzigzag(code: u64) -> u64 {
    code >> 1 ^ (code & 1).wrapping_neg()
}

/// Appends `requests` to `out` as a payload. They must be in order of time, and none earlier than
/// `before_ns`.
pub(crate) fn encode(requests: &[Request], before_ns: u64, out: &mut Vec<u8>) {
    let (mut at, mut end) = (before_ns, 0);
    for group in requests.chunks(GROUP) {
        let gaps: Vec<u64> = group
            .iter()
            .map(|r| {
                let gap = r.at.0 - at;
                at = r.at.0;
                gap
            })
            .collect();
        let distances: Vec<u64> = group
            .iter()
            .map(|r| {
                let distance = zigzag(end, r.lba.0);
                end = r.lba.0 + u64::from(r.sectors);
                distance
            })
            .collect();
        encode_group(group, &gaps, &distances, out);
    }
    out.extend_from_slice(&[0; SPARE_BYTES]);
}

fn encode_group(group: &[Request], gaps: &[u64], distances: &[u64], out: &mut Vec<u8>) {
    let (lba_min, lba_max) = min_max(group.iter().map(|r| r.lba.0));
    let (size_min, size_max) = min_max(group.iter().map(|r| u64::from(r.sectors)));
    let (tenant_min, tenant_max) = min_max(group.iter().map(|r| u64::from(r.tenant.0)));
    let widest = |values: &[u64]| width_of(values.iter().copied().max().unwrap_or(0));
    let (offset_width, distance_width) = (width_of(lba_max - lba_min), widest(distances));
    let by_distance = distance_width < offset_width;
    let lba_width = offset_width.min(distance_width);
    let (gap_width, size_width) = (widest(gaps), width_of(size_max - size_min));
    let tenant_width = width_of(tenant_max - tenant_min);
    let widths = [gap_width, lba_width, size_width, tenant_width];
    out.extend(widths.map(|w| w as u8));
    out.extend([u8::from(by_distance), 0, 0, 0]);
    out.extend(lba_min.to_le_bytes());
    out.extend((size_min as u32).to_le_bytes());
    out.extend((tenant_min as u16).to_le_bytes());
    out.extend([0, 0]);
    pack(gaps.iter().copied(), gap_width, out);
    if by_distance {
        pack(distances.iter().copied(), lba_width, out);
    } else {
        pack(group.iter().map(|r| r.lba.0 - lba_min), lba_width, out);
    }
    pack(group.iter().map(|r| u64::from(r.sectors) - size_min), size_width, out);
    pack(group.iter().map(|r| u64::from(r.tenant.0) - tenant_min), tenant_width, out);
    pack(group.iter().map(|r| r.op as u64), 2, out);
}

fn min_max(values: impl Iterator<Item = u64>) -> (u64, u64) {
    values.fold((u64::MAX, 0), |(min, max), value| (min.min(value), max.max(value)))
}

/// The columns of one group while it is decoded.
struct Columns {
    gaps: [u64; GROUP],
    addresses: [u64; GROUP],
    sizes: [u64; GROUP],
    tenants: [u64; GROUP],
}

/// Appends the `count` requests of `payload` to `out`.
///
/// The payload has passed its checksum, so any fault found here was made by the writer. It is an
/// error.
pub(crate) fn decode(
    payload: &[u8],
    count: usize,
    before_ns: u64,
    out: &mut Vec<Request>,
) -> Result<(), &'static str> {
    let mut columns =
        Columns { gaps: [0; GROUP], addresses: [0; GROUP], sizes: [0; GROUP], tenants: [0; GROUP] };
    let (mut rest, mut left) = (payload, count);
    let (mut at, mut end) = (before_ns, 0);
    out.reserve(count);
    while left > 0 {
        let n = left.min(GROUP);
        if rest.len() < GROUP_HEADER_BYTES {
            return Err("a block is too short for its requests");
        }
        let (header, body) = rest.split_at(GROUP_HEADER_BYTES);
        let widths = [header[0], header[1], header[2], header[3]].map(u32::from);
        if widths.iter().any(|&w| w > 64 || (57..64).contains(&w)) {
            return Err("a column of an impossible width");
        }
        let lengths = widths.map(|w| column_bytes(n, w));
        let total = lengths.iter().sum::<usize>() + column_bytes(n, 2);
        if body.len() < total + SPARE_BYTES {
            return Err("a block is too short for its requests");
        }
        let starts = [0, lengths[0], lengths[0] + lengths[1], lengths[..3].iter().sum()];
        unpack(&body[starts[0]..], widths[0], &mut columns.gaps[..n]);
        unpack(&body[starts[1]..], widths[1], &mut columns.addresses[..n]);
        unpack(&body[starts[2]..], widths[2], &mut columns.sizes[..n]);
        unpack(&body[starts[3]..], widths[3], &mut columns.tenants[..n]);
        let ops = &body[lengths.iter().sum()..total];
        (at, end) = assemble(header, &columns, ops, n, (at, end), out)?;
        rest = &body[total..];
        left -= n;
    }
    if rest.len() == SPARE_BYTES { Ok(()) } else { Err("a block is longer than its requests") }
}

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Turns the columns of a group into requests. Returns the time and the end address of the last
/// one.
#[inline(always)]
fn assemble(
    header: &[u8],
    columns: &Columns,
    ops: &[u8],
    n: usize,
    (mut at, mut end): (u64, u64),
    out: &mut Vec<Request>,
) -> Result<(u64, u64), &'static str> {
    let by_distance = header[4] == 1;
    let base_lba = read_u64(header, 8);
    let base_size = u64::from(read_u32(header, 16));
    let base_tenant = u64::from(header[20]) | u64::from(header[21]) << 8;
    // Every illegal value sets a bit here. The bits are examined once for the whole group.
    let mut illegal = 0u64;
    let rows = columns.gaps[..n]
        .iter()
        .zip(&columns.addresses[..n])
        .zip(&columns.sizes[..n])
        .zip(&columns.tenants[..n]);
    out.extend(rows.enumerate().map(|(i, (((&gap, &address), &size), &tenant))| {
        let (now, wrapped) = at.overflowing_add(gap);
        at = now;
        let from = if by_distance { end } else { base_lba };
        let lba = from.wrapping_add(if by_distance { unzigzag(address) } else { address });
        let sectors = base_size.wrapping_add(size);
        let tenant = base_tenant.wrapping_add(tenant);
        let op = OPS[usize::from(ops[i / 4] >> (2 * (i % 4)) & 3)];
        illegal |= u64::from(wrapped) | sectors >> 32 | tenant >> 16 | lba >> 55;
        illegal |= u64::from(sectors == 0 && op != Op::Flush);
        end = lba.wrapping_add(sectors);
        Request {
            at: Nanos(at),
            lba: Sectors(lba),
            sectors: sectors as u32,
            tenant: TenantId(tenant as u16),
            op,
        }
    }));
    if illegal == 0 { Ok((at, end)) } else { Err("a block holds a request out of range") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_request()(
            gap in prop_oneof![0u64..4, 0u64..1 << 20, 0u64..1 << 50],
            lba in prop_oneof![0u64..1000, 0u64..1 << 54],
            sectors in prop_oneof![1u32..64, 1u32..=u32::MAX],
            tenant in prop_oneof![Just(0u16), any::<u16>()],
            op in 0usize..4,
        ) -> Request {
            let (at, lba, tenant) = (Nanos(gap), Sectors(lba), TenantId(tenant));
            Request { at, lba, sectors, tenant, op: OPS[op] }
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            mut requests in proptest::collection::vec(any_request(), 1..700),
            before in 0u64..1 << 40,
            sequential: bool,
        ) {
            let (mut at, mut end) = (before, 0);
            for request in &mut requests {
                at += request.at.0;
                request.at = Nanos(at);
                if sequential {
                    request.lba = Sectors(end);
                    request.sectors &= 0xff;
                    request.sectors |= 1;
                    end = request.end().0;
                }
            }
            let mut payload = Vec::new();
            encode(&requests, before, &mut payload);
            let mut back = Vec::new();
            prop_assert_eq!(decode(&payload, requests.len(), before, &mut back), Ok(()));
            prop_assert_eq!(back, requests);
        }

        #[test]
        fn any_bytes_are_refused_or_read(
            payload in proptest::collection::vec(any::<u8>(), 0..600),
            count in 1usize..300,
        ) {
            let _ = decode(&payload, count, 0, &mut Vec::new());
        }
    }
}
