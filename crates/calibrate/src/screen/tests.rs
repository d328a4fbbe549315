//! Each law refuses what breaks it, and nothing that keeps it.

use super::*;
use crate::read::parse;
use std::path::Path;

/// Points of columns: op, rwmix_read, bs, iodepth, numjobs, iops, mean, p50, p99, p999, bw, notes.
fn points(rows: &[&str]) -> Vec<Point> {
    let head = "op,rwmix_read,bs,iodepth,numjobs,iops,lat_mean_us,p50,p99,p999,bw,notes\n";
    parse(Path::new("p"), "rig", &format!("{head}{}", rows.join("\n"))).unwrap()
}

/// The line numbers and reasons of what is refused.
fn refused(rows: &[&str], options: &ScreenOptions) -> Vec<(String, Reason)> {
    let of = |refused: Refused| (refused.point.at.replace("p:", ""), refused.reason);
    screen(points(rows), options).refused.into_iter().map(of).collect()
}

fn one(row: &str) -> Vec<Reason> {
    let sata = ScreenOptions { queue: Some(32), ..ScreenOptions::default() };
    refused(&[row], &sata).into_iter().map(|(_, reason)| reason).collect()
}

#[test]
fn each_law_refuses_what_breaks_it() {
    for (row, reason) in [
        ("randread,100,4k,8,1,100000,80,70,200,300,390.63,raw", None),
        ("randread,100,4k,8,1,100000,76.5,70,200,300,,raw", None),
        ("randread,100,4k,8,1,100000,75,70,200,300,,raw", Some(Reason::Little)),
        ("randread,100,4k,8,1,100000,85,70,200,300,,raw", Some(Reason::Little)),
        ("randread,100,4k,64,1,100000,640,600,900,1000,,raw", Some(Reason::HostQueue)),
        ("randread,100,4k,8,1,100000,80,210,200,300,,raw", Some(Reason::Percentiles)),
        ("randread,100,4k,8,1,100000,80,170,200,300,,raw", Some(Reason::Percentiles)),
        ("randread,100,4k,8,1,100000,80,,,,395,raw", None),
        ("randread,100,4k,8,1,100000,80,,,,400,raw", Some(Reason::Bandwidth)),
        ("randread,100,4k,8,1,100000,80,,,,,a file on ext4", Some(Reason::FileSystem)),
        ("randread,100,4k,8,1,100000,80,,,,,n=5;spread=9.9%", None),
        ("randread,100,4k,8,1,100000,80,,,,,n=5;spread=10.1%", Some(Reason::Spread)),
        ("randread,100,4k,0,1,100000,80,,,,,raw", Some(Reason::NoLoad)),
        ("open-r,50,4k,64,7,100000,80,,,,,raw", Some(Reason::NoLoad)),
        ("open-r,50,4k,64,7,100000,80,,,,,target 200000/s", None),
        ("randread,100,4k,8,1,,,70,200,300,,raw", Some(Reason::NoFigures)),
    ] {
        assert_eq!(one(row), Vec::from_iter(reason), "{row}");
    }
}

#[test]
fn what_is_allowed_stays() {
    let row = "randread,100,4k,64,1,100000,640,,,,,a file on ext4";
    let mut options = ScreenOptions { queue: Some(32), ..ScreenOptions::default() };
    assert_eq!(refused(&[row], &options)[0].1, Reason::HostQueue);
    options.allowed.insert(Reason::HostQueue);
    assert_eq!(refused(&[row], &options)[0].1, Reason::FileSystem);
    options.allowed.insert("file-system".parse().unwrap());
    assert!(refused(&[row], &options).is_empty());
    assert!("ext4".parse::<Reason>().unwrap_err().contains("file-system"));
}

