//! Files written while a drive runs: a line for each request and a line for each interval, as CSV,
//! compressed when the name asks for it. Each appears when it is complete.

use crate::series::{Intervals, SERIES_COLUMNS, SeriesRow};
use crate::serve::{Observer, ObserverError};
use ssdtune_model::Nanos;
use ssdtune_output::OutputFile;
use ssdtune_sim::{Completion, Look, Report, Simulator};
use ssdtune_trace::Op;
use ssdtune_trace::compress::{Compression, Compressor};
use std::fmt::Arguments;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Columns of the log of requests.
pub const LOG_COLUMNS: &str = "tenant,number,op,lba,sectors,arrival_ns,enqueue_ns,\
     completion_ns,device_latency_ns,total_latency_ns";

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// File with a line for each request.
    pub log: Option<PathBuf>,
    /// File with a line for each interval, and the interval's length in simulated time.
    pub series: Option<(PathBuf, Nanos)>,
}

impl RecorderOptions {
    /// Options for one of several runs: its number goes before the ending of each file's name.
    #[must_use]
    pub fn numbered(&self, run: usize) -> Self {
        let number = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (stem, ending) = match name.split_once('.') {
                Some((stem, ending)) => (stem.to_owned(), format!(".{ending}")),
                None => (name, String::new()),
            };
            path.with_file_name(format!("{stem}-{run}{ending}"))
        };
        Self {
            log: self.log.as_ref().map(number),
            series: self.series.as_ref().map(|(path, interval)| (number(path), *interval)),
        }
    }
}

/// A file could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be created.
    #[error("cannot create {}", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A CSV file being written.
struct CsvFile {
    out: Compressor<OutputFile>,
    path: PathBuf,
}

impl CsvFile {
    fn create(path: &Path, columns: &str) -> Result<Self, RecordError> {
        let failed = |source| RecordError::Create { path: path.to_path_buf(), source };
        let file = OutputFile::create(path).map_err(failed)?;
        let out = Compressor::new(file, Compression::of_name(path)).map_err(failed)?;
        let mut file = Self { out, path: path.to_path_buf() };
        file.row(format_args!("{columns}"))?;
        Ok(file)
    }

    fn row(&mut self, row: Arguments<'_>) -> Result<(), RecordError> {
        writeln!(self.out, "{row}")
            .map_err(|source| RecordError::Write { path: self.path.clone(), source })
    }

    /// Lets the finished file appear.
    fn finish(self) -> Result<(), RecordError> {
        let Self { out, path } = self;
        let finished = out.finish().and_then(OutputFile::finish);
        finished.map_err(|source| RecordError::Write { path, source })
    }
}

/// The file of the time series.
struct Series {
    file: CsvFile,
    length: Nanos,
    intervals: Intervals,
}

impl Series {
    fn row(&mut self, row: &SeriesRow) -> Result<(), RecordError> {
        // Without requests there is no latency: the fields stay empty.
        let mean = row.device_latency_mean_ns.map(|ns| format!("{ns:.1}")).unwrap_or_default();
        let whole = |ns: Option<u64>| ns.map(|ns| ns.to_string()).unwrap_or_default();
        let (p99, max) = (whole(row.device_latency_p99_ns), whole(row.device_latency_max_ns));
        let power = row.power_w.map(|watt| format!("{watt:.6}")).unwrap_or_default();
        self.file.row(format_args!(
            "{},{},{},{},{},{},{:.3},{:.1},{mean},{p99},{max},{},{},{},{},{},{},{power}",
            row.start.0,
            row.end.0,
            row.reads,
            row.writes,
            row.read_bytes,
            row.write_bytes,
            row.iops,
            row.bandwidth_bytes_per_s,
            row.in_flight,
            row.pages_read,
            row.pages_programmed_host,
            row.pages_programmed_moved,
            row.pages_programmed_mapping,
            row.blocks_erased,
        ))
    }
}

/// The files of one run. A run that fails writes none.
pub struct Recorder {
    log: Option<CsvFile>,
    series: Option<Series>,
}

impl Recorder {
    /// Creates the files asked for.
    ///
    /// # Errors
    /// One of them cannot be created.
    pub fn create(options: &RecorderOptions) -> Result<Self, RecordError> {
        let log =
            options.log.as_ref().map(|path| CsvFile::create(path, LOG_COLUMNS)).transpose()?;
        let series = match &options.series {
            None => None,
            Some((path, length)) => Some(Series {
                file: CsvFile::create(path, SERIES_COLUMNS)?,
                length: *length,
                intervals: Intervals::new(),
            }),
        };
        Ok(Self { log, series })
    }
}

impl Observer for Recorder {
    fn wants_completions(&self) -> bool {
        self.log.is_some() || self.series.is_some()
    }

    fn interval(&self) -> Option<Nanos> {
        self.series.as_ref().map(|series| series.length)
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        look: Look,
    ) -> Result<(), ObserverError> {
        if let Some(log) = &mut self.log {
            for one in completions {
                log_row(log, one)?;
            }
        }
        if let Some(series) = &mut self.series {
            completions.iter().for_each(|one| series.intervals.add(one));
            if let Look::IntervalEnd(end) = look {
                let row = series.intervals.close(drive, end);
                series.row(&row)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, drive: &Simulator, _: &Report) -> Result<(), ObserverError> {
        if let Some(mut series) = self.series.take() {
            if let Some(row) = series.intervals.last(drive) {
                series.row(&row)?;
            }
            series.file.finish()?;
        }
        Ok(self.log.take().map_or(Ok(()), CsvFile::finish)?)
    }
}

fn log_row(log: &mut CsvFile, one: &Completion) -> Result<(), RecordError> {
    let op = match one.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    };
    log.row(format_args!(
        "{},{},{op},{},{},{},{},{},{},{}",
        one.tenant.0,
        one.number,
        one.lba.0,
        one.sectors,
        one.arrived.0,
        one.enqueued.0,
        one.completed.0,
        (one.completed - one.enqueued).0,
        (one.completed - one.arrived).0,
    ))
}
