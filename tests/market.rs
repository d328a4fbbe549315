//! What `ssdtune search` promises in its default space, where drives are made of parts that can be
//! bought: capacity for the host, prices, fronts, and errors that say what is wrong.

use crate::support::{self, ssdtune};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// A search of a second or two for a drive that is sold.
fn search(more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["search", "--device", "micron-7450-max-800gb", "--target", "database"]);
    command.args(["--others", "none", "--requests", "500", "--prefix", "100", "--no-db", "-q"]);
    command.args(more);
    command
}

fn found(more: &[&str]) -> Value {
    support::document(&mut search(more))
}

/// Bytes that the host sees of a drive.
fn usable(toml: &Path) -> f64 {
    let shown = support::document(ssdtune().args(["config", "show"]).arg(toml));
    let of = |part: &str, key: &str| shown[part][key].as_f64().unwrap_or_else(|| panic!("{shown}"));
    let flash = ["dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block"];
    let in_chip: f64 = flash.iter().map(|key| of("flash", key)).product();
    let chips = of("bus", "channels") * of("bus", "chips_per_channel");
    chips * in_chip * of("flash", "page_bytes") * (1.0 - of("mapping", "overprovisioning"))
}

fn changes(found: &Value) -> Vec<&str> {
    let rows = found["parameters"].as_array().unwrap();
    rows.iter().map(|row| row["key"].as_str().unwrap()).collect()
}

#[test]
fn a_drive_is_made_of_parts_and_keeps_price_and_capacity() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let found = found(&["--budget", "30", "--out", out.to_str().unwrap()]);
    assert_eq!(found["question"]["space"], "market");
    assert_eq!(found["question"]["initial_state"], "in steady state, 90 % filled");
    assert!(found["grade"].as_f64() > Some(0.0), "{}", found["grade"]);
    // Times of flash come with a part, and no other way.
    let changes = changes(&found);
    assert!(!changes.iter().any(|key| key.contains("latency")), "{changes:?}");
    let [was, own] = [0, 1].map(|of| found["price"][of].as_f64().unwrap());
    assert!(own <= was * 1.1, "{own} {was}");
    for (bill, price) in found["bill"].as_array().unwrap().iter().zip([was, own]) {
        let items = bill.as_array().unwrap().iter();
        let sum: f64 = items.map(|item| item["price"].as_f64().unwrap()).sum();
        assert!((sum - price).abs() < 1e-6, "{bill}");
    }
    let usable = usable(&out.join("recommended.toml"));
    assert!((usable / 800e9 - 1.0).abs() <= 0.101, "{usable}");
    // The verdict is over states of used drives, and has an interval.
    let told = &found["held_out"]["target"]["interval"];
    assert_eq!((&told["states"], &told["windows"]), (&json!(5), &json!(0)), "{told}");
    let told = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(told.contains("## What the parts cost") && told.contains("its parts cost"), "{told}");
}

#[test]
fn answers_do_not_depend_on_threads() {
    let mut one = found(&["--budget", "6", "--threads", "1", "--aim", "latency,price"]);
    let mut two = found(&["--budget", "6", "--threads", "2", "--aim", "latency,price"]);
    for document in [&mut one, &mut two] {
        document["effort"]["seconds"] = Value::Null;
    }
    assert_eq!(one, two);
}

#[test]
fn a_front_has_no_drive_that_another_beats() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let aims = ["--aim", "latency,price,endurance", "--budget", "50", "--out"];
    let found = found(&[&aims[..], &[out.to_str().unwrap(), "--pick", "price=1x"]].concat());
    let front = &found["front"];
    let points = front["points"].as_array().unwrap();
    let gains = |point: &Value| -> Vec<f64> {
        point["gains"].as_array().unwrap().iter().map(|gain| gain.as_f64().unwrap()).collect()
    };
    assert!(points.len() > 2, "{front}");
    for (one, other) in points.iter().flat_map(|one| points.iter().map(move |other| (one, other))) {
        let (a, b) = (gains(one), gains(other));
        let beats = a.iter().zip(&b).all(|(a, b)| a >= b) && a != b;
        assert!(!beats, "{one} beats {other}");
    }
    let progress: Vec<f64> =
        front["progress"].as_array().unwrap().iter().map(|own| own.as_f64().unwrap()).collect();
    assert!(progress.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "{progress:?}");
    assert!(progress.last().unwrap() > &progress[0]);
    // The price is that of the baseline at most, and each drive has a file that can be read.
    let [was, own] = [0, 1].map(|of| found["price"][of].as_f64().unwrap());
    assert!(own <= was, "{own} {was}");
    for place in 1..=points.len() {
        usable(&out.join(format!("front-{place:02}.toml")));
    }
    assert!(!out.join(format!("front-{:02}.toml", points.len() + 1)).exists());
    // With the price as an aim there is no limit on it.
    let dearest = points.iter().map(|point| point["values"][1].as_f64().unwrap());
    assert!(dearest.fold(0.0, f64::max) > 1.1 * was, "{front}");
}

