//! Rows of the energy constants.

use super::{Parameter, Section, Unit, row};

const NJ_PER_BIT: Unit = Unit::Other("nJ/bit");
const MW: Unit = Unit::Other("mW");

const fn constant(row: Parameter, unit: Unit, meaning: &'static str) -> Parameter {
    row.reals(0.0, 1e9).unit(unit).says(meaning)
}

/// Energy.
pub(super) const ENERGY: Section = Section {
    name: "energy",
    title: "Energy constants; they change the energy report and nothing else",
    rows: &[
        constant(
            row!("energy.flash_read_nj_per_bit", energy.flash_read_nj_per_bit),
            NJ_PER_BIT,
            "Reading one bit of the flash array (0.15: AutoBlox's flash model).",
        ),
        constant(
            row!("energy.flash_program_nj_per_bit", energy.flash_program_nj_per_bit),
            NJ_PER_BIT,
            "Programming one bit of the flash array (3.31: AutoBlox's flash model).",
        ),
        constant(
            row!("energy.flash_erase_nj_per_bit", energy.flash_erase_nj_per_bit),
            NJ_PER_BIT,
            "Erasing one bit of the flash array (0.07: AutoBlox's flash model).",
        ),
        constant(
            row!("energy.flash_idle_mw", energy.flash_idle_mw),
            MW,
            "Power of one idle chip (12.7: AutoBlox's flash model, which names no unit; mW is the consistent reading).",
        ),
        constant(
            row!("energy.dram_background_mw_per_gib", energy.dram_background_mw_per_gib),
            Unit::Other("mW/GiB"),
            "DRAM refresh and clocks (75: an assumption of the order of DDR4 data sheets).",
        ),
        constant(
            row!("energy.dram_activate_nj", energy.dram_activate_nj),
            Unit::Other("nJ"),
            "One DRAM row activation with its precharge (3: an assumption of the order of DDR4 data sheets).",
        ),
        constant(
            row!("energy.dram_read_nj_per_byte", energy.dram_read_nj_per_byte),
            Unit::Other("nJ/B"),
            "Reading one byte of DRAM (0.1: an assumption of the order of DDR4 data sheets).",
        ),
        constant(
            row!("energy.dram_write_nj_per_byte", energy.dram_write_nj_per_byte),
            Unit::Other("nJ/B"),
            "Writing one byte of DRAM (0.1: an assumption of the order of DDR4 data sheets).",
        ),
        constant(
            row!("energy.controller_idle_mw", energy.controller_idle_mw),
            MW,
            "The controller at rest (500: an assumption; AutoBlox takes a constant 2000 for its processor at work).",
        ),
        constant(
            row!("energy.controller_nj_per_transaction", energy.controller_nj_per_transaction),
            Unit::Other("nJ"),
            "The controller's work for one page transaction (500: an assumption).",
        ),
    ],
};
