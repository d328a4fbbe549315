//! Rows of the run, the host link and the DRAM. Commodity values are AutoBlox's candidates, what-if
//! ranges its Table 7 where the paper gives them.

use super::Candidates::{Fixed, Ints, Reals, Steps};
use super::{Group, Section, Since, Unit, Value, only, row};
use crate::config::{CacheMode, CommandTimes, DeviceConfig, HostInterface, Sharing};

const MIB: u64 = 1 << 20;

/// How a run begins.
pub(super) const RUN: Section = Section {
    name: "run",
    title: "How a run begins and what it logs",
    rows: &[
        // TOML's integers end at 2^63 - 1.
        row!("run.seed", run.seed)
            .ints(0, i64::MAX as u64)
            .mqsim(Group::Device, &["Seed"])
            .absent(Value::Int(123))
            .says("Seed of every random choice inside the drive."),
        row!("run.preconditioned", run.preconditioned)
            .mqsim(Group::Device, &["Enabled_Preconditioning"])
            .absent(Value::Bool(true))
            .says("Begin with a used drive in its steady state instead of an empty one."),
        row!("run.response_log", run.response_log)
            .mqsim(Group::Host, &["Enable_ResponseTime_Logging"])
            .never("it is MQSim's log; ssdtune has options of its command for logs")
            .says("MQSim's periodic log of response times."),
        row!("run.response_log_period_us", run.response_log_period_us)
            .ints(1, 1_000_000_000_000)
            .continuous()
            .unit(Unit::Other("us"))
            .mqsim(Group::Host, &["ResponseTime_Logging_Period_Length"])
            .absent(Value::Int(400_000))
            .never("it is MQSim's log; ssdtune has options of its command for logs")
            .says("Period of MQSim's log of response times."),
    ],
};

fn needs_sata(config: &DeviceConfig) -> Option<&'static str> {
    (config.host.interface != HostInterface::Sata).then_some("host.interface is nvme")
}

fn needs_nvme(config: &DeviceConfig) -> Option<&'static str> {
    (config.host.interface != HostInterface::Nvme).then_some("host.interface is sata")
}

/// The host link.
pub(super) const HOST: Section = Section {
    name: "host",
    title: "The link to the host and its queues",
    rows: &[
        row!("host.interface", host.interface)
            .names(HostInterface::NAMES)
            .mqsim(Group::Device, &["HostInterface_Type"])
            .says("NVMe over PCIe with several deep queues, or SATA with one."),
        row!("host.pcie_lane_bandwidth_gbps", host.pcie_lane_bandwidth_gbps)
            .reals(0.001, 1_000.0)
            .discrete()
            .unit(Unit::Other("GB/s"))
            .candidates(Reals(&[0.5, 1.0, 2.0, 4.0, 8.0]), Reals(&[0.5, 1.0, 2.0, 4.0, 8.0, 16.0]))
            .mqsim(Group::Host, &["PCIe_Lane_Bandwidth"])
            .absent(Value::Real(0.4))
            .says(
                "Bandwidth of one PCIe lane in each direction; PCIe 3 gives 1, each generation \
                 doubles it.",
            ),
        row!("host.pcie_lanes", host.pcie_lanes)
            .ints(1, 64)
            .candidates(Ints(&[1, 2, 4, 8, 16]), Ints(&[1, 2, 4, 8, 16, 32]))
            .mqsim(Group::Host, &["PCIe_Lane_Count"])
            .says("PCIe lanes of the link."),
        row!("host.queue_depth", host.queue_depth)
            .ints(2, 65_536)
            .candidates(Ints(&[4, 8, 16, 32, 64, 128, 256]), Ints(&[4, 16, 64, 256, 1_024, 65_535]))
            .mqsim(Group::Device, &["IO_Queue_Depth"])
            .says(
                "Entries of each submission and completion queue (NVMe) or of the command queue \
                 (SATA).",
            ),
        row!("host.queue_fetch_size", host.queue_fetch_size)
            .ints(1, 65_536)
            .candidates(Ints(&[4, 8, 16, 32, 64, 128, 256]), Ints(&[4, 16, 64, 256, 1_024]))
            .mqsim(Group::Device, &["Queue_Fetch_Size"])
            .unless(needs_nvme)
            .says("Requests of one flow that the drive has in service at once."),
        row!("host.sata_processing_delay_ns", host.sata_processing_delay)
            .nanos()
            .candidates(
                Steps { from: 100_000, to: 500_000, by: 100_000 },
                Steps { from: 0, to: 500_000, by: 50_000 },
            )
            .mqsim(Group::Host, &["SATA_Processing_Delay"])
            .absent(Value::Int(0))
            .unless(needs_sata)
            .says("Time of the SATA host adapter per command and direction."),
        row!("host.request_time_ns", host.request_time).nanos().since(Since::RealDrives).says(
            "Time of the host's software for a request before the drive hears of it; requests do \
             not wait for each other.",
        ),
        row!("host.cores", host.cores)
            .ints(1, 1_024)
            .unless(needs_host_rate)
            .since(Since::RealDrives)
            .says("Processors of the host that send requests."),
        row!("host.core_rate", host.core_rate)
            .ints(0, 1_000_000_000)
            .unit(Unit::Other("requests/s"))
            .since(Since::RealDrives)
            .says("Requests that each processor of the host sends in a second; 0: no limit."),
    ],
};

