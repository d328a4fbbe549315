//! Moves stored recommendations to other categories when the categories change.

use super::model::Categories;
use crate::memory::{AutoDb, Batch, DbError, RecordKind, StoredRecommendation, UNCLUSTERED};

impl Categories {
    /// Moves each stored recommendation to the category that its target belongs to or has given its
    /// name to. A recommendation whose target has no category stays where it is; with `anew` it
    /// goes to those without category, because old numbers of categories mean nothing any more.
    /// Returns the number of recommendations moved.
    ///
    /// # Errors
    /// Reading or writing AutoDB fails.
    pub fn refile_recommendations(&self, db: &AutoDb, anew: bool) -> Result<usize, DbError> {
        let category_of = |target: &str| {
            let member = self.members().find(|member| member.name == target);
            member.map(|member| member.category).or_else(|| self.number(target).ok())
        };
        let mut batch = Batch::default();
        let mut moved = 0;
        for found in db.scan::<StoredRecommendation>(RecordKind::Search) {
            let mut stored = found?.1.value;
            let otherwise = if anew { UNCLUSTERED } else { stored.cluster };
            let cluster = category_of(&stored.target).unwrap_or(otherwise);
            if cluster != stored.cluster {
                batch.remove(RecordKind::Search, &stored.key());
                stored.cluster = cluster;
                batch.put(RecordKind::Search, &stored.key(), &stored)?;
                moved += 1;
            }
        }
        if moved > 0 {
            db.commit(&batch)?;
        }
        Ok(moved)
    }
}
