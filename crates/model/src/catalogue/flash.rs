//! Rows of the channels, the flash chips and suspension.

use super::Candidates::{Fixed, Ints, Steps};
use super::{Group, Section, Since, Unit, Value, only, row};
use crate::config::{BusOrder, DeviceConfig, FlashTechnology, Scheduler, SuspensionSupport};

fn needs_erase_suspension(config: &DeviceConfig) -> Option<&'static str> {
    use SuspensionSupport::{Erase, ProgramErase};
    (!matches!(config.suspension.support, Erase | ProgramErase))
        .then_some("suspension.support does not include erases")
}

fn needs_program_suspension(config: &DeviceConfig) -> Option<&'static str> {
    use SuspensionSupport::{Program, ProgramErase};
    (!matches!(config.suspension.support, Program | ProgramErase))
        .then_some("suspension.support does not include programs")
}

fn needs_suspension(config: &DeviceConfig) -> Option<&'static str> {
    (config.suspension.support == SuspensionSupport::None)
        .then_some("suspension.support does not include anything")
}

const HUNDREDS_OF_US: super::Candidates = Steps { from: 100_000, to: 500_000, by: 100_000 };

/// Suspension.
pub(super) const SUSPENSION: Section = Section {
    name: "suspension",
    title: "Interruption of programs and erases",
    rows: &[
        row!("suspension.support", suspension.support)
            .names(SuspensionSupport::NAMES)
            .all()
            .mqsim(Group::Flash, &["CMD_Suspension_Support"])
            .says("Which flash operations a waiting one may interrupt."),
        // Published MQSim parses only "Prefered" for this one and writes "Preferred".
        row!("suspension.erase_for_read_ns", suspension.erase_for_read)
            .nanos()
            .candidates(HUNDREDS_OF_US, HUNDREDS_OF_US)
            .mqsim(
                Group::Device,
                &["Preferred_suspend_erase_time_for_read", "Prefered_suspend_erase_time_for_read"],
            )
            .unless(needs_erase_suspension)
            .says("A read interrupts an erase only if at least this much of it is left."),
        row!("suspension.erase_for_program_ns", suspension.erase_for_program)
            .nanos()
            .candidates(HUNDREDS_OF_US, HUNDREDS_OF_US)
            .mqsim(Group::Device, &["Preferred_suspend_erase_time_for_write"])
            .also(&["Prefered_suspend_erase_time_for_write"])
            .unless(needs_erase_suspension)
            .says("A program interrupts an erase only if at least this much of it is left."),
        row!("suspension.program_for_read_ns", suspension.program_for_read)
            .nanos()
            .candidates(HUNDREDS_OF_US, HUNDREDS_OF_US)
            .mqsim(Group::Device, &["Preferred_suspend_write_time_for_read"])
            .also(&["Prefered_suspend_write_time_for_read"])
            .unless(needs_program_suspension)
            .says("A read interrupts a program only if at least this much of it is left."),
        row!("suspension.suspend_erase_ns", suspension.suspend_erase)
            .nanos()
            .candidates(Steps { from: 700_000, to: 1_100_000, by: 100_000 }, HUNDREDS_OF_US)
            .mqsim(Group::Flash, &["Suspend_Erase_Time"])
            .also(&["Suspend_Erase_time"])
            .unless(needs_erase_suspension)
            .says("Time to bring an erase to a halt."),
        row!("suspension.suspend_program_ns", suspension.suspend_program)
            .nanos()
            .candidates(
                Steps { from: 60_000, to: 100_000, by: 10_000 },
                Steps { from: 10_000, to: 100_000, by: 10_000 },
            )
            .mqsim(Group::Flash, &["Suspend_Program_Time"])
            .also(&["Suspend_Program_time"])
            .unless(needs_program_suspension)
            .says("Time to bring a program to a halt."),
        row!("suspension.interruptions_max", suspension.interruptions_max)
            .ints(0, 255)
            .candidates(Fixed, Ints(&[1, 2, 4, 8, 16]))
            .unless(needs_suspension)
            .says("How often one operation may be interrupted, so that reads cannot starve it."),
    ],
};

