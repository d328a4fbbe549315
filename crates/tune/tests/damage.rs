//! Stores that are flipped, zeroed and cut at random places: opening one and reading all of it
//! gives exactly what was stored or a typed error, and what is saved of it was once written.
//!
//! An ordinary run damages some dozens of places. With `SSDTUNE_LONG=1` it damages a thousand, and
//! prints for each file how many damages were noticed, and how many records were lost.

use crate::long::long_or;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use ssdtune_tune::memory::{AutoDb, Batch, DbError, RecordKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A store and what is known of it.
struct Sound {
    /// Its export.
    export: String,
    /// Every line that an export of it ever had, without the first one.
    ever: BTreeSet<String>,
    /// Its files, relative to its directory, and their bytes.
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn export(db: &AutoDb) -> String {
    let mut out = Vec::new();
    let (_, damaged) = db.export(&RecordKind::ALL, &mut out).expect("an export");
    assert!(damaged.is_empty(), "{damaged:?}");
    String::from_utf8(out).expect("text")
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().skip(1).map(str::to_owned).collect()
}

/// A store as searches leave it: opened several times, records of many sizes, some of them written
/// again and some removed, one too long for the log.
fn sound(records: u64) -> Sound {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db");
    let mut ever = BTreeSet::new();
    let mut last = String::new();
    for session in 0..3u64 {
        let db = AutoDb::open(&path).expect("it opens");
        for number in 0..records {
            let kind = RecordKind::ALL[(number % 8) as usize];
            let values: Vec<f64> =
                (0..number * 7 % 60).map(|i| (i + session) as f64 / 3.0).collect();
            let key = format!("{:02}/{number}", number % 13);
            if session > 0 && number % 5 != session {
                continue;
            }
            db.put(kind, key.as_bytes(), &values).expect("put");
            if number % 16 == 0 {
                ever.extend(lines(&export(&db)));
            }
        }
        db.put(RecordKind::Model, b"long", &vec![session; 70_000]).expect("put");
        ever.extend(lines(&export(&db)));
        let mut batch = Batch::default();
        batch.remove(RecordKind::Workload, format!("01/{}", 1 + 8 * session).as_bytes());
        batch.put(RecordKind::Workload, b"instead", &session).expect("JSON");
        db.commit(&batch).expect("commit");
        last = export(&db);
        ever.extend(lines(&last));
    }
    let mut files = Vec::new();
    collect(&path, &path, &mut files);
    files.sort();
    Sound { export: last, ever, files }
}

fn collect(root: &Path, path: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(path).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below").to_path_buf();
            files.push((name, fs::read(path).expect("a file")));
        }
    }
}

/// One damage of one file.
#[derive(Clone, Debug)]
enum Damage {
    Flip { at: usize, bit: u8 },
    Zero { from: usize, length: usize },
    Noise { from: usize, length: usize, seed: u64 },
    Cut { length: usize },
    Remove,
}

impl Damage {
    fn random(random: &mut Pcg64, size: usize) -> Self {
        let at = random.random_range(0..size.max(1));
        let length = 1usize << random.random_range(0..13);
        match random.random_range(0..20) {
            0..8 => Self::Flip { at, bit: random.random_range(0..8) },
            8..12 => Self::Zero { from: at, length },
            12..16 => Self::Noise { from: at, length, seed: random.random() },
            16..19 => Self::Cut { length: at },
            _ => Self::Remove,
        }
    }

    /// The damaged bytes; `None` if the file is gone.
    fn apply(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        let size = bytes.len();
        match *self {
            Self::Flip { at, bit } => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Zero { from, length } => bytes[from.min(size)..(from + length).min(size)].fill(0),
            Self::Noise { from, length, seed } => {
                let mut random = Pcg64::seed_from_u64(seed);
                bytes[from.min(size)..(from + length).min(size)]
                    .iter_mut()
                    .for_each(|byte| *byte = random.random());
            }
            Self::Cut { length } => bytes.truncate(length),
            Self::Remove => return None,
        }
        Some(bytes)
    }
}

/// What became of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It opens and holds what was stored.
    Right,
    /// It is refused, and this many of its newest records could not be saved.
    Refused { lost: usize },
}

