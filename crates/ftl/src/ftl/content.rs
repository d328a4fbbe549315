//! The content of a drive that is not empty at the start: how it is set, and how what is computed
//! of it gets into the tables when it is looked at.

use super::Ftl;
use crate::error::FtlError;
use crate::initial_content::{ComputedContent, InitialContent, Sought};
use crate::layout::Phys;
use crate::number::{LogicalPage, Owner};
use crate::page_table::EntryRef;
use crate::prefetch::prefetch;
use ssdtune_model::{BlockAddr, Lpn, PlaneId, Table, TenantId};

/// Pages of an access that are looked up together.
const AT_ONCE: usize = 16;

impl Ftl {
    /// Gives an empty drive its initial content. Returns how many pages of each tenant hold data.
    ///
    /// # Errors
    /// [`FtlError::NoRoomForInitialContent`] if a plane has no room for its part,
    /// [`FtlError::TooLarge`] if a plane has too many pages to number them in 32 bits.
    ///
    /// # Panics
    /// Something was written before.
    pub fn set_initial_content(
        &mut self,
        spec: &InitialContent,
    ) -> Result<Table<TenantId, u64>, FtlError> {
        assert!(
            self.table.mapped() == 0 && self.initial_content.is_none(),
            "only an empty drive gets a content"
        );
        let (tenants, planes) = (&self.tenants, &mut self.planes);
        let content = ComputedContent::new(spec, tenants, planes, &self.geometry, &self.config)?;
        let used = content.used();
        self.table.set_mapped(used.iter().sum());
        self.initial_content = Some(Box::new(content));
        self.fill_mapping_caches(spec.start);
        Ok(used)
    }

    /// Makes the block records of a plane, if it has none yet.
    pub(crate) fn wake(&mut self, plane: PlaneId) {
        if self.planes[plane].asleep {
            self.wake_cold(plane);
        }
    }

    #[cold]
    fn wake_cold(&mut self, plane: PlaneId) {
        let content = self.initial_content.as_mut().expect("only planes with a content sleep");
        content.open(plane, &mut self.planes[plane], self.config.analytic_start, &self.rules);
    }

    /// Computes and stores where a page lay at the start, if nobody has asked for it yet.
    #[inline]
    pub(crate) fn resolve(&mut self, tenant: TenantId, lpn: Lpn, at: EntryRef) {
        if self.initial_content.is_some() && self.table.is_untouched(at) {
            self.resolve_cold(tenant, lpn, at);
        }
    }

    fn resolve_cold(&mut self, tenant: TenantId, lpn: Lpn, at: EntryRef) {
        let place = self.initial_place(tenant, lpn);
        self.table.set_initial(at, place);
    }

    /// The page-table entries whose data lie in the pages of a computed block, one for each page;
    /// `None` where nothing is valid.
    pub(crate) fn owners_of(&self, at: BlockAddr, owners: &mut Vec<Option<Owner>>) {
        let content = self.initial_content.as_ref().expect("a computed block has a content");
        owners.clear();
        owners.resize(self.geometry.pages_per_block as usize, None);
        content.owners(at, &self.tenants, owners);
        let BlockAddr { plane, block } = at;
        self.planes[plane].drop_overwritten(block, owners);
    }

    /// Makes the page records of a block that has none, because its initial content is computed.
    pub(crate) fn materialise_block(&mut self, at: BlockAddr) {
        let mut owners = Vec::new();
        self.owners_of(at, &mut owners);
        let BlockAddr { plane, block } = at;
        self.planes[plane].materialise(block, &owners);
    }

    /// Stores everything that is computed otherwise: the same drive, held in memory. For tests.
    pub fn materialise(&mut self) {
        for tenant in self.tenants.names() {
            let Some(content) = &self.initial_content else { return };
            let pages: Vec<Lpn> = {
                let members = content.members(tenant);
                (0..members.len()).map(|rank| Lpn(members.member(rank))).collect()
            };
            for lpn in pages {
                self.entry(tenant, lpn);
            }
        }
        for plane in self.planes.names() {
            self.wake(plane);
            for block in self.planes[plane].blocks.names() {
                if self.planes[plane].blocks[block].computed {
                    self.materialise_block(BlockAddr { plane, block });
                }
            }
        }
        self.store_initial_mappings();
    }

