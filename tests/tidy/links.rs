//! Links between pages: whatever a page of the repository links to is there.

use crate::hold;
use crate::source::root;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages in a directory of the repository and below it.
fn pages(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_own = !name.to_string_lossy().starts_with('.') && name != "target";
        if path.is_dir() && is_own {
            pages(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            into.push(path);
        }
    }
}

/// What the links of a text lead to, without what is outside of the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link).filter(|link| !link.contains("://") && !link.contains(' '))
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|own| match own {
        ' ' | '-' => Some('-'),
        own if own.is_alphanumeric() || own == '_' => Some(own.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    pages(root(), &mut all);
    let mut faults = Vec::new();
    let mut count = 0;
    for page in &all {
        let text = fs::read_to_string(page).expect("a page");
        for link in links(&text) {
            count += 1;
            let (file, place) = link.split_once('#').map_or((link, None), |(f, p)| (f, Some(p)));
            let target = match file {
                "" => page.clone(),
                file => page.parent().expect("a directory").join(file),
            };
            let has_place = |place: &str| {
                let text = fs::read_to_string(&target).unwrap_or_default();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                headings.any(|line| anchor(line.trim_start_matches('#')) == place)
            };
            if !target.exists() || place.is_some_and(|place| !has_place(place)) {
                faults.push(format!(
                    "{}: {link}",
                    page.strip_prefix(root()).unwrap_or(page).display()
                ));
            }
        }
    }
    assert!(count > 100, "only {count} links");
    hold("links", faults);
}
