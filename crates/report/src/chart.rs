//! Lines and dots over two axes of numbers.
//!
//! Points that are not finite are left out, and values beyond 10^15 are drawn as 10^15.

use crate::axis::Axis;
use crate::canvas::{self, Area, Drawn, HEADER, LINE, MARGIN, Saying, Svg, colour};
use plotters::element::{Circle, Cross, DashedPathElement, PathElement};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Width and height of a chart without its legend, in pixels.
const SIZE: (i32, i32) = (680, 420);
/// Radius of a dot, in pixels.
const DOT: i32 = 3;
/// Half the width of a cross, in pixels.
const CROSS: i32 = 6;
/// Points of a series that say their values when the mouse rests on them, at most; of more, some at
/// equal distances do.
const SAYING_MAX: usize = 200;
/// Room for the numbers at an axis, in pixels.
const NUMBERS: (u32, u32) = (44, 76);

/// Series of points over two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

/// Points that belong together, and how they are drawn.
#[derive(Clone, Debug)]
pub struct Series {
    mark: Mark,
    points: Vec<(f64, f64)>,
    name: Option<String>,
    colour: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Line,
    Dot,
    Ring,
    Cross,
}

impl Series {
    fn new(mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let drawable = |(x, y)| canvas::drawable(x).zip(canvas::drawable(y));
        let points = points.into_iter().filter_map(drawable).collect();
        Self { mark, points, name: None, colour: None }
    }

    /// A line through the points in their order.
    pub fn line(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(Mark::Line, points)
    }

    /// A line that keeps each value until the next point, for what changes at once: the best
    /// result so far, a setting.
    pub fn steps(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut last = None;
        let corners = points.into_iter().flat_map(|(x, y)| {
            let corner = last.replace(y).map(|before| (x, before));
            corner.into_iter().chain([(x, y)])
        });
        let corners: Vec<(f64, f64)> = corners.collect();
        Self::line(corners)
    }

    /// A filled dot for each point.
    pub fn dots(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(Mark::Dot, points)
    }

    /// An empty circle for each point.
    pub fn rings(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(Mark::Ring, points)
    }

    /// A large black cross for each point, such as the centre of a cluster.
    pub fn crosses(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(Mark::Cross, points)
    }

    /// Puts the series into the legend.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Gives the series a colour by number; two series of one number look alike. Without it a
    /// series has the number of its place in the chart. From number 8 on the colours come again,
    /// and dots are rings.
    #[must_use]
    pub fn coloured(self, number: usize) -> Self {
        Self { colour: Some(number), ..self }
    }
}

