//! The kernel: its parameters, and its values for many squared distances at once.

use super::GpError;
use crate::vmath::{self, vectorised};
use serde::{Deserialize, Serialize};

/// The parameters of kernel and mean, in the units of the targets and columns. All but the mean are
/// above 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hyperparameters {
    /// Variance of the RBF part, in squared units of the targets.
    pub rbf_variance: f64,
    /// Variance of the rational quadratic part, in squared units of the targets.
    pub rq_variance: f64,
    /// Shape of the rational quadratic part. A small one mixes many lengths, a great one is nearly
    /// an RBF.
    pub rq_alpha: f64,
    /// Length of the rational quadratic part divided by that of the RBF part.
    pub rq_ratio: f64,
    /// Variance of the noise on each observation, in squared units of the targets.
    pub noise_variance: f64,
    /// One length scale for all columns, or one for each, in the units of the columns.
    pub length_scales: Vec<f64>,
    /// What the process expects far from all observations, in the unit of the targets.
    pub mean: f64,
}

/// Number of parameters before the length scales in the vector of logarithms.
pub(super) const FIXED: usize = 5;

impl Hyperparameters {
    /// Accepts parameters whose squares and ratios are finite, and a finite mean.
    pub(super) fn verify(&self) -> Result<(), GpError> {
        let named = [
            (self.rbf_variance, "rbf_variance"),
            (self.rq_variance, "rq_variance"),
            (self.rq_alpha, "rq_alpha"),
            (self.rq_ratio, "rq_ratio"),
            (self.noise_variance, "noise_variance"),
        ];
        let scales = self.length_scales.iter().map(|&scale| (scale, "length_scale"));
        for (value, name) in named.into_iter().chain(scales) {
            // Squares and ratios must stay finite too.
            if !(1e-100..=1e100).contains(&value) {
                return Err(GpError::Parameter {
                    name,
                    value,
                    legal: "a number from 1e-100 to 1e100",
                });
            }
        }
        if !self.mean.is_finite() {
            let value = self.mean;
            return Err(GpError::Parameter { name: "mean", value, legal: "a finite number" });
        }
        Ok(())
    }

    /// Accepts one length scale, or one for each column.
    pub(super) fn check_columns(&self, columns: usize) -> Result<(), GpError> {
        match self.length_scales.len() {
            1 => Ok(()),
            found if found == columns => Ok(()),
            found => Err(GpError::LengthScales { found, columns }),
        }
    }

    /// Variance of the process at any point, without noise.
    pub(super) fn signal_variance(&self) -> f64 {
        self.rbf_variance + self.rq_variance
    }

    /// The length scale of one column.
    pub(super) fn length(&self, column: usize) -> f64 {
        let scales = &self.length_scales;
        if scales.len() == 1 { scales[0] } else { scales[column] }
    }

    /// The logarithms of the parameters, in the order in which they are trained, for targets
    /// divided by `unit`. The mean is not among them.
    pub(super) fn to_logs(&self, unit: f64) -> Vec<f64> {
        let square = unit * unit;
        let mut logs = vec![
            (self.rbf_variance / square).ln(),
            (self.rq_variance / square).ln(),
            self.rq_alpha.ln(),
            self.rq_ratio.ln(),
            (self.noise_variance / square).ln(),
        ];
        logs.extend(self.length_scales.iter().map(|scale| scale.ln()));
        logs
    }

    /// Parameters from the logarithms that [`Self::to_logs`] gives, and a mean.
    pub(super) fn from_logs(logs: &[f64], unit: f64, mean: f64) -> Self {
        let square = unit * unit;
        Self {
            rbf_variance: logs[0].exp() * square,
            rq_variance: logs[1].exp() * square,
            rq_alpha: logs[2].exp(),
            rq_ratio: logs[3].exp(),
            noise_variance: logs[4].exp() * square,
            length_scales: logs[FIXED..].iter().map(|log| log.exp()).collect(),
            mean,
        }
    }

    /// Replaces squared distances, in units of the length scales, by covariances without noise.
    pub(super) fn covariances(&self, squared: &mut [f64]) {
        covariances(squared, &self.constants());
    }

    /// The numbers of the kernel's formula, computed once for many pairs.
    pub(super) fn constants(&self) -> Constants {
        let per_ratio = 1.0 / (self.rq_ratio * self.rq_ratio);
        Constants {
            rbf: self.rbf_variance,
            rq: self.rq_variance,
            alpha: self.rq_alpha,
            per_ratio,
            spread: per_ratio / (2.0 * self.rq_alpha),
        }
    }
}

/// The numbers of the kernel's formula.
pub(super) struct Constants {
    pub(super) rbf: f64,
    pub(super) rq: f64,
    pub(super) alpha: f64,
    /// `1 / ratio²`
    pub(super) per_ratio: f64,
    /// `1 / (2·alpha·ratio²)`
    pub(super) spread: f64,
}

vectorised! {
    /// Replaces squared distances by covariances. A squared distance that rounding made negative
    /// counts as 0.
    fn covariances<'a>(squared: &'a mut [f64], k: &'a Constants) {
        for value in squared.iter_mut() {
            let r2 = if *value < 0.0 { 0.0 } else { *value };
            let tail = vmath::exp(-k.alpha * vmath::ln(1.0 + k.spread * r2));
            *value = k.rbf * vmath::exp(-0.5 * r2) + k.rq * tail;
        }
    }

    /// Both parts of the kernel for squared distances, and `ln(1 + spread · r²)`, which the
    /// gradient needs.
    pub(super) fn parts<'a>(
        squared: &'a [f64],
        k: &'a Constants,
        rbf: &'a mut [f64],
        rq: &'a mut [f64],
        log_base: &'a mut [f64],
    ) {
        let outs = rbf.iter_mut().zip(rq.iter_mut()).zip(log_base.iter_mut());
        for (&r2, ((rbf, rq), log_base)) in squared.iter().zip(outs) {
            let log = vmath::ln(1.0 + k.spread * r2);
            *rbf = k.rbf * vmath::exp(-0.5 * r2);
            *rq = k.rq * vmath::exp(-k.alpha * log);
            *log_base = log;
        }
    }
}
