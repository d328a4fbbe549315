//! `ssdtune config …` from end to end: verdicts, conversion, differences, parameters.

use crate::support::{parse, root, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use ssdtune_model::{presets, testing::shared};
use std::path::PathBuf;

fn json(arguments: &[&str]) -> Value {
    parse(&ssdtune().args(arguments).arg("--json").assert())
}

fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    std::fs::write(&path, text).expect("a file");
    (directory, path)
}

#[test]
fn check_prints_the_ledger_of_every_preset() {
    let names: Vec<&str> = presets::names().collect();
    ssdtune().args(["config", "check"]).args(&names).assert().success().stderr("");
    let report = json(&["config", "check", "intel-750"]);
    assert_eq!(report[0]["ledger"]["raw_bytes"], 480_u64 << 30);
    assert_eq!(report[0]["memory"]["drive_dram_bytes"], 1056 << 20);
    assert_eq!(report[0]["advice"].as_array().map(Vec::len), Some(0));
}

#[test]
fn check_names_every_fault_with_file_and_line_and_ends_with_3() {
    let (_directory, path) =
        file("bad.toml", "[gc]\ntreshold = 0.1\npolicy = \"gredy\"\n[bus]\nchannels = 0\n");
    let name = path.to_string_lossy();
    ssdtune().args(["config", "check", &name, "intel-750"]).assert().code(3).stdout(
        predicate::str::contains(format!("{name}:2: gc.treshold = 0.1"))
            .and(predicate::str::contains(format!("{name}:3: gc.policy")))
            .and(predicate::str::contains(format!(
                "{name}:5: bus.channels = 0: must be a whole number: 1 to 1024"
            )))
            .and(predicate::str::contains("intel-750: sound")),
    );
    let report = json(&["config", "check", &name]);
    assert_eq!(report[0]["faults"].as_array().map(Vec::len), Some(3));
    assert_eq!(report[0]["faults"][0]["nearest"], "gc.threshold");
    // Other commands print the faults on standard error.
    for command in ["show", "convert"] {
        let bad = ssdtune().args(["config", command, &name]).assert().code(3).stdout("");
        bad.stderr(predicate::str::contains("did you mean gc.threshold?"));
    }
}

#[test]
fn check_refuses_hostile_files() {
    for (name, text, complaint) in [
        ("bomb.xml", "<!DOCTYPE a [<!ENTITY b \"b\">]><a>&b;</a>", "document types are not read"),
        ("cut.xml", "<Execution_Parameter_Set><Device_Parameter_Set>", "ends inside"),
        ("binary.toml", "\u{1}\u{2}", "not TOML"),
        ("huge.toml", &format!("name = \"{}\"", "x".repeat(9 << 20)), "not a configuration"),
        ("other.xml", "<html></html>", "the root element must be <Execution_Parameter_Set>"),
        (
            "load.xml",
            "<MQSim_IO_Scenarios><IO_Scnario/></MQSim_IO_Scenarios>",
            "did you mean IO_Scenario?",
        ),
    ] {
        let (_directory, path) = file(name, text);
        let check = ssdtune().args(["config", "check"]).arg(path).assert().code(3);
        check.stdout(predicate::str::contains(complaint));
    }
    ssdtune().args(["config", "show", "/"]).assert().code(3);
}

#[test]
fn check_judges_constraints() {
    let judge = |device: &str| {
        let mut command = ssdtune();
        command.args(["config", "check", device, "--constraints"]);
        command.arg("configs/constraints/nvme-mlc-512gb.toml").assert()
    };
    judge("intel-750").success();
    judge("samsung-850-pro")
        .code(1)
        .stdout(predicate::str::contains("interface: sata, wanted nvme"));
}

#[test]
fn convert_goes_to_xml_and_back_and_edits_toml_in_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let (xml, toml) = (directory.path().join("a.xml"), directory.path().join("a.toml"));
    let convert = |from: &str, to: &PathBuf| {
        ssdtune().args(["config", "convert", from, "-o"]).arg(to).assert().success();
    };
    convert("mqsim-default", &xml);
    convert(&xml.to_string_lossy(), &toml);
    assert_eq!(
        json(&["config", "diff", &xml.to_string_lossy(), &toml.to_string_lossy()]),
        Value::Array(vec![])
    );
    assert_eq!(
        json(&["config", "diff", "mqsim-default", &toml.to_string_lossy()]),
        Value::Array(vec![])
    );
    // A file of MQSim's own, here one whose comment is taken away, has every switch on.
    let text = std::fs::read_to_string(&xml).expect("a file");
    let (head, rest) = text.split_once("<!--").expect("a comment");
    let plain = head.to_owned() + rest.split_once("-->").expect("its end").1;
    std::fs::write(&xml, plain).expect("a file");
    let switches = json(&["config", "diff", "mqsim-default", &xml.to_string_lossy()]);
    let keys = switches.as_array().expect("a list").iter().map(|change| change["key"].as_str());
    assert!(
        keys.clone().all(|key| key.is_some_and(|key| key.starts_with("compat."))),
        "{switches}"
    );
    let all = json(&["config", "params", "compat"]);
    assert_eq!(Some(keys.count()), all.as_array().map(Vec::len));

    let edit =
        ["config", "convert", "intel-750", "--to", "toml", "--set", "Flash_Channel_Count=16"];
    let text = ssdtune().args(edit).assert().success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    let original = presets::text("intel-750").expect("a preset");
    let changed: Vec<_> = text.lines().zip(original.lines()).filter(|(a, b)| a != b).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].0.starts_with("channels = 16 ") && changed[0].0.ends_with("# [A]"));
}

#[test]
fn convert_refuses_what_mqsim_cannot_say() {
    let qlc = ["config", "convert", "intel-750", "--set", "flash.technology=qlc"];
    ssdtune()
        .args(qlc)
        .assert()
        .code(1)
        .stderr(predicate::str::contains("flash.technology = qlc: MQSim has nothing"));
}

#[test]
fn diff_tells_what_changed_and_what_it_means() {
    let changes = json(&["config", "diff", "intel-750", "intel-750", "--set", "bus.channels=16"]);
    assert_eq!(changes[0]["key"], "bus.channels");
    assert_eq!((&changes[0]["first"], &changes[0]["second"]), (&12.into(), &16.into()));
    assert_eq!(changes[0]["meaning"], "Flash channels.");
    ssdtune().args(["config", "diff", "haml", "haml"]).assert().success().stdout("no difference\n");
}

#[test]
fn show_and_params_speak_json() {
    assert_eq!(json(&["config", "show", "haml"])["flash"]["page_bytes"], 8192);
    assert_eq!(json(&["config", "show"]).as_array().map(Vec::len), Some(presets::names().count()));
    let rows = json(&["config", "params", "Channel_Transfer_Rate"]);
    assert_eq!(rows[0]["what_if"].as_array().map(Vec::len), Some(13));
}

#[test]
fn the_written_parameter_page_is_the_committed_one() {
    let committed = std::fs::read(root().join("docs/parameters.md")).expect("a page");
    ssdtune().args(["config", "params", "--markdown"]).assert().stdout(committed);
}

#[test]
fn reference_files_check_from_the_command_line() {
    for path in ["reference/mqsim/ssd/f_2_part.xml", "reference/mqsim/workload/f_2_part.xml"] {
        let Some(path) = shared(path) else { return };
        ssdtune().args(["config", "check"]).arg(path).assert().success();
    }
}