#[test]
fn parts_of_ones_own_can_be_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let parts = directory.path().join("parts.toml");
    // As Z-NAND, but ten times as dense: nothing else can be better for the price.
    let text = "[dream]\nsays = \"a dream\"\nsource = \"none\"\nflash.technology = \"tlc\"\n\
        flash.page_read_latency_lsb_ns = 1000\nflash.page_read_latency_csb_ns = 1000\n\
        flash.page_read_latency_msb_ns = 1000\nflash.page_program_latency_lsb_ns = 9000\n\
        flash.page_program_latency_csb_ns = 9000\nflash.page_program_latency_msb_ns = 9000\n\
        flash.block_erase_latency_ns = 1000000\nflash.pe_cycles_limit = 100000\n\
        flash.one_shot = false\nflash.independent_plane_reads = true\nflash.planes_per_die = 4\n\
        flash.blocks_per_plane = 1024\nflash.pages_per_block = 1024\nflash.page_bytes = 16384\n";
    std::fs::write(&parts, text).unwrap();
    let more = ["--budget", "50", "--parts", parts.to_str().unwrap()];
    let found = found(&more);
    let rows = found["parameters"].as_array().unwrap();
    let part = rows.iter().find(|row| row["key"] == "part").expect("another part");
    assert_eq!(part["recommended"], "dream");
    assert!(!part["settings"].as_array().unwrap().is_empty());
    std::fs::write(&parts, "[dream]\nflash.technolgy = \"tlc\"\n").unwrap();
    let failed = search(&more).assert().code(3);
    failed.stderr(
        predicate::str::contains("parts.toml:2: ")
            .and(predicate::str::contains("did you mean flash.technology?"))
            .and(predicate::str::contains("missing").not()),
    );
}

/// A drive that places by `lifespan` has a grade, and the DRAM of what it remembers is paid for.
#[test]
fn placement_and_victims_are_measured_and_priced() {
    let mut command = ssdtune();
    command.args(["grade", "--device", "micron-7450-max-800gb", "--target", "database", "-q"]);
    command.args(["--others", "none", "--requests", "500", "--no-db"]);
    command.args(["--points", "--max-price", "2x"]);
    let points = "{\"placement.policy\": \"lifespan\"}\n{\"victims\": \"the best of 64\"}\n";
    let done = command.write_stdin(points).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [lifespan, victims] = [0, 1].map(|place| &told[place]);
    assert!(lifespan["grade"].is_number() && victims["grade"].is_number(), "{text}");
    // Gains are logarithms: a dearer drive has a negative one. Firmware costs nothing.
    let gain = |told: &Value, aim: &str| told["gains"][aim].as_f64();
    assert!(gain(lifespan, "price") < Some(-0.005), "{text}");
    assert!(gain(lifespan, "power") < Some(-0.005), "{text}");
    assert_eq!(gain(victims, "price"), Some(0.0), "{text}");
}

#[test]
fn wrong_questions_say_what_is_wrong() {
    for (more, words) in [
        (&["--aim", "latency"][..], "--aim: write two or more"),
        (&["--aim", "latency,latency"], "latency is there twice"),
        (&["--aim", "latency,prise"], "no such aim"),
        (&["--aim", "latency,price", "--algorithm", "random"], "random knows the grade alone"),
        (&["--pick", "knee"], "--aim"),
        (&["--aim", "latency,price", "--pick", "cheap"], "write knee, price=120"),
        (&["--max-price", "cheap"], "write a price, as in 120"),
        (&["--capacity", "1TB", "--usable-capacity", "1TB"], "cannot be used with"),
        (&["--space", "markt"], "write market, autoblox, what-if, or a .toml file"),
        (&["--space", "autoblox", "--parts", "x.toml"], "x.toml"),
    ] {
        search(more).assert().failure().stderr(predicate::str::contains(words));
    }
    // A baseline that costs more than may be spent is refused before anything is measured.
    let dear = search(&["--max-price", "0.5x"]).assert().code(2);
    dear.stderr(
        predicate::str::contains("max_price: ").and(predicate::str::contains("--pick price=")),
    );
}

