//! What MQSim's format cannot say, carried by its files: the round trip of every parameter, files
//! that were edited, and annotations that are broken.

use proptest::prelude::*;
use proptest::sample::Index;
use ssdtune_model::catalogue::{self, Legal, Parameter, Value};
use ssdtune_model::config::GcUnit;
use ssdtune_model::document::{self, Document};
use ssdtune_model::{DeviceConfig, presets};
use ssdtune_mqsim::{read_device, write_device};

/// To XML and back; `None` if the drive is unsound or MQSim has no word for it.
fn through_xml(config: &DeviceConfig) -> Option<DeviceConfig> {
    config.check().ok()?;
    let xml = write_device(config).ok()?.value;
    // A comment of XML may not hold two hyphens, and ends at the first of them.
    let comment = xml.split("<!--").nth(1).and_then(|rest| rest.split("-->").next()).unwrap();
    assert!(!comment.contains("--") && comment.is_ascii(), "{comment}");
    let back = read_device(&xml).unwrap_or_else(|faults| panic!("{faults}\n{xml}"));
    assert_eq!(back.notes, [""; 0]);
    Some(back.value)
}

/// Values of a parameter worth trying: those of searches, and the first and last legal ones.
fn values(row: &Parameter) -> Vec<Value> {
    let mut values = row.commodity.values(&row.legal);
    values.extend(row.what_if.values(&row.legal));
    match row.legal {
        Legal::Ints { min, max, step } => {
            let default = match row.default_value() {
                Value::Int(default) => default,
                _ => min,
            };
            // Sizes of a page and of a cache, too.
            let sizes = [4_096, 1 << 20];
            let near = [min, max, default + step, default / 2];
            values.extend(near.into_iter().chain(sizes).map(Value::Int));
        }
        Legal::Reals { min, max, .. } => {
            let at = |share: f64| min + (max - min) * share;
            values.extend([0.0, 1e-9, 0.1 + 0.2, 0.25, 1.0].map(at).map(Value::Real));
        }
        Legal::Bools => values.extend([false, true].map(Value::Bool)),
        Legal::Names(_) => values.extend(row.legal.names().map(Value::Name)),
    }
    values.retain(|value| row.legal.allows(*value));
    values
}

/// For every row of the catalogue some value other than the preset's is kept, or there is one only.
#[test]
fn every_parameter_survives_the_way_to_xml_and_back() {
    for row in catalogue::parameters().filter(|row| !row.is_constant()) {
        let mut kept = 0;
        let plain = presets::load("intel-750").unwrap();
        let mut superblocks = plain.clone();
        superblocks.gc.unit = GcUnit::Die;
        for config in [plain, superblocks] {
            for value in values(row) {
                let mut changed = config.clone();
                row.set(&mut changed, value).unwrap();
                if let Some(back) = through_xml(&changed) {
                    assert_eq!(back, changed, "{} = {value}", row.key);
                    kept += usize::from(row.get(&config) != value);
                }
            }
        }
        assert!(kept > 0, "{}: no value could be tried", row.key);
    }
}

#[test]
fn every_preset_comes_back_as_the_same_toml() {
    for name in presets::names() {
        let toml = document::write(&presets::load(name).unwrap());
        let config = Document::parse(&toml).unwrap().config().clone();
        assert_eq!(document::write(&through_xml(&config).unwrap()), toml, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    #[test]
    fn many_changes_at_once_and_any_name_survive(
        name in ".{0,12}",
        hyphens in 0_usize..5,
        changes in prop::collection::vec(any::<(Index, Index)>(), 0..20),
    ) {
        let rows = catalogue::parameters().filter(|row| !row.is_constant());
        let rows: Vec<&Parameter> = rows.collect();
        let mut config = presets::load("intel-750").unwrap();
        config.name = name.clone() + &"-".repeat(hyphens) + ">\u{e9}\n\"\\" + &name;
        for (row, value) in &changes {
            let row = row.get(&rows);
            let values = values(row);
            let mut changed = config.clone();
            row.set(&mut changed, *value.get(&values)).unwrap();
            if changed.check().is_ok() && write_device(&changed).is_ok() {
                config = changed;
            }
        }
        prop_assert_eq!(through_xml(&config), Some(config));
    }
}

/// The file of a preset, and the line of the first row that begins so.
fn file_and_line(row: &str) -> (String, usize) {
    let xml = write_device(&presets::load("intel-750").unwrap()).unwrap().value;
    let line = xml.lines().position(|line| line.starts_with(row)).unwrap() + 1;
    (xml, line)
}

#[test]
fn elements_win_for_what_mqsim_can_say() {
    let (xml, _) = file_and_line("mode = ");
    let edited = xml
        .replace("<Flash_Channel_Count>12<", "<Flash_Channel_Count>16<")
        .replace("mode = \"read-write\"", "mode = \"write\"");
    let read = read_device(&edited).unwrap().value;
    let mut expected = presets::load("intel-750").unwrap();
    expected.bus.channels = 16;
    expected.cache.mode = ssdtune_model::config::CacheMode::Write;
    assert_eq!(read, expected);
    // What a tag says has no place in the annotation.
    let (xml, line) = file_and_line("[gc]");
    let doubled = xml.replace("\n[gc]\n", "\n[gc]\nthreshold = 0.2\n");
    assert_eq!(
        read_device(&doubled).unwrap_err().to_string(),
        format!(
            "line {}: gc.threshold: <GC_Exec_Threshold> says it, for MQSim too: set it there, \
             remove this line",
            line + 1
        )
    );
}

#[test]
fn a_broken_annotation_is_refused_with_its_line() {
    let (xml, line) = file_and_line("mode = ");
    let faults = |text: String| read_device(&text).unwrap_err().to_string();
    let wrong = faults(xml.replace("mode = \"read-write\"", "mode = \"read-wite\"\nmood = 1"));
    let expected = format!("line {line}: cache.mode = \"read-wite\": must be a name:");
    assert!(wrong.starts_with(&expected), "{wrong}");
    assert!(wrong.contains(&format!("line {}: cache.mood = 1: no such key", line + 1)), "{wrong}");
    let cut = faults(xml.replace("mode = \"read-write\"", "mode = \"read"));
    assert!(cut.starts_with(&format!("line {line}: not TOML")), "{cut}");
    let later = faults(xml.replace("ssdtune:1", "ssdtune:2"));
    assert!(later.starts_with("line 2: a comment for ssdtune whose first line is ssdtune:2"));
    let twice = faults(xml.clone() + "<!--\n\nssdtune:1\n-->");
    assert!(twice.contains("a second comment that begins with ssdtune: (the first is in line 2)"));
    // A conflict between an element and the annotation names the line of its key.
    let small = faults(xml.replace("Capacity>838860800<", "Capacity>1<"));
    assert!(small.contains("cache.capacity_bytes = 1: less than one page"), "{small}");
    // Without the comment it is a file of MQSim's, and one that is cut short is none at all.
    let (start, end) = (xml.find("<!--").unwrap(), xml.find("-->").unwrap() + 3);
    let plain = read_device(&(xml[..start].to_owned() + &xml[end..])).unwrap();
    assert_eq!(plain.value.compat, ssdtune_model::config::Compat::MQSIM);
    assert!(plain.notes[0].contains("cache.mode is write, which"), "{:?}", plain.notes);
    assert!(read_device(&xml[..end - 1]).is_err());
    let mut other = xml;
    other.replace_range(start..end, "<!-- made for ssdtune: the best of ten -->");
    assert_eq!(read_device(&other).unwrap(), plain);
}
