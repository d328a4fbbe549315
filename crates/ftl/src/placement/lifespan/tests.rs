//! The policy on writes whose lives are known, and on drives with as few blocks as it allows.

use super::*;
use crate::ftl::{Ftl, TenantSpec};
use crate::placement::ShapeTracker;
use crate::tenant::Places;
use proptest::prelude::*;
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{BlockId, DeviceConfig, Lpn, Nanos, PlaneId, TenantId};

const PAGES: u64 = 20_000;

/// The policy of a drive of one plane that has moved pages.
fn policy_of(pages: u64, unit: u64, spare: u32) -> Lifespan {
    let blocks = (pages / unit) as u32 + spare;
    sorting(&DriveSize { pages, unit, planes: 1, blocks, spare }, PlacementMemory::Full)
}

/// The policy of a drive that has moved a block.
fn sorting(drive: &DriveSize, memory: PlacementMemory) -> Lifespan {
    let mut policy = Lifespan::new(drive, memory);
    policy.will_move(drive.unit as u32);
    policy
}

/// The shape of a page of a request, the same for all pages of it.
fn shape(pages: u32, sectors: u32) -> Shape {
    let request =
        ShapeTracker::default().request(Nanos(1_000_000), TenantId(0), 77, pages, sectors);
    request.of_page(false, false, false, false)
}

fn host(page: u64, shape: Shape) -> Write {
    Write { page: LogicalPage(page), application: 0, at: 0, shape, cause: Cause::Host }
}

/// Two kinds of writes in turn: small ones to 50 pages, so that each lives for 100 writes, and
/// large ones that go round all others. Returns what becomes of each kind.
fn taught(rounds: u64) -> (Lifespan, Write, Write) {
    let mut policy = policy_of(PAGES, 64, SPARE);
    let (small, large) = (shape(1, 1), shape(64, 1_024));
    for round in 0..rounds {
        policy.observe(&host(round % 50, small));
        policy.observe(&host(50 + round % (PAGES - 50), large));
    }
    (policy, host(rounds % 50, small), host(50 + rounds % (PAGES - 50), large))
}

/// Spare blocks of a plane, enough for every queue.
const SPARE: u32 = 1_000;

/// What the table of pages rests on: 0 is a page that was never written, and every other past comes
/// back from its word.
#[test]
fn a_past_comes_back_from_its_word() {
    assert_eq!(Past::of(0), Past { written: 0, life: NEVER, writes: 0 });
    for written in [0, 1, u32::MAX] {
        for (life, writes) in [(0, 255), (30, 1), (NEVER, 0), (NEVER, 7)] {
            let past = Past { written, life, writes };
            assert_eq!(Past::of(past.word()), past);
        }
    }
}

#[test]
fn small_drives_have_fewer_queues() {
    let queues = |spare| {
        let policy = policy_of(1 << 20, 64, spare);
        1 + policy.longest.iter().filter(|&&longest| longest != u32::MAX).count()
    };
    assert_eq!([0, 47, 48, 54, 107, 108, 1_000].map(queues), [2, 2, 3, 3, 7, 8, 8]);
}

#[test]
fn nothing_is_sorted_until_pages_are_moved() {
    let (taught, small, _) = taught(30_000);
    let drive = DriveSize { pages: PAGES, unit: 64, planes: 1, blocks: 400, spare: 100 };
    let mut policy = Lifespan { need: Need::new(&drive), ..taught };
    let at = BlockAddr { plane: PlaneId(0), block: BlockId(7) };
    policy.opened(at, FRESH);
    for _ in 1..drive.unit {
        policy.will_move(1);
        assert_eq!(policy.queue(&small), FRESH);
    }
    (0..1_000).for_each(|_| policy.observe(&small));
    let soon = |policy: &Lifespan| policy.dies_soon(at, FRESH);
    // Mixed pages live as long again as they have, also once others are sorted.
    assert_eq!(soon(&policy), ((policy.spare << 16) / (policy.spare + 1_000)) as u32);
    policy.will_move(drive.unit as u32);
    assert_eq!(soon(&policy), ((policy.spare << 16) / (policy.spare + 1_000)) as u32);
    // It has learned all the same.
    assert!(policy.queue(&small).0 < policy.long);
    policy.opened(at, FRESH);
    assert!(soon(&policy) < 1 << 4, "first writes that are expected to live long");
}

