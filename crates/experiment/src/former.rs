//! Former words for what a drive has been through, in the words of today.

use crate::preparation::{Age, OVERWRITES, Preparation, PreparationError, Start};

/// What the former flag `--warm-up` named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Every page written once, in order.
    Sequential,
    /// Written in the order of addresses, and then overwritten at random.
    Random,
    /// The run's own requests served once.
    Trace,
}

impl WarmUp {
    /// Each with its name on the command line.
    pub const NAMES: [(&'static str, Self); 3] =
        [("sequential", Self::Sequential), ("random", Self::Random), ("trace", Self::Trace)];
}

impl std::str::FromStr for WarmUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, own)| *own).ok_or_else(|| "write sequential, random or trace".to_owned())
    }
}

/// What a value of the former flag `--initial-state` means: `footprint`, `empty`, `steady:SHARE`,
/// or `filled:SHARE[:TIMES]`, which is now `sequential:SHARE` and random overwrites.
///
/// # Errors
/// It is none of these; the text says what to write.
pub fn former_initial_state(text: &str) -> Result<(Start, Vec<Age>), String> {
    let wrong = "write --start footprint, --start empty, --start steady:SHARE, or \
                 --start sequential:SHARE --age random:N";
    let state = || match text.split_once(':') {
        None if ["footprint", "empty"].contains(&text) => Some((text.parse().ok()?, vec![])),
        Some(("steady", _)) => Some((text.parse().ok()?, vec![])),
        Some(("filled", rest)) => {
            let (share, times) = rest.split_once(':').unwrap_or((rest, "0"));
            let start = format!("sequential:{share}").parse().ok()?;
            Some((start, vec![format!("random:{times}").parse().ok()?]))
        }
        _ => None,
    };
    state().ok_or_else(|| wrong.to_owned())
}

/// What a value of the former flag `--data` of `keeper compare` means.
///
/// # Errors
/// It is neither `first-touch` nor `spread`; the text says what to write.
pub fn former_data(text: &str) -> Result<Start, String> {
    match text {
        "first-touch" => Ok(Start::Empty),
        "spread" => Ok(Start::sequential(0.0)),
        _ => Err("write --start empty or --start sequential:0".to_owned()),
    }
}

/// Why former words have no meaning.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormerError {
    /// The drive is filled twice.
    #[error("--start fills the drive already: leave --warm-up away, or age it with --age trace")]
    FilledTwice,
    /// A share of a drive that is not filled.
    #[error(
        "--occupancy says how full --start leaves the drive: write --start sequential:{0} or \
         --start steady:{0}"
    )]
    Occupancy(f64),
    /// The preparation that they would make contradicts itself.
    #[error(transparent)]
    Contradiction(#[from] PreparationError),
}

impl Preparation {
    /// Changes it as the former flags `--warm-up` and `--occupancy` say. If one was given, the text
    /// tells what to write instead.
    ///
    /// # Errors
    /// The flags contradict the preparation.
    pub fn apply_former(
        &mut self,
        warm_up: Option<WarmUp>,
        occupancy: Option<f64>,
    ) -> Result<Option<String>, FormerError> {
        if warm_up.is_none() && occupancy.is_none() {
            return Ok(None);
        }
        let filled = matches!(warm_up, Some(WarmUp::Sequential | WarmUp::Random));
        if filled && self.start != Start::Empty {
            return Err(FormerError::FilledTwice);
        }
        let share = occupancy.unwrap_or(1.0);
        match &self.start {
            Start::Empty if filled => self.start = Start::sequential(share),
            Start::Sequential(_) if occupancy.is_some() => self.start = Start::sequential(share),
            Start::Steady(_) if occupancy.is_some() => self.start = Start::steady(share),
            _ if share < 1.0 => return Err(FormerError::Occupancy(share)),
            _ => {}
        }
        self.ages.extend(warm_up.map(|how| match how {
            WarmUp::Sequential => Age::Random { times: 0 },
            WarmUp::Random => Age::Random { times: OVERWRITES },
            WarmUp::Trace => Age::Trace { times: 1 },
        }));
        self.check()?;
        let mut words = vec![format!("--start {}", self.start)];
        words.extend(self.ages.iter().map(|age| format!("--age {age}")));
        let words = words.join(" ");
        Ok(Some(format!("--warm-up and --occupancy are now --age and --start: write {words}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_data_means_what_it_meant() {
        let of = |text| former_data(text).map(|start| start.to_string());
        assert_eq!(of("first-touch"), Ok("empty".to_owned()));
        assert_eq!(of("spread"), Ok("sequential:0".to_owned()));
        assert!(of("").unwrap_err().contains("--start"));
    }

    /// Every pair of former flags, the --start beside them, and what to write instead.
    #[test]
    fn former_flags_mean_what_they_meant() {
        let of = |warm_up, occupancy, start: &str| {
            let mut preparation = Preparation::of(start.parse().unwrap(), 0);
            let said = preparation.apply_former(warm_up, occupancy);
            said.map(|said| said.map(|text| text.rsplit("write ").next().unwrap().to_owned()))
        };
        let write = |text: &str| Some(text.to_owned());
        let [sequential, random, trace] = WarmUp::NAMES.map(|(_, own)| own);
        for (warm_up, occupancy, start, now) in [
            (None, None, "steady:0.3", None),
            (Some(sequential), None, "empty", write("--start sequential --age random:0")),
            (Some(random), None, "empty", write("--start sequential --age random:5")),
            (Some(random), Some(0.5), "empty", write("--start sequential:0.5 --age random:5")),
            (Some(trace), None, "empty", write("--start empty --age trace:1")),
            (Some(trace), None, "steady", write("--start steady --age trace:1")),
            (None, Some(0.25), "steady", write("--start steady:0.25")),
            (None, Some(0.25), "sequential", write("--start sequential:0.25")),
        ] {
            assert_eq!(of(warm_up, occupancy, start).unwrap(), now, "{warm_up:?} {start}");
        }
        assert!(of(Some(random), None, "steady").is_err());
        assert!(of(None, Some(0.5), "empty").is_err());
        assert!(of(Some(trace), Some(0.5), "empty").is_err());
    }

    #[test]
    fn former_initial_states_mean_what_they_meant() {
        let sequential = |share, times| (Start::sequential(share), vec![Age::Random { times }]);
        for (text, now) in [
            ("footprint", (Start::Footprint, vec![])),
            ("empty", (Start::Empty, vec![])),
            ("steady:0.7", (Start::steady(0.7), vec![])),
            ("filled:0.5", sequential(0.5, 0)),
            ("filled:0.5:2", sequential(0.5, 2)),
        ] {
            assert_eq!(former_initial_state(text), Ok(now), "{text}");
        }
        for wrong in ["", "full", "steady", "steady:2", "filled", "filled:x", "filled:0.5:101"] {
            assert!(former_initial_state(wrong).is_err(), "{wrong}");
        }
    }
}
