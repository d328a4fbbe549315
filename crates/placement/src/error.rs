//! Why a load cannot be read, or a policy cannot be measured on it.

use ssdtune_experiment::PrepareError;
use ssdtune_ftl::FtlError;
use ssdtune_model::Faults;
use ssdtune_model::presets::UnknownPreset;
use ssdtune_trace::TraceError;
use std::error::Error;
use std::fmt::Write as _;

/// Why a load cannot be read, or a policy cannot be measured on it.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The requests do not come.
    #[error("{0}")]
    Source(#[from] TraceError),
    /// An address is too high to be numbered.
    #[error("{name}: a write reaches sector {sector}, beyond 2^44 pages")]
    AddressTooHigh {
        /// The load.
        name: String,
        /// The sector after the write's last.
        sector: u64,
    },
    /// The load writes more pages than page numbers can tell apart.
    #[error("{name}: writes more than 2^32 pages")]
    TooManyPages {
        /// The load.
        name: String,
    },
    /// The load only reads.
    #[error("{name}: has no write, so nothing to place")]
    NoWrite {
        /// The load.
        name: String,
    },
    /// A drive as large as the load has too few blocks for a comparison.
    #[error(
        "{name} writes {pages} pages of {page_bytes} B: a drive of that size has {blocks} blocks \
         of {block_pages} pages, too few to tell placement policies apart ({least} are asked for)"
    )]
    TooFewBlocks {
        /// The load.
        name: String,
        /// Pages that the load writes at least once.
        pages: u32,
        /// Bytes of a page.
        page_bytes: u32,
        /// Blocks that the drive would have.
        blocks: u64,
        /// Pages of each block.
        block_pages: u64,
        /// The fewest blocks for a comparison.
        least: u64,
    },
    /// The load writes more than a drive of given size can hold.
    #[error("{name}: writes {pages} pages, the drive has {visible}")]
    TooLarge {
        /// The load.
        name: String,
        /// Pages that the load writes at least once.
        pages: u32,
        /// Pages that the host sees.
        visible: u64,
    },
    /// The drive that others are made from is missing.
    #[error(transparent)]
    Preset(#[from] UnknownPreset),
    /// The drive with the policy's settings is impossible.
    #[error(transparent)]
    Config(#[from] Faults),
    /// The drive cannot be managed with the policy's write frontiers.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// A write found no free block.
    #[error("the drive is too small")]
    OutOfSpace(#[source] FtlError),
    /// The drive cannot be prepared for the timed requests.
    #[error("{0}")]
    Prepare(#[from] PrepareError),
}

impl PlacementError {
    /// The error with its causes, each on a line of its own unless the text before says it.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\n  cause: {said}");
            }
            cause = error.source();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let full = FtlError::OutOfSpace { plane: ssdtune_model::PlaneId(3) };
        let said = full.to_string();
        let text = PlacementError::OutOfSpace(full.clone()).with_causes();
        assert_eq!(text, format!("the drive is too small\n  cause: {said}"));
        assert_eq!(PlacementError::Ftl(full).with_causes(), said);
    }
}
