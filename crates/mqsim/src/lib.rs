//! MQSim's files: drives (`ssdconfig.xml`) and workloads (`workload.xml`) read and written, results
//! read.
//!
//! [MQSim](https://github.com/CMU-SAFARI/MQSim) skips tags that it does not know and takes
//! compiled-in values for tags that are absent, both silently. Here an unknown tag is a fault with
//! its line and the nearest legal tag, and every value taken for an absent tag is noted.
//!
//! A drive read from MQSim's XML has every switch of [`Compat`](ssdtune_model::config::Compat) on,
//! so that a simulation of it agrees with MQSim. A file that this crate wrote carries what MQSim's
//! format cannot say in a comment, and comes back as the drive that it was.
//!
//! ```
//! use ssdtune_model::presets;
//! use ssdtune_mqsim::{read_device, write_device};
//!
//! let drive = presets::load("intel-750")?;
//! let xml = write_device(&drive)?.value;
//! let again = read_device(&xml)?.value;
//! assert_eq!(again, drive);
//!
//! let wrong = xml.replace("GC_Exec_Threshold", "GC_Exec_Treshold");
//! let faults = read_device(&wrong).unwrap_err().to_string();
//! assert!(faults.contains("did you mean GC_Exec_Threshold?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agreement;
mod annotation;
mod device;
mod format;
pub mod pair;
pub mod result;
pub mod scenario;
mod trace_files;
mod verdict;
mod workload;
mod xml;

pub use device::{as_mqsim, load, load_as_mqsim, read_device, unknown_to_mqsim, write_device};
pub use format::{Noted, is_xml};
pub use scenario::Scenario;
pub use verdict::Verdict;
pub use workload::{read_workload, write_workload};
