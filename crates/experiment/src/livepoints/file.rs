//! Live-points in a file.
//!
//! The file has a head and sections. Numbers in the head and before sections are little-endian;
//! those in sections are written by the module `numbers`.
//!
//! | bytes of the head | content |
//! |---|---|
//! | 0 to 7 | magic number |
//! | 8 to 11 | version, u32 |
//!
//! | bytes of a section | content |
//! |---|---|
//! | 0 to 3 | `ABOU`, `FOOT`, `WRIT`, `WIND` or `DONE`, in this order; there are many windows |
//! | 4 to 11 | bytes of the section in the file, u64 |
//! | 12 to 19 | its bytes when expanded, u64: if they are as many, it is not compressed |
//! | 20 to 23 | CRC-32 of bytes 0 to 19 and of what follows them, u32 |
//! | from 24 on | the section, compressed by zstd |
//!
//! `ABOU` has the trace's name, its fingerprint, times, requests, the options and the number of
//! windows, `FOOT` the footprint as roaring writes it, `WRIT` what was written by when, `WIND`
//! one window, `DONE` nothing.
//!
//! A reader trusts nothing: it takes no more memory than some hundred bytes for each byte of the
//! file, and what it returns is such that no restorer fails on it.

mod course;
mod numbers;
#[cfg(test)]
mod tests;
mod window;

use super::{About, Course, LivePoints, SampleOptions};
use numbers::{Bytes, put};
use roaring::RoaringTreemap;
use ssdtune_model::Nanos;
use ssdtune_output::OutputFile;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The first bytes of a file. Bit 7 of the first byte says that it is not text. The rest shows the
/// damage of a transfer that changes line ends or stops at Ctrl-Z.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SSDP\r\n\x1a";
/// The version of the format that this program writes and reads.
const VERSION: u32 = 2;
const HEAD: usize = 12;
/// Bytes before a section.
const SECTION: usize = 24;
/// A section that is longer than this times its compressed bytes is not compressed.
const EXPANSION: u64 = 64;
/// How hard zstd works: 1 to 22.
const LEVEL: i32 = 3;
/// Pages of the footprint lie below this, so that no address overflows.
const PAGES_END: u64 = 1 << 57;

/// What is wrong with bytes.
type Damage = &'static str;

/// Why a file of live-points cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PointsFileError {
    /// It cannot be opened or read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{path}: no live-points; ssdtune trace sample makes them from a trace")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It has another version of the format.
    #[error(
        "{path}: live-points of version {found}, and this program reads {VERSION}: sample the \
         trace again"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It was changed, or it is cut short.
    #[error("{path}, at byte {offset}: {what}: sample the trace again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the section begins that is damaged.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
}

impl PointsFileError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Unreadable { path, .. }
            | Self::Foreign { path }
            | Self::Version { path, .. }
            | Self::Damaged { path, .. } => path,
        }
    }
}

