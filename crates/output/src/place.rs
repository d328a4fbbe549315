//! What a path leads to, for somebody who wants to write there.

use std::ffi::OsString;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// More links than this in a row are a circle.
const LINKS_MAX: usize = 40;

/// What a path leads to, all links followed.
#[derive(Debug)]
pub(crate) enum Place {
    /// The name of a descriptor that the process has open, such as `/dev/stdout`.
    Descriptor,
    /// A device, a pipe or a socket.
    Special,
    /// A regular file, or the place where there is none yet.
    File(FilePlace),
}

/// The place of a regular file.
#[derive(Debug)]
pub(crate) struct FilePlace {
    /// The directory, in its one name.
    pub(crate) folder: PathBuf,
    /// The name in the directory.
    pub(crate) name: OsString,
    /// The file that is there.
    pub(crate) existing: Option<Existing>,
}

/// A regular file.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) identity: Identity,
    pub(crate) permissions: Permissions,
}

impl FilePlace {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}

impl Place {
    /// Follows a path.
    ///
    /// # Errors
    /// It is a directory, its directory does not exist, or the system does not let us look.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(ErrorKind::NotFound, "the name is empty"));
        }
        let Some(path) = follow(path)? else { return Ok(Self::Descriptor) };
        let existing = match fs::metadata(&path) {
            Ok(about) => Some(about),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let is_folder = match &existing {
            Some(about) => about.is_dir(),
            None => path.as_os_str().as_encoded_bytes().ends_with(b"/"),
        };
        let (false, Some(name)) = (is_folder, path.file_name()) else {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
        };
        if existing.as_ref().is_some_and(|about| !about.is_file()) {
            return Ok(Self::Special);
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let canonical = fs::canonicalize(folder).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("there is no directory {}", folder.display());
                io::Error::new(ErrorKind::NotFound, text)
            }
            _ => error,
        })?;
        let existing = existing.map(|about| Existing {
            identity: Identity::of(&path, &about),
            permissions: about.permissions(),
        });
        Ok(Self::File(FilePlace { folder: canonical, name: name.to_owned(), existing }))
    }
}

/// Follows the links of a path's last part, also to a file that does not exist. `None` if a link
/// leads to an open descriptor.
fn follow(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        if is_descriptor(&path) {
            return Ok(None);
        }
        if !fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink()) {
            return Ok(Some(path));
        }
        let next = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Whether a path is the name of an open descriptor. Such a name can lead to a regular file, whose
/// place is not ours to take: the descriptor would go on with the file that was there.
fn is_descriptor(path: &Path) -> bool {
    let named =
        ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|own| path == Path::new(own));
    named || path.starts_with("/dev/fd") || path.starts_with("/proc")
}

/// What makes two paths the same file: hard links and symbolic links lead to one identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(not(unix))]
    path: PathBuf,
}

impl Identity {
    /// The identity of what `path` leads to; `about` is what the system says of it.
    #[cfg(unix)]
    pub(crate) fn of(_path: &Path, about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { inode: (about.dev(), about.ino()) }
    }

    /// The identity of what `path` leads to. Hard links are not recognised here.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path, _about: &Metadata) -> Self {
        Self { path: fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()) }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn file(path: &Path) -> FilePlace {
        match Place::of(path) {
            Ok(Place::File(place)) => place,
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn links_are_followed_to_the_end_even_if_nothing_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/new", at("one")).unwrap();
        symlink("one", at("two")).unwrap();
        let place = file(&at("two"));
        assert_eq!(place.path(), fs::canonicalize(at("deep")).unwrap().join("new"));
        assert!(place.existing.is_none());
        fs::write(at("deep/new"), "x").unwrap();
        assert!(file(&at("two")).existing.is_some());
        assert!(file(&at("deep/../deep/./new")).path() == place.path());
        symlink("circle", at("circle")).unwrap();
        assert!(Place::of(&at("circle")).is_err());
    }

    #[test]
    fn descriptors_and_devices_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/stdout", &link).unwrap();
        for path in [Path::new("/dev/stdout"), Path::new("/dev/fd/1"), &link] {
            assert!(matches!(Place::of(path), Ok(Place::Descriptor)), "{}", path.display());
        }
        assert!(matches!(Place::of(Path::new("/dev/null")), Ok(Place::Special)));
    }

    #[test]
    fn directories_are_refused_by_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: PathBuf| Place::of(&path).unwrap_err().kind();
        assert_eq!(kind(folder.path().into()), ErrorKind::IsADirectory);
        assert_eq!(kind(folder.path().join("new/")), ErrorKind::IsADirectory);
        assert_eq!(kind(PathBuf::new()), ErrorKind::NotFound);
        assert_eq!(kind(folder.path().join("missing/new")), ErrorKind::NotFound);
        fs::write(folder.path().join("file"), "x").unwrap();
        assert_eq!(kind(folder.path().join("file/new")), ErrorKind::NotADirectory);
    }
}
