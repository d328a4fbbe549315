//! The learned firmware-time model: how long a drive's firmware would take on its own CPU, told
//! from what it does on this one.
//!
//! After Lee et al., "Learned Performance Model for SSD" (IEEE Computer Architecture Letters,
//! 2021). The flash translation layer of `ssdtune-ftl` is the firmware. It is executed directly,
//! without a simulator, over groups of 1,000 requests ([`drive`], [`run`]); of each group the
//! hardware events and the run time on this machine are recorded ([`profile`]), and the run time on
//! the target, which is a board or a stand-in for one. A model then tells the target's time from
//! the others ([`fit`](mod@fit)).
//!
//! | module | what |
//! |---|---|
//! | [`workloads`] | the paper's Table 4, over the bundled workload models |
//! | [`drive`] | the drive of §4.1 and the firmware's main loop around the FTL |
//! | [`run`] | one workload in groups: rehearsed, prepared, measured |
//! | [`events`] | the paper's Table 5 and where its events come from |
//! | [`counters`] | Linux performance counters |
//! | [`callgrind`] | valgrind's simulation of them |
//! | [`launch`] | runs as child processes: plain, emulated, under valgrind |
//! | [`profile`](mod@profile) | the file of groups, JSON lines |
//! | [`cortex_a53`] | the documented timing model of the paper's target |
//! | [`records`] | two profiles joined by group |
//! | [`predictor`] | what a model is, and how it predicts |
//! | [`regress`] | the learners |
//! | [`fit`](mod@fit) | leave-one-workload-out, figures, the model file |
//!
//! Left out: the paper's firmware has several threads, this one has one; no NAND driver, no host
//! protocol.

pub mod callgrind;
pub mod cortex_a53;
pub mod counters;
pub mod drive;
pub mod events;
pub mod fit;
pub mod launch;
pub mod predictor;
pub mod profile;
pub mod records;
pub mod regress;
pub mod run;
pub mod workloads;
