//! # For how long an endpoint is at work

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::wait::LOOK_UP_NS;
use crate::api::bounds::{LONGEST_PHASE_S, MOST_AHEAD_NS};
use crate::api::values::Positive;
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};

/// `sender.go`, `echo.go`: for how long to send.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoParams {
    /// The number of the trial, which test frames and messages carry.
    pub(super) trial: u32,
    /// How long the warm-up lasts, in s; null: there is none.
    warmup_s: Option<Positive<LONGEST_PHASE_S>>,
    /// How long it lasts, in s.
    duration_s: Positive<LONGEST_PHASE_S>,
    /// When to begin, CLOCK_MONOTONIC in ns, for controllers that share this kernel's clock: at most 10 s ahead, and a
    /// moment gone by is now; null: at once.
    #[serde(default)]
    at_ns: Option<u64>,
}

/// When a run's phases begin and end, CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) begin_ns: u64,
    /// Of what is measured.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

impl GoParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        let ahead_ns = self.at_ns.unwrap_or(0).saturating_sub(now_ns());
        if ahead_ns > MOST_AHEAD_NS {
            let most_s = MOST_AHEAD_NS / 1_000_000_000;
            let problem = format!(
                "is {:.1} s ahead, more than {most_s}",
                ahead_ns as f64 / 1e9
            );
            return Err(Error::params("at_ns", problem));
        }
        Ok(())
    }

    /// Sleeps until the run is to begin, and returns when that is. Setting `abort` ends it within milliseconds.
    pub(super) fn await_begin(&self, abort: &AtomicBool) -> u64 {
        let Some(at_ns) = self.at_ns else {
            return now_ns();
        };
        while now_ns() < at_ns && !abort.load(Ordering::Relaxed) {
            sleep_until(at_ns.min(now_ns() + LOOK_UP_NS));
        }
        now_ns()
    }

    /// Of a run that begins at `begin_ns`.
    pub(super) fn times(&self, begin_ns: u64) -> Times {
        let start_ns = begin_ns + self.warmup_s.map_or(0, to_ns);
        Times {
            begin_ns,
            start_ns,
            end_ns: start_ns + to_ns(self.duration_s),
        }
    }
}

/// The length of a phase in nanoseconds.
pub(super) fn to_ns(phase_s: Positive<LONGEST_PHASE_S>) -> u64 {
    Duration::from_secs_f64(phase_s.get()).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn read(warmup_s: Value, duration_s: Value) -> Result<GoParams, Error> {
        let params = json!({"trial": 1, "warmup_s": warmup_s, "duration_s": duration_s});
        read_value(params)
    }

    #[test]
    fn phases_follow_one_another() {
        let times = read(json!(0.5), json!(2)).unwrap().times(7);
        let expected = (7, 500_000_007, 2_500_000_007);
        assert_eq!((times.begin_ns, times.start_ns, times.end_ns), expected);
        let times = read(json!(null), json!(1e-9)).unwrap().times(7);
        assert_eq!((times.start_ns, times.end_ns), (7, 8));
    }

    #[test]
    fn a_run_begins_when_it_is_told_to() {
        let mut params = read(json!(null), json!(1)).unwrap();
        let abort = AtomicBool::new(false);
        let at_ns = now_ns() + 20_000_000;
        params.at_ns = Some(at_ns);
        assert!(params.check().is_ok());
        assert!(params.await_begin(&abort) >= at_ns);
        params.at_ns = Some(now_ns() + 2 * MOST_AHEAD_NS);
        assert!(
            params
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("at_ns: is 20.0 s")
        );
        abort.store(true, Ordering::Relaxed);
        assert!(params.await_begin(&abort) < at_ns + MOST_AHEAD_NS);
    }

    #[test]
    fn phases_are_bounded() {
        assert!(read(json!(0.1), json!(3600)).is_ok());
        for (warmup_s, duration_s, field) in [
            (json!(0.0), json!(1), "warmup_s: 0"),
            (json!(3601), json!(1), "warmup_s: 3601"),
            (json!(null), json!(-1), "duration_s: -1"),
            (json!(null), json!(3601), "duration_s: 3601"),
        ] {
            let problem = read(warmup_s, duration_s).unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }
}
