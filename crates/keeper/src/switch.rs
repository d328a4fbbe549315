//! Whether to divide the channels of a running drive now: the risk and the gain, learned from runs
//! in which that was done.
//!
//! What a strategy does to a mix if data are placed by it from the beginning says little of what it
//! does later. What was placed until then stays on all channels, what comes is not what came, and a
//! part that is asked for too much falls further behind until the end. So all of that is not
//! computed but learned, from [`crate::simulation::SwitchOutcome`]s: runs that shared all channels
//! for a while, were divided, and ended. Of a proposal two numbers are forecast: the *risk*, which
//! is the probability that the run ends more than [`HARMLESS`] above one that shares to its end,
//! and the *gain*. Channels are divided where the risk is small and the gain is worth it.
//!
//! Cost: 400 trees of five questions for each proposal; four proposals are asked about at once.

use crate::drive::{self, DriveFigures};
use crate::features::{ObservedMix, SLOTS};
use crate::rates::{Rates, ratio};
use crate::strategy::Strategy;
use crate::watch::MOMENTS;
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};
use ssdtune_learn::tree::{BoostError, BoostModel, BoostParams};

/// A run may end above one that shares all channels by this part, and still counts as harmless.
pub const HARMLESS: f64 = 0.02;

/// What is forecast of dividing the channels now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The probability that the whole run ends more than [`HARMLESS`] above one that shares to its
    /// end. A sum of trees: it may be a little below 0 or above 1.
    pub risk: f64,
    /// By what part, as a logarithm, the latencies of the whole run are below those of `Shared`.
    pub gain: f64,
}

/// Numbers that a forecast is made from ([`inputs`]).
pub(crate) const INPUTS: usize = OWN_INPUTS + drive::INPUTS;
/// Those of them that are not of the drive.
const OWN_INPUTS: usize = 17;
/// Outputs of the trees: the risk, and the logarithm of latencies over those of `Shared`.
const OUTPUTS: usize = 2;
const TREES: usize = 400;
const DEPTH: usize = 5;
/// A run may be worse or better than this; the forecast of the gain counts no more, as logarithms.
const LOG_RANGE: [f64; 2] = [-1.0, 0.5];
/// Fewer outcomes teach nothing.
const OUTCOMES_MIN: usize = 200;
/// With fewer outcomes at a moment, other than the end of the first period, it is not known what
/// dividing the channels does then, and an allocator does not look at it.
const OUTCOMES_OF_MOMENT_MIN: usize = 20;
/// The least gain that channels are divided for, as a logarithm.
const GAIN_MIN: f64 = 0.02;
/// The place of the moment among the inputs, in periods T.
const MOMENT: usize = 0;
/// The place of the load among the inputs: pages a second over those that the drive can serve.
const LOAD: usize = 6;
/// Divisions that gained so much, as a logarithm, tell at which loads there is something to gain:
/// 10 %.
const LOG_GAINED: f64 = -0.105;
/// The share of them, 0 to 1, whose loads do not count: bursts begin quietly.
const QUIET: f64 = 0.05;

