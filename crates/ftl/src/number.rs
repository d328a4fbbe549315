//! Typed numbers that only the FTL has. Planes, blocks of a plane and pages of a block have those
//! of `ssdtune_model`; physical pages are [`Phys`](crate::Phys).
//!
//! A tenant's own page numbers (`lpn`) start at 0 for each tenant and stay plain, as the callers
//! give them; they become a [`LogicalPage`] where the tenant's base is added.

use serde::{Deserialize, Serialize};

/// A logical page, numbered over all tenants: what the page table is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogicalPage(pub u64);

/// A translation page, numbered over all tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TranslationPageId(pub u64);

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
