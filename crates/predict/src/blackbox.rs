//! Black-box models: measure a drive over a grid of workloads, learn its performance, predict.
//!
//! | module | what |
//! |---|---|
//! | [`point`] | one workload of the grid, and its name, from which it can be read back |
//! | [`grid`] | the paper's grid (closed loop), the grid of offered loads (open loop), lists of points |
//! | [`stream`] | the requests of a point |
//! | [`measure`] | what a simulated drive does with them |
//! | [`results`] | what was measured, as a file |
//! | [`sweep`] | a whole grid |
//! | [`features`] | what a model sees of a workload |
//! | [`regressor`] | one target as a function of them |
//! | [`fit`] | a model of measured points, and how good it is |
//! | [`model`] | the model: predicts, explains, warns |
//! | [`fio`] | real devices |
//! | [`windows`] | real traces |

mod equations;
pub mod features;
pub mod fio;
pub mod fit;
pub mod grid;
pub mod measure;
pub mod model;
pub mod point;
pub mod regressor;
pub mod results;
pub mod stream;
pub mod sweep;
pub mod windows;

pub use equations::Extended;
