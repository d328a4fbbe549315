//! Reads `.ssdt` files through a memory map: nothing is copied between the page cache and the
//! decoder. Pages that have been read are released in steps of 16 MiB, so that the process does not
//! seem to grow with the file.

use super::pack::read_u32;
use super::{BLOCK_HEADER_BYTES, BlockHeader, HEADER_BYTES, Header, MAGIC, NAMES_MAGIC};
use crate::error::TraceError;
use crate::request::Request;
use crate::source::Source;
use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Pages behind the reader are released in steps of this size.
const RELEASE_BYTES: usize = 16 << 20;

/// Whether the file at `path` begins like an uncompressed `.ssdt` trace.
pub fn is_ssdt(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    File::open(path).and_then(|mut f| f.read_exact(&mut first)).is_ok() && first == MAGIC
}

/// A `.ssdt` file that is mapped into memory.
pub struct MappedTrace {
    map: Mmap,
    path: PathBuf,
    header: Header,
    names: Vec<String>,
    /// The byte at which the next block begins.
    next: usize,
    /// The byte up to which pages have been released.
    released: usize,
    /// The number of requests handed out.
    seen: u64,
}

impl MappedTrace {
    /// Opens the trace at `path`.
    ///
    /// Do not shorten the file while it is open: reading a page that no longer exists ends the
    /// process.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, its header or its names are damaged, or it was written
    /// by another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let io = |doing, source| TraceError::Io { path: path.to_path_buf(), doing, source };
        let file = File::open(path).map_err(|e| io("opening", e))?;
        // SAFETY: the map is only read, as bytes, and every value of a byte is valid. If another
        // process rewrites the file, other bytes are decoded, but every block is checked before
        // use. If another process truncates it, this process ends with SIGBUS, as with any mapped
        // file. For the gain over read() see docs/results/trace-parsing.md.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| io("mapping", e))?;
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Self::from_map(map, path)
    }

    fn from_map(map: Mmap, path: &Path) -> Result<Self, TraceError> {
        let header = Header::decode(&map, path)?;
        let names = names(&map, &header, path)?;
        let path = path.to_path_buf();
        Ok(Self { map, path, header, names, next: HEADER_BYTES, released: 0, seen: 0 })
    }

    /// The header: the number of requests, the time of the first and of the last.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Starts again at the first request.
    pub fn rewind(&mut self) {
        (self.next, self.released, self.seen) = (HEADER_BYTES, 0, 0);
    }

    /// Releases the pages behind the reader. They stay in the cache of the system and no longer
    /// count as memory of this process.
    fn release_behind(&mut self) {
        let behind = self.next - self.released;
        if behind < RELEASE_BYTES {
            return;
        }
        // SAFETY: the map belongs to a file, is shared and is never written through. A released
        // page is read from the file again when it is touched again, with the same bytes. For the
        // gain see docs/results/trace-parsing.md.
        #[cfg(unix)]
        let _ = unsafe {
            self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.released, behind)
        };
        self.released = self.next;
    }

    fn corrupt(&self, what: String) -> TraceError {
        TraceError::Corrupt { path: self.path.clone(), offset: self.next as u64, what }
    }
}

/// Reads the names of the tenants' devices at the end of the file.
fn names(map: &[u8], header: &Header, path: &Path) -> Result<Vec<String>, TraceError> {
    let end = map.len();
    let truncated = || TraceError::Truncated {
        path: path.to_path_buf(),
        offset: end as u64,
        what: "the blocks or the names after them",
    };
    let start = usize::try_from(header.names_offset).map_err(|_| truncated())?;
    let section = map.get(start..).ok_or_else(truncated)?;
    if section.len() < 12 {
        return Err(truncated());
    }
    let (body, crc) = section.split_at(section.len() - 4);
    let corrupt = |what: &str| TraceError::Corrupt {
        path: path.to_path_buf(),
        offset: header.names_offset,
        what: what.into(),
    };
    if body[..4] != NAMES_MAGIC || crc32fast::hash(body) != read_u32(crc, 0) {
        return Err(corrupt(
            "the names of the devices do not hold their checksum, or the file was cut short",
        ));
    }
    let mut rest = &body[8..];
    let mut names = Vec::new();
    for _ in 0..read_u32(body, 4) {
        let Some((length, after)) = rest.split_first_chunk::<2>() else {
            return Err(corrupt("a name is missing"));
        };
        let length = usize::from(u16::from_le_bytes(*length));
        let name = after.get(..length).ok_or_else(|| corrupt("a name is cut short"))?;
        names.push(String::from_utf8_lossy(name).into_owned());
        rest = &after[length..];
    }
    Ok(names)
}

impl Source for MappedTrace {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        if self.seen == self.header.requests {
            return Ok(0);
        }
        let truncated = || TraceError::Truncated {
            path: self.path.clone(),
            offset: self.map.len() as u64,
            what: "a block",
        };
        let header =
            self.map.get(self.next..self.next + BLOCK_HEADER_BYTES).ok_or_else(truncated)?;
        let block = BlockHeader::decode(header).map_err(|what| self.corrupt(what))?;
        let from = self.next + BLOCK_HEADER_BYTES;
        let payload = self.map.get(from..from + block.payload_bytes).ok_or_else(truncated)?;
        if self.seen + block.requests as u64 > self.header.requests {
            return Err(self.corrupt("more requests than the header counts".into()));
        }
        block.requests(header, payload, out).map_err(|what| self.corrupt(what))?;
        self.next = from + block.payload_bytes;
        self.seen += block.requests as u64;
        self.release_behind();
        Ok(block.requests)
    }

    fn tenant_names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn origin_ns(&self) -> u64 {
        self.header.origin_ns
    }

    fn bytes_read(&self) -> u64 {
        self.next as u64
    }
}
