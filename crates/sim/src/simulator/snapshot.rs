//! A drive's whole state as bytes. A run that continues from them is the run that was not stopped,
//! to the byte.
//!
//! The layout is: the magic, a version, the length and the checksum of what follows; then what the
//! drive was made of (its configuration in canonical TOML, and its tenants); then its state. What
//! follows from the configuration is made anew and not stored. Requests that a stream has not yet
//! handed over are its caller's to keep.
//!
//! The state is that of each part, one behind the other, written with postcard, which stores no
//! names: the order of the fields and of the variants is the format. A checksum finds damage, not
//! malice: restore only snapshots that you made.
//!
//! A drive that has nothing to do keeps nothing that depends on how long its commands take, so that
//! its snapshot also fits a drive with other times ([`Simulator::differ_in_times_alone`]).

use super::Simulator;
use crate::core::Stored;
use crate::vocabulary::{Observe, SimError, Tenant};
use serde::{Deserialize, Serialize};
use ssdtune_model::catalogue::{self, Parameter};
use ssdtune_model::document::{self, Document};
use ssdtune_model::{CheckedConfig, DeviceConfig};

const MAGIC: [u8; 8] = *b"SSDTSNAP";
/// The version of the format. Raise it whenever the shape of the state changes.
const VERSION: u32 = 18;
/// Length of the header: magic, version, length, checksum.
const HEADER: usize = MAGIC.len() + 4 + 8 + 4;

/// Why bytes are no state of this drive.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes do not begin with the magic of a snapshot.
    #[error("not a snapshot of a drive: it does not begin with SSDTSNAP")]
    Unknown,
    /// The snapshot has another version of the format.
    #[error("a snapshot of version {found}; this program reads version {VERSION}: make it anew")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The snapshot was cut short or changed.
    #[error("the snapshot is damaged: {reason}")]
    Damaged {
        /// How the damage was noticed.
        reason: String,
    },
    /// The snapshot is of a drive with another configuration or other tenants.
    #[error(
        "a snapshot of another drive: {what} (restore with the device and the tenants it was made \
         with)"
    )]
    OtherDrive {
        /// What is different.
        what: String,
    },
    /// The snapshot is to be continued with other times, and something is under way in it.
    #[error("the snapshot was taken while the drive worked: its times cannot change")]
    Busy,
    /// The drive cannot be made.
    #[error(transparent)]
    Drive(#[from] SimError),
}

fn damaged(reason: impl ToString) -> SnapshotError {
    SnapshotError::Damaged { reason: reason.to_string() }
}

/// What a drive was made of. The tenants are kept as their `Debug` text.
#[derive(Serialize, Deserialize)]
struct Made {
    config: String,
    tenants: Vec<String>,
}

impl Made {
    fn of(config: &CheckedConfig, tenants: &[Tenant]) -> Self {
        Self {
            config: document::write(config),
            tenants: tenants.iter().map(|tenant| format!("{tenant:?}")).collect(),
        }
    }

    /// Says what is different.
    fn compare(&self, other: &Self) -> Result<(), SnapshotError> {
        let what = if self.config != other.config {
            let lines = self.config.lines().zip(other.config.lines());
            let (theirs, ours) = lines.into_iter().find(|(a, b)| a != b).unwrap_or_default();
            format!("`{theirs}` there, `{ours}` here")
        } else if self.tenants != other.tenants {
            format!(
                "{} tenants there, {} here, or other places",
                self.tenants.len(),
                other.tenants.len()
            )
        } else {
            return Ok(());
        };
        Err(SnapshotError::OtherDrive { what })
    }
}

/// Rows of the catalogue that say how long something takes on the flash or in the controller.
fn times() -> impl Iterator<Item = &'static Parameter> {
    const PARTS: [&str; 3] = ["flash.page_", "controller.", "suspension."];
    let is_time =
        |key: &str| key.ends_with("_ns") && PARTS.iter().any(|part| key.starts_with(part));
    catalogue::parameters().filter(move |row| is_time(row.key))
}

/// A drive with the times of another one.
fn with_times_of(mut drive: DeviceConfig, other: &DeviceConfig) -> DeviceConfig {
    // What one drive has is legal in the other.
    times().for_each(|row| drop(row.set(&mut drive, row.get(other))));
    drive
}

