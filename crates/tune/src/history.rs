//! How a search begins and what it leaves: prior knowledge out of AutoDB, and the result into it.
//!
//! A search notes the generation of AutoDB at its start and takes prior knowledge (configurations found
//! before for the target's category, the tuning order) from records up to that one only. The note, with what
//! was taken, is a record of [`Kind::Run`] under a digest of everything that decides the search. A resumed
//! search reads it instead of looking again, so it decides as the interrupted one did; the evaluations it
//! asks for are found in AutoDB up to where that one came, and it ends at the same answer.

use crate::cluster::{Categories, ClusterError, Threshold};
use crate::memory::{
    AutoDb, Batch, DbError, Digest, Digester, ExampleQuery, Generation, Kind, StoredRecommendation,
    WorkloadSpeedup, canonical, training_examples,
};
use crate::prune::Pruning;
use crate::recommend::{Recommendation, Row};
use crate::search::{EXAMPLES_MAX, Ordered, Settings, Task};
use serde::{Deserialize, Serialize};
use ssdtune_model::document::Document;

/// The category of workloads that belong to none.
pub const UNCLUSTERED: u32 = u32::MAX;

/// How a search began: a record of [`Kind::Run`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// The search.
    pub search: Digest,
    /// Prior knowledge is of this generation or older.
    pub generation: Generation,
    /// The target's category; [`UNCLUSTERED`] where there is none.
    pub cluster: u32,
    /// Its category's name, if it has one.
    pub category: Option<String>,
    /// Configurations to begin from, as TOML, best first.
    pub seeds: Vec<String>,
    /// The tuning order.
    pub order: Vec<Ordered>,
}

/// A search cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// AutoDB fails.
    #[error(transparent)]
    Memory(#[from] DbError),
    /// The categories in AutoDB cannot be used.
    #[error(transparent)]
    Categories(#[from] ClusterError),
    /// There is no such search.
    #[error(
        "there is no search to resume in {path}: none began with these very options; leave --resume \
         out to begin one"
    )]
    NothingToResume {
        /// The AutoDB.
        path: String,
    },
}

/// Configurations taken from AutoDB at most.
const SEEDS_MAX: usize = 3;

/// The digest of everything that decides a search beside prior knowledge.
pub fn digest(task: &Task, settings: &Settings, evaluator: &str) -> Digest {
    let mut digester = Digester::new("ssdtune search");
    digester
        .text("baseline", &canonical(&task.base))
        .text("space", &format!("{:?}", task.space))
        .text("limits", &format!("{:?}", task.limits))
        .text("settings", &format!("{settings:?}"))
        .real("alpha", task.weights.alpha)
        .real("beta", task.weights.beta)
        .text("evaluator", evaluator);
    for workload in std::iter::once(&task.target).chain(&task.others) {
        digester.text("workload", &workload.name).number("depth", workload.depth.into());
        for trace in &workload.traces {
            let length = trace.requests().len() as u64;
            digester.digest("trace", trace.digest()).number("length", length);
        }
    }
    digester.finish()
}

/// Prepares a search: notes its beginning, or with `resume` reads the note of an earlier one, and gives the
/// task its prior knowledge.
///
/// # Errors
/// AutoDB fails, its categories cannot be used, or there is nothing to resume.
pub fn begin(
    db: &AutoDb,
    task: &mut Task,
    settings: &Settings,
    evaluator: &str,
    resume: bool,
) -> Result<Beginning, HistoryError> {
    let search = digest(task, settings, evaluator);
    let key = search.to_string();
    let noted = db.get::<Beginning>(Kind::Run, key.as_bytes())?;
    let beginning = match (resume, noted) {
        (true, Some(noted)) => noted.value,
        (true, None) => {
            return Err(HistoryError::NothingToResume { path: db.path().display().to_string() });
        }
        (false, _) => {
            let beginning = look_back(db, task, search)?;
            db.put(Kind::Run, key.as_bytes(), &beginning)?;
            beginning
        }
    };
    let parsed = beginning.seeds.iter().filter_map(|text| Document::parse(text).ok());
    task.seeds = parsed.map(|document| document.config().clone()).collect();
    task.order.clone_from(&beginning.order);
    if settings.screen {
        // Not noted: records up to a generation stay what they are.
        let (base, space, generation) = (&task.base, &task.space, beginning.generation);
        let query = ExampleQuery { base, space, evaluator, generation, count_max: EXAMPLES_MAX };
        task.examples = training_examples(db, &query)?;
    }
    Ok(beginning)
}

