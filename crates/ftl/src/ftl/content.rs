//! The content of a drive that is not empty at the start: how it is set, and how what is computed
//! of it gets into the tables when it is looked at.

use super::Ftl;
use crate::error::FtlError;
use crate::initial_content::{ComputedContent, InitialContent, Sought};
use crate::layout::{BlockRef, Phys};
use crate::number::{LogicalPage, Owner};
use crate::page_table::EntryRef;
use crate::prefetch::prefetch;
use ssdtune_model::{Place, PlaneId};

impl Ftl {
    /// Gives an empty drive its initial content. Returns how many pages of each tenant hold data.
    ///
    /// # Errors
    /// [`FtlError::NoRoomForInitialContent`] if a plane has no room for its part,
    /// [`FtlError::TooLarge`] if a plane has too many pages to number them in 32 bits.
    ///
    /// # Panics
    /// Something was written before.
    pub fn set_initial_content(&mut self, spec: &InitialContent) -> Result<Vec<u64>, FtlError> {
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
        if self.planes[plane.index()].asleep {
            self.wake_cold(plane);
        }
    }

    #[cold]
    fn wake_cold(&mut self, plane: PlaneId) {
        let content = self.initial_content.as_mut().expect("only planes with a content sleep");
        let record = &mut self.planes[plane.index()];
        let open = content.open(plane, record, self.config.analytic_start, &self.rules);
        for block in open {
            self.materialise_block(BlockRef { plane: plane.0, block });
        }
    }

    /// Computes and stores where a page lay at the start, if nobody has asked for it yet.
    #[inline]
    pub(crate) fn resolve(&mut self, tenant: usize, lpn: u64, at: EntryRef) {
        if self.initial_content.is_some() && self.table.is_untouched(at) {
            self.resolve_cold(tenant, lpn, at);
        }
    }

    fn resolve_cold(&mut self, tenant: usize, lpn: u64, at: EntryRef) {
        let place = self.initial_place(tenant, lpn);
        self.table.set_initial(at, place);
    }

    /// The page-table entries whose data lie in the pages of a computed block, one for each page;
    /// `None` where nothing is valid.
    pub(crate) fn owners_of(&self, at: BlockRef, owners: &mut Vec<Option<Owner>>) {
        let content = self.initial_content.as_ref().expect("a computed block has a content");
        owners.clear();
        owners.resize(self.geometry.pages_per_block as usize, None);
        content.owners(at, &self.tenants, owners);
        let (plane, block) = at.ids();
        self.planes[plane.index()].drop_overwritten(block, owners);
    }

    /// Makes the page records of a block that has none, because its initial content is computed.
    pub(crate) fn materialise_block(&mut self, at: BlockRef) {
        let mut owners = Vec::new();
        self.owners_of(at, &mut owners);
        let (plane, block) = at.ids();
        self.planes[plane.index()].materialise(block, &owners);
    }

    /// Stores everything that is computed otherwise: the same drive, held in memory. For tests.
    pub fn materialise(&mut self) {
        for tenant in 0..self.tenants.len() {
            let Some(content) = &self.initial_content else { return };
            let pages: Vec<u64> = {
                let members = content.members(tenant);
                (0..members.len()).map(|rank| members.member(rank)).collect()
            };
            for lpn in pages {
                self.entry(tenant, lpn);
            }
        }
        for plane in 0..self.planes.len() as u32 {
            self.wake(PlaneId(plane));
            for block in 0..self.planes[plane as usize].blocks.len() as u32 {
                if self.planes[plane as usize].blocks[block as usize].computed {
                    self.materialise_block(BlockRef { plane, block });
                }
            }
        }
        self.store_initial_mappings();
    }

    /// Stores the content of a block and the page-table entries of its pages, if they are computed
    /// so far. Looking at the block then costs what it costs in a drive that was filled. Returns
    /// whether there was anything to store.
    pub fn store_block(&mut self, at: BlockRef) -> bool {
        if self.initial_content.is_none() {
            return false;
        }
        self.wake(PlaneId(at.plane));
        let block = self.planes[at.plane as usize].blocks.get(at.block as usize);
        if !block.is_some_and(|block| block.computed) {
            return false;
        }
        self.materialise_block(at);
        let owners: Vec<LogicalPage> =
            self.victim_pages(at).filter_map(|page| self.data_owner(page)).collect();
        for owner in owners {
            let tenant = self.tenant_of_page(owner);
            self.entry(tenant, owner.0 - self.tenants[tenant].base);
        }
        true
    }

    /// Whether a page held data at the start. It may have been overwritten or trimmed since.
    pub(crate) fn held_data_at_start(&self, tenant: usize, lpn: u64) -> bool {
        self.initial_content
            .as_ref()
            .is_some_and(|content| content.members(tenant).rank(lpn).is_some())
    }

    /// The physical page of a logical page, without storing anything that is computed. For checks.
    pub fn place_of(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        if let Some(at) = self.existing_entry(tenant, lpn)
            && (self.initial_content.is_none() || !self.table.is_untouched(at))
        {
            return self.table.phys(at);
        }
        self.initial_place(tenant, lpn)
    }

    /// The physical page of a logical page at the start.
    fn initial_place(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        let sought = self.initial_content.as_ref()?.seek(tenant, lpn)?;
        self.wake(sought.plane);
        let (at, page) = self.initial_content.as_ref()?.place(&sought);
        Some(self.layout.pack(at, page))
    }

    /// The first half of the way to the place of a page that nobody has asked for since the start;
    /// `None` if somebody has, or if it held no data. Wakes the page's plane.
    pub(crate) fn seek(&mut self, tenant: usize, lpn: u64) -> Option<Sought> {
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

    /// Stores the place of a page that was sought, if nobody has asked for it meanwhile.
    pub(crate) fn resolve_sought(&mut self, tenant: usize, lpn: u64, sought: &Sought) {
        let at = self.table.entry(self.tenants[tenant].page(lpn));
        if let Some(content) = self.initial_content.as_ref().filter(|_| self.table.is_untouched(at))
        {
            let (block, page) = content.place(sought);
            self.table.set_initial(at, Some(self.layout.pack(block, page)));
        }
    }
}
