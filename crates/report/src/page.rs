//! A report as one HTML file that refers to nothing outside of itself.
//!
//! Everything handed in is text and is escaped; only charts go in as they are.

use crate::canvas::{Svg, escape};
use crate::table::Table;
use std::fmt::Write as _;

/// Light, dark, on paper and on a phone. Charts are drawn on white, so that in the dark they are
/// turned around; what is too wide for a phone scrolls by itself.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ccc;--soft:#f4f4f4;--note:#7a4b00}\
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#1e1e1e;--line:#555;--soft:#2a2a2a;\
--note:#f0b060}figure svg{filter:invert(.88) hue-rotate(180deg)}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:var(--ink);background:var(--paper);overflow-wrap:break-word}\
h1{line-height:1.2}.lead{font-size:1.15rem}.note{color:var(--note)}\
.wide,figure{overflow-x:auto;margin:.7rem 0}figure svg{display:block}\
table{border-collapse:collapse}\
td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid var(--line)}\
td.n,th.n{text-align:right;white-space:nowrap}\
pre{background:var(--soft);padding:.7rem;overflow:auto;max-height:24rem}\
@media print{body{max-width:none;margin:0}.wide,figure,pre{overflow:visible;max-height:none}\
figure{break-inside:avoid}figure svg{max-width:100%;height:auto}pre{white-space:pre-wrap}}";

/// A page that grows from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// A page that has only its title yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), body: String::new() }
    }

    /// Begins a section.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        self.element("h2", "", text)
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.element("p", "", text)
    }

    /// Adds the paragraph that says it all: what was found, and how sure that is.
    pub fn lead(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"lead\"", text)
    }

    /// Adds a paragraph that stands out: what must be known before the rest is believed.
    pub fn note(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"note\"", text)
    }

    /// Adds text in which blanks and line ends count, such as a configuration file.
    pub fn preformatted(&mut self, text: &str) -> &mut Self {
        self.element("pre", "", text)
    }

    /// Adds a list of points.
    pub fn list<I: AsRef<str>>(&mut self, items: impl IntoIterator<Item = I>) -> &mut Self {
        self.body += "<ul>\n";
        for item in items {
            self.element("li", "", item.as_ref());
        }
        self.body += "</ul>\n";
        self
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) -> &mut Self {
        // Whoever cannot use a mouse scrolls what has the focus.
        self.body += "<div class=\"wide\" tabindex=\"0\"><table>\n";
        if table.headings().iter().any(|heading| !heading.is_empty()) {
            self.row("th", table.headings(), table);
        }
        for row in table.rows() {
            self.row("td", row, table);
        }
        self.body += "</table></div>\n";
        self
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: &Svg) -> &mut Self {
        let _ = writeln!(self.body, "<figure tabindex=\"0\">{}</figure>", chart.inline());
        self
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        let Self { title, body } = self;
        let title = escape(title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n<main>\n<h1>{title}</h1>\n\
             {body}</main>\n</html>\n"
        )
    }

    fn element(&mut self, tag: &str, attributes: &str, text: &str) -> &mut Self {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "<{tag}{attributes}>{}</{tag}>", escape(text));
        self
    }

    fn row(&mut self, tag: &str, cells: &[String], table: &Table) {
        self.body += "<tr>";
        for (column, cell) in cells.iter().enumerate() {
            let class = if table.is_right(column) { " class=\"n\"" } else { "" };
            let _ = write!(self.body, "<{tag}{class}>{}</{tag}>", escape(cell));
        }
        self.body += "</tr>\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::chart::{Chart, Series};

    #[test]
    fn text_is_escaped_and_nothing_outside_is_named() {
        let mut table = Table::new(["a<b", "n"]);
        table.add_row(["\"x\"", "1"]).align_right(1..);
        let mut chart = Chart::new("<c>", Axis::new("x"), Axis::new("y"));
        chart.add(Series::dots([(1.0, 2.0)]));
        let mut page = Page::new("R&D");
        page.heading("<script>").paragraph("1 < 2").note("careful").list(["one", "two"]);
        page.table(&table).chart(&chart.to_svg()).preformatted("a = 1\n  b = 2");
        let html = page.to_html();
        for part in [
            "<title>R&amp;D</title>",
            "<h2>&lt;script&gt;</h2>",
            "<p class=\"note\">careful</p>",
            "<li>two</li>",
            "<tr><th>a&lt;b</th><th class=\"n\">n</th></tr>",
            "<tr><td>&quot;x&quot;</td><td class=\"n\">1</td></tr>",
            "<pre>a = 1\n  b = 2</pre>",
            "&lt;c&gt;",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        assert!(!html.contains("<script") && !html.contains("http"), "{html}");
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    }
}
