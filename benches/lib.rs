//! The benchmarks are this package's `[[bench]]` targets, one file per subject; run all with
//! `cargo bench -p ssdtune-benches`, one with `--bench config`. A library target has to exist for the
//! package to build.