impl Simulator {
    /// The whole state of the drive, to be continued by [`Simulator::restore`].
    ///
    /// # Errors
    /// A part of the state cannot be written.
    pub fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        // How the last run ended is not stored: a restored drive has its run before it.
        let Self { core, config, tenants, ending: _, when_served: _ } = self;
        let mut bytes = vec![0; HEADER];
        bytes = postcard::to_extend(&Made::of(config, tenants), bytes).map_err(damaged)?;
        bytes = postcard::to_extend(&core.state(), bytes).map_err(damaged)?;
        let (length, sum) = ((bytes.len() - HEADER) as u64, crc32fast::hash(&bytes[HEADER..]));
        let header =
            [&MAGIC[..], &VERSION.to_le_bytes(), &length.to_le_bytes(), &sum.to_le_bytes()];
        bytes[..HEADER].copy_from_slice(&header.concat());
        Ok(bytes)
    }

    /// Makes a drive that continues where a snapshot was taken. Of `observe`, only `completions`
    /// counts: whether percentiles are exact is part of the snapshot.
    ///
    /// # Errors
    /// The bytes are no whole snapshot of this version, or they are one of a drive with another
    /// configuration or other tenants.
    pub fn restore(
        config: &CheckedConfig,
        tenants: &[Tenant],
        observe: Observe,
        bytes: &[u8],
    ) -> Result<Self, SnapshotError> {
        let (made, state) = parts(bytes)?;
        made.compare(&Made::of(config, tenants))?;
        Self::with_state(config, tenants, observe, state)
    }

    /// Makes a drive that continues where the snapshot of another one was taken. The other one had
    /// nothing to do then, and differs in nothing but the times of commands.
    ///
    /// # Errors
    /// The bytes are no whole snapshot of this version, the drives differ in more, or something was
    /// under way.
    pub fn restore_with_times(
        config: &CheckedConfig,
        tenants: &[Tenant],
        observe: Observe,
        bytes: &[u8],
    ) -> Result<Self, SnapshotError> {
        let (mut made, state) = parts(bytes)?;
        let theirs = Document::parse(&made.config).map_err(damaged)?.config().clone();
        made.config = document::write(&with_times_of(theirs, config));
        made.compare(&Made::of(config, tenants))?;
        let drive = Self::with_state(config, tenants, observe, state)?;
        if drive.core.base.events.next_at().is_some() {
            Err(SnapshotError::Busy)
        } else {
            Ok(drive)
        }
    }

    /// Whether [`Simulator::restore_with_times`] takes the snapshot of one of these drives for the
    /// other one.
    pub fn differ_in_times_alone(one: &DeviceConfig, other: &DeviceConfig) -> bool {
        with_times_of(one.clone(), other) == *other
    }

    fn with_state(
        config: &CheckedConfig,
        tenants: &[Tenant],
        observe: Observe,
        state: &[u8],
    ) -> Result<Self, SnapshotError> {
        let mut drive = Self::new(config, tenants, observe)?;
        let (stored, rest) = postcard::take_from_bytes::<Stored>(state).map_err(damaged)?;
        if !rest.is_empty() {
            return Err(damaged("something follows the state"));
        }
        drive.core.set_state(stored);
        Ok(drive)
    }
}

/// What the drive was made with, and its state as bytes.
fn parts(bytes: &[u8]) -> Result<(Made, &[u8]), SnapshotError> {
    postcard::take_from_bytes(body(bytes)?).map_err(damaged)
}

/// What follows a header without faults.
fn body(bytes: &[u8]) -> Result<&[u8], SnapshotError> {
    let header = bytes.get(..HEADER).filter(|header| header.starts_with(&MAGIC));
    let header = header.ok_or(SnapshotError::Unknown)?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|index| header[at + index]));
    let found = word(8);
    if found != VERSION {
        return Err(SnapshotError::Version { found });
    }
    let length = u64::from(word(12)) | u64::from(word(16)) << 32;
    let body = &bytes[HEADER..];
    if body.len() as u64 != length {
        return Err(damaged(format!("{} bytes instead of {length}", body.len())));
    }
    if crc32fast::hash(body) != word(20) {
        return Err(damaged("the checksum is wrong"));
    }
    Ok(body)
}
