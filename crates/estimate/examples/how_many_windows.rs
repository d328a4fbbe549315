//! How well a ratio of two drives is known from more and more windows.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use ssdtune_estimate::{Measured, Population, PopulationError, Ratio};

fn main() -> Result<(), PopulationError> {
    let mut rng = Pcg64::seed_from_u64(1);
    // What each window takes on one drive, with a long tail, and on another: some 15 % more.
    let baseline: Vec<f64> = (0..2000).map(|_| rng.random::<f64>().powi(-1).sqrt()).collect();
    let candidate: Vec<f64> =
        baseline.iter().map(|own| own * (1.0 + 0.3 * rng.random::<f64>())).collect();
    let windows = Population::new(&baseline, 1.0, 42)?;
    for count in [50, 100, 250, 600, 2000] {
        let sample = windows.sample(count);
        let measured: Vec<Measured> = sample
            .drawn
            .iter()
            .map(|own| Measured {
                chance: own.chance,
                below: baseline[own.window],
                above: candidate[own.window],
            })
            .collect();
        if let Some(ratio) = Ratio::of(&measured, sample.reach) {
            let half = ratio.interval.map_or(f64::NAN, |interval| 100.0 * interval.half_width());
            println!("{count:>5} windows: {:.4} +- {half:.2} %", ratio.value);
        }
    }
    Ok(())
}
