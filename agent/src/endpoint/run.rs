//! # For how long an endpoint is at work

use std::time::Duration;

use serde::Deserialize;

use crate::Error;
use crate::error::check_positive;

const LONGEST_PHASE_S: f64 = 3600.0;

/// `sender.go`, `echo.go`: for how long to send.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunParams {
    pub(super) trial: u32,
    /// Null for none.
    warmup_s: Option<f64>,
    duration_s: f64,
}

/// When a run's phases begin and end, CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) begin_ns: u64,
    /// Of what is measured.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

impl RunParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_phases(self.warmup_s, self.duration_s)
    }

    /// Of a run that begins at `begin_ns`.
    pub(super) fn times(&self, begin_ns: u64) -> Times {
        let start_ns = begin_ns + to_ns(self.warmup_s.unwrap_or(0.0));
        Times {
            begin_ns,
            start_ns,
            end_ns: start_ns + to_ns(self.duration_s),
        }
    }
}

pub(super) fn check_phases(warmup_s: Option<f64>, duration_s: f64) -> Result<(), Error> {
    if let Some(warmup_s) = warmup_s {
        check_positive("warmup_s", warmup_s, LONGEST_PHASE_S)?;
    }
    check_positive("duration_s", duration_s, LONGEST_PHASE_S)
}

/// Of checked params only.
pub(super) fn to_ns(seconds: f64) -> u64 {
    Duration::from_secs_f64(seconds).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(warmup_s: Value, duration_s: Value) -> RunParams {
        let params = json!({"trial": 1, "warmup_s": warmup_s, "duration_s": duration_s});
        serde_json::from_value(params).unwrap()
    }

    #[test]
    fn phases_follow_one_another() {
        let times = read(json!(0.5), json!(2)).times(7);
        let expected = (7, 500_000_007, 2_500_000_007);
        assert_eq!((times.begin_ns, times.start_ns, times.end_ns), expected);
        let times = read(json!(null), json!(1e-9)).times(7);
        assert_eq!((times.start_ns, times.end_ns), (7, 8));
    }

    #[test]
    fn phases_are_bounded() {
        assert!(read(json!(0.1), json!(3600)).check().is_ok());
        for (warmup_s, duration_s, field) in [
            (json!(0.0), json!(1), "warmup_s: 0"),
            (json!(3601), json!(1), "warmup_s: 3601"),
            (json!(null), json!(-1), "duration_s: -1"),
            (json!(null), json!(3601), "duration_s: 3601"),
        ] {
            let problem = read(warmup_s, duration_s).check().unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }
}
