//! How many records a store holds, and the sum of their checksums, kept up to date with each write.
//!
//! Each record has a checksum of its own, but nothing in a single record says that another one is
//! missing or is an older one: the engine leaves out what it cannot read in the middle of its log.
//! The census is stored with the generation, in the batch that changes the records, and compared
//! when the AutoDB is opened.

use super::envelope;
use serde::{Deserialize, Serialize};

/// The number of records, and the sum of their checksums modulo 2^128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) records: u64,
    sum: u128,
}

/// A census as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    records: u64,
    sum: String,
}

impl Census {
    /// Counts a record that comes or, with `None`, leaves, in the place of the one that was stored.
    pub(super) fn replace(&mut self, stored: Option<&[u8]>, new: Option<&[u8]>) {
        if let Some(stored) = stored {
            self.records = self.records.wrapping_sub(1);
            self.sum = self.sum.wrapping_sub(envelope::stored_checksum(stored));
        }
        if let Some(new) = new {
            self.records = self.records.wrapping_add(1);
            self.sum = self.sum.wrapping_add(envelope::stored_checksum(new));
        }
    }

    /// The census as JSON.
    pub(super) fn json(&self) -> String {
        format!(r#"{{"records":{},"sum":"{:032x}"}}"#, self.records, self.sum)
    }

    /// Reads what [`Census::json`] wrote. `None` for anything else: stores of earlier versions have
    /// no census.
    pub(super) fn from_json(json: &[u8]) -> Option<Self> {
        let Stored { records, sum } = serde_json::from_slice(json).ok()?;
        Some(Self { records, sum: u128::from_str_radix(&sum, 16).ok()? })
    }
}

impl<'a> FromIterator<&'a [u8]> for Census {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(records: I) -> Self {
        let mut census = Self::default();
        records.into_iter().for_each(|sealed| census.replace(None, Some(sealed)));
        census
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::db::Generation;
    use crate::memory::db::envelope::{Opened, seal};

    fn sealed(number: u64) -> Vec<u8> {
        seal(b"key", Opened { generation: Generation(number), epoch: 1, json: b"1" })
    }

    #[test]
    fn a_record_that_is_missing_changed_or_twice_is_seen() {
        let three = [sealed(1), sealed(2), sealed(3)];
        let census = |of: &[&Vec<u8>]| of.iter().map(|one| one.as_slice()).collect::<Census>();
        let whole = census(&[&three[0], &three[1], &three[2]]);
        assert_eq!(whole, census(&[&three[2], &three[0], &three[1]]));
        assert_ne!(whole, census(&[&three[0], &three[1]]));
        assert_ne!(whole, census(&[&three[0], &three[1], &three[1]]));
        let mut changed = whole;
        changed.replace(Some(&three[1]), Some(&sealed(9)));
        assert_ne!(changed, whole);
        changed.replace(Some(&sealed(9)), None);
        assert_eq!(changed, census(&[&three[0], &three[2]]));
    }

    #[test]
    fn a_census_comes_back_from_its_text() {
        let census: Census = [sealed(4)].iter().map(Vec::as_slice).collect();
        assert_eq!(Census::from_json(census.json().as_bytes()), Some(census));
        assert_eq!(Census::from_json(b""), None);
        assert_eq!(Census::from_json(br#"{"records":1,"sum":"x"}"#), None);
    }
}
