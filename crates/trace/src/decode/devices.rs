//! The names of devices, and the tenants that the devices become.

use crate::error::{Problem, printable};
use crate::options::Devices;
use ssdtune_model::GOLDEN_STEP;
use ssdtune_model::TenantId;
use std::collections::HashMap;

/// The names of devices, and the tenants that the devices become.
pub(crate) struct DeviceTable {
    pub(super) policy: Devices,
    tenants: HashMap<Vec<u8>, Option<TenantId>>,
    names: Vec<String>,
    /// Short names seen lately, each packed into a word. They save hashing a name for each line.
    recent: Vec<(u64, Option<TenantId>)>,
}

/// The number of slots for short names seen lately.
const RECENT: usize = 256;
const NAME_BYTES_MAX: usize = 255;
/// The largest number of names kept of devices that were not asked for. They are listed in an
/// error.
const UNPICKED_MAX: usize = 1 << 16;

impl DeviceTable {
    pub(super) fn new(policy: Devices) -> Self {
        let mut table =
            Self { policy, tenants: HashMap::new(), names: Vec::new(), recent: Vec::new() };
        if let Devices::Only(names) = &table.policy {
            table.names.clone_from(names);
        }
        table
    }

    /// The tenant of device `name`; `None` if the device was not asked for.
    #[inline(always)]
    pub(super) fn tenant(&mut self, name: &[u8]) -> Result<Option<TenantId>, Problem> {
        if matches!(self.policy, Devices::Merged) {
            return Ok(Some(TenantId(0)));
        }
        if name.len() > 7 {
            return self.look_up(name);
        }
        let mut word = (name.len() as u64 + 1) << 56;
        for (i, &byte) in name.iter().enumerate() {
            word |= u64::from(byte) << (8 * i);
        }
        if let Some(tenant) = self.seen_lately(word) {
            return Ok(tenant);
        }
        let tenant = self.look_up(name)?;
        if self.recent.is_empty() {
            self.recent = vec![(0, None); RECENT];
        }
        self.recent[Self::slot(word)] = (word, tenant);
        Ok(tenant)
    }

    #[inline(always)]
    fn slot(word: u64) -> usize {
        (word.wrapping_mul(GOLDEN_STEP) >> 56) as usize
    }

    /// The tenant of a short name that was seen lately. `word` packs the name, of at most 7 bytes:
    /// its first byte is the lowest, and the highest byte is its length plus one.
    #[inline(always)]
    pub(super) fn seen_lately(&self, word: u64) -> Option<Option<TenantId>> {
        let &(known, tenant) = self.recent.get(Self::slot(word))?;
        (known == word).then_some(tenant)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<Option<TenantId>, Problem> {
        if let Some(&tenant) = self.tenants.get(name) {
            return Ok(tenant);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(Problem::TooManyDevices);
        }
        let text = String::from_utf8_lossy(name).into_owned();
        let tenant = if let Devices::Only(names) = &self.policy {
            let picked = names.iter().position(|n| *n == text);
            if picked.is_none() && self.tenants.len() >= UNPICKED_MAX {
                return Ok(None);
            }
            picked.map(|i| TenantId(i as u16))
        } else {
            let number = u16::try_from(self.names.len()).map_err(|_| Problem::TooManyDevices)?;
            self.names.push(text);
            Some(TenantId(number))
        };
        self.tenants.insert(name.to_vec(), tenant);
        Ok(tenant)
    }

    /// The name of each tenant's device.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// A device that was asked for and has not been seen, and the first dozen devices that have.
    pub(crate) fn missing(&self) -> Option<(String, String)> {
        let Devices::Only(names) = &self.policy else { return None };
        let missing = names.iter().find(|n| !self.tenants.contains_key(n.as_bytes()))?;
        let mut seen: Vec<_> = self.tenants.keys().map(|name| printable(name)).collect();
        seen.sort_unstable();
        seen.truncate(12);
        Some((missing.clone(), seen.join(", ")))
    }
}
