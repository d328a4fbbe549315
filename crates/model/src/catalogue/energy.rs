//! Rows of the energy constants. `docs/energy.md` says what each is multiplied with.

use super::flash::{needs_middle_page, needs_slc_not, needs_top_page};
use super::host::needs_cache;
use super::slc_cache::needs_slc_cache;
use super::{Parameter, Section, Since, Unit, row};

const NJ_PER_BIT: Unit = Unit::Other("nJ/bit");
const NJ_PER_BYTE: Unit = Unit::Other("nJ/B");
const NJ: Unit = Unit::Other("nJ");
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
            row!("energy.flash_read_lsb_nj_per_bit", energy.flash_read_nj_per_bit[0]),
            NJ_PER_BIT,
            "Reading one bit of a page of least significant bits, or of SLC (0.15: AutoBlox's \
             flash model, \
             after Grupp et al. 2009, has one figure for all pages).",
        ),
        constant(
            row!("energy.flash_read_csb_nj_per_bit", energy.flash_read_nj_per_bit[1]),
            NJ_PER_BIT,
            "Reading one bit of a page of central significant bits (0.15: AutoBlox's flash model, \
             which has one figure for all pages).",
        )
        .unless(needs_middle_page),
        constant(
            row!("energy.flash_read_msb_nj_per_bit", energy.flash_read_nj_per_bit[2]),
            NJ_PER_BIT,
            "Reading one bit of a page of most significant bits (0.15: AutoBlox's flash model, \
             which has one figure for all pages).",
        )
        .unless(needs_slc_not),
        constant(
            row!("energy.flash_read_tsb_nj_per_bit", energy.flash_read_nj_per_bit[3]),
            NJ_PER_BIT,
            "Reading one bit of a page of the fourth (top) bits (0.15: AutoBlox's flash model, \
             which has one figure for all pages).",
        )
        .unless(needs_top_page),
        constant(
            row!("energy.flash_program_lsb_nj_per_bit", energy.flash_program_nj_per_bit[0]),
            NJ_PER_BIT,
            "Programming one bit of a page of least significant bits, or of SLC (3.31: AutoBlox's \
             flash model, \
             which has one figure for all pages; scale it where page types differ in time).",
        ),
        constant(
            row!("energy.flash_program_csb_nj_per_bit", energy.flash_program_nj_per_bit[1]),
            NJ_PER_BIT,
            "Programming one bit of a page of central significant bits (3.31: AutoBlox's flash \
             model, which has one figure for all pages).",
        )
        .unless(needs_middle_page),
        constant(
            row!("energy.flash_program_msb_nj_per_bit", energy.flash_program_nj_per_bit[2]),
            NJ_PER_BIT,
            "Programming one bit of a page of most significant bits (3.31: AutoBlox's flash \
             model, which has one figure for all pages).",
        )
        .unless(needs_slc_not),
        constant(
            row!("energy.flash_program_tsb_nj_per_bit", energy.flash_program_nj_per_bit[3]),
            NJ_PER_BIT,
            "Programming one bit of a page of the fourth (top) bits (3.31: AutoBlox's flash \
             model, which has one figure for all pages).",
        )
        .unless(needs_top_page),
        constant(
            row!("energy.slc_read_nj_per_bit", energy.slc_read_nj_per_bit),
            NJ_PER_BIT,
            "Reading one bit of a page in SLC mode (0.15: that of other pages; Grupp et al. 2009 \
             measured SLC chips).",
        )
        .unless(needs_slc_cache)
        .since(Since::RealDrives),
        constant(
            row!("energy.slc_program_nj_per_bit", energy.slc_program_nj_per_bit),
            NJ_PER_BIT,
            "Programming one bit of a page in SLC mode (3.31: that of other pages; less where \
             programs in SLC mode are shorter).",
        )
        .unless(needs_slc_cache)
        .since(Since::RealDrives),
        constant(
            row!("energy.flash_erase_nj_per_bit", energy.flash_erase_nj_per_bit),
            NJ_PER_BIT,
            "Erasing one bit of the flash array (0.07: AutoBlox's flash model).",
        ),
        constant(
            row!("energy.channel_nj_per_byte", energy.channel_nj_per_byte),
            NJ_PER_BYTE,
            "Moving one byte over a channel (0.5: an assumption, 6 transitions of lines and \
             strobe on 50 pF at \
             1.8 V; for a channel one byte wide).",
        ),
        constant(
            row!("energy.flash_idle_mw", energy.flash_idle_mw),
            MW,
            "Power of one idle chip (12.7: AutoBlox's flash model, which names no unit; mW is the \
             consistent reading).",
        ),
        constant(
            row!("energy.dram_background_mw_per_gib", energy.dram_background_mw_per_gib),
            Unit::Other("mW/GiB"),
            "DRAM refresh and clocks (75: an assumption of the order of DDR4 data sheets).",
        ),
        constant(
            row!("energy.dram_activate_nj", energy.dram_activate_nj),
            NJ,
            "One DRAM row activation with its precharge (3: an assumption of the order of DDR4 \
             data sheets).",
        )
        .unless(needs_cache),
        constant(
            row!("energy.dram_read_nj_per_byte", energy.dram_read_nj_per_byte),
            NJ_PER_BYTE,
            "Reading one byte of DRAM (0.1: an assumption of the order of DDR4 data sheets).",
        )
        .unless(needs_cache),
        constant(
            row!("energy.dram_write_nj_per_byte", energy.dram_write_nj_per_byte),
            NJ_PER_BYTE,
            "Writing one byte of DRAM (0.1: an assumption of the order of DDR4 data sheets).",
        )
        .unless(needs_cache),
        constant(
            row!("energy.controller_idle_mw", energy.controller_idle_mw),
            MW,
            "The controller at rest (500: an assumption; AutoBlox takes a constant 2000 for its \
             processor at work).",
        ),
        constant(
            row!("energy.controller_nj_per_request", energy.controller_nj_per_request),
            NJ,
            "The controller's work for one request of the host (1000: an assumption, a \
             microsecond of a core at 1 W).",
        ),
        constant(
            row!("energy.controller_nj_per_transaction", energy.controller_nj_per_transaction),
            NJ,
            "The controller's work for one page transaction (500: an assumption, half a \
             microsecond of a core at 1 W).",
        ),
    ],
};
