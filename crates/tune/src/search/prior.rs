//! The beginning of a search: prior knowledge about its task, and the note that lets it resume.
//!
//! A search notes the generation of AutoDB at its start and takes prior knowledge from records up
//! to that one only. The note is stored with this knowledge under a digest of everything that
//! decides the search. A resumed search reads the note instead of looking again, so it decides as
//! the interrupted one did. It finds the evaluations of the interrupted search in AutoDB, goes on
//! from there, and ends at the same answer.

use super::identity::identity;
use super::settings::{OrderUse, Settings};
use crate::cluster::{Categories, ClusterError, Threshold};
use crate::memory::{
    AutoDb, Beginning, DbError, Digest, IDENTITY_VERSION, StoredRecommendation, UNCLUSTERED,
};
use crate::prune::Pruning;
use crate::space::TuningOrder;
use crate::task::Task;
use ssdtune_model::DeviceConfig;
use ssdtune_model::document::Document;

/// What is known about a task from earlier work.
#[derive(Clone, Debug, Default)]
pub struct PriorKnowledge {
    /// Configurations to begin from in addition to the baseline, best first.
    pub seeds: Vec<DeviceConfig>,
    /// The order in which parameters should be tuned, from pruning; empty where nothing is known.
    pub order: TuningOrder,
}

impl PriorKnowledge {
    /// What is known, in words, of a target of this category.
    pub fn told(&self, category: Option<&str>) -> String {
        format!(
            "category {}, {} configurations known (measured and judged like any proposal), {} \
             parameters in tuning order",
            category.unwrap_or("none"),
            self.seeds.len(),
            self.order.0.len()
        )
    }
}

/// How [`begin`] looks for prior knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BeginOptions {
    /// Whether to continue a search that has begun before, if there is one.
    pub resume: bool,
    /// How the search uses the tuning order.
    pub order: OrderUse,
}

/// How a search begins.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The note in AutoDB.
    pub beginning: Beginning,
    /// What is known from earlier work.
    pub prior: PriorKnowledge,
    /// Whether the note was there before, so that the search goes on.
    pub resumed: bool,
}

/// Why a search cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// AutoDB cannot be read or written.
    #[error(transparent)]
    Memory(#[from] DbError),
    /// The categories in AutoDB cannot be used.
    #[error(transparent)]
    Categories(#[from] ClusterError),
}

/// The greatest number of configurations taken from AutoDB.
const SEEDS_MAX: usize = 3;

/// Stores the note of a search's beginning in AutoDB, or reads it to resume the search.
///
/// # Errors
/// AutoDB fails, or its categories cannot be used.
pub fn begin(
    db: &AutoDb,
    task: &Task,
    settings: &Settings,
    evaluator: &str,
    options: BeginOptions,
) -> Result<Begun, BeginError> {
    let search = identity(task, settings, options.order, evaluator);
    let noted = if options.resume { Beginning::load(db, search)? } else { None };
    let resumed = noted.is_some();
    let beginning = match noted {
        Some(noted) => noted,
        None => {
            let beginning = look_back(db, task, search)?;
            beginning.store(db)?;
            beginning
        }
    };
    let parsed = beginning.seeds.iter().filter_map(|text| Document::parse(text).ok());
    let seeds = parsed.map(|document| document.config().clone()).collect();
    let order = match options.order {
        OrderUse::Follow => beginning.order.clone(),
        OrderUse::KeptTogether => beginning.order.together(),
        OrderUse::Ignore => TuningOrder::default(),
    };
    Ok(Begun { beginning, prior: PriorKnowledge { seeds, order }, resumed })
}

/// Collects what AutoDB knows about the task.
fn look_back(db: &AutoDb, task: &Task, search: Digest) -> Result<Beginning, BeginError> {
    let generation = db.generation();
    let category = category_of_target(db, task)?;
    let cluster = category.as_ref().map_or(UNCLUSTERED, |(number, _)| *number);
    let mut known = Vec::new();
    for found in StoredRecommendation::of_category(db, cluster) {
        let (_, stored) = found?;
        // Without a category only searches for a target of this name count.
        let is_same = cluster != UNCLUSTERED || stored.value.target == task.target.name;
        let is_same = is_same && stored.value.baseline == task.base.name;
        if is_same && stored.generation <= generation {
            known.push(stored.value);
        }
    }
    known.sort_by(|a, b| b.grade.total_cmp(&a.grade).then(a.key().cmp(&b.key())));
    known.dedup_by(|a, b| a.configuration == b.configuration);
    let order = Pruning::load(db, task)?.map(|pruning| pruning.order).unwrap_or_default();
    Ok(Beginning {
        search,
        generation,
        cluster,
        category: category.map(|(_, name)| name),
        seeds: known.into_iter().take(SEEDS_MAX).map(|stored| stored.configuration).collect(),
        order,
        identity_version: IDENTITY_VERSION,
    })
}

/// The number and the name of the category that the target belongs to; `None` where there is none.
fn category_of_target(db: &AutoDb, task: &Task) -> Result<Option<(u32, String)>, BeginError> {
    let categories = match Categories::load(db) {
        Ok(categories) => categories,
        Err(ClusterError::NotLearned) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let requests = task.target.traces[0].requests();
    // A trace that is shorter than a window cannot be classified and belongs to no category.
    let verdict = categories.classify(&task.target.name, requests, Threshold::default()).ok();
    let inside = verdict.filter(|verdict| verdict.inside);
    Ok(inside.map(|verdict| (verdict.category, verdict.name)))
}
