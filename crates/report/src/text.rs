//! Text for terminals: lines and tables, one below the other.
//!
//! A library fills a [`Text`] without knowing where it will be printed. Whoever prints it says how
//! wide the terminal is. There are no colours and no paging.

use crate::Table;
use std::fmt;

/// Lines and tables, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Text {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Line(String),
    Table(Table),
}

impl Text {
    /// A text without any line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line. An empty one sets the parts above and below it apart.
    pub fn line(&mut self, line: impl fmt::Display) -> &mut Self {
        self.parts.push(Part::Line(line.to_string()));
        self
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.parts.push(Part::Table(table));
        self
    }

    /// Adds all parts of another text.
    pub fn text(&mut self, other: impl Into<Self>) -> &mut Self {
        self.parts.extend(other.into().parts);
        self
    }

    /// Wraps the cells of all tables added so far, so that no row of them is longer than `columns`
    /// characters. Lines are not wrapped.
    pub fn wrap_at(&mut self, columns: u16) -> &mut Self {
        for part in &mut self.parts {
            if let Part::Table(table) = part {
                table.wrap_at(columns);
            }
        }
        self
    }
}

impl From<Table> for Text {
    fn from(table: Table) -> Self {
        Self { parts: vec![Part::Table(table)] }
    }
}

impl From<String> for Text {
    fn from(line: String) -> Self {
        Self { parts: vec![Part::Line(line)] }
    }
}

/// Every line ends with a line break, the last one too.
impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Line(line) => writeln!(out, "{line}")?,
                Part::Table(table) => writeln!(out, "{table}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_their_order_and_every_line_ends() {
        let mut table = Table::new(["word"]);
        table.add_row(["spare"]);
        let mut text = Text::new();
        text.line("above").text(table).line("").line("below");
        assert_eq!(text.to_string(), "above\n word  \n spare \n\nbelow\n");
        assert_eq!(Text::new().to_string(), "");
    }

    #[test]
    fn tables_are_wrapped_and_lines_are_not() {
        let mut table = Table::new(["meaning"]);
        table.add_row(["blocks that the host does not see"]);
        let mut text = Text::from(table);
        text.line("a line of more than twelve characters").wrap_at(12);
        let long = |line: &&str| line.chars().count() > 12;
        assert_eq!(text.to_string().lines().filter(long).count(), 1);
    }
}
