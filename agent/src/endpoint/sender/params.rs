//! # Params of `sender.open`

use std::net::SocketAddrV4;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::bounds::{
    GREATEST_GOODPUT_MBPS, GREATEST_MESSAGE_BYTES, LEAST_RECORD_BYTES, LONGEST_TIMEOUT_MS,
    MOST_FLOWS,
};
use crate::api::values::{EndpointAddress, Port, Positive, Whole};
use crate::endpoint::options::SocketOptions;
use crate::endpoint::protocol::Protocol;
use crate::error::Error;

/// `sender.open`: the way to a receiver, and what to send there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SenderOpenParams {
    /// The CPU that the thread stays on.
    pub(super) cpu: usize,
    /// The transport protocol.
    pub(super) protocol: Protocol,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address of the interface, from which it sends.
    local_address: EndpointAddress,
    /// The address of the receiver.
    remote_address: EndpointAddress,
    /// The port of the receiver.
    port: Port,
    /// How many flows, numbered from 0.
    pub(super) flows: Whole<usize, 1, MOST_FLOWS>,
    /// How many bytes are handed to the kernel at once: a datagram, or a piece of a stream.
    pub(super) message_bytes: Whole<usize, LEAST_RECORD_BYTES, GREATEST_MESSAGE_BYTES>,
    /// The goodput of each flow, in Mbit/s of message bytes; null: as fast as it goes.
    intended_goodput_mbps: Option<Positive<GREATEST_GOODPUT_MBPS>>,
    /// How long connecting may take, in ms.
    timeout_ms: Whole<u64, 1, LONGEST_TIMEOUT_MS>,
    /// How the socket is to behave.
    #[serde(default)]
    pub(super) options: SocketOptions,
}

impl SenderOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        self.protocol
            .check_bytes("message_bytes", self.message_bytes.get())?;
        if self.options.busy_poll_us.get() > 0 {
            let problem = "is for who waits for input; a sender has none";
            return Err(Error::params("options.busy_poll_us", problem));
        }
        self.options.check(self.protocol)
    }

    /// At a port that the kernel picks.
    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.local_address.get(), 0)
    }

    pub(super) fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.remote_address.get(), self.port.get())
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.timeout_ms.get() * 1_000_000
    }

    /// From one message of a flow to its next. None: as soon as it goes.
    pub(super) fn interval_ns(&self) -> Option<f64> {
        let mbps = self.intended_goodput_mbps?.get();
        Some(self.message_bytes.get() as f64 * 8e3 / mbps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn read(changes: Value) -> Result<SenderOpenParams, Error> {
        let mut params = json!({
            "cpu": 0, "protocol": "udp", "interface": "src0", "local_address": "198.18.0.2",
            "remote_address": "198.18.0.3", "port": 5000, "flows": 1, "message_bytes": 1472,
            "intended_goodput_mbps": null, "timeout_ms": 1000,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        read_value(params)
    }

    #[test]
    fn ways_within_the_bounds_are_accepted() {
        for changes in [
            json!({}),
            json!({"message_bytes": 24}),
            json!({"protocol": "tcp", "message_bytes": 65_536, "flows": 64}),
            json!({"protocol": "sctp", "intended_goodput_mbps": 0.1}),
            json!({"protocol": "tcp", "options": {"congestion": "reno", "mss_bytes": 536}}),
        ] {
            assert!(read(changes).unwrap().check().is_ok());
        }
    }

    #[test]
    fn ways_beyond_the_bounds_are_refused_by_the_field() {
        for (changes, field) in [
            (json!({"local_address": "0.0.0.0"}), "local_address: 0"),
            (
                json!({"remote_address": "127.0.0.1"}),
                "remote_address: 127",
            ),
            (json!({"port": 0}), "port:"),
            (json!({"flows": 65}), "flows: 65"),
            (json!({"message_bytes": 23}), "message_bytes: 23"),
            (json!({"message_bytes": 65_508}), "message_bytes: 65508"),
            (
                json!({"protocol": "tcp", "message_bytes": 65_537}),
                "message_bytes: 65537",
            ),
            (
                json!({"intended_goodput_mbps": 0.0}),
                "intended_goodput_mbps: 0",
            ),
            (
                json!({"intended_goodput_mbps": 1e7}),
                "intended_goodput_mbps: 1",
            ),
            (json!({"timeout_ms": 0}), "timeout_ms: 0"),
            (
                json!({"options": {"busy_poll_us": 1}}),
                "options.busy_poll_us: is for",
            ),
            (
                json!({"options": {"mss_bytes": 1000}}),
                "options.mss_bytes: udp",
            ),
        ] {
            let problem = read(changes)
                .and_then(|params| params.check())
                .unwrap_err()
                .to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn the_interval_is_that_of_the_payload() {
        assert_eq!(read(json!({})).unwrap().interval_ns(), None);
        let paced = json!({"message_bytes": 1250, "intended_goodput_mbps": 10.0});
        assert_eq!(read(paced).unwrap().interval_ns(), Some(1e6));
    }
}
