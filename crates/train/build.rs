//! Lets the program, tests and benches of this package find libtorch at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Set by torch-sys (links = "tch") only when the feature `torch` pulls it in.
    if let Ok(lib) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    }
}
