//! A note that the commands share which use a network of SSDKeeper.

use crate::context::Context;
use ssdtune_keeper::Policy;
use ssdtune_model::DeviceConfig;

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
