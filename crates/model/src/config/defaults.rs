//! The default drive: the example that MQSim ships, a 512 GiB NVMe drive of MLC flash.

use super::{
    Ageing, Allocation, Bus, BusOrder, Cache, CacheMode, CommandTimes, Compat, Controller,
    DeviceConfig, Energy, Flash, FlashTechnology, Gc, GcPolicy, GcUnit, Host, HostInterface,
    Mapping, Placement, PlaneOrder, Run, Scheduler, Sharing, SlcCache, Suspension,
    SuspensionSupport, Wear,
};
use crate::units::{Bytes, Nanos};

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            run: Run::default(),
            host: Host::default(),
            controller: Controller::default(),
            cache: Cache::default(),
            mapping: Mapping::default(),
            placement: Placement::default(),
            gc: Gc::default(),
            wear: Wear::default(),
            suspension: Suspension::default(),
            bus: Bus::default(),
            flash: Flash::default(),
            slc_cache: SlcCache::default(),
            ageing: Ageing::default(),
            energy: Energy::default(),
            compat: Compat::default(),
        }
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            seed: 321,
            preconditioned: false,
            response_log: false,
            response_log_period_us: 1_000_000,
        }
    }
}

impl Default for Host {
    fn default() -> Self {
        Self {
            interface: HostInterface::Nvme,
            pcie_lane_bandwidth_gbps: 1.0,
            pcie_lanes: 4,
            queue_depth: 1024,
            queue_fetch_size: 512,
            sata_processing_delay: Nanos::from_us(400),
            request_time: Nanos::ZERO,
            cores: 1,
            core_rate: 0,
        }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            read_time: Nanos::ZERO,
            write_time: Nanos::ZERO,
            cores: 1,
            core_rate: 0,
            core_times: CommandTimes::Fixed,
            pipeline_time: Nanos::ZERO,
            bandwidth_mbs: 0,
            write_bandwidth_mbs: 0,
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            mode: CacheMode::Write,
            sharing: Sharing::Shared,
            capacity: Bytes::from_mib(256),
            write_buffer: Bytes(0),
            read_ahead: Bytes(0),
            dram_row_bytes: 8192,
            dram_data_rate_mts: 800,
            dram_burst_bytes: 4,
            dram_t_rcd: Nanos(13),
            dram_t_cl: Nanos(13),
            dram_t_rp: Nanos(13),
        }
    }
}

impl Default for Mapping {
    fn default() -> Self {
        Self {
            ideal: false,
            cmt_capacity: Bytes::from_mib(2),
            cmt_sharing: Sharing::Shared,
            plane_order: PlaneOrder::Cwdp,
            allocation: Allocation::Static,
            overprovisioning: 0.07,
            unit_bytes: 0,
            stripe_dies: 1,
        }
    }
}

impl Default for Gc {
    fn default() -> Self {
        Self {
            policy: GcPolicy::Greedy,
            threshold: 0.05,
            hard_threshold: 0.005,
            preemptible: false,
            copyback: false,
            choices: 0,
            window: 0,
            unit: GcUnit::Block,
            paced: true,
            single_plane_reads: false,
        }
    }
}

impl Default for Wear {
    fn default() -> Self {
        Self { dynamic_leveling: true, static_leveling: true, static_threshold: 100 }
    }
}

impl Default for Suspension {
    fn default() -> Self {
        Self {
            support: SuspensionSupport::None,
            erase_for_read: Nanos::from_us(700),
            erase_for_program: Nanos::from_us(700),
            program_for_read: Nanos::from_us(100),
            suspend_erase: Nanos::from_us(700),
            suspend_program: Nanos::from_us(100),
            interruptions_max: 8,
        }
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self {
            channels: 8,
            width_bytes: 1,
            rate_mts: 333,
            chips_per_channel: 4,
            scheduler: Scheduler::OutOfOrder,
            order: BusOrder::DataFirst,
        }
    }
}

impl Default for Flash {
    fn default() -> Self {
        Self {
            technology: FlashTechnology::Mlc,
            read_latency: [Nanos::from_us(75); 4],
            program_latency: [Nanos::from_us(750); 4],
            erase_latency: Nanos::from_us(3_800),
            pe_cycles_limit: 10_000,
            one_shot: false,
            independent_plane_reads: false,
            cache_read: false,
            cache_program: false,
            cache_busy: Nanos::from_us(3),
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 2048,
            pages_per_block: 256,
            page_bytes: 8192,
            page_metadata_bytes: 448,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_drive_is_mqsims_example_of_512_gib() {
        assert_eq!(DeviceConfig::default().geometry().raw_capacity(), Bytes::from_gib(512));
    }
}
