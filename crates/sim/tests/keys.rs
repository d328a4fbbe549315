//! Every key of the parameter catalogue changes some result in some scene, or the catalogue says
//! why not.
//!
//! A scene is a drive and a workload in which a group of keys matters. For each key, every scene is
//! tried with a few other values until a result changes. Where the catalogue calls a key inert,
//! changing it must change nothing. Each scene also says what must happen in it, so that a scene in
//! which its keys cannot matter is noticed.

mod lifespan;

use crate::drives::{self, Mix, Ran};
use ssdtune_model::catalogue::{Effect, Legal, Parameter, Value, parameters};
use ssdtune_model::config::*;
use ssdtune_model::{DeviceConfig, Nanos};
use ssdtune_sim::{
    Collection, Footprint, InitialContent, InitialState, Outcome, PageTypes, Places, Report,
    Simulator, Tenant,
};
use ssdtune_trace::{Op, Request};

/// A drive and a workload in which a group of keys matters.
struct Scene {
    name: &'static str,
    config: DeviceConfig,
    tenants: fn(&DeviceConfig) -> Vec<Tenant>,
    streams: Vec<Vec<Request>>,
    content: InitialContent,
    /// What must happen in the scene. If it does not, the scene tests nothing.
    shows: fn(&Shown) -> Vec<Claim>,
}

/// Something that must happen, and whether it did.
type Claim = (&'static str, bool);

/// A scene that was run.
struct Shown<'a> {
    scene: &'a Scene,
    ran: Ran,
}

impl Shown<'_> {
    /// The report of the scene with another configuration.
    fn when(&self, change: impl FnOnce(&mut DeviceConfig)) -> Report {
        let mut config = self.scene.config.clone();
        change(&mut config);
        self.scene.run(&config).expect("a legal configuration").report
    }
}

impl Scene {
    fn run(&self, config: &DeviceConfig) -> Option<Ran> {
        let config = config.check().ok()?;
        let tenants = (self.tenants)(&config);
        let mut drive = Simulator::new(&config, &tenants, drives::WATCH).ok()?;
        drive.set_initial_content(&self.content, &Footprint::default()).ok()?;
        Some(drives::run_on(drive, &self.streams))
    }
}

fn one(config: &DeviceConfig) -> Vec<Tenant> {
    vec![Tenant::sole(config)]
}

/// A writer and a reader, of different priority, on the same planes.
fn two(config: &DeviceConfig) -> Vec<Tenant> {
    let writer = Tenant { writer: true, priority: Priority::Low, ..Tenant::sole(config) };
    vec![writer, Tenant { places: Places::all(&config.flash_geometry()), ..Tenant::sole(config) }]
}

const WRITES: Mix = Mix {
    requests: 2_500,
    seed: 3,
    gap_ns: 150_000.0,
    reads: 30,
    trims: 1,
    flushes: 0,
    sectors: 56_000,
    align: 8,
    pages_max: 4,
};

/// A scene of a small drive with random requests.
fn scene(
    name: &'static str,
    change: impl FnOnce(&mut DeviceConfig),
    shows: fn(&Shown) -> Vec<Claim>,
) -> Scene {
    let mut config = drives::small();
    config.flash.read_latency = [50_000, 60_000, 70_000, 80_000].map(Nanos);
    config.flash.program_latency = [300_000, 400_000, 500_000, 600_000].map(Nanos);
    config.gc.threshold = 0.2;
    change(&mut config);
    let streams = vec![WRITES.requests(0)];
    Scene { name, config, tenants: one, streams, content: InitialContent::default(), shows }
}

fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::from(host_scenes());
    scenes.extend(collection_scenes());
    scenes.extend(die_scenes());
    scenes.extend(wear_scenes());
    scenes.extend(load_scenes());
    scenes.push(lifespan::lifespan_scene());
    scenes.push(controller_scene());
    scenes.push(superblock_scene());
    scenes.push(buffer_scene());
    scenes.push(unit_scene());
    scenes.push(stream_scene());
    scenes.push(slc_scene());
    scenes.push(mqsim_scene());
    scenes
}

