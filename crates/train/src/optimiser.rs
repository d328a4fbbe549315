//! The steps of an optimiser: from a gradient to other weights.
//!
//! The formulas are those of libtorch's `Adam` (without weight decay) and `SGD` (without damping).
//! Theirs pass ten times over all weights; here it is one loop, which makes a training a tenth
//! faster.

use ssdtune_learn::mlp::Optimiser;

/// How much of the mean gradient and of the mean square Adam keeps in a step.
const KEPT: [f32; 2] = [0.9, 0.999];
/// What Adam adds to the root of the mean square, so that it never divides by 0.
const EPSILON: f32 = 1e-8;

/// An optimiser and what it remembers.
pub(crate) struct Steps {
    optimiser: Optimiser,
    /// The part of the learning rate that is left.
    share: f64,
    /// Steps made.
    count: i32,
    /// Of each weight the mean gradient, or its sum where there is momentum.
    mean: Vec<f32>,
    /// Of each weight the mean square of the gradient; empty without Adam.
    square: Vec<f32>,
}

impl Steps {
    pub(crate) fn new(optimiser: Optimiser, weights: usize) -> Self {
        let squares = if matches!(optimiser, Optimiser::Adam { .. }) { weights } else { 0 };
        let (mean, square) = (vec![0.0; weights], vec![0.0; squares]);
        Self { optimiser, share: 1.0, count: 0, mean, square }
    }

    /// Goes on with this part of the learning rate, 0 to 1.
    pub(crate) fn cool(&mut self, share: f64) {
        self.share = share;
    }

    /// Changes the weights by a gradient.
    pub(crate) fn step(&mut self, weights: &mut [f32], gradient: &[f32]) {
        self.count += 1;
        match self.optimiser {
            Optimiser::Sgd { learning_rate, momentum } => {
                let rate = (learning_rate * self.share) as f32;
                let momentum = momentum as f32;
                for ((weight, slope), mean) in weights.iter_mut().zip(gradient).zip(&mut self.mean)
                {
                    *mean = momentum * *mean + slope;
                    *weight -= rate * *mean;
                }
            }
            Optimiser::Adam { learning_rate } => {
                // Both means begin at 0 and are too small at first.
                let [mean_of, square_of] = KEPT.map(|kept| 1.0 - f64::from(kept).powi(self.count));
                let rate = (learning_rate * self.share / mean_of) as f32;
                let root = square_of.sqrt().recip() as f32;
                let own = self.mean.iter_mut().zip(&mut self.square);
                for ((weight, slope), (mean, square)) in weights.iter_mut().zip(gradient).zip(own) {
                    *mean = KEPT[0] * *mean + (1.0 - KEPT[0]) * slope;
                    *square = KEPT[1] * *square + (1.0 - KEPT[1]) * slope * slope;
                    *weight -= rate * *mean / (square.sqrt() * root + EPSILON);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::nn::{self, OptimizerConfig};
    use tch::{Device, Kind, Tensor};

    /// The weights after some steps down the slopes of squares, here and in libtorch.
    fn both(optimiser: Optimiser) -> [Vec<f32>; 2] {
        let begin = [3.0f32, -2.0, 0.5, 0.0];
        let slopes = |weights: &[f32]| -> Vec<f32> {
            weights.iter().zip([2.0, 0.5, 8.0, 1.0]).map(|(weight, steep)| steep * weight).collect()
        };
        let mut own = begin.to_vec();
        let mut steps = Steps::new(optimiser, 4);
        let store = nn::VarStore::new(Device::Cpu);
        let theirs = store.root().add("all", Tensor::from_slice(&begin), true);
        let built = match optimiser {
            Optimiser::Sgd { learning_rate, momentum } => {
                nn::sgd(momentum, 0.0, 0.0, false).build(&store, learning_rate)
            }
            Optimiser::Adam { learning_rate } => {
                nn::adam(0.9, 0.999, 0.0).build(&store, learning_rate)
            }
        };
        let mut built = built.unwrap();
        let steep = Tensor::from_slice(&[2.0f32, 0.5, 8.0, 1.0]);
        for _ in 0..50 {
            let slopes = slopes(&own);
            steps.step(&mut own, &slopes);
            built.backward_step(&(&theirs * &theirs * &steep / 2.0).sum(Kind::Float));
        }
        [own, Vec::try_from(&theirs.detach()).unwrap()]
    }

    #[test]
    fn steps_are_those_of_libtorch() {
        for optimiser in [
            Optimiser::Sgd { learning_rate: 0.01, momentum: 0.0 },
            Optimiser::Sgd { learning_rate: 0.01, momentum: 0.9 },
            Optimiser::Adam { learning_rate: 0.02 },
        ] {
            let [own, theirs] = both(optimiser);
            assert_ne!(own[0], 3.0);
            for (own, theirs) in own.iter().zip(&theirs) {
                assert!((own - theirs).abs() < 1e-5, "{optimiser:?}: {own} {theirs}");
            }
        }
    }

    #[test]
    fn a_cooled_optimiser_goes_a_part_of_the_way() {
        let way = |share| {
            let mut steps = Steps::new(Optimiser::Sgd { learning_rate: 0.5, momentum: 0.0 }, 1);
            steps.cool(share);
            let mut weights = [1.0];
            steps.step(&mut weights, &[1.0]);
            1.0 - weights[0]
        };
        assert_eq!([way(1.0), way(0.5), way(0.0)], [0.5, 0.25, 0.0]);
    }
}
