//! What `--json` prints on standard output when a command fails before it has a result: one JSON
//! object with the exit code, the message, and the file and line where they are known.
//! `docs/results-schema.md` describes it.

use crate::outcome::{Failure, InFile};
use serde::Serialize;
use ssdtune_experiment::PrepareError;
use ssdtune_keeper::LabelsError;
use ssdtune_learn::ModelFileError;
use ssdtune_model::Faults;
use ssdtune_model::source::LoadError;
use ssdtune_output::Conflict;
use ssdtune_predict::blackbox::ImportError;
use ssdtune_predict::blackbox::ResultsError;
use ssdtune_predict::blackbox::grid::GridError;
use ssdtune_predict::firmware::ProfileError;
use ssdtune_trace::TraceError;
use ssdtune_trace::workload::ModelError;
use std::error::Error;
use std::path::Path;

/// The document of a failure.
#[derive(Serialize)]
pub(crate) struct FailureDocument {
    error: ErrorObject,
    /// Each fault, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Place>,
}

/// A failure.
#[derive(Serialize)]
pub(crate) struct ErrorObject {
    /// The exit code.
    code: u8,
    #[serde(flatten)]
    first: Place,
}

/// What is wrong, and where.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// What is wrong.
    pub message: String,
    /// The file, where it is known.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u64>,
}

impl Place {
    fn new(message: impl ToString, file: Option<&str>, line: Option<usize>) -> Self {
        let line = line.map(|line| line as u64);
        Self { message: message.to_string(), file: file.map(str::to_owned), line }
    }
}

impl FailureDocument {
    /// The document of a failure; `None` if it is none, or said already.
    pub(crate) fn of(failure: &Failure) -> Option<Self> {
        let mut faults = failure.error().map(places).unwrap_or_default();
        let (file, line) =
            faults.first().map_or((None, None), |first| (first.file.clone(), first.line));
        if faults.len() < 2 {
            faults.clear();
        }
        let message = failure.message();
        let first = Place { message, file, line };
        let error = ErrorObject { code: failure.code(), first };
        (!error.first.message.is_empty()).then_some(Self { error, faults })
    }

    /// The document of a command line that cannot be read.
    pub(crate) fn of_usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        let first = Place::new(text, None, None);
        Self { error: ErrorObject { code: 2, first }, faults: Vec::new() }
    }

    /// The failure without its faults, as a field of a document that holds more.
    pub(crate) fn into_error(self) -> ErrorObject {
        self.error
    }
}

/// The faults that an error is about, and their places, as far as they are known.
pub fn places(error: &anyhow::Error) -> Vec<Place> {
    error.chain().find_map(places_of).unwrap_or_default()
}

fn places_of(cause: &(dyn Error + 'static)) -> Option<Vec<Place>> {
    let one = |path: &Path, line: Option<u64>| {
        let line = line.map(|line| line as usize);
        Some(vec![Place::new(cause, Some(&path.display().to_string()), line)])
    };
    let all = |faults: &Faults| {
        let place =
            |fault: &ssdtune_model::Fault| Place::new(fault, fault.file.as_deref(), fault.line);
        Some(faults.0.iter().map(place).collect())
    };
    if let Some(faults) = cause.downcast_ref::<Faults>() {
        return all(faults);
    }
    match cause.downcast_ref::<LoadError>() {
        Some(LoadError::Faulty(faults)) => return all(faults),
        Some(LoadError::Unreadable { path, .. }) => return one(Path::new(path), None),
        Some(LoadError::Unknown { .. }) | None => {}
    }
    if let Some(error) = cause.downcast_ref::<ModelError>() {
        let place = |fault: &ssdtune_trace::workload::Fault| {
            Place::new(&fault.message, error.origin.as_deref(), fault.line)
        };
        return Some(error.faults.iter().map(place).collect());
    }
    let trace = cause.downcast_ref::<TraceError>().and_then(|own| Some((own.path()?, own.line())));
    let place = trace
        .or_else(|| cause.downcast_ref::<LabelsError>().and_then(LabelsError::place))
        .or_else(|| cause.downcast_ref::<ResultsError>().map(ResultsError::place))
        .or_else(|| cause.downcast_ref::<ProfileError>().map(ProfileError::place))
        .or_else(|| cause.downcast_ref::<InFile>().map(|own| (own.path.as_path(), own.line)))
        .or_else(|| cause.downcast_ref::<Conflict>().map(|own| (own.path(), None)))
        .or_else(|| cause.downcast_ref::<GridError>().map(GridError::place))
        .or_else(|| cause.downcast_ref::<ImportError>().and_then(|own| Some((own.path()?, None))))
        .or_else(|| cause.downcast_ref::<PrepareError>().and_then(|own| Some((own.path()?, None))))
        .or_else(|| cause.downcast_ref::<ModelFileError>().map(|own| (own.path(), None)));
    place.and_then(|(path, line)| one(path, line))
}
