//! Export of an AutoDB as JSON lines, and import, without loss.
//!
//! The first line says what the file is. Every other line is one record, with its key in
//! hexadecimal digits and its value exactly as it is stored. When they are imported into an empty
//! AutoDB, records keep their generations. In any other AutoDB they become new records, in the
//! order of the generations they had.

use super::schema::Counter;
use super::{
    AutoDb, DbError, Generation, RawRecord, RecordKind, SCHEMA, check_key, envelope, kind,
};
use super::{storage_key, store};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Read, Write};

/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// The greatest generation that is imported: it leaves room for all that can ever be written.
const GENERATION_MAX: u64 = 1 << 48;
/// Records stored with one wait for the disk.
const AT_ONCE: usize = 4096;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    autodb: String,
    schema: u32,
    generation: Generation,
}

/// A record as it is written.
#[derive(Serialize)]
struct LineOut<'a> {
    kind: RecordKind,
    key: String,
    generation: Generation,
    epoch: u32,
    value: &'a RawValue,
}

/// A record as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineIn {
    kind: RecordKind,
    key: String,
    generation: Generation,
    epoch: u32,
    value: Box<RawValue>,
}

/// What an import does with a record that is stored with another value already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Stop before anything is stored.
    #[default]
    Refuse,
    /// Keep the stored record.
    Keep,
    /// Store the imported record in its place.
    Replace,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Records that were added.
    pub added: u64,
    /// Records that were stored already, with an equal value.
    pub same: u64,
    /// Records that were stored with another value and stayed.
    pub kept: u64,
    /// Records that were stored with another value and were replaced.
    pub replaced: u64,
}

