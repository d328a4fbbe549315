//! Reads `.ssdt` from a stream: a pipe, or a compressed file.

use crate::binary::{BLOCK_HEADER_BYTES, BlockHeader, HEADER_BYTES, Header};
use crate::decode::{Context, Decoder};
use crate::error::TraceError;
use crate::input::{Batch, Input};

#[derive(Default)]
pub(crate) struct SsdtDecoder {
    header: Option<Header>,
    /// The number of requests decoded.
    seen: u64,
}

impl Decoder for SsdtDecoder {
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError> {
        let path = input.path().to_path_buf();
        let header = match self.header {
            Some(header) => header,
            None => {
                let header = Header::decode(input.want(HEADER_BYTES)?, &path)?;
                input.consume(HEADER_BYTES);
                *self.header.insert(header)
            }
        };
        if self.seen >= header.requests {
            return Ok(false);
        }
        let offset = input.offset();
        let truncated = |available: usize| TraceError::Truncated {
            path: path.clone(),
            offset: offset + available as u64,
            what: "a block",
        };
        let corrupt = |what: String| TraceError::Corrupt { path: path.clone(), offset, what };
        let bytes = input.want(BLOCK_HEADER_BYTES)?;
        if bytes.len() < BLOCK_HEADER_BYTES {
            return Err(truncated(bytes.len()));
        }
        let block = BlockHeader::decode(bytes).map_err(corrupt)?;
        let size = BLOCK_HEADER_BYTES + block.payload_bytes;
        let bytes = input.want(size)?;
        if bytes.len() < size {
            return Err(truncated(bytes.len()));
        }
        let (head, payload) = bytes[..size].split_at(BLOCK_HEADER_BYTES);
        block.requests(head, payload, &mut batch.requests).map_err(corrupt)?;
        batch.mark(offset);
        input.consume(size);
        self.seen += block.requests as u64;
        context.admit(&mut batch.requests, &path, offset)?;
        Ok(true)
    }

    fn by_line(&self) -> bool {
        false
    }
}
