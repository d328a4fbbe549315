//! Files written while a drive runs: a line for each request and a line for each interval, as CSV,
//! compressed when the name asks for it. Each appears when it is complete.

use crate::serve::{Observer, ObserverError};
use crate::tally::Tally;
use ssdtune_model::Nanos;
use ssdtune_output::OutputFile;
use ssdtune_sim::{Completion, FlashCommands, Look, Report, Simulator};
use ssdtune_trace::Op;
use ssdtune_trace::compress::{Compression, Compressor};
use std::fmt::Arguments;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Columns of the log of requests.
pub const LOG_COLUMNS: &str = "tenant,number,op,lba,sectors,arrival_ns,enqueue_ns,\
     completion_ns,device_latency_ns,total_latency_ns";

/// Columns of the time series. `in_flight` is at the end of the interval; everything else is of the
/// interval.
pub const SERIES_COLUMNS: &str = "start_ns,end_ns,reads,writes,read_bytes,write_bytes,iops,\
     bandwidth_bytes_per_s,device_latency_mean_ns,device_latency_p99_ns,device_latency_max_ns,\
     in_flight,pages_read,pages_programmed_host,pages_programmed_moved,pages_programmed_mapping,\
     blocks_erased,power_w";

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

/// The time series and what its running interval has seen.
struct Series {
    file: CsvFile,
    length: Nanos,
    start: Nanos,
    tally: Tally,
    /// The drive's own latencies of reads and writes, from the submission queue to the completion.
    device_latencies_ns: Vec<u64>,
    /// The drive's counts at the start of the interval.
    flash: FlashCommands,
    /// Energy in joule until the start of the interval, and the seconds over which that was
    /// consumed.
    energy: (f64, f64),
}

impl Series {
    fn add(&mut self, one: &Completion) {
        if matches!(one.op, Op::Read | Op::Write) {
            self.tally.add(one);
            self.device_latencies_ns.push((one.completed - one.enqueued).0);
        }
    }

    /// Writes the line of the interval that ends now, and begins the next one.
    fn close(&mut self, drive: &Simulator, end: Nanos) -> Result<(), RecordError> {
        let seconds = (end - self.start).as_secs_f64();
        let count = self.device_latencies_ns.len();
        self.device_latencies_ns.sort_unstable();
        // Without requests there is no latency: the fields stay empty.
        let (mut mean, mut p99, mut max) = (String::new(), String::new(), String::new());
        if let Some(longest) = self.device_latencies_ns.last() {
            let sum: u128 = self.device_latencies_ns.iter().map(|&ns| u128::from(ns)).sum();
            mean = format!("{:.1}", sum as f64 / count as f64);
            p99 = self.device_latencies_ns[(count * 99).div_ceil(100) - 1].to_string();
            max = longest.to_string();
        }
        let (flash, before) = (drive.flash(), self.flash);
        let energy = drive.energy();
        let (joule, time) = (energy.total_j - self.energy.0, energy.seconds - self.energy.1);
        // Nothing is consumed before the first arrival.
        let power = if time > 0.0 { format!("{:.6}", joule / time) } else { String::new() };
        let sums = self.tally.total();
        self.file.row(format_args!(
            "{},{},{},{},{},{},{:.3},{:.1},{mean},{p99},{max},{},{},{},{},{},{},{power}",
            self.start.0,
            end.0,
            sums.read.requests,
            sums.write.requests,
            sums.read.bytes,
            sums.write.bytes,
            count as f64 / seconds,
            sums.all().bytes as f64 / seconds,
            drive.in_flight(),
            flash.pages_read - before.pages_read,
            flash.pages_programmed_host - before.pages_programmed_host,
            flash.pages_programmed_moved - before.pages_programmed_moved,
            flash.pages_programmed_mapping - before.pages_programmed_mapping,
            flash.blocks_erased - before.blocks_erased,
        ))?;
        self.device_latencies_ns.clear();
        self.tally = Tally::default();
        (self.start, self.flash) = (end, flash);
        self.energy = (energy.total_j, energy.seconds);
        Ok(())
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
                start: Nanos::ZERO,
                tally: Tally::default(),
                device_latencies_ns: Vec::new(),
                flash: FlashCommands::default(),
                energy: (0.0, 0.0),
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
            completions.iter().for_each(|one| series.add(one));
            if let Look::IntervalEnd(end) = look {
                series.close(drive, end)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, drive: &Simulator, _: &Report) -> Result<(), ObserverError> {
        if let Some(mut series) = self.series.take() {
            if drive.now() > series.start {
                series.close(drive, drive.now())?;
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
