//! Fitting a simulated drive to points.
//!
//! Structures are enumerated ([`AXES`]): the coarse ones first, then what makes the best of them
//! finer. In each, a simplex refines the parameters ([`FREE`]) from
//! a start that few points tell at a time: bare times first, then what bytes cost, then what limits
//! the rate. All structures get a short look with few requests, the better ones longer looks with
//! more. What is made small is [`crate::Errors::objective`], in the mean over points.
//!
//! Afterwards profiles say what the points do not identify: the range of each parameter in which
//! the objective, with all others refitted, rises by less than the repeat noise.
//!
//! Cost: about 1 us for each request that is simulated. Structures and points run on all threads of
//! the current pool, and the answer is the same for any number of them. A [`Journal`] lets an
//! interrupted fit go on.

mod journal;
mod profile;
mod simplex;
mod space;
mod structure;
mod told;

pub use journal::{Journal, JournalError};
pub use space::{FREE, FREE_OF_RIGS, Free, Scale, Stage, WRITTEN};
pub use structure::{AXES, Axis, Structure, Tried};
pub use told::{Needs, Peak};

use crate::errors::Errors;
use crate::load;
use crate::point::{Figures, Operation, Point};
use crate::replay::{Prepared, ReplayError, ReplayOptions, replay, replay_from};
use crate::split::Expression;
use rayon::prelude::*;
use serde::Serialize;
use simplex::{Budget, Corner, minimise};
use space::{Knob, Rigs, Space};
use ssdtune_model::catalogue::Value;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, document};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use told::Told;

/// One round over structures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Requests of each point.
    pub requests: u32,
    /// How many structures, the best of the round before, are looked at.
    pub structures: usize,
    /// Whether each of them is varied along the axes that are tried then.
    pub varies: bool,
    /// Evaluations with the few points of each stage; 0 begins where the round before ended.
    pub stage_evaluations: usize,
    /// Evaluations with all points.
    pub evaluations: usize,
    /// The size of the simplex that begins, as a share of each parameter's range.
    pub extent: f64,
}

impl Look {
    /// A round that goes on from the places of the one before.
    pub const fn further(
        requests: u32,
        structures: usize,
        evaluations: usize,
        extent: f64,
    ) -> Self {
        Self { requests, structures, varies: false, stage_evaluations: 0, evaluations, extent }
    }
}

/// The rounds of a fit, unless told otherwise. A simplex that has become flat no longer moves along
/// a valley, so the best structures get a large one again before the last round.
pub const LOOKS: [Look; 5] = [
    Look { stage_evaluations: 16, ..Look::further(2_000, usize::MAX, 30, 0.08) },
    Look { varies: true, ..Look::further(2_000, 6, 40, 0.04) },
    Look::further(10_000, 6, 60, 0.02),
    Look::further(4_000, 3, 150, 0.06),
    Look::further(50_000, 2, 60, 0.01),
];

/// How a drive is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The parameters that may change.
    pub free: Vec<Free>,
    /// The values that make structures.
    pub axes: Vec<Axis>,
    /// The rounds over structures.
    pub looks: Vec<Look>,
    /// Rules that choose the points of each rig. Its host's software has times of its own, beside
    /// those of the points that no rule chooses.
    pub rigs: Vec<Expression>,
    /// Decides the random draws of the requests.
    pub seed: u64,
    /// The repeat noise in the units of the objective: 0.01 is 1 %.
    pub noise: f64,
    /// Whether profiles are made.
    pub profiles: bool,
}

impl Default for FitOptions {
    fn default() -> Self {
        let (free, axes, looks) = (FREE.to_vec(), AXES.to_vec(), LOOKS.to_vec());
        Self { free, axes, looks, rigs: Vec::new(), seed: 1, noise: 0.01, profiles: true }
    }
}

impl FitOptions {
    /// These options, with `requests` of each point in the last round and at most as many in
    /// earlier ones.
    pub fn with_requests(mut self, requests: u32) -> Self {
        for look in &mut self.looks {
            look.requests = look.requests.min(requests);
        }
        self.looks.iter_mut().next_back().into_iter().for_each(|look| look.requests = requests);
        self
    }
}

/// How far a fit is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Evaluations done.
    pub done: usize,
    /// Evaluations expected; a guess from above.
    pub expected: usize,
}

