//! The basis: how the requests of a window become a point, by features, scaling and principal
//! components.

use super::paper::{self, Standardiser};
use super::whitening::Whitening;
use super::{ClusterError, profile};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use ssdtune_learn::pca::{PcaModel, PcaParams};
use ssdtune_learn::scale::{ConstantColumns, Method, ScaleParams, Scaler};
use ssdtune_trace::Request;
use std::fmt;
use std::str::FromStr;

/// The number of dimensions of a point.
pub const DIMENSIONS: usize = 5;

/// A window in the space of principal components.
pub type WindowPoint = [f64; DIMENSIONS];

/// The features of a window: how its requests become a vector of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureSet {
    /// Quantiles of gaps, sizes and jumps, and shares of requests: 46 numbers, in units of their
    /// variation within categories.
    #[default]
    Profile,
    /// The published features: four numbers for each of the 3,000 requests, relative to the first.
    Paper,
}

impl FeatureSet {
    /// Every set of features.
    pub const ALL: [Self; 2] = [Self::Profile, Self::Paper];

    /// The name of the set on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Paper => "paper",
        }
    }

    /// The features of requests, one row for each whole window.
    pub(super) fn rows(self, requests: &[Request]) -> Array2<f64> {
        let (data, columns) = match self {
            Self::Profile => (profile::rows(requests), profile::COLUMNS),
            Self::Paper => (paper::rows(requests), paper::COLUMNS),
        };
        let rows = data.len() / columns;
        Array2::from_shape_vec((rows, columns), data).expect("whole rows")
    }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FeatureSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|set| set.name() == text);
        found.ok_or_else(|| "no such set of features; there are profile and paper".to_owned())
    }
}

/// Scaling of features. Names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Scaling {
    /// Each column is scaled to mean 0 and variance 1 on its own, and weighted. Nothing is learned
    /// by it any more: AutoDBs of earlier versions have it.
    Columns(Scaler),
    /// As `Columns`, then in units of the variation within categories.
    Within { columns: Scaler, whitening: Whitening },
    /// All columns with one field of a request are scaled together to mean 0 and variance 1, which
    /// keeps the shape of a window.
    Fields(Standardiser),
}

impl Scaling {
    fn apply(&self, rows: Array2<f64>) -> Result<Array2<f64>, ClusterError> {
        match self {
            Self::Columns(columns) => weighted(columns, rows.view()),
            Self::Within { columns, whitening } => {
                Ok(whitening.apply(weighted(columns, rows.view())?))
            }
            Self::Fields(standardiser) => {
                let mut rows = rows;
                for (column, mut cells) in rows.columns_mut().into_iter().enumerate() {
                    cells.mapv_inplace(|value| standardiser.standardise(column, value));
                }
                Ok(rows)
            }
        }
    }
}

/// The features of profiles, scaled and weighted.
fn weighted(columns: &Scaler, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>, ClusterError> {
    let weights = Array1::from(profile::weights().to_vec());
    Ok(columns.transform(rows)? * &weights)
}

/// The mapping from a window to a [`WindowPoint`]. It is fitted once and then fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basis {
    features: FeatureSet,
    scaling: Scaling,
    pca: PcaModel,
    /// The factor by which each component is multiplied.
    factors: WindowPoint,
}

impl Basis {
    /// A basis fitted to windows. `labels` has the number of each window's category.
    pub(super) fn fit(
        features: FeatureSet,
        rows: ArrayView2<'_, f64>,
        labels: &[u32],
    ) -> Result<Self, ClusterError> {
        let needed = DIMENSIONS + 1;
        if rows.nrows() < needed {
            return Err(ClusterError::TooFewWindows { windows: rows.nrows(), needed });
        }
        let scaling = match features {
            FeatureSet::Profile => {
                let columns = ScaleParams::new(Method::Standard)
                    .constant_columns(ConstantColumns::Keep)
                    .fit(rows)?;
                let whitening = Whitening::fit(weighted(&columns, rows)?.view(), labels);
                Scaling::Within { columns, whitening }
            }
            FeatureSet::Paper => Scaling::Fields(Standardiser::fit(rows)),
        };
        let scaled = scaling.apply(rows.to_owned())?;
        let pca = PcaParams::new(DIMENSIONS).fit(scaled.view())?;
        Ok(Self { features, scaling, pca, factors: [1.0; DIMENSIONS] })
    }

    /// Multiplies all distances by `factor`.
    pub(super) fn stretch(&mut self, factor: f64) {
        self.factors.iter_mut().for_each(|each| *each *= factor);
    }

    /// The features that the basis uses.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// The share of the whole variance that each component explains.
    pub fn explained_variance_ratio(&self) -> Vec<f64> {
        self.pca.explained_variance_ratio()
    }

    /// The points of rows of features.
    pub(super) fn project(&self, rows: Array2<f64>) -> Result<Vec<WindowPoint>, ClusterError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.pca.transform(self.scaling.apply(rows)?.view())?;
        let point =
            |row: ndarray::ArrayView1<f64>| std::array::from_fn(|i| row[i] * self.factors[i]);
        Ok(places.axis_iter(Axis(0)).map(point).collect())
    }

    /// The points of a trace's whole windows.
    ///
    /// # Errors
    /// The basis was read from AutoDB and does not fit its own features.
    pub fn points(&self, requests: &[Request]) -> Result<Vec<WindowPoint>, ClusterError> {
        self.project(self.features.rows(requests))
    }

    /// Checks a basis that was read from AutoDB.
    pub(super) fn verify(&self) -> Result<(), ClusterError> {
        let kept = self.pca.explained_variance().len();
        let finite = self.factors.iter().all(|factor| factor.is_finite() && *factor > 0.0);
        let reason = match &self.scaling {
            Scaling::Within { whitening, .. } if !whitening.is_sound(profile::COLUMNS) => {
                "a damaged scaling within categories".to_owned()
            }
            _ if kept == DIMENSIONS && finite => return Ok(()),
            _ => format!("{kept} components, factors {:?}", self.factors),
        };
        Err(ClusterError::Inconsistent { reason })
    }
}

/// The mean of points, of which there must be at least one.
pub(super) fn centre(points: &[WindowPoint]) -> WindowPoint {
    std::array::from_fn(|i| points.iter().map(|point| point[i]).sum::<f64>() / points.len() as f64)
}

/// The Euclidean distance of two points.
pub(super) fn distance(a: &WindowPoint, b: &WindowPoint) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Points as rows of a matrix.
pub(super) fn matrix(points: &[WindowPoint]) -> ArrayView2<'_, f64> {
    ArrayView2::from(points)
}
