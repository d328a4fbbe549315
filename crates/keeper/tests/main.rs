//! Tests of SSDKeeper from outside: one binary, a file for each thing that holds.

mod allocator;
mod any_drive;
mod labels;
mod policies;
mod scenes;
mod shipped;
mod windows;
