//! Workloads as the command line names them: trace files, or bundled models by name.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::read_args::{ReadArgs, first_requests, warn_of};
use anyhow::anyhow;
use ssdtune_trace::Request;
use ssdtune_trace::workload::{Generator, Seed, SeedSet, bundled};
use ssdtune_tune::cluster::WINDOW_REQUESTS;
use std::path::Path;

/// Windows that are generated of a model without --windows.
const MODEL_WINDOWS: usize = 40;
/// Most windows that are read of a trace without --windows.
const TRACE_WINDOWS_MAX: usize = 1_000;

/// How much of a workload to read, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// Windows of 3,000 requests to generate of a model (default 40), or most windows to read of a
    /// trace (default 1,000).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    windows: Option<u32>,

    /// Which of the three disjoint sets of seeds models use: training, validation or held-out.
    #[arg(long, value_name = "SET", default_value = "training")]
    seed_set: SeedSet,

    #[command(flatten)]
    read: ReadArgs,
}

/// A workload to read, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceName {
    /// The category that it is said to be of.
    pub(crate) category: Option<String>,
    /// A trace file, or the name of a bundled model.
    pub(crate) source: String,
}

impl std::str::FromStr for SourceName {
    type Err = String;

    /// Reads `SOURCE` or `CATEGORY=SOURCE`. A text with = in it is a path if the part before = can
    /// be no name.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = |name: &str| !name.is_empty() && !name.contains(['/', '\\', '.']);
        let (category, source) = match text.split_once('=') {
            Some((category, source)) if named(category) => (Some(category.to_owned()), source),
            _ => (None, text),
        };
        if source.is_empty() {
            return Err("write a trace file or a bundled model, or CATEGORY= and one".to_owned());
        }
        Ok(Self { category, source: source.to_owned() })
    }
}

impl SourceName {
    /// The name of the workload: that of the model, or that of the file up to its first dot.
    pub(crate) fn name(&self) -> String {
        if self.is_file() {
            let path = Path::new(&self.source);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return match name.split('.').find(|part| !part.is_empty()) {
                Some(stem) => stem.chars().map(legal).collect(),
                None => name,
            };
        }
        let Ok(model) = bundled(&self.source) else { return self.source.clone() };
        let Some((_, variant)) = self.source.split_once('@') else { return model.name };
        format!("{}@{variant}", model.name.split('@').next().unwrap_or_default())
    }

    fn is_file(&self) -> bool {
        self.source == "-" || Path::new(&self.source).exists()
    }

    /// Reads or generates its requests, whole windows of them.
    pub(crate) fn read(&self, args: &SourceArgs, context: &Context) -> Outcome<Vec<Request>> {
        let windows = args.windows.map(|windows| windows as usize);
        if self.is_file() {
            let mut source = args.read.open(Path::new(&self.source), context)?.source;
            let most = windows.unwrap_or(TRACE_WINDOWS_MAX);
            let requests = first_requests(&mut *source, most * WINDOW_REQUESTS)?;
            warn_of(&source.read_stats(), context);
            return Ok(requests);
        }
        let path_like = self.source.contains(['/', '\\', '.']);
        let model = bundled(&self.source).map_err(|error| {
            Failure::usage(match path_like {
                true => anyhow!("{}: no such file", self.source),
                false => anyhow!("{}: {error}", self.source),
            })
        })?;
        let seed = Seed { set: args.seed_set, index: context.seed().unwrap_or(0) };
        let generator = Generator::new(&model, seed).map_err(Failure::input)?;
        Ok(generator.take(windows.unwrap_or(MODEL_WINDOWS) * WINDOW_REQUESTS).collect())
    }
}

fn legal(c: char) -> char {
    if c.is_alphanumeric() || "-_@".contains(c) { c } else { '-' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        let parse = |text: &str| text.parse::<SourceName>();
        let source = |category: Option<&str>, source: &str| {
            Ok(SourceName { category: category.map(str::to_owned), source: source.to_owned() })
        };
        assert_eq!(parse("websearch"), source(None, "websearch"));
        assert_eq!(parse("reads=a/b.csv"), source(Some("reads"), "a/b.csv"));
        assert_eq!(parse("./a=b.csv"), source(None, "./a=b.csv"));
        assert!(parse("reads=").is_err() && parse("").is_err());
        let name = |text: &str| parse(text).expect("a source").name();
        assert_eq!(
            (name("tpcc"), name("tpcc@skew-half")),
            ("database".into(), "database@skew-half".into())
        );
        assert_eq!(name("Cargo.toml"), "Cargo");
    }
}
