//! What every subcommand is given: the global flags and the two output streams.
//!
//! Results go to standard output, as text or, with `--json`, as one JSON document. Everything about
//! the run goes to standard error, so that a pipe carries results only. Nothing is printed with
//! `println!`, which panics when the reader has gone.

use crate::failure_document::FailureDocument;
use crate::global::{Color, Global};
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::program;
use anstream::{AutoStream, ColorChoice};
use anyhow::anyhow;
use serde::Serialize;
use ssdtune_output::OutputPlan;
use ssdtune_pages::{Origin, Shown, page_of};
use ssdtune_report::{Page, Text};
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Threads that each processor gets at most. The work is computation, so that one is enough; each
/// further one takes its stack and, in a sweep or a search, the memory of a simulated drive.
const THREADS_EACH: usize = 4;

/// The global flags and the output streams of one run.
pub(crate) struct Context {
    json: bool,
    threads: Cell<usize>,
    seed: Option<u64>,
    level: Level,
    out: RefCell<BufWriter<AutoStream<Stdout>>>,
    /// Whether a document was printed.
    documented: Cell<bool>,
    plan: RefCell<OutputPlan>,
    /// The page that is to be written, until it is.
    report: RefCell<Option<OutFile>>,
    /// What was warned of so far, for the page.
    warned: RefCell<Vec<String>>,
}

/// How much to say on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Failures only.
    Quiet,
    /// Warnings and progress.
    Normal,
    /// `-v`: what was decided on the way, too.
    Verbose,
    /// `-vv`: where the time went, too.
    Debug,
}

