//! The command under another name: it runs what its own command line says, and tells the exit code.
//!
//!     cargo run --example as_another_program -- config show intel-750

use ssdtune::Invocation;

fn main() {
    let mut words: Vec<_> = std::env::args_os().collect();
    words[0] = "ssdtune".into();
    let code = ssdtune::run(Invocation { words, child: Vec::new(), engines: None });
    println!("exit code {code}");
}
