//! MQSim's files read, written and read again: the recorded ones, the presets, and wrong ones.

use ssdtune_model::config::{Compat, FlashTechnology, GcPolicy};
use ssdtune_model::document::{self, Document};
use ssdtune_model::source::Format;
use ssdtune_model::testing::shared;
use ssdtune_model::{DeviceConfig, presets};
use ssdtune_mqsim::scenario::{Pace, Source};
use ssdtune_mqsim::{
    load, load_as_mqsim, read_device, read_workload, write_device, write_workload,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files with this ending among the cases of the repository, in their folder `folder`, and in
/// the whole battery where it is at hand.
fn recorded(folder: &str, end: &str) -> Vec<PathBuf> {
    let own = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agreement"));
    let folders = [
        Some(own.join(folder)),
        shared(&format!("reference/mqsim/{folder}")),
        shared("reference/mqsim/speed"),
    ];
    let entries = folders.into_iter().flatten().flat_map(|folder| folder.read_dir().unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let is_speed = path.parent().is_some_and(|folder| folder.ends_with("speed"));
        let end = if is_speed { end } else { ".xml" };
        path.to_string_lossy().ends_with(end)
    });
    files.sort();
    assert!(files.len() >= 12);
    files
}

/// The names of all elements of a file.
fn tags(text: &str) -> BTreeSet<&str> {
    let starts = text.split('<').skip(1).map(|rest| rest.split(['>', '/']).next().unwrap());
    starts.filter(|name| !name.is_empty() && !name.starts_with(['?', '!'])).collect()
}

#[test]
fn every_reference_drive_survives_a_round_trip() {
    for file in recorded("ssd", ".ssd.xml") {
        let text = std::fs::read_to_string(&file).unwrap();
        let read = read_device(&text).unwrap_or_else(|f| panic!("{}:\n{f}", file.display()));
        let [note] = read.notes.as_slice() else { panic!("{:?}", read.notes) };
        assert!(note.contains("every switch of [compat] is on"), "{note}");
        assert_eq!(read.value.compat, Compat::MQSIM);
        let written = write_device(&read.value).unwrap();
        assert_eq!(written.notes, [""; 0]);
        assert_eq!(tags(&written.value), tags(&text), "{}", file.display());
        let again = read_device(&written.value).unwrap();
        assert_eq!((again.value, again.notes), (read.value.clone(), vec![]), "{}", file.display());
        let toml = document::write(&read.value);
        assert_eq!(Document::parse(&toml).unwrap().config(), &read.value);
    }
}

#[test]
fn every_reference_workload_survives_a_round_trip_and_fits_its_drive() {
    for file in recorded("workload", ".workload.xml") {
        let text = std::fs::read_to_string(&file).unwrap();
        let read = read_workload(&text).unwrap_or_else(|f| panic!("{}:\n{f}", file.display()));
        let written = write_workload(&read.value);
        assert_eq!(tags(&written), tags(&text), "{}", file.display());
        assert_eq!(read_workload(&written).unwrap(), read, "{}", file.display());
        let path = file.to_string_lossy();
        let drive = path.replace("/workload/", "/ssd/").replace(".workload.xml", ".ssd.xml");
        let drive = read_device(&std::fs::read_to_string(drive).unwrap()).unwrap().value;
        for scenario in &read.value {
            scenario.check(&drive.geometry()).unwrap_or_else(|f| panic!("{}: {f}", file.display()));
        }
    }
}

#[test]
fn every_preset_that_mqsim_can_express_survives_a_round_trip() {
    for name in presets::names() {
        let config = presets::load(name).unwrap();
        let written = write_device(&config).unwrap();
        let read = read_device(&written.value).unwrap();
        assert_eq!(read.value, config, "{name}");
        assert_eq!(read.notes, [""; 0], "{name}");
    }
}