/// What a forecast is made from: what the moment is, how the channels would be divided, what the
/// network of parts promises for it (as a logarithm, for what was seen and if tenants ask for more
/// by [`crate::policy::DEVIATIONS`] standard deviations), what tenants ask for, how unevenly, and
/// how much either kind would have of each of its channels.
pub(crate) fn inputs(
    observed: &ObservedMix,
    slots: u64,
    strategy: &Strategy,
    promises: [f64; 2],
    drive: DriveFigures,
) -> [f64; INPUTS] {
    let pages = |rates: &Rates| drive.work(rates.pages).iter().sum::<f64>();
    let sum = Rates::sum(observed.rates.iter());
    let [read, _] = drive.work(sum.pages);
    let of_kind = |writes: bool| {
        let own = observed.rates.iter().zip(&observed.deviations).zip(&observed.writers);
        own.filter(move |(_, writer)| **writer == writes).map(|(own, _)| own)
    };
    let asked = |writes: bool| of_kind(writes).map(|(rates, _)| pages(rates)).sum::<f64>();
    let squares = |writes: bool| -> f64 {
        of_kind(writes).map(|(rates, deviation)| (pages(rates) * deviation).powi(2)).sum()
    };
    let [readers, writers] = [false, true].map(asked);
    let [uneven_readers, uneven_writers] = [false, true].map(squares);
    let settled: f64 = observed
        .rates
        .iter()
        .zip(&observed.settled)
        .map(|(own, share)| share * drive.work(own.pages)[0])
        .sum();
    let to_writers = writers_share(strategy, drive.channels, &observed.writers);
    // Reads of settled data go to all channels alike.
    let per_channel = |fresh: f64, share: f64| {
        ratio(fresh + settled * share, drive.pages_per_s(drive.channels) * share)
    };
    let own: [f64; OWN_INPUTS] = [
        periods(slots),
        to_writers,
        strategy.parts(drive.channels, &observed.writers).count() as f64,
        promises[0],
        promises[1],
        observed.burst.max(1.0).ln(),
        ratio(pages(&sum), drive.pages_per_s(drive.channels)),
        ratio(read, pages(&sum)),
        ratio(settled, read),
        ratio(writers, pages(&sum)),
        ratio((uneven_readers + uneven_writers).sqrt(), pages(&sum)),
        ratio(uneven_writers.sqrt(), writers),
        ratio(uneven_readers.sqrt(), readers),
        per_channel(writers, to_writers),
        per_channel((readers - settled).max(0.0), 1.0 - to_writers),
        ratio(sum.pages[1], sum.requests[1]),
        ratio(sum.pages[0], sum.requests[0]),
    ];
    drive.beside(own)
}

/// A number of slots as a number of periods T.
fn periods(slots: u64) -> f64 {
    slots as f64 / SLOTS as f64
}

/// The share of the channels that those have who mostly write; a channel that several tenants have
/// counts for each in part.
fn writers_share(strategy: &Strategy, channels: u32, writers: &[bool]) -> f64 {
    let own = |part: crate::strategy::Part| {
        let tenants = part.tenants.select(writers);
        let (all, writing) =
            tenants.fold((0.0, 0.0), |(all, own), w| (all + 1.0, own + f64::from(u8::from(*w))));
        f64::from(part.channels) * ratio(writing, all)
    };
    strategy.parts(channels, writers).map(own).sum::<f64>() / f64::from(channels)
}

/// One outcome and what its forecast is made from.
#[derive(Clone, Debug)]
pub(crate) struct SwitchExample {
    pub inputs: [f64; INPUTS],
    /// The logarithm of latencies over those of `Shared`.
    pub log_ratio: f64,
}

impl SwitchExample {
    /// By how much it is above what is harmless, as logarithms; 0 if it is not.
    pub fn harm(&self) -> f64 {
        (self.log_ratio.min(LOG_RANGE[1]) - (1.0 + HARMLESS).ln()).max(0.0)
    }

    /// The logarithm of latencies over those of `Shared`, within [`LOG_RANGE`]: beyond it forecasts
    /// tell nothing apart, and of a run that was cut off it is known that it is bad, not how bad.
    pub fn loss(&self) -> f64 {
        self.log_ratio.clamp(LOG_RANGE[0], LOG_RANGE[1])
    }

    /// Whether the channels were divided at this moment, one of [`MOMENTS`]: slots since the start
    /// of the run, 25 to 500, of which T has 250. What is known of one moment says little of
    /// another, so they are told apart exactly.
    fn is_at(&self, moment: u64) -> bool {
        self.inputs[MOMENT] == periods(moment)
    }

    fn targets(&self) -> [f64; OUTPUTS] {
        [f64::from(u8::from(self.harm() > 0.0)), self.loss()]
    }
}

/// Learned forecasts of what dividing the channels of a running drive does, and the risk that is
/// taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchModel {
    /// Channels are divided where the risk is at most this, 0 to 1.
    pub risk_max: f64,
    /// And where the gain is at least this, as a logarithm of latencies.
    pub gain_min: f64,
    /// And where this share of the pages is asked for that the drive can serve: below it hardly
    /// anybody waits, next to no division has gained anything, and there was little to learn from.
    pub load_min: f64,
    /// After how many slots an allocator looks whether to divide the channels, in rising order: the
    /// moments that were learned, and the end of the first period ([`SLOTS`]).
    pub moments: Vec<u64>,
    trees: BoostModel,
}