/// The channels.
pub(super) const BUS: Section = Section {
    name: "bus",
    title: "The channels between controller and flash",
    rows: &[
        row!("bus.channels", bus.channels)
            .ints(1, 1_024)
            .candidates(Steps { from: 4, to: 32, by: 2 }, Steps { from: 1, to: 64, by: 1 })
            .mqsim(Group::Device, &["Flash_Channel_Count"])
            .says("Flash channels."),
        row!("bus.width_bytes", bus.width_bytes)
            .ints(1, 64)
            .unit(Unit::Bytes)
            .candidates(Ints(&[1, 2, 4, 8]), Ints(&[1, 2, 4]))
            .mqsim(Group::Device, &["Flash_Channel_Width"])
            .says("Bytes of one transfer on a channel."),
        row!("bus.rate_mts", bus.rate_mts)
            .ints(1, 100_000)
            .unit(Unit::Other("MT/s"))
            .candidates(
                Ints(&[100, 200, 333, 800]),
                Ints(&[67, 100, 133, 166, 200, 267, 333, 400, 533, 667, 800, 1_066, 1_200]),
            )
            .mqsim(Group::Device, &["Channel_Transfer_Rate"])
            .absent(Value::Int(300))
            .says("Transfers of a channel per microsecond."),
        row!("bus.chips_per_channel", bus.chips_per_channel)
            .ints(1, 1_024)
            .candidates(Steps { from: 1, to: 8, by: 1 }, Steps { from: 1, to: 64, by: 1 })
            .mqsim(Group::Device, &["Chip_No_Per_Channel"])
            .says("Flash chips (ways) on each channel."),
        only!("bus.protocol", "nv-ddr2", "NVDDR2")
            .mqsim(Group::Device, &["Flash_Comm_Protocol"])
            .says("The ONFI protocol of the channels."),
        row!("bus.scheduler", bus.scheduler)
            .names(Scheduler::NAMES)
            .mqsim(Group::Device, &["Transaction_Scheduling_Policy"])
            .says("In what order waiting flash transactions are served."),
        row!("bus.order", bus.order)
            .names(BusOrder::NAMES)
            .since(Since::RealDrives)
            .says("What a free channel carries first, if commands and data wait for it."),
    ],
};

pub(super) fn needs_slc_not(config: &DeviceConfig) -> Option<&'static str> {
    (config.flash.technology == FlashTechnology::Slc).then_some("flash.technology is slc")
}

pub(super) fn needs_middle_page(config: &DeviceConfig) -> Option<&'static str> {
    match config.flash.technology {
        FlashTechnology::Slc => Some("flash.technology is slc"),
        FlashTechnology::Mlc => Some("flash.technology is mlc, which has no page between the two"),
        FlashTechnology::Tlc | FlashTechnology::Qlc => None,
    }
}

pub(super) fn needs_top_page(config: &DeviceConfig) -> Option<&'static str> {
    (config.flash.technology != FlashTechnology::Qlc).then_some("flash.technology is not qlc")
}

fn needs_single_dies(config: &DeviceConfig) -> Option<&'static str> {
    config
        .compat
        .chip_idle_batches
        .then_some("compat.chip_idle_batches lets no die work for itself")
}

fn needs_cache_reads(config: &DeviceConfig) -> Option<&'static str> {
    let copyback = config.gc.copyback.then_some("gc.copyback needs the registers of a die");
    needs_single_dies(config).or(copyback)
}

fn needs_cache_commands(config: &DeviceConfig) -> Option<&'static str> {
    let reads = config.flash.cache_read && needs_cache_reads(config).is_none();
    let programs = config.flash.cache_program && needs_single_dies(config).is_none();
    (!reads && !programs).then_some("no cache command is in use")
}

const BLOCKS: super::Candidates = Steps { from: 128, to: 1_024, by: 128 };

