//! Points of mixed spaces as numbers: each coordinate is encoded as one or more columns in [0, 1].
//!
//! ```
//! use ssdtune_learn::space::{Coordinate, Space};
//!
//! let space = Space::new(vec![
//!     Coordinate::Continuous { low: 1.0, high: 100.0, logarithmic: true },
//!     Coordinate::Ordinal { values: vec![64.0, 128.0, 1024.0] },
//!     Coordinate::Boolean,
//! ])?;
//! assert_eq!(space.encode(&[10.0, 128.0, 1.0])?, [0.5, 0.5, 1.0]);
//! # Ok::<(), ssdtune_learn::space::SpaceError>(())
//! ```
//!
//! A Gaussian process or k-means measures distances, so the encoding has to say how far two values
//! are apart. A continuous coordinate maps its range to [0, 1], on a logarithmic scale if asked. An
//! ordinal coordinate maps its values to equal steps, whatever their sizes. A boolean is 0 or 1. A
//! category of `c` choices becomes `c` columns, with 1/√2 in the column of the choice and 0 in the
//! others, so that any two choices have the distance 1.
//!
//! Encoding a point costs O(columns), and a binary search for each ordinal coordinate.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// The values that one coordinate can have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Coordinate {
    /// Any number from `low` to `high`.
    Continuous {
        /// Least legal value.
        low: f64,
        /// Greatest legal value; above `low`.
        high: f64,
        /// Whether equal ratios, not equal differences, are equally far apart. Needs `low` above 0.
        logarithmic: bool,
    },
    /// One of a list of numbers.
    Ordinal {
        /// The legal values in rising order, each once.
        values: Vec<f64>,
    },
    /// 0 or 1.
    Boolean,
    /// One of several choices without an order. Its value is the number of the choice, from 0.
    Categorical {
        /// Number of choices, at least 1.
        choices: usize,
    },
}

/// Why a space cannot be made, or a point not be encoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The space has no coordinates.
    #[error("the space has no coordinates: give at least one")]
    Empty,
    /// The description of a coordinate is wrong.
    #[error("coordinate {coordinate}: {reason}")]
    Coordinate {
        /// Number of the coordinate, from 0.
        coordinate: usize,
        /// What is wrong and what is legal.
        reason: &'static str,
    },
    /// The number of values is not the number of coordinates.
    #[error("{found} values, but the space has {expected} coordinates")]
    Length {
        /// Number of coordinates of the space.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// A value is not one of its coordinate's.
    #[error("coordinate {coordinate} is {value}: legal is {legal}")]
    Value {
        /// Number of the coordinate, from 0.
        coordinate: usize,
        /// The value given.
        value: f64,
        /// The values that are legal.
        legal: String,
    },
}

/// A list of coordinates that have been checked. It is stored as that list, and checked again when
/// it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Coordinate>", into = "Vec<Coordinate>")]
pub struct Space {
    coordinates: Vec<Coordinate>,
}

impl TryFrom<Vec<Coordinate>> for Space {
    type Error = SpaceError;

    fn try_from(coordinates: Vec<Coordinate>) -> Result<Self, SpaceError> {
        Self::new(coordinates)
    }
}

impl From<Space> for Vec<Coordinate> {
    fn from(space: Space) -> Self {
        space.coordinates
    }
}

impl Space {
    /// Makes a space of these coordinates after checking each of them.
    pub fn new(coordinates: Vec<Coordinate>) -> Result<Self, SpaceError> {
        if coordinates.is_empty() {
            return Err(SpaceError::Empty);
        }
        for (coordinate, kind) in coordinates.iter().enumerate() {
            if let Some(reason) = kind.fault() {
                return Err(SpaceError::Coordinate { coordinate, reason });
            }
        }
        Ok(Self { coordinates })
    }

    /// The coordinates in the order given.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.coordinates
    }

    /// Number of columns of an encoded point. A category takes one for each of its choices, every
    /// other coordinate takes one.
    pub fn columns(&self) -> usize {
        self.coordinates.iter().map(Coordinate::columns).sum()
    }

    /// Encodes one point, given as one value for each coordinate.
    pub fn encode(&self, point: &[f64]) -> Result<Vec<f64>, SpaceError> {
        let mut row = Vec::with_capacity(self.columns());
        self.encode_into(point, &mut row)?;
        Ok(row)
    }

    /// Encodes many points as the rows of a matrix.
    pub fn encode_all<P: AsRef<[f64]>>(&self, points: &[P]) -> Result<Array2<f64>, SpaceError> {
        let columns = self.columns();
        let mut cells = Vec::with_capacity(points.len() * columns);
        for point in points {
            self.encode_into(point.as_ref(), &mut cells)?;
        }
        Ok(Array2::from_shape_vec((points.len(), columns), cells)
            .expect("every point encodes to the same number of columns"))
    }

    /// Appends the columns of one point to `row`.
    fn encode_into(&self, point: &[f64], row: &mut Vec<f64>) -> Result<(), SpaceError> {
        if point.len() != self.coordinates.len() {
            return Err(SpaceError::Length {
                expected: self.coordinates.len(),
                found: point.len(),
            });
        }
        for (coordinate, (kind, &value)) in self.coordinates.iter().zip(point).enumerate() {
            if !kind.encode_into(value, row) {
                return Err(SpaceError::Value { coordinate, value, legal: kind.legal() });
            }
        }
        Ok(())
    }
}