impl Context {
    /// Takes the flags. The choice of colour holds for standard error too.
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        choice.write_global();
        let level = match (global.quiet, global.verbose) {
            (true, _) => Level::Quiet,
            (false, 0) => Level::Normal,
            (false, 1) => Level::Verbose,
            (false, _) => Level::Debug,
        };
        let context = Self {
            json: global.json,
            threads: Cell::new(0),
            seed: global.seed,
            level,
            out: RefCell::new(BufWriter::new(AutoStream::new(std::io::stdout(), choice))),
            documented: Cell::new(false),
            plan: RefCell::default(),
            report: RefCell::new(global.report.clone()),
            warned: RefCell::default(),
        };
        context.threads.set(context.allowed_threads(global.threads));
        context
    }

    /// As many threads as are asked for, at most [`THREADS_EACH`] for each processor; by default
    /// one for each.
    fn allowed_threads(&self, asked: Option<usize>) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let asked = asked.unwrap_or(processors);
        let most = processors * THREADS_EACH;
        if asked > most {
            self.warn(format_args!(
                "--threads {asked}: working with {most}, {THREADS_EACH} for each of the \
                 {processors} processors; more take memory and make nothing faster"
            ));
        }
        asked.min(most)
    }

    /// Takes what the arguments read and write.
    pub(crate) fn enter(&self, plan: OutputPlan) {
        *self.plan.borrow_mut() = plan;
    }

    /// Enters a file that is read and that no argument names.
    pub(crate) fn will_read(&self, flag: &str, path: &Path) -> Outcome {
        self.plan.borrow_mut().reads(flag, path).map_err(outputs::failure)
    }

    /// Enters a file that will be written, and refuses what must not or cannot be.
    pub(crate) fn will_write(&self, flag: &str, path: &Path) -> Outcome {
        self.plan.borrow_mut().writes(flag, path).map_err(outputs::failure)
    }

    /// Enters files that will be written, which may exist because this command has made them.
    pub(crate) fn will_replace(
        &self,
        flag: &str,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Outcome {
        let mut plan = self.plan.borrow_mut();
        paths.into_iter().try_for_each(|path| plan.continues(flag, &path)).map_err(outputs::failure)
    }

    /// Enters files that will be written into a directory.
    pub(crate) fn will_write_into<N: AsRef<Path>>(
        &self,
        flag: &str,
        directory: &Path,
        names: impl IntoIterator<Item = N>,
    ) -> Outcome {
        self.plan.borrow_mut().writes_into(flag, directory, names).map_err(outputs::failure)
    }

    /// Says which files were written.
    pub(crate) fn say_written(&self) {
        let plan = self.plan.borrow();
        match &*plan.files_written() {
            [first, _, _, _, _, rest @ ..] if !rest.is_empty() => {
                let more = rest.len() + 4;
                self.note(format_args!("wrote {} and {more} other files", first.display()));
            }
            files => {
                files.iter().for_each(|one| self.note(format_args!("wrote {}", one.display())))
            }
        }
    }

    /// Whether results are printed as JSON.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Works with this number of threads from now on: where others do the work, a thread here only
    /// waits for them.
    pub(crate) fn wait_on(&self, threads: usize) {
        self.threads.set(threads.max(1));
    }

    /// Threads to work with.
    pub(crate) fn pool(&self) -> Outcome<rayon::ThreadPool> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(self.threads.get());
        builder.build().map_err(|error| Failure::Work(error.into()))
    }

    /// The seed given on the command line.
    pub(crate) const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// How much to say on standard error.
    pub(crate) const fn level(&self) -> Level {
        self.level
    }

    /// Writes a page of the result, if one is asked for and not written yet.
    pub(crate) fn report(&self, page: impl FnOnce() -> Page) -> Outcome {
        let path = self.report.borrow_mut().take();
        path.map_or(Ok(()), |path| self.page(&path, page()))
    }

    /// Writes a page, with where it comes from at its end.
    pub(crate) fn page(&self, path: &Path, mut page: Page) -> Outcome {
        let (program, command) = (&*program::simulator(), &*program::command_line());
        let (seed, plan) = (self.seed, self.plan.borrow());
        if !self.warned.borrow().is_empty() {
            page.heading("Warnings of the run").list(self.warned.borrow().iter());
        }
        Origin { program, command, seed, inputs: plan.files_read() }.add_to(&mut page);
        outputs::write(path, page.to_html())
    }

    /// Refuses a page that was asked for where there is no result to show.
    pub(crate) fn no_report(&self) -> Outcome {
        let wrong = || Failure::usage(anyhow!("--report: this command has no result to show"));
        self.report.borrow().as_ref().map_or(Ok(()), |_| Err(wrong()))
    }

    /// Writes the page of a result, if one is asked for.
    pub(crate) fn show_page(&self, document: &impl Serialize) -> Outcome {
        let is_asked = self.report.borrow().is_some();
        let shown = is_asked.then(|| serde_json::to_value(document)).transpose()?;
        let Some(shown) = shown.map(|document| Shown::new("", document)) else { return Ok(()) };
        self.report(|| page_of(&[shown.with_series()]))
    }

    /// Prints results: `document` as JSON if that is asked for, otherwise `text`; and writes their
    /// page.
    pub(crate) fn show(&self, document: &impl Serialize, text: impl Into<Text>) -> Outcome {
        self.show_page(document)?;
        if self.json { self.document(document) } else { self.text(text) }
    }

    /// Prints lines and tables. On a terminal, tables are as wide as it is.
    pub(crate) fn text(&self, text: impl Into<Text>) -> Outcome {
        let mut text = text.into();
        if let Some((width, _)) = terminal_size::terminal_size_of(std::io::stdout()) {
            text.wrap_at(width.0);
        }
        Ok(write!(self.out.borrow_mut(), "{text}")?)
    }

    /// Prints a line of the result.
    pub(crate) fn line(&self, text: impl Display) -> Outcome {
        Ok(writeln!(self.out.borrow_mut(), "{text}")?)
    }

    /// Prints bytes of the result as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Outcome {
        Ok(self.out.borrow_mut().write_all(bytes)?)
    }

    /// Prints the whole result as one JSON document.
    pub(crate) fn document(&self, value: &impl Serialize) -> Outcome {
        self.documented.set(true);
        let mut out = self.out.borrow_mut();
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(writeln!(out)?)
    }

    /// Prints a failure as a JSON document, if that is asked for and there is no document yet.
    pub(crate) fn tell(&self, failure: &Failure) -> Outcome {
        match FailureDocument::of(failure) {
            Some(document) if self.json && !self.documented.get() => self.document(&document),
            _ => Ok(()),
        }
    }

    /// Says something about the run on standard error, unless `--quiet` forbids it.
    pub(crate) fn note(&self, text: impl Display) {
        self.notes()(&text.to_string());
    }

    /// [`Self::note`] for other threads.
    pub(crate) fn notes(&self) -> impl Fn(&str) + Sync + Send + use<> {
        let quiet = self.level == Level::Quiet;
        move |text| {
            if !quiet {
                anstream::eprintln!("{text}")
            }
        }
    }

    /// Warns on standard error, unless `--quiet` forbids it.
    pub(crate) fn warn(&self, text: impl Display) {
        self.warned.borrow_mut().push(text.to_string());
        if self.level > Level::Quiet {
            let yellow = anstyle::AnsiColor::Yellow.on_default().bold();
            anstream::eprintln!("{yellow}warning:{yellow:#} {text}");
        }
    }

    /// Hands everything printed so far to the reader.
    pub(crate) fn flush(&self) -> Outcome {
        Ok(self.out.borrow_mut().flush()?)
    }
}
