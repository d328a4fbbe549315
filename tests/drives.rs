//! Drives as files, from end to end: what a file says is the drive that is simulated, in whichever
//! form it was written.

use crate::support::{binary, document, parse, root, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A search that takes about a second, its files in `out`.
fn search(out: &Path) -> assert_cmd::assert::Assert {
    let mut command = ssdtune();
    command.args(["search", "--target", "websearch", "--others", "database", "--no-db"]);
    command.args(["--space", "autoblox"]);
    command.args(["--requests", "600", "--budget", "6", "--prefix", "150", "--out"]).arg(out);
    command.assert().success()
}

fn grades(drives: &[&Path]) -> Vec<Value> {
    let mut command = ssdtune();
    command.args(["grade", "--target", "websearch", "--others", "database", "--no-db"]);
    command.args(["--space", "autoblox"]);
    command.args(["--requests", "600", "-q", "--json"]).args(drives);
    let graded = parse(&command.assert().success());
    graded.as_array().expect("a list").iter().map(|one| one["grade"].clone()).collect()
}

fn convert(from: &Path, to: &Path) -> assert_cmd::assert::Assert {
    ssdtune().args(["config", "convert"]).arg(from).arg("-o").arg(to).assert().success()
}

#[test]
fn both_files_of_a_recommendation_are_the_same_drive() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    // The search says what MQSim will not know of the drive.
    search(&out).stderr(
        predicate::str::contains("recommended.xml: cache.mode = read-write: only ssdtune reads it")
            .and(predicate::str::contains("recommended.xml: [compat]: only ssdtune reads")),
    );
    let (toml, xml) = (out.join("recommended.toml"), out.join("recommended.xml"));
    // The way that README names, from XML to TOML.
    let back = directory.path().join("my.toml");
    convert(&xml, &back).stderr(format!("wrote {}\n", back.display()));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(&back), read(&toml));
    let graded = grades(&[&toml, &xml, &back]);
    assert!(graded[0].as_f64().unwrap() > 0.0, "{graded:?}");
    assert_eq!((&graded[1], &graded[2]), (&graded[0], &graded[0]));
}

#[test]
fn an_edited_element_counts_and_a_broken_comment_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let xml = directory.path().join("a.xml");
    let written = convert(Path::new("intel-750"), &xml);
    written.stderr(predicate::str::contains("note: cache.mode = read-write: only ssdtune"));
    let text = std::fs::read_to_string(&xml).unwrap();
    let fewer = text.replace("<Flash_Channel_Count>12<", "<Flash_Channel_Count>6<");
    std::fs::write(&xml, fewer).unwrap();
    let diff = ssdtune().args(["config", "diff", "intel-750", "--json"]).arg(&xml).assert();
    let changes = parse(&diff);
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
    assert_eq!((&changes[0]["key"], &changes[0]["second"]), (&"bus.channels".into(), &6.into()));
    std::fs::write(&xml, text.replace("read-write", "read-wrote")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("mode = ")).unwrap();
    let refused = ssdtune().args(["config", "show"]).arg(&xml).assert().code(3);
    let said = format!("{}:{line}: cache.mode = \"read-wrote\": must be a name", xml.display());
    refused.stderr(predicate::str::contains(said));
}

#[test]
fn a_file_of_mqsim_has_every_switch_on_and_a_pair_always_has() {
    let plain = "tests/agreement/ssd/r_rr4k_qd4.xml";
    let shown = ssdtune().args(["config", "convert", plain]).assert().success();
    let shown = shown.stderr(predicate::str::contains("every switch of [compat] is on"));
    let toml = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(
        toml.contains("chip_idle_batches = true") && !toml.contains("chip_idle_batches = false")
    );
    // These elements with an annotation that turns the switches off: a pair does not obey it.
    let directory = tempfile::tempdir().unwrap();
    let (off, xml) = (directory.path().join("off.toml"), directory.path().join("off.xml"));
    std::fs::write(&off, toml.replace("chip_idle_batches = true", "chip_idle_batches = false"))
        .unwrap();
    convert(&off, &xml);
    let pair = |ssd: &Path| {
        let mut command = ssdtune();
        command.args(["simulate", "--requests", "300", "--json", "--mqsim"]).arg(ssd);
        let done = command.arg("tests/agreement/workload/r_rr4k_qd4.xml").assert().success();
        let obeyed = predicate::str::contains("is not obeyed");
        assert_eq!(obeyed.eval(&String::from_utf8_lossy(&done.get_output().stderr)), ssd == xml);
        parse(&done)["cells"][0]["report"]["latency_ns"].clone()
    };
    assert_eq!(pair(Path::new(plain)), pair(&xml));
}

