//! Tests of keys: what must change a key, what must not, and the results of the current epoch.

use super::*;
use crate::digest::digest_requests;
use proptest::prelude::*;
use ssdtune_model::catalogue::{self, Value, parameters};
use ssdtune_model::config::{Compat, GcPolicy};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_sim::{Observe, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::collections::BTreeSet;

/// Epochs with the digests of what simulations answered, newest last. Entries are added, never
/// changed. (That of epoch 2 was, when drives that place pages by load got a version of their own:
/// it leaves them out now.)
const GOLDEN: &[(u32, &str)] = &[
    (1, "3736921825efc04d82aaf5f06549365c3391520c99d536cc7296b423a629356b"),
    (2, "f82d06ff30422f2aae304ba3c1328794c1476f15fb2c4824f8f81e44cfb9178a"),
];

/// The present [`BY_LOAD_VERSION`], with the digest of what a drive with dynamic allocation
/// answers.
const GOLDEN_BY_LOAD: (u32, &str) =
    (2, "b1d8a478e91f237c5f3c88c37ed9e4872363e66ef186cfb9a8162a73961717dc");

fn requests(count: u64, space: u64) -> Vec<Request> {
    // A linear congruential generator of our own: no change of a library can change the requests.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|number| {
            let op = match draw(20) {
                0 => Op::Trim,
                1 => Op::Flush,
                2..=9 => Op::Read,
                _ => Op::Write,
            };
            let sectors = if op == Op::Flush { 0 } else { 1 + draw(64) as u32 };
            let at = Nanos(number * 40_000 + draw(40_000));
            Request { at, lba: Sectors(draw(space)), sectors, tenant: TenantId(0), op }
        })
        .collect()
}

/// A drive so small that garbage collection and mapping misses begin at once: 2 channels of 2
/// chips, each with 2 planes of 24 blocks of 16 pages.
fn small() -> DeviceConfig {
    let mut config = DeviceConfig { name: "small".to_owned(), ..DeviceConfig::default() };
    [config.bus.channels, config.bus.chips_per_channel] = [2, 2];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 2];
    [config.flash.blocks_per_plane, config.flash.pages_per_block] = [24, 16];
    config.flash.page_bytes = 4096;
    config.mapping.overprovisioning = 0.34;
    config.mapping.cmt_capacity = ssdtune_model::Bytes(2048);
    config.cache.capacity = ssdtune_model::Bytes(64 * 4096);
    config
}

/// Runs a simulation and adds its results to a digest: the time of every completion, the counts of
/// flash commands, and the energy.
fn simulate(config: &DeviceConfig, replay: Replay, digester: &mut Digester) {
    let config = config.check().expect("legal");
    let observe = Observe { completions: true, ..Observe::default() };
    let mut drive =
        Simulator::new(&config, &[Tenant::sole(&config)], observe).expect("a legal drive");
    let filling = Filling { occupancy: 0.8, overwrites: 1, seed: 3 };
    let fill: Vec<Request> = drive.filling(TenantId(0), filling).collect();
    drive.warm_up(fill.into_iter()).expect("room");
    let stream = requests(3_000, 12_000).into_iter();
    drive.run(vec![Stream { replay, ..Stream::open(stream) }], |_| true);
    for done in drive.take_completions() {
        digester.number("number", done.number).number("completed", done.completed.0);
    }
    // Fields are added one by one, so that a new field of the report does not change the digest.
    let report = drive.report();
    let flash = &report.flash;
    let counts = [
        flash.pages_read,
        flash.pages_programmed_host,
        flash.pages_programmed_moved,
        flash.pages_programmed_mapping,
        flash.blocks_erased,
        flash.mapping_reads,
    ];
    counts.iter().for_each(|&count| _ = digester.number("count", count));
    // Nine digits, because the last digits of a sum may differ between CPUs.
    digester.text("energy", &format!("{:.9e}", report.energy.total_j));
}

