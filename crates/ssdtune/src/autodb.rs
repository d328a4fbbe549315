//! The `--db` argument, and which failures the errors of AutoDB are.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::cluster::{Categories, ClusterError};
use ssdtune_tune::memory::{AutoDb, DbError};
use std::path::{Path, PathBuf};

/// Which AutoDB.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DbArg {
    /// The AutoDB: a directory that one process uses at a time. Commands that write make it if it
    /// does not exist.
    #[arg(long, value_name = "DIR", env = "SSDTUNE_DB", default_value = "ssdtune.autodb")]
    db: PathBuf,
}

impl DbArg {
    /// Opens the AutoDB, or makes a new one and says so.
    pub(crate) fn open(&self, context: &Context) -> Outcome<AutoDb> {
        if !self.db.exists() {
            context.note(format_args!("makes the AutoDB {}", self.db.display()));
        }
        AutoDb::open(&self.db).map_err(failure)
    }

    /// Opens an AutoDB that must exist.
    pub(crate) fn open_existing(&self) -> Outcome<AutoDb> {
        AutoDb::open_existing(&self.db).map_err(failure)
    }

    /// The directory of the AutoDB.
    pub(crate) fn path(&self) -> &Path {
        &self.db
    }

    /// The categories of workloads in an AutoDB that must exist.
    pub(crate) fn categories(&self) -> Outcome<Categories> {
        Categories::load(&self.open_existing()?).map_err(cluster_failure)
    }
}

/// The failure, and so the exit code, of an error of AutoDB.
pub fn failure(error: DbError) -> Failure {
    match error {
        DbError::Missing { .. } | DbError::Foreign { .. } | DbError::NoDirectory { .. } => {
            Failure::usage(error)
        }
        DbError::Damaged { .. }
        | DbError::Form { .. }
        | DbError::Lost { .. }
        | DbError::Newer { .. }
        | DbError::Unreadable { .. }
        | DbError::Import { .. }
        | DbError::Conflict { .. } => Failure::input(error),
        other => Failure::Work(other.into()),
    }
}

/// The failure, and so the exit code, of an error of the categories.
pub fn cluster_failure(error: ClusterError) -> Failure {
    match error {
        ClusterError::Db(error) => failure(error),
        ClusterError::TooShort { .. }
        | ClusterError::TooFewWindows { .. }
        | ClusterError::Inconsistent { .. }
        | ClusterError::Model(_) => Failure::input(error),
        ClusterError::Nothing
        | ClusterError::Name { .. }
        | ClusterError::SameName { .. }
        | ClusterError::Known { .. }
        | ClusterError::NoCategory { .. }
        | ClusterError::NotLearned => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
