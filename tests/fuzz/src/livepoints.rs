//! Files of live-points: whatever the bytes are, they are refused, or what is read can be asked and
//! written again.

use ssdtune_experiment::livepoints::LivePoints;
use std::path::Path;

/// Bytes before the first section, and before the content of each.
const HEAD: usize = 12;
const SECTION: usize = 24;

/// The bytes as a file; then with the checksums of their sections put in order, so that what is
/// behind them is read, too.
pub(crate) fn read(bytes: &[u8]) {
    take(bytes);
    let mut mended = bytes.to_vec();
    mend(&mut mended);
    take(&mended);
}

fn take(bytes: &[u8]) {
    let read = |bytes: &[u8]| LivePoints::read_from(&mut &bytes[..], Path::new("fuzz"));
    let Ok(points) = read(bytes) else { return };
    assert!(points.windows.len() >= 2);
    for window in &points.windows {
        assert_eq!(window.requests.len(), points.options.length() as usize);
        assert!(window.features().vector().iter().all(|number| number.is_finite()));
    }
    let mut again = Vec::new();
    points.write_to(&mut again).expect("memory takes it");
    assert!(read(&again).is_ok_and(|again| again == points));
}

/// Gives every section the checksum that its bytes have.
fn mend(bytes: &mut [u8]) {
    let mut rest = bytes.get_mut(HEAD..).unwrap_or_default();
    while let Some((head, behind)) = rest.split_at_mut_checked(SECTION) {
        let length = head[4..12].iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((content, after)) = behind.split_at_mut_checked(length) else { return };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&head[..20]);
        hasher.update(content);
        head[20..].copy_from_slice(&hasher.finalize().to_le_bytes());
        rest = after;
    }
}
