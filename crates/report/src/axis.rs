//! An axis: what it measures, in which unit, and where its values and their marks lie.
//!
//! Values have places on an axis: the value itself, or its logarithm where equal factors are to
//! have equal lengths.

use crate::canvas::{self, number};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Marks with numbers on an axis, about.
const MARKS: usize = 8;
/// Words inside of an axis; with fewer it has numbers.
const WORDS_LEAST: usize = 2;
/// Room at both ends of logarithms that are all alike: 5 %.
const ROOM: f64 = 0.02;
/// Marks that an axis of logarithms has at least, if its numbers allow for it.
const MARKS_LEAST: usize = 3;

/// What an axis measures, in which unit, and how its values are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    name: String,
    unit: Option<String>,
    is_logarithmic: bool,
    over: Vec<f64>,
    words: Vec<(f64, String)>,
}

impl Axis {
    /// An axis of a number without a unit.
    pub fn new(name: impl Into<String>) -> Self {
        let (over, words) = (Vec::new(), Vec::new());
        Self { name: name.into(), unit: None, is_logarithmic: false, over, words }
    }

    /// Names the unit, such as `us`.
    #[must_use]
    pub fn in_unit(self, unit: impl Into<String>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// Gives equal factors equal lengths. Values that are not above 0 have no place then. Only
    /// [`Chart`](crate::Chart) does it.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { is_logarithmic: true, ..self }
    }

    /// Reaches at least over these values, so that charts of the same things can be compared. Only
    /// [`Chart`](crate::Chart) does it.
    #[must_use]
    pub fn over(self, values: impl IntoIterator<Item = f64>) -> Self {
        Self { over: values.into_iter().filter_map(canvas::drawable).collect(), ..self }
    }

    /// Writes these words at these values, and no numbers. Only [`Chart`](crate::Chart) does it.
    #[must_use]
    pub fn worded<W: Into<String>>(self, words: impl IntoIterator<Item = (f64, W)>) -> Self {
        let words = words.into_iter().map(|(value, word)| (value, word.into())).collect();
        Self { words, ..self }
    }

    /// Where a value lies; `None` if it cannot be drawn.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let value = canvas::drawable(value)?;
        match self.is_logarithmic {
            true => (value > 0.0).then(|| value.log10()),
            false => Some(value),
        }
    }

    /// The value at a place.
    fn value(&self, place: f64) -> f64 {
        if self.is_logarithmic { 10.0_f64.powf(place) } else { place }
    }

    /// From which place to which the axis goes if it shows these values. `None` without a value.
    pub(crate) fn range(&self, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let values = values.chain(self.over.iter().copied());
        let (low, high) = canvas::range(values.filter_map(|value| self.place(value)))?;
        match self.is_logarithmic && high - low < ROOM {
            true => Some((low - ROOM, high + ROOM)),
            false => Some((low, high)),
        }
    }

    /// The places of an axis from `low` to `high`, with its marks, for plotters.
    pub(crate) fn places(&self, (low, high): (f64, f64)) -> Places {
        Places { span: (low..high).into(), marks: self.marks(low, high) }
    }

    fn marks(&self, low: f64, high: f64) -> Vec<f64> {
        let inside = |place: &f64| (low..=high).contains(place);
        // Steps of a binary fraction miss 0 by a hair.
        let even = |low: f64, high: f64| -> Vec<f64> {
            let marks = RangedCoordf64::from(low..high).key_points(MARKS);
            marks.into_iter().map(|mark| canvas::snapped(mark, high - low)).collect()
        };
        let words = self.words.iter().filter_map(|(value, _)| self.place(*value));
        let words: Vec<f64> = words.filter(inside).collect();
        if words.len() >= WORDS_LEAST {
            return words;
        }
        if !self.is_logarithmic {
            return even(low, high);
        }
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        let step = (last - first).unsigned_abs() as usize / MARKS + 1;
        let decades = || (first..=last).step_by(step);
        let of = |factors: &[f64]| -> Vec<f64> {
            let decade = |decade: i32| factors.iter().map(move |of| f64::from(decade) + of.log10());
            decades().flat_map(decade).filter(inside).collect()
        };
        let kinds = [of(&[1.0]), of(&[1.0, 2.0, 5.0]), of(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0])];
        kinds.into_iter().find(|marks| marks.len() >= MARKS_LEAST).unwrap_or_else(|| {
            let values = even(self.value(low), self.value(high));
            values.into_iter().filter_map(|value| self.place(value)).filter(inside).collect()
        })
    }

    /// What stands at a mark.
    pub(crate) fn mark(&self, place: f64) -> String {
        let at = |(value, _): &&(f64, String)| self.place(*value) == Some(place);
        match self.words.iter().find(at) {
            Some((_, word)) => word.clone(),
            None => number(self.value(place), 6),
        }
    }

    /// A value of the axis, with its name and unit.
    pub(crate) fn say(&self, value: f64) -> String {
        let unit = self.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        match self.words.iter().find(|(own, _)| *own == value) {
            Some((_, word)) => format!("{} {word}", self.name),
            None => format!("{} {}{unit}", self.name, number(value, 6)),
        }
    }

    /// What stands along the axis.
    pub(crate) fn label(&self) -> String {
        let scale = self.is_logarithmic.then_some("log scale");
        let notes: Vec<&str> = self.unit.as_deref().into_iter().chain(scale).collect();
        match notes.is_empty() {
            true => self.name.clone(),
            false => format!("{} ({})", self.name, notes.join(", ")),
        }
    }
}