impl Chart {
    /// A chart without series.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new() }
    }

    /// Adds a series. Later series are drawn over earlier ones.
    pub fn add(&mut self, series: Series) -> &mut Self {
        let colour = series.colour.or(Some(self.series.len()));
        self.series.push(Series { colour, ..series });
        self
    }

    /// Draws it. A chart without points has its title and says so.
    pub fn to_svg(&self) -> Svg {
        let legend = canvas::legend_width(self.names().map(|(_, name)| name));
        let lines = self.names().count() as i32 * LINE + HEADER + MARGIN;
        let size = ((SIZE.0 + legend) as u32, SIZE.1.max(lines) as u32);
        let mut sayings = Vec::new();
        let svg = canvas::picture(&self.title, size, |area| {
            let middle = (SIZE.0 / 2, SIZE.1 / 2);
            match self.ranges() {
                None => canvas::write(area, "no points", middle, HPos::Center),
                Some(ranges) => self.draw(area, ranges, legend, &mut sayings),
            }
        });
        svg.saying(&sayings).described(&self.words())
    }

    /// The axes, and from where to where each series goes, in words.
    fn words(&self) -> String {
        let mut words = format!("{} over {}", self.y.label(), self.x.label());
        for series in &self.series {
            let is_drawn = |(x, y): &&(f64, f64)| self.x.place(*x).and(self.y.place(*y)).is_some();
            let values = series.points.iter().filter(is_drawn).map(|point| point.1);
            let (low, high) = (values.clone().reduce(f64::min), values.reduce(f64::max));
            let said = match low.zip(high) {
                Some((low, high)) => {
                    format!("{} to {}", canvas::number(low, 4), canvas::number(high, 4))
                }
                None => "none".to_owned(),
            };
            let name = series.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            words += &format!("; {name}{said}");
        }
        words
    }

    fn names(&self) -> impl Iterator<Item = (&Series, &str)> {
        self.series.iter().filter_map(|series| Some((series, series.name.as_deref()?)))
    }

    fn ranges(&self) -> Option<[(f64, f64); 2]> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        points().next()?;
        let x = self.x.range(points().map(|point| point.0))?;
        let y = self.y.range(points().map(|point| point.1))?;
        // So that no dot stands on the frame.
        let room = |(low, high): (f64, f64)| {
            let room = 0.04 * (high - low);
            (low - room, high + room)
        };
        Some([room(x), room(y)])
    }

    fn draw(
        &self,
        area: &Area<'_>,
        [x, y]: [(f64, f64); 2],
        legend: i32,
        sayings: &mut Vec<Saying>,
    ) -> Drawn {
        let plot = area.margin(HEADER, MARGIN, MARGIN, MARGIN + legend);
        let mut chart = ChartBuilder::on(&plot)
            .x_label_area_size(NUMBERS.0)
            .y_label_area_size(NUMBERS.1)
            .build_cartesian_2d(self.x.places(x), self.y.places(y))?;
        let (x_mark, y_mark) =
            (|place: &f64| self.x.mark(*place), |place: &f64| self.y.mark(*place));
        let mesh = &mut chart.configure_mesh();
        mesh.max_light_lines(0).bold_line_style(canvas::GRID);
        mesh.axis_style(canvas::FRAME).label_style(canvas::text_style());
        mesh.axis_desc_style(canvas::text_style());
        mesh.x_desc(self.x.label()).y_desc(self.y.label());
        mesh.x_label_formatter(&x_mark).y_label_formatter(&y_mark).draw()?;
        for series in &self.series {
            let placed = series.points.iter().filter_map(|point| {
                let place = self.x.place(point.0).zip(self.y.place(point.1))?;
                Some((chart.backend_coord(&place), *point))
            });
            let placed: Vec<((i32, i32), (f64, f64))> = placed.collect();
            let places: Vec<(i32, i32)> = placed.iter().map(|(at, _)| *at).collect();
            series.draw(area, &places)?;
            let some = placed.iter().step_by(placed.len().div_ceil(SAYING_MAX).max(1));
            sayings.extend(some.map(|(at, point)| self.saying(series, *at, *point)));
        }
        let left = area.dim_in_pixel().0 as i32 - legend;
        for (row, (series, name)) in self.names().enumerate() {
            let y = HEADER + MARGIN + LINE * row as i32;
            series.draw_sample(area, (left, y))?;
            canvas::write(area, name, (left + 2 * MARGIN, y), HPos::Left)?;
        }
        Ok(())
    }

    /// What a point says.
    fn saying(&self, series: &Series, at: (i32, i32), point: (f64, f64)) -> Saying {
        let name = series.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        Saying {
            corner: (at.0 - CROSS, at.1 - CROSS),
            size: (2 * CROSS, 2 * CROSS),
            text: format!("{name}{}, {}", self.x.say(point.0), self.y.say(point.1)),
        }
    }
}

impl Series {
    /// Draws the series at places of the picture.
    fn draw(&self, area: &Area<'_>, points: &[(i32, i32)]) -> Drawn {
        let number = self.colour.unwrap_or(0);
        let colour = colour(number);
        let hollow = self.mark == Mark::Ring || canvas::repeats(number);
        match self.mark {
            // Lines differ without their colours, too.
            Mark::Line => match canvas::dash(number) {
                None => area.draw(&PathElement::new(points.to_vec(), colour.stroke_width(2))),
                Some((dash, gap)) => {
                    let style = colour.stroke_width(2);
                    area.draw(&DashedPathElement::new(points.iter().copied(), dash, gap, style))
                }
            },
            Mark::Dot | Mark::Ring => points.iter().try_for_each(|point| match hollow {
                true => area.draw(&Circle::new(*point, DOT, colour.stroke_width(1))),
                false => area.draw(&Circle::new(*point, DOT, colour.mix(0.6).filled())),
            }),
            Mark::Cross => points
                .iter()
                .try_for_each(|point| area.draw(&Cross::new(*point, CROSS, BLACK.stroke_width(2)))),
        }
    }