/// The chips. What-if latencies go from half of the Intel 750 stand-in's to all of it.
pub(super) const FLASH: Section = Section {
    name: "flash",
    title: "The flash chips",
    rows: &[
        only!("flash.memory", "flash", "FLASH")
            .mqsim(Group::Device, &["Memory_Type"])
            .says("What the chips store data in."),
        row!("flash.technology", flash.technology)
            .names(FlashTechnology::NAMES)
            .mqsim(Group::Flash, &["Flash_Technology"])
            .says("Bits per cell: one, two, three or four."),
        row!("flash.page_read_latency_lsb_ns", flash.read_latency[0])
            .nanos()
            .candidates(Fixed, Steps { from: 30_000, to: 60_000, by: 1_000 })
            .mqsim(Group::Flash, &["Page_Read_Latency_LSB"])
            .says("Array read of a page of least significant bits; SLC has no other."),
        row!("flash.page_read_latency_csb_ns", flash.read_latency[1])
            .nanos()
            .mqsim(Group::Flash, &["Page_Read_Latency_CSB"])
            .unless(needs_middle_page)
            .says("Array read of a page of central significant bits."),
        row!("flash.page_read_latency_msb_ns", flash.read_latency[2])
            .nanos()
            .candidates(Fixed, Steps { from: 52_000, to: 105_000, by: 1_000 })
            .mqsim(Group::Flash, &["Page_Read_Latency_MSB"])
            .unless(needs_slc_not)
            .says("Array read of a page of most significant bits."),
        row!("flash.page_read_latency_tsb_ns", flash.read_latency[3])
            .nanos()
            .unless(needs_top_page)
            .says("Array read of a page of the fourth (top) bits."),
        row!("flash.page_program_latency_lsb_ns", flash.program_latency[0])
            .nanos()
            .candidates(Fixed, Steps { from: 41_000, to: 83_000, by: 1_000 })
            .mqsim(Group::Flash, &["Page_Program_Latency_LSB"])
            .says("Program of a page of least significant bits; SLC has no other."),
        row!("flash.page_program_latency_csb_ns", flash.program_latency[1])
            .nanos()
            .mqsim(Group::Flash, &["Page_Program_Latency_CSB"])
            .unless(needs_middle_page)
            .says("Program of a page of central significant bits."),
        row!("flash.page_program_latency_msb_ns", flash.program_latency[2])
            .nanos()
            .candidates(Fixed, Steps { from: 1_125_000, to: 2_250_000, by: 2_500 })
            .mqsim(Group::Flash, &["Page_Program_Latency_MSB"])
            .unless(needs_slc_not)
            .says("Program of a page of most significant bits."),
        row!("flash.page_program_latency_tsb_ns", flash.program_latency[3])
            .nanos()
            .unless(needs_top_page)
            .says("Program of a page of the fourth (top) bits."),
        row!("flash.block_erase_latency_ns", flash.erase_latency)
            .nanos()
            .candidates(Ints(&[3_000_000, 3_800_000]), Ints(&[1_500_000, 3_000_000, 3_800_000]))
            .mqsim(Group::Flash, &["Block_Erase_Latency"])
            .says("Erase of a block."),
        row!("flash.pe_cycles_limit", flash.pe_cycles_limit)
            .ints(1, 1_000_000_000)
            .unit(Unit::Other("erases"))
            .candidates(Steps { from: 10_000, to: 50_000, by: 10_000 }, Fixed)
            .mqsim(Group::Flash, &["Block_PE_Cycles_Limit"])
            .also(&["Block_PR_Cycles_Limit"])
            .says(
                "Erases a block is rated for. Reports state endurance against it (`endurance`); \
                 no time depends on it.",
            ),
        row!("flash.cache_read", flash.cache_read).unless(needs_cache_reads).says(
            "Cache read: a die reads its next page while the last one's data leave the cache \
             register.",
        ),
        row!("flash.cache_program", flash.cache_program)
            .unless(needs_single_dies)
            .says("Cache program: a die takes the data of its next page while it programs."),
        row!("flash.cache_busy_ns", flash.cache_busy).nanos().unless(needs_cache_commands).says(
            "By how much the array operation behind a cache command starts later, to move a \
                 page between registers.",
        ),
        row!("flash.one_shot", flash.one_shot).unless(needs_slc_not).since(Since::RealDrives).says(
            "One command programs all pages of a word line (as many as bits per cell) in the time \
             of the slowest; cached writes wait for each other, a part takes the time of all.",
        ),
        row!("flash.independent_plane_reads", flash.independent_plane_reads)
            .unless(needs_single_dies)
            .since(Since::RealDrives)
            .says(
                "Each plane of a die reads for itself, whatever page and whenever it is free; \
                 programs and erases take the whole die.",
            ),
        row!("flash.dies_per_chip", flash.dies_per_chip)
            .ints(1, 256)
            .candidates(Steps { from: 1, to: 16, by: 1 }, Steps { from: 1, to: 16, by: 1 })
            .mqsim(Group::Flash, &["Die_No_Per_Chip"])
            .says("Dies in a chip; they work at the same time and share its wires."),
        row!("flash.planes_per_die", flash.planes_per_die)
            .ints(1, 64)
            .candidates(Steps { from: 1, to: 16, by: 1 }, Steps { from: 1, to: 16, by: 1 })
            .mqsim(Group::Flash, &["Plane_No_Per_Die"])
            .says("Planes in a die; a multi-plane command serves several at once."),
        row!("flash.blocks_per_plane", flash.blocks_per_plane)
            .ints(4, 1 << 20)
            .candidates(BLOCKS, BLOCKS)
            .mqsim(Group::Flash, &["Block_No_Per_Plane"])
            .says("Erase blocks in a plane."),
        row!("flash.pages_per_block", flash.pages_per_block)
            .ints(2, 1 << 16)
            .candidates(BLOCKS, BLOCKS)
            .mqsim(Group::Flash, &["Page_No_Per_Block"])
            .says("Pages in a block."),
        row!("flash.page_bytes", flash.page_bytes)
            .multiples(512, 512, 32_768)
            .unit(Unit::Bytes)
            .candidates(Ints(&[4_096]), Ints(&[4_096, 8_192, 16_384]))
            .mqsim(Group::Flash, &["Page_Capacity"])
            .says(
                "Data bytes of a page, the unit of reading and programming, and of mapping unless \
                 mapping.unit_bytes is smaller.",
            ),
        row!("flash.page_metadata_bytes", flash.page_metadata_bytes)
            .ints(0, 65_536)
            .unit(Unit::Bytes)
            .candidates(Steps { from: 224, to: 1_120, by: 224 }, Fixed)
            .mqsim(Group::Flash, &["Page_Metadat_Capacity"])
            .also(&["Page_Metadata_Capacity"])
            .absent(Value::Int(1_872))
            .never("spare bytes are neither transferred nor counted as capacity")
            .says("Spare bytes of a page."),
    ],
};