fn host_scenes() -> [Scene; 4] {
    [
        scene(
            "plain",
            |_| {},
            |shown| {
                let Report { collection, mapping, data_cache, flash, .. } = &shown.ran.report;
                let misses = mapping.misses_read.min(mapping.misses_write);
                vec![
                    ("blocks are collected", collection.executions.min(collection.moved_pages) > 0),
                    ("mappings miss and are written back", misses.min(mapping.writebacks) > 0),
                    ("the data cache hits", data_cache.read_hits.min(data_cache.write_hits) > 0),
                    (
                        "planes work together",
                        flash.reads_multiplane.min(flash.programs_multiplane) > 0,
                    ),
                ]
            },
        ),
        scene(
            "sata",
            |c| c.host.interface = HostInterface::Sata,
            |shown| {
                let latency = shown.ran.report.total.all.total_latency_ns.expect("requests");
                let both_ways = 2 * shown.scene.config.host.sata_processing_delay.0;
                vec![("the adapter takes its time", both_ways > 0 && latency.min >= both_ways)]
            },
        ),
        scene(
            "uncached",
            |c| c.cache.mode = CacheMode::Off,
            |shown| {
                let Report { data_cache, flash, .. } = &shown.ran.report;
                vec![
                    (
                        "the data cache is not used",
                        data_cache.read_lookups + data_cache.writes == 0,
                    ),
                    ("the host writes to flash", flash.pages_programmed_host > 0),
                ]
            },
        ),
        scene(
            "qlc",
            |c| c.flash.technology = FlashTechnology::Qlc,
            |shown| {
                let flash = &shown.ran.report.energy.flash;
                let all = |types: PageTypes| {
                    [types.lsb, types.csb, types.msb, types.tsb].iter().all(|&joule| joule > 0.0)
                };
                vec![
                    ("all page types are read", all(flash.read_by_page_type_j)),
                    ("all page types are programmed", all(flash.program_by_page_type_j)),
                ]
            },
        ),
    ]
}

/// Victims other than the emptiest blocks have more pages to move.
fn moves_more_than_greedy(shown: &Shown) -> Vec<Claim> {
    let greedy = shown.when(|c| c.gc.policy = GcPolicy::Greedy);
    let moved = shown.ran.report.collection.moved_pages;
    vec![("victims are not those of greedy", moved > greedy.collection.moved_pages)]
}

fn collection_scenes() -> [Scene; 4] {
    let content =
        InitialContent { state: InitialState::Steady, occupancy: vec![0.8], ..Default::default() };
    [
        scene("d-choices", |c| c.gc.policy = GcPolicy::Rga, moves_more_than_greedy),
        scene("windowed", |c| c.gc.policy = GcPolicy::WindowedGreedy, moves_more_than_greedy),
        Scene {
            content,
            ..scene(
                "used",
                |c| c.gc.policy = GcPolicy::Fifo,
                |shown| {
                    let initial = shown.ran.report.simulation.initial_pages;
                    let mut claims = moves_more_than_greedy(shown);
                    claims.push(("the drive holds data at the start", initial > 0));
                    claims
                },
            )
        },
        scene(
            "preemptible",
            |c| {
                c.gc.preemptible = true;
                c.gc.hard_threshold = 0.1;
                c.cache.mode = CacheMode::Off;
            },
            |shown| {
                let mean =
                    |report: &Report| report.total.read.total_latency_ns.expect("reads").mean;
                let waits = shown.when(|c| c.gc.preemptible = false);
                let held = shown.ran.report.collection.held_writes;
                vec![
                    ("reads go before collection", mean(&shown.ran.report) < mean(&waits)),
                    ("collection gets urgent", held > 0),
                ]
            },
        ),
    ]
}