impl Progress {
    /// The share that is done.
    pub fn share(&self) -> f64 {
        self.done as f64 / self.expected.max(1) as f64
    }
}

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// There is nothing to fit to.
    #[error("no point is left to fit to")]
    NoPoints,
    /// No structure makes a drive that can be simulated at all points.
    #[error("no structure of this base can be simulated at all points: {0}")]
    NoStructure(String),
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// A parameter that was fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedValue {
    /// Its row in the catalogue.
    pub key: &'static str,
    /// The rule of the rig that it belongs to; `None` for the drive.
    pub rig: Option<String>,
    /// Its value.
    pub value: Value,
    /// The range in which the objective rises by less than the noise, if profiles were made.
    pub range: Option<(f64, f64)>,
    /// Whether the points tell it: the range ends within the bounds of the fit, and is narrower
    /// than half the value. `None` without a profile.
    pub is_identified: Option<bool>,
}

impl FittedValue {
    /// Its key, and its rig if it belongs to one.
    pub fn name(&self) -> String {
        match &self.rig {
            Some(rig) => format!("{} where {rig}", self.key),
            None => self.key.to_owned(),
        }
    }
}

/// A structure and how well it can be fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rival {
    /// Its values, as in `channels=8 cache_read=true`.
    pub structure: String,
    /// The smallest objective found.
    pub objective: f64,
    /// Requests of each point in the last look at it.
    pub requests: u32,
    /// Whether it is within the noise of the best one of its last look.
    pub is_equal: bool,
}

/// The outcome of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The drive.
    pub drive: DeviceConfig,
    /// The values that make its structure.
    pub structure: Structure,
    /// The parameters that were fitted.
    pub values: Vec<FittedValue>,
    /// The objective over all points.
    pub objective: f64,
    /// All structures, the best first.
    pub rivals: Vec<Rival>,
    /// Evaluations made or taken from the journal.
    pub evaluations: usize,
    best: Candidate,
    rules: Vec<Expression>,
}

impl Fit {
    /// A point as it is replayed: on a drive that holds what was found.
    pub fn replayed(&self, point: &Point) -> Point {
        let rig = rig_of(&self.rules, point);
        replayed(point, self.best.space.written_share(&self.best.places, rig))
    }

    /// The drive behind the rig by which a point was measured.
    pub fn drive_at(&self, point: &Point) -> DeviceConfig {
        let rig = rig_of(&self.rules, point);
        self.best.space.behind(&self.drive, &self.best.places, rig, point.numjobs)
    }
}

/// The rig by which a point was measured.
fn rig_of(rules: &[Expression], point: &Point) -> Option<usize> {
    rules.iter().position(|rule| rule.chooses(point))
}

/// A point on a drive of which this share holds data, if nobody knows better.
fn replayed(point: &Point, written_share: f64) -> Point {
    let is_unknown = point.has_unknown_state();
    Point { written_share: if is_unknown { written_share } else { 1.0 }, ..point.clone() }
}

