//! What the commands that use a network of SSDKeeper share: reading its file, a note about its
//! drive, and periods as flags give them.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_keeper::Policy;
use ssdtune_model::{DeviceConfig, Nanos};
use std::path::Path;

/// Reads a network's file.
pub(crate) fn read_policy(path: &Path) -> Outcome<Policy> {
    Policy::read(path).map_err(Failure::input)
}

/// Prints a note if a network was trained for another drive than the one it is used on.
pub(crate) fn note_other_drive(policy: &Policy, config: &DeviceConfig, context: &Context) {
    if !policy.is_for(config) {
        context.note(format_args!(
            "the network was trained for the drive {} as it was then, not for {} as it is here: \
             what it promises may not hold; `ssdtune keeper label` and `train` make one",
            policy.device, config.name
        ));
    }
}

/// Reads a period that is given in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Result<Nanos, String> {
    let ms = text.parse().ok().filter(|ms: &f64| (0.001..=1e9).contains(ms));
    ms.map(|ms| Nanos((ms * 1e6) as u64)).ok_or_else(|| "write milliseconds, 0.001 to 1e9".into())
}
