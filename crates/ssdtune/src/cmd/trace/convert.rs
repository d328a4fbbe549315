//! `ssdtune trace convert`: reads traces, joins and changes them, writes one (or, split, several).

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Reading;
use crate::read_args::{ReadArgs, input_bytes, open_input, warn_of_skipped};
use crate::units;
use clap::ValueEnum;
use serde_json::json;
use ssdtune_model::{Bytes, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::transform::{Cut, Filter};
use ssdtune_trace::writer::{OutputFormat, TraceWriter, WriteSummary};
use ssdtune_trace::{
    self as trace, Conversion, ConversionError, Converted, Op, ReadOptions, Request, Source,
    TenantId, TraceError,
};
use std::path::{Path, PathBuf};

/// Arguments of `trace convert`. Changes are made in the order of their headings below.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The traces; a directory stands for the per-CPU files of one blktrace, - for standard input.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// The trace to write: .ssdt, .csv or .trace (MQSim); text also with .gz, .zst, .xz, .bz2 after
    /// it.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Format to write, where the name does not say it.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,
    #[command(flatten)]
    read: ReadArgs,
    /// How several traces become one.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "1. Joining")]
    join: Option<Join>,
    /// Pause between concatenated traces.
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "1. Joining")]
    #[arg(value_parser = units::duration)]
    pause: Nanos,
    #[command(flatten)]
    select: SelectArgs,
    /// Shorten every silence to at most this.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "3. Time")]
    clip_gaps: Option<Nanos>,
    /// Multiply all times by this: 0.5 doubles the load.
    #[arg(long, value_name = "FACTOR", help_heading = "3. Time")]
    scale_time: Option<f64>,
    /// Put the addresses onto a drive: `dense` closes the holes (reads the trace twice), `modulo`
    /// folds.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "4. Addresses")]
    remap: Option<Remap>,
    /// Unit in which `dense` closes holes.
    #[arg(long, value_name = "SIZE", default_value = "16KiB", help_heading = "4. Addresses")]
    #[arg(value_parser = units::size)]
    chunk: Bytes,
    /// Size of the drive: where `modulo` folds, and what `dense` must fit.
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "4. Addresses")]
    capacity: Option<Bytes>,
    /// Write parts by time, such as 70/20/10, as OUT with -1, -2, ... before the ending (reads the
    /// trace twice).
    #[arg(long, value_name = "SHARES", help_heading = "5. Splitting")]
    split: Option<String>,
}

