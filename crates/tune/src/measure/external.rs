//! Errors of evaluators outside this process.

/// An evaluator outside this process does not work.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// It cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command.
        command: String,
        /// Why.
        source: std::io::Error,
    },
}
