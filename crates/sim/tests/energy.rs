//! Energy computed by hand: of a second at rest, of a page read, of a block's cycle, and the power
//! of a window. And what must hold of every run: the parts make up the whole, nothing falls, the
//! peak is not below the average.

use crate::drives::{self, Mix, WATCH};
use ssdtune_model::config::{CacheMode, FlashTechnology, SuspensionSupport};
use ssdtune_model::ledger::Memory;
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Energy, Simulator, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// Four chips of one die, without a data cache, with the mapping in DRAM.
fn plain() -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config
}

fn drive(config: &DeviceConfig) -> Simulator {
    Simulator::new(&config.check().expect("legal"), &[Tenant::sole(config)], WATCH).expect("legal")
}

fn ask(drive: &mut Simulator, op: Op, page: u64) {
    let (at, lba) = (drive.now(), Sectors(page * 8));
    drive.push(Request { at, lba, sectors: 8, tenant: TenantId(0), op });
}

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1e-9), "{got} is not {expected}");
}

#[test]
fn a_second_at_rest_costs_the_idle_powers() {
    let mut config = plain();
    // Together with the mapping table, 1 GiB of DRAM.
    config.cache.capacity.0 = (1 << 30) - Memory::of(&config).mapping_table_bytes.0;
    let mut drive = drive(&config);
    assert_eq!(drive.energy().total_j, 0.0);
    // A read of a page without data starts the clock.
    ask(&mut drive, Op::Read, 0);
    drive.run_until(Nanos::from_ms(1000));
    let energy = drive.energy();
    assert_eq!(energy.seconds, 1.0);
    close(energy.flash.idle_j, 4.0 * 12.7e-3);
    close(energy.dram.background_j, 75e-3);
    close(energy.controller.idle_j, 0.5);
    close(energy.controller.requests_j, 1000e-9);
    close(energy.total_j, 0.0508 + 0.075 + 0.5 + 1e-6);
    close(energy.average_power_w, energy.total_j);
    // The window of the request: 1 uJ in 1 ms is 1 mW.
    close(energy.peak_power_w, 0.0508 + 0.075 + 0.5 + 1e-3);
}

#[test]
fn a_page_read_costs_its_bits_its_bytes_and_the_controllers_work() {
    let config = plain();
    let mut drive = drive(&config);
    ask(&mut drive, Op::Write, 0);
    drive.run_until(Nanos::from_ms(10));
    let before = drive.energy();
    ask(&mut drive, Op::Read, 0);
    drive.run_until(Nanos::from_ms(20));
    let after = drive.energy();
    let more = |part: fn(&Energy) -> f64| part(&after) - part(&before);
    close(more(|e| e.flash.read_j), 4.9152e-6);
    close(more(|e| e.flash.transfer_j), 2.048e-6);
    close(more(|e| e.controller.requests_j), 1e-6);
    close(more(|e| e.controller.transactions_j), 0.5e-6);
    close(more(|e| e.flash.program_j + e.flash.erase_j), 0.0);
    close(more(|e| e.dram.activate_j + e.dram.read_j + e.dram.write_j), 0.0);
    // One of four dies worked during the array read and the ready signal.
    close(more(|e| e.flash.idle_j), 12.7e-3 * (4.0 * 10e-3 - 75.02e-6));
}

#[test]
fn a_cached_write_and_its_read_cost_dram() {
    let mut config = plain();
    config.cache.mode = CacheMode::Write;
    // 4 KiB cover two rows.
    config.cache.dram_row_bytes = 2048;
    let mut drive = drive(&config);
    ask(&mut drive, Op::Write, 3);
    drive.run_until(Nanos(100_000));
    ask(&mut drive, Op::Read, 3);
    drive.run_until(Nanos(200_000));
    let dram = drive.energy().dram;
    close(dram.write_j, 4096.0 * 0.1e-9);
    close(dram.read_j, 4096.0 * 0.1e-9);
    close(dram.activate_j, 4.0 * 3e-9);
}

/// The pages of two blocks, overwritten in order: each round of one block erases another that holds
/// nothing.
#[test]
fn a_blocks_cycle_costs_its_programs_and_its_erase() {
    let mut config = plain();
    [config.bus.channels, config.bus.chips_per_channel, config.flash.planes_per_die] = [1, 1, 1];
    let mut drive = drive(&config);
    let mut next = 0;
    let mut round = |drive: &mut Simulator| {
        for _ in 0..16 {
            ask(drive, Op::Write, next % 32);
            next += 1;
            drive.run_until(drive.now() + Nanos::from_ms(10));
        }
        drive.energy()
    };
    let mut before = round(&mut drive);
    while before.flash.erase_j == 0.0 {
        before = round(&mut drive);
    }
    let after = round(&mut drive);
    assert_eq!(drive.flash().pages_programmed_moved, 0);
    close(after.flash.program_j - before.flash.program_j, 1_735.393_28e-6);
    close(after.flash.erase_j - before.flash.erase_j, 36.700_16e-6);
    close(after.controller.transactions_j - before.controller.transactions_j, 17.0 * 500e-9);
}

