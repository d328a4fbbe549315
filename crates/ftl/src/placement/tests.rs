//! Policies on hand-computed tables.

use super::clusters::{Points, lloyd, on_the_diagonal};
use super::*;
use crate::placement::asa_ftl::thresholds;
use ssdtune_model::BlockId;
use ssdtune_model::config::{IntervalStart, MovedPages, Placement, TableScale, UpdateUnit};

fn settings(slices: u32, clusters: u32, period: u64) -> Placement {
    Placement {
        policy: PlacementPolicy::Haml,
        moved: MovedPages::Policy,
        clusters,
        slices,
        period: Nanos(period),
        iterations: 10,
        scale: TableScale::Linear,
        interval: true,
        count: UpdateUnit::Pages,
        interval_since: IntervalStart::Slice,
        wear_rules: true,
        ..Placement::default()
    }
}

fn haml(pages: u64, slices: u32, clusters: u32, period: u64) -> Haml {
    Haml::new(&settings(slices, clusters, period), pages, 1)
}

fn write(page: u64, at: u64) -> Write {
    Write {
        page: LogicalPage(page),
        application: 0,
        at,
        shape: Shape::default(),
        cause: Cause::Host,
    }
}

fn moved(page: u64, from: u8) -> Write {
    Write { cause: Cause::Move(Queue(from)), ..write(page, 0) }
}

/// The number of the queue that a page goes to.
fn queue(policy: &impl Policy, write: Write) -> u8 {
    policy.queue(&write).0
}

fn observe(policy: &mut impl Policy, writes: impl IntoIterator<Item = (u64, u64)>) {
    writes.into_iter().for_each(|(page, at)| policy.observe(&write(page, at)));
}

#[test]
fn algorithm_1_on_a_table_made_by_hand() {
    // Four slices of ten pages; a period of 1,000.
    let mut haml = haml(40, 4, 2, 1_000);
    // Slice 0 is updated at 100, 200, 300 and 400: 4 updates, 4 intervals of 100 from the period's
    // start on. Slice 1 at 500 and 900: intervals of 500 and 400. Slice 2 at 800. Slice 3 never, so
    // its interval is the period itself.
    let writes = [(0, 100), (9, 200), (3, 300), (0, 400), (10, 500), (25, 800), (19, 900)];
    observe(&mut haml, writes);
    assert!(haml.last_training().is_none());
    let before = [0, 10, 20, 30].map(|page| queue(&haml, write(page, 0)));
    assert_eq!(before, [1; 4], "cold until the first training");
    observe(&mut haml, [(35, 1_000)]);
    let training = haml.last_training().expect("the period is over").clone();
    assert_eq!(training.tables.updates, [4, 2, 1, 0]);
    assert_eq!(training.tables.interval_ns, [100, 450, 800, 1_000]);
    // 512 x 4/4, 2/4, 1/4, 0 and 512 x 0.1, 0.45, 0.8, 1, cut off.
    let points = Points { x: vec![512.0, 256.0, 128.0, 0.0], y: vec![51.0, 230.0, 409.0, 512.0] };
    assert_eq!(scaled(&training.tables, TableScale::Linear), points);
    // The centroids begin at (384, 128) and (128, 384). Slices 0 and 1 are nearer to the first, 2
    // and 3 to the second, and this stays so.
    assert_eq!(training.clusters, [0, 0, 1, 1]);
    assert_eq!(training.centroids, [[384.0, 140.5], [64.0, 460.5]]);
    assert_eq!([0, 19, 20, 39].map(|page| queue(&haml, write(page, 0))), [0, 0, 1, 1]);
    assert_eq!(queue(&haml, moved(5, 1)), 0, "moved pages go where host writes go");
    // The write at 1,000 belongs to the next period.
    observe(&mut haml, [(35, 1_400), (5, 2_000)]);
    let training = haml.last_training().expect("trained again");
    assert_eq!((training.number, training.tables.updates.as_slice()), (2, &[0, 0, 0, 2][..]));
    assert_eq!(training.tables.interval_ns, [1_000, 1_000, 1_000, 200]);
    assert_eq!(training.clusters, [1, 1, 1, 0]);
}

