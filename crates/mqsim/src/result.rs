//! MQSim's result files (`workload_scenario_N.xml`): latency and throughput.
//!
//! Only the mean response time is read. MQSim divides its rates by whole simulated seconds, which
//! gives infinity for a run shorter than one second, so its rates are not used.

/// What a result file does not say and its reading needs.
#[derive(Clone, Copy, Debug)]
pub struct RunContext {
    /// Mean size of a request in bytes.
    pub mean_bytes: f64,
    /// Requests between submission and completion while the drive is kept full.
    pub outstanding: u32,
}

/// What a result file says about a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultFigures {
    /// Mean time from the submission queue to the completion, in nanoseconds.
    pub latency_ns: f64,
    /// Bytes per second, by Little's law: outstanding requests over response time. Without meaning
    /// if the drive was not kept full.
    pub throughput_bps: f64,
}

/// Reads a result file.
///
/// # Errors
/// The file has no positive mean response time.
pub fn read_result(xml: &str, context: RunContext) -> Result<ResultFigures, String> {
    let tag = "<Device_Response_Time>";
    let text = xml.find(tag).and_then(|at| xml[at + tag.len()..].split('<').next());
    let us: f64 = text
        .and_then(|text| text.trim().parse().ok())
        .filter(|us: &f64| us.is_finite() && *us > 0.0)
        .ok_or_else(|| "the result file has no Device_Response_Time above 0".to_owned())?;
    let rate = f64::from(context.outstanding) / (us * 1e-6);
    Ok(ResultFigures { latency_ns: us * 1e3, throughput_bps: rate * context.mean_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: RunContext = RunContext { mean_bytes: 4096.0, outstanding: 13 };

    #[test]
    fn throughput_follows_from_the_response_time_by_littles_law() {
        let xml = "<R><Device_Response_Time> 200 </Device_Response_Time><IOPS>inf</IOPS></R>";
        let figures = read_result(xml, CONTEXT).unwrap();
        assert_eq!(figures.latency_ns, 200_000.0);
        assert!((figures.throughput_bps / (13.0 * 5_000.0 * 4096.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_file_without_a_positive_response_time_is_refused() {
        for text in
            ["", "<Device_Response_Time>", "<Device_Response_Time>nan<", "<Device_Response_Time>0<"]
        {
            assert!(read_result(text, CONTEXT).is_err(), "{text}");
        }
    }
}