#[test]
fn each_page_type_has_its_constants() {
    for (technology, types) in [
        (FlashTechnology::Slc, [16.0, 0.0, 0.0, 0.0]),
        (FlashTechnology::Mlc, [8.0, 0.0, 8.0, 0.0]),
        (FlashTechnology::Tlc, [10.0, 4.0, 2.0, 0.0]),
        (FlashTechnology::Qlc, [4.0, 4.0, 4.0, 4.0]),
    ] {
        let mut config = plain();
        [config.bus.channels, config.bus.chips_per_channel, config.flash.planes_per_die] =
            [1, 1, 1];
        config.flash.technology = technology;
        config.energy.flash_read_nj_per_bit = [1.0, 2.0, 3.0, 4.0];
        config.energy.flash_program_nj_per_bit = [5.0, 6.0, 7.0, 8.0];
        let mut drive = drive(&config);
        for op in [Op::Write, Op::Read] {
            for page in 0..16 {
                ask(&mut drive, op, page);
                drive.run_until(drive.now() + Nanos::from_ms(2));
            }
        }
        let flash = drive.energy().flash;
        let bits = 4096.0 * 8.0 * 1e-9;
        let (read, program) = (flash.read_by_page_type_j, flash.program_by_page_type_j);
        let pairs = [
            (read.lsb, program.lsb),
            (read.csb, program.csb),
            (read.msb, program.msb),
            (read.tsb, program.tsb),
        ];
        for (kind, (read, program)) in pairs.into_iter().enumerate() {
            close(read, types[kind] * (1.0 + kind as f64) * bits);
            close(program, types[kind] * (5.0 + kind as f64) * bits);
        }
    }
}

#[test]
fn the_peak_is_that_of_the_busiest_millisecond() {
    let mut config = plain();
    config.flash.technology = FlashTechnology::Slc;
    config.flash.program_latency[0] = Nanos(1_500_000);
    let mut drive = drive(&config);
    ask(&mut drive, Op::Write, 0);
    drive.run_until(Nanos::from_ms(10));
    let ran = drive.take_completions()[0];
    let energy = drive.energy();
    // The program ends when its completion is sent, 11 ns before the host sees it. It began in the
    // first window.
    let began = (ran.completed - ran.arrived).0 - 11 - 1_500_000;
    let program_w = (4096.0 * 8.0 * 3.31 + 500.0 - 12.7e-3 * 1e-3 * 1.5e6 * 1e3) / 1.5e6;
    let first_nj = 1000.0 + 4096.0 * 0.5 + program_w * (1e6 - began as f64);
    let second_nj = program_w * (1.5e6 - (1e6 - began as f64));
    let table = energy.dram.background_j / energy.seconds;
    let rest = 4.0 * 12.7e-3 + table + 0.5;
    close(energy.peak_power_w, rest + first_nj.max(second_nj) / 1e6);
}

/// All figures that must never fall.
fn parts(energy: &Energy) -> Vec<f64> {
    let (flash, dram, controller) = (&energy.flash, &energy.dram, &energy.controller);
    vec![
        energy.seconds,
        flash.read_j,
        flash.program_j,
        flash.erase_j,
        flash.transfer_j,
        flash.idle_j,
        dram.background_j,
        dram.activate_j,
        dram.read_j,
        dram.write_j,
        controller.idle_j,
        controller.requests_j,
        controller.transactions_j,
    ]
}

#[test]
fn parts_make_the_whole_and_nothing_ever_falls() {
    for (number, support) in SuspensionSupport::ALL.iter().enumerate() {
        let mut config = drives::small();
        config.suspension.support = *support;
        config.suspension.suspend_program = Nanos(20_000);
        config.gc.copyback = number % 2 == 1;
        config.compat.chip_idle_batches = number == 0;
        [config.bus.chips_per_channel, config.flash.dies_per_chip] = [1, 2];
        config.cache.mode = [CacheMode::ReadWrite, CacheMode::Off][number % 2];
        let mut drive = drive(&config);
        let mix = Mix {
            requests: 2_000,
            seed: 11,
            gap_ns: 150_000.0,
            reads: 50,
            trims: 2,
            flushes: 1,
            sectors: 60_000,
            align: 1,
            pages_max: 30,
        };
        for mut request in mix.requests(0) {
            request.at += Nanos::from_ms(5);
            drive.push(request);
        }
        let mut last = parts(&drive.energy());
        let mut time = Nanos::ZERO;
        while drive.completed() < 2_000 {
            time += Nanos(37_000);
            drive.run_until(time);
            let energy = drive.energy();
            let now = parts(&energy);
            for (part, (now, before)) in now.iter().zip(&last).enumerate() {
                assert!(now >= before, "part {part} falls from {before} to {now} at {time}");
            }
            let whole: f64 = now[1..].iter().sum();
            close(energy.total_j, whole);
            close(energy.flash.read_by_page_type_j.sum(), energy.flash.read_j);
            assert!(energy.peak_power_w >= energy.average_power_w);
            last = now;
        }
        assert!(drive.flash().blocks_erased > 0);
    }
}
