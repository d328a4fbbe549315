//! Every key of the parameter catalogue changes some result in some scene, or the catalogue says why not.
//!
//! A scene is a drive and a workload in which a group of keys matters. For each key every scene is tried with
//! a few other values until a result changes. Where the catalogue calls a key inert, changing it must change
//! nothing.

use crate::drives::{self, Mix};
use ssdtune_model::catalogue::{Effect, Legal, Parameter, Value, parameters};
use ssdtune_model::config::*;
use ssdtune_model::{DeviceConfig, Nanos};
use ssdtune_sim::{Footprint, InitialContent, InitialState, Outcome, Places, Simulator, Tenant};
use ssdtune_trace::Request;

struct Scene {
    name: &'static str,
    config: DeviceConfig,
    tenants: fn(&DeviceConfig) -> Vec<Tenant>,
    streams: Vec<Vec<Request>>,
    past: InitialContent,
}

fn one(config: &DeviceConfig) -> Vec<Tenant> {
    vec![Tenant::sole(config)]
}

/// A writer and a reader, of different priority, on the same planes.
fn two(config: &DeviceConfig) -> Vec<Tenant> {
    let writer = Tenant { writer: true, priority: Priority::Low, ..Tenant::sole(config) };
    vec![writer, Tenant { places: Places::all(&config.geometry()), ..Tenant::sole(config) }]
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

fn scene(name: &'static str, change: impl FnOnce(&mut DeviceConfig)) -> Scene {
    let mut config = drives::small();
    config.flash.read_latency = [50_000, 60_000, 70_000, 80_000].map(Nanos);
    config.flash.program_latency = [300_000, 400_000, 500_000, 600_000].map(Nanos);
    config.gc.threshold = 0.2;
    change(&mut config);
    let streams = vec![WRITES.requests(0)];
    Scene { name, config, tenants: one, streams, past: InitialContent::default() }
}

fn scenes() -> Vec<Scene> {
    let mut scenes = vec![
        scene("plain", |_| {}),
        scene("sata", |c| c.host.interface = HostInterface::Sata),
        scene("uncached", |c| c.cache.mode = CacheMode::Off),
        scene("qlc", |c| c.flash.technology = FlashTechnology::Qlc),
        scene("d-choices", |c| c.gc.policy = GcPolicy::Rga),
        scene("windowed", |c| c.gc.policy = GcPolicy::WindowedGreedy),
        scene("suspension", |c| {
            c.suspension.support = SuspensionSupport::ProgramErase;
            c.cache.mode = CacheMode::Off;
        }),
        scene("preemptible", |c| {
            c.gc.preemptible = true;
            c.gc.hard_threshold = 0.1;
            c.cache.mode = CacheMode::Off;
        }),
        scene("cache commands", |c| {
            c.flash.cache_read = true;
            c.flash.cache_program = true;
            c.cache.mode = CacheMode::Off;
        }),
        scene("worn", |c| {
            c.ageing = Ageing {
                retry_probability: 0.1,
                retry_probability_per_1000_cycles: 10.0,
                retries_max: 3,
                read_growth_per_1000_cycles: 20.0,
                program_growth_per_1000_cycles: -1.0,
                erase_growth_per_1000_cycles: 30.0,
            };
        }),
        scene("wear", |c| c.wear.static_threshold = 3),
        scene("hotness queues", |c| {
            c.placement.policy = PlacementPolicy::Haml;
            c.placement.clusters = 3;
            c.placement.slices = 256;
            c.placement.period = Nanos(40_000_000);
            c.flash.blocks_per_plane = 64;
        }),
        scene("mqsim", |c| {
            c.compat = Compat::MQSIM;
            c.flash.blocks_per_plane = 48;
            // Every write-back of a mapping costs a page for ever there.
            c.mapping.cmt_capacity = ssdtune_model::Bytes::from_mib(1);
            c.cache.mode = CacheMode::ReadWrite;
        }),
    ];
    let hot = Mix { sectors: 4_000, seed: 5, requests: 4_000, gap_ns: 80_000.0, ..WRITES };
    // Cold data first, then a hot corner of the drive.
    let mut requests = drives::fill(50_000, 8, 40_000);
    requests.extend(
        hot.requests(0).into_iter().map(|r| Request { at: r.at + Nanos(300_000_000), ..r }),
    );
    for scene in &mut scenes {
        if ["wear", "hotness queues"].contains(&scene.name) {
            scene.streams = vec![requests.clone()];
        }
    }
    // Few pages, so that reads soon find data: a block in which a read took a page is never collected there.
    let few = Mix { sectors: 12_000, ..WRITES };
    if let Some(mqsim) = scenes.iter_mut().find(|scene| scene.name == "mqsim") {
        mqsim.streams = vec![few.requests(0)];
    }
    let busy = Mix { gap_ns: 15_000.0, align: 1, sectors: 24_000, pages_max: 30, ..WRITES };
    scenes.push(Scene { streams: vec![busy.requests(0)], ..scene("burst", |_| {}) });
    let shared = |c: &mut DeviceConfig| {
        c.cache.mode = CacheMode::ReadWrite;
        c.flash.page_bytes = 4608;
        c.bus.scheduler = Scheduler::PriorityOutOfOrder;
    };
    let mut tenants = scene("tenants", shared);
    tenants.tenants = two;
    tenants.streams = vec![
        Mix { reads: 10, sectors: 24_000, ..busy.clone() }.requests(0),
        Mix { reads: 90, sectors: 24_000, ..busy.clone() }.requests(1),
    ];
    scenes.push(tenants);
    let past = InitialContent {
        state: InitialState::Steady,
        occupancy: vec![0.8],
        ..InitialContent::default()
    };
    scenes.push(Scene { past, ..scene("used", |c| c.gc.policy = GcPolicy::Fifo) });
    let long =
        Mix { requests: 40, sectors: 24_000, gap_ns: 1e7, pages_max: 1, align: 65_544, ..WRITES };
    scenes.push(Scene { streams: vec![long.requests(0)], ..scene("long", |_| {}) });
    // Seconds of few pages: the cache forgets which of them it has written.
    let slow = Mix { requests: 1_500, gap_ns: 2e6, sectors: 400, align: 1, ..WRITES };
    scenes.push(Scene { streams: vec![slow.requests(0)], ..scene("slow", |_| {}) });
    scenes
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

/// What a run measured, or why there is no run.
fn measure(scene: &Scene, config: &DeviceConfig) -> Option<String> {
    config.check().ok()?;
    let tenants = (scene.tenants)(config);
    let mut drive = Simulator::new(&config.check().ok()?, &tenants, drives::WATCH).ok()?;
    drive.set_initial_content(&scene.past, &Footprint::default()).ok()?;
    let ran = drives::run_on(drive, &scene.streams);
    let mut report = ran.report;
    // Neither belongs to the drive.
    report.simulation.events = 0;
    report.simulation.ftl_memory_bytes = 0;
    let end = match ran.outcome {
        Outcome::Completed => "completed".to_owned(),
        other => format!("{other:?}"),
    };
    Some(format!("{end} {}", serde_json::to_string(&report).expect("a report is JSON")))
}

/// Whether the key changes a result somewhere; a key called inert must not.
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
    for scene in scenes() {
        let ran =
            drives::run_tenants(&scene.config, &(scene.tenants)(&scene.config), &scene.streams);
        let report = &ran.report;
        println!(
            "{}: {:?}, {} collections, {} for wear, {} moved",
            scene.name,
            ran.outcome,
            report.collection.executions,
            report.collection.wear_executions,
            report.collection.moved_pages
        );
        assert_eq!(ran.outcome, Outcome::Completed, "{}", scene.name);
    }
}
