use super::*;
use crate::config::GcPolicy;

fn complaints(text: &str) -> Vec<String> {
    let faults = Document::parse(text).err().unwrap_or_default();
    faults.0.iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_file_is_the_default_drive_and_what_is_written_reads_back() {
    assert_eq!(Document::parse("").unwrap().config(), &DeviceConfig::default());
    let mut config = DeviceConfig { name: "a \"quoted\" name".to_owned(), ..Default::default() };
    config.gc.threshold = 0.1 + 0.2;
    config.gc.policy = GcPolicy::RandomPlusPlus;
    config.run.seed = i64::MAX as u64;
    config.energy.dram_read_nj_per_byte = 1e-7;
    config.compat.wrap_request_size = true;
    let text = write(&config);
    assert_eq!(Document::parse(&text).unwrap().config(), &config);
}

#[test]
fn all_faults_are_reported_at_once_with_lines_and_remedies() {
    let text = "nme = 1\n[gc]\ntreshold = 0.1\npolicy = \"gredy\"\nhard_threshold = 2\n\n[bus]\n\
                channels = \"many\"\nchannels = 4\n[flush]\n[run]\nseed = -1\n";
    assert_eq!(
        complaints(text),
        [
            "line 1: nme = 1: no such key; did you mean name?",
            "line 3: gc.treshold = 0.1: no such key; did you mean gc.threshold?",
            "line 4: gc.policy = \"gredy\": must be a name: greedy, d-choices, random, random+, \
             random++, fifo, cost-benefit, windowed-greedy, remaining-life; \
             did you mean greedy?",
            "line 5: gc.hard_threshold = 2: must be a number: between 0 and 1, both excluded",
            "line 8: bus.channels = \"many\": must be a whole number: 1 to 1024",
            "line 9: channels: stands twice, first in line 8; keep one",
            "line 10: flush = {…}: no such key; did you mean flash?",
            "line 12: run.seed = -1: must be a whole number: 0 to 9223372036854775807",
        ]
    );
}

#[test]
fn a_combination_that_cannot_be_names_its_line() {
    let complaints = complaints("[mapping]\noverprovisioning = 0\n");
    assert!(
        complaints[0].starts_with("line 2: mapping.overprovisioning = 0.0: leaves"),
        "{complaints:?}"
    );
}

#[test]
fn broken_toml_gives_an_error_and_a_line() {
    for text in ["[gc", "[gc]\nthreshold = ", "a = [[[[", "\u{0}", "gc = 3", "[[gc]]", "= 4"] {
        assert!(!complaints(text).is_empty(), "{text:?}");
    }
    assert!(complaints(&" ".repeat(MAX_BYTES + 1))[0].contains("at most"));
}

#[test]
fn a_base_gives_what_is_not_said() {
    let document = Document::parse("base = \"intel-750\"\n[bus]\nchannels = 16\n").unwrap();
    assert_eq!(document.config().bus.channels, 16);
    assert_eq!(document.config().bus.chips_per_channel, 5);
    assert_eq!(complaints("base = \"intel-75\"").len(), 1);
}

#[test]
fn setting_a_value_keeps_comments_and_order() {
    let text =
        "# my drive\nname = \"x\" # short\n\n[gc] # collection\nthreshold = 0.05 # soft\n# end\n";
    let document = Document::parse(text).unwrap();
    let changed =
        document.with("gc.threshold", "0.1").unwrap().with("Flash_Channel_Count", "4").unwrap();
    assert_eq!(changed.config().gc.threshold, 0.1);
    assert_eq!(changed.config().bus.channels, 4);
    assert!(changed.text().contains("threshold = 0.1 # soft"), "{}", changed.text());
    for comment in ["# my drive", "# short", "# collection", "# end"] {
        assert!(changed.text().contains(comment), "{}", changed.text());
    }
    assert!(document.with("gc.threshold", "7").is_err());
}

/// Each of these took seconds when every unknown key was compared with every name.
#[test]
fn large_nonsense_is_refused_at_once() {
    let long = format!("{} = 1\n", "x".repeat(200_000));
    let many: String = (0..15_000).map(|n| format!("gc.tresh{n} = 1\n")).collect();
    let started = std::time::Instant::now();
    assert_eq!(complaints(&long).len(), 1);
    let faults = Document::parse(&many).expect_err("nonsense");
    assert_eq!((faults.0.len(), faults.count()), (MAX_FAULTS + 1, 15_000));
    assert!(faults.to_string().ends_with("and 14900 more faults"), "{faults}");
    // A hundredth of it in release; the bound is for a busy machine without optimisation.
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn sizes_and_times_may_be_texts_with_a_unit() {
    let text = "[cache]\ncapacity_bytes = \"1.5 GiB\"\n[mapping]\ncmt_capacity_bytes = \"64 MB\"\n\
                [flash]\npage_bytes = \"16K\"\nblock_erase_latency_ns = \"3.5ms\"\n";
    let document = Document::parse(text).unwrap();
    let config = document.config();
    assert_eq!((config.cache.capacity.0, config.mapping.cmt_capacity.0), (1_536 << 20, 64_000_000));
    assert_eq!((config.flash.page_bytes, config.flash.erase_latency.0), (16_384, 3_500_000));
    // What is set anew is written as a number; the other texts stay.
    let edited = document.with("cache.capacity_bytes", "2GiB").unwrap();
    assert!(edited.text().contains("capacity_bytes = 2147483648\n"), "{}", edited.text());
    assert!(edited.text().contains("page_bytes = \"16K\""), "{}", edited.text());
    let wrong = complaints(
        "[cache]\ncapacity_bytes = \"0.3 B\"\n[flash]\npage_bytes = \"4 Kib\"\n\
         pages_per_block = \"256\"\n[bus]\nchannels = \"1K\"\n",
    );
    let heads = ["cache.capacity_bytes = \"0.3 B\"", "flash.page_bytes = \"4 Kib\""];
    let counts = ["flash.pages_per_block = \"256\"", "bus.channels = \"1K\""];
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    for (fault, head) in wrong.iter().zip(heads.iter().chain(&counts)) {
        assert!(fault.contains(head), "{fault}");
    }
    assert!(wrong[0].ends_with("B, or a text such as \"64 MiB\" or \"1 GB\""), "{}", wrong[0]);
}