fn look_back(db: &AutoDb, task: &Task, search: Digest) -> Result<Beginning, HistoryError> {
    let generation = db.generation();
    let verdict = match Categories::load(db) {
        Ok(categories) => {
            let requests = task.target.traces[0].requests();
            match categories.classify(&task.target.name, requests, Threshold::default()) {
                Ok(verdict) => verdict.inside.then_some(verdict),
                // Shorter than a window: it is of no category.
                Err(_) => None,
            }
        }
        Err(ClusterError::NotLearned) => None,
        Err(error) => return Err(error.into()),
    };
    let cluster = verdict.as_ref().map_or(UNCLUSTERED, |verdict| verdict.category);
    let mut known: Vec<StoredRecommendation> = Vec::new();
    for found in
        db.scan_prefix::<StoredRecommendation>(Kind::Search, &StoredRecommendation::prefix(cluster))
    {
        let (_, stored) = found?;
        let own = cluster != UNCLUSTERED || stored.value.target == task.target.name;
        if own && stored.generation <= generation && stored.value.baseline == task.base.name {
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
        category: verdict.map(|verdict| verdict.name),
        seeds: known.into_iter().take(SEEDS_MAX).map(|own| own.configuration).collect(),
        order,
    })
}

/// Stores a search's top configurations; the recommended one is the first.
///
/// # Errors
/// AutoDB fails.
pub fn remember(
    db: &AutoDb,
    beginning: &Beginning,
    result: &Recommendation,
) -> Result<(), DbError> {
    let measure = |row: &Row, target: bool| WorkloadSpeedup {
        workload: row.workload.clone(),
        target,
        latency_speedup: row.speedup.latency,
        throughput_speedup: row.speedup.throughput,
    };
    let table = &result.training;
    let mut measures = vec![measure(&table.target, true)];
    measures.extend(table.others.iter().map(|row| measure(row, false)));
    let stored = |rank: u32, configuration: &str, grade: f64, measures: Vec<WorkloadSpeedup>| {
        StoredRecommendation {
            cluster: beginning.cluster,
            target: result.question.target.clone(),
            configuration: configuration.to_owned(),
            grade,
            baseline: result.question.baseline.clone(),
            constraints: result.question.limits.iter().map(|line| format!("# {line}\n")).collect(),
            search: beginning.search,
            rank,
            measures,
            watts: table.target.own.average_watts.filter(|_| rank == 0),
        }
    };
    let mut all = vec![stored(0, &result.toml, result.grade, measures)];
    for (rank, top) in result.top.iter().enumerate().skip(1) {
        let own = vec![WorkloadSpeedup {
            workload: result.question.target.clone(),
            target: true,
            latency_speedup: top.target.latency,
            throughput_speedup: top.target.throughput,
        }];
        all.push(stored(rank as u32, &top.toml, top.grade, own));
    }
    let records: Vec<(Vec<u8>, &StoredRecommendation)> =
        all.iter().map(|own| (own.key(), own)).collect();
    db.put_all(Kind::Search, records).map(|_| ())
}

/// Files recommendations under the categories there are now: each under the one that its target is in or has
/// given its name to. What belongs to none stays where it is, or with `anew` (its number means something else
/// now) goes among the uncategorised. Gives how many were moved.
///
/// # Errors
/// AutoDB fails.
pub fn refile(db: &AutoDb, categories: &Categories, anew: bool) -> Result<usize, DbError> {
    let of = |target: &str| {
        let member = categories.members().find(|member| member.name == target);
        member.map(|own| own.category).or_else(|| categories.number(target).ok())
    };
    let mut batch = Batch::default();
    let mut moved = 0;
    for found in db.scan::<StoredRecommendation>(Kind::Search) {
        let mut own = found?.1.value;
        let elsewhere = if anew { UNCLUSTERED } else { own.cluster };
        let cluster = of(&own.target).unwrap_or(elsewhere);
        if cluster != own.cluster {
            batch.remove(Kind::Search, &own.key());
            own.cluster = cluster;
            batch.put(Kind::Search, &own.key(), &own)?;
            moved += 1;
        }
    }
    if moved > 0 {
        db.commit(&batch)?;
    }
    Ok(moved)
}