/// Fits a drive of `base` to points.
///
/// # Errors
/// There are no points, no structure can be simulated, the journal cannot be written, or `stop` was
/// set.
pub fn fit(
    base: &DeviceConfig,
    points: &[Point],
    options: &FitOptions,
    journal: &Journal,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Fit, FitError> {
    if points.is_empty() {
        return Err(FitError::NoPoints);
    }
    let base = roomy(base, points);
    let structures = Structure::all(&options.axes, &base);
    // One structure needs no first look that chooses among several.
    let told = Told { later: structures.len() == 1, ..Told::by(points) };
    let rigs: Vec<_> = points.iter().map(|point| rig_of(&options.rigs, point)).collect();
    let work = Work {
        points,
        rigs: &rigs,
        told,
        overloaded: load::overloaded(points),
        prepared: Prepared::default(),
        options,
        journal,
        stop,
        progress,
        done: AtomicUsize::new(0),
        expected: expected(options, structures.len()),
    };
    let (best, rivals) = best_of(structures, &base, &work)?;
    let ranges = match options.profiles {
        true => profile::ranges(&work, &best)?,
        false => Vec::new(),
    };
    let drive = best.space.apply(&best.drive, &best.places);
    let value = |(at, value): (usize, Value)| {
        let range: Option<&profile::Range> = ranges.get(at);
        let knob = best.space.0[at];
        FittedValue {
            key: knob.free.key,
            rig: knob.rig.map(|rig| options.rigs[rig].to_string()),
            value,
            range: range.map(|range| (range.low, range.high)),
            is_identified: range.map(|range| range.is_identified),
        }
    };
    let values = best.space.values(&best.places).into_iter().enumerate().map(value).collect();
    let evaluations = work.done.load(Ordering::Relaxed);
    Ok(Fit {
        drive,
        structure: best.structure.clone(),
        values,
        objective: best.objective,
        rivals,
        evaluations,
        best,
        rules: options.rigs.clone(),
    })
}

/// The best candidate after all looks, and all structures in their order.
fn best_of(
    structures: Vec<Structure>,
    base: &DeviceConfig,
    work: &Work<'_>,
) -> Result<(Candidate, Vec<Rival>), FitError> {
    let options = work.options;
    let start = |structure: Structure| Candidate::new(structure, base, work.told, work);
    let mut candidates: Vec<Candidate> = structures.into_iter().filter_map(start).collect();
    let mut rivals: Vec<Rival> = Vec::new();
    for (round, look) in options.looks.iter().enumerate() {
        let rest = candidates.split_off(look.structures.min(candidates.len()));
        let before = options.looks[round.saturating_sub(1)].requests;
        rivals.splice(0..0, rest.iter().map(|out| out.rival(before)));
        if look.varies {
            let varied = |of: &Candidate| of.variants(base, work);
            candidates = candidates.iter().flat_map(varied).collect();
        }
        let looked: Result<Vec<Candidate>, FitError> = candidates
            .into_par_iter()
            .with_max_len(1)
            .map(|candidate| work.look(candidate, look))
            .collect();
        candidates = looked?;
        // Equal ones keep their order.
        candidates.sort_by(|one, other| one.objective.total_cmp(&other.objective));
        let best = candidates.first().map_or(f64::INFINITY, |best| best.objective);
        for candidate in &mut candidates {
            candidate.is_equal = candidate.objective <= best + options.noise;
        }
    }
    let requests = options.looks.last().map_or(0, |look| look.requests);
    rivals.splice(0..0, candidates.iter().map(|candidate| candidate.rival(requests)));
    let Some(best) = candidates.into_iter().next().filter(|best| best.objective.is_finite()) else {
        return Err(FitError::NoStructure(work.reason(base)));
    };
    Ok((best, rivals))
}

/// The base with queues that hold what was outstanding, where the protocol has deep queues.
fn roomy(base: &DeviceConfig, points: &[Point]) -> DeviceConfig {
    let mut roomy = base.clone();
    let of_flows = |point: &Point| {
        point.flows().iter().fold(0, |sum: u32, flow| sum.saturating_add(flow.outstanding))
    };
    let most = |point: &Point| point.outstanding().unwrap_or_else(|| of_flows(point));
    let most = points.iter().map(most).max().unwrap_or(1);
    if roomy.host.interface == HostInterface::Nvme {
        // One entry of a ring stays empty, and MQSim's files hold no deeper one.
        let entries = most.min(65_534).saturating_add(1).next_power_of_two().min(65_535);
        roomy.host.queue_depth = roomy.host.queue_depth.max(entries);
        roomy.host.queue_fetch_size = roomy.host.queue_fetch_size.max(entries);
    }
    roomy
}

/// How many evaluations a fit takes at most, nearly.
fn expected(options: &FitOptions, structures: usize) -> usize {
    let of_look = |look: &Look| {
        look.structures.min(structures) * (3 * look.stage_evaluations + look.evaluations)
    };
    let looks: usize = options.looks.iter().map(of_look).sum();
    let profiles = if options.profiles { options.free.len() * profile::EVALUATIONS_MAX } else { 0 };
    (looks + profiles).max(1)
}

/// A structure with the best places found so far.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    structure: Structure,
    drive: DeviceConfig,
    space: Space,
    places: Vec<f64>,
    objective: f64,
    is_equal: bool,
}

impl Candidate {
    fn new(structure: Structure, base: &DeviceConfig, told: Told, work: &Work<'_>) -> Option<Self> {
        let drive = structure.apply(base)?;
        let space = Space::of(&work.options.free, &drive, told, work.rigs);
        let places = space.places(&drive, work.points, work.rigs);
        Some(Self { structure, drive, space, places, objective: f64::INFINITY, is_equal: false })
    }

