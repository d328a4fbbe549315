//! A flash transaction: work on one page, or on one block that is erased.

use crate::id::{DieId, JobId, RequestId, TransactionId, UnitId};
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::placement::Shape;
use ssdtune_ftl::{EntryRef, Phys, TranslationPageId};
use ssdtune_model::{Lpn, Nanos, PageId, TenantId};

/// Why a transaction exists, beyond its class, and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Purpose {
    /// It is a part of this host request.
    Request(RequestId),
    /// It writes a page of the data cache to flash.
    Destage,
    /// It reads a page into the data cache before the host asks for it.
    ReadAhead,
    /// It reads the rest of a partly written page, for this write.
    Merge(TransactionId),
    /// It reads a translation page that other transactions wait for.
    MappingLoad,
    /// It reads a translation page so that it can be written back by this write, unless that costs
    /// no program.
    MappingMerge(Option<TransactionId>),
    /// It programs a translation page.
    MappingStore,
    /// It moves a page of this job's victim: it is a read first, then a program.
    Move(JobId),
    /// It erases this job's victim.
    Erase(JobId),
}

/// A flash transaction. Mapping units below a page would add their place in the page here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Transaction {
    /// The physical page.
    pub phys: Phys,
    /// What it reads, writes or moves, as a number. The purpose says of which kind it is: a logical
    /// page, a translation page, or the physical page that a moved page leaves. An enum of the
    /// three would take 8 B more.
    subject: u64,
    /// When the data were in the drive.
    pub stamp: Nanos,
    /// The page-table entry of the logical page.
    pub entry: EntryRef,
    /// The sectors it concerns, one bit each.
    pub mask: u64,
    pub purpose: Purpose,
    /// A write that is `blocked`: the read of the rest of its page, until that is staged.
    pub rest: Option<TransactionId>,
    /// The next transaction in a queue or in a command.
    pub next: Option<TransactionId>,
    /// The transaction before it in a queue.
    pub prev: Option<TransactionId>,
    /// The flush that waits for it.
    pub flush: Option<RequestId>,
    /// Its scheduling unit.
    pub unit: UnitId,
    /// Its die.
    pub die: DieId,
    /// The offset of the page in its block.
    pub page: PageId,
    /// When it was queued, counted in queued transactions.
    pub seq: u32,
    pub tenant: TenantId,
    /// What the host write that it carries looked like from its page.
    pub shape: Shape,
    /// Sectors to transfer.
    pub sectors: u16,
    /// The plane within the die.
    pub plane: u8,
    pub class: Class,
    /// It waits for another transaction, or for the pages of its victim to be moved.
    pub blocked: bool,
    /// Its priority among the transactions of its class; 0 goes first.
    pub priority: u8,
    /// How often its operation has been interrupted.
    pub suspensions: u8,
    /// It is in use. A flush looks through the slab for what is under way.
    pub live: bool,
}

impl Transaction {
    /// A transaction for a tenant, of which the rest is not known yet.
    pub fn new(class: Class, purpose: Purpose, entry: EntryRef, tenant: TenantId) -> Self {
        Self {
            phys: Phys::NONE,
            subject: 0,
            stamp: Nanos::ZERO,
            entry,
            mask: 0,
            purpose,
            rest: None,
            next: None,
            prev: None,
            flush: None,
            unit: UnitId(0),
            die: DieId(0),
            page: PageId(0),
            seq: 0,
            tenant,
            shape: Shape::default(),
            sectors: 0,
            plane: 0,
            class,
            blocked: false,
            priority: 0,
            suspensions: 0,
            live: true,
        }
    }

    /// The logical page of what serves the host.
    #[inline]
    pub fn lpn(&self) -> Lpn {
        debug_assert!(self.is_of_host());
        Lpn(self.subject)
    }

    /// Names the logical page.
    #[inline]
    pub fn set_lpn(&mut self, page: Lpn) {
        debug_assert!(self.is_of_host());
        self.subject = page.0;
    }

    /// The translation page that is read or written.
    #[inline]
    pub fn translation_page(&self) -> TranslationPageId {
        debug_assert!(self.is_of_mapping());
        TranslationPageId(self.subject)
    }

    /// Names the translation page.
    #[inline]
    pub fn set_translation_page(&mut self, page: TranslationPageId) {
        debug_assert!(self.is_of_mapping());
        self.subject = page.0;
    }

    /// The physical page that a moved page leaves.
    #[inline]
    pub fn left(&self) -> Phys {
        debug_assert!(matches!(self.purpose, Purpose::Move(_)));
        Phys::from_bits(self.subject)
    }

    /// Says which physical page a moved page leaves.
    #[inline]
    pub fn set_left(&mut self, page: Phys) {
        debug_assert!(matches!(self.purpose, Purpose::Move(_)));
        self.subject = page.to_bits();
    }

    fn is_of_host(&self) -> bool {
        use Purpose::{Destage, Merge, ReadAhead, Request};
        matches!(self.purpose, Request(_) | Destage | Merge(_) | ReadAhead)
    }

    fn is_of_mapping(&self) -> bool {
        use Purpose::{MappingLoad, MappingMerge, MappingStore};
        matches!(self.purpose, MappingLoad | MappingMerge(_) | MappingStore)
    }
}
