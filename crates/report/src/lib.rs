//! What a report is made of: tables for terminals, charts as SVG, and pages of HTML.
//!
//! The crate knows nothing of drives. Everything it makes is a string, and none of it refers to
//! anything outside: no style sheet, no script, no font and no picture is loaded when a page is
//! opened.
//!
//! - [`Table`] prints columns for people and goes into a page as an HTML table.
//! - [`Text`] puts lines and tables one below the other, for a terminal.
//! - [`Chart`] draws lines and dots over two axes of numbers, [`BarChart`] draws a bar for every
//!   value, [`NameGrid`] draws names in coloured cells, [`HeatMap`] shares in shaded ones. Each
//!   gives an [`Svg`], which is a file of its own or a part of a page.
//! - [`Page`] puts headings, text, tables and charts into one HTML file.
//! - [`in_full`] tells an error and its causes, [`percent`] a share.
//!
//! It is not a plotting library: there is one palette, one size of text and one layout. Whoever
//! needs more takes [plotters](https://docs.rs/plotters), which draws the charts here.
//!
//! ```
//! use ssdtune_report::{Axis, Chart, Page, Series, Table};
//!
//! let mut table = Table::new(["drive", "mean"]);
//! table.add_row(["intel-750", "88.1 us"]).align_right(1..);
//! assert_eq!(table.to_string(), " drive         mean \n intel-750  88.1 us ");
//!
//! let mut chart = Chart::new(
//!     "Latency over load",
//!     Axis::new("requests").in_unit("1/s"),
//!     Axis::new("mean latency").in_unit("us"),
//! );
//! chart.add(Series::line([(1e3, 85.0), (1e5, 88.1), (4e5, 430.0)]).named("intel-750"));
//! let svg = chart.to_svg();
//! assert!(svg.as_str().starts_with("<svg"));
//!
//! let mut page = Page::new("One drive");
//! page.heading("Latency").table(&table).chart(&svg);
//! assert!(page.to_html().contains(">88.1 us</td>"));
//! ```
//!
//! Cost: a chart of 10,000 dots takes a few milliseconds and about 1 MB of text.

mod axis;
mod bars;
mod canvas;
mod cause;
mod chart;
mod grid;
mod heat;
mod page;
mod percent;
mod table;
mod text;

pub use axis::Axis;
pub use bars::{Bar, BarChart};
pub use canvas::Svg;
pub use cause::in_full;
pub use chart::{Chart, Series};
pub use grid::NameGrid;
pub use heat::HeatMap;
pub use page::Page;
pub use percent::percent;
pub use table::Table;
pub use text::Text;
