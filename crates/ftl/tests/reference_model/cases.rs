//! The drives to try. Case n is always the same drive.

use super::driver::Case;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Places, TenantSpec};
use ssdtune_model::config::{
    Allocation, Compat, FlashTechnology, Frontiers, GcPolicy, MovedPages, PlacementMemory,
    PlacementPolicy, PlaneOrder, Sharing,
};
use ssdtune_model::{Bytes, DeviceConfig, Geometry, Nanos};

/// Numbers of channels, chips, dies and planes.
const SHAPES: [[u32; 4]; 6] =
    [[1, 1, 1, 1], [1, 1, 1, 2], [2, 1, 1, 2], [3, 1, 1, 1], [2, 2, 1, 1], [2, 1, 2, 2]];

/// The drive with this number. Policies and orders are walked through, the rest is drawn.
pub fn case(number: u64) -> Case {
    let rng = &mut Pcg64Mcg::seed_from_u64(number ^ 0x5eed_0000);
    let mut config = DeviceConfig::default();
    let shape = SHAPES[(number / 8) as usize % SHAPES.len()];
    [config.bus.channels, config.bus.chips_per_channel] = [shape[0], shape[1]];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [shape[2], shape[3]];
    config.run.seed = number;
    config.gc.policy = GcPolicy::UNPLACED[number as usize % GcPolicy::UNPLACED.len()];
    config.gc.threshold = *[0.02, 0.1, 0.25].choose(rng).expect("not empty");
    config.gc.window = rng.random_range(0..4);
    config.gc.choices = rng.random_range(0..4);
    config.mapping.plane_order = PlaneOrder::ALL[number as usize * 7 % PlaneOrder::ALL.len()];
    config.mapping.allocation = *Allocation::ALL.choose(rng).expect("not empty");
    config.mapping.ideal = rng.random_bool(0.5);
    config.mapping.cmt_capacity = Bytes(rng.random_range(16..400));
    config.mapping.cmt_sharing = *Sharing::ALL.choose(rng).expect("not empty");
    config.wear.dynamic_leveling = rng.random();
    config.wear.static_leveling = rng.random();
    config.wear.static_threshold = rng.random_range(1..6);
    config.flash.page_bytes = *[512, 1024, 2048].choose(rng).expect("not empty");
    config.compat.read_allocates = rng.random_bool(0.25);
    config.compat.cmt_private_copies = rng.random_bool(0.25);
    if number % 5 == 4 {
        config.compat = Compat::MQSIM;
    }
    let tenants = tenants(&config.geometry(), rng);
    place(&mut config, number, tenants.len(), rng);
    size(&mut config, tenants.len() as u32, rng);
    let slc = &mut Pcg64Mcg::seed_from_u64(number ^ 0x51c0_cace);
    slc_cache(&mut config, number, tenants.len() as u32, slc);
    // Dynamic placement may fill a plane with valid pages. Translation pages whose programs never
    // end are never collected. A tenant that is bound to fewer channels may have more data than
    // they hold.
    let switches = number % 4 == 3 && config.bus.channels > 1;
    let never_starves = !switches
        && config.mapping.allocation == Allocation::Static
        && (config.mapping.ideal || !config.compat.free_mapping_writes);
    Case { config, tenants, never_starves, switches }
}

/// The smallest drive there is: one channel with four blocks, of which the host sees one.
pub fn least() -> Case {
    let mut config = DeviceConfig::default();
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config.flash.blocks_per_plane = 4;
    config.flash.pages_per_block = 8;
    config.mapping.ideal = true;
    config.mapping.overprovisioning = 0.75;
    let places = Places::all(&config.flash_geometry());
    Case {
        config,
        tenants: vec![TenantSpec { places, writer: false }],
        never_starves: true,
        switches: false,
    }
}

