//! How a search begins: what earlier work knows about its task, and the note that lets it resume.
//!
//! A search notes the generation of AutoDB at its start and takes prior knowledge from records up
//! to that one only. The note, with what was taken, is stored under a digest of everything that
//! decides the search. A resumed search reads the note instead of looking again, so it decides as
//! the interrupted one did. The evaluations it asks for are found in AutoDB up to where that one
//! came, and it ends at the same answer.

use super::hopeless::EXAMPLES_MAX;
use super::identity::identity;
use super::settings::{OrderUse, Settings};
use crate::cluster::{Categories, ClusterError, Threshold};
use crate::memory::{
    AutoDb, Beginning, DbError, Digest, ExampleQuery, IDENTITY_VERSION, StoredRecommendation,
    TrainingExample, UNCLUSTERED, training_examples,
};
use crate::prune::Pruning;
use crate::space::TuningOrder;
use crate::task::Task;
use ssdtune_model::DeviceConfig;
use ssdtune_model::document::Document;

/// What earlier work knows about a task.
#[derive(Clone, Debug, Default)]
pub struct PriorKnowledge {
    /// Configurations to begin from beside the baseline, best first.
    pub seeds: Vec<DeviceConfig>,
    /// The order in which parameters should be tuned, from pruning; empty where nothing is known.
    pub order: TuningOrder,
    /// What earlier evaluations teach about drives that were not evaluated.
    pub examples: Vec<TrainingExample>,
}

/// How prior knowledge is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BeginOptions {
    /// Whether to go on with a search that has begun before.
    pub resume: bool,
    /// What to make of the tuning order.
    pub order: OrderUse,
}

/// A search cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// AutoDB fails.
    #[error(transparent)]
    Memory(#[from] DbError),
    /// The categories in AutoDB cannot be used.
    #[error(transparent)]
    Categories(#[from] ClusterError),
    /// There is no such search.
    #[error(
        "there is no search to resume in {path}: none of this version began with these very options; \
         leave --resume out to begin one, which finds every evaluation that is stored already"
    )]
    NothingToResume {
        /// The AutoDB.
        path: String,
    },
}

/// The number of configurations taken from AutoDB at most.
const SEEDS_MAX: usize = 3;

/// Notes the beginning of a search in AutoDB, or reads the note of an earlier one to resume it, and
/// gives back what is known about the task.
///
/// # Errors
/// AutoDB fails, its categories cannot be used, or there is nothing to resume.
pub fn begin(
    db: &AutoDb,
    task: &Task,
    settings: &Settings,
    evaluator: &str,
    options: BeginOptions,
) -> Result<(Beginning, PriorKnowledge), BeginError> {
    let search = identity(task, settings, options.order, evaluator);
    let beginning = match (options.resume, Beginning::load(db, search)?) {
        (true, Some(noted)) => noted,
        (true, None) => {
            return Err(BeginError::NothingToResume { path: db.path().display().to_string() });
        }
        (false, _) => {
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
    let examples = match settings.discard_hopeless {
        // Not noted: records up to a generation stay what they are.
        true => training_examples(
            db,
            &ExampleQuery {
                base: &task.base,
                space: &task.space,
                evaluator,
                generation: beginning.generation,
                count_max: EXAMPLES_MAX,
            },
        )?,
        false => Vec::new(),
    };
    Ok((beginning, PriorKnowledge { seeds, order, examples }))
}

/// Collects what AutoDB knows about the task.
fn look_back(db: &AutoDb, task: &Task, search: Digest) -> Result<Beginning, BeginError> {
    let generation = db.generation();
    let category = category_of_target(db, task)?;
    let cluster = category.as_ref().map_or(UNCLUSTERED, |(number, _)| *number);
    let mut known = Vec::new();
    for found in StoredRecommendation::of_category(db, cluster) {
        let (_, stored) = found?;
        // Without a category only searches for this very target count.
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
        seeds: known.into_iter().take(SEEDS_MAX).map(|own| own.configuration).collect(),
        order,
        identity_version: IDENTITY_VERSION,
    })
}

/// The number and the name of the category that the target belongs to, if any.
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