/// A trace in MQSim's form that reads and writes 40 pages, far apart if `gap` is large.
fn trace(path: &Path, gap: u64) {
    let mut text = String::new();
    for number in 0..400_u64 {
        writeln!(text, "{} 0 {} 16 {}", number * 200_000, number % 40 * gap, number % 3 % 2)
            .unwrap();
    }
    std::fs::write(path, text).unwrap();
}

const SIMULATE: [&str; 5] =
    ["simulate", "--device", "samsung-850-pro", "--set", "flash.blocks_per_plane=64"];

#[test]
fn a_run_that_cannot_keep_up_is_told_and_so_is_worn_flash() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.trace");
    trace(&path, 16);
    let warnings = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(SIMULATE).arg("--trace").arg(&path).args(["--json", "-q"]).args(more);
        let report = parse(&command.assert().success())["cells"][0]["report"].clone();
        report["warnings"].to_string()
    };
    let (late, worn) = ("cannot keep up with the times", "500 % of its rated cycles");
    let plain = warnings(&[]);
    assert!(!plain.contains(late) && !plain.contains("rated cycles"), "{plain}");
    let faster = warnings(&["--time-scale", "0.000001"]);
    assert!(faster.contains(late), "{faster}");
    let closed = warnings(&["--replay", "closed:64"]);
    assert!(!closed.contains(late), "{closed}");
    let cycles =
        ["--start", "steady:0.5", "--erases", "50000", "--set", "flash.pe_cycles_limit=10000"];
    assert!(warnings(&cycles).contains(worn), "{}", warnings(&cycles));
}

#[test]
fn a_drive_holds_what_its_run_touches_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.trace");
    trace(&path, 16);
    let run = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(SIMULATE).arg("--trace").arg(&path).args(more);
        command
    };
    let plain = document(&mut run(&[]));
    let cell = &plain["cells"][0];
    assert_eq!(cell["report"]["unwritten_reads"]["pages"], 0);
    assert!(cell["report"]["flash"]["pages_read"].as_u64() > Some(0), "{cell}");
    assert_eq!(cell["preparation"]["start"], "footprint");
    assert_eq!(plain, document(&mut run(&["--start", "footprint"])));
    let line = "start           footprint; 40 pages were written before the run";
    run(&[]).assert().success().stdout(predicate::str::contains(line));
    let empty = document(&mut run(&["--start", "empty"]));
    assert!(empty["cells"][0]["report"]["unwritten_reads"]["pages"].as_u64() > Some(0));
    run(&["--start", "empty"]).assert().stdout(predicate::str::contains("start           empty\n"));
    let steps = ["--start", "sequential", "--age", "random:1", "--age", "trace:2"];
    let aged = document(&mut run(&steps));
    let expected =
        serde_json::json!({"start": "sequential", "age": ["random:1", "trace:2"], "erases": 0});
    assert_eq!(aged["cells"][0]["preparation"], expected);
    let table = run(&["--sweep", "gc.policy=greedy,fifo"]).assert().success();
    table.stdout(predicate::str::contains("start           footprint\n"));
    // A pair of MQSim's says itself how its drive starts.
    let pair = ["tests/agreement/ssd/r_rr4k_qd4.xml", "tests/agreement/workload/r_rr4k_qd4.xml"];
    let run_pair = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["simulate", "--requests", "300", "--mqsim"]).args(pair).args(more);
        command
    };
    assert_eq!(document(&mut run_pair(&[]))["cells"][0]["preparation"]["start"], "empty");
    run_pair(&["--start", "steady"]).assert().code(2).stderr(predicate::str::contains("--mqsim"));
}

