//! Typed numbers that only the FTL has. Tenants, their logical pages, planes, blocks of a plane and
//! pages of a block have those of `ssdtune_model`; physical pages are [`Phys`](crate::Phys).
//!
//! A tenant's own page numbers ([`Lpn`](ssdtune_model::Lpn)) start at 0 for each tenant. Where the
//! tenant's base is added, they become a [`LogicalPage`].

use serde::{Deserialize, Serialize};
use ssdtune_model::Place;

/// Defines numbers that say where something stands in a list.
macro_rules! place {
    ($($(#[$doc:meta])+ $visibility:vis $name:ident($number:ty);)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        $visibility struct $name(pub $number);

        impl Place for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn at(index: usize) -> Self {
                Self(index as $number)
            }
        }
    )+};
}

place! {
    /// A logical page, numbered over all tenants: what the page table is asked for.
    pub(crate) LogicalPage(u64);
    /// A translation page, numbered over all tenants.
    pub TranslationPageId(u64);
    /// A mapping cache.
    pub(crate) CacheId(u32);
    /// A mapping in its cache.
    pub(crate) MappingSlot(u32);
    /// A tenant's pages in a plane, as the drive held them at the start.
    pub(crate) GroupId(u16);
}

/// An access that waits for a mapping, by a number of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u32);

/// What a physical page holds: in blocks of translation pages a [`TranslationPageId`], in all
/// others a [`LogicalPage`]. Which it is follows from the block's frontier, so no bit says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub u64);

impl Owner {
    /// The owner of a page that belongs to a move which has not been committed.
    pub const IN_FLIGHT: Self = Self((1 << 62) - 1);

    /// The logical page, where the block holds data.
    #[inline]
    pub fn page(self) -> LogicalPage {
        LogicalPage(self.0)
    }

    /// The translation page, where the block holds translation pages.
    #[inline]
    pub fn translation_page(self) -> TranslationPageId {
        TranslationPageId(self.0)
    }
}

impl From<LogicalPage> for Owner {
    #[inline]
    fn from(page: LogicalPage) -> Self {
        Self(page.0)
    }
}

impl From<TranslationPageId> for Owner {
    #[inline]
    fn from(page: TranslationPageId) -> Self {
        Self(page.0)
    }
}
