//! Block-I/O traces: what a host asked of a drive, and when. Knows no device.

pub mod binary;
pub mod compress;
mod decode;
pub mod describe;
pub mod detect;
pub mod error;
pub mod formats;
mod input;
pub mod merge;
mod order;
pub mod reader;
pub mod request;
mod text;
pub mod transform;
pub mod workload;
pub mod writer;

pub use error::TraceError;
pub use formats::Format;
pub use reader::{ReadOptions, Requests, Source, TraceReader, open, read_from};
pub use request::{Op, Request, TenantId};
