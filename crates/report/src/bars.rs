//! A bar for every value, from left to right, in groups with names at the left.
//!
//! Each bar says its value at its end, and a line across the end shows the interval in which the
//! value lies, where one is known. Values that are not finite are left out, and values beyond 10^15
//! are drawn as 10^15.

use crate::axis::Axis;
use crate::canvas::{self, Area, Drawn, HEADER, LINE, MARGIN, Saying, Svg, colour};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Length of the longest bar, in pixels.
const LENGTH: i32 = 480;
/// Height of a bar and the room below it, in pixels.
const PITCH: i32 = 16;
/// Height of the ends of an interval's line, in pixels.
const CAP: i32 = 8;
/// Room between two groups, in pixels.
const GAP: i32 = 10;
/// Room for the numbers and the name of the axis, in pixels.
const AXIS: i32 = 44;
/// Groups that are put into words for those who do not see them; further ones are counted.
const SAID_MAX: usize = 12;

/// One value of a [`BarChart`].
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    value: Option<f64>,
    label: String,
    interval: Option<(f64, f64)>,
}

impl Bar {
    /// The length as a part of a whole.
    fn part(&self) -> f64 {
        self.value.unwrap_or(0.0).max(0.0)
    }

    /// A bar for a value; without a value there is only the room for it.
    pub fn new(value: Option<f64>) -> Self {
        let value = value.and_then(canvas::drawable);
        let label = value.map(|value| canvas::number(value, 4)).unwrap_or_default();
        Self { value, label, interval: None }
    }

    /// Shows from where to where the value may lie; ignored by stacked bars, and unless both ends
    /// can be drawn.
    #[must_use]
    pub fn within(self, ends: Option<[f64; 2]>) -> Self {
        let interval =
            ends.and_then(|[low, high]| canvas::drawable(low).zip(canvas::drawable(high)));
        Self { interval, ..self }
    }

    /// Its value and the ends of its interval.
    fn values(&self) -> impl Iterator<Item = f64> {
        let ends = self.interval.filter(|_| self.value.is_some());
        self.value.into_iter().chain(ends.into_iter().flat_map(|(low, high)| [low, high]))
    }

    /// Says this at the end of the bar in place of the number.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }
}

impl From<f64> for Bar {
    fn from(value: f64) -> Self {
        Self::new(Some(value))
    }
}

/// Groups of bars over one axis.
#[derive(Clone, Debug)]
pub struct BarChart {
    title: String,
    axis: Axis,
    series: Vec<String>,
    groups: Vec<(String, Vec<Bar>)>,
    stacked: bool,
    base: f64,
}

impl BarChart {
    /// A chart without bars. The first bar of each group belongs to the first of the series, and
    /// so on; a chart with one series has no legend.
    pub fn new<S: Into<String>>(
        title: impl Into<String>,
        axis: Axis,
        series: impl IntoIterator<Item = S>,
    ) -> Self {
        let series = series.into_iter().map(Into::into).collect();
        let (groups, stacked, base) = (Vec::new(), false, 0.0);
        Self { title: title.into(), axis, series, groups, stacked, base }
    }

    /// Puts the bars of a group end to end, as parts of a whole. They say their values only when
    /// the mouse rests on them, and a negative part has no length.
    #[must_use]
    pub fn stacked(self) -> Self {
        Self { stacked: true, ..self }
    }

    /// Lets bars begin at a value other than 0, such as the 1 of a ratio. Ignored if it is not
    /// finite, and by stacked bars.
    #[must_use]
    pub fn from_base(self, base: f64) -> Self {
        Self { base: canvas::drawable(base).unwrap_or(0.0), ..self }
    }

    /// Adds a group of bars below the others.
    pub fn add<B: Into<Bar>>(
        &mut self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = B>,
    ) -> &mut Self {
        self.groups.push((name.into(), bars.into_iter().map(Into::into).collect()));
        self
    }

