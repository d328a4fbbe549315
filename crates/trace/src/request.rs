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

impl Request {
    /// The request in words: time, device, operation, first sector, size. `names` are those of the
    /// tenants' devices.
    pub fn words(&self, names: &[String]) -> [String; 5] {
        let name = names.get(usize::from(self.tenant.0)).cloned().unwrap_or_default();
        let size = Sectors(u64::from(self.sectors)).bytes();
        let op = format!("{:?}", self.op);
        [self.at.to_string(), name, op, self.lba.0.to_string(), size.to_string()]
    }

    /// The first sector behind the request.
    pub const fn end(&self) -> Sectors {
        Sectors(self.lba.0 + self.sectors as u64)
    }
}
