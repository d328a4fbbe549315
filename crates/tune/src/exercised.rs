//! Mechanisms of a drive that runs used or did not: of a parameter whose mechanism no run used,
//! nothing is known.

use crate::evaluate::Measurement;

/// What [`mechanism`] calls the collection of garbage.
pub(crate) const COLLECTION: &str = "garbage collection";

/// The mechanism without which a parameter has no effect, by its name in [`Report::never_fired`].
///
/// [`Report::never_fired`]: ssdtune_sim::Report::never_fired
pub(crate) fn mechanism(key: &str) -> Option<&'static str> {
    let starts = |part: &str| key.starts_with(part);
    match key {
        "mapping.overprovisioning" | "flash.block_erase_latency_ns" => Some(COLLECTION),
        "mapping.cmt_capacity_bytes" => Some("mapping misses"),
        _ if starts("gc.") => Some(COLLECTION),
        _ if starts("wear.") => Some("static wear levelling"),
        _ if starts("suspension.") => Some("suspension"),
        _ => None,
    }
}

/// Whether no run used a mechanism. False if nothing is known about any run.
pub(crate) fn never_used(measured: &[&Measurement], mechanism: &str) -> bool {
    let runs = measured
        .iter()
        .flat_map(|measurement| [measurement.open.as_ref(), measurement.closed.as_ref()]);
    let mut runs = runs.flatten().peekable();
    if runs.peek().is_none() {
        return false;
    }
    runs.all(|run| match mechanism {
        COLLECTION => run.collections == 0,
        "mapping misses" => run.mapping_misses == 0,
        name => run.never_fired.iter().any(|unused| unused == name),
    })
}