impl SwitchModel {
    /// Learns from examples. `None` if they are too few.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn fit(examples: &[&SwitchExample]) -> Result<Option<Self>, BoostError> {
        if examples.len() < OUTCOMES_MIN {
            return Ok(None);
        }
        let x = Array2::from_shape_fn((examples.len(), INPUTS), |(row, n)| examples[row].inputs[n]);
        let targets: Vec<_> = examples.iter().map(|one| one.targets()).collect();
        let y = Array2::from_shape_fn((examples.len(), OUTPUTS), |(row, n)| targets[row][n]);
        let trees = BoostParams::new(TREES, DEPTH).fit(x.view(), y.view())?;
        let load_min = quiet_load(examples);
        let outcomes = |moment: u64| examples.iter().filter(move |one| one.is_at(moment)).count();
        let is_known = |moment: u64| outcomes(moment) >= OUTCOMES_OF_MOMENT_MIN;
        let moments = MOMENTS.into_iter().filter(|m| *m == SLOTS || is_known(*m)).collect();
        Ok(Some(Self { risk_max: 0.0, gain_min: GAIN_MIN, load_min, moments, trees }))
    }

    /// What is forecast from each of these inputs.
    ///
    /// # Panics
    /// If the trees are not for such inputs, or a number is not finite.
    pub(crate) fn outlooks(&self, inputs: &[[f64; INPUTS]]) -> Vec<Outlook> {
        if inputs.is_empty() {
            return Vec::new();
        }
        let found = self.trees.predict(ArrayView2::from(inputs)).expect("sound numbers");
        let outlook = |(inputs, found): (&[f64; INPUTS], ArrayView1<'_, f64>)| {
            let (risk, gain) = (found[0], -found[1]);
            let is_quiet = inputs[LOAD] < self.load_min;
            Outlook { risk, gain: if is_quiet { gain.min(0.0) } else { gain } }
        };
        inputs.iter().zip(found.rows()).map(outlook).collect()
    }

    /// Whether an allocator looks at the moment of an example.
    pub(crate) fn looks_at(&self, example: &SwitchExample) -> bool {
        self.moments.iter().any(|moment| example.is_at(*moment))
    }

    /// Whether channels are divided with this outlook.
    pub fn allows(&self, outlook: Outlook) -> bool {
        outlook.risk <= self.risk_max && outlook.gain >= self.gain_min
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let numbers = [self.risk_max, self.gain_min, self.load_min];
        if !numbers.into_iter().all(f64::is_finite) {
            return Some("risk_max, gain_min and load_min must be finite numbers");
        }
        let is_known = |moment: &u64| MOMENTS.contains(moment);
        let is_in_order = self.moments.is_sorted_by(|a, b| a < b);
        if !(is_in_order && self.moments.contains(&SLOTS) && self.moments.iter().all(is_known)) {
            return Some("moments are not some of those at which channels may be divided");
        }
        let shape = (self.trees.columns(), self.trees.outputs());
        (shape != (INPUTS, OUTPUTS)).then_some("the trees of its switch are for other inputs")
    }
}