impl Coordinate {
    /// Number of columns that encode the coordinate.
    fn columns(&self) -> usize {
        match self {
            Self::Categorical { choices } => *choices,
            _ => 1,
        }
    }

    /// What is wrong with the description, if anything.
    fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Continuous { low, high, logarithmic } => {
                if !(low.is_finite() && high.is_finite() && low < high) {
                    Some("its range needs two finite ends, the lower first")
                } else if *logarithmic && *low <= 0.0 {
                    Some("a logarithmic range must begin above 0")
                } else {
                    None
                }
            }
            Self::Ordinal { values } => {
                let rising = values.windows(2).all(|pair| pair[0] < pair[1]);
                (values.is_empty() || !rising || values.iter().any(|v| !v.is_finite())).then_some(
                    "its values must be finite, at least one, in rising order without repeats",
                )
            }
            Self::Categorical { choices } => {
                (*choices == 0).then_some("it needs at least one choice")
            }
            Self::Boolean => None,
        }
    }

    /// Appends the columns of `value`. False if the value is not legal.
    fn encode_into(&self, value: f64, row: &mut Vec<f64>) -> bool {
        match self {
            Self::Continuous { low, high, logarithmic } => {
                let share = if *logarithmic {
                    (value / low).ln() / (high / low).ln()
                } else {
                    (value - low) / (high - low)
                };
                row.push(share);
                (*low..=*high).contains(&value)
            }
            Self::Ordinal { values } => match values.binary_search_by(|v| v.total_cmp(&value)) {
                Ok(rank) => {
                    row.push(rank as f64 / (values.len() - 1).max(1) as f64);
                    true
                }
                Err(_) => false,
            },
            Self::Boolean => {
                row.push(value);
                value == 0.0 || value == 1.0
            }
            Self::Categorical { choices } => {
                let legal = value >= 0.0 && value.fract() == 0.0 && value < *choices as f64;
                let chosen = |choice| choice as f64 == value;
                row.extend((0..*choices).map(|choice| {
                    if chosen(choice) { std::f64::consts::FRAC_1_SQRT_2 } else { 0.0 }
                }));
                legal
            }
        }
    }

    /// The legal values in words.
    fn legal(&self) -> String {
        match self {
            Self::Continuous { low, high, .. } => format!("{low} to {high}"),
            Self::Ordinal { values } => {
                let names: Vec<String> = values.iter().map(f64::to_string).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Boolean => "0 or 1".to_owned(),
            Self::Categorical { choices } => format!("a whole number from 0 to {}", choices - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Space {
        Space::new(vec![
            Coordinate::Continuous { low: 1.0, high: 100.0, logarithmic: true },
            Coordinate::Ordinal { values: vec![64.0, 128.0, 1024.0] },
            Coordinate::Boolean,
            Coordinate::Categorical { choices: 3 },
        ])
        .unwrap()
    }

    #[test]
    fn each_kind_takes_its_columns() {
        let space = mixed();
        assert_eq!(space.columns(), 6);
        let row = space.encode(&[10.0, 128.0, 1.0, 2.0]).unwrap();
        let expected = [0.5, 0.5, 1.0, 0.0, 0.0, std::f64::consts::FRAC_1_SQRT_2];
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{row:?}");
    }

    #[test]
    fn two_choices_lie_one_apart() {
        let space = mixed();
        let a = space.encode(&[10.0, 64.0, 0.0, 0.0]).unwrap();
        let b = space.encode(&[10.0, 64.0, 0.0, 1.0]).unwrap();
        let squared: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
        assert!((squared - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_value_outside_names_what_is_legal() {
        let space = mixed();
        let message = |point: &[f64]| space.encode(point).unwrap_err().to_string();
        assert_eq!(message(&[0.5, 64.0, 0.0, 0.0]), "coordinate 0 is 0.5: legal is 1 to 100");
        assert_eq!(
            message(&[1.0, 65.0, 0.0, 0.0]),
            "coordinate 1 is 65: legal is one of 64, 128, 1024"
        );
        assert_eq!(message(&[1.0, 64.0, 0.5, 0.0]), "coordinate 2 is 0.5: legal is 0 or 1");
        assert_eq!(
            message(&[1.0, 64.0, 0.0, 3.0]),
            "coordinate 3 is 3: legal is a whole number from 0 to 2"
        );
        assert_eq!(message(&[1.0]), "1 values, but the space has 4 coordinates");
        assert!(space.encode(&[f64::NAN, 64.0, 0.0, 0.0]).is_err());
    }

    #[test]
    fn a_space_read_from_a_file_is_checked() {
        let text = serde_json::to_string(&mixed()).unwrap();
        assert_eq!(serde_json::from_str::<Space>(&text).unwrap(), mixed());
        let error = serde_json::from_str::<Space>(r#"[{"Ordinal":{"values":[2,1]}}]"#).unwrap_err();
        assert!(error.to_string().contains("rising order"), "{error}");
    }
}
