//! Requests that are held in memory. They are counted, so that a program that runs out of memory
//! can say how many they were.

use crate::error::TraceError;
use crate::request::Request;
use crate::source::Source;
use std::sync::atomic::{AtomicU64, Ordering};

static HELD: AtomicU64 = AtomicU64::new(0);

/// How many requests of traces this process has taken into memory. Those that were given back
/// meanwhile count too.
pub fn requests_held() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// Counts requests that the caller has taken into memory.
pub fn note_held(requests: usize) {
    HELD.fetch_add(requests as u64, Ordering::Relaxed);
}

/// Takes the first requests of a source into memory, at most `most` of them, 24 bytes each.
///
/// # Errors
/// The source cannot be read on.
pub fn hold(source: &mut dyn Source, most: usize) -> Result<Vec<Request>, TraceError> {
    let mut requests = Vec::new();
    while requests.len() < most {
        match source.fill(&mut requests)? {
            0 => break,
            count => note_held(count),
        }
    }
    requests.truncate(most);
    requests.shrink_to_fit();
    Ok(requests)
}

/// Takes the first requests of a source into memory, as [`hold`] does, and says whether there are
/// more.
///
/// # Errors
/// The source cannot be read on.
pub fn hold_first(
    source: &mut dyn Source,
    most: usize,
) -> Result<(Vec<Request>, bool), TraceError> {
    let mut requests = hold(source, most.saturating_add(1))?;
    let is_cut = requests.len() > most;
    requests.truncate(most);
    Ok((requests, is_cut))
}

/// The sentence for where `bytes` more of memory cannot be had. `remedy` says how the user takes
/// fewer requests.
pub fn memory_has_ended(bytes: u64, remedy: &str) -> String {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let each = size_of::<Request>() as u64;
    let less = match requests_held() {
        0 => "a smaller drive, fewer requests or fewer --threads take less".to_owned(),
        requests => format!(
            "{requests} requests of traces were taken into memory, {each} bytes each ({} MiB), \
             beside what is made of them; {remedy}, and fewer --threads take less",
            mib(requests * each),
        ),
    };
    format!(
        "memory has ended: {} MiB more were asked for, and the system does not give them. {less}; \
         or allow more (`ulimit -v`)",
        mib(bytes)
    )
}