/// Places of an axis, and those of its marks.
pub(crate) struct Places {
    span: RangedCoordf64,
    marks: Vec<f64>,
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, pixels: (i32, i32)) -> i32 {
        self.span.map(place, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.max_num_points() == 0 { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.span.range()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_have_round_marks() {
        let axis = Axis::new("latency").logarithmic();
        let told = |low: f64, high: f64| -> Vec<String> {
            let [low, high] = [low, high].map(|value| axis.place(value).expect("above 0"));
            axis.marks(low, high).into_iter().map(|place| axis.mark(place)).collect()
        };
        assert_eq!(told(1.0, 1e3), ["1", "10", "100", "1000"]);
        assert_eq!(told(3.0, 60.0), ["5", "10", "20", "50"]);
        assert_eq!(told(1.5, 4.5), ["2", "3", "4"]);
        assert!(told(88.0, 91.0).len() >= 3, "{:?}", told(88.0, 91.0));
        assert!(told(1e-12, 1e15).len() <= 9, "{:?}", told(1e-12, 1e15));
        assert_eq!((axis.place(0.0), axis.place(-1.0)), (None, None));
        assert_eq!(axis.clone().in_unit("us").label(), "latency (us, log scale)");
    }

    #[test]
    fn any_values_give_marks_that_differ() {
        let axis = Axis::new("latency").logarithmic();
        for values in [vec![0.0, 1.0], vec![7.0, 7.0], vec![1.0, 1.0 + 1e-11], vec![1e-9, 1e9]] {
            let (low, high) = axis.range(values.iter().copied()).expect("a range");
            let mut told: Vec<String> =
                axis.marks(low, high).iter().map(|at| axis.mark(*at)).collect();
            let count = told.len();
            told.dedup();
            assert!(count >= 2 && told.len() == count, "{values:?}: {told:?}");
        }
        let even = Axis::new("share");
        let told: Vec<String> = even.marks(-0.3, 1.1).iter().map(|at| even.mark(*at)).collect();
        assert!(told.contains(&"0".to_owned()), "{told:?}");
        assert_eq!(axis.range([0.0, -1.0].into_iter()), None);
        assert_eq!(axis.range(std::iter::empty()), None);
    }

    #[test]
    fn words_stand_at_their_values_alone() {
        let axis = Axis::new("share").worded([(1.0, "90 %"), (2.0, "99 %"), (9.0, "all")]);
        assert_eq!(axis.marks(0.5, 4.0), [1.0, 2.0]);
        // With one word alone nobody knows how far apart things are.
        assert!(axis.marks(1.2, 2.4).len() > 2);
        assert_eq!((axis.mark(2.0), axis.say(2.0)), ("99 %".to_owned(), "share 99 %".to_owned()));
        assert_eq!(axis.say(3.0), "share 3");
    }
}