#[test]
fn the_readings_of_algorithm_1_on_a_table_made_by_hand() {
    // Three slices of ten pages; a period of 1,000. A request of pages 8 to 11 at 100, of page 9 at
    // 300 and 700, of page 11 at 900. Slice 2 is never updated.
    let writes = [(8, 100), (9, 100), (10, 100), (11, 100), (9, 300), (9, 700), (11, 900)];
    let tables = |since, count| {
        let config = Placement { interval_since: since, count, ..settings(3, 2, 1_000) };
        let mut haml = Haml::new(&config, 30, 1);
        let shapes = RequestShape::default();
        for (number, (page, at)) in writes.into_iter().enumerate() {
            let (before, after) = ((1..4).contains(&number), number < 3);
            let shape = shapes.of_page(before, after, false, false);
            haml.observe(&Write { shape, ..write(page, at) });
        }
        observe(&mut haml, [(29, 1_000)]);
        let tables = haml.last_training().expect("trained").tables.clone();
        (tables.updates, tables.interval_ns)
    };
    use IntervalStart::{Drive, Page, Slice};
    use UpdateUnit::{Pages, Requests};
    let pages = vec![4, 3, 0];
    // From the start of the period: 100, 0, 200, 400 in slice 0, 100, 0, 800 in slice 1.
    assert_eq!(tables(Slice, Pages), (pages.clone(), vec![175, 300, 1_000]));
    // Since the request before, whichever slice: 100, 0, 200, 400; 0, 0, 200.
    assert_eq!(tables(Drive, Pages), (pages.clone(), vec![175, 66, 1_000]));
    // Page 9 is written again after 200 and 400, page 11 after 800.
    assert_eq!(tables(Page, Pages), (pages, vec![300, 800, 1_000]));
    // The request at 100 counts once in each of its slices.
    assert_eq!(tables(Slice, Requests), (vec![3, 2, 0], vec![233, 450, 1_000]));
    assert_eq!(tables(Page, Requests), (vec![3, 2, 0], vec![300, 800, 1_000]));
}

#[test]
fn the_interval_tells_slices_of_equal_frequency_apart() {
    // One update each: early in the period, late in the period, and none.
    let mut haml = haml(3, 3, 3, 600);
    observe(&mut haml, [(0, 10), (1, 590), (0, 600)]);
    let training = haml.last_training().expect("trained");
    assert_eq!(training.tables.updates, [1, 1, 0]);
    assert_eq!(training.tables.interval_ns, [10, 590, 600]);
    assert_eq!(training.clusters, [0, 1, 2]);
    assert_eq!(training.centroids, [[512.0, 8.0], [512.0, 503.0], [0.0, 512.0]]);
}

#[test]
fn slices_that_are_updated_often_have_short_intervals() {
    // Fig. 2 of the paper: six updates each, of page i within a tenth of the period, of page j all
    // through it. The sum of the intervals is the time of the last update, so the average is a
    // sixth of the period at most.
    let mut haml = haml(2, 2, 2, 600);
    let mut writes: Vec<(u64, u64)> =
        (1..=6).flat_map(|n| [(0, n * 10), (1, n * 100 - 1)]).collect();
    writes.sort_by_key(|&(_, at)| at);
    observe(&mut haml, writes);
    observe(&mut haml, [(0, 600)]);
    let training = haml.last_training().expect("trained");
    assert_eq!(training.tables.updates, [6, 6]);
    assert_eq!(training.tables.interval_ns, [10, 99]);
    // (512, 51) and (512, 512): the second point is as far from (384, 128) as from (128, 384), and
    // the first centroid wins.
    assert_eq!(training.clusters, [0, 0]);
}

