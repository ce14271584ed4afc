//! # Params of `sender.open`

use std::net::{Ipv4Addr, SocketAddrV4};

use serde::Deserialize;

use crate::Error;
use crate::endpoint::options::Options;
use crate::endpoint::receiver::check_flows;
use crate::endpoint::record::HEADER_BYTES;
use crate::endpoint::socket::{Protocol, check_address};
use crate::error::check_positive;

const GREATEST_MBPS: f64 = 1e6;
const LONGEST_TIMEOUT_MS: u64 = 60_000;

/// `sender.open`: the way to a receiver, and what to send there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenParams {
    pub(super) cpu: usize,
    pub(super) protocol: Protocol,
    pub(super) interface: String,
    local_address: Ipv4Addr,
    remote_address: Ipv4Addr,
    port: u16,
    pub(super) flows: usize,
    /// What is handed to the kernel at once: a datagram, or a piece of a stream.
    pub(super) message_bytes: usize,
    /// Of each flow, in bytes of messages. Null: as fast as it goes.
    intended_goodput_mbps: Option<f64>,
    /// How long connecting may take.
    timeout_ms: u64,
    #[serde(default)]
    pub(super) options: Options,
}

impl OpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_address("local_address", self.local_address)?;
        check_address("remote_address", self.remote_address)?;
        if self.port == 0 {
            return Err(Error::params("port", "must not be 0"));
        }
        check_flows(self.flows)?;
        if self.message_bytes < HEADER_BYTES {
            let problem = format!(
                "{} is less than a message's own {HEADER_BYTES}",
                self.message_bytes
            );
            return Err(Error::params("message_bytes", problem));
        }
        self.protocol
            .check_bytes("message_bytes", self.message_bytes)?;
        if let Some(mbps) = self.intended_goodput_mbps {
            check_positive("intended_goodput_mbps", mbps, GREATEST_MBPS)?;
        }
        if !(1..=LONGEST_TIMEOUT_MS).contains(&self.timeout_ms) {
            let timeout_ms = self.timeout_ms;
            let problem = format!("{timeout_ms} is not between 1 and {LONGEST_TIMEOUT_MS}");
            return Err(Error::params("timeout_ms", problem));
        }
        if self.options.busy_poll_us > 0 {
            let problem = "is for who waits for input; a sender has none";
            return Err(Error::params("options.busy_poll_us", problem));
        }
        self.options.check(self.protocol)
    }

    /// At a port that the kernel picks.
    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.local_address, 0)
    }

    pub(super) fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.remote_address, self.port)
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.timeout_ms * 1_000_000
    }

    /// From one message of a flow to its next. None: as soon as it goes.
    pub(super) fn interval_ns(&self) -> Option<f64> {
        let mbps = self.intended_goodput_mbps?;
        Some(self.message_bytes as f64 * 8e3 / mbps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(changes: Value) -> OpenParams {
        let mut params = json!({
            "cpu": 0, "protocol": "udp", "interface": "src0", "local_address": "198.18.0.2",
            "remote_address": "198.18.0.3", "port": 5000, "flows": 1, "message_bytes": 1472,
            "intended_goodput_mbps": null, "timeout_ms": 1000,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        serde_json::from_value(params).unwrap()
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
            assert!(read(changes).check().is_ok());
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
            let problem = read(changes).check().unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn the_interval_is_that_of_the_payload() {
        assert_eq!(read(json!({})).interval_ns(), None);
        let paced = json!({"message_bytes": 1250, "intended_goodput_mbps": 10.0});
        assert_eq!(read(paced).interval_ns(), Some(1e6));
    }
}