    /// The finer structures of this one, which begin at the places that it has.
    fn variants(&self, base: &DeviceConfig, work: &Work<'_>) -> Vec<Self> {
        let all = self.structure.variants(&work.options.axes, base, work.told.sizes);
        let told = Told { later: true, ..work.told };
        let new = |structure| Self::new(structure, base, told, work);
        // What was not free before begins where it lay.
        let so_far = self.space.apply(&self.drive, &self.places);
        all.into_iter()
            .filter_map(new)
            .map(|finer| {
                let own = finer.space.places(&so_far, work.points, work.rigs);
                let place = |(knob, own): (&Knob, f64)| {
                    let at = self.space.0.iter().position(|other| other == knob);
                    at.map_or(own, |at| self.places[at])
                };
                let places = finer.space.0.iter().zip(own).map(place).collect();
                Self { places, ..finer }
            })
            .collect()
    }

    fn rival(&self, requests: u32) -> Rival {
        let structure = self.structure.to_string();
        Rival { structure, objective: self.objective, requests, is_equal: self.is_equal }
    }
}

/// A fit under way.
struct Work<'a> {
    points: &'a [Point],
    rigs: &'a Rigs,
    /// What the points can tell.
    told: Told,
    /// Paced points that offer more than the real drive did.
    overloaded: Vec<bool>,
    /// Drives at the start of paced loads.
    prepared: Prepared,
    options: &'a FitOptions,
    journal: &'a Journal,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    done: AtomicUsize,
    expected: usize,
}

