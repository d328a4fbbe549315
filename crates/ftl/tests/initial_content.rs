//! Drives that are not empty at the start: equal to a copy of them that holds everything in memory.
//! Every page of the initial content has a place of its own.

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Border, Ftl, FtlError, InitialContent, Places, Start, TenantSpec};
use ssdtune_model::config::{Allocation, GcPolicy, PlaneOrder, Sharing};
use ssdtune_model::{Bytes, DeviceConfig, Lpn, Place, Table, TenantId};
use std::collections::BTreeSet;

/// The small drive with this number. Policies and orders are walked through, the rest is drawn.
fn case(number: u64) -> (DeviceConfig, Vec<TenantSpec>, InitialContent) {
    let rng = &mut Pcg64Mcg::seed_from_u64(number);
    let mut config = DeviceConfig::default();
    config.bus.channels = rng.random_range(1..4);
    config.bus.chips_per_channel = 1;
    config.flash.dies_per_chip = rng.random_range(1..3);
    config.flash.planes_per_die = rng.random_range(1..3);
    config.flash.blocks_per_plane = rng.random_range(24..64);
    config.flash.pages_per_block = *[8, 13, 16, 70].choose(rng).expect("not empty");
    config.flash.page_bytes = 1024;
    config.mapping.overprovisioning = 0.25;
    config.mapping.plane_order = PlaneOrder::ALL[number as usize * 5 % PlaneOrder::ALL.len()];
    config.mapping.allocation = Allocation::ALL[number as usize / 3 % Allocation::ALL.len()];
    config.mapping.ideal = rng.random_bool(0.4);
    config.mapping.cmt_capacity = Bytes(rng.random_range(100..3000));
    config.mapping.cmt_sharing = *Sharing::ALL.choose(rng).expect("not empty");
    config.gc.policy = GcPolicy::UNPLACED[number as usize % GcPolicy::UNPLACED.len()];
    config.gc.threshold = 0.1;
    config.wear.static_leveling = rng.random();
    config.wear.dynamic_leveling = rng.random();
    config.wear.static_threshold = rng.random_range(1..4);
    config.run.seed = number;
    let all = Places::all(&config.flash_geometry());
    let first = Places { channels: vec![0], ..all.clone() };
    let mut tenants = vec![TenantSpec { places: all.clone(), writer: rng.random() }];
    for places in [first, all].into_iter().take(rng.random_range(0..3)) {
        tenants.push(TenantSpec { places, writer: rng.random() });
    }
    let mut from = 0;
    let footprint = (0..rng.random_range(0..6)).map(|_| {
        from += rng.random_range(1..60);
        let range = Lpn(from)..Lpn(from + rng.random_range(1..9));
        from = range.end.0;
        range
    });
    let footprint: Vec<_> = footprint.collect();
    let start = if rng.random_bool(0.25) { Start::Sequential } else { Start::Steady };
    let content = InitialContent {
        start,
        occupancy: vec![rng.random_range(0.3..0.9), rng.random_range(0.3..0.9)],
        footprints: vec![footprint],
        erases: rng.random_range(0..20),
        free: Vec::new(),
        seed: rng.next_u64(),
    };
    (config, tenants, content)
}

/// The drive of a case with its initial content, and how many pages of each tenant hold data.
/// `None` if the drive has no room for it.
fn born(number: u64) -> Option<(Ftl, Table<TenantId, u64>)> {
    let (config, tenants, mut content) = case(number);
    let mut ftl = Ftl::new(&config, &tenants).ok()?;
    for range in &mut content.footprints[0] {
        range.end = range.end.min(Lpn(ftl.tenant_pages(TenantId(0))));
    }
    content.footprints[0].retain(|range| range.start < range.end);
    match ftl.set_initial_content(&content) {
        Ok(used) => Some((ftl, used)),
        Err(FtlError::NoRoomForInitialContent { .. }) => None,
        Err(other) => panic!("case {number}: {other}"),
    }
}

/// Where every page of every tenant is.
fn places(ftl: &mut Ftl) -> Vec<Option<u64>> {
    let mut all = Vec::new();
    for tenant in (0..ftl.tenants()).map(TenantId::at) {
        for lpn in (0..ftl.tenant_pages(tenant)).map(Lpn) {
            all.push(ftl.place_of(tenant, lpn).map(|phys| phys.to_bits()));
        }
    }
    all
}

