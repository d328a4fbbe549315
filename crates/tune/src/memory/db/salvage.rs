//! What is saved of a damaged AutoDB: every record that its files still hold, as an export.

use super::acknowledged::Acknowledged;
use super::lock::Lock;
use super::schema::Counter;
use super::{AutoDb, DbError, Generation, RecordKind, envelope, export, log, store};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// What [`AutoDb::salvage`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Salvaged {
    /// The number of records written.
    pub records: u64,
    /// The number of records, of all kinds, that the AutoDB held and that are lost; `None` if that
    /// is not known.
    pub lost: Option<u64>,
}

impl AutoDb {
    /// Writes every record of these kinds that the files of a damaged AutoDB still hold, as
    /// [`AutoDb::export`] does, and leaves the files as they are. Each record is one that was
    /// written. Where its newest value is lost, it can be an older one, and where the note of its
    /// removal is lost, it can be one that was removed.
    ///
    /// # Errors
    /// Another process has the AutoDB open, it is none, or reading or writing fails.
    pub fn salvage(
        path: impl AsRef<Path>,
        kinds: &[RecordKind],
        out: &mut dyn Write,
    ) -> Result<Salvaged, DbError> {
        let path = path.as_ref();
        store::recognise(path)?;
        let _lock = Lock::take(path)?;
        store::finish_swap(path)?;
        let found = log::saved(&store::place(path));
        let found = found.map_err(store::io_error(path, "reading its store"))?;
        let mut generation = Acknowledged::open(path).map_or(Generation(0), |note| note.newest());
        let mut census = None;
        let mut newest: BTreeMap<Vec<u8>, (Generation, Vec<u8>)> = BTreeMap::new();
        for (key, sealed) in found {
            // Without its page, what a key begins with is a guess. The checksum says if it fits.
            let Ok(record) = envelope::open(&key, &sealed) else { continue };
            if key == Counter::KEY && record.generation >= generation {
                census = Counter::read(&sealed).and_then(|(_, census)| census);
            }
            generation = generation.max(record.generation);
            if RecordKind::of_key(&key).is_some()
                && newest.get(&key).is_none_or(|(stored, _)| *stored < record.generation)
            {
                newest.insert(key, (record.generation, sealed));
            }
        }
        let all = newest.len() as u64;
        let written = |source| store::io_error(path, "exporting it")(source);
        export::write_header(out, generation).map_err(written)?;
        let lost = census.map(|census| census.records.saturating_sub(all));
        let mut salvaged = Salvaged { records: 0, lost };
        for (key, (_, sealed)) in &newest {
            let Some(kind) = RecordKind::of_key(key).filter(|kind| kinds.contains(kind)) else {
                continue;
            };
            let Ok(entry) = super::entry_of(kind, key, sealed) else { continue };
            if export::write_record(out, kind, &entry).map_err(written)? {
                salvaged.records += 1;
            }
        }
        out.flush().map_err(written)?;
        Ok(salvaged)
    }
}