#[test]
fn a_baseline_whose_dies_nobody_sells_is_told() {
    let found = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["search", "--target", "websearch", "--others", "none"]);
        command.args(["--requests", "300", "--budget", "1", "--prefix", "0", "--no-db"]);
        let document = support::document(command.args(more));
        (document["question"]["baseline"].clone(), document["notes"].to_string())
    };
    let words = "nobody sells such dies";
    let of_ones_own = support::root().join("configs/spaces/market.toml").display().to_string();
    for (more, baseline, is_told) in [
        (&["--device", "intel-750"][..], "intel-750", true),
        (&["--device", "micron-7450-max-800gb"], "micron-7450-max-800gb", false),
        // Where no drive is named it is one that was sold, but in the paper's space the paper's.
        (&[], "intel-750-400gb", false),
        (&["--space", &of_ones_own], "intel-750-400gb", false),
        (&["--space", "autoblox"], "intel-750", false),
    ] {
        let (own, told) = found(more);
        assert_eq!((own, told.contains(words)), (json!(baseline), is_told), "{told}");
    }
}

/// Windows of a long trace have the past that the trace gave them; all else is in use for long.
#[test]
fn long_traces_are_told_from_windows_here_too() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, points) = (directory.path().join("a.ssdt"), directory.path().join("a.points"));
    let mut made = ssdtune();
    made.args(["trace", "generate", "database", "-n", "60000", "-q", "-o"]).arg(&trace);
    made.assert().success();
    let mut sampled = ssdtune();
    sampled.args(["trace", "sample", "-q"]).arg(&trace).arg("-o").arg(&points).assert().success();
    let state = |target: &Path| {
        let mut command = ssdtune();
        command.args(["search", "--device", "micron-7450-max-800gb", "--others", "none"]);
        command.args(["--budget", "1", "--prefix", "0", "--no-db", "-q", "--target"]).arg(target);
        let found = support::document(&mut command);
        let interval = &found["training"]["target"]["interval"]["windows"];
        (found["question"]["initial_state"].clone(), interval.as_u64())
    };
    let (told, windows) = state(&points);
    assert_eq!(told, "footprint written");
    assert!(windows > Some(0), "{windows:?}");
    assert_eq!(state(&trace), (json!("in steady state, 90 % filled"), None));
}

#[test]
fn a_percentile_can_be_the_grade() {
    let found = found(&["--budget", "12", "--grade-latency", "p99"]);
    assert_eq!(found["question"]["latency"], "p99");
    assert_eq!(found["question"]["both_rules"], Value::Null);
    let mean = self::found(&["--budget", "12"]);
    let us =
        |found: &Value| found["training"]["target"]["baseline"]["figures"]["latency_ns"].as_f64();
    assert!(us(&found) > us(&mean), "{found}");
    search(&["--budget", "12", "--grade-latency", "p99"])
        .assert()
        .success()
        .stdout(predicate::str::contains(" p99 latency"));
    search(&["--grade-latency", "p50"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("write mean, p99 or p99.9"));
}

/// The lesser of two speedups is at most the one of the own rules.
#[test]
fn a_robust_grade_holds_under_the_rules_of_mqsim_too() {
    let found = found(&["--budget", "12", "--robust"]);
    assert_eq!(found["question"]["both_rules"], true);
    let notes = found["notes"].to_string();
    assert!(notes.contains("the lesser of two"), "{notes}");
    let target = &found["training"]["target"];
    let figure = |drive: &str, key: &str| target[drive]["figures"][key].as_f64().unwrap();
    let by_own = [
        figure("baseline", "latency_ns") / figure("own", "latency_ns"),
        figure("own", "throughput_bps") / figure("baseline", "throughput_bps"),
    ];
    let told = ["latency", "throughput"].map(|key| target["speedup"][key].as_f64().unwrap());
    assert!(told[0] <= by_own[0] * 1.000_001 && told[1] <= by_own[1] * 1.000_001, "{target}");
}
