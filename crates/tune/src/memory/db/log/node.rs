//! The pages of sled's tree, and changes of them, as the log holds them.

use std::collections::BTreeMap;

/// The name of the only tree that an AutoDB has.
const TREE: &[u8] = b"__sled__default";

/// Bytes that are read from the front. Everything is `None` where too few are left.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A number of 1 to 9 bytes: up to 240 as it is; up to 2287 and 67823 in one and two bytes
    /// behind a first one that says so; above that in 3 to 8 bytes, the lowest first.
    pub(super) fn number(&mut self) -> Option<u64> {
        let first = u64::from(self.byte()?);
        Some(match first {
            0..=240 => first,
            241..=248 => 240 + 256 * (first - 241) + u64::from(self.byte()?),
            249 => 2288 + u64::from(u16::from_be_bytes(self.array()?)),
            _ => {
                let mut bytes = [0; 8];
                let count = first as usize - 247;
                bytes[..count].copy_from_slice(self.take(count)?);
                u64::from_le_bytes(bytes)
            }
        })
    }

    /// Bytes with their number in front.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.take(count)
    }
}

/// The page that the tree begins with, from the body of a message about all trees.
pub(super) fn root(body: &[u8]) -> Option<u64> {
    let mut bytes = Bytes(body);
    loop {
        let name = bytes.counted()?;
        let page = bytes.number()?;
        if name == TREE {
            return Some(page);
        }
    }
}

/// A page of the tree.
pub(super) enum Page {
    /// Where keys are looked up. Only the way to the first leaf matters here.
    Index {
        first: u64,
    },
    Leaf(Leaf),
}

/// A page that holds values.
pub(super) struct Leaf {
    /// What all keys of the page begin with.
    pub(super) prefix: Vec<u8>,
    /// The page holds keys from `low` on, and below `high`.
    pub(super) low: Vec<u8>,
    pub(super) high: Vec<u8>,
    /// The page of the keys from `high` on.
    pub(super) next: Option<u64>,
    /// The values, under their keys without the prefix.
    values: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Page {
    /// Reads the body of a message that is a whole page.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let next = bytes.number()?;
        let _merging_child = bytes.number()?;
        let _merging = bytes.byte()?;
        let prefix_len = usize::from(bytes.byte()?);
        let low = bytes.counted()?;
        let high = bytes.counted()?;
        let is_index = bytes.byte()? == 1;
        let count = bytes.number()?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(bytes.counted()?);
        }
        if is_index {
            return Some(Self::Index { first: bytes.number()? });
        }
        let mut values = BTreeMap::new();
        for key in keys {
            values.insert(key.to_vec(), bytes.counted()?.to_vec());
        }
        Some(Self::Leaf(Leaf {
            prefix: low.get(..prefix_len)?.to_vec(),
            low: low.to_vec(),
            high: high.to_vec(),
            next: (next != 0).then_some(next),
            values,
        }))
    }
}

impl Leaf {
    /// Keys and values.
    pub(super) fn contents(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        self.values.iter().map(|(key, value)| ([&self.prefix[..], key].concat(), value.clone()))
    }

    /// Makes a change.
    pub(super) fn apply(&mut self, link: Link) {
        match link {
            Link::Set(key, value) => {
                self.values.insert(key.to_vec(), value.to_vec());
            }
            Link::Remove(key) => {
                self.values.remove(key);
            }
            Link::Other => {}
        }
    }
}

/// A change of a page.
pub(super) enum Link<'a> {
    /// A value under a key without the page's prefix.
    Set(&'a [u8], &'a [u8]),
    /// The end of a value.
    Remove(&'a [u8]),
    /// Steps of merging two pages, which move no value.
    Other,
}

impl<'a> Link<'a> {
    /// Reads the body of a message that is a change.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        Some(match bytes.byte()? {
            0 => Self::Set(bytes.counted()?, bytes.counted()?),
            1 => Self::Remove(bytes.counted()?),
            _ => Self::Other,
        })
    }
}
