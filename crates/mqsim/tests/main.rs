//! Tests of the public interface, in one program.

mod agreement;
mod annotation;
mod files;
