//! Why work ended early, told apart as the exit codes do, for other front ends than the command.

pub use crate::autodb::{cluster_failure as of_categories, failure as of_memory};
pub use crate::cmd::simulate::failure_of_run as of_run;
pub use crate::device::failure as of_drive;
pub use crate::failure_document::{Place, places};
pub use crate::models::failure as of_model;
pub use crate::outcome::Failure;
pub use crate::outputs::failure as of_output;
pub use crate::tuning::{
    failure as of_tuning, failure_of_beginning as of_beginning, failure_of_job as of_job,
};