    /// Draws it. A chart without bars has its title and says so.
    pub fn to_svg(&self) -> Svg {
        let rows: i32 = self.groups.iter().map(|(_, bars)| self.height(bars) + GAP).sum();
        let names = self.groups.iter().map(|(name, _)| canvas::text_width(name)).max();
        let left = names.unwrap_or(0) + 2 * MARGIN;
        let legend = canvas::legend_width(self.legend().map(String::as_str));
        let widest = self.labels().map(canvas::text_width).max().unwrap_or(0) + MARGIN;
        let lines = self.legend().count() as i32 * LINE;
        let size = (
            (left + LENGTH + widest + legend + MARGIN) as u32,
            (HEADER + rows.max(lines) + GAP + AXIS + MARGIN) as u32,
        );
        let mut sayings = Vec::new();
        let svg = canvas::picture(&self.title, size, |area| {
            let Some(range) = self.range() else {
                return canvas::write(area, "no values", (left, HEADER), HPos::Left);
            };
            self.draw(area, range, (left, widest + legend), &mut sayings)?;
            for (number, name) in self.legend().enumerate() {
                let (x, y) = (left + LENGTH + widest, HEADER + LINE / 2 + LINE * number as i32);
                let box_of = [(x, y - 5), (x + 10, y + 5)];
                area.draw(&Rectangle::new(box_of, colour(number).filled()))?;
                canvas::write(area, name, (x + 2 * MARGIN, y), HPos::Left)?;
            }
            Ok(())
        });
        svg.saying(&sayings).described(&self.words())
    }

    /// What each group shows, in words.
    fn words(&self) -> String {
        let bar = |(number, bar): (usize, &Bar)| {
            let name = self.legend().nth(number).map(|name| format!("{name} "));
            let label = if bar.label.is_empty() { "none" } else { &bar.label };
            name.unwrap_or_default() + label
        };
        let group = |(name, bars): &(String, Vec<Bar>)| {
            let bars: Vec<String> = bars.iter().enumerate().map(bar).collect();
            format!("{name}: {}", bars.join(", "))
        };
        let mut groups: Vec<String> = self.groups.iter().take(SAID_MAX).map(group).collect();
        if let Some(more) = self.groups.len().checked_sub(SAID_MAX).filter(|more| *more > 0) {
            groups.push(format!("{more} more"));
        }
        format!("{}. {}", self.axis.label(), groups.join("; "))
    }

    fn legend(&self) -> impl Iterator<Item = &String> {
        self.series.iter().filter(|_| self.series.len() > 1)
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        let bars = self.groups.iter().flat_map(|(_, bars)| bars).filter(|_| !self.stacked);
        bars.map(|bar| bar.label.as_str())
    }

    fn height(&self, bars: &[Bar]) -> i32 {
        if self.stacked { PITCH } else { PITCH * bars.len() as i32 }
    }

    /// From where to where the axis goes. `None` if no bar has a value.
    fn range(&self) -> Option<(f64, f64)> {
        let groups = || self.groups.iter().map(|(_, bars)| bars);
        let mut values = groups().flatten().flat_map(Bar::values).peekable();
        values.peek()?;
        match self.stacked {
            true => {
                canvas::range(groups().map(|bars| bars.iter().map(Bar::part).sum()).chain([0.0]))
            }
            false => canvas::range(values.chain([self.base])),
        }
    }

    fn draw(
        &self,
        area: &Area<'_>,
        range: (f64, f64),
        (left, right): (i32, i32),
        sayings: &mut Vec<Saying>,
    ) -> Drawn {
        let plot = area.margin(HEADER, MARGIN, left, right + MARGIN);
        let height = plot.dim_in_pixel().1 as i32 - AXIS;
        let mut chart = ChartBuilder::on(&plot)
            .x_label_area_size(AXIS)
            .build_cartesian_2d(range.0..range.1, 0.0..f64::from(height))?;
        let mesh = &mut chart.configure_mesh();
        mesh.disable_y_mesh().x_labels(8).max_light_lines(0).bold_line_style(canvas::GRID);
        mesh.axis_style(canvas::FRAME).label_style(canvas::text_style());
        mesh.axis_desc_style(canvas::text_style()).x_desc(self.axis.label());
        let length = range.1 - range.0;
        let shown = |value: f64| canvas::number(canvas::snapped(value, length), 6);
        mesh.x_label_formatter(&|value| shown(*value)).draw()?;
        let place = |value: f64| chart.backend_coord(&(value, 0.0)).0;
        let mut y = HEADER + GAP;
        for (name, bars) in &self.groups {
            let middle = y + self.height(bars) / 2;
            canvas::write(area, name, (left - MARGIN / 2, middle), HPos::Right)?;
            match self.stacked {
                true => self.draw_stack(area, bars, y, &place, sayings)?,
                false => self.draw_group(area, bars, y, &place)?,
            }
            y += self.height(bars) + GAP;
        }
        let base = place(if self.stacked { 0.0 } else { self.base });
        area.draw(&PathElement::new([(base, HEADER), (base, HEADER + height)], canvas::FRAME))
    }