fn die_scenes() -> [Scene; 3] {
    [
        scene(
            "suspension",
            |c| {
                c.suspension.support = SuspensionSupport::ProgramErase;
                c.cache.mode = CacheMode::Off;
            },
            |shown| {
                let flash = &shown.ran.report.flash;
                vec![
                    ("programs are interrupted", flash.program_suspensions > 0),
                    ("erases are interrupted", flash.erase_suspensions > 0),
                ]
            },
        ),
        scene(
            "cache commands",
            |c| {
                [c.flash.cache_read, c.flash.cache_program] = [true, true];
                c.cache.mode = CacheMode::Off;
            },
            |shown| {
                let flash = &shown.ran.report.flash;
                vec![
                    ("reads overlap", flash.cache_reads > 0),
                    ("programs overlap", flash.cache_programs > 0),
                ]
            },
        ),
        scene(
            "worn",
            |c| {
                c.ageing = Ageing {
                    retry_probability: 0.1,
                    retry_probability_per_1000_cycles: 10.0,
                    retries_max: 3,
                    read_growth_per_1000_cycles: 20.0,
                    program_growth_per_1000_cycles: -1.0,
                    erase_growth_per_1000_cycles: 30.0,
                };
            },
            |shown| {
                let Report { flash, collection, .. } = &shown.ran.report;
                let young = shown.when(|c| c.ageing.retry_probability_per_1000_cycles = 0.0);
                let worn = collection.erase_histogram.iter().any(|bin| bin.erases > 0);
                vec![
                    ("reads are repeated", flash.read_retries > 0),
                    ("wear repeats more of them", flash.read_retries > young.flash.read_retries),
                    ("blocks are worn", worn),
                ]
            },
        ),
    ]
}

/// Cold data first, then a hot corner of the drive.
fn cold_and_hot() -> Vec<Vec<Request>> {
    let hot = Mix { sectors: 4_000, seed: 5, requests: 4_000, gap_ns: 80_000.0, ..WRITES };
    let mut requests = drives::fill(50_000, 8, 40_000);
    requests.extend(
        hot.requests(0).into_iter().map(|r| Request { at: r.at + Nanos(300_000_000), ..r }),
    );
    vec![requests]
}

fn wear_scenes() -> [Scene; 2] {
    let wear = scene(
        "wear",
        |c| c.wear.static_threshold = 3,
        |shown| {
            let Collection { wear_executions, wear_moved_pages, .. } = shown.ran.report.collection;
            vec![("cold blocks are moved", wear_executions.min(wear_moved_pages) > 0)]
        },
    );
    let hotness_queues = scene(
        "hotness queues",
        |c| {
            c.placement.policy = PlacementPolicy::Haml;
            c.placement.clusters = 3;
            c.placement.slices = 256;
            c.placement.period = Nanos(40_000_000);
            c.flash.blocks_per_plane = 64;
        },
        |shown| {
            let untrained = shown.when(|c| c.placement.period = Nanos(100_000_000_000));
            let collection = &shown.ran.report.collection;
            let (executions, untrained) = (collection.wear_executions, untrained.collection);
            vec![
                ("pages are classified", collection.moved_pages != untrained.moved_pages),
                ("trainings exchange blocks", executions > untrained.wear_executions),
            ]
        },
    );
    [wear, hotness_queues].map(|scene| Scene { streams: cold_and_hot(), ..scene })
}

