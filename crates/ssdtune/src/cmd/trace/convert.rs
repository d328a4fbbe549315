//! `ssdtune trace convert`: reads traces, joins and changes them, writes one trace or its parts.

use crate::context::{Context, Level};
use crate::global::{one_of, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutPlace;
use crate::progress::Reading;
use crate::read_args::{ReadArgs, warn_of};
use anyhow::anyhow;
use ssdtune_model::{Bytes, Nanos};
use ssdtune_report::Text;
use ssdtune_trace::transform::{Cut, Filter};
use ssdtune_trace::writer::{OutputFormat, TraceWriter, WrittenFile, part_path};
use ssdtune_trace::{
    Conversion, ConversionError, Join, JoinName, Op, PartsError, ReadOptions, Remap, RemapName,
    Source, TenantId, TraceError, input_bytes, open_input,
};
use std::path::PathBuf;

/// Arguments of `ssdtune trace convert`. Changes are made in the order of their headings.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The traces. A directory stands for the per-CPU files of one blktrace, - for standard input.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// The trace to write: .ssdt, .csv or .trace (MQSim). After the latter two .gz, .zst, .xz or
    /// .bz2 may follow.
    #[arg(short, long, value_name = "OUT")]
    output: OutPlace,
    /// Format to write, if the name does not say it.
    #[arg(long, value_name = "FORMAT")]
    #[arg(value_parser = one_of::<OutputFormat>(&["ssdt", "csv", "mqsim"]))]
    to: Option<OutputFormat>,
    #[command(flatten)]
    read: ReadArgs,
    /// How several traces become one: `merge` puts them side by side, each a tenant, `concat` one
    /// after the other, where devices of one name are one tenant.
    #[arg(long, value_name = "HOW", value_parser = one_of::<JoinName>(&["merge", "concat"]))]
    join: Option<JoinName>,
    /// Pause between traces that are joined with `concat`. Default: none.
    #[arg(long, value_name = "TIME", requires = "join")]
    pause: Option<Nanos>,
    #[command(flatten)]
    select: SelectArgs,
    /// Shorten every longer silence to this.
    #[arg(long, value_name = "TIME")]
    clip_gaps: Option<Nanos>,
    /// Multiply all times by this: 0.5 doubles the load.
    #[arg(long, value_name = "FACTOR")]
    scale_time: Option<f64>,
    /// Put the addresses onto a drive: `dense` numbers the chunks that are touched, without holes
    /// (the trace is read twice), `modulo` folds them at --capacity.
    #[arg(long, value_name = "HOW", value_parser = one_of::<RemapName>(&["dense", "modulo"]))]
    remap: Option<RemapName>,
    /// Unit in which `dense` closes holes. Default: 16 KiB.
    #[arg(long, value_name = "SIZE", requires = "remap")]
    chunk: Option<Bytes>,
    /// Size of the drive: `modulo` folds there, and `dense` must fit into it.
    #[arg(long, value_name = "SIZE", requires = "remap")]
    capacity: Option<Bytes>,
    /// Write parts by time into OUT with -1, -2, ... before the ending: 70/20/10, or 1/1 for two
    /// halves (shares of their sum). The trace is read twice.
    #[arg(long, value_name = "SHARES")]
    split: Option<String>,
}

/// Which requests stay.
#[derive(clap::Args, Debug)]
struct SelectArgs {
    /// Drop repeats of a request (operation, address, size) within this time, which some captures
    /// have.
    #[arg(long, value_name = "TIME")]
    dedupe: Option<Nanos>,
    /// Keep only these operations.
    #[arg(long, value_delimiter = ',', value_name = "OPS")]
    #[arg(value_parser = one_of::<Op>(&["read", "write", "trim", "flush"]))]
    ops: Vec<Op>,
    /// Keep only requests of at least this size.
    #[arg(long, value_name = "SIZE")]
    size_min: Option<Bytes>,
    /// Keep only requests of at most this size.
    #[arg(long, value_name = "SIZE")]
    size_max: Option<Bytes>,
    /// Keep only requests at or above this address.
    #[arg(long, value_name = "ADDRESS")]
    address_min: Option<Bytes>,
    /// Keep only requests that end at or below this address.
    #[arg(long, value_name = "ADDRESS")]
    address_max: Option<Bytes>,
    /// Keep only these tenants, by number.
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    tenants: Vec<u16>,
    /// Begin at this time of the trace.
    #[arg(long, value_name = "TIME")]
    start: Option<Nanos>,
    /// End before this time of the trace.
    #[arg(long, value_name = "TIME")]
    end: Option<Nanos>,
    /// Leave out the first N requests.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>(..))]
    skip: u64,
    /// Keep at most N requests.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(..))]
    count: Option<u64>,
}