    fn draw_group(
        &self,
        area: &Area<'_>,
        bars: &[Bar],
        y: i32,
        place: &dyn Fn(f64) -> i32,
    ) -> Drawn {
        for (number, bar) in bars.iter().enumerate() {
            let top = y + PITCH * number as i32;
            let ends = [place(self.base), place(bar.value.unwrap_or(self.base))];
            if bar.value.is_some() {
                let corners = [(ends[0], top), (ends[1], top + PITCH - 2)];
                area.draw(&Rectangle::new(corners, colour(number).filled()))?;
            }
            let middle = top + PITCH / 2 - 1;
            let mut right = ends[0].max(ends[1]);
            if let Some((low, high)) = bar.interval.filter(|_| bar.value.is_some()) {
                let (low, high) = (place(low), place(high));
                draw_interval(area, (low, high), middle)?;
                right = right.max(low).max(high);
            }
            canvas::write(area, &bar.label, (right + 4, middle), HPos::Left)?;
        }
        Ok(())
    }

    fn draw_stack(
        &self,
        area: &Area<'_>,
        bars: &[Bar],
        y: i32,
        place: &dyn Fn(f64) -> i32,
        sayings: &mut Vec<Saying>,
    ) -> Drawn {
        let mut from = 0.0;
        for (number, bar) in bars.iter().enumerate() {
            let to = from + bar.part();
            let (left, right) = (place(from), place(to));
            let corners = [(left, y), (right, y + PITCH - 2)];
            area.draw(&Rectangle::new(corners, colour(number).filled()))?;
            let name = self.series.get(number).map(|name| format!("{name}: ")).unwrap_or_default();
            sayings.push(Saying {
                corner: (left, y),
                size: (right - left, PITCH - 2),
                text: format!("{name}{}", self.axis.say(bar.part())),
            });
            from = to;
        }
        Ok(())
    }
}

