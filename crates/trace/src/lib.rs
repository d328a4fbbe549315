//! Block-I/O traces: what a host asked of a drive, and when. Knows no device.

pub mod request;

pub use request::{Op, Request, TenantId};
