//! Tests of the public interface, in one program.

mod agreement;
mod files;
