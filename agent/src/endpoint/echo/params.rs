//! # Params of `echo.open`

use std::net::Ipv4Addr;

use serde::Deserialize;

use super::packet::PAYLOAD_BYTES;
use crate::Error;
use crate::endpoint::socket::check_address;
use crate::error::check_positive;

const LONGEST_INTERVAL_MS: f64 = 60_000.0;
const LONGEST_TIMEOUT_MS: u64 = 60_000;
/// Requests under way at once.
const MOST_WAITING: f64 = 65_536.0;

/// `echo.open`: whom to ask, and how often.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenParams {
    pub(super) cpu: usize,
    pub(super) interface: String,
    pub(super) local_address: Ipv4Addr,
    pub(super) remote_address: Ipv4Addr,
    /// Of ICMP, without its header.
    pub(super) payload_bytes: usize,
    /// From one request to the next, whether that was answered or not. Null: each as soon as the one before is answered.
    interval_ms: Option<f64>,
    /// An answer that takes longer is none.
    timeout_ms: u64,
}

impl OpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_address("local_address", self.local_address)?;
        check_address("remote_address", self.remote_address)?;
        if !PAYLOAD_BYTES.contains(&self.payload_bytes) {
            let (least, greatest) = (PAYLOAD_BYTES.start(), PAYLOAD_BYTES.end());
            let problem = format!(
                "{} is not between {least} and {greatest}",
                self.payload_bytes
            );
            return Err(Error::params("payload_bytes", problem));
        }
        if !(1..=LONGEST_TIMEOUT_MS).contains(&self.timeout_ms) {
            let timeout_ms = self.timeout_ms;
            let problem = format!("{timeout_ms} is not between 1 and {LONGEST_TIMEOUT_MS}");
            return Err(Error::params("timeout_ms", problem));
        }
        let Some(interval_ms) = self.interval_ms else {
            return Ok(());
        };
        check_positive("interval_ms", interval_ms, LONGEST_INTERVAL_MS)?;
        if self.timeout_ms as f64 / interval_ms > MOST_WAITING {
            let problem = format!(
                "{interval_ms} would have more than {MOST_WAITING} requests wait at once for timeout_ms"
            );
            return Err(Error::params("interval_ms", problem));
        }
        Ok(())
    }

    pub(super) fn interval_ns(&self) -> Option<f64> {
        Some(self.interval_ms? * 1e6)
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.timeout_ms * 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn problem(changes: Value) -> String {
        let mut params = json!({
            "cpu": 0, "interface": "src0", "local_address": "198.18.0.2", "remote_address": "198.18.0.3",
            "payload_bytes": 56, "interval_ms": 10.0, "timeout_ms": 1000,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        let params: OpenParams = serde_json::from_value(params).unwrap();
        let checked = params.check();
        checked.map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn echoes_within_the_bounds_are_accepted() {
        for changes in [
            json!({}),
            json!({"interval_ms": null, "payload_bytes": 16}),
            json!({"payload_bytes": 65_507, "interval_ms": 0.1}),
        ] {
            assert_eq!(problem(changes), "none");
        }
    }

    #[test]
    fn echoes_beyond_the_bounds_are_refused_by_the_field() {
        for (changes, field) in [
            (json!({"local_address": "127.0.0.1"}), "local_address: 127"),
            (
                json!({"remote_address": "255.255.255.255"}),
                "remote_address: 255",
            ),
            (json!({"payload_bytes": 15}), "payload_bytes: 15"),
            (json!({"payload_bytes": 65_508}), "payload_bytes: 65508"),
            (json!({"timeout_ms": 0}), "timeout_ms: 0"),
            (json!({"timeout_ms": 60_001}), "timeout_ms: 60001"),
            (json!({"interval_ms": 0.0}), "interval_ms: 0"),
            (json!({"interval_ms": 0.01}), "interval_ms: 0.01 would"),
        ] {
            let problem = problem(changes);
            assert!(problem.starts_with(field), "{problem}");
        }
    }
}