impl Sound {
    /// Damages a copy and reads all of it.
    fn attack(&self, file: &Path, damage: &Damage) -> Result<End, String> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("db");
        for (name, bytes) in &self.files {
            let bytes = if name == file { damage.apply(bytes) } else { Some(bytes.clone()) };
            let Some(bytes) = bytes else { continue };
            let to = path.join(name);
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::write(to, bytes).expect("written");
        }
        let log = || fs::read(path.join("store/db")).unwrap_or_default();
        let before = log();
        let error = match AutoDb::open_existing(&path) {
            Ok(db) => {
                let health = db.verify().map_err(|error| format!("verify: {error}"))?;
                let found = export(&db);
                return if !health.damaged.is_empty() {
                    Err(format!("opened with {:?}", health.damaged))
                } else if found == self.export {
                    Ok(End::Right)
                } else {
                    Err("opened with other records".to_owned())
                };
            }
            Err(error) => error,
        };
        let text = error.to_string();
        if text.contains("sled") || text.contains("src/") {
            return Err(format!("the engine's words: {text}"));
        }
        if !matches!(error, DbError::Unreadable { .. } | DbError::Lost { .. }) {
            return Err(format!("not called damaged: {error:?}"));
        }
        if log() != before {
            return Err(format!("the refused log was changed: {text}"));
        }
        self.salvage(&path)
    }

    /// Saves what is left of a refused store.
    fn salvage(&self, path: &Path) -> Result<End, String> {
        let mut out = Vec::new();
        let salvaged = AutoDb::salvage(path, &RecordKind::ALL, &mut out);
        let salvaged = salvaged.map_err(|error| format!("salvage: {error}"))?;
        let text = String::from_utf8(out).expect("text");
        let saved = lines(&text);
        if let Some(invented) = saved.difference(&self.ever).next() {
            return Err(format!("saved what was never written: {invented:.300}"));
        }
        if saved.len() as u64 != salvaged.records {
            return Err(format!("{} records for {}", saved.len(), salvaged.records));
        }
        let copy = AutoDb::open(path.with_file_name("copy")).expect("a new AutoDB");
        let imported = copy.import(&mut text.as_bytes(), Default::default());
        let imported = imported.map_err(|error| format!("import: {error}"))?;
        if imported.added != salvaged.records {
            return Err(format!("{imported:?} of {salvaged:?}"));
        }
        let lost = lines(&self.export).difference(&saved).count();
        Ok(End::Refused { lost })
    }
}

/// Damages files at random places, and reports by file what became of the store.
fn campaign(sound: Sound, seed: u64, places: usize) {
    println!("seed {seed}, {places} places, {} records", lines(&sound.export).len());
    let sound = std::sync::Arc::new(sound);
    let mut random = Pcg64::seed_from_u64(seed);
    let mut wrong = Vec::new();
    let mut ends: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for _ in 0..places {
        // Half of the places are in the log, the others in any file but the lock's.
        let of: Vec<_> = sound.files.iter().filter(|(name, _)| name != Path::new("lock")).collect();
        let (file, bytes) = if random.random() {
            of.iter().find(|(name, _)| name.ends_with("db")).expect("a log")
        } else {
            of[random.random_range(0..of.len())]
        };
        let damage = Damage::random(&mut random, bytes.len());
        let (sender, end) = mpsc::channel();
        let (attacked, file_of, damage_of) = (sound.clone(), file.clone(), damage.clone());
        std::thread::spawn(move || {
            // Nobody listens any more if it took too long.
            let _ = sender.send(attacked.attack(&file_of, &damage_of));
        });
        let end = end.recv_timeout(Duration::from_secs(60));
        let counts = ends.entry(class(file)).or_default();
        match end {
            Ok(Ok(End::Right)) => counts[0] += 1,
            Ok(Ok(End::Refused { lost })) => {
                counts[1] += 1;
                counts[2] += lost;
            }
            Ok(Err(text)) => wrong.push(format!("{} {damage:?}: {text}", file.display())),
            Err(ended) => wrong.push(format!("{} {damage:?}: {ended}", file.display())),
        }
    }
    for (class, [right, refused, lost]) in ends {
        println!("{class}: {right} right, {refused} refused, {lost} records lost in these");
    }
    assert!(wrong.is_empty(), "{} of {places}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The name of a file, without its number.
fn class(file: &Path) -> String {
    let name = file.display().to_string();
    name.trim_end_matches(|c: char| c.is_ascii_hexdigit() && !c.is_ascii_lowercase()).to_owned()
}

#[test]
fn a_damaged_store_gives_an_error_or_the_right_answer() {
    campaign(sound(long_or(60, 400)), 20, long_or(60, 1_000));
}
