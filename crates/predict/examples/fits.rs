//! Tries recipes.
use ssdtune_predict::blackbox::{features::*, regressor::*, results::*};
use rand::{SeedableRng, RngExt};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    for path in &args[1..] {
        let r = Results::read(path.as_ref()).unwrap();
        let mut rows = r.rows.clone();
        let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
        for i in (1..rows.len()).rev() { let j = rng.random_range(0..=i); rows.swap(i, j); }
        let w: Vec<Characteristics> = rows.iter().map(|r| Characteristics::of_point(&r.point, r.figures.offered_iops)).collect();
        let y: Vec<f64> = rows.iter().map(|r| r.figures.latency_ns).collect();
        println!("{path}: {} rows", rows.len());
        let n = 2000;
        use Features::*; use Scale::*;
        for (features, scale, learner) in [
            (Extended, Log, Learner::Tree { min_leaf: 12 }),
            (Octaves, Log, Learner::Tree { min_leaf: 12 }),
            (Octaves, Log, Learner::Tree { min_leaf: 20 }),
            (Octaves, Log, Learner::Bag { trees: 16, min_leaf: 13, columns: 5 }),
            (Derived, Log, Learner::Tree { min_leaf: 20 }),
            (Derived, Log, Learner::Bag { trees: 16, min_leaf: 16, columns: 7 }),
            (Derived, Log, Learner::Bag { trees: 16, min_leaf: 22, columns: 10 }),
            (Derived, Log, Learner::Bag { trees: 32, min_leaf: 12, columns: 5 }),
        ] {
            let recipe = Recipe { features, scale, learner };
            let t = std::time::Instant::now();
            let m = recipe.fit(&w[..n], &y[..n], 1).unwrap();
            let fit = t.elapsed().as_secs_f64();
            let t = std::time::Instant::now();
            let p: Vec<f64> = w[n..].iter().map(|w| m.predict(w)).collect();
            let us = t.elapsed().as_secs_f64() * 1e6 / p.len() as f64;
            let e = ssdtune_learn::measure::ErrorReport::new(&y[n..], &p).unwrap();
            println!("{recipe}: MRE {:.2} % p50 {:.2} p90 {:.2} R2 {:.3} leaves {} fit {fit:.2} s, {us:.2} us", e.mre * 100.0, e.relative_p50 * 100.0, e.relative_p90 * 100.0, e.r2, m.leaves());
        }
    }
}
