//! Model selection: cutting rows into training and test parts, and searching a grid of parameters.
//!
//! ```
//! use ndarray::{Axis, array};
//! use ssdtune_learn::ridge::{RidgeError, RidgeParams};
//! use ssdtune_learn::selection::{grid_search, k_fold};
//!
//! let x = array![[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]];
//! let y = array![2.1, 3.9, 6.0, 8.1, 9.9, 12.0];
//! let splits = k_fold(6, 3, 0)?;
//! let found = grid_search(&[100.0, 0.01], &splits, |&penalty, split| {
//!     let part = |rows: &[usize]| (x.select(Axis(0), rows), y.select(Axis(0), rows));
//!     let ((x, y), (asked, truth)) = (part(&split.train), part(&split.test));
//!     let model = RidgeParams::new(penalty).fit(x.view(), y.view())?;
//!     let error = model.predict(asked.view())? - truth;
//!     Ok::<f64, RidgeError>(error.dot(&error))
//! })?;
//! assert_eq!(found.scored[found.best].params, 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod grid;
mod split;

pub use grid::{GridError, GridResult, ScoredCandidate, grid_search};
pub use split::{Split, SplitError, k_fold, leave_one_group_out, partition};
