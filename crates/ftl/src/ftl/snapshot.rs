//! The state of an FTL as one value that can be stored and put back: [`Ftl::state`],
//! [`Ftl::set_state`].
//!
//! Only what a run may change is stored. What follows from the configuration alone is made anew by
//! [`Ftl::new`]. The stored form is whatever the caller's serialiser writes; with a format that
//! does not name fields (the simulator uses postcard), the order of the fields below is the format.

use super::slc_cache::SlcCache;
use super::{Ftl, FtlCounters};
use crate::block::Plane;
use crate::cmt::{MappingCache, TranslationPages};
use crate::initial_content::ComputedContent;
use crate::number::CacheId;
use crate::page_table::PageTable;
use crate::placement::Placer;
use crate::tenant::Tenant;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use ssdtune_model::{PlaneId, Table, TenantId};

/// Declares which fields of [`Ftl`] are stored, in which order, and which are not. A field that is
/// in neither list does not compile, so nobody can add one without deciding about it.
macro_rules! state {
    (stored { $($field:ident: $kind:ty),* $(,)? } derived { $($derived:ident),* $(,)? }) => {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            $($field: &'a $kind),*
        }

        /// The stored state of an FTL, as read back.
        #[derive(Deserialize)]
        pub struct FtlState {
            $($field: $kind),*
        }

        impl Ftl {
            /// Everything that a run may have changed, for a serialiser.
            pub fn state(&self) -> impl Serialize + '_ {
                let Self { $($field,)* $($derived: _,)* } = self;
                Borrowed { $($field),* }
            }

            /// Continues from the state of an FTL of the same configuration and tenants.
            pub fn set_state(&mut self, state: FtlState) {
                let FtlState { $($field),* } = state;
                $(self.$field = $field;)*
            }
        }
    };
}

state! {
    stored {
        table: PageTable,
        planes: Table<PlaneId, Plane>,
        tenants: Table<TenantId, Tenant>,
        caches: Table<CacheId, MappingCache>,
        translation: TranslationPages,
        rng: Pcg64Mcg,
        counters: FtlCounters,
        turn: u32,
        is_by_load: bool,
        is_rebound: bool,
        initial_content: Option<Box<ComputedContent>>,
        placer: Placer,
        slc: Option<SlcCache>,
    }
    // From the configuration, except `batch`, which is empty between two calls.
    derived {
        geometry,
        flash,
        unit,
        layout,
        entries_per_page,
        entry_bytes,
        rules,
        config,
        plane_order,
        allocation,
        batch,
    }
}