#[cfg(unix)]
#[test]
fn a_drive_that_is_being_filled_can_be_interrupted() {
    let mut command = Command::new(binary());
    command.args(["simulate", "--json", "--device", "intel-750", "--workload", "database"]);
    command.args(["--requests", "1000000000"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(130));
}

/// Whatever a trace comes out of, the answer is the same, also where it is read more than once.
#[cfg(unix)]
#[test]
fn a_pipe_is_a_trace_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.trace");
    trace(&path, 1_000_000);
    let other = directory.path().join("b.trace");
    trace(&other, 16);
    let answer = |input: &str, from_file: bool, command: &str| {
        let script = match from_file {
            true => command.replace("TRACE", &path.to_string_lossy()),
            false => format!("cat '{}' | {}", path.display(), command.replace("TRACE", input)),
        };
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).env("PATH", std::env::var("PATH").unwrap()).current_dir(root());
        let done = shell.env("SSDTUNE", binary()).output().expect("bash runs");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{script}\n{errors}");
        let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
        let file = path.to_string_lossy();
        for name in ["\"-\"", "standard-input", "standard input", "/dev/stdin", &*file] {
            text = text.replace(name, "TRACE");
        }
        text.replace("\"TRACE\"", "TRACE")
    };
    let drive = "--device samsung-850-pro -q --json";
    let tune = "--others none --requests 400 --no-db -q --json";
    let simulate = "\"$SSDTUNE\" simulate -q --json --fit-addresses wrap";
    let sata = "--device samsung-850-pro --trace TRACE";
    let commands = [
        format!("\"$SSDTUNE\" simulate {drive} --trace TRACE --fit-addresses compact"),
        format!("{simulate} {sata} --start steady"),
        format!("{simulate} {sata} --start empty"),
        format!("{simulate} {sata} --sweep gc.policy=greedy,fifo"),
        format!(
            "{simulate} --device mqsim-default --tenants --slowdown --trace '{}' TRACE",
            other.display()
        ),
        format!("\"$SSDTUNE\" grade --target w=TRACE {tune} intel-750"),
        "\"$SSDTUNE\" trace info TRACE -q --json".to_owned(),
        "\"$SSDTUNE\" trace head TRACE -q".to_owned(),
        "\"$SSDTUNE\" trace fit TRACE -q --name own".to_owned(),
        // Too few writes to tell policies apart: the document says so, and the code is 1.
        "\"$SSDTUNE\" compare placement --trace TRACE -q --json --policy none; [ $? = 1 ]"
            .to_owned(),
    ];
    // Named by a hyphen and by a path, in turn.
    for (command, input) in commands.into_iter().zip(["-", "/dev/stdin"].into_iter().cycle()) {
        let from_file = answer("-", true, &command);
        assert_eq!(answer(input, false, &command), from_file, "{command} with {input}");
    }
    let refused = |command: &str, code: i32, said: &str| {
        let script = format!("cat '{}' | '{}' {command}", path.display(), binary().display());
        let done = Command::new("bash").args(["-c", &script]).output().expect("bash runs");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{errors}");
        assert!(errors.contains(said), "{errors}");
    };
    let twice = "it is asked for twice and can be read once only";
    refused(&format!("simulate {drive} --trace - -"), 2, twice);
    // The second was read as an empty trace.
    refused("trace info - -", 2, &format!("FILE -: {twice} (FILE reads it too)"));
    refused("trace info /dev/stdin -", 2, &format!("FILE -: {twice}"));
    let merged = directory.path().join("merged.csv");
    let merge = format!("trace convert - - --join merge -o '{}'", merged.display());
    refused(&merge, 2, &format!("IN -: {twice}"));
    let points = "grade --points --no-db --target x=- --others none";
    refused(points, 2, "--points are read from standard input, and so is");
    let dense =
        format!("trace convert - --remap dense -o '{}'", path.with_extension("csv").display());
    refused(&dense, 2, "--remap dense reads a trace twice and - can be read once");
}

