//! The FTL's whole state as one value, for [`Ftl::state`] and [`Ftl::set_state`]. What follows from the
//! configuration is not in it.

use crate::block::Plane;
use crate::cmt::{MappingCache, TranslationPages};
use crate::defined::Past;
use crate::ftl::{Ftl, FtlCounters};
use crate::page_table::PageTable;
use crate::placement::Placer;
use crate::tenant::Tenant;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

macro_rules! state {
    ($($field:ident: $kind:ty),* $(,)?) => {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            $($field: &'a $kind),*
        }

        /// The state of an FTL.
        #[derive(Deserialize)]
        pub struct FtlState {
            $($field: $kind),*
        }

        impl Ftl {
            /// Everything that a run may have changed.
            pub fn state(&self) -> impl Serialize + '_ {
                Borrowed { $($field: &self.$field),* }
            }

            /// Continues from the state of an FTL of the same configuration and tenants.
            pub fn set_state(&mut self, state: FtlState) {
                $(self.$field = state.$field;)*
            }
        }
    };
}

state! {
    table: PageTable,
    planes: Vec<Plane>,
    tenants: Vec<Tenant>,
    caches: Vec<MappingCache>,
    translation: TranslationPages,
    rng: Pcg64Mcg,
    counters: FtlCounters,
    turn: u32,
    past: Option<Box<Past>>,
    placer: Placer,
}
