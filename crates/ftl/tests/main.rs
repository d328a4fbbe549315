//! Tests of the flash translation layer from outside: one binary, a file for each thing that holds.

mod initial_content;
mod reference_model;
mod steady;
mod theory;