impl LivePoints {
    /// Writes them to a file, which appears whole or not at all. The bytes that it takes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<u64> {
        let mut file = OutputFile::create(path)?;
        self.write_to(&mut file)?;
        let bytes = file.bytes();
        file.finish()?;
        Ok(bytes)
    }

    /// Writes the bytes of a file.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        section(out, b"ABOU", &self.about_bytes())?;
        let mut bytes = Vec::with_capacity(self.footprint.serialized_size());
        self.footprint.serialize_into(&mut bytes)?;
        section(out, b"FOOT", &bytes)?;
        bytes.clear();
        course::put_course(&mut bytes, &self.course);
        section(out, b"WRIT", &bytes)?;
        for window in &self.windows {
            bytes.clear();
            window::put_window(&mut bytes, window);
            section(out, b"WIND", &bytes)?;
        }
        section(out, b"DONE", &[])
    }

    fn about_bytes(&self) -> Vec<u8> {
        let About { trace, fingerprint, first, last } = &self.about;
        let SampleOptions { windows, warm_up, measured, page_bytes, seed, memory_bytes } =
            self.options;
        let mut bytes = Vec::new();
        put(&mut bytes, trace.len() as u64);
        bytes.extend_from_slice(trace.as_bytes());
        bytes.extend_from_slice(fingerprint);
        let options = [
            windows as u64,
            warm_up.into(),
            measured.into(),
            page_bytes.into(),
            seed,
            memory_bytes,
        ];
        let numbers = [first.0, last.0, self.requests, self.windows.len() as u64];
        numbers.into_iter().chain(options).for_each(|number| put(&mut bytes, number));
        bytes
    }

    /// Reads them from a file.
    ///
    /// # Errors
    /// It cannot be read, is no file of live-points, has another version, or was changed.
    pub fn read(path: &Path) -> Result<Self, PointsFileError> {
        let unreadable = |source| PointsFileError::Unreadable { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(unreadable)?;
        Self::read_from(&mut BufReader::with_capacity(1 << 20, file), path)
    }

    /// Reads the bytes of a file; messages call it `path`.
    ///
    /// # Errors
    /// As [`LivePoints::read`].
    pub fn read_from(from: &mut impl Read, path: &Path) -> Result<Self, PointsFileError> {
        let path = || path.to_path_buf();
        let mut reader = Reader { from, offset: HEAD as u64 };
        let mut head = Vec::with_capacity(HEAD);
        let taken = reader.from.take(HEAD as u64).read_to_end(&mut head);
        taken.map_err(|source| PointsFileError::Unreadable { path: path(), source })?;
        let Some((MAGIC, version)) = head.split_first_chunk().map(|(magic, rest)| (*magic, rest))
        else {
            return Err(PointsFileError::Foreign { path: path() });
        };
        match version.try_into().map(u32::from_le_bytes) {
            Ok(VERSION) => {}
            Ok(found) => return Err(PointsFileError::Version { path: path(), found }),
            Err(_) => return Err(PointsFileError::Foreign { path: path() }),
        }
        reader.points().map_err(|fault| match fault {
            Fault::Read(source) => PointsFileError::Unreadable { path: path(), source },
            Fault::Damage(what) => {
                PointsFileError::Damaged { path: path(), offset: reader.offset, what }
            }
        })
    }
}

/// Writes a section, compressed if that makes it smaller.
fn section(out: &mut impl Write, tag: &[u8; 4], bytes: &[u8]) -> io::Result<()> {
    let packed = zstd::bulk::compress(bytes, LEVEL)?;
    let length = bytes.len() as u64;
    let is_smaller = packed.len() < bytes.len() && packed.len() as u64 * EXPANSION >= length;
    let stored = if is_smaller { &packed } else { bytes };
    let mut head = [0; SECTION];
    head[..4].copy_from_slice(tag);
    head[4..12].copy_from_slice(&(stored.len() as u64).to_le_bytes());
    head[12..20].copy_from_slice(&length.to_le_bytes());
    let crc = checksum(&head, stored);
    head[20..].copy_from_slice(&crc.to_le_bytes());
    out.write_all(&head)?;
    out.write_all(stored)
}

fn checksum(head: &[u8; SECTION], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..20]);
    hasher.update(stored);
    hasher.finalize()
}

/// Why reading ends.
enum Fault {
    Read(io::Error),
    Damage(Damage),
}

impl From<Damage> for Fault {
    fn from(what: Damage) -> Self {
        Self::Damage(what)
    }
}

/// A file of which some sections have been read.
struct Reader<'a, R> {
    from: &'a mut R,
    /// Where the section begins that is being read.
    offset: u64,
}

