//! A file that appears whole or not at all.

use crate::place::{FilePlace, Place};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile};

const BUFFER_BYTES: usize = 256 << 10;

/// The files of this process that are being written, and those that were given up.
struct Register {
    /// By the path under which they are written, the path that was asked for.
    unfinished: BTreeMap<PathBuf, PathBuf>,
    given_up: Vec<PathBuf>,
}

static REGISTER: Mutex<Register> =
    Mutex::new(Register { unfinished: BTreeMap::new(), given_up: Vec::new() });

fn register() -> MutexGuard<'static, Register> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is being written. Its bytes go through a buffer.
///
/// It is written beside its place under another name, and [`finish`](Self::finish) renames it.
/// Dropped without that, or removed by [`remove_unfinished`], it leaves nothing behind, and what
/// was in its place stays. If the path is a link, the file that it leads to is replaced, not the
/// link. A file that is replaced hands on its permissions.
///
/// Devices, pipes and open descriptors are written directly.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// `None` once the file is finished or given up.
    sink: Option<BufWriter<Sink>>,
    position: u64,
    bytes: u64,
}

#[derive(Debug)]
enum Sink {
    Direct(File),
    Beside { file: NamedTempFile, place: FilePlace },
}

impl Sink {
    /// Makes the file beside its place, and enters it where signals find it.
    fn beside(place: FilePlace, path: &Path) -> io::Result<Self> {
        // Held until the file is entered: a signal finds it in the register or not at all.
        let mut register = register();
        let file = beside(&place.folder)?;
        if let Some(about) = &place.existing {
            // It is the user's file: whoever could read it can read it after.
            file.as_file().set_permissions(about.permissions.clone())?;
        }
        register.unfinished.insert(file.path().to_path_buf(), path.to_path_buf());
        Ok(Self::Beside { file, place })
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => file.write(bytes),
            // Errors of the file itself, without the name that it has meanwhile.
            Self::Beside { file, .. } => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Direct(file) => file.seek(to),
            Self::Beside { file, .. } => file.as_file_mut().seek(to),
        }
    }
}

/// Makes a file without content in a directory. Its name says who left it, should the process be
/// killed.
pub(crate) fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".ssdtune-").suffix(".partial");
    #[cfg(unix)]
    {
        // As for any new file; the process's mask still applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

impl OutputFile {
    /// Begins a file. If there is one, it stays until this one is finished.
    ///
    /// # Errors
    /// The path is a directory, its directory does not exist, or no file can be made there.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_path_buf();
        let sink = match Place::of(&path)? {
            Place::File(place) => Sink::beside(place, &path)?,
            Place::Special => Sink::Direct(OpenOptions::new().write(true).open(&path)?),
            // What a shell has put into the file by `>>` stays.
            Place::Descriptor => Sink::Direct(OpenOptions::new().append(true).open(&path)?),
        };
        let sink = Some(BufWriter::with_capacity(BUFFER_BYTES, sink));
        Ok(Self { path, sink, position: 0, bytes: 0 })
    }

    /// The path that was asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long the file is so far, in bytes, what is in the buffer included.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes what is in the buffer and waits until all of it is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sync(&mut self) -> io::Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.flush()?;
        match sink.get_ref() {
            Sink::Beside { file, .. } => file.as_file().sync_all(),
            Sink::Direct(_) => Ok(()),
        }
    }

    /// Writes what is in the buffer and puts the file in its place. If it replaces one, it is on
    /// the disk before it does.
    ///
    /// # Errors
    /// The rest cannot be written, the file cannot be renamed, or there was no file in its place
    /// when it was begun and there is one now. It is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        let replaces = match self.sink.as_ref().map(BufWriter::get_ref) {
            Some(Sink::Beside { place, .. }) => place.existing.is_some(),
            _ => false,
        };
        if replaces { self.sync() } else { self.flush() }?;
        let mut register = register();
        let Some(sink) = self.sink.take() else { return Ok(()) };
        let (sink, _) = sink.into_parts();
        let Sink::Beside { file, place } = sink else { return Ok(()) };
        let written_as = file.path().to_path_buf();
        let done = match replaces {
            true => file.persist(place.path()).map(drop).map_err(|error| error.error),
            false => appear(file, &place.path()),
        };
        register.unfinished.remove(&written_as);
        if done.is_err() {
            register.given_up.push(std::mem::take(&mut self.path));
        }
        done
    }
}

/// Renames a file to where there was none when it was begun.
fn appear(file: NamedTempFile, to: &Path) -> io::Result<()> {
    let Err(failed) = file.persist_noclobber(to) else { return Ok(()) };
    if failed.error.kind() == ErrorKind::AlreadyExists || to.exists() {
        let text = "another program has written a file of this name meanwhile, which stays";
        return Err(io::Error::new(ErrorKind::AlreadyExists, text));
    }
    // Some file systems know no such way of renaming.
    failed.file.persist(to).map(drop).map_err(|error| error.error)
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sink) = &mut self.sink else { return Err(ErrorKind::BrokenPipe.into()) };
        let written = sink.write(bytes)?;
        self.position += written as u64;
        self.bytes = self.bytes.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// For formats that write their head last.
impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let Some(sink) = &mut self.sink else { return Err(ErrorKind::BrokenPipe.into()) };
        self.position = sink.seek(to)?;
        Ok(self.position)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        let Some(sink) = self.sink.take() else { return };
        // The buffer is given up with the rest.
        let (sink, _) = sink.into_parts();
        if let Sink::Beside { file, .. } = sink {
            let mut register = register();
            register.unfinished.remove(file.path());
            register.given_up.push(std::mem::take(&mut self.path));
        }
    }
}

/// Writes a file as a whole.
///
/// # Errors
/// It cannot be written. What was in its place stays then.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes.as_ref())?;
    file.finish()
}

/// Writes files, each a name and its bytes, into a directory. The directory is made if need be.
///
/// # Errors
/// The text says which path could not be written.
pub fn write_into<N: AsRef<Path>, T: AsRef<[u8]>>(
    directory: &Path,
    files: impl IntoIterator<Item = (N, T)>,
) -> io::Result<()> {
    fs::create_dir_all(directory).map_err(|error| told(&error, "create", directory))?;
    files.into_iter().try_for_each(|(name, bytes)| {
        let path = directory.join(name);
        write(&path, bytes).map_err(|error| told(&error, "write", &path))
    })
}

/// Removes a file that would have been replaced. Says whether there was one.
///
/// # Errors
/// The text says which path could not be removed.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(told(&error, "remove", path)),
    }
}

/// An error of the system with what was tried.
fn told(error: &io::Error, tried: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {tried} {}: {error}", path.display()))
}

/// Removes all files that are not finished, for a process that ends before they are: ending does
/// not drop them. Returns the paths at which nothing was written. None are, if whoever makes a file
/// does not come to an end within half a second: it may be the caller, interrupted there.
///
/// No file is begun or finished after this, so that none appears while the process ends: whoever
/// tries waits for ever. Call it last, and not from within a signal handler of the system.
pub fn remove_unfinished() -> Vec<PathBuf> {
    let mut tries = (0..50).map(|_| match REGISTER.try_lock() {
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(10));
            None
        }
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Ok(register) => Some(register),
    });
    let Some(mut register) = tries.find_map(|register| register) else { return Vec::new() };
    let unfinished = std::mem::take(&mut register.unfinished);
    std::mem::forget(register);
    let remove = |(written_as, path): (PathBuf, PathBuf)| {
        // If removing fails, nothing more can be done here.
        let _ = fs::remove_file(written_as);
        path
    };
    unfinished.into_iter().map(remove).collect()
}

/// The paths of files that were begun and not finished, because somebody failed or gave up: nothing
/// was written there.
pub fn given_up() -> Vec<PathBuf> {
    register().given_up.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_finished_and_replaces_what_was_there_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for text in ["first", "second, longer"] {
            let before = fs::read_to_string(&path).ok();
            let mut file = OutputFile::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.flush().unwrap();
            assert_eq!(fs::read_to_string(&path).ok(), before);
            assert_eq!(file.bytes(), text.len() as u64);
            file.finish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "precious").unwrap();
        for path in [&new, &old] {
            let mut file = OutputFile::create(path).unwrap();
            file.write_all(b"half").unwrap();
            file.flush().unwrap();
            drop(file);
            assert!(given_up().contains(path));
        }
        assert_eq!(names(folder.path()), ["old"]);
        assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    }

    #[test]
    fn a_file_that_another_program_has_made_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let file = OutputFile::create(&path).unwrap();
        fs::write(&path, "another's").unwrap();
        let error = file.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_head_can_be_written_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"????body").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"head").unwrap();
        assert_eq!(file.bytes(), 8);
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "headbody");
    }

    #[cfg(unix)]
    mod on_unix {
        use super::*;
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().mode() & 0o777
        }

        #[test]
        fn a_new_file_has_the_permissions_of_any_and_one_that_replaces_those_of_the_former() {
            let folder = tempfile::tempdir().unwrap();
            let (ours, any) = (folder.path().join("ours"), folder.path().join("any"));
            write(&ours, "x").unwrap();
            fs::write(&any, "x").unwrap();
            assert_eq!(mode(&ours), mode(&any));
            fs::set_permissions(&any, fs::Permissions::from_mode(0o640)).unwrap();
            write(&any, "y").unwrap();
            assert_eq!(mode(&any), 0o640);
        }

        #[test]
        fn a_link_stays_and_its_file_is_replaced() {
            let folder = tempfile::tempdir().unwrap();
            let (link, file) = (folder.path().join("link"), folder.path().join("file"));
            symlink("file", &link).unwrap();
            for text in ["new", "newer"] {
                write(&link, text).unwrap();
                assert!(link.is_symlink());
                assert!(!file.is_symlink());
                assert_eq!(fs::read_to_string(&file).unwrap(), text);
            }
        }

        #[test]
        fn devices_are_written_directly_and_stay_devices() {
            write("/dev/null", "x").unwrap();
            assert!(!fs::metadata("/dev/null").unwrap().is_file());
            let full = Path::new("/dev/full");
            if full.exists() {
                assert_eq!(write(full, "x").unwrap_err().kind(), ErrorKind::StorageFull);
                assert!(!given_up().contains(&full.to_path_buf()));
            }
        }

        #[test]
        fn where_no_file_can_be_nothing_is_begun() {
            let folder = tempfile::tempdir().unwrap();
            assert!(OutputFile::create(folder.path()).is_err());
            let error = OutputFile::create(folder.path().join("missing/out")).unwrap_err();
            assert!(error.to_string().contains("there is no directory"), "{error}");
            assert!(names(folder.path()).is_empty());
        }
    }
}