/// A line from `low` to `high`, with an upright one at each end.
fn draw_interval(area: &Area<'_>, (low, high): (i32, i32), middle: i32) -> Drawn {
    let line = |ends: [(i32, i32); 2]| area.draw(&PathElement::new(ends, BLACK.stroke_width(1)));
    line([(low, middle), (high, middle)])?;
    [low, high].into_iter().try_for_each(|x| line([(x, middle - CAP / 2), (x, middle + CAP / 2)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Left ends and widths of the coloured rectangles, from top to bottom.
    fn rectangles(svg: &Svg) -> Vec<(i32, i32)> {
        let bars = svg.as_str().lines().filter(|line| {
            line.starts_with("<rect") && !line.contains("#FFFFFF") && !line.contains("width=\"10\"")
        });
        let number = |line: &str, key: &str| -> i32 {
            let rest = line.split(&format!(" {key}=\"")).nth(1).expect("an attribute");
            rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
        };
        bars.map(|line| (number(line, "x"), number(line, "width"))).collect()
    }

    #[test]
    fn bars_are_as_long_as_their_values_and_say_them() {
        let mut chart = BarChart::new("erases", Axis::new("erases"), ["none", "haml"]);
        chart.add("prn_1", [4.0, 1.0]).add("wdev_0", [Bar::new(None), 2.0.into()]);
        let svg = chart.to_svg();
        let bars = rectangles(&svg);
        let widths: Vec<i32> = bars.iter().map(|bar| bar.1).collect();
        assert_eq!(widths.len(), 3);
        assert!((widths[0] - 4 * widths[1]).abs() <= 4 && (widths[0] - 2 * widths[2]).abs() <= 2);
        assert!(bars.iter().all(|bar| bar.0 == bars[0].0), "all begin at zero: {bars:?}");
        for text in ["prn_1", "wdev_0", "none", "haml", "\n4\n", "\n2\n"] {
            assert!(svg.as_str().contains(text), "{text:?} is not in {svg}");
        }
    }

    #[test]
    fn negative_bars_go_to_the_left_and_a_base_moves_the_beginning() {
        let mut chart = BarChart::new("change", Axis::new("change").in_unit("%"), ["change"]);
        chart.add("a", [-3.0]).add("b", [Bar::from(6.0).labelled("much")]);
        let svg = chart.to_svg();
        let bars = rectangles(&svg);
        assert_eq!(bars[0].0 + bars[0].1, bars[1].0, "they meet at zero");
        assert!((2 * bars[0].1 - bars[1].1).abs() <= 2);
        assert!(svg.as_str().contains("much") && svg.as_str().contains("change (%)"));
        let mut ratios = BarChart::new("", Axis::new("speedup"), ["speedup"]).from_base(1.0);
        ratios.add("slower", [0.5]).add("faster", [1.5]);
        let bars = rectangles(&ratios.to_svg());
        assert!((bars[0].1 - bars[1].1).abs() <= 1 && bars[0].0 + bars[0].1 == bars[1].0);
    }

    #[test]
    fn an_interval_is_a_line_across_the_end_of_its_bar() {
        let lines = |bars: [Bar; 2]| -> Vec<Vec<i32>> {
            let mut chart = BarChart::new("change", Axis::new("change"), ["change"]);
            chart.add("a", [bars[0].clone()]).add("b", [bars[1].clone()]);
            let svg = chart.to_svg();
            let black = svg.as_str().lines().filter(|line| {
                line.starts_with("<polyline") && line.contains("stroke=\"#000000\"")
            });
            let points = |line: &str| -> Vec<i32> {
                let points = line.split("points=\"").nth(1).expect("points");
                let points = points.split('"').next().expect("an end").split_whitespace();
                let x = |point: &str| point.split(',').next().and_then(|x| x.parse().ok());
                points.map(|point| x(point).expect("a number")).collect()
            };
            black.map(points).collect()
        };
        let plain = lines([Bar::from(2.0), Bar::from(10.0)]).len();
        let told = lines([Bar::from(2.0).within(Some([-4.0, 8.0])), Bar::from(10.0)]);
        // Only intervals are black: the line and its two ends.
        assert_eq!(told.len(), plain + 3, "{told:?}");
        let [low, high] = told[0][..] else { panic!("a line of two points: {told:?}") };
        assert_eq!((&told[1][..], &told[2][..]), (&[low, low][..], &[high, high][..]));
        // 12 of the 14 from -4 to 10.
        assert!((high - low - 480 * 12 / 14).abs() <= 1, "{told:?}");
        for none in [None, Some([f64::NAN, 1.0])] {
            let untold =
                lines([Bar::from(2.0).within(none), Bar::new(None).within(Some([0.0; 2]))]);
            assert_eq!(untold.len(), plain);
        }
    }

    #[test]
    fn parts_lie_end_to_end() {
        let mut chart = BarChart::new("parts", Axis::new("share"), ["a", "b", "c"]).stacked();
        chart.add("whole", [0.5, 0.25, 0.25]);
        let bars = rectangles(&chart.to_svg());
        assert!(bars.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0), "{bars:?}");
        assert!(chart.to_svg().as_str().contains("<title>b: share 0.25</title>"));
        assert!((bars[0].1 - 2 * bars[1].1).abs() <= 2, "{bars:?}");
    }

    #[test]
    fn a_chart_without_values_says_so() {
        let mut chart = BarChart::new("nothing", Axis::new("x"), ["a"]);
        assert!(chart.to_svg().as_str().contains("no values"));
        chart.add("group", [f64::NAN]);
        assert!(chart.to_svg().as_str().contains("no values"));
    }

    proptest! {
        #[test]
        fn any_numbers_can_be_drawn(
            values in prop::collection::vec(any::<f64>(), 0..6),
            ends: Option<[f64; 2]>,
            stacked: bool,
            base: f64,
        ) {
            let chart = BarChart::new("any", Axis::new("x"), ["a", "b"]).from_base(base);
            let mut chart = if stacked { chart.stacked() } else { chart };
            let bars = values.iter().map(|value| Bar::from(*value).within(ends));
            chart.add("one", bars).add("two", values.clone());
            prop_assert!(chart.to_svg().as_str().trim_end().ends_with("</svg>"));
        }
    }
}
