//! What a sweep measures: the points of a grid, or random workloads.

use super::choice::sweep_designs;
use super::designs::{DesignPoint, Designs};
use super::point::Point;
use super::results::{ResultsError, ResultsFile, ResultsSource};
use super::simulated_drive::{MeasureSettings, SimulatedDrive};
use super::sweep::{SweepError, families, sweep};
use serde::Serialize;
use ssdtune_model::DeviceConfig;
use ssdtune_model::given::Part;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a sweep measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepPlan {
    /// Points of a grid.
    Points(Vec<Point>),
    /// Random workloads, from which a model learns what windows of traces take.
    Designs(Designs),
}

/// A sweep whose file is open.
#[derive(Debug)]
pub struct OpenSweep {
    /// How many measurements the file held when it was opened.
    pub known: usize,
    file: PathBuf,
    of: Open,
}

/// The file, by what it is of.
#[derive(Debug)]
enum Open {
    Points(Vec<Point>, ResultsFile),
    Designs(Designs, ResultsFile<DesignPoint>),
}

/// A file of all measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swept {
    /// What was measured, and how.
    pub source: ResultsSource,
    /// How many measurements the file holds.
    pub points: usize,
    /// How many of them it held before.
    pub known_before: usize,
    /// The file.
    pub file: String,
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} points of {} in {}", self.points, self.source.device(), self.file)
    }
}

impl SweepPlan {
    /// How many measurements it is.
    pub fn measurements(&self) -> usize {
        match self {
            Self::Points(points) => points.len(),
            Self::Designs(designs) => designs.measurements(),
        }
    }

    /// What the results are of; `simulator` names the program and the version of its results.
    pub fn source(
        &self,
        config: &DeviceConfig,
        simulator: String,
        settings: MeasureSettings,
    ) -> ResultsSource {
        match self {
            Self::Points(points) => ResultsSource::simulated(config, simulator, settings, points),
            Self::Designs(designs) => ResultsSource::designs(config, simulator, settings, designs),
        }
    }

    /// The points of a part of the families; random workloads, which are chosen one after the
    /// other, as they are.
    #[must_use]
    pub fn part(self, part: Part) -> Self {
        match self {
            Self::Points(points) => {
                let families = (0..).zip(families(&points)).filter(|(index, _)| part.has(*index));
                Self::Points(families.flat_map(|(_, family)| family).collect())
            }
            Self::Designs(_) => self,
        }
    }

    /// Begins the file of the sweep, or opens one that was begun with the same settings.
    ///
    /// # Errors
    /// Those of [`ResultsFile::open`].
    pub fn open(self, path: &Path, source: ResultsSource) -> Result<OpenSweep, ResultsError> {
        let (known, of) = match self {
            Self::Points(points) => {
                let file = ResultsFile::open(path, source)?;
                (file.results().rows.len(), Open::Points(points, file))
            }
            Self::Designs(designs) => {
                let file = ResultsFile::open(path, source)?;
                (file.results().rows.len(), Open::Designs(designs, file))
            }
        };
        Ok(OpenSweep { known, file: path.to_owned(), of })
    }
}

impl OpenSweep {
    /// Measures what the file does not hold. `tell` is told how many more measurements are done.
    ///
    /// # Errors
    /// Something cannot be measured, a result cannot be written, or the caller stopped it.
    pub fn run(
        self,
        drive: &SimulatedDrive,
        tell: &(dyn Fn(usize) + Sync),
    ) -> Result<Swept, SweepError> {
        let (source, points) = match self.of {
            Open::Points(points, file) => sweep(drive, &points, file, tell)?.into_source(),
            Open::Designs(designs, file) => {
                sweep_designs(drive, &designs, file, tell)?.into_source()
            }
        };
        let file = self.file.display().to_string();
        Ok(Swept { source, points, known_before: self.known, file })
    }
}
