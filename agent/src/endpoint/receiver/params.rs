//! # Params of the `receiver.*` methods

use std::net::SocketAddrV4;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::bounds::{LONGEST_DRAIN_MS, LONGEST_PHASE_S, MOST_FLOWS};
use crate::api::values::{EndpointAddress, Port, Positive, Whole};
use crate::endpoint::options::SocketOptions;
use crate::endpoint::protocol::Protocol;
use crate::endpoint::run::to_ns;
use crate::error::Error;

/// `receiver.open`: where to listen, and for what.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverOpenParams {
    /// The CPU that the thread stays on.
    pub(super) cpu: usize,
    /// The transport protocol.
    pub(super) protocol: Protocol,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address of the interface, at which it listens.
    address: EndpointAddress,
    /// The port at which it listens.
    port: Port,
    /// How many flows, numbered from 0.
    pub(super) flows: Whole<usize, 1, MOST_FLOWS>,
    /// What is of another one is refused.
    pub(super) trial: u32,
    /// How long the warm-up before the window lasts, in s, as the sender is told; null: there is none.
    warmup_s: Option<Positive<LONGEST_PHASE_S>>,
    /// How long the window lasts, in s.
    duration_s: Positive<LONGEST_PHASE_S>,
    /// How the socket is to behave.
    #[serde(default)]
    pub(super) options: SocketOptions,
}

impl ReceiverOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        self.options.check(self.protocol)
    }

    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address.get(), self.port.get())
    }

    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup_s.map_or(0, to_ns)
    }

    pub(super) fn window_ns(&self) -> u64 {
        to_ns(self.duration_s)
    }
}

/// `receiver.collect`: wait until the flows are drained, then report.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverCollectParams {
    /// How many messages each flow of UDP brings; null of other protocols, whose flows end by themselves.
    #[serde(default)]
    pub(super) expected_messages: Option<Vec<u64>>,
    /// The wait ends when nothing came for so long, in ms.
    pub(super) quiet_ms: Whole<u64, 0, LONGEST_DRAIN_MS>,
    /// The wait ends after so long in any case, in ms.
    pub(super) limit_ms: Whole<u64, 0, LONGEST_DRAIN_MS>,
}

impl ReceiverCollectParams {
    pub(super) fn check(&self, open: &ReceiverOpenParams) -> Result<(), Error> {
        let Some(expected) = &self.expected_messages else {
            return Ok(());
        };
        let problem = if !open.protocol.is_datagram() {
            "is for udp; flows of other protocols tell their end themselves".to_owned()
        } else if expected.len() != open.flows.get() {
            let (given, flows) = (expected.len(), open.flows.get());
            format!("has {given} numbers for {flows} flows")
        } else {
            return Ok(());
        };
        Err(Error::params("expected_messages", problem))
    }
}

/// `receiver.series`: what one flow brought in each 100 ms.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverSeriesParams {
    /// The number of the flow, counted from 0.
    pub(super) flow: usize,
    /// How many steps are known already.
    pub(super) first: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn read(changes: Value) -> Result<ReceiverOpenParams, Error> {
        let mut params = json!({
            "cpu": 0, "protocol": "udp", "interface": "snk0", "address": "198.18.0.3", "port": 5000, "flows": 2,
            "trial": 7, "duration_s": 1.0,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        read_value(params)
    }

    fn check(changes: Value) -> Result<(), Error> {
        read(changes)?.check()
    }

    #[test]
    fn receivers_beyond_the_bounds_are_refused_by_the_field() {
        assert!(check(json!({})).is_ok());
        assert!(check(json!({"protocol": "sctp", "flows": 64})).is_ok());
        for (changes, field) in [
            (json!({"address": "0.0.0.0"}), "address: 0.0.0.0"),
            (json!({"port": 0}), "port:"),
            (json!({"flows": 0}), "flows: 0"),
            (json!({"flows": 65}), "flows: 65"),
            (json!({"duration_s": 0.0}), "duration_s: 0"),
            (
                json!({"options": {"congestion": "reno"}}),
                "options.congestion: is tcp's",
            ),
        ] {
            let problem = check(changes).unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn what_is_expected_fits_the_flows() {
        let check = |protocol: &str, changes: Value| {
            let mut params = json!({"quiet_ms": 200, "limit_ms": 2000});
            let changes = changes.as_object().unwrap().clone();
            params.as_object_mut().unwrap().extend(changes);
            let open = read(json!({"protocol": protocol})).unwrap();
            read_value(params)
                .and_then(|params: ReceiverCollectParams| params.check(&open))
                .map_or_else(|error| error.to_string(), |()| "none".to_owned())
        };
        assert_eq!(check("udp", json!({})), "none");
        assert_eq!(check("udp", json!({"expected_messages": [1, 2]})), "none");
        assert_eq!(check("tcp", json!({})), "none");
        for (protocol, changes, expected) in [
            (
                "udp",
                json!({"expected_messages": [1]}),
                "expected_messages: has 1 numbers for 2 flows",
            ),
            (
                "tcp",
                json!({"expected_messages": [1, 2]}),
                "expected_messages: is for udp",
            ),
            ("tcp", json!({"limit_ms": 60_001}), "limit_ms: 60001"),
            ("udp", json!({"quiet_ms": 60_001}), "quiet_ms: 60001"),
        ] {
            let problem = check(protocol, changes);
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