    /// Draws what stands for the series in the legend.
    fn draw_sample(&self, area: &Area<'_>, (x, y): (i32, i32)) -> Drawn {
        match self.mark {
            Mark::Line => self.draw(area, &[(x, y), (x + MARGIN, y)]),
            Mark::Dot | Mark::Ring | Mark::Cross => self.draw(area, &[(x + MARGIN / 2, y)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chart() -> Chart {
        Chart::new("a & b", Axis::new("load").in_unit("1/s"), Axis::new("latency").in_unit("us"))
    }

    #[test]
    fn every_point_is_drawn_once_and_the_legend_has_a_sample() {
        let mut chart = chart();
        chart.add(Series::dots([(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN)]).named("first"));
        chart.add(Series::rings([(0.5, 1.5)]).coloured(0));
        chart.add(Series::line([(0.0, 0.0), (1.0, 1.0)]).named("second"));
        let svg = chart.to_svg();
        assert_eq!(svg.as_str().matches("<circle").count(), 2 + 1 + 1);
        let thick = svg.as_str().matches("stroke-width=\"2\"").count();
        assert!(thick > 2, "the third series is a line of dashes: {svg}");
        for text in ["a &amp; b", "load (1/s)", "latency (us)", "first", "second"] {
            assert!(svg.as_str().contains(text), "{text} is not in {svg}");
        }
    }

    #[test]
    fn who_does_not_see_it_is_told_the_axes_and_the_ends_of_each_line() {
        let mut chart = chart();
        chart.add(Series::line([(0.0, 3.0), (1.0, 1.0), (2.0, 2.5)]).named("p99"));
        let label = "aria-label=\"a &amp; b. latency (us) over load (1/s); p99: 1 to 3\"";
        assert!(chart.to_svg().inline().contains(label), "{}", chart.to_svg().inline());
    }

    #[test]
    fn equal_factors_have_equal_lengths_where_that_is_asked_for() {
        let latency = Axis::new("latency").in_unit("us").logarithmic();
        let mut chart = Chart::new("a", Axis::new("load"), latency);
        chart.add(Series::dots([(0.0, 0.0), (1.0, 1.0), (2.0, 10.0), (3.0, 100.0)]));
        let svg = chart.to_svg();
        let circles = svg.as_str().lines().filter(|line| line.starts_with("<circle"));
        let height = |line: &str| -> Option<i32> {
            line.split(" cy=\"").nth(1)?.split('"').next()?.parse().ok()
        };
        let heights: Vec<i32> = circles.filter_map(height).collect();
        let [one, ten, hundred] = heights[..] else { panic!("0 has no place: {svg}") };
        assert!((one + hundred - 2 * ten).abs() <= 1, "{heights:?}");
    }

    #[test]
    fn points_say_their_values_where_the_mouse_rests() {
        let mut chart = chart();
        chart.add(Series::dots([(1.0, 2.5)]).named("a < b"));
        let svg = chart.to_svg();
        let says = "<title>a &lt; b: load 1 1/s, latency 2.5 us</title>";
        assert!(svg.as_str().contains(says), "{svg}");
        chart.add(Series::line((0..1000).map(|x| (f64::from(x), 0.0))));
        assert_eq!(chart.to_svg().as_str().matches("<title>").count(), 1 + 200);
    }

    #[test]
    fn points_lie_where_their_values_say() {
        let mut chart = chart();
        chart.add(Series::dots([(0.0, 0.0), (5.0, 5.0), (10.0, 10.0)]));
        let svg = chart.to_svg();
        let place = |line: &str, key: &str| -> i32 {
            let rest = line.split(&format!(" {key}=\"")).nth(1).expect("an attribute");
            rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
        };
        let circles = svg.as_str().lines().filter(|line| line.starts_with("<circle"));
        let places: Vec<(i32, i32)> =
            circles.map(|line| (place(line, "cx"), place(line, "cy"))).collect();
        let [low, middle, high] = places[..] else { panic!("three dots: {svg}") };
        assert!((low.0 + high.0 - 2 * middle.0).abs() <= 1 && low.0 < middle.0);
        assert!((low.1 + high.1 - 2 * middle.1).abs() <= 1 && low.1 > middle.1, "up is more");
    }

    #[test]
    fn steps_keep_a_value_until_the_next() {
        let steps = Series::steps([(0.0, 1.0), (2.0, 3.0), (4.0, 2.0)]);
        let corners = [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0), (4.0, 3.0), (4.0, 2.0)];
        assert_eq!(steps.points, corners);
    }

    #[test]
    fn a_chart_without_points_says_so() {
        assert!(chart().to_svg().as_str().contains("no points"));
        let mut empty = chart();
        empty.add(Series::line([(f64::INFINITY, 0.0)]).named("nothing"));
        assert!(empty.to_svg().as_str().contains("no points"));
    }

    proptest! {
        #[test]
        fn any_numbers_can_be_drawn(points in prop::collection::vec(any::<(f64, f64)>(), 0..8)) {
            let mut chart = chart();
            chart.add(Series::dots(points.clone()).coloured(9)).add(Series::steps(points));
            prop_assert!(chart.to_svg().as_str().trim_end().ends_with("</svg>"));
        }

        #[test]
        fn close_numbers_can_be_drawn(at in -1e15..1e15_f64, by in 0.0..1e-3_f64) {
            let mut chart = chart();
            chart.add(Series::line([(at, by), (at * (1.0 + by), -by), (at + by, at)]));
            prop_assert!(chart.to_svg().as_str().trim_end().ends_with("</svg>"));
        }
    }
}
