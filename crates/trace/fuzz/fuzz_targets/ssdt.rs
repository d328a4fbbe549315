//! The `ssdt` reader with arbitrary bytes, and with the same bytes with correct checksums.
//! Checksums do not stop a file that was made on purpose, and with wrong ones no input gets past
//! the header.
#![no_main]
use ssdtune_trace::Format;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ssdtune_trace_fuzz::read(Some(Format::Ssdt), data);
    if let Some(signed) = signed(data) {
        ssdtune_trace_fuzz::read(Some(Format::Ssdt), &signed);
    }
});

/// A copy of `data` in which the magic numbers, the version and the checksums of the header and of
/// every block are correct, and no payload passes the end.
fn signed(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
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
