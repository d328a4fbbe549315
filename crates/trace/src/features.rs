//! What learners see of a trace: each published feature set in its own module, with the paper's definition.

pub mod autoblox;
pub mod blackbox;
pub mod ssdkeeper;

/// Rows of equal length, one after the other.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Matrix {
    /// Row by row.
    pub data: Vec<f32>,
    /// Values in a row.
    pub columns: usize,
}

impl Matrix {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len().checked_div(self.columns).unwrap_or(0)
    }

    /// Row `index`.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.columns..(index + 1) * self.columns]
    }
}

#[cfg(test)]
mod tests;