#[test]
fn without_the_interval_only_frequencies_count() {
    let tables = Tables { updates: vec![8, 8, 4, 0], interval_ns: vec![1, 900, 900, 1_000] };
    let options =
        TrainingOptions { clusters: 2, iterations: 10, scale: TableScale::Linear, interval: false };
    let training = Training::of(tables, options);
    // 512, 512, 256 and 0, from centroids at 384 and 128: the third point is as far from both and
    // goes to the first.
    assert_eq!(training.clusters, [0, 0, 0, 1]);
}

#[test]
fn the_logarithm_spreads_what_one_slice_presses_together() {
    let tables = Tables { updates: vec![1_023, 31, 0], interval_ns: vec![0, 31_000, 1_000_000] };
    let linear = scaled(&tables, TableScale::Linear);
    assert_eq!((linear.x, linear.y), (vec![512.0, 15.0, 0.0], vec![0.0, 15.0, 512.0]));
    // ln 32 is half of ln 1,024. Of 1,000 thousandths, whose logarithm is that of 1,001, it is a
    // little more.
    let log = scaled(&tables, TableScale::Log);
    assert_eq!((log.x, log.y), (vec![512.0, 256.0, 0.0], vec![0.0, 257.0, 512.0]));
}

#[test]
fn an_idle_time_of_many_periods_trains_once() {
    let mut haml = haml(4, 4, 2, 100);
    observe(&mut haml, [(0, 10), (0, 20), (1, 730)]);
    let training = haml.last_training().expect("trained");
    assert_eq!((training.number, &training.tables.updates[..]), (1, &[2, 0, 0, 0][..]));
    // The present period began at 700.
    observe(&mut haml, [(1, 800)]);
    let training = haml.last_training().expect("trained");
    assert_eq!(training.tables.interval_ns, [100, 30, 100, 100]);
}

#[test]
fn wear_rules_are_the_papers() {
    let mut haml = haml(40, 4, 4, 100);
    let picks: Vec<Pick> = (0..4).map(|queue| haml.pick(Queue(queue), || 7)).collect();
    assert_eq!(picks, [Pick::Least, Pick::Any(7), Pick::Any(7), Pick::Most]);
    assert_eq!(haml.exchange(PlaneId(0)), None);
    observe(&mut haml, [(0, 10), (0, 110)]);
    assert_eq!(
        haml.exchange(PlaneId(0)),
        Some((Queue(3), Pick::Least)),
        "cold data leave a fresh block"
    );
    assert_eq!(
        haml.exchange(PlaneId(0)),
        Some((Queue(0), Pick::Most)),
        "hot data leave a worn one"
    );
    assert_eq!(haml.exchange(PlaneId(0)), None);
}

#[test]
fn slices_divide_all_pages_evenly() {
    for (pages, slices) in [(1, 1), (100, 7), (33_554_432, 2_560), (1 << 35, 25_600), (5, 2_560)] {
        let haml = haml(pages, slices, 6, 1_000);
        let size = pages.div_ceil(slices.into());
        assert!(haml.cut.last < slices.into());
        for page in [0, 1, size - 1, size, 2 * size - 1, 2 * size, pages / 2, pages - 1] {
            let page = page.min(pages - 1);
            assert_eq!(
                haml.cut.of(LogicalPage(page)) as u64,
                page / size,
                "page {page} of {pages}"
            );
        }
    }
}

#[test]
fn k_means_by_hand() {
    let points =
        Points { x: vec![0.0, 10.0, 500.0, 490.0, 20.0], y: vec![500.0, 490.0, 0.0, 10.0, 480.0] };
    let mut centroids = on_the_diagonal(3);
    assert_eq!(centroids[0], [512.0 * 5.0 / 6.0, 512.0 / 6.0]);
    let labels = lloyd(&points, &mut centroids, 10);
    assert_eq!(labels, [2, 2, 0, 0, 2]);
    // The middle centroid has no point and stays.
    assert_eq!(centroids, [[495.0, 5.0], [256.0, 256.0], [10.0, 490.0]]);
}

