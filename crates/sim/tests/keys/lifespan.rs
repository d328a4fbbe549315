//! A drive that learns how long pages live, for placement and for victims.

use super::*;

pub fn lifespan_scene() -> Scene {
    let lifespan = scene(
        "lifespan",
        |c| {
            c.placement.policy = PlacementPolicy::Lifespan;
            c.gc.policy = GcPolicy::RemainingLife;
            c.flash.blocks_per_plane = 128;
            c.gc.threshold = 0.6;
        },
        |shown| {
            let drawn = |c: &mut DeviceConfig| {
                (c.gc.policy, c.gc.choices) = (GcPolicy::Rga, 64);
            };
            let moved = shown.ran.report.collection.moved_pages;
            vec![
                ("pages are moved", moved > 0),
                ("lives decide", moved != shown.when(drawn).collection.moved_pages),
            ]
        },
    );
    Scene { streams: cold_and_hot(), ..lifespan }
}
