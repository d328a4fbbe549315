//! What fio reports of its jobs: its JSON output, of the formats `json` and `json+`.
//!
//! fio 3.0 or later writes it. Notes may stand before and after the document. What a job means to
//! the reader (a point of a grid, a point of a real drive) is the caller's business.
//!
//! Left out: trims, synchronisations, the host's load, statistics of the disk.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The output of one run of fio.
#[derive(Clone, Debug, Deserialize)]
pub struct FioOutput {
    /// The version of fio.
    #[serde(rename = "fio version")]
    pub version: String,
    /// The options of all jobs.
    #[serde(rename = "global options", default)]
    pub options: BTreeMap<String, Value>,
    /// What each job did.
    pub jobs: Vec<FioJob>,
}

/// The result of one job.
#[derive(Clone, Debug, Deserialize)]
pub struct FioJob {
    /// Its name. Clones of a job (`numjobs`) have the same.
    #[serde(rename = "jobname")]
    pub name: String,
    /// The error that ended it; 0 if none did.
    #[serde(default)]
    pub error: i64,
    /// Its own options.
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, Value>,
    /// Its reads.
    #[serde(default)]
    pub read: FioDirection,
    /// Its writes.
    #[serde(default)]
    pub write: FioDirection,
}

/// The reads or the writes of a job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FioDirection {
    /// Requests completed.
    #[serde(rename = "total_ios")]
    pub requests: u64,
    /// Requests completed in a second.
    pub iops: f64,
    /// Bytes moved in a second.
    #[serde(rename = "bw_bytes")]
    pub bytes_per_second: f64,
    /// From the submission's begin to the completion.
    #[serde(rename = "lat_ns")]
    pub total: Option<FioLatency>,
    /// From the submission's end to the completion.
    #[serde(rename = "clat_ns")]
    pub completion: Option<FioLatency>,
}

/// Latencies of a job's reads or writes, in nanoseconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FioLatency {
    /// The mean.
    #[serde(rename = "mean")]
    pub mean_ns: f64,
    /// Percentiles by their number, as in `99.000000`.
    #[serde(rename = "percentile")]
    pub percentiles_ns: BTreeMap<String, f64>,
    /// How many requests took how long (`json+` only).
    pub bins: BTreeMap<u64, u64>,
}

/// Why a text is no output of fio.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotFio(String);

impl FioOutput {
    /// Reads the first document of a text.
    ///
    /// # Errors
    /// The text holds no such document, or one without jobs.
    pub fn parse(text: &str) -> Result<Self, NotFio> {
        let wrong = |problem: &str| NotFio(problem.to_owned());
        let begin = match text.starts_with('{') {
            true => 0,
            false => text.find("\n{").ok_or_else(|| wrong("it has no line with a {"))? + 1,
        };
        // Only the first document is read: notes may follow it.
        let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Self>();
        let output = documents
            .next()
            .ok_or_else(|| wrong("it is empty"))?
            .map_err(|error| NotFio(format!("{error}, counted from its first {{")))?;
        match output.jobs.is_empty() {
            true => Err(wrong("its list of jobs is empty")),
            false => Ok(output),
        }
    }
}

impl FioDirection {
    /// The mean total latency in nanoseconds, if it is a possible one.
    pub fn mean_ns(&self) -> Option<f64> {
        let mean = self.total.as_ref().map(|latency| latency.mean_ns);
        mean.filter(|mean| *mean > 0.0 && mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_around_a_document_are_skipped_and_bins_are_numbers() {
        let text = r#"fio: a note
{ "fio version" : "fio-3.33", "global options" : { "bs" : "4k" }, "jobs" : [
  { "jobname" : "a", "job options" : { "iodepth" : "8" },
    "read" : { "total_ios" : 3, "iops" : 2.5, "bw_bytes" : 10240, "lat_ns" : { "mean" : 7.5 },
      "clat_ns" : { "mean" : 7.0, "percentile" : { "99.000000" : 9 },
        "bins" : { "6" : 2, "9" : 1 } } } } ] }
bye"#;
        let output = FioOutput::parse(text).unwrap();
        let read = &output.jobs[0].read;
        assert_eq!((read.requests, read.iops, read.mean_ns()), (3, 2.5, Some(7.5)));
        let completion = read.completion.as_ref().unwrap();
        assert_eq!(completion.bins, BTreeMap::from([(6, 2), (9, 1)]));
        assert_eq!(completion.percentiles_ns["99.000000"], 9.0);
        assert_eq!(output.options["bs"], "4k");
        assert_eq!(output.jobs[0].write.mean_ns(), None);
    }

    #[test]
    fn what_is_no_output_is_said() {
        for (text, problem) in [
            ("no JSON", "no line with a {"),
            ("{ \"jobs\" : [] }", "missing field `fio version`"),
            ("{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }", "list of jobs is empty"),
        ] {
            let error = FioOutput::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