impl Work<'_> {
    /// Refines the parameters of a structure.
    fn look(&self, mut of: Candidate, look: &Look) -> Result<Candidate, FitError> {
        for stage in [Stage::Bare, Stage::Sizes, Stage::Plateau] {
            let points = self.points_of(stage);
            let own: Vec<usize> = of.space.axes_of(stage);
            if look.stage_evaluations == 0 || points.is_empty() || own.is_empty() {
                continue;
            }
            let start: Vec<f64> = own.iter().map(|&axis| of.places[axis]).collect();
            let budget = Budget { evaluations: look.stage_evaluations, tolerance: 1e-3 };
            let mut places = of.places.clone();
            let (found, _) = minimise(&start, 2.0 * look.extent, budget, |at| {
                own.iter().zip(at).for_each(|(&axis, place)| places[axis] = *place);
                self.evaluate(&of, &places, &points, look.requests)
            })?;
            own.iter().zip(found).for_each(|(&axis, place)| of.places[axis] = place);
        }
        let all: Vec<usize> = (0..self.points.len()).collect();
        let budget = Budget { evaluations: look.evaluations, tolerance: 1e-4 };
        let (places, objective): Corner = minimise(&of.places, look.extent, budget, |at| {
            self.evaluate(&of, at, &all, look.requests)
        })?;
        Ok(Candidate { places, objective, ..of })
    }

    /// The points that tell the start of the parameters of a stage: of random reads where there are
    /// some.
    fn points_of(&self, stage: Stage) -> Vec<usize> {
        let closed = |at: &usize| self.points[*at].outstanding().is_some();
        let is_read = |at: &usize| self.points[*at].operation == Operation::RandomRead;
        let all: Vec<usize> = (0..self.points.len()).filter(closed).collect();
        let reads: Vec<usize> = all.iter().copied().filter(is_read).collect();
        let some = if reads.is_empty() { all } else { reads };
        let load = |at: usize| self.points[at].outstanding().unwrap_or(0);
        let size = |at: usize| self.points[at].block_bytes;
        let smallest = some.iter().map(|&at| size(at)).min();
        let is_end = |&at: &usize| {
            let is_same =
                |&&other: &&usize| size(other) == size(at) && self.rigs[other] == self.rigs[at];
            let same = some.iter().filter(is_same).map(|&other| load(other));
            match stage {
                Stage::Bare => same.min() == Some(load(at)) && Some(size(at)) == smallest,
                Stage::Sizes => same.min() == Some(load(at)),
                Stage::Plateau => same.max() == Some(load(at)),
            }
        };
        let closed = some.iter().copied().filter(is_end);
        let mut all: Vec<usize> = closed.chain(self.paced_points_of(stage)).collect();
        all.sort_unstable();
        all
    }

    /// Paced points that tell the start of the parameters of a stage: the lightest load, and the
    /// heaviest one.
    fn paced_points_of(&self, stage: Stage) -> Vec<usize> {
        let load =
            |at: usize| self.points[at].offered.filter(|_| self.points[at].operation.is_paced());
        let paced = || (0..self.points.len()).filter_map(|at| Some((at, load(at)?.0)));
        let end = match stage {
            Stage::Bare => paced().map(|(_, rate)| rate).fold(f64::INFINITY, f64::min),
            Stage::Sizes => return Vec::new(),
            Stage::Plateau => paced().map(|(_, rate)| rate).fold(0.0, f64::max),
        };
        paced().filter(|(_, rate)| *rate == end).map(|(at, _)| at).collect()
    }

    /// The objective of a drive over some points; infinite if it cannot be simulated at all of
    /// them.
    fn evaluate(
        &self,
        of: &Candidate,
        places: &[f64],
        points: &[usize],
        requests: u32,
    ) -> Result<f64, FitError> {
        let drive = of.space.apply(&of.drive, places);
        let values: Vec<String> =
            of.space.values(places).iter().map(|value| value.to_string()).collect();
        let structure = &of.structure;
        let name = format!("{structure}; {}; {points:?}; {requests}", values.join(" "));
        let objective = match self.journal.get(&name) {
            Some(known) => known,
            None => {
                let drive_at = |at: usize| {
                    of.space.behind(&drive, places, self.rigs[at], self.points[at].numjobs)
                };
                let share_at = |at: usize| of.space.written_share(places, self.rigs[at]);
                let found = self.measure(&of.drive, drive_at, share_at, points, requests)?;
                self.journal.add(name, found)?;
                found
            }
        };
        let done = 1 + self.done.fetch_add(1, Ordering::Relaxed);
        (self.progress)(Progress { done, expected: self.expected.max(done) });
        Ok(objective.unwrap_or(f64::INFINITY))
    }

    /// The mean objective of some points; `None` if one cannot be simulated. Paced loads begin with
    /// the state of `start`, which is the drive of all places of a structure.
    fn measure(
        &self,
        start: &DeviceConfig,
        drive_at: impl Fn(usize) -> DeviceConfig + Sync,
        share_at: impl Fn(usize) -> f64,
        points: &[usize],
        requests: u32,
    ) -> Result<Option<f64>, FitError> {
        let asked_for = ReplayOptions { requests, seed: self.options.seed, ..Default::default() };
        let shared = points.iter().map(|&at| replayed(&self.points[at], share_at(at)));
        let shared: Vec<Point> = shared.collect();
        let mut asked = Vec::new();
        for (&at, point) in points.iter().zip(&shared) {
            let Ok(drive) = drive_at(at).check() else { return Ok(None) };
            asked.push((point, drive));
        }
        let Ok(start) = start.check() else { return Ok(None) };
        let start = Some((&self.prepared, &start));
        let figures = match replay_from(&asked, start, &asked_for, self.stop) {
            Ok(figures) => figures,
            Err(ReplayError::Interrupted) => return Err(FitError::Interrupted),
            Err(_) => return Ok(None),
        };
        let objective = |(&at, figures): (&usize, &Figures)| {
            let errors = Errors::of(&self.points[at], figures);
            let errors = if self.overloaded[at] { errors.of_rate() } else { errors };
            errors.objective()
        };
        let all: Option<Vec<f64>> = points.iter().zip(&figures).map(objective).collect();
        Ok(all.map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64))
    }

    /// Why the base cannot be simulated.
    fn reason(&self, base: &DeviceConfig) -> String {
        let drive = match base.check() {
            Ok(drive) => drive,
            Err(faults) => return faults.to_string(),
        };
        let options = ReplayOptions { requests: 100, ..Default::default() };
        let fault = |point| replay(point, &drive, &options, self.stop).err();
        let first = self.points.iter().find_map(fault);
        first.map_or_else(|| "its structures are impossible".to_owned(), |error| error.to_string())
    }
}

/// A digest of everything that decides the evaluations of a fit, for its [`Journal`].
pub fn digest(base: &DeviceConfig, points: &[Point], options: &FitOptions) -> String {
    let points = serde_json::to_string(points).unwrap_or_default();
    let text = format!("{}\n{points}\n{options:?}", document::write(base));
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests;
