//! A library without content: the package's benchmarks need one to be built.
//!
//! Each benchmark is a `[[bench]]` target with a file of its own. `cargo bench -p ssdtune-benches`
//! runs them all, `--bench config` one of them.