impl<R: Read> Reader<'_, R> {
    fn points(&mut self) -> Result<LivePoints, Fault> {
        let (mut points, count) = self.section(b"ABOU", about)?;
        points.footprint = self.section(b"FOOT", footprint)?;
        let requests = points.requests;
        points.course = self.section(b"WRIT", |bytes| course::course(bytes, requests))?;
        for nth in 0..count {
            let one = |bytes: &mut Bytes<'_>| window::window(bytes, &points.options, requests);
            let window = self.section(b"WIND", one)?;
            if nth > 0 && points.windows[nth - 1].start >= window.start {
                return Err(Fault::Damage("windows stand in another order than in the trace"));
            }
            points.windows.push(window);
        }
        self.section(b"DONE", |_| Ok(()))?;
        match self.from.read(&mut [0]).map_err(Fault::Read)? {
            0 => Ok(points),
            _ => Err(Fault::Damage("something follows the end")),
        }
    }

    /// Reads a section.
    fn section<T>(
        &mut self,
        tag: &[u8; 4],
        read: impl FnOnce(&mut Bytes<'_>) -> Result<T, Damage>,
    ) -> Result<T, Fault> {
        let head = self.bytes(SECTION as u64)?;
        let head: [u8; SECTION] = head.try_into().map_err(|_| "the file is cut short here")?;
        let number = |at: usize| {
            let bytes = head[at..at + 8].iter().rev();
            bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let (stored, length) = (number(4), number(12));
        let bytes = self.bytes(stored)?;
        if (bytes.len() as u64) < stored {
            return Err(Fault::Damage("the file is cut short in the section that begins here"));
        }
        if checksum(&head, &bytes).to_le_bytes() != head[20..] {
            return Err(Fault::Damage("the checksum of a section does not hold"));
        }
        if head[..4] != *tag {
            return Err(Fault::Damage("another section begins here"));
        }
        let bytes = match stored == length {
            true => bytes,
            false => expanded(&bytes, length)?,
        };
        let mut bytes = Bytes(&bytes);
        let value = read(&mut bytes)?;
        bytes.end()?;
        self.offset += SECTION as u64 + stored;
        Ok(value)
    }

    /// The next bytes, fewer at the end of the file.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        self.from.take(count).read_to_end(&mut bytes).map_err(Fault::Read)?;
        Ok(bytes)
    }
}

fn expanded(bytes: &[u8], length: u64) -> Result<Vec<u8>, Damage> {
    if length / EXPANSION > bytes.len() as u64 {
        return Err("a section is larger than its bytes can tell");
    }
    let expanded = zstd::bulk::decompress(bytes, length as usize);
    let expanded = expanded.map_err(|_| "a section cannot be expanded")?;
    match expanded.len() as u64 == length {
        true => Ok(expanded),
        false => Err("a section has another length than it says"),
    }
}

/// Reads what stands at the beginning, and how many windows follow.
fn about(bytes: &mut Bytes<'_>) -> Result<(LivePoints, usize), Damage> {
    let length = bytes.count(1)?;
    let trace = std::str::from_utf8(bytes.slice(length)?).map_err(|_| "the name is no text")?;
    let fingerprint = *bytes.array()?;
    let first = Nanos(bytes.number()?);
    let about = About { trace: trace.to_owned(), fingerprint, first, last: Nanos(bytes.number()?) };
    let requests = bytes.number()?;
    let count = bytes.small()?;
    let options = SampleOptions {
        windows: bytes.small()?,
        warm_up: bytes.small()?,
        measured: bytes.small()?,
        page_bytes: bytes.small()?,
        seed: bytes.number()?,
        memory_bytes: bytes.number()?,
    };
    options.check().map_err(|_| "options that no program writes")?;
    if requests > u64::from(u32::MAX) || count > options.windows || count < 2 || about.last < first
    {
        return Err("figures that contradict each other");
    }
    let (windows, footprint, course) = (Vec::new(), RoaringTreemap::new(), Course::default());
    Ok((LivePoints { about, options, requests, windows, footprint, course }, count))
}

fn footprint(bytes: &mut Bytes<'_>) -> Result<RoaringTreemap, Damage> {
    let footprint = RoaringTreemap::deserialize_from(&mut bytes.0);
    let footprint = footprint.map_err(|_| "the footprint is damaged")?;
    match footprint.max().is_none_or(|page| page < PAGES_END) {
        true => Ok(footprint),
        false => Err("an address is out of range"),
    }
}
