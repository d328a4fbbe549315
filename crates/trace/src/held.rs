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