#[test]
fn hotis_knows_recent_and_long_interval_updates() {
    // 1,600 pages: a window has 100 writes.
    let mut hotis = Hotis::new(1_600);
    assert_eq!(queue(&hotis, write(7, 0)), 1);
    observe(&mut hotis, [(7, 0)]);
    assert_eq!(queue(&hotis, write(7, 0)), 0, "updated again in the same window");
    observe(&mut hotis, (0..99).map(|n| (1_000 + n, 0)));
    assert_eq!(queue(&hotis, write(7, 0)), 1, "one update a window before is cold");
    // Updated once in every third window: hot by its history.
    for _ in 0..2 {
        observe(&mut hotis, (0..299).map(|n| (100 + n, 0)));
        observe(&mut hotis, [(7, 0)]);
    }
    observe(&mut hotis, (0..299).map(|n| (100 + n, 0)));
    assert_eq!(queue(&hotis, write(7, 0)), 0, "updated at long intervals, again and again");
    observe(&mut hotis, (0..1_000).map(|n| (400 + n, 0)));
    assert_eq!(queue(&hotis, moved(7, 0)), 1, "forgotten after eight windows");
}

#[test]
fn asa_ftl_clusters_frequencies_by_hand() {
    // Means of 1, 10 and 100: the thresholds are their middles.
    let sample = [1.0, 1.0, 1.0, 9.0, 10.0, 11.0, 99.0, 101.0];
    assert_eq!(thresholds(&sample), [55.0, 5.5]);
    assert_eq!(thresholds(&[3.0; 4]), [f32::INFINITY; 2], "nothing to tell apart");
    assert_eq!(thresholds(&[]), [f32::INFINITY; 2]);

    // 1,000 pages: a window has 250 writes. Page 0 takes 100 of them, pages 1 to 3 ten each, the
    // others one or none.
    let mut asa = AsaFtl::new(1_000);
    assert_eq!(queue(&asa, write(0, 0)), 2);
    let hot = std::iter::repeat_n(0, 100);
    let warm = (0..30).map(|n| 1 + n % 3);
    let cold = 100..219;
    observe(&mut asa, hot.chain(warm).chain(cold).map(|page| (page, 0)));
    assert_eq!(queue(&asa, write(0, 0)), 2, "old thresholds hold until the next training");
    observe(&mut asa, [(219, 0)]);
    let queues = [0, 1, 100, 999].map(|page| queue(&asa, write(page, 0)));
    assert_eq!(queues, [0, 1, 2, 2]);
}

#[test]
fn sepbit_follows_its_rules() {
    let mut sepbit = SepBit::new(1_000_000, 1);
    let block = BlockAddr { plane: PlaneId(0), block: BlockId(3) };
    assert_eq!(queue(&sepbit, write(5, 0)), 1, "a page never written lived for ever");
    observe(&mut sepbit, [(5, 0)]);
    assert_eq!(queue(&sepbit, write(5, 0)), 0, "until l is known every life is short");
    // Sixteen blocks of the first queue that lived for 100 writes each: l = 100.
    for _ in 0..16 {
        sepbit.opened(block, Queue(0));
        observe(&mut sepbit, (0..100).map(|n| (500_000 + n, 0)));
        sepbit.collected(block, Queue(1));
        sepbit.collected(block, Queue(0));
    }
    observe(&mut sepbit, [(5, 0)]);
    observe(&mut sepbit, (0..98).map(|n| (600_000 + n, 0)));
    assert_eq!(queue(&sepbit, write(5, 0)), 0, "it lived for 99 writes");
    observe(&mut sepbit, [(700_000, 0)]);
    assert_eq!(queue(&sepbit, write(5, 0)), 1, "and for 100");
    assert_eq!(queue(&sepbit, moved(5, 0)), 2, "moved from the first queue");
    assert_eq!(queue(&sepbit, moved(5, 1)), 3, "younger than 4 l");
    observe(&mut sepbit, (0..300).map(|n| (700_001 + n, 0)));
    assert_eq!(queue(&sepbit, moved(5, 1)), 4);
    observe(&mut sepbit, (0..1_200).map(|n| (800_001 + n, 0)));
    assert_eq!(queue(&sepbit, moved(5, 4)), 5, "16 l and older");
}

