//! Tests of the public interface, in one program.

mod bad_input;
mod corpus;
mod real_traces;
mod transforms;
