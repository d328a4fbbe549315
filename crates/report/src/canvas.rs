//! What all charts share: the finished picture, axes, the palette, text and the legend.
//!
//! Drawn with plotters on its SVG backend. Widths of text are estimates, since an SVG names a font
//! and the viewer chooses it: seven tenths of the height for every character.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt;

/// A chart as an SVG document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Svg {
    text: String,
    /// What those are told who do not see the picture.
    words: String,
}

impl Svg {
    /// The whole document, to be written to a file that ends in `.svg`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The picture with places that say something when the mouse rests on them.
    pub(crate) fn saying(mut self, places: &[Saying]) -> Self {
        if let Some(end) = self.text.rfind("</svg>").filter(|_| !places.is_empty()) {
            let places: String = places.iter().map(Saying::to_string).collect();
            self.text.insert_str(end, &format!("<g fill=\"transparent\">{places}</g>\n"));
        }
        self
    }

    /// The picture with more words than its title for those who do not see it.
    pub(crate) fn described(self, words: &str) -> Self {
        Self { words: format!("{}. {words}", self.words), ..self }
    }

    /// The picture as a part of an HTML page, where SVG needs no name space and those who do not
    /// see it are told what it shows.
    pub(crate) fn inline(&self) -> String {
        let alt = format!(" role=\"img\" aria-label=\"{}\"", escape(&self.words));
        self.text.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", &alt, 1)
    }
}

impl fmt::Display for Svg {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// A place of a picture, in pixels, and what it says when the mouse rests on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saying {
    pub(crate) corner: (i32, i32),
    pub(crate) size: (i32, i32),
    pub(crate) text: String,
}

impl fmt::Display for Saying {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { corner: (x, y), size: (width, height), text } = self;
        let text = escape(text);
        // No rectangle: those are what is drawn, and can be counted.
        write!(out, "<path d=\"M{x} {y}h{width}v{height}h-{width}z\"><title>{text}</title></path>")
    }
}

/// Colours that people with any kind of colour vision tell apart.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x7f, 0x3c, 0x8d),
    RGBColor(0x00, 0x00, 0x00),
];

/// The colour of a series by its number; the ninth has that of the first.
pub(crate) fn colour(number: usize) -> RGBColor {
    PALETTE[number % PALETTE.len()]
}

/// Whether a series repeats a colour and must differ in another way.
pub(crate) fn repeats(number: usize) -> bool {
    (number / PALETTE.len()) % 2 == 1
}

/// The dashes of a line by the number of its series, and the gaps between them, in pixels; `None`:
/// the line is whole.
pub(crate) fn dash(number: usize) -> Option<(i32, i32)> {
    [None, Some((10, 5)), Some((3, 4)), Some((16, 4))][number % 4]
}

/// A colour mixed with white; `part` of it is left, 0 to 1.
pub(crate) fn tint(RGBColor(red, green, blue): RGBColor, part: f64) -> RGBColor {
    let mixed = |value: u8| (255.0 - part * (255.0 - f64::from(value))).round() as u8;
    RGBColor(mixed(red), mixed(green), mixed(blue))
}

pub(crate) const GRID: RGBColor = RGBColor(0xe0, 0xe0, 0xe0);
pub(crate) const FRAME: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// Height of text in pixels. plotters divides it by 1.24.
pub(crate) const TEXT_HEIGHT: f64 = 15.0;
/// Height of titles in pixels.
const TITLE_HEIGHT: f64 = 18.0;
/// Height of a line of the legend in pixels.
pub(crate) const LINE: i32 = 20;
/// Room around a chart, in pixels.
pub(crate) const MARGIN: i32 = 12;
/// Room for the title above a chart, in pixels.
pub(crate) const HEADER: i32 = 36;

/// A drawing area that ends in a string.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing returns. The only error of the backend is one of files, and there is no file.
pub(crate) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws on a white area of this size, in pixels, with a title above.
pub(crate) fn picture(title: &str, size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Svg {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = (|| {
            area.fill(&WHITE)?;
            let style = ("sans-serif", TITLE_HEIGHT).into_font().color(&BLACK);
            area.draw(&Text::new(title.to_owned(), (MARGIN, MARGIN), style))?;
            draw(&area)?;
            area.present()
        })();
        drawn.expect("a picture in memory cannot fail to be written");
    }
    Svg { text, words: title.to_owned() }
}

/// Text at a place of the whole picture.
pub(crate) fn write(area: &Area<'_>, text: &str, at: (i32, i32), side: HPos) -> Drawn {
    let style = text_style().pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

/// How text looks that is no title.
pub(crate) fn text_style<'a>() -> TextStyle<'a> {
    ("sans-serif", TEXT_HEIGHT).into_font().color(&BLACK)
}

/// How wide a text will be, at most, in pixels.
pub(crate) fn text_width(text: &str) -> i32 {
    width(text, TEXT_HEIGHT)
}

/// How wide a title will be, at most, in pixels.
pub(crate) fn title_width(text: &str) -> i32 {
    width(text, TITLE_HEIGHT)
}

fn width(text: &str, height: f64) -> i32 {
    (text.chars().count() as f64 * height * 0.7 / 1.24).ceil() as i32
}

/// The room that a legend of these names takes at the right.
pub(crate) fn legend_width<'a>(names: impl Iterator<Item = &'a str>) -> i32 {
    names.map(|name| text_width(name) + 3 * MARGIN).max().unwrap_or(0)
}

/// A number as axes and bars show it: with `digits` significant digits, fewer where the
/// last are zeros. Digits before the point are never rounded away below 10^7.
pub(crate) fn number(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = (digits - whole).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A mark of an axis of this length; 0 where it is next to it.
pub(crate) fn snapped(mark: f64, length: f64) -> f64 {
    if mark.abs() < 1e-9 * length { 0.0 } else { mark }
}

/// The range of some finite numbers, widened so that an axis can be drawn over it. `None` without
/// a number.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return None;
    }
    // An axis needs ticks that differ, so a single value gets room on both sides.
    let least = (low.abs().max(high.abs()) * 1e-6).max(1e-12);
    match high - low < least {
        true => {
            let room = (low.abs() * 0.05).max(0.5);
            Some((low - room, high + room))
        }
        false => Some((low, high)),
    }
}

/// Values beyond this are drawn at the edge: no axis could show them.
pub(crate) const LIMIT: f64 = 1e15;

/// A value that can be drawn.
pub(crate) fn drawable(value: f64) -> Option<f64> {
    value.is_finite().then(|| value.clamp(-LIMIT, LIMIT))
}

/// Text with the characters replaced that mean something to HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.3"),
            (123_456.7, "123457"),
            (0.001, "0.001"),
            (25e6, "2.500e7"),
            (1e-9, "1.000e-9"),
        ];
        assert_eq!(number(1.23456, 4), "1.235");
        assert_eq!(number(54_321.0, 4), "54321");
        for (value, text) in cases {
            assert_eq!(number(value, 6), text);
        }
    }

    #[test]
    fn a_single_value_gets_a_range_around_it() {
        assert_eq!(range([3.0].into_iter()), Some((2.5, 3.5)));
        assert_eq!(range([1.0, 4.0].into_iter()), Some((1.0, 4.0)));
        assert_eq!(range(std::iter::empty()), None);
        let (low, high) = range([1e15, 1e15].into_iter()).expect("a range");
        assert!(high - low >= 1e14);
    }
}
