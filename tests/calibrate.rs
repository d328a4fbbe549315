//! `ssdtune calibrate` from end to end: points in, a drive and its errors out, wrong input, an
//! interruption that is gone on with.

use crate::support::{Scratch, document, ssdtune};
use assert_cmd::Command;
use predicates::prelude::*;
use std::fs;
use std::path::Path;

/// Made up: reads of 60 us in a drive of many dies. The last rows are a repeat that contradicts
/// nothing, one whose rate and latency do not go together, and another drive's.
const POINTS: &str = "source,drive,op,rwmix_read,bs,iodepth,numjobs,iops,lat_mean_us,p99,notes
rig,Made up,randread,100,4096,1,1,14286,70,,raw
rig,Made up,randread,100,4096,2,1,28369,70.5,,raw
rig,Made up,randread,100,4096,4,1,56180,71.2,,raw
rig,Made up,randread,100,4096,8,1,110345,72.5,,raw
rig,Made up,randread,100,4096,16,1,213333,75,,raw
rig,Made up,randread,100,4096,1,1,14250,70.2,,raw
rig,Made up,randread,100,4096,32,1,213333,75,,raw
rig,Other,randread,100,4096,1,1,10000,100,,raw
";

/// Few and short evaluations, of a drive that is made in milliseconds.
const QUICK: [&str; 10] = [
    "--base",
    "intel-750",
    "--set",
    "mapping.ideal=true",
    "--set",
    "cache.mode=off",
    "--own-structure",
    "--no-profiles",
    "--requests",
    "400",
];

/// The command with the points in a file, for one of their drives.
fn calibrate(scratch: &Scratch, points: &str, drive: &str) -> Command {
    let file = scratch.path("points.csv");
    fs::write(&file, points).unwrap();
    let mut command = ssdtune();
    command.arg("calibrate").arg(file).args(QUICK).args(["--drive", drive]);
    command.arg("--out").arg(scratch.path("drive.toml"));
    command
}

