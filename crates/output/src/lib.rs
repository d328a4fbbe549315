//! Files that a program writes for its user: they appear whole or not at all, and never in the
//! place of something that the user did not give up.
//!
//! The crate knows nothing of drives.
//!
//! - [`OutputFile`] is written beside its place and renamed when it is finished. [`write()`] does
//!   it in one call. A program that ends early calls [`remove_unfinished`]; one that fails asks
//!   [`given_up`] which files were not written.
//! - [`OutputPlan`] is told every file that a program will read and write before it opens any, and
//!   refuses an output that is an input, that is there already, that cannot be written, or that
//!   another output is.
//! - [`LineFile`] is the exception: a file of lines that grows while a program works and that the
//!   next run goes on with. A file that does not begin as such a file is not touched.
//!
//! - [`EndingAllocator`] is for programs that leave nothing half written where memory ends.
//!
//! Devices, pipes and names of open descriptors (`/dev/stdout`) are written directly, since there
//! is no place beside them and nothing to lose.
//!
//! ```
//! use ssdtune_output::{OutputFile, OutputPlan};
//! use std::io::Write;
//!
//! # let folder = tempfile::tempdir()?;
//! let input = folder.path().join("in.csv");
//! let output = folder.path().join("out.csv");
//! ssdtune_output::write(&input, "1,2\n")?;
//!
//! let mut plan = OutputPlan::new();
//! plan.reads("--trace", &input)?;
//! plan.writes("--log", &output)?;
//! let error = plan.writes("--series", &input).unwrap_err();
//! assert!(error.to_string().contains("--trace reads this file"));
//!
//! let mut file = OutputFile::create(&output)?;
//! file.write_all(b"3,4\n")?;
//! assert!(!output.exists());
//! file.finish()?;
//! assert_eq!(std::fs::read_to_string(&output)?, "3,4\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost: one rename for each file, and one more small file, made and removed, for each directory
//! that a plan names. What replaces a file is brought to the disk before it does.

mod allocator;
mod file;
mod lines;
mod place;
mod plan;

pub use allocator::{EndingAllocator, give_back_freed_memory};
pub use file::{OutputFile, given_up, remove, remove_unfinished, write, write_into};
pub use lines::{ForeignFile, LineFile, LineFileError, LineKind};
pub use plan::{Conflict, OutputPlan};