/// Gives every second drive a placement policy, unless it plays MQSim. The policies are walked
/// through.
fn place(config: &mut DeviceConfig, number: u64, tenants: usize, rng: &mut Pcg64Mcg) {
    if config.compat.eager_frontiers || number.is_multiple_of(2) {
        return;
    }
    let policies = PlacementPolicy::ALL;
    config.placement.policy = policies[1 + (number / 2) as usize % (policies.len() - 1)];
    if config.placement.policy == PlacementPolicy::Lifespan && number % 4 == 1 {
        config.placement.memory = PlacementMemory::Small;
        config.gc.policy = GcPolicy::RemainingLife;
    }
    config.placement.moved = *MovedPages::ALL.choose(rng).expect("not empty");
    // 12 or 32 frontiers for each tenant would take all the blocks that a run has time to fill.
    let is_wide = match config.placement.policy {
        PlacementPolicy::AutoStream => config.placement.moved == MovedPages::ByQueue,
        PlacementPolicy::Dac | PlacementPolicy::Warcip => true,
        _ => false,
    };
    if is_wide && tenants > 1 {
        config.placement.moved = MovedPages::WithHost;
    }
    config.placement.clusters = rng.random_range(2..9);
    config.placement.slices = rng.random_range(1..40);
    config.placement.period = Nanos(rng.random_range(100..3_000));
    config.placement.wear_rules = rng.random();
    if config.placement.policy == PlacementPolicy::Haml && config.placement.wear_rules {
        config.wear.static_leveling = false;
    }
}

/// Gives every third drive that may have one an SLC cache, and the blocks that it needs.
fn slc_cache(config: &mut DeviceConfig, number: u64, tenants: u32, rng: &mut Pcg64Mcg) {
    let may =
        config.placement.policy == PlacementPolicy::None && config.compat == Compat::default();
    if !may || !number.is_multiple_of(3) {
        return;
    }
    let fits = |technology: &&FlashTechnology| {
        let bits = technology.page_types().len() as u32;
        bits > 1 && bits <= config.flash.pages_per_block
    };
    let dense: Vec<_> = FlashTechnology::ALL.iter().filter(fits).copied().collect();
    config.flash.technology = *dense.choose(rng).expect("MLC fits");
    let (kept, dynamic) = (rng.random_range(0..4), rng.random());
    config.slc_cache.static_blocks = kept;
    // Down to the threshold, or a few blocks more.
    let above = config.gc.threshold + 0.2 * rng.random::<f64>();
    config.slc_cache.dynamic_above = if dynamic || kept == 0 { above } else { 1.0 };
    let blocks = &mut config.flash.blocks_per_plane;
    let visible = (1.0 - config.mapping.overprovisioning) * f64::from(*blocks);
    *blocks += kept + if config.slc_cache.dynamic_above < 1.0 { tenants } else { 0 };
    config.mapping.overprovisioning = 1.0 - visible / f64::from(*blocks);
}

/// Free blocks of a plane that moves may come to need: one for each frontier they go to, or one in
/// all if each tenant has one such frontier.
pub fn reserve(config: &DeviceConfig, tenants: u32) -> u32 {
    let Frontiers { host, moved } = config.placement.frontiers();
    match moved {
        // Moved pages may go to other frontiers than their own.
        _ if config.placement.policy == PlacementPolicy::Lifespan => 1,
        1 => 1,
        0 => (host + u32::from(!config.mapping.ideal)) * tenants,
        _ => (moved + u32::from(!config.mapping.ideal)) * tenants,
    }
}

/// One to four tenants, each with the whole drive or with one channel.
fn tenants(geometry: &Geometry, rng: &mut Pcg64Mcg) -> Vec<TenantSpec> {
    (0..rng.random_range(1..=4))
        .map(|_| {
            let mut places = Places::all(geometry);
            if rng.random() {
                places.channels = vec![rng.random_range(0..geometry.channels)];
            }
            TenantSpec { places, writer: rng.random() }
        })
        .collect()
}

/// Gives the drive as few blocks as its frontiers allow, and so few logical pages that a victim can
/// always be found: every full block but one may be valid, and open blocks may hold nothing that
/// is.
fn size(config: &mut DeviceConfig, tenants: u32, rng: &mut Pcg64Mcg) {
    let reserve = if config.compat.gc_reserve_ten { 20 } else { reserve(config, tenants) };
    let Frontiers { host, moved } = config.placement.frontiers();
    let streams = host + moved + u32::from(!config.mapping.ideal || config.compat.eager_frontiers);
    // Translation pages take room in the same planes.
    let mapping = if config.mapping.ideal { 0 } else { 2 + tenants };
    let others = streams * tenants + reserve + mapping;
    let full = 1 + rng.random_range(0..6);
    config.flash.blocks_per_plane = others + full;
    config.flash.pages_per_block = rng.random_range(2..20).max(tenants + 1);
    let visible = f64::from(full) * 0.98 / f64::from(others + full);
    config.mapping.overprovisioning = 1.0 - visible;
}
