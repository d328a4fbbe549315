//! `ssdtune trace convert`: reads traces, joins and changes them, writes one (or, split, several).

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Reading;
use crate::read_args::{ReadArgs, input_bytes, open_path, warn_of_skipped};
use crate::units;
use clap::ValueEnum;
use serde_json::json;
use ssdtune_model::{Bytes, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::merge::{Concat, Merge, Tenants};
use ssdtune_trace::transform::Chain;
use ssdtune_trace::transform::SplitPlan;
use ssdtune_trace::transform::{ClipGaps, ScaleTime};
use ssdtune_trace::transform::{Cut, Deduplicate, Filter};
use ssdtune_trace::transform::{Dense, DenseOptions, DensePlan, Modulo};
use ssdtune_trace::writer::{OutputFormat, TraceWriter, WriteSummary};
use ssdtune_trace::{Op, Request, Source, TenantId};
use std::path::{Path, PathBuf};

/// Arguments of `trace convert`. Changes are made in the order of their headings below.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The traces; a directory stands for the per-CPU files of one blktrace, - for standard input.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// The trace to write: .ssdt, .csv or .trace (MQSim); text also with .gz, .zst, .xz, .bz2 after it.
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
    #[arg(long, value_name = "TIME", default_value = "0ns", value_parser = units::duration, help_heading = "1. Joining")]
    pause: Nanos,
    #[command(flatten)]
    select: SelectArgs,
    /// Shorten every silence to at most this.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "3. Time")]
    clip_gaps: Option<Nanos>,
    /// Multiply all times by this: 0.5 doubles the load.
    #[arg(long, value_name = "FACTOR", help_heading = "3. Time")]
    scale_time: Option<f64>,
    /// Put the addresses onto a drive: `dense` closes the holes (reads the trace twice), `modulo` folds.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "4. Addresses")]
    remap: Option<Remap>,
    /// Unit in which `dense` closes holes.
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = units::size, help_heading = "4. Addresses")]
    chunk: Bytes,
    /// Size of the drive: where `modulo` folds, and what `dense` must fit.
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "4. Addresses")]
    capacity: Option<Bytes>,
    /// Write parts by time, such as 70/20/10, as OUT with -1, -2, ... before the ending (reads the trace twice).
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
    /// Pass over so many requests.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Keep at most so many requests.
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

type Stream = Chain<Box<dyn Source>>;

