//! Asks the network that is shipped with ssdtune which channels four tenants should have, and
//! checks its answer against a simulation of all strategies.
//!
//!     cargo run --release -p ssdtune-keeper --example choose

use ssdtune_keeper::mix::{MINORITY, REQUEST_PAGES};
use ssdtune_keeper::{
    Mix, MixSimulator, MixStyle, MixTenant, ObservedMix, Policy, SimulationSettings, Strategy,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::presets;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let policy = Policy::read(&root.join("configs/keeper/ssdkeeper.json"))?;

    // The drive that the network was trained for, and a mix of two writers and two readers on it.
    // Strategies are compared by their channels alone, so page allocation is static.
    let mut drive = presets::load("ssdkeeper")?;
    drive.mapping.allocation = Allocation::Static;
    let drive = drive.check()?;
    let tenant = |writes, share| MixTenant::plain(writes, share);
    let tenants =
        vec![tenant(true, 0.2), tenant(true, 0.1), tenant(false, 0.4), tenant(false, 0.3)];
    let mix = Mix { level: 11, tenants };

    // How the mix is simulated: as the network's training mixes were, but shorter.
    let settings = SimulationSettings {
        rate_max_pages: policy.intensity.requests_per_s_max,
        requests: 10_000,
        working_set_pages: 16_384,
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        style: MixStyle::PLAIN,
        collect_ns: policy.collect_ns,
        seed: 1,
        eliminate: true,
    };
    let stop = AtomicBool::new(false);
    let simulator = MixSimulator::new(&drive, settings, &stop);

    // What the tenants ask for in the first period is all that the network is told.
    let period = simulator.observe(&mix, 0);
    let observed = ObservedMix::new(&period, policy.intensity);
    let choice = policy.choose(&observed, &mut policy.memory()).strategy;

    // Every strategy on the same requests; those that fall far behind are not run to the end.
    let strategies = Strategy::all(policy.channels, mix.tenants.len());
    let mut outcomes = simulator.race(&strategies, &mix, 0)?;
    outcomes.retain(|outcome| outcome.behind.is_none());
    outcomes.sort_by(|a, b| a.means.total_ns().total_cmp(&b.means.total_ns()));
    println!("{} of {} strategies ran to the end:", outcomes.len(), strategies.len());
    for outcome in &outcomes {
        let mark = if outcome.strategy == choice { "<- the network's choice" } else { "" };
        let [read, write] = [outcome.means.read_ns, outcome.means.write_ns].map(|ns| ns / 1_000.0);
        let name = outcome.strategy.to_string();
        println!("{name:>9}: reads {read:7.1} us, writes {write:7.1} us {mark}");
    }
    Ok(())
}
