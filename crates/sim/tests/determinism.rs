//! The same input gives the same output: in every run, in any number of threads, and however
//! requests are handed over.

use crate::drives::{self, Mix, Ran, WATCH};
use ssdtune_model::DeviceConfig;
use ssdtune_model::config::{Allocation, CacheMode, Compat, GcPolicy};
use ssdtune_sim::{Completion, Simulator, Tenant};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The report as text, and a digest of all completions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Result {
    report: String,
    digest: u64,
}

fn digest(completions: &[Completion]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for done in completions {
        (done.tenant, done.number, done.arrived, done.enqueued, done.completed).hash(&mut hasher);
    }
    hasher.finish()
}

fn result(ran: &Ran) -> Result {
    let report = serde_json::to_string(&ran.report).expect("a report is JSON");
    Result { report, digest: digest(&ran.completions) }
}

/// Drives whose decisions are random, depend on load, or wait for mappings.
fn drives_to_try() -> Vec<DeviceConfig> {
    let mut random = drives::small();
    random.gc.policy = GcPolicy::RandomPlus;
    let mut dynamic = drives::small();
    dynamic.mapping.allocation = Allocation::Dynamic;
    dynamic.gc.policy = GcPolicy::Rga;
    dynamic.cache.mode = CacheMode::ReadWrite;
    let mut mqsim = drives::small();
    mqsim.compat = Compat::MQSIM;
    mqsim.flash.blocks_per_plane = 40;
    let mut worn = drives::small();
    worn.ageing.retry_probability = 0.2;
    worn.ageing.program_growth_per_1000_cycles = 10.0;
    [worn.flash.cache_read, worn.flash.cache_program] = [true, true];
    worn.cache.mode = CacheMode::Off;
    vec![random, dynamic, mqsim, worn]
}

fn mix(requests: usize) -> Mix {
    Mix {
        requests,
        seed: 7,
        gap_ns: 60_000.0,
        reads: 40,
        trims: 2,
        flushes: 1,
        sectors: 40_000,
        align: 1,
        pages_max: 24,
    }
}

fn simulate(config: &DeviceConfig) -> Result {
    result(&drives::run(config, &mix(3_000).requests(0)))
}

#[test]
fn the_same_input_gives_the_same_output_in_any_number_of_threads() {
    let drives = drives_to_try();
    let expected: Vec<Result> = drives.iter().map(simulate).collect();
    for threads in [1, 2, 8] {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| drives.iter().map(simulate).collect::<Vec<_>>()))
                .collect();
            for worker in workers {
                assert_eq!(worker.join().expect("no panic"), expected, "{threads} threads");
            }
        });
    }
}

#[test]
fn another_seed_gives_another_output() {
    let mut config = drives_to_try().remove(0);
    let before = simulate(&config);
    config.run.seed += 1;
    assert_ne!(simulate(&config), before);
}

/// A drive that knows which requests come next may leave out events. What it does must not depend
/// on that.
#[test]
fn requests_pushed_one_by_one_complete_as_those_of_a_stream() {
    for (index, config) in drives_to_try().iter().enumerate() {
        for gap_ns in [500.0, 60_000.0, 3_000_000.0] {
            let requests = Mix { gap_ns, ..mix(1_500) }.requests(0);
            let streamed = drives::run(config, &requests);
            let mut pushed =
                Simulator::new(&config.check().expect("legal"), &[Tenant::sole(config)], WATCH)
                    .expect("legal");
            for &request in &requests {
                pushed.push(request);
            }
            assert_eq!(pushed.run_to_end(), streamed.outcome);
            let completions = pushed.take_completions();
            let first = completions.iter().zip(&streamed.completions).find(|(a, b)| a != b);
            assert_eq!(first, None, "drive {index}, gap {gap_ns}");
            assert_eq!(completions.len(), streamed.completions.len());
        }
    }
}
