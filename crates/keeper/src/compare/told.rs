//! What windows tell of the whole mix: means, ratios and how far they may be off.
//!
//! A mean is what the model of queues ([`super::queues`]) says of the whole mix, times how much
//! longer requests took in windows than the model says of these. Where that is no surer than the
//! mean of the windows alone, as for writes that a data cache takes, it is the latter.

use crate::simulation::MeanLatencies;
use serde::Serialize;
use ssdtune_estimate::{Interval, Measured, Population, Ratio, Reach, WINDOWS_MIN};
use ssdtune_experiment::sampled::{LATE_MAX, SampledRun, SharedRun};
use ssdtune_experiment::{ByOp, Sums};

/// How much of what the model adds to the logarithm of a figure may be wrong. Bursts between the
/// windows are known from the model alone, which was 5 to 16 % of that off.
const DISTRUST: f64 = 0.25;
/// How many times as long as the windows alone say requests may take by the model.
const FAR: f64 = 3.0;

/// Why nothing is told of how far figures may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untold {
    /// Too few windows: their own spread is not known.
    FewWindows,
    /// Bursts decide that lie between the windows: by the model requests take three times as long
    /// as in the windows.
    Bursts,
    /// Requests wait longer than a window knows of, under the plan or under `Shared`.
    Backlog,
    /// The drive has a data cache, which windows of several tenants do not know well enough.
    DataCache,
    /// The drive collects in the windows.
    Collection,
    /// Writes leave the parts of the plan while these are busy. Windows take what was written
    /// before them to lie within its part.
    OpenBorder,
}

/// What windows say of one plan.
#[derive(Clone, Debug, Serialize)]
pub struct WindowLine {
    /// Name of the plan.
    pub plan: String,
    /// The strategy in place at the end.
    pub strategy: String,
    /// Mean latencies over all tenants.
    #[serde(flatten)]
    pub means: MeanLatencies,
    /// Mean read plus mean write latency, in nanoseconds.
    pub total_ns: f64,
    /// That sum over the windows alone, without the model of what lies between them.
    pub windows_total_ns: f64,
    /// Where the total lies with 95 %.
    pub total_interval: Option<Interval>,
    /// The total divided by the one under `Shared`, on the same windows.
    pub over_shared: f64,
    /// Where that ratio lies with 95 %.
    pub over_shared_interval: Option<Interval>,
    /// Why there are none, if there are none.
    pub no_interval: Option<Untold>,
}

/// Latencies of reads and of writes by the model, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modelled {
    /// Their means over the whole mix.
    pub means: [f64; 2],
    /// Their sums over the measured requests of each window.
    pub windows: Vec<[f64; 2]>,
}

impl Modelled {
    /// A model that knows nothing: all requests take as long.
    fn alike(runs: &[SharedRun]) -> Self {
        let count = |run: &SharedRun| ops(&run.tally.total()).map(|sums| sums.requests as f64);
        Self { means: [1.0; 2], windows: runs.iter().map(count).collect() }
    }
}

/// A plan that was served.
pub(super) struct Outcome {
    /// Its name.
    pub plan: String,
    /// Its strategy.
    pub strategy: String,
    /// Whether it has parts that writes leave.
    pub is_open: bool,
    /// What it did in each window.
    pub runs: Vec<SharedRun>,
    /// What the model says of it.
    pub modelled: Modelled,
}

/// Lines of all plans. `shared` is the place of `Shared` among them; the drive may have a data
/// cache.
pub(super) fn lines(
    outcomes: &[Outcome],
    shared: usize,
    run: &SampledRun,
    is_cached: bool,
) -> Vec<WindowLine> {
    let totals: [Vec<Totals>; 2] = [
        outcomes.iter().map(|own| Totals::of(&own.runs, &own.modelled)).collect(),
        outcomes.iter().map(|own| Totals::of(&own.runs, &Modelled::alike(&own.runs))).collect(),
    ];
    // For reads and for writes whatever is surer over all plans.
    let spread = |totals: &[Totals], op: usize| -> f64 {
        totals.iter().map(|own| own.ops[op].spread()).sum()
    };
    let chosen = [0, 1].map(|op| usize::from(spread(&totals[0], op) > spread(&totals[1], op)));
    let plain_ns: Vec<f64> = totals[1].iter().map(|own| own.means().total_ns()).collect();
    let totals: Vec<Totals> = (0..outcomes.len())
        .map(|place| Totals { ops: [0, 1].map(|op| totals[chosen[op]][place].ops[op].clone()) })
        .collect();
    let sizes: Vec<f64> = outcomes[shared].runs.iter().map(|run| run.latency_ns).collect();
    let covered = run.covered.clamp(f64::MIN_POSITIVE, 1.0);
    let seen = Population::new(&sizes, covered, 1);
    let reach = seen.map_or(Reach::WHOLE, |seen| seen.sample(sizes.len()).reach);
    let told = Told {
        shared: (&outcomes[shared].runs, &totals[shared], plain_ns[shared]),
        reach,
        is_cached,
    };
    let all = outcomes.iter().zip(&totals).zip(plain_ns);
    all.map(|((own, totals), plain_ns)| told.line(own, totals, plain_ns)).collect()
}

