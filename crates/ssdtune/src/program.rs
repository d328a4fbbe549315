//! What results say about the program that made them.

/// The program and the version of its simulator's results.
pub(crate) fn simulator() -> String {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    format!("{name} {version}, results {}", ssdtune_tune::memory::RESULTS_EPOCH)
}

/// The command line as it was given, without the path of the program.
pub(crate) fn command_line() -> String {
    let arguments = std::env::args_os().skip(1);
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("ssdtune {}", words.join(" "))
}