impl SelectArgs {
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
        let any = filter.ops.is_some()
            || filter.sectors.is_some()
            || filter.addresses.is_some()
            || filter.tenants.is_some();
        any.then_some(filter)
    }

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
    /// The joined inputs.
    fn source(&self) -> Outcome<Box<dyn Source>> {
        let options = self.read.options()?;
        let sources: Vec<_> =
            self.inputs.iter().map(|path| open_path(path, &options)).collect::<Outcome<_>>()?;
        let joined: Result<Box<dyn Source>, _> = match (self.join, sources.len()) {
            (None, 1) => return Ok(sources.into_iter().next().expect("one")),
            (None, _) => {
                let problem = "several traces: say --join merge (side by side, each a tenant) or \
                               --join concat (one after the other)";
                return Err(Failure::usage(anyhow::anyhow!(problem)));
            }
            (Some(Join::Merge), _) => {
                Merge::new(sources, Tenants::PerSource).map(|s| Box::new(s) as Box<dyn Source>)
            }
            (Some(Join::Concat), _) => Concat::new(sources, Tenants::ByName, self.pause)
                .map(|s| Box::new(s) as Box<dyn Source>),
        };
        joined.map_err(Failure::usage)
    }

    /// How often the traces are read, and the progress of that.
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

    /// Everything but the remapping of addresses.
    fn stream(&self, reading: &Reading) -> Outcome<Stream> {
        let scale = self.scale_time.map(ScaleTime::new).transpose().map_err(Failure::usage)?;
        let watched: Box<dyn Source> = Box::new(reading.watch(self.source()?));
        Ok(Chain::new(watched)
            .then_if(self.select.dedupe.map(Deduplicate::new))
            .then_if(self.select.filter())
            .then_if(self.select.cut())
            .then_if(self.clip_gaps.map(ClipGaps::new))
            .then_if(scale))
    }

    /// Adds the remapping, after a pass of its own where it needs one.
    fn remapped(&self, reading: &mut Reading, context: &Context) -> Outcome<Stream> {
        match self.remap {
            None => self.stream(reading),
            Some(Remap::Modulo) => {
                let Some(capacity) = self.capacity else {
                    return Err(Failure::usage(anyhow::anyhow!("--remap modulo needs --capacity")));
                };
                let fold = Modulo::new(capacity.sectors_floor()).map_err(Failure::usage)?;
                Ok(self.stream(reading)?.then(fold))
            }
            Some(Remap::Dense) => {
                let chunk = self.chunk.sectors_floor();
                let options = DenseOptions { chunk, ..DenseOptions::default() };
                let mut first = self.stream(reading)?;
                let plan = DensePlan::of(&mut first, options).map_err(Failure::input)?;
                reading.next_pass();
                let (dense, bitmap) = (plan.sectors().bytes(), Bytes(plan.bitmap_bytes()));
                reading.aside(|| {
                    context.note(format!("dense address space {dense}, bitmap of chunks {bitmap}"));
                });
                if self.capacity.is_some_and(|capacity| dense > capacity) {
                    let capacity = self.capacity.unwrap_or_default();
                    let error = anyhow::anyhow!(
                        "the trace touches {dense}, the drive has {capacity}: take a larger drive, a part of the \
                         trace, or --remap modulo"
                    );
                    return Err(Failure::input(error));
                }
                Ok(self.stream(reading)?.then(Dense(plan)))
            }
        }
    }

    fn output_format(&self) -> Outcome<OutputFormat> {
        match self.to {
            Some(To::Ssdt) => Ok(OutputFormat::Ssdt),
            Some(To::Csv) => Ok(OutputFormat::Csv),
            Some(To::Mqsim) => Ok(OutputFormat::Mqsim),
            None => OutputFormat::of_name(&self.output).map_err(Failure::usage),
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

/// Reads `source` to its end into `write`.
fn pump(source: &mut Stream, mut write: impl FnMut(&[Request]) -> Outcome) -> Outcome {
    let interrupt = Deferred::new();
    let mut batch = Vec::new();
    loop {
        interrupt.check()?;
        batch.clear();
        if source.fill(&mut batch).map_err(Failure::input)? == 0 {
            return Ok(());
        }
        write(&batch)?;
    }
}

fn work(error: ssdtune_trace::TraceError) -> Failure {
    Failure::Work(error.into())
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

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let format = args.output_format()?;
    let mut reading = args.reading(context)?;
    let mut source = args.remapped(&mut reading, context)?;
    let (paths, plan) = match &args.split {
        None => (vec![args.output.clone()], None),
        Some(shares) => {
            let shares = shares.split('/').map(|share| share.trim().parse().unwrap_or(0));
            let shares: Vec<u32> = shares.collect();
            SplitPlan::new(Nanos::ZERO, &shares).map_err(Failure::usage)?;
            let mut first = args.stream(&reading)?;
            let plan = SplitPlan::of(&mut first, &shares).map_err(Failure::input)?;
            reading.next_pass();
            let paths = (1..=plan.parts()).map(|part| part_path(&args.output, part)).collect();
            (paths, Some(plan))
        }
    };
    let mut writers = paths
        .iter()
        .map(|path| TraceWriter::create(path, format).map_err(work))
        .collect::<Outcome<Vec<_>>>()?;
    let pumped = pump(&mut source, |batch| {
        let Some(plan) = &plan else { return writers[0].write(batch).map_err(work) };
        let mut outcome = Ok(());
        plan.cut(batch, |part, requests| {
            if outcome.is_ok() {
                outcome = writers[part].write(&requests).map_err(work);
            }
        });
        outcome
    });
    reading.finish();
    pumped?;
    warn_of_skipped(&source.read_stats(), context);
    let (origin_ns, names) = (source.origin_ns(), source.tenant_names());
    let finished = paths
        .iter()
        .zip(writers)
        .map(|(path, writer)| Ok((path, writer.finish(origin_ns, &names).map_err(work)?)))
        .collect::<Outcome<Vec<_>>>()?;
    report(&finished, context)
}
