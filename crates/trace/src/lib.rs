//! Block-I/O traces: what a host asked of a drive, and when. Knows no device.

pub mod binary;
pub mod compress;
mod conversion;
mod decode;
pub mod describe;
mod detect;
pub mod error;
mod format;
mod formats;
mod input;
pub mod merge;
mod open;
mod options;
mod order;
mod reader;
mod request;
mod source;
mod text;
pub mod transform;
pub mod workload;
pub mod writer;

pub use conversion::{Conversion, ConversionError, Converted, DenseSize, Join, Remap};
pub use error::TraceError;
pub use format::{Format, FormatInfo, TimeUnit};
pub use open::{Opened, bytes_to_read, open_path};
pub use options::{ColumnSpec, Devices, Event, ReadOptions};
pub use reader::{TraceReader, open, read_from};
pub use request::{Op, Request, TenantId};
pub use source::{ReadStats, Requests, Source};