#[test]
fn dac_promotes_young_pages_and_demotes_old_ones() {
    // 64 pages: young for 64 writes in the coldest region, for 32, 16, 8, 4 and 2 in the hotter.
    let mut dac = Dac::new(64);
    assert_eq!(queue(&dac, write(7, 0)), 5, "a page never written is old");
    let climbed: Vec<u8> = (0..6)
        .map(|_| {
            observe(&mut dac, [(7, 0)]);
            queue(&dac, write(7, 0))
        })
        .collect();
    assert_eq!(climbed, [4, 3, 2, 1, 0, 0], "updated at once, again and again");
    assert_eq!(queue(&dac, moved(7, 0)), 0, "moved, but young");
    observe(&mut dac, (0..2).map(|n| (20 + n, 0)));
    assert_eq!(queue(&dac, write(7, 0)), 0, "old in the hottest region: stays");
    for (region, writes) in [(1, 0), (2, 2), (3, 4)] {
        observe(&mut dac, (0..writes).map(|n| (20 + n, 0)));
        assert_eq!(queue(&dac, moved(7, 0)), region, "old in region {}", region - 1);
        dac.moved(&moved(7, 0));
        // Its age counts from its last write, so a region with twice the time may take it as young.
        assert_eq!(queue(&dac, write(7, 0)), region - 1);
    }
    assert_eq!(queue(&dac, moved(7, 0)), 3, "9 writes old, and 16 are young there");
}