/// 32 outstanding are 20 reads and 12 writes; each half alone would be too few.
#[test]
fn halves_of_a_mix_keep_littles_law_together() {
    let rows = |writes: &str| {
        let reads = "randrw-r,50,4k,32,1,50000,400,,,,,a".to_owned();
        [reads, format!("randrw-w,50,4k,32,1,50000,{writes},,,,,a")]
    };
    let judged = |writes: &str| {
        let rows = rows(writes);
        refused(&[&rows[0], &rows[1]], &ScreenOptions::default())
    };
    assert!(judged("240").is_empty());
    assert_eq!(judged("300").len(), 2);
    assert_eq!(refused(&[&rows("1")[0]], &ScreenOptions::default()), []);
}

#[test]
fn repeats_far_from_their_median_go_and_the_others_give_the_noise() {
    let row = |rate: u32| format!("randread,100,4k,1,1,{rate},{},,,,,a", 1e6 / f64::from(rate));
    let rows = [row(10000), row(10200), row(8000), row(10100)];
    let rows = rows.each_ref().map(String::as_str);
    let options = ScreenOptions::default();
    assert_eq!(refused(&rows, &options), [("4".to_owned(), Reason::Contradiction)]);
    let noise = screen(points(&rows), &options).noise;
    // Deviations of 100, 100 and 0 around 10,100, widened by the root of 3/2.
    let wanted = 100.0 * (200.0 / 3.0 / 10100.0) * 1.5_f64.sqrt();
    assert!((noise[0].iops.unwrap() - wanted).abs() < 1e-9, "{noise:?}");
    assert_eq!((noise.len(), noise[0].repeated), (1, 1));
    // Two that differ leave nobody to say which of them is right.
    assert_eq!(refused(&rows[1..3], &options).len(), 2);
}

/// Two jobs are faster than one with less outstanding, three times; one point is to blame.
#[test]
fn reads_that_more_load_makes_faster_are_refused() {
    let row = |depth: u32, jobs: u32, mean: f64| {
        let rate = f64::from(depth * jobs) * 1e6 / mean;
        format!("randread,100,4k,{depth},{jobs},{rate},{mean},,,,,a")
    };
    let rows = [row(1, 1, 60.0), row(2, 1, 60.4), row(4, 1, 61.4), row(1, 2, 54.2)];
    let options = ScreenOptions::default();
    let judged = refused(&rows.each_ref().map(String::as_str), &options);
    assert_eq!(judged, [("5".to_owned(), Reason::LoadOrder)]);
    let writes = rows.map(|row| row.replace("randread,100", "randwrite,0"));
    assert!(refused(&writes.each_ref().map(String::as_str), &options).is_empty());
}

/// What the measurements of ten real drives hold, where they are at hand.
#[test]
fn real_points_are_read_and_screened() {
    let Some(shared) = std::env::var_os("SSDTUNE_SHARED") else {
        println!("skipped: SSDTUNE_SHARED names no folder with realdrives/points.csv");
        return;
    };
    let path = Path::new(&shared).join("realdrives/points.csv");
    if !path.exists() {
        println!("skipped: {} does not exist", path.display());
        return;
    }
    let found = crate::read::read(&[path]).unwrap();
    assert!(found.points.len() > 1000);
    let options = ScreenOptions { allowed: [Reason::FileSystem].into(), ..Default::default() };
    let screened = screen(found.points, &options);
    for (source, (kept, refused)) in screened.by_source() {
        println!("{source}: {kept} kept, refused {refused:?}");
    }
    screened.refused.iter().for_each(|refused| println!("{refused}"));
    screened.noise.iter().for_each(|noise| println!("{noise:?}"));
    let kept = |part: &str| screened.kept.iter().filter(|p| p.source.contains(part)).count();
    // One job each is sound; of two jobs under SPDK some are faster than one.
    assert_eq!(screened.kept.iter().filter(|p| p.source == "icpe24/inc_proc").count(), 36);
    assert!((12..18).contains(&kept("inc_proc_spdk")), "{}", kept("inc_proc_spdk"));
    assert!(kept("krien") > 130, "{}", kept("krien"));
}
