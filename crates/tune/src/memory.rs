//! What AutoBlox remembers: AutoDB, the keys of its records, and what can be learned from them.
//!
//! | part | what |
//! |---|---|
//! | [`AutoDb`] | records on disk: durable, checked, each with the generation it was written in |
//! | [`EvaluationKey`] | everything that decides an evaluation, as one number |
//! | [`EvaluationRecord`] | an evaluation as it is stored |
//! | [`StoredRecommendation`] | a configuration that a search found, as it is stored |
//! | [`Beginning`] | how a search began, so that it can be resumed |

mod beginning;
mod db;
mod evaluation;
mod identity;
mod key;
mod overview;
mod recommendation;

pub use crate::digest::{Digest, DigestError, Digester, RequestDigester, digest_requests};
pub use beginning::Beginning;
pub use db::{
    AutoDb, Batch, Collected, Damage, DbError, ExportSource, Exported, FindError, Generation,
    Health, Imported, OnConflict, RawRecord, Record, RecordKind, SCHEMA, Salvaged, Scan, Stale,
    Upkeep, key_text,
};
pub use evaluation::{EvaluationRecord, EvaluationSubject, StoredAnswer};
pub use identity::IDENTITY_VERSION;
pub use key::{
    BUILT_IN, EvaluationInputs, EvaluationKey, RESULTS_EPOCH, WarmUp, canonical,
    configuration_digest,
};
pub use overview::{DbOverview, KindOverview, RecordOverview};
pub use recommendation::{BestError, StoredRecommendation, UNCLUSTERED, WorkloadSpeedup};
