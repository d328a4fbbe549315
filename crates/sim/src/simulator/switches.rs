//! The parts of the configuration that the simulator consults at run time, resolved once.

use ssdtune_model::DeviceConfig;
use ssdtune_model::config::{Allocation, Scheduler, Suspension, SuspensionSupport};

/// What of the configuration steers decisions at run time. None of it changes during a run.
pub(crate) struct Switches {
    pub scheduler: Scheduler,
    /// Which operations a die can interrupt.
    pub suspension: SuspensionSupport,
    /// When an operation is interrupted, and what that costs.
    pub suspend_rules: Suspension,
    /// Array times depend on more than the type of the page: on wear, or on cache commands.
    pub times_vary: bool,
    /// Dies have the read cache command: they read the next page while data of the last one leave.
    pub cache_read: bool,
    /// Dies have the page cache program command: they take data while they program.
    pub cache_program: bool,
    /// Collection goes before the host only if it is urgent.
    pub preemptible: bool,
    /// Pages that are moved do not leave their die.
    pub copyback: bool,
    /// MQSim: a held write starts no collection by itself.
    pub collect_when_full_only: bool,
    /// MQSim: translation pages are written back without a flash program.
    pub free_mapping_writes: bool,
    /// MQSim: a read of a page that was never written gives it a flash page.
    pub read_allocates: bool,
    /// MQSim: pages that were read enter the data cache as dirty ones, and are charged twice.
    pub read_fill_dirty: bool,
    /// MQSim: a page read while it is still being programmed enters the data cache without an
    /// owner.
    pub fill_by_flash_owner: bool,
    /// MQSim: when the data cache forgets which pages it has written, it forgets the present write,
    /// too.
    pub destage_forgets_all: bool,
    /// MQSim: a cached page that is written back carries only the sectors of its last write.
    pub destage_drops_sectors: bool,
    /// MQSim: a page pushed out of the data cache is written for the tenant that pushed it out.
    pub evict_to_evictor: bool,
    /// MQSim: an erase command goes to one plane.
    pub single_plane_erases: bool,
    /// MQSim: the length of a request has 16 bits.
    pub wrap_request_size: bool,
    /// Some tenant may be placed dynamically.
    pub any_dynamic: bool,
}

impl Switches {
    pub(super) fn new(config: &DeviceConfig, ages: bool) -> Self {
        // Suspension and cache commands are matters of single dies.
        let single_dies = !config.compat.chip_idle_batches;
        // Copyback needs the registers that the read cache command uses.
        let cache_read = config.flash.cache_read && single_dies && !config.gc.copyback;
        let suspension =
            if single_dies { config.suspension.support } else { SuspensionSupport::None };
        Self {
            scheduler: config.bus.scheduler,
            suspension,
            suspend_rules: config.suspension.clone(),
            times_vary: ages || cache_read,
            cache_read,
            cache_program: config.flash.cache_program && single_dies,
            preemptible: config.gc.preemptible,
            copyback: config.gc.copyback,
            collect_when_full_only: config.compat.gc_reserve_ten,
            free_mapping_writes: config.compat.free_mapping_writes,
            read_allocates: config.compat.read_allocates,
            read_fill_dirty: config.compat.read_fill_dirty,
            fill_by_flash_owner: config.compat.read_fill_by_flash_owner,
            destage_forgets_all: config.compat.destage_forgets_all,
            destage_drops_sectors: config.compat.destage_drops_sectors,
            evict_to_evictor: config.compat.evict_to_evictor,
            single_plane_erases: config.compat.single_plane_erases,
            wrap_request_size: config.compat.wrap_request_size,
            any_dynamic: config.mapping.allocation != Allocation::Static,
        }
    }

    /// Whether a busy die may be given a command.
    pub(super) fn busy_dies_take_commands(&self) -> bool {
        self.suspension != SuspensionSupport::None || self.cache_program
    }
}
