//! Traces that studies look at: real ones of the shared folder, and bundled models.

use ssdtune_experiment::{AddressFit, Origin, Position, RequestSource};
use ssdtune_model::Sectors;
use ssdtune_trace::{ReadOptions, Request, TenantId, workload};
use std::error::Error;

/// Real traces: what to call them, and their files in `$SSDTUNE_SHARED/traces`.
pub const FILES: [(&str, &str); 12] = [
    ("telegram", "mobile_telegram_exec.csv.xz"),
    ("you_cut", "mobile_you_cut_exec.csv.xz"),
    ("webserver", "blkreplay_linux-webserver-2.load.xz"),
    ("slideshow", "mobile_slideshow_exec.csv.xz"),
    ("cloudphysics", "cloudphysics_libcachesim.vscsi.xz"),
    ("mayun2", "diskmon_mayun2.txt.xz"),
    ("iozone", "disksim_iozone-aligned2-100K.trace.xz"),
    ("postmark", "disksim_postmark-aligned2.trace.xz"),
    ("tencent", "caffeine_tencent_cloud_storage-sample.csv.xz"),
    ("hadoop", "hadoop_eternity10_D.csv.xz"),
    ("llm", "llm_opt7b_512tok.trace.xz"),
    ("mssql", "blkreplay_windows-mssql.load.xz"),
];
/// Bundled models, for traces that are longer.
pub const MODELS: [&str; 2] = ["prxy_0", "database"];

/// Those of the first `files` real traces and of the models that are asked for: names with commas
/// between them, or `all`.
pub fn asked(names: &str, files: usize) -> Vec<&'static str> {
    let all = FILES[..files].iter().map(|&(name, _)| name).chain(MODELS);
    all.filter(|name| names == "all" || names.split(',').any(|one| one == *name)).collect()
}

/// The first requests of a trace, with the gaps between its addresses closed.
pub fn requests(name: &str, most: usize) -> Result<Vec<Request>, Box<dyn Error>> {
    let source = match FILES.iter().find(|file| file.0 == name) {
        Some((_, file)) => {
            let path = format!("{}/traces/{file}", std::env::var("SSDTUNE_SHARED")?);
            RequestSource::new(Origin::File(path.into()), ReadOptions::default())
        }
        None => RequestSource::of_model(
            workload::bundled(name)?,
            workload::Seed::default(),
            most as u64,
        ),
    };
    let source = RequestSource { fit: Some(AddressFit::Compact), ..source };
    let all = source.open(&[Sectors(u64::MAX)], Sectors(8), &Position::default())?;
    let own = |request: Request| Request { tenant: TenantId(0), ..request };
    Ok(all.take(most).map(|request| request.map(own)).collect::<Result<_, _>>()?)
}
