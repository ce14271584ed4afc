//! # Params of `echo.open`

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::bounds::{
    GREATEST_ECHO_BYTES, LEAST_ECHO_BYTES, LONGEST_INTERVAL_MS, LONGEST_TIMEOUT_MS, MOST_WAITING,
};
use crate::api::values::{EndpointAddress, Positive, Whole};
use crate::error::Error;

/// `echo.open`: whom to ask, and how often.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EchoOpenParams {
    /// The CPU that the thread stays on.
    pub(super) cpu: usize,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address of the interface, from which it sends.
    pub(super) local_address: EndpointAddress,
    /// The address to ask.
    pub(super) remote_address: EndpointAddress,
    /// The length of the ICMP payload, in bytes, without its header.
    pub(super) payload_bytes: Whole<usize, LEAST_ECHO_BYTES, GREATEST_ECHO_BYTES>,
    /// The time in which one request is sent, somewhere in it, in ms, whether the one before was answered or not; null:
    /// each as soon as the one before is answered.
    interval_ms: Option<Positive<LONGEST_INTERVAL_MS>>,
    /// An answer that takes longer, in ms, counts as lost.
    timeout_ms: Whole<u64, 1, LONGEST_TIMEOUT_MS>,
}

impl EchoOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        let Some(interval_ms) = self.interval_ms.map(Positive::get) else {
            return Ok(());
        };
        if self.timeout_ms.get() as f64 / interval_ms > MOST_WAITING as f64 {
            let problem = format!(
                "{interval_ms} would have more than {MOST_WAITING} requests wait at once for timeout_ms"
            );
            return Err(Error::params("interval_ms", problem));
        }
        Ok(())
    }

    pub(super) fn interval_ns(&self) -> Option<f64> {
        Some(self.interval_ms?.get() * 1e6)
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.timeout_ms.get() * 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn problem(changes: Value) -> String {
        let mut params = json!({
            "cpu": 0, "interface": "src0", "local_address": "198.18.0.2", "remote_address": "198.18.0.3",
            "payload_bytes": 56, "interval_ms": 10.0, "timeout_ms": 1000,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        let checked = read_value(params).and_then(|params: EchoOpenParams| params.check());
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
