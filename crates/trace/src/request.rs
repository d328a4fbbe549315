//! One host request: the unit of every reader, generator, transform and simulation.

use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors, TenantId};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Op {
    /// Reads sectors.
    Read = 0,
    /// Writes sectors.
    Write = 1,
    /// Declares that the content of sectors is no longer needed (discard, UNMAP).
    Trim = 2,
    /// Asks that everything written before is on flash before this request completes. Has no
    /// sectors.
    Flush = 3,
}

impl std::str::FromStr for Op {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "trim" => Ok(Self::Trim),
            "flush" => Ok(Self::Flush),
            _ => Err("write read, write, trim or flush".to_owned()),
        }
    }
}

/// One request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// When the host issues it, counted from the start of the trace.
    pub at: Nanos,
    /// The first sector it touches.
    pub lba: Sectors,
    /// The number of sectors of 512 bytes; 0 only for a flush.
    pub sectors: u32,
    /// The tenant that issues it.
    pub tenant: TenantId,
    /// The operation.
    pub op: Op,
}

// 24 bytes: a million requests take 24 MB. One more field would make it 32.
const _: () = assert!(size_of::<Request>() == 24);

/// Bytes that stand for a request in a hash.
pub const REQUEST_BYTES: usize = 23;

impl Request {
    /// The request in words: time, device, operation, first sector, size. `names` are those of the
    /// tenants' devices.
    pub fn words(&self, names: &[String]) -> [String; 5] {
        let name = names.get(usize::from(self.tenant.0)).cloned().unwrap_or_default();
        let size = Sectors(u64::from(self.sectors)).bytes();
        let op = format!("{:?}", self.op);
        [self.at.to_string(), name, op, self.lba.0.to_string(), size.to_string()]
    }

    /// The bytes that stand for the request where a hash of a trace is made. They are part of keys
    /// that are stored, so they never change.
    #[inline]
    pub fn key_bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[0..8].copy_from_slice(&self.at.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.lba.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.tenant.0.to_le_bytes());
        bytes[22] = self.op as u8;
        bytes
    }

    /// The first sector behind the request.
    pub const fn end(&self) -> Sectors {
        Sectors(self.lba.0 + self.sectors as u64)
    }
}
