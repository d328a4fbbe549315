//! The flags that say how traces are read, for all commands that read traces.

use crate::context::{Context, Level};
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use clap::Args;
use ssdtune_model::{Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::{
    ColumnSpec, Devices, Event, Format, Opened, ReadOptions, ReadStats, TimeUnit, open_input,
};
use std::path::Path;

/// How to read traces.
#[derive(Args, Debug)]
pub(crate) struct ReadArgs {
    /// Format of the trace; `ssdtune trace formats` lists them. Default: the format is found by the
    /// content.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    format: String,
    /// Skip what cannot be read, count it and report it at the end, instead of stopping.
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    strict: StrictArg,
    /// Unit of the times (ns, filetime, us, ms, s), if it is not the format's own.
    #[arg(long, value_name = "UNIT")]
    time_unit: Option<String>,
    /// Read only these devices (names with ; between them). Each becomes a tenant, in this order.
    #[arg(long, value_name = "NAMES", value_delimiter = ';', conflicts_with = "merge_devices")]
    devices: Vec<String>,
    /// Take all devices for one.
    #[arg(long)]
    merge_devices: bool,
    /// The event that counts as arrival, in traces that record several: D (handed to the driver), Q
    /// (handed to the block layer), C (completed), or auto: D if the trace has it, else Q, else C.
    #[arg(long, value_name = "EVENT", default_value = "auto")]
    event: Event,
    /// Columns of a delimited text, counted from 0: time=0:s,op=2,lba=3,size=4:sectors.
    #[arg(long, value_name = "SPEC")]
    columns: Option<String>,
    /// Delimiter of --columns: one character. A blank stands for any number of blanks.
    #[arg(long, value_name = "CHAR", default_value = ",", requires = "columns")]
    delimiter: String,
    /// How many rows later than its place by time a request may stand.
    #[arg(long, value_name = "ROWS", default_value_t = 65_536, value_parser = whole::<usize>(..))]
    reorder_window: usize,
    /// The longest plausible silence. A time stamp after a longer one counts as damaged.
    #[arg(long, value_name = "TIME", default_value = "8784h")]
    max_gap: Nanos,
    /// End of the address space. A request beyond it is an error.
    #[arg(long, value_name = "SIZE")]
    address_limit: Option<ssdtune_model::Bytes>,
    /// A compressed file that expands to more than N times its size is refused.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = whole::<u64>(..))]
    max_expansion: u64,
}

/// The flag of all commands that read traces, with or without [`ReadArgs`].
#[derive(Args, Clone, Debug)]
pub(crate) struct StrictArg {
    /// Refuse a trace in which a request is more than a minute earlier than one before it. Without
    /// this flag such requests are sorted in, with a warning.
    #[arg(long)]
    strict: bool,
}

impl StrictArg {
    /// Refuses the flag where no trace file is read.
    pub(crate) fn needs(&self, has_file: bool) -> Outcome {
        let wrong = || Failure::usage(anyhow!("--strict is about trace files; none is given"));
        (!self.strict || has_file).then_some(()).ok_or_else(wrong)
    }

    /// The defaults, and what this flag and -v ask for.
    pub(crate) fn options(&self, context: &Context) -> ReadOptions {
        let show_content = context.level() >= Level::Verbose;
        ReadOptions { strict: self.strict, show_content, ..ReadOptions::default() }
    }
}

impl ReadArgs {
    /// The options that the flags ask for.
    pub(crate) fn options(&self, context: &Context) -> Outcome<ReadOptions> {
        let format = match self.format.as_str() {
            "auto" => None,
            name => Some(Format::parse(name).map_err(Failure::usage)?),
        };
        let given = &self.delimiter;
        let no_delimiter = || anyhow!("--delimiter {given:?}: not one ASCII character");
        let columns = self.columns.as_ref().map(|spec| {
            let spec = ColumnSpec::parse_delimited(spec, given);
            spec.ok_or_else(no_delimiter)?.map_err(anyhow::Error::from)
        });
        let columns = columns.transpose().map_err(Failure::usage)?;
        let devices = match (self.devices.is_empty(), self.merge_devices) {
            (false, _) => Devices::Only(self.devices.clone()),
            (true, true) => Devices::Merged,
            (true, false) => Devices::Tenants,
        };
        let time_unit = self.time_unit.as_deref().map(TimeUnit::parse).transpose();
        Ok(ReadOptions {
            format,
            lenient: self.lenient,
            time_unit: time_unit.map_err(Failure::usage)?,
            devices,
            event: self.event,
            columns,
            reorder_window: self.reorder_window,
            max_gap: self.max_gap,
            capacity: self.address_limit.map(|bytes| Sectors(bytes.0 / SECTOR_BYTES)),
            max_expansion: self.max_expansion,
            ..self.strict.options(context)
        })
    }

    /// Opens a trace by its path; `-` is standard input.
    pub(crate) fn open(&self, path: &Path, context: &Context) -> Outcome<Opened> {
        open_input(path, &self.options(context)?).map_err(Failure::input)
    }
}

/// Warns of what was skipped or stands at a strange time, if anything does.
pub(crate) fn warn_of(stats: &ReadStats, context: &Context) {
    stats.warnings().iter().for_each(|warning| context.warn(warning));
}
