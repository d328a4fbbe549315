//! 256-bit digests, and how fields and requests go into one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssdtune_trace::{REQUEST_BYTES, Request};
use std::fmt;
use std::str::FromStr;

/// A BLAKE3 hash; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest that consists of these bytes. Nothing is hashed.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A text that cannot be read as a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no digest: write 64 hexadecimal digits")]
pub struct DigestError {
    /// The first 80 characters of that text.
    pub text: String,
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError { text: text.chars().take(80).collect() };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or_else(wrong);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Makes a digest of named fields.
#[derive(Clone, Debug)]
pub struct Digester(blake3::Hasher);

impl Digester {
    /// An empty digest for a purpose. Equal fields for different purposes give different digests.
    pub fn new(purpose: &str) -> Self {
        let mut digester = Self(blake3::Hasher::new());
        digester.bytes("purpose", purpose.as_bytes());
        digester
    }

    /// Adds a field of bytes.
    pub fn bytes(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.field(b'b', name, value)
    }

    /// Adds a field of text.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.field(b't', name, value.as_bytes())
    }

    /// Adds a field with a whole number.
    pub fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.field(b'n', name, &value.to_le_bytes())
    }

    /// Adds a field with a real number. Every bit counts, but -0 and 0 are equal.
    pub fn real(&mut self, name: &str, value: f64) -> &mut Self {
        self.field(b'r', name, &(value + 0.0).to_bits().to_le_bytes())
    }

    /// Adds a field with another digest.
    pub fn digest(&mut self, name: &str, value: Digest) -> &mut Self {
        self.field(b'd', name, &value.0)
    }

    /// The digest of the fields added so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }

    fn field(&mut self, kind: u8, name: &str, value: &[u8]) -> &mut Self {
        self.0.update(&[kind]);
        for part in [name.as_bytes(), value] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }
}

/// Requests hashed at once: enough for the hash's widest vectors.
const BLOCK_REQUESTS: usize = 1024;

/// Makes a digest of a request stream of any length, in constant memory.
#[derive(Clone, Debug)]
pub struct RequestDigester {
    hasher: blake3::Hasher,
    block: Vec<u8>,
    count: u64,
}

impl Default for RequestDigester {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestDigester {
    /// The digester of an empty stream.
    pub fn new() -> Self {
        let block = Vec::with_capacity(BLOCK_REQUESTS * REQUEST_BYTES);
        Self { hasher: blake3::Hasher::new(), block, count: 0 }
    }

    /// Adds the next request.
    pub fn push(&mut self, request: &Request) {
        self.block.extend_from_slice(&request.key_bytes());
        self.count += 1;
        if self.block.len() == BLOCK_REQUESTS * REQUEST_BYTES {
            self.hasher.update(&self.block);
            self.block.clear();
        }
    }

    /// The digest of the requests so far.
    pub fn finish(mut self) -> Digest {
        self.hasher.update(&self.block);
        let content = Digest(*self.hasher.finalize().as_bytes());
        let mut digester = Digester::new("ssdtune requests");
        digester.number("count", self.count).digest("content", content);
        digester.finish()
    }
}

/// The digest of a request stream: times, addresses, sizes, tenants and operations.
pub fn digest_requests<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Digest {
    let mut digester = RequestDigester::new();
    requests.into_iter().for_each(|request| digester.push(request));
    digester.finish()
}
