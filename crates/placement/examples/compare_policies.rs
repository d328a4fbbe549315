//! Compares placement policies on a bundled workload model and prints what each costs:
//! `cargo run --release -p ssdtune-placement --example compare_policies [MODEL]`

use ssdtune_experiment::RequestSource;
use ssdtune_placement::{Candidates, Comparison, DriveRule, Sizing, Study, figures};
use ssdtune_report::Table;
use ssdtune_trace::workload::{Seed, bundled};
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "wdev_0".to_owned());
    let source = RequestSource::of_model(bundled(&name)?, Seed::default(), 100_000);
    let comparison = Comparison {
        candidates: Candidates::default().list()?,
        drives: DriveRule::Sized(Sizing::default()),
        one_address_space: false,
        write_buffer: 0,
        settle: None,
        timed_requests: 0,
    };
    let load = comparison.load(&source)?;
    println!("{name}: {} writes of {} pages", load.writes.len(), load.footprint_pages);
    let result = comparison.run(&load, &AtomicBool::new(false), &|_, _, _| {});
    let study = Study::of(&comparison.drives, vec![result], false);

    let mut table = Table::new(["policy", "write amplification", "erases"]);
    table.align_right(1..);
    for policy in study.measured().flat_map(|load| &load.policies) {
        let figures = policy.measured.as_ref();
        table.add_row([
            policy.policy.clone(),
            figures.map_or("-".to_owned(), |one| format!("{:.3}", one.write_amplification)),
            figures.map_or("-".to_owned(), |one| one.erases.to_string()),
        ]);
    }
    println!("{table}");

    // Bars of write amplification and the like, one SVG chart each.
    std::fs::create_dir_all("target/placement-example")?;
    for (name, svg) in figures(&study) {
        std::fs::write(format!("target/placement-example/{name}"), svg)?;
    }
    Ok(())
}