#[test]
fn a_drive_is_loaded_from_xml_from_toml_and_by_the_name_of_a_preset() {
    let config = presets::load("mqsim-default").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let xml = write("a.toml", &write_device(&config).unwrap().value);
    let toml = write("b.xml", &document::write(&config));
    let loaded = load(&xml, &[]).unwrap();
    assert_eq!((loaded.format, &loaded.config), (Format::Foreign, &config));
    assert!(loaded.stated.contains(&"bus.channels") && loaded.notes.is_empty());
    // A pair is run as MQSim would.
    let plain = load_as_mqsim(&xml, &[]).unwrap();
    assert_eq!((plain.config.name.as_str(), plain.config.compat), ("a", Compat::MQSIM));
    assert!(plain.notes[0].contains("is not obeyed"), "{:?}", plain.notes);
    let theirs = load(&write("theirs.xml", SMALL), &[]).unwrap();
    assert_eq!((theirs.config.name.as_str(), theirs.config.compat), ("theirs", Compat::MQSIM));
    assert_eq!(load(&toml, &[]).unwrap().format, Format::Toml);
    assert_eq!(load("intel-750", &[]).unwrap().format, Format::Preset);
    let wrong = load(&write("c", "<MQSim_IO_Scenarios/>"), &[]).unwrap_err().to_string();
    assert!(wrong.contains("c:1: MQSim_IO_Scenarios: the root element must be"), "{wrong}");
}

const SMALL: &str = "<Execution_Parameter_Set>\n<Device_Parameter_Set>\n<Seed>7</Seed>\n\
    <Flash_Parameter_Set>\n<Block_PR_Cycles_Limit>123</Block_PR_Cycles_Limit>\n\
    </Flash_Parameter_Set>\n</Device_Parameter_Set>\n</Execution_Parameter_Set>\n";

#[test]
fn absent_tags_get_what_mqsim_gives_them_and_spellings_of_forks_are_understood() {
    let read = read_device(SMALL).unwrap();
    assert_eq!(read.value.run.seed, 7);
    assert_eq!(read.value.flash.pe_cycles_limit, 123);
    // Compiled-in values that differ from the shipped file.
    assert!(read.value.run.preconditioned && read.value.gc.preemptible);
    assert_eq!(read.value.bus.rate_mts, 300);
    assert_eq!(read.value.cache.capacity.0, 512 << 20);
    assert_eq!(read.value.flash.page_metadata_bytes, 1872);
    assert!(read.notes[1].contains("Channel_Transfer_Rate = 300"), "{:?}", read.notes);
}

fn complaints(change: impl Fn(&str) -> String) -> Vec<String> {
    let faults = read_device(&change(SMALL)).err().unwrap_or_default();
    faults.0.iter().map(ToString::to_string).collect()
}

#[test]
fn wrong_drives_name_every_fault_with_its_line() {
    let broken = |text: &str| {
        let seed = "<Sed>1</Sed><CMT_Capacity>-1</CMT_Capacity>\
                    <Page_Capacity>1</Page_Capacity><Seed>seven";
        text.replace("<Seed>7", seed)
            .replace("</Flash_P", "<Flash_Technology>QLC</Flash_Technology></Flash_P")
    };
    let faults = complaints(broken);
    assert_eq!(faults.len(), 5, "{faults:#?}");
    assert!(faults.contains(&"line 3: Sed = 1: no such key; did you mean Seed?".to_owned()));
    assert!(faults.contains(&"line 3: Page_Capacity: belongs into Flash_Parameter_Set".to_owned()));
    let complaint =
        "line 6: Flash_Technology = QLC: must be a name: SLC, MLC, TLC; did you mean SLC?";
    assert!(faults.contains(&complaint.to_owned()), "{faults:#?}");
    let twice = |text: &str| text.replace("<Seed>7</Seed>", "<Seed>7</Seed>\n<Seed>8</Seed>");
    assert_eq!(complaints(twice), ["line 4: Seed: stands twice, first in line 3; keep one"]);
    let spelt = |text: &str| {
        text.replace(
            "<Seed>7</Seed>",
            "<Preferred_suspend_erase_time_for_read>1</Preferred_suspend_erase_time_for_read>\
             <Prefered_suspend_erase_time_for_read>2</Prefered_suspend_erase_time_for_read>",
        )
    };
    assert!(complaints(spelt)[0].contains("another spelling of it has another value"));
    let simple = |text: &str| {
        text.replace("<Seed>7</Seed>", "<Caching_Mechanism>SIMPLE</Caching_Mechanism>")
    };
    assert_eq!(
        complaints(simple),
        ["line 3: Caching_Mechanism = SIMPLE: must be a name: ADVANCED"]
    );
    assert!(read_device("<Execution_Parameter_Set/>").is_err());
    assert!(read_device("<MQSim_IO_Scenarios/>").is_err());
}

