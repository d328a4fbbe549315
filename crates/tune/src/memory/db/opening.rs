//! Whether a store holds all that was written: asked before the engine opens it, of its files, and
//! afterwards, of the engine.

use super::acknowledged::Acknowledged;
use super::census::Census;
use super::engine::Engine;
use super::log::Senseless;
use super::schema::Counter;
use super::{DbError, log, store};
use std::path::Path;

/// Whether a store may be opened. The engine would mend what is damaged by leaving it out, so its
/// files are read first, without it. If they look damaged, the engine is asked what it makes of a
/// copy: the reader of the files knows less of how a killed process leaves them.
pub(super) fn look(path: &Path, acknowledged: &Acknowledged) -> Result<(), DbError> {
    let found =
        log::intact(&store::place(path)).map_err(store::io_error(path, "reading its store"))?;
    let refused = match found {
        Ok(contents) => match judge_files(path, acknowledged, &contents) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        },
        Err(Senseless::Torn) => unreadable(path, "its log is torn".to_owned()),
        Err(Senseless::MadeUp) => {
            return Err(unreadable(path, "its log is none that was written".to_owned()));
        }
    };
    let copy = store::copy(path)?;
    let is_whole = Engine::open(path, &copy).and_then(|engine| {
        let counted = count(path, &engine, acknowledged)?;
        Ok(engine.get(Counter::KEY)?.as_deref().and_then(Counter::read)
            == Some((counted.generation, Some(counted.census))))
    });
    store::remove(path, &copy)?;
    if is_whole.unwrap_or(false) { Ok(()) } else { Err(refused) }
}

fn judge_files(
    path: &Path,
    acknowledged: &Acknowledged,
    contents: &log::Contents,
) -> Result<(), DbError> {
    let records = contents.range(vec![1]..).map(|(_, sealed)| sealed.as_slice()).collect();
    let stored = contents.get(Counter::KEY).map(Vec::as_slice);
    judge(path, acknowledged, stored, records).map(|_| ())
}

/// Reads every record, and says what they count.
pub(super) fn count(
    path: &Path,
    store: &Engine,
    acknowledged: &Acknowledged,
) -> Result<Counter, DbError> {
    let mut census = Census::default();
    for found in store.records() {
        census.replace(None, Some(&found?.1));
    }
    judge(path, acknowledged, store.get(Counter::KEY)?.as_deref(), census)
}

fn judge(
    path: &Path,
    acknowledged: &Acknowledged,
    stored: Option<&[u8]>,
    found: Census,
) -> Result<Counter, DbError> {
    let Some((generation, noted)) = stored.and_then(Counter::read) else {
        if stored.is_some() || found.records > 0 {
            let reason = "the number of its newest generation cannot be read".to_owned();
            return Err(unreadable(path, reason));
        }
        let counter = Counter::default();
        return acknowledged.check(path, counter.generation).map(|()| counter);
    };
    acknowledged.check(path, generation)?;
    match noted {
        Some(noted) if noted.records > found.records => {
            let (found, noted) = (found.records, noted.records);
            Err(unreadable(path, format!("it holds {found} of its {noted} records")))
        }
        Some(noted) if noted != found => {
            let reason = "its records are not those that were written last".to_owned();
            Err(unreadable(path, reason))
        }
        _ => Ok(Counter { generation, census: found }),
    }
}

fn unreadable(path: &Path, reason: String) -> DbError {
    DbError::Unreadable { path: path.to_path_buf(), reason }
}
