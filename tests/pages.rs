//! Pages: `--report`, `ssdtune report`, and what a browser makes of them.

use crate::support::{Scratch, document, root, ssdtune};
use predicates::str::contains;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a browser finds out about a page that stands in a frame as wide as a window would be. (A
/// browser without a screen has no window that is as narrow as a phone.) Its findings take the
/// place of everything.
const PROBE: &str = r#"<script>
const frame = document.getElementById('frame');
const bright = color => {
  const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(value => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const look = (view, page) => {
  const style = element => view.getComputedStyle(element);
  const under = element => {
    for (let at = element; at; at = at.parentElement) {
      const own = style(at).backgroundColor;
      if (own !== 'rgba(0, 0, 0, 0)') return own;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = element => {
    const [a, b] = [bright(style(element).color), bright(under(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const texts = [...page.querySelectorAll('h1,h2,p,li,th,td,pre')];
  const plots = [...page.querySelectorAll('svg')];
  const inside = (text, plot) => {
    const [inner, outer] = [text.getBoundingClientRect(), plot.getBoundingClientRect()];
    return inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
  };
  const words = plot => [...plot.querySelectorAll('text')];
  return {
    wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    faint: texts.filter(one => contrast(one) < 4.5).map(one => one.textContent.slice(0, 40)),
    texts: texts.length,
    plots: plots.length,
    empty: plots.filter(one => one.querySelectorAll('rect,circle,path,polyline,line').length < 3
      || /no (points|values|names)/.test(one.textContent)).map(one => one.ariaLabel),
    nameless: plots.filter(one => !one.getAttribute('aria-label')).length,
    cut: plots.filter(one => words(one).some(text => !inside(text, one))).map(one => one.ariaLabel),
    small: plots.flatMap(words).filter(one => parseFloat(style(one).fontSize) < 11).length,
    dark: view.matchMedia('(prefers-color-scheme: dark)').matches,
    width: view.innerWidth,
  };
};
frame.onload = () => {
  const found = look(frame.contentWindow, frame.contentDocument);
  document.body.innerHTML = '<pre id="found"></pre>';
  document.getElementById('found').textContent = JSON.stringify(found);
};
frame.srcdoc = PAGE;
</script>"#;

/// A browser of this machine.
fn browser() -> Option<PathBuf> {
    let named = ["chromium", "chromium-browser", "google-chrome"];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&folders)
        .flat_map(|folder| named.map(|name| folder.join(name)))
        .collect::<Vec<_>>();
    places.into_iter().find(|place| place.is_file())
}

/// What a browser finds on a page in a window of this width, and what it says on standard error.
fn probe(browser: &Path, page: &str, width: u32, is_dark: bool) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().join("outer.html");
    let inner = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let frame = format!("<iframe id=\"frame\" style=\"width:{width}px;height:900px;border:0\">");
    let script = PROBE.replace("PAGE", &inner);
    let html = format!("<!doctype html><body>{frame}</iframe>{script}</body>");
    std::fs::write(&outer, html).unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.args(["--enable-logging=stderr", "--disable-dev-shm-usage"]);
    if is_dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    command.arg(format!("--user-data-dir={}", folder.path().join("user").display()));
    let done = command.arg(format!("file://{}", outer.display())).output().unwrap();
    let (told, said) = (String::from_utf8(done.stdout).unwrap(), done.stderr);
    let said = String::from_utf8_lossy(&said).into_owned();
    let found = told.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once('<'));
    let (found, _) = found.unwrap_or_else(|| panic!("the probe did not run: {told}\n{said}"));
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (serde_json::from_str(&found).unwrap(), said)
}

/// What is wrong with a page; empty if nothing is.
fn faults(browser: &Path, page: &str, width: u32, is_dark: bool) -> String {
    let (found, said) = probe(browser, page, width, is_dark);
    assert_eq!((&found["dark"], &found["width"]), (&is_dark.into(), &width.into()), "{said}");
    let none = ["faint", "empty", "cut"].map(|what| found[what] == serde_json::json!([]));
    let zero = ["wide", "nameless", "small"].map(|what| found[what] == 0);
    match said.contains("CONSOLE") || none.contains(&false) || zero.contains(&false) {
        true => format!("{width} wide, dark: {is_dark}: {found} {said}"),
        false => String::new(),
    }
}

/// A document of every kind that has a page of its own, and one that has none.
fn documents(scratch: &Scratch) -> Vec<PathBuf> {
    let series = scratch.path("series.csv").display().to_string();
    let points = scratch.path("points.jsonl").display().to_string();
    let keeper = root().join("configs/keeper/ssdkeeper.json").display().to_string();
    let model = scratch.path("model.json").display().to_string();
    let samples = root().join("traces/samples/database.csv").display().to_string();
    let sweep = "predict-perf sweep --device z-ssd --sample 130 --pages 200 --requests-min 20 \
                 --requests-max 40 --rounds 1 --out";
    ssdtune().args(sweep.split_whitespace()).arg(&points).assert().success();
    let commands = [
        format!(
            "simulate --device z-ssd --workload database --requests 3000 --start steady \
             --interval 20 --series {series}"
        ),
        "simulate --device z-ssd --workload websearch --requests 500 --sweep bus.channels=4,8"
            .to_owned(),
        "search --target ycsb --others database --requests 300 --budget 6 --no-db --aim \
         latency,price"
            .to_owned(),
        "search --target ycsb --others none --requests 300 --budget 8 --no-db --space autoblox"
            .to_owned(),
        "grade intel-750 z-ssd --target ycsb --others none --requests 300 --space autoblox --no-db"
            .to_owned(),
        "choose intel-750 z-ssd --workload database --requests 500".to_owned(),
        format!("keeper compare --model {keeper} --workload database websearch --requests 1000"),
        "compare placement --workload wdev_0 --requests 20000 --policy none,haml".to_owned(),
        format!("predict-perf fit {points} --train 100 --folds 2 --out {model}"),
        format!(
            "predict-perf check --model {model} --device z-ssd --trace {samples} --window 300 \
             --windows 4 --depth 4"
        ),
        "prune --target ycsb --others none --requests 200 --samples 10 --no-pairs --no-db --space \
         autoblox"
            .to_owned(),
        "whatif --target ycsb --others database --requests 300 --budget 6 --no-db --latency 1.1x \
         --space autoblox"
            .to_owned(),
        "ablate alpha --values 0.2,0.8 --target ycsb --others database --requests 300 --budget 4 \
         --no-db --space autoblox"
            .to_owned(),
        format!("predict-perf predict --model {model} --trace {samples} --window 300 --depth 4"),
        format!("predict-perf predict --model {model} --point w50-q4-W8k.r100-R8k.r100"),
        format!("keeper map --model {keeper}"),
        "trace info tests/fixtures/pages.csv".to_owned(),
        "trace head tests/fixtures/pages.csv -n 5".to_owned(),
    ];
    let trace = root().join("tests/fixtures/pages.csv").display().to_string();
    let run = |(number, words): (usize, &String)| {
        let words = words.replace("tests/fixtures/pages.csv", &trace);
        let done = document(ssdtune().args(words.split_whitespace()));
        let path = scratch.path(&format!("{number}.json"));
        std::fs::write(&path, done.to_string()).unwrap();
        path
    };
    commands.iter().enumerate().map(run).collect()
}

/// The page of `calibrate`, which no document can make.
fn page_of_calibrate(scratch: &Scratch) -> String {
    let [points, drive, page] =
        ["points.csv", "drive.toml", "calibrate.html"].map(|name| scratch.path(name));
    let row = |depth, iops, ns| format!("randread,4k,{depth},{iops},{ns}\n");
    let rows = [(1, 10_000, 99), (2, 19_000, 104), (4, 36_000, 110), (8, 60_000, 132)];
    let rows: String = rows.map(|(depth, iops, ns)| row(depth, iops, ns)).concat();
    std::fs::write(&points, format!("op,bs,iodepth,iops,lat_mean_us\n{rows}")).unwrap();
    let words = "calibrate --base intel-750 --set mapping.ideal=true --set cache.mode=off \
                 --own-structure --no-profiles --requests 400";
    let mut command = ssdtune();
    command.args(words.split_whitespace()).arg(&points).arg("--out").arg(&drive);
    command.arg("--report").arg(&page).assert().success();
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn every_page_is_sound_in_light_in_the_dark_and_on_a_phone() {
    let Some(browser) = browser() else {
        println!("skipped: there is no Chromium here to look at pages with");
        return;
    };
    let scratch = Scratch::new();
    let documents = documents(&scratch);
    let all = scratch.path("all.html");
    ssdtune().arg("report").args(&documents).arg("-o").arg(&all).assert().success();
    let page = std::fs::read_to_string(&all).unwrap();
    assert!(page.matches("<svg").count() >= 22, "{}", page.len());
    for page in [page, page_of_calibrate(&scratch)] {
        for (width, is_dark) in [(1200, false), (1200, true), (375, false)] {
            assert_eq!(faults(&browser, &page, width, is_dark), "");
        }
    }
}

/// The check itself finds what it looks for.
#[test]
fn a_page_that_is_not_sound_is_found() {
    let Some(browser) = browser() else {
        println!("skipped: there is no Chromium here to look at pages with");
        return;
    };
    let page = |body: &str| format!("<!doctype html><html><body>{body}</body></html>");
    let plot = |inside: &str| {
        format!("<svg aria-label=\"plot\" width=\"300\" height=\"99\">{inside}</svg>")
    };
    let full = "<rect/><rect/><rect/>";
    for (body, is_sound) in [
        ("<p style=\"color:#000;background:#fff\">plain</p>".to_owned(), true),
        ("<p style=\"color:#ccc;background:#fff\">faint</p>".to_owned(), false),
        ("<div style=\"width:2000px\">wide</div>".to_owned(), false),
        (plot(full), true),
        (plot("<rect/>"), false),
        (plot(&format!("{full}<text y=\"20\">no values</text>")), false),
        (plot(&format!("{full}<text x=\"290\" y=\"20\">cut off</text>")), false),
        (plot(&format!("{full}<text y=\"20\" style=\"font-size:6px\">small</text>")), false),
        ("<svg><rect/><rect/><rect/></svg>".to_owned(), false),
        ("<script>console.error('wrong')</script>".to_owned(), false),
    ] {
        let found = faults(&browser, &page(&body), 1200, false);
        assert_eq!(found.is_empty(), is_sound, "{body}: {found}");
    }
}

#[test]
fn a_command_writes_its_page_beside_its_result() {
    let scratch = Scratch::new();
    let page = scratch.path("page.html");
    let series = scratch.path("series.csv");
    let simulate = || {
        let mut command = ssdtune();
        command.args(["simulate", "--device", "z-ssd", "--workload", "database"]);
        command.args(["--requests", "2000", "--seed", "7", "--interval", "20", "--force"]);
        command.arg("--series").arg(&series).arg("--report").arg(&page);
        command
    };
    let text = simulate().assert().success().get_output().stdout.clone();
    assert!(!text.is_empty(), "the result is printed as ever");
    let html = std::fs::read_to_string(&page).unwrap();
    for part in [
        "<h1>z-ssd under database</h1>",
        "2,000 requests took",
        "Latency over time",
        "Share of the time that each die works",
        "ssdtune simulate --device z-ssd --workload database",
        "<td>seed</td><td>7</td>",
        "results ",
        "UTC",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("http") && !html.contains("<script"), "it refers to nothing outside");
    let own = document(&mut simulate());
    let mean = own["cells"][0]["report"]["total"]["all"]["device_latency_ns"]["mean"].as_f64();
    let told = format!("took {:.2} us on average", mean.unwrap() / 1e3);
    assert!(html.contains(&told), "{told}");
}

#[test]
fn a_page_names_the_files_that_it_comes_from() {
    let scratch = Scratch::new();
    let [one, page] = ["one.json", "page.html"].map(|name| scratch.path(name));
    std::fs::write(&one, r#"[{"drive": "a", "grade": 0.5, "target": {"latency": 1.5}}]"#).unwrap();
    let report = || {
        let mut command = ssdtune();
        command.arg("report").arg(&one).arg("-o").arg(&page);
        command
    };
    report().assert().success();
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("one.json, 58 B, BLAKE3") && html.contains("1.50x"), "{html}");
    report().assert().code(2).stderr(contains("the file exists"));
    std::fs::write(&one, "no JSON").unwrap();
    report().arg("--force").assert().code(3).stderr(contains("one.json: no JSON"));
    let same = scratch.path("one.json");
    let mut onto_itself = ssdtune();
    onto_itself.arg("report").arg(&same).arg("-o").arg(&same).arg("--force");
    onto_itself.assert().code(2).stderr(contains("reads this file"));
}

#[test]
fn a_command_without_a_result_refuses_a_page() {
    let scratch = Scratch::new();
    let page = scratch.path("page.html");
    let mut command = ssdtune();
    command.args(["completions", "bash", "--report"]).arg(&page);
    command.assert().code(2).stderr(contains("no result to show"));
    assert!(!page.exists());
}