/// Which requests stay.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "2. Selecting")]
struct SelectArgs {
    /// Drop repeats of a request (operation, address, size) within this time: capture artefacts.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    dedupe: Option<Nanos>,
    /// Keep only these operations.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "OPS")]
    ops: Vec<OpArg>,
    /// Keep only requests of at least this size.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    size_min: Option<Bytes>,
    /// Keep only requests of at most this size.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    size_max: Option<Bytes>,
    /// Keep only requests at or above this address.
    #[arg(long, value_name = "ADDRESS", value_parser = units::size)]
    address_min: Option<Bytes>,
    /// Keep only requests that end at or below this address.
    #[arg(long, value_name = "ADDRESS", value_parser = units::size)]
    address_max: Option<Bytes>,
    /// Keep only these tenants, by number.
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    tenants: Vec<u16>,
    /// Begin at this time of the trace.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    start: Option<Nanos>,
    /// End before this time of the trace.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    end: Option<Nanos>,
    /// Pass over the first N requests.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Keep at most N requests.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    Ssdt,
    Csv,
    Mqsim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Join {
    /// Side by side: each trace is a tenant.
    Merge,
    /// One after the other; devices of the same name are the same tenant.
    Concat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Remap {
    /// Number the touched chunks without gaps.
    Dense,
    /// Take addresses modulo --capacity.
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OpArg {
    Read,
    Write,
    Trim,
    Flush,
}

impl From<OpArg> for Op {
    fn from(op: OpArg) -> Self {
        match op {
            OpArg::Read => Self::Read,
            OpArg::Write => Self::Write,
            OpArg::Trim => Self::Trim,
            OpArg::Flush => Self::Flush,
        }
    }
}

impl SelectArgs {
    /// The conditions on requests, if there are any.
    fn filter(&self) -> Option<Filter> {
        let sectors = |bytes: Bytes| bytes.0.div_ceil(SECTOR_BYTES);
        let filter = Filter {
            ops: (!self.ops.is_empty()).then(|| self.ops.iter().map(|&op| op.into()).collect()),
            sectors: (self.size_min.is_some() || self.size_max.is_some()).then(|| {
                let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
                let end = self.size_max.map_or(u32::MAX, |b| clamp(b.0 / SECTOR_BYTES + 1));
                clamp(self.size_min.map_or(0, sectors))..end
            }),
            addresses: (self.address_min.is_some() || self.address_max.is_some()).then(|| {
                let end = self.address_max.map_or(Sectors::MAX, |b| b.sectors_floor());
                Sectors(self.address_min.map_or(0, sectors))..end
            }),
            tenants: (!self.tenants.is_empty())
                .then(|| self.tenants.iter().map(|&t| TenantId(t)).collect()),
        };
        let Filter { ops, sectors, addresses, tenants } = &filter;
        let any = ops.is_some() || sectors.is_some() || addresses.is_some() || tenants.is_some();
        any.then_some(filter)
    }

    /// The stretch of the trace, if it is not all of it.
    fn cut(&self) -> Option<Cut> {
        let any =
            self.start.is_some() || self.end.is_some() || self.skip > 0 || self.count.is_some();
        any.then(|| {
            let time = self.start.unwrap_or_default()..self.end.unwrap_or(Nanos::MAX);
            Cut::new(time, self.skip, self.count.unwrap_or(u64::MAX))
        })
    }
}

impl Args {
    fn conversion(&self) -> Outcome<Conversion> {
        let remap = match (self.remap, self.capacity) {
            (None, _) => None,
            (Some(Remap::Dense), capacity) => {
                Some(trace::Remap::Dense { chunk: self.chunk.sectors_floor(), capacity })
            }
            (Some(Remap::Modulo), Some(capacity)) => {
                Some(trace::Remap::Modulo { capacity: capacity.sectors_floor() })
            }
            (Some(Remap::Modulo), None) => {
                return Err(Failure::usage(anyhow::anyhow!("--remap modulo needs --capacity")));
            }
        };
        // What is no number is no share either, and refused as 0 is.
        let shares = |text: &String| {
            text.split('/').map(|share| share.trim().parse().unwrap_or(0)).collect()
        };
        Ok(Conversion {
            dedupe: self.select.dedupe,
            filter: self.select.filter(),
            cut: self.select.cut(),
            clip_gaps: self.clip_gaps,
            time_scale: self.scale_time,
            remap,
            split: self.split.as_ref().map(shares),
        })
    }

    /// Opens the traces for the first or the next pass.
    fn traces(&self, options: &ReadOptions) -> Result<Box<dyn Source>, ConversionError> {
        let open = |path: &PathBuf| Ok(open_input(path, options)?.source);
        let sources: Result<Vec<_>, TraceError> = self.inputs.iter().map(open).collect();
        let how = self.join.map(|join| match join {
            Join::Merge => trace::Join::Merge,
            Join::Concat => trace::Join::Concat { pause: self.pause },
        });
        trace::Join::sources(how, sources?)
    }

    /// The progress of reading the traces as often as the conversion does.
    fn reading(&self, context: &Context) -> Outcome<Reading> {
        let twice = [
            (self.remap == Some(Remap::Dense), "--remap dense"),
            (self.split.is_some(), "--split"),
        ];
        let extra: Vec<&str> = twice.iter().filter(|t| t.0).map(|t| t.1).collect();
        let mut bytes = Some(0);
        for path in &self.inputs {
            let length = input_bytes(path);
            if let (None, Some(option)) = (length, extra.first()) {
                let error = anyhow::anyhow!(
                    "{option} reads a trace twice and {} can be read once: write it to a file first",
                    path.display()
                );
                return Err(Failure::usage(error));
            }
            bytes = bytes.zip(length).map(|(sum, length)| sum + length);
        }
        let bytes = bytes.unwrap_or(0) * (1 + extra.len() as u64);
        Ok(Reading::new(bytes, context.level() > Level::Quiet))
    }

    fn output_format(&self) -> Outcome<OutputFormat> {
        match self.to {
            Some(To::Ssdt) => Ok(OutputFormat::Ssdt),
            Some(To::Csv) => Ok(OutputFormat::Csv),
            Some(To::Mqsim) => Ok(OutputFormat::Mqsim),
            None => OutputFormat::of_name(&self.output).map_err(Failure::usage),
        }
    }

    /// The files to write, one for each part.
    fn outputs(&self, converted: &Converted) -> Vec<PathBuf> {
        match &converted.split {
            None => vec![self.output.clone()],
            Some(plan) => (1..=plan.parts()).map(|part| part_path(&self.output, part)).collect(),
        }
    }
}

/// `dir/name.csv.gz` as `dir/name-2.csv.gz`.
fn part_path(path: &Path, part: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = match name.find('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name.as_str(), ""),
    };
    path.with_file_name(format!("{stem}-{part}{ending}"))
}

fn failure(error: ConversionError) -> Failure {
    match error.is_usage() {
        true => Failure::usage(error),
        false => Failure::input(error),
    }
}

fn work(error: TraceError) -> Failure {
    Failure::Work(error.into())
}

/// Converts, and says what was written.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let format = args.output_format()?;
    let mut reading = args.reading(context)?;
    let (conversion, options) = (args.conversion()?, args.read.options()?);
    let mut converted = conversion
        .open(|| {
            reading.next_pass();
            Ok(Box::new(reading.watch(args.traces(&options)?)))
        })
        .map_err(failure)?;
    if let Some(dense) = converted.dense {
        let (space, table) = (dense.space, dense.table);
        reading.aside(|| {
            context.note(format!("dense address space {space}, bitmap of chunks {table}"));
        });
    }
    let paths = args.outputs(&converted);
    let mut writers = paths
        .iter()
        .map(|path| TraceWriter::create(path, format).map_err(work))
        .collect::<Outcome<Vec<_>>>()?;
    let pumped = pump(&mut converted, &mut writers);
    reading.finish();
    pumped?;
    let source = &converted.source;
    warn_of_skipped(&source.read_stats(), context);
    let (origin_ns, names) = (source.origin_ns(), source.tenant_names());
    let finished = paths
        .iter()
        .zip(writers)
        .map(|(path, writer)| Ok((path, writer.finish(origin_ns, &names).map_err(work)?)))
        .collect::<Outcome<Vec<_>>>()?;
    report(&finished, context)
}

/// Reads the requests to their end and writes each into the file of its part.
fn pump(converted: &mut Converted, writers: &mut [TraceWriter]) -> Outcome {
    let interrupt = Deferred::new();
    let Converted { source, split, .. } = converted;
    let mut batch: Vec<Request> = Vec::new();
    loop {
        interrupt.check()?;
        batch.clear();
        if source.fill(&mut batch).map_err(Failure::input)? == 0 {
            return Ok(());
        }
        let Some(plan) = split else {
            writers[0].write(&batch).map_err(work)?;
            continue;
        };
        let mut outcome = Ok(());
        plan.cut(&batch, |part, requests| {
            if outcome.is_ok() {
                outcome = writers[part].write(&requests).map_err(work);
            }
        });
        outcome?;
    }
}

fn report(written: &[(&PathBuf, WriteSummary)], context: &Context) -> Outcome {
    let dropped: u64 = written.iter().map(|(_, summary)| summary.dropped).sum();
    if dropped > 0 {
        context.warn(format!("{dropped} trims and flushes left out: this format cannot say them"));
    }
    if context.json() {
        let parts: Vec<_> = written
            .iter()
            .map(|(path, WriteSummary { requests, dropped, bytes })| {
                let path = path.display().to_string();
                json!({ "path": path, "requests": requests, "dropped": dropped, "bytes": bytes })
            })
            .collect();
        return context.document(&parts);
    }
    for (path, WriteSummary { requests, bytes, .. }) in written {
        context.line(format!("{}: {requests} requests, {}", path.display(), Bytes(*bytes)))?;
    }
    Ok(())
}
