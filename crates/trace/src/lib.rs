//! Traces of block I/O: what a host asks of a drive, and when.
//!
//! Every trace becomes a stream of [`Request`]s in order of time, whatever format it has. You can
//!
//! - read trace files of [22 formats](Format), compressed or not: [`open_path`], [`read_from`];
//! - write them: [`writer`];
//! - filter, cut, scale, remap, split and join streams: [`transform`], [`merge`], and
//!   [`Conversion`], which does it all in the right order;
//! - find out what a trace is like: [`describe`];
//! - generate requests from a model where there is no trace, or fit a model to one: [`workload`].
//!
//! Times are nanoseconds, addresses and sizes are sectors of 512 bytes; both types are from
//! `ssdtune-model`. Streams take bounded memory however long they are.
//!
//! This crate knows no drive. It does not say how long a request takes (`ssdtune-sim` does), does
//! not record traces, and ignores the response times that some formats hold.
//!
//! # Read a trace
//!
//! The format is detected, or named in [`ReadOptions`]. A faulty line is an error that says where
//! it is and what to do; [`ReadOptions::lenient`] skips and counts such lines.
//!
//! ```
//! use ssdtune_trace::describe::Describer;
//! use ssdtune_trace::{Op, ReadOptions, read_from};
//!
//! // Four lines of MQSim's text: time in ns, device, sector, sectors, type (0 is a write).
//! let text = "1000 0 2048 8 0\n1500 0 2056 8 0\n1800 0 2048 8 1\n2500 0 4096 16 1\n";
//! let trace = read_from(text.as_bytes(), "example", &ReadOptions::default())?;
//! assert_eq!(trace.format().name(), "mqsim");
//!
//! let mut describer = Describer::new();
//! for request in trace.requests() {
//!     let request = request?;
//!     if request.op == Op::Write {
//!         println!("{} ns: write {} sectors", request.at.0, request.sectors);
//!     }
//!     describer.push(&request);
//! }
//! let description = describer.finish();
//! assert_eq!((description.reads, description.write_bytes), (2, 8_192));
//! println!("{description}");
//! # Ok::<(), ssdtune_trace::TraceError>(())
//! ```
//!
//! For a file, write `open_path(path, &options)?.source` in place of `read_from`, and
//! [`Requests::new`] for its iterator. The program `examples/describe_trace.rs` does so.
//!
//! # Generate, change and write a trace
//!
//! ```
//! use ssdtune_trace::transform::{Chain, Filter, ScaleTime};
//! use ssdtune_trace::workload::{Generator, Seed, bundled};
//! use ssdtune_trace::writer::{OutputFormat, TraceWriter};
//! use ssdtune_trace::{Op, ReadOptions, Requests, open_path};
//!
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! // A thousand requests of a bundled model. The same seed always gives the same requests.
//! let model = bundled("database")?;
//! let requests: Vec<_> = Generator::new(&model, Seed::default())?.take(1_000).collect();
//!
//! // Write them as compressed CSV.
//! let path = directory.join("database.csv.gz");
//! let mut writer = TraceWriter::create(&path, OutputFormat::of_name(&path)?)?;
//! writer.write(&requests)?;
//! writer.finish(0, &[])?;
//!
//! // Read them back: the reads only, at twice the rate.
//! let reads = Filter { ops: Some(vec![Op::Read]), ..Filter::default() };
//! let trace = open_path(&path, &ReadOptions::default())?;
//! let chain = Chain::new(trace.source).then(reads).then(ScaleTime::new(0.5)?);
//! let changed = Requests::new(chain).collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(changed.len(), requests.iter().filter(|request| request.op == Op::Read).count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod binary;
pub mod compress;
mod conversion;
mod decode;
pub mod describe;
mod detect;
pub mod error;
pub mod fio_output;
mod format;
mod formats;
mod held;
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

pub use conversion::{
    Conversion, ConversionError, Converted, DenseSize, Join, JoinName, PartsError, Remap, RemapName,
};
pub use error::TraceError;
pub use format::{Format, FormatInfo, TimeUnit};
pub use held::{hold, hold_first, memory_has_ended, note_held, requests_held};
pub use open::{Opened, bytes_to_read, input_bytes, open_input, open_path};
pub use options::{ColumnSpec, Devices, Event, ReadOptions};
pub use order::JUMP_BACK;
pub use reader::{TraceReader, open, read_from};
pub use request::{Op, REQUEST_BYTES, Request};
pub use source::{Followed, JumpsBack, ReadStats, Requests, Source};
pub use ssdtune_model::TenantId;
