//! Compression and decompression of streams: gzip, zstd, xz and bzip2. Readers recognise the
//! compression by the first bytes, never by the name of the file.
//!
//! A hostile file cannot take all memory: the windows of the decoders are limited (xz 80 MiB, zstd
//! 64 MiB), and so is the expansion as a whole ([`Limits::max_expansion`]).

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip, with one or several members.
    Gzip,
    /// Zstandard frames.
    Zstd,
    /// xz streams.
    Xz,
    /// bzip2 streams.
    Bzip2,
}

impl Compression {
    /// The compression that the first bytes of a file show.
    pub fn of_magic(first: &[u8]) -> Self {
        match first {
            [0x1f, 0x8b, 0x08, ..] => Self::Gzip,
            // Skippable frames (0x184D2A5?) may come before the first data frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Self::Bzip2,
            _ => Self::None,
        }
    }

    /// The compression that belongs to the ending of the file name `path`: .gz, .zst, .xz or .bz2.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            Some("xz") => Self::Xz,
            Some("bz2") => Self::Bzip2,
            _ => Self::None,
        }
    }
}

/// Limits on a compressed stream.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of decompressed bytes for each compressed byte. A stream above it is
    /// refused as a decompression bomb.
    pub max_expansion: u64,
}

/// The expansion is not checked below this size: short repetitive traces compress well and are
/// harmless.
const EXPANSION_FREE_BYTES: u64 = 256 << 20;
const XZ_MEMORY_BYTES: u64 = 80 << 20;
const ZSTD_WINDOW_LOG: u32 = 26;

/// What a stream of bytes holds, decompressed if it is compressed. How much that may be is for the
/// caller to say ([`Read::take`]).
///
/// # Errors
/// The first bytes cannot be read.
pub fn decompressed(raw: impl Read + Send + 'static) -> io::Result<impl Read + Send> {
    let stream = Stream::new(Box::new(raw), Limits { max_expansion: u64::MAX })?;
    Ok(stream.reader)
}

/// Counts the bytes that are read through it.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A stream of bytes, decompressed if needed.
pub(crate) struct Stream {
    reader: Box<dyn Read + Send>,
    compression: Compression,
    compressed: Arc<AtomicU64>,
    expanded: u64,
    limits: Limits,
}

/// The sizes of a stream when it passed the limit of expansion.
#[derive(Debug)]
pub(crate) struct Bomb {
    pub(crate) compressed: u64,
    pub(crate) expanded: u64,
}

/// Why a read failed.
#[derive(Debug)]
pub(crate) enum StreamError {
    Io(io::Error),
    Bomb(Bomb),
}

impl Stream {
    pub(crate) fn open(file: File, limits: Limits) -> io::Result<Self> {
        Self::new(Box::new(file), limits)
    }

    pub(crate) fn new(mut raw: Box<dyn Read + Send>, limits: Limits) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(8);
        raw.by_ref().take(8).read_to_end(&mut magic)?;
        let compression = Compression::of_magic(&magic);
        let compressed = Arc::new(AtomicU64::new(0));
        let whole = io::Cursor::new(magic).chain(raw);
        if compression == Compression::None {
            return Ok(Self {
                reader: Box::new(whole),
                compression,
                compressed,
                expanded: 0,
                limits,
            });
        }
        let counted =
            BufReader::with_capacity(64 << 10, Counted { inner: whole, count: compressed.clone() });
        let reader: Box<dyn Read + Send> = match compression {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(counted)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
            Compression::Xz => {
                let concatenated = liblzma::stream::CONCATENATED;
                let stream =
                    liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, concatenated)
                        .map_err(io::Error::from)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(counted, stream))
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(counted)),
            Compression::None => Box::new(counted),
        };
        Ok(Self { reader, compression, compressed, expanded: 0, limits })
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Bytes read from the input. For a compressed stream these are compressed bytes.
    pub(crate) fn bytes_read(&self) -> u64 {
        match self.compression {
            Compression::None => self.expanded,
            _ => self.compressed.load(Ordering::Relaxed),
        }
    }

    /// Reads into `buf` and returns the number of bytes; 0 at the end of the stream.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> Result<usize, StreamError> {
        let n = loop {
            match self.reader.read(buf) {
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(StreamError::Io(e)),
            }
        };
        self.expanded += n as u64;
        if self.compression != Compression::None && self.expanded > EXPANSION_FREE_BYTES {
            let compressed = self.compressed.load(Ordering::Relaxed);
            if self.expanded / compressed.max(1) >= self.limits.max_expansion {
                return Err(StreamError::Bomb(Bomb { compressed, expanded: self.expanded }));
            }
        }
        Ok(n)
    }
}

/// A writer that compresses.
///
/// Call [`finish`](Self::finish) at the end. Without it the stream is incomplete.
pub enum Compressor<W: Write> {
    /// Not compressed.
    None(W),
    /// gzip.
    Gzip(flate2::write::GzEncoder<W>),
    /// Zstandard, level 3.
    Zstd(zstd::stream::write::Encoder<'static, W>),
    /// xz, level 6.
    Xz(liblzma::write::XzEncoder<W>),
    /// bzip2.
    Bzip2(bzip2::write::BzEncoder<W>),
}

impl<W: Write> Compressor<W> {
    /// A writer that compresses into `inner`.
    ///
    /// # Errors
    /// The compressor cannot be set up.
    pub fn new(inner: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::None(inner),
            Compression::Gzip => {
                Self::Gzip(flate2::write::GzEncoder::new(inner, flate2::Compression::default()))
            }
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(inner, 3)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Compression::Xz => Self::Xz(liblzma::write::XzEncoder::new(inner, 6)),
            Compression::Bzip2 => {
                Self::Bzip2(bzip2::write::BzEncoder::new(inner, bzip2::Compression::default()))
            }
        })
    }

    /// Writes the end of the stream and returns the inner writer.
    ///
    /// # Errors
    /// The end cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::None(mut w) => w.flush().map(|()| w),
            Self::Gzip(w) => w.finish(),
            Self::Zstd(w) => w.finish(),
            Self::Xz(w) => w.finish(),
            Self::Bzip2(w) => w.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(w) => w.write(buf),
            Self::Gzip(w) => w.write(buf),
            Self::Zstd(w) => w.write(buf),
            Self::Xz(w) => w.write(buf),
            Self::Bzip2(w) => w.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(w) => w.flush(),
            Self::Gzip(w) => w.flush(),
            Self::Zstd(w) => w.flush(),
            Self::Xz(w) => w.flush(),
            Self::Bzip2(w) => w.flush(),
        }
    }
}
