//! # Params of the `requester.*` methods

use std::net::SocketAddrV4;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::bounds::{
    GREATEST_MESSAGE_BYTES, GREATEST_RPS, LONGEST_PHASE_S, LONGEST_TIMEOUT_MS,
};
use crate::api::values::{EndpointAddress, Port, Positive, Whole};
use crate::endpoint::message::ResponseBytes;
use crate::endpoint::options::SocketOptions;
use crate::endpoint::protocol::Protocol;
use crate::endpoint::run::to_ns;
use crate::error::Error;

/// `requester.open`: the way to a responder, and what to ask of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequesterOpenParams {
    /// The CPU that the thread stays on.
    pub(super) cpu: usize,
    /// The transport protocol.
    pub(super) protocol: Protocol,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address of the interface, from which it sends.
    pub(super) local_address: EndpointAddress,
    /// The address of the responder.
    remote_address: EndpointAddress,
    /// The port of the responder.
    port: Port,
    /// The length of a request, in bytes.
    pub(super) message_bytes: Whole<usize, 1, GREATEST_MESSAGE_BYTES>,
    /// The length of an answer, as the responder was told.
    response_bytes: ResponseBytes,
    /// Requests per second; null: each as soon as the one before is answered.
    pub(super) rps: Option<Positive<GREATEST_RPS>>,
    /// An answer that takes longer, in ms, counts as failed.
    timeout_ms: Whole<u64, 1, LONGEST_TIMEOUT_MS>,
    /// How the socket is to behave.
    #[serde(default)]
    pub(super) options: SocketOptions,
}

impl RequesterOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        self.protocol
            .check_bytes("message_bytes", self.message_bytes.get())?;
        self.protocol
            .check_bytes("response_bytes", self.response_bytes())?;
        self.options.check(self.protocol)
    }

    pub(super) fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.remote_address.get(), self.port.get())
    }

    pub(super) fn response_bytes(&self) -> usize {
        self.response_bytes.to_request(self.message_bytes.get())
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.timeout_ms.get() * 1_000_000
    }
}

/// `requester.go`: for how long to ask.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequesterGoParams {
    /// The number of the trial, which test frames and messages carry.
    pub(super) trial: u32,
    /// How long the warm-up lasts, in s; null: there is none.
    warmup_s: Option<Positive<LONGEST_PHASE_S>>,
    /// How long it lasts, in s.
    duration_s: Positive<LONGEST_PHASE_S>,
    /// After so many measured transactions, failed or not, the run is over; null: only the time ends it.
    transactions: Option<u64>,
}

impl RequesterGoParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.transactions {
            Some(0) => Err(Error::params("transactions", "must not be 0")),
            _ => Ok(()),
        }
    }

    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup_s.map_or(0, to_ns)
    }

    pub(super) fn duration_ns(&self) -> u64 {
        to_ns(self.duration_s)
    }

    pub(super) fn most_transactions(&self) -> u64 {
        self.transactions.unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    /// What is wrong with params that are valid but for `changes`.
    fn problem(changes: Value) -> String {
        let mut params = json!({
            "cpu": 0, "protocol": "udp", "interface": "src0", "local_address": "198.18.0.2",
            "remote_address": "198.18.0.3", "port": 5000, "message_bytes": 64, "response_bytes": "equal",
            "rps": null, "timeout_ms": 1000,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        let checked = read_value(params).and_then(|params: RequesterOpenParams| params.check());
        checked.map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn ways_within_the_bounds_are_accepted() {
        for changes in [
            json!({}),
            json!({"protocol": "tcp", "message_bytes": 65_536, "rps": 1e6}),
            json!({"protocol": "sctp", "message_bytes": 1}),
            json!({"message_bytes": 65_507, "response_bytes": 1}),
            json!({"options": {"busy_poll_us": 50, "send_buffer_bytes": 4096}}),
        ] {
            assert_eq!(problem(changes), "none");
        }
    }

    #[test]
    fn ways_beyond_the_bounds_are_refused_by_the_field() {
        for (changes, field) in [
            (
                json!({"local_address": "127.0.0.1"}),
                "local_address: 127.0.0.1",
            ),
            (
                json!({"remote_address": "0.0.0.0"}),
                "remote_address: 0.0.0.0",
            ),
            (
                json!({"remote_address": "224.0.0.1"}),
                "remote_address: 224",
            ),
            (json!({"port": 0}), "port:"),
            (json!({"message_bytes": 0}), "message_bytes: 0"),
            (json!({"message_bytes": 65_508}), "message_bytes: 65508"),
            (json!({"response_bytes": 65_508}), "response_bytes: 65508"),
            (
                json!({"protocol": "tcp", "message_bytes": 65_537}),
                "message_bytes: 65537",
            ),
            (json!({"rps": 0.0}), "rps: 0"),
            (json!({"timeout_ms": 0}), "timeout_ms: 0"),
            (
                json!({"options": {"busy_poll_us": 1_000_001}}),
                "options.busy_poll_us: 1000001",
            ),
            (
                json!({"options": {"send_buffer_bytes": 1}}),
                "options.send_buffer_bytes: 1",
            ),
        ] {
            let problem = problem(changes);
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn runs_are_bounded_in_time_and_count() {
        let check = |changes: Value| {
            let mut params =
                json!({"trial": 1, "warmup_s": 0.1, "duration_s": 1.0, "transactions": null});
            params
                .as_object_mut()
                .unwrap()
                .extend(changes.as_object().unwrap().clone());
            read_value(params)
                .and_then(|params: RequesterGoParams| params.check())
                .is_ok()
        };
        assert!(check(json!({})));
        assert!(check(json!({"warmup_s": null, "transactions": 1})));
        assert!(!check(json!({"duration_s": 3601.0})));
        assert!(!check(json!({"warmup_s": -1.0})));
        assert!(!check(json!({"transactions": 0})));
    }
}