#[test]
fn warcip_goes_by_the_nearest_interval_and_follows_it() {
    // 4,096 pages, so the centres begin at 2^1, 2^3, ... 2^11 writes.
    let mut warcip = Warcip::new(4_096);
    assert_eq!(queue(&warcip, write(0, 0)), 5, "never written: the longest");
    observe(&mut warcip, [(0, 0), (1, 0), (2, 0)]);
    // Pages 0, 1 and 2 were written 3, 2 and 1 writes ago: 3 is 1.58 octaves.
    assert_eq!([0, 1, 2].map(|page| queue(&warcip, write(page, 0))), [0; 3]);
    observe(&mut warcip, (0..5).map(|n| (100 + n, 0)));
    assert_eq!(queue(&warcip, write(0, 0)), 1, "8 writes ago");
    assert_eq!(queue(&warcip, moved(0, 0)), 1, "and so when it is moved");
    assert_eq!(warcip.centres(), [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
    // An interval of 4 writes is as far from both; the shorter takes it and moves by 1/256.
    observe(&mut warcip, [(200, 0), (201, 0), (202, 0), (203, 0), (200, 0)]);
    assert_eq!(warcip.centres()[0], 1.0 + 1.0 / 256.0);
}

#[test]
fn warcip_splits_what_is_full_and_merges_what_is_empty() {
    let mut warcip = Warcip::new(4_096);
    // Nothing but two pages in turn: all intervals are 2, which is the first centre.
    observe(&mut warcip, (0..4_095).map(|n| (n % 2, 0)));
    let centres = warcip.centres();
    // Clusters 1 and 2 are the emptiest and its neighbour; the first is split in two.
    assert_eq!((centres[0], centres[1]), (0.5, 1.5));
    assert_eq!(centres[2], 4.0, "two empty clusters meet in the middle");
    assert_eq!(centres[3..], [7.0, 9.0, 11.0]);
}

#[test]
fn midas_moves_pages_along_its_chain() {
    let mut midas = Midas::new(64);
    assert_eq!(queue(&midas, write(0, 0)), 1, "nothing is hot yet");
    let chain = [0, 1, 2, 6, 7].map(|from| queue(&midas, moved(0, from)));
    assert_eq!(chain, [2, 2, 3, 7, 7], "the last group keeps its pages");
    // A window of 32 writes. Page 16 is sampled: it comes every fourth write, so 7 intervals of 4.
    // Page 32, too: one interval of 25. Below 8 are 7 of 8: 7 x (1 - 8/64) = 6.1, and below 32 all
    // 8 x (1 - 32/64) = 4.
    let page = |n| match n {
        _ if n % 4 == 0 => 16,
        1 | 26 => 32,
        _ => 1 + n % 7,
    };
    observe(&mut midas, (0..32).map(|n| (page(n), 0)));
    assert_eq!(queue(&midas, write(16, 0)), 0, "4 writes ago");
    observe(&mut midas, (0..3).map(|n| (40 + n, 0)));
    assert_eq!(queue(&midas, write(16, 0)), 0, "7 writes ago");
    observe(&mut midas, [(44, 0)]);
    assert_eq!(queue(&midas, write(16, 0)), 1, "8 writes ago");
}

#[test]
fn auto_stream_goes_by_application() {
    let of = |application| queue(&AutoStream, Write { application, ..write(1, 0) });
    assert_eq!([0, 1, 15, 16].map(of), [0, 1, 15, 0]);
    assert_eq!(queue(&AutoStream, moved(1, 3)), 3);
}

/// Writes 0 to 5 by the first reference: one page fills a block in each plane.
fn doubling() -> Oracle {
    Oracle::new(Foresight::new(4, &[0, 1, 0, 2, 1, 0]), Reference::Doubling, 1, 4)
}

#[test]
fn the_oracle_knows_when_pages_die() {
    // Writes 0 to 5. One page fills a block in each plane, so the queues span 1, 1, 2 and all other
    // writes.
    let mut oracle = doubling();
    // Write 0 (page 0) is overwritten by write 2, write 1 (page 1) by 4, write 2 by 5, the others
    // never.
    let mut queues = Vec::new();
    for page in [0, 1, 0, 2, 1, 0] {
        queues.push(queue(&oracle, write(page, 0)));
        observe(&mut oracle, [(page, 0)]);
    }
    assert_eq!(queues, [2, 2, 2, 3, 3, 3]);
    let oracle = doubling();
    assert_eq!(queue(&oracle, moved(0, 0)), 0, "about to be overwritten");
    assert_eq!(queue(&oracle, moved(1, 0)), 1);
    assert_eq!(queue(&oracle, moved(2, 0)), 2);
    assert_eq!(queue(&oracle, moved(3, 0)), 3, "never");
}

#[test]
fn queues_and_frontiers_name_each_other() {
    let all = PlacementPolicy::ALL.iter();
    for (policy, moved) in all.flat_map(|p| MovedPages::ALL.iter().map(move |m| (p, m))) {
        let mut config = DeviceConfig::default();
        config.placement.policy = *policy;
        config.placement.moved = *moved;
        let placer = Placer::new(&config, 1_000);
        let mut streams: Vec<FrontierId> =
            (0..placer.host + placer.moved).map(|queue| placer.frontier(Queue(queue))).collect();
        let ssdtune_model::config::Frontiers { host, moved: own } = config.placement.frontiers();
        assert_eq!(placer.queues(), (host + own) as usize, "{policy} {moved}");
        for (queue, &frontier) in streams.iter().enumerate() {
            assert_eq!(usize::from(placer.queue(frontier).0), queue, "{policy} {moved}");
            assert!(frontier.index() < placer.frontiers(), "{policy} {moved}");
        }
        streams.push(FrontierId::TRANSLATION);
        streams.sort_unstable();
        assert!(streams.windows(2).all(|pair| pair[0] != pair[1]), "{policy} {moved}: {streams:?}");
    }
}