#[test]
fn short_and_long_lives_are_told_apart() {
    let (policy, small, large) = taught(30_000);
    // From a block of 64 pages to four times the pages are 10.3 octaves, 1.47 a queue: 100 writes
    // are 0.6 octaves above a block, and all others outlive a round of 39,900 writes.
    assert_eq!(policy.queue(&small), Queue(1));
    assert!(policy.queue(&large).0 >= policy.long, "{:?}", policy.queue(&large));
    let Outlook { rows, .. } = policy.look(policy.writing(&small));
    let life = (4 << 16) + policy.hazards.expected_life(rows);
    assert!(life.abs_diff(log2(100)) < LOG2_ONE, "{life}");
}

#[test]
fn the_shape_tells_pages_that_were_never_written() {
    let (policy, small, large) = taught(5_000);
    let short = policy.queue(&host(PAGES - 1, small.shape));
    assert!(short.0 < policy.long, "{short:?}");
    assert_eq!(policy.queue(&host(PAGES - 1, large.shape)), FRESH);
}

#[test]
fn moved_pages_go_by_their_age() {
    let mut policy = policy_of(PAGES, 64, SPARE);
    let moved = Write { cause: Cause::Move(Queue(0)), ..host(7, Shape::default()) };
    assert_eq!(policy.queue(&moved), MOVED_UNWRITTEN);
    policy.observe(&host(7, Shape::default()));
    let mut seen = vec![policy.queue(&moved)];
    for write in 0..100_000 {
        policy.observe(&host(10 + write % 1_000, Shape::default()));
        let queue = policy.queue(&moved);
        if seen.last() != Some(&queue) {
            let age = log2(write + 2);
            let width = (log2(4 * PAGES) - log2(64)) / 7;
            let expected = (age - log2(64)).div_ceil(width);
            assert!(expected.abs_diff(u32::from(queue.0 - MOVED)) <= 1, "{queue:?} at {write}");
            seen.push(queue);
        }
    }
    assert_eq!(seen, (MOVED..MOVED_UNWRITTEN.0).map(Queue).collect::<Vec<_>>());
}

#[test]
fn what_was_expected_is_what_is_asked_for() {
    let (mut policy, small, large) = taught(3_000);
    let expected = [small, large].map(|write| policy.queue(&write));
    policy.expect(&small);
    assert_eq!([small, large].map(|write| policy.queue(&write)), expected);
    policy.observe(&small);
    let fresh = Lifespan { next: None, ..policy.clone() };
    assert_eq!(policy.queue(&small), fresh.queue(&small), "what was expected is past");
}

/// Every machine does the same, whatever its floating point and its vectors.
#[test]
fn the_queues_of_a_long_run_stay_what_they_were() {
    let mut policy = policy_of(PAGES, 64, SPARE);
    let (mut state, mut digest) = (1_u64, 0_u64);
    for _ in 0..60_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let page = (state >> 33) % if state >> 40 & 3 > 0 { PAGES / 8 } else { PAGES };
        let write = host(page, shape(1 + (page % 5) as u32, (state >> 50 & 31) as u32 + 1));
        policy.expect(&write);
        digest = digest.rotate_left(5) ^ u64::from(policy.queue(&write).0);
        policy.observe(&write);
    }
    assert_eq!(digest, 0x620d_52de_52e9_c8de, "{digest:#x}");
}

#[test]
fn times_of_large_drives_fit() {
    let policy = Lifespan { pages: PerPage::new(0), ..policy_of(64, 16, SPARE) };
    assert_eq!(policy.shift, 0);
    assert!(policy.oldest.is_sorted() && policy.longest.is_sorted());
    let state = policy.memory_bytes();
    assert!(state < 1 << 20, "{state}");
}