#[test]
fn every_page_has_a_place_of_its_own() {
    let mut tried = 0;
    for number in 0..200 {
        let Some((mut ftl, used)) = born(number) else { continue };
        tried += 1;
        let before = places(&mut ftl);
        let held: Vec<u64> = before.iter().copied().flatten().collect();
        assert_eq!(held.len() as u64, used.iter().sum::<u64>(), "case {number}");
        assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), held.len(), "case {number}");
        let (_, _, content) = case(number);
        for range in &content.footprints[0] {
            let (tenant, end) = (TenantId(0), range.end.0);
            for lpn in (range.start.0..end.min(ftl.tenant_pages(tenant))).map(Lpn) {
                assert!(ftl.place_of(tenant, lpn).is_some(), "case {number}: {lpn:?}");
            }
        }
        ftl.check();
        // Records say whose page lies in each place, so the two directions agree.
        ftl.materialise();
        ftl.check();
        assert_eq!(places(&mut ftl), before, "case {number}");
    }
    assert!(tried > 100, "{tried} drives had room");
}

/// Binds a tenant of both drives to other channels. Its data stay where they are.
fn switch(computed: &mut Ftl, stored: &mut Ftl, rng: &mut Pcg64Mcg) {
    let geometry = *computed.geometry();
    let tenant = TenantId::at(rng.random_range(0..computed.tenants()));
    let first = rng.random_range(0..geometry.channels);
    let channels = (first..geometry.channels).collect();
    let places = Places { channels, ..Places::all(&geometry) };
    let spec = TenantSpec { places, writer: rng.random() };
    let some = (0..computed.tenant_pages(tenant).min(50)).map(Lpn);
    let border = if rng.random() { Border::Open } else { Border::Closed };
    let held: Vec<_> = some.clone().map(|lpn| computed.place_of(tenant, lpn)).collect();
    for ftl in [computed, stored] {
        ftl.bind(tenant, &spec, border).expect("there are such channels");
        let after: Vec<_> = some.clone().map(|lpn| ftl.place_of(tenant, lpn)).collect();
        assert_eq!(held, after, "a switch moves nothing");
    }
}

/// A million operations over all cases, each on a drive that computes its initial content, and
/// looks ahead for the next pages, and on one that has it stored.
#[test]
fn a_defined_drive_is_its_stored_copy() {
    let mut operations = 0;
    for number in 0.. {
        if operations >= 1_000_000 {
            break;
        }
        let (Some((mut computed, _)), Some((mut stored, _))) = (born(number), born(number)) else {
            continue;
        };
        stored.materialise();
        let rng = &mut Pcg64Mcg::seed_from_u64(!number);
        let mut full = false;
        for step in 0..8000 {
            // On fewer channels drives soon fill up, so not all of them switch.
            if number.is_multiple_of(2) && step % 2000 == 1000 {
                switch(&mut computed, &mut stored, rng);
            }
            let tenant = TenantId::at(rng.random_range(0..computed.tenants()));
            let pages = computed.tenant_pages(tenant);
            // Half of the accesses go to a tenth of the pages.
            let hot: bool = rng.random();
            let lpn = Lpn(rng.random_range(0..if hot { pages.div_ceil(10) } else { pages }));
            // Whoever looks ahead finds the same.
            let ahead = (lpn.0..pages).take(step % 40).map(Lpn);
            computed.look_ahead(tenant, ahead, step % 2 == 0);
            let results = [&mut computed, &mut stored].map(|ftl| {
                let mut warmup = ftl.warm_up();
                match step * 7 % 10 {
                    0..6 => warmup.write(tenant, lpn, 0b11).is_ok(),
                    6 => warmup.write(tenant, lpn, 0b01).is_ok(),
                    7 | 8 => {
                        warmup.read(tenant, lpn);
                        true
                    }
                    _ => {
                        warmup.trim(tenant, lpn);
                        true
                    }
                }
            });
            operations += 1;
            assert_eq!(results[0], results[1], "case {number} step {step}");
            let [left, right] = [&mut computed, &mut stored]
                .map(|ftl| (ftl.place_of(tenant, lpn), *ftl.counters()));
            assert_eq!(left, right, "case {number} step {step}");
            if !results[0] {
                full = true;
                break;
            }
        }
        computed.check();
        stored.check();
        assert!(places(&mut computed) == places(&mut stored), "case {number}: places differ");
        assert_eq!(computed.erase_histogram(), stored.erase_histogram(), "case {number}");
        assert_eq!(computed.mapped_pages(), stored.mapped_pages(), "case {number}");
        if !full {
            computed.materialise();
            computed.check();
        }
    }
}
