//! The bytes of a record in storage: generation, epoch and checksum around the value.
//!
//! The layout is `generation: u64 | epoch: u32 | checksum: 16 bytes | JSON`, little-endian. The
//! checksum is the first half of a BLAKE3 digest of the storage key, generation, epoch and JSON. It
//! also finds a value that lies under a wrong key.

use super::Generation;
use crate::digest::Digester;

const GENERATION_END: usize = 8;
const EPOCH_END: usize = 12;
const CHECKSUM_END: usize = 28;

/// The content of a sound record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened<'a> {
    pub(super) generation: Generation,
    pub(super) epoch: u32,
    pub(super) json: &'a [u8],
}

/// The bytes of a record for a storage key.
pub(super) fn seal(key: &[u8], record: Opened) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHECKSUM_END + record.json.len());
    bytes.extend_from_slice(&record.generation.0.to_le_bytes());
    bytes.extend_from_slice(&record.epoch.to_le_bytes());
    bytes.extend_from_slice(&checksum(key, record));
    bytes.extend_from_slice(record.json);
    bytes
}

/// Reads the bytes that [`seal`] made, or says what is wrong with them.
pub(super) fn open<'a>(key: &[u8], bytes: &'a [u8]) -> Result<Opened<'a>, String> {
    let (Some((generation, rest)), true) =
        (bytes.split_first_chunk::<GENERATION_END>(), bytes.len() >= CHECKSUM_END)
    else {
        return Err(format!("{} bytes, and an envelope has {CHECKSUM_END}", bytes.len()));
    };
    let mut epoch = [0; EPOCH_END - GENERATION_END];
    epoch.copy_from_slice(&rest[..EPOCH_END - GENERATION_END]);
    let record = Opened {
        generation: Generation(u64::from_le_bytes(*generation)),
        epoch: u32::from_le_bytes(epoch),
        json: &bytes[CHECKSUM_END..],
    };
    if bytes[EPOCH_END..CHECKSUM_END] == checksum(key, record) {
        Ok(record)
    } else {
        Err("its checksum does not match".to_owned())
    }
}

/// The checksum that stands in a record, right or wrong; 0 if there is no room for one.
pub(super) fn stored_checksum(bytes: &[u8]) -> u128 {
    let sum = bytes.get(EPOCH_END..CHECKSUM_END).and_then(|sum| sum.try_into().ok());
    sum.map_or(0, u128::from_le_bytes)
}

fn checksum(key: &[u8], record: Opened) -> [u8; CHECKSUM_END - EPOCH_END] {
    let mut digester = Digester::new("AutoDB record");
    digester
        .bytes("key", key)
        .number("generation", record.generation.0)
        .number("epoch", record.epoch.into())
        .bytes("value", record.json);
    let mut sum = [0; CHECKSUM_END - EPOCH_END];
    sum.copy_from_slice(&digester.finish().as_bytes()[..CHECKSUM_END - EPOCH_END]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Opened<'static> {
        Opened { generation: Generation(7), epoch: 3, json: b"{\"a\":1.5}" }
    }

    #[test]
    fn what_was_sealed_comes_back() {
        let sealed = seal(b"key", record());
        assert_eq!(open(b"key", &sealed), Ok(record()));
        assert!(open(b"another", &sealed).is_err());
        assert!(open(b"key", &sealed[..27]).is_err());
        assert!(open(b"key", b"").is_err());
    }

    proptest! {
        #[test]
        fn any_changed_bit_is_found(at in 0usize..37, bit in 0u8..8) {
            let mut sealed = seal(b"key", record());
            sealed[at] ^= 1 << bit;
            prop_assert!(open(b"key", &sealed).is_err());
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(open(b"key", &bytes).is_err());
        }
    }
}
