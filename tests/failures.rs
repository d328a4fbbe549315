//! Which errors are which exit codes, for all who use the command as a library.

use ssdtune::failure::Failure;
use std::io::{self, ErrorKind};

#[test]
fn codes_are_as_documented() {
    let any = || anyhow::anyhow!("x");
    for (failure, code) in [
        (Failure::BrokenPipe, 0),
        (Failure::Work(any()), 1),
        (Failure::Usage(any()), 2),
        (Failure::Input(any()), 3),
        (Failure::Interrupted, 130),
    ] {
        assert_eq!(failure.code(), code);
    }
}

#[test]
fn a_reader_that_leaves_is_no_error_however_the_write_was_wrapped() {
    let pipe = || io::Error::from(ErrorKind::BrokenPipe);
    assert_eq!(Failure::from(pipe()).code(), 0);
    assert_eq!(Failure::from(serde_json::Error::io(pipe())).code(), 0);
    assert_eq!(Failure::from(anyhow::Error::from(pipe())).code(), 0);
    assert_eq!(Failure::from(io::Error::from(ErrorKind::StorageFull)).code(), 1);
}

#[test]
fn no_input_is_wrong_where_a_disk_is_full() {
    let read = |kind: ErrorKind| Failure::input(anyhow::Error::from(io::Error::from(kind)));
    assert_eq!(read(ErrorKind::NotFound).code(), 3);
    assert_eq!(read(ErrorKind::StorageFull).code(), 1);
    let file = || "points".into();
    let wrapped = |source| ssdtune_predict::blackbox::ResultsError::Io { path: file(), source };
    assert_eq!(Failure::input(wrapped(io::ErrorKind::OutOfMemory.into())).code(), 1);
}

#[test]
fn what_was_said_of_a_failed_write_is_kept() {
    let full = anyhow::Error::from(io::Error::from(ErrorKind::StorageFull));
    let Failure::Work(error) = Failure::from(full.context("cannot write model.json")) else {
        panic!("a full disk is failed work");
    };
    let text = ssdtune_report::in_full(error.as_ref());
    assert!(text.starts_with("cannot write model.json\n  cause: "), "{text}");
}
