//! Files written while a drive runs: the per-request log and the time series, as CSV, compressed when the
//! name asks for it. Each is written beside its place and moved there when it is complete.

use anyhow::Context as _;
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, FlashCommands, Look, Simulator};
use ssdtune_trace::Op;
use ssdtune_trace::compress::{Compression, Compressor};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Columns of the per-request log.
pub(crate) const LOG_COLUMNS: &str = "tenant,number,op,lba,sectors,arrival_ns,enqueue_ns,\
     completion_ns,device_latency_ns,total_latency_ns";

/// Columns of the time series.
pub(crate) const SERIES_COLUMNS: &str = "start_ns,end_ns,reads,writes,read_bytes,write_bytes,iops,\
     bandwidth_bytes_per_s,device_latency_mean_ns,device_latency_p99_ns,device_latency_max_ns,\
     in_flight,pages_read,pages_programmed_host,pages_programmed_moved,pages_programmed_mapping,\
     blocks_erased,power_w";

/// What to record.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecorderOptions {
    pub(crate) log: Option<PathBuf>,
    pub(crate) series: Option<PathBuf>,
    /// Given exactly when there is a series.
    pub(crate) interval: Option<Nanos>,
}

impl RecorderOptions {
    /// The same with the files of one of several cells: its number goes before the ending.
    pub(crate) fn numbered(&self, cell: usize) -> Self {
        let number = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (stem, ending) = match name.split_once('.') {
                Some((stem, ending)) => (stem.to_owned(), format!(".{ending}")),
                None => (name, String::new()),
            };
            path.with_file_name(format!("{stem}-{cell}{ending}"))
        };
        Self {
            log: self.log.as_ref().map(number),
            series: self.series.as_ref().map(number),
            interval: self.interval,
        }
    }
}

/// A CSV file being written.
struct Table {
    out: Compressor<BufWriter<File>>,
    path: PathBuf,
    partial: PathBuf,
}

impl Table {
    fn create(path: &Path, columns: &str) -> anyhow::Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial)
            .with_context(|| format!("cannot create {}", partial.display()))?;
        let out = Compressor::new(BufWriter::new(file), Compression::of_name(path))?;
        let mut table = Self { out, path: path.to_path_buf(), partial };
        table.row(format_args!("{columns}"))?;
        Ok(table)
    }

    fn row(&mut self, row: std::fmt::Arguments<'_>) -> anyhow::Result<()> {
        writeln!(self.out, "{row}").with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn finish(self) -> anyhow::Result<()> {
        let place = self.path.display().to_string();
        let finish = || -> std::io::Result<()> {
            self.out.finish()?.flush()?;
            std::fs::rename(&self.partial, &self.path)
        };
        finish().with_context(|| format!("cannot write {place}"))
    }
}

/// What the running interval has seen.
#[derive(Default)]
struct Interval {
    start: Nanos,
    counts: [u64; 2],
    bytes: [u64; 2],
    latencies: Vec<u64>,
    flash: FlashCommands,
    /// Energy until its start, and the time over which that was consumed.
    energy: (f64, f64),
}

/// The files of one run.
pub(crate) struct Recorder {
    log: Option<Table>,
    series: Option<(Table, Interval)>,
}

impl Recorder {
    /// Creates the files asked for.
    pub(crate) fn create(options: &RecorderOptions) -> anyhow::Result<Self> {
        let log = options.log.as_ref().map(|path| Table::create(path, LOG_COLUMNS)).transpose()?;
        let series =
            options.series.as_ref().map(|path| Table::create(path, SERIES_COLUMNS)).transpose()?;
        Ok(Self { log, series: series.map(|table| (table, Interval::default())) })
    }

    /// Whether the simulator must keep completions for it.
    pub(crate) fn wants_completions(&self) -> bool {
        self.log.is_some() || self.series.is_some()
    }

    /// Takes the completions since the last time.
    pub(crate) fn take(
        &mut self,
        drive: &Simulator,
        completions: &[Completion],
        look: Look,
    ) -> anyhow::Result<()> {
        if let Some(log) = &mut self.log {
            for one in completions {
                log_row(log, one)?;
            }
        }
        if let Some((table, interval)) = &mut self.series {
            completions.iter().for_each(|one| interval.add(one));
            if let Look::IntervalEnd(end) = look {
                interval.close(table, drive, end)?;
            }
        }
        Ok(())
    }

    /// Writes the rest.
    pub(crate) fn finish(mut self, drive: &Simulator) -> anyhow::Result<()> {
        if let Some((mut table, mut interval)) = self.series.take() {
            if drive.now() > interval.start {
                interval.close(&mut table, drive, drive.now())?;
            }
            table.finish()?;
        }
        self.log.take().map_or(Ok(()), Table::finish)
    }
}

fn log_row(log: &mut Table, one: &Completion) -> anyhow::Result<()> {
    let op = match one.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    };
    log.row(format_args!(
        "{},{},{op},{},{},{},{},{},{},{}",
        one.tenant,
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

impl Interval {
    fn add(&mut self, one: &Completion) {
        let direction = match one.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush => return,
        };
        self.counts[direction] += 1;
        self.bytes[direction] += u64::from(one.sectors) * ssdtune_model::SECTOR_BYTES;
        self.latencies.push((one.completed - one.enqueued).0);
    }

    fn close(&mut self, table: &mut Table, drive: &Simulator, end: Nanos) -> anyhow::Result<()> {
        let seconds = (end - self.start).as_secs_f64();
        let count = self.latencies.len();
        self.latencies.sort_unstable();
        // Nobody's latency is no number: the fields stay empty.
        let (mut mean, mut p99, mut max) = (String::new(), String::new(), String::new());
        if let Some(longest) = self.latencies.last() {
            let sum: u128 = self.latencies.iter().map(|&ns| u128::from(ns)).sum();
            mean = format!("{:.1}", sum as f64 / count as f64);
            p99 = self.latencies[(count * 99).div_ceil(100) - 1].to_string();
            max = longest.to_string();
        }
        let (flash, before) = (drive.flash(), self.flash);
        let energy = drive.energy();
        let (joule, time) = (energy.total_j - self.energy.0, energy.seconds - self.energy.1);
        // Nothing is consumed before the first arrival.
        let power = if time > 0.0 { format!("{:.6}", joule / time) } else { String::new() };
        table.row(format_args!(
            "{},{},{},{},{},{},{:.3},{:.1},{mean},{p99},{max},{},{},{},{},{},{},{power}",
            self.start.0,
            end.0,
            self.counts[0],
            self.counts[1],
            self.bytes[0],
            self.bytes[1],
            count as f64 / seconds,
            (self.bytes[0] + self.bytes[1]) as f64 / seconds,
            drive.in_flight(),
            flash.pages_read - before.pages_read,
            flash.pages_programmed_host - before.pages_programmed_host,
            flash.pages_programmed_moved - before.pages_programmed_moved,
            flash.pages_programmed_mapping - before.pages_programmed_mapping,
            flash.blocks_erased - before.blocks_erased,
        ))?;
        self.latencies.clear();
        (self.counts, self.bytes) = ([0; 2], [0; 2]);
        (self.start, self.flash) = (end, flash);
        self.energy = (energy.total_j, energy.seconds);
        Ok(())
    }
}