impl SelectArgs {
    /// The conditions on requests, if there are any.
    fn filter(&self) -> Option<Filter> {
        let tenants = || self.tenants.iter().map(|&tenant| TenantId(tenant)).collect();
        let filter = Filter {
            ops: (!self.ops.is_empty()).then(|| self.ops.clone()),
            tenants: (!self.tenants.is_empty()).then(tenants),
            ..Filter::default()
        };
        filter
            .with_sizes(self.size_min, self.size_max)
            .with_addresses(self.address_min, self.address_max)
            .if_any()
    }

    /// The part of the trace in time and in number, if it is not all of it.
    fn cut(&self) -> Option<Cut> {
        Cut::of_parts((self.start, self.end), self.skip, self.count)
    }
}

impl Args {
    fn conversion(&self) -> Outcome<Conversion> {
        let remap = self.remap.map(|how| Remap::asked(how, self.chunk, self.capacity));
        Ok(Conversion {
            dedupe: self.select.dedupe,
            filter: self.select.filter(),
            cut: self.select.cut(),
            clip_gaps: self.clip_gaps,
            time_scale: self.scale_time,
            remap: remap.transpose().map_err(failure)?,
            split: self.split.as_deref().map(Conversion::shares),
        })
    }

    /// Opens the traces for a pass over them.
    fn traces(&self, options: &ReadOptions) -> Result<Box<dyn Source>, ConversionError> {
        let open = |path: &PathBuf| Ok(open_input(path, options)?.source);
        let sources: Result<Vec<_>, TraceError> = self.inputs.iter().map(open).collect();
        let how = self.join.map(|how| Join::asked(how, self.pause)).transpose()?;
        Join::sources(how, sources?)
    }

    /// The progress of reading the traces as often as the conversion does.
    fn reading(&self, context: &Context) -> Outcome<Reading> {
        let twice = [
            (self.remap == Some(RemapName::Dense), "--remap dense"),
            (self.split.is_some(), "--split"),
        ];
        let extra: Vec<&str> = twice.iter().filter(|t| t.0).map(|t| t.1).collect();
        let mut bytes = Some(0);
        for path in &self.inputs {
            let length = input_bytes(path);
            if let (None, Some(option)) = (length, extra.first()) {
                return Err(Failure::usage(anyhow!(
                    "{option} reads a trace twice and {} can be read once: write it to a file \
                     first",
                    path.display()
                )));
            }
            bytes = bytes.zip(length).map(|(sum, length)| sum + length);
        }
        let bytes = bytes.unwrap_or(0) * (1 + extra.len() as u64);
        Ok(Reading::new(bytes, context.level() > Level::Quiet))
    }
}

fn failure(error: ConversionError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { Failure::input(error) }
}

fn work(error: TraceError) -> Failure {
    Failure::Work(error.into())
}

/// Converts, and tells what was written.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let by_name = || OutputFormat::of_name(&args.output).map_err(Failure::usage);
    let format = args.to.map_or_else(by_name, Ok)?;
    let (conversion, options) = (args.conversion()?, args.read.options(context)?);
    let paths: Vec<PathBuf> = match &conversion.split {
        None => vec![args.output.to_path_buf()],
        Some(shares) => (1..=shares.len()).map(|part| part_path(&args.output, part)).collect(),
    };
    let mut reading = args.reading(context)?;
    paths.iter().try_for_each(|path| context.will_write("--output", path))?;
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
    let create = |path: &PathBuf| TraceWriter::create(path, format).map_err(work);
    let mut writers = paths.iter().map(create).collect::<Outcome<Vec<_>>>()?;
    let written = converted.write_parts(&mut writers, Deferred::new().flag());
    reading.finish();
    written.map_err(|error| match error {
        PartsError::Read(error) => Failure::input(error),
        PartsError::Write(error) => work(error),
        PartsError::Stopped => Failure::Interrupted,
    })?;
    let source = &converted.source;
    warn_of(&source.read_stats(), context);
    let (origin_ns, names) = (source.origin_ns(), source.tenant_names());
    let finished = paths
        .iter()
        .zip(writers)
        .map(|(path, writer)| {
            Ok(WrittenFile::new(path, writer.finish(origin_ns, &names).map_err(work)?))
        })
        .collect::<Outcome<Vec<_>>>()?;
    report(&finished, context)
}

fn report(written: &[WrittenFile], context: &Context) -> Outcome {
    let dropped: u64 = written.iter().map(|file| file.dropped).sum();
    if dropped > 0 {
        context.warn(format!("{dropped} trims and flushes left out: this format cannot say them"));
    }
    for file in written.iter().filter(|file| file.requests == 0) {
        context.warn(format!("{} holds no request: none falls into it", file.path));
    }
    let mut text = Text::new();
    written.iter().for_each(|file| _ = text.line(file));
    context.show(&written, text)
}