fn load_scenes() -> [Scene; 4] {
    let busy = Mix { gap_ns: 15_000.0, align: 1, sectors: 24_000, pages_max: 30, ..WRITES };
    let burst = scene(
        "burst",
        |_| {},
        |shown| {
            let waits = shown.ran.completions.iter().any(|done| done.enqueued > done.arrived);
            vec![
                ("requests wait for the submission queue", waits),
                ("parts of pages are written", shown.ran.report.write_amplification.merge > 0.0),
            ]
        },
    );
    let long =
        Mix { requests: 40, sectors: 24_000, gap_ns: 1e7, pages_max: 1, align: 65_544, ..WRITES };
    let long_requests = scene(
        "long",
        |_| {},
        |shown| {
            let longest = shown.ran.completions.iter().map(|done| done.sectors).max();
            vec![("lengths exceed 16 bits", longest > Some(u16::MAX.into()))]
        },
    );
    // Seconds of few pages: the cache forgets which of them it has written.
    let slow = Mix { requests: 1_500, gap_ns: 2e6, sectors: 400, align: 1, ..WRITES };
    let forgetful = scene(
        "slow",
        |_| {},
        |shown| {
            // 400 sectors and what the longest request adds; the data cache has room for all.
            let pages = (400 + WRITES.pages_max).div_ceil(8);
            let written = shown.ran.report.flash.pages_programmed_host;
            vec![("pages are written again in a new epoch", written > pages.into())]
        },
    );
    [
        Scene { streams: vec![busy.requests(0)], ..burst },
        Scene { streams: vec![long.requests(0)], ..long_requests },
        Scene { streams: vec![slow.requests(0)], ..forgetful },
        tenants_scene(&busy),
    ]
}

/// Superblocks are collected in steps.
fn superblock_scene() -> Scene {
    let superblocks = |c: &mut DeviceConfig| c.gc.unit = GcUnit::Die;
    scene("superblocks", superblocks, |shown| {
        let Report { collection, flash, .. } = &shown.ran.report;
        vec![
            ("superblocks are collected", collection.moved_pages > 0),
            ("their blocks are erased together", flash.erases_multiplane > 0),
        ]
    })
}

/// Writes come faster than the flash takes them, and wait for room.
fn buffer_scene() -> Scene {
    let small = |c: &mut DeviceConfig| c.cache.write_buffer.0 = 8 * 4096;
    let busy = Mix { gap_ns: 60_000.0, ..WRITES };
    let buffer = scene("write buffer", small, |shown| {
        let mean = |report: &Report| report.total.write.total_latency_ns.expect("writes").mean;
        let larger = shown.when(|c| c.cache.write_buffer.0 *= 8);
        vec![("writes wait for room", mean(&shown.ran.report) > 2.0 * mean(&larger))]
    });
    Scene { streams: vec![busy.requests(0)], ..buffer }
}

/// Several mapping units share a page, and neighbours are dealt over two dies.
fn unit_scene() -> Scene {
    let units = |c: &mut DeviceConfig| {
        c.gc.unit = GcUnit::Drive;
        c.cache.mode = CacheMode::Write;
        (c.mapping.unit_bytes, c.mapping.stripe_dies) = (1_024, 2);
    };
    scene("units", units, |shown| {
        let flash = &shown.ran.report.flash;
        let commands = flash.programs + flash.programs_multiplane;
        vec![("small writes share pages", flash.pages_programmed_host > 2 * commands)]
    })
}

/// Blocks in SLC mode are filled, folded when the host pauses, and folded for space.
fn slc_scene() -> Scene {
    let cache = |c: &mut DeviceConfig| {
        c.slc_cache.static_blocks = 2;
        c.slc_cache.dynamic_above = 0.3;
        c.slc_cache.fold_after = Nanos(1_000_000);
        c.flash.blocks_per_plane = 30;
        c.cache.mode = CacheMode::Off;
    };
    let busy = Mix { gap_ns: 100_000.0, ..WRITES };
    let slow = Mix { gap_ns: 4_000_000.0, requests: 400, ..WRITES }.requests(0).into_iter();
    let pauses = slow.map(|r| Request { at: r.at + Nanos(1_000_000_000), ..r });
    let slc = scene("slc cache", cache, |shown| {
        let found = shown.ran.report.slc_cache.expect("a cache");
        vec![
            ("pages are written in SLC mode", found.written_pages > 0),
            ("idle time folds", found.idle_folds > 0),
            ("a lack of blocks folds", found.pressed_folds > 0),
        ]
    });
    Scene { streams: vec![busy.requests(0).into_iter().chain(pauses).collect()], ..slc }
}

