use ssdtune_keeper::bench::*; use ssdtune_keeper::mix::*; use ssdtune_keeper::strategy::*;
use std::sync::atomic::AtomicBool; use std::time::Instant;
fn main() {
    let mut c = ssdtune_model::presets::load("ssdkeeper").unwrap();
    c.mapping.allocation = ssdtune_model::config::Allocation::Static;
    let config = c.check().unwrap();
    let stop = AtomicBool::new(false);
    let a: Vec<f64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let n = a[0] as u64;
    for ws in [[1,1,1,1],[1,1,0,0],[0,0,0,0]] {
        for rate in [20e3, 40e3, 60e3, 80e3, 100e3, 120e3, 140e3, 160e3] {
            let settings = Settings{rate_max_iops: rate/0.975, requests: n, working_set_pages: 16384, seed: 1, minority: 0.05, eliminate: true};
            let bench = Bench{config:&config, settings, stop:&stop};
            let mix = Mix{level:20, tenants: ws.iter().map(|&w| MixTenant{writes: w==1, share: 0.25}).collect()};
            let requests: Vec<_> = mix.requests(bench.play(0)).collect();
            let t = Instant::now();
            bench.drive(&Strategy::Shared, &mix.writers()).unwrap();
            let made = t.elapsed();
            let t = Instant::now();
            let m = bench.run(&Strategy::Shared, &mix.writers(), &requests).unwrap();
            let i = bench.run(&Strategy::Isolated, &mix.writers(), &requests).unwrap();
            println!("{ws:?} {rate} made {made:?} 2 runs {:?} shared {m:?} isolated {i:?}", t.elapsed());
        }
    }
}
