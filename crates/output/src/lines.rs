//! A file of lines that grows while a program works.

use crate::place::Place;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The longest first line. What has none within these bytes is no file of ours.
const HEAD_BYTES_MAX: u64 = 1 << 20;

/// What a file of lines is, by its first line.
#[derive(Clone, Copy)]
pub struct LineKind {
    /// What the file holds and who writes it, after "is no file of".
    pub name: &'static str,
    /// Whether a first line, without its end, is that of such a file, whatever it was begun with.
    pub is_head: fn(&str) -> bool,
}

/// A file that does not begin, or does not end, as one that is to be continued. It was not touched.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is no file of {name}: {problem}; it was left as it is, name another file",
    .path.display()
)]
pub struct ForeignFile {
    /// The file.
    pub path: PathBuf,
    /// What it was expected to hold.
    pub name: &'static str,
    /// What was found instead.
    pub problem: &'static str,
}

/// Why a file of lines cannot be begun or continued.
#[derive(Debug, thiserror::Error)]
pub enum LineFileError {
    /// It is another's.
    #[error(transparent)]
    Foreign(#[from] ForeignFile),
    /// The system cannot read or write it.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file of lines of which the first says what the others are. Each addition is one write, so a
/// program that is killed leaves at most half a line at the end, which the next one cuts off. This
/// is the only thing that is ever taken away, and only before the next line is added.
#[derive(Debug)]
pub struct LineFile {
    file: File,
    /// The length of the whole lines, if there is half a line after them.
    torn_at: Option<u64>,
}

impl LineFile {
    /// Looks whether `path` can be begun or continued, without touching it, and returns the first
    /// line of one that was begun. At most the first line is read.
    ///
    /// # Errors
    /// It is another's, or cannot be read.
    pub fn head(path: &Path, kind: LineKind) -> Result<Option<String>, LineFileError> {
        Ok(match first_line(path, kind)? {
            Some(FirstLine::Whole(line)) => Some(line),
            Some(FirstLine::Torn(_)) | None => None,
        })
    }

    /// Begins a file with the line `head`, which ends with a line feed, or opens one that was begun
    /// with another first line of this kind. Returns the file and its whole lines: none for a file
    /// that was begun. An existing file is not changed until a line is added.
    ///
    /// # Errors
    /// It is another's, or cannot be read or written.
    pub fn open(path: &Path, head: &str, kind: LineKind) -> Result<(Self, String), LineFileError> {
        let first = first_line(path, kind)?;
        let foreign = |problem| {
            Err(ForeignFile { path: path.to_path_buf(), name: kind.name, problem }.into())
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        let mut file = match &first {
            None => options.create_new(true).open(path)?,
            Some(_) => options.open(path)?,
        };
        let Some(FirstLine::Whole(_)) = first else {
            if let Some(FirstLine::Torn(half)) = first {
                if !head.as_bytes().starts_with(&half) {
                    return foreign("it has no line that says what it holds");
                }
                file.set_len(0)?;
            }
            file.write_all(head.as_bytes())?;
            return Ok((Self { file, torn_at: None }, String::new()));
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let tail = bytes.split_off(whole);
        // What a crash leaves is the start of a line, or what a file system puts in its place.
        if !(tail.is_empty() || tail[0] == b'{' || tail.iter().all(|&byte| byte == 0)) {
            return foreign("its last line is not the start of one of its lines");
        }
        let torn_at = (!tail.is_empty()).then_some(whole as u64);
        let Ok(text) = String::from_utf8(bytes) else { return foreign("it is not UTF-8 text") };
        Ok((Self { file, torn_at }, text))
    }

    /// Whether half a line is at the end: the last addition was not written as a whole.
    pub const fn is_torn(&self) -> bool {
        self.torn_at.is_some()
    }

    /// Keeps the first `bytes` bytes only, from the next addition on. What is dropped are whole
    /// lines of an addition that was torn, where lines of one addition count only together.
    pub fn cut_at(&mut self, bytes: usize) {
        self.torn_at = Some(bytes as u64);
    }

    /// Adds lines, by one write.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, lines: &str) -> io::Result<()> {
        if let Some(length) = self.torn_at.take() {
            self.file.set_len(length)?;
        }
        self.file.write_all(lines.as_bytes())
    }
}

/// The first line of a file that is there.
enum FirstLine {
    /// It has one of the kind that was asked for.
    Whole(String),
    /// The whole file is less than a line.
    Torn(Vec<u8>),
}

/// Reads the first line and no more. `None` if there is no file.
fn first_line(path: &Path, kind: LineKind) -> Result<Option<FirstLine>, LineFileError> {
    let foreign =
        |problem| Err(ForeignFile { path: path.to_path_buf(), name: kind.name, problem }.into());
    let about = match Place::of(path)? {
        Place::File(place) => place.existing,
        Place::Special | Place::Descriptor => return foreign("it is a device or a pipe"),
    };
    if about.is_none() {
        return Ok(None);
    }
    let mut first = Vec::new();
    let mut file = File::open(path)?.take(HEAD_BYTES_MAX);
    let mut piece = [0; 4096];
    let end = loop {
        let before = first.len();
        let count = file.read(&mut piece)?;
        first.extend_from_slice(&piece[..count]);
        if let Some(at) = piece[..count].iter().position(|&byte| byte == b'\n') {
            break Some(before + at);
        }
        if count == 0 {
            break None;
        }
    };
    match end {
        Some(end) => match std::str::from_utf8(&first[..end]) {
            Ok(line) if (kind.is_head)(line) => Ok(Some(FirstLine::Whole(line.to_owned()))),
            _ => foreign("its first line says something else"),
        },
        None if first.len() as u64 == HEAD_BYTES_MAX => foreign("it has no lines"),
        None if first.is_empty() || first[0] == b'{' => Ok(Some(FirstLine::Torn(first))),
        None => foreign("it has no line that says what it holds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEAD: &str = "{\"own\":1}\n";
    const KIND: LineKind = LineKind {
        name: "numbers that `count` writes",
        is_head: |line| line.starts_with("{\"own\":") && line.ends_with('}'),
    };

    fn open(path: &Path) -> Result<(LineFile, String), LineFileError> {
        LineFile::open(path, HEAD, KIND)
    }

    #[test]
    fn a_file_is_begun_and_continued_and_half_a_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let (mut file, text) = open(&path).unwrap();
        assert_eq!(text, "");
        file.add("{1}\n{2}\n").unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        assert_eq!(whole, format!("{HEAD}{{1}}\n{{2}}\n"));
        for tail in ["", "{", "{3", "\0\0"] {
            fs::write(&path, format!("{whole}{tail}")).unwrap();
            let (mut file, text) = open(&path).unwrap();
            assert_eq!(text, whole);
            let untouched = fs::read_to_string(&path).unwrap();
            assert_eq!(untouched, format!("{whole}{tail}"), "opening changes nothing");
            file.add("{4}\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{{4}}\n"));
        }
        // A file that was killed at its very start.
        for cut in 0..HEAD.len() - 1 {
            fs::write(&path, &HEAD[..cut]).unwrap();
            assert!(LineFile::head(&path, KIND).unwrap().is_none());
            open(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), HEAD);
        }
        // One that was begun with another first line is handed over for the caller to compare.
        fs::write(&path, "{\"own\":2}\n").unwrap();
        assert_eq!(open(&path).unwrap().1, "{\"own\":2}\n");
        assert_eq!(LineFile::head(&path, KIND).unwrap().as_deref(), Some("{\"own\":2}"));
    }

    #[test]
    fn a_foreign_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let long = "x".repeat(HEAD_BYTES_MAX as usize + 10);
        let wide = format!("{{\"own\":{}\n", "1".repeat(HEAD_BYTES_MAX as usize));
        for foreign in [
            "my thesis",
            "my thesis\n",
            "{\"own\"",
            "{\"other\":1}\n",
            "{\"own\":1}",
            "{\"own\":1}\nnotes of mine",
            &long,
            &wide,
        ] {
            let alike = HEAD.starts_with(foreign);
            fs::write(&path, foreign).unwrap();
            let error = match open(&path) {
                Ok(_) if alike => continue,
                Ok(_) => panic!("{foreign:.20} was taken"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains("numbers that `count` writes"), "{error}");
            assert!(error.contains("name another file"), "{error}");
            assert!(fs::read_to_string(&path).unwrap() == foreign, "{foreign:.20} was changed");
        }
        fs::write(&path, b"{\"own\":1}\n\xff\xff\n").unwrap();
        assert!(open(&path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_read() {
        for path in ["/dev/zero", "/dev/full", "/dev/stdin"].map(Path::new) {
            let error = open(path).unwrap_err();
            assert!(matches!(error, LineFileError::Foreign(_)), "{error}");
        }
    }
}