/// The drive is written, then read in order.
fn stream_scene() -> Scene {
    let ahead = |c: &mut DeviceConfig| c.cache.read_ahead.0 = 4 * 4096;
    let stream = scene("stream", ahead, |shown| {
        let Report { total, data_cache, .. } = &shown.ran.report;
        let mean = |report: &Report| report.total.read.total_latency_ns.expect("reads").mean;
        let without = shown.when(|c| c.cache.read_ahead.0 = 0);
        vec![
            ("reads hit", data_cache.read_hits > total.read.requests / 2),
            ("reads are shorter", 2.0 * mean(&shown.ran.report) < mean(&without)),
        ]
    });
    let mut requests = drives::fill(16_000, 8, 400_000);
    let start = Nanos(2_000 * 400_000 + 50_000_000);
    let reads = drives::fill(16_000, 8, 100_000).into_iter();
    requests.extend(reads.map(|r| Request { at: r.at + start, op: Op::Read, ..r }));
    Scene { streams: vec![requests], ..stream }
}

/// Host and controller are slower than the flash.
fn controller_scene() -> Scene {
    let slow = |c: &mut DeviceConfig| {
        c.controller.read_time = Nanos(5_000);
        c.controller.write_time = Nanos(8_000);
        c.controller.core_rate = 200_000;
        c.controller.pipeline_time = Nanos(6_000);
        c.controller.bandwidth_mbs = 200;
        c.controller.write_bandwidth_mbs = 150;
        c.host.request_time = Nanos(4_000);
        c.host.core_rate = 300_000;
    };
    let busy = Mix { gap_ns: 15_000.0, sectors: 24_000, ..WRITES };
    let controller = scene("controller", slow, |shown| {
        let latency = shown.ran.report.total.read.total_latency_ns.expect("reads");
        let without = shown.when(|c| c.controller = Controller::default());
        let mean = without.total.read.total_latency_ns.expect("reads").mean;
        vec![("commands take their time", latency.mean > mean + 5_000.0)]
    });
    Scene { streams: vec![busy.requests(0)], ..controller }
}

fn tenants_scene(busy: &Mix) -> Scene {
    let shared = |c: &mut DeviceConfig| {
        c.cache.mode = CacheMode::ReadWrite;
        c.flash.page_bytes = 4608;
        c.bus.scheduler = Scheduler::PriorityOutOfOrder;
    };
    let streams = vec![
        Mix { reads: 10, ..busy.clone() }.requests(0),
        Mix { reads: 90, ..busy.clone() }.requests(1),
    ];
    let tenants = scene("tenants", shared, |shown| {
        let Report { tenants, .. } = &shown.ran.report;
        let equal = shown.when(|c| c.bus.scheduler = Scheduler::OutOfOrder);
        vec![
            ("there are two", tenants.len() == 2),
            ("both are cached", tenants.iter().all(|of| of.data_cache.read_hits > 0)),
            ("priorities decide who waits", tenants[0].metrics != equal.tenants[0].metrics),
        ]
    });
    Scene { tenants: two, streams, ..tenants }
}

fn mqsim_scene() -> Scene {
    let as_mqsim = |c: &mut DeviceConfig| {
        c.compat = Compat::MQSIM;
        c.flash.blocks_per_plane = 48;
        // Every write-back of a mapping costs a page for ever there.
        c.mapping.cmt_capacity = ssdtune_model::Bytes::from_mib(1);
        c.cache.mode = CacheMode::ReadWrite;
    };
    // Few pages, so that reads soon find data: a block in which a read took a page is never
    // collected there.
    let few = Mix { sectors: 12_000, ..WRITES };
    let mqsim = scene("mqsim", as_mqsim, |shown| {
        let Report { flash, collection, capacity, .. } = &shown.ran.report;
        let without = shown.when(|c| c.compat.read_allocates = false);
        vec![
            ("blocks are collected", collection.executions > 0),
            ("writes are held", collection.held_writes > 0),
            ("erases go to one plane", flash.erases > 0 && flash.erases_multiplane == 0),
            ("reads take pages", capacity.mapped_bytes > without.capacity.mapped_bytes),
        ]
    });
    Scene { streams: vec![few.requests(0)], ..mqsim }
}

