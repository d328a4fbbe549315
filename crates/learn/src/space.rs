//! Mixed spaces as numbers: continuous, ordinal, boolean and categorical coordinates to columns in
//! [0, 1].
//!
//! A Gaussian process measures distance, so what counts as one step must be said. A continuous
//! coordinate maps its range to [0, 1], on a logarithmic scale if asked. An ordinal maps its legal
//! values to equal steps by rank: 64, 128 and 1,024 are three evenly spaced points. A boolean is 0
//! or 1. A category of `c` choices becomes `c` columns with 1/√2 in its own, so that two different
//! choices lie at distance one. Encoding a point costs O(columns) and, for an ordinal, a search of
//! its values.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// How one coordinate varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Coordinate {
    /// Any number from `low` to `high`.
    Continuous {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
        /// Equal ratios are equal steps; needs `low` above 0.
        logarithmic: bool,
    },
    /// One of these numbers, in rising order.
    Ordinal {
        /// The legal values.
        values: Vec<f64>,
    },
    /// 0 or 1.
    Boolean,
    /// One of `choices` names without an order, given by its number from 0.
    Categorical {
        /// How many there are.
        choices: usize,
    },
}

/// A coordinate that describes nothing, or a value outside it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// A space needs a coordinate.
    #[error("the space has no coordinates: give at least one")]
    Empty,
    /// The coordinate's own description is wrong.
    #[error("coordinate {coordinate}: {reason}")]
    Coordinate {
        /// Coordinate, from 0.
        coordinate: usize,
        /// What is wrong and what is legal.
        reason: &'static str,
    },
    /// A point has more or fewer values than the space coordinates.
    #[error("{found} values, but the space has {expected} coordinates")]
    Length {
        /// Coordinates of the space.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A value its coordinate does not have.
    #[error("coordinate {coordinate} is {value}: legal is {legal}")]
    Value {
        /// Coordinate, from 0.
        coordinate: usize,
        /// What was given.
        value: f64,
        /// What would do.
        legal: String,
    },
}

/// An ordered list of coordinates, checked.
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
    /// Checks every coordinate.
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

    /// The coordinates, in order.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.coordinates
    }

    /// Columns of an encoded point.
    pub fn columns(&self) -> usize {
        self.coordinates.iter().map(Coordinate::columns).sum()
    }

    /// One point, one value for each coordinate, as a row of numbers in [0, 1].
    pub fn encode(&self, point: &[f64]) -> Result<Vec<f64>, SpaceError> {
        let mut row = Vec::with_capacity(self.columns());
        self.encode_into(point, &mut row)?;
        Ok(row)
    }

    /// Many points as the rows of a matrix.
    pub fn encode_all<P: AsRef<[f64]>>(&self, points: &[P]) -> Result<Array2<f64>, SpaceError> {
        let columns = self.columns();
        let mut cells = Vec::with_capacity(points.len() * columns);
        for point in points {
            self.encode_into(point.as_ref(), &mut cells)?;
        }
        Ok(Array2::from_shape_vec((points.len(), columns), cells)
            .expect("every point encodes to the same number of columns"))
    }

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
    fn columns(&self) -> usize {
        match self {
            Self::Categorical { choices } => *choices,
            _ => 1,
        }
    }

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

    /// Appends the columns of `value`; false if the coordinate does not have it.
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