#[test]
fn results_are_those_of_their_epoch() {
    let mut digester = Digester::new("golden");
    let mut other = small();
    other.gc.policy = GcPolicy::CostBenefit;
    let mut mqsim = small();
    mqsim.compat = Compat::MQSIM;
    mqsim.flash.blocks_per_plane = 40;
    for config in [small(), other, mqsim] {
        for replay in [Replay::Open, Replay::Closed(8)] {
            simulate(&config, replay, &mut digester);
        }
    }
    let found = digester.finish().to_string();
    let (epoch, golden) = GOLDEN.last().expect("an epoch");
    assert_eq!(*epoch, RESULTS_EPOCH, "GOLDEN ends with another epoch than RESULTS_EPOCH");
    assert!(GOLDEN.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].1 != pair[1].1));
    assert!(
        found == *golden,
        "simulations answer something else than in results epoch {epoch}. If that is meant, \
         evaluations stored by earlier programs must not be found any more: set RESULTS_EPOCH to \
         {} (crates/tune/src/memory/key.rs) and add ({}, \"{found}\") to GOLDEN \
         (crates/tune/src/memory/key/tests.rs). If it is not meant, mend the simulator.",
        epoch + 1,
        epoch + 1,
    );
}

#[test]
fn results_by_load_are_those_of_their_version() {
    let mut digester = Digester::new("golden by load");
    let mut config = small();
    config.mapping.allocation = Allocation::Dynamic;
    for replay in [Replay::Open, Replay::Closed(8)] {
        simulate(&config, replay, &mut digester);
    }
    let found = digester.finish().to_string();
    assert!(
        (BY_LOAD_VERSION, found.as_str()) == GOLDEN_BY_LOAD,
        "drives that place pages by load answer something else than in version {}. If that is \
         meant, raise BY_LOAD_VERSION by one, and put \"{found}\" into GOLDEN_BY_LOAD",
        GOLDEN_BY_LOAD.0
    );
}

fn inputs(config: &DeviceConfig) -> EvaluationInputs<'_> {
    EvaluationInputs {
        config,
        workload: digest_requests(&requests(10, 100)),
        range: 0..10,
        transforms: &[],
        replays: &[Replay::Open, Replay::Closed(4)],
        warm_up: WarmUp::default(),
        seed: 1,
        evaluator: BUILT_IN,
    }
}

/// The configuration with another legal value of a parameter; `None` for a constant.
fn other(row: &catalogue::Parameter, config: &DeviceConfig) -> Option<DeviceConfig> {
    let now = row.get(config);
    let mut candidates = match now {
        Value::Bool(on) => vec![Value::Bool(!on)],
        Value::Int(value) => {
            // 512 is the step of numbers of bytes, which may be 0 now.
            let near = [value + 1, value.saturating_sub(1), value + 512];
            near.into_iter().chain([value * 2, value / 2]).map(Value::Int).collect()
        }
        Value::Real(value) => [value * 0.5, value * 1.5, value + 0.1].map(Value::Real).to_vec(),
        Value::Name(_) => row.legal.names().map(Value::Name).collect(),
    };
    candidates.retain(|value| *value != now && row.legal.allows(*value));
    let mut changed = config.clone();
    row.set(&mut changed, *candidates.first()?).expect("a legal value");
    Some(changed)
}

#[test]
fn every_row_of_the_catalogue_decides_and_the_name_does_not() {
    let config = small();
    let mut keys = BTreeSet::from([EvaluationKey::of(&inputs(&config))]);
    let mut rows = 0;
    for row in parameters().filter(|row| !row.is_constant()) {
        let changed = other(row, &config).unwrap_or_else(|| panic!("{}: one value", row.key));
        assert!(keys.insert(EvaluationKey::of(&inputs(&changed))), "{} decides nothing", row.key);
        rows += 1;
    }
    assert!(rows > 60, "{rows} rows");
    let named = DeviceConfig { name: "another".to_owned(), ..config };
    assert!(keys.contains(&EvaluationKey::of(&inputs(&named))));
}