    /// Stores the content of a block and the page-table entries of its pages, if they are computed
    /// so far. Looking at the block then costs what it costs in a drive that was filled. Returns
    /// whether there was anything to store.
    pub fn store_block(&mut self, at: BlockAddr) -> bool {
        if self.initial_content.is_none() {
            return false;
        }
        self.wake(at.plane);
        let block = self.planes[at.plane].blocks.get(at.block);
        if !block.is_some_and(|block| block.computed) {
            return false;
        }
        self.materialise_block(at);
        let owners: Vec<LogicalPage> =
            self.victim_pages(at).filter_map(|page| self.data_owner(page)).collect();
        for owner in owners {
            let tenant = self.tenant_of_page(owner);
            let lpn = self.tenants[tenant].lpn(owner);
            self.entry(tenant, lpn);
        }
        true
    }

    /// Stores the content of the blocks that are being written on, in planes that were looked at.
    pub fn store_open_blocks(&mut self) {
        for plane in self.planes.names() {
            for block in self.planes[plane].computed_frontiers() {
                self.materialise_block(BlockAddr { plane, block });
            }
        }
    }

    /// Whether a page held data at the start. It may have been overwritten or trimmed since.
    pub(crate) fn held_data_at_start(&self, tenant: TenantId, lpn: Lpn) -> bool {
        self.initial_content
            .as_ref()
            .is_some_and(|content| content.members(tenant).rank(lpn.0).is_some())
    }

    /// The physical page of a logical page, without storing anything that is computed. For checks.
    pub fn place_of(&mut self, tenant: TenantId, lpn: Lpn) -> Option<Phys> {
        if let Some(at) = self.existing_entry(tenant, lpn)
            && (self.initial_content.is_none() || !self.table.is_untouched(at))
        {
            return self.table.phys(at);
        }
        self.initial_place(tenant, lpn)
    }

    /// The physical page of a logical page at the start.
    fn initial_place(&mut self, tenant: TenantId, lpn: Lpn) -> Option<Phys> {
        let sought = self.initial_content.as_ref()?.seek(tenant, lpn)?;
        self.wake(sought.plane);
        let (at, page) = self.initial_content.as_ref()?.place(&sought);
        Some(self.layout.pack(at, page))
    }

    /// The first half of the way to the place of a page that nobody has asked for since the start;
    /// `None` if somebody has, or if it held no data. Wakes the page's plane.
    pub(crate) fn seek(&mut self, tenant: TenantId, lpn: Lpn) -> Option<Sought> {
        let content = self.initial_content.as_ref()?;
        let entry = self.existing_entry(tenant, lpn);
        if entry.is_some_and(|at| !self.table.is_untouched(at)) {
            return None;
        }
        let sought = content.seek(tenant, lpn)?;
        self.wake(sought.plane);
        self.initial_content.as_ref()?.lines(&sought).into_iter().for_each(prefetch);
        Some(sought)
    }

    /// Asks for what an access of several pages will touch before the first of them is served: each
    /// page's place at the start, which is stored, and for a write the records of the page that it
    /// overwrites. One page after the other would wait for memory twice; here the waits overlap.
    pub fn look_ahead(
        &mut self,
        tenant: TenantId,
        mut pages: impl Iterator<Item = Lpn>,
        is_write: bool,
    ) {
        if self.initial_content.is_none() && !is_write {
            return;
        }
        let mut batch = [None; AT_ONCE];
        loop {
            for (page, lpn) in batch.iter_mut().zip(pages.by_ref()) {
                *page = Some((lpn, self.seek(tenant, lpn)));
            }
            for page in &mut batch {
                let Some((lpn, sought)) = page.take() else { return };
                if let Some(sought) = sought {
                    self.resolve_sought(tenant, lpn, &sought);
                }
                if is_write && let Some(at) = self.existing_entry(tenant, lpn) {
                    self.prefetch_old_page(at);
                }
            }
        }
    }

    /// Stores the place of a page that was sought, if nobody has asked for it meanwhile.
    pub(crate) fn resolve_sought(&mut self, tenant: TenantId, lpn: Lpn, sought: &Sought) {
        let at = self.table.entry(self.tenants[tenant].page(lpn));
        if let Some(content) = self.initial_content.as_ref().filter(|_| self.table.is_untouched(at))
        {
            let (block, page) = content.place(sought);
            self.table.set_initial(at, Some(self.layout.pack(block, page)));
        }
    }
}