/// The load below which a drive is too quiet for a division to gain anything.
fn quiet_load(examples: &[&SwitchExample]) -> f64 {
    let gained = examples.iter().filter(|one| one.log_ratio <= LOG_GAINED);
    let mut loads: Vec<f64> = gained.map(|one| one.inputs[LOAD]).collect();
    loads.sort_by(f64::total_cmp);
    loads.get((QUIET * loads.len() as f64) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::PeriodDemand;
    use crate::vector::Intensity;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;
    use ssdtune_sim::Demand;

    /// A writer and two readers, each of 100 requests of one page in 100 s, in even slots.
    fn observed(settled: [f64; 3]) -> ObservedMix {
        let asked = |reads: u64, writes: u64| Demand {
            reads,
            writes,
            read_pages: reads,
            written_pages: writes,
        };
        let period = PeriodDemand {
            seconds: 100.0,
            asked: vec![asked(0, 100), asked(100, 0), asked(100, 0)],
            slots: vec![vec![[0, 1]; 50], vec![[1, 0]; 50], vec![[1, 0]; 50]],
        };
        let intensity = Intensity { requests_per_s_max: 10.0 };
        ObservedMix { settled: settled.to_vec(), ..ObservedMix::new(&period, intensity) }
    }

    #[test]
    fn inputs_say_what_each_kind_would_have() {
        let of = |settled, name: &str| {
            inputs(
                &observed(settled),
                50,
                &name.parse().unwrap(),
                [0.5, 0.25],
                DriveFigures::plain(1.0),
            )
        };
        let row = of([0.0; 3], "2:6");
        assert_eq!(row[..5], [0.2, 0.25, 2.0, 0.5, 0.25]);
        // 3 pages a second of 8; 1 for two channels and 2 for six.
        assert_eq!((row[6], row[13], row[14]), (0.375, 0.5, 2.0 / 6.0));
        assert_eq!((row[7], row[8], row[9]), (2.0 / 3.0, 0.0, 1.0 / 3.0));
        // Half of what is read goes to all channels alike: 1 of 2 pages, a quarter of it to two.
        let row = of([0.0, 0.5, 0.5], "2:6");
        assert_eq!((row[8], row[13], row[14]), (0.5, 1.25 / 2.0, 1.75 / 6.0));
        // The writer has two channels of eight here, too.
        assert_eq!((of([0.0; 3], "2:4:2")[1], of([0.0; 3], "2:4:2")[2]), (0.25, 3.0));
    }

    #[test]
    fn what_ends_badly_is_told_from_what_gains() {
        let mut rng = Pcg64::seed_from_u64(5);
        let mut example = || {
            let mut row = [0.0; INPUTS];
            row.iter_mut().for_each(|cell| *cell = rng.random_range(0.0..1.0));
            // A part with too much ends badly in nine of ten; all others gain 12 %.
            let is_bad = row[13] > 0.7 && rng.random_range(0.0..1.0) < 0.9;
            SwitchExample { inputs: row, log_ratio: if is_bad { 0.8 } else { -0.12 } }
        };
        let [known, unknown] = [1_500, 500].map(|count| (0..count).map(|_| example()).collect());
        let known: Vec<SwitchExample> = known;
        let unknown: Vec<SwitchExample> = unknown;
        let refs: Vec<&SwitchExample> = known.iter().collect();
        assert!(SwitchModel::fit(&refs[..OUTCOMES_MIN - 1]).unwrap().is_none());
        let mut model = SwitchModel::fit(&refs).unwrap().expect("enough");
        model.risk_max = 0.1;
        // Loads are even from 0 to 1, and gains do not depend on them.
        assert!((model.load_min - 0.05).abs() < 0.03, "{}", model.load_min);
        let inputs: Vec<_> = unknown.iter().map(|example| example.inputs).collect();
        for (example, outlook) in unknown.iter().zip(model.outlooks(&inputs)) {
            if example.inputs[LOAD] < model.load_min {
                assert!(!model.allows(outlook), "{outlook:?} {example:?}");
            } else if (example.inputs[13] - 0.7).abs() > 0.05 {
                // Forecasts beside the edge are blurred.
                let is_bad = example.inputs[13] > 0.7;
                assert_eq!(model.allows(outlook), !is_bad, "{outlook:?} {example:?}");
            }
        }
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<SwitchModel>(&text).unwrap(), model);
        assert_eq!(model.fault(), None);
        assert_eq!(model.moments, [SLOTS]);
        for wrong in [&[][..], &[25, 50], &[SLOTS, 25], &[25, 26, SLOTS], &[SLOTS, SLOTS]] {
            assert!(SwitchModel { moments: wrong.to_vec(), ..model.clone() }.fault().is_some());
        }
        model.risk_max = f64::NAN;
        assert!(model.fault().is_some());
    }
}