#[test]
fn sizes_have_units_and_a_capacity_goes_with_any_baseline() {
    let directory = tempfile::tempdir().unwrap();
    let toml = directory.path().join("a.toml");
    std::fs::write(&toml, "base = \"intel-750\"\n[cache]\ncapacity_bytes = \"1 GiB\"\n").unwrap();
    let shown = ssdtune().args(["config", "show", "--json"]).arg(&toml).assert().success();
    assert_eq!(parse(&shown)["cache"]["capacity_bytes"], 1_u64 << 30);
    let set = ["config", "show", "intel-750", "--json", "--set", "cache.capacity_bytes=1GB"];
    let set = ssdtune().args(set).assert().success();
    assert_eq!(parse(&set)["cache"]["capacity_bytes"], 1_000_000_000);
    std::fs::write(&toml, "[cache]\ncapacity_bytes = \"1 gib\"\n").unwrap();
    let wrong = ssdtune().args(["config", "show"]).arg(&toml).assert().code(3);
    wrong.stderr(predicate::str::contains("a.toml:2: cache.capacity_bytes = \"1 gib\": must be"));
    let limits = directory.path().join("limits.toml");
    std::fs::write(&limits, "capacity_bytes = \"1 TB\"\n").unwrap();
    let limits = ["--constraints", limits.to_str().unwrap()];
    for (device, how, blocks) in [
        ("intel-750", &["--capacity", "1TiB"][..], "flash.blocks_per_plane = 1092 instead of 512"),
        ("samsung-850-pro", &["--capacity", "1TB"], "instead of"),
        ("ssdkeeper", &limits[..], "instead of"),
        ("z-ssd", &["--capacity", "64 GiB"], "instead of"),
    ] {
        let mut command = ssdtune();
        command.args(["search", "--device", device, "--target", "websearch", "--others", "none"]);
        command.args(["--requests", "300", "--budget", "2", "--no-db"]).args(how);
        let said = format!("the baseline {device} is taken as {device}-at-");
        let told = command.assert().success();
        told.stderr(predicate::str::contains(said).and(predicate::str::contains(blocks)));
    }
    let mut command = ssdtune();
    command.args(["search", "--target", "websearch", "--others", "none", "--no-db"]);
    let refused = command.args(["--capacity", "1MiB"]).assert().code(2);
    refused.stderr(predicate::str::contains("1 MiB would take 1 blocks in each plane"));
}

#[test]
fn thresholds_that_leave_preemption_no_room_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let toml = directory.path().join("a.toml");
    std::fs::write(&toml, "base = \"intel-750\"\n[gc]\nhard_threshold = 0.1\n").unwrap();
    let said = "0.1 is not below gc.threshold (0.1): collection always goes before the host";
    let check = ssdtune().args(["config", "check"]).arg(&toml).assert().success();
    check.stdout(predicate::str::contains(format!("gc.hard_threshold: {said}")));
    let run = |device: &Path| {
        let mut command = ssdtune();
        command.args(["simulate", "--start", "steady", "--workload", "cloud-storage", "--json"]);
        command.args(["--requests", "4000", "--replay", "closed:16", "--fit-addresses", "wrap"]);
        command.arg("--device").arg(device).assert().success()
    };
    let equal = parse(&run(&toml))["cells"][0]["report"].clone();
    assert!(equal["warnings"].to_string().contains(said), "{}", equal["warnings"]);
    // The preset leaves the host room, and so its reads do not wait for whole collections.
    let apart = parse(&run(Path::new("intel-750")))["cells"][0]["report"].clone();
    assert_eq!(apart["warnings"], serde_json::json!([]));
    let p999 =
        |report: &Value| report["total"]["all"]["device_latency_ns"]["p999"].as_u64().unwrap();
    assert!(p999(&apart) * 10 < p999(&equal), "{} against {}", p999(&apart), p999(&equal));
}
