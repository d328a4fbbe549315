//! The HAML unit beside a program: hardware that clusters in microseconds what software on this
//! machine clusters in the time measured here (Fig. 9 and Table V of HAML-SSD).

use serde::Serialize;
use ssdtune_ftl::placement::clusters::{Points, lloyd, on_the_diagonal};
use ssdtune_ftl::placement::haml_unit::HamlUnit;
use ssdtune_ftl::placement::haml_unit::table_v;
use ssdtune_report::{Table, Text};
use std::time::Instant;

/// How often software is measured; the fastest run counts.
const RUNS: usize = 7;

/// One training by hardware and by software.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct UnitComparison {
    /// Clusters.
    pub clusters: u32,
    /// Points that are clustered.
    pub inputs: u32,
    /// Microseconds that the unit takes.
    pub unit_us: f64,
    /// Area of the unit in square millimetres, TSMC 28 nm; an estimate, scaled from Table V.
    pub unit_area_mm2: f64,
    /// Power of the unit in milliwatt; an estimate, scaled from Table V.
    pub unit_power_mw: f64,
    /// Energy of the training in nanojoule.
    pub unit_energy_nj: f64,
    /// Microseconds that software takes on this machine, the fastest of seven runs.
    pub software_us: f64,
    /// Share of random points that both put into the same cluster.
    pub agreement: f64,
}

/// Comparisons as text for people, and Table V of the paper below them.
pub fn unit_text(rows: &[UnitComparison]) -> Text {
    let (area, power) = ("area, estimate", "power, estimate");
    let headings = ["clusters", "inputs", "unit", area, power, "this machine", "agreement"];
    let mut table = Table::new(headings);
    for row in rows {
        table.add_row([
            row.clusters.to_string(),
            row.inputs.to_string(),
            format!("{:.2} us", row.unit_us),
            format!("{:.4} mm2", row.unit_area_mm2),
            format!("{:.1} mW", row.unit_power_mw),
            format!("{:.1} us", row.software_us),
            format!("{:.2} %", 100.0 * row.agreement),
        ]);
    }
    let mut text = Text::from(table);
    text.line(format_args!(
        "\nTable V (6 clusters, 2560 inputs, 10 iterations): {} us, {} mm2, {} mW; the paper's \
         server: {} us.\nArea and power are estimates: they are scaled from Table V, which is a \
         synthesis and no measured chip, and nothing here can check them.",
        table_v::TIME_US,
        table_v::AREA_MM2,
        table_v::POWER_MW,
        table_v::SERVER_US
    ));
    text
}

impl UnitComparison {
    /// Clusters random points with both. `None` if there is no unit of that size: it has 1 to 16
    /// clusters and one input or more.
    pub fn measure(clusters: u32, inputs: u32, iterations: u32) -> Option<Self> {
        let unit = HamlUnit::new(clusters as usize, inputs as usize)?;
        let (points, start) = (random(inputs), on_the_diagonal(clusters as usize));
        let (mut software_us, mut labels) = (f64::INFINITY, Vec::new());
        for _ in 0..RUNS {
            let begun = Instant::now();
            labels = lloyd(&points, &mut start.clone(), iterations);
            software_us = software_us.min(begun.elapsed().as_secs_f64() * 1e6);
        }
        let hardware = unit.train(&points, &start, iterations).clusters;
        let same = labels.iter().zip(&hardware).filter(|(a, b)| a == b).count();
        let unit_us = unit.time_us(iterations);
        Some(Self {
            clusters,
            inputs,
            unit_us,
            unit_area_mm2: unit.area_mm2(),
            unit_power_mw: unit.power_mw(),
            unit_energy_nj: unit_us * unit.power_mw(),
            software_us,
            agreement: same as f64 / f64::from(inputs),
        })
    }
}

/// Points from a linear congruence, so that no library's generator changes them.
fn random(inputs: u32) -> Points {
    let mut state = u64::from(inputs);
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 513) as f32
    };
    let mut points = Points::default();
    for _ in 0..inputs {
        points.x.push(draw());
        points.y.push(draw());
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_ftl::placement::haml_unit::table_v;

    #[test]
    fn a_unit_of_table_v_is_as_large_and_fast_as_printed() {
        let (clusters, inputs) = (table_v::CLUSTERS as u32, table_v::INPUTS as u32);
        let row = UnitComparison::measure(clusters, inputs, table_v::ITERATIONS).expect("a unit");
        assert!((row.unit_us / table_v::TIME_US - 1.0).abs() < 0.04, "{row:?}");
        assert!((row.unit_area_mm2 - table_v::AREA_MM2).abs() < 1e-9);
        assert!((row.unit_energy_nj - row.unit_us * table_v::POWER_MW).abs() < 1e-6);
        assert!(row.agreement > 0.95, "{row:?}");
        assert!(UnitComparison::measure(17, 100, 1).is_none());
    }
}
