//! Fits files.
use ssdtune_predict::blackbox::{fit::*, results::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    for path in &args[1..] {
        let r = Results::read(path.as_ref()).unwrap();
        let options = FitOptions {
            train: 2000,
            seed: 0,
            folds: 5,
            program: "ssdtune".into(),
            command: String::new(),
        };
        let (model, report) = fit(&r, &options).unwrap();
        std::fs::write(format!("{path}.model"), model.to_json()).unwrap();
        std::fs::write(format!("{path}.report"), serde_json::to_string(&report).unwrap()).unwrap();
        println!("{path} {} {}", report.trained_on, report.tested_on);
        for e in &report.entries {
            println!(
                "{} {:?} derived {} MRE {:.2} % p50 {:.2} p90 {:.2} R2 {:.3} leaves {} fit {:.2} s {:.0} ns | {}",
                e.model,
                e.target,
                e.derived,
                e.error.mre * 100.0,
                e.error.relative_p50 * 100.0,
                e.error.relative_p90 * 100.0,
                e.error.r2,
                e.leaves,
                e.fit_seconds,
                e.predict_ns,
                e.recipe
            );
        }
        println!("{:?} {:?}", report.coverage, report.importance);
    }
}
