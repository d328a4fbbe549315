//! Reads the keys of `[read]`, `[write]` and `[trim]`.

use super::super::model::{Access, Recent, RecentOf, Runs, SizeRange, Skew, Stride};
use super::table::Table;
use ssdtune_model::Bytes;

/// The alignment if a model does not state one: that of file systems.
const ALIGNMENT_DEFAULT: Bytes = Bytes(4096);

pub(super) fn read(table: &mut Table<'_, '_>) -> Access {
    let share = table.float("share").unwrap_or(1.0);
    let alignment = table.optional_bytes("alignment").unwrap_or(ALIGNMENT_DEFAULT);
    if !table.has("size") {
        table.fault("", "`size` is missing");
    }
    let sizes = table.tables("size", |size| read_size(size, alignment));
    Access {
        share,
        sizes,
        offset: table.optional_bytes("offset").unwrap_or(Bytes(0)),
        working_set: table.bytes("working_set").unwrap_or(Bytes(1 << 40)),
        alignment,
        cell: table.optional_bytes("cell").unwrap_or(alignment),
        neighbourhood: table.optional_bytes("neighbourhood").unwrap_or(Bytes(0)),
        skew: table.table("skew", read_skew).unwrap_or(Skew::Uniform),
        walk_share: table.optional_float("walk_share").unwrap_or(0.0),
        runs: table.table("runs", |runs| Runs {
            share: runs.float("share").unwrap_or(0.0),
            mean_length: runs.optional_float("mean_length").unwrap_or(1.0),
            streams: runs.optional_integer("streams").unwrap_or(1).min(u64::from(u32::MAX)) as u32,
        }),
        stride: table.table("stride", |stride| Stride {
            share: stride.float("share").unwrap_or(0.0),
            distance: stride.bytes("distance").unwrap_or(alignment),
            mean_length: stride.float("mean_length").unwrap_or(1.0),
        }),
        recent: table.table("recent", |recent| Recent {
            share: recent.float("share").unwrap_or(0.0),
            window: recent.integer("window").unwrap_or(1).min(u64::from(u32::MAX)) as u32,
            of: match recent.choice("of", &["reads", "writes"]).as_deref() {
                Some("reads") => RecentOf::Reads,
                _ => RecentOf::Writes,
            },
        }),
    }
}

fn read_size(size: &mut Table<'_, '_>, alignment: Bytes) -> SizeRange {
    let share = size.optional_float("share").unwrap_or(1.0);
    if size.has("bytes") {
        let bytes = size.bytes("bytes").unwrap_or(alignment);
        return SizeRange { from: bytes, to: bytes, step: Bytes(512), share };
    }
    let from = size.bytes("from").unwrap_or(alignment);
    let to = size.bytes("to").unwrap_or(from);
    SizeRange { from, to, step: size.optional_bytes("step").unwrap_or(alignment), share }
}

fn read_skew(skew: &mut Table<'_, '_>) -> Skew {
    let kind = skew.choice("kind", &["uniform", "zipf", "hot-cold"]);
    let mut drift = || skew.optional_float("drift_cells_per_million").unwrap_or(0.0);
    match kind.as_deref() {
        Some("zipf") => Skew::Zipf { drift: drift(), theta: skew.float("theta").unwrap_or(0.0) },
        Some("hot-cold") => Skew::HotCold {
            drift: drift(),
            hot_space: skew.float("hot_space").unwrap_or(0.5),
            hot_share: skew.float("hot_share").unwrap_or(0.5),
        },
        _ => Skew::Uniform,
    }
}
