//! Readers of traces. A trace that is read has requests in the order of their times, within the
//! largest drive.

use ssdtune_trace::{ColumnSpec, Format, Op, ReadOptions, read_from};
use std::io::Cursor;

/// Reads `bytes` as `format`, or as the format that is found by the content; strictly, then
/// leniently.
pub(crate) fn read(format: Option<Format>, bytes: &[u8]) {
    let columns = (format == Some(Format::Columns)).then(|| {
        ColumnSpec::parse("time=0:us,op=1,lba=2,size=3,device=4", b',')
            .expect("a legal description")
    });
    for lenient in [false, true] {
        let options = ReadOptions {
            format,
            lenient,
            columns: columns.clone(),
            reorder_window: 4,
            // Small, so that inputs of a few hundred bytes exceed the buffer.
            max_line_bytes: if format == Some(Format::Ssdt) { 64 << 10 } else { 256 },
            ..ReadOptions::default()
        };
        let trace = read_from(Cursor::new(bytes.to_vec()), "fuzz", &options);
        let Ok(requests) = trace.and_then(|mut trace| trace.read_all()) else { continue };
        assert!(!requests.is_empty());
        assert!(requests.is_sorted_by_key(|request| request.at));
        for request in &requests {
            assert!(request.sectors > 0 || request.op == Op::Flush);
            assert!(request.end().0 <= 1 << 56);
        }
    }
}

/// Reads bytes as `.ssdt`, and the same bytes with correct checksums: they do not stop a file that
/// was made on purpose, and with wrong ones no input gets past the header.
pub(crate) fn ssdt(bytes: &[u8]) {
    read(Some(Format::Ssdt), bytes);
    if let Some(signed) = signed(bytes) {
        read(Some(Format::Ssdt), &signed);
    }
}

/// A copy of `bytes` in which the magic numbers, the version and the checksums of the header and of
/// every block are correct, and no payload passes the end.
fn signed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let (header, mut rest) = bytes.split_at_mut_checked(64)?;
    header[..12].copy_from_slice(b"\x89SSDT\r\n\x1a\x01\0\0\0");
    let crc = crc32fast::hash(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
    while let Some((head, after)) = rest.split_at_mut_checked(24) {
        let length = u32::from_le_bytes(head[8..12].try_into().ok()?) as usize % (after.len() + 1);
        let (payload, next) = after.split_at_mut(length);
        head[..4].copy_from_slice(b"BLCK");
        head[8..12].copy_from_slice(&(length as u32).to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&head[..12]);
        hasher.update(&head[16..24]);
        hasher.update(payload);
        head[12..16].copy_from_slice(&hasher.finalize().to_le_bytes());
        rest = next;
    }
    Some(bytes)
}