#[test]
fn what_mqsim_has_no_word_for_is_refused_and_what_xml_cannot_say_is_noted() {
    let mut config = DeviceConfig::default();
    config.gc.policy = GcPolicy::CostBenefit;
    config.flash.technology = FlashTechnology::Qlc;
    config.host.queue_depth = 65_536;
    config.cache.capacity.0 = 1 << 33;
    let faults = write_device(&config).unwrap_err();
    let keys: Vec<&str> = faults.0.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(keys, ["host.queue_depth", "cache.capacity_bytes", "gc.policy", "flash.technology"]);
    let mut config = DeviceConfig::default();
    config.energy.flash_idle_mw = 5.0;
    let notes = write_device(&config).unwrap().notes;
    assert!(notes[0].starts_with("energy.flash_idle_mw = 5.0"), "{notes:?}");
}

fn flow(inside: &str) -> String {
    format!(
        "<MQSim_IO_Scenarios><IO_Scenario>\n<IO_Flow_Parameter_Set_Synthetic>\n\
         <Channel_IDs>1, 0,1</Channel_IDs><Chip_IDs>0</Chip_IDs>\
         <Die_IDs>0</Die_IDs><Plane_IDs>0</Plane_IDs>\
         <Read_Percentage>50</Read_Percentage>\
         <Average_Request_Size>8</Average_Request_Size>\n{inside}\n\
         </IO_Flow_Parameter_Set_Synthetic></IO_Scenario></MQSim_IO_Scenarios>"
    )
}

#[test]
fn a_generator_is_read_with_its_notes_and_must_be_able_to_start_and_stop() {
    let depth = "<Average_No_of_Reqs_in_Queue>4</Average_No_of_Reqs_in_Queue>";
    let stop = "<Stop_Time>1000</Stop_Time><Intensity>32768</Intensity>";
    let read = read_workload(&flow(&format!("{depth}{stop}"))).unwrap();
    let only = &read.value[0].flows[0];
    assert_eq!(only.channels, [0, 1]);
    let Source::Synthetic(generator) = &only.source else { panic!("not a generator") };
    assert_eq!((generator.pace, generator.queue_depth), (Pace::QueueDepth, 4));
    assert_eq!(read.notes.len(), 1);

    let faults = read_workload(&flow("<Stop_Tme>1</Stop_Tme><Seed>x</Seed>")).unwrap_err();
    let text = faults.to_string();
    for part in
        ["did you mean Stop_Time?", "Seed = x", "say how deep", "say when the generator stops"]
    {
        assert!(text.contains(part), "{text}");
    }
    let geometry = DeviceConfig::default().geometry();
    let mut scenario = read.value[0].clone();
    scenario.flows[0].planes = vec![0, 7];
    let text = scenario.check(&geometry).unwrap_err().to_string();
    assert_eq!(text, "flow 1: Plane_IDs = 7: the drive has only 2, numbered from 0");
}

/// MQSim has words for all of it, and writing them down loses nothing but the mode of the cache.
#[test]
fn a_drive_as_mqsim_has_it_can_be_told_in_its_words() {
    let mut told = 0;
    for name in presets::names() {
        let drive = presets::load(name).unwrap();
        let other = ssdtune_mqsim::as_mqsim(&drive);
        let Ok(written) = ssdtune_mqsim::write_device(&other) else { continue };
        let notes: Vec<&String> =
            written.notes.iter().filter(|note| !note.starts_with("cache.mode")).collect();
        assert!(notes.is_empty(), "{name}: {notes:?}");
        told += 1;
        let pages =
            if drive.flash.one_shot { drive.flash.technology.page_types().len() } else { 1 };
        let [was, own] = [&drive, &other]
            .map(|drive| drive.flash.technology.mean_ns(&drive.flash.program_latency));
        assert!((own * pages as f64 - was).abs() < pages as f64, "{name}: {own}, was {was}");
    }
    assert!(told > 3, "MQSim knows {told} presets only");
}