fn needs_host_rate(config: &DeviceConfig) -> Option<&'static str> {
    (config.host.core_rate == 0).then_some("host.core_rate is 0: no limit")
}

fn needs_command_rate(config: &DeviceConfig) -> Option<&'static str> {
    (config.controller.core_rate == 0).then_some("controller.core_rate is 0: no limit")
}

/// What the controller takes for a command. No other drive's figures are known, so a search keeps
/// those of the base.
pub(super) const CONTROLLER: Section = Section {
    name: "controller",
    title: "What the controller takes for a command, besides link, DRAM and flash",
    rows: &[
        row!("controller.read_time_ns", controller.read_time)
            .nanos()
            .since(Since::RealDrives)
            .says("Time for a read command; commands do not wait for each other."),
        row!("controller.write_time_ns", controller.write_time)
            .nanos()
            .since(Since::RealDrives)
            .says(
                "Time for a write command, from its data in the drive until they are in the data \
                 cache; commands do not wait for each other.",
            ),
        row!("controller.cores", controller.cores)
            .ints(1, 1_024)
            .unless(needs_command_rate)
            .since(Since::RealDrives)
            .says("Processors that take commands, each one after the other."),
        row!("controller.core_rate", controller.core_rate)
            .ints(0, 1_000_000_000)
            .unit(Unit::Other("commands/s"))
            .since(Since::RealDrives)
            .says("Commands that each of these processors takes in a second; 0: no limit."),
        row!("controller.core_times", controller.core_times)
            .names(CommandTimes::NAMES)
            .unless(needs_command_rate)
            .since(Since::RealDrives)
            .says("How the time of such a processor for one command varies."),
        row!("controller.pipeline_time_ns", controller.pipeline_time)
            .nanos()
            .since(Since::RealDrives)
            .says(
                "Time from the end of a page's transfer out of its die until the host can have \
                 it, for each 4 KiB: error correction and copying.",
            ),
        row!("controller.bandwidth_mbs", controller.bandwidth_mbs)
            .ints(0, 1_000_000)
            .unit(Unit::Other("MB/s"))
            .since(Since::RealDrives)
            .says(
                "Data that can move between the host's side and the flash in a second, both \
                 directions together; 0: no limit.",
            ),
        row!("controller.write_bandwidth_mbs", controller.write_bandwidth_mbs)
            .ints(0, 1_000_000)
            .unit(Unit::Other("MB/s"))
            .since(Since::RealDrives)
            .says(
                "Data that the drive takes from the host in a second, whatever its flash could \
                 program; 0: no limit.",
            ),
    ],
};

pub(super) fn needs_cache(config: &DeviceConfig) -> Option<&'static str> {
    (config.cache.mode == CacheMode::Off)
        .then_some("cache.mode is off (a flow of the workload may still turn the cache on)")
}

fn needs_cached_writes(config: &DeviceConfig) -> Option<&'static str> {
    (!matches!(config.cache.mode, CacheMode::Write | CacheMode::ReadWrite)).then_some(
        "cache.mode does not include writes (a flow of the workload may still turn them on)",
    )
}

