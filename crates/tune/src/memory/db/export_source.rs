//! Records of an AutoDB, sound or damaged, exported as far as they can be read.

use super::{AutoDb, DbError, RecordKind};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where records come from.
#[derive(Debug)]
pub enum ExportSource {
    /// An AutoDB that opens.
    Sound(AutoDb),
    /// One that cannot be opened. Its files are read as far as possible.
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What shows the damage.
        damage: String,
    },
}

/// What was exported, and what is missing.
#[derive(Debug, Default)]
pub struct Exported {
    /// The number of records written.
    pub records: u64,
    /// Each record that was left out because it is damaged.
    pub damaged: Vec<DbError>,
    /// What is wrong with an AutoDB that does not open, and how much of it is lost.
    pub lost: Option<String>,
}

impl ExportSource {
    /// Opens the AutoDB in a directory, damaged or not.
    ///
    /// # Errors
    /// There is none, another process has it open, or the file system refuses.
    pub fn open(path: &Path) -> Result<Self, DbError> {
        match AutoDb::open_existing(path) {
            Ok(db) => Ok(Self::Sound(db)),
            Err(error) => match error.damage() {
                Some(damage) => Ok(Self::Damaged { path: path.to_path_buf(), damage }),
                None => Err(error),
            },
        }
    }

    /// Writes every record of these kinds that can be read, as [`AutoDb::export`] does.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn export(&self, kinds: &[RecordKind], out: &mut dyn Write) -> Result<Exported, DbError> {
        match self {
            Self::Sound(db) => {
                let (records, damaged) = db.export(kinds, out)?;
                Ok(Exported { records, damaged, lost: None })
            }
            Self::Damaged { path, damage } => {
                let saved = AutoDb::salvage(path, kinds, out)?;
                let lost = match saved.lost {
                    Some(0) => "no record is lost".to_owned(),
                    Some(lost) => format!("{lost} records are lost, and some may be old ones"),
                    None => "how many records are lost is not known".to_owned(),
                };
                let lost = Some(format!("{damage}. What can be read is exported: {lost}"));
                Ok(Exported { records: saved.records, damaged: Vec::new(), lost })
            }
        }
    }
}
