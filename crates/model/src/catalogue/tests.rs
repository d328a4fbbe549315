use super::*;
use crate::config::{Compat, GcPolicy};
use std::collections::BTreeSet;

#[test]
fn keys_and_aliases_are_unique_and_stand_in_their_section() {
    let mut seen = BTreeSet::new();
    for section in SECTIONS {
        for row in section.rows {
            assert_eq!(row.path().0, section.name, "{}", row.key);
            assert!(row.meaning.ends_with('.'), "{}", row.key);
            assert!(seen.insert(row.key), "{} stands twice", row.key);
            for alias in row.aliases() {
                assert!(seen.insert(alias), "{alias} stands twice");
            }
        }
    }
}

#[test]
fn every_candidate_is_legal_and_can_be_set_and_read_back() {
    for row in parameters() {
        let default = row.default_value();
        assert!(row.legal.allows(default), "{}: default {default}", row.key);
        let commodity = row.commodity.values(&row.legal);
        let values = commodity.into_iter().chain(row.what_if.values(&row.legal)).chain([default]);
        for value in values {
            let mut config = DeviceConfig::default();
            row.set(&mut config, value).unwrap_or_else(|problem| panic!("{}: {problem}", row.key));
            assert_eq!(row.get(&config), value, "{}", row.key);
            assert_eq!(row.parse(&value.to_string()), Ok(value), "{}", row.key);
        }
    }
}

/// If a field had no row, setting every row to another value would leave it as it was.
#[test]
fn every_field_of_a_configuration_has_a_row() {
    let start = DeviceConfig::default();
    let mut config = start.clone();
    for row in parameters() {
        let other = match (row.legal, row.get(&start)) {
            (Legal::Ints { min, step, .. }, Value::Int(value)) if value == min => {
                Value::Int(min + step)
            }
            (Legal::Ints { min, .. }, _) => Value::Int(min),
            (Legal::Reals { min, max, .. }, Value::Real(value)) => {
                let middle = (min + max) / 2.0;
                Value::Real(if value == middle { (middle + max) / 2.0 } else { middle })
            }
            (Legal::Bools, Value::Bool(value)) => Value::Bool(!value),
            (Legal::Names(names), value) => {
                let other = names.iter().map(|(own, _)| Value::Name(own)).find(|own| *own != value);
                other.unwrap_or(value)
            }
            (legal, value) => panic!("{}: {value} is not of the type of {legal}", row.key),
        };
        row.set(&mut config, other).unwrap();
    }
    let fields = |config: &DeviceConfig| -> Vec<String> {
        format!("{config:#?}").lines().map(|line| line.trim().to_owned()).collect()
    };
    // A value stands after its name, or alone in its line inside a newtype or a list.
    let is_value = |line: &str| {
        let opens = line.ends_with(['{', '[', '(']);
        !opens && (line.contains(": ") || line.starts_with(|c: char| c.is_ascii_digit()))
    };
    let pairs = fields(&start).into_iter().zip(fields(&config));
    let unchanged: Vec<String> = pairs
        .filter(|(before, after)| before == after && is_value(before))
        .map(|(before, _)| before)
        .collect();
    assert_eq!(unchanged, ["name: \"default\","]);
    assert_eq!(config.compat, Compat::MQSIM);
}

#[test]
fn text_sets_values_with_suffixes_tags_and_any_case() {
    let mut config = DeviceConfig::default();
    for (key, text) in [
        ("cache.capacity_bytes", "64MiB"),
        ("Page_Read_Latency_LSB", "60us"),
        ("flash.block_erase_latency_ns", "3_000_000"),
        ("gc.policy", "Cost-Benefit"),
        ("gc.threshold", "0.1"),
        ("Prefered_suspend_erase_time_for_read", "1ms"),
    ] {
        set(&mut config, key, text).unwrap();
    }
    assert_eq!(config.cache.capacity.0, 64 << 20);
    assert_eq!(config.flash.read_latency[0].0, 60_000);
    assert_eq!(config.flash.erase_latency.0, 3_000_000);
    assert_eq!(config.gc.policy, GcPolicy::CostBenefit);
    assert_eq!(config.gc.threshold, 0.1);
    assert_eq!(config.suspension.erase_for_read.0, 1_000_000);
}