/// A drive of one plane with as few blocks as the policy allows.
fn least(pages_per_block: u32, full: u32) -> Ftl {
    let mut config = DeviceConfig::default();
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config.placement.policy = PlacementPolicy::Lifespan;
    config.flash.pages_per_block = pages_per_block;
    config.flash.blocks_per_plane = 18 + 1 + full;
    config.mapping.ideal = true;
    config.gc.threshold = 1e-6;
    let visible = f64::from(full) * f64::from(pages_per_block) - 0.5;
    let raw = f64::from((19 + full) * pages_per_block);
    config.mapping.overprovisioning = 1.0 - visible / raw;
    let places = Places::all(&config.flash_geometry());
    Ftl::new(&config, &[TenantSpec { places, writer: false }]).expect("just enough blocks")
}

proptest! {
    /// One block in reserve suffices: no write finds its drive full, and no move is stuck.
    #[test]
    fn one_free_block_suffices(
        pages_per_block in 2_u32..24,
        full in 1_u32..12,
        seed in any::<u64>(),
        hot in 1_u64..9,
    ) {
        let mut ftl = least(pages_per_block, full);
        let pages = ftl.tenant_pages(TenantId(0));
        let mut state = seed | 1;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for number in 0..4_000 {
            let is_hot = draw(4) > 0;
            let page = draw(if is_hot { pages.div_ceil(hot) } else { pages });
            ftl.set_write_context(Nanos(number), (page % 3) as u16);
            ftl.expect_write(TenantId(0), Lpn(page), shape(1 + (page % 9) as u32, 99));
            let written = ftl.warm_up().write_whole(TenantId(0), Lpn(page));
            prop_assert!(written.is_ok(), "{written:?} at write {number}");
        }
        ftl.check();
        prop_assert!(ftl.counters().collections > 0);
    }
}

#[test]
fn blocks_of_short_lives_die_soon() {
    let mut policy = policy_of(PAGES, 64, SPARE);
    let at = BlockAddr { plane: PlaneId(0), block: BlockId(7) };
    policy.opened(at, Queue(0));
    let soon: Vec<u32> = (0..8).map(|queue| policy.dies_soon(at, Queue(queue))).collect();
    assert!(soon.is_sorted_by(|a, b| a > b), "{soon:?}");
    assert_eq!(
        soon,
        (0..8).map(|nth| policy.dies_soon(at, Queue(MOVED + nth))).collect::<Vec<_>>()
    );
    assert_eq!(policy.dies_soon(at, FRESH), soon[7], "nothing is known to end");
    // The spare blocks take 64,000 writes; a page of queue 0 has 64 to live.
    assert_eq!(soon[0], (64_000 << 16) / 64_064);
    let write = |policy: &mut Lifespan, times: u64| {
        (0..times).for_each(|page| policy.observe(&host(page % 99, Shape::default())));
    };
    write(&mut policy, 1_000);
    // Its life is over. So it is taken to live as long again as it has.
    assert_eq!(policy.dies_soon(at, Queue(0)), (64_000 << 16) / 65_000);
    assert!(policy.dies_soon(at, Queue(3)) > soon[3], "its end is nearer");
}

#[test]
fn a_small_policy_learns_with_less_memory() {
    let sizes = [PlacementMemory::Full, PlacementMemory::Small].map(|memory| {
        let drive = DriveSize { pages: PAGES, unit: 64, planes: 1, blocks: 400, spare: 80 };
        let mut policy = sorting(&drive, memory);
        let (hot, cold) = (shape(1, 1), shape(64, 1_024));
        for round in 0..20_000 {
            policy.observe(&host(round % 50, hot));
            policy.observe(&host(50 + round % (PAGES - 50), cold));
        }
        assert!(policy.queue(&host(0, hot)).0 < policy.queue(&host(60, cold)).0, "{memory}");
        policy.memory_bytes() - 8 * PAGES - 4 * 400
    });
    assert!(sizes[0] < 168 << 10 && sizes[1] < 128 << 10, "{sizes:?}");
}
