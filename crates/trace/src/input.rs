//! The bytes of a trace in a buffer of fixed size, and batches of the requests decoded from them.

use crate::compress::{Compression, Limits, Stream, StreamError};
use crate::error::{Position, TraceError};
use crate::request::Request;
use std::io;
use std::path::{Path, PathBuf};

/// A window over the decompressed bytes of one file.
pub(crate) struct Input {
    stream: Stream,
    path: PathBuf,
    limits: Limits,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset of `buf[start]` in the decompressed stream.
    offset: u64,
    at_end: bool,
}

impl Input {
    pub(crate) fn new(stream: Stream, path: &Path, limits: Limits, buffer_bytes: usize) -> Self {
        let path = path.to_path_buf();
        let buf = vec![0; buffer_bytes.max(64)];
        Self { stream, path, limits, buf, start: 0, end: 0, offset: 0, at_end: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn compression(&self) -> Compression {
        self.stream.compression()
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes read from the file. For a compressed file these are compressed bytes.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// The bytes in the buffer that have not been consumed.
    #[inline]
    pub(crate) fn available(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.start += n;
        self.offset += n as u64;
    }

    /// Whether the stream has no bytes beyond those in the buffer.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Reads until the buffer is full or the stream ends.
    pub(crate) fn fill(&mut self) -> Result<(), TraceError> {
        if self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end < self.buf.len() && !self.at_end {
            match self.stream.read(&mut self.buf[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.end += n,
                Err(e) => return Err(self.read_error(e)),
            }
        }
        Ok(())
    }

    /// Makes at least `n` bytes available, or all that are left.
    pub(crate) fn want(&mut self, n: usize) -> Result<&[u8], TraceError> {
        if self.available().len() < n && !self.at_end {
            self.fill()?;
        }
        Ok(self.available())
    }

    #[cold]
    fn read_error(&self, error: StreamError) -> TraceError {
        let path = self.path.clone();
        let offset = self.offset + (self.end - self.start) as u64;
        match error {
            StreamError::Bomb(bomb) => TraceError::Bomb {
                path,
                compressed: bomb.compressed,
                expanded: bomb.expanded,
                limit: self.limits.max_expansion,
            },
            StreamError::Io(source) if self.compression() == Compression::None => {
                TraceError::Io { path, doing: "reading", source }
            }
            StreamError::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                TraceError::Truncated { path, offset, what: "the compressed stream" }
            }
            StreamError::Io(source) => TraceError::Corrupt {
                path,
                offset,
                what: format!(
                    "the {:?} stream cannot be decompressed ({source})",
                    self.compression()
                ),
            },
        }
    }
}

/// Requests with absolute times, and the place of each in the file.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) requests: Vec<Request>,
    /// Index of a request and its position. The requests up to the next mark stand on the lines
    /// that follow, one on each.
    marks: Vec<(usize, u64)>,
    by_line: bool,
}

impl Batch {
    pub(crate) fn clear(&mut self, by_line: bool) {
        self.requests.clear();
        self.marks.clear();
        self.by_line = by_line;
    }

    /// Records that the next request pushed stands at `position`.
    #[inline]
    pub(crate) fn mark(&mut self, position: u64) {
        let index = self.requests.len();
        match self.marks.last_mut() {
            Some(last) if last.0 == index => last.1 = position,
            _ => self.marks.push((index, position)),
        }
    }

    /// The place of request `index` in the file.
    #[cold]
    pub(crate) fn position(&self, index: usize) -> Position {
        let after = self.marks.partition_point(|mark| mark.0 <= index);
        let (first, at) = self.marks.get(after.wrapping_sub(1)).copied().unwrap_or((index, 0));
        if self.by_line { Position::Line(at + (index - first) as u64) } else { Position::Byte(at) }
    }
}
