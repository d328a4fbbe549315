//! `ssdtune config convert`: from TOML to MQSim's XML and back, or a TOML file edited.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use clap::ValueEnum;
use serde::Serialize;
use ssdtune_model::source::Format;
use std::path::{Path, PathBuf};

/// Arguments of `ssdtune config convert`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A preset, a TOML file or an MQSim XML file. What a file is, is found by its content.
    #[arg(value_name = "DEVICE")]
    device: String,

    /// The form to convert to. Default: the other one.
    #[arg(long, value_enum)]
    to: Option<Target>,

    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutFile>,

    #[command(flatten)]
    overrides: Overrides,
}

/// A form of configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// The form of ssdtune. Comments of a TOML file stay.
    Toml,
    /// MQSim's ssdconfig.xml.
    Xml,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    notes: Vec<String>,
    text: Option<String>,
    output: Option<PathBuf>,
}

/// Converts. What the other form cannot say is told on standard error.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let loaded = device::load(&args.device, &args.overrides, context)?;
    let other = if loaded.format == Format::Foreign { Target::Toml } else { Target::Xml };
    let mut notes = loaded.notes.clone();
    let text = match args.to.unwrap_or(other) {
        Target::Toml => device::as_toml(&loaded, false, &args.overrides.pairs(context))?,
        Target::Xml => {
            let written =
                ssdtune_mqsim::write_device(&loaded.config).map_err(|f| Failure::Work(f.into()))?;
            notes.extend(written.notes);
            written.value
        }
    };
    if let Some(path) = &args.output {
        outputs::write(path, &text)?;
    }
    if context.json() {
        let output = args.output.as_deref().map(Path::to_path_buf);
        let text = output.is_none().then_some(text);
        return context.document(&Report { notes, text, output });
    }
    for note in notes {
        context.note(format_args!("note: {note}"));
    }
    match args.output {
        Some(_) => Ok(()),
        None => context.raw(text.as_bytes()),
    }
}
