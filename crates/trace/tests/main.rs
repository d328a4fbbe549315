//! Tests of the traces from outside, in one binary: a file for each thing that must hold.

mod bad_input;
mod corpus;
mod real_traces;
mod transforms;