#[test]
fn wrong_text_names_what_is_legal_and_the_nearest_name_and_changes_nothing() {
    let mut config = DeviceConfig::default();
    for (key, text, complaint) in [
        ("gc.treshold", "0.1", "did you mean gc.threshold?"),
        ("page_bytes", "4096", "did you mean flash.page_bytes?"),
        ("Block_PE_Cycle_Limit", "1", "did you mean Block_PE_Cycles_Limit?"),
        ("zzzzzzzz", "1", "`ssdtune config params` lists all"),
        ("gc.policy", "gredy", "did you mean greedy?"),
        ("gc.threshold", "1.0", "between 0 and 1, both excluded"),
        ("gc.threshold", "NaN", "between 0 and 1"),
        ("flash.page_bytes", "1000", "512 to 32768 in steps of 512 B"),
        ("bus.channels", "-1", "1 to 1024"),
        ("cache.capacity_bytes", "99999999TiB", "0 to 1099511627776 B"),
        ("gc.copyback", "yes", "true, false"),
        ("flash.memory", "pcm", "flash"),
    ] {
        let fault = set(&mut config, key, text).unwrap_err();
        assert!(fault.to_string().contains(complaint), "{fault}");
        assert!(fault.to_string().starts_with(&format!("{key} = {text}: ")), "{fault}");
    }
    assert_eq!(config, DeviceConfig::default());
}

#[test]
fn conditional_settings_say_which_other_setting_silences_them() {
    let config = DeviceConfig::default();
    let reason = |key| find(key).and_then(|row| row.inert(&config));
    assert_eq!(reason("host.sata_processing_delay_ns"), Some("host.interface is nvme"));
    assert!(reason("flash.page_read_latency_csb_ns").is_some());
    assert!(reason("suspension.program_for_read_ns").is_some());
    assert_eq!(reason("mapping.cmt_capacity_bytes"), None);
    assert!(reason("flash.page_metadata_bytes").is_some());
}

#[test]
fn the_page_of_documentation_is_up_to_date() {
    let committed = include_str!("../../../../docs/parameters.md");
    assert!(committed == markdown(), "run: ssdtune config params --markdown > docs/parameters.md");
}

/// What is passed over without a distance is never nearer than what is found.
#[test]
fn the_nearest_name_is_that_of_the_full_search() {
    let names: Vec<&str> =
        parameters().flat_map(|row| std::iter::once(row.key).chain(row.aliases())).collect();
    let full = |word: &str| {
        let word = word.to_ascii_lowercase();
        let bound = word.chars().count().max(3) / 3;
        let distance = |name: &&str| strsim::damerau_levenshtein(&word, &name.to_ascii_lowercase());
        let nearest = names.iter().min_by_key(|name| distance(name)).copied();
        nearest.filter(|name| distance(name) <= bound)
    };
    let mut found = 0;
    for (index, name) in names.iter().enumerate() {
        let letters: Vec<char> = name.chars().collect();
        let middle = letters.len() / 2;
        let mut words = vec![name.to_uppercase(), name[1..].to_owned(), format!("é{name}")];
        words.push(letters.iter().rev().collect());
        words.push(
            letters.iter().enumerate().map(|(n, c)| if n % 4 == 3 { 'é' } else { *c }).collect(),
        );
        let mut swapped = letters.clone();
        swapped.swap(middle, middle - 1);
        words.push(swapped.into_iter().collect());
        words.push(format!("{}{}", &name[..middle], &names[index / 2][middle.min(3)..]));
        for word in words {
            let closest = closest_name(&word, names.iter().copied());
            assert_eq!(closest, full(&word), "{word}");
            found += usize::from(closest.is_some());
        }
    }
    assert!(found > names.len(), "{found} words are like a name");
}