/// The DRAM and the data cache.
pub(super) const CACHE: Section = Section {
    name: "cache",
    title: "The DRAM data cache and the DRAM behind it",
    rows: &[
        only!("cache.mechanism", "advanced", "ADVANCED")
            .mqsim(Group::Device, &["Caching_Mechanism"])
            .says(
                "How the cache is managed: least recently used pages, written back under pressure.",
            ),
        row!("cache.mode", cache.mode)
            .names(CacheMode::NAMES)
            .all()
            .says("What the cache holds, unless a flow of the workload says otherwise."),
        row!("cache.sharing", cache.sharing)
            .names(Sharing::NAMES)
            .mqsim(Group::Device, &["Data_Cache_Sharing_Mode"])
            .unless(needs_cache)
            .says("Whether tenants share the cache or have equal parts of it."),
        row!("cache.capacity_bytes", cache.capacity)
            .ints(0, 1 << 40)
            .continuous()
            .unit(Unit::Bytes)
            .candidates(
                Steps { from: 96 * MIB, to: 992 * MIB, by: 64 * MIB },
                Steps { from: 64 * MIB, to: 2_048 * MIB, by: 64 * MIB },
            )
            .mqsim(Group::Device, &["Data_Cache_Capacity"])
            .absent(Value::Int(512 * MIB))
            .unless(needs_cache)
            .says("Size of the data cache."),
        row!("cache.write_buffer_bytes", cache.write_buffer)
            .ints(0, 1 << 40)
            .unit(Unit::Bytes)
            .unless(needs_cached_writes)
            .since(Since::RealDrives)
            .says(
                "Part of the cache for written data, safe from power loss: a write is done when \
                 its data are there, goes to flash at once, and gives its room back when it is \
                 programmed; a flush waits for nothing. 0: written pages stay in the cache.",
            ),
        row!("cache.read_ahead_bytes", cache.read_ahead)
            .ints(0, 1 << 30)
            .unit(Unit::Bytes)
            .unless(needs_cache)
            .since(Since::RealDrives)
            .says(
                "How far behind reads that follow each other pages are read into the cache before \
                 the host asks for them, for up to 8 streams; 0: none.",
            ),
        row!("cache.dram_row_bytes", cache.dram_row_bytes)
            .ints(64, MIB)
            .unit(Unit::Bytes)
            .candidates(Ints(&[1_024, 2_048, 4_096, 8_192, 16_384]), Fixed)
            .mqsim(Group::Device, &["Data_Cache_DRAM_Row_Size"])
            .says("Bytes of one DRAM row; an access beyond it opens another."),
        row!("cache.dram_data_rate_mts", cache.dram_data_rate_mts)
            .ints(1, 1_000_000)
            .unit(Unit::Other("MT/s"))
            .candidates(
                Ints(&[100, 200, 400, 800, 1_600, 2_133, 2_400, 2_666, 3_200]),
                Ints(&[800, 1_600, 2_133, 2_400, 2_666, 3_200, 4_800, 6_400]),
            )
            .mqsim(Group::Device, &["Data_Cache_DRAM_Data_Rate"])
            .says("Transfers of the DRAM per microsecond."),
        row!("cache.dram_burst_bytes", cache.dram_burst_bytes)
            .ints(1, 4_096)
            .unit(Unit::Bytes)
            .candidates(Ints(&[1, 2, 4, 8, 16]), Fixed)
            .mqsim(Group::Device, &["Data_Cache_DRAM_Data_Busrt_Size"])
            .also(&["Data_Cache_DRAM_Data_Burst_Size"])
            .says("Bytes of one DRAM transfer: the width of all DRAM chips together."),
        row!("cache.dram_t_rcd_ns", cache.dram_t_rcd)
            .ints(0, MIB)
            .unit(Unit::Nanos)
            .candidates(Ints(&[4, 7, 14, 21, 28]), Fixed)
            .mqsim(Group::Device, &["Data_Cache_DRAM_tRCD"])
            .says("DRAM row activation to column command."),
        row!("cache.dram_t_cl_ns", cache.dram_t_cl)
            .ints(0, MIB)
            .unit(Unit::Nanos)
            .candidates(Ints(&[4, 7, 14, 21, 28]), Fixed)
            .mqsim(Group::Device, &["Data_Cache_DRAM_tCL"])
            .says("DRAM column command to data."),
        row!("cache.dram_t_rp_ns", cache.dram_t_rp)
            .ints(0, MIB)
            .unit(Unit::Nanos)
            .candidates(Ints(&[4, 7, 14, 21, 28]), Fixed)
            .mqsim(Group::Device, &["Data_Cache_DRAM_tRP"])
            .says("DRAM precharge."),
    ],
};
