//! What a program will read and write, checked before it opens anything.

use crate::file::beside;
use crate::place::{FilePlace, Identity, Place};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The files that a program will read and write, each with the flag that names it.
///
/// Files are compared by what they are, not by their names: links lead to the same file.
#[derive(Debug, Default)]
pub struct OutputPlan {
    replace: bool,
    inputs: HashMap<Identity, String>,
    read: Vec<PathBuf>,
    /// Streams that are read, which gives what they hold once only. `None` stands for a standard
    /// input of which the system says nothing.
    streams: HashMap<Option<Identity>, String>,
    /// Directories that are read as a whole.
    folders: Vec<(PathBuf, String)>,
    outputs: HashMap<Key, String>,
    written: Vec<PathBuf>,
    /// Directories in which a file could be made.
    writable: HashSet<PathBuf>,
}

/// What two outputs must not share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// A file that exists.
    File(Identity),
    /// A place where there is none yet.
    Place(PathBuf, OsString),
}

/// Why a file must not be written, or a stream not be read.
#[derive(Debug, thiserror::Error)]
pub enum Conflict {
    /// It is a file that the program reads.
    #[error(
        "{output} {}: {input} reads this file, and writing would destroy it; name another file",
        .path.display()
    )]
    Input {
        /// The flag of the output.
        output: String,
        /// The flag of the input.
        input: String,
        /// The path of the output.
        path: PathBuf,
    },
    /// Another output is the same file.
    #[error("{output} {}: {other} writes the same file; name another file", .path.display())]
    Twice {
        /// The flag of the output.
        output: String,
        /// The flag of the other output.
        other: String,
        /// The path of the output.
        path: PathBuf,
    },
    /// It is standard input or a pipe, and is read already.
    #[error(
        "{input} {}: it is asked for twice and can be read once only ({other} reads it too); write \
         it to a file first",
        .path.display()
    )]
    ReadTwice {
        /// The flag of the input.
        input: String,
        /// The flag of the other input.
        other: String,
        /// The path of the input.
        path: PathBuf,
    },
    /// It exists.
    #[error(
        "{output} {}: the file exists; --force replaces it, or name another file",
        .path.display()
    )]
    Exists {
        /// The flag of the output.
        output: String,
        /// The path of the output.
        path: PathBuf,
    },
    /// It is to grow from run to run, and is a device or a pipe.
    #[error("{output} {}: a device or a pipe cannot be continued; name a file", .path.display())]
    NoFile {
        /// The flag of the output.
        output: String,
        /// The path of the output.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("{output} {}: cannot write there: {source}", .path.display())]
    Unwritable {
        /// The flag of the output.
        output: String,
        /// The path of the output.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Conflict {
    /// The path of the output, or of the stream.
    pub fn path(&self) -> &Path {
        match self {
            Self::Input { path, .. }
            | Self::ReadTwice { path, .. }
            | Self::Twice { path, .. }
            | Self::Exists { path, .. }
            | Self::NoFile { path, .. }
            | Self::Unwritable { path, .. } => path,
        }
    }

    /// Whether the place exists and the system does not let us write there, so that the words of
    /// the command line are right.
    pub fn is_of_the_system(&self) -> bool {
        let Self::Unwritable { source, .. } = self else { return false };
        let named_wrongly =
            [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::IsADirectory];
        !named_wrongly.contains(&source.kind())
    }
}

impl OutputPlan {
    /// A plan in which no file that exists is replaced.
    pub fn new() -> Self {
        Self::default()
    }

    /// A plan in which files that exist may be replaced (`--force`), though never an input.
    pub fn replacing() -> Self {
        Self { replace: true, ..Self::default() }
    }

    /// The files that are read, in the order in which they were entered.
    pub fn files_read(&self) -> &[PathBuf] {
        &self.read
    }

    /// The files of the plan to be written that are there now, in the order in which they were
    /// entered.
    pub fn files_written(&self) -> Vec<&Path> {
        self.written.iter().map(PathBuf::as_path).filter(|path| path.is_file()).collect()
    }

    /// Enters a file or a directory that `flag` reads. What is not there is left to whoever opens
    /// it; devices and pipes lose nothing.
    ///
    /// # Errors
    /// It is an output.
    pub fn reads(&mut self, flag: &str, path: &Path) -> Result<(), Conflict> {
        let Ok(about) = fs::metadata(path) else { return Ok(()) };
        if about.is_dir() {
            if let Ok(folder) = fs::canonicalize(path) {
                self.folders.push((folder, flag.to_owned()));
            }
        } else if about.is_file() {
            let identity = Identity::of(path, &about);
            if let Some(output) = self.outputs.get(&Key::File(identity.clone())) {
                let (output, input, path) = (output.clone(), flag.to_owned(), path.to_path_buf());
                return Err(Conflict::Input { output, input, path });
            }
            self.inputs.insert(identity, flag.to_owned());
            self.read.push(path.to_path_buf());
        }
        Ok(())
    }

    /// Enters what an argument names to be read, `-` for standard input. A stream can be entered
    /// once.
    ///
    /// # Errors
    /// It is an output, or a stream that was entered before.
    pub fn reads_argument(&mut self, flag: &str, path: &Path) -> Result<(), Conflict> {
        let is_standard_input = path == Path::new("-");
        let place = if is_standard_input { Path::new("/dev/stdin") } else { path };
        let about = fs::metadata(place).ok();
        if is_standard_input || about.as_ref().is_some_and(is_stream) {
            let identity = about.map(|about| Identity::of(place, &about));
            if let Some(other) = self.streams.insert(identity, flag.to_owned()) {
                let (input, path) = (flag.to_owned(), path.to_path_buf());
                return Err(Conflict::ReadTwice { input, other, path });
            }
        }
        self.reads(flag, place)
    }

    /// Enters a file that is open for writing already, such as the one that standard output goes
    /// into. It may exist.
    ///
    /// # Errors
    /// It is an input or another output.
    pub fn holds(&mut self, flag: &str, path: &Path) -> Result<(), Conflict> {
        let Some(about) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
            return Ok(());
        };
        let identity = Identity::of(path, &about);
        self.not_an_input(flag, path, &identity)?;
        self.enter(flag, path, Key::File(identity))
    }

    /// Enters a file that `flag` writes.
    ///
    /// # Errors
    /// It is an input or another output, exists and may not be replaced, or cannot be written.
    pub fn writes(&mut self, flag: &str, path: &Path) -> Result<(), Conflict> {
        match place(flag, path)? {
            Place::Special => Ok(()),
            // If it is a file, it was begun already, by whoever opened it.
            Place::Descriptor => match fs::metadata(path).ok().filter(fs::Metadata::is_file) {
                Some(about) => self.not_an_input(flag, path, &Identity::of(path, &about)),
                None => Ok(()),
            },
            Place::File(place) => self.writes_file(flag, path, &place, self.replace),
        }
    }

    /// Enters a file that `flag` begins, or goes on with if it is there ([`LineFile`]).
    ///
    /// [`LineFile`]: crate::LineFile
    ///
    /// # Errors
    /// It is an input or another output, is no file, or cannot be written.
    pub fn continues(&mut self, flag: &str, path: &Path) -> Result<(), Conflict> {
        match place(flag, path)? {
            Place::File(place) => self.writes_file(flag, path, &place, true),
            Place::Special | Place::Descriptor => {
                Err(Conflict::NoFile { output: flag.to_owned(), path: path.to_path_buf() })
            }
        }
    }

    /// Enters files that `flag` writes into a directory, which is made later if need be.
    ///
    /// # Errors
    /// As for [`writes`](Self::writes), or no such directory can be made.
    pub fn writes_into<N: AsRef<Path>>(
        &mut self,
        flag: &str,
        folder: &Path,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), Conflict> {
        let mut there = folder;
        while !there.exists() {
            there = match there.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
        }
        let made = there.is_dir().then_some(()).ok_or_else(|| {
            let text = format!("{} is no directory", there.display());
            io::Error::new(ErrorKind::NotADirectory, text)
        });
        made.and_then(|()| self.probe(there)).map_err(unwritable(flag, folder))?;
        if there == folder {
            return names.into_iter().try_for_each(|name| self.writes(flag, &folder.join(name)));
        }
        let absolute = std::path::absolute(folder).map_err(unwritable(flag, folder))?;
        names.into_iter().try_for_each(|name| {
            let key = Key::Place(absolute.clone(), name.as_ref().into());
            self.written.push(folder.join(&name));
            self.enter(flag, &folder.join(&name), key)
        })
    }

    fn writes_file(
        &mut self,
        flag: &str,
        path: &Path,
        place: &FilePlace,
        replace: bool,
    ) -> Result<(), Conflict> {
        let key = match &place.existing {
            None => Key::Place(place.folder.clone(), place.name.clone()),
            Some(about) => {
                self.not_an_input(flag, path, &about.identity)?;
                if let Some((_, input)) =
                    self.folders.iter().find(|(folder, _)| place.folder.starts_with(folder))
                {
                    return Err(is_input(flag, input, path));
                }
                Key::File(about.identity.clone())
            }
        };
        self.enter(flag, path, key)?;
        self.written.push(path.to_path_buf());
        if place.existing.is_some() && !replace {
            return Err(Conflict::Exists { output: flag.to_owned(), path: path.to_path_buf() });
        }
        self.probe(&place.folder).map_err(unwritable(flag, path))
    }

    fn not_an_input(&self, flag: &str, path: &Path, identity: &Identity) -> Result<(), Conflict> {
        self.inputs.get(identity).map_or(Ok(()), |input| Err(is_input(flag, input, path)))
    }

    fn enter(&mut self, flag: &str, path: &Path, key: Key) -> Result<(), Conflict> {
        match self.outputs.insert(key, flag.to_owned()) {
            None => Ok(()),
            Some(other) => {
                let (output, path) = (flag.to_owned(), path.to_path_buf());
                Err(Conflict::Twice { output, other, path })
            }
        }
    }

    /// Finds out whether a file can be made in a directory, by making one.
    fn probe(&mut self, folder: &Path) -> io::Result<()> {
        if !self.writable.contains(folder) {
            beside(folder)?.close()?;
            self.writable.insert(folder.to_path_buf());
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_stream(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    about.file_type().is_fifo() || about.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_stream(_: &fs::Metadata) -> bool {
    false
}

fn place(flag: &str, path: &Path) -> Result<Place, Conflict> {
    Place::of(path).map_err(unwritable(flag, path))
}

fn is_input(flag: &str, input: &str, path: &Path) -> Conflict {
    let (output, input, path) = (flag.to_owned(), input.to_owned(), path.to_path_buf());
    Conflict::Input { output, input, path }
}

fn unwritable(flag: &str, path: &Path) -> impl FnOnce(io::Error) -> Conflict {
    let (output, path) = (flag.to_owned(), path.to_path_buf());
    |source| Conflict::Unwritable { output, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precious(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, name).unwrap();
        path
    }

    #[test]
    fn an_input_is_no_output_by_whatever_name_and_in_whatever_order() {
        let folder = tempfile::tempdir().unwrap();
        let input = precious(folder.path(), "in");
        fs::create_dir(folder.path().join("deep")).unwrap();
        let mut names = vec![input.clone(), folder.path().join("deep/../in")];
        #[cfg(unix)]
        {
            let (soft, hard) = (folder.path().join("soft"), folder.path().join("hard"));
            std::os::unix::fs::symlink("in", &soft).unwrap();
            fs::hard_link(&input, &hard).unwrap();
            names.extend([soft, hard]);
        }
        for name in &names {
            let mut plan = OutputPlan::replacing();
            plan.reads("--trace", &input).unwrap();
            let error = plan.writes("--log", name).unwrap_err();
            assert!(matches!(error, Conflict::Input { .. }), "{error}");
            for word in ["--log", "--trace", "name another file"] {
                assert!(error.to_string().contains(word), "{error}");
            }
            assert!(matches!(plan.continues("--out", name), Err(Conflict::Input { .. })));
            let mut plan = OutputPlan::replacing();
            plan.writes("--log", name).unwrap();
            assert!(matches!(plan.reads("--trace", &input), Err(Conflict::Input { .. })));
        }
    }

    #[test]
    fn what_lies_in_a_directory_that_is_read_is_an_input_too() {
        let folder = tempfile::tempdir().unwrap();
        let inside = precious(folder.path(), "blktrace.0");
        let mut plan = OutputPlan::replacing();
        plan.reads("IN", folder.path()).unwrap();
        assert!(matches!(plan.writes("--output", &inside), Err(Conflict::Input { .. })));
        plan.writes("--output", &folder.path().join("new")).unwrap();
    }

    #[test]
    fn two_outputs_are_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("x");
        let mut plan = OutputPlan::new();
        plan.writes("--log", &new).unwrap();
        let error = plan.writes("--series", &folder.path().join("./x")).unwrap_err();
        assert!(matches!(&error, Conflict::Twice { other, .. } if other == "--log"), "{error}");
        let old = precious(folder.path(), "old");
        let mut plan = OutputPlan::replacing();
        plan.holds("standard output", &old).unwrap();
        assert!(matches!(plan.writes("--log", &old), Err(Conflict::Twice { .. })));
    }

    #[test]
    fn what_exists_is_replaced_only_if_asked_for_and_continued_if_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let old = precious(folder.path(), "old");
        let error = OutputPlan::new().writes("-o", &old).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
        OutputPlan::replacing().writes("-o", &old).unwrap();
        OutputPlan::new().continues("-o", &old).unwrap();
        let into =
            |plan: &mut OutputPlan, name: &str| plan.writes_into("-o", folder.path(), [name]);
        assert!(matches!(into(&mut OutputPlan::new(), "old"), Err(Conflict::Exists { .. })));
        into(&mut OutputPlan::new(), "new").unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "a plan leaves nothing behind");
    }

    #[test]
    fn places_where_nothing_can_be_written_are_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = precious(folder.path(), "file");
        let mut plan = OutputPlan::new();
        let missing = plan.writes("-o", &folder.path().join("missing/out")).unwrap_err();
        assert!(missing.to_string().contains("there is no directory"), "{missing}");
        let below = plan.writes_into("--out", &file.join("deep/er"), ["x"]).unwrap_err();
        for error in [missing, below, plan.writes("-o", folder.path()).unwrap_err()] {
            assert!(matches!(error, Conflict::Unwritable { .. }), "{error}");
            assert!(!error.is_of_the_system());
        }
        let deep = folder.path().join("new/deep");
        plan.writes_into("--out", &deep, ["x"]).unwrap();
        let twice = plan.writes_into("--plots", &deep, ["y", "x"]);
        assert!(matches!(twice, Err(Conflict::Twice { .. })));
        assert!(!folder.path().join("new").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_stream_is_read_once_and_a_file_or_a_device_as_often_as_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let file = precious(folder.path(), "file");
        let mut plan = OutputPlan::new();
        for path in [&file, &file, Path::new("/dev/null"), Path::new("/dev/null")] {
            plan.reads_argument("--trace", path).unwrap();
        }
        plan.reads_argument("--trace", Path::new("-")).unwrap();
        let twice = plan.reads_argument("FILE", Path::new("-")).unwrap_err();
        assert!(matches!(twice, Conflict::ReadTwice { .. }), "{twice}");
        assert!(twice.to_string().starts_with("FILE -: it is asked for twice"), "{twice}");
        assert!(!twice.is_of_the_system());
    }

    #[cfg(unix)]
    #[test]
    fn devices_pass_though_not_where_a_file_is_to_grow() {
        let mut plan = OutputPlan::new();
        plan.reads("--trace", Path::new("/dev/null")).unwrap();
        for path in ["/dev/null", "/dev/null"].map(Path::new) {
            plan.writes("--log", path).unwrap();
            assert!(matches!(plan.continues("--out", path), Err(Conflict::NoFile { .. })));
        }
    }
}
