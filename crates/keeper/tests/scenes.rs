//! Drives, settings and policies that several tests share.

use ssdtune_keeper::mix::MINORITY;
use ssdtune_keeper::{FlashFigures, MixStyle, Policy, SimulationSettings, Strategy};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, DeviceConfig, presets};

/// The drive of Table I with fewer blocks.
pub fn config(allocation: Allocation) -> CheckedConfig {
    let mut config = presets::load("ssdkeeper").expect("a preset");
    config.flash.blocks_per_plane = 128;
    config.mapping.allocation = allocation;
    config.check().expect("legal")
}

/// That drive with channels so fast that tenants compete for chips alone, and settings for it.
pub fn fast(allocation: Allocation) -> (CheckedConfig, SimulationSettings) {
    let mut fast = (*config(allocation)).clone();
    fast.bus.rate_mts = 333;
    let settings = SimulationSettings { rate_max_pages: 80_000.0, ..settings() };
    (fast.check().expect("legal"), settings)
}

/// Short mixes at rates that the drive of Table I can serve.
pub fn settings() -> SimulationSettings {
    SimulationSettings {
        rate_max_pages: 16_000.0,
        requests: 1_500,
        working_set_pages: 1_024,
        minority: MINORITY,
        request_pages: [1, 1],
        style: MixStyle { bursty: 0.5, ..MixStyle::PLAIN },
        collect_ns: 50_000_000,
        seed: 11,
        eliminate: true,
    }
}

/// A policy that always chooses the strategy `best`: its network has no weights, only constants.
pub fn policy(best: &str) -> Policy {
    let strategies = Strategy::all(8, 4);
    let bias: Vec<f64> =
        strategies.iter().map(|s| if s.to_string() == best { -0.5 } else { 0.0 }).collect();
    let text = serde_json::json!({
        "version": 5, "drives": 1, "device": "test", "device_digest": "", "channels": 8,
        "made_by": "",
        "flash": FlashFigures::of(&DeviceConfig::default()),
        "seed": 0, "intensity": { "requests_per_s_max": 16_000.0 }, "collect_ns": 50_000_000,
        "kind": "ranker",
        "abstain": 0.01, "doubt": 0.0, "switch": null,
        "strategies": strategies,
        "network": { "version": 1, "activation": "relu", "output": "linear",
            "layers": [{ "inputs": 9, "weights": vec![0.0; 9 * 42], "bias": bias }] },
    });
    read(&text.to_string()).expect("a policy")
}

/// A policy from the text of its file; an error as users see it.
pub fn read(text: &str) -> Result<Policy, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.json");
    std::fs::write(&path, text).unwrap();
    Policy::read(&path).map_err(|error| error.to_string())
}
