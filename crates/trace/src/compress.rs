//! Decompression on the fly: gzip, zstd, xz and bzip2, told by their first bytes, never by the
//! file's name.
//!
//! What a hostile file could do is bounded: the decoders' own windows (xz 80 MiB, zstd 64 MiB), and
//! the expansion as a whole ([`Limits::max_expansion`]).

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A compression by its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// gzip, of one or several members.
    Gzip,
    /// Zstandard frames.
    Zstd,
    /// xz streams.
    Xz,
    /// bzip2 streams.
    Bzip2,
}

impl Compression {
    /// The compression that `first`, the first bytes of a file, speak of.
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

    /// The compression that the ending of `path` asks a writer for.
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

/// Bounds on a compressed stream.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Decompressed bytes per compressed byte, beyond which a stream is taken for a bomb.
    pub max_expansion: u64,
}

/// What every stream may grow to before the expansion is looked at: short repetitive traces are
/// harmless.
const EXPANSION_FREE_BYTES: u64 = 256 << 20;
const XZ_MEMORY_BYTES: u64 = 80 << 20;
const ZSTD_WINDOW_LOG: u32 = 26;

/// Counts what is read below the decoder.
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

/// A decompressed stream.
pub(crate) struct Stream {
    reader: Box<dyn Read + Send>,
    compression: Compression,
    compressed: Arc<AtomicU64>,
    expanded: u64,
    limits: Limits,
}

/// The expansion limit was passed.
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

    /// Bytes taken from below.
    pub(crate) fn bytes_read(&self) -> u64 {
        match self.compression {
            Compression::None => self.expanded,
            _ => self.compressed.load(Ordering::Relaxed),
        }
    }

    /// Reads some bytes; 0 at the end.
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

/// A writer that compresses and must be finished: dropped early, the stream lacks its end.
pub enum Compressor<W: Write> {
    /// As it is.
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
    /// Compresses into `inner`.
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

    /// Writes the end of the stream and hands the inner writer back.
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