impl AutoDb {
    /// Writes every sound record of these kinds as JSON lines, in the order of kinds and keys.
    /// Returns the number of records written, and an error for each damaged record left out.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn export(
        &self,
        kinds: &[RecordKind],
        out: &mut dyn Write,
    ) -> Result<(u64, Vec<DbError>), DbError> {
        let written = |source| store::io_error(&self.path, "exporting it")(source);
        write_header(out, self.generation()).map_err(written)?;
        let (mut count, mut damaged) = (0, Vec::new());
        for &kind in kinds {
            for found in self.entries(kind) {
                let entry = match found {
                    Ok(entry) => entry,
                    Err(error @ DbError::Damaged { .. }) => {
                        damaged.push(error);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                match line_of(kind, &entry) {
                    Ok(line) => write_line(out, &line).map_err(written)?,
                    Err(error) => {
                        damaged.push(error);
                        continue;
                    }
                }
                count += 1;
            }
        }
        out.flush().map_err(written)?;
        Ok((count, damaged))
    }

    /// Reads what [`AutoDb::export`] wrote. Nothing is stored unless every line can be read.
    ///
    /// # Errors
    /// A line is wrong or, with [`OnConflict::Refuse`], contradicts what is stored; or reading or
    /// writing fails.
    pub fn import(
        &self,
        input: &mut dyn BufRead,
        on_conflict: OnConflict,
    ) -> Result<Imported, DbError> {
        let (header, mut lines) = read_all(input)?;
        let empty = *self.counter() == Counter::default();
        let mut imported = Imported::default();
        lines.sort_by_key(|(_, line, _)| line.generation);
        let mut wanted = Vec::with_capacity(lines.len());
        for (number, line, key) in lines {
            match self.entry(line.kind, &key) {
                Ok(None) => imported.added += 1,
                Ok(Some(found)) if found.json == line.value.get() && found.epoch == line.epoch => {
                    imported.same += 1;
                    continue;
                }
                Ok(Some(_)) if on_conflict == OnConflict::Keep => {
                    imported.kept += 1;
                    continue;
                }
                // A damaged stored record does not count as a conflict: it is replaced below.
                Ok(Some(_)) if on_conflict == OnConflict::Refuse => {
                    let (kind, key) = (line.kind, kind::key_text(&key));
                    return Err(DbError::Conflict { line: number, kind, key });
                }
                Ok(Some(_)) | Err(DbError::Damaged { .. }) => imported.replaced += 1,
                Err(error) => return Err(error),
            }
            wanted.push((line, key));
        }
        for part in wanted.chunks(AT_ONCE) {
            self.take_in(part, empty.then_some(header.generation))?;
        }
        if wanted.is_empty() && empty && header.generation > Generation::default() {
            // All records of the exported AutoDB were removed. Its generation tells of them.
            self.take_in(&[], Some(header.generation))?;
        }
        Ok(imported)
    }

    /// Stores records. With a `counter` they keep their generations, and the AutoDB's generation
    /// becomes `counter`; without one they are new records.
    fn take_in(
        &self,
        part: &[(LineIn, Vec<u8>)],
        counter: Option<Generation>,
    ) -> Result<(), DbError> {
        let mut counted = self.counter();
        let mut next = *counted;
        let mut batch = sled::Batch::default();
        for (line, key) in part {
            next.generation.0 += 1;
            let generation = if counter.is_some() { line.generation } else { next.generation };
            let storage = storage_key(line.kind, key);
            let json = line.value.get().as_bytes();
            let record = envelope::Opened { generation, epoch: line.epoch, json };
            let sealed = envelope::seal(&storage, record);
            next.census.replace(self.store.get(&storage)?.as_deref(), Some(&sealed));
            batch.insert(storage, sealed);
        }
        next.generation = counter.unwrap_or(next.generation);
        next.note(&mut batch);
        self.store.apply(batch)?;
        *counted = next;
        drop(counted);
        self.acknowledge(next.generation)?;
        Ok(())
    }
}

/// The number of a line from 1, its record, and the key of that record.
type Numbered = (u64, LineIn, Vec<u8>);

fn read_all(input: &mut dyn BufRead) -> Result<(Header, Vec<Numbered>), DbError> {
    let mut number = 0;
    let mut next = || -> Result<Option<(u64, String)>, DbError> {
        number += 1;
        let wrong = |reason: String| DbError::Import { line: number, reason };
        let mut text = String::new();
        let read = Read::take(&mut *input, LINE_BYTES_MAX).read_line(&mut text);
        match read.map_err(|error| wrong(format!("cannot be read: {error}")))? {
            0 => Ok(None),
            bytes if bytes as u64 == LINE_BYTES_MAX => {
                Err(wrong(format!("longer than {LINE_BYTES_MAX} bytes")))
            }
            _ => Ok(Some((number, text))),
        }
    };
    let not_ours = |reason: String| DbError::Import { line: 1, reason };
    let (_, first) = next()?.ok_or_else(|| not_ours("the file is empty".to_owned()))?;
    let header: Header = serde_json::from_str(&first)
        .map_err(|error| not_ours(format!("no header of an AutoDB export: {error}")))?;
    if header.autodb != "ssdtune" || header.schema != SCHEMA {
        let reason = format!(
            "an export of {:?} with schema {}; schema {SCHEMA} of \"ssdtune\" is read",
            header.autodb, header.schema
        );
        return Err(not_ours(reason));
    }
    if header.generation.0 > GENERATION_MAX {
        let (generation, max) = (header.generation, GENERATION_MAX);
        return Err(not_ours(format!("generation {generation}; legal are 0 to {max}")));
    }
    let mut lines: Vec<Numbered> = Vec::new();
    let mut keys = BTreeSet::new();
    while let Some((line, text)) = next()? {
        let wrong = |reason: String| DbError::Import { line, reason };
        let parsed: LineIn = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        let key = kind::unhex(&parsed.key)
            .ok_or_else(|| wrong(format!("key {:?}: not hexadecimal digits", parsed.key)))?;
        check_key(parsed.kind, &key).map_err(|error| wrong(error.to_string()))?;
        if parsed.generation > header.generation {
            let (generation, newest) = (parsed.generation, header.generation);
            return Err(wrong(format!("generation {generation}, and the header says {newest}")));
        }
        if !keys.insert((parsed.kind, key.clone())) {
            let key = kind::key_text(&key);
            return Err(wrong(format!("{} {key} is in the file twice", parsed.kind)));
        }
        lines.push((line, parsed, key));
    }
    Ok((header, lines))
}

fn line_of(kind: RecordKind, entry: &RawRecord) -> Result<LineOut<'_>, DbError> {
    let value = serde_json::from_str(&entry.json).map_err(|error| DbError::Damaged {
        kind: kind.to_string(),
        key: kind::key_text(&entry.key),
        reason: format!("its value is not JSON: {error}"),
    })?;
    let key = kind::hex(&entry.key);
    Ok(LineOut { kind, key, generation: entry.generation, epoch: entry.epoch, value })
}

/// Writes the first line of an export.
pub(super) fn write_header(out: &mut dyn Write, generation: Generation) -> io::Result<()> {
    write_line(out, &Header { autodb: "ssdtune".to_owned(), schema: SCHEMA, generation })
}

/// Writes the line of a record. Returns false, with nothing written, if its value is not JSON.
pub(super) fn write_record(
    out: &mut dyn Write,
    kind: RecordKind,
    entry: &RawRecord,
) -> io::Result<bool> {
    let Ok(line) = line_of(kind, entry) else { return Ok(false) };
    write_line(out, &line).map(|()| true)
}

fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