/// Values to try instead of the present one.
fn others(row: &Parameter, config: &DeviceConfig) -> Vec<Value> {
    let now = row.get(config);
    let values: Vec<Value> = match (row.legal, now) {
        (Legal::Bools, Value::Bool(on)) => vec![Value::Bool(!on)],
        (Legal::Names(names), _) => names.iter().map(|&(own, _)| Value::Name(own)).collect(),
        (Legal::Ints { min, max, step }, Value::Int(int)) => {
            let near = [int / 4, int / 2, int + step, int * 2, int * 8, 1, 4];
            near.map(|v| Value::Int((v / step * step).clamp(min, max))).to_vec()
        }
        (Legal::Reals { .. }, Value::Real(real)) => {
            [real / 4.0, real / 2.0, real * 1.3, real * 4.0].map(Value::Real).to_vec()
        }
        _ => Vec::new(),
    };
    values.into_iter().filter(|&value| value != now).collect()
}

/// What a run measured, as text; `None` if the configuration or the drive is refused.
fn measure(scene: &Scene, config: &DeviceConfig) -> Option<String> {
    let ran = scene.run(config)?;
    let mut report = ran.report;
    // Figures about the simulation, not about the drive.
    report.simulation.events = 0;
    report.simulation.ftl_memory_bytes = 0;
    let end = match ran.outcome {
        Outcome::Completed => "completed".to_owned(),
        other => format!("{other:?}"),
    };
    Some(format!("{end} {}", serde_json::to_string(&report).expect("a report is JSON")))
}

/// Whether the key changes a result somewhere. A key that is called inert must not.
fn acts(row: &Parameter, scenes: &[Scene], base: &[String]) -> Result<bool, String> {
    for (scene, before) in scenes.iter().zip(base) {
        for value in others(row, &scene.config) {
            let mut config = scene.config.clone();
            if row.set(&mut config, value).is_err() {
                continue;
            }
            let Some(after) = measure(scene, &config) else { continue };
            let inert = row.inert(&scene.config);
            match inert {
                Some(reason) if after != *before => {
                    return Err(format!("{value} acts in {} although {reason}", scene.name));
                }
                Some(_) => break,
                None if after != *before => return Ok(true),
                None => {}
            }
        }
    }
    Ok(false)
}

#[test]
fn every_key_changes_a_result_or_is_called_inert() {
    let scenes = scenes();
    let base: Vec<String> = (scenes.iter())
        .map(|scene| {
            measure(scene, &scene.config).unwrap_or_else(|| panic!("{} is illegal", scene.name))
        })
        .collect();
    let mut wrong = Vec::new();
    for row in parameters() {
        let never = matches!(row.effect, Effect::Never(_));
        match acts(row, &scenes, &base) {
            Err(text) => wrong.push(format!("{}: {text}", row.key)),
            Ok(false) if !never => wrong.push(format!("{}: changes nothing", row.key)),
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_scenes_do_what_they_are_for() {
    let mut wrong = Vec::new();
    for scene in scenes() {
        let ran = scene.run(&scene.config).unwrap_or_else(|| panic!("{} is illegal", scene.name));
        assert_eq!(ran.outcome, Outcome::Completed, "{}", scene.name);
        let claims = (scene.shows)(&Shown { scene: &scene, ran });
        assert!(!claims.is_empty(), "{} is for nothing", scene.name);
        let broken = claims.iter().filter(|(_, holds)| !holds);
        wrong.extend(broken.map(|(claim, _)| format!("{}: not so: {claim}", scene.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