#[test]
fn every_other_input_decides() {
    let config = small();
    let base = inputs(&config);
    let one = ["a".to_owned(), "b".to_owned()];
    let joined = ["ab".to_owned()];
    let filling = Filling { occupancy: 0.5, overwrites: 1, seed: 0 };
    let filled = |filling| WarmUp { filling: Some(filling), requests: None };
    let variants = [
        base.clone(),
        EvaluationInputs { workload: digest_requests(&requests(11, 100)), ..base.clone() },
        EvaluationInputs { range: 1..10, ..base.clone() },
        EvaluationInputs { range: 0..9, ..base.clone() },
        EvaluationInputs { transforms: &one, ..base.clone() },
        EvaluationInputs { transforms: &one[..1], ..base.clone() },
        EvaluationInputs { transforms: &joined, ..base.clone() },
        EvaluationInputs { replays: &[Replay::Closed(4), Replay::Open], ..base.clone() },
        EvaluationInputs { replays: &[Replay::Open], ..base.clone() },
        EvaluationInputs { replays: &[Replay::Open, Replay::Closed(5)], ..base.clone() },
        EvaluationInputs { warm_up: filled(filling), ..base.clone() },
        EvaluationInputs { warm_up: filled(Filling { occupancy: 0.6, ..filling }), ..base.clone() },
        EvaluationInputs { warm_up: filled(Filling { overwrites: 2, ..filling }), ..base.clone() },
        EvaluationInputs { warm_up: filled(Filling { seed: 2, ..filling }), ..base.clone() },
        EvaluationInputs {
            warm_up: WarmUp { filling: None, requests: Some(base.workload) },
            ..base.clone()
        },
        EvaluationInputs { seed: 2, ..base.clone() },
        EvaluationInputs { evaluator: "mqsim -i {config.xml}", ..base.clone() },
    ];
    let mut keys: BTreeSet<EvaluationKey> = variants.iter().map(EvaluationKey::of).collect();
    keys.insert(EvaluationKey::in_epoch(&base, RESULTS_EPOCH + 1));
    assert_eq!(keys.len(), variants.len() + 1);
    assert_eq!(EvaluationKey::of(&base), EvaluationKey::of(&inputs(&config)));
}

#[test]
fn every_field_of_a_request_decides() {
    let base = requests(5, 100);
    let mut digests = BTreeSet::from([digest_requests(&base)]);
    let changes: [fn(&mut Request); 5] = [
        |r| r.at.0 += 1,
        |r| r.lba.0 += 1,
        |r| r.sectors += 1,
        |r| r.tenant.0 += 1,
        |r| r.op = if r.op == Op::Read { Op::Write } else { Op::Read },
    ];
    for at in 0..base.len() {
        for change in changes {
            let mut changed = base.clone();
            change(&mut changed[at]);
            assert!(digests.insert(digest_requests(&changed)));
        }
    }
    assert!(digests.insert(digest_requests(&base[..4])));
    assert!(digests.insert(digest_requests(&[])));
}

proptest! {
    #[test]
    fn digests_are_read_as_they_are_written(bytes: [u8; 32]) {
        let digest = Digest::from_bytes(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        let json = serde_json::to_string(&digest).unwrap();
        prop_assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }

    #[test]
    fn any_text_is_a_digest_or_an_error(text in "\\PC{0,70}") {
        let hexadecimal = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        prop_assert_eq!(text.parse::<Digest>().is_ok(), hexadecimal);
    }

    /// Two fields that divide one text at different places give different digests.
    #[test]
    fn fields_are_unambiguous(text in "[ab]{2,12}", one in 0usize..12, two in 0usize..12) {
        let digest = |at: usize| {
            let (left, right) = text.split_at(at.min(text.len()));
            Digester::new("test").text("x", left).text("x", right).finish()
        };
        prop_assert_eq!(digest(one) == digest(two), one.min(text.len()) == two.min(text.len()));
    }
}

#[test]
fn minus_zero_is_zero() {
    let digest = |value| Digester::new("test").real("x", value).finish();
    assert_eq!(digest(-0.0), digest(0.0));
    assert_ne!(digest(f64::MIN_POSITIVE), digest(0.0));
}
