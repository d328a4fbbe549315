//! The arrival times of a stream: one gap for each call.

use super::dist::{Alias, below, threshold};
use super::model::{Arrival, Phase};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// An [`Arrival`] prepared for drawing. Gaps are nanoseconds with a fraction.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Fixed(f64),
    Exponential(f64),
    Hyperexponential { first: u64, means_ns: [f64; 2] },
    Bursty(Bursty),
    Measured { pick: Alias, spans: Vec<(f64, f64)>, stay: u64, last: usize },
}

/// A two-state Markov-modulated Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Bursty {
    /// The mean gap in quiet periods and in bursts; infinite if quiet periods have no requests.
    gap_ns: [f64; 2],
    /// The mean length of a quiet period and of a burst.
    stay_ns: [f64; 2],
    state: usize,
    left_ns: f64,
}

impl Clock {
    /// Prepares the arrival process of a checked phase.
    pub(crate) fn new(phase: &Phase, rng: &mut Pcg64) -> Self {
        let mean_ns = 1e9 / phase.requests_per_s();
        match &phase.arrival {
            Arrival::Fixed(_) => Self::Fixed(mean_ns),
            Arrival::Poisson(_) => Self::Exponential(mean_ns),
            Arrival::Hyperexponential { gap_variation, .. } => {
                // Balanced means: p / rate_1 = (1 - p) / rate_2 (Allen, Probability, Statistics and
                // Queueing Theory).
                let square = gap_variation * gap_variation;
                let p = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
                let means_ns = [mean_ns / (2.0 * p), mean_ns / (2.0 * (1.0 - p))];
                Self::Hyperexponential { first: threshold(p), means_ns }
            }
            &Arrival::Bursty { burst_share, burst_factor, burst_s, .. } => {
                let quiet_factor =
                    ((1.0 - burst_share * burst_factor) / (1.0 - burst_share)).max(0.0);
                let stay_burst = burst_s * 1e9;
                let stay_ns = [stay_burst * (1.0 - burst_share) / burst_share, stay_burst];
                let state = usize::from(rng.next_u64() < threshold(burst_share));
                Self::Bursty(Bursty {
                    gap_ns: [mean_ns / quiet_factor, mean_ns / burst_factor],
                    stay_ns,
                    state,
                    left_ns: stay_ns[state] * exponential(rng),
                })
            }
            Arrival::Measured { gaps, persistence } => {
                let weights: Vec<f64> = gaps.iter().map(|g| g.share).collect();
                let spans = gaps.iter().map(|g| (g.from_ns, g.to_ns - g.from_ns)).collect();
                let pick = Alias::new(&weights);
                let last = pick.draw(rng);
                Self::Measured { pick, spans, stay: threshold(*persistence), last }
            }
        }
    }

    /// The time to the next arrival.
    #[inline]
    pub(crate) fn gap_ns(&mut self, rng: &mut Pcg64) -> f64 {
        match self {
            Self::Fixed(mean) => *mean,
            Self::Exponential(mean) => *mean * exponential(rng),
            Self::Hyperexponential { first, means_ns } => {
                let mean = means_ns[usize::from(rng.next_u64() >= *first)];
                mean * exponential(rng)
            }
            Self::Bursty(bursty) => bursty.gap_ns(rng),
            Self::Measured { pick, spans, stay, last } => {
                if rng.next_u64() >= *stay {
                    *last = pick.draw(rng);
                }
                let (from, width) = spans[*last];
                from + width * (below(rng, 1 << 32) as f64 * 2f64.powi(-32))
            }
        }
    }
}

impl Bursty {
    #[inline]
    fn gap_ns(&mut self, rng: &mut Pcg64) -> f64 {
        let mut waited = 0.0;
        loop {
            // The process has no memory: when the state changes, the rest of the gap may be drawn
            // anew.
            let gap = self.gap_ns[self.state] * exponential(rng);
            if gap <= self.left_ns {
                self.left_ns -= gap;
                return waited + gap;
            }
            waited += self.left_ns;
            self.state ^= 1;
            self.left_ns = self.stay_ns[self.state] * exponential(rng);
        }
    }
}

#[inline]
fn exponential(rng: &mut Pcg64) -> f64 {
    Exp1.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::super::model::{GapRange, Rate};
    use super::*;
    use crate::workload::Seed;

    fn phase(arrival: Arrival) -> Phase {
        Phase { length: None, arrival, read: None, write: None, trim: None, flush_share: 1.0 }
    }

    /// The mean and the squared coefficient of variation of a million gaps.
    fn moments(arrival: Arrival) -> (f64, f64) {
        let mut rng = Seed::default().stream("arrival", 0, "gap");
        let mut clock = Clock::new(&phase(arrival), &mut rng);
        let n = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let gap = clock.gap_ns(&mut rng);
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) / (mean * mean) - 1.0)
    }

    #[test]
    fn every_process_keeps_its_mean_and_variation() {
        let rate = Rate::Requests(10_000.0);
        let (mean, variation) = moments(Arrival::Fixed(rate));
        assert_eq!((mean, variation.abs() < 1e-9), (1e5, true));
        let (mean, variation) = moments(Arrival::Poisson(rate));
        assert!(
            (mean / 1e5 - 1.0).abs() < 0.01 && (variation - 1.0).abs() < 0.02,
            "{mean} {variation}"
        );
        let (mean, variation) = moments(Arrival::Hyperexponential { rate, gap_variation: 3.0 });
        assert!(
            (mean / 1e5 - 1.0).abs() < 0.02 && (variation / 9.0 - 1.0).abs() < 0.05,
            "{mean} {variation}"
        );
        let bursty = Arrival::Bursty { rate, burst_share: 0.1, burst_factor: 6.0, burst_s: 0.01 };
        let (mean, variation) = moments(bursty);
        assert!((mean / 1e5 - 1.0).abs() < 0.05 && variation > 1.5, "{mean} {variation}");
    }

    #[test]
    fn an_on_off_process_is_silent_when_off() {
        let rate = Rate::Requests(10_000.0);
        let on_off = Arrival::Bursty { rate, burst_share: 0.25, burst_factor: 4.0, burst_s: 0.005 };
        let (mean, _) = moments(on_off);
        assert!((mean / 1e5 - 1.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn persistence_keeps_the_histogram_and_correlates_neighbours() {
        let gaps = vec![
            GapRange { from_ns: 0.0, to_ns: 10.0, share: 3.0 },
            GapRange { from_ns: 1000.0, to_ns: 2000.0, share: 1.0 },
        ];
        let mut rng = Seed::default().stream("arrival", 0, "gap");
        let mut clock = Clock::new(&phase(Arrival::Measured { gaps, persistence: 0.8 }), &mut rng);
        let long: Vec<bool> = (0..400_000).map(|_| clock.gap_ns(&mut rng) >= 1000.0).collect();
        let share = long.iter().filter(|&&l| l).count() as f64 / long.len() as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        // With rho for the persistence and p, q for the shares of the two classes: P(same class) =
        // rho + (1 - rho) (p^2 + q^2).
        let same =
            long.windows(2).filter(|w| w[0] == w[1]).count() as f64 / (long.len() - 1) as f64;
        assert!((same - (0.8 + 0.2 * 0.625)).abs() < 0.01, "{same}");
    }
}