/// What plans are compared with.
struct Told<'a> {
    /// Its windows, its totals, and the total that its windows alone tell.
    shared: (&'a [SharedRun], &'a Totals, f64),
    reach: Reach,
    /// The drive has a data cache.
    is_cached: bool,
}

impl Told<'_> {
    fn line(&self, own: &Outcome, totals: &Totals, plain_ns: f64) -> WindowLine {
        let (below, above) = (self.shared.1.windows(), totals.windows());
        let ratio_to = |below: &[f64]| {
            let pairs = below.iter().zip(&above);
            let measured = pairs.map(|(&below, &above)| Measured { chance: 1.0, below, above });
            Ratio::of(&measured.collect::<Vec<_>>(), self.reach)
        };
        let means = totals.means();
        let count = above.len().max(1) as f64;
        let (alone, ratio) = (ratio_to(&vec![1.0 / count; above.len()]), ratio_to(&below));
        // How much longer than the windows alone say, by the model.
        let longer = (means.total_ns() / plain_ns).ln();
        let shared_longer = (self.shared.1.means().total_ns() / self.shared.2).ln();
        let far = longer.abs().max((longer - shared_longer).abs()) > FAR.ln();
        let no_interval = self.no_interval(own).or(far.then_some(Untold::Bursts));
        let interval = |ratio: Option<Ratio>, longer: f64| {
            let own = ratio.and_then(|ratio| ratio.interval).filter(|_| no_interval.is_none())?;
            let room = (DISTRUST * longer.abs()).exp();
            Some(Interval { low: own.low / room, high: own.high * room })
        };
        WindowLine {
            plan: own.plan.clone(),
            strategy: own.strategy.clone(),
            means,
            total_ns: means.total_ns(),
            windows_total_ns: plain_ns,
            total_interval: interval(alone, longer),
            over_shared: means.total_ns() / self.shared.1.means().total_ns(),
            over_shared_interval: interval(ratio, longer - shared_longer),
            no_interval,
        }
    }

    /// Why nothing is told of how far figures of a plan, or of `Shared`, may be off.
    fn no_interval(&self, own: &Outcome) -> Option<Untold> {
        let (shared, runs) = (self.shared.0, &own.runs[..]);
        match runs {
            _ if shared.iter().chain(runs).any(|run| run.collects) => Some(Untold::Collection),
            _ if late_share(shared).max(late_share(runs)) > LATE_MAX => Some(Untold::Backlog),
            _ if runs.len() < WINDOWS_MIN => Some(Untold::FewWindows),
            _ if own.is_open => Some(Untold::OpenBorder),
            _ if self.is_cached => Some(Untold::DataCache),
            _ => None,
        }
    }
}

/// The share of all latency that windows have in which requests wait longer than they know of.
fn late_share(runs: &[SharedRun]) -> f64 {
    let sum = |late: bool| -> f64 {
        let own = runs.iter().filter(|run| !late || run.is_late());
        own.map(|run| run.latency_ns).sum()
    };
    sum(true) / sum(false).max(f64::MIN_POSITIVE)
}

/// A mean latency that windows tell.
#[derive(Clone)]
struct Mean {
    ns: f64,
    /// How much it moves with each window: windows that are as the others say move nothing.
    moves: Vec<f64>,
}

impl Mean {
    fn of(latencies: &[f64], modelled: &[f64], whole: f64) -> Self {
        let sum: f64 = modelled.iter().sum();
        if sum <= 0.0 {
            return Self { ns: 0.0, moves: vec![0.0; latencies.len()] };
        }
        let longer = latencies.iter().sum::<f64>() / sum;
        let pairs = latencies.iter().zip(modelled);
        let moves = pairs.map(|(own, modelled)| whole / sum * (own - longer * modelled));
        Self { ns: whole * longer, moves: moves.collect() }
    }

    /// Its variance, as a share of its square.
    fn spread(&self) -> f64 {
        let squares: f64 = self.moves.iter().map(|own| own * own).sum();
        squares / self.ns.powi(2).max(f64::MIN_POSITIVE)
    }
}

/// The means of reads and of writes.
struct Totals {
    ops: [Mean; 2],
}

impl Totals {
    fn of(runs: &[SharedRun], modelled: &Modelled) -> Self {
        let sums: Vec<[Sums; 2]> = runs.iter().map(|run| ops(&run.tally.total())).collect();
        let op = |op: usize| {
            let own: Vec<f64> = sums.iter().map(|sums| sums[op].latency_ns as f64).collect();
            let model: Vec<f64> = modelled.windows.iter().map(|own| own[op]).collect();
            Mean::of(&own, &model, modelled.means[op])
        };
        Self { ops: [op(0), op(1)] }
    }

    fn means(&self) -> MeanLatencies {
        let [read_ns, write_ns] = [0, 1].map(|op| self.ops[op].ns);
        MeanLatencies { read_ns, write_ns }
    }

    /// Parts of the total that add up to it, one for each window.
    fn windows(&self) -> Vec<f64> {
        let [reads, writes] = &self.ops;
        let each = (reads.ns + writes.ns) / reads.moves.len().max(1) as f64;
        reads.moves.iter().zip(&writes.moves).map(|(a, b)| each + a + b).collect()
    }
}

fn ops(sums: &ByOp) -> [Sums; 2] {
    [sums.read, sums.write]
}
