//! Writes `.ssdt` files. The header is written last, so that a file cut off by a crash is
//! recognised.

use super::{BLOCK_REQUESTS, BlockHeader, HEADER_BYTES, Header, NAMES_MAGIC, pack};
use crate::request::Request;
use std::io::{self, Seek, SeekFrom, Write};

/// Writes requests in order of time to a `.ssdt` file.
///
/// Call [`finish`](Self::finish) at the end. Without it the file is incomplete, and readers refuse
/// it.
pub struct SsdtWriter<W: Write + Seek> {
    out: W,
    header: Header,
    pending: Vec<Request>,
    payload: Vec<u8>,
    /// The time of the last request in the blocks written so far, in nanoseconds.
    before_ns: u64,
    /// Bytes written so far.
    offset: u64,
}

impl<W: Write + Seek> SsdtWriter<W> {
    /// Begins a trace in `out`.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        // This header has no offset of the names, which marks the file as unfinished.
        out.write_all(&Header::default().encode())?;
        Ok(Self {
            out,
            header: Header::default(),
            pending: Vec::with_capacity(BLOCK_REQUESTS),
            payload: Vec::new(),
            before_ns: 0,
            offset: HEADER_BYTES as u64,
        })
    }

    /// Appends `requests`.
    ///
    /// # Errors
    /// A request is earlier than the one before it, or `out` cannot be written.
    pub fn write(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            if request.at.0 < self.header.duration_ns {
                let message = format!(
                    "a request at {} ns after one at {} ns: .ssdt holds requests in order of time",
                    request.at.0, self.header.duration_ns
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            self.header.duration_ns = request.at.0;
            self.header.requests += 1;
            self.pending.push(*request);
            if self.pending.len() == BLOCK_REQUESTS {
                self.block()?;
            }
        }
        Ok(())
    }

    fn block(&mut self) -> io::Result<()> {
        self.payload.clear();
        pack::encode(&self.pending, self.before_ns, &mut self.payload);
        let header = BlockHeader::encode(self.pending.len(), self.before_ns, &self.payload);
        self.out.write_all(&header)?;
        self.out.write_all(&self.payload)?;
        self.offset += (header.len() + self.payload.len()) as u64;
        self.header.blocks += 1;
        self.before_ns = self.header.duration_ns;
        self.pending.clear();
        Ok(())
    }

    /// Writes the remaining requests, the names of the tenants' devices and the header, and returns
    /// the output. `origin_ns` is the time of the first request in the original trace.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self, origin_ns: u64, names: &[String]) -> io::Result<W> {
        if !self.pending.is_empty() {
            self.block()?;
        }
        let mut section = NAMES_MAGIC.to_vec();
        section.extend((names.len() as u32).to_le_bytes());
        for name in names {
            // Longer names cannot come from a trace: readers refuse them.
            let bytes = &name.as_bytes()[..name.len().min(usize::from(u16::MAX))];
            section.extend((bytes.len() as u16).to_le_bytes());
            section.extend(bytes);
        }
        section.extend(crc32fast::hash(&section).to_le_bytes());
        self.out.write_all(&section)?;
        self.header.names_offset = self.offset;
        self.header.origin_ns = origin_ns;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&self.header.encode())?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()?;
        Ok(self.out)
    }
}