#[test]
fn points_become_a_drive_whose_file_says_how_far_it_is_to_be_trusted() {
    let scratch = Scratch::new();
    let mut command = calibrate(&scratch, POINTS, "Made up");
    command.arg("--report").arg(scratch.path("r.html"));
    let found = document(&mut command);
    let html = fs::read_to_string(scratch.path("r.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("Made up, measured"), "{html}");
    assert!(html.contains("rig randread 4096 B: rate") && html.contains("(little)"));
    assert_eq!(found["fitted"].as_array().unwrap().len(), 4);
    assert_eq!(found["held_out"].as_array().unwrap().len(), 2);
    assert_eq!(found["refused"][0]["reason"], "little");
    // All of both parts, then those of the only family.
    assert_eq!(found["errors"].as_array().unwrap().len(), 4);
    for errors in found["errors"].as_array().unwrap() {
        assert!(errors["mean"].as_f64().unwrap() < 5.0, "{errors}");
        assert!(errors["p99"].is_null());
    }
    assert!(found["noise"][0]["iops"].as_f64().unwrap() < 1.0);
    let text = fs::read_to_string(scratch.path("drive.toml")).unwrap();
    assert!(text.starts_with("# Made up, calibrated by ssdtune "), "{text}");
    assert!(text.contains("# Tested range: randread of 4096 B, 1 to 16 outstanding."), "{text}");
    let mut simulate = ssdtune();
    simulate.args(["simulate", "--device"]).arg(scratch.path("drive.toml"));
    let report = document(simulate.args(["--workload", "ycsb", "--requests", "200"]));
    assert!(report.to_string().contains("Made up"));
}

#[test]
fn people_get_tables_and_the_reasons_of_refused_points() {
    let scratch = Scratch::new();
    let mut command = calibrate(&scratch, POINTS, "Made up");
    let rule = ["--hold-out", "iodepth=4 | bs>4k"];
    let said = command.args(rule).assert().success();
    let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    for part in [
        "5 points fitted, 1 held out (iodepth=4 | bs>4k), 1 refused",
        "rig randread 4096 B",
        "flash.page_read_latency_lsb_ns",
        "outstanding, and depth x jobs 32",
        "(little)",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_code() {
    let scratch = Scratch::new();
    let wrong = |points: &str, more: &[&str], code: i32, word: &str| {
        let mut command = calibrate(&scratch, points, "Made up");
        let said = predicate::str::contains(word.to_owned());
        command.args(more).assert().code(code).stderr(said);
        assert!(!scratch.path("drive.toml").exists());
    };
    wrong(&POINTS.replace("Made up", "Mine"), &[], 2, "the points are of: Mine, Other");
    wrong(POINTS, &["--hold-out", "depth=4"], 2, "\"depth\" is no field");
    wrong(POINTS, &["--hold-out", "bs=4k"], 2, "holds out every point");
    let none = "no point or run of the drive is one where op=randwrite";
    wrong(POINTS, &["--only", "op=randwrite"], 2, none);
    wrong(POINTS, &["--allow", "ext4"], 2, "no reason whose points can be kept");
    wrong(POINTS, &["--allow", "no-load"], 2, "no reason whose points can be kept");
    wrong("hello\n", &[], 3, "fio --output-format=json");
    wrong(&POINTS.replace("14286", "fast"), &[], 3, "line 2: iops is \"fast\"");
    let files = POINTS.replace("raw", "a file on ext4");
    wrong(&files, &[], 3, "7 file-system, as ");
    wrong(&files, &[], 3, "points.csv:2 (randread, 4096 B, 1 x 1): ");
    let mut allowed = calibrate(&scratch, &files, "Made up");
    allowed.args(["--allow", "file-system,little"]).assert().success();
}

#[test]
fn what_has_no_effect_is_said() {
    let scratch = Scratch::new();
    let misspelt = POINTS.replace("p99,notes", "P99_ms,notes");
    let mut command = calibrate(&scratch, &misspelt, "Made up");
    command.args(["--rig", "source=*spdk*", "--rig", "source=rig"]);
    let said = command.args(["--sanitised", "pattern=uniform"]).assert().success();
    let said = said.stderr(predicate::str::contains("columns that are not read: P99_ms"));
    said.stdout(predicate::str::contains("--rig 'source=*spdk*' holds for none of them"))
        .stdout(predicate::str::contains("--sanitised 'pattern=uniform' holds for none of them"))
        .stdout(predicate::str::contains("'source=rig' holds").not());
}

#[test]
fn an_interrupted_calibration_goes_on_where_it_was() {
    let scratch = Scratch::new();
    let journal = scratch.path("fit.jsonl");
    let run = |more: &[&str]| {
        let mut command = calibrate(&scratch, POINTS, "Made up");
        command.args(["--force", "--journal"]).arg(&journal).args(more);
        command
    };
    let whole = document(&mut run(&[]));
    let lines = fs::read_to_string(&journal).unwrap();
    // What a program leaves that was killed: some lines, and half of one.
    fs::write(&journal, &lines[..lines.len() / 2]).unwrap();
    assert_eq!(document(&mut run(&[])), whole);
    assert_eq!(fs::read_to_string(&journal).unwrap(), lines);
    let other = run(&["--seed", "5"]).assert().code(2);
    other.stderr(predicate::str::contains("was begun with other points"));
}

/// Made up: loads at given rates on a drive of two dies, which completes 13,000 requests/s.
const PACED: [(u32, f64, f64, f64); 5] = [
    (500, 1.0, 112.0, 205.0),
    (1_000, 1.0, 118.0, 212.0),
    (2_000, 1.0, 130.0, 225.0),
    (20_000, 0.65, 220.0, 1_900.0),
    (40_000, 0.325, 220.0, 1_900.0),
];

#[test]
fn loads_at_given_rates_become_a_drive_that_collapses_where_the_real_one_did() {
    let scratch = Scratch::new();
    let row = |&(rate, share, read, write): &(u32, f64, f64, f64)| {
        let (load, iops) = (format!("50,4k,8,2,{rate}"), 0.5 * share * f64::from(rate));
        format!("Made up,open-r,{load},{iops},{read}\nMade up,open-w,{load},{iops},{write}\n")
    };
    let head = "drive,op,rwmix_read,bs,iodepth,numjobs,offered_iops,iops,lat_mean_us\n";
    let rows: String = PACED.iter().map(row).collect();
    let mut command = calibrate(&scratch, &format!("{head}{rows}"), "Made up");
    for set in [
        "bus.channels=2",
        "bus.chips_per_channel=1",
        "flash.dies_per_chip=1",
        "flash.planes_per_die=1",
        "flash.blocks_per_plane=32",
        "flash.pages_per_block=32",
        "flash.page_program_latency_lsb_ns=100000",
        "flash.page_program_latency_msb_ns=100000",
        "flash.block_erase_latency_ns=100000",
        "mapping.overprovisioning=0.3",
    ] {
        command.args(["--set", set]);
    }
    let found = document(&mut command);
    let collapse = &found["collapses"][0];
    assert_eq!((&collapse["measured"], &collapse["steps"]), (&20_000.0.into(), &0.into()));
    // 500 and 2,000 are fitted, 1,000 is held out.
    let below: Vec<_> = collapse["reads_below"].as_array().unwrap().iter().collect();
    assert_eq!((&below[0]["points"], &below[1]["points"]), (&2.into(), &1.into()));
    assert!(below[1]["mean"].as_f64().unwrap() < 15.0, "{collapse}");
    // Latencies beyond the collapse are those of queues.
    let beyond = |part: &str| found[part].as_array().unwrap().last().unwrap()["errors"].clone();
    for part in ["fitted", "held_out"] {
        assert!(beyond(part)["mean"].is_null() && beyond(part)["iops"].is_number(), "{found}");
    }
    let text = fs::read_to_string(scratch.path("drive.toml")).unwrap();
    let said = "# Collapse under paced loads of 4096 B: predicted at the load at which it was";
    assert!(text.contains(said) && text.contains("requests/s offered"), "{text}");
}

/// The reads of a Samsung 980 PRO with one job: those that were held out are met, too.
#[test]
fn a_real_drive_is_met_at_points_that_were_held_out() {
    let Some(shared) = std::env::var_os("SSDTUNE_SHARED") else {
        println!("skipped: SSDTUNE_SHARED names no folder with realdrives/points.csv");
        return;
    };
    let points = Path::new(&shared).join("realdrives/points.csv");
    if !points.exists() {
        println!("skipped: {} does not exist", points.display());
        return;
    }
    let own: String = fs::read_to_string(points)
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("source,") || line.starts_with("icpe24/inc_proc_spdk"))
        .filter(|line| line.starts_with("source,") || line.split(',').nth(6) == Some("1"))
        .map(|line| format!("{line}\n"))
        .collect();
    let scratch = Scratch::new();
    let mut command = calibrate(&scratch, &own, "Samsung 980 PRO 1TB");
    for set in [
        "flash.technology=tlc",
        "bus.channels=8",
        "bus.chips_per_channel=8",
        "flash.dies_per_chip=1",
        "bus.order=commands-first",
        "flash.page_bytes=16384",
        "flash.pages_per_block=256",
    ] {
        command.args(["--set", set]);
    }
    let found = document(&mut command);
    let held = &found["errors"][1];
    assert_eq!((held["is_held_out"].as_bool(), held["points"].as_u64()), (Some(true), Some(4)));
    let [mean, iops] = ["mean", "iops"].map(|name| held[name].as_f64().unwrap());
    assert!(mean < 10.0 && iops < 10.0, "{held}");
}

/// What fio would write (json+) of the jobs of a plan: requests of 80 us, and what their bytes take
/// at 2 GB/s, on a drive that takes 64 at once.
fn results_of(jobs: &serde_json::Value) -> String {
    let job = |job: &serde_json::Value| {
        let number = |key: &str| job[key].as_f64().unwrap();
        let (bytes, depth) = (number("block_bytes"), number("iodepth") * number("numjobs"));
        let nanos = (8e4 + bytes / 2.0) * (depth / 64.0_f64).max(1.0);
        let iops = depth / nanos * 1e9;
        serde_json::json!({
            "jobname": job["name"], "groupid": 0, "error": 0,
            "job options": {
                "rw": job["rw"], "bs": format!("{bytes}"), "iodepth": job["iodepth"].to_string(),
                "numjobs": job["numjobs"].to_string(),
            },
            "read": {
                "total_ios": 100_000, "iops": iops, "bw_bytes": iops * bytes,
                "lat_ns": { "mean": nanos, "bins": { format!("{}", nanos as u64): 100_000 } },
            },
        })
    };
    let jobs: Vec<serde_json::Value> = jobs.as_array().unwrap().iter().map(job).collect();
    serde_json::json!({
        "fio version": "fio-3.36",
        "global options": { "filename": "/dev/nvme0n1", "ioengine": "libaio" },
        "jobs": jobs,
    })
    .to_string()
}

#[test]
fn a_plan_is_a_job_file_whose_results_are_points() {
    let scratch = Scratch::new();
    let plan = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["calibrate", "--plan", "--device", "/dev/nvme0n1"]).args(more);
        command
    };
    let said = plan(&[]).assert().success();
    said.stderr(predicate::str::contains("only reads from /dev/nvme0n1: fio --readonly "))
        .stdout(predicate::str::contains("[randread-4k-d1-j1]\nstonewall\nrw=randread\n"))
        .stdout(predicate::str::contains("rw=write").not());
    let file = scratch.path("plan.fio");
    let path = file.to_str().unwrap();
    let said = plan(&["--destructive", "--out", path]).assert().success().stdout("");
    said.stderr(predicate::str::contains("DESTROYS the data of /dev/nvme0n1"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("rw=randrw\n") && text.contains("[sustained-1]"), "{text}");
    // All of them would take a minute to fit.
    let mut jobs = document(&mut plan(&[]))["jobs"].take();
    jobs.as_array_mut().unwrap().truncate(6);
    fs::write(scratch.path("results.json"), results_of(&jobs)).unwrap();
    let mut fit = ssdtune();
    fit.arg("calibrate").arg(scratch.path("results.json")).args(QUICK).arg("--out");
    let found = document(fit.arg(scratch.path("drive.toml")));
    let points = ["fitted", "held_out"].map(|part| found[part].as_array().unwrap().len());
    assert_eq!(points.iter().sum::<usize>(), jobs.as_array().unwrap().len(), "{found}");
    assert_eq!(found["refused"].as_array().unwrap().len(), 0);
    for (arguments, word) in [
        ("calibrate --plan", "--device"),
        ("calibrate --plan --device /tmp/file", "name a block device"),
        ("calibrate --destructive --base intel-750 --out x p.csv", "--plan"),
        ("calibrate --plan --device /dev/sda p.csv", "cannot be used with"),
        ("calibrate --plan --device /dev/sda --only op=randread", "cannot be used with"),
        ("calibrate --plan --device /dev/sda --filled run=1", "cannot be used with"),
        ("calibrate --plan --device /dev/sda --requests 500", "cannot be used with"),
        ("calibrate --plan --device /dev/sda --set gc.threshold=0.1", "cannot be used with"),
        ("calibrate p.csv --base intel-750", "--out"),
        ("calibrate p.csv --out x", "--base"),
    ] {
        let failed = ssdtune().args(arguments.split(' ')).assert().code(2);
        failed.stderr(predicate::str::contains(word));
    }
}

/// Made up: the write amplification of a drive with about 28 % of its flash hidden.
const RUNS: &str = "source,drive,run,pattern,details,span_gib,bs,run_s,write_mb_s,wa
rig,Made up,01,sequential,,370,524288,,,1.03
rig,Made up,02,uniform,,370,4096,,,2.1
rig,Made up,03,sequential,,200,524288,,,1.03
rig,Made up,04,zns-noshuffle,activeZones: 2,200,524288,,,1.2
";

#[test]
fn runs_of_writes_tell_the_spare_capacity_and_unknown_patterns_are_listed() {
    let scratch = Scratch::new();
    let file = scratch.path("runs.csv");
    fs::write(&file, RUNS).unwrap();
    let out = scratch.path("drive.toml");
    let mut command = ssdtune();
    command.arg("calibrate").arg(&file).args(["--base", "intel-750", "--out"]).arg(&out);
    command.args(["--set", "mapping.ideal=true", "--set", "gc.unit=drive"]);
    command.args(["--sanitised", "pattern=sequential", "--report"]).arg(scratch.path("r.html"));
    let found = document(&mut command);
    assert!((found["overhead"].as_f64().unwrap() - 1.03).abs() < 1e-9, "{found}");
    assert_eq!(found["runs"].as_array().unwrap().len(), 4);
    assert!(found["runs"][1]["error"].as_f64().unwrap().abs() < 0.02, "{found}");
    assert!(found["runs"][3]["predicted"].is_null(), "{found}");
    let text = fs::read_to_string(&out).unwrap();
    assert!(
        text.contains("# fitted: the raw capacity") && text.contains("1 not replayed"),
        "{text}"
    );
    assert!(fs::read_to_string(scratch.path("r.html")).unwrap().contains("zns-noshuffle"));
    let mut check = ssdtune();
    check.args(["config", "check"]).arg(&out).assert().success();
}

/// Made up: samples of the second run over time, and of one that has no line above.
const SAMPLES: &str = "source,drive,run,pattern,span_gib,bs,t_s,write_mib_s,read_iops
rig,Made up,02,uniform,370,4096,100,1500,0
rig,Made up,02,uniform,370,4096,200,1000,0
rig,Made up,02,uniform,370,4096,300,500,0
rig,Made up,04,zns-noshuffle activeZones: 2,200,524288,10,1000,0
rig,Made up,05,zns-noshuffle activeZones: 4,200,524288,10,1000,0
";

#[test]
fn samples_over_time_are_joined_with_the_runs_that_they_are_of() {
    let scratch = Scratch::new();
    let [sums, samples] = ["runs.csv", "samples.csv"].map(|name| scratch.path(name));
    fs::write(&sums, RUNS).unwrap();
    fs::write(&samples, SAMPLES).unwrap();
    let mut command = ssdtune();
    command.arg("calibrate").args([&sums, &samples]).args(["--base", "intel-750", "--out"]);
    command.arg(scratch.path("drive.toml")).args(["--set", "mapping.ideal=true"]);
    // What is not replayed takes no time.
    command.args(["--set", "gc.unit=drive", "--only", "pattern=unknown,sequential"]);
    let found = document(command.args(["--filled", "run=01", "--sanitised", "run=03"]));
    let runs = found["runs"].as_array().unwrap();
    let names: Vec<&str> = runs.iter().map(|one| one["run"]["run"].as_str().unwrap()).collect();
    assert_eq!(names, ["01", "03", "04", "05"], "{found}");
    assert_eq!(runs[2]["run"]["mib_per_second"], 1000.0);
    assert_eq!(runs[2]["run"]["write_amplification"], 1.2);
    assert_eq!((&found["filled"], &found["sanitised"]), (&"run=01".into(), &"run=03".into()));
    let text = fs::read_to_string(scratch.path("drive.toml")).unwrap();
    assert!(text.contains("Sanitised, and then written once in order, where run=01."), "{text}");
    fs::write(&samples, SAMPLES.replace(",200,1000,", ",100,1000,")).unwrap();
    let mut command = ssdtune();
    command.arg("calibrate").arg(&samples).args(["--base", "intel-750", "--out"]);
    let failed = command.arg(scratch.path("other.toml")).assert().code(3);
    failed.stderr(predicate::str::contains("run 02: t_s must grow from sample to sample"));
}

#[test]
fn what_is_wrong_with_runs_of_writes_is_said() {
    let scratch = Scratch::new();
    let points = scratch.path("points.csv");
    fs::write(&points, POINTS).unwrap();
    let run = |text: &str, more: &[&str]| {
        let file = scratch.path("runs.csv");
        fs::write(&file, text).unwrap();
        let mut command = ssdtune();
        command.arg("calibrate").arg(file).args(["--base", "intel-750", "--out"]);
        command.arg(scratch.path("no.toml")).args(more).assert()
    };
    let points = points.to_str().unwrap();
    let mixed = run(RUNS, &[points, "--drive", "Made up"]).code(2);
    mixed.stderr(
        predicate::str::contains("7 points and 4 runs")
            .or(predicate::str::contains("8 points and 4 runs of writes: give one kind")),
    );
    let wrong = run(&RUNS.replace("uniform,", "zipf-shuffle,x"), &[]).code(3);
    wrong.stderr(predicate::str::contains("line 3: details are \"x\": write the exponent"));
    let small = run(&RUNS.replace(",2.1", ",0.5"), &[]).code(3);
    small.stderr(predicate::str::contains("wa is 0.5: write NAND writes over host writes"));
    let long = run(&RUNS.replace("uniform,,370", "uniform,,9999"), &[]).code(3);
    long.stderr(predicate::str::contains("over 9999 GiB): the base has 384.0 GiB for the host"));
    let often = run(&RUNS.replace("uniform,,370,4096,,", "uniform,,370,4096,3e9,500"), &[]).code(3);
    often.stderr(predicate::str::contains("is run_s in seconds"));
    let unknown = run(RUNS, &["--only", "pattern=unknown"]).code(3);
    unknown.stderr(predicate::str::contains("no run of writes tells anything"));
    let none = run(RUNS, &["--only", "pattern=zipf"]).code(2);
    none.stderr(predicate::str::contains("pattern=zipf"));
}
