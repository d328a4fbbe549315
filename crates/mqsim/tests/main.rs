//! Tests of the public interface, in one program.

mod agreement;
mod corpus_replay;
mod files;
