//! The `--db` argument: which AutoDB, and how its errors end a run.

use crate::outcome::{Failure, Outcome};
use ssdtune_tune::cluster::ClusterError;
use ssdtune_tune::memory::{AutoDb, DbError};
use std::path::PathBuf;

/// Which AutoDB.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DbArg {
    /// The AutoDB: a directory that one process uses at a time.
    #[arg(long, value_name = "DIR", env = "SSDTUNE_DB", default_value = "ssdtune.autodb")]
    db: PathBuf,
}

impl DbArg {
    /// Opens it, or makes a new one.
    pub(crate) fn open(&self) -> Outcome<AutoDb> {
        AutoDb::open(&self.db).map_err(failure)
    }

    /// Opens one that must be there.
    pub(crate) fn open_existing(&self) -> Outcome<AutoDb> {
        AutoDb::open_existing(&self.db).map_err(failure)
    }
}

/// What an error of an AutoDB means: a wrong argument, a wrong file, or work that failed.
pub(crate) fn failure(error: DbError) -> Failure {
    match error {
        DbError::Missing { .. } | DbError::Foreign { .. } => Failure::usage(error),
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

/// What an error of the categories means.
pub(crate) fn cluster_failure(error: ClusterError) -> Failure {
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
